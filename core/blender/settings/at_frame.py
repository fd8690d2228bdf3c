"""The one reader of a character's settings at a frame.

While the coming frame is prepared, keyed and driven settings have that frame's values only in the source, which is
evaluated first; the character itself still has those of the last frame. So if any setting of a character is keyed or
driven, all others are copied to its source too, and everybody reads the evaluated source. What settings point at
(objects, actions) is read from the character, because a pointer from the copy would keep it from being deleted.
"""

from collections.abc import Iterator

from ..physics import source
from ..rig import action_channels, armature
from ..runtime import STATE
from .declare import ACTS, SETTING, declarations, names

PREFIX = "active_ragdoll."


def owner(obj, keyed: bool):
    """The object from which a character's settings are read; keyed: see `is_keyed`, too slow for every frame."""
    return source.evaluated(obj) if keyed else obj


def is_keyed(obj, setting: str = "") -> bool:
    """Whether any setting of a character or its bones, or one setting of the object, is animated or driven."""
    return animates(obj, f"{PREFIX}{setting}") if setting else next(keyed_paths(obj), None) is not None


def animates(obj, path: str) -> bool:
    """Whether a property of an object, by its data path, is animated or driven."""
    data = obj.animation_data
    if data is not None and any(driver.data_path == path for driver in data.drivers):
        return True
    return any(action_channels.animates(action, slot, path) for action, slot, _strip in action_channels.playing(obj))


def keyed_paths(obj) -> Iterator[str]:
    """Data paths of the settings of a character and its bones that actions, strips or drivers animate."""
    if obj.animation_data is None:
        return
    played = [action_channels.curves_of(action, slot) for action, slot, _strip in action_channels.playing(obj)]
    for curves in (obj.animation_data.drivers, *played):
        yield from (curve.data_path for curve in curves if PREFIX in curve.data_path)


def stamp(obj) -> tuple:
    """Changes when a character gets other bones, entries, animated settings or another source; cheap at every frame."""
    data, copy, bones = obj.animation_data, obj.active_ragdoll.source, obj.data.bones
    made = copy.name if copy is not None else "", *lengths(obj, group=ACTS)
    made = *made, *bones.keys(), armature.values_of(bones, "matrix_local", 4, 4).tobytes()
    if data is None:
        return made
    playing = data.action.name if data.action is not None else "", len(action_channels.fcurves_of(data.action, obj))
    return *made, *playing, len(data.drivers), *(track.mute for track in data.nla_tracks)


def lengths(obj, **of) -> list:
    """Lengths of all lists of a character, or of those declared as wanted: Blender tells nobody when they change."""
    settings = obj.active_ragdoll
    return [len(getattr(settings, name)) for name in names(type(settings), is_list=True, **of)]


def carry(obj) -> None:
    """Copy all settings of a character, and of its bones with bodies, to its source, where keys overrule them."""
    settings, copy = obj.active_ragdoll, obj.active_ragdoll.source
    if copy is None:
        return
    source.stamp_of(obj).settings = True
    with STATE.writing():
        _copy(settings, copy.active_ragdoll)
        for part in settings.parts:
            own, its = obj.pose.bones.get(part.bone), copy.pose.bones.get(part.bone)
            if own is not None and its is not None:
                _copy(own.active_ragdoll, its.active_ragdoll)
    copy.update_tag()  # a list that gets longer tags nothing


def _copy(group, copy) -> None:
    """Copy the settings of a group to another one. Equal values are not written, as writing tags the copy."""
    for name, said in declarations(type(group)).items():
        if said.kind != SETTING or said.points:
            continue
        own, its = getattr(group, name), getattr(copy, name)
        if said.is_list:
            if [item.name for item in own] != [item.name for item in its]:  # in order, so that names can be given again
                its.clear()
                for _item in own:
                    its.add()
            for item, its_item in zip(own, its, strict=True):
                _copy(item, its_item)
        elif said.holds is not None:
            _copy(own, its)
        elif own == "" and group.bl_rna.properties[name].type == "ENUM":
            continue  # a damaged file has a number that stands for no choice
        elif own != its if isinstance(own, bool | int | float | str | set) else tuple(own) != tuple(its):
            setattr(copy, name, own)
