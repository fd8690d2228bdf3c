"""Settings of look-at and leg stabilisers: keyed, stored, overridden; the weight's functions; smoothing and links."""

import math

import bpy
import numpy as np
import pytest

import looking
import rigs
from active_ragdoll.core.blender import (
    build,
    look_at_api,
    look_at_setup,
    motion,
    motion_lists,
    remove,
)
from active_ragdoll.core.errors import RagdollError

OPERATORS = bpy.ops.active_ragdoll


@pytest.fixture
def human(fresh_scene):
    """A human in motion, set up to look at an Empty to its side."""
    obj = rigs.swinging_human(fresh_scene, 1, 48)
    target = bpy.data.objects.new("Target", None)
    fresh_scene.collection.objects.link(target)
    target.location = (1.5, -2.0, 1.6)
    look_at_setup.setup(obj, fresh_scene, target)
    fresh_scene.frame_set(1)
    return obj


def head(obj):
    return rigs.pose(obj)[obj.data.bones.find("head")]


def turned(obj, scene, frame) -> float:
    """How far the head is turned [deg] from what it is with the chain switched off."""
    chain = obj.active_ragdoll.look_at[0]
    scene.frame_set(frame)
    now = head(obj)
    chain.enabled = False
    scene.frame_set(frame)
    plain = head(obj)
    chain.enabled = True
    scene.frame_set(frame)
    return float(rigs.angles(now, plain))


# ---- weights --------------------------------------------------------------------------------------------------------


def test_a_keyed_weight_is_read_at_the_frame(human, fresh_scene):
    chain = human.active_ragdoll.look_at[0]
    whole = turned(human, fresh_scene, 20)
    for frame, weight in ((10, 0.0), (30, 1.0)):
        chain.weight = weight
        human.keyframe_insert("active_ragdoll.look_at[0].weight", frame=frame)
    for curve in rigs.curves_of(human.animation_data.action):
        if "look_at" in curve.data_path:
            for point in curve.keyframe_points:
                point.interpolation = "LINEAR"
    assert turned(human, fresh_scene, 10) < 1e-3
    assert 0.3 * whole < turned(human, fresh_scene, 20) < 0.7 * whole
    assert looking.aim_error(human, bpy.data.objects["Target"]) > 1.0
    fresh_scene.frame_set(30)
    assert looking.aim_error(human, bpy.data.objects["Target"]) < 0.05


def test_keys_on_a_character_that_had_none(fresh_scene):
    obj = rigs.human(fresh_scene)
    fresh_scene.frame_start, fresh_scene.frame_end = 1, 48
    look_at_setup.setup(obj, fresh_scene).target.location = (1.5, -2.0, 1.6)
    fresh_scene.frame_set(1)
    for frame, weight in ((5, 0.0), (6, 1.0)):
        obj.active_ragdoll.look_at[0].weight = weight
        obj.keyframe_insert("active_ragdoll.look_at[0].weight", frame=frame)
    fresh_scene.frame_set(5)
    plain = head(obj)
    fresh_scene.frame_set(6)
    assert rigs.angles(head(obj), plain) > 10.0
    fresh_scene.frame_set(5)
    assert rigs.angles(head(obj), plain) < 1e-3


def test_keys_on_a_list_that_grew_after_the_set_up(human, fresh_scene):
    item = motion_lists.add(human, fresh_scene, "bone_transforms", "head")
    item.rotation_space, item.rotation_mode = "BONE", "ADD"
    human.active_ragdoll.look_at[0].enabled = False
    for frame, angle in ((10, 0.0), (20, 1.0)):
        item.rotation = (0.0, angle, 0.0)
        human.keyframe_insert("active_ragdoll.bone_transforms[0].rotation", frame=frame)
    fresh_scene.frame_set(20)
    with_turn = head(human)
    item.enabled = False
    fresh_scene.frame_set(20)
    assert rigs.angles(with_turn, head(human)) == pytest.approx(math.degrees(1.0), abs=0.01)


def test_a_driver_on_a_weight(human, fresh_scene):
    human.driver_add("active_ragdoll.look_at[0].weight").driver.expression = "0.0 if frame < 10 else 1.0"
    assert turned(human, fresh_scene, 9) < 1e-3
    fresh_scene.frame_set(10)
    assert looking.aim_error(human, bpy.data.objects["Target"]) < 0.05


def test_leg_weight_keyed(human, fresh_scene):
    plain = {}
    human.active_ragdoll.look_at[0].enabled = False
    for frame in (10, 20):
        fresh_scene.frame_set(frame)
        plain[frame] = rigs.pose(human)
    human.active_ragdoll.look_at[0].enabled = True
    entry = motion_lists.add(human, fresh_scene, "entries", "hips")
    entry.limit, entry.rotate_around_up_weight = 1.0, 0.0
    bpy.data.objects["Target"].location = (2.0, 1.0, -1.0)
    for frame, weight in ((10, 0.0), (20, 1.0)):
        human.active_ragdoll.leg_stabilizers[0].ik_weight = weight
        human.keyframe_insert("active_ragdoll.leg_stabilizers[0].ik_weight", frame=frame)
    foot = human.data.bones.find(human.active_ragdoll.leg_stabilizers[0].foot_bone)
    moved = {}
    for frame in (10, 20):
        fresh_scene.frame_set(frame)
        moved[frame] = np.linalg.norm(rigs.pose(human)[foot][:3, 3] - plain[frame][foot][:3, 3])
    assert moved[10] > 0.02 and moved[20] < 1e-4 * 0.9


