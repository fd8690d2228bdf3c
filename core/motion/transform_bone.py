"""Transform bone: an entry of the motion stack that moves, turns and scales one bone in a chosen space."""

from __future__ import annotations

from dataclasses import InitVar, dataclass

import numpy as np

from .. import pose as pose_space
from .. import quaternion
from ..errors import RagdollError
from . import components as c
from .local_pose import LocalPose
from .model_view import ModelView, aligned, views
from .rig import Inputs, Rig, batch_of, weights_of

IGNORE, REPLACE, ADD = "IGNORE", "REPLACE", "ADD"
MODES = (IGNORE, REPLACE, ADD)
BONE, PARENT, COMPONENT, WORLD = "BONE", "PARENT", "COMPONENT", "WORLD"
SPACES = (BONE, PARENT, COMPONENT, WORLD)


@dataclass
class TransformBone:
    """Translation, rotation and scale of a bone, each ignored, replaced or added to.

    In the space of the bone itself what is added or replaced is seen from where the incoming pose has the bone: there
    its transform is the identity. PARENT: of the parent bone, for a root of the armature. COMPONENT: of the armature.
    WORLD: of the scene. Added rotations come after the bone's own, about the space's axes; added scales multiply,
    component by component, along the bone's own axes.

    Attributes:
        rig: the character, to check the bone against.
        bone: level index.
        name: for messages.
        translation: [..., 3] in units of the space.
        rotation: unit quaternion (w, x, y, z) [..., 4].
        scale: [..., 3].
        translation_mode, rotation_mode, scale_mode: IGNORE, REPLACE or ADD.
        translation_space, rotation_space, scale_space: BONE, PARENT, COMPONENT or WORLD.

    Raises:
        RagdollError: a bone that is not there, an unknown mode or space, values that are not numbers, a rotation of
            no length. Names entry and bone.
    """

    rig: InitVar[Rig]
    bone: int
    name: str = "Transform bone"
    translation: tuple = (0.0, 0.0, 0.0)
    rotation: tuple = (1.0, 0.0, 0.0, 0.0)
    scale: tuple = (1.0, 1.0, 1.0)
    translation_mode: str = IGNORE
    rotation_mode: str = IGNORE
    scale_mode: str = IGNORE
    translation_space: str = COMPONENT
    rotation_space: str = COMPONENT
    scale_space: str = COMPONENT

    def __post_init__(self, rig: Rig) -> None:
        self.bone = rig.check(self.name, self.bone)
        title = f'{self.name}, "{rig.name(self.bone)}"'
        for what in ("translation", "rotation", "scale"):
            mode, space = getattr(self, f"{what}_mode"), getattr(self, f"{what}_space")
            if mode not in MODES:
                raise RagdollError(f"{title}: the {what}'s mode must be one of {', '.join(MODES)}, got {mode!r}")
            if space not in SPACES:
                raise RagdollError(f"{title}: the {what}'s space must be one of {', '.join(SPACES)}, got {space!r}")
            if not np.isfinite(np.asarray(getattr(self, what), dtype=float)).all():
                raise RagdollError(f"{title}: the {what} is not a number")
        if (np.linalg.norm(np.asarray(self.rotation, dtype=float), axis=-1) == 0.0).any():
            raise RagdollError(f"{title}: the rotation has no length")
        self._closure = rig.with_ancestors([self.bone])

    def apply(self, rig: Rig, pose: LocalPose, inputs: Inputs, state=None, seconds: float = 0.0) -> tuple:
        """(pose, None): the pose with the bone transformed, by `inputs.weight`.

        Raises:
            RagdollError: a weight that is not a number, values that do not fit the pose; names the entry. A parent
                of scale 0.
        """
        pose = aligned(pose)
        lead = pose.rotations.shape[:-2]
        weights = weights_of(inputs.weight, lead, self.name)
        modes = (self.translation_mode, self.rotation_mode, self.scale_mode)
        if not weights.any() or modes == (IGNORE,) * 3:
            return pose, None
        values = {
            "translation": batch_of(self.translation, lead, 3, self.name, "translation"),
            "rotation": quaternion.normalize(batch_of(self.rotation, lead, 4, self.name, "rotation")),
            "scale": batch_of(self.scale, lead, 3, self.name, "scale"),
        }
        world = _world(inputs.world, lead)
        result = LocalPose(*(np.array(a, order="C") for a in (pose.positions, pose.rotations, pose.scales)))
        sizes = pose.scales.reshape(-1, *pose.scales.shape[-2:])
        for view in views(rig, pose, self._closure, rows=np.flatnonzero(weights)):
            given = {what: view.vectors(array) for what, array in values.items()}
            frame = [view.vectors(part) for part in world]
            weight = view.number(weights)
            own = view.vectors(sizes[:, self.bone])
            self._write(view, result, given, frame, weight, own)
        return result, None

    def _write(self, view: ModelView, result: LocalPose, given: dict, world: list, weight, own_scale) -> None:
        m, bone = view.m, self.bone
        parent = view.rig.parents[bone]
        size = view.scale(parent) if parent >= 0 else (1.0, 1.0, 1.0)
        above = view.parent_position(bone), view.parent_rotation(bone), size
        if any(m.any(part == 0.0) for part in size):
            raise RagdollError(f'{self.name}, "{view.rig.name(bone)}": its parent has a scale of 0')
        local = view.local_positions[bone], view.local_rotations[bone], own_scale
        if self.translation_mode != IGNORE:
            frame = self._frame(self.translation_space, view, world, above)
            held = _into(frame, _out_of(above, local[0]))
            new = given["translation"]
            if self.translation_mode == ADD:
                new = c.add(held, new)
            place = _into(above, _out_of(frame, new))
            view.write_positions(result, {bone: c.lerp(local[0], place, weight)})
        if self.rotation_mode != IGNORE:
            turn = self._frame(self.rotation_space, view, world, above)[1]
            held = c.multiply(c.conjugate(turn), c.multiply(above[1], local[1]))
            new = given["rotation"]
            if self.rotation_mode == ADD:
                new = c.multiply(new, held)
            rotation = c.multiply(c.conjugate(above[1]), c.multiply(turn, new))
            view.write_rotations(result, {bone: c.between(m, local[1], rotation, weight)})
        if self.scale_mode != IGNORE:
            new = given["scale"]
            if self.scale_mode == ADD:
                scale = _times(local[2], new)
            else:
                units = self._frame(self.scale_space, view, world, above)[2]
                scale = tuple(x * u / a for x, u, a in zip(new, units, size, strict=True))
            view.write_scales(result, {bone: c.lerp(local[2], scale, weight)})

    def _frame(self, space: str, view: ModelView, world: list, above: tuple) -> tuple:
        """Position, rotation and scale of a space in model space."""
        if space == BONE:
            return view.positions[self.bone], view.rotations[self.bone], view.scale(self.bone)
        if space == PARENT:
            return above
        if space == COMPONENT:
            return (0.0, 0.0, 0.0), c.IDENTITY, (1.0, 1.0, 1.0)
        place, turn, size = world
        inverse = c.conjugate(turn)
        shrunk = tuple(1.0 / s for s in size)
        return c.mul(-1.0, _times(shrunk, c.rotate(inverse, place))), inverse, shrunk


def _world(world, lead: tuple) -> list:
    """Position, rotation and scale of the armature in the world, each [batch, ...]."""
    matrix = np.eye(4) if world is None else np.asarray(world, dtype=float)
    parts = pose_space.decompose_matrices(matrix)
    if (parts[2] == 0.0).any():
        raise RagdollError("The armature's world matrix has a scale of 0")
    return [np.broadcast_to(part, (*lead, part.shape[-1])).reshape(-1, part.shape[-1]) for part in parts]


def _out_of(frame: tuple, point) -> tuple:
    """A point of a frame in model space."""
    return c.add(frame[0], c.rotate(frame[1], _times(frame[2], point)))


def _into(frame: tuple, point) -> tuple:
    """A point of model space in a frame."""
    x, y, z = c.rotate(c.conjugate(frame[1]), c.sub(point, frame[0]))
    return x / frame[2][0], y / frame[2][1], z / frame[2][2]


def _times(a, b) -> tuple:
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]
