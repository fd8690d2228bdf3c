"""A linked character with a library override: all its settings are there after saving and loading, and it plays on."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import object as settings
from active_ragdoll.core.blender.stack import stack_edits

pytestmark = pytest.mark.blender_version

LAST = 14
DERIVED = {"name", "rna_type", "run_state", "state"}


def library(path, change=None):
    """A file with a character that brings a weight, a hit and a recovery setting of its own."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    obj = rigs.swinging_human(bpy.context.scene, 1, LAST)
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
    target = bpy.data.objects.new("Goal", None)
    scene.collection.objects.link(target)
    target.location = (0.3, -2.0, 1.6)
    for i in range(3):
        hit = own.hits.add()
        hit.bone, hit.frame, hit.impulse = "spine", 6 + i, (0.0, float(i + 1), 0.5)
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
    after = stored(obj)
    for mine, its in zip(after, before, strict=True):
        assert mine.keys() == its.keys()
        for name in its:
            assert mine[name] == its[name], name
    own = obj.active_ragdoll
    assert len(own.parts) == 15 and len(own.hits) == 4 and len(own.layers) == 3
    assert own.hits[3].target == bpy.data.objects["Goal"] and own.parts[3].body.rigid_body is not None
    assert not own.layout_changed


def test_it_plays_as_before(shot):
    path, _before, shown = shot
    scene, obj = opened(path)
    again = np.array(rigs.play(scene, 1, LAST, lambda: rigs.pose(obj)))
    assert np.abs(again - shown).max() < 1e-6


def test_it_simulates_and_its_cache_and_states_are_there_after_loading(shot):
    path, _before, shown = shot
    scene, obj = opened(path)
    again, states = [], []
    for _frame in simulate.frames(scene):
        again.append(rigs.pose(obj))
        states.append(obj.active_ragdoll.state)
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
    list(bake.frames(obj, scene))
    scene, obj = reloaded(path.replace("shot", "baked"))
    assert obj.active_ragdoll.run_state == "BAKED"
    for frame in (LAST, 3, 9):
        scene.frame_set(frame)
        assert np.abs(rigs.pose(obj) - shown[frame - 1]).max() < 1e-4
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


def test_nothing_is_kept_of_characters_without_an_override(fresh_scene, tmp_path):
    obj = rigs.swinging_human(fresh_scene, 1, LAST)
    build.build(obj, fresh_scene)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a.blend"))
    assert fresh_scene.active_ragdoll.overrides == ""
