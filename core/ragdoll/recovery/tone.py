"""Muscle tone of somebody who falls: springs at the joints towards a posture, while nothing outside holds the body.

From the pose at the knock-out the posture goes over into a relaxed one. With reflexes the way of the fall chooses it:
arms ahead, to one side, or down on the haunches, hands behind; drawn in high above the floor. Once the trunk has
touched the floor the tone fades, so that the body lies and is not held by its muscles; but who sits and tips over
another way than he fell goes on protecting himself, all but the legs.

A weight w makes a spring of 3 Hz times the root of w: 1.5 Hz at 0.25 lies between relaxed and braced muscles (Riener
and Edrich 1999, Identification of passive elastic joint moments in the lower extremities, J. Biomech. 32, and the
stiffness of co-contracted arms). Times, frequencies and speeds are those of 1.8 m and scale by Froude's number.
"""

import math
from dataclasses import dataclass

import numpy as np

from ... import quaternion
from ...anatomy.masses import GRAVITY, froude
from ...pose import dot_first, moved
from ..joints import limits
from .transitions import smooth_step

HEIGHT = 1.8  # [m]
FREQUENCY, DAMPING_RATIO = 3.0, 1.0  # [Hz], of a spring at weight 1
SETTLES = 0.4  # [s] from the pose at the knock-out to the posture: in less, hands would be faster than people's
KEEPS = 0.35  # share of the pose at the knock-out that legs keep in a fall forwards: the one ahead stays ahead
FADES, LEFT = 0.5, 0.1  # [s] of the tone after the trunk has touched, and what is left of it
BRAKES, STRETCHES = 0.15, 0.4  # [s] of these until muscles lead nowhere, or arms would lift the trunk again; of legs
SITS, OTHER = 0.5, 0.1  # [s] after it has touched, until when it may tip over; from what change of shares on
LATEST = 0.6  # [s] after which it fades though nothing was touched, unless the fall goes on
STILL_FALLING, TUMBLING = 1.0, 1.0  # [m/s] of the trunk downwards; in any direction
NOTICES = 0.08  # [s] in which reflexes follow the way of the fall
SURE = 0.15  # of the height: how far the trunk leans, or will, when there is no doubt about the way
HIGH = 0.6, 0.9  # [s] to the floor: below the first it is time to protect, above the second to draw in
BEFORE = 0.1  # [s] before an impact muscles tighten, as those of arms do in falls forwards (Dietz and others 1981)
HOLDS, LETS_GO = 1.5, 0.25  # see `Fall.holds`, and [s] after the impact until muscles have let go
BRACED = 1.5  # factor on weights and torques of arms that protect: stretched muscles give up to 1.8 times (Katz 1939)
STIFFENS, STIFF = np.radians(20.0), 0.8  # before a limit, and the weight that it comes to there
THIN = 1e-3  # [rad] least range of a swing
REACHES, HELD = 0.15, 0.6  # [s] in which an arm goes to where it hurts, and its weight then
SWIVELS, KEPT = np.radians(np.arange(-90.0, 91.0, 10.0)), 0.1  # of elbows about the way; what that costs by the radian
CHOICES, FORWARDS = 6, 1  # relaxed, forwards, backwards, left, right, in the air; as `anatomy.joints.POSTURES` begins


@dataclass(frozen=True)
class Trunk:
    """What was measured of a falling trunk."""

    lean: list | None  # from the feet to it [3] [m]; it and the axes count as long as the fall `looks`
    velocity: list  # [3] [m/s]
    axes: list | None  # forward and left [2, 3]; None where they are not known
    clearance: float  # way down to what is below [m], inf where nothing is
    size: float  # height of the character [m]
    gravity: list  # [3] [m/s^2]


@dataclass(frozen=True)
class Fall:
    """A fall under way."""

    clock: float = 0.0  # [s] since the knock-out
    gone: float = 0.0  # part of the time in which the pose at the knock-out goes over into the posture, 0..1
    touched: bool = False  # the trunk has met the floor
    met: float = math.inf  # [s] since then, as it is foreseen: from -BEFORE on
    faded: float = 0.0  # [s] for which the tone of legs has been fading
    shares: tuple = (1.0, *[0.0] * (CHOICES - 1))  # of the postures; 1 in sum
    tips: tuple = shares  # the same of all but legs
    calmed: float = 0.0  # [s] for which the tone of all but legs has been fading

    def looks(self, reflexes: bool) -> bool:
        """Whether the way of the fall still counts: once it has touched, for reflexes only."""
        return not self.touched or (reflexes and self.met < SITS)

    @property
    def settled(self) -> float:
        """How far the pose at the knock-out has gone over into the posture, 0..1."""
        return float(smooth_step(self.gone))

    @property
    def holds(self) -> float:
        """Exponent: a weight w keeps its joint from turning faster than the spring with w^holds of its strength.

        All muscles tighten just before the trunk meets the floor, or the impact would throw limbs about, then let go.
        """
        return HOLDS * float(smooth_step(self.met / LETS_GO))


