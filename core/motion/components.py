"""Vectors and rotations as tuples of plain numbers.

A solver of one character has too few numbers for numpy: a call costs more than the arithmetic.
"""

from __future__ import annotations

import math
from math import atan2, cos, sin, sqrt

from ..quaternion import multiply_components as multiply  # noqa: F401 - for solvers
from ..quaternion import rotate_components as rotate  # noqa: F401

IDENTITY = (1.0, 0.0, 0.0, 0.0)
# Shorter vectors have no direction. Units of length do not matter to it: solvers compare with their own lengths.
_TINY = 1e-150
# Directions nearer to opposite than this have no plane in common [rad]; the cross product's rounding grows below.
_OPPOSITE = 1e-7
_FIXED = (0.48, 0.6, -0.64)
_BESIDE = (0.6 / math.sqrt(0.5904), -0.48 / math.sqrt(0.5904), 0.0)


def dot(a, b):
    """Scalar product."""
    ax, ay, az = a
    bx, by, bz = b
    return ax * bx + ay * by + az * bz


def cross(a, b):
    """Vector product."""
    ax, ay, az = a
    bx, by, bz = b
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


def add(a, b):
    """Sum of two vectors."""
    ax, ay, az = a
    bx, by, bz = b
    return ax + bx, ay + by, az + bz


def sub(a, b):
    """Difference of two vectors."""
    ax, ay, az = a
    bx, by, bz = b
    return ax - bx, ay - by, az - bz


def mul(factor, v):
    """A vector times a number."""
    return factor * v[0], factor * v[1], factor * v[2]


def along(start, factor, direction):
    """start + factor * direction."""
    ax, ay, az = start
    bx, by, bz = direction
    return ax + factor * bx, ay + factor * by, az + factor * bz


def times(a, b):
    """Product component by component."""
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


def length(v):
    """Length of a vector."""
    x, y, z = v
    return sqrt(x * x + y * y + z * z)


def angle_between(u, v):
    """Angle between two vectors [rad]."""
    return atan2(length(cross(u, v)), dot(u, v))


def clamped(x, low, high):
    """A number in a range."""
    return low if x < low else high if x > high else x


def acos(x):
    """The angle of a cosine, which rounding may have brought out of -1..1 [rad]."""
    return math.acos(clamped(x, -1.0, 1.0))


def unit(v, fallback):
    """A vector at length 1; the fallback where it has no length."""
    x, y, z = v
    size = sqrt(x * x + y * y + z * z)
    if size <= _TINY:
        return fallback
    factor = 1.0 / size
    return factor * x, factor * y, factor * z


def perpendicular(u, wanted):
    """The unit vector at a right angle to the unit vector `u` that is nearest to `wanted`.

    Where `wanted` lies along `u`: one that depends on `u` alone, so that it is the same from frame to frame.
    """
    part = along(wanted, -dot(wanted, u), u)
    size = length(part)
    if size <= 1e-9 * length(wanted):
        return some_perpendicular(u)
    return mul(1.0 / size, part)


def some_perpendicular(u):
    """A unit vector at a right angle to the unit vector `u`, which changes steadily with `u`.

    A fixed one is carried along when a fixed direction turns to `u` by the smallest angle. Only opposite to that
    direction there is no steady answer (nor can there be everywhere); it is one that no limb happens to have.
    """
    w = 1.0 + dot(_FIXED, u)
    if w <= 1e-12:
        return _BESIDE
    return sub(_BESIDE, mul(dot(_BESIDE, u) / w, add(_FIXED, u)))


def conjugate(q):
    """The inverse of a unit quaternion."""
    return q[0], -q[1], -q[2], -q[3]


def normalized(q):
    """A quaternion at length 1; there must be a length."""
    factor = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return factor * q[0], factor * q[1], factor * q[2], factor * q[3]


def axis_angle(axis, angle):
    """The rotation about a unit axis by an angle [rad]."""
    half = 0.5 * angle
    sine = sin(half)
    return cos(half), sine * axis[0], sine * axis[1], sine * axis[2]


def arc(u, v, about):
    """The smallest rotation that turns the unit vector `u` into the unit vector `v`.

    Where they are opposite every axis at a right angle to `u` would do: the one nearest to `about` is taken.
    """
    w = 1.0 + dot(u, v)
    x, y, z = cross(u, v)
    size = sqrt(w * w + x * x + y * y + z * z)
    # For an angle pi - e the size is e, to first order.
    if size <= _OPPOSITE:
        return w * 0.0, *perpendicular(u, about)
    factor = 1.0 / size
    return factor * w, factor * x, factor * y, factor * z


def between(a, b, share):
    """The rotation at a share 0..1 of the short way from a to b."""
    if a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] < 0.0:
        b = tuple(-x for x in b)
    plus = [x + y for x, y in zip(a, b, strict=True)]
    minus = [y - x for x, y in zip(a, b, strict=True)]
    angle = 2.0 * atan2(sqrt(sum(x * x for x in minus)), sqrt(sum(x * x for x in plus)))
    sine = sin(angle)
    if sine < 1e-9:
        weight_a, weight_b = 1.0 - share, share
    else:
        weight_a, weight_b = sin((1.0 - share) * angle) / sine, sin(share * angle) / sine
    return normalized(tuple(weight_a * x + weight_b * y for x, y in zip(a, b, strict=True)))


def part(q, share):
    """The rotation by a share of another one's angle, the short way."""
    w, x, y, z = q if q[0] >= 0.0 else (-q[0], -q[1], -q[2], -q[3])
    sine = sqrt(x * x + y * y + z * z)
    if sine < 1e-12:
        return IDENTITY
    half = share * atan2(sine, w)
    factor = sin(half) / sine
    return cos(half), factor * x, factor * y, factor * z


def lerp(a, b, share):
    """The vector at a share 0..1 of the way from a to b."""
    return tuple(x + share * (y - x) for x, y in zip(a, b, strict=True))
