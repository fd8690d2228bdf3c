"""Where the objects and bones that the motion stack reads stand at the frame that is about to be shown."""

import numpy as np

from ..errors import RagdollError
from .armature import array_of
from .shot_run import depsgraph_of


def is_simulated(obj) -> bool:
    """Whether physics, or a character of ours, moves an object, itself or through its parents and constraints."""
    seen, todo = set(), [obj]
    while todo:
        other = todo.pop()
        if other is None or other.name in seen:
            continue
        seen.add(other.name)
        body = other.rigid_body
        if body is not None and body.type == "ACTIVE" and not body.kinematic:
            return True
        settings = other.active_ragdoll
        if settings.is_ragdoll or settings.target_armature is not None:
            return True
        todo.append(other.parent)
        todo += [getattr(constraint, "target", None) for constraint in other.constraints]
    return False


def follow(scene, obj) -> None:
    """Have an object evaluated in the hidden scene too, so that it is read at the frame to come."""
    hidden = scene.active_ragdoll.source
    if hidden is not None and obj.name not in hidden.objects and not is_simulated(obj):
        hidden.collection.objects.link(obj)


class Places:
    """Reads world matrices for one character at one frame.

    Attributes:
        world: the character's own world matrix [4, 4].
        matrices: of its bones in the pose that the stack began with, armature space, Blender's order [n, 4, 4].
        frame: that the pose is of.
    """

    def __init__(self, scene, obj, world: np.ndarray, matrices: np.ndarray, frame: int) -> None:
        self.scene, self.obj, self.world, self.matrices, self.frame = scene, obj, world, matrices, frame

    def matrix(self, name: str, obj, bone: str = "") -> np.ndarray:
        """World matrix [4, 4] of an object or of one of its bones.

        What is driven by the simulation is where it was after the last step.

        Raises:
            RagdollError: the object was deleted, or has no such bone; names the entry.
        """
        if obj is None:
            raise RagdollError(f"{name}: its target is missing")
        if bone and (obj.type != "ARMATURE" or bone not in obj.data.bones):
            raise RagdollError(f"{name}: '{obj.name}' has no bone '{bone}'")
        if obj == self.obj:
            return self.world @ self.matrices[obj.data.bones.find(bone)] if bone else self.world
        hidden = self.scene.active_ragdoll.source
        ahead = obj.name in hidden.objects
        graph = hidden.view_layers[0].depsgraph if ahead else depsgraph_of(self.scene)
        now = obj.evaluated_get(graph)
        matrix = array_of(now.matrix_world)
        return matrix @ array_of(now.pose.bones[bone].matrix) if bone else matrix

    def point(self, name: str, obj, bone: str = "") -> np.ndarray:
        """World position [3], as `matrix`."""
        return self.matrix(name, obj, bone)[:3, 3]
