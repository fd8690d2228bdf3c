"""Knock-out and recovery in Blender: the whole course on real rigs, its record, settings and bad input."""

import bpy
import numpy as np
import pytest

import knock_outs
import rigs
from active_ragdoll.core.blender.physics import remove
from active_ragdoll.core.blender.run import records, simulate, write
from active_ragdoll.core.blender.stack import stack_edits
from active_ragdoll.core.errors import RagdollError
from own_characters import or_own

RIGS = (*or_own("01_01.bvh", own=()), "own mixamo", "own kaykit with roots")  # at two scales


@pytest.mark.blender_version
@pytest.mark.parametrize("name", RIGS)
def test_a_character_is_knocked_out_and_gets_up_where_it_lies(data_dir, name):
    rig = rigs.load(data_dir / name)
    obj, scene = rig.obj, rig.scene
    knock_outs.prepare(scene, obj, rig.first, rig.first + 200)
    shown, targets, states = knock_outs.run(scene, obj)
    assert knock_outs.course(states) == knock_outs.COURSE
    recovering, animated = knock_outs.first(states, "RECOVERING"), knock_outs.first(states, "ANIMATED")
    rows = knock_outs.rows(obj)
    height = obj.active_ragdoll.height
    # The animation goes on where the pelvis came to rest, on the same floor.
    record = records.record_of(obj, animated)
    (passage,) = record.passages
    assert passage.frame == recovering and abs(passage.move.shift[2]) < 0.3 * height
    lying, moved = shown[recovering][rows[0], :2, 3], targets[recovering + 1][rows[0], :2, 3]
    assert np.linalg.norm(lying - moved) < 0.02 * height
    # No pop where the blend ends: nothing jumps beyond what the target itself does.
    jumps, wanted = knock_outs.jumps(obj, shown, rows), knock_outs.jumps(obj, targets, rows)
    for frame in (animated, animated + 1):
        assert jumps[frame] < knock_outs.LIMIT + wanted[frame]
    # Switched off, it shows its target.
    assert np.abs(shown[animated + 3] - targets[animated + 3])[rows, :3, 3].max() < 1e-4 * height
    # Nor where it begins.
    assert knock_outs.pops_where_it_begins(scene, obj, shown, recovering) < knock_outs.LIMIT


@pytest.mark.blender_version
def test_a_live_run_shows_its_record_when_scrubbed(fresh_scene):
    obj = knock_outs.human(fresh_scene, 120)
    stack_edits.ensure(obj, fresh_scene)
    played = rigs.play(fresh_scene, 1, 120, lambda: (rigs.pose(obj), obj.active_ragdoll.state))
    assert played[-1][1] == "ANIMATED"
    for frame in (90, 40, 15):
        fresh_scene.frame_set(frame)
        pose, state = played[frame - 1]
        assert obj.active_ragdoll.state == state
        assert np.abs(rigs.pose(obj) - pose).max() < 1e-5


@pytest.mark.parametrize("method", ("INERTIALIZED", "CROSS_FADED"))
def test_a_get_up_action_is_played_and_the_animation_goes_on(fresh_scene, method):
    action = bpy.data.actions.new("Get Up")
    obj = rigs.swinging_human(fresh_scene, 1, 200)
    plain = rigs.animation(obj, range(1, 201))
    own = obj.animation_data.action
    obj.animation_data.action = action
    turned = (np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8))
    rigs.key(obj.pose.bones["arm.L"], "rotation_quaternion", {1: (1.0, 0.0, 0.0, 0.0), 31: turned})
    obj.animation_data.action = own
    knock_outs.prepare(fresh_scene, obj, 1, 200, method=method, get_up_face_up=action, get_up_face_down=action)
    shown, _targets, states = knock_outs.run(fresh_scene, obj)
    record = records.record_of(obj, 150)
    assert [passage.action for passage in record.passages] == ["Get Up", ""]
    assert record.passages[1].frame == record.passages[0].frame + 30
    rows = knock_outs.rows(obj)
    jumps, own = knock_outs.jumps(obj, shown, rows), knock_outs.jumps(obj, plain, rows)
    start, last = (int(passage.frame) for passage in record.passages)
    assert max(jumps[start], jumps[start + 1]) < knock_outs.LIMIT
    # The animation's own jumps, and the action comes to a halt here.
    assert max(jumps[last], jumps[last + 1]) < 2.0 * knock_outs.LIMIT + max(own[last], own[last + 1])
    assert states[200] == "ANIMATED"


def test_without_re_rooting_it_goes_back_to_its_place(fresh_scene):
    obj = knock_outs.human(fresh_scene, 200, reroot=False)
    assert obj.active_ragdoll.target_armature is None
    shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert states[200] == "ANIMATED" and obj.active_ragdoll.target_armature is None
    remove.remove(obj, fresh_scene)
    fresh_scene.frame_set(200)
    assert np.abs(rigs.pose(obj) - shown[200])[:, :3, 3].max() < 1e-4


@pytest.mark.blender_version
def test_a_character_that_starts_animated_wakes_with_its_velocity(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 40)
    plain = rigs.animation(obj, range(1, 41))
    knock_outs.prepare(fresh_scene, obj, 1, 40, {20: "ACTIVE"}, starts="ANIMATED")
    shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert knock_outs.course(states) == ["ANIMATED", "ACTIVE"]
    rows = knock_outs.rows(obj)
    for frame in range(2, 20):
        assert np.abs(shown[frame] - plain[frame]).max() < 1e-5
    for frame in range(20, 30):
        assert rigs.angles(shown[frame][rows], plain[frame][rows]).max() < 2.0
        assert np.abs(shown[frame] - plain[frame])[rows, :3, 3].max() < 0.01


@pytest.mark.blender_version
def test_a_body_that_is_not_a_number_stops_the_run_and_keeps_the_last_good_frame(fresh_scene, monkeypatch):
    obj = knock_outs.human(fresh_scene, 40, events={2: "ACTIVE"})
    place = write.place

    def broken(run, kind, matrices, only=None):
        if kind == "targets" and fresh_scene.frame_current == 20:
            matrices = matrices.copy()
            matrices[3, :3, 3] = np.nan
        place(run, kind, matrices, only)

    monkeypatch.setattr(write, "place", broken)
    shown = {}
    with pytest.raises(RagdollError, match=r"bone '.*' of 'Human' is not a number at frame 20"):
        for frame in simulate.frames(fresh_scene):
            shown[frame] = rigs.pose(obj)
    assert max(shown) == 19
    monkeypatch.undo()
    rigs.check_shown(fresh_scene, obj, shown, (19, 5), 1e-5)
