"""Knock-out and recovery in Blender: the whole course on real rigs, its record and settings; muscle tone in a fall."""

from unittest.mock import Mock

import bpy
import numpy as np
import pytest

import falling
import knock_outs
import rigs
from active_ragdoll.core.blender.physics import build, motors, remove
from active_ragdoll.core.blender.run import records, simulate, write
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import effects
from active_ragdoll.core.errors import RagdollError
from active_ragdoll.core.motion.get_up import plan
from active_ragdoll.core.pose import moved
from own_characters import or_own

pytestmark = pytest.mark.blender_version


@pytest.mark.parametrize("name", ("own mixamo", "own kaykit with roots"))  # at two scales
def test_a_character_is_knocked_out_and_gets_up_where_it_lies(data_dir, name):
    rig = rigs.load(data_dir / name)
    obj, scene = rig.obj, rig.scene
    knock_outs.prepare(scene, obj, rig.first, rig.first + 200)
    shown, targets, states = knock_outs.run(scene, obj)
    assert knock_outs.course(states) == knock_outs.COURSE
    recovering, animated = knock_outs.first(states, "RECOVERING"), knock_outs.first(states, "ANIMATED")
    rows, height = knock_outs.rows(obj), obj.active_ragdoll.height
    (passage,) = records.record_of(obj, animated).passages  # it goes on where the pelvis came to rest, on that floor
    assert passage.frame == recovering and abs(passage.move.shift[2]) < 0.3 * height
    lying, moved = shown[recovering][rows[0], :2, 3], targets[recovering + 1][rows[0], :2, 3]
    assert np.linalg.norm(lying - moved) < 0.02 * height
    jumps, wanted = knock_outs.jumps(obj, shown, rows), knock_outs.jumps(obj, targets, rows)
    assert max(jumps[frame] - wanted[frame] for frame in (animated, animated + 1)) < knock_outs.LIMIT
    assert np.abs(shown[animated + 3] - targets[animated + 3])[rows, :3, 3].max() < 1e-4 * height
    assert knock_outs.pops_where_it_begins(scene, obj, shown, recovering) < knock_outs.LIMIT  # nor where it begins


def test_a_get_up_action_is_played_and_the_animation_goes_on(fresh_scene):
    action = bpy.data.actions.new("Get Up")
    obj = rigs.swinging_human(fresh_scene, 1, 200)
    plain = rigs.animation(obj, range(1, 201))
    own = obj.animation_data.action
    obj.animation_data.action = action
    turned = (np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8))
    rigs.key(obj.pose.bones["arm.L"], "rotation_quaternion", {1: (1.0, 0.0, 0.0, 0.0), 31: turned})
    obj.animation_data.action = own
    knock_outs.prepare(fresh_scene, obj, 1, 200, method="CROSS_FADED", get_up_face_up=action, get_up_face_down=action)
    shown, _targets, states = knock_outs.run(fresh_scene, obj)
    record = records.record_of(obj, 150)
    assert [passage.action for passage in record.passages] == ["Get Up", ""]
    assert record.passages[1].frame == record.passages[0].frame + max(30, np.ceil(24.0 * record.passages[0].duration))
    rows = knock_outs.rows(obj)
    jumps, own = knock_outs.jumps(obj, shown, rows), knock_outs.jumps(obj, plain, rows)
    start, last = (int(passage.frame) for passage in record.passages)
    assert max(jumps[start], jumps[start + 1]) < knock_outs.LIMIT
    # The animation's own jumps, and the action comes to a halt here.
    assert max(jumps[last], jumps[last + 1]) < 2.0 * knock_outs.LIMIT + max(own[last], own[last + 1])
    assert states[200] == "ANIMATED"


def test_without_re_rooting_it_goes_back_to_its_place(fresh_scene):
    obj = knock_outs.human(fresh_scene, 200, reroot=False)
    shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert states[200] == "ANIMATED" and obj.active_ragdoll.target_armature is None
    remove.remove(obj, fresh_scene)
    fresh_scene.frame_set(200)
    assert np.abs(rigs.pose(obj) - shown[200])[:, :3, 3].max() < 1e-4


