"""Baked actions outside their range: the old animation plays on."""

import bpy
import numpy as np
import pytest

from animated import SAME, animate, key_curve, matrices, played, random_poses, rig
from core.blender.bake import actions
from core.blender.rig import action_channels

pytestmark = pytest.mark.blender_version


@pytest.mark.parametrize("interpolation", ("BEZIER", "LINEAR", "CONSTANT", "ELASTIC"))
@pytest.mark.parametrize("keys", ([1, 13, 25, 37, 60], [-3, 90], [1.5, 18.25, 44.75, 60], [30], [10, 41]))
def test_old_animation_plays_on_every_whole_frame_outside(interpolation, keys):
    obj = rig(["a", "b"], ("QUATERNION", "XYZ"))
    old = animate(obj, ["a", "b"], keys)
    for curve in action_channels.fcurves_of(old, obj):
        for key in curve.keyframe_points:
            key.interpolation = interpolation
        curve.extrapolation = "LINEAR" if curve.array_index == 1 else "CONSTANT"
        curve.update()
    outside = [*range(-10, 20), *range(41, 100)]
    before = played(obj, outside)
    poses = random_poses(obj, ["a"], np.arange(20, 41), scaled=False)
    _, state = actions.bake(obj, poses, "Baked")
    inside = played(obj, range(20, 41), ["a"])
    assert np.abs(inside - matrices(poses)).max() < SAME
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
    actions.restore(obj, state, old)
    np.testing.assert_array_equal(played(obj, outside), before)


def test_kept_keys_play_between_frames_too():
    obj = rig(["a"], ("XYZ",))
    animate(obj, ["a"], [1, 10, 14, 50, 60, 70])
    # Segments between two kept keys, which nothing may bend.
    whole = [*range(1, 14), *range(50, 70)]
    before = played(obj, whole, subframe=0.5)
    actions.bake(obj, random_poses(obj, ["a"], np.arange(20, 41)), "Baked")
    np.testing.assert_allclose(played(obj, whole, subframe=0.5), before, atol=1e-6)


def test_range_that_covers_the_old_action_does_not_grow():
    obj = rig(["a", "b"])
    animate(obj, ["a", "b"], [1, 20])
    baked, _ = actions.bake(obj, random_poses(obj, ["a"], np.arange(1, 21)), "Baked")
    assert tuple(baked.curve_frame_range) == (1.0, 20.0)


def test_modifiers_do_not_act_on_baked_channels():
    obj = rig(["a"], ("XYZ",))
    old = animate(obj, ["a"], [1, 20, 60])
    for curve in action_channels.fcurves_of(old, obj):
        curve.modifiers.new("NOISE").strength = 3.0
    outside = [*range(1, 20), *range(41, 61)]
    before = played(obj, outside)
    poses = random_poses(obj, ["a"], np.arange(20, 41), scaled=False)
    actions.bake(obj, poses, "Baked")
    assert np.abs(played(obj, range(20, 41)) - matrices(poses)).max() < SAME
    assert np.abs(played(obj, outside) - before).max() < SAME


def test_muted_curves_and_groups_do_not_silence_the_bake():
    obj = rig(["a", "b"])
    old = animate(obj, ["a", "b"], [1, 60])
    channels = action_channels.channels_of(*action_channels.current(obj))
    group = channels.groups.new("a")
    for curve in action_channels.fcurves_of(old, obj):
        curve.mute = curve.array_index == 0
        if '"a"' in curve.data_path:
            curve.group = group
    group.mute = True
    poses = random_poses(obj, ["a", "b"], np.arange(20, 41), scaled=False)
    actions.bake(obj, poses, "Baked")
    assert np.abs(played(obj, range(20, 41)) - matrices(poses)).max() < SAME


def test_bones_whose_rotation_mode_is_animated():
    obj = rig(["a"], ("XYZ",))
    old = animate(obj, ["a"], [1, 60])
    for index in range(4):
        path = action_channels.bone_path("a", "rotation_quaternion")
        key_curve(old, obj, path, index, [(1, 1.0), (60, 0.3 * index)])
    key_curve(old, obj, action_channels.bone_path("a", "rotation_mode"), 0, [(1, 0), (30, 1), (50, 0)], "CONSTANT")
    # On the frame of a change Blender converts the rotation, so what it shows depends on the frame before.
    outside = [*range(-5, 20), *range(41, 50), *range(50, 61)]
    settled = np.array([frame not in (-5, 41, 50) for frame in outside])
    before = played(obj, outside)
    bpy.context.scene.frame_set(35)
    poses = random_poses(obj, ["a"], np.arange(20, 41), scaled=False)
    actions.bake(obj, poses, "Baked")
    assert np.abs(played(obj, range(20, 41)) - matrices(poses)).max() < SAME
    assert np.abs(played(obj, outside) - before)[settled].max() < SAME
