"""Settings in files: those of older versions brought up to date, and those of library overrides kept.

Characters and scenes carry the version of the layout that they were stored with; in files of 0.1.0 it is absent, 0.
A step may meet an owner that needs nothing of it, such as one made in this session.

Of a library override, Blender stores only what differs from the library, and of lists not even all of that; see
docs/blender-facts.md. So what differs is written to the scene when the file is saved, and set again after loading.
"""

import json
from collections.abc import Iterator

import bpy
import numpy as np

from ..physics import body_objects, built
from ..rig.armature import armatures
from ..runtime import STATE
from .declare import walk

GROUP = "active_ragdoll"
# Of 0.1.0: pointers to helpers, and what a build had made; see `_tag_helpers`.
FORMER = ("parts", "hitters", "attachment_parts", "bodies", "targets", "physics_armature", "target_armature")
FORMER += ("followers", "height", "built_scale", "built_for")


def stored(owner) -> dict:
    """The settings of an owner as they are in the file, also those that no class declares any more."""
    if hasattr(owner, "bl_system_properties_get"):  # Blender 5.0 and later
        system = owner.bl_system_properties_get()
        return {} if system is None else system.get(GROUP, {})
    return owner.get(GROUP, {})


def _let_go(owner) -> None:
    """Sources pointed at the actions of their character's graph, which kept those from being deleted."""
    copy = stored(owner).get("source") if isinstance(owner, bpy.types.Object) else None
    for group, name, said in walk(copy.active_ragdoll) if isinstance(copy, bpy.types.Object) else ():
        if said.points:
            group.property_unset(name)


def _drop_copies(owner) -> None:
    """Blender 5.0 leaves older files a copy of our settings among the custom properties: its pointers keep helpers."""
    if hasattr(owner, "bl_system_properties_get") and GROUP in owner:
        del owner[GROUP]


def _tag_helpers(owner) -> None:
    """Characters pointed at each of their helpers; now those carry tags, and what a build made is one record."""
    if not isinstance(owner, bpy.types.Object):
        return
    raw, settings = stored(owner), owner.active_ragdoll
    # By their names: where a damaged file has one that is no text, going through all of them crashes.
    old = {name: raw[name] for name in FORMER if name in raw}
    if owner.override_library is not None:  # from which Blender drops what no class declares
        old |= next((_resolved(kept["object"]) for name, kept in _kept_overrides() if name == owner.name), {})
    target = old.get("target_armature")
    if settings.motion_collection is not None and not old.keys().isdisjoint(FORMER):
        _tag(target, built.TARGET_ARMATURE)
        posed_by = stored(target).get("posed_by", "") if target is not None else ""
        settings.motion_collection.active_ragdoll.owner = posed_by or owner.name
    if settings.collection is not None and len(old.get("parts", ())):
        _tag_ragdoll(settings, old)
        settings.collection.active_ragdoll.owner = old.get("built_for", "")
    for name in [name for name in FORMER if name in raw]:
        del raw[name]


def _tag_ragdoll(settings, old) -> None:
    for kind in (built.BODIES, built.TARGETS, built.PHYSICS_ARMATURE):
        _tag(old.get(kind.lower()), kind)
    parts = []
    for part in old["parts"]:
        bone = part["bone"]
        for kind in (built.BODY, built.TARGET, built.ANCHOR):
            _tag(part.get(kind.lower()), kind, bone)
        for motor in part.get("motors", ()):
            _tag(motor.get("empty"), built.MOTOR, bone, motor.get("index", 0))
        frames = (np.array(part.get(name, np.zeros(16))).reshape(4, 4) for name in ("offset", "bind"))
        carried = part.get("inertia", 0.0), np.zeros(3), part.get("depth", 0)
        parts.append(built.Part(bone, part.get("parent", ""), *frames, *carried))
    for hitter in old.get("hitters", ()):
        _tag(hitter.get("object"), built.HITTER, hitter["bone"])
    kinds = {"joint": built.ATTACHMENT, "other_joint": built.ATTACHMENT, "holder": built.HOLDER}
    for number, part in enumerate(old.get("attachment_parts", ()), 1):
        for name, kind in kinds.items():
            _tag(part.get(name), kind, number=number)
    for body, pieces in body_objects.pieces_by_body(settings).items():
        for number, piece in enumerate(pieces, 1):
            _tag(piece, built.PIECE, body.get(built.BONE, ""), number)
    joints = [o for o in settings.collection.objects if o.rigid_body_constraint is not None and not built.is_ours(o)]
    for joint in joints:
        body = joint.rigid_body_constraint.object1
        _tag(joint, built.JOINT, body.get(built.BONE, "") if body is not None else "")
    built.write(settings.collection, parts, old.get("height", 0.0), old.get("built_scale", 1.0))
    built.note(settings.collection, followers=json.loads(old.get("followers", "") or "[]"), joints=len(joints))


