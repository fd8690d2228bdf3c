"""Settings of linked characters with a library override, kept beside it in the file.

Of an override, Blender stores only what differs from the library, and of lists in property groups not even all of that
(measured: of three entries added to a list, two come back on 4.2 and 4.5; on 5.0, nothing of a group that the library
does not have). So everything that differs is written to the character's scene when the file is saved, and set again
after it is loaded. What does not differ still comes from the library.
"""

import json

import bpy

from ..runtime import STATE

_BLOCKS = {"ACTION": "actions", "ARMATURE": "armatures", "COLLECTION": "collections"}
_BLOCKS |= {"MESH": "meshes", "OBJECT": "objects", "SCENE": "scenes"}


def keep() -> None:
    """Store what differs from the library, for all characters of the file; called before it is saved."""
    found: dict = {}
    for obj in bpy.data.objects:
        if obj.library is None and obj.override_library is not None and obj.type == "ARMATURE":
            scene = next((scene for scene in obj.users_scene if scene.library is None), None)
            reference = obj.override_library.reference
            if scene is not None and reference is not None:
                kept = _of_character(obj, reference)
                if kept:
                    found.setdefault(scene.name, {})[obj.name] = kept
    for scene in bpy.data.scenes:
        if scene.library is None:
            text = json.dumps(found[scene.name]) if scene.name in found else ""
            if scene.active_ragdoll.overrides != text:
                scene.active_ragdoll.overrides = text


def restore() -> None:
    """Set again what was stored; called after the file was loaded."""
    with STATE.writing():
        for scene in bpy.data.scenes:
            text = scene.active_ragdoll.overrides if scene.library is None else ""
            for name, kept in json.loads(text or "{}").items():
                obj = bpy.data.objects.get((name, None))
                if obj is None or obj.override_library is None or obj.type != "ARMATURE":
                    continue
                _set_group(obj.active_ragdoll, kept["object"])
                for bone, values in kept["bones"].items():
                    if bone in obj.pose.bones:
                        _set_group(obj.pose.bones[bone].active_ragdoll, values)


def kept(obj) -> dict:
    """What was written down of a character's own settings, with the data-blocks that they point at."""
    for scene in bpy.data.scenes:
        text = scene.active_ragdoll.overrides if scene.library is None else ""
        found = json.loads(text or "{}").get(obj.name)
        if found is not None:
            return _resolved(found["object"])
    return {}


def _resolved(value):
    if isinstance(value, dict):
        return {name: _resolved(each) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) == 3 and isinstance(value[0], str):
        return _block(*value)
    return [_resolved(each) for each in value]


def _of_character(obj, reference) -> dict | None:
    own = _differences(obj.active_ragdoll, reference.active_ragdoll)
    bones = {}
    for bone in obj.pose.bones:
        other = reference.pose.bones.get(bone.name) if reference.pose is not None else None
        values = _differences(bone.active_ragdoll, None if other is None else other.active_ragdoll)
        if values:
            bones[bone.name] = values
    return {"object": own, "bones": bones} if own or bones else None


# ---- reading --------------------------------------------------------------------------------------------------------


def _differences(group, reference) -> dict:
    """The values of a property group that differ from another one's; all stored ones if there is no other."""
    if reference is None:
        return _values(group)
    found = {}
    for prop in group.bl_rna.properties:
        if not (_is_stored(group, prop) or _is_stored(reference, prop)):
            continue
        value = _value(group, prop)
        if isinstance(value, dict):
            value = _differences(getattr(group, prop.identifier), getattr(reference, prop.identifier))
            if value:
                found[prop.identifier] = value
        elif value != _value(reference, prop):
            found[prop.identifier] = value
    return found


def _values(group) -> dict:
    """All stored values of a property group, ready for JSON; empty pointers are left out."""
    values = {p.identifier: _value(group, p) for p in group.bl_rna.properties if _is_stored(group, p)}
    return {name: value for name, value in values.items() if value is not None}


def _is_stored(group, prop) -> bool:
    known = not prop.is_readonly or prop.type in ("COLLECTION", "POINTER")
    derived = prop.identifier == "rna_type" or prop.is_skip_save
    return known and not derived and group.is_property_set(prop.identifier)


def _value(group, prop):
    value = getattr(group, prop.identifier)
    if prop.type == "COLLECTION":
        return [_values(item) for item in value]
    if prop.type == "POINTER":
        if isinstance(value, bpy.types.ID):
            return [value.id_type, value.name, value.library.name if value.library else None]
        return None if value is None else _values(value)
    if prop.type == "ENUM" and prop.is_enum_flag:
        return sorted(value)
    return list(value) if getattr(prop, "is_array", False) else value


# ---- writing --------------------------------------------------------------------------------------------------------


def _set_group(group, values: dict) -> None:
    for name, value in values.items():
        prop = group.bl_rna.properties.get(name)
        if prop is None or (prop.is_readonly and prop.type not in ("COLLECTION", "POINTER")):
            continue  # from another version
        if prop.type == "COLLECTION":
            items = getattr(group, name)
            items.clear()  # the library's own entries come first and stay
            for i, each in enumerate(value):
                item = items[i] if i < len(items) else items.add()
                for own in _values(item).keys() - each.keys():
                    item.property_unset(own)
                _set_group(item, each)
        elif prop.type == "POINTER" and not isinstance(value, list) and value is not None:
            _set_group(getattr(group, name), value)
        elif prop.type == "POINTER":
            if not prop.is_readonly:
                setattr(group, name, None if value is None else _block(*value))
        else:
            setattr(group, name, set(value) if prop.type == "ENUM" and prop.is_enum_flag else value)


def _block(kind: str, name: str, library: str | None):
    """A data-block of the file; None if it does not exist any more."""
    blocks = getattr(bpy.data, _BLOCKS.get(kind, ""), None)
    if library is None:
        return None if blocks is None else blocks.get((name, None))
    its = bpy.data.libraries.get(library)
    return None if blocks is None or its is None else blocks.get((name, its.filepath))
