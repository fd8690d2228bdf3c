"""Measuring joints: a rotation as swing and twist, how far it is beyond limits, limits wide enough for it."""

from __future__ import annotations

import math

import numpy as np

from .. import quaternion
from .joint_ranges import checked_limits, ellipse_radius, half_axes_of, hinge_axis


def swing_twist_angles(r_rel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Splits rotations of the child relative to the parent into swing and twist.

    Args:
        r_rel: unit quaternions (w, x, y, z) in the joint's frame, shape [..., 4].

    Returns:
        (swing X, twist, swing Z) [rad], shape [...] each: the swing's rotation vector and the twist in (-pi,
        pi]. At a swing of exactly half a turn the split is not unique.
    """
    q = np.asarray(r_rel, dtype=float)
    swing, twist = quaternion.swing_twist(q, (0.0, 1.0, 0.0))
    vector = quaternion.to_rotation_vector(swing)
    return vector[..., 0], _twist_angle(twist, 1), vector[..., 2]


def _twist_angle(twist: np.ndarray, axis: int) -> np.ndarray:
    """Signed angle in (-pi, pi] of quaternions that turn about a coordinate axis."""
    sign = np.where(twist[..., 0] < 0.0, -1.0, 1.0)
    return 2.0 * np.arctan2(sign * twist[..., 1 + axis], sign * twist[..., 0])


def twist_offset(swing_x, swing_z) -> np.ndarray:
    """Twist [rad] at which a cone's planned constraint reads zero for this swing [rad] (arrays that
    broadcast).

    What the planned range of the twist is shifted by. Exact for a first Empty turned by 0 (X the wider
    swing); turned by 90 degrees the sign is the other one.
    """
    swing_x, swing_z = np.asarray(swing_x, dtype=float), np.asarray(swing_z, dtype=float)
    angle, direction = np.hypot(swing_x, swing_z), np.arctan2(swing_z, swing_x)
    a = np.arctan2(np.sin(angle) * np.cos(direction), np.cos(angle))
    b = np.arcsin(np.clip(-np.sin(angle) * np.sin(direction), -1.0, 1.0))
    return 2.0 * np.arctan(np.tan(a / 2.0) * np.tan(b / 2.0))


def _range_excess(angle: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Distance [rad] of angles from a range, on the circle."""
    past = np.mod(angle - upper, 2.0 * math.pi)
    short = np.mod(lower - angle, 2.0 * math.pi)
    inside = np.mod(angle - lower, 2.0 * math.pi) <= upper - lower + 1e-12
    return np.where(inside, 0.0, np.minimum(past, short))


def limit_excess(joint_type: str, limit_min, limit_max, r_rel) -> np.ndarray:
    """How far rotations are outside a joint's limits.

    Args:
        joint_type: FIXED, HINGE, CONE or FREE.
        limit_min, limit_max: angles [rad], shape [3].
        r_rel: unit quaternions (w, x, y, z) of the child relative to the parent in the joint's frame, shape
        [..., 4].

    Returns:
        The larger of the swing's and the twist's excess [rad], 0 inside, shape [...]. The swing's is taken
        along its own direction; a hinge's is the larger of its angle's and of the rotation about other axes.

    Raises:
        ValueError: as `plan_constraints`.
    """
    lower, upper = checked_limits(joint_type, limit_min, limit_max)
    q = np.asarray(r_rel, dtype=float)
    if joint_type == "FREE":
        return np.zeros(q.shape[:-1])
    if joint_type == "FIXED":
        return np.linalg.norm(quaternion.to_rotation_vector(q), axis=-1)
    if joint_type == "HINGE":
        axis = hinge_axis(lower, upper)
        swing, twist = quaternion.swing_twist(q, np.eye(3)[axis])
        aside = np.linalg.norm(quaternion.to_rotation_vector(swing), axis=-1)
        return np.maximum(aside, _range_excess(_twist_angle(twist, axis), lower[axis], upper[axis]))
    swing_x, twist, swing_z = swing_twist_angles(q)
    angle = np.hypot(swing_x, swing_z)
    allowed = ellipse_radius(half_axes_of(lower, upper), np.arctan2(swing_z, swing_x))
    return np.maximum(np.maximum(angle - allowed, 0.0), _range_excess(twist, lower[1], upper[1]))


