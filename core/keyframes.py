"""What keyframes hold: rotations in the channels that Blender keys them by, and which keys lines make needless.

Channels are without jumps between frames: what a curve interpolates must not take the long way round."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from . import pose, quaternion


def decompose(matrix_basis: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Locations [f, bones, 3], rotations and scales [f, bones, 3] of bones' basis matrices [f, bones, 4, 4].

    The rotations are quaternions (w, x, y, z) without sign flips between frames [f, bones, 4], see
    `pose.decompose_matrices` for mirrored and sheared matrices.
    """
    location, rotation, scale = pose.decompose_matrices(matrix_basis)
    return location, quaternion.ensure_continuity(rotation), scale


def _euler_axes(order: str) -> tuple[int, int, int, float]:
    """The axes in the order in which Blender turns about them, and the order's parity."""
    i, j, k = ("XYZ".index(letter) for letter in order)
    return i, j, k, (i - j) * (j - k) * (k - i) / 2.0


def euler_from_quaternion(quaternions: NDArray, order: str, reference: NDArray | None = None) -> NDArray:
    """Euler angles [rad] about X, Y and Z without jumps between frames [f, bones, 3]; unbounded, they count turns.

    Every rotation has two triples, (a, b, c) and (a + pi, pi - b, c + pi), each up to full turns. The triple that is
    nearest to the last frame's is taken. Angles of one rotation come from the half sum and half difference of the outer
    two (Bernardes and Viollet, Quaternion to Euler angles conversion, 2022), which keeps their sum exact near gimbal
    lock; in it, the part that the rotation leaves open is that of the last frame.

    Args:
        quaternions: Unit quaternions (w, x, y, z) without sign flips, shape [f, bones, 4].
        order: Blender's order, such as "XYZ": about X first, in the parent's axes.
        reference: Angles of the frame before [bones, 3], NaN in bones without: there the smaller triple is taken.
    """
    q = np.asarray(quaternions, dtype=np.float64)
    i, j, k, parity = _euler_axes(order)
    w, vector = q[..., 0], q[..., 1:]
    a, b = w - vector[..., j], vector[..., i] + parity * vector[..., k]
    c, d = vector[..., j] + w, parity * vector[..., k] - vector[..., i]
    sum_size, difference_size = np.hypot(a, b), np.hypot(c, d)
    half_sum = _hold_where(np.arctan2(b, a), sum_size < 1e-6)
    half_difference = _hold_where(np.arctan2(d, c), difference_size < 1e-6)
    first = half_sum - half_difference
    middle = 2.0 * np.arctan2(difference_size, sum_size) - np.pi / 2.0
    angles = np.stack([first, middle, parity * (half_sum + half_difference)], axis=-1)
    # Both triples' changes have the same sizes, so whether to change over does not depend on which one is in
    # use: the choice is a running parity and needs no loop over the frames.
    before, after = angles[:-1], angles[1:]
    stay = np.abs(_wrap(after - before)).sum(axis=-1)
    change = np.abs(_wrap(_other_triple(after) - before)).sum(axis=-1)
    use_other = np.zeros(angles.shape[:2], dtype=bool)
    use_other[1:] = np.cumsum(change < stay, axis=0) % 2 == 1
    start, other = _wrap(angles[0]), _wrap(_other_triple(angles[0]))
    zero = np.zeros((q.shape[1], 3)) if reference is None else np.nan_to_num(reference[:, [i, j, k]])
    use_other ^= np.abs(_wrap(other - zero)).sum(axis=-1) < np.abs(_wrap(start - zero)).sum(axis=-1)
    angles = np.where(use_other[..., None], _other_triple(angles), angles)
    angles = np.unwrap(np.concatenate([zero[None], angles]), axis=0)[1:]
    return angles[..., np.argsort([i, j, k])]


def _wrap(angles: NDArray) -> NDArray:
    return angles - 2.0 * np.pi * np.round(angles / (2.0 * np.pi))


def _other_triple(angles: NDArray) -> NDArray:
    return np.stack([angles[..., 0] + np.pi, np.pi - angles[..., 1], angles[..., 2] + np.pi], axis=-1)


def _hold_where(values: NDArray, undefined: NDArray) -> NDArray:
    """Values [f, ...] with undefined ones replaced by the last defined one before, or the first after."""
    if not undefined.any():
        return values
    frames = np.arange(len(values)).reshape(-1, *[1] * (values.ndim - 1))
    last = np.maximum.accumulate(np.where(undefined, -1, frames), axis=0)
    return np.take_along_axis(values, np.where(last < 0, np.argmax(~undefined, axis=0)[None], last), axis=0)


