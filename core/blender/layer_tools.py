"""What the operators of layers, blend spaces and the graph do to a character's settings."""

import bpy
import numpy as np

from .. import rotation_modes
from ..errors import RagdollError
from . import action_channels, keyed_lists, motion_setup, motion_show, runtime
from .armature import check_armature, selected
from .setting_names import unique
from .space_players import axis_of

LISTS = {
    "PARAMETER": ("parameters", "parameter_index"),
    "STATE": ("states", "state_index"),
    "TRANSITION": ("transitions", "transition_index"),
}


def current_action(obj) -> tuple:
    """The action that a character plays and its slot's identifier.

    Raises:
        RagdollError: it plays none.
    """
    action, slot = action_channels.current(obj)
    if action is None:
        raise RagdollError(f"'{obj.name}' plays no action: assign one, or choose one in the layer")
    return action, slot.identifier if slot is not None else ""


def add_layer(obj, scene, source: str, name: str = ""):
    """A new layer on top of the active one, whose character the stack poses from now on.

    Raises:
        RagdollError: see `motion_setup.ensure`.
    """
    settings = obj.active_ragdoll
    motion_setup.ensure(obj, scene)
    layer = settings.layers.add()
    layer.name = unique([other for other in settings.layers if other != layer], name or "Layer")
    layer.source = source
    layer.start = scene.frame_start
    if source == "AIM_OFFSET":
        layer.mode = "ADDITIVE_MESH"
    last = len(settings.layers) - 1
    wanted = settings.layer_index + 1 if last else 0
    settings.layer_index = keyed_lists.move(obj, "layers", settings.layers, last, wanted)
    return settings.layers[settings.layer_index]


def choose(choice, action, slot: str = "") -> None:
    """Let a setting play an action; with it comes the armature that it was made for, where that is another."""
    choice.action, choice.slot = action, slot
    choice.object_motion = choice.armature is not None


def add_clip_layer(obj, scene):
    """A layer of the action that the character plays; Raises as `current_action` and `add_layer`."""
    action, slot = current_action(obj)
    layer = add_layer(obj, scene, "CLIP", action.name)
    choose(layer, action, slot)
    return layer


def add_pose_layer(obj, scene, action, frame: float | None = None):
    """A layer of one frame of an action, its first one when not said otherwise."""
    layer = add_layer(obj, scene, "POSE", action.name)
    choose(layer, action)
    layer.frame = action.frame_range[0] if frame is None else frame
    return layer


def appended_action(path: str, name: str):
    """An action of another file, such as a pose asset of a library, appended.

    Raises:
        RagdollError: the file cannot be read, or has no such action.
    """
    try:
        with bpy.data.libraries.load(path) as (there, here):
            here.actions = [own for own in there.actions if own == name]
    except OSError as error:
        raise RagdollError(f"The file '{path}' of the pose asset '{name}' cannot be read") from error
    if not here.actions or here.actions[0] is None:
        raise RagdollError(f"The file '{path}' has no action '{name}'")
    return here.actions[0]


def pose_action(obj, name: str):
    """A new action of one frame: the pose that the character shows now.

    Raises:
        RagdollError: no armature.
    """
    check_armature(obj)
    graph = bpy.context.view_layer.depsgraph
    evaluated = obj.evaluated_get(graph)
    bases = []
    for bone in evaluated.pose.bones:
        rest = bone.bone
        known = {}
        if bone.parent is not None:
            known = {"parent_matrix": bone.parent.matrix, "parent_matrix_local": bone.parent.bone.matrix_local}
        bases.append(np.array(rest.convert_local_to_pose(bone.matrix, rest.matrix_local, invert=True, **known)))
    location, rotation, scale = rotation_modes.decompose(np.array(bases)[None])
    action, slot = action_channels.new_action_for(obj, name)
    curves = action_channels.channels_of(action, slot, ensure=True).fcurves
    for i, bone in enumerate(obj.pose.bones):
        turned = rotation_modes.rotation_channels(bone.rotation_mode, rotation[:, i : i + 1], None)
        rotated = action_channels.rotation_property(bone.rotation_mode)
        for prop, values in (("location", location[0, i]), (rotated, turned[0, 0]), ("scale", scale[0, i])):
            path = action_channels.bone_path(bone.name, prop)
            for index, value in enumerate(values.tolist()):
                curves.new(path, index=index).keyframe_points.insert(1.0, value)
    action.use_fake_user = True
    return action


def add_blend_space(obj, kind: str):
    """A new blend space: SPEED (1D), DIRECTION (2D of speed and direction), AIM (2D of yaw and pitch) or PLAIN."""
    settings = obj.active_ragdoll
    space = settings.blend_spaces.add()
    names = {"SPEED": "Locomotion", "DIRECTION": "Directions", "AIM": "Aim", "PLAIN": "Blend Space"}
    space.name = unique([other for other in settings.blend_spaces if other != space], names[kind])
    space.dimensions = "1D" if kind in ("SPEED", "PLAIN") else "2D"
    _axis(space.x, "Speed", 0.0, 4.0)
    _axis(space.y, "Y", 0.0, 1.0)
    if kind == "DIRECTION":
        _axis(space.x, "Direction", -180.0, 180.0, ends="WRAP", input="DIRECTION")
        _axis(space.y, "Speed", 0.0, 4.0, input="SPEED")
    if kind == "AIM":
        _axis(space.x, "Yaw", -90.0, 90.0)
        _axis(space.y, "Pitch", -60.0, 60.0)
    settings.blend_space_index = len(settings.blend_spaces) - 1
    return space


