"""Files of version 0.1.0 play on: what it stored by pointers is found as helpers with tags, and one record."""

import json

import bpy
import numpy as np
import pytest

import rigs
import test_override_kept
from active_ragdoll.core.blender.physics import build, built, remove
from active_ragdoll.core.blender.run import reconcile, simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import saved
from active_ragdoll.core.blender.stack import stack_edits

pytestmark = pytest.mark.blender_version

LAST = 12
TAGS = (built.KIND, built.BONE, built.NUMBER)


def characters(scene) -> list:
    """One with a bit of everything that helpers are made for, one with a motion stack, and one with a stack alone."""
    full = rigs.swinging_human(scene, 1, LAST)
    full.pose.bones["finger.L"].constraints.new("COPY_SCALE").target = full
    own = full.active_ragdoll
    own.drive_space = "JOINT"
    hit, attachment = own.hits.add(), own.attachments.add()
    hit.frame, hit.bone, hit.impulse = 4, "spine", (0.0, 30.0, 0.0)
    target = bpy.data.objects.new("Target", None)
    scene.collection.objects.link(target)
    target.location = (1.0, -3.0, 1.6)
    attachment.bone, attachment.target = "forearm.L", target
    others = [rigs.human(scene, name) for name in ("Looking", "Stack")]
    for place, obj in enumerate(others, 1):
        obj.location.x = 5.0 * place
        stack_edits.set_up_look_at(obj, scene, target)
    build.build(full, scene, np.array([not bone.name.startswith("finger") for bone in full.data.bones]))
    build.build(others[0], scene)
    for obj in (full, others[0]):
        zero_moments(obj)
    return [full, *others]


def zero_moments(obj) -> None:
    """Moments about each axis were not stored."""
    own = obj.active_ragdoll.collection
    built.note(own, parts=[[*row[:5], [0.0] * 3, row[6]] for row in built.record(own)["parts"]])


def collections(obj) -> list:
    own = obj.active_ragdoll
    outer = [c for c in (own.collection, own.motion_collection) if c is not None]
    return [*outer, *(inner for c in outer for inner in c.children)]


def found(obj) -> tuple:
    """Everything that tags and the record say of a character."""
    things = {thing for c in collections(obj) for thing in (c, *c.objects)}
    tags = {(thing.name, *(thing.get(tag) for tag in TAGS)) for thing in things}
    return tags, [(c.active_ragdoll.owner, built.record(c)) for c in collections(obj)]


def raw(obj):
    """The stored settings of an object, as an ID property."""
    if not hasattr(obj, "bl_system_properties_get"):
        return obj[saved.GROUP]
    return obj.bl_system_properties_get()[saved.GROUP]


def old_settings(obj) -> dict:
    """What 0.1.0 stored of what was built."""
    own, old = obj.active_ragdoll, {}
    if own.target_armature is not None:
        old["target_armature"] = own.target_armature
    if own.collection is not None:
        record = built.record(own.collection)
        old["height"], old["built_scale"] = record["height"], record["scale"]
        old["followers"], old["built_for"] = json.dumps(record["followers"]), obj.name
        old["bodies"], old["targets"], old["physics_armature"] = own.bodies, own.targets, own.physics_armature
        old["parts"] = [old_part(part) for part in own.parts]
        hitters = built.helpers(own.collection, built.HITTER)
        old["hitters"] = [{"bone": hitter[built.BONE], "object": hitter} for hitter in hitters]
        numbers = sorted({joint[built.NUMBER] for joint in built.helpers(own.collection, built.ATTACHMENT)})
        old["attachment_parts"] = [old_attachment(own.collection, number) for number in numbers]
    return old


def make_old(obj) -> None:
    """Store what a build made as 0.1.0 did, and nothing else."""
    old, target = old_settings(obj), obj.active_ragdoll.target_armature
    if target is not None:
        target.active_ragdoll.version = 0  # so that it has settings
        raw(target)["posed_by"] = obj.name
    for name, value in old.items():
        raw(obj)[name] = value
    forget(obj)


def forget(obj) -> None:
    """Take all tags and records away."""
    for collection in collections(obj):
        for thing in (collection, *collection.objects):
            for tag in TAGS:
                thing.pop(tag, None)
        for name in ("owner", "record"):
            collection.active_ragdoll.property_unset(name)
    obj.active_ragdoll.property_unset("version")


def old_part(part) -> dict:
    result = {"bone": part.bone, "body": part.body, "target": part.target, "anchor": part.anchor, "depth": part.depth}
    result |= {"offset": part.offset.ravel().tolist(), "bind": part.bind.ravel().tolist(), "inertia": part.inertia}
    if part.parent:
        result["parent"] = part.parent
    if part.motors:
        result["motors"] = [{"empty": motor, "index": motor[built.NUMBER]} for motor in part.motors]
    return result


