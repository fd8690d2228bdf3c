"""Bringing what was built in line with the characters, their settings and the file as they are now.

Between two runs characters are duplicated, renamed, appended and set otherwise, and Blender's undo may leave pointers
wrong. All of it is noticed and mended here: at a shot's first frame, by operators that simulate, and after undo.
"""

import bpy

from ...errors import RagdollError
from ..physics import build, built, collision, source
from ..rig.armature import armatures, with_ragdoll
from ..runtime import STATE
from ..settings import saved
from ..stack import pose_stack, stack_edits
from . import shot_run


def reconcile(scene, *, ragdolls: bool = True) -> None:
    """Bring helpers and sources of a scene's characters in line, before a run.

    Duplicates of a character, which would share its helpers, get a stack and a ragdoll of their own. One that is baked
    plays its keys and waits until the bake is reverted. Without `ragdolls`, only motion stacks of characters that have
    no ragdoll are brought in line, as a shot that is under way allows.
    """
    with STATE.occupied():
        saved.bring_up(o for o in armatures(scene.objects) if saved.is_old(o))
        for obj in pose_stack.guests(scene):
            stack_edits.adopt(obj, scene)
        stacks = [obj for obj in pose_stack.with_stack(scene) if ragdolls or not obj.active_ragdoll.is_ragdoll]
        for obj in _sharing(stacks, "motion_collection"):
            stack_edits.let_go(obj)
            _try(stack_edits.ensure, obj, scene)
        for obj in _sharing(with_ragdoll(scene.objects) if ragdolls else (), "collection"):
            _try(build.rebuild, obj, scene)


def rebuild_edited(scene) -> None:
    """What only an operator may do, since it takes time: build anew what was edited, and take over all of the rigs.
    Raises RagdollError: a ragdoll cannot be built."""
    for obj in shot_run.active_ragdolls(scene):
        if stack_edits.gets_up_where_it_lies(obj):
            stack_edits.ensure(obj, scene)
        if obj.active_ragdoll.layout_changed:
            build.rebuild(obj, scene)
        source.refresh(obj)
        STATE.messages.pop(obj.name, None)
    STATE.messages.pop(scene.name, None)
    collision.assign_layers(scene)


def _sharing(objects, of: str):
    """Yield those of some characters that share another's helpers and are not baked; the others state their name."""
    for obj in objects:
        collection = getattr(obj.active_ragdoll, of)
        if obj.active_ragdoll.muted or (collection is not None and collection.active_ragdoll.owner == obj.name):
            continue
        if obj in built.duplicates(of):
            yield obj
        elif collection.library is None:  # a name, not a pointer, which would keep it from being deleted
            collection.active_ragdoll.owner = obj.name


def _try(make, obj, scene) -> None:
    """Make something for one character; that it cannot be is no matter of the others."""
    try:
        make(obj, scene)
    except RagdollError as error:
        STATE.messages[obj.name] = str(error)
        print(f"Active Ragdoll: '{obj.name}': {error}")


# Measured after the undo of Remove and of Rebuild on 5.2, in one of thirty: of the objects that a character points to
# one was the character, or the hidden scene of a scene was the scene. Whom such a pointer meant is told by what points
# the other way.
def mend() -> None:
    """Look through all ragdolls and motion stacks; called after undo, redo and loading."""
    STATE.stamps.clear()
    _mend_scenes()
    for obj in armatures(bpy.data.objects):
        if obj.library is None:
            _mend_character(obj)


def _mend_scenes() -> None:
    pointing = [scene for scene in bpy.data.scenes if scene.active_ragdoll.source is not None]
    for scene in pointing:
        if scene.active_ragdoll.is_source:  # hidden scenes have none
            scene.active_ragdoll.is_source = False
    taken = {scene.active_ragdoll.source for scene in pointing}
    left = [scene for scene in bpy.data.scenes if scene.active_ragdoll.is_source and scene not in taken]
    for scene in (scene for scene in pointing if not scene.active_ragdoll.source.active_ragdoll.is_source):
        named = [hidden for hidden in left if hidden.name.startswith(source.hidden_name(scene))]
        scene.active_ragdoll.source = next(iter(named or left), None)


def _mend_character(obj) -> None:
    settings = obj.active_ragdoll
    physics, target = settings.physics_armature, settings.target_armature
    if not (settings.is_ragdoll or target is not None):
        return
    if target is not None and settings.motion_scene is None:  # in a damaged file
        settings.motion_scene = next((s for s in bpy.data.scenes if built.holds(s, settings.motion_collection)), None)
    for owner, name, meant in (
        (obj, source.CONSTRAINT_NAME, physics),
        (obj, source.FOLLOWER_NAME, physics),
        (obj, source.TARGET_NAME, target),
        (physics, source.TARGET_NAME, target),
        (physics, source.FOLLOWER_NAME, source.followed(obj)),
    ):
        for bone in owner.pose.bones if owner is not None else ():
            constraint = bone.constraints.get(name)
            if constraint is not None and constraint.target == owner:
                constraint.target = meant
                constraint.subtarget = bone.name  # which Blender forgets where the target changes
