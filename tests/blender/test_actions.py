"""Baked actions: what is written plays, nothing else changes, and the old animation comes back exactly; outside of the
baked range it plays on. Also over NLA tracks and drivers."""

import math

import bpy
import numpy as np
import pytest

import animated
from animated import SAME, animate, animation_settings, bake, curves, key_curve, matrices, played, random_poses, restore
from core import keyframes, quaternion
from core.blender.bake import action_keys, actions
from core.blender.rig import action_channels
from refusals import refuses

pytestmark = pytest.mark.blender_version


@pytest.mark.parametrize("name", animated.CHARACTERS)
def test_baked_poses_play_without_flips(name):
    obj = animated.character(name)
    bones = [bone.name for bone in obj.pose.bones]
    frames = np.arange(11, 51)
    poses = random_poses(obj, bones, frames)
    asked = matrices(poses)
    action, *_ = actions.bake(obj, action_keys.Poses.from_matrix_basis(bones, frames, asked), "Baked")
    assert np.abs(played(obj, frames) - asked).max() < SAME
    for curve in action_channels.fcurves_of(action, obj):
        if any(curve.data_path.endswith("." + prop) for prop in ("rotation_euler", "rotation_quaternion")):
            keys = action_keys._get_keys(curve)
            inside = (keys["co"][:, 0] >= 11) & (keys["co"][:, 0] <= 50)
            assert np.abs(np.diff(keys["co"][inside, 1])).max() <= math.pi
            assert np.all(keys["interpolation"][inside][:-1] == action_keys.LINEAR)
    # Half-way the rotation is near the middle of the arc: nlerp meets it exactly at one half, Euler angles
    # and axis and angle stay within the step itself.
    _, half, _ = keyframes.decompose(played(obj, frames[:-1], later=0.5))
    arc = quaternion.slerp(poses.rotation[:-1], poses.rotation[1:], np.full(poses.rotation[1:].shape[:2], 0.5))
    error = quaternion.angle_between(half, arc)
    step = quaternion.angle_between(poses.rotation[1:], poses.rotation[:-1])
    for row, bone in enumerate(obj.pose.bones):
        limit = 1e-5 if bone.rotation_mode == "QUATERNION" else step[:, row] + 1e-5
        assert np.all(error[:, row] <= limit), (bone.name, bone.rotation_mode)


def test_channels_at_rest_are_left_out_and_connected_bones_get_no_location():
    obj = animated.rig(["root", "still", "moves", "tied"], connected=(3,))
    poses = random_poses(obj, list(obj.pose.bones.keys()), np.arange(1, 21), scaled=False)
    poses.location[:, :2] = 0.0
    poses.location[:, 3] = 0.5
    action, *_ = actions.bake(obj, poses, "Baked")
    paths = {curve.data_path for curve in action_channels.fcurves_of(action, obj)}
    rotations = {action_channels.bone_path(bone, "rotation_quaternion") for bone in poses.bones}
    assert paths == rotations | {action_channels.bone_path("moves", "location")}
    assert {curve.group.name for curve in action_channels.fcurves_of(action, obj)} == set(poses.bones)


@pytest.mark.parametrize("mode", ("QUATERNION", "ZYX", "AXIS_ANGLE"))
def test_reduced_keys_play_within_the_tolerance(mode):
    obj = animated.rig([f"bone.{i}" for i in range(10)], (mode,))
    frames = np.arange(1, 121)
    poses = random_poses(obj, list(obj.pose.bones.keys()), frames)
    tolerance = action_keys.Tolerance(rotation=math.radians(2.0), location=0.01, scale=0.005)
    action, *_ = actions.bake(obj, poses, "Baked", tolerance=tolerance)
    location, rotation, scale = keyframes.decompose(played(obj, frames))
    # The allowance is the single precision of what Blender gives back.
    assert quaternion.angle_between(rotation, poses.rotation).max() <= tolerance.rotation + 1e-6
    assert np.linalg.norm(location - poses.location, axis=-1).max() <= tolerance.location + 1e-6
    assert np.linalg.norm(scale - poses.scale, axis=-1).max() <= tolerance.scale + 1e-6
    keys = [len(curve.keyframe_points) for curve in action_channels.fcurves_of(action, obj)]
    assert np.mean(keys) < 0.9 * len(frames)


