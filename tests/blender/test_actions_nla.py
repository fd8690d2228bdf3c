"""Baked actions over NLA tracks and drivers."""

import json
from dataclasses import asdict

import bpy
import numpy as np
import pytest

from animated import SAME, animate, animation_settings, matrices, played, random_poses, rig
from core.blender.bake import actions
from core.blender.rig import action_channels
from core.errors import RagdollError

pytestmark = pytest.mark.blender_version


def push(obj, action, slot, first, name="strip"):
    """A strip of an action in a new track on top."""
    tracks = obj.animation_data.nla_tracks
    track = tracks.new(prev=tracks[-1]) if len(tracks) else tracks.new()
    track.name = name
    strip = track.strips.new(name, first, action)
    if action_channels.has_slots():
        strip.action_slot = slot
    return track


def with_tracks(obj, spans):
    """Animations in NLA tracks, none active."""
    for number, (first, last) in enumerate(spans):
        action = animate(obj, list(obj.pose.bones.keys()), [first, (first + last) // 2, last], seed=number)
        push(obj, *action_channels.current(obj), first, f"track {number}")
        obj.animation_data.action = None
        action.use_fake_user = True


@pytest.mark.parametrize("spans", ([(1, 80)], [(22, 30)], [(1, 30)], [(30, 60)], [(1, 50), (10, 70)]))
def test_bake_over_nla_tracks(spans):
    obj = rig(["a", "b"], ("QUATERNION", "XYZ"))
    with_tracks(obj, spans)
    frames = range(20, 41)
    every = range(-5, 90)
    before, settings = played(obj, every), animation_settings(obj)
    poses = random_poses(obj, ["a"], frames, scaled=False)
    poses.location[:] = 0.0
    baked, state = actions.bake(obj, poses, "Baked")
    after = played(obj, every)
    assert np.abs(after[25:46, 0] - matrices(poses)[:, 0]).max() < SAME
    np.testing.assert_array_equal(after[:, 1], before[:, 1])
    if min(span[0] for span in spans) < 20:
        np.testing.assert_array_equal(after[:25], before[:25])
    if max(span[1] for span in spans) > 40:
        np.testing.assert_array_equal(after[46:], before[46:])
    else:
        np.testing.assert_array_equal(after[46:, 0], np.tile(after[45, 0], (len(after) - 46, 1, 1)))
    assert {curve.data_path.split(".")[-1] for curve in action_channels.fcurves_of(baked, obj)} == {
        "location",
        "rotation_quaternion",
    }
    actions.restore(obj, actions.AnimationState(**json.loads(json.dumps(asdict(state)))), None)
    assert animation_settings(obj) == settings
    np.testing.assert_array_equal(played(obj, every), before)


@pytest.mark.parametrize("solo", (False, True))
@pytest.mark.parametrize(
    ("blend", "influence", "extrapolation"),
    (
        ("REPLACE", 1.0, "HOLD"),
        ("REPLACE", 0.4, "NOTHING"),
        ("ADD", 1.0, "HOLD_FORWARD"),
        ("ADD", 0.4, "HOLD"),
        ("COMBINE", 1.0, "NOTHING"),
        ("COMBINE", 0.4, "HOLD_FORWARD"),
    ),
)
def test_bake_over_an_action_on_top_of_tracks(blend, influence, extrapolation, solo):
    obj = rig(["a", "b"], ("QUATERNION", "XYZ"))
    with_tracks(obj, [(1, 80), (1, 60), (10, 70)] if solo else [(1, 80)])
    old = animate(obj, ["a", "b"], [15, 50, 60], seed=9)
    animation = obj.animation_data
    animation.action_blend_type, animation.action_influence = blend, influence
    animation.action_extrapolation = extrapolation
    if solo:
        animation.nla_tracks[0].mute = animation.nla_tracks[1].is_solo = True
    every = range(-5, 90)
    before, settings = played(obj, every), animation_settings(obj)
    poses = random_poses(obj, ["a"], range(20, 41), scaled=False)
    _, state = actions.bake(obj, poses, "Baked")
    after = played(obj, every)
    assert np.abs(after[25:46, 0] - matrices(poses)[:, 0]).max() < SAME
    assert np.abs(after[:, 1] - before[:, 1]).max() < SAME
    if not solo:
        assert np.abs(after[:25] - before[:25]).max() < SAME
        assert np.abs(after[46:] - before[46:]).max() < SAME
    actions.restore(obj, state, old)
    assert animation_settings(obj) == settings
    np.testing.assert_array_equal(played(obj, every), before)


def test_muted_tracks_stay_muted_and_do_not_matter():
    obj = rig(["a", "b"])
    with_tracks(obj, [(1, 80)])
    obj.animation_data.nla_tracks[0].mute = True
    animate(obj, ["a", "b"], [1, 20], seed=9)
    poses = random_poses(obj, ["a"], range(1, 21), scaled=False)
    baked, _ = actions.bake(obj, poses, "Baked")
    assert obj.animation_data.nla_tracks[0].mute and len(obj.animation_data.nla_tracks) == 1
    assert any('"b"' in curve.data_path for curve in action_channels.fcurves_of(baked, obj)), "not a copy"
    assert np.abs(played(obj, range(1, 21), ["a"]) - matrices(poses)).max() < SAME


def test_tweak_mode_is_refused():
    obj = rig(["a"])
    with_tracks(obj, [(1, 80)])
    animation = obj.animation_data
    animation.nla_tracks.active = animation.nla_tracks[0]
    animation.nla_tracks[0].select = animation.nla_tracks[0].strips[0].select = True
    animation.use_tweak_mode = True
    count = len(bpy.data.actions)
    with pytest.raises(RagdollError, match=r'"rig".*tweak'):
        actions.bake(obj, random_poses(obj, ["a"], range(1, 5)), "Baked")
    assert len(bpy.data.actions) == count
    animation.use_tweak_mode = False


def test_drivers_of_baked_channels_are_muted_and_come_back():
    obj = rig(["a", "b"], ("XYZ",))
    for bone in obj.pose.bones:
        for prop, index in (("rotation_euler", 1), ("location", 2)):
            bone.driver_add(prop, index).driver.expression = "frame * 0.01"
    already = obj.animation_data.drivers[0]
    already.mute = True
    before, settings = played(obj, range(1, 31)), animation_settings(obj)
    poses = random_poses(obj, ["a"], range(1, 21), scaled=False)
    poses.location[:] = 0.0
    _, state = actions.bake(obj, poses, "Baked")
    after = played(obj, range(1, 21))
    assert np.abs(after[:, 0] - matrices(poses)[:, 0]).max() < SAME
    np.testing.assert_array_equal(after[:, 1], before[:20, 1])
    actions.restore(obj, actions.AnimationState(**json.loads(json.dumps(asdict(state)))), None)
    assert animation_settings(obj)["drivers"] == settings["drivers"]
    np.testing.assert_array_equal(played(obj, range(1, 31)), before)
