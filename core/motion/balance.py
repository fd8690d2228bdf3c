"""Balance: a push moves the hip as it moves an inverted pendulum, and steps catch it.

The animation counts as a gait that holds by itself. A push gives the hip an offset from it, whose capture point is
`offset + speed / omega` with omega = sqrt(gravity / height of the hip): where a foot has to stand for the hip to come
to rest over it (J. Pratt and others, "Capture point: a step toward humanoid push recovery", 2006). The feet that stand
press where it helps most, the feet that swing land where the capture point will be, and who stands shifts the weight,
then leans, then steps. At rest the offsets of hip and feet are equal: the animation goes on beside its old place.

Places on the ground are complex numbers, x + i y of the world in metres; divided by the heading (a unit number) they
are ahead and, imaginary, to the left. What is stated for 1.8 m under 9.81 m/s^2 is scaled by Froude's number.
"""

import cmath
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from ..anatomy.masses import GRAVITY
from ..ragdoll.recovery.states import HEIGHT
from .components import clamped

# Of a foot about its ankle, and the least distance beside the other one [m] at 1.8 m
TOE, HEEL, SIDE, BESIDE = 0.11, 0.05, 0.035, 0.09
PAST = 0.22  # how far before or behind the other one a foot may begin to cross to its side [m] at 1.8 m
QUICKEST, STEP_HEIGHT = 50.0, 0.04  # of a foot beside its animation's way: accelerated [m/s^2]; lifted [m] at 1.8 m
# Of a leg is as far as a foot is put from its hip joint; [s] in which a foot in the air comes over its place at most
STRETCHED, FOLLOWS = 0.985, 0.6
# How far a foot may go from its place: ahead, back, outwards, inwards; and from the hip, in parts of the leg
AHEAD, BACK, OUT, IN, REACH = 0.80, 0.60, 0.65, 0.60, 0.70
LOST = 0.95  # of the leg: with the capture point so far from the feet no step catches it
DECIDED, FORESEEN = 0.3, 2.5  # [s] after a push when it is known whether steps will catch it; so far ahead
SINKS, RISES, LEADS = 0.42, 0.25, 0.10  # of gravity: how fast the hip begins to go down, and to stop; [s] ahead of need
JERKED = 0.55  # of gravity: faster than that a hip goes up or down only if its animation does without any hurry
YIELDS = 0.28  # of a radian of the pendulum: how long a push takes from where it acts to the hip
LATENCY, STEP, GATHER = 0.10, 0.32, 0.5  # [s] until a push is answered; of steps out of standing: to catch it, after it
# By how much a gait is hurried; its share when pushed ahead; for how long [s]; for what speed of the hip [m/s] at 1.8 m
HURRIED, FORWARDS, UNTIL, FULLY = 0.5, 0.5, 1.48, 0.36
# By so much of gravity a gait that gets quicker accelerates its own hip; by how much in a second at most; slower again
QUICKENS, QUICKENS_MOST, EASES = 0.43, 10.0, 0.33
LANDS, QUICKEST_GAIT = 0.45, 2.0  # [s] until a foot lands: a slower gait hurries the more, at most so many times
_GAIN, _BEYOND = 0.6, 0.05  # of the pressure behind the capture point; how much further than it a foot lands
# Of steps out of standing: weight is taken off the foot for so long before [s]; a foot lands so far outside of the
# capture point [m] at 1.8 m; what it costs to come nearer to the other leg's side, against the way of the foot
SHIFTS, _OUTSIDE, _CROSSES = (0.0, 0.06, 0.12, 0.18, 0.24), 0.05, 5.0
_NEAR, _GATHER, _CALM = 0.02, 0.04, 0.05  # [m] at 1.8 m: no step, feet side by side, at rest
CATCH, SETTLE = "CATCH", "SETTLE"  # a push; to stand side by side, or at home


