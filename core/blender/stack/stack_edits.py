"""A character's motion stack: giving it its target armature and taking it away; and what operators do to its lists,
layers, blend spaces and graph."""

import bpy
import numpy as np

from ... import keyframes
from ...errors import RagdollError
from ...motion.look_at.chain import from_roles
from ..physics import build, built, helpers, source
from ..physics.remove import drop_source_scenes, remove_collections
from ..rig import action_channels, armature
from ..runtime import STATE, settings_changed
from ..settings import lists
from ..settings.bone import store_roles
from . import blend_spaces, entries
from .entries.look_at import rig_of, write_axes


# ---- the target armature --------------------------------------------------------------------------------------------
def ensure(obj, scene) -> None:
    """Let the motion stack pose a character: its bones copy a target armature from now on.

    A ragdoll is built anew, so that its physics armature plays the stack's pose too.
    Raises RagdollError: no armature, not in the scene, baked, or a ragdoll that cannot be built anew; all is as before.
    """
    settings = obj.active_ragdoll
    if settings.target_armature is not None:
        return
    source.check_free(obj, scene)
    with STATE.writing():
        settings.motion_scene = scene
        collection = bpy.data.collections.new(f"{obj.name} Motion")
        scene.collection.children.link(collection)
        settings.motion_collection = collection
        target = source.armature_copy(obj, f"{obj.name} Target", collection, built.TARGET_ARMATURE)
        target.animation_data_clear()
        for bone in target.pose.bones:
            for constraint in list(bone.constraints):
                bone.constraints.remove(constraint)
        collection.active_ragdoll.owner = obj.name
        helpers.copy_locally(obj, obj.pose.bones.keys(), target, source.TARGET_NAME)
    if not settings.is_ragdoll:
        source.refresh(obj)
        return
    try:
        build.rebuild(obj, scene)
    except RagdollError:
        _take_away(obj)
        raise


def adopt(obj, scene) -> None:
    """Let a character of a full copy of a scene have its stack there: before Blender 5.0 it still names the first."""
    settings = obj.active_ragdoll
    held = [place for place in (settings.motion_scene, scene) if built.holds(place, settings.motion_collection)]
    if obj.library is None and held == [scene]:
        settings.motion_scene = scene
        STATE.motions.pop(obj.name, None)


def let_go(obj, with_source: bool = True) -> None:
    """Let a character forget its stack: a duplicate the one of whom it was made from."""
    settings, copy = obj.active_ragdoll, obj.active_ragdoll.source
    source.remove_constraints(obj, source.TARGET_NAME)
    for name in ("motion_collection", "motion_scene"):
        settings.property_unset(name)
    if with_source:
        settings.property_unset("source_name")
        source.drop(copy)
    STATE.motions.pop(obj.name, None)


def drop(obj) -> None:
    """Take the target armature away; the character plays its own animation, its ragdoll follows that."""
    settings = obj.active_ragdoll
    if settings.target_armature is None:
        return
    armature.refuse_baked(obj)
    _take_away(obj)
    if settings.is_ragdoll:
        settings.layout_changed = True  # until it is built anew, which may be refused
        build.rebuild(obj, settings.scene)


def _take_away(obj) -> None:
    settings = obj.active_ragdoll
    scene, collection = settings.motion_scene, settings.motion_collection
    others = (o.active_ragdoll for o in armature.armatures(bpy.data.objects) if o != obj)
    own = all(other.motion_collection != collection for other in others)
    with STATE.writing():
        if own:
            remove_collections([collection], scene, {settings.target_armature})
        let_go(obj, with_source=not settings.is_ragdoll)
    if not settings.is_ragdoll:
        drop_source_scenes()


def drop_if_idle(obj) -> None:
    """Take the target armature away when the character's motion stack has nothing left to do."""
    if not any(kind.acts(obj) for kind in entries.kinds()):
        drop(obj)


def gets_up_where_it_lies(obj) -> bool:
    """Whether a character's recovery or balance needs a motion stack, as soon as there is a ragdoll."""
    settings = obj.active_ragdoll
    return (settings.recovery.enabled and settings.recovery.reroot) or settings.balance.enabled


