"""A small graph of states above clips and blend spaces, evaluated from the timeline.

States hold a source, transitions lead from one to another where all their conditions on parameters hold, and blend for
a time. The state of the graph at a frame is a value (`GraphState`) that follows from that of the frame before and the
parameters: stepped from the shot's first frame it is the same however a frame is reached, and whoever records it can
scrub. At most one transition begins per frame.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import eq, ge, gt, le, lt, ne

from numpy.typing import NDArray

from ..errors import RagdollError
from . import blend_space, stack
from .clip import LOOP, Clip, check_whole, interpolate

ANY = "*"
TIME_IN_STATE, PHASE = "time_in_state", "phase"  # that every state has; 0 when it has just been entered
_BUILT_IN = (TIME_IN_STATE, PHASE)
_COMPARE = {">": gt, ">=": ge, "<": lt, "<=": le, "==": eq, "!=": ne}


@dataclass(frozen=True)
class ClipSource:
    """A clip; one cycle is its length. `mode` is ONCE, LOOP or PING_PONG, the speed may be negative."""

    clip: Clip
    speed: float = 1.0
    mode: str = LOOP

    def __post_init__(self) -> None:
        check_whole(self.clip.poses, f'Clip "{self.clip.name}"')

    def rate(self) -> float:
        """Cycles per second."""
        return self.speed / self.clip.length if self.clip.length > 0.0 else 0.0

    def pose(self, phase: float) -> stack.LocalPose:
        """The pose [n]; played backwards it begins at the clip's end."""
        start = self.clip.length if self.speed < 0.0 else 0.0
        return self.clip.at(self.clip.clip_time(start + phase * self.clip.length, mode=self.mode))


class SpaceSource:
    """A blend space; the graph keeps its phase, the player its current point."""

    def __init__(self, player: blend_space.SpacePlayer) -> None:
        """Raises RagdollError: samples that are additive, which a state cannot show."""
        check_whole(player.group.clips[0].poses if player.group is not None else None, f'Blend space "{player.name}"')
        self.player = player  # the space
        # Of its samples at the frame [k]; None: its inputs have been wrong from the first frame on
        self.weights: NDArray | None = None
        self.message = ""  # what is wrong with its inputs at the frame

    def rate(self) -> float:
        """Cycles per second at the current point."""
        return 0.0 if self.weights is None else self.player.group.rate(self.weights)

    def pose(self, phase: float) -> stack.LocalPose:
        """The blended pose [n]. Raises RagdollError where the inputs are wrong."""
        if self.message:
            raise RagdollError(self.message)
        return self.player.group.pose(phase, self.weights)


@dataclass(frozen=True)
class Condition:
    """A comparison of a parameter, `time_in_state` [s] or `phase` [cycles] with a value; bools are 0 and 1."""

    parameter: str
    compare: str = ">"
    value: float = 0.5


@dataclass(frozen=True)
class State:
    """A state and what it plays."""

    name: str
    # Has a `rate` in cycles per second and a `pose` [n] at a phase in cycles, which is unbounded and begins at 0 when
    # the state is entered. None shows the pose below.
    source: ClipSource | SpaceSource | None = None


@dataclass(frozen=True)
class Transition:
    """From a state (or `ANY` other) to a state where all conditions hold; earlier transitions come first."""

    source: str
    target: str
    conditions: tuple[Condition, ...] = ()
    blend_time: float = 0.2


@dataclass(frozen=True)
class Playing:
    """One state that has a part in the pose."""

    state: str  # its name
    entered: int  # frame at which it was entered; its blend from what was before begins there
    blend_frames: float = 0.0  # length of that blend in frames; 0: at once
    phase: float = 0.0  # of its source, in cycles


@dataclass(frozen=True)
class GraphState:
    """All that the graph remembers: the frame, and the states in the order in which they were entered. The last one is
    current; those before are still blending out."""

    frame: int
    playing: tuple[Playing, ...]

    @property
    def current(self) -> str:
        return self.playing[-1].state


