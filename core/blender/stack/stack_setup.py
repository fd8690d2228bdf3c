"""Giving a character a target armature, which its motion stack poses, and taking it away."""

import bpy

from ...errors import RagdollError
from ..physics import build, built, remove, source
from ..physics.helpers import copy_locally, stand_with
from ..rig.armature import check_armature, refuse_baked
from ..runtime import STATE
from . import entries


def ensure(obj, scene) -> None:
    """Let the motion stack pose a character: its bones copy a target armature from now on.

    A ragdoll is built anew, so that its physics armature plays the stack's pose too.
    Raises RagdollError: no armature, not in the scene, baked, or a ragdoll that cannot be built anew.
    """
    settings = obj.active_ragdoll
    if settings.target_armature is not None:
        return
    check_armature(obj)
    if obj.name not in scene.objects:
        raise RagdollError(f"'{obj.name}' is not in the scene '{scene.name}'")
    refuse_baked(obj)
    source.refuse_names(obj)
    with STATE.writing():
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
        built.tag(target, built.TARGET_ARMATURE)
        collection.active_ragdoll.owner = obj.name
        copy_locally(obj, obj.pose.bones.keys(), target, source.TARGET_NAME)
    _look_again()
    if settings.is_ragdoll:
        rebuild(obj, scene)
    else:
        source.refresh(obj)


def rebuild(obj, scene) -> None:
    """Build a ragdoll anew; where that is refused it is gone, and so is a stack that only its recovery needed.

    Raises RagdollError: see `build.build`.
    """
    try:
        build.rebuild(obj, scene)
    except RagdollError:
        drop_if_idle(obj)
        raise


def _look_again() -> None:
    """Let runs notice that a character has got or lost its stack."""
    for run in STATE.runs.values():
        run.stacked = None


def adopt(obj, scene) -> None:
    """Let a character of a full copy of a scene have its stack there: before Blender 5.0 it still names the first."""
    settings = obj.active_ragdoll
    held = [place for place in (settings.motion_scene, scene) if built.holds(place, settings.motion_collection)]
    if obj.library is None and held == [scene]:
        settings.motion_scene = scene
        STATE.motions.pop(obj.name, None)


def let_go(obj) -> None:
    """Let a duplicate forget the stack of the character that it was made from."""
    settings, copy = obj.active_ragdoll, obj.active_ragdoll.source
    source.remove_constraints(obj, source.TARGET_NAME)
    for name in ("motion_collection", "motion_scene", "source"):
        settings.property_unset(name)
    source.drop(copy)
    STATE.motions.pop(obj.name, None)


def drop(obj) -> None:
    """Take the target armature away; the character plays its own animation, its ragdoll follows that."""
    settings = obj.active_ragdoll
    if settings.target_armature is None:
        return
    refuse_baked(obj)
    target = settings.target_armature
    others = (o for o in bpy.data.objects if o.type == "ARMATURE" and o != obj)
    scene, collection = settings.motion_scene, settings.motion_collection
    own = all(o.active_ragdoll.motion_collection != collection for o in others)
    with STATE.writing():
        source.remove_constraints(obj, source.TARGET_NAME)
        if own:
            bpy.data.objects.remove(target)
            remove.remove_collections([collection], scene)
        for name in ("motion_collection", "motion_scene"):
            settings.property_unset(name)
        if not settings.is_ragdoll:
            copy = settings.source
            settings.property_unset("source")
            source.drop(copy)
        STATE.motions.pop(obj.name, None)
    _look_again()
    if settings.is_ragdoll:
        build.rebuild(obj, settings.scene)
    else:
        remove.drop_source_scene(scene)


def drop_if_idle(obj) -> None:
    """Take the target armature away when the character's motion stack has nothing left to do."""
    if not any(kind.acts(obj) for kind in entries.kinds()):
        drop(obj)


def gets_up_where_it_lies(obj) -> bool:
    """Whether a character's recovery or balance needs a motion stack, as soon as there is a ragdoll."""
    settings = obj.active_ragdoll
    return (settings.recovery.enabled and settings.recovery.reroot) or settings.balance.enabled
