"""The source: a copy of the character in a hidden scene, where Blender evaluates its own animation.

Evaluating that scene inside a frame handler gives the animated pose of the frame that the main scene is only about
to show, without touching the main scene.
"""

from dataclasses import dataclass

import bpy
import numpy as np

from ...errors import RagdollError
from ..rig.armature import armatures, check_armature, pose_matrices, refuse_baked, values_of
from ..runtime import STATE
from ..settings import declare
from . import built

CONSTRAINT_NAME = "Active Ragdoll"  # our one constraint on each simulated bone of the character
FOLLOWER_NAME = "Active Ragdoll Follower"  # of the source: its local animation, or (`within`) that of other branches
TARGET_NAME = "Active Ragdoll Target"  # copies the target armature, which the motion stack poses
ON_CHARACTERS = CONSTRAINT_NAME, FOLLOWER_NAME, TARGET_NAME
PLACE_NAME = "Active Ragdoll Place"  # on objects whose own motion the character has; on bones that follow positions
OF_PHYSICS = CONSTRAINT_NAME, PLACE_NAME  # what of a bone is muted where there is no physics
LINK_NAME = "Active Ragdoll Link"  # on the physics armature: keeps anchors and bones in evaluation order
STAND_IN_FOR = "active_ragdoll_basis_of"  # on copies of objects in the hidden scene: the object's name
RANGE_SAMPLES = 100  # poses looked at when limits are widened to an animation


def hidden_name(scene) -> str:
    """What the hidden scene of a scene is called, if no other is called so."""
    return f".{scene.name} Ragdoll Source"


def source_scene(scene):
    """The hidden scene that belongs to a scene; made on first use and kept in step with its timing.

    Its time is never remapped: it is asked for the frames of the remapped time."""
    own = scene.active_ragdoll
    if own.source is None or _is_anothers(scene):
        own.source = bpy.data.scenes.new(hidden_name(scene))
        own.source.active_ragdoll.is_source = True
    hidden = own.source
    for name in ("fps", "fps_base", "frame_start", "frame_end"):
        to, of = (hidden.render, scene.render) if name.startswith("fps") else (hidden, scene)
        if getattr(to, name) != getattr(of, name):
            setattr(to, name, getattr(of, name))
    return hidden


def _is_anothers(scene) -> bool:
    """Whether a scene was copied and its hidden one is that of the first one, with the sources of that one's."""
    hidden = scene.active_ragdoll.source
    if all(other == scene or other.active_ragdoll.source != hidden for other in bpy.data.scenes):
        return False
    own = (obj.active_ragdoll.source for obj in armatures(scene.objects) if scene_of(obj) == scene)
    return not any(copy is not None and copy.name in hidden.objects for copy in own)


def scene_of(obj):
    """The scene in which a character has its ragdoll or its motion stack."""
    return obj.active_ragdoll.scene or obj.active_ragdoll.motion_scene


def found(obj):
    """The source of a character; None without one.

    By its name: with a pointer, or as the target of a constraint, Blender evaluates it with the character's scene, too.
    """
    scene, name = scene_of(obj), obj.active_ragdoll.source_name
    hidden = scene.active_ragdoll.source if scene is not None else None
    copy = hidden.collection.objects.get(name) if hidden is not None else None
    if copy is None and name:  # the hidden scene was deleted by hand: what was in it alone is in none
        copy = bpy.data.objects.get((name, None))
        copy = None if copy is None or copy.users_scene else copy
    return copy if copy is not None and copy.type == "ARMATURE" else None


def note(settings, copy) -> None:
    """Note the source of a character in its settings."""
    settings.source_name = copy.name


def followed(obj):
    """Whom bones between and above the simulated ones follow: the character, or where something of its rig could lead
    from those back to it, the source."""
    driven = any(own.animation_data and own.animation_data.drivers for own in (obj, obj.data))
    led = any(not is_own(constraint) for bone in obj.pose.bones for constraint in bone.constraints)
    return obj.active_ragdoll.source if driven or led else obj


def is_own(constraint) -> bool:
    """Whether a constraint of a character's bone is ours: a user's may have the same name."""
    if constraint.name not in ON_CHARACTERS or constraint.type != "COPY_TRANSFORMS":
        return False
    return constraint.target is None or built.is_ours(constraint.target)


