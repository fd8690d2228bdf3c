"""Leaves out keyframes that straight lines between their neighbours already give."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from . import quaternion

Deviation = Callable[[NDArray, NDArray], NDArray]


def distance(interpolated: NDArray, samples: NDArray) -> NDArray:
    """Euclidean distances [m] of what the kept keys give from the samples, both [m, channels]: locations, scales."""
    return np.linalg.norm(interpolated - samples, axis=-1)


def quaternion_angle(interpolated: NDArray, samples: NDArray) -> NDArray:
    """Angles [m], 0 to pi [rad], between quaternions (w, x, y, z) [m, 4], which need not be normalised.

    Blender normalises a bone's interpolated quaternion in the same way.
    """
    return quaternion.angle_between(quaternion.normalize(interpolated), quaternion.normalize(samples))


def keys_to_keep(frames: NDArray, values: NDArray, tolerance: float, deviation: Deviation = distance) -> NDArray:
    """Choose the keys [f, groups] between which straight lines stay within a tolerance of every sample.

    The method is that of Ramer (1972) and Douglas and Peucker (1973), run on all segments of all groups at once: in
    every pass each segment that deviates too much is split at its worst sample. The first and the last key always
    stay. All channels of a group keep the same frames.
    Raises ValueError: the tolerance is negative, the shapes do not fit or the frames do not increase.

    Args:
        frames: strictly increasing [f].
        values: [f, groups, channels]. Quaternions must be free of sign flips and angles of jumps by a full turn.
        tolerance: largest deviation that a left-out sample may have, in the unit of `deviation`; 0 or more.
        deviation: measures [m, channels] against [m, channels], giving [m].
    """
    frames = np.asarray(frames, dtype=np.float64)
    values = np.asarray(values, dtype=np.float64)
    if not tolerance >= 0.0:
        raise ValueError(f"tolerance must not be negative, got {tolerance}")
    if frames.ndim != 1 or values.ndim != 3 or len(values) != len(frames):
        raise ValueError(f"frames {frames.shape}, values {values.shape} are not [f], [f, groups, channels]")
    if np.any(np.diff(frames) <= 0.0):
        raise ValueError("frames must increase strictly")
    frame_count, group_count, _ = values.shape
    keep = np.ones((group_count, frame_count), dtype=bool)
    if frame_count <= 2 or group_count == 0:
        return keep.T
    keep[:, 1:-1] = False

    by_group = np.ascontiguousarray(values.transpose(1, 0, 2))
    rows = np.arange(group_count)
    first, last = np.zeros(group_count, dtype=int), np.full(group_count, frame_count - 1)
    while len(rows):
        # One entry for every sample strictly inside every segment.
        inside = last - first - 1
        ends = np.cumsum(inside)
        segment = np.repeat(np.arange(len(rows)), inside)
        column = np.arange(ends[-1]) - (ends - inside)[segment] + first[segment] + 1
        share = (frames[column] - frames[first][segment]) / (frames[last] - frames[first])[segment]
        start = by_group[rows, first]
        change = by_group[rows, last] - start
        line = start[segment] + share[:, None] * change[segment]
        error = deviation(line, by_group[rows[segment], column])

        worst = np.maximum.reduceat(error, ends - inside)
        candidates = np.flatnonzero((error == worst[segment]) & (error > tolerance))
        # One key a segment even where several samples are equally far off.
        split, chosen = np.unique(segment[candidates], return_index=True)
        middle = column[candidates[chosen]]
        keep[rows[split], middle] = True
        rows = np.concatenate([rows[split], rows[split]])
        first, last = np.concatenate([first[split], middle]), np.concatenate([middle, last[split]])
        has_samples = last - first > 1
        rows, first, last = rows[has_samples], first[has_samples], last[has_samples]
    return keep.T