@dataclass
class Body:
    """What of a character matters to its balance; lengths in metres."""

    height: float
    leg: float  # from hip joint to ankle
    hips: float  # half the distance of the hip joints
    gravity: float = GRAVITY

    def __post_init__(self) -> None:
        self.size = self.height / HEIGHT  # in parts of 1.8 m
        self.time = math.sqrt(self.size * GRAVITY / self.gravity)  # how much longer all takes it than a man on Earth
        # Height of the ankle (D. A. Winter, "Biomechanics and Motor Control of Human Movement")
        self.ankle = 0.039 * self.height
        self.pendulum = self.leg + self.ankle + 0.05 * self.size  # its length
        self.omega = math.sqrt(self.gravity / self.pendulum)  # rate at which it tips over [1/s]


class Stride(NamedTuple):
    """What the animation does at a frame and next, left foot first."""

    hip: complex
    heading: complex
    ankles: tuple
    pressure: complex  # where its feet bear it
    stands: tuple  # which of its feet do
    # Of a foot that swings: time until it lands [s] and where. Of one that stands: time until it lifts, and its place
    seconds: tuple
    places: tuple
    hips: tuple  # where the hip is then
    tall: float  # how high the hip joints are over the lower ankle [m]
    high: float = 0.0  # and in the world


class Foot(NamedTuple):
    """How a foot is moved from its animation's place."""

    offset: complex = 0j
    height: float = 0.0  # of the ground there over that under the animation's place [m]
    rate: complex = 0j  # at which the offset changes [m/s]
    climb: float = 0.0  # likewise the height
    lift: float = 0.0  # of a swing, above both [m]
    # Of a swing: the offset where it began, offset and height where it will land; None: it stands
    swing: tuple | None = None
    clock: float = 0.0  # since the swing began [s]
    own: str = ""  # what it swings for, where its animation leaves it standing: CATCH or SETTLE
    turn: float = 0.0  # about the vertical, that it stands by against its animation [rad]

    def left(self, body: Body, clock: float) -> float:
        """Time until such a foot lands, that long after it left [s]."""
        return max((GATHER if self.own == SETTLE else STEP) * body.time - clock, 0.0)


class State(NamedTuple):
    """A balance at a frame; what has a speed of its own is a pair (value, rate)."""

    hip: complex = 0j
    speed: complex = 0j
    coming: complex = 0j  # that a push will still give the hip, by way of trunk and legs [m/s]
    feet: tuple = (Foot(), Foot())
    lean: tuple = (0j, 0j)  # of the trunk [rad], to where it leans
    arms: tuple = (0.0, 0.0)  # how far they are spread, 0..1
    drop: tuple = (0.0, 0.0)  # of the hip [m], because the feet are far apart
    rise: tuple = (0.0, 0.0)  # of the hip, with the ground [m]
    high: tuple = ()  # its animation's hip and, from the second frame on, its rate
    ahead: float = 0.0  # how far the gait is ahead of its frame [frames]
    clock: float = math.inf  # since the last push [s]
    hurries: tuple = (0.0, 0.0)  # by how much faster than its own the gait gets after it, and is
    home: float = 0.0  # how much of the way back each step takes [m]
    fell: bool = False  # no step can catch it
    unloads: tuple = ()  # the foot that weight is taken off before it steps, and for how long already [s] as of 1.8 m
    turn: tuple = (0.0, 0.0)  # of the animation about the vertical through the pivot [rad]
    facing: float = 0.0  # to where it turns, less with each step
    pivot: complex = 0j
    load: tuple = (0j, 0j)  # acceleration that it has come to stand against [m/s^2]
    carried: tuple = (0.0, 0.0, 0.0)  # by the ground under it, with its animation [m]

    @property
    def offset(self) -> complex:
        """Mean of those of the feet that stand; of both where none does."""
        found = [foot.offset for foot in self.feet if foot.swing is None] or [foot.offset for foot in self.feet]
        return sum(found) / len(found)

    def capture(self, body: Body) -> complex:
        """The capture point's offset."""
        return self.hip + (self.speed + self.coming) / body.omega

    def shown_hip(self, body: Body) -> complex:
        """The hip's offset as it is seen: so far against a load that it does not turn it about its feet."""
        return self.hip - self.load[0] / body.omega**2

    def is_calm(self, body: Body) -> bool:
        """Whether it stands where its feet are."""
        return abs(self.capture(body) - self.offset) < _CALM * body.size and self.clock > 4.0 * LATENCY * body.time

    def is_over(self, body: Body) -> bool:
        """Whether nothing of the push is left."""
        size = abs(self.hip) + abs(self.coming) + abs(self.rise[0]) + self.ahead + abs(self.lean[0]) + self.arms[0]
        size += sum(abs(foot.offset) + abs(foot.height) + abs(foot.turn) for foot in self.feet)
        size += abs(self.turn[0]) + abs(self.facing) + sum(map(abs, self.carried)) + abs(self.load[0]) / body.omega**2
        return not any(foot.swing for foot in self.feet) and self.is_calm(body) and size < 1e-3 * body.size


