"""Knock-out and recovery with other spaces, drives and ranges; in renders, after undo, in files saved and loaded."""

import bpy
import numpy as np
import pytest

import knock_outs
import renders
import rigs
from active_ragdoll.core.blender.physics import build, world
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import stack_edits
from hitting import add
from holding import HAND, TIP, attach, bone_matrix

pytestmark = pytest.mark.blender_version


def test_driven_in_joint_space_it_stands_again_before_the_physics_is_blended_out(fresh_scene):
    obj = knock_outs.human(fresh_scene)
    obj.active_ragdoll.drive_space, obj.active_ragdoll.drive = "JOINT", "SPRING"
    shown, targets, states = knock_outs.run(fresh_scene, obj)
    assert knock_outs.course(states) == knock_outs.COURSE
    rows = knock_outs.rows(obj)
    begins, ends = knock_outs.first(states, "BLENDING"), knock_outs.first(states, "ANIMATED")
    away = np.linalg.norm((shown[begins] - targets[begins])[rows, :3, 3], axis=1)
    assert away.max() < 0.05 * obj.active_ragdoll.height
    jumps, wanted = (knock_outs.jumps(obj, poses, rows) for poses in (shown, targets))
    for frame in (ends, ends + 1):
        assert jumps[frame] < knock_outs.LIMIT + wanted[frame]


def test_a_shot_before_frame_zero_is_shown_as_simulated_when_it_ends_switched_off(fresh_scene):
    first, last = -110, -2
    obj = rigs.swinging_human(fresh_scene, first, last)
    knock_outs.prepare(fresh_scene, obj, first, last)
    simulate.use_range(fresh_scene, first, last)
    shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert states[last] == "ANIMATED"
    rigs.check_shown(fresh_scene, obj, shown, (first, first + 20, first + 60, last), 1e-5)


def test_a_hand_holds_its_prop_while_the_character_is_switched_on_and_off(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 80)
    prop = rigs.box(fresh_scene, "Prop", (0.1, 0.1, 0.1), (0.8, 0.0, 1.42), mass=0.5)
    build.build(obj, fresh_scene)
    attach(obj, prop, point=TIP, kind="FIXED")
    group = obj.active_ragdoll.recovery
    group.enabled, group.starts = True, "ANIMATED"
    for frame, phase in ((30, "ACTIVE"), (55, "ANIMATED")):
        event = group.events.add()
        event.frame, event.phase = frame, phase
    held = []
    for _frame in simulate.frames(fresh_scene):
        grip = bone_matrix(obj, HAND) @ [*TIP, 1.0]
        held.append((np.linalg.inv(rigs.matrices([prop])[0]) @ grip)[:3])
    assert obj.active_ragdoll.state == "ANIMATED"
    assert np.linalg.norm(np.array(held) - held[0], axis=1).max() < 0.02


def test_recovery_taken_away_in_mid_shot_is_told_and_the_run_goes_on(fresh_scene):
    obj = knock_outs.human(fresh_scene, 100)
    rigs.play(fresh_scene, 1, 39)
    obj.active_ragdoll.recovery.enabled = False
    rigs.play(fresh_scene, 40, 100)
    assert STATE.runs[fresh_scene.name].frame == 100
    assert any("gets up in its animation's own place" in text for text in STATE.warnings["Human"])


def test_a_character_renamed_in_mid_shot_gets_up_where_it_lies(fresh_scene):
    obj = knock_outs.human(fresh_scene)
    stack_edits.ensure(obj, fresh_scene)
    rigs.play(fresh_scene, 1, 19)
    obj.name = "Another"
    rigs.play(fresh_scene, 20, 120)
    (recovery,) = STATE.runs[fresh_scene.name].effect("recovery").by_name.values()
    assert recovery.state.phase == "ANIMATED" and len(recovery.record.passages) == 1


@pytest.mark.parametrize("starts", ("ANIMATED", "ACTIVE"))
@pytest.mark.parametrize(("impulse", "phase"), ((150.0, "LIMP"), (20.0, "ACTIVE")))
def test_a_hit_in_the_shots_first_frame_is_felt_as_in_any_other(fresh_scene, starts, impulse, phase):
    obj = rigs.ragdoll(fresh_scene, 12)
    obj.active_ragdoll.recovery.enabled, obj.active_ragdoll.recovery.starts = True, starts
    moved = []
    for frame in (1, 2):
        obj.active_ragdoll.hits.clear()
        add(obj, "spine", frame, (impulse, 0.0, 0.0))
        places = [rigs.bodies(obj) for _frame in simulate.frames(fresh_scene)]
        fresh_scene.frame_set(frame)
        assert obj.active_ragdoll.state == phase
        moved.append(np.linalg.norm((places[frame + 4] - places[frame - 1])[:, :3, 3], axis=1).max())
    assert moved[0] > 0.02 and abs(moved[0] / moved[1] - 1.0) < 0.25


LAST = 70
EVENTS = {6: "LIMP", 30: "RECOVERING", 50: "BLENDING"}
FRAMES = (9, 29, 33, 45, 52, 55, 68)  # limp, at its end, recovering, blending, the animation where it lies