def check_free(obj, scene) -> None:
    """Raise RagdollError where an object cannot get constraints of ours in a scene: it is no armature there, it is
    baked, or a constraint of the user's has the name that ours would need."""
    check_armature(obj)
    if obj.name not in scene.objects:
        raise RagdollError(f"'{obj.name}' is not in the scene '{scene.name}'")
    refuse_baked(obj)
    for bone in obj.pose.bones:
        for name in ON_CHARACTERS:
            if name in bone.constraints and not is_own(bone.constraints[name]):
                raise RagdollError(f"Bone '{bone.name}' of '{obj.name}' has a constraint named '{name}': rename it")


def own_constraints(obj) -> list[tuple]:
    """Our constraints of a character, each with its bone."""
    return [(bone, constraint) for bone in obj.pose.bones for constraint in bone.constraints if is_own(constraint)]


def remove_constraints(obj, *names: str) -> None:
    """Remove our constraints of some names from a character's bones."""
    for bone, constraint in own_constraints(obj):
        if constraint.name not in names:
            continue
        if obj.override_library is None or not constraint.is_override_data:
            bone.constraints.remove(constraint)
        else:
            constraint.mute = True  # of the library


def set_influence(obj, blend: float) -> None:
    """Set the share of the physics in what a character shows."""
    for bone in obj.pose.bones:
        constraint = bone.constraints.get(CONSTRAINT_NAME)
        if constraint is not None and abs(constraint.influence - blend) > 1e-7:
            constraint.influence = blend


def copy_of(obj, name: str, own_data: bool = False):
    """A copy of the character with the same action, without our constraints and records; with `own_data`, its own.

    Drivers on shared data refer to the character, which is then evaluated with the copy."""
    copy = obj.copy()
    if own_data:
        copy.data = obj.data.copy()
        copy.data.make_local(clear_liboverride=True)  # the bones of an override cannot be edited
    copy.make_local(clear_liboverride=True)
    copy.name = name
    copy.hide_viewport = False  # what is disabled in viewports is not evaluated
    for group, name, said in declare.walk(copy.active_ragdoll):
        if said.kind == declare.RECORD and said.is_list:
            getattr(group, name).clear()
        elif said.kind == declare.RECORD or said.points:  # who is only looked at by a copy can be deleted
            group.property_unset(name)
    for bone, constraint in own_constraints(copy):
        bone.constraints.remove(constraint)
    _retarget(obj, copy)
    return copy


def armature_copy(obj, name: str, collection, kind: str):
    """A copy of a character's armature as a helper, which follows its object wherever that is moved or parented to."""
    copy = copy_of(obj, name)
    copy.hide_render = copy.hide_select = copy.hide_viewport = True
    collection.objects.link(copy)
    built.tag(copy, kind)
    place = copy.constraints.new("COPY_TRANSFORMS")
    place.name = PLACE_NAME
    place.target = obj
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
    theirs = {obj: copy, obj.data: copy.data}
    for owner in {copy, copy.data} - {obj.data}:
        for driver in owner.animation_data.drivers if owner.animation_data else ():
            for target in (target for variable in driver.driver.variables for target in variable.targets):
                if target.id in theirs and theirs[target.id] != target.id:
                    target.id = theirs[target.id]


def refresh(obj) -> None:
    """Make the source anew from the character as it is now; called when a run starts from an operator."""
    settings, scene = obj.active_ragdoll, scene_of(obj)
    if scene is None:
        raise RagdollError(f"The scene of the ragdoll of '{obj.name}' is gone: build the ragdoll anew")
    old = settings.source
    hidden = source_scene(scene)
    settings.source = copy = copy_of(obj, f".{obj.name} Source")
    hidden.collection.objects.link(copy)
    physics, leader = settings.physics_armature, followed(obj)
    for bone in physics.pose.bones if physics is not None else ():
        if (constraint := bone.constraints.get(FOLLOWER_NAME)) is not None:
            hangs = constraint.space_object is not None
            constraint.target, constraint.space_object = (copy, copy) if hangs else (leader, None)
    drop(old)
    STATE.stamps[obj.name] = Stamp(copy.name, signature(obj), _edits_of(obj)[0], True)