def test_a_character_that_starts_animated_wakes_with_its_velocity(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 40)
    plain = rigs.animation(obj, range(1, 41))
    knock_outs.prepare(fresh_scene, obj, 1, 40, {20: "ACTIVE"}, starts="ANIMATED")
    shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert knock_outs.course(states) == ["ANIMATED", "ACTIVE"]
    rows = knock_outs.rows(obj)
    assert max(np.abs(shown[frame] - plain[frame]).max() for frame in range(2, 20)) < 1e-5
    for frame in range(20, 30):
        assert rigs.angles(shown[frame][rows], plain[frame][rows]).max() < 2.0
        assert np.abs(shown[frame] - plain[frame])[rows, :3, 3].max() < 0.01


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


def human(scene, last=40, tone=0.25, event=6, make=rigs.swinging_human):
    """The swinging human that is knocked out at a frame, on a floor."""
    obj = make(scene)
    knock_outs.prepare(scene, obj, 1, last, {event: "LIMP"}, rest_time=1e3, tone=tone)
    return obj


def played(scene, obj, last):
    return np.array(rigs.play(scene, 1, last, lambda: rigs.bodies(obj)))


def test_one_build_follows_in_the_world_and_falls_by_its_joints(fresh_scene, monkeypatch):
    obj, written, tell = human(fresh_scene, 160), set(), motors.JointDrives.tell
    poses = played(fresh_scene, obj, 5)
    wanted = STATE.runs[fresh_scene.name].wanted
    assert obj.active_ragdoll.drive_space == "WORLD" and obj.active_ragdoll.state == "ACTIVE"
    assert rigs.angles(poses[-1], wanted).max() < 0.1  # at full weight, held where its animation is
    poses = played(fresh_scene, obj, 40)
    assert np.array_equal(poses, played(fresh_scene, obj, 40))  # bit for bit
    assert poses[-1][:, 2, 3].mean() < 0.5 * poses[0][:, 2, 3].mean()  # nothing holds it up any more
    monkeypatch.setattr(motors.JointDrives, "tell", lambda *a: tell(*a) or written.add(fresh_scene.frame_current))
    (moves,) = np.diff(played(fresh_scene, obj, 160), axis=0).any(axis=(1, 2, 3)).nonzero()
    assert moves[-1] < 150 and max(written) == moves[-1] + 3  # what lies still is not written any more


def test_muscles_give_no_momentum(fresh_scene):
    """In the air, without gravity, a character that draws its limbs together goes on turning as it was pushed."""
    obj = human(fresh_scene, 24, 0.6, 4)
    rigs.undamped(obj)
    build.rebuild(obj, fresh_scene)
    fresh_scene.gravity = (0.0, 0.0, 0.0)
    bpy.data.objects.remove(fresh_scene.objects["Floor"])
    effects.add_hit(obj, fresh_scene, "spine", 4, (0.0, 40.0, 30.0), (0.1, 0.0, 0.1))
    poses = played(fresh_scene, obj, 24)[6:]
    squares = np.array([2.0 * rigs.half_extents(part) for part in obj.active_ragdoll.parts]) ** 2
    moments = rigs.masses(obj)[:, None] / 12.0 * (squares.sum(axis=1, keepdims=True) - squares)  # of boxes
    momentum, around, spin = rigs.momenta(poses, rigs.masses(obj), moments, rigs.FPS)
    for total, inner in ((momentum.sum(axis=1), momentum), ((around + spin).sum(axis=1), around)):
        assert np.linalg.norm(total - total[0], axis=1).max() < 0.01 * np.linalg.norm(inner, axis=2).sum(axis=1).max()
    between = np.linalg.inv(poses[:, :1]) @ poses
    assert rigs.angles(between[0], between[-1]).max() > 30.0  # its limbs did move


@pytest.mark.parametrize("name", or_own("Knight.glb", "mh_game_engine.blend", own=("own mixamo",)))
def test_tone_calms_the_joints_and_reflexes_put_the_arms_before_the_head(name):
    rag, stunned = (falling.fall(name, "back", *tone) for tone in (falling.RAG, falling.STUNNED))
    fast, calm = (np.percentile(fall.joint_speeds(), 95) for fall in (rag, stunned))
    assert calm < 300.0 and calm < 0.75 * fast
    assert stunned.fold() < 90.0 and stunned.rest() < 3.0
    legs = (stunned.bodies[-1] @ np.linalg.inv(stunned.bind))[stunned._of("SHANK")]
    assert rigs.angles(legs[:1], legs[1:]) > 45.0  # they lie turned outwards, one more bent than the other
    awake = falling.fall(name, "back", *falling.AWAKE)
    assert np.percentile(awake.joint_speeds(), 95) < 300.0 and awake.fold() < 90.0 and awake.rest() < 3.0
    assert awake.arms_first() and awake.head_speed() < 0.75 * rag.head_speed()
    assert all(falling.fall(name, side, *falling.AWAKE).arms_first() for side in ("left", "right"))


