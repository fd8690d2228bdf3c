"""What states of a graph and layers play: clips, blend spaces and single poses, by phase and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import RagdollError
from .additive import check_whole
from .blend_space import BlendSpace1D, BlendSpace2D
from .clip import LOOP, ONCE, PING_PONG, Clip
from .local_pose import LocalPose
from .sync import SyncGroup


@dataclass(frozen=True)
class PoseSource:
    """A single pose."""

    held: LocalPose

    def rate(self, parameters: Mapping[str, float]) -> float:
        """It does not move."""
        return 0.0

    def pose(self, phase: float, parameters: Mapping[str, float]) -> LocalPose:
        """The pose [n]."""
        return self.held


@dataclass(frozen=True)
class ClipSource:
    """A clip; one cycle is its length. `mode` is one of `clip.MODES`, the speed may be negative."""

    clip: Clip
    speed: float = 1.0
    mode: str = LOOP

    def __post_init__(self) -> None:
        check_whole(self.clip.poses, f'Clip "{self.clip.name}"')

    def rate(self, parameters: Mapping[str, float]) -> float:
        """Cycles per second."""
        return self.speed / self.clip.length if self.clip.length > 0.0 else 0.0

    def pose(self, phase: float, parameters: Mapping[str, float]) -> LocalPose:
        """The pose [n]; played backwards it begins at the clip's end."""
        start = self.clip.length if self.speed < 0.0 else 0.0
        time = start + phase * self.clip.length
        if self.mode in (ONCE, PING_PONG):
            return self.clip.sample(time, mode=self.mode)
        return self.clip.at_phase(phase + (1.0 if self.speed < 0.0 else 0.0))


@dataclass(frozen=True)
class BlendSpaceSource:
    """Clips of a blend space in phase; its inputs are parameters.

    Attributes:
        space: Places of the samples.
        group: The samples' clips, in the space's order.
        inputs: Names of the parameters that drive the space's axes.
    """

    space: BlendSpace1D | BlendSpace2D
    group: SyncGroup
    inputs: tuple[str, ...]

    def __post_init__(self) -> None:
        axes = 1 if isinstance(self.space, BlendSpace1D) else 2
        if len(self.inputs) != axes:
            raise RagdollError(f"A blend space of {axes} axes needs as many inputs, got {len(self.inputs)}")
        if len(self.group.clips) != len(self.space.names):
            raise RagdollError(f"Got {len(self.group.clips)} clips for {len(self.space.names)} samples")
        for clip in self.group.clips:
            check_whole(clip.poses, f'Clip "{clip.name}"')

    def weights(self, parameters: Mapping[str, float]):
        """Weights of the samples [k]."""
        missing = next((name for name in self.inputs if name not in parameters), None)
        if missing is not None:
            raise RagdollError(f'The blend space needs the parameter "{missing}", which is missing')
        return self.space.weights(*(parameters[name] for name in self.inputs))

    def rate(self, parameters: Mapping[str, float]) -> float:
        """Cycles per second."""
        return float(self.group.rate(self.weights(parameters)))

    def pose(self, phase: float, parameters: Mapping[str, float]) -> LocalPose:
        """The blended pose [n]."""
        return self.group.pose(phase, self.weights(parameters))