class Push(NamedTuple):
    """What acts on the hip in a frame."""

    speed: complex = 0j  # that a blow gives it at once [m/s]
    shove: complex = 0j  # that what runs into it will have given it, with what it has given already [m/s]
    pull: complex = 0j  # acceleration by what lasts: wind, weights [m/s^2]
    start: complex = 0j  # what the ground under it has become faster by [m/s]
    carry: tuple = (0.0, 0.0, 0.0)  # by so much its animation goes with the ground [m]
    # Where its animation would stand on: turned so far [rad], then shifted and raised [m]; from there it walks back
    left: tuple | None = None


@dataclass(frozen=True)
class Manner:
    """How a character keeps its balance, and on what."""

    strength: float = 1.0  # share of its reach, 0..1
    steps_home: int = 0  # in which it goes back to its animation's place; 0: it stays
    # Height of the ground at a place over that at another one [m]
    rise: Callable[[complex, complex], float] = field(default=lambda place, other: 0.0)


def dot(a: complex, b: complex) -> float:
    """Scalar product."""
    return (a * b.conjugate()).real


def swung(body: Body, hip: complex, speed: complex, pressure: complex, seconds: float) -> tuple[complex, complex]:
    """Offset and speed of a linear inverted pendulum over a pressure point at rest, after some seconds.

    Its two modes `hip +- speed / omega` grow and decay exponentially about the pressure point."""
    rate = body.omega
    grown = (hip + speed / rate - pressure) * math.exp(rate * seconds)
    decayed = (hip - speed / rate - pressure) * math.exp(-rate * seconds)
    return pressure + 0.5 * (grown + decayed), 0.5 * rate * (grown - decayed)


def bearing(body: Body, feet: list, wanted: complex, heading: complex) -> complex:
    """The point nearest to the wanted one on which feet that stand can press; itself in the air."""
    if not feet:
        return wanted
    on = feet[0]
    if len(feet) == 2:
        way = feet[1] - on
        on += clamped(dot(wanted - on, way) / max(abs(way) ** 2, 1e-12), 0.0, 1.0) * way
    off = (wanted - on) / heading / body.size
    return on + complex(clamped(off.real, -HEEL, TOE), clamped(off.imag, -SIDE, SIDE)) * heading * body.size


def left(hip: complex, turn: float, shift: complex, rise: float) -> State:
    """Of one who stands where its animation, whose hip is there, would stand turned, then shifted and raised."""
    foot = Foot(cmath.rect(1.0, turn) * hip + shift - hip, rise)
    return State(foot.offset, feet=(foot, foot), rise=(rise, 0.0), turn=(turn, 0.0), facing=turn, pivot=hip)


def step(body: Body, state: State, stride: Stride, push: Push, seconds: float, manner: Manner) -> State:
    """The state one frame later; `stride` is that of the animation at the coming frame."""
    before, state = state, _pushed(body, state, stride, push, seconds)
    state = _hurrying(body, state, stride, seconds)
    state = _stepping_out(body, state, stride, seconds, manner)
    state = _swinging(body, state, stride, seconds)
    feet = [_foot(body, state, stride, k, seconds, manner) for k in (0, 1)]
    feet = tuple(_apart(body, stride, feet, k) for k in (0, 1))
    lost = abs(state.capture(body) - state.offset) >= LOST * body.leg * manner.strength
    state = state._replace(feet=feet, fell=lost and state.clock < math.inf)
    if state.facing or state.turn[0]:
        state = _turning(body, before, state, stride, seconds, manner)
    return _hip(body, state, stride, seconds)


