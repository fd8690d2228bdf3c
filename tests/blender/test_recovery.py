"""Knock-out and recovery in Blender: the whole course on real rigs, its record, settings and bad input."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix

import knock_outs
import rigs
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.run import records, simulate, write
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import stack_edits
from active_ragdoll.core.errors import RagdollError
from own_characters import or_own

RIGS = or_own("mh_mixamo.blend", "01_01.bvh", own=("own mixamo", "own kaykit with roots"))


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


def test_a_limp_character_wakes_with_the_velocity_of_its_animation(fresh_scene):
    """Carried along at 3 m/s and let go: it flies on."""
    obj = rigs.swinging_human(fresh_scene, 1, 40)
    rigs.key_locations(obj, {1: (0.0, 0.0, 5.0), 41: (5.0, 0.0, 5.0)})
    rigs.interpolate(obj, "LINEAR")
    fresh_scene.gravity = (0.0, 0.0, 0.0)
    knock_outs.prepare(fresh_scene, obj, 1, 40, {20: "LIMP"}, starts="ANIMATED")
    centres = {frame: rigs.bodies(obj)[:, :3, 3].mean(axis=0) for frame in simulate.frames(fresh_scene)}
    before = (centres[20] - centres[18])[0] * 12.0
    after = (centres[26] - centres[24])[0] * 12.0
    assert before == pytest.approx(3.0, rel=0.05) and after == pytest.approx(before, rel=0.1)


@pytest.mark.parametrize("scale", (0.01, 100.0))
def test_the_course_is_the_same_at_any_object_scale(fresh_scene, scale):
    obj = rigs.swinging_human(fresh_scene, 1, 150)
    obj.data.transform(Matrix.Scale(1.0 / scale, 4))
    obj.scale = (scale,) * 3
    for curve in rigs.curves_of(obj.animation_data.action):
        if curve.data_path.endswith("location"):
            for key in curve.keyframe_points:
                key.co.y /= scale
    fresh_scene.frame_set(1)
    knock_outs.prepare(fresh_scene, obj, 1, 150)
    shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert knock_outs.course(states) == knock_outs.COURSE
    frame = knock_outs.first(states, "RECOVERING")
    assert knock_outs.pops_where_it_begins(fresh_scene, obj, shown, frame) < knock_outs.LIMIT


def test_a_rig_with_root_bones_gets_up_in_its_place(fresh_scene):
    """A root on the floor carries the body, another root a prop: both go where the character lies."""
    obj = rigs.human(fresh_scene)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    bones = obj.data.edit_bones
    for name, x in (("root", 0.0), ("prop", 1.0)):
        bone = bones.new(name)
        bone.head, bone.tail, bone.use_deform = (x, 0.0, 0.0), (x, 0.3, 0.0), False
    bones["hips"].parent = bones["root"]
    bpy.ops.object.mode_set(mode="OBJECT")
    fresh_scene.frame_set(1)
    knock_outs.prepare(fresh_scene, obj, 1, 150)
    obj.pose.bones["root"].active_ragdoll.simulate = False
    shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert knock_outs.course(states) == knock_outs.COURSE
    start = knock_outs.first(states, "RECOVERING")
    jumps = knock_outs.jumps(obj, shown, knock_outs.rows(obj))
    assert max(jumps[start], jumps[start + 1]) < knock_outs.LIMIT
    root, prop, hips = (obj.data.bones.find(name) for name in ("root", "prop", "hips"))
    for one, other in ((root, hips), (prop, root)):
        before, after = (np.linalg.inv(shown[frame][one]) @ shown[frame][other] for frame in (1, 150))
        assert np.abs(before - after).max() < 1e-3


def test_the_distance_from_the_animation_knocks_out(fresh_scene):
    obj = knock_outs.human(fresh_scene, 40, events={2: "ACTIVE"}, knock_out_distance=0.5)
    obj.active_ragdoll.translation_weight = 0.0
    obj.location.z += 3.0
    fresh_scene.frame_set(1)
    build.rebuild(obj, fresh_scene)
    _shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert knock_outs.course(states)[:2] == ["ACTIVE", "LIMP"]
    # It falls 0.5 m, scaled by its height, in about 0.3 s.
    size = obj.active_ragdoll.height / 1.8
    assert knock_outs.first(states, "LIMP") == pytest.approx(1 + 24 * np.sqrt(2 * 0.5 * size / 9.81), abs=2)


@pytest.mark.parametrize(("speed", "felled"), [(5.0, True), (0.4, False)])
def test_what_strikes_hard_knocks_out_at_the_contact_and_throws_nobody_faster_than_it_goes(fresh_scene, speed, felled):
    obj = knock_outs.human(fresh_scene, 24, events={-1000: "LIMP"})
    box = rigs.box(fresh_scene, "Box", (1.0, 1.0, 1.2), (0.0, 0.0, 1.0), kinematic=True)
    rigs.key_locations(box, {0: (0.0, 0.9 + 0.3 * speed, 1.0), 25: (0.0, 0.9 - speed * (25 / 24 - 0.3), 1.0)})
    places, states, masses = [], {}, rigs.masses(obj)
    for frame in simulate.frames(fresh_scene):
        places.append(masses @ rigs.bodies(obj)[:, 1, 3] / masses.sum())
        states[frame] = obj.active_ragdoll.state
    assert ("LIMP" in states.values()) == felled
    fastest = -np.diff(places).min() * 24.0
    assert fastest < 1.1 * speed and (not felled or fastest > 0.5 * speed)


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
    states = [records.record_of(obj, frame).state(frame).phase for frame in range(1, 151)]
    assert states[-1] == "ANIMATED"
    fresh_scene.render.fps = 60
    rigs.check_shown(fresh_scene, obj, shown, (120, 80, 60, 100), 1e-5)


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
