"""Knock-out and recovery with other spaces, drives and ranges; in renders, after undo, in files saved and loaded."""

import bpy
import numpy as np
import pytest

import knock_outs
import renders
import rigs
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.stack import stack_edits
from hitting import add

pytestmark = pytest.mark.blender_version


@pytest.mark.parametrize(("impulse", "phase", "starts"), ((150.0, "LIMP", "ANIMATED"), (20.0, "ACTIVE", "ACTIVE")))
def test_a_hit_in_the_shots_first_frame_is_felt_as_in_any_other(fresh_scene, impulse, phase, starts):
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


@pytest.mark.parametrize("kind", ("live", "cached"))
def test_a_final_render_in_the_middle_of_a_knock_out_shows_the_recorded_pose(knocked_out, kind):
    """Frames in any order, as render farms take them; without a cache one is made first."""
    paths, shown, _states = knocked_out
    scene, obj = rigs.opened(paths[kind])
    assert scene.rigidbody_world.point_cache.is_baked == (kind == "cached")
    frames = FRAMES if kind == "live" else FRAMES[::-1]
    simulate.use_range(scene, 1, LAST)
    scene.active_ragdoll.use_range = True
    for frame, pose in renders.poses(scene, obj, frames).items():
        assert np.abs(pose - shown[frame]).max() < 1e-4, frame
    rigs.check_shown(scene, obj, shown, (45,), 1e-4)


def test_states_and_poses_are_there_after_loading_and_a_still_render_leaves_them(knocked_out):
    paths, shown, states = knocked_out
    scene, obj = rigs.opened(paths["cached"])
    for frame in (*FRAMES, 1, LAST):
        scene.frame_set(frame)
        assert obj.active_ragdoll.state == states[frame], frame
        assert np.abs(rigs.pose(obj) - shown[frame]).max() < 1e-4, frame
    scene.frame_set(20)
    bpy.ops.render.render()
    assert scene.frame_current == 20 and obj.active_ragdoll.state == states[20] == "LIMP"
    assert np.abs(rigs.pose(obj) - shown[20]).max() < 1e-4