@pytest.mark.parametrize("hit", (False, True))
def test_an_injured_arm_hangs(fresh_scene, hit):
    """Without weight nothing but muscles lowers an arm from T-pose: the one whose tone is taken away stays behind."""
    obj = human(fresh_scene, 24, 0.6, 4, rigs.human)
    fresh_scene.gravity = (0.0, 0.0, 0.0)
    for bone in ("arm.L", "forearm.L"):
        obj.pose.bones[bone].active_ragdoll.tone = float(hit)
    if hit:
        effects.add_hit(obj, fresh_scene, "forearm.L", 3, (0.0, 0.0, 1e-3))
        obj.active_ragdoll.hits[0].hurts = 5.0
    start, *_others, end = played(fresh_scene, obj, 24)[3:]
    spine, left, right = rigs.rows(obj, ("spine", "arm.L", "arm.R"))
    hurt, sound = rigs.angles(*(np.linalg.inv(pose[spine]) @ pose[[left, right]] for pose in (start, end)))
    assert sound > 45.0 and hurt < 0.5 * sound


def hurt(bone, seconds, last, events=None, **settings):
    """A character of our own, hit in its fifth frame where it hurts for some seconds."""
    rig = rigs.load("own mixamo")
    knock_outs.prepare(rig.scene, rig.obj, rig.first, rig.first + last, events, **settings)
    effects.add_hit(rig.obj, rig.scene, f"mixamorig:{bone}", rig.first + 4, (0.0, 0.0, 1e-3))
    rig.obj.active_ragdoll.hits[0].hurts = seconds
    return rig.scene, rig.obj


def test_a_leg_that_hurts_gives_way():
    assert "LIMP" in knock_outs.run(*hurt("LeftLeg", 1.5, 28, {-1000: "LIMP"}))[2].values()  # as soon as it has to bear


def test_a_hand_that_hurts_is_not_laid_on_the_floor_to_get_up(monkeypatch):
    found, made = [], plan.plan
    scene, obj = hurt("LeftForeArm", 60.0, 80, rest_time=0.2, get_up="AUTOMATIC")
    monkeypatch.setattr(plan, "plan", lambda *of, **more: found.append(more["manner"].held) or made(*of, **more))
    knock_outs.run(scene, obj)
    assert found == [(2,)]  # the left one


@pytest.mark.parametrize(("bone", "mode"), (("LeftLeg", "ACTIVE"), ("Spine1", "LIMP"), ("Spine1", "KINEMATIC")))
def test_where_no_hand_comes_is_told(bone, mode):
    scene, obj = hurt(bone, 5.0, 12, tone=0.25)
    obj.active_ragdoll.hits[0].hold = True
    for side in ("Left", "Right"):
        obj.pose.bones[f"mixamorig:{side}ForeArm"].active_ragdoll.body_mode = mode
    knock_outs.run(scene, obj)
    assert any("no free hand" in text for text in STATE.warnings[obj.name])


@pytest.mark.parametrize("name", ("own mixamo", *or_own("mh_mixamo.blend", own=())))
def test_a_hand_is_held_to_the_wound_if_asked_for(name):
    off, wounds = [], []

    def look(obj, seconds):
        """In lengths of the arm, how far the nearer palm is from where the chest was hit."""
        (hit,), found = obj.active_ragdoll.hits, STATE.runs[obj.active_ragdoll.scene.name].effect("hits")
        if seconds == 0.0:
            hit.hurts, hit.hold = 5.0, not off
        elif seconds < 1.0:
            wounds.extend(found.by_name[obj.name].wounds.values())
        elif seconds < 1.04:
            names = [[f"mixamorig:{side}{part}" for side in ("Left", "Right")] for part in ("Arm", "ForeArm", "Hand")]
            arms = np.array([[rigs.bone(obj, name)[:3, 3] for name in pair] for pair in names])
            ways, place = np.diff(arms, axis=0), moved(wounds[0], rigs.bodies(obj)[rigs.rows(obj, [hit.bone])[0]])
            away = np.linalg.norm(arms[2] + 0.25 * ways[1] - place, axis=1)
            off.append((away / np.linalg.norm(ways, axis=2).sum(axis=0)).min())

    for _hold in (True, False):
        falling.fall(name, "front", *falling.STUNNED, frames=30, look=look)
    assert off[0] < 0.25 and off[1] > 0.6


