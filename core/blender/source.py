"""The source: a copy of the character in a hidden scene, where Blender evaluates its own animation.

Evaluating that scene inside a frame handler gives the animated pose of the frame that the main scene is only about
to show, without touching the main scene.
"""

import json

import bpy
import numpy as np

from . import attachment_settings, recovery_settings

CONSTRAINT_NAME = "Active Ragdoll"  # our one constraint on each simulated bone of the character
FOLLOWER_NAME = "Active Ragdoll Follower"  # on the physics armature: the source's local animation
TARGET_NAME = "Active Ragdoll Target"  # copies the target armature, which the motion stack poses
PLACE_NAME = "Active Ragdoll Place"  # on objects whose own motion the character has
LINK_NAME = "Active Ragdoll Link"  # on the physics armature: keeps anchors and bones in evaluation order
STAND_IN_FOR = "active_ragdoll_basis_of"  # on copies of objects in the hidden scene: the object's name
RANGE_SAMPLES = 100  # poses looked at when limits are widened to an animation


_OWN = (
    "is_ragdoll",
    "muted",
    "collection",
    "bodies",
    "targets",
    "scene",
    "physics_armature",
    "source",
    "old_action",
    "baked_action",
    "bake_record",
    "followers",
    "motion_scene",
    "motion_collection",
    "target_armature",
    "posed_by",
    "built_for",
)


def hidden_name(scene) -> str:
    """What the hidden scene of a scene is called, if no other is called so."""
    return f".{scene.name} Ragdoll Source"


def source_scene(scene):
    """The hidden scene that belongs to a scene; made on first use and kept in step with its timing."""
    own = scene.active_ragdoll
    if own.source is None:
        own.source = bpy.data.scenes.new(hidden_name(scene))
        own.source.active_ragdoll.is_source = True
    hidden = own.source
    for name in ("fps", "fps_base", "frame_map_old", "frame_map_new"):
        if getattr(hidden.render, name) != getattr(scene.render, name):
            setattr(hidden.render, name, getattr(scene.render, name))
    for name in ("frame_start", "frame_end"):
        if getattr(hidden, name) != getattr(scene, name):
            setattr(hidden, name, getattr(scene, name))
    return hidden


def drop_stand_ins(hidden) -> None:
    """Remove what was made in a hidden scene to read objects, before the scene is removed."""
    bpy.data.batch_remove([other for other in hidden.collection.objects if STAND_IN_FOR in other])


def scene_of(obj):
    """The scene in which a character has its ragdoll or its motion stack."""
    return obj.active_ragdoll.scene or obj.active_ragdoll.motion_scene


def copy_of(obj, name: str):
    """A copy of the character object on the same data and action, without our constraints and settings."""
    copy = obj.copy()
    if copy.override_library is not None:
        copy.make_local(clear_liboverride=True)
    copy.name = name
    copy.hide_viewport = False  # what is disabled in viewports is not evaluated
    settings = copy.active_ragdoll
    settings.parts.clear()
    settings.hitters.clear()
    settings.attachment_parts.clear()
    for pointer in _OWN:
        settings.property_unset(pointer)
    lists = (settings.look_at, ("target",)), (settings.two_bone_ik, ("effector", "pole"))
    for items, pointers in (*lists, (settings.attachments, ("target",))):
        for item in items:  # who is only looked at by a copy can be deleted
            for pointer in pointers:
                item.property_unset(pointer)
    for items in (settings.layers, settings.blend_spaces):  # a stack that is keyed brings what it needs
        items.clear()
    for bone in copy.pose.bones:
        for constraint in [c for c in bone.constraints if c.name.startswith(CONSTRAINT_NAME)]:
            bone.constraints.remove(constraint)
    _retarget(obj, copy)
    return copy


def _retarget(obj, copy) -> None:
    """Let what refers to the character itself (IK targets, drivers) refer to the copy, so that it stands alone."""
    for constraint in [*copy.constraints, *(c for bone in copy.pose.bones for c in bone.constraints)]:
        for name in ("target", "pole_target"):
            if getattr(constraint, name, None) == obj:
                setattr(constraint, name, copy)
        for target in getattr(constraint, "targets", ()):
            if target.target == obj:
                target.target = copy
    if copy.animation_data is not None:
        for driver in copy.animation_data.drivers:
            for variable in driver.driver.variables:
                for target in variable.targets:
                    if target.id == obj:
                        target.id = copy


def refresh(obj) -> None:
    """Make the source anew from the character as it is now; called when a run starts from an operator."""
    settings = obj.active_ragdoll
    hidden = source_scene(scene_of(obj))
    old = settings.source
    settings.source = copy_of(obj, f".{obj.name} Source")
    hidden.collection.objects.link(settings.source)
    if settings.physics_armature is not None:
        for name in followers(obj):
            bone = settings.physics_armature.pose.bones.get(name)
            constraint = bone.constraints.get(FOLLOWER_NAME) if bone else None
            if constraint is not None:
                constraint.target = settings.source
    drop(old)


def drop(copy) -> None:
    """Remove a source that no character has any more: none but its scene. A duplicate may share it."""
    if copy is not None and copy.users <= 1:
        bpy.data.objects.remove(copy)


