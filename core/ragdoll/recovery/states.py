"""Recovery: a character's way from its animation over limpness back to it, as a state stepped once per frame.

    ANIMATED    simulation off: the animation plays; a hit or an event switches it on
    ACTIVE      simulated at full weight
    LIMP        knocked out: weight 0
    SETTLING    limp and slow; the clock of rest runs, and starts anew when the body moves again
    RECOVERING  the weight rises from 0 to 1
    BLENDING    the physics blend falls from 1 to 0, then the simulation is switched off

The step is a pure function of the state, of what was measured over the last frame and of the events in it; moments at
which one state ends and the next begins are found within the frame, so another frame rate gives the same. The state at
a frame is what holds in the step that leads to the next one. It is a few numbers (`State.values`) that a run records.

Hits knock out when within a short time they would give the whole body more than a speed, and so does what is about to
strike it as hard; so does a body too far from its target, but only when it was near before: somebody who gets up where
he fell is not knocked out by the way to his animation. Speeds count relative to sqrt(gravity * height) (Froude's
number), ways relative to the height.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...anatomy.masses import GRAVITY, froude
from ...errors import RagdollError
from .transitions import smooth_step

ANIMATED, ACTIVE, LIMP = "ANIMATED", "ACTIVE", "LIMP"
SETTLING, RECOVERING, BLENDING = "SETTLING", "RECOVERING", "BLENDING"
STATES = (ANIMATED, ACTIVE, LIMP, SETTLING, RECOVERING, BLENDING)
# Of two states forced at one moment the one further from the animation holds.
_STRONGEST = (LIMP, SETTLING, RECOVERING, ACTIVE, BLENDING, ANIMATED)
NEAR = 0.5  # of the distance that knocks out: nearer than that a body is where its animation wants it
MEAN, PELVIS = "MEAN", "PELVIS"
HEIGHT = 1.8  # [m] of the character whose thresholds the settings state
SHOCK_TIME = 0.25  # [s] after which hits are forgotten (to a third): so that a long push is no blow


@dataclass(frozen=True)
class Settings:
    """Thresholds, for a character of 1.8 m under 9.81 m/s^2; others have them scaled."""

    knock_out_speed: float = 1.0  # a hit of this times the whole mass knocks out [m/s]; 0 never does
    knock_out_distance: float = 1.0  # of any body from its target [m]; 0 never does
    watched: str = PELVIS  # MEAN of all bodies' speeds, or `Motion.pelvis_speed`
    rest_speed: float = 0.3  # below it a limp body is at rest [m/s]
    rest_time: float = 1.0  # for which it must be [s]
    regain: float = 1.0  # how fast the weight rises [1/s]
    blend_time: float = 0.2  # of the physics blend [s]
    switch_off: bool = True  # whether the simulation ends when all is over; else the character stays ACTIVE
    starts: str = ACTIVE  # ACTIVE or ANIMATED, at the shot's first frame
    tone: float = 0.0  # of the muscles while limp, 0..1; see `tone`
    reflexes: bool = False  # whether the way of a fall chooses the posture that they pull to
    calm_time: float = 1.0  # for which one that was hit, not knocked out, must be near its animation to switch off [s]


@dataclass(frozen=True)
class Motion:
    """What was measured of a character over the last frame."""

    mean_speed: float  # of all bodies [m/s]
    pelvis_speed: float  # of the pelvis or what of the trunk is faster: who sits still may fall over yet [m/s]
    distance: float  # largest of any body from its target [m]
    impulse: float = 0.0  # sum of the sizes of the hits that act in the step to come [N s]
    blow: float = 0.0  # speed that what strikes it in the step to come gives the whole of it at least [m/s]
    lost: bool = False  # it lost its balance, and no step can catch it; or it cannot get up as it had begun to
    hurts: bool = False  # a limb has not all its strength: the simulation goes on, which alone shows that
    steps: bool = False  # steps may catch hits: they alone do not knock it out
    mass: float = 70.0  # of all bodies [kg]
    size: float = HEIGHT  # height [m]
    gravity: float = GRAVITY  # of the scene [m/s^2]


@dataclass(frozen=True)
class Event:
    """A state forced by the user at a frame, from which all goes on as usual; `hold` keeps it until the next event."""

    frame: float
    state: str
    hold: bool = False


@dataclass(frozen=True)
class State:
    """Where a character stands; the whole memory of the recovery."""

    phase: str = ACTIVE  # one of STATES
    clock: float = 0.0  # time that the phase counts [s]: of rest in SETTLING, of calm in ACTIVE
    progress: float = 1.0  # of the rising weight, 0..1
    blend: float = 1.0  # physics blend before it is eased, 0..1
    armed: bool = False  # whether all bodies were near their targets since the last knock-out
    woken: bool = False  # whether an event switched the simulation on, so that it is to end
    held: bool = False  # whether an event keeps the phase
    shock: float = 0.0  # speed that the last hits would give the whole body, as they are forgotten [m/s]

    @property
    def weight(self) -> float:
        """Factor 0..1 on all weights; it leaves 0 without haste."""
        return float(smooth_step(self.progress))

    @property
    def physics_blend(self) -> float:
        """Factor 0..1 on the physics blend."""
        return float(smooth_step(self.blend))

    @property
    def simulated(self) -> bool:
        """Whether the character's bodies are simulated; else they ride the animation."""
        return self.phase != ANIMATED

    @property
    def lies(self) -> bool:
        """Whether it falls or lies limp."""
        return self.phase in (LIMP, SETTLING)

    @property
    def led(self) -> bool:
        """Whether the character is on its way to its animation's place, to which its own muscles do not bring it."""
        return self.phase in (RECOVERING, BLENDING)

    def values(self) -> tuple:
        """The state as eight numbers, for recording."""
        phase, *rest = vars(self).values()
        return (float(STATES.index(phase)), *map(float, rest))

    @staticmethod
    def from_values(values) -> "State":
        """A recorded state."""
        phase, clock, progress, blend, *flags, shock = map(float, values)
        return State(STATES[round(phase)], clock, progress, blend, *map(bool, flags), shock)