def widen_limits(joint_type: str, limit_min, limit_max, r_rel, margin: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Limits just wide enough for observed rotations.

    Args:
        joint_type: FIXED, HINGE, CONE or FREE.
        limit_min, limit_max: angles [rad], shape [3]; never made narrower. FIXED and FREE are returned as
        they are.
        r_rel: observed unit quaternions (w, x, y, z) in the joint's frame, shape [..., 4].
        margin: what an observed rotation that needs wider limits keeps to them [rad].

    Returns:
        (limit_min, limit_max) [rad], shape [3] each. Each quarter of a cone's ellipse gets the smallest area
        that contains the old quarter's half axes and what was seen in it.

    Raises:
        ValueError: as `plan_constraints`, or for a negative margin.
    """
    lower, upper = checked_limits(joint_type, limit_min, limit_max)
    if not margin >= 0.0:
        raise ValueError(f"margin must not be negative, got {margin:g}")
    q = np.asarray(r_rel, dtype=float).reshape(-1, 4)
    lower, upper = lower.copy(), upper.copy()
    if joint_type in ("FIXED", "FREE") or not len(q):
        return lower, upper
    if joint_type == "HINGE":
        axis = hinge_axis(lower, upper)
        twist = _twist_angle(quaternion.swing_twist(q, np.eye(3)[axis])[1], axis)
        _widen_range(lower, upper, axis, twist, margin)
        return lower, upper
    swing_x, twist, swing_z = swing_twist_angles(q)
    _widen_range(lower, upper, 1, twist, margin)
    angle, direction = np.hypot(swing_x, swing_z), np.arctan2(swing_z, swing_x)
    old = half_axes_of(lower, upper)
    outside = angle > ellipse_radius(old, direction)
    angle = np.minimum(angle + margin, math.pi)[outside]
    x, z = angle * np.cos(direction[outside]), angle * np.sin(direction[outside])
    new = old.copy()
    for ix, in_x in ((0, x >= 0.0), (1, x < 0.0)):
        for iz, in_z in ((2, z >= 0.0), (3, z < 0.0)):
            inside = in_x & in_z
            if inside.any():
                axis_x, axis_z = _enclosing_quarter(np.abs(x[inside]), np.abs(z[inside]), old[ix], old[iz])
                new[ix], new[iz] = max(new[ix], axis_x), max(new[iz], axis_z)
    # A range that does not reach the bind pose counts as reaching it; only what was widened is written.
    for i, (side, sign) in enumerate(((0, 1), (0, -1), (2, 1), (2, -1))):
        if new[i] > old[i]:
            (upper if sign > 0 else lower)[side] = sign * new[i]
    return lower, upper


def _widen_range(lower: np.ndarray, upper: np.ndarray, axis: int, angle: np.ndarray, margin: float) -> None:
    middle = 0.5 * (lower[axis] + upper[axis])
    # Angles are taken on the turn around the middle of the range, so that a range beyond half a turn keeps
    # its sense.
    angle = middle + np.mod(angle - middle + math.pi, 2.0 * math.pi) - math.pi
    outside_low, outside_high = angle[angle < lower[axis]], angle[angle > upper[axis]]
    if outside_low.size:
        lower[axis] = outside_low.min() - margin
    if outside_high.size:
        upper[axis] = outside_high.max() + margin


def _enclosing_quarter(x: np.ndarray, z: np.ndarray, least_x: float, least_z: float) -> tuple[float, float]:
    """Half axes of the smallest quarter ellipse around points [n] with half axes no less than given."""
    # Points on an axis must not divide by zero; half axes grow by no more than this.
    slack = 1e-9
    box_x, box_z = max(least_x, float(x.max()), slack), max(least_z, float(z.max()), slack)
    axis_x = box_x * np.concatenate((np.geomspace(1.0 + slack, 1.01, 8), np.geomspace(1.01, 20.0, 192)))
    rest = 1.0 - (x[None, :] / axis_x[:, None]) ** 2
    axis_z = np.maximum((z[None, :] / np.sqrt(rest)).max(axis=1), box_z) * (1.0 + slack)
    best = int(np.argmin(axis_x * axis_z))
    return float(axis_x[best]), float(axis_z[best])
