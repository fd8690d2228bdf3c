"""A small graph of states above clips and blend spaces, evaluated from the timeline.

States hold a source, transitions lead from one to another where all their conditions on parameters hold, and blend for
a time. The state of the graph at a frame is a value (`GraphState`) that follows from that of the frame before and the
parameters: stepped from the shot's first frame it is the same however a frame is reached, and whoever records it can
scrub. At most one transition begins per frame.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..errors import RagdollError
from .graph_checks import check_cycles, circle_of, describe_circle
from .local_pose import LocalPose
from .pose_blend import toward

ANY = "*"
TIME_IN_STATE, PHASE = "time_in_state", "phase"
_BUILT_IN = (TIME_IN_STATE, PHASE)
_COMPARE = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


class Source(Protocol):
    """What a state plays: a clip, a blend space of clips, a pose."""

    def rate(self, parameters: Mapping[str, float]) -> float:
        """Cycles per second."""

    def pose(self, phase: float, parameters: Mapping[str, float]) -> LocalPose:
        """The pose [n] at a phase in cycles; unbounded, it begins at 0 when the state is entered."""


@dataclass(frozen=True)
class Condition:
    """A comparison of a parameter, `time_in_state` [s] or `phase` [cycles] with a value; bools are 0 and 1."""

    parameter: str
    compare: str = ">"
    value: float = 0.5


@dataclass(frozen=True)
class State:
    """A state and what it plays; `source` None shows the pose below."""

    name: str
    source: Source | None = None


@dataclass(frozen=True)
class Transition:
    """From a state (or `ANY` other) to a state where all conditions hold; earlier transitions come first."""

    source: str
    target: str
    conditions: tuple[Condition, ...] = ()
    blend_time: float = 0.2


@dataclass(frozen=True)
class Playing:
    """One state that has a part in the pose.

    Attributes:
        state: Its name.
        entered: Frame at which it was entered; its blend from what was before begins there.
        blend_frames: Length of that blend in frames; 0: at once.
        phase: Of its source, in cycles.
    """

    state: str
    entered: int
    blend_frames: float = 0.0
    phase: float = 0.0


@dataclass(frozen=True)
class GraphState:
    """All that the graph remembers: the frame, and the states in the order in which they were entered. The last one is
    current; those before are still blending out."""

    frame: int
    playing: tuple[Playing, ...]

    @property
    def current(self) -> str:
        """Name of the current state."""
        return self.playing[-1].state


@dataclass(frozen=True)
class Graph:
    """States, transitions and parameters, checked when it is made.

    Attributes:
        name: For messages.
        parameters: Names and defaults; bools are kept as 0 and 1.
        states: The first one is entered at the shot's first frame.
        transitions: In order of precedence.
        fps: Frames per second.

    Raises (when made):
        RagdollError: no states, a name twice, a transition from or to a missing state, a condition on a missing
            parameter or with an unknown comparison, a blend time or value that is negative or not a number, or states
            that lead round in a circle at once: naming it.
    """

    name: str
    parameters: Mapping[str, float]
    states: Sequence[State]
    transitions: Sequence[Transition] = ()
    fps: float = 24.0
    _by_name: dict[str, State] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for state in self.states:
            if state.name in self._by_name or state.name == ANY:
                raise RagdollError(f'Graph "{self.name}" has more than one state "{state.name}"')
            self._by_name[state.name] = state
        if not self.states:
            raise RagdollError(f'Graph "{self.name}" has no states')
        for name, value in self.parameters.items():
            if name in _BUILT_IN:
                raise RagdollError(f'Graph "{self.name}" cannot have a parameter "{name}": every state has it')
            self._number(name, value)
        if not (math.isfinite(self.fps) and self.fps > 0.0):
            raise RagdollError(f'Graph "{self.name}" must have a positive frame rate, got {self.fps:g}')
        for transition in self.transitions:
            self.check_transition(transition)
        check_cycles(self.name, [state.name for state in self.states], self.transitions)

    def start(self, frame: int = 0) -> GraphState:
        """The state at the shot's first frame."""
        return GraphState(frame, (Playing(self.states[0].name, frame),))

    def step(self, state: GraphState, parameters: Mapping[str, float] | None = None) -> GraphState:
        """The state one frame later.

        Sources advance by the parameters given; then the first transition whose conditions hold begins.

        Args:
            state: At the frame before; not changed.
            parameters: At the new frame; those not given have their defaults.

        Raises:
            RagdollError: a parameter that the graph does not have or that is not a number, or a state of `state` that
                it does not have.
        """
        values = self.values(parameters)
        frame = state.frame + 1
        playing = [
            replace(p, phase=p.phase + self._rate(p, values) / self.fps) for p in _without_hidden(state.playing, frame)
        ]
        current = playing[-1]
        known = {**values, TIME_IN_STATE: (frame - current.entered) / self.fps, PHASE: current.phase}
        for transition in self.transitions:
            if transition.target == current.state or transition.source not in (current.state, ANY):
                continue
            if all(_COMPARE[c.compare](known[c.parameter], c.value) for c in transition.conditions):
                playing.append(Playing(transition.target, frame, transition.blend_time * self.fps))
                break
        return GraphState(frame, tuple(_without_hidden(playing, frame)))

    def run(self, parameters: Sequence[Mapping[str, float]], first_frame: int = 0) -> list[GraphState]:
        """The states at all frames of a shot; the parameters of its first frame decide nothing yet."""
        states = [self.start(first_frame)] if parameters else []
        for values in parameters[1:]:
            states.append(self.step(states[-1], values))
        return states

    def weights(self, state: GraphState) -> list[tuple[str, float]]:
        """States with a part in the pose and their weights, which sum to 1; the current one last."""
        result: list[tuple[str, float]] = []
        for playing in _without_hidden(state.playing, state.frame):
            share = _share(playing, state.frame) if result else 1.0
            result = [(name, weight * (1.0 - share)) for name, weight in result]
            result.append((playing.state, share))
        return result

    def pose(self, state: GraphState, below: LocalPose, parameters: Mapping[str, float] | None = None) -> LocalPose:
        """The pose [n] at a state: each blends over what was before, as far as its blend has come.

        Args:
            state: What `start` or `step` gave.
            below: What states without a source show [n].
            parameters: Those of the state's frame.
        """
        values = self.values(parameters)
        result = None
        for playing in _without_hidden(state.playing, state.frame):
            source = self._state(playing.state).source
            pose = below if source is None else source.pose(playing.phase, values)
            result = pose if result is None else toward(result, pose, _share(playing, state.frame))
        return result

    def values(self, parameters: Mapping[str, float] | None = None) -> dict[str, float]:
        """All parameters, defaults where none is given, as numbers."""
        result = {name: float(value) for name, value in self.parameters.items()}
        for name, value in (parameters or {}).items():
            if name not in result:
                raise RagdollError(f'Graph "{self.name}" has no parameter "{name}"')
            result[name] = self._number(name, value)
        return result

    def _number(self, name: str, value: float) -> float:
        if not math.isfinite(float(value)):
            raise RagdollError(f'Parameter "{name}" of graph "{self.name}" is not a number')
        return float(value)

    def _state(self, name: str) -> State:
        if name not in self._by_name:
            raise RagdollError(f'Graph "{self.name}" has no state "{name}"')
        return self._by_name[name]

    def _rate(self, playing: Playing, values: Mapping[str, float]) -> float:
        source = self._state(playing.state).source
        rate = 0.0 if source is None else float(source.rate(values))
        if not math.isfinite(rate):
            raise RagdollError(f'State "{playing.state}" of graph "{self.name}" plays at a rate that is not a number')
        return rate

    def check_transition(self, transition: Transition) -> None:
        """Raises RagdollError where a transition does not fit the states and parameters."""
        path = f'The transition "{transition.source}" > "{transition.target}" of graph "{self.name}"'
        for name in {transition.source, transition.target} - ({ANY} if transition.target != ANY else set()):
            if name not in self._by_name:
                raise RagdollError(f'{path} needs a state "{name}", which is missing')
        if not (math.isfinite(transition.blend_time) and transition.blend_time >= 0.0):
            raise RagdollError(f"{path} must blend for 0 s or more, got {transition.blend_time:g}")
        for condition in transition.conditions:
            if condition.parameter not in (*self.parameters, *_BUILT_IN):
                raise RagdollError(f'{path} asks for the parameter "{condition.parameter}", which is missing')
            if condition.compare not in _COMPARE:
                raise RagdollError(f'{path} compares by "{condition.compare}"; use {" ".join(_COMPARE)}')
            if not math.isfinite(condition.value):
                raise RagdollError(f'{path} compares "{condition.parameter}" with what is not a number')


