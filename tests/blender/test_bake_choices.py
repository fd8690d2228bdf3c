"""What of a shot is baked, and where to: bones, frames, actions, layers of the NLA, the way over the ground, cycles."""

import bpy
import numpy as np
import pytest

import animated
import control_rigs
import hitting
import rigs
from active_ragdoll.core.blender import bake
from animated import SAME, animate, animation_settings, curves, matrices, played, random_poses, restore
from control_rigs import places
from core.blender.bake import actions
from core.blender.physics import build, world
from core.blender.rig import action_channels
from test_bake_controls import _controlled, _deforming

pytestmark = pytest.mark.blender_version
RANGE, EVERY = range(20, 41), range(-5, 70)
MODES, MOVING = ("QUATERNION", "XYZ", "AXIS_ANGLE"), ["a", "b", "c"]
INSIDE = np.array([frame in RANGE for frame in EVERY])
LAST, WAY = 12, {1: (0.0, 0.0, 0.0), 12: (1.0, 0.1, 0.5)}


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
    before, settings, old = played(obj, EVERY), animation_settings(obj), action_channels.current(obj)[0]
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
    assert np.abs(played(obj, EVERY) - before).max() < SAME and animation_settings(obj) == settings
    assert held is None or curves(old, obj) == held


@pytest.mark.parametrize("keyed", ("", "action", "strip"))
@pytest.mark.parametrize("default", (0.0, 1.0))
def test_a_combined_layer_holds_switches_whatever_is_their_default(default, keyed):
    """Also where they are keyed below it, in a strip that is elsewhere and slower than its action."""
    obj = _animated("action")
    obj["switch"] = 1.0
    obj.id_properties_ui("switch").update(default=default)
    for frame, obj["switch"] in {1: 0.0, 60: 1.0}.items() if keyed else ():
        obj.keyframe_insert('["switch"]', frame=frame)
    if keyed == "strip":
        (action, slot), obj.animation_data.action = action_channels.current(obj), None
        rigs.changed(actions._new_strip(obj.animation_data, action, slot, 1, 60)[1], frame_start_ui=9.0, scale=1.5)
    edges = rigs.step(bpy.context.scene, (19, 41), lambda: obj["switch"])
    poses, below = random_poses(obj, list(obj.pose.bones.keys()), RANGE), _below(obj)
    below['["switch"]'] = np.array(rigs.step(bpy.context.scene, RANGE, lambda: [obj["switch"]]))
    for value in (0.0, 0.5, 1.0):
        more = {"destination": actions.LAYER, "below": below, "properties": {'["switch"]': value}}
        _baked, old, state = actions.bake(obj, poses, "Baked", **more)
        held = rigs.step(bpy.context.scene, (19, 20, 30, 40, 41), lambda: obj["switch"])
        assert held == pytest.approx([edges[0], *[value] * 3, edges[1]], abs=1e-6)
        restore(obj, state, old)
        assert rigs.step(bpy.context.scene, (19, 41), lambda: obj["switch"]) == edges


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
    other = rigs.added(bpy.context.scene, "other", obj.data)
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
    assert curves(again, obj) == held and np.array_equal(played(obj, EVERY), before)


