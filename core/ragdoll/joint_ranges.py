"""Types of joints and their ranges, and what a Blender constraint of a joint is; conventions as in `joints`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

JOINT_TYPES = ("FIXED", "HINGE", "CONE", "FREE")
# A range this close to a full turn is no limit, and Bullet folds angles beyond half a turn [rad].
HALF_TURN = math.pi - 1e-3

Limits = tuple[float, float] | None


@dataclass(frozen=True)
class ConstraintSpec:
    """One Blender rigid body constraint of a joint.

    Attributes:
        type: Blender's constraint type: GENERIC, HINGE, POINT or FIXED.
        rotation: rotation of the constraint's Empty relative to the joint's frame, (w, x, y, z). The Empty
            stands at the joint in bind pose.
        object1: "child" or "parent", the body to put into `object1`; the other one is `object2`.
        lock_linear: the three linear axes are limited to [0, 0]. GENERIC only; the other types hold the
            position by themselves. Exactly the first constraint of a joint holds the position.
        angular_limits: (lower, upper) [rad] about the Empty's X, Y and Z axes, None where there is no limit.
    """

    type: str
    rotation: tuple[float, float, float, float]
    object1: str = "child"
    lock_linear: bool = False
    angular_limits: tuple[Limits, Limits, Limits] = (None, None, None)


def checked_limits(joint_type: str, limit_min, limit_max) -> tuple[np.ndarray, np.ndarray]:
    if joint_type not in JOINT_TYPES:
        raise ValueError(f"joint type must be one of {', '.join(JOINT_TYPES)}, got {joint_type!r}")
    lower = np.asarray(limit_min, dtype=float)
    upper = np.asarray(limit_max, dtype=float)
    if lower.shape != (3,) or upper.shape != (3,):
        raise ValueError(f"limits must be three angles each, got {limit_min!r} and {limit_max!r}")
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise ValueError(f"limits must be finite, got {lower.tolist()} and {upper.tolist()}")
    if (lower > upper).any():
        i = int(np.argmax(lower > upper))
        values = f"{lower[i]:g} > {upper[i]:g} rad for {'XYZ'[i]}"
        raise ValueError(f"limit_min must not exceed limit_max, got {values}")
    return lower, upper


def hinge_axis(limit_min, limit_max) -> int:
    """Axis (0, 1, 2) about which a HINGE with these limits [rad], shape [3], turns.

    The widest range; among equal ones that which reaches farther from bind pose; then X, Y, Z.
    """
    lower, upper = np.asarray(limit_min, dtype=float), np.asarray(limit_max, dtype=float)
    keys = [(upper[i] - lower[i], max(abs(upper[i]), abs(lower[i])), -i) for i in range(3)]
    return max(range(3), key=lambda i: keys[i])


def half_axes_of(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Half axes (+x, -x, +z, -z) of the swing ellipse [rad], none negative."""
    axes = np.array((upper[0], -lower[0], upper[2], -lower[2]))
    return np.clip(axes, 0.0, math.pi)


def swing_limit(limit_min, limit_max, direction) -> np.ndarray:
    """Largest swing of a CONE about the axis (cos direction, 0, sin direction) of the joint's frame.

    Args:
        limit_min, limit_max: angles [rad], shape [3].
        direction: angle of the swing's axis in the joint's XZ plane, from X towards Z [rad], any shape.

    Returns:
        Angle on the asymmetric ellipse [rad], shape of `direction`.
    """
    lower, upper = checked_limits("CONE", limit_min, limit_max)
    return ellipse_radius(half_axes_of(lower, upper), np.asarray(direction, dtype=float))


def ellipse_radius(half_axes: np.ndarray, direction: np.ndarray) -> np.ndarray:
    axes = np.maximum(half_axes, 1e-12)
    x, z = np.cos(direction), np.sin(direction)
    return 1.0 / np.hypot(x / np.where(x >= 0, axes[0], axes[1]), z / np.where(z >= 0, axes[2], axes[3]))


def range_or_free(lower: float, upper: float) -> Limits:
    if upper - lower >= 2.0 * HALF_TURN:
        return None
    # Bullet folds angles into one turn: a bound beyond half a turn would swap the two.
    return (max(lower, -HALF_TURN), min(upper, HALF_TURN))
