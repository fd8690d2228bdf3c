"""Vectors, rotations and the transforms of a few bones, as tuples of plain numbers.

A solver of one character has too few numbers for numpy: a call costs more than the arithmetic. For the same reason
the functions that solvers call most write products out instead of calling each other.
"""

import math
from dataclasses import dataclass
from math import atan2, cos, sin, sqrt
from types import MappingProxyType

import numpy as np

from ..quaternion import multiply_components as multiply
from ..quaternion import rotate_components as rotate
from ..skeleton import path_to_root
from .stack import LocalPose, Rig

IDENTITY = (1.0, 0.0, 0.0, 0.0)
# Shorter vectors have no direction. Units of length do not matter to it: solvers compare with their own lengths.
_TINY = 1e-150
# Directions nearer to opposite than this have no plane in common [rad]; the cross product's rounding grows below.
_OPPOSITE = 1e-7
_FIXED = (0.48, 0.6, -0.64)
_BESIDE = (0.6 / math.sqrt(0.5904), -0.48 / math.sqrt(0.5904), 0.0)


def dot(a, b):
    ax, ay, az = a
    bx, by, bz = b
    return ax * bx + ay * by + az * bz


def cross(a, b):
    ax, ay, az = a
    bx, by, bz = b
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


def add(a, b):
    ax, ay, az = a
    bx, by, bz = b
    return ax + bx, ay + by, az + bz


def sub(a, b):
    ax, ay, az = a
    bx, by, bz = b
    return ax - bx, ay - by, az - bz


def mul(factor, v):
    return factor * v[0], factor * v[1], factor * v[2]


def along(start, factor, direction):
    """start + factor * direction."""
    ax, ay, az = start
    bx, by, bz = direction
    return ax + factor * bx, ay + factor * by, az + factor * bz


def times(a, b):
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


def length(v):
    x, y, z = v
    return sqrt(x * x + y * y + z * z)


def angle_between(u, v):
    """Angle between two vectors [rad]."""
    ux, uy, uz = u
    vx, vy, vz = v
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    return atan2(sqrt(x * x + y * y + z * z), ux * vx + uy * vy + uz * vz)


def clamped(x, low, high):
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

    Where `wanted` lies along `u`: one that depends on `u` alone, so that it is the same from frame to frame."""
    ux, uy, uz = u
    wx, wy, wz = wanted
    ahead = wx * ux + wy * uy + wz * uz
    x, y, z = wx - ahead * ux, wy - ahead * uy, wz - ahead * uz
    size = sqrt(x * x + y * y + z * z)
    if size <= 1e-9 * length(wanted):
        return some_perpendicular(u)
    factor = 1.0 / size
    return factor * x, factor * y, factor * z


def some_perpendicular(u):
    """A unit vector at a right angle to the unit vector `u`, which changes steadily with `u`.

    A fixed one is carried along when a fixed direction turns to `u` by the smallest angle. Only opposite to that
    direction there is no steady answer (nor can there be everywhere); it is one that no limb happens to have.
    """
    w = 1.0 + dot(_FIXED, u)
    return _BESIDE if w <= 1e-12 else sub(_BESIDE, mul(dot(_BESIDE, u) / w, add(_FIXED, u)))


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

    Where they are opposite every axis at a right angle to `u` would do: the one nearest to `about` is taken."""
    ux, uy, uz = u
    vx, vy, vz = v
    w = 1.0 + (ux * vx + uy * vy + uz * vz)
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    size = sqrt(w * w + x * x + y * y + z * z)
    if size <= _OPPOSITE:  # for an angle pi - e the size is e, to first order
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


def into(space: tuple, point) -> tuple:
    """A point in a space, which is given as position, rotation and scale."""
    x, y, z = rotate(conjugate(space[1]), sub(point, space[0]))
    return x / space[2][0], y / space[2][1], z / space[2][2]


# ---- transforms of bones --------------------------------------------------------------------------------------------
_EVEN = 1e-4  # scales that differ by less, in parts of them, turn nothing by more than 0.003 deg
AXES = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@dataclass
class Affine:
    """A space within another one."""

    origin: tuple = (0.0, 0.0, 0.0)  # where it begins
    columns: tuple | None = None  # its axes, three vectors; None: those of the other space

    def vector(self, v: tuple) -> tuple:
        """A vector of this space in the other one."""
        return transformed(self.columns, v)

    def point(self, v: tuple) -> tuple:
        """Likewise a point."""
        return add(self.origin, self.vector(v))

    def inverse(self) -> tuple | None:
        """Columns that lead vectors of the other space into this one; None: they are the same in both."""
        if self.columns is None:
            return None
        x, y, z = self.columns
        rows = cross(y, z), cross(z, x), cross(x, y)
        volume = dot(x, rows[0])
        return tuple((rows[0][i] / volume, rows[1][i] / volume, rows[2][i] / volume) for i in range(3))


