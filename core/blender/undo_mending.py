"""Pointers that Blender's undo leaves wrong, put right.

Undo reads a data-block that it finds changed into new memory and then swaps that with the old. Pointers to itself are
told by their address, before the others are resolved: where the new memory is what another data-block of the kind has
left, one that was deleted since and comes back now, the pointer to that one becomes a pointer to the owner. Seen after
the undo of Remove and of Rebuild on 5.2, in one of thirty: of the sixty objects that a character points to one was the
character, or the hidden scene of a scene was the scene. Whom such a pointer meant is told by what points the other way.
"""

import bpy

from . import source


def mend() -> None:
    """Look through all ragdolls and motion stacks; called after undo and redo."""
    _mend_scenes()
    for obj in bpy.data.objects:
        if obj.type == "ARMATURE" and (obj.active_ragdoll.is_ragdoll or obj.active_ragdoll.target_armature is not None):
            _mend_character(obj)


def _mend_scenes() -> None:
    wrong = [scene for scene in bpy.data.scenes if scene.active_ragdoll.source == scene]
    if not wrong:
        return
    taken = {scene.active_ragdoll.source for scene in bpy.data.scenes}
    left = [scene for scene in bpy.data.scenes if scene.active_ragdoll.is_source and scene not in taken]
    for scene in wrong:
        named = [hidden for hidden in left if hidden.name.startswith(source.hidden_name(scene))]
        scene.active_ragdoll.source = next(iter(named or left), None)


def _mend_character(obj) -> None:
    settings = obj.active_ragdoll
    if settings.physics_armature == obj:
        settings.physics_armature = _armature_in(settings.collection)
    if settings.target_armature == obj:
        settings.target_armature = _armature_in(settings.motion_collection)
    if settings.source == obj:
        settings.source = _source_of(obj)
    if settings.is_ragdoll:
        for i, part in enumerate(settings.parts):
            _mend_part(obj, part, i)
    physics = settings.physics_armature
    for bone in physics.pose.bones if physics is not None else ():
        follower = bone.constraints.get(source.FOLLOWER_NAME)
        if follower is not None and follower.target == physics:
            _aim(follower, settings.source, bone)
    copied = {source.CONSTRAINT_NAME: physics, source.TARGET_NAME: settings.target_armature}
    for bone in obj.pose.bones:
        for constraint in bone.constraints:
            if constraint.name in copied and constraint.target == obj:
                _aim(constraint, copied[constraint.name], bone)


def _aim(constraint, target, bone) -> None:
    """Let a constraint copy the bone's namesake; Blender forgets the bone where the target changes."""
    constraint.target = target
    constraint.subtarget = bone.name


def _mend_part(obj, part, i: int) -> None:
    """Bodies and targets stand in their collections in the order of the parts; the rest hangs on the bodies."""
    settings = obj.active_ragdoll
    for name, collection in (("body", settings.bodies), ("target", settings.targets)):
        if getattr(part, name) == obj and len(collection.objects) == len(settings.parts):
            setattr(part, name, collection.objects[i])
    if part.anchor == obj:
        found = (o for o in settings.collection.objects if o.type == "EMPTY" and o.parent == part.body)
        part.anchor = next(found, None)
    if any(motor.empty == obj for motor in part.motors):
        for motor, empty in zip(part.motors, _motors_of(part.body, settings.collection), strict=False):
            motor.empty = empty


def _motors_of(body, collection) -> list:
    """A body's motors in the order in which they were made."""
    found = []
    for helper in collection.objects:
        joint = helper.rigid_body_constraint
        if joint is not None and joint.type == "MOTOR" and joint.object1 == body:
            found.append(helper)
    return found


def _armature_in(collection):
    return next((o for o in collection.objects if o.type == "ARMATURE"), None) if collection is not None else None


def _source_of(obj):
    hidden = source.scene_of(obj).active_ragdoll.source
    if hidden is None:
        return None
    taken = {other.active_ragdoll.source for other in bpy.data.objects if other != obj}
    left = [o for o in hidden.collection.objects if o.type == "ARMATURE" and o.data == obj.data and o not in taken]
    return next((o for o in left if source.STAND_IN_FOR not in o), None)
