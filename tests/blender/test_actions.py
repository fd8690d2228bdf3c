"""Baked actions: what is written plays, nothing else changes, and the old animation comes back exactly."""

import json
import math
from dataclasses import asdict

import bpy
import numpy as np
import pytest

from animated import (
    CHARACTERS,
    SAME,
    animate,
    animation_settings,
    character,
    curves,
    key_curve,
    matrices,
    played,
    random_poses,
    rig,
)
from core import quaternion, rotation_modes
from core.blender.bake import action_keys, actions
from core.blender.rig import action_channels
from core.errors import RagdollError
from motions import smooth_rotations

pytestmark = pytest.mark.blender_version


def test_decompose_gives_back_rotation_location_and_scale_also_mirrored():
    rng = np.random.default_rng(4)
    rotation = smooth_rotations(30, 5)
    scale = rng.uniform(0.2, 3.0, (30, 5, 3))
    scale[:, 2] *= -1.0
    poses = action_keys.Poses("abcde", np.arange(30), rng.normal(size=(30, 5, 3)), rotation, scale)
    location, again, sizes = rotation_modes.decompose(matrices(poses))
    np.testing.assert_array_equal(location, poses.location)
    np.testing.assert_allclose(sizes, scale, rtol=1e-12)
    assert quaternion.angle_between(again, rotation).max() < 1e-9
    assert np.all(np.sum(again[1:] * again[:-1], axis=-1) > 0.0)


# ------------------------------------------------------------------------------------------------------------
# What is baked plays


@pytest.mark.parametrize("name", CHARACTERS)
def test_baked_poses_play_without_flips(name):
    obj = character(name)
    bones = [bone.name for bone in obj.pose.bones]
    frames = np.arange(11, 51)
    poses = random_poses(obj, bones, frames)
    asked = matrices(poses)
    action, _ = actions.bake(obj, action_keys.Poses.from_matrix_basis(bones, frames, asked), "Baked")

    assert action_channels.current(obj)[0] == action
    assert np.abs(played(obj, frames) - asked).max() < SAME

    for curve in action_channels.fcurves_of(action, obj):
        if any(curve.data_path.endswith("." + prop) for prop in ("rotation_euler", "rotation_quaternion")):
            keys = action_keys._get_keys(curve)
            inside = (keys["co"][:, 0] >= 11) & (keys["co"][:, 0] <= 50)
            assert np.abs(np.diff(keys["co"][inside, 1])).max() <= math.pi
            assert np.all(keys["interpolation"][inside][:-1] == action_keys.LINEAR)

    # Half-way the rotation is near the middle of the arc: nlerp meets it exactly at one half, Euler angles
    # and axis and angle stay within the step itself.
    halves = played(obj, frames[:-1], subframe=0.5)
    _, half, _ = rotation_modes.decompose(halves)
    arc = quaternion.slerp(poses.rotation[:-1], poses.rotation[1:], np.full(poses.rotation[1:].shape[:2], 0.5))
    error = quaternion.angle_between(half, arc)
    step = quaternion.angle_between(poses.rotation[1:], poses.rotation[:-1])
    for row, bone in enumerate(obj.pose.bones):
        limit = 1e-5 if bone.rotation_mode == "QUATERNION" else step[:, row] + 1e-5
        assert np.all(error[:, row] <= limit), (bone.name, bone.rotation_mode)


def test_enum_values_of_keys_are_blenders():
    items = bpy.types.Keyframe.bl_rna.properties["interpolation"].enum_items
    assert (items["CONSTANT"].value, items["LINEAR"].value) == (action_keys.CONSTANT, action_keys.LINEAR)
    items = bpy.types.Keyframe.bl_rna.properties["handle_left_type"].enum_items
    assert items["FREE"].value == action_keys.FREE_HANDLE
    assert items["AUTO_CLAMPED"].value == action_keys.AUTO_CLAMPED_HANDLE