def axis_angle_from_quaternion(quaternions: NDArray, reference: NDArray | None = None) -> NDArray:
    """Angle [rad] and unit axis (angle, x, y, z) [f, bones, 4] without jumps, of quaternions without sign flips.

    The axis never turns by more than 90 deg, the angle counts turns. Where no rotation defines the axis, it is that of
    the last frame, and Y, Blender's own rest value, where there is none at all. `reference` is the frame before [bones,
    4], NaN in bones without.
    """
    q = np.asarray(quaternions, dtype=np.float64)
    sine = np.linalg.norm(q[..., 1:], axis=-1)
    known = np.full(q.shape[1:], np.nan) if reference is None else reference
    before = np.where(np.isnan(known), (0.0, 0.0, 1.0, 0.0), known)
    # In single precision a vector part below this is noise.
    undefined = np.concatenate([np.isnan(known[None, :, 0]), sine < 1e-6])
    axes = q[..., 1:] / np.where(sine == 0.0, 1.0, sine)[..., None]
    axes = np.concatenate([before[None, :, 1:], axes])
    axes = np.stack([_hold_where(axes[..., n], undefined) for n in range(3)], axis=-1)
    axes = quaternion.ensure_continuity(axes)[1:]
    angle = 2.0 * np.arctan2(np.sum(q[..., 1:] * axes, axis=-1), q[..., 0])
    angle = np.unwrap(np.concatenate([before[None, :, 0], angle]), axis=0)[1:]
    return np.concatenate([angle[..., None], axes], axis=-1)


def rotation_channels(mode: str, quaternions: NDArray, reference: NDArray | None = None) -> NDArray:
    """Values of a rotation mode's channels that do not flip between frames, of unit quaternions [f, bones, 4].

    They continue `reference`, the channels' values just before the first frame [bones, channels], NaN in bones where
    there are none. QUATERNION (w, x, y, z) and AXIS_ANGLE (angle, x, y, z) have four channels, Euler angles three.
    """
    q = quaternion.ensure_continuity(np.asarray(quaternions, dtype=np.float64))
    if mode == "QUATERNION":
        start = np.eye(4)[0] if reference is None else np.where(np.isnan(reference), 0.0, reference)
        return np.where(np.sum(q[:1] * start, axis=-1, keepdims=True) < 0.0, -q, q)
    if mode == "AXIS_ANGLE":
        return axis_angle_from_quaternion(q, reference)
    return euler_from_quaternion(q, mode, reference)


def rotations(mode: str, channels: NDArray) -> NDArray:
    """Quaternions [m, 4], not normalised, of channel values [m, channels], as Blender evaluates them."""
    if mode == "QUATERNION":
        return channels
    if mode == "AXIS_ANGLE":
        return quaternion.from_axis_angle(channels[..., 1:], channels[..., 0])
    result = quaternion.identity(channels.shape[:-1])
    for axis in _euler_axes(mode)[:3]:
        result = quaternion.multiply(quaternion.from_axis_angle(np.eye(3)[axis], channels[..., axis]), result)
    return result


Deviation = Callable[[NDArray, NDArray], NDArray]


def distance(interpolated: NDArray, samples: NDArray) -> NDArray:
    """Euclidean distances [m] of what the kept keys give from the samples, both [m, channels]: locations, scales."""
    return np.linalg.norm(interpolated - samples, axis=-1)


def keys_to_keep(frames: NDArray, values: NDArray, tolerance: float, deviation: Deviation = distance) -> NDArray:
    """Choose the keys [f, groups] between which straight lines stay within a tolerance of every sample.

    The method is that of Ramer (1972) and Douglas and Peucker (1973), run on all segments of all groups at once: in
    every pass each segment that deviates too much is split at its worst sample. The first and the last key always
    stay. All channels of a group keep the same frames.

    Args:
        frames: strictly increasing [f].
        values: [f, groups, channels]. Quaternions must be free of sign flips and angles of jumps by a full turn.
        tolerance: largest deviation that a left-out sample may have, in the unit of `deviation`; 0 or more.
        deviation: measures [m, channels] against [m, channels], giving [m].
    """
    frames = np.asarray(frames, dtype=np.float64)
    values = np.asarray(values, dtype=np.float64)
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
        line = start[segment] + share[:, None] * (by_group[rows, last] - start)[segment]
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