def old_attachment(collection, number: int) -> dict:
    own = [o for o in collection.objects if o.get(built.NUMBER) == number]
    joints = [o for o in own if o[built.KIND] == built.ATTACHMENT]
    holders = [o for o in own if o[built.KIND] == built.HOLDER]
    return {"joint": joints[0], "other_joint": joints[1], "holder": holders[0]}


def poses(scene, objects) -> list:
    return rigs.play(scene, 1, LAST, lambda: np.concatenate([rigs.pose(obj) for obj in objects]))


@pytest.mark.parametrize("cached", (False, True))
def test_a_file_of_0_1_0_plays_as_before(fresh_scene, cached, tmp_path):
    objects = characters(fresh_scene)
    names = [obj.name for obj in objects]
    for _frame in simulate.frames(fresh_scene) if cached else ():
        pass
    before, was = poses(fresh_scene, objects), [found(obj) for obj in objects]
    kinds = {tags[1] for tags in was[0][0]}
    assert kinds >= {built.HITTER, built.ATTACHMENT, built.HOLDER, built.MOTOR, built.JOINT, built.PHYSICS_ARMATURE}
    for obj in objects:
        make_old(obj)
        assert not obj.active_ragdoll.parts and obj.active_ragdoll.target_armature is None
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "old.blend"))  # which states the version of this one
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "old.blend"))
    scene, objects = bpy.context.scene, [bpy.data.objects[name] for name in names]
    for obj in objects:
        obj.active_ragdoll.property_unset("version")
    saved.bring_up()
    assert [found(obj) for obj in objects] == was
    for obj in objects:
        assert not {*saved.POINTERS, *saved.BUILT} & set(raw(obj).keys())
    assert [obj.active_ragdoll.run_state for obj in objects] == [*["CACHED" if cached else "READY"] * 2, "NONE"]
    # A cache that was loaded is read in single precision, where the session that made it still knows better.
    assert np.abs(np.array(poses(scene, objects)) - before).max() <= (1e-6 if cached else 0.0)
    assert not STATE.messages
    helpers = {o.name for obj in objects[:2] for o in obj.active_ragdoll.collection.all_objects}
    remove.remove_all(objects[:2], scene)
    assert not helpers & set(bpy.data.objects.keys())


def test_an_appended_character_of_0_1_0(fresh_scene, tmp_path):
    """In a file that has a ragdoll of its own; no handler tells of what is appended."""
    name = characters(fresh_scene)[0].name
    make_old(bpy.data.objects[name])
    path = str(tmp_path / "old.blend")
    bpy.data.libraries.write(path, {bpy.data.objects[name]})
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    build.build(rigs.human(scene, "Own"), scene)
    before = set(bpy.data.objects.keys())
    with bpy.data.libraries.load(path) as (_there, here):
        here.objects = [name]
    appended = here.objects[0]
    scene.collection.objects.link(appended)
    reconcile.reconcile(scene)
    assert len(appended.active_ragdoll.parts) == 13 and appended.active_ragdoll.physics_armature is not None
    remove.remove(appended)
    left = {o.name for o in bpy.data.objects} - before
    assert not [other for other in left if other.startswith(f"{name} ") and "Target" not in other], left
    build.build(appended, scene)
    rigs.play(scene, 1, 4)
    assert not STATE.messages


def as_json(value):
    """As characters with a library override have it: data-blocks by type, name and library."""
    if isinstance(value, dict):
        return {name: as_json(each) for name, each in value.items()}
    if isinstance(value, list):
        return [as_json(each) for each in value]
    return [value.id_type, value.name, None] if isinstance(value, bpy.types.ID) else value


def test_a_library_override_of_0_1_0(tmp_path):
    """Blender drops from it what no class declares; it was written down beside it."""
    path = str(tmp_path / "library.blend")
    test_override_kept.library(path)
    scene, obj = test_override_kept.overridden(path)
    obj.active_ragdoll.drive_space = "JOINT"
    build.build(obj, scene)
    zero_moments(obj)
    before, was = poses(scene, [obj]), found(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "old.blend"))
    kept = json.loads(scene.active_ragdoll.overrides)
    kept[obj.name]["object"] |= as_json(old_settings(obj))
    scene.active_ragdoll.overrides = json.dumps(kept)
    forget(obj)
    assert not obj.active_ragdoll.parts
    saved.bring_up()
    assert found(obj) == was
    assert np.array_equal(poses(scene, [obj]), before)