KEYABLE = ("rotation_weight", "translation_weight", "physics_blend", "spring_frequency", "spring_damping_ratio")
KEYABLE_ON_BONES = (
    "rotation_weight",
    "translation_weight",
    "body_mode",
    "max_torque",
    "max_force",
    "frequency_scale",
    "damping_scale",
)


def copy_settings(obj, copy, bones) -> None:
    """Let a source have the character's settings that can be keyed; keys overrule them when it is evaluated.

    Args:
        bones: indices of the simulated bones.
    """
    for name in KEYABLE:
        setattr(copy.active_ragdoll, name, getattr(obj.active_ragdoll, name))
    recovery_settings.copy_keyable(obj.active_ragdoll.recovery, copy.active_ragdoll.recovery)
    attachment_settings.copy_keyable(obj.active_ragdoll, copy.active_ragdoll)
    for i in bones:
        mine, its = obj.pose.bones[int(i)].active_ragdoll, copy.pose.bones[int(i)].active_ragdoll
        for name in KEYABLE_ON_BONES:
            setattr(its, name, getattr(mine, name))


def followers(obj) -> list[str]:
    """Bones without a body that rig constraints would hold back: they take their local animation from the source."""
    return json.loads(obj.active_ragdoll.followers or "[]")


def signature(obj) -> tuple:
    """What of a character's animation set-up a source must share; when it differs the source is stale."""
    data = obj.animation_data
    parts = [obj.parent.name if obj.parent else "", obj.parent_type, obj.parent_bone, obj.rotation_mode]
    if data is not None:
        slot = getattr(data, "action_slot", None)
        parts += [
            data.action.name if data.action else "",
            slot.identifier if slot else "",
            data.action_blend_type,
            round(data.action_influence, 6),
            data.use_nla,
            *(_driver_signature(curve, obj) for curve in data.drivers),
        ]
        for track in data.nla_tracks:
            parts.append((track.name, track.mute, track.is_solo))
            for strip in track.strips:
                name = strip.action.name if strip.action else ""
                parts.append((name, strip.frame_start, strip.frame_end, strip.scale, strip.mute, strip.blend_type))
    for constraint in obj.constraints:
        parts.append((constraint.name, constraint.type, constraint.mute, constraint.influence))
    for bone in obj.pose.bones:
        for constraint in bone.constraints:
            if not constraint.name.startswith(CONSTRAINT_NAME):
                parts.append((bone.name, constraint.name, constraint.type, constraint.mute))
    return tuple(parts)


def _driver_signature(curve, obj) -> tuple:
    """What a driver does; of a copy the same, though it refers to the copy."""
    driver = curve.driver
    variables = [
        (variable.name, variable.type, _other(target.id, obj), target.data_path, target.bone_target)
        for variable in driver.variables
        for target in variable.targets
    ]
    return curve.data_path, curve.array_index, curve.mute, driver.type, driver.expression, *variables


def _other(data, obj) -> str:
    return "" if data is None or data == obj else data.name


_signatures: dict = {}


def keep_up(obj) -> None:
    """Make the source of a character without a ragdoll anew where its animation set-up is another one by now.

    A ragdoll's is looked after by its run.
    """
    settings = obj.active_ragdoll
    now = signature(obj)
    known = _signatures.get(obj.name)
    if not settings.is_ragdoll and (settings.source is None or known != (settings.source.name, now)):
        refresh(obj)
    if settings.source is not None:
        _signatures[obj.name] = settings.source.name, now


def evaluated(obj):
    """The source of a character as last evaluated in its scene."""
    settings = obj.active_ragdoll
    hidden = scene_of(obj).active_ragdoll.source
    return settings.source.evaluated_get(hidden.view_layers[0].depsgraph)


def sampled_frames(first: int, last: int) -> np.ndarray:
    """The frames of a shot that are looked at when limits are widened to its animation."""
    return np.unique(np.linspace(first, last, min(RANGE_SAMPLES, max(last - first + 1, 1))).round())


def poses_over(copy, first: int, last: int, current: int) -> tuple[np.ndarray, np.ndarray]:
    """World matrix [4, 4] at `current` and pose matrices [f, n, 4, 4] sampled over a frame range.

    Evaluated in a scene of its own, so that the cost does not grow with the other characters.
    """
    scene = bpy.data.scenes.new(".Ragdoll Sampling")
    try:
        scene.active_ragdoll.is_source = True
        scene.collection.objects.link(copy)
        count = len(copy.pose.bones)
        frames = sampled_frames(first, last)
        poses = np.empty((len(frames), count, 4, 4))
        buffer = np.empty(count * 16, dtype=np.float32)
        for i, frame in enumerate(frames):
            scene.frame_set(int(frame))
            copy.evaluated_get(scene.view_layers[0].depsgraph).pose.bones.foreach_get("matrix", buffer)
            poses[i] = buffer.reshape(count, 4, 4).transpose(0, 2, 1)
        scene.frame_set(current)
        world = np.array(copy.evaluated_get(scene.view_layers[0].depsgraph).matrix_world, dtype=float)
        scene.collection.objects.unlink(copy)
    finally:
        bpy.data.scenes.remove(scene)
    return world, poses
