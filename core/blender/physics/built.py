"""What a build made: one record on the ragdoll's collection, and helpers found by their tags.

A character points at its collections only; all other objects of a ragdoll or a motion stack are found in them. So no
pointer can become wrong, as undo may leave pointers wrong and a duplicate of the character copies them all.
"""

import json
from dataclasses import dataclass, field
from functools import lru_cache

import bpy
import numpy as np

from ..rig.armature import armatures, with_ragdoll

KIND = "active_ragdoll_kind"  # tag of helpers and inner collections: what it is
BONE = "active_ragdoll_bone"  # tag of helpers of one bone
NUMBER = "active_ragdoll_number"  # tag of helpers of which a bone has several
OWNER = "active_ragdoll_of"  # on a body and its pieces: their character
BODY, TARGET, ANCHOR, JOINT, MOTOR, PIECE = "BODY", "TARGET", "ANCHOR", "JOINT", "MOTOR", "PIECE"
HITTER, ATTACHMENT, HOLDER = "HITTER", "ATTACHMENT", "HOLDER"
PHYSICS_ARMATURE, TARGET_ARMATURE = "PHYSICS_ARMATURE", "TARGET_ARMATURE"
BODIES, TARGETS = "BODIES", "TARGETS"  # collections


@dataclass
class Part:
    """One simulated bone. A helper is None where it was deleted or moved out of the collection."""

    bone: str
    parent: str  # to which the joint leads, "" at roots
    offset: np.ndarray  # bone frame to body frame [4, 4], world units
    bind: np.ndarray  # body in bind pose, in the armature's space at world scale [4, 4]
    inertia: float  # of all that the joint carries [kg m^2]; see `servo.carried_inertia`
    moments: np.ndarray  # the same about each of the body's axes in bind pose [3]; 0 in files of 0.1.0
    depth: int  # number of joints above it
    body: bpy.types.Object | None = None
    target: bpy.types.Object | None = None
    anchor: bpy.types.Object | None = None
    motors: list = field(default_factory=list)  # of the joint, numbered by their axes, see `joint_motors.MOTORS`


def tag(thing, kind: str, bone: str = "", number: int | None = None) -> None:
    """Mark an object or a collection as one of ours."""
    for name, value in ((KIND, kind), (BONE, bone), (NUMBER, number)):
        if value not in ("", None):
            thing[name] = value


def is_ours(thing) -> bool:
    return KIND in thing


def write(collection, parts: list[Part], height: float, scale: float) -> None:
    """Store the record of a build on its collection: `height` is the largest extent of the bind pose [m], `scale` the
    character's in the world at build time."""
    numbers = [map(_floats, (part.offset, part.bind, part.inertia, part.moments)) for part in parts]
    rows = [[part.bone, part.parent, *own, int(part.depth)] for part, own in zip(parts, numbers, strict=True)]
    own = {"height": _floats(height), "scale": _floats(scale), "followers": [], "joints": 0, "parts": rows}
    collection.active_ragdoll.record = json.dumps(own)


def note(collection, **more) -> None:
    """Add to the record of a build. "followers": names of bones without a body that follow by a constraint. "joints":
    number of constraint objects. "postures", "facing": see `joint_objects.note_postures`."""
    collection.active_ragdoll.record = json.dumps({**record(collection), **more})


def _floats(values) -> list | float:
    """Values in single precision, as in Blender's properties, so that reading them back gives the same bits."""
    single = np.asarray(values, dtype=np.float32).astype(float)
    return single.ravel().tolist() if single.ndim else float(single)


@lru_cache(maxsize=64)
def _read(text: str) -> dict:
    try:
        found = json.loads(text)
        if _is_sound(found):
            return found
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        pass
    return {}  # damaged: no bodies, so that a build is asked for


def _is_sound(found) -> bool:
    """Whether a record has what `write` and `note` store, with values that bodies can have; else it may raise, too."""
    rows, followers, sizes = found["parts"], found["followers"], [found["height"], found["scale"]]
    np.array(found.get("postures", []), dtype=float).reshape(-1, len(rows), 4)
    np.array(found.get("facing", []), dtype=float).reshape(-1, len(rows), 2, 3)
    above = {bone: parent for bone, parent, *_others in rows}
    for bone, parent, offset, bind, inertia, moments, depth in rows:
        frames = np.array([offset, bind], dtype=float).reshape(2, 4, 4)
        values = [*frames.ravel(), inertia, *moments, depth]
        solid = np.abs(np.linalg.det(frames)) > 0.0
        if not (np.isfinite(values).all() and solid.all() and len(moments) == 3 and min(inertia, *moments, depth) >= 0):
            return False
        if not (isinstance(bone, str) and bone) or (parent != "" and parent not in above):
            return False
    for _step in above:  # towards the roots: in a ring no end is reached
        above = {bone: above.get(parent, "") for bone, parent in above.items()}
    if len(above) < len(rows) or any(above.values()):
        return False
    named = isinstance(followers, list) and all(isinstance(name, str) for name in followers)
    return named and np.isfinite(sizes).all() and min(sizes) > 0.0 and isinstance(found["joints"], int)


def record(collection) -> dict:
    """What `write` and `note` stored."""
    text = collection.active_ragdoll.record if collection is not None else ""
    empty = {"height": 0.0, "scale": 1.0, "followers": [], "joints": 0, "parts": [], "postures": [], "facing": []}
    return empty | (_read(text) if text else {})