def checked(settings: Settings, name: str = "Recovery", **others: float) -> None:
    """Refuse settings that make no sense. Raises RagdollError, which names the object and the setting."""
    for key, value in (vars(settings) | others).items():
        if not isinstance(value, str | bool) and not (math.isfinite(value) and value >= 0.0):
            raise RagdollError(f"{name}: {key} must be a number that is not negative, got {value:g}")


def start(settings: Settings, events: Sequence[Event] = (), first: float = 0.0) -> State:
    """The state at the shot's first frame, with the event that is forced there."""
    state = _entered(State(), settings.starts)
    for event in events:
        if event.frame == first:
            state = _forced(state, event)
    return state


def _forced(state: State, event: Event) -> State:
    # Who is made ACTIVE stays so; all else ends in his animation.
    return replace(_entered(state, event.state), held=event.hold, woken=event.state != ACTIVE)


def arranged(events: Sequence[Event], first: float, last: float) -> tuple[list, list]:
    """Events in the order of their frames, one for each, and notes for the user. Of two at one frame the one further
    from the animation holds, see `_STRONGEST`; the note says which. Raises RagdollError: a frame that is no number."""
    kept: dict = {}
    notes = []
    for event in events:
        if not math.isfinite(event.frame):
            raise RagdollError(f"The frame of the event '{event.state}' is not a number: {event.frame}")
        if not first <= event.frame < last:
            notes.append(f"Event {event.state}: frame {event.frame:g} is outside the shot ({first:g} to {last:g})")
        other = kept.get(event.frame)
        kept[event.frame] = min(other or event, event, key=lambda e: (_STRONGEST.index(e.state), not e.hold))
        if other is not None:
            both = f"{other.state} and {event.state} are both forced"
            notes.append(f"Frame {event.frame:g}: {both}, {kept[event.frame].state} holds")
    return [kept[frame] for frame in sorted(kept)], notes


def step(settings: Settings, state: State, motion: Motion, begin, end, fps, events=(), name: str = "") -> State:
    """The state at time `end` from that at `begin` [s]; the time of frame F is F / fps.

    `motion` is that over this span, but for its impulse. Of the events, arranged ones, those after `begin` up to `end`
    are taken. Raises RagdollError: a measured value is no number; names the character and the frame.
    """
    for key, value in vars(motion).items():
        if not math.isfinite(value):
            raise RagdollError(f"Recovery of '{name}': the {key} is not a number at frame {end * fps:g}: {value}")
    if state.phase == ANIMATED and motion.impulse == 0.0 and not events:
        return state  # most characters, most of the time
    now = begin
    for event in events:
        moment = event.frame / fps
        if begin < moment <= end:
            state, now = _forced(_elapsed(settings, state, motion, moment - now), event), moment
    return struck(settings, _elapsed(settings, state, motion, end - now), motion)


def _entered(state: State, phase: str) -> State:
    """The state at the moment a phase begins."""
    if phase == ANIMATED:
        return State(ANIMATED, progress=1.0, blend=0.0)
    # What was off rides the animation: switching it on changes nothing that is seen.
    blend = 1.0 if state.phase == ANIMATED else state.blend
    progress, armed = float(phase in (BLENDING, ACTIVE)), state.armed and phase == BLENDING
    return replace(state, phase=phase, clock=0.0, blend=blend, progress=progress, armed=armed)


