"""Keeps clips of different lengths in phase, and smooths inputs over time.

A group of clips shares one phase, counted in cycles. Without markers a cycle is each clip's length. With markers, such
as the feet's contacts, a cycle is one round of the markers that all clips go through in the same order; between two
markers each clip plays evenly. A clip that has none, such as of a character that stands, goes by its length there too.
What is on the way to a step in one clip is then on the way to the same step in all.

The phase is a function of the shot stepped from its first frame; a caller that records it per frame can be scrubbed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import RagdollError
from .clip import Clip, at_once, weighted_sum
from .rig import LocalPose

NORMALIZED, MARKERS = "NORMALIZED", "MARKERS"


class SyncGroup:
    """Clips [k] that play in phase."""

    def __init__(self, clips: Sequence[Clip], speeds: ArrayLike | None = None, method: str = NORMALIZED) -> None:
        """Raises RagdollError: a speed that is not a number, or, by markers, a clip that has others than the
        first one with any, or two at one time."""
        self.clips = tuple(clips)
        # Seconds of each clip per second [k]; negative: backwards
        self.speeds = np.ones(len(clips)) if speeds is None else np.asarray(speeds, dtype=np.float64)
        for clip, speed in zip(clips, self.speeds.tolist(), strict=True):
            if not np.isfinite(speed):
                raise RagdollError(f'The speed of clip "{clip.name}" is not a number')
        self._warps: list[tuple[NDArray, NDArray] | None] = [None] * len(clips)
        self.rounds = np.ones(len(clips))  # cycles that each clip goes through from its start to its end [k]
        if method == MARKERS:
            moving = [i for i, clip in enumerate(clips) if clip.length > 0.0]
            first = next((clips[i] for i in moving if clips[i].markers), None)
            pattern = _pattern([name for name, _ in first.markers]) if first is not None else ()
            for i in moving:
                if clips[i].markers:
                    self._warps[i], self.rounds[i] = _warp(clips[i], pattern, first)
        # Seconds of a cycle of each clip [k]; 0 for clips of a single pose, which have any phase
        self.lengths = np.array([clip.length for clip in clips]) / self.rounds
        self._moving = self.lengths > 0.0
        self._rates = np.where(self._moving, self.speeds / np.where(self._moving, self.lengths, 1.0), 0.0)

    def rate(self, weights: NDArray) -> float:
        """Cycles per second with weights [k]: the weighted mean of the clips' own; single poses do not count."""
        total = float(np.sum(weights * self._moving))
        return float(np.sum(weights * self._rates)) / (total if total > 0.0 else 1.0)

    def clip_times(self, phase: float) -> list[float]:
        """Time within each clip [s], k of them, at a phase in cycles."""
        if not math.isfinite(phase):
            raise RagdollError("A phase is not a number")
        times = []
        for clip, warp, rounds in zip(self.clips, self._warps, self.rounds.tolist(), strict=True):
            own = phase % rounds
            times.append(own * clip.length if warp is None else float(np.interp(own, *warp)) % clip.length)
        return times

    def pose(self, phase: float, weights: NDArray) -> LocalPose:
        """The blended pose [n] at a phase with weights [k] that sum to 1; clips without weight are not sampled."""
        used = weights.nonzero()[0].tolist()
        times = self.clip_times(phase)
        if len(used) == 1:
            return self.clips[used[0]].at(times[used[0]])
        return weighted_sum(at_once([self.clips[i] for i in used], [times[i] for i in used]), weights[used])


def smooth_step(state: float, before: float, after: float, seconds: float, step: float) -> float:
    """An input that follows with a lag: the exact answer of x' = (u - x) / seconds while u goes evenly from one value
    to another. Twice the frames of the same input give the same at the common ones.

    Args:
        state: x before; the result is x after.
        before, after: u, before and after.
        seconds: Time constant: after it, 63 % of a step are done; 0: no smoothing.
        step: Seconds from frame to frame.
    """
    if seconds == 0.0:
        return after
    left = math.exp(-step / seconds)
    # On a ramp x stays behind by its slope times the time constant, and comes there exponentially.
    behind = (after - before) * (seconds / step)
    return after - behind + (state - before + behind) * left


def contact_markers(heights: ArrayLike, fps: float, names: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """(name, time [s]) of where feet come down, to a quarter of their range above their lowest: for `Clip.markers`.

    `heights` are those of each foot over the ground [f, feet]; the last frame of a cycle is the first again.
    """
    heights = np.asarray(heights, dtype=np.float64)
    low, high = heights.min(axis=0), heights.max(axis=0)
    level = low + 0.25 * (high - low)
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