# ---- lists ----------------------------------------------------------------------------------------------------------
def add(obj, scene, what: str, bone: str = ""):
    """Add an item and make it the active one; the character gets its motion stack where it has none.

    It is about a bone, or without one about a bone that suits, where there is one.
    Raises RagdollError: no such bone, no chain to add to, or a character that cannot have a motion stack.
    """
    if bone and bone not in obj.data.bones:
        raise RagdollError(f"'{obj.name}' has no bone '{bone}'")
    own = entries.lists()[what]
    if own.owner(obj) is None:
        raise RagdollError(f"'{obj.name}' has no look-at chain or entry to add to: add one first")
    ensure(obj, scene)
    item = lists.add_item(own.owner(obj), what)
    with STATE.writing():
        own.fill(obj, getattr(own.owner(obj), what), item, bone)
    own.added(obj, item)
    return item


def remove(obj, what: str) -> None:
    """Remove the active item; with the last of all the motion stack goes too. Raises RagdollError: there is none, or
    the character is baked."""
    owner = entries.lists()[what].owner(obj)
    if owner is None or lists.active_index(owner, what) < 0:
        raise RagdollError(f"'{obj.name}': there is nothing to remove")
    armature.refuse_baked(obj)
    lists.remove_item(owner, what)
    drop_if_idle(obj)


def move(obj, what: str, step: int) -> None:
    """Move the active item up (-1) or down (1), where there is room."""
    if (owner := entries.lists()[what].owner(obj)) is not None:
        edit_list(owner, what, "MOVE", step)


def move_kind(obj, kind: str, step: int) -> None:
    """Let a kind of entry act a place earlier (-1) or later (1), if there is any. Raises RagdollError: no such kind."""
    order = entries.order_of(obj)
    if kind not in order:
        raise RagdollError(f"There is no kind of entry '{kind}': it must be one of {', '.join(entries.movable())}")
    index = order.index(kind)
    order.insert(max(index + step, 0), order.pop(index))
    items = obj.active_ragdoll.motion_order
    items.clear()
    if order != entries.movable():
        for name in order:
            items.add().kind = name
    settings_changed(obj)


# ---- layers, blend spaces, graph ------------------------------------------------------------------------------------
def current_action(obj) -> tuple:
    """The action that a character plays and its slot's identifier. Raises RagdollError: it plays none."""
    action, slot = action_channels.current(obj)
    if action is None:
        raise RagdollError(f"'{obj.name}' plays no action: assign one, or choose one in the layer")
    return action, slot.identifier if slot is not None else ""


def add_layer(obj, scene, source: str, name: str = "", action=None, slot: str = ""):
    """A new layer on top of the active one, named as its action unless told otherwise; a POSE shows its first frame.
    Raises RagdollError: see `ensure`; the stack poses the character from now on."""
    settings = obj.active_ragdoll
    ensure(obj, scene)
    last, layer = len(settings.layers), settings.layers.add()
    layer.name = name or (action.name if action else "Layer")
    layer.source, layer.start = source, scene.frame_start
    if action is not None:
        choose(layer, action, slot)
        layer.frame = action.frame_range[0]
    if source == "AIM_OFFSET":
        layer.mode = "ADDITIVE_MESH"
    lists.move_item(settings, "layers", last, settings.layer_index + 1 if last else 0)
    return lists.active_item(settings, "layers")


def choose(choice, action, slot: str = "") -> None:
    """Let a setting play an action; with it comes the armature that it was made for, where that is another."""
    choice.action, choice.slot = action, slot
    choice.object_motion = choice.armature is not None


def appended_action(path: str, name: str):
    """An action of another file, such as a pose asset of a library, appended. Raises RagdollError: the file cannot be
    read, or has no such action."""
    try:
        with bpy.data.libraries.load(path) as (there, here):
            here.actions = [own for own in there.actions if own == name]
    except OSError as error:
        raise RagdollError(f"The file '{path}' of the pose asset '{name}' cannot be read") from error
    if not here.actions or here.actions[0] is None:
        raise RagdollError(f"The file '{path}' has no action '{name}'")
    return here.actions[0]