def decided(body: Body, state: State, strides: Callable[[float], Stride], seconds: float, manner: Manner) -> State:
    """The state, fallen if the steps to come will not catch the push: so that nobody hangs long over his feet.

    That is looked at once for each push. strides: of the frames to come, the next one first, and beyond."""
    if not state.clock - seconds < DECIDED * body.time <= state.clock:
        return state
    coming, flat, calm = state, Manner(manner.strength), 0.0
    for i in range(round(FORESEEN * body.time / seconds)):
        coming = step(body, coming, strides(i + coming.ahead), Push(pull=state.load[0]), seconds, flat)
        if coming.fell:
            return state._replace(fell=True)
        calm = calm + seconds if coming.is_calm(body) else 0.0  # between two steps it may be for a moment
        if calm > DECIDED * body.time:
            break
    return state


def _pushed(body: Body, state: State, stride: Stride, push: Push, seconds: float) -> State:
    load = _sprung(state.load, push.pull, 0.5 / body.time, 1.0, seconds)
    # What it is not standing against yet, and what its hip's own way there takes.
    net = push.pull - state.load[0] + (load[1] - state.load[1]) / seconds / body.omega**2
    lacks = max(abs(push.shove) - dot(state.coming, push.shove) / max(abs(push.shove), 1e-12), 0.0)
    speed = push.speed + lacks * push.shove / max(abs(push.shove), 1e-12)
    way, carried = speed + net * seconds, tuple(a + b for a, b in zip(state.carried, push.carry, strict=True))
    state = state._replace(load=load, carried=carried, speed=state.speed - push.start)
    if abs(way - push.start) < 1e-3 * body.size / body.time:
        return state._replace(clock=state.clock + seconds)
    return state._replace(
        coming=state.coming + way,
        lean=(state.lean[0], state.lean[1] + 1.3 * speed / body.pendulum),
        clock=0.0 if state.clock > 4.0 * LATENCY * body.time else state.clock + seconds,  # one that lasts: once
        home=0.0,
        feet=tuple(foot._replace(own=foot.own and CATCH) for foot in state.feet),
    )


def _hurrying(body: Body, state: State, stride: Stride, seconds: float) -> State:
    """The gait gets faster, as long as the hip is not caught, so that a foot in the air lands in time."""
    now, away = state.clock / body.time, state.capture(body) - state.offset
    caught = math.isinf(now) or _stays(body, stride) or state.is_calm(body)
    hurries = state.hurries[0] if now < UNTIL or not caught else 0.0
    if not caught:
        usual = HURRIED * (FORWARDS if dot(away, stride.heading) > 0.5 * abs(away) else 1.0)
        swings = [left for left, stands in zip(stride.seconds, stride.stands, strict=True) if not stands]
        pace = (1.0 + usual) * max(1.0, max(swings, default=0.0) / (LANDS * body.time))
        share = min(abs(away) * body.omega * body.time / (FULLY * body.size), 1.0)
        hurries = max(hurries, share * (min(pace, QUICKEST_GAIT) - 1.0))
    goes = max(abs(hip - stride.hip) / max(left, seconds) for hip, left in zip(stride.hips, stride.seconds))
    most = min(QUICKENS * body.gravity / max(goes, 1e-9), QUICKENS_MOST / body.time)
    most, now = most * clamped(state.clock - LATENCY * body.time, 0.0, seconds), state.hurries[1]
    return state._replace(hurries=(hurries, clamped(hurries, now - EASES * most, now + most)))


def pace(body: Body, state: State) -> float:
    """How fast the gait runs now: hurried after a push, a little slow when it has to wait."""
    return 1.0 + (state.hurries[1] or -min(0.15, state.ahead) * state.is_calm(body))


def shown(state: State, stride: Stride, k: int) -> complex:
    """Where a foot is."""
    return stride.ankles[k] + state.feet[k].offset


