"""Transform bone: an entry of the motion stack that moves, turns and scales one bone in a chosen space."""

from dataclasses import InitVar, dataclass

import numpy as np

from .. import pose as pose_space
from .. import quaternion
from ..errors import RagdollError
from . import components as c
from .stack import Inputs, LocalPose, Rig, vector_of, weight_of

IGNORE, REPLACE, ADD = "IGNORE", "REPLACE", "ADD"
BONE, PARENT, COMPONENT, WORLD = "BONE", "PARENT", "COMPONENT", "WORLD"


@dataclass
class TransformBone:
    """Translation, rotation and scale of a bone, each ignored, replaced or added to.

    In the space of the bone itself what is added or replaced is seen from where the incoming pose has the bone: there
    its transform is the identity. PARENT: of the parent bone, for a root of the armature. COMPONENT: of the armature.
    WORLD: of the scene. Added rotations come after the bone's own, about the space's axes; added scales multiply,
    component by component, along the bone's own axes.
    """

    rig: InitVar[Rig]  # the character, to check the bone against
    bone: int  # level index
    name: str = "Transform bone"  # for messages
    translation: tuple = (0.0, 0.0, 0.0)  # [3] in units of the space
    rotation: tuple = (1.0, 0.0, 0.0, 0.0)  # unit quaternion (w, x, y, z)
    scale: tuple = (1.0, 1.0, 1.0)  # [3]
    # translation_mode, rotation_mode, scale_mode: IGNORE, REPLACE or ADD
    translation_mode: str = IGNORE
    rotation_mode: str = IGNORE
    scale_mode: str = IGNORE
    # translation_space, rotation_space, scale_space: BONE, PARENT, COMPONENT or WORLD
    translation_space: str = COMPONENT
    rotation_space: str = COMPONENT
    scale_space: str = COMPONENT

    def __post_init__(self, rig: Rig) -> None:
        self._closure = rig.with_ancestors([self.bone])

    def apply(self, rig: Rig, pose: LocalPose, inputs: Inputs, state=None, seconds: float = 0.0) -> tuple:
        """(pose, None): the pose with the bone transformed, by `inputs.weight`. Raises RagdollError: a weight or value
        that is not a number, a parent of scale 0; names the entry."""
        weight = weight_of(inputs.weight, self.name)
        if weight == 0.0 or (self.translation_mode, self.rotation_mode, self.scale_mode) == (IGNORE,) * 3:
            return pose, None
        names = "translation", "rotation", "scale"
        translation, rotation, scale = (vector_of(getattr(self, name), self.name, name) for name in names)
        rotation = tuple(quaternion.normalize(rotation).tolist())
        view, result = c.ModelView(rig, pose, self._closure), pose.copy()
        bone, above = self.bone, view.space(rig.parents[self.bone])
        frames = {BONE: view.space(bone), PARENT: above, COMPONENT: view.space(-1), WORLD: _world(inputs.world)}
        if 0.0 in above[2]:
            raise RagdollError(f'{self.name}, "{rig.name(bone)}": its parent has a scale of 0')
        if self.translation_mode != IGNORE:
            frame = frames[self.translation_space]
            if self.translation_mode == ADD:
                translation = c.add(c.into(frame, view.positions[bone]), translation)
            moved = c.add(frame[0], c.rotate(frame[1], c.times(frame[2], translation)))
            result.positions[bone] = c.lerp(view.local_positions[bone], c.into(above, moved), weight)
        if self.rotation_mode != IGNORE:
            turn = frames[self.rotation_space][1]
            if self.rotation_mode == ADD:
                rotation = c.multiply(rotation, c.multiply(c.conjugate(turn), view.rotations[bone]))
            rotation = c.multiply(c.conjugate(above[1]), c.multiply(turn, rotation))
            result.rotations[bone] = c.between(view.local_rotations[bone], rotation, weight)
        if self.scale_mode != IGNORE:
            before = tuple(result.scales[bone].tolist())
            if self.scale_mode == ADD:
                scale = c.times(before, scale)
            else:
                scale = tuple(x * u / a for x, u, a in zip(scale, frames[self.scale_space][2], above[2], strict=True))
            result.scales[bone] = c.lerp(before, scale, weight)
        return result, None


def _world(world) -> tuple:
    """Position, rotation and scale of the world in model space."""
    parts = pose_space.decompose_matrices(np.eye(4) if world is None else np.asarray(world, dtype=float))
    place, turn, size = (tuple(part.tolist()) for part in parts)
    if 0.0 in size:
        raise RagdollError("The armature's world matrix has a scale of 0")
    inverse, shrunk = c.conjugate(turn), tuple(1.0 / s for s in size)
    return c.mul(-1.0, c.times(shrunk, c.rotate(inverse, place))), inverse, shrunk