def test_channels_at_rest_are_left_out_and_connected_bones_get_no_location():
    obj = rig(["root", "still", "moves", "tied"], connected=(3,))
    frames = np.arange(1, 21)
    poses = random_poses(obj, list(obj.pose.bones.keys()), frames, scaled=False)
    poses.location[:, :2] = 0.0
    poses.location[:, 3] = 0.5
    action, _ = actions.bake(obj, poses, "Baked")
    paths = {curve.data_path for curve in action_channels.fcurves_of(action, obj)}
    rotations = {action_channels.bone_path(bone, "rotation_quaternion") for bone in poses.bones}
    assert paths == rotations | {action_channels.bone_path("moves", "location")}
    assert {curve.group.name for curve in action_channels.fcurves_of(action, obj)} == set(poses.bones)


def test_rest_is_keyed_where_the_old_action_or_the_property_has_something_else():
    obj = rig(["a", "b"])
    old = animate(obj, ["a"], [1, 20])
    obj.pose.bones["b"].location = (0.0, 2.0, 0.0)
    frames = np.arange(1, 21)
    poses = random_poses(obj, ["a", "b"], frames, scaled=False)
    poses.location[:] = 0.0
    _, state = actions.bake(obj, poses, "Baked")
    assert np.abs(played(obj, frames) - matrices(poses)).max() < SAME
    actions.restore(obj, state, old)
    bpy.context.scene.frame_set(5)
    assert obj.pose.bones["b"].location[:] == (0.0, 2.0, 0.0)


@pytest.mark.parametrize("mode", ("QUATERNION", "ZYX", "AXIS_ANGLE"))
def test_reduced_keys_play_within_the_tolerance(mode):
    obj = rig([f"bone.{i}" for i in range(10)], (mode,))
    frames = np.arange(1, 121)
    bones = list(obj.pose.bones.keys())
    poses = random_poses(obj, bones, frames)
    tolerance = action_keys.Tolerance(rotation=math.radians(2.0), location=0.01, scale=0.005)
    action, _ = actions.bake(obj, poses, "Baked", tolerance=tolerance)
    location, rotation, scale = rotation_modes.decompose(played(obj, frames))
    # The allowance is the single precision of what Blender gives back.
    assert quaternion.angle_between(rotation, poses.rotation).max() <= tolerance.rotation + 1e-6
    assert np.linalg.norm(location - poses.location, axis=-1).max() <= tolerance.location + 1e-6
    assert np.linalg.norm(scale - poses.scale, axis=-1).max() <= tolerance.scale + 1e-6
    keys = [len(curve.keyframe_points) for curve in action_channels.fcurves_of(action, obj)]
    assert np.mean(keys) < 0.9 * len(frames)


@pytest.mark.parametrize("frames", ([7], np.arange(-10, 10) * 0.5))
def test_single_fractional_and_negative_frames_bake(frames):
    obj = rig(["a", "b", "c"], ("XYZ", "QUATERNION", "AXIS_ANGLE"))
    poses = random_poses(obj, ["a", "b", "c"], frames)
    actions.bake(obj, poses, "Baked")
    for frame, asked in zip(frames, matrices(poses), strict=True):
        assert np.abs(played(obj, [int(np.floor(frame))], subframe=frame % 1.0) - asked).max() < SAME
    if len(frames) == 1:
        assert np.abs(played(obj, [1, 30]) - matrices(poses)).max() < SAME


# ------------------------------------------------------------------------------------------------------------
# Nothing else changes