def test_other_channels_and_the_old_action_stay_bit_for_bit():
    obj = animated.rig(["a", "b", "c"], ("QUATERNION", "XYZ"))
    old = animate(obj, ["a", "b", "c"], [1, 7, 30])
    obj["prop"] = obj.pose.bones["c"]["own"] = 1.0
    for path in ("location", '["prop"]', action_channels.bone_path("a", "rotation_euler")):
        key_curve(old, obj, path, 0, [(1, 0), (30, 5)])
    key_curve(old, obj, 'pose.bones["c"]["own"]', 0, [(1, 0), (30, 5)]).modifiers.new("CYCLES")
    if action_channels.has_slots():
        other = old.slots.new(id_type="OBJECT", name="another")
        curve = action_channels.channels_of(old, other, ensure=True).fcurves.new("location", index=1)
        curve.keyframe_points.insert(3, 4.0)
    before = curves(old, obj)
    _, baked, _ = bake(obj, ["a"], range(5, 21), scaled=True)
    after = curves(baked, obj)
    untouched = {key for key in before if '"a"' not in key[0]}
    assert len(untouched) == 4 + 3 + 3 + 3 + 3
    assert {key: after[key] for key in untouched} == {key: before[key] for key in untouched}
    assert curves(old, obj) == before
    assert not any(path.endswith("rotation_euler") and '"a"' in path for path, _ in after), "stale rotation mode"
    if action_channels.has_slots():
        copy = next(slot for slot in baked.slots if slot.identifier == other.identifier)
        assert action_channels.channels_of(baked, copy).fcurves.find("location", index=1).evaluate(3) == 4.0


def test_character_without_animation_is_as_before_after_revert():
    obj = animated.rig(["a", "b"])
    obj.pose.bones["a"].rotation_quaternion = (0.6, 0.8, 0.0, 0.0)
    before = played(obj, [1, 20])
    _, _, state = bake(obj, ["a", "b"], range(1, 11), scaled=True)
    held = played(obj, [0, 1, 10, 11])
    np.testing.assert_array_equal(held[::3], held[1:3])
    restore(obj, state)
    assert obj.animation_data is None
    np.testing.assert_array_equal(played(obj, [1, 20]), before)


@pytest.mark.parametrize("interpolation", ("BEZIER", "ELASTIC"))
@pytest.mark.parametrize("keys", ([-3, 90], [1.5, 18.25, 44.75, 60], [30]))
def test_old_animation_plays_on_every_whole_frame_outside(interpolation, keys):
    obj = animated.rig(["a", "b"], ("QUATERNION", "XYZ"))
    old = animate(obj, ["a", "b"], keys)
    for curve in action_channels.fcurves_of(old, obj):
        for key in curve.keyframe_points:
            key.interpolation = interpolation
        curve.extrapolation = "LINEAR" if curve.array_index == 1 else "CONSTANT"
        curve.update()
    outside = [*range(-10, 20), *range(41, 100)]
    before = played(obj, outside)
    _, _, state = bake(obj, ["a"], range(20, 41))
    inside = played(obj, (20, 40), ["a"])
    after = played(obj, outside)
    np.testing.assert_array_equal(after[:, 1], before[:, 1])
    if min(keys) < 20:
        assert np.abs(after[:30] - before[:30]).max() < SAME
    else:
        assert np.abs(after[:30, 0] - inside[0]).max() < 1e-6
    if max(keys) > 40:
        assert np.abs(after[30:] - before[30:]).max() < SAME * 10  # values up to about 30
    else:
        assert np.abs(after[30:, 0] - inside[-1]).max() < 1e-6
    restore(obj, state, old)
    np.testing.assert_array_equal(played(obj, outside), before)


def test_modifiers_mutes_and_muted_groups_do_not_silence_the_bake():
    """`bake` compares what plays with what was asked for. (A muted group silences its curves in Blender 4.2 only.)"""
    obj = animated.rig(["a", "b"], ("XYZ",))
    old = animate(obj, ["a", "b"], [1, 60])
    group = action_channels.channels_of(*action_channels.current(obj)).groups.new("a")
    for curve in action_channels.fcurves_of(old, obj):
        curve.modifiers.new("NOISE").strength = 3.0
        curve.mute = curve.array_index == 0
        if '"a"' in curve.data_path:
            curve.group = group
    group.mute = True
    bake(obj, ["a", "b"], range(20, 41))