def _swinging(body: Body, state: State, stride: Stride, seconds: float) -> State:
    """The pendulum, the trunk and the arms over a frame."""
    feet = [shown(state, stride, k) for k in (0, 1) if stride.stands[k] and not state.feet[k].own]
    if state.unloads:
        feet = [shown(state, stride, state.unloads[0])]
    own, heading = stride.pressure, stride.heading
    borne = bearing(body, [stride.ankles[k] for k in (0, 1) if stride.stands[k]], own, heading)
    # Who only walks back keeps over his feet: nothing has pushed him that a pendulum would have to catch.
    settles = math.isinf(state.clock) or any(foot.own == SETTLE for foot in state.feet)
    goal = 0.5 * sum(foot.swing[1] if foot.swing else foot.offset for foot in state.feet)
    count = max(1, math.ceil(40.0 * seconds / body.time))
    dt, hip, speed, lean, arms = seconds / count, state.hip, state.speed, state.lean, state.arms
    given = state.coming * -math.expm1(-seconds * body.omega / YIELDS)
    for _ in range(count):
        speed += given / count
        capture = hip + speed / body.omega
        away = capture - state.offset
        wanted = capture + _GAIN * away
        if settles:  # the weight is taken off such a foot in time
            hip, speed = _sprung((hip, speed), goal, 1.0 / body.time, 1.0, dt)
        elif feet:
            hip, speed = swung(body, hip, speed, bearing(body, feet, own + wanted, heading) - borne, dt)
        else:
            hip += speed * dt
        lean = _sprung(lean, 0.35 * away / body.pendulum - state.load[0] / body.gravity, 1.3 / body.time, 0.7, dt)
        arms = _sprung(arms, min(abs(away) / (0.25 * body.leg), 1.0), 1.6 / body.time, 0.8, dt)
    return state._replace(hip=hip, speed=speed, coming=state.coming - given, lean=lean, arms=arms)


def _turning(body: Body, before: State, state: State, stride: Stride, seconds: float, manner: Manner) -> State:
    """Turned on towards its animation's own way, by some with each step, and with feet that stand where they are."""
    facing, most = state.facing, math.pi / max(manner.steps_home, 4)
    if any(foot.swing and not old.swing for foot, old in zip(state.feet, before.feet, strict=True)):
        facing -= clamped(facing, -most, most)
    turn = _sprung(state.turn, facing, 1.2 / body.time, 1.0, seconds)
    angle = turn[0] - state.turn[0]
    back, feet = 1.0 - cmath.rect(1.0, angle), []
    for k, foot in enumerate(state.feet):
        if foot.swing is None:
            offset = foot.offset + back * (stride.ankles[k] - state.pivot)
            feet.append(foot._replace(turn=foot.turn - angle, offset=offset))
        else:
            left = foot.left(body, foot.clock) if foot.own else stride.seconds[k]
            way = back * (stride.hip - state.pivot)
            start, goal, level = foot.swing
            moved = foot._replace(turn=foot.turn * left / (left + seconds), swing=(start + way, goal + way, level))
            feet.append(moved._replace(offset=foot.offset + way))
    hip = state.hip + back * (stride.hip - state.pivot)
    return state._replace(hip=hip, feet=tuple(feet), turn=turn, facing=facing)


def _sprung(pair: tuple, target, hertz: float, ratio: float, seconds: float) -> tuple:
    """A damped spring, one semi-implicit step."""
    value, rate = pair
    own = 2.0 * math.pi * hertz
    rate = (rate + own * own * (target - value) * seconds) / (1.0 + 2.0 * ratio * own * seconds)
    return value + rate * seconds, rate


