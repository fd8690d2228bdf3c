"""Model-space transforms of a few bones, for one character in plain numbers or for many in arrays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from . import components as c
from .local_pose import LocalPose
from .rig import Rig

# From so many characters on arrays beat one after the other in plain numbers; measured.
MANY = 8


class ModelView:
    """Positions, rotations and scales in model space of some bones and all above them, as components.

    Attributes:
        m: the mathematics of the components, `components.FLOATS` or `components.ARRAYS`.
        rows: the characters it is about, index into the batch.
        positions, rotations: of each bone, by its level index.
        scales: likewise; None where nothing is scaled.
        local_rotations, local_positions: relative to the parent.
        local_scales: likewise; None where nothing is scaled.
    """

    def __init__(self, rig: Rig, pose: LocalPose, bones: tuple, rows, replaced: dict | None = None) -> None:
        """`replaced`: local rotations to take instead of the pose's, by bone."""
        picked = list(bones)
        single = isinstance(rows, int)
        self.rig, self.rows, self.m = rig, rows, c.FLOATS if single else c.ARRAYS
        arrays = (pose.positions, pose.rotations, pose.scales)
        if single:
            rows_of = arrays if pose.rotations.ndim == 2 else [_batch(a)[rows] for a in arrays]
            positions, rotations, scales = (a.take(picked, 0).tolist() for a in rows_of)
            scaled = scales != [[1.0, 1.0, 1.0]] * len(picked)
        else:
            locals_ = [_batch(a)[rows][:, picked].transpose(1, 2, 0).astype(float, order="C") for a in arrays]
            scaled = bool((locals_[2] != 1.0).any())
            positions, rotations, scales = (list(map(tuple, a)) for a in locals_)
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
                position = _times(sizes[parent], position)
                sizes[bone] = _times(sizes[parent], local_scales[bone])
            places[bone] = add(places[parent], rotate(above, position))
            turns[bone] = multiply(above, local_rotations[bone])

    def axis(self, bone: int, vector) -> tuple:
        """A vector of the bone's own frame in model space, scaled and mirrored as the bone is."""
        if self.scales is not None:
            vector = _times(self.scales[bone], vector)
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

    def vectors(self, values: np.ndarray) -> tuple:
        """Rows of [batch, k] as components."""
        return tuple(values[self.rows].tolist()) if self.m is c.FLOATS else tuple(values[self.rows].T)

    def number(self, values: np.ndarray):
        """Numbers [batch] as one component."""
        return float(values[self.rows]) if self.m is c.FLOATS else values[self.rows]

    def write_rotations(self, pose: LocalPose, rotations: dict) -> None:
        """Put local rotations, by bone, into a pose with arrays of its own."""
        self._write(_batch(pose.rotations), rotations)

    def write_positions(self, pose: LocalPose, positions: dict) -> None:
        """Put local positions, by bone, into a pose with arrays of its own."""
        self._write(_batch(pose.positions), positions)

    def write_scales(self, pose: LocalPose, scales: dict) -> None:
        """Put local scales, by bone, into a pose with arrays of its own."""
        self._write(_batch(pose.scales), scales)

    def _write(self, target: np.ndarray, values: dict) -> None:
        if not values:
            return
        if self.m is c.FLOATS:
            target[self.rows, list(values)] = list(values.values())
            return
        for bone, components in values.items():
            for i, component in enumerate(components):
                target[self.rows, bone, i] = component


def views(rig: Rig, pose: LocalPose, bones: tuple, replaced: dict | None = None, rows=None) -> Iterator[ModelView]:
    """Views that together cover the characters of a pose, or those of them in `rows`, as fits their number."""
    if rows is None:
        if pose.rotations.ndim == 2:
            yield ModelView(rig, pose, bones, 0, replaced)
            return
        rows = np.arange(_batch(pose.rotations).shape[0])
    if len(rows) <= MANY:
        for row in rows.tolist():
            yield ModelView(rig, pose, bones, row, replaced)
    else:
        yield ModelView(rig, pose, bones, rows, replaced)


def aligned(pose: LocalPose) -> LocalPose:
    """The pose with the same leading axes on all three arrays."""
    if pose.positions.ndim == pose.rotations.ndim == pose.scales.ndim == 2:
        return pose
    arrays = (pose.positions, pose.rotations, pose.scales)
    leads = [a.shape[:-2] for a in arrays]
    if leads[0] == leads[1] == leads[2]:
        return pose
    lead = np.broadcast_shapes(*leads)
    return LocalPose(*(np.broadcast_to(a, (*lead, *a.shape[-2:])) for a in arrays))


def with_own_rotations(pose: LocalPose) -> LocalPose:
    """The pose with an array of rotations of its own; positions and scales are shared."""
    return LocalPose(pose.positions, np.array(pose.rotations, order="C"), pose.scales)


def _batch(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1, *array.shape[-2:])


def _times(a, b) -> tuple:
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]