def strength(faded):
    """Factor on a tone that has been fading for some time [s]."""
    return 1.0 - (1.0 - LEFT) * smooth_step(faded / FADES)


def pace(size: float, gravity: float) -> float:
    """Factor of times for a character of a height [m] under gravity [m/s^2]; frequencies go with its inverse."""
    return froude(HEIGHT, GRAVITY) / froude(size, gravity) * size / HEIGHT


def step(fall: Fall, found: Trunk, reflexes: bool, seconds: float) -> Fall:
    """The fall some seconds later, from what was measured at their end."""
    pull = math.hypot(*found.gravity)
    scale = pace(found.size, pull)
    passed, slow = seconds / scale, scale * HEIGHT / found.size  # speeds of this character, as of a man
    down = tuple(part / pull if pull > 0.0 else 0.0 for part in found.gravity)
    falls, speed = dot_first(found.velocity, down), math.hypot(*found.velocity) * slow
    sinks, touched = falls * slow, fall.touched or found.clearance <= 0.0
    near = touched or found.clearance <= falls * max(seconds, BEFORE * scale)
    met = -BEFORE if near and fall.met == math.inf else fall.met + passed
    lands = (math.sqrt(max(falls**2 + 2.0 * pull * found.clearance, 0.0)) - falls) / pull / scale if pull else math.inf
    clock = fall.clock + passed
    longer = max(min(clock + lands, HIGH[1]) - SETTLES, 0.0) * fall.shares[FORWARDS]  # limbs move on until the floor
    gone = max(fall.gone, min(clock / (SETTLES + longer), fall.gone + passed / SETTLES, 1.0))
    ends = touched or (fall.clock >= LATEST and sinks < STILL_FALLING)
    holds_on = reflexes and speed > TUMBLING  # down the stairs
    tips, share, calms = fall.tips, -math.expm1(-passed / NOTICES), passed if ends and not holds_on else 0.0
    if fall.looks(reflexes):
        wanted = _shares(found, down, pull, lands) if reflexes else Fall.shares
        tips = tuple(own + (other - own) * share for own, other in zip(tips, wanted, strict=True))
    shares = fall.shares if touched else tips
    other = met < SITS and max(abs(own - was) for own, was in zip(tips, shares, strict=True)) > OTHER
    return Fall(clock, gone, touched, met, fall.faded + calms, shares, tips, fall.calmed + (0.0 if other else calms))


def _shares(found: Trunk, down: tuple, pull: float, lands: float) -> tuple:
    """Which postures the way of the fall asks for [6]: where the trunk leans, and where it will by its velocity."""
    result = Fall.shares
    if found.axes is None or pull == 0.0:
        return result
    (fx, fy, fz), (lx, ly, lz) = found.axes
    seconds = math.sqrt(found.size / (2.0 * pull))
    way = [lean + speed * seconds for lean, speed in zip(found.lean, found.velocity, strict=True)]
    # The trunk raised upright on the shortest arc says what is ahead of it, also when it looks at the floor. That turns
    # a vector a at a right angle to the trunk into a - (a . up) / (1 + trunk . up) (trunk + up), as two mirrorings do.
    trunk = fy * lz - fz * ly, fz * lx - fx * lz, fx * ly - fy * lx
    both = (dot_first(way, trunk) - dot_first(way, down)) / max(1.0 - dot_first(trunk, down), 1e-12)
    ahead, aside = (dot_first(way, axis) + dot_first(axis, down) * both for axis in found.axes)
    length = math.hypot(ahead, aside)
    if length > 0.0:
        each = 0.0, ahead, -ahead, aside, -aside, 0.0
        sure = min(length / (SURE * found.size), 1.0)
        result = [a * (1.0 - sure) + max(b / length, 0.0) ** 2 * sure for a, b in zip(result, each, strict=True)]
    high = float(smooth_step((lands - HIGH[0]) / (HIGH[1] - HIGH[0])))
    *others, drawn_in = (share * (1.0 - high) for share in result)
    return *others, drawn_in + high