def pose_action(obj, name: str):
    """A new action of one frame: the pose that the character shows now. Raises RagdollError: no armature."""
    armature.check_armature(obj)
    posed = obj.evaluated_get(bpy.context.view_layer.depsgraph).pose.bones
    bases = [armature.converted(b.bone, b.matrix, b.parent and b.parent.matrix, invert=True) for b in posed]
    location, rotation, scale = keyframes.decompose(np.array(bases)[None])
    action, slot = action_channels.new_action_for(obj, name)
    curves = action_channels.channels_of(action, slot, ensure=True).fcurves
    for i, bone in enumerate(obj.pose.bones):
        turned = keyframes.rotation_channels(bone.rotation_mode, rotation[:, i : i + 1], None)
        rotated = action_channels.rotation_property(bone.rotation_mode)
        for prop, values in (("location", location[0, i]), (rotated, turned[0, 0]), ("scale", scale[0, i])):
            path = action_channels.bone_path(bone.name, prop)
            for index, value in enumerate(values.tolist()):
                curves.new(path, index=index).keyframe_points.insert(1.0, value)
    action.use_fake_user = True
    return action


# Name and axes of each kind of blend space: name, ends, input and what its ends do.
_SPEED = ("Speed", 0.0, 4.0, "VALUE", "CLAMP")
KINDS = {
    "SPEED": ("Locomotion", _SPEED),
    "DIRECTION": ("Directions", ("Direction", -180.0, 180.0, "DIRECTION", "WRAP"), (*_SPEED[:3], "SPEED", "CLAMP")),
    "AIM": ("Aim", ("Yaw", -90.0, 90.0, "VALUE", "CLAMP"), ("Pitch", -60.0, 60.0, "VALUE", "CLAMP")),
    "PLAIN": ("Blend Space", _SPEED),
}


def add_blend_space(obj, kind: str):
    """A new blend space of one of KINDS."""
    space = lists.add_item(obj.active_ragdoll, "blend_spaces")
    name, *axes = KINDS[kind]
    space.name, space.dimensions = name, f"{len(axes)}D"
    for axis, values in zip((space.x, space.y), [*axes, ("Y", 0.0, 1.0, "VALUE", "CLAMP")], strict=False):
        axis.name, axis.minimum, axis.maximum, axis.input, axis.ends = values
    return space


def add_sample(space, action, slot: str = ""):
    """A sample of an action at the point set, on the axes' divisions where near. Raises RagdollError: a wrong axis."""
    at = [(axis, axis.preview if space.show_preview else axis.value) for axis in blend_spaces.axes_of(space)]
    places = [blend_spaces.axis_of(axis).snapped(min(max(value, axis.minimum), axis.maximum)) for axis, value in at]
    free = _free_place(space, places)
    sample = lists.add_item(space, "samples")
    sample.x, sample.y = free[0], free[1] if len(free) > 1 else 0.0
    choose(sample, action, slot)
    return sample


def _free_place(space, wanted: list) -> list:
    """The place itself, or the nearest division of the axes without a sample."""
    taken = {(round(s.x, 6), round(s.y, 6))[: len(wanted)] for s in space.samples}
    axes = blend_spaces.axes_of(space)
    lines = [np.linspace(axis.minimum, axis.maximum, axis.grid + 1) for axis in axes]
    crossings = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(wanted))
    lengths = np.array([axis.maximum - axis.minimum for axis in axes])
    order = np.argsort(np.linalg.norm((crossings - wanted) / lengths, axis=-1), kind="stable")
    free = (place for place in [wanted, *crossings[order].tolist()] if tuple(round(v, 6) for v in place) not in taken)
    return next(free, wanted)


def edit_graph(obj, kind: str, do: str, step: int = 1) -> None:
    """Add, remove or move a parameter, state, transition, or condition of the active transition. Raises RagdollError: a
    condition without a transition."""
    owner = graph = obj.active_ragdoll.graph
    if kind == "CONDITION":
        owner = lists.active_item(graph, "transitions")
        if owner is None:
            raise RagdollError("Add a transition first: conditions belong to one")
    item = edit_list(owner, f"{kind.lower()}s", do, step)
    if item is None:
        return
    if kind == "CONDITION":
        item.parameter = graph.parameters[0].name if len(graph.parameters) else "time_in_state"
    elif kind != "TRANSITION":
        item.name = "speed" if kind == "PARAMETER" else "State"
    elif len(graph.states) > 1:
        item.origin, item.target = graph.states[0].name, graph.states[1].name