def test_other_channels_and_the_old_action_stay_bit_for_bit():
    obj = rig(["a", "b", "c"], ("QUATERNION", "XYZ"))
    old = animate(obj, ["a", "b", "c"], [1, 7, 30])
    obj["prop"] = 1.0
    obj.pose.bones["c"]["own"] = 1.0
    key_curve(old, obj, "location", 0, [(1, 0), (30, 5)])
    key_curve(old, obj, '["prop"]', 0, [(1, 0), (30, 5)])
    key_curve(old, obj, 'pose.bones["c"]["own"]', 0, [(1, 0), (30, 5)]).modifiers.new("CYCLES")
    key_curve(old, obj, action_channels.bone_path("a", "rotation_euler"), 0, [(1, 0), (30, 5)])
    if action_channels.has_slots():
        other = old.slots.new(id_type="OBJECT", name="another")
        curve = action_channels.channels_of(old, other, ensure=True).fcurves.new("location", index=1)
        curve.keyframe_points.insert(3, 4.0)
    before = curves(old, obj)
    frames = np.arange(5, 21)
    poses = random_poses(obj, ["a"], frames)
    baked, _ = actions.bake(obj, poses, "Baked")
    after = curves(baked, obj)
    untouched = {key for key in before if '"a"' not in key[0]}
    assert len(untouched) == 4 + 3 + 3 + 3 + 3
    assert {key: after[key] for key in untouched} == {key: before[key] for key in untouched}
    assert curves(old, obj) == before
    assert not any(path.endswith("rotation_euler") and '"a"' in path for path, _ in after), "stale rotation mode"
    if action_channels.has_slots():
        copy = next(slot for slot in baked.slots if slot.identifier == other.identifier)
        assert action_channels.channels_of(baked, copy).fcurves.find("location", index=1).evaluate(3) == 4.0


@pytest.mark.parametrize("name", ("Knight.glb", "01_01.bvh", "all Euler orders"))
def test_revert_restores_settings_and_poses_exactly(name):
    obj = character(name)
    if obj.animation_data is None:
        animate(obj, list(obj.pose.bones.keys())[::2], [1, 12, 40])
    obj.animation_data.action_blend_type = "COMBINE"
    obj.animation_data.action_influence = 0.75
    obj.animation_data.action_extrapolation = "NOTHING"
    old, slot = action_channels.current(obj)
    frames = np.arange(1, 31)
    before = played(obj, range(-5, 50))
    settings, keys = animation_settings(obj), curves(old, obj)
    poses = random_poses(obj, list(obj.pose.bones.keys()), frames)
    _, state = actions.bake(obj, poses, "Baked")
    assert np.abs(played(obj, frames) - matrices(poses)).max() < SAME
    actions.restore(obj, actions.AnimationState(**json.loads(json.dumps(asdict(state)))), old)
    assert animation_settings(obj) == settings
    assert curves(old, obj) == keys
    assert action_channels.current(obj) == (old, slot)
    np.testing.assert_array_equal(played(obj, range(-5, 50)), before)


def test_character_without_animation_is_as_before_after_revert():
    obj = rig(["a", "b"])
    obj.pose.bones["a"].rotation_quaternion = (0.6, 0.8, 0.0, 0.0)
    before = played(obj, [1, 20])
    poses = random_poses(obj, ["a", "b"], np.arange(1, 11))
    _, state = actions.bake(obj, poses, "Baked")
    held = played(obj, [0, 1, 10, 11])
    np.testing.assert_array_equal(held[0], held[1])
    np.testing.assert_array_equal(held[2], held[3])
    actions.restore(obj, state, None)
    assert obj.animation_data is None
    np.testing.assert_array_equal(played(obj, [1, 20]), before)


def test_failure_on_the_way_leaves_nothing_behind(monkeypatch):
    obj = rig(["a", "b"])
    animate(obj, ["a"], [1, 20])
    settings, count = animation_settings(obj), len(bpy.data.actions)

    def fail(*_):
        raise RuntimeError("on purpose")

    monkeypatch.setattr(actions, "_mute_drivers", fail)
    with pytest.raises(RuntimeError, match="on purpose"):
        actions.bake(obj, random_poses(obj, ["a", "b"], np.arange(1, 11)), "Baked")
    assert animation_settings(obj) == settings
    assert len(bpy.data.actions) == count


def test_unknown_bone_is_refused_by_name():
    obj = rig(["a"])
    poses = random_poses(obj, ["a"], np.arange(1, 4))
    poses = action_keys.Poses(["nobody"], poses.frames, poses.location, poses.rotation, poses.scale)
    with pytest.raises(RagdollError, match="nobody"):
        actions.bake(obj, poses, "Baked")
    assert obj.animation_data is None