def test_the_weight_functions_have_the_articles_meaning(human, fresh_scene):
    api, fps = look_at_api, 24.0
    fresh_scene.frame_set(1)
    assert api.get_look_at_weight(human) == 1.0
    assert api.time_to_finish_transition(human) == 0.0 and not api.is_in_transition(human)
    assert api.disable_look_at(human, 1.0, frame=5)
    assert api.get_look_at_weight(human, frame=5 + fps / 4) == pytest.approx(0.75)
    assert api.is_in_transition(human, frame=11) and not api.is_in_transition(human, frame=30)
    assert api.time_to_finish_transition(human, frame=5 + fps / 4) == pytest.approx(0.75)
    # A call that does not cancel is ignored meanwhile; by default it cancels.
    assert not api.enable_look_at(human, 0.5, False, frame=17)
    assert api.get_look_at_weight(human, frame=29) == pytest.approx(0.0)
    assert api.enable_look_at(human, 0.5, frame=17)
    assert api.get_look_at_weight(human, frame=17) == pytest.approx(0.5)
    assert api.get_look_at_weight(human, frame=17 + fps / 4) == pytest.approx(0.75)
    # Setting cancels.
    api.set_look_at_weight(human, 0.2, frame=20)
    assert api.get_look_at_weight(human, frame=21) == pytest.approx(0.2)
    assert api.time_to_finish_transition(human, frame=21) == 0.0
    api.clear_events(human)
    assert api.get_look_at_weight(human, frame=21) == 1.0
    with pytest.raises(RagdollError, match="look-at chain 3"):
        api.get_look_at_weight(human, 3)
    with pytest.raises(RagdollError, match=r"1\.5"):
        api.set_look_at_weight(human, 1.5)
    with pytest.raises(RagdollError, match="-1"):
        api.enable_look_at(human, -1.0)


def test_transitions_show_the_same_in_any_order(human, fresh_scene):
    look_at_api.disable_look_at(human, 0.5, frame=10)
    look_at_api.enable_look_at(human, 0.5, frame=30)
    rig = rigs.Rig(human, fresh_scene, 1, 48)
    played = looking.shown(rig, range(1, 49))
    target = bpy.data.objects["Target"]
    for frame, pose in looking.shown(rig, (40, 16, 25, 33)).items():
        assert np.array_equal(pose, played[frame])
    for frame, reached in ((8, True), (16, False), (25, False), (36, False), (45, True)):
        fresh_scene.frame_set(frame)
        assert (looking.aim_error(human, target) < 0.05) == reached
    assert turned(human, fresh_scene, 25) < 1e-3


