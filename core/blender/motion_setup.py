"""Giving a character a target armature, which its motion stack poses, and taking it away."""

import contextlib

import bpy

from ..errors import RagdollError
from . import build, motion, remove, source
from .armature import check_armature
from .helpers import copy_locally, stand_with
from .runtime import STATE

HELD = ("look_at", "leg_stabilizers", "two_bone_ik", "bone_transforms", "layers")  # what the stack does


def ensure(obj, scene) -> None:
    """Let the motion stack pose a character: its bones copy a target armature from now on.

    A ragdoll is built anew, so that its physics armature plays the stack's pose too.

    Raises:
        RagdollError: no armature, not in the scene, baked, or a ragdoll that cannot be built anew.
    """
    settings = obj.active_ragdoll
    if settings.target_armature is not None:
        return
    check_armature(obj)
    if obj.name not in scene.objects:
        raise RagdollError(f"'{obj.name}' is not in the scene '{scene.name}'")
    if settings.muted:
        raise RagdollError(f"'{obj.name}' is baked: revert the bake first")
    was_building, STATE.building = STATE.building, True
    try:
        settings.motion_scene = scene
        collection = bpy.data.collections.new(f"{obj.name} Motion")
        scene.collection.children.link(collection)
        settings.motion_collection = collection
        target = source.copy_of(obj, f"{obj.name} Target")
        target.animation_data_clear()
        stand_with(obj, target)
        for bone in target.pose.bones:
            for constraint in list(bone.constraints):
                bone.constraints.remove(constraint)
        target.hide_render = target.hide_select = target.hide_viewport = True
        collection.objects.link(target)
        settings.target_armature, target.active_ragdoll.posed_by = target, obj.name
        copy_locally(obj, obj.pose.bones.keys(), target, source.TARGET_NAME)
    finally:
        STATE.building = was_building
    _look_again()
    if settings.is_ragdoll:
        build.rebuild(obj, scene)
    else:
        source.refresh(obj)


def _look_again() -> None:
    """Let runs notice that a character has got or lost its stack."""
    for run in STATE.runs.values():
        run.stacked = None


def part_duplicates(scene, ragdolls: bool = True) -> None:
    """Give duplicates of a character, which would share its helpers, a stack and a ragdoll of their own.

    One that is baked plays its keys and waits until the bake is reverted. What cannot be built says why.

    Args:
        ragdolls: off: those of ragdolls wait too; a shot that is under way does without them.
    """
    for obj in motion.motions(scene):
        settings = obj.active_ragdoll
        if settings.muted or (settings.is_ragdoll and not ragdolls):
            continue
        if not _shares_target(obj):
            settings.target_armature.active_ragdoll.posed_by = obj.name
            continue
        for bone in obj.pose.bones:
            for constraint in [c for c in bone.constraints if c.name == source.TARGET_NAME]:
                bone.constraints.remove(constraint)
        copy = settings.source
        for name in ("target_armature", "motion_collection", "motion_scene", "source"):
            settings.property_unset(name)
        source.drop(copy)
        STATE.motions.pop(obj.name, None)
        with _told(obj):
            ensure(obj, scene)
    if not ragdolls:
        return
    for obj in [o for o in scene.objects if o.type == "ARMATURE" and o.active_ragdoll.is_ragdoll]:
        settings = obj.active_ragdoll
        if settings.built_for == obj.name:
            continue
        if not remove.is_duplicate(obj):
            settings.built_for = obj.name
        elif not settings.muted:
            with _told(obj):
                build.rebuild(obj, scene)


def _shares_target(obj) -> bool:
    """Whether the target armature of a character is that of another, which it is a duplicate of."""
    target = obj.active_ragdoll.target_armature
    owner = target.active_ragdoll.posed_by  # a name, not a pointer, which would keep it from being deleted
    other = bpy.data.objects.get(owner) if owner != obj.name else None
    return other is not None and other.active_ragdoll.target_armature == target


@contextlib.contextmanager
def _told(obj):
    """Whether a character can be built is no matter of the others."""
    try:
        yield
    except RagdollError as error:
        STATE.messages[obj.name] = str(error)
        print(f"Active Ragdoll: '{obj.name}': {error}")


def drop(obj) -> None:
    """Take the target armature away; the character plays its own animation, its ragdoll follows that."""
    settings = obj.active_ragdoll
    if settings.target_armature is None:
        return
    if settings.muted:
        raise RagdollError(f"'{obj.name}' is baked: revert the bake first")
    target = settings.target_armature
    others = (o for o in bpy.data.objects if o.type == "ARMATURE" and o != obj)
    scene, own = settings.motion_scene, all(o.active_ragdoll.target_armature != target for o in others)
    was_building, STATE.building = STATE.building, True
    try:
        for bone in obj.pose.bones:
            for constraint in [c for c in bone.constraints if c.name == source.TARGET_NAME]:
                bone.constraints.remove(constraint)
        if own:
            bpy.data.objects.remove(target)
            if settings.motion_collection is not None:
                bpy.data.collections.remove(settings.motion_collection)
        for name in ("target_armature", "motion_collection", "motion_scene"):
            settings.property_unset(name)
        if not settings.is_ragdoll:
            copy = settings.source
            settings.property_unset("source")
            source.drop(copy)
        STATE.motions.pop(obj.name, None)
    finally:
        STATE.building = was_building
    _look_again()
    if settings.is_ragdoll:
        build.rebuild(obj, settings.scene)
    else:
        remove.drop_source_scene(scene)


def drop_if_idle(obj) -> None:
    """Take the target armature away when the character's motion stack has nothing left to do."""
    settings = obj.active_ragdoll
    if not settings.graph.enabled and not any(len(getattr(settings, name, ())) for name in HELD):
        drop(obj)