def _tag(thing, *what, **more) -> None:
    if isinstance(thing, bpy.types.ID):  # else it was deleted
        built.tag(thing, *what, **more)


def _name_source(owner) -> None:
    """Characters pointed at their source, which Blender evaluated with their scene for that."""
    raw = stored(owner) if isinstance(owner, bpy.types.Object) else {}
    if "source" in raw:
        if isinstance(raw["source"], bpy.types.Object):
            owner.active_ragdoll.source = raw["source"]
        del raw["source"]


STEPS = (_let_go, _drop_copies, _tag_helpers, _name_source)  # the first one leads from version 0 to 1, and so on
CURRENT = len(STEPS)


def bring_up(owners=None) -> None:
    """Take the steps that characters and scenes lack: those of the file, after it has been loaded, or some of them."""
    owners = _owners() if owners is None else list(owners)
    for i, step in enumerate(STEPS):
        for owner in owners:
            # A library override may have its version from its library; the steps do nothing where nothing is old.
            if owner.override_library is not None or owner.active_ragdoll.version <= i:
                step(owner)
    note_version(owners)


def is_old(owner) -> bool:
    """Whether an owner comes from a version with another layout, as one that was appended from an older file may."""
    return owner.active_ragdoll.version < CURRENT and any(name in stored(owner) for name in (*FORMER, "source"))


def note_version(owners=None) -> None:
    """Write down the version of all characters and scenes, before the file is saved, or of some of them."""
    for owner in _owners() if owners is None else owners:
        if owner.active_ragdoll.version != CURRENT:
            owner.active_ragdoll.version = CURRENT


def mend_values() -> None:
    """Take away texts that cannot be read, corners of bodies that are none, and numbers and choices that a setting does
    not have, as a damaged file may hold."""
    bones = [bone for obj in bpy.data.objects if obj.pose and obj.library is None for bone in obj.pose.bones]
    for owner in _owners(*bpy.data.collections, *bones):
        for group, name, _said in walk(owner.active_ragdoll):
            try:
                value, kind = getattr(group, name), group.bl_rna.properties[name]
                number = kind.type in ("INT", "FLOAT") and not kind.is_array
                if (number and not kind.hard_min <= value <= kind.hard_max) or (kind.type == "ENUM" and value == ""):
                    raise ValueError
                if name == "body_points":
                    np.array(json.loads(value or "[]"), dtype=float).reshape(-1, 3)
            except (ValueError, TypeError):
                group.property_unset(name)
                print(f"Active Ragdoll: '{name}' of '{owner.name}' is damaged, and taken away")


def _owners(*others) -> list:
    """Characters, scenes and others of the file itself that have any of our settings."""
    owners = (*bpy.data.objects, *bpy.data.scenes, *others)
    return [owner for owner in owners if owner.id_data.library is None and owner.is_property_set(GROUP)]


def keep_overrides() -> None:
    """Store what differs from the library, for all characters of the file; called before it is saved."""
    found: dict = {}
    for obj in armatures(bpy.data.objects):
        if obj.library is None and obj.override_library is not None:
            scene = next((scene for scene in obj.users_scene if scene.library is None), None)
            reference = obj.override_library.reference
            kept = _of_character(obj, reference) if scene is not None and reference is not None else None
            if kept:
                found.setdefault(scene.name, {})[obj.name] = kept
    for scene in bpy.data.scenes:
        text = json.dumps(found[scene.name]) if scene.name in found else ""
        if scene.library is None and scene.active_ragdoll.overrides != text:
            scene.active_ragdoll.overrides = text