def sided(postures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which joints postures [6, k, 4] say something of, not NaN [k], and their rotations [6, j, 4] of one sign each."""
    known = np.isfinite(postures).all(axis=(0, 2))
    turns = postures[:, known]
    return known, np.where(np.sum(turns * turns[:1], axis=-1, keepdims=True) < 0.0, -turns, turns)


def target(falls: list, of: np.ndarray, start: np.ndarray, postures: tuple, kept: np.ndarray) -> np.ndarray:
    """Where joints are led [k, 4], from the pose at the knock-out [k, 4] and the postures, see `sided`.

    What no posture says anything of stays as it was.

    Args:
        of: to which of the falls each joint belongs [k]. kept: share of the pose at the knock-out that legs keep [k].
    """
    known, turns = postures
    ways = np.array([[(fall.settled, *own) for own in (fall.tips, fall.shares)] for fall in falls])
    ways = ways[of, (kept > 0.0).astype(int)]
    mixed = quaternion.normalize(np.einsum("kp,pkj->kj", ways[known, 1:], turns))
    result = start.copy()
    result[known] = quaternion.slerp(start[known], mixed, (ways[:, 0] * (1.0 - kept * ways[:, 1 + FORWARDS]))[known])
    return result


def let_go(led: np.ndarray, faded: np.ndarray, legs: np.ndarray, stretched: np.ndarray, lying: np.ndarray):
    """Where joints are led [.., k, 4] that were led somewhere [.., k, 4], after the tone has been fading [.., k] [s].

    The pose that it lies in [k, 4] replaces all, or limbs would creep on to where nothing lets them; legs, a mask [k],
    first go to where they are stretched [k, 4], or they would stand in the air.
    """
    lain = np.where(legs, smooth_step((faded - STRETCHES) / BRAKES), 1.0)
    lies = quaternion.slerp(stretched, lying, lain)
    return quaternion.slerp(led, lies, smooth_step(faded / np.where(legs, STRETCHES, BRAKES)))


def stiffened(weight: np.ndarray, fades: np.ndarray, before: np.ndarray, relative: np.ndarray, bounds: np.ndarray):
    """Weights [k] that rise smoothly where a joint comes near its limits by the next frame, if it goes on as it does.

    Args:
        fades: factor on the rise [k]. before, relative: rotations of the joints [k, 4], of the last frame and now.
        bounds: limits [k, 2, 3] [rad]; infinite ones count for nothing.
    """
    # The rotation `relative * conjugate(before) * relative`, written out.
    coming = 2.0 * np.add.reduce(relative * before, axis=1, keepdims=True) * relative - before
    angles = np.array(limits.swing_twist_angles(coming))
    sides, sizes = np.maximum(np.where(angles >= 0.0, bounds[:, 1].T, -bounds[:, 0].T), THIN), np.abs(angles)
    # Swings end at an ellipse: how far it is to its edge, the way that the swing goes. Twists end at their limit.
    share = np.hypot(*(sizes / sides)[::2])
    to_edge = np.hypot(*sizes[::2]) * (1.0 / np.maximum(share, 1e-6) - 1.0)
    to_end = sides[1] - sizes[1]
    near = smooth_step(1.0 - np.where(share > 1e-6, np.minimum(to_edge, to_end), to_end) / STIFFENS)
    return np.maximum(weight, STIFF * near * fades * (weight > 0.0))


@dataclass(frozen=True, eq=False)
class Hand:
    """A hand that may be held to where it hurts. Places, vectors and frames are those of bind pose, world [m]."""

    joints: list  # its shoulder and elbow, by their places among a character's [2]
    bones: set  # of the arm
    above: int  # the body that the arm hangs on, by its place among the character's
    bind: np.ndarray  # that body's matrix [4, 4]
    frames: np.ndarray  # of the joints [2, 4]
    shoulder: np.ndarray  # [3]
    upper: np.ndarray  # from the shoulder to the elbow [3]
    lower: np.ndarray  # from the elbow to the palm [3]
    length: float  # of the arm [m]
    range: tuple  # of the shoulder: its type, least and largest angles
    flexions: np.ndarray  # rotations of the elbow over its range [n, 4]

    def way(self, place, bodies) -> np.ndarray:
        """The way [3] from the shoulder to a place [3] of the world, with a character's bodies there [m, 4, 4]."""
        return moved(place, self.bind @ np.linalg.inv(bodies[self.above])) - self.shoulder

    def palms(self, shoulder, elbow) -> np.ndarray:
        """Ways [.., 3] from the shoulder to the palm, by the rotations of both joints [.., 4]."""
        upper, lower = (_turned(frame, own) for frame, own in zip(self.frames, (shoulder, elbow), strict=True))
        return quaternion.rotate(upper, self.upper + quaternion.rotate(lower, self.lower))

    def reaching(self, shoulder, way) -> tuple[np.ndarray, float]:
        """Rotations of both joints [2, 4] that bring the palm a way [3] from the shoulder, and how hard that is.

        The upper arm turns from where it would be [4] by the smallest angle, and about the way as its range asks for.
        Hard is what the arm's length lacks, in parts of it, and what is beyond the shoulder's range [rad].
        """
        palms, far = self.palms(shoulder, self.flexions), math.hypot(*way)
        missed = np.abs(np.linalg.norm(palms, axis=1) - far)
        best, forward = np.argmin(missed), way / max(far, 1e-12)
        turn = quaternion.shortest_arc(palms[best] / max(math.hypot(*palms[best]), 1e-12), forward)
        turns = quaternion.multiply(quaternion.from_axis_angle(forward, SWIVELS), turn)
        turns = quaternion.multiply(_turned(quaternion.conjugate(self.frames[0]), turns), shoulder)
        hard = limits.excess(*self.range, turns) + KEPT * np.abs(SWIVELS)
        own = np.argmin(hard)
        return np.array([turns[own], self.flexions[best]]), float(hard[own] + missed[best] / self.length)


def _turned(frame, rotation) -> np.ndarray:
    """A rotation [.., 4] that is stated in the axes of a frame [4] as one of those that the frame is stated in."""
    return quaternion.multiply(frame, quaternion.multiply(rotation, quaternion.conjugate(frame)))