# ---- feet -----------------------------------------------------------------------------------------------------------
def _stepping_out(body: Body, state: State, stride: Stride, seconds: float, manner: Manner) -> State:
    """Let a foot step that the animation leaves standing, where weight shifted and hips leaned are not enough."""
    before, state = state, state._replace(unloads=())
    if any(foot.swing for foot in state.feet):
        return state
    calm, (left, right) = state.is_calm(body), (foot.offset for foot in state.feet)
    if calm and manner.steps_home and not state.home:
        way = min(abs(state.offset) / manner.steps_home, 0.2 * body.leg)
        state = state._replace(home=max(way, 2.0 * _NEAR * body.size))
    if not _stays(body, stride) or state.clock < LATENCY * body.time:
        return state
    feet = [shown(state, stride, k) for k in (0, 1)]
    away = [abs(foot.offset) + 0.2 * body.size * abs(foot.turn) for foot in state.feet]
    at = stride.pressure + state.capture(body)
    own = SETTLE
    lacks = at - bearing(body, feet, at, stride.heading)
    if abs(lacks) > 1e-3 * body.size:
        own, passed = CATCH, before.unloads[1] if before.unloads else 0.0
        k, shift = _shortest(body, stride, feet, at, passed)
        if shift > 0.0:
            return state._replace(unloads=(k, passed + seconds / body.time))
        first = k == 0
    elif calm and state.home and (max(away) > 0.01 * body.size or abs(state.facing) > 0.01):
        first = away[0] >= away[1]
    elif calm and abs(left - right) > _GATHER * body.size:  # the foot that was left behind
        first = abs(left) < abs(right)
    else:
        return state
    return state._replace(feet=tuple(_lifted(f, own) if (k == 0) == first else f for k, f in enumerate(state.feet)))


def _shortest(body: Body, stride: Stride, feet: list, at: complex, passed: float) -> tuple:
    """Which foot steps, and for how long weight is to be taken off it before [s] as of 1.8 m, some of which has passed:
    so that the step to where the capture point will be, which now is at a place, is the shortest.

    Pressing with a foot moves the hip over the other one and so takes weight off it (W. E. McIlroy and B. E. Maki,
    "The control of lateral stability during rapid stepping reactions", 1999).
    """

    def cost(k: int, shift: float) -> float:
        on = bearing(body, [feet[k]], at, stride.heading)
        lifted = on + (at - on) * math.exp(body.omega * shift * body.time)
        on = bearing(body, [feet[1 - k]], lifted, stride.heading)
        lands = on + (lifted - on) * math.exp(body.omega * STEP * body.time)
        crosses = abs(_aside(body, stride, k, lands - feet[1 - k]))
        return abs(lands - feet[k]) + abs(lands - feet[1 - k]) + _CROSSES * crosses

    shifts = [shift for shift in SHIFTS if shift == 0.0 or passed + shift <= SHIFTS[-1]]
    return min(((k, shift) for k in (0, 1) for shift in shifts), key=lambda each: cost(*each))


def _stays(body: Body, stride: Stride) -> bool:
    """Whether the animation leaves both feet standing for as long as a step takes."""
    return all(stride.stands) and min(stride.seconds) > (LATENCY + STEP) * body.time


def _lifted(foot: Foot, own: str) -> Foot:
    return foot._replace(swing=(foot.offset, foot.offset, foot.height), clock=0.0, own=own)


def _foot(body: Body, state: State, stride: Stride, k: int, seconds: float, manner: Manner) -> Foot:
    """A foot at the coming frame: on its place, or on its way to one."""
    foot = state.feet[k]
    if foot.swing is None:
        if stride.stands[k]:
            return foot
        foot = _lifted(foot, "")
    clock = foot.clock + seconds
    left = foot.left(body, clock) if foot.own else 0.0 if stride.stands[k] else stride.seconds[k] / pace(body, state)
    start, goal, level = foot.swing
    if left > 0.0 and (state.clock >= LATENCY * body.time or foot.own):
        goal = _goal(body, state, stride, k, start, left, manner)
        place = stride.places[k]
        level = clamped(manner.rise(place + goal, place), -0.5 * body.leg, 0.5 * body.leg) if goal else 0.0
    most = QUICKEST * body.gravity / GRAVITY
    coming = min(left, FOLLOWS * body.time) + seconds  # a foot that is long in the air goes with the hip
    offset, rate = _steered(foot.offset, foot.rate, goal, coming, seconds, most)
    height, climb = _steered(foot.height, foot.climb, level, coming, seconds, most)
    if left <= 0.0:
        if foot.own and not stride.stands[k]:  # the animation has lifted the foot meanwhile
            return foot._replace(own="")
        # No further off than its leg reaches there: the shown foot would come after it.
        off = _under(body, stride, k) + offset - state.shown_hip(body)
        most = _spread(body, stride.tall + state.rise[0] - state.drop[0] - height)
        return Foot(offset - _excess(off, max(most, abs(_under(body, stride, k)))), height)
    # As high as the way is long, and higher in the middle of it.
    way = abs(goal - start)
    gone = clamped(abs(offset - start) / way, 0.0, 1.0) if way > 0.0 else 0.0
    lift = 0.36 * way * gone * (1.0 - gone)
    lift += STEP_HEIGHT * body.size * bool(foot.own) * math.sin(math.pi * left / (left + clock)) ** 2
    return Foot(offset, height, rate, climb, lift, (start, goal, level), clock, foot.own, foot.turn)