# ---- smoothing, links, reset ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fps", (12, 24, 48))
def test_blend_speed_means_the_same_at_any_frame_rate(human, fresh_scene, fps):
    """A step of the target at t = 0.5 s: the angle left decays as exp(-speed t), by its definition."""
    human.animation_data_clear()
    fresh_scene.render.fps = fps
    fresh_scene.frame_start, fresh_scene.frame_end = 0, 2 * fps
    target, chain = bpy.data.objects["Target"], human.active_ragdoll.look_at[0]
    while len(chain.entries) > 1:
        chain.entries.remove(1)
    step = fps // 2
    for frame, x in ((0, 0.0), (step, 0.0), (step + 1e-3, 1.5)):
        target.location = (x, -2.0, 1.6)
        target.keyframe_insert("location", frame=frame)
    for curve in rigs.curves_of(target.animation_data.action):
        for point in curve.keyframe_points:
            point.interpolation = "CONSTANT"
    chain.blend_speed = 4.0
    fresh_scene.frame_set(0)
    left = {}
    for frame in range(0, 2 * fps + 1):
        fresh_scene.frame_set(frame)
        left[frame] = looking.aim_error(human, target)
    ratio = left[step + fps] / left[step + fps // 2]
    assert ratio == pytest.approx(math.exp(-4.0 * 0.5), rel=0.01)
    motion.forget()
    fresh_scene.frame_set(step + fps // 2)
    assert looking.aim_error(human, target) == pytest.approx(left[step + fps // 2], abs=1e-4)


def test_linked_bones_take_the_same_turn(data_dir):
    rig, _target, plain = looking.set_up("metarig human", data_dir)
    chain = rig.obj.active_ragdoll.look_at[0]
    assert [link.bone for link in chain.entries[0].linked_bones] == ["eye.R"]
    rows = [rig.obj.data.bones.find(name) for name in ("eye.L", "eye.R", "spine.006")]
    for frame, pose in looking.shown(rig, (4, 12, 20)).items():
        turns = [pose[row][:3, :3] @ np.linalg.inv(plain[frame][row][:3, :3]) for row in rows]
        assert np.abs(turns[0] - turns[1]).max() < 1e-5
        assert np.abs(turns[0] - turns[2]).max() > 1e-2, "the eyes do not turn in the head: nothing is tested"


def test_reset_to_default_forgets_the_incoming_pose(human, fresh_scene):
    """The head swings; a chain that starts from bind pose aims with the roll of bind pose, the same at every frame."""
    chain = human.active_ragdoll.look_at[0]
    while len(chain.entries) > 1:
        chain.entries.remove(1)
    for curve in [c for c in rigs.curves_of(human.animation_data.action) if '"head"' not in c.data_path]:
        curve.mute = True
    frames = (5, 15, 25)
    swinging = [head(human) for frame in frames if fresh_scene.frame_set(frame) is None]
    assert max(rigs.angles(pose, swinging[0]) for pose in swinging) > 0.5, "the head does not roll"
    chain.entries[0].reset_to_default = True
    resting = [head(human) for frame in frames if fresh_scene.frame_set(frame) is None]
    assert max(rigs.angles(pose, resting[0]) for pose in resting) < 1e-3


def test_off_while_limp(human, fresh_scene):
    fresh_scene.frame_end = 30
    for item in human.active_ragdoll.leg_stabilizers:
        item.off_while_limp = True
    build.build(human, fresh_scene)
    entries = motion.of(human).entries
    read = next(entry.read for entry in entries if entry.kind == "LEG_STABILIZERS")

    class Places:
        source = None

        @staticmethod
        def remembered(_key, function):
            return function()

    rigs.play(fresh_scene, 1, 5)
    assert read(Places(), None) is not None
    rigs.key_weights(human, {1: 1.0, 8: 0.0})
    rigs.play(fresh_scene, 1, 7)
    read = next(e.read for e in motion.of(human).entries if e.kind == "LEG_STABILIZERS")
    assert read(Places(), None) is not None
    for frame in (8, 9, 10):
        fresh_scene.frame_set(frame)
    assert read(Places(), None) is None


# ---- stored ---------------------------------------------------------------------------------------------------------


def test_saved_and_loaded(human, fresh_scene, tmp_path):
    human.active_ragdoll.look_at[0].blend_speed = 3.0
    look_at_api.disable_look_at(human, 0.5, frame=20)
    played = looking.shown(rigs.Rig(human, fresh_scene, 1, 48), range(1, 31))
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "look.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "look.blend"))
    obj, scene = bpy.data.objects["Human"], bpy.context.scene
    for frame, pose in looking.shown(rigs.Rig(obj, scene, 1, 48), (25, 10, 30)).items():
        assert np.abs(pose - played[frame]).max() < 1e-6


def test_a_library_override_is_set_up(human, fresh_scene, tmp_path):
    motion_lists.remove(human, "look_at")
    for _ in range(2):
        motion_lists.remove(human, "leg_stabilizers")
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (_source, wanted):
        wanted.objects = ["Human"]
    scene = bpy.context.scene
    linked = bpy.data.objects["Human"]
    scene.collection.objects.link(linked)
    with pytest.raises(RagdollError, match="override"):
        look_at_setup.setup(linked, scene)
    obj = linked.override_create(remap_local_usages=True)
    if obj.name not in scene.objects:
        scene.collection.objects.link(obj)
    target = look_at_setup.setup(obj, scene).target
    target.location = (1.5, -2.0, 1.6)
    name = target.name
    scene.frame_set(12)
    assert looking.aim_error(obj, target) < 0.05
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    obj = next(o for o in bpy.context.scene.objects if o.type == "ARMATURE" and len(o.active_ragdoll.look_at))
    assert [entry.bone for entry in obj.active_ragdoll.look_at[0].entries] == ["head", "spine"]
    bpy.context.scene.frame_set(15)
    assert looking.aim_error(obj, bpy.data.objects[name]) < 0.05


def test_nothing_is_left_behind(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 24)
    before = rigs.counts(), sum(len(bone.constraints) for bone in obj.pose.bones)
    fresh_scene.frame_set(5)
    plain = rigs.pose(obj)
    target = look_at_setup.setup(obj, fresh_scene).target
    fresh_scene.frame_set(6)
    build.build(obj, fresh_scene)
    remove.remove(obj, fresh_scene)
    for what in ("look_at", "leg_stabilizers", "leg_stabilizers"):
        motion_lists.remove(obj, what)
    bpy.data.objects.remove(target)
    assert obj.active_ragdoll.target_armature is None
    assert (rigs.counts(), sum(len(bone.constraints) for bone in obj.pose.bones)) == before
    fresh_scene.frame_set(5)
    assert np.abs(rigs.pose(obj) - plain).max() < 1e-6