@pytest.mark.parametrize("choice", ({}, {"destination": "LAYER"}, {"destination": "LAYER", "combined": True}))
@pytest.mark.parametrize("to", ("DEFORM", "CONTROLS"))
@pytest.mark.parametrize("switched", ({}, {1: 0.0, 4: 1.0, 20: 1.0, 24: 0.0}))
def test_a_control_rig_plays_its_animation_outside_of_the_baked_frames(fresh_scene, to, choice, switched):
    """Constraints act there, and switches stand as they did: the left arm is led by inverse kinematics."""
    obj = _controlled(fresh_scene)
    for frame, obj.pose.bones["hips"]["fk"] in switched.items():
        obj.keyframe_insert('pose.bones["hips"]["fk"]', frame=frame)
    expected = rigs.animation(obj, range(1, 25))
    build.build(obj, fresh_scene, _deforming(obj))
    rigs.set_weights(obj, 0.0)
    bpy.ops.active_ragdoll.simulate()
    expected |= rigs.shown(fresh_scene, obj, range(8, 15))
    obj.pose.bones["DEF-head"].constraints.new("LIMIT_ROTATION")  # of nothing; the simulation has not seen it
    list(bake.bake_frames(obj, fresh_scene, 8, 14, bake.Choice(to=to, **choice)))
    for frame, pose in rigs.shown(fresh_scene, obj, range(1, 25)).items():
        off = np.abs(pose - expected[frame])[_deforming(obj), :3, 3]
        assert off.max() < (1e-5 if frame not in range(8, 15) else 12e-3 if to == "CONTROLS" else 1e-4), frame
    rigs.step(fresh_scene, [10], lambda: bake.revert(obj))
    assert not any(c.mute for bone in obj.pose.bones for c in bone.constraints)


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
        rigs.select(obj, selected, "hand")
        bpy.ops.active_ragdoll.bake(to="CONTROLS", bones="SELECTED", destination="LAYER")
        assert "that move no body get no keys: 'hand'" in str(bake.STATE.warnings[obj.name])
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


def test_what_still_acts_at_the_last_frame_is_held_after_it(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, 20, 1.0)
    rigs.key_weights(obj, {1: 1.0, 10: 0.0})
    bpy.ops.active_ragdoll.bake(frames="ACTIVE")
    poses = np.array(rigs.step(fresh_scene, range(19, 24), lambda: rigs.pose(obj)))
    assert np.abs(poses[2:] - poses[1]).max() < 1e-5 < np.abs(poses[1] - poses[0]).max()


def _walking(scene, to: str):
    """A human that goes 1 m aside and 0.5 m ahead, with a root bone above it, and what its bones do in the scene."""
    table = {"root": ((0, 0, 0), (0, 0.3, 0), None), **rigs.HUMAN, "hips": (*rigs.HUMAN["hips"][:2], "root")}
    if to == "CONTROLS":
        obj = _controlled(scene, table)
    elif to == "RIGIFY":  # the body hangs on a bone that follows the root
        table = {"above": (*table["root"][:2], None), **table, "hips": (*table["hips"][:2], "above")}
        obj = _controlled(scene, table)
        control_rigs.constraint(obj, "above", "COPY_TRANSFORMS", "root")
    else:
        table = {"held": (*table["hips"][:2], None), **table, "arm.L": (*table["arm.L"][:2], "held")}
        obj = rigs.armature(scene, table)
        control_rigs.constraint(obj, "held", "COPY_LOCATION", "root", use_offset=True)  # as Rigify's torso
        rigs.key(obj.pose.bones["held"], "location", WAY)
        rigs.swing(obj, 1, LAST)
    obj.scale, obj.rotation_euler = (0.8,) * 3, (0.0, 0.0, 0.6)
    rigs.key(obj.pose.bones["hips"], "location", WAY)
    rigs.set_range(scene, 1, LAST)
    bodiless = np.array([bone.name.removeprefix("DEF-") in ("root", "above", "held") for bone in obj.data.bones])
    build.build(obj, scene, (_deforming(obj) | (to == "DEFORM")) & ~bodiless)
    bpy.ops.active_ragdoll.simulate()
    return obj


@pytest.mark.parametrize("kind", ("DEFORM", "CONTROLS", "RIGIFY"))
@pytest.mark.parametrize("carrier", ("OBJECT", "ROOT"))
def test_the_way_over_the_ground_is_carried_and_nothing_else_moves(scene, kind, carrier):
    obj, to = _walking(scene, kind), "DEFORM" if kind == "DEFORM" else "CONTROLS"
    names = [part.bone for part in obj.active_ragdoll.parts]
    before, held = places(scene, obj, names, LAST), curves(obj.animation_data.action, obj)
    bpy.ops.active_ragdoll.bake(to=to, root_motion=carrier)
    assert np.abs((places(scene, obj, names, LAST) - before)[..., :3, 3]).max() < (2e-3 if to == "CONTROLS" else 1e-4)
    body = before[:, names.index("DEF-hips" if to == "CONTROLS" else "hips"), :2, 3]
    way = places(scene, obj, ["root"], LAST)[:, 0, :3, 3]
    if carrier == "OBJECT":
        way = np.array(rigs.step(scene, range(1, LAST + 1), lambda: obj.matrix_world.translation[:]))
    way = way - way[0]
    np.testing.assert_allclose(way[:, :2], body - body[0], atol=1e-4)
    assert np.abs(way[:, 2]).max() < 1e-5 and np.abs(way[-1, :2]).max() > 0.5
    bpy.ops.active_ragdoll.revert_bake()
    assert curves(obj.animation_data.action, obj) == held
    np.testing.assert_allclose(obj.location, 0.0, atol=1e-7)


