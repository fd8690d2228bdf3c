"""The layers of a character as one entry of the motion stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import RagdollError
from .layers import Layer, active_layers, apply_layer
from .local_pose import LocalPose
from .rig import Rig
from .space_player import SpacePlayer, SpaceState, step_all


@dataclass
class LayerFrame:
    """What the layers' sources are given at a frame.

    Attributes:
        seconds: time of the frame.
        spaces: states of the blend spaces by name.
        poses: weights of the poses of layers that have several, by the layer's place.
        messages: why a blend space has no state, by its name.
    """

    seconds: float
    spaces: Mapping[str, SpaceState] = field(default_factory=dict)
    poses: Mapping[int, Sequence[float]] = field(default_factory=dict)
    messages: Mapping[str, str] = field(default_factory=dict)

    def space(self, name: str) -> SpaceState:
        """The state of a blend space. Raises RagdollError where its inputs are wrong."""
        if name in self.messages:
            raise RagdollError(self.messages[name])
        return self.spaces[name]


@dataclass
class LayerInputs:
    """What is read at a frame.

    Attributes:
        weights: of every layer.
        spaces: inputs of the blend spaces by name.
        poses: weights of the poses of layers that have several, by the layer's place.
        unread: why a blend space has no inputs, by its name.
    """

    weights: Sequence[float]
    spaces: Mapping[str, tuple] = field(default_factory=dict)
    poses: Mapping[int, Sequence[float]] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)


class LayerStack:
    """Solver of the stack: layers whose sources take a `LayerFrame`.

    Attributes:
        layers: the lowest first.
        players: the blend spaces that they play, by name.
        messages: why layers were left out at the last frame.
    """

    def __init__(self, layers: Sequence[Layer], players: Mapping[str, SpacePlayer]) -> None:
        self.layers, self.players = list(layers), dict(players)
        self.messages: dict[str, str] = {}

    @property
    def keeps_state(self) -> bool:
        """Whether a frame depends on those before it."""
        return any(player.keeps_state for player in self.players.values())

    def apply(
        self, rig: Rig, pose: LocalPose, inputs: LayerInputs, state: dict | None, seconds: float
    ) -> tuple[LocalPose, dict]:
        """The pose with all layers on top; the state is that of the blend spaces by name."""
        spaces, troubles = step_all(self.players, state or {}, inputs.spaces, seconds, inputs.unread)
        troubles = {name: f'Blend space "{self.players[name].name}": {text}' for name, text in troubles.items()}
        frame = LayerFrame(seconds, spaces, inputs.poses, troubles)
        self.messages = {}
        acting = active_layers(self.layers)
        for layer, weight in zip(self.layers, inputs.weights, strict=True):
            if not any(layer is own for own in acting):
                continue
            try:
                pose = apply_layer(rig.skeleton, pose, layer, frame, weight)
            except RagdollError as error:
                self.messages[f'Layer "{layer.name}"'] = str(error)
        return pose, spaces