EVERY = range(-5, 90)
OVER_TRACKS = (("REPLACE", 0.4, "NOTHING"), ("ADD", 1.0, "HOLD_FORWARD"), ("COMBINE", 0.4, "HOLD"))


@pytest.mark.parametrize("solo", (False, True))
@pytest.mark.parametrize(("blend", "influence", "extrapolation"), OVER_TRACKS)
def test_bake_over_an_action_on_top_of_tracks(blend, influence, extrapolation, solo):
    obj = animated.rig(["a", "b"], ("QUATERNION", "XYZ"))
    animated.with_tracks(obj, [(1, 80), (1, 60), (10, 70)] if solo else [(1, 80)])
    old = animate(obj, ["a", "b"], [15, 50, 60], seed=9)
    animation = obj.animation_data
    animation.action_blend_type, animation.action_influence = blend, influence
    animation.action_extrapolation = extrapolation
    if solo:
        animation.nla_tracks[0].mute = animation.nla_tracks[1].is_solo = True
    before, settings = played(obj, EVERY), animation_settings(obj)
    _, _, state = bake(obj, ["a"], range(20, 41))
    after = played(obj, EVERY)
    assert np.abs(after[:, 1] - before[:, 1]).max() < SAME
    if not solo:
        assert np.abs(after[:25] - before[:25]).max() < SAME
        assert np.abs(after[46:] - before[46:]).max() < SAME
    restore(obj, state, old)
    assert animation_settings(obj) == settings
    np.testing.assert_array_equal(played(obj, EVERY), before)


def test_tweak_mode_is_refused():
    obj = animated.rig(["a"])
    animated.with_tracks(obj, [(1, 80)])
    animation = obj.animation_data
    animation.nla_tracks.active = animation.nla_tracks[0]
    animation.nla_tracks[0].select = animation.nla_tracks[0].strips[0].select = True
    animation.use_tweak_mode = True
    count = len(bpy.data.actions)
    refuses(r'"rig".*tweak', bake, obj, ["a"], range(1, 5))
    assert len(bpy.data.actions) == count
    animation.use_tweak_mode = False


def test_drivers_of_baked_channels_are_muted_and_come_back():
    obj = animated.rig(["a", "b"], ("XYZ",))
    for bone in obj.pose.bones:
        for prop, index in (("rotation_euler", 1), ("location", 2)):
            bone.driver_add(prop, index).driver.expression = "frame * 0.01"
    obj.animation_data.drivers[0].mute = True
    before, settings = played(obj, range(1, 31)), animation_settings(obj)
    _, _, state = bake(obj, ["a"], range(1, 21), moved=False)
    np.testing.assert_array_equal(played(obj, range(1, 21))[:, 1], before[:20, 1])
    restore(obj, state)
    assert animation_settings(obj)["drivers"] == settings["drivers"]
    np.testing.assert_array_equal(played(obj, range(1, 31)), before)


@pytest.mark.parametrize("mode", ("QUATERNION", "AXIS_ANGLE", *animated.EULER_ORDERS))
def test_channels_do_not_jump_over_many_turns(mode):
    q = animated.smooth_rotations(2000, 20)
    step = quaternion.angle_between(q[1:], q[:-1])
    channels = keyframes.rotation_channels(mode, q)
    assert quaternion.angle_between(quaternion.normalize(keyframes.rotations(mode, channels)), q).max() < 1e-9
    if mode == "QUATERNION":
        # |q1 - q0| = 2 sin(angle / 4), no flip.
        assert np.all(np.linalg.norm(np.diff(channels, axis=0), axis=-1) <= 2 * np.sin(step / 4) + 1e-9)
    elif mode == "AXIS_ANGLE":
        assert np.all(np.sum(channels[1:, :, 1:] * channels[:-1, :, 1:], axis=-1) >= 0.0)
        assert np.abs(np.diff(channels[..., 0], axis=0)).max() <= math.pi
    else:
        assert np.abs(np.diff(channels, axis=0)).max() <= math.pi
