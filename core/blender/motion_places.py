"""Where the objects and bones that the motion stack reads stand at the frame that is about to be shown."""

import numpy as np

from ..errors import RagdollError
from .armature import array_of
from .shot_run import depsgraph_of
from .source import scene_of


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


def follow(obj, other) -> None:
    """Have an object evaluated in the hidden scene too, so that a character's stack reads it at the frame to come."""
    scene = scene_of(obj)
    hidden = scene.active_ragdoll.source if scene is not None else None
    if hidden is None or other == obj or other.name in hidden.objects or other.name not in scene.objects:
        return
    if not is_simulated(other):
        hidden.collection.objects.link(other)


def tidy(scene) -> None:
    """Unlink what is read in the hidden scene no more: it was taken out of the scene, or has become simulated."""
    hidden = scene.active_ragdoll.source
    sources = {o.active_ragdoll.source for o in scene.objects if o.type == "ARMATURE"}
    for other in list(hidden.collection.objects):
        if other not in sources and (other.name not in scene.objects or is_simulated(other)):
            hidden.collection.objects.unlink(other)


class Places:
    """Reads world matrices for one character at one frame.

    Attributes:
        source: the character's evaluated source.
        world: the character's own world matrix [4, 4].
        matrices: of its bones in the pose that the stack began with, armature space, Blender's order [n, 4, 4].
        seconds, seconds_per_frame: time of the frame.
    """

    def __init__(self, scene, obj, now, matrices: np.ndarray, frame: float, memory: dict, playing: bool) -> None:
        """`memory`: what was read at this frame before, of things that physics moves; told anew while it plays."""
        self.scene, self.obj, self.source, self.matrices = scene, obj, now, matrices
        self.world = array_of(now.matrix_world)
        self.seconds_per_frame = scene.render.fps_base / scene.render.fps
        self.seconds = frame * self.seconds_per_frame
        self._memory, self._playing = memory, playing

    def remembered(self, key, read):
        """What `read` gives while the shot is played; on a jump to the frame, what it gave then."""
        if self._playing or key not in self._memory:
            self._memory[key] = read()
        return self._memory[key]

    def matrix(self, name: str, obj, bone: str = "") -> np.ndarray:
        """World matrix [4, 4] of an object or of one of its bones.

        What is driven by the simulation is where it was after the last step.

        Raises:
            RagdollError: the object was deleted, or has no such bone; names the entry.
        """
        if obj is None:
            raise RagdollError(f"{name}: its target is missing")
        if obj.name not in self.scene.objects:
            raise RagdollError(f"{name}: its target '{obj.name}' is not in the scene any more")
        if bone and (obj.type != "ARMATURE" or bone not in obj.data.bones):
            raise RagdollError(f"{name}: '{obj.name}' has no bone '{bone}'")
        if obj == self.obj:
            return self.world @ self.matrices[obj.data.bones.find(bone)] if bone else self.world
        hidden = self.scene.active_ragdoll.source
        if obj.name in hidden.objects:
            now = obj.evaluated_get(hidden.view_layers[0].depsgraph)
            return _world_of(now, bone)
        return self.remembered((obj.name, bone), lambda: _world_of(obj.evaluated_get(depsgraph_of(self.scene)), bone))

    def point(self, name: str, obj, bone: str = "") -> np.ndarray:
        """World position [3], as `matrix`."""
        return self.matrix(name, obj, bone)[:3, 3]


def _world_of(now, bone: str) -> np.ndarray:
    matrix = array_of(now.matrix_world)
    return matrix @ array_of(now.pose.bones[bone].matrix) if bone else matrix