class Graph:
    """States, transitions and parameters; what is wrong with them is left out.

    Of states of one name the first counts. Of transitions that lead round in a circle at once, which nothing would stop
    from changing the state on every frame, the one that comes last in precedence is left out.

    Attributes:
        name: For messages. parameters: Names and defaults; bools are kept as 0 and 1.
        states: By name; the first one is entered at the shot's first frame. transitions: In order of precedence.
        fps: Frames per second. faults: Messages about what was left out.
    """

    def __init__(self, name: str, parameters: Mapping, states: Sequence[State], transitions=(), fps=24.0) -> None:
        """Raises RagdollError: no states, or a parameter with a name that every state has."""
        self.name, self.fps = name, fps
        self.parameters = {key: float(value) for key, value in parameters.items()}
        self.states: dict[str, State] = {}
        self.faults: list[str] = []
        for state in states:
            if state.name in self.states or state.name == ANY:
                self.faults.append(f'More than one state is called "{state.name}": the others are left out')
            else:
                self.states[state.name] = state
        if not self.states:
            raise RagdollError(f'Graph "{name}" has no states')
        for key in _BUILT_IN:
            if key in self.parameters:
                raise RagdollError(f'Graph "{name}" cannot have a parameter "{key}": every state has it')
        self.transitions: list[Transition] = []
        for transition in transitions:
            fault = self._fault_of(transition)
            if fault:
                self.faults.append(f"{fault}; it is left out")
            else:
                self.transitions.append(transition)
        while circle := circle_of(list(self.states), self.transitions):
            last = max(circle, key=lambda one: max(i for i, own in enumerate(self.transitions) if own is one))
            self.transitions = [own for own in self.transitions if own is not last]
            names = " > ".join(f'"{end}"' for end in [circle[-1].target, *(one.target for one in circle)])
            self.faults.append(
                f'The states {names} of graph "{name}" are cyclic: their conditions can all hold at once, so that it '
                f'would change on every frame; "{last.source}" > "{last.target}" is left out'
            )

    def start(self, frame: int = 0) -> GraphState:
        """The state at the shot's first frame."""
        return GraphState(frame, (Playing(next(iter(self.states)), frame),))

    def step(self, state: GraphState, parameters: Mapping[str, float]) -> GraphState:
        """The state one frame later; sources advance, then the first transition whose conditions hold begins.

        `parameters` are those of the new frame; what is not given has its default."""
        values = {**self.parameters, **parameters}
        frame = state.frame + 1
        sources = ((p, self.states[p.state].source) for p in state.playing)
        playing = [replace(p, phase=p.phase + (source.rate() if source else 0.0) / self.fps) for p, source in sources]
        current = playing[-1]
        known = {**values, TIME_IN_STATE: (frame - current.entered) / self.fps, PHASE: current.phase}
        for transition in self.transitions:
            if transition.target == current.state or transition.source not in (current.state, ANY):
                continue
            if all(_COMPARE[c.compare](known[c.parameter], c.value) for c in transition.conditions):
                playing.append(Playing(transition.target, frame, transition.blend_time * self.fps))
                break
        complete = [i for i, one in enumerate(playing) if _share(one, frame) >= 1.0]  # nothing below the last is seen
        return GraphState(frame, tuple(playing[max(complete, default=0) :]))

    def weights(self, state: GraphState) -> list[tuple[str, float]]:
        """States with a part in the pose and their weights, which sum to 1; the current one last."""
        result: list[tuple[str, float]] = []
        for playing in state.playing:
            share = _share(playing, state.frame) if result else 1.0
            result = [(name, weight * (1.0 - share)) for name, weight in result]
            result.append((playing.state, share))
        return result

    def pose(self, state: GraphState, below: stack.LocalPose) -> stack.LocalPose:
        """The pose [n] at a state: each blends over what was before, as far as its blend has come. States without a
        source show the pose below."""
        result = None
        for playing in state.playing:
            source = self.states[playing.state].source
            pose = below if source is None else source.pose(playing.phase)
            result = pose if result is None else interpolate(result, pose, _share(playing, state.frame))
        return result

    def _fault_of(self, transition: Transition) -> str:
        """Why a transition does not fit the states and parameters; empty: it does."""
        path = f'The transition "{transition.source}" > "{transition.target}" of graph "{self.name}"'
        for name in (transition.source, transition.target):
            if name not in self.states and (name != ANY or transition.target == ANY):
                return f'{path} needs a state "{name}", which is missing'
        for condition in transition.conditions:
            if condition.parameter not in (*self.parameters, *_BUILT_IN):
                return f'{path} asks for the parameter "{condition.parameter}", which is missing'
            if not math.isfinite(condition.value):
                return f'{path} compares "{condition.parameter}" with what is not a number'
        return ""