def edit_list(owner, name: str, do: str, step: int = 1):
    """ADD to a list, or REMOVE or MOVE its active item where there is one; returns what was added."""
    if do == "ADD":
        return lists.add_item(owner, name)
    index = lists.active_index(owner, name)
    if index >= 0 and do == "REMOVE":
        lists.remove_item(owner, name)
    elif index >= 0:
        lists.move_item(owner, name, index, index + step)
    return None


def mask_bones(layer, names) -> None:
    """Let a layer act on bones and what hangs on them."""
    layer.mask_bones.clear()
    for name in names:
        layer.mask_bones.add().bone = name
    layer.mask = "BONES"


def end_previews(scene) -> None:
    """Let live inputs count again: what is simulated, baked or rendered is not a preview."""
    for obj in armature.armatures(scene.objects):
        for space in obj.active_ragdoll.blend_spaces:
            if space.show_preview:
                space.show_preview = False


# ---- look-at from roles ---------------------------------------------------------------------------------------------
NAME = "Look-at"
AHEAD = 1.5  # of the character's height: how far in front of it a new target stands


def set_up_look_at(obj, scene, target=None) -> tuple:
    """Make the chain from eyes or head to the spine, and a stabiliser for each leg; those made before are replaced.

    Without a target, that of the chain made before stays, else an Empty is made in front of the eyes.
    Returns the chain's settings, the number of feet that are held, and notes for the user.
    Raises RagdollError: no head or neck is recognised, or the character cannot have a motion stack.
    """
    armature.check_armature(obj)
    if target == obj:
        raise RagdollError(f"'{obj.name}' cannot look at itself: choose another object")
    if target is not None and target.name not in scene.objects:
        raise RagdollError(f"'{target.name}' is not in the scene '{scene.name}'")
    rig, anatomy = rig_of(obj), armature.anatomy_of(obj)
    found = from_roles(rig, anatomy)
    ensure(obj, scene)
    settings = obj.active_ragdoll
    with STATE.writing():
        store_roles(obj, anatomy)
        chain = settings.look_at.get(NAME) or settings.look_at.add()
        chain.name = NAME
        settings.active_look_at = settings.look_at.find(NAME)
        # From a parent's forward is the same as from bind pose, which the run takes for the rest pose.
        own_pose = armature.BindPose(obj, np.eye(4)).moved is not None
        _fill(chain, rig, found.entries, "PARENT" if own_pose else "BIND")
        known = {item.foot_bone: item for item in settings.leg_stabilizers}
        for foot, count in found.legs:
            item = known.get(rig.name(foot)) or settings.leg_stabilizers.add()
            item.foot_bone, item.bones_count = rig.name(foot), count
        if target is not None:
            chain.target_type, chain.target = "OBJECT", target
        if chain.target_type == "OBJECT" and (chain.target is None or chain.target.name not in scene.objects):
            chain.target = _new_target(obj, scene, rig, found.entries[0])
    settings_changed(obj)
    return chain, len(found.legs), found.notes


def _fill(chain, rig, entries, limit_from: str) -> None:
    chain.entries.clear()
    for entry in entries:
        item = chain.entries.add()
        item.bone = rig.name(entry.bone)
        item.limit, item.limit_from = entry.limit, limit_from
        item.rotate_around_up_weight = entry.up_weight
        write_axes(item, entry.forward_axis, entry.parent_forward_axis)
        for link in entry.linked:
            item.linked_bones.add().bone = rig.name(link.bone)


def _new_target(obj, scene, rig, entry):
    """An Empty in front of the first bone's eyes as the character stands now."""
    world = np.array(obj.matrix_world, dtype=float)
    bone = obj.evaluated_get(bpy.context.view_layer.depsgraph).pose.bones[rig.name(entry.bone)]
    pose = world @ np.array(bone.matrix, dtype=float)
    ahead = pose[:3, :3] @ np.array(entry.forward_axis)
    size = rig.size * float(np.cbrt(abs(np.linalg.det(world[:3, :3]))))
    target = bpy.data.objects.new(f"{obj.name} Look Target", None)
    target.empty_display_type, target.empty_display_size = "SPHERE", 0.05 * size
    target.location = pose[:3, 3] + AHEAD * size * ahead / max(np.linalg.norm(ahead), 1e-12)
    scene.collection.objects.link(target)
    return target
