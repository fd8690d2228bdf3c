"""Bringing the settings of older files up to date: the one place for it.

Characters and scenes carry the version of the layout that they were stored with; in files of 0.1.0 it is absent, 0.
A step may meet an owner that needs nothing of it, such as one made in this session.
"""

import json

import bpy
import numpy as np

from ..physics import body_meshes, built
from . import overrides
from .declare import walk

GROUP = "active_ragdoll"
# Of 0.1.0: pointers to helpers, and what a build had made; see `_tag_helpers`.
POINTERS = ("parts", "hitters", "attachment_parts", "bodies", "targets", "physics_armature", "target_armature")
BUILT = ("followers", "height", "built_scale", "built_for")


def stored(owner) -> dict:
    """The settings of an owner as they are in the file, also those that no class declares any more."""
    if hasattr(owner, "bl_system_properties_get"):  # Blender 5.0 and later
        system = owner.bl_system_properties_get()
        return {} if system is None else system.get(GROUP, {})
    return owner.get(GROUP, {})


def _let_go(owner) -> None:
    """Sources pointed at the actions of their character's graph, which kept those from being deleted."""
    copy = owner.active_ragdoll.source if isinstance(owner, bpy.types.Object) else None
    for group, name, said in walk(copy.active_ragdoll) if copy is not None else ():
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
    raw = stored(owner)
    # Blender drops what no class declares from a library override.
    old = raw if owner.override_library is None else {**dict(raw.items()), **overrides.kept(owner)}
    if not any(name in old for name in (*POINTERS, *BUILT)):
        return
    settings = owner.active_ragdoll
    if settings.motion_collection is not None:
        _tag(old.get("target_armature"), built.TARGET_ARMATURE)
        target = old.get("target_armature")
        posed_by = stored(target).get("posed_by", "") if target is not None else ""
        settings.motion_collection.active_ragdoll.owner = posed_by or owner.name
    if settings.collection is not None and len(old.get("parts", ())):
        _tag_ragdoll(settings, old)
        settings.collection.active_ragdoll.owner = old.get("built_for", "")
    for name in (*POINTERS, *BUILT):
        if name in raw:
            del raw[name]


def _tag_ragdoll(settings, old) -> None:
    for name, kind in (("bodies", built.BODIES), ("targets", built.TARGETS)):
        _tag(old.get(name), kind)
    _tag(old.get("physics_armature"), built.PHYSICS_ARMATURE)
    parts = []
    for part in old["parts"]:
        bone = part["bone"]
        for name, kind in (("body", built.BODY), ("target", built.TARGET), ("anchor", built.ANCHOR)):
            _tag(part.get(name), kind, bone)
        for motor in part.get("motors", ()):
            _tag(motor.get("empty"), built.MOTOR, bone, motor.get("index", 0))
        place = {name: np.array(part.get(name, np.zeros(16))).reshape(4, 4) for name in ("offset", "bind")}
        carried = {"inertia": part.get("inertia", 0.0), "moments": np.zeros(3)}
        parent, depth = part.get("parent", ""), part.get("depth", 0)
        parts.append(built.Part(bone, parent, **place, **carried, depth=depth))
    for hitter in old.get("hitters", ()):
        _tag(hitter.get("object"), built.HITTER, hitter["bone"])
    for number, part in enumerate(old.get("attachment_parts", ()), 1):
        for name in ("joint", "other_joint"):
            _tag(part.get(name), built.ATTACHMENT, number=number)
        _tag(part.get("holder"), built.HOLDER, number=number)
    for body, pieces in body_meshes.by_body(settings).items():
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


STEPS = (_let_go, _drop_copies, _tag_helpers)  # the first one leads from version 0 to 1, and so on
CURRENT = len(STEPS)


def bring_up(owners=None) -> None:
    """Take the steps that characters and scenes lack: those of the file, after it has been loaded, or some of them."""
    owners = [o for o in _owners() if _version(o) < CURRENT] if owners is None else list(owners)
    for i, step in enumerate(STEPS):
        for owner in owners:
            if _version(owner) <= i:
                step(owner)
    _note(owners)


def is_old(owner) -> bool:
    """Whether a version that stored other things has made an owner, which was appended from its file since."""
    return owner.active_ragdoll.version < CURRENT and any(name in stored(owner) for name in (*POINTERS, *BUILT))


def note() -> None:
    """Write down the version; before the file is saved."""
    _note(_owners())


def _note(owners) -> None:
    for owner in owners:
        if owner.active_ragdoll.version != CURRENT:
            owner.active_ragdoll.version = CURRENT


def _version(owner) -> int:
    """A library override may have its version from its library; the steps do nothing where nothing is old."""
    return owner.active_ragdoll.version if owner.override_library is None else 0


def _owners() -> list:
    """Characters and scenes of the file itself that have any of our settings."""
    owners = (*bpy.data.objects, *bpy.data.scenes)
    return [owner for owner in owners if owner.library is None and owner.is_property_set(GROUP)]
