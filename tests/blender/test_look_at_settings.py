"""Settings of look-at and leg stabilisers: keyed, stored, overridden; the weight's functions; smoothing and links."""

import math

import bpy
import numpy as np
import pytest

import looking
import rigs
from active_ragdoll.core.blender import look_at_api
from active_ragdoll.core.blender.stack import pose_stack, stack_edits
from active_ragdoll.core.errors import RagdollError


@pytest.fixture
def human(fresh_scene):
    return looking.to_its_side(fresh_scene, rigs.swinging_human(fresh_scene, 1, 48))


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


@pytest.mark.blender_version
def test_a_keyed_weight_is_read_at_the_frame(human, fresh_scene):
    whole = turned(human, fresh_scene, 20)
    rigs.key(human, "active_ragdoll.look_at[0].weight", {10: 0.0, 30: 1.0})
    rigs.interpolate(human, "LINEAR", "look_at")
    assert turned(human, fresh_scene, 10) < 1e-3
    assert 0.3 * whole < turned(human, fresh_scene, 20) < 0.7 * whole
    assert looking.aim_error(human, bpy.data.objects["Target"]) > 1.0
    fresh_scene.frame_set(30)
    assert looking.aim_error(human, bpy.data.objects["Target"]) < 0.05


@pytest.mark.blender_version
def test_keys_on_a_list_that_grew_after_the_set_up(human, fresh_scene):
    item = stack_edits.add(human, fresh_scene, "bone_transforms", "head")
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


@pytest.mark.blender_version
def test_a_driver_on_a_weight(human, fresh_scene):
    human.driver_add("active_ragdoll.look_at[0].weight").driver.expression = "0.0 if frame < 10 else 1.0"
    assert turned(human, fresh_scene, 9) < 1e-3
    fresh_scene.frame_set(10)
    assert looking.aim_error(human, bpy.data.objects["Target"]) < 0.05


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
    rigs.interpolate(target, "CONSTANT")
    chain.blend_speed = 4.0
    fresh_scene.frame_set(0)
    left = {}
    for frame in range(0, 2 * fps + 1):
        fresh_scene.frame_set(frame)
        left[frame] = looking.aim_error(human, target)
    ratio = left[step + fps] / left[step + fps // 2]
    assert ratio == pytest.approx(math.exp(-4.0 * 0.5), rel=0.01)
    pose_stack.forget()
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


# ---- stored ---------------------------------------------------------------------------------------------------------


@pytest.mark.blender_version
def test_a_library_override_is_set_up(human, fresh_scene, tmp_path):
    stack_edits.remove(human, "look_at")
    for _ in range(2):
        stack_edits.remove(human, "leg_stabilizers")
    linked = rigs.linked(tmp_path / "library.blend")
    scene = bpy.context.scene
    with pytest.raises(RagdollError, match="override"):
        stack_edits.set_up_look_at(linked, scene)
    obj = linked.override_create(remap_local_usages=True)
    if obj.name not in scene.objects:
        scene.collection.objects.link(obj)
    target = stack_edits.set_up_look_at(obj, scene).target
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