def graph_without_faults(
    name: str,
    parameters: Mapping[str, float],
    states: Sequence[State],
    transitions: Sequence[Transition],
    fps: float,
) -> tuple[Graph, list[str]]:
    """A graph of what is right, and messages about what was left out of it.

    Of states of one name the first counts. Of a circle the transition that comes last in precedence is left out.

    Raises:
        RagdollError: what is wrong with the graph as a whole, see `Graph`.
    """
    faults, named = [], {}
    for state in states:
        if state.name in named or state.name == ANY:
            faults.append(f'More than one state is called "{state.name}": the others are left out')
            continue
        named[state.name] = state
    bare = Graph(name, parameters, list(named.values()), (), fps)
    kept = []
    for transition in transitions:
        try:
            bare.check_transition(transition)
            kept.append(transition)
        except RagdollError as error:
            faults.append(f"{error}; it is left out")
    while circle := circle_of(list(named), kept):
        last = max(circle, key=lambda transition: max(i for i, own in enumerate(kept) if own is transition))
        kept = [own for own in kept if own is not last]
        faults.append(f'{describe_circle(name, circle)}; "{last.source}" > "{last.target}" is left out')
    return Graph(name, parameters, list(named.values()), kept, fps), faults


def _share(playing: Playing, frame: int) -> float:
    """How far a state's blend has come, 0..1."""
    if playing.blend_frames <= 0.0:
        return 1.0
    return min((frame - playing.entered) / playing.blend_frames, 1.0)


def _without_hidden(playing: Sequence[Playing], frame: int) -> list[Playing]:
    """What is still seen: nothing below a state whose blend is complete."""
    for index in range(len(playing) - 1, -1, -1):
        if _share(playing[index], frame) >= 1.0:
            return list(playing[index:])
    return list(playing)
