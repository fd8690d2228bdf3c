"""Vectors and rotations as tuples of components that are plain numbers or arrays, for solvers that serve both.

One character has too few numbers for numpy: a call costs more than the arithmetic. A thousand characters have too
many for anything else. A solver written on components runs on Python floats for the one and on arrays [batch] for
the other, and stays one text. What differs between the two (roots, choices) is in `FLOATS` and `ARRAYS`, which
solvers take as their first argument `m`.

Products and turns of rotations are `quaternion.multiply_components` and `quaternion.rotate_components`.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from ..quaternion import multiply_components as multiply
from ..quaternion import rotate_components as rotate

FLOATS = SimpleNamespace(
    sqrt=math.sqrt,
    sin=math.sin,
    cos=math.cos,
    atan2=math.atan2,
    acos=lambda x: math.acos(min(1.0, max(-1.0, x))),
    where=lambda condition, a, b: a if condition else b,
    minimum=lambda a, b: a if a < b else b,
    maximum=lambda a, b: a if a > b else b,
    all=bool,
    any=bool,
    negated=lambda condition: not condition,
)
ARRAYS = SimpleNamespace(
    sqrt=np.sqrt,
    sin=np.sin,
    cos=np.cos,
    atan2=np.arctan2,
    acos=lambda x: np.arccos(np.clip(x, -1.0, 1.0)),
    where=np.where,
    minimum=np.minimum,
    maximum=np.maximum,
    all=np.all,
    any=np.any,
    negated=np.logical_not,
)

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


def length(m, v):
    """Length of a vector."""
    x, y, z = v
    return m.sqrt(x * x + y * y + z * z)


def choose(m, condition, a, b):
    """Where the condition holds a, else b, for tuples of components."""
    if m is FLOATS:
        return a if condition else b
    return tuple([m.where(condition, x, y) for x, y in zip(a, b, strict=True)])


def unit(m, v, fallback):
    """A vector at length 1; the fallback where it has no length."""
    x, y, z = v
    size = m.sqrt(x * x + y * y + z * z)
    usable = size > _TINY
    if m.all(usable):
        factor = 1.0 / size
        return factor * x, factor * y, factor * z
    return choose(m, usable, mul(1.0 / m.where(usable, size, 1.0), v), fallback)


def perpendicular(m, u, wanted):
    """The unit vector at a right angle to the unit vector `u` that is nearest to `wanted`.

    Where `wanted` lies along `u`: one that depends on `u` alone, so that it is the same from frame to frame.
    """
    part = along(wanted, -dot(wanted, u), u)
    size = length(m, part)
    usable = size > 1e-9 * length(m, wanted)
    if m.all(usable):
        return mul(1.0 / size, part)
    return choose(m, usable, mul(1.0 / m.where(usable, size, 1.0), part), some_perpendicular(m, u))


def some_perpendicular(m, u):
    """A unit vector at a right angle to the unit vector `u`, which changes steadily with `u`.

    A fixed one is carried along when a fixed direction turns to `u` by the smallest angle. Only opposite to that
    direction there is no steady answer (nor can there be everywhere); it is one that no limb happens to have.
    """
    w = 1.0 + dot(_FIXED, u)
    steady = w > 1e-12
    factor = dot(_BESIDE, u) / m.where(steady, w, 1.0)
    result = sub(_BESIDE, mul(factor, add(_FIXED, u)))
    return choose(m, steady, result, _BESIDE)


def conjugate(q):
    """The inverse of a unit quaternion."""
    return q[0], -q[1], -q[2], -q[3]


def normalized(m, q):
    """A quaternion at length 1; there must be a length."""
    factor = 1.0 / m.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return factor * q[0], factor * q[1], factor * q[2], factor * q[3]


def axis_angle(m, axis, angle):
    """The rotation about a unit axis by an angle [rad]."""
    half = 0.5 * angle
    sine = m.sin(half)
    return m.cos(half), sine * axis[0], sine * axis[1], sine * axis[2]


def arc(m, u, v, about):
    """The smallest rotation that turns the unit vector `u` into the unit vector `v`.

    Where they are opposite every axis at a right angle to `u` would do: the one nearest to `about` is taken.
    """
    w = 1.0 + dot(u, v)
    x, y, z = cross(u, v)
    size = m.sqrt(w * w + x * x + y * y + z * z)
    # For an angle pi - e the size is e, to first order.
    usable = size > _OPPOSITE
    if m.all(usable):
        factor = 1.0 / size
        return factor * w, factor * x, factor * y, factor * z
    factor = 1.0 / m.where(usable, size, 1.0)
    axis = perpendicular(m, u, about)
    return choose(m, usable, (factor * w, factor * x, factor * y, factor * z), (w * 0.0, *axis))


def between(m, a, b, share):
    """The rotation at a share 0..1 of the short way from a to b."""
    product = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    sign = m.where(product < 0.0, -1.0, 1.0)
    b = tuple(sign * x for x in b)
    plus = [x + y for x, y in zip(a, b, strict=True)]
    minus = [y - x for x, y in zip(a, b, strict=True)]
    angle = 2.0 * m.atan2(m.sqrt(sum(x * x for x in minus)), m.sqrt(sum(x * x for x in plus)))
    sine = m.sin(angle)
    near = sine < 1e-9
    safe = m.where(near, 1.0, sine)
    weight_a = m.where(near, 1.0 - share, m.sin((1.0 - share) * angle) / safe)
    weight_b = m.where(near, share, m.sin(share * angle) / safe)
    return normalized(m, tuple(weight_a * x + weight_b * y for x, y in zip(a, b, strict=True)))


def lerp(a, b, share):
    """The vector at a share 0..1 of the way from a to b."""
    return tuple(x + share * (y - x) for x, y in zip(a, b, strict=True))


__all__ = [
    "ARRAYS",
    "FLOATS",
    "IDENTITY",
    "add",
    "along",
    "arc",
    "axis_angle",
    "between",
    "choose",
    "conjugate",
    "cross",
    "dot",
    "length",
    "lerp",
    "mul",
    "multiply",
    "normalized",
    "perpendicular",
    "rotate",
    "some_perpendicular",
    "sub",
    "unit",
]