def _steered(value, rate, goal, left: float, seconds: float, most: float) -> tuple:
    """(value, rate) on the cubic that rests at a goal in `left` seconds, at most so much accelerated."""
    way = goal - value
    pull, jerk = 6.0 * way / left**2 - 4.0 * rate / left, 6.0 * rate / left**2 - 12.0 * way / left**3
    change = pull * seconds + 0.5 * jerk * seconds**2
    share = min(1.0, most * seconds / abs(change)) if change else 1.0
    moved = rate * seconds + share * (0.5 * pull * seconds**2 + jerk * seconds**3 / 6.0)
    return value + moved, rate + share * change


def _goal(body: Body, state: State, stride: Stride, k: int, start: complex, left: float, manner: Manner) -> complex:
    """The offset with which a foot is to land in `left` seconds: where the capture point will be."""
    other, heading, own, side = state.feet[1 - k], stride.heading, state.feet[k].own, 1.0 - 2.0 * k
    base = other.offset if other.swing is None else other.swing[1]
    coming = base if own == SETTLE else _coming(body, state, stride, k, left, base)
    goal = coming + _BEYOND * (coming - base) if abs(coming - base) > _NEAR * body.size else base
    if own == CATCH:  # it bears what falls onto it, also of one who stands wide
        goal -= _excess(stride.ankles[k] - stride.pressure, _OUTSIDE * body.size)
    if state.home and (own == SETTLE or state.is_calm(body)):
        goal = base * max(0.0, 1.0 - state.home / max(abs(base), 1e-9 * body.size))
    reach = body.leg * manner.strength
    way = (goal - start) / heading
    across = side * clamped(side * way.imag, -IN * reach, OUT * reach)
    goal = start + complex(clamped(way.real, -BACK * reach, AHEAD * reach), across) * heading
    # No further from the hip than a leg can stand, and not across the other foot.
    usual = stride.places[k] - stride.hips[k] - 1j * side * body.hips * heading
    low = state.drop[0] + state.drop[1] * left + 0.15 * body.gravity * left**2
    most = max(min(_spread(body, stride.tall - low), REACH * body.leg), abs(usual))
    goal -= _excess(usual + goal - state.shown_hip(body) - 1.2 * state.speed * left, most)
    return goal + _aside(body, stride, k, stride.places[k] + goal - shown(state, stride, 1 - k))


def _coming(body: Body, state: State, stride: Stride, k: int, left: float, base: complex) -> complex:
    """The capture point's offset in `left` seconds; the other foot, with an offset, presses while it stands."""
    changes, own = min(stride.seconds[1 - k] / pace(body, state), left), state.feet[1 - k].own
    lands, lifts = (0.0, left) if own else (0.0, changes) if stride.stands[1 - k] else (changes, left)
    speed = state.speed + state.coming
    hip = state.hip + lands * speed
    # Where it can press; out of standing it bears alone what both bear in the animation.
    middle = stride.pressure if state.feet[k].own == CATCH else stride.ankles[1 - k]
    wanted = middle + hip + speed / body.omega
    under = bearing(body, [stride.ankles[1 - k] + base], wanted, stride.heading) - middle
    hip, speed = swung(body, hip, speed, under, lifts - lands)
    return hip + (left - lifts) * speed + speed / body.omega


