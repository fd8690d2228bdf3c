"""World matrices of the objects and bones that a motion stack reads, at the frame about to be shown."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import bpy
import numpy as np

from ...errors import RagdollError
from ..physics import source
from ..physics.view_layers import depsgraph_of
from ..rig.armature import armatures, array_of, pose_matrices
from ..settings import at_frame

STAND_IN = ".{} Basis"  # name of a stand-in: a copy without its parent, for reading an object's own keys


def is_simulated(obj) -> bool:
    """Whether physics, or a character of ours, moves an object, itself or through its parents and constraints."""
    seen, todo = set(), [obj]
    while todo:
        other = todo.pop()
        if other is None or other.name in seen:
            continue
        seen.add(other.name)
        body, settings = other.rigid_body, other.active_ragdoll
        driven = body is not None and body.type == "ACTIVE" and not body.kinematic
        if driven or settings.is_ragdoll or settings.target_armature is not None:
            return True
        todo.append(other.parent)
        todo += [getattr(constraint, "target", None) for constraint in other.constraints]
    return False


def follow(obj, other) -> None:
    """Link an object into the hidden scene, or make a stand-in, so that a stack can read it at the coming frame."""
    scene = source.scene_of(obj)
    hidden = scene.active_ragdoll.source if scene is not None else None
    if hidden is None or other == obj or other.name in hidden.objects or other.name not in scene.objects:
        return
    if not is_simulated(other):
        hidden.collection.objects.link(other)
    elif is_carried(other) and other.animation_data is not None and _stand_in(other, hidden) is None:
        copy = other.copy()
        copy.name = STAND_IN.format(other.name)
        copy[source.STAND_IN_FOR] = other.name
        copy.parent = None
        copy.matrix_parent_inverse.identity()
        hidden.collection.objects.link(copy)
    if is_carried(other):
        follow(obj, other.parent)


def _stand_in(obj, hidden):
    return next((o for o in hidden.collection.objects if o.get(source.STAND_IN_FOR) == obj.name), None)


def is_carried(obj) -> bool:
    """Whether an object is moved only by its parent and its own keys."""
    body = obj.rigid_body
    driven = body is not None and body.type == "ACTIVE" and not body.kinematic
    plain = obj.parent_type in ("OBJECT", "BONE") and not any(not c.mute for c in obj.constraints)
    return obj.parent is not None and plain and not driven and obj.active_ragdoll.source is None


def tidy(scene) -> None:
    """Unlink from the hidden scene what left the main scene or is simulated now."""
    hidden = scene.active_ragdoll.source
    sources = {o.active_ragdoll.source for o in armatures(scene.objects)}
    for other in [other for other in hidden.collection.objects if other not in sources]:
        if source.STAND_IN_FOR in other:
            if other[source.STAND_IN_FOR] not in scene.objects:
                bpy.data.objects.remove(other)
        elif other.name not in scene.objects or is_simulated(other):
            hidden.collection.objects.unlink(other)


@dataclass
class WorldReader:
    """Reads world matrices for one character at one frame, whose time has `seconds` and `seconds_per_frame`. `settings`
    are the character's, with their values at the frame, `world` is its own world matrix [4, 4]."""

    scene: bpy.types.Scene
    obj: bpy.types.Object
    now: bpy.types.Object  # its evaluated source
    matrices: np.ndarray  # of its bones as they come into the stack [n, 4, 4], armature space, Blender's order
    frame: float  # of that pose
    memory: dict  # what was read at this frame before from things that physics moves
    playing: bool  # it is rewritten
    posed: Callable  # gives world matrix and bone matrices of another character that only its own stack moves
    keyed: bool = False  # a setting of the character is animated

    def __post_init__(self) -> None:
        self.world = array_of(self.now.matrix_world)
        self.seconds_per_frame = self.scene.render.fps_base / self.scene.render.fps
        self.seconds = self.frame * self.seconds_per_frame
        self.settings = at_frame.owner(self.obj, self.keyed).active_ragdoll

    @contextmanager
    def at(self, frame: int) -> Iterator["WorldReader"]:
        """Context that gives a reader at another frame; the hidden scene goes there and back.

        What the simulation moves is read where it is now."""
        hidden = self.scene.active_ragdoll.source
        hidden.frame_set(frame)
        try:
            now = source.evaluated(self.obj)
            yield replace(self, now=now, matrices=pose_matrices(now), frame=frame, memory={}, playing=False)
        finally:
            hidden.frame_set(self.frame)

    def remembered(self, key, read):
        """The result of `read` while the shot is played; on a jump to the frame, the result of back then."""
        if self.playing or key not in self.memory:
            self.memory[key] = read()
        return self.memory[key]

    def matrix(self, name: str, obj, bone: str = "") -> np.ndarray:
        """World matrix [4, 4] of an object or of one of its bones.

        The character itself is read as it comes into its stack. What physics moves is read where it was after the last
        step. Raises RagdollError: the object was deleted, or has no such bone; names the entry.
        """
        if obj is None:
            raise RagdollError(f"{name}: its target is missing")
        if obj.name not in self.scene.objects:
            raise RagdollError(f"{name}: its target '{obj.name}' is not in the scene any more")
        if bone and (obj.type != "ARMATURE" or bone not in obj.data.bones):
            raise RagdollError(f"{name}: '{obj.name}' has no bone '{bone}'")
        return self._matrix(obj, bone)

    def point(self, name: str, obj, bone: str = "") -> np.ndarray:
        """World position [3], as `matrix`."""
        return self.matrix(name, obj, bone)[:3, 3]

    def _matrix(self, obj, bone: str) -> np.ndarray:
        if obj == self.obj:
            return _bone_of(obj, bone, self.world, self.matrices)
        hidden = self.scene.active_ragdoll.source
        if obj.name in hidden.objects:
            return _world_of(obj.evaluated_get(hidden.view_layers[0].depsgraph), bone)
        own = obj.active_ragdoll
        if own.source is not None and (own.muted or not own.is_ragdoll):  # not moved by physics
            return _bone_of(obj, bone, *self.posed(obj))
        if is_carried(obj):
            return self._carried(obj, hidden)
        return self.remembered((obj.name, bone), lambda: _world_of(obj.evaluated_get(depsgraph_of(self.scene)), bone))

    def _carried(self, obj, hidden) -> np.ndarray:
        """Matrix computed from the parent's, as Blender does it: the child of a bone is at the bone's tail."""
        by_bone = obj.parent_type == "BONE" and obj.parent_bone in obj.parent.data.bones
        above = self._matrix(obj.parent, obj.parent_bone if by_bone else "")
        if by_bone and not obj.parent.data.bones[obj.parent_bone].use_relative_parent:
            above = above.copy()
            above[:3, 3] += above[:3, 1] * obj.parent.data.bones[obj.parent_bone].length
        copy = _stand_in(obj, hidden)
        own = obj.matrix_basis if copy is None else copy.evaluated_get(hidden.view_layers[0].depsgraph).matrix_world
        return above @ array_of(obj.matrix_parent_inverse) @ array_of(own)


def _bone_of(obj, bone: str, world: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    return world @ matrices[obj.data.bones.find(bone)] if bone else world


def _world_of(now, bone: str) -> np.ndarray:
    matrix = array_of(now.matrix_world)
    return matrix @ array_of(now.pose.bones[bone].matrix) if bone else matrix