@pytest.mark.parametrize("carrier, said", (("OBJECT", "constraint 'Held'"), ("ROOT", "Above 'hips'")))
def test_what_cannot_carry_the_way_is_refused(fresh_scene, carrier, said):
    obj = rigs.ragdoll(fresh_scene, 4)
    obj.constraints.new("LIMIT_LOCATION").name = "Held"
    for call in (bpy.ops.active_ragdoll.bake, bpy.ops.active_ragdoll.export_ready):
        with pytest.raises(RuntimeError, match=said):
            call(root_motion=carrier)
    assert not obj.active_ragdoll.muted


def test_a_range_becomes_a_seamless_cycle(fresh_scene):
    """Springs that swing in: the first pass begins at the animation, a cycle does not."""
    obj = rigs.swinging_human(fresh_scene, 1, 25)
    obj.animation_data_clear()
    rigs.swing(obj, 1, 25, [(*swing[:3], 1.0, swing[4]) for swing in rigs._SWINGS])
    rigs.set_weights(obj, 0.5)
    build.build(obj, fresh_scene)
    bpy.ops.active_ragdoll.simulate()
    range_before, held = (fresh_scene.frame_start, fresh_scene.frame_end), curves(obj.animation_data.action, obj)
    bpy.ops.active_ragdoll.bake(loop=True, loop_frames=6)
    assert obj.active_ragdoll.muted and not fresh_scene.active_ragdoll.use_range
    poses = np.array(rigs.step(fresh_scene, range(1, 26), lambda: rigs.pose(obj)))
    np.testing.assert_allclose(poses[-1], poses[0], atol=1e-5)
    steps = np.linalg.norm(np.diff(poses[..., :3, 3], axis=0), axis=2)  # [f - 1, n]
    assert np.abs(steps[0] - steps[-1]).max() < 0.3 * steps.max()  # no jerk at the seam
    assert np.abs(poses[0] - np.array(rigs.step(fresh_scene, [26], lambda: rigs.pose(obj))[0])).max() < 1e-5
    bpy.ops.active_ragdoll.revert_bake()
    assert (fresh_scene.frame_start, fresh_scene.frame_end) == range_before and world.cache_covers_shot(fresh_scene)
    assert curves(obj.animation_data.action, obj) == held and not obj.animation_data.nla_tracks
    assert np.abs(rigs.step(fresh_scene, [1], lambda: rigs.pose(obj))[0] - poses[0]).max() > 0.01


@pytest.mark.parametrize("to, near, said", (("DEFORM", 1e-4, ""), ("CONTROLS", 2e-3, "a cycle stay as they are: 'f")))
def test_a_cycle_closes_where_what_carries_it_does_not(scene, to, near, said, capfd):
    obj = _walking(scene, {"CONTROLS": "RIGIFY"}.get(to, to))
    rigs.key(obj.pose.bones["root"], "rotation_quaternion", {1: (1.0, 0.0, 0.0, 0.0), LAST: (0.9, 0.0, 0.3, 0.0)})
    bpy.ops.active_ragdoll.bake(to=to, loop=True, loop_frames=4)
    assert said in capfd.readouterr().out and "beyond" not in obj.active_ragdoll.bake_record
    poses = places(scene, obj, [part.bone for part in obj.active_ragdoll.parts], LAST)
    np.testing.assert_allclose(poses[-1], poses[0], atol=near)
