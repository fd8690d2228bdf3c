"""Characters with a library override, and files of version 0.1.0: all is there after loading, and they play on."""

import json

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import build, built, remove
from active_ragdoll.core.blender.run import reconcile, simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import object as settings
from active_ragdoll.core.blender.settings import saved
from active_ragdoll.core.blender.stack import stack_edits

pytestmark = pytest.mark.blender_version

LAST = 14
DERIVED = {"name", "rna_type", "run_state", "state"}


def library(path, change=None):
    """A file with a character that brings a weight, a hit and a recovery setting of its own."""
    obj = rigs.swinging_human(rigs.empty_file(), 1, LAST)
    own = obj.active_ragdoll
    own.rotation_weight, own.recovery.regain = 0.6, 3.0
    hit = own.hits.add()
    hit.bone, hit.frame, hit.impulse = "head", 5, (1.0, 2.0, 3.0)
    obj.pose.bones["head"].active_ragdoll.rotation_weight = 0.5
    if change is not None:
        change(own)
    bpy.ops.wm.save_as_mainfile(filepath=path)


def overridden(path):
    """The character in a new file, with an override."""
    scene = rigs.empty_file()
    rigs.set_range(scene, 1, LAST)
    obj = rigs.link(path, scene).override_create(remap_local_usages=True)
    obj.location.z = 0.2
    return scene, obj


def reloaded(path):
    bpy.ops.wm.save_as_mainfile(filepath=path)
    return opened(path)


def opened(path):
    bpy.ops.wm.open_mainfile(filepath=path)
    scene = bpy.context.scene
    (obj,) = [o for o in scene.objects if o.override_library is not None]
    return scene, obj


def stored(obj):
    """All settings, and the constraints."""
    bones = {b.name: everything(b.active_ragdoll) for b in obj.pose.bones}
    constraints = {b.name: [(c.name, c.target.name, c.mute) for c in b.constraints] for b in obj.pose.bones}
    return everything(obj.active_ragdoll), bones, constraints


def everything(group):
    found = {}
    for prop in (p for p in group.bl_rna.properties if p.identifier != "rna_type"):
        value = getattr(group, prop.identifier)
        if prop.type == "COLLECTION":
            found[prop.identifier] = [everything(item) for item in value]
        elif isinstance(value, bpy.types.PropertyGroup):
            found[prop.identifier] = everything(value)
        elif prop.identifier not in DERIVED:
            found[prop.identifier] = tuple(value) if getattr(prop, "is_array", False) else value
            if isinstance(value, bpy.types.ID):
                found[prop.identifier] = value.name
    return found


def fill(scene, obj):
    """Something in every list, and values that are no defaults."""
    own = obj.active_ragdoll
    target = rigs.empty(scene, "Goal", (0.3, -2.0, 1.6))
    for i in range(3):
        hit = own.hits.add()
        hit.bone, hit.frame, hit.impulse = "spine", 6 + i, (0.0, float(i + 1), 0.5)
    own.hits[0].frame = 13  # the library's own
    own.hits[3].space, own.hits[3].target = "TOWARDS", target
    for i in range(2):
        blast = own.explosions.add()
        blast.frame, blast.radius, blast.origin = 30 + i, 2.0 + i, (float(i), 0.0, 0.0)
        item = own.attachments.add()
        item.name, item.bone, item.target, item.kind = f"Grip {i}", "forearm.L", target, "DISTANCE"
        item.enabled, item.length = bool(i), 1.5
        event = own.recovery.events.add()
        event.frame, event.phase = (4, "LIMP") if i == 0 else (9, "RECOVERING")
    own.recovery.enabled, own.recovery.rest_time = True, 0.7
    own.recovery.get_up_face_up = obj.animation_data.action
    stack_edits.set_up_look_at(obj, scene, target)
    stack_edits.add(obj, scene, "two_bone_ik", "forearm.R")
    stack_edits.add(obj, scene, "two_bone_ik", "shin.L")
    own.two_bone_ik[1].weight = own.two_bone_ik[0].weight = 0.0
    for i in range(3):
        layer = own.layers.add()
        layer.name, layer.weight = f"Layer {i}", 0.0
        stack_edits.choose(layer, obj.animation_data.action)
        item = layer.mask_bones.add()
        item.bone = "head"
    own.density, own.translation_weight, own.spring_frequency = 1234.0, 0.4, 2.5
    for i, bone in enumerate(obj.pose.bones):
        bone.active_ragdoll.rotation_weight = 1.0 - 0.05 * i
    obj.pose.bones["arm.L"].active_ragdoll.body_mode = "LIMP"
    obj.pose.bones["arm.R"].active_ragdoll.joint = "FREE"


def test_every_setting_may_be_overridden():
    for group in settings.classes():
        for prop in group.bl_rna.properties:
            assert prop.is_overridable or prop.identifier in DERIVED, (group.__name__, prop.identifier)


@pytest.fixture(scope="module")
def shot(tmp_path_factory):
    """A saved file with a filled, built, overridden character; what was stored and what a run showed before."""
    folder = tmp_path_factory.mktemp("override")
    library(str(folder / "library.blend"))
    scene, obj = overridden(str(folder / "library.blend"))
    build.build(obj, scene)
    fill(scene, obj)
    build.rebuild(obj, scene)
    shown = np.array(rigs.play(scene, 1, LAST, lambda: rigs.pose(obj)))
    assert np.abs(shown[-1] - shown[0]).max() > 0.1
    before = stored(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "shot.blend"))
    return str(folder / "shot.blend"), before, shown


