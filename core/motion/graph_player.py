"""The graph of states as an entry of the motion stack."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from numpy.typing import NDArray

from ..errors import RagdollError
from .additive import check_whole
from .graph import Graph, GraphState
from .local_pose import LocalPose
from .pose_blend import toward
from .rig import Rig
from .space_player import SpacePlayer, step_all


class SpaceSource:
    """A blend space as what a state plays; the graph keeps its phase, the player its current point."""

    def __init__(self, player: SpacePlayer) -> None:
        """Raises RagdollError: samples that are additive, which a state cannot show."""
        check_whole(player.group.clips[0].poses if player.group is not None else None, f'Blend space "{player.name}"')
        self.player = player
        self.weights: NDArray | None = None
        self.message = ""

    def rate(self, parameters: Mapping[str, float]) -> float:
        """Cycles per second at the current point."""
        return 0.0 if self.weights is None else float(self.player.group.rate(self.weights))

    def pose(self, phase: float, parameters: Mapping[str, float]) -> LocalPose:
        """The blended pose [n]. Raises RagdollError where the inputs are wrong."""
        if self.weights is None or self.message:
            raise RagdollError(self.message)
        return self.player.group.pose(phase, self.weights)


@dataclass
class GraphInputs:
    """What is read at a frame.

    Attributes:
        frame: its number.
        parameters: values by name.
        spaces: inputs of the blend spaces by name.
        weight: share of the graph's pose, 0..1.
        unread: why a blend space has no inputs, by its name.
    """

    frame: int
    parameters: Mapping[str, float] = field(default_factory=dict)
    spaces: Mapping[str, tuple] = field(default_factory=dict)
    weight: float = 1.0
    unread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class GraphPlaying:
    """All that the graph remembers; `values` are the parameters of the frame."""

    graph: GraphState
    spaces: Mapping
    values: Mapping[str, float]


class GraphPlayer:
    """Solver of the stack.

    Attributes:
        graph: states and transitions.
        sources: blend spaces that states play, by name.
        messages: what was wrong at the last frame.
    """

    def __init__(self, graph: Graph, sources: Mapping[str, SpaceSource]) -> None:
        self.graph, self.sources = graph, dict(sources)
        self.messages: dict[str, str] = {}

    def apply(
        self, rig: Rig, pose: LocalPose, inputs: GraphInputs, state: GraphPlaying | None, seconds: float
    ) -> tuple[LocalPose, GraphPlaying]:
        """The pose that the current states give, over the one below as far as the weight goes.

        A parameter that is not a number counts with its default. A state that cannot be shown shows the pose below.
        """
        self.messages = {}
        values = self._values(inputs.parameters)
        spaces, troubles = step_all(
            {name: source.player for name, source in self.sources.items()},
            state.spaces if state is not None else {},
            inputs.spaces,
            seconds,
            inputs.unread,
        )
        self.messages |= {f'Blend space "{name}"': text for name, text in troubles.items()}
        for name, source in self.sources.items():
            source.weights = spaces[name].weights if name in spaces else None
            source.message = f'Blend space "{name}": {troubles[name]}' if name in troubles else ""
        if state is None:
            now = self.graph.start(inputs.frame)
        else:
            now = self.graph.step(state.graph, values)
        playing = GraphPlaying(now, spaces, values)
        if not 0.0 <= inputs.weight <= 1.0:
            self.messages["Graph"] = f"Its weight must be within 0 and 1, got {inputs.weight:g}"
            return pose, playing
        if inputs.weight == 0.0:
            return pose, playing
        try:
            shown = self.graph.pose(now, pose, values)
        except RagdollError as error:
            self.messages["Graph"] = str(error)
            return pose, playing
        return (shown if inputs.weight == 1.0 else toward(pose, shown, inputs.weight)), playing

    def _values(self, given: Mapping[str, float]) -> dict[str, float]:
        values = {}
        for name, value in given.items():
            if math.isfinite(value):
                values[name] = float(value)
            else:
                self.messages[f'Parameter "{name}"'] = "Its value is not a number: its default counts"
        return values
