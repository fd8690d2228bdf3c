"""Blend spaces over time: smoothed inputs, and one phase that all samples share.

What a space remembers (`SpaceState`) follows from the frame before and the inputs, so it is stepped from the shot's
first frame and recorded per frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import RagdollError
from .additive import AdditivePose
from .aim_offset import AimOffset
from .blend_space import WRAP, BlendSpace1D, BlendSpace2D
from .clip import Clip
from .local_pose import LocalPose
from .sync import NORMALIZED, SyncGroup, smooth_step


@dataclass(frozen=True)
class SpaceState:
    """What a space remembers from frame to frame.

    Attributes:
        given: inputs of the axes as they were read; on wrapped axes without jumps.
        at: the inputs after smoothing: the current point.
        phase: of the samples, in cycles.
        seconds: time of the frame.
        weights: of the samples at the current point [k].
    """

    given: tuple
    at: tuple
    phase: float
    seconds: float
    weights: np.ndarray = field(compare=False, repr=False)


class SpacePlayer:
    """A space with its samples.

    Attributes:
        name: for messages.
        space: places of the samples.
        group: the samples' clips in phase, None for an aim offset.
        aim: the samples as an aim offset, None for clips.
        smoothing: time constant of each axis [s].
    """

    def __init__(
        self,
        name: str,
        space: BlendSpace1D | BlendSpace2D,
        clips: Sequence[Clip],
        *,
        aim: bool = False,
        speeds: Sequence[float] | None = None,
        sync: str = NORMALIZED,
        smoothing: Sequence[float] = (0.0, 0.0),
    ) -> None:
        """Samples in the order of the space's names.

        Raises:
            RagdollError: additive samples beside whole ones, a negative smoothing time, or what `SyncGroup` or, for an
                aim offset, `AimOffset` refuse.
        """
        self.name, self.space = name, space
        self.axes = (space.axis,) if isinstance(space, BlendSpace1D) else space.axes
        self.smoothing = tuple(float(value) for value in smoothing)[: len(self.axes)]
        for axis, seconds in zip(self.axes, self.smoothing, strict=True):
            if not seconds >= 0.0:
                raise RagdollError(f'The smoothing of axis "{axis.name}" must be 0 s or more, got {seconds:g}')
        self.aim = AimOffset(space, dict(zip(space.names, clips, strict=True))) if aim else None
        if not aim:
            _check_kinds(space.names, clips)
        self.group = None if aim else SyncGroup(clips, speeds, sync)

    @property
    def keeps_state(self) -> bool:
        """Whether a frame depends on those before it."""
        return any(self.smoothing) or (self.group is not None and bool(np.any(self.group.lengths > 0.0)))

    def weights(self, at: Sequence[float]):
        """Weights of the samples [k] at a point."""
        return self.space.weights(*at)

    def start(self, given: Sequence[float], seconds: float) -> SpaceState:
        """The state at the shot's first frame.

        Raises:
            RagdollError: an input that is not a number.
        """
        given = tuple(float(value) for value in given)
        return SpaceState(given, given, 0.0, seconds, self.weights(given))

    def step(self, state: SpaceState | None, given: Sequence[float], seconds: float) -> SpaceState:
        """The state at the next frame, `seconds` being its time.

        The phase advances by the mean of both frames' rates.

        Raises:
            RagdollError: an input that is not a number.
        """
        if state is None:
            return self.start(given, seconds)
        passed = seconds - state.seconds
        given = tuple(
            _unwrapped(axis, old, float(new)) for axis, old, new in zip(self.axes, state.given, given, strict=True)
        )
        at = given
        if any(self.smoothing) and passed > 0.0:
            steps = zip(state.at, state.given, given, self.smoothing, strict=True)
            at = tuple(float(smooth_step(x, old, new, time, passed)) for x, old, new, time in steps)
        weights = state.weights if at == state.at else self.weights(at)
        phase = state.phase
        if self.group is not None:
            phase += 0.5 * float(self.group.rate(state.weights) + self.group.rate(weights)) * passed
        return SpaceState(given, at, phase, seconds, weights)

    def pose(self, state: SpaceState) -> LocalPose | AdditivePose:
        """The blended pose [n] at a state."""
        if self.aim is not None:
            return self.aim.weighed(state.weights)
        return self.group.pose(state.phase, state.weights)


def step_all(
    players: Mapping[str, SpacePlayer],
    states: Mapping[str, SpaceState],
    inputs: Mapping[str, tuple],
    seconds: float,
    unread: Mapping[str, str] | None = None,
) -> tuple[dict, dict]:
    """States of all spaces one frame on, and messages by the names of those whose inputs are wrong.

    A space whose input is wrong for a while stays where it was and goes on from there.

    Args:
        players, states, inputs: by the spaces' names.
        seconds: time of the frame.
        unread: why a space has no inputs, by its name.
    """
    after, messages = {}, {}
    for name, player in players.items():
        try:
            if unread and name in unread:
                raise RagdollError(unread[name])
            after[name] = player.step(states.get(name), inputs[name], seconds)
        except RagdollError as error:
            messages[name] = str(error)
            if name in states:
                after[name] = states[name]
    return after, messages


def _unwrapped(axis, old: float, new: float) -> float:
    if axis.ends != WRAP or not np.isfinite(new):
        return new
    size = axis.maximum - axis.minimum
    return old + (new - old + 0.5 * size) % size - 0.5 * size


def _check_kinds(names: Sequence[str], clips: Sequence[Clip]) -> None:
    kinds = [clip.poses.space if isinstance(clip.poses, AdditivePose) else None for clip in clips]
    for name, kind in zip(names, kinds, strict=True):
        if kind != kinds[0]:
            raise RagdollError(
                f'Sample "{name}" is {_words(kind)}, sample "{names[0]}" is {_words(kinds[0])}: samples of one space '
                "must be alike"
            )


def _words(kind: str | None) -> str:
    return "not additive" if kind is None else f"additive in {kind.lower()} space"
