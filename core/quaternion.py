"""Batched rotations as quaternions.

Every quaternion array has the shape [..., 4] with the components (w, x, y, z), as in `mathutils`; leading
axes are broadcast. Products apply their right factor first: `rotate(multiply(a, b), v) == rotate(a, rotate(b, v))`.

Inputs are taken to be of unit length unless a function says otherwise. A zero quaternion is no rotation: `normalize`
returns the identity for it, `multiply` keeps it zero, `rotate` returns the vector unchanged, `to_matrix` and
`to_rotation_vector` give the identity matrix and the zero vector, and `angle_between` gives 0. NaN is passed on.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

# Below this the first terms of a power series are exact to the last bit of float64 (the next term is of the
# sixth order), while a quotient of two vanishing numbers would not be.
_SERIES_ANGLE = 1e-3
_TINY = np.finfo(float).tiny
_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])
_BELOW_ONE = np.nextafter(1.0, 0.0)
_FEW = 1500  # numbers up to which the cost of a product is that of calling numpy; measured
# Component k of a product a * b is the sum over j of a[j] * b[of[k, j]] * sign[k, j].
_OF = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]])
_SIGN = np.array([[1, -1, -1, -1], [1, 1, 1, -1], [1, -1, 1, 1], [1, 1, -1, 1]])
# The same as a matrix [4, 16] that takes b to the factors of a, [k, j] in a row.
_ENTRIES = (np.eye(4)[:, _OF] * _SIGN).reshape(4, 16)


def _components(array: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(array[..., i] for i in range(array.shape[-1]))


def joined(components: Sequence[np.ndarray]) -> np.ndarray:
    """Components of one shape as an array with them in its last axis; `np.stack` takes ten times as long for a few."""
    result = np.empty((*components[0].shape, len(components)))
    for i, component in enumerate(components):
        result[..., i] = component
    return result


def _length(vectors: np.ndarray) -> np.ndarray:
    return np.sqrt(np.add.reduce(vectors * vectors, axis=-1))


def _unit(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors and whether each vector had a length; vectors without one stay as they are."""
    length = _length(vectors)
    usable = ~(length < _TINY)  # written so that NaN counts as usable and is passed on
    return vectors / np.where(usable, length, 1)[..., None], usable


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross products of vectors [..., 3], broadcast; `np.cross` takes longer to look at its arguments."""
    ax, ay, az = _components(a)
    bx, by, bz = _components(b)
    return joined((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))


def identity(shape: tuple[int, ...] = ()) -> np.ndarray:
    """Identity rotations of shape [*shape, 4]."""
    result = np.zeros((*shape, 4))
    result[..., 0] = 1
    return result


def multiply(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """Hamilton product a * b: the rotation b followed by the rotation a. Shapes [..., 4], broadcast."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if max(a.size, b.size) <= _FEW:
        return np.matmul(right_factors(b), a[..., None])[..., 0]  # two calls instead of thirty
    return joined(multiply_components(_components(a), _components(b)))


def right_factors(b: np.ndarray) -> np.ndarray:
    """Matrices [..., 4, 4] of float quaternions b [..., 4] that take a to a * b, which is linear in a."""
    return np.matmul(b, _ENTRIES).reshape(*b.shape, 4)