def transformed(columns: tuple | None, v: tuple) -> tuple:
    """A matrix, given by its columns, times a vector; None: the identity."""
    if columns is None:
        return v
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = columns
    x, y, z = v
    return ax * x + bx * y + cx * z, ay * x + by * y + cy * z, az * x + bz * y + cz * z


class ModelView:
    """Positions, rotations and scales in model space of some bones and all above them, as components: of each bone by
    its level index, and of the armature by -1. Those that are `local_` are relative to the parent. Where nothing is
    scaled, `scales` and `local_scales` are None."""

    def __init__(self, rig: Rig, pose: LocalPose, bones: tuple, replaced: dict | None = None) -> None:
        """`replaced`: local rotations to take instead of the pose's, by bone."""
        picked = list(bones)
        self.rig = rig
        arrays = pose.positions, pose.rotations, pose.scales
        positions, rotations, scales = (array.take(picked, 0).tolist() for array in arrays)
        scaled = scales != [[1.0, 1.0, 1.0]] * len(picked)
        self.local_positions = local_positions = dict(zip(bones, positions, strict=True))
        self.local_rotations = local_rotations = dict(zip(bones, rotations, strict=True)) | (replaced or {})
        self.local_scales = local_scales = dict(zip(bones, scales, strict=True)) if scaled else None
        self.positions, self.rotations = places, turns = {-1: (0.0, 0.0, 0.0)}, {-1: IDENTITY}
        self.scales = sizes = {-1: (1.0, 1.0, 1.0)} if scaled else None
        self.shearing = shearing = set()  # bones that are scaled unevenly, and all below them
        for bone in bones:
            parent, position = rig.parents[bone], local_positions[bone]
            above = turns[parent]
            if sizes is not None:
                x, y, z = local_scales[bone]
                least = _EVEN * abs(x)
                if parent in shearing or abs(x - y) > least or abs(x - z) > least:
                    shearing.add(bone)
                position = times(sizes[parent], position)
                sizes[bone] = times(sizes[parent], local_scales[bone])
            places[bone] = add(places[parent], rotate(above, position))
            turns[bone] = multiply(above, local_rotations[bone])

    def axis(self, bone: int, vector) -> tuple:
        """A vector of the bone's own frame in model space, scaled and mirrored as the bone is."""
        if self.scales is not None:
            vector = times(self.scales[bone], vector)
        return rotate(self.rotations[bone], vector)

    def space(self, bone: int) -> tuple:
        """Model position, rotation and scale of a bone; of the armature for -1."""
        return self.positions[bone], self.rotations[bone], (1.0,) * 3 if self.scales is None else self.scales[bone]

    def parent_rotation(self, bone: int) -> tuple:
        """Model rotation of a bone's parent, the identity at a root."""
        return self.rotations[self.rig.parents[bone]]

    def turned(self, bone: int, turn: tuple) -> tuple:
        """A bone's local rotation when it turns, in model space or its own, beside what its parents turn."""
        return multiply(conjugate(self.parent_rotation(bone)), multiply(turn, self.rotations[bone]))

    def is_uneven(self, bone: int) -> bool:
        """Whether a bone's parent, or any bone above that, is scaled unevenly: then its own frame is sheared."""
        return self.rig.parents[bone] in self.shearing

    def frame(self, bone: int) -> Affine:
        """The space that a bone turns in: along the model's axes and from the bone's joint on.

        Below unevenly scaled bones it is sheared as they are, so that the bone's turns in it are rotations there too;
        below flat ones, which nothing can be turned in, it is not.
        """
        if not self.is_uneven(bone):
            return Affine(self.positions[bone])
        parent = self.rig.parents[bone]
        above, back = self._shape(parent), conjugate(self.rotations[parent])
        columns = tuple(above.vector(rotate(back, axis)) for axis in AXES)
        if dot(columns[0], cross(columns[1], columns[2])) == 0.0:
            return Affine(self.positions[bone])
        return Affine(above.point(self.local_positions[bone]), columns)

    def shown(self, bone: int, rotations: dict) -> tuple:
        """Where a bone below unevenly scaled ones is in model space, by local rotations that differ from the view's."""
        return self._shape(self.rig.parents[bone], rotations).point(self.local_positions[bone])

    def _shape(self, bone: int, rotations: dict = MappingProxyType({})) -> Affine:
        """A bone's own frame in model space, shear included."""
        result = Affine()
        for link in reversed(path_to_root(self.rig.parents, bone)):
            rotation, scale = rotations.get(link, self.local_rotations[link]), self.local_scales[link]
            x, y, z = (result.vector(rotate(rotation, axis)) for axis in AXES)
            columns = mul(scale[0], x), mul(scale[1], y), mul(scale[2], z)
            result = Affine(result.point(self.local_positions[link]), columns)
        return result


def write_rotations(pose: LocalPose, rotations: dict) -> LocalPose:
    """The pose with local rotations, by bone, in an array of its own; positions and scales are shared."""
    result = LocalPose(pose.positions, np.array(pose.rotations, order="C"), pose.scales)
    if rotations:
        result.rotations[list(rotations)] = list(rotations.values())
    return result
