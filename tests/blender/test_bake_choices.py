"""What of a shot is baked, and where to: bones, frames, the current action, layers of the NLA."""

import bpy
import numpy as np
import pytest

import animated
import hitting
import rigs
from active_ragdoll.core.blender import bake
from animated import SAME, animate, animation_settings, curves, matrices, played, random_poses, restore
from core.blender.bake import actions
from core.blender.physics import build
from core.blender.rig import action_channels
from test_bake_controls import _controlled, _deforming

pytestmark = pytest.mark.blender_version
RANGE, EVERY = range(20, 41), range(-5, 70)
MODES, MOVING = ("QUATERNION", "XYZ", "AXIS_ANGLE"), ["a", "b", "c"]
INSIDE = np.array([frame in RANGE for frame in EVERY])


def _animated(kind):
    """A chain with an action, two NLA tracks, or both; its last bone and two axes of "b" are posed but not animated."""
    obj = animated.rig(["a", "b", "c", "still"], (*MODES, "QUATERNION"))
    obj.pose.bones["still"].location = (0.1, 0.2, 0.3)
    animated.with_tracks(obj, [(1, 60)] * 2 * (kind != "action"), MOVING)
    for track in obj.animation_data.nla_tracks[1:]:
        track.strips[0].blend_type = "COMBINE"
    if kind != "tracks":
        animate(obj, MOVING, [1, 25, 60])
    for action, slot, _strip in list(action_channels.playing(obj)):
        channels = action_channels.channels_of(action, slot)
        for curve in [c for c in channels.fcurves if c.data_path.endswith('["b"].location') and c.array_index < 2]:
            channels.fcurves.remove(curve)
    obj.pose.bones["b"].location = (0.1, 0.2, 0.3)
    return obj


