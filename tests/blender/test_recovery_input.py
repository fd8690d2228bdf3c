"""Recovery: bad input, hits, settings and operators."""

import bpy
import numpy as np
import pytest

import knock_outs
import rigs
from active_ragdoll.core.blender.physics import remove
from active_ragdoll.core.blender.run import recovery_record, simulate, write
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import effects
from active_ragdoll.core.errors import RagdollError

# ---- bad input ----


def test_of_two_states_at_one_frame_the_limper_one_holds_and_the_user_is_told(fresh_scene):
    obj = knock_outs.human(fresh_scene, 30, events={10: "LIMP"})
    event = obj.active_ragdoll.recovery.events.add()
    event.frame, event.phase = 10, "ANIMATED"
    _shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert states[10] == "LIMP"
    assert "both forced" in STATE.messages[obj.name]


def test_a_frame_rate_changed_in_mid_work_keeps_the_course_and_the_cached_frames(fresh_scene):
    obj = knock_outs.human(fresh_scene, 150)
    shown = {}
    for frame in simulate.frames(fresh_scene):
        if frame == 70:
            fresh_scene.render.fps = 30
        shown[frame] = rigs.pose(obj)
    states = [recovery_record.of(obj, frame).state(frame).phase for frame in range(1, 151)]
    assert states[-1] == "ANIMATED"
    fresh_scene.render.fps = 60
    for frame in (120, 80, 60, 100):
        fresh_scene.frame_set(frame)
        assert np.abs(rigs.pose(obj) - shown[frame]).max() < 1e-5


def test_a_character_scaled_in_mid_shot_is_refused(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 40)
    for frame, scale in ((1, 1.0), (20, 1.0), (30, 2.0)):
        obj.scale = (scale,) * 3
        obj.keyframe_insert("scale", frame=frame)
    fresh_scene.frame_set(1)
    knock_outs.prepare(fresh_scene, obj, 1, 40)
    with pytest.raises(RagdollError, match=r"'Human' has the scale 1.0.* at frame 2[1-3]"):
        knock_outs.run(fresh_scene, obj)


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
    for frame in (19, 5, 20, 30):
        fresh_scene.frame_set(frame)
        assert np.isfinite(rigs.pose(obj)).all()
        if frame in shown:
            assert np.abs(rigs.pose(obj) - shown[frame]).max() < 1e-5
    _shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert states[40] == "ACTIVE"


@pytest.mark.blender_version
def test_a_deleted_get_up_action_is_named_and_the_character_gets_up_without(fresh_scene):
    obj = knock_outs.human(fresh_scene, 120)
    empty = bpy.data.actions.new("Nothing")
    obj.active_ragdoll.recovery.get_up_face_up = obj.active_ragdoll.recovery.get_up_face_down = empty
    _shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert states[120] == "ANIMATED" and "Nothing" in STATE.messages[obj.name]


# ---- settings ----


@pytest.mark.blender_version
def test_keyed_thresholds_are_read_at_their_frame(fresh_scene):
    obj = knock_outs.human(fresh_scene, 60)
    group = obj.active_ragdoll.recovery
    rigs.key(obj, "active_ragdoll.recovery.regain", {1: 0.0, 59: 0.0, 60: 1.0})
    group.rest_time = 0.0
    _shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert states[59] == "RECOVERING"
    run = STATE.runs[fresh_scene.name]
    assert run.effect("recovery").by_name[obj.name].record.state(58).progress == 0.0


def test_operators(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 30)
    bpy.context.view_layer.objects.active = obj
    assert not bpy.ops.active_ragdoll.setup_recovery.poll()
    knock_outs.prepare(fresh_scene, obj, 1, 30)
    obj.active_ragdoll.recovery.enabled = False
    assert bpy.ops.active_ragdoll.setup_recovery() == {"FINISHED"}
    assert obj.active_ragdoll.recovery.enabled and obj.active_ragdoll.target_armature is not None
    fresh_scene.frame_set(12)
    bpy.ops.active_ragdoll.add_recovery_event(phase="ANIMATED")
    events = obj.active_ragdoll.recovery.events
    assert (events[-1].frame, events[-1].phase) == (12, "ANIMATED")
    bpy.ops.active_ragdoll.remove_recovery_event()
    assert len(events) == 1
    bpy.ops.active_ragdoll.remove_recovery_event()
    assert not bpy.ops.active_ragdoll.remove_recovery_event.poll()


def test_a_hard_hit_wakes_and_knocks_out_and_a_light_one_wakes(fresh_scene):
    for strength, phase in ((3.0, "LIMP"), (0.2, "ACTIVE")):
        obj = rigs.swinging_human(fresh_scene, 1, 40)
        group = knock_outs.prepare(fresh_scene, obj, 1, 40, {40: "ACTIVE"}, starts="ANIMATED")
        mass = sum(part.body.rigid_body.mass for part in obj.active_ragdoll.parts)
        effects.add_hit(obj, fresh_scene, "spine", 15, (0.0, strength * mass * group.knock_out_speed, 0.0))
        _shown, _targets, states = knock_outs.run(fresh_scene, obj)
        assert {states[frame] for frame in range(1, 13)} == {"ANIMATED"}
        assert phase in [states[frame] for frame in range(13, 18)]
        assert ("LIMP" in states.values()) == (phase == "LIMP")
        remove.remove(obj, fresh_scene)
        bpy.data.objects.remove(obj)