def restore_overrides() -> None:
    """Set the stored values again; called after the file was loaded."""
    with STATE.writing():
        for name, kept in _kept_overrides():
            obj = bpy.data.objects.get((name, None))
            if obj is None or obj.override_library is None or obj.type != "ARMATURE":
                continue
            try:
                _set_group(obj.active_ragdoll, kept["object"])
                for bone, values in kept["bones"].items():
                    if bone in obj.pose.bones:
                        _set_group(obj.pose.bones[bone].active_ragdoll, values)
            except (TypeError, ValueError, AttributeError):
                _tell_damaged(name)


def _kept_overrides() -> Iterator[tuple[str, dict]]:
    """The stored values of all characters, by name."""
    for scene in (scene for scene in bpy.data.scenes if scene.library is None):
        try:
            found = json.loads(scene.active_ragdoll.overrides or "{}").items()
        except (ValueError, AttributeError):
            _tell_damaged(scene.name)
            continue
        for name, kept in found:
            if isinstance(kept, dict) and all(isinstance(kept.get(part), dict) for part in ("object", "bones")):
                yield name, kept
            else:
                _tell_damaged(name)


def _tell_damaged(name: str) -> None:
    STATE.warn(name, f"The settings that '{name}' has beside those of its library are damaged: look through them")


def _resolved(value):
    if isinstance(value, dict):
        return {name: _resolved(each) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) == 3 and isinstance(value[0], str):
        return _block(*value)
    return [_resolved(each) for each in value]


def _of_character(obj, reference) -> dict | None:
    others = reference.pose.bones if reference.pose is not None else {}
    pairs = ((bone, getattr(others.get(bone.name), "active_ragdoll", None)) for bone in obj.pose.bones)
    bones = {bone.name: values for bone, other in pairs if (values := _values(bone.active_ragdoll, other))}
    kept = {"object": _values(obj.active_ragdoll, reference.active_ragdoll), "bones": bones}
    return kept if any(kept.values()) else None


def _values(group, reference=None) -> dict:
    """The stored values of a property group that differ from another one's, or all of them, ready for JSON."""
    found = {}
    for prop in group.bl_rna.properties:
        name, inner = prop.identifier, prop.type in ("COLLECTION", "POINTER")
        if name == "rna_type" or prop.is_skip_save or (prop.is_readonly and not inner):
            continue
        if not any(one.is_property_set(name) for one in (group, reference) if one is not None):
            continue
        value, its = (None if one is None else _value(one, prop) for one in (group, reference))
        if isinstance(value, dict) and its is not None:
            value, its = _values(getattr(group, name), getattr(reference, name)), {}
        if value != its:
            found[name] = value
    return found


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


def _set_group(group, values: dict) -> None:
    for name, value in values.items():
        prop = group.bl_rna.properties.get(name)
        if prop is None or (prop.is_readonly and prop.type != "COLLECTION" and not isinstance(value, dict)):
            continue  # from another version
        if prop.type == "COLLECTION":
            items = getattr(group, name)
            items.clear()  # the library's own entries come first and stay
            for i, each in enumerate(value):
                item = items[i] if i < len(items) else items.add()
                for own in _values(item).keys() - each.keys():
                    item.property_unset(own)
                _set_group(item, each)
        elif isinstance(value, dict):
            _set_group(getattr(group, name), value)
        elif prop.type == "POINTER":
            setattr(group, name, None if value is None else _block(*value))
        else:
            setattr(group, name, set(value) if prop.type == "ENUM" and prop.is_enum_flag else value)


def _block(kind: str, name: str, library: str | None):
    """A data-block of the file; None if it does not exist any more."""
    blocks = getattr(bpy.data, "meshes" if kind == "MESH" else f"{kind.lower()}s", {})
    if library is None:
        return blocks.get((name, None))
    its = bpy.data.libraries.get(library)
    return None if its is None else blocks.get((name, its.filepath))