def test_what_was_simulated_before_trouble_has_its_states(fresh_scene):
    obj = human(fresh_scene, 20)
    rigs.key(obj, "scale", {1: (1.0, 1.0, 1.0), 12: (1.0, 2.0, 1.0)})
    rigs.interpolate(obj, "CONSTANT")
    with pytest.raises(RagdollError, match="was scaled"):
        list(simulate.frames(fresh_scene))
    fresh_scene.frame_set(8)
    assert obj.active_ragdoll.state == "LIMP"


def test_a_spine_of_four_bones_is_as_stiff_as_one_of_a_single_bone():
    bent = []
    for count in (1, 4):
        scene = rigs.empty_file()
        obj = human(scene, 30, 0.6, 2, lambda scene, count=count: rigs.human(scene, spine=count))
        obj.pose.bones["hips"].active_ragdoll.body_mode = "KINEMATIC"
        scene.gravity = (0.0, -2.0, 0.0)
        start, *_others, end = played(scene, obj, 30)
        hips, chest = rigs.rows(obj, ("hips", "spine"))
        bent.append(float(rigs.angles(*(np.linalg.inv(pose[[hips]]) @ pose[[chest]] for pose in (start, end)))[0]))
    assert bent[1] == pytest.approx(bent[0], rel=0.3), bent


def test_set_up_gives_tone_and_motors_and_files_of_before_fall_as_rags(fresh_scene, monkeypatch):
    obj, built, make = rigs.ragdoll(fresh_scene, 20), [], build.build
    monkeypatch.setattr(build, "build", lambda *given: built.append(make(*given)))
    group = obj.active_ragdoll.recovery
    assert group.tone == 0.0 and not any(part.motors for part in obj.active_ragdoll.parts)
    bpy.ops.active_ragdoll.setup_recovery()
    assert group.tone == 0.25 and not group.reflexes and all(p.motors for p in obj.active_ragdoll.parts if p.parent)
    assert len(built) == 1
    bpy.ops.active_ragdoll.set_tone(tone="AWAKE")
    assert group.tone == pytest.approx(0.6) and group.reflexes and not obj.active_ragdoll.layout_changed
    bpy.ops.active_ragdoll.set_tone(tone="RAG")
    bpy.ops.active_ragdoll.setup_recovery()
    assert group.tone == 0.0  # what the user has chosen stays


@pytest.mark.parametrize("operator", ("setup_recovery", "setup_balance"))
def test_a_set_up_that_is_refused_changes_nothing(fresh_scene, monkeypatch, operator):
    settings = rigs.ragdoll(fresh_scene, 4).active_ragdoll
    groups = settings.recovery, settings.balance, settings
    names = "enabled", "tone", "reflexes", "layout_changed", "target_armature"
    before = [getattr(group, name, None) for group in groups for name in names]
    monkeypatch.setattr(build, "build", Mock(side_effect=RagdollError("refused here")))
    with pytest.raises(RuntimeError, match="refused here"):
        getattr(bpy.ops.active_ragdoll, operator)()
    assert [getattr(group, name, None) for group in groups for name in names] == before


def test_tone_without_motors_asks_for_a_build_and_falls_as_a_rag_until_then(fresh_scene):
    obj = human(fresh_scene, 12, 0.0)
    obj.active_ragdoll.recovery.tone = 0.5
    assert obj.active_ragdoll.layout_changed
    rigs.play(fresh_scene, 1, 12)
    assert any("muscle tone" in text for text in STATE.warnings[obj.name])
    stone = rigs.chain(fresh_scene, 1)
    knock_outs.prepare(fresh_scene, stone, 1, 12, {6: "LIMP"}, "DEFORM", tone=0.5)
    rigs.play(fresh_scene, 1, 12)
    assert not STATE.warnings[stone.name]  # a body alone has no muscles to build
    list(simulate.frames(fresh_scene))
    assert any(part.motors for part in obj.active_ragdoll.parts)