def multiply_components(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """`multiply` for data kept as one array per component (w, x, y, z)."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def conjugate(q: ArrayLike) -> np.ndarray:
    """The inverse of unit quaternions [..., 4]."""
    return np.asarray(q, dtype=float) * _CONJUGATE


def normalize(q: ArrayLike) -> np.ndarray:
    """Quaternions [..., 4] of any length, scaled to unit length; those of zero length become the identity."""
    unit, usable = _unit(np.asarray(q, dtype=float))
    return np.where(usable[..., None], unit, identity())


def rotate(q: ArrayLike, v: ArrayLike) -> np.ndarray:
    """Vectors v [..., 3] turned by unit quaternions q [..., 4]; leading axes are broadcast."""
    return joined(rotate_components(_components(np.asarray(q, dtype=float)), _components(np.asarray(v, dtype=float))))


def rotate_components(q: Sequence[np.ndarray], v: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """`rotate` for data kept as one array per component: (w, x, y, z) and (x, y, z) -> (x, y, z)."""
    w, x, y, z = q
    vx, vy, vz = v
    # v + 2 w (u x v) + 2 u x (u x v), u being the vector part: q v q* multiplied out for unit q.
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    return (vx + w * tx + (y * tz - z * ty), vy + w * ty + (z * tx - x * tz), vz + w * tz + (x * ty - y * tx))


def from_axis_angle(axis: ArrayLike, angle: ArrayLike) -> np.ndarray:
    """Rotations [..., 4] by angle [...] in radians about axis [..., 3] of any length; a zero axis: the identity."""
    axis, usable = _unit(np.asarray(axis, dtype=float))
    half = np.where(usable, 0.5 * np.asarray(angle, dtype=float), 0.0)
    return np.concatenate([np.cos(half)[..., None], np.sin(half)[..., None] * axis], axis=-1)


def from_matrix(matrix: ArrayLike) -> np.ndarray:
    """Rotations [..., 4] with w >= 0 from rotation matrices [..., 3, 3] (orthonormal, determinant 1).

    Of the four ways to write q out of a matrix the one that divides by the largest component is taken for
    each element (S. W. Shepperd, Quaternion from rotation matrix, 1978), so no angle is ill-conditioned.
    Scale and shear have to be removed before.
    """
    m = np.asarray(matrix, dtype=float)
    m00, m01, m02 = _components(m[..., 0, :])
    m10, m11, m12 = _components(m[..., 1, :])
    m20, m21, m22 = _components(m[..., 2, :])
    wx, wy, wz = m21 - m12, m02 - m20, m10 - m01
    xy, xz, yz = m01 + m10, m02 + m20, m12 + m21
    ww, xx = 1 + m00 + m11 + m22, 1 + m00 - m11 - m22
    yy, zz = 1 - m00 + m11 - m22, 1 - m00 - m11 + m22
    # The rows of 4 q q^T: each is q times one of its own components.
    rows = np.array([ww, wx, wy, wz, wx, xx, xy, xz, wy, xy, yy, yz, wz, xz, yz, zz]).reshape(16, -1)
    best = np.argmax(rows[::5], axis=0)
    found = rows.reshape(4, 4, -1)[best, :, np.arange(len(best))]
    q = normalize(np.ascontiguousarray(found).reshape(*m.shape[:-2], 4))
    return np.where(q[..., :1] < 0, -q, q)


def to_matrix(q: ArrayLike) -> np.ndarray:
    """Rotation matrices [..., 3, 3] of unit quaternions [..., 4]."""
    q = np.asarray(q, dtype=float)
    w, x, y, z = _components(q)
    x2, y2, z2 = 2 * x, 2 * y, 2 * z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    rows = 1 - (yy + zz), xy - wz, xz + wy, xy + wz, 1 - (xx + zz), yz - wx, xz - wy, yz + wx, 1 - (xx + yy)
    return joined(rows).reshape(*q.shape[:-1], 3, 3)


def from_rotation_vector(rotation_vector: ArrayLike) -> np.ndarray:
    """Rotations [..., 4] from rotation vectors [..., 3] in radians (axis times angle): the exponential map."""
    r = np.asarray(rotation_vector, dtype=float)
    angle = _length(r)
    small = angle < _SERIES_ANGLE
    square = angle * angle
    series = 0.5 - square / 48 + square * square / 3840
    factor = np.where(small, series, np.sin(0.5 * angle) / np.where(small, 1, angle))
    return np.concatenate([np.cos(0.5 * angle)[..., None], factor[..., None] * r], axis=-1)


def to_rotation_vector(q: ArrayLike) -> np.ndarray:
    """Rotation vectors [..., 3] in radians, the short way round (length <= pi), of unit quaternions [..., 4]. q and -q
    are the same rotation and give the same vector, but for half turns (w = 0), whose axis may point either way."""
    q = np.asarray(q, dtype=float)
    q = np.where(q[..., :1] < 0, -q, q)
    w, vector = q[..., 0], q[..., 1:]
    sine = _length(vector)
    small = sine < _SERIES_ANGLE * w
    divisor = np.where(small, w, 1)
    square = (sine / divisor) ** 2
    series = 2 * (1 - square / 3 + square * square / 5) / divisor
    factor = np.where(small, series, 2 * np.arctan2(sine, w) / np.where(sine == 0, 1, sine))
    return factor[..., None] * vector


def slerp(a: ArrayLike, b: ArrayLike, t: ArrayLike) -> np.ndarray:
    """Rotations [..., 4] at the fraction t [...] on the shortest arc from a to b: a at t = 0, b (or -b) at t = 1.

    With a and b half a turn apart both arcs are equally long; the one through +b is taken."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    of_a, of_b = _shares_of_ends(np.add.reduce(a * b, axis=-1, keepdims=True), t)
    return of_a * a + of_b * b


def _shares_of_ends(cosine: np.ndarray, t: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Shares [..., 1] of a and b in what is at the fraction t [...] on the shortest arc between them.

    With the angle x between a and b they are sin((1 - t) x) / sin x and sin(t x) / sin x. Near x = 0 they differ from
    1 - t and t by the order of x^2, which is what the rounding of the cosine is in: so they are exact for the smallest
    angles, of which arccos knows no more than that they are small. It only must not give 0. At t = 0 and t = 1 the
    shares are 0 and 1 to the bit. Where `cosine`, that of the angle between a and b [..., 1], is negative, the arc goes
    to -b.
    """
    t = np.asarray(t, dtype=float)
    angle = np.arccos(np.minimum(np.abs(cosine), _BELOW_ONE))
    done = angle * (t[..., None] if t.ndim else t)
    sine = np.sin(angle)
    return np.sin(angle - done) / sine, np.sin(done) / np.copysign(sine, cosine)


def power(q: ArrayLike, t: ArrayLike) -> np.ndarray:
    """The share t [...] of unit quaternions [..., 4], on the shortest arc from the identity: its angle times t.

    The identity at t = 0 and q or -q at t = 1, both to the bit. t may be negative or above 1; rounding then grows with
    its square. The axis of a half turn (w = 0) is the one that q has.
    """
    q = np.asarray(q, dtype=float)
    of_identity, of_q = _shares_of_ends(q[..., :1], t)
    result = of_q * q
    result[..., :1] += of_identity
    return result


def weighted_mean(q: ArrayLike, weights: ArrayLike) -> np.ndarray:
    """Normalised weighted sum over the first axis of q [k, ..., 4] with weights [k], which are not negative.

    Signs are taken to be those on the near side of the first quaternion that has a weight, so that two are blended on
    the shortest arc. A weight that is the only one gives its quaternion to the bit; no weight at all the identity.
    """
    q = np.asarray(q, dtype=float)
    weights = np.asarray(weights, dtype=float)
    active = weights.nonzero()[0]
    if len(active) < 2:
        return q[active[0]].copy() if len(active) else identity(q.shape[1:-1])
    if len(active) < len(q):
        q, weights = q[active], weights[active]
    weights = weights.reshape(-1, *(1,) * (q.ndim - 1))
    total = np.add.reduce(np.copysign(weights, np.add.reduce(q * q[0], axis=-1, keepdims=True)) * q, axis=0)
    # What it has along the first one is positive, so it has a length.
    return total / np.sqrt(np.add.reduce(total * total, axis=-1, keepdims=True))


def shortest_arc(u: ArrayLike, v: ArrayLike) -> np.ndarray:
    """Rotations [..., 4] by the smallest angle that turn the direction u [..., 3] into v [..., 3].

    Lengths do not matter. Exact to rounding for parallel and for antiparallel directions too; for the latter
    the axis is some vector perpendicular to u. If u or v has no length: the identity.
    """
    u, v = np.broadcast_arrays(np.asarray(u, dtype=float), np.asarray(v, dtype=float))
    (u, u_usable), (v, v_usable) = _unit(u), _unit(v)
    difference, total = v - u, v + u
    # u x v, but from the small one of v - u and v + u, which is exact, so that the direction survives.
    opposed = np.sum(u * v, axis=-1, keepdims=True) < 0
    axis, has_axis = _unit(cross(u, np.where(opposed, total, difference)))
    some_perpendicular, _ = _unit(cross(u, np.eye(3)[np.argmin(np.abs(u), axis=-1)]))
    axis = np.where(has_axis[..., None], axis, some_perpendicular)
    axis, _ = _unit(axis - u * np.sum(u * axis, axis=-1, keepdims=True))
    # Half the angle has the cosine |u + v| / 2 and the sine |u - v| / 2.
    q = np.concatenate([0.5 * _length(total)[..., None], 0.5 * _length(difference)[..., None] * axis], axis=-1)
    return np.where((u_usable & v_usable)[..., None], q, identity())


def angle_between(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """Angle [...] in radians, 0..pi, from a to b, of any lengths; accurate for tiny angles, unlike an arccos."""
    difference = multiply(conjugate(a), b)
    return 2 * np.arctan2(_length(difference[..., 1:]), np.abs(difference[..., 0]))


def swing_twist(q: ArrayLike, axis: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Split rotations [..., 4] into (swing, twist): q = swing * twist, the twist, about axis [..., 3], coming first.

    The swing's axis is perpendicular to `axis`, which may have any length but zero. Both come with w >= 0 (the short
    way round), so their product is q or -q. A swing by half a turn leaves the twist undefined; it is the identity then.
    """
    q = np.asarray(q, dtype=float)
    axis, _ = _unit(np.asarray(axis, dtype=float))
    q = np.where(q[..., :1] < 0, -q, q)
    along = np.sum(q[..., 1:] * axis, axis=-1, keepdims=True)
    twist = normalize(np.concatenate([np.broadcast_to(q[..., :1], along.shape), along * axis], axis=-1))
    return multiply(q, conjugate(twist)), twist


def ensure_continuity(q: ArrayLike) -> np.ndarray:
    """Quaternions [frames, ..., 4], or axes, with signs chosen so that each is on the near side of the frame before.

    The rotations stay the same, the first frame's signs too. Do this before interpolating or writing keys."""
    q = np.asarray(q, dtype=float)
    flips = np.sum(q * np.concatenate([q[:1], q[:-1]]), axis=-1) < 0
    return q * np.where(np.cumsum(flips, axis=0) % 2, -1.0, 1.0)[..., None]