def _share(playing: Playing, frame: int) -> float:
    """How far a state's blend has come, 0..1."""
    return 1.0 if playing.blend_frames <= 0.0 else min((frame - playing.entered) / playing.blend_frames, 1.0)


def circle_of(states: Sequence[str], transitions: Sequence[Transition]) -> list[Transition]:
    """Transitions that lead round, whose conditions can all hold together on entry of each state; empty: none do.

    Idle to walk above a speed and back below it is a circle too, but no value is on both sides. Where the ranges
    overlap, the values in between would change the state on every frame.
    """
    possible = [t for t in transitions if _possible(t.conditions)]
    leaving = {name: [t for t in possible if t.source in (name, ANY) and t.target != name] for name in states}
    return next((path for start in states if (path := _circle(start, start, leaving, [], states.index))), [])


def _circle(start, here, leaving, path, place) -> list[Transition]:
    """A way on and back to `start` through states that come after it, whose conditions can all hold together."""
    for transition in leaving[here]:
        way, target = [*path, transition], transition.target
        if not _possible([condition for t in way for condition in t.conditions]):
            continue
        if target == start:
            return way
        is_new = target not in [t.target for t in path] and place(target) > place(start)
        if is_new and (found := _circle(start, target, leaving, way, place)):
            return found
    return []


def _possible(conditions: Sequence[Condition]) -> bool:
    """Whether one value of each parameter meets all conditions: one that they compare with, between two, or beyond."""
    for parameter in {condition.parameter for condition in conditions}:
        own = [condition for condition in conditions if condition.parameter == parameter]
        known = sorted({condition.value for condition in own})
        between = [0.5 * low + 0.5 * high for low, high in pairwise(known)]
        beyond = [math.nextafter(known[0], -math.inf), math.nextafter(known[-1], math.inf)]
        values = [0.0] if parameter in _BUILT_IN else [*known, *between, *beyond]
        if not any(all(_COMPARE[c.compare](value, c.value) for c in own) for value in values):
            return False
    return True


@dataclass
class GraphInputs:
    """What is read at a frame."""

    frame: int  # its number
    parameters: Mapping[str, float] = field(default_factory=dict)  # values by name
    # Inputs of the blend spaces by name, or the error by which one cannot be read
    spaces: Mapping[str, tuple | RagdollError] = field(default_factory=dict)
    weight: float = 1.0  # share of the graph's pose, 0..1


@dataclass(frozen=True)
class GraphPlaying:
    """What the graph and the blend spaces remember; `values` are the parameters of the frame."""

    graph: GraphState
    spaces: Mapping
    values: Mapping[str, float]


class GraphPlayer(stack.Step):
    """The graph of a character, and the blend spaces that its states play by name, as an entry of the motion stack."""

    name, keeps_state = "Graph", True

    def __init__(self, graph: Graph, sources: Mapping[str, SpaceSource]) -> None:
        self.graph, self.sources = graph, dict(sources)

    def apply(self, rig: stack.Rig, pose: stack.LocalPose, inputs: GraphInputs, state, seconds: float) -> tuple:
        """The pose that the current states give, over the one below as far as the weight goes, and a `GraphPlaying`.

        A parameter that is not a number counts with its default. A state that cannot be shown shows the pose below."""
        values = {name: float(value) for name, value in inputs.parameters.items() if math.isfinite(value)}
        wrong = "Its value is not a number: its default counts"
        self.messages = {f'Parameter "{name}"': wrong for name in inputs.parameters if name not in values}
        players = {name: source.player for name, source in self.sources.items()}
        spaces, troubles = blend_space.step_all(players, {} if state is None else state.spaces, inputs.spaces, seconds)
        self.messages |= {f'Blend space "{name}"': text for name, text in troubles.items()}
        for name, source in self.sources.items():
            source.weights = spaces[name].weights if name in spaces else None
            source.message = f'Blend space "{name}": {troubles[name]}' if name in troubles else ""
        now = self.graph.start(inputs.frame) if state is None else self.graph.step(state.graph, values)
        playing = GraphPlaying(now, spaces, values)
        try:
            if not 0.0 <= inputs.weight <= 1.0:
                raise RagdollError(f"Its weight must be within 0 and 1, got {inputs.weight:g}")
            if inputs.weight > 0.0:
                pose = interpolate(pose, self.graph.pose(now, pose), inputs.weight)
        except RagdollError as error:
            self.messages["Graph"] = str(error)
        return pose, playing