def _axis(axis, name: str, minimum: float, maximum: float, **more) -> None:
    axis.name, axis.minimum, axis.maximum = name, minimum, maximum
    for key, value in more.items():
        setattr(axis, key, value)


def add_sample(space, action, slot: str = ""):
    """A sample of an action at the point that is set, on the axes' divisions where that is near.

    Raises:
        RagdollError: a wrong axis.
    """
    places = []
    for axis in (space.x, space.y)[: 1 if space.dimensions == "1D" else 2]:
        value = axis.preview if space.show_preview else axis.value
        places.append(float(axis_of(axis).snapped(min(max(value, axis.minimum), axis.maximum))))
    free = _free_place(space, places)
    sample = space.samples.add()
    sample.x, sample.y = free[0], free[1] if len(free) > 1 else 0.0
    choose(sample, action, slot)
    space.sample_index = len(space.samples) - 1
    return sample


def _free_place(space, wanted: list) -> list:
    """The place itself, or the nearest division of the axes without a sample."""
    taken = {(round(s.x, 6), round(s.y, 6))[: len(wanted)] for s in space.samples}
    axes = (space.x, space.y)[: len(wanted)]
    lines = [np.linspace(axis.minimum, axis.maximum, axis.grid + 1) for axis in axes]
    crossings = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(wanted))
    lengths = np.array([axis.maximum - axis.minimum for axis in axes])
    order = np.argsort(np.linalg.norm((crossings - wanted) / lengths, axis=-1), kind="stable")
    for place in [wanted, *crossings[order].tolist()]:
        if tuple(round(value, 6) for value in place) not in taken:
            return place
    return wanted


def edit_graph(obj, kind: str, do: str, step: int = 1) -> None:
    """Add, remove or move a parameter, state, transition, or condition of the active transition.

    Raises:
        RagdollError: a condition without a transition.
    """
    graph = obj.active_ragdoll.graph
    owner, list_name, index_name = graph, *LISTS.get(kind, ("conditions", "condition_index"))
    path = f"graph.{list_name}"
    if kind == "CONDITION":
        if not 0 <= graph.transition_index < len(graph.transitions):
            raise RagdollError("Add a transition first: conditions belong to one")
        owner, path = (
            graph.transitions[graph.transition_index],
            f"graph.transitions[{graph.transition_index}].{list_name}",
        )
    items, index = getattr(owner, list_name), getattr(owner, index_name)
    if do == "ADD":
        items.add()
        index = len(items) - 1
        _prepare(graph, items, kind)
    elif 0 <= index < len(items):
        if do == "REMOVE":
            index = keyed_lists.remove(obj, path, items, index)
        else:
            index = keyed_lists.move(obj, path, items, index, index + step)
    setattr(owner, index_name, index)


def _prepare(graph, items, kind: str) -> None:
    """Sensible values for what was just added."""
    item, others = items[len(items) - 1], list(items)[:-1]
    if kind == "CONDITION":
        item.parameter = graph.parameters[0].name if len(graph.parameters) else "time_in_state"
    elif kind != "TRANSITION":
        item.name = unique(others, "speed" if kind == "PARAMETER" else "State")
    elif len(graph.states) > 1:
        item.origin, item.target = graph.states[0].name, graph.states[1].name


def make_additive(obj, what: str, space: str, base: str, frame: int) -> int:
    """Let the active layer, or the samples of the active blend space, add their difference to a base.

    Args:
        what: LAYER or SAMPLES. space: LOCAL or MESH.
        base: BIND, FIRST (each action's first frame) or FRAME (each action's pose at `frame`).

    Returns:
        How many were made additive.

    Raises:
        RagdollError: there is no such layer or blend space.
    """
    settings = obj.active_ragdoll
    if what == "LAYER":
        if not 0 <= settings.layer_index < len(settings.layers):
            raise RagdollError("Add a layer first")
        layer = settings.layers[settings.layer_index]
        layer.mode = f"ADDITIVE_{space}"
        chosen = [layer]
    else:
        if not 0 <= settings.blend_space_index < len(settings.blend_spaces):
            raise RagdollError("Add a blend space first")
        chosen = list(settings.blend_spaces[settings.blend_space_index].samples)
        for sample in chosen:
            sample.additive = space
    for item in chosen:
        item.base = "BIND" if base == "BIND" or item.action is None else "FRAME"
        if item.base == "FRAME":
            item.base_frame = item.action.frame_range[0] if base == "FIRST" else frame
    return len(chosen)


def selected_bones(obj) -> list[str]:
    """Names of the bones that are selected in pose mode."""
    return [bone.name for bone, chosen in zip(obj.data.bones, selected(obj), strict=True) if chosen]


def mask_bones(layer, names) -> None:
    """Let a layer act on bones and what hangs on them."""
    layer.mask_bones.clear()
    for name in names:
        layer.mask_bones.add().bone = name
    layer.mask = "BONES"


def changed(obj) -> None:
    """After an edit of a list, which has no callback of its own."""
    runtime.settings_changed(obj, layout=True)
    motion_show.later()


def end_previews(scene) -> None:
    """Let live inputs count again: what is simulated, baked or rendered is not a preview."""
    for obj in scene.objects:
        for space in obj.active_ragdoll.blend_spaces if obj.type == "ARMATURE" else ():
            if space.show_preview:
                space.show_preview = False