def struck(settings: Settings, state: State, motion: Motion) -> State:
    """What hits and the distance from the targets do; also at the shot's first frame, which no step leads to."""
    if state.held:
        return state
    hit = motion.impulse > 0.0
    state = replace(state, shock=state.shock + motion.impulse / max(motion.mass, 1e-30)) if hit else state
    caught = motion.steps and state.phase in (ANIMATED, ACTIVE, BLENDING)
    least = settings.knock_out_speed * speed_scale(motion.size, motion.gravity)
    hard = hit and not caught and 0.0 < least <= state.shock
    most = settings.knock_out_distance * motion.size / HEIGHT
    hard |= state.phase == ACTIVE and 0.0 < least <= motion.blow
    if state.phase == ACTIVE and most > 0.0:
        hard = hard or (state.armed and motion.distance >= most)
        state = replace(state, armed=True) if not state.armed and motion.distance < NEAR * most else state
    if hard or (motion.lost and state.phase in (ACTIVE, RECOVERING, BLENDING)):
        return replace(_entered(state, LIMP), woken=True)
    if hit and state.phase in (ANIMATED, BLENDING):
        return replace(_entered(state, ACTIVE), woken=True)
    return replace(state, woken=True, clock=0.0) if hit and state.phase == ACTIVE else state


def speed_scale(size: float, gravity: float) -> float:
    """Times a threshold of speed [m/s] as the settings state it, for a character of a size [m] and gravity [m/s^2]."""
    return froude(size, gravity) / froude(HEIGHT, GRAVITY)


def _elapsed(settings: Settings, state: State, motion: Motion, seconds: float) -> State:
    """The state some seconds later, with nothing but time and this motion."""
    speed = motion.pelvis_speed if settings.watched == PELVIS else motion.mean_speed
    scale = speed_scale(motion.size, motion.gravity)
    slow = speed < settings.rest_speed * scale
    rest = settings.rest_time * max(motion.size / HEIGHT / scale, 1.0)  # giants begin to topple ever so slowly
    most = settings.knock_out_distance * motion.size / HEIGHT
    near = (most == 0.0 or motion.distance < NEAR * most) and not motion.hurts
    state = replace(state, shock=state.shock * math.exp(-seconds / SHOCK_TIME)) if state.shock else state
    while seconds > 0.0:
        before = state
        state, left = _within(settings, state, slow, near, motion.hurts, rest, seconds)
        if before.phase not in (ANIMATED, BLENDING) and state.phase != ANIMATED and state.blend < 1.0:
            # Back from a blend that was broken off, at its own pace: no pop.
            share = (seconds - left) / settings.blend_time if settings.blend_time > 0.0 else 1.0
            state = replace(state, blend=min(state.blend + share, 1.0))
        if state.phase == before.phase:
            break
        seconds = left
    return state


def _within(settings, state: State, slow: bool, near: bool, hurts: bool, rest: float, left: float) -> tuple:
    """One phase: the state at its end or after `left` seconds, and the seconds that remain; `rest` ends SETTLING."""
    phase = state.phase
    # A phase that an event keeps goes as far as it can.
    if phase == ANIMATED or (state.held and phase not in (RECOVERING, BLENDING)):
        return state, 0.0
    if phase == ACTIVE:
        if not (state.woken and settings.switch_off):
            return state, 0.0
        if not near:
            return replace(state, clock=0.0), 0.0
        return _counted(state, left, settings.calm_time, BLENDING)
    if phase == LIMP:
        return (replace(state, phase=SETTLING, clock=0.0), left) if slow else (state, 0.0)
    if phase == SETTLING:
        return _counted(state, left, rest, RECOVERING) if slow else (replace(state, phase=LIMP, clock=0.0), 0.0)
    if phase == RECOVERING:
        needed = (1.0 - state.progress) / settings.regain if settings.regain > 0.0 else math.inf
        if left < needed or state.held:
            return replace(state, progress=min(state.progress + settings.regain * left, 1.0)), 0.0
        after = BLENDING if settings.switch_off and not hurts else ACTIVE
        return replace(_entered(state, after), woken=settings.switch_off), left - needed
    needed = state.blend * settings.blend_time
    if left < needed or state.held:
        share = left / settings.blend_time if settings.blend_time > 0.0 else 1.0
        return replace(state, blend=max(state.blend - share, 0.0)), 0.0
    return _entered(state, ANIMATED), left - needed


def _counted(state: State, left: float, wanted: float, following: str) -> tuple[State, float]:
    """The clock runs; when it is full the next phase begins."""
    needed = wanted - state.clock
    if left < needed:
        return replace(state, clock=state.clock + left), 0.0
    return _entered(state, following), left - max(needed, 0.0)