@pytest.fixture(scope="module")
def knocked_out(tmp_path_factory):
    """A file with a character that is knocked out and gets up where it lies; what it shows, and its states."""
    scene = rigs.empty_file()
    obj = knock_outs.human(scene, LAST, EVENTS, blend_time=0.3, regain=2.0)
    stack_edits.ensure(obj, scene)
    folder = tmp_path_factory.mktemp("knock_out")
    renders.prepare(scene, folder / "still")
    plain = str(folder / "plain.blend")
    bpy.ops.wm.save_as_mainfile(filepath=plain)
    shown, _targets, states = knock_outs.run(scene, obj)
    assert {states[frame] for frame in FRAMES} >= {"LIMP", "RECOVERING", "ANIMATED"}
    lowest = min(shown, key=lambda frame: shown[frame][0, 2, 3])
    assert shown[1][0, 2, 3] - shown[lowest][0, 2, 3] > 0.5, "it lies on the floor"
    cached = str(folder / "cached.blend")
    bpy.ops.wm.save_as_mainfile(filepath=cached)
    return {"live": plain, "cached": cached}, shown, states


def _open(path):
    bpy.ops.wm.open_mainfile(filepath=path)
    return bpy.context.scene, bpy.data.objects["Human"]


@pytest.mark.parametrize("kind", ("live", "cached"))
def test_a_final_render_in_the_middle_of_a_knock_out_shows_the_recorded_pose(knocked_out, kind):
    """Frames in any order, as render farms take them; without a cache one is made first."""
    paths, shown, _states = knocked_out
    scene, obj = _open(paths[kind])
    assert scene.rigidbody_world.point_cache.is_baked == (kind == "cached")
    frames = FRAMES if kind == "live" else FRAMES[::-1]
    simulate.use_range(scene, 1, LAST)
    scene.active_ragdoll.use_range = True
    for frame, pose in renders.poses(scene, obj, frames).items():
        assert np.abs(pose - shown[frame]).max() < 1e-4, frame
    rigs.check_shown(scene, obj, shown, (45,), 1e-4)


def test_states_and_poses_are_there_after_loading_and_a_still_render_leaves_them(knocked_out):
    paths, shown, states = knocked_out
    scene, obj = _open(paths["cached"])
    for frame in (*FRAMES, 1, LAST):
        scene.frame_set(frame)
        assert obj.active_ragdoll.state == states[frame], frame
        assert np.abs(rigs.pose(obj) - shown[frame]).max() < 1e-4, frame
    scene.frame_set(20)
    bpy.ops.render.render()
    assert scene.frame_current == 20 and obj.active_ragdoll.state == states[20] == "LIMP"
    assert np.abs(rigs.pose(obj) - shown[20]).max() < 1e-4


def test_undo_in_mid_shot_breaks_the_run_and_from_the_first_frame_on_it_is_the_same(knocked_out):
    """Undo and redo while it lies, and while it gets up."""
    paths, shown, states = knocked_out
    scene, obj = _open(paths["live"])
    for frame in (20, 40):
        bpy.ops.ed.undo_push(message="before")
        rigs.step(scene, range(1, frame + 1))
        assert obj.active_ragdoll.state == states[frame]
        obj.active_ragdoll.recovery.rest_speed = 0.9
        bpy.ops.ed.undo_push(message="edit")
        bpy.ops.ed.undo()
        scene, obj = bpy.context.scene, bpy.data.objects["Human"]
        assert obj.active_ragdoll.run_state == "BROKEN" and obj.active_ragdoll.recovery.rest_speed < 0.9
        scene.frame_set(frame + 1)
        assert np.isfinite(rigs.pose(obj)).all() and scene.name not in STATE.runs
        bpy.ops.ed.redo()
        bpy.ops.ed.undo()
        scene, obj = bpy.context.scene, bpy.data.objects["Human"]
        for now in range(1, LAST + 1):
            scene.frame_set(now)
            if now in FRAMES:
                assert obj.active_ragdoll.state == states[now], now
                assert np.abs(rigs.pose(obj) - shown[now]).max() < 1e-6, now


def test_undo_of_a_simulation_and_redo(knocked_out):
    """Back to no cache, and forth: states are those of what is shown."""
    paths, shown, states = knocked_out
    scene, obj = _open(paths["live"])
    bpy.context.view_layer.objects.active = obj
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.active_ragdoll.simulate() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="simulated")
    assert world.cache_covers_shot(scene)
    bpy.ops.ed.undo()
    scene, obj = bpy.context.scene, bpy.data.objects["Human"]
    scene.frame_set(20)
    found = rigs.pose(obj)
    if obj.active_ragdoll.state == "LIMP":  # the cache is no part of undo in this Blender
        assert np.abs(found - shown[20]).max() < 1e-4
    else:
        assert obj.active_ragdoll.state in ("READY", "BROKEN")
    list(simulate.frames(scene))
    for frame in FRAMES:
        scene.frame_set(frame)
        assert obj.active_ragdoll.state == states[frame]
        assert np.abs(rigs.pose(obj) - shown[frame]).max() < 1e-4


def test_live_without_a_motion_stack_it_is_said_that_it_gets_up_elsewhere(fresh_scene):
    """A frame handler cannot make the target armature; Set Up Recovery and a simulation do."""
    obj = knock_outs.human(fresh_scene, LAST, EVENTS, blend_time=0.3, regain=2.0)
    rigs.play(fresh_scene, 1, 40)
    assert any("own place" in text and "Set Up Recovery" in text for text in STATE.warnings[obj.name])
    knock_outs.run(fresh_scene, obj)
    assert not STATE.warnings[obj.name]
