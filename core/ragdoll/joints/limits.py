"""Limits of joints: what is stated, the angles that are limited, how far a rotation is beyond.

A joint is described in its own frame: Y lies along the bone, X and Z are the swing axes. The rotation that counts is
that of the child relative to the parent, expressed in the joint's frame: `r_rel`, the identity in bind pose.
`limit_min` and `limit_max` hold three angles [rad]: swing about X, twist about Y, swing about Z. Positive means a
positive (right-hand) rotation of the child about that axis of the joint's frame.

- CONE: the swing stays in an ellipse whose four half axes are limit_max[0], -limit_min[0], limit_max[2] and
  -limit_min[2]; the twist stays in [limit_min[1], limit_max[1]]. The ellipse always contains the bind pose: a swing
  range that lies on one side of zero is extended to zero. The twist range need not contain zero.
- HINGE: one axis turns, the others are locked. It is the axis with the widest range (X when all are zero). The range
  need not contain the bind pose.
- FIXED: nothing turns. FREE: everything does.

A cone's angles are those of the joint coordinate system of Grood and Suntay 1983 (A joint coordinate system for the
clinical description of three-dimensional motions, J. Biomech. Eng. 105): a turn about the parent's axis of the wider
swing, one about the axis between, one about the child's own long axis. Clinical ranges are stated in them, and Bullet
measures them: `cone_angles`. For swings about X or Z alone they are the angles of swing and twist that a cone is
planned and drawn in (`swing_twist_angles`); between the axes they part, by ``2 atan(tan(a / 2) tan(b / 2))`` in twist.

A swing is beyond its limits by the distance to the nearest allowed one. Along the swing's own direction, a flat
ellipse's edge may be far away where it is near.
"""

import math
from functools import lru_cache

import numpy as np

from ... import pose, quaternion

_THIN = 1e-6  # [rad]: half axes of a cone are no less
# Rotations of Empties with Z along the bone and X along the joint's X or Z.
ALONG_X = (math.sqrt(0.5), -math.sqrt(0.5), 0.0, 0.0)
ALONG_Z = (0.5, -0.5, -0.5, -0.5)


def checked_limits(limit_min, limit_max) -> tuple[np.ndarray, np.ndarray]:
    """Limits [3] as arrays. Raises ValueError: limits that are not finite, or limit_min > limit_max."""
    lower, upper = np.asarray(limit_min, dtype=float), np.asarray(limit_max, dtype=float)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise ValueError(f"limits must be finite, got {lower.tolist()} and {upper.tolist()}")
    if (lower > upper).any():
        i = int(np.argmax(lower > upper))
        raise ValueError(f"limit_min must not exceed limit_max, got {lower[i]:g} > {upper[i]:g} rad for {'XYZ'[i]}")
    return lower, upper


def hinge_axis(limit_min, limit_max) -> int:
    """Axis (0, 1, 2) about which a HINGE with these limits [rad], shape [3], turns.

    The widest range; among equal ones that which reaches farther from bind pose; then X, Y, Z."""
    lower, upper = np.asarray(limit_min, dtype=float), np.asarray(limit_max, dtype=float)
    keys = [(upper[i] - lower[i], max(abs(upper[i]), abs(lower[i])), -i) for i in range(3)]
    return max(range(3), key=lambda i: keys[i])


def half_axes_of(lower, upper) -> np.ndarray:
    """Half axes (+x, -x, +z, -z) of the swing ellipse [rad], none negative."""
    return np.clip(np.array((upper[0], -lower[0], upper[2], -lower[2])), 0.0, math.pi)