def is_source(obj) -> bool:
    """Whether an object can be a source, as damage to a file may have a character name any other."""
    return obj.type == "ARMATURE" and all(scene.active_ragdoll.is_source for scene in obj.users_scene)


def drop(copy) -> None:
    """Remove a source, unless a character still has it, as a duplicate may."""
    kept = (obj.active_ragdoll.source for obj in armatures(bpy.data.objects))
    if copy is not None and is_source(copy) and copy not in kept:
        bpy.data.objects.remove(copy)


def followers(obj) -> list[str]:
    """Bones without a body that rig constraints would hold back: they take their local animation from the source."""
    return [name for name in built.record(obj.active_ragdoll.collection)["followers"] if name in obj.pose.bones]


def evaluated(obj):
    """The source of a character as last evaluated in its scene."""
    return obj.active_ragdoll.source.evaluated_get(scene_of(obj).active_ragdoll.source.view_layers[0].depsgraph)


def sampled_frames(first: int, last: int) -> np.ndarray:
    """The frames of a shot that are looked at when limits are widened to its animation."""
    return np.unique(np.linspace(first, last, min(RANGE_SAMPLES, max(last - first + 1, 1))).round())


def poses_over(obj, frames, current: int) -> tuple[np.ndarray, np.ndarray]:
    """A character's world matrix [4, 4] at `current` and its pose matrices [f, n, 4, 4] at some frames.

    Without physics: those of a copy in a scene of its own, so that the cost does not grow with the other characters."""
    copy, scene = copy_of(obj, f".{obj.name} Sampling"), bpy.data.scenes.new(".Ragdoll Sampling")
    try:
        scene.active_ragdoll.is_source = True
        scene.collection.objects.link(copy)
        poses = np.empty((len(frames), len(copy.pose.bones), 4, 4))
        for i, frame in enumerate(frames):
            scene.frame_set(int(frame))
            poses[i] = pose_matrices(copy.evaluated_get(scene.view_layers[0].depsgraph))
        scene.frame_set(current)
        world = np.array(copy.evaluated_get(scene.view_layers[0].depsgraph).matrix_world, dtype=float)
    finally:
        bpy.data.scenes.remove(scene)
        bpy.data.objects.remove(copy)
    return world, poses


# ---- keeping it up ------------------------------------------------------------------------------------------------
_PLACE = ("location", "rotation_euler", "rotation_quaternion", "scale")
_OBJECT = (*_PLACE, *(f"delta_{name}" for name in _PLACE), "rotation_axis_angle", "matrix_parent_inverse")
# Of pose bones: how many numbers each has.
_BONES = {"location": 3, "rotation_quaternion": 4, "rotation_axis_angle": 4, "rotation_euler": 3, "scale": 3}


@dataclass
class Stamp:
    """What of a character its source was last brought in line with."""

    copy: str  # name of the source
    setup: tuple  # how the character is animated, see `signature`
    edits: tuple | None = None  # what is set by hand and not keyed, see `carry_edits`; None: it must be set again
    settings: bool = False  # it has the settings as they are now, see `at_frame.carry`


def stamp_of(obj) -> Stamp | None:
    """The stamp of a character's source; None where there is no source."""
    copy = obj.active_ragdoll.source
    if copy is None:
        return None
    known = STATE.stamps.get(obj.name)
    if known is None or known.copy != copy.name:
        known = STATE.stamps[obj.name] = Stamp(copy.name, signature(copy))
    return known


def follow(obj) -> None:
    """Bring a source in line with its character: make it anew if the animation's set-up differs, else carry edits."""
    known, scene = stamp_of(obj), scene_of(obj)
    astray = known is not None and scene is not None and known.copy not in source_scene(scene).objects  # a full copy's
    if astray or known is None or known.setup != signature(obj):
        refresh(obj)
    else:
        carry_edits(obj)