def parts(collection) -> list[Part]:
    """The bodies of a ragdoll with their helpers, in the order of its bones; a parent may come after its child."""
    rows = record(collection)["parts"]
    found: dict = {}
    for helper in collection.all_objects if rows else ():
        kind = helper.get(KIND)
        if kind == MOTOR:
            found.setdefault((kind, helper.get(BONE)), []).append(helper)
        elif kind in (BODY, TARGET, ANCHOR):
            found.setdefault((kind, helper.get(BONE)), helper)  # copies that a user has made come later
    result = []
    for bone, parent, offset, bind, inertia, moments, depth in rows:
        frames = (np.array(values).reshape(4, 4) for values in (offset, bind))
        own = (found.get((kind, bone)) for kind in (BODY, TARGET, ANCHOR))
        motors = found.get((MOTOR, bone), [])
        result.append(Part(bone, parent, *frames, inertia, np.array(moments), depth, *own, motors))
    return result


def parents_of(found: list[Part]) -> np.ndarray:
    """Row of every body's parent [m], -1 at roots."""
    row = {part.bone: i for i, part in enumerate(found)}
    return np.array([row.get(part.parent, -1) for part in found], dtype=int)


def part_of(obj, bone: str) -> Part | None:
    """The body of a character's bone; None where it has none."""
    return next((part for part in obj.active_ragdoll.parts if part.bone == bone), None)


def helpers(collection, kind: str) -> list:
    """All helpers of a kind in a collection of ours."""
    return [o for o in collection.objects if o.get(KIND) == kind] if collection is not None else []


def first(things, kind: str):
    """The first helper, or collection, of a kind; None where there is none."""
    return next((thing for thing in things if thing.get(KIND) == kind), None)


def duplicates(of: str = "collection") -> set:
    """The characters of the file that were made by duplicating another one, and share its helpers.

    Helpers belong to the character whose name was stored when they were made. Where no character of that name shares
    them, it was renamed before it was duplicated: the name of a duplicate is a longer one. `of` is the setting that
    points at the helpers: "collection" of a ragdoll, "motion_collection" of a stack.
    """
    sharing: dict = {}
    for obj in armatures(bpy.data.objects):
        sharing.setdefault(getattr(obj.active_ragdoll, of), []).append(obj)
    found = set()
    for collection, alike in sharing.items():
        if collection is not None:  # else the helpers are gone, with the one that they were built for or by hand
            name = collection.active_ragdoll.owner
            alike.remove(min(alike, key=lambda obj: (obj.name != name, len(obj.name), obj.name)))
        found.update(alike)
    return found


def ragdolls(scene) -> list:
    """The characters of a scene that have a ragdoll of their own."""
    others = duplicates()
    return [obj for obj in with_ragdoll(scene.objects) if obj.active_ragdoll.scene == scene and obj not in others]


def holds(scene, collection) -> bool:
    return scene is not None and scene.library is None and collection in set(scene.collection.children_recursive)


def scene_of(obj):
    """The scene of the file whose world has a ragdoll's bodies; None where that was deleted or is linked.

    That of a character in a full copy of a scene is the copy, though it still points at the first one."""
    collection, own = obj.active_ragdoll.collection, obj.active_ragdoll.scene
    holding = [scene for scene in bpy.data.scenes if holds(scene, collection)]
    return own if own in holding else next(iter(holding), None)


def guests(scene) -> list:
    """Characters of a scene that have their ragdoll in another one: linked, appended, or of a copied scene."""
    found = (obj for obj in with_ragdoll(bpy.data.objects) if obj.active_ragdoll.scene != scene)
    return [obj for obj in found if obj.library is not None or obj.name in scene.objects]


def gone(objects) -> list:
    """Those of some objects that were deleted, or joined into another one, and are kept only by what points at them."""
    places = *bpy.data.collections, *(scene.collection for scene in bpy.data.scenes)
    held = {obj for collection in places for obj in collection.objects}  # sooner than each object's `users_collection`
    return [obj for obj in objects if obj.library is None and obj not in held]


def orphans(scene) -> list:
    """The collections of ragdolls and motion stacks in a scene whose character was deleted."""
    characters = armatures(bpy.data.objects)
    settings = [obj.active_ragdoll for obj in set(characters).difference(gone(characters))]
    held = {own.collection for own in settings} | {own.motion_collection for own in settings}
    return [c for c in scene.collection.children_recursive if c.active_ragdoll.owner and c not in held]


def strays(scene) -> tuple[list, list]:
    """Helpers, and inner collections, of builds whose own collection was deleted by hand; not those of other scenes."""
    outer = [c for c in bpy.data.collections if c.active_ragdoll.owner]
    outer += [other.collection for other in bpy.data.scenes if other != scene]
    kept = {thing for collection in outer for thing in (*collection.all_objects, *collection.children_recursive)}
    found = bpy.data.objects, bpy.data.collections
    return tuple([t for t in things if t not in kept and is_ours(t) and t.library is None] for things in found)


def left_over(scene) -> list[str]:
    """Names of the deleted characters whose bodies are still in a scene."""
    return list(dict.fromkeys(collection.active_ragdoll.owner for collection in orphans(scene)))
