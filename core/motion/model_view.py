"""Model-space transforms of a few bones of one character, in plain numbers."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from . import components as c
from .rig import LocalPose, Rig

_EVEN = 1e-4  # scales that differ by less, in parts of them, turn nothing by more than 0.003 deg
_AXES = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


class Affine:
    """A space within another one.

    Attributes:
        origin: where it begins.
        columns: its axes, three vectors; None: those of the other space.
    """

    def __init__(self, origin: tuple = (0.0, 0.0, 0.0), columns: tuple | None = None) -> None:
        self.origin, self.columns = origin, columns

    def vector(self, v: tuple) -> tuple:
        """A vector of this space in the other one."""
        return v if self.columns is None else transformed(self.columns, v)

    def point(self, v: tuple) -> tuple:
        """Likewise a point."""
        return c.add(self.origin, self.vector(v))

    def inverse(self) -> tuple | None:
        """Columns that lead vectors of the other space into this one; None: they are the same in both."""
        if self.columns is None:
            return None
        x, y, z = self.columns
        rows = c.cross(y, z), c.cross(z, x), c.cross(x, y)
        volume = c.dot(x, rows[0])
        return tuple((rows[0][i] / volume, rows[1][i] / volume, rows[2][i] / volume) for i in range(3))


def transformed(columns: tuple, v: tuple) -> tuple:
    """A matrix, given by its columns, times a vector."""
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = columns
    x, y, z = v
    return ax * x + bx * y + cx * z, ay * x + by * y + cy * z, az * x + bz * y + cz * z


class ModelView:
    """Positions, rotations and scales in model space of some bones and all above them, as components.

    Attributes:
        positions, rotations: of each bone, by its level index.
        scales: likewise; None where nothing is scaled.
        local_rotations, local_positions: relative to the parent.
        local_scales: likewise; None where nothing is scaled.
    """

    def __init__(self, rig: Rig, pose: LocalPose, bones: tuple, replaced: dict | None = None) -> None:
        """`replaced`: local rotations to take instead of the pose's, by bone."""
        picked = list(bones)
        self.rig = rig
        positions, rotations, scales = (
            array.take(picked, 0).tolist() for array in (pose.positions, pose.rotations, pose.scales)
        )
        scaled = scales != [[1.0, 1.0, 1.0]] * len(picked)
        self.local_positions = dict(zip(bones, positions, strict=True))
        self.local_rotations = dict(zip(bones, rotations, strict=True))
        if replaced:
            self.local_rotations.update(replaced)
        self.local_scales = dict(zip(bones, scales, strict=True)) if scaled else None
        self._accumulate(bones)

    def _accumulate(self, bones: tuple) -> None:
        parents, local_scales = self.rig.parents, self.local_scales
        self.positions, self.rotations = places, turns = {}, {}
        self.scales = sizes = None if local_scales is None else {}
        add, rotate, multiply = c.add, c.rotate, c.multiply
        local_positions, local_rotations = self.local_positions, self.local_rotations
        for bone in bones:
            parent, position = parents[bone], local_positions[bone]
            if parent < 0:
                places[bone], turns[bone] = position, local_rotations[bone]
                if sizes is not None:
                    sizes[bone] = local_scales[bone]
                continue
            above = turns[parent]
            if sizes is not None:
                position = c.times(sizes[parent], position)
                sizes[bone] = c.times(sizes[parent], local_scales[bone])
            places[bone] = add(places[parent], rotate(above, position))
            turns[bone] = multiply(above, local_rotations[bone])

    def axis(self, bone: int, vector) -> tuple:
        """A vector of the bone's own frame in model space, scaled and mirrored as the bone is."""
        if self.scales is not None:
            vector = c.times(self.scales[bone], vector)
        return c.rotate(self.rotations[bone], vector)

    def scale(self, bone: int) -> tuple:
        """A bone's model scale."""
        return (1.0, 1.0, 1.0) if self.scales is None else self.scales[bone]

    def parent_rotation(self, bone: int) -> tuple:
        """Model rotation of a bone's parent, the identity at a root."""
        parent = self.rig.parents[bone]
        return self.rotations[parent] if parent >= 0 else c.IDENTITY

    def parent_position(self, bone: int) -> tuple:
        """Model position of a bone's parent, the armature's origin at a root."""
        parent = self.rig.parents[bone]
        return self.positions[parent] if parent >= 0 else (0.0, 0.0, 0.0)

    def is_uneven(self, bone: int) -> bool:
        """Whether a bone's parent, or any bone above that, is scaled unevenly: then its own frame is sheared."""
        if self.local_scales is None:
            return False
        bone = self.rig.parents[bone]
        while bone >= 0:
            x, y, z = self.local_scales[bone]
            least = _EVEN * abs(x)
            if abs(x - y) > least or abs(x - z) > least:
                return True
            bone = self.rig.parents[bone]
        return False

    def frame(self, bone: int) -> Affine:
        """The space that a bone turns in: along the model's axes and from the bone's joint on.

        Below unevenly scaled bones it is sheared as they are, so that the bone's turns in it are rotations there too;
        below flat ones, which nothing can be turned in, it is not.
        """
        if not self.is_uneven(bone):
            return Affine(self.positions[bone])
        parent = self.rig.parents[bone]
        above, back = self._shape(parent), c.conjugate(self.rotations[parent])
        columns = tuple(above.vector(c.rotate(back, axis)) for axis in _AXES)
        if c.dot(columns[0], c.cross(columns[1], columns[2])) == 0.0:
            return Affine(self.positions[bone])
        return Affine(above.point(self.local_positions[bone]), columns)

    def shown(self, bone: int, rotations: dict) -> tuple:
        """Where a bone below unevenly scaled ones is in model space, by local rotations that differ from the view's."""
        return self._shape(self.rig.parents[bone], rotations).point(self.local_positions[bone])

    def _shape(self, bone: int, rotations: dict = MappingProxyType({})) -> Affine:
        """A bone's own frame in model space, shear included."""
        chain = [bone] if bone >= 0 else []
        while chain and self.rig.parents[chain[-1]] >= 0:
            chain.append(self.rig.parents[chain[-1]])
        result = Affine()
        for link in reversed(chain):
            rotation, scale = rotations.get(link, self.local_rotations[link]), self.local_scales[link]
            x, y, z = (result.vector(c.rotate(rotation, axis)) for axis in _AXES)
            columns = c.mul(scale[0], x), c.mul(scale[1], y), c.mul(scale[2], z)
            result = Affine(result.point(self.local_positions[link]), columns)
        return result


def write_rotations(pose: LocalPose, rotations: dict) -> LocalPose:
    """The pose with local rotations, by bone, in an array of its own; positions and scales are shared."""
    result = LocalPose(pose.positions, np.array(pose.rotations, order="C"), pose.scales)
    if rotations:
        result.rotations[list(rotations)] = list(rotations.values())
    return result