def _below(obj):
    """The channels of the animation in the range, as the bake records them."""
    bones = obj.pose.bones
    names = ("location", "rotation_quaternion", "rotation_axis_angle", "rotation_euler", "scale")
    rows = rigs.step(bpy.context.scene, RANGE, lambda: [[list(getattr(b, name)) for b in bones] for name in names])
    return {name: np.array(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}


@pytest.mark.parametrize("kind", ("action", "tracks", "both"))
@pytest.mark.parametrize("combined", (False, True))
def test_a_layer_plays_over_the_animation_and_goes_again(kind, combined):
    obj = _animated(kind)
    before, settings = played(obj, EVERY), animation_settings(obj)
    old = action_channels.current(obj)[0]
    held = curves(old, obj) if old else None
    poses = random_poses(obj, list(obj.pose.bones.keys()), RANGE)
    below = _below(obj) if combined else None
    _baked, kept, state = actions.bake(obj, poses, "Baked", destination=actions.LAYER, below=below)
    assert kept == old
    now = played(obj, EVERY)
    assert np.abs(now[INSIDE] - matrices(poses)).max() < (10 * SAME if combined else SAME)
    assert np.abs(now[~INSIDE] - before[~INSIDE]).max() < SAME
    if kind == "action" and combined:  # what is below can still be edited
        path = action_channels.bone_path("a", "location")
        (curve,) = (c for c in rigs.curves_of(old) if (c.data_path, c.array_index) == (path, 1))
        for change in (0.5, -0.5):
            for key in curve.keyframe_points:
                key.co_ui.y += change
            curve.update()
            moved = played(obj, RANGE)[:, 0, :3, 3] - now[INSIDE][:, 0, :3, 3]
            np.testing.assert_allclose(moved, [(0.0, max(change, 0.0), 0.0)] * len(RANGE), atol=1e-4)
    restore(obj, state, old)
    assert np.abs(played(obj, EVERY) - before).max() < SAME
    assert animation_settings(obj) == settings
    assert held is None or curves(old, obj) == held


@pytest.mark.parametrize("keyed", (False, True))
@pytest.mark.parametrize("default", (0.0, 1.0))
def test_a_combined_layer_holds_switches_whatever_is_their_default(default, keyed):
    obj = _animated("action")
    obj["switch"] = 1.0
    obj.id_properties_ui("switch").update(default=default)
    if keyed:
        obj.keyframe_insert('["switch"]', frame=1)
    poses, below = random_poses(obj, list(obj.pose.bones.keys()), RANGE), _below(obj)
    for value in (0.0, 0.5, 1.0):
        more = {"destination": actions.LAYER, "below": below, "properties": {'["switch"]': value}}
        _baked, old, state = actions.bake(obj, poses, "Baked", **more)
        assert rigs.step(bpy.context.scene, (19, 20, 30, 40, 41), lambda: obj["switch"]) == [1.0, *[value] * 3, 1.0]
        restore(obj, state, old)
        assert obj["switch"] == 1.0


@pytest.mark.parametrize("is_gone", (False, True))
def test_what_is_held_outside_of_the_frames_goes_with_its_action_whoever_plays_it(is_gone):
    obj = _animated("tracks")
    _baked, old, state = actions.bake(obj, random_poses(obj, MOVING, RANGE), "Baked")
    obj.copy()  # as its source is
    if is_gone:
        bpy.data.actions.remove(bpy.data.actions["Baked Rest"])
    restore(obj, state, old)
    assert "Baked Rest" not in bpy.data.actions


def test_the_current_action_is_keyed_itself_and_comes_back_bit_for_bit():
    obj = _animated("action")
    action = action_channels.current(obj)[0]
    other = bpy.data.objects.new("other", obj.data)
    bpy.context.collection.objects.link(other)
    action_channels.assign(other, *action_channels.current(obj))
    before, held, name = played(obj, EVERY), curves(action, obj), action.name
    poses = random_poses(obj, list(obj.pose.bones.keys()), RANGE)
    baked, old, state = actions.bake(obj, poses, "Baked", destination=actions.CURRENT)
    assert baked == action == other.animation_data.action and baked.name == name
    now = played(obj, EVERY)
    assert np.abs(now[INSIDE] - matrices(poses)).max() < SAME
    assert np.abs(now[~INSIDE] - before[~INSIDE]).max() < SAME
    actions.restore(obj, state, old, baked)
    again = action_channels.current(obj)[0]
    assert (again.name, again) == (name, other.animation_data.action) and baked.name != name
    assert curves(again, obj) == held
    assert np.array_equal(played(obj, EVERY), before)


@pytest.mark.parametrize("choice", ({}, {"destination": "LAYER"}, {"destination": "LAYER", "combined": True}))
@pytest.mark.parametrize("to", ("DEFORM", "CONTROLS"))
def test_a_control_rig_plays_its_animation_outside_of_the_baked_frames(fresh_scene, to, choice):
    """Constraints act there, and switches stand as they did: the left arm is led by inverse kinematics."""
    obj = _controlled(fresh_scene)
    expected = rigs.animation(obj, range(1, 25))
    build.build(obj, fresh_scene, _deforming(obj))
    rigs.set_weights(obj, 0.0)
    bpy.ops.active_ragdoll.simulate()
    expected |= rigs.shown(fresh_scene, obj, range(8, 15))
    list(bake.bake_frames(obj, fresh_scene, 8, 14, bake.Choice(to=to, **choice)))
    for frame, pose in rigs.shown(fresh_scene, obj, range(1, 25)).items():
        off = np.abs(pose - expected[frame])[_deforming(obj), :3, 3]
        assert off.max() < (1e-5 if frame not in range(8, 15) else 12e-3 if to == "CONTROLS" else 1e-4), frame


@pytest.mark.parametrize(("stretch", "size"), ((0.0, -1.0), (0.008, 1.0)))
def test_only_chosen_bones_and_frames_in_which_physics_acts_get_keys(fresh_scene, stretch, size):
    """At full weight with a blow on the chest at frame 12; mirrored, or with a shin that its body cannot follow."""
    obj = rigs.ragdoll(fresh_scene, 40, 1.0)
    obj.scale.x = size
    rigs.update()
    build.rebuild(obj, fresh_scene)
    rigs.key(obj.pose.bones["shin.L"], "location", {1: (0.0, stretch, 0.0)})
    hitting.add(obj, "spine", 12, vector=(0.0, 1.0, 0.0), strength=60.0)
    bpy.ops.active_ragdoll.simulate()
    shown = rigs.shown(fresh_scene, obj, range(1, 41))
    bpy.ops.active_ragdoll.bake(frames="ACTIVE", destination="LAYER")
    layer = obj.animation_data.nla_tracks[-1].strips[0]
    assert 11 <= layer.frame_start <= 13
    first, last = int(layer.frame_start), int(layer.frame_end)
    rigs.check_shown(fresh_scene, obj, shown, range(first + bake.SEAM, last + 1 - bake.SEAM), 1e-4)
    rigs.check_shown(fresh_scene, obj, shown, range(1, first), 2.0 * bake.recording.NEARLY_PARALLEL)
    bpy.ops.active_ragdoll.revert_bake()
    assert not obj.animation_data.nla_tracks
    rigs.select(obj, "head", "spine")
    wanted = {"SELECTED": {"head", "spine"}, "SIMULATED": {part.bone for part in obj.active_ragdoll.parts}}
    for chosen, names in wanted.items():
        bpy.ops.active_ragdoll.bake(bones=chosen, destination="LAYER")
        paths = {curve.data_path for curve in rigs.curves_of(obj.active_ragdoll.baked_action)}
        assert {path.split('"')[1] for path in paths} == names
        bpy.ops.active_ragdoll.revert_bake()


def test_of_controls_the_selected_get_keys_or_what_carries_selected_bones_and_their_switches(fresh_scene):
    obj = _controlled(fresh_scene)
    build.build(obj, fresh_scene, _deforming(obj))
    for selected, name, switched in (("forearm.L", "forearm.L", {"hips"}), ("DEF-arm.R", "arm.R", set())):
        rigs.select(obj, selected)
        bpy.ops.active_ragdoll.bake(to="CONTROLS", bones="SELECTED", destination="LAYER")
        keyed = {curve.data_path.split('"')[1] for curve in rigs.curves_of(obj.active_ragdoll.baked_action)}
        assert keyed == {name} | switched and [*bake.controls_of(obj)] == [f"DEF-{name}"]
        bpy.ops.active_ragdoll.revert_bake()


def test_what_bodies_cannot_follow_goes_within_some_frames(scene):
    recorder = bake.Recorder(rigs.ragdoll(scene, 4), scene, False)
    still, stretched = (rigs.pose(recorder.obj) for _ in range(2))
    stretched[-1, 2, 3] += 0.008
    recorder.poses = [still] * 20
    bake._joined(recorder, slice(5, 17), [stretched] * 20)
    off = np.array([stretched, *recorder.poses[5:17], stretched])[:, -1, 2, 3] - still[-1, 2, 3]
    assert np.abs(np.diff(off)).max() < 2e-3 and np.abs(off[6:8]).max() < 1e-6


def test_a_bake_that_has_nothing_to_write_says_so(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, 12, 1.0)
    rigs.select(obj, "")
    for choice, said in (({"bones": "SELECTED"}, "No selected bone of 'Human'"), ({"frames": "ACTIVE"}, "nothing to")):
        with pytest.raises(RuntimeError, match=said):
            bpy.ops.active_ragdoll.bake(**choice)
    assert not obj.active_ragdoll.muted
