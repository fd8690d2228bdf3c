"""Keeps clips of different lengths in phase, and smooths inputs over time.

A group of clips shares one phase, counted in cycles. Without markers a cycle is each clip's length. With markers, such
as the feet's contacts, a cycle is one round of the markers that all clips go through in the same order; between two
markers each clip plays evenly. A clip that has none, such as of a character that stands, goes by its length there too.
What is on the way to a step in one clip is then on the way to the same step in all.

The phase is a function of the shot stepped from its first frame: `advance` takes the phase of one frame to the next,
and a caller that records it per frame can be scrubbed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import RagdollError
from .clip import Clip, at_once, stack
from .local_pose import LocalPose
from .pose_blend import weighted_sum

NORMALIZED, MARKERS = "NORMALIZED", "MARKERS"


class SyncGroup:
    """Clips [k] that play in phase.

    Attributes:
        clips: The clips.
        speeds: Seconds of each clip per second [k]; negative: backwards.
        rounds: Cycles that each clip goes through from its start to its end [k].
        lengths: Seconds of a cycle of each clip [k]; 0 for clips of a single pose, which have any phase.
    """

    def __init__(self, clips: Sequence[Clip], speeds: ArrayLike | None = None, method: str = NORMALIZED) -> None:
        """Raises RagdollError: no clips, a speed that is not a number, or, by markers, a clip that has others than the
        first one with any, or two at one time."""
        if len(clips) == 0:
            raise RagdollError("There are no clips to keep in phase")
        if method not in (NORMALIZED, MARKERS):
            raise RagdollError(f'Clips cannot be kept in phase by "{method}"; use {NORMALIZED} or {MARKERS}')
        self.clips = tuple(clips)
        self.speeds = np.ones(len(clips)) if speeds is None else np.asarray(speeds, dtype=np.float64)
        if self.speeds.shape != (len(clips),):
            raise RagdollError(f"Got {len(clips)} clips but speeds of shape {list(self.speeds.shape)}")
        for clip, speed in zip(clips, self.speeds.tolist(), strict=True):
            if not np.isfinite(speed):
                raise RagdollError(f'The speed of clip "{clip.name}" is not a number')
        self._warps: list[tuple[NDArray, NDArray] | None] = [None] * len(clips)
        self.rounds = np.ones(len(clips))
        if method == MARKERS:
            moving = [i for i, clip in enumerate(clips) if clip.length > 0.0]
            first = next((clips[i] for i in moving if clips[i].markers), None)
            pattern = _pattern([name for name, _ in first.markers]) if first is not None else ()
            for i in moving:
                if clips[i].markers:
                    self._warps[i], self.rounds[i] = _warp(clips[i], pattern, first)
        self.lengths = np.array([clip.length for clip in clips]) / self.rounds

    def rate(self, weights: ArrayLike) -> NDArray:
        """Cycles per second [...] with weights [..., k]: the weighted mean of the clips' own; single poses do not
        count."""
        weights = np.asarray(weights, dtype=np.float64)
        moving = self.lengths > 0.0
        rates = np.where(moving, self.speeds / np.where(moving, self.lengths, 1.0), 0.0)
        total = np.sum(weights * moving, axis=-1)
        return np.sum(weights * rates, axis=-1) / np.where(total > 0.0, total, 1.0)

    def advance(self, phase: ArrayLike, weights: ArrayLike, seconds: float) -> NDArray:
        """The phase [...] after some time during which the weights [..., k] hold."""
        return np.asarray(phase, dtype=np.float64) + self.rate(weights) * seconds

    def phases(self, weights: ArrayLike, fps: float, start: ArrayLike = 0.0) -> NDArray:
        """The phase at every frame of a shot [f, ...] whose weights [f, ..., k] are known; between two frames the
        rate changes evenly.

        The same as stepping frame by frame with the mean of both frames' rates.
        """
        rates = self.rate(weights)
        steps = 0.5 * (rates[1:] + rates[:-1]) / fps
        return np.asarray(start) + np.concatenate([np.zeros_like(rates[:1]), np.cumsum(steps, axis=0)])

    def clip_times(self, phase: ArrayLike) -> NDArray:
        """Time within each clip [s], shape [..., k], at phases [...] in cycles."""
        one = isinstance(phase, (int, float))  # of one number Python's own functions are quicker
        phase = float(phase) if one else np.asarray(phase, dtype=np.float64)
        if not (math.isfinite(phase) if one else np.isfinite(phase).all()):
            raise RagdollError("A phase is not a number")
        times = []
        for clip, warp, rounds in zip(self.clips, self._warps, self.rounds.tolist(), strict=True):
            own = phase % rounds
            times.append(own * clip.length if warp is None else np.mod(np.interp(own, *warp), clip.length))
        return np.array(times) if one else np.stack(times, axis=-1)

    def pose(self, phase: ArrayLike, weights: ArrayLike) -> LocalPose:
        """The blended pose [..., n] at phases [...] with weights [..., k] that sum to 1; clips without weight are not
        sampled."""
        weights = np.asarray(weights, dtype=np.float64)
        used = (weights if weights.ndim == 1 else weights.reshape(-1, len(self.clips)).any(axis=0)).nonzero()[0]
        times = self.clip_times(phase)
        if weights.ndim == times.ndim == 1 and len(used) > 1:
            poses = at_once([self.clips[i] for i in used], times[used].tolist())
            return weighted_sum(poses, weights[used])
        poses = [self.clips[i].at(times[..., i]) for i in used.tolist()]
        if len(used) == 1 and np.all(weights[..., used[0]] == 1.0):
            return poses[0]
        return weighted_sum(stack(poses), np.moveaxis(weights[..., used], -1, 0))


def smooth(values: ArrayLike, seconds: float, step: float, initial: ArrayLike | None = None) -> NDArray:
    """An input that follows with a lag: the exact answer of x' = (u - x) / seconds, u going evenly from frame to frame.

    Exact in time: twice the frames of the same input give the same at the common ones.

    Args:
        values: The input u at every frame from the shot's first [f, ...].
        seconds: Time constant: after it, 63 % of a step are done; 0: no smoothing.
        step: Seconds from frame to frame.
        initial: x at the first frame [...]; without, the input's own value.

    Returns:
        x at every frame [f, ...].

    Raises:
        RagdollError: a negative time constant, or a value that is not a number.
    """
    values = np.asarray(values, dtype=np.float64)
    if not np.isfinite(values).all():
        raise RagdollError("The input to be smoothed is not a number")
    result = np.empty_like(values)
    result[:1] = values[:1] if initial is None else initial
    for frame in range(1, len(values)):
        result[frame] = smooth_step(result[frame - 1], values[frame - 1], values[frame], seconds, step)
    return result


def smooth_step(state: ArrayLike, before: ArrayLike, after: ArrayLike, seconds: float, step: float) -> NDArray:
    """One step of `smooth`: the state [...] when the input has gone evenly from `before` to `after` in `step` [s]."""
    if not seconds >= 0.0:
        raise RagdollError(f"The smoothing time must be 0 or more, got {seconds:g}")
    before, after = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if seconds == 0.0:
        return after.copy()
    left = np.exp(-step / seconds)
    # On a ramp x stays behind by its slope times the time constant, and comes there exponentially.
    behind = (after - before) * (seconds / step)
    return after - behind + (np.asarray(state) - before + behind) * left


def contact_markers(
    heights: ArrayLike, fps: float, names: Sequence[str], level: ArrayLike | None = None
) -> tuple[tuple[str, float], ...]:
    """Markers at the frames where feet come down: for `Clip.markers`.

    Args:
        heights: Of each foot over the ground [f, feet]; the last frame of a cycle is the first again.
        fps: Frames per second.
        names: Of the feet, which the markers get.
        level: Height below which a foot is down [feet]; without, a quarter of its range above its lowest.

    Returns:
        (name, time [s]) in order of time.
    """
    heights = np.asarray(heights, dtype=np.float64)
    low, high = heights.min(axis=0), heights.max(axis=0)
    level = low + 0.25 * (high - low) if level is None else np.broadcast_to(level, low.shape)
    found = []
    for foot, name in enumerate(names):
        down = heights[:, foot] <= level[foot]
        for frame in np.flatnonzero(down[1:] & ~down[:-1]).tolist():
            a, b = heights[frame, foot], heights[frame + 1, foot]
            found.append(((frame + (a - level[foot]) / (a - b)) / fps, name))
    return tuple((name, time) for time, name in sorted(found))


def _pattern(names: Sequence[str]) -> tuple[str, ...]:
    """The shortest part that the names repeat."""
    for size in range(1, len(names) + 1):
        if len(names) % size == 0 and all(name == names[i % size] for i, name in enumerate(names)):
            return tuple(names[:size])
    return ()


def _warp(clip: Clip, pattern: tuple[str, ...], first: Clip) -> tuple[tuple[NDArray, NDArray], int]:
    """Phases and clip times between which time runs evenly, and the number of rounds in the clip."""
    times = np.array([time for _, time in clip.markers])
    if not np.isfinite(times).all() or (np.diff(times) <= 0.0).any() or times[0] < 0.0 or times[-1] >= clip.length:
        raise RagdollError(f'The markers of clip "{clip.name}" must rise from 0 to before its end ({clip.length:g} s)')
    names = [name for name, _ in clip.markers]
    size = len(pattern)
    turns = [i for i in range(size) if all(name == pattern[(j + i) % size] for j, name in enumerate(names))]
    if len(names) % size or not turns:
        raise RagdollError(
            f'The markers of clip "{clip.name}" ({", ".join(names)}) do not go round like those of "{first.name}" '
            f"({', '.join(pattern)})"
        )
    rounds = len(names) // size
    # Marker j of the clip is marker j + turns[0] of the pattern; one more on either side closes the cycle.
    count = len(names)
    numbers = np.arange(-count, 2 * count)
    phases = (numbers + turns[0]) / size
    all_times = np.concatenate([times - clip.length, times, times + clip.length])
    return (phases, all_times), rounds
