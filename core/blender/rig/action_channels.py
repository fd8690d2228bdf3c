"""The channels of actions and their data paths: layered actions with slots (Blender 4.4 and later) and older ones."""

from collections.abc import Iterator

import bpy

ROTATION_PROPERTIES = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}


def has_slots() -> bool:
    """Whether this Blender has layered actions with slots (4.4 and later)."""
    return hasattr(bpy.types, "ActionSlot")


def slot_of(action: bpy.types.Action, owner: bpy.types.ID):
    """The slot of `action` that animates `owner`; None if there is none or Blender has no slots.

    The assigned slot if the action is assigned, otherwise the one that Blender itself would choose by name,
    and the only one if there is a single slot.
    """
    if not has_slots():
        return None
    animation = owner.animation_data
    if animation is not None and animation.action == action:
        return animation.action_slot
    usable = [slot for slot in action.slots if slot.target_id_type in {owner.id_type, "UNSPECIFIED"}]
    return next((slot for slot in usable if slot.name_display == owner.name), usable[0] if len(usable) == 1 else None)


def channels_of(action: bpy.types.Action, slot, *, ensure: bool = False):
    """The owner of `fcurves` and `groups`: a channel bag, or before Blender 4.4, without slots, the action itself.

    None where there is no bag; with `ensure`, layer, strip and bag are made where they are missing."""
    if not has_slots():
        return action
    if slot is None:
        return None
    if ensure:
        layer = action.layers[0] if len(action.layers) else action.layers.new("Layer")
        strip = layer.strips[0] if len(layer.strips) else layer.strips.new(type="KEYFRAME")
        return strip.channelbag(slot, ensure=True)
    bags = (strip.channelbag(slot) for layer in action.layers for strip in layer.strips)
    return next((bag for bag in bags if bag is not None), None)


def curves_of(action: bpy.types.Action | None, slot):
    """The F-curves of an action's slot; an empty tuple where there are none."""
    channels = channels_of(action, slot) if action is not None else None
    return channels.fcurves if channels is not None else ()


def fcurves_of(action: bpy.types.Action | None, owner: bpy.types.ID):
    """The F-curves of `action` that animate `owner`; an empty tuple where there are none."""
    return curves_of(action, slot_of(action, owner)) if action is not None else ()


def played(data: bpy.types.AnimData) -> set:
    """The actions that animation data plays: its own, and those of strips."""
    return ({data.action} | {strip.action for track in data.nla_tracks for strip in track.strips}) - {None}


def played_strips(data: bpy.types.AnimData) -> Iterator[bpy.types.NlaStrip]:
    """The strips of the tracks that Blender evaluates, those inside meta strips included."""
    tracks = [track for track in data.nla_tracks if track.is_solo] or data.nla_tracks
    waiting = [strip for track in tracks if data.use_nla and not track.mute for strip in track.strips]
    while waiting:
        strip = waiting.pop()
        if not strip.mute:
            waiting.extend(strip.strips)
            yield strip


def playing(owner: bpy.types.ID) -> Iterator[tuple]:
    """(action, slot, strip) of all that animates a data-block: its own action, without a strip, and NLA strips."""
    data = owner.animation_data
    if data is None:
        return
    if data.action is not None:
        yield data.action, slot_of(data.action, owner), None
    for strip in played_strips(data):
        if strip.action is not None:
            yield strip.action, strip.action_slot if has_slots() else None, strip


def animates(action: bpy.types.Action, slot, path: str) -> bool:
    """Whether a slot of an action has a curve with exactly that data path; as good as free, at every frame too."""
    channels = channels_of(action, slot)
    return channels is not None and channels.fcurves.find(path) is not None


def new_action_for(owner: bpy.types.ID, name: str) -> tuple[bpy.types.Action, object]:
    """A new, empty, unassigned action and its slot for `owner` (None before Blender 4.4)."""
    action = bpy.data.actions.new(name)
    slot = action.slots.new(id_type=owner.id_type, name=owner.name) if has_slots() else None
    if not has_slots():
        action.id_root = owner.id_type
    return action, slot


def assign(owner: bpy.types.ID, action: bpy.types.Action | None, slot) -> None:
    """Assign an action and exactly that slot of it."""
    animation = owner.animation_data_create()
    animation.action = action
    if has_slots() and action is not None:
        animation.action_slot = slot


def current(owner: bpy.types.ID) -> tuple[bpy.types.Action | None, object]:
    animation = owner.animation_data
    action = animation.action if animation is not None else None
    return action, (animation.action_slot if action is not None and has_slots() else None)


def property_at(obj, path: str) -> tuple:
    """What has the property of a data path, its name there, and whether it is a custom one."""
    custom = path.endswith('"]')
    owner, _, name = path.removesuffix('"]').rpartition('["' if custom else ".")
    return obj.path_resolve(owner) if owner else obj, name, custom


def bone_path(bone_name: str, prop: str) -> str:
    """Data path of a pose bone's property, for names with any characters."""
    return f'pose.bones["{bpy.utils.escape_identifier(bone_name)}"].{prop}'


def rotation_property(mode: str) -> str:
    """The property that holds the rotation of a bone in that rotation mode."""
    return ROTATION_PROPERTIES.get(mode, "rotation_euler")