def ellipse_radius(half_axes: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Largest swing [rad] about (cos direction, 0, sin direction) of a cone with `half_axes_of` its limits [4, ..]."""
    axes = np.maximum(half_axes, 1e-12)
    x, z = np.cos(direction), np.sin(direction)
    return 1.0 / np.hypot(x / np.where(x >= 0, axes[0], axes[1]), z / np.where(z >= 0, axes[2], axes[3]))


def frames_in_bodies(binds, offsets, rotations, parents) -> tuple[np.ndarray, np.ndarray]:
    """The joints' frames in their bodies and in these' parents, both [m, 4, 4]; in bind pose the two are one.

    `binds` are the bodies in bind pose [m, 4, 4]; `offsets` lead from the bones' frames to the bodies' [m, 4, 4],
    `rotations` to the joints' [m, 4] (w, x, y, z). `parents` are the bodies', -1 at roots [m].
    """
    child_frames = np.linalg.inv(offsets) @ pose.affine(quaternion.to_matrix(quaternion.normalize(rotations)))
    return child_frames, np.linalg.inv(binds[parents]) @ binds @ child_frames


def joint_rotations(child: np.ndarray, parent: np.ndarray, child_frames, parent_frames) -> np.ndarray:
    """Rotations [.., 4] of children against their parents in their joints' frames, the identity in bind pose.

    Where the bodies stand and the joint's frame in each of the two are rigid matrices [.., 4, 4]."""
    above, below = (parent @ parent_frames)[..., :3, :3], (child @ child_frames)[..., :3, :3]
    return quaternion.from_matrix(above.swapaxes(-1, -2) @ below)


def swing_twist_angles(r_rel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(swing X, twist, swing Z) [...] (rad) of rotations [..., 4] of the child relative to the parent.

    X and Z are those of the swing's rotation vector, the twist is in (-pi, pi]. At a swing of exactly half a turn the
    split is not unique.
    """
    # `quaternion.swing_twist` about Y in a third of the calls: the twist is (w, y) / length, that is the swing's w.
    q = np.asarray(r_rel, dtype=float)
    w, x, y, z = np.where(q[..., :1] < 0.0, -q, q).transpose(-1, *range(q.ndim - 1))
    length, sine = np.sqrt(w * w + y * y), np.sqrt(x * x + z * z)
    divisor = np.where(length > 0.0, length, 1.0)
    cos, sin = np.where(length > 0.0, w, 1.0) / divisor, y / divisor
    factor = np.where(sine > 0.0, 2.0 * np.arctan2(sine, length) / np.where(sine > 0.0, sine, 1.0), 2.0)
    return factor * (x * cos + z * sin), 2.0 * np.arctan2(y, np.abs(w)), factor * (z * cos - x * sin)


def twist_angle(twist: np.ndarray, axis: int) -> np.ndarray:
    """Signed angle in (-pi, pi] of quaternions that turn about a coordinate axis."""
    sign = np.where(twist[..., 0] < 0.0, -1.0, 1.0)
    return 2.0 * np.arctan2(sign * twist[..., 1 + axis], sign * twist[..., 0])


def measured_angles(rotations, r_rel) -> np.ndarray:
    """Angles [s, f, 3] that Bullet measures about the X, Y and Z of Empties for joint rotations r_rel [f, 4].

    `rotations` are those of the Empties relative to the joint's frame [s], tuples (w, x, y, z)."""
    r = np.asarray(r_rel, dtype=float)
    return _read(r[:, 0], r[:, 1:] @ np.stack([_turn(rotation) for rotation in rotations]))


def _read(w, vectors) -> np.ndarray:
    """Angles [..., 3] of rotations with real parts w and these vectors [..., 3], seen from their Empties."""
    x, y, z = vectors[..., 0], vectors[..., 1], vectors[..., 2]
    angles = np.empty_like(vectors)
    # From the five entries of the rotation's matrix that Rx(a) Ry(b) Rz(c) is read from.
    np.arctan2(2.0 * (w * x - y * z), 1.0 - 2.0 * (x * x + y * y), out=angles[..., 0])
    np.arcsin(np.clip(2.0 * (x * z + w * y), -1.0, 1.0), out=angles[..., 1])
    np.arctan2(2.0 * (w * z - x * y), 1.0 - 2.0 * (y * y + z * z), out=angles[..., 2])
    return angles


@lru_cache(maxsize=1024)
def _turn(rotation) -> np.ndarray:
    return quaternion.to_matrix(np.array(rotation, dtype=float))


def cone_angles(limit_min, limit_max, r_rel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(swing X, twist, swing Z) [..] (rad) of rotations r_rel [.., 4] in cones' frames, as these limit them [.., 3]."""
    r, first = np.asarray(r_rel, dtype=float), x_first(limit_min, limit_max)
    turns = np.where(first[..., None, None], _turn(ALONG_X), _turn(ALONG_Z))
    wide, other, turn = np.moveaxis(_read(r[..., 0], (r[..., None, 1:] @ turns)[..., 0, :]), -1, 0)
    return np.where(first, wide, other), turn, np.where(first, -other, wide)


def x_first(limit_min, limit_max) -> np.ndarray:
    """Whether cones [..] swing wider about X than about Z: the axis that their angles begin with."""
    widest = np.maximum(np.abs(limit_min), np.abs(limit_max))
    return widest[..., 0] >= widest[..., 2]


def excess(joint_type: str, limit_min, limit_max, r_rel) -> np.ndarray:
    """How far rotations are beyond a joint's limits.

    Returns the larger of the swing's and the twist's excess [rad], 0 inside [..]. A hinge's is the larger of its
    angle's and of the rotation about other axes. Raises ValueError: as `checked_limits`.

    Args:
        joint_type: FIXED, HINGE, CONE or FREE. limit_min, limit_max: angles [rad], [3].
        r_rel: unit quaternions (w, x, y, z) of the child relative to the parent in the joint's frame [.., 4].
    """
    low, high = checked_limits(limit_min, limit_max)
    q = np.asarray(r_rel, dtype=float)
    if joint_type == "FREE":
        return np.zeros(q.shape[:-1])
    if joint_type == "FIXED":
        return np.linalg.norm(quaternion.to_rotation_vector(q), axis=-1)
    if joint_type == "HINGE":
        axis = hinge_axis(low, high)
        swing, twist = quaternion.swing_twist(q, np.eye(3)[axis])
        aside, turn = np.linalg.norm(quaternion.to_rotation_vector(swing), axis=-1), twist_angle(twist, axis)
    else:
        x, turn, z = cone_angles(low, high, q.reshape(-1, 4))
        axis, aside = 1, beyond_ellipse(x, z, low, high)
    middle, half = 0.5 * (low[axis] + high[axis]), 0.5 * (high[axis] - low[axis])
    turned = np.abs(np.mod(turn - middle + np.pi, 2.0 * np.pi) - np.pi)  # the shorter way round
    return np.maximum(aside, np.maximum(turned - half, 0.0)).reshape(q.shape[:-1])


def brought_within(joint_type: str, limit_min, limit_max, rotation) -> np.ndarray:
    """A rotation [4], led back towards bind pose as far as a joint's limits ask for; see `excess`."""
    ways = quaternion.slerp(quaternion.identity((21,)), np.tile(rotation, (21, 1)), np.linspace(1.0, 0.0, 21))
    beyond = excess(joint_type, limit_min, limit_max, ways)
    return ways[np.argmin(np.maximum(beyond, 1e-3))]  # the other axes of a hinge's turn are not zero to the last digit


def beyond_ellipse(x, z, low, high) -> np.ndarray:
    """Distances [f] of points from the quarter ellipse of their quarter, 0 inside.

    The nearest point of an ellipse by bisection, Eberly 2013, Distance from a point to an ellipse."""
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


# A limit pushes back by the shorter way. A limb that comes back from far away in a moment, as when the weights of a
# character that has fallen are set to 1, may be flung past the middle of what its joint forbids; then the limit holds
# it there against the drive, for good. Such a body, and what is off with it, is led back to where the drive wants it.
DRIVEN = 0.5  # weights from which on a body has to follow, and may be led
FAR = np.radians(30.0)  # from where it is wanted
FAR_TRACE = 1.0 + 2.0 * math.cos(FAR)  # of a rotation by that angle; a larger one has a smaller trace
BEYOND = np.radians(30.0)  # of a limit; what bounces off one, or is pressed into it, stays far below
OWN = np.radians(15.0)  # what the wanted pose itself may be beyond: more, and there is nothing to be led back to
ALONG = np.radians(10.0)  # from where it is wanted: what is farther off is led back together with it
LASTS = 0.25  # [s] for which a body is far off before its joint is looked at
RETURNS = 0.25  # [s] of the way back


def gaps(children, parents, in_child, in_parent) -> np.ndarray:
    """From where parents put their joints to where the children do [.., 3]: bodies, and joints in them, [.., 4, 4]."""
    return (children @ in_child - parents @ in_parent)[..., :3, 3]


def angles_of(traces: np.ndarray) -> np.ndarray:
    """Angles [m] (rad) of rotations with some traces [m]."""
    return np.arccos(np.clip(0.5 * (traces - 1.0), -1.0, 1.0))
