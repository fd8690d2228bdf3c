"""The objects that a ragdoll consists of."""

import bpy

from . import source


def helper(name, data, collection, *, aside: bool = True):
    """A helper object, kept out of renders and from being selected.

    None is hidden one by one: Blender drops hidden constraints from evaluation as soon as nothing shown needs them
    (the character is deleted, the bodies are hidden), in mid-shot, and crashes.

    Args:
        aside: False where many are made: `keep_aside` is due when all of a collection are.
    """
    made = bpy.data.objects.new(name, data)
    if aside:
        made.hide_render = made.hide_select = True
    made.rotation_mode = "QUATERNION"
    collection.objects.link(made)
    return made


def keep_aside(collection) -> None:
    """Keep all objects of a new collection out of renders and from being selected.

    At once: each such change by itself has Blender look through all objects of all view layers.
    """
    objects = collection.objects
    if len(objects):
        for name in ("hide_render", "hide_select"):
            objects.foreach_set(name, [True] * len(objects))
        objects[0].hide_select = True  # foreach_set tells nobody, this does


def constrain(bone, kind: str, name: str, like=None):
    """A new constraint of a pose bone, or a copy of one that has the name already.

    Giving a constraint a name looks through the animation of the whole file, and once it has a target every other
    property looks for that among all objects: give targets last.
    """
    if like is not None:
        return bone.constraints.copy(like)
    made = bone.constraints.new(kind)
    made.name = name
    return made


def copy_locally(owner, names, target, constraint_name: str) -> None:
    """Let bones copy their namesakes of another armature, relative to the parent; our own by the physics blend."""
    copy = None
    for name in names:
        first = copy is None
        copy = constrain(owner.pose.bones[name], "COPY_TRANSFORMS", constraint_name, copy)
        if first:
            copy.owner_space = copy.target_space = "LOCAL"
            if constraint_name == source.CONSTRAINT_NAME:
                copy.influence = owner.active_ragdoll.physics_blend
        copy.subtarget = name
        if first:
            copy.target = target


def stand_with(obj, copy) -> None:
    """Let a copy stand where the character's object does, wherever that is moved or parented to later."""
    place = copy.constraints.new("COPY_TRANSFORMS")
    place.name = source.PLACE_NAME
    place.target = obj


def carry(obj, physics) -> None:
    """Let a new physics armature play what the stack gives instead of the character's own animation."""
    stand_with(obj, physics)
    target = obj.active_ragdoll.target_armature
    if target is None:
        return
    physics.animation_data_clear()
    for bone in physics.pose.bones:
        for constraint in bone.constraints:
            constraint.mute = True
    copy_locally(physics, physics.pose.bones.keys(), target, source.TARGET_NAME)