def test_all_settings_and_lists_are_there_after_loading(shot):
    path, before, _shown = shot
    _scene, obj = opened(path)
    assert stored(obj) == before
    own = obj.active_ragdoll
    assert len(own.parts) == 15 and len(own.hits) == 4 and len(own.layers) == 3
    assert own.hits[3].target == bpy.data.objects["Goal"] and own.parts[3].body.rigid_body is not None
    assert not own.layout_changed


def test_it_simulates_and_its_cache_and_states_are_there_after_loading(shot):
    path, _before, shown = shot
    scene, obj = opened(path)
    found = [(rigs.pose(obj), obj.active_ragdoll.state) for _frame in simulate.frames(scene)]
    again, states = zip(*found, strict=True)
    assert np.abs(np.array(again) - shown).max() < 1e-6
    assert {"LIMP", "RECOVERING"} <= set(states)
    before = stored(obj)
    scene, obj = reloaded(path.replace("shot", "cached"))
    assert stored(obj) == before and obj.active_ragdoll.recovery.record
    for frame in (LAST, 3, 9):
        scene.frame_set(frame)
        assert obj.active_ragdoll.run_state == "CACHED" and obj.active_ragdoll.state == states[frame - 1]
        assert np.abs(rigs.pose(obj) - shown[frame - 1]).max() < 1e-5


def test_it_bakes_and_the_bake_is_there_after_loading_and_can_be_reverted(shot):
    path, _before, shown = shot
    scene, obj = opened(path)
    list(bake.bake_frames(obj, scene))
    scene, obj = reloaded(path.replace("shot", "baked"))
    assert obj.active_ragdoll.run_state == "BAKED"
    rigs.check_shown(scene, obj, dict(enumerate(shown, 1)), (LAST, 3, 9), 1e-4)
    bake.revert(obj)
    again = np.array(rigs.play(scene, 1, LAST, lambda: rigs.pose(obj)))
    assert np.abs(again - shown).max() < 1e-6
    remove.remove(obj, scene)
    assert not obj.active_ragdoll.is_ragdoll and scene.name not in STATE.messages


def test_what_is_not_overridden_still_comes_from_the_library(tmp_path):
    source, path = str(tmp_path / "library.blend"), str(tmp_path / "shot.blend")
    library(source)
    _scene, obj = overridden(source)
    obj.active_ragdoll.translation_weight = 0.3
    obj.active_ragdoll.recovery.rest_time = 0.9
    obj.pose.bones["spine"].active_ragdoll.max_torque = 7.0
    _scene, obj = reloaded(path)

    def change(own):
        own.rotation_weight, own.recovery.regain = 0.2, 5.0
        own.hits[0].frame = 9

    library(source, change)
    _scene, obj = opened(path)
    own = obj.active_ragdoll
    assert [round(v, 3) for v in (own.translation_weight, own.recovery.rest_time)] == [0.3, 0.9]
    assert obj.pose.bones["spine"].active_ragdoll.max_torque == 7.0
    assert [round(v, 3) for v in (own.rotation_weight, own.recovery.regain)] == [0.2, 5.0]
    assert [hit.frame for hit in own.hits] == [9]


TAGS = (built.KIND, built.BONE, built.NUMBER)


def characters(scene) -> list:
    """One with a bit of everything that helpers are made for, one with a motion stack, and one with a stack alone."""
    full = rigs.swinging_human(scene, 1, LAST)
    full.pose.bones["finger.L"].constraints.new("COPY_SCALE").target = full
    own = full.active_ragdoll
    own.drive_space = "JOINT"
    hit, attachment = own.hits.add(), own.attachments.add()
    hit.frame, hit.bone, hit.impulse = 4, "spine", (0.0, 30.0, 0.0)
    target = rigs.empty(scene, "Target", (1.0, -3.0, 1.6))
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
    later = {"postures": [], "facing": []}  # which 0.1.0 had not: such characters fall as rags
    return tags, [(c.active_ragdoll.owner, built.record(c) | later) for c in collections(obj)]


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
    if cached:
        list(simulate.frames(fresh_scene))
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
    obj = characters(fresh_scene)[0]
    name, count, path = obj.name, len(obj.active_ragdoll.parts), str(tmp_path / "old.blend")
    make_old(obj)
    bpy.data.libraries.write(path, {obj})
    scene = rigs.empty_file()
    build.build(rigs.human(scene, "Own"), scene)
    before = set(bpy.data.objects.keys())
    with bpy.data.libraries.load(path) as (_there, here):
        here.objects = [name]
    (appended,) = here.objects
    scene.collection.objects.link(appended)
    reconcile.reconcile(scene)
    assert len(appended.active_ragdoll.parts) == count and appended.active_ragdoll.physics_armature is not None
    remove.remove(appended)
    left = {o.name for o in bpy.data.objects} - before
    assert not [other for other in left if other.startswith(f"{name} ") and "Target" not in other], left
    build.build(appended, scene)
    rigs.play(scene, 1, 4)
    assert not STATE.messages


def test_a_library_override_of_0_1_0(tmp_path):
    """Blender drops from it what no class declares; it was written down beside it."""

    def as_json(value):
        if isinstance(value, dict | list):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            made = {name: as_json(each) for name, each in pairs}
            return made if isinstance(value, dict) else list(made.values())
        return [value.id_type, value.name, None] if isinstance(value, bpy.types.ID) else value

    library(str(tmp_path / "library.blend"))
    scene, obj = overridden(str(tmp_path / "library.blend"))
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
    assert found(obj) == was and np.array_equal(poses(scene, [obj]), before)
