"""Characters with a library override, and files of version 0.1.0: all is there after loading, and they play on."""

import json

import bpy
import numpy as np
import pytest

import rigs
import test_settings
from active_ragdoll.core.blender.physics import build, built, remove
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
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
    rigs.changed(own.hits.add(), bone="head", frame=5, impulse=(1.0, 2.0, 3.0))
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


@pytest.fixture(scope="module")
def shot(tmp_path_factory):
    """A saved file with a built, overridden character that is knocked out; what was stored, and what a run showed."""
    folder = tmp_path_factory.mktemp("override")
    library(str(folder / "library.blend"))
    scene, obj = overridden(str(folder / "library.blend"))
    rigs.box(scene, "floor", (20.0, 20.0, 0.1), (0.0, 0.0, -0.05), passive=True)
    own = obj.active_ragdoll
    own.recovery.enabled, own.hits[0].frame, own.translation_weight = True, 13, 0.4
    for frame, phase in ((4, "LIMP"), (9, "RECOVERING")):
        rigs.changed(own.recovery.events.add(), frame=frame, phase=phase)
    stack_edits.set_up_look_at(obj, scene, rigs.empty(scene, "Goal", (0.3, -2.0, 1.6)))
    build.build(obj, scene)
    shown = np.array(rigs.play(scene, 1, LAST, lambda: rigs.pose(obj)))
    assert np.abs(shown[-1] - shown[0]).max() > 0.1
    before = stored(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "shot.blend"))
    return str(folder / "shot.blend"), before, shown


def test_all_settings_and_lists_are_there_after_loading(shot, monkeypatch):
    path, before, _shown = shot
    _scene, obj = opened(path)
    assert stored(obj) == before
    test_settings.fill(obj.active_ragdoll)
    monkeypatch.setattr(STATE, "building", True)  # callbacks would set other settings
    for owner in (obj, obj.pose.bones["arm.L"]):
        for group, name, _said in test_settings.settings_in(owner.active_ragdoll):
            setattr(group, name, test_settings.another(group, name))
    obj.active_ragdoll.hits[0].target = bpy.data.objects["Goal"]
    filled = stored(obj)
    _scene, obj = reloaded(path.replace("shot", "filled"))
    assert stored(obj) == filled != before
    assert len(obj.active_ragdoll.parts) == 15 and obj.active_ragdoll.parts[3].body.rigid_body is not None


def test_it_simulates_and_its_cache_and_states_are_there_after_loading(shot):
    path, _before, shown = shot
    scene, obj = opened(path)
    again, states = zip(*[(rigs.pose(obj), obj.active_ragdoll.state) for _frame in simulate.frames(scene)], strict=True)
    assert np.abs(np.array(again) - shown).max() < 1e-6
    assert {"LIMP", "RECOVERING"} <= set(states)
    before = stored(obj)
    scene, obj = reloaded(path.replace("shot", "cached"))
    assert stored(obj) == before and obj.active_ragdoll.recovery.record
    for frame in (LAST, 3, 9):
        scene.frame_set(frame)
        assert obj.active_ragdoll.run_state == "CACHED" and obj.active_ragdoll.state == states[frame - 1]
        assert np.abs(rigs.pose(obj) - shown[frame - 1]).max() < 1e-5


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


def character(scene):
    """With a bit of everything that helpers are made for."""
    full = rigs.swinging_human(scene, 1, LAST)
    full.pose.bones["finger.L"].constraints.new("COPY_SCALE").target = full
    own = full.active_ragdoll
    own.drive_space = "JOINT"
    hit, attachment = own.hits.add(), own.attachments.add()
    hit.frame, hit.bone, hit.impulse = 4, "spine", (0.0, 30.0, 0.0)
    target = rigs.empty(scene, "Target", (1.0, -3.0, 1.6))
    attachment.bone, attachment.target = "forearm.L", target
    stack_edits.set_up_look_at(full, scene, target)
    build.build(full, scene, np.array([not bone.name.startswith("finger") for bone in full.data.bones]))
    own = own.collection  # moments about each axis were not stored
    built.note(own, parts=[[*row[:5], [0.0] * 3, row[6]] for row in built.record(own)["parts"]])
    return full


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


def old_settings(obj) -> dict:
    """What 0.1.0 stored of what was built."""
    own = obj.active_ragdoll
    record, hitters = built.record(own.collection), built.helpers(own.collection, built.HITTER)
    numbers = sorted({joint[built.NUMBER] for joint in built.helpers(own.collection, built.ATTACHMENT)})
    return {
        **{name: getattr(own, name) for name in ("target_armature", "bodies", "targets", "physics_armature")},
        "height": record["height"],
        "built_scale": record["scale"],
        "followers": json.dumps(record["followers"]),
        "built_for": obj.name,
        "source": own.source,
        "parts": [old_part(part) for part in own.parts],
        "hitters": [{"bone": hitter[built.BONE], "object": hitter} for hitter in hitters],
        "attachment_parts": [old_attachment(own.collection, number) for number in numbers],
    }


def make_old(obj) -> None:
    """Store what a build made as 0.1.0 did, and nothing else."""
    old, target = old_settings(obj), obj.active_ragdoll.target_armature
    target.active_ragdoll.version = 0  # so that it has settings
    saved.stored(target)["posed_by"] = obj.name
    for name, value in old.items():
        saved.stored(obj)[name] = value
    for collection in collections(obj):
        for thing in (collection, *collection.objects):
            for tag in TAGS:
                thing.pop(tag, None)
        for name in ("owner", "record"):
            collection.active_ragdoll.property_unset(name)
    for name in ("source_name", "version"):
        obj.active_ragdoll.property_unset(name)


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
    joint, other, holder = (o for kind in (built.ATTACHMENT, built.HOLDER) for o in own if o[built.KIND] == kind)
    return {"joint": joint, "other_joint": other, "holder": holder}


@pytest.mark.parametrize("cached", (False, True))
def test_a_file_of_0_1_0_plays_as_before(fresh_scene, cached, tmp_path):
    obj = character(fresh_scene)
    if cached:
        list(simulate.frames(fresh_scene))
    before, was = rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(obj)), found(obj)
    kinds = {tags[1] for tags in was[0]}
    assert kinds >= {built.HITTER, built.ATTACHMENT, built.HOLDER, built.MOTOR, built.JOINT, built.PHYSICS_ARMATURE}
    make_old(obj)
    assert not obj.active_ragdoll.parts and obj.active_ragdoll.target_armature is None
    scene, obj = rigs.reopened(tmp_path / "old.blend", obj.name)  # which states the version of this one
    for damaged in ({}, {"source": "damaged"}):
        saved.stored(obj).update(damaged)
        obj.active_ragdoll.property_unset("version")
        assert saved.is_old(obj)  # also where it is appended
        saved.bring_up()
    assert found(obj) == was
    assert obj.active_ragdoll.source is not None and not {*saved.FORMER, "source"} & {*saved.stored(obj).keys()}
    assert obj.active_ragdoll.run_state == ("CACHED" if cached else "READY")
    # A cache that was loaded is read in single precision, where the session that made it still knows better.
    after = rigs.play(scene, 1, LAST, lambda: rigs.pose(obj))
    assert np.abs(np.array(after) - before).max() <= (1e-6 if cached else 0.0)
    helpers = {o.name for o in obj.active_ragdoll.collection.all_objects}
    remove.remove(obj, scene)
    assert not helpers & set(bpy.data.objects.keys())
