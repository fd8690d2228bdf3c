"""Limits as joints hold them: how far a rotation is beyond, in the angles that are really limited.

A cone's angles are those of the joint coordinate system of Grood and Suntay 1983 (A joint coordinate system for the
clinical description of three-dimensional motions, J. Biomech. Eng. 105): a turn about the parent's axis of the wider
swing, one about the axis between, one about the child's own long axis. Clinical ranges are stated in them, and Bullet
measures them. For swings about X or Z alone they are the angles of swing and twist; between them they part, by up to
`core.ragdoll.joints.twist_offset` in twist.

A swing is beyond by the distance to the nearest allowed one. Along the swing's own direction, a flat ellipse's edge
may be far away where it is near.
"""

from functools import lru_cache

import numpy as np

from .. import quaternion
from . import fitting, joints

# A wide cone is planned narrower by steps until what Bullet lets through goes beyond by no more than this [rad].
ALLOWED = np.radians(1.5)
_SCALES = (1.0, 0.96, 0.92, 0.88, 0.84, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5)
_THIN = 1e-6  # [rad]: half axes of a cone are no less
FLAT = 4.0  # a cone with swings in such a ratio is narrowed across only, so that it keeps its way


def joint_angles(limit_min, limit_max, r_rel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(swing X, twist, swing Z) [f] (rad) of rotations r_rel [f, 4] in a cone's frame, as it limits them; see above."""
    first = _x_first(limit_min, limit_max)
    wide, other, turn = fitting.measured_angles([_ALONG_X if first else _ALONG_Z], r_rel)[0].T
    return (wide, turn, -other) if first else (other, turn, wide)


def cones_beyond(limit_min, limit_max, r_rel) -> np.ndarray:
    """Which of many cones [j] any of their rotations leaves at all: where `excess` is above 0.

    Args:
        limit_min, limit_max: angles of each [rad], [j, 3].
        r_rel: unit quaternions (w, x, y, z) of each child relative to its parent in the joint's frame [f, j, 4].
    """
    low, high = np.asarray(limit_min, dtype=float), np.asarray(limit_max, dtype=float)
    first = np.array([_x_first(*limits) for limits in zip(low, high, strict=True)], dtype=bool)
    specs = [_ALONG_X if x else _ALONG_Z for x in first]
    wide, other, turn = np.moveaxis(fitting.angles_of_each(specs, r_rel), -1, 0)
    x, z = np.where(first, wide, other), np.where(first, -other, wide)
    a = np.maximum(np.where(x >= 0.0, high[:, 0], -low[:, 0]), _THIN)
    b = np.maximum(np.where(z >= 0.0, high[:, 2], -low[:, 2]), _THIN)
    middle = 0.5 * (low[:, 1] + high[:, 1])
    away = np.abs(np.mod(turn - middle + np.pi, 2.0 * np.pi) - np.pi)
    return ((x / a) ** 2 + (z / b) ** 2 > 1.0).any(axis=0) | (away > 0.5 * (high[:, 1] - low[:, 1])).any(axis=0)


def _x_first(limit_min, limit_max) -> bool:
    x, z = (max(abs(float(limit_min[i])), abs(float(limit_max[i]))) for i in (0, 2))
    return x >= z


# Empties with Z along the bone and X along the joint's X or Z.
_ALONG_X = joints.ConstraintSpec("GENERIC", (np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0))
_ALONG_Z = joints.ConstraintSpec("GENERIC", (0.5, -0.5, -0.5, -0.5))


def excess(joint_type: str, limit_min, limit_max, r_rel) -> np.ndarray:
    """How far rotations are beyond a joint's limits.

    Args:
        joint_type: FIXED, HINGE, CONE or FREE.
        limit_min, limit_max: angles [rad], shape [3].
        r_rel: unit quaternions (w, x, y, z) of the child relative to the parent in the joint's frame [f, 4].

    Returns:
        The larger of the swing's and the twist's excess [rad], 0 inside [f].

    Raises:
        ValueError: as `core.ragdoll.joints.plan_constraints`.
    """
    q = np.asarray(r_rel, dtype=float).reshape(-1, 4)
    if joint_type != "CONE":
        return joints.limit_excess(joint_type, limit_min, limit_max, q)
    low, high = joints.checked_limits(joint_type, limit_min, limit_max)
    x, turn, z = joint_angles(low, high, q)
    swing = _beyond_ellipse(x, z, low, high)
    middle = 0.5 * (low[1] + high[1])
    away = np.abs(np.mod(turn - middle + np.pi, 2.0 * np.pi) - np.pi)
    return np.maximum(swing, np.maximum(away - 0.5 * (high[1] - low[1]), 0.0))


def _beyond_ellipse(x, z, low, high) -> np.ndarray:
    """Distances [f] of points from the quarter ellipse of their quarter, 0 inside.

    The nearest point of an ellipse by bisection, Eberly 2013, Distance from a point to an ellipse.
    """
    a = np.maximum(np.where(x >= 0.0, high[0], -low[0]), _THIN)
    b = np.maximum(np.where(z >= 0.0, high[2], -low[2]), _THIN)
    result = np.zeros(len(x))
    outside = (x / a) ** 2 + (z / b) ** 2 > 1.0
    if not outside.any():
        return result
    a, b, x, z = a[outside], b[outside], np.abs(x[outside]), np.abs(z[outside])
    below, above = np.zeros_like(x), np.hypot(a * x, b * z)
    for _step in range(50):
        t = 0.5 * (below + above)
        short = (a * x / (t + a * a)) ** 2 + (b * z / (t + b * b)) ** 2 > 1.0
        below, above = np.where(short, t, below), np.where(short, above, t)
    result[outside] = np.hypot(x - a * a * x / (above + a * a), z - b * b * z / (above + b * b))
    return result


def widened(joint_type: str, limit_min, limit_max, r_rel, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """Limits just wide enough for observed rotations, as `core.ragdoll.joints.widen_limits` in a cone's own angles.

    A twist that the joint cannot limit with swings so wide is stated as free.
    """
    low, high = joints.widen_limits(joint_type, limit_min, limit_max, r_rel, margin)
    if joint_type != "CONE":
        return low, high
    for _round in range(4):  # the angles depend on which swing is the wider one
        x, turn, z = joint_angles(low, high, r_rel)
        low[1], high[1] = min(low[1], _below(turn, low[1], margin)), max(high[1], -_below(-turn, -high[1], margin))
        if not _beyond_ellipse(x, z, low, high).any():
            break
        for ix in (0, 1):
            for iz in (0, 1):
                _widen_quarter(low, high, x * (1 - 2 * ix), z * (1 - 2 * iz), ix, iz, margin)
    specs = joints.plan_constraints("CONE", np.maximum(low, -np.pi), np.minimum(high, np.pi))
    if specs[0].type == "GENERIC" and specs[0].angular_limits[2] is None:
        low[1], high[1] = -np.pi, np.pi
    return low, high


def _below(values, bound: float, margin: float) -> float:
    return max(float(values.min()) - margin, -np.pi) if values.min() < bound else bound


def _widen_quarter(low, high, x, z, ix: int, iz: int, margin: float) -> None:
    """Scale the two half axes of a quarter, the side `ix` of X and `iz` of Z (0 up, 1 down), to hold points [f]."""
    sides = [(high, -low)[side][axis] for axis, side in ((0, ix), (2, iz))]
    a, b = (max(side, margin, 1e-3) for side in sides)
    inside = (x >= 0.0) & (z >= 0.0)
    ratio = np.hypot(x[inside] / a, z[inside] / b).max(initial=0.0)
    if ratio <= 1.0:
        return
    for axis, side, value in ((0, ix, a), (2, iz, b)):
        wide = min(value * ratio * (1.0 + 1e-9) + margin, np.pi)
        if side:
            low[axis] = -wide
        else:
            high[axis] = wide


# ---- plans that stay inside ---------------------------------------------------------------------------------------


def plan(joint_type: str, limit_min, limit_max) -> list:
    """Constraints of a joint, none of which lets it go noticeably beyond its limits.

    Cones are approximated; those with a swing beyond a right angle by 10 degrees and more in their corners. Such a
    one is planned a little narrower, so that what is stated is not exceeded.

    Raises:
        ValueError: as `core.ragdoll.joints.plan_constraints`.
    """
    specs = joints.plan_constraints(joint_type, limit_min, limit_max)
    if joint_type != "CONE" or specs[0].type != "GENERIC":
        return specs
    key = tuple(np.round(np.concatenate((limit_min, limit_max)).astype(float), 6).tolist())
    return list(_held(key))


@lru_cache(maxsize=1024)
def _held(key) -> tuple:
    low, high = np.array(key[:3]), np.array(key[3:])
    reach = np.maximum(high, -low)
    across = [reach[0] <= FLAT * reach[2], False, reach[2] <= FLAT * reach[0]]
    beyond = _swings_beyond(low, high)
    for scale in _SCALES:
        factor = np.where(across, scale, 1.0)
        specs = joints.plan_constraints("CONE", tuple(low * factor), tuple(high * factor))
        if not _lets_through(specs, beyond):
            break
    return tuple(specs)


# Directions, and parts of the way to the ellipse's edge, at which plans are tried.
_TURNS = np.radians(np.arange(0.0, 360.0, 4.0))
_PARTS = np.concatenate((np.arange(1.02, 1.3, 0.04), np.arange(1.3, 2.0, 0.1)))
_STEEPEST = np.radians(89.0)  # of the second swing, which is singular at a right angle


def _swings_beyond(low, high) -> np.ndarray:
    """Rotations [k, 4] around a cone that are beyond it by more than `ALLOWED`."""
    cos, sin = np.cos(_TURNS), np.sin(_TURNS)
    x = np.outer(_PARTS, cos * np.where(cos >= 0.0, high[0], -low[0])).ravel()
    z = np.outer(_PARTS, sin * np.where(sin >= 0.0, high[2], -low[2])).ravel()
    first = _x_first(low, high)
    most = (np.pi, _STEEPEST) if first else (_STEEPEST, np.pi)
    x, z = np.clip(x, -most[0], most[0]), np.clip(z, -most[1], most[1])
    beyond = _beyond_ellipse(x, z, low, high) > ALLOWED
    about_x = quaternion.from_axis_angle((1.0, 0.0, 0.0), x[beyond])
    about_z = quaternion.from_axis_angle((0.0, 0.0, 1.0), z[beyond])
    return quaternion.multiply(about_x, about_z) if first else quaternion.multiply(about_z, about_x)


def _lets_through(specs, rotations) -> bool:
    """Whether constraints allow the swing of any of the rotations [k, 4]."""
    for spec in specs:
        angles = fitting.measured_angles([spec], rotations)[0]
        allowed = np.ones(len(rotations), dtype=bool)
        for axis in (0, 1):
            limit = spec.angular_limits[axis]
            if limit is not None:
                allowed &= (angles[:, axis] >= limit[0]) & (angles[:, axis] <= limit[1])
        rotations = rotations[allowed]
        if not len(rotations):
            return False
    return True