def signature(obj) -> tuple:
    """How a character is animated, to be compared: a source with another signature is stale."""
    data = obj.animation_data
    parts = [obj.parent.name if obj.parent else "", obj.parent_type, obj.parent_bone, obj.rotation_mode]
    if data is not None:
        slot = getattr(data, "action_slot", None)
        named = data.action.name if data.action else "", slot.identifier if slot else ""
        parts += [*named, data.action_blend_type, round(data.action_influence, 6), data.use_nla]
        parts += [_driver_signature(curve, obj) for curve in data.drivers]
        for track in data.nla_tracks:
            parts.append((track.name, track.mute, track.is_solo))
            for strip in track.strips:
                name = strip.action.name if strip.action else ""
                parts.append((name, strip.frame_start, strip.frame_end, strip.scale, strip.mute, strip.blend_type))
    parts += [(own.name, own.type, own.mute, own.influence) for own in obj.constraints]
    theirs = ((bone.name, own) for bone in obj.pose.bones for own in bone.constraints if not is_own(own))
    return *parts, *((name, own.name, own.type, own.mute) for name, own in theirs)


def _driver_signature(curve, obj) -> tuple:
    """What a driver does; the same for a copy of the character, although its driver refers to the copy."""
    driver = curve.driver
    read = [(variable, target) for variable in driver.variables for target in variable.targets]
    others = ["" if target.id in (None, obj) else target.id.name for _variable, target in read]
    named = [(v.name, v.type, name, t.data_path, t.bone_target) for (v, t), name in zip(read, others, strict=True)]
    return curve.data_path, curve.array_index, curve.mute, driver.type, driver.expression, *named


def carry_edits(obj, shown: bool = False) -> bool:
    """Give the source the character's place, pose and switches. Returns whether there was anything new.

    Its pose to the physics armature as well where that shows the animation.

    The source has the character's action, so that keys reach it by themselves. A bone turned, an object moved or a
    switch of the rig set without a key would not. What is keyed is overruled when the source is evaluated at another
    frame, as the character's own is.
    """
    copy = obj.active_ragdoll.source
    if copy is None or len(copy.pose.bones) != len(obj.pose.bones):
        return False
    key, now, modes, pose, switches = _edits_of(obj)
    # Compared with what was carried last, not with the source: what is driven there by its own pose may differ for
    # ever, and every edit would be followed by another.
    known = stamp_of(obj)
    if known.edits == key:
        return False
    known.edits = key
    for name, value in now.items():
        setattr(copy, name, getattr(obj, name) if value.ndim > 1 else value.tolist())
    for each in (copy, *filter(None, [obj.active_ragdoll.physics_armature if shown else None])):
        for bone, mode in zip(each.pose.bones, modes, strict=True):
            if bone.rotation_mode != mode:
                bone.rotation_mode = mode
        for name, values in pose.items():
            each.pose.bones.foreach_set(name, values.ravel())
        each.update_tag(refresh={"OBJECT"})  # not its data, see `pose_stack.write_target`
    owners = (copy, *copy.pose.bones)
    for (i, kind, name), value in switches.items():
        if kind == "property":
            owners[i][name] = value
        elif name in owners[i].constraints and owners[i].constraints[name].influence != value:
            owners[i].constraints[name].influence = value
    return True


def _edits_of(obj) -> tuple:
    """What can be set by hand on a character: a key to compare it by, object values, modes, pose and switches."""
    now = {name: np.array(getattr(obj, name), dtype=np.float32) for name in _OBJECT}
    modes = [bone.rotation_mode for bone in obj.pose.bones]
    pose, switches = {name: values_of(obj.pose.bones, name, size) for name, size in _BONES.items()}, _switches_of(obj)
    key = *(value.tobytes() for value in (*now.values(), *pose.values())), repr((modes, switches))
    return key, now, modes, pose, switches


def _switches_of(obj) -> dict:
    """Custom properties, which rigs' drivers read, and the influence of constraints, by owner and kind."""
    owners = list(enumerate((obj, *obj.pose.bones)))
    read = ((i, key, value) for i, owner in owners for key, value in owner.items())
    others = ((i, c) for i, owner in owners for c in owner.constraints if not is_own(c))
    result = {(i, "property", key): value for i, key, value in read if isinstance(value, bool | int | float | str)}
    return result | {(i, "influence", constraint.name): constraint.influence for i, constraint in others}