def _under(body: Body, stride: Stride, k: int) -> complex:
    """Where the animation has a foot from under its hip joint."""
    return stride.ankles[k] - stride.hip - 1j * (1 - 2 * k) * body.hips * stride.heading


def _spread(body: Body, height: float) -> float:
    """How far from under its hip joint, so high over the ankle, a foot can stand."""
    return math.sqrt(max((STRETCHED * body.leg) ** 2 - height**2, (0.3 * body.leg) ** 2))


def _excess(way: complex, most: float) -> complex:
    """What is too much of a way."""
    return way * max(1.0 - most / max(abs(way), 1e-12), 0.0)


def _aside(body: Body, stride: Stride, k: int, between: complex) -> complex:
    """What brings a foot that is `between` from the other one to its own side of it, or well before or behind it."""
    side = 1.0 - 2.0 * k
    usual = side * ((stride.ankles[k] - stride.ankles[1 - k]) / stride.heading).imag
    between /= stride.heading
    past = 1.5 * max(abs(between.real) - PAST * body.size, 0.0)
    return 1j * side * max(min(BESIDE * body.size, usual) - past - side * between.imag, 0.0) * stride.heading


def _apart(body: Body, stride: Stride, feet: list, k: int) -> Foot:
    """A foot, beside the other one where it swings past."""
    if feet[k].swing is None:
        return feet[k]
    between = stride.ankles[k] + feet[k].offset - stride.ankles[1 - k] - feet[1 - k].offset
    return feet[k]._replace(offset=feet[k].offset + _aside(body, stride, k, between))


def _hip(body: Body, state: State, stride: Stride, seconds: float) -> State:
    """The hip goes as low as the legs need, and with the ground; the gait's phase goes on."""
    need = max(_need(body, state, stride, k) for k in (0, 1))
    rate, most = _sprung(state.drop, need, 1.5 / body.time, 1.0, seconds)[1], body.gravity * seconds
    change = clamped(rate - state.drop[1], -RISES * most, SINKS * most)
    rates = ((stride.high - state.high[0]) / seconds,) if state.high else ()
    if len(state.high) > 1:  # a gait that hurries throws the hip about
        own = rates[0] - state.high[1]
        bound = max(JERKED * most, abs(own) / pace(body, state) ** 2)
        change = clamped(change, min(own - bound, most), max(own + bound, -most))
    rate = state.drop[1] + change
    drop = state.drop[0] + rate * seconds, rate
    rise = _sprung(state.rise, 0.5 * (state.feet[0].height + state.feet[1].height), 1.5 / body.time, 1.0, seconds)
    ahead = max(state.ahead + pace(body, state) - 1.0, 0.0)
    return state._replace(drop=drop, rise=rise, high=(stride.high, *rates), ahead=ahead)


def _need(body: Body, state: State, stride: Stride, k: int) -> float:
    """How much lower the hip has to be for a foot to be reached, where it stands or will land [m]."""
    foot, left = state.feet[k], min(LEADS * body.time, stride.seconds[k])
    if foot.swing is not None and not foot.own and state.clock < LATENCY * body.time:
        return 0.0  # where it will land is not known yet
    ankle, hip, offset = stride.ankles[k], stride.hip, foot.offset
    if foot.swing is not None:
        left = foot.left(body, foot.clock) if foot.own else stride.seconds[k]
        ankle, hip, offset = stride.places[k], stride.hips[k], foot.swing[1]
    usual = ankle - hip - 1j * (1 - 2 * k) * body.hips * stride.heading
    way = usual + offset - state.shown_hip(body) - state.speed * left
    if (far := abs(way)) <= abs(usual):
        return 0.0
    # A heel comes up where a foot is left behind, and less and less where it is as good as aside.
    leg = STRETCHED * body.leg * (1.0 + 0.1 * clamped(-3.0 * dot(way, stride.heading) / far, 0.0, 1.0))
    return max(0.0, stride.tall - math.sqrt(max(leg * leg - far * far, (0.6 * leg) ** 2)))
