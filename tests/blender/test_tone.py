"""Muscle tone in a fall: what leads a knocked-out body, and how it falls on characters of any size and kind."""

import bpy
import numpy as np
import pytest

import falling
import knock_outs
import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import effects
from own_characters import or_own


def human(scene, last=40, tone=0.25, event=6, make=rigs.swinging_human, **settings):
    """The swinging human that is knocked out at a frame, on a floor."""
    obj = make(scene)
    rigs.set_range(scene, 1, last)
    group = obj.active_ragdoll.recovery
    group.enabled, group.tone = True, tone
    knock_outs.prepare(scene, obj, 1, last, {event: "LIMP"}, rest_time=1e3, **settings)
    return obj


def played(scene, obj, last):
    return np.array(rigs.play(scene, 1, last, lambda: rigs.bodies(obj)))


@pytest.mark.blender_version
def test_one_build_follows_in_the_world_and_falls_by_its_joints(fresh_scene):
    obj = human(fresh_scene)
    poses = played(fresh_scene, obj, 5)
    wanted = STATE.runs[fresh_scene.name].wanted
    assert obj.active_ragdoll.drive_space == "WORLD" and obj.active_ragdoll.state == "ACTIVE"
    assert rigs.angles(poses[-1], wanted).max() < 0.1  # at full weight, held where its animation is
    poses = played(fresh_scene, obj, 40)
    assert np.array_equal(poses, played(fresh_scene, obj, 40))  # bit for bit
    assert poses[-1][:, 2, 3].mean() < 0.5 * poses[0][:, 2, 3].mean()  # nothing holds it up any more


def test_muscles_give_no_momentum(fresh_scene):
    """In the air, without gravity, a character that draws its limbs together goes on turning as it was pushed."""
    obj = human(fresh_scene, 24, 0.6, 4)
    rigs.undamped(obj)
    fresh_scene.gravity = (0.0, 0.0, 0.0)
    bpy.data.objects.remove(fresh_scene.objects["Floor"])
    effects.add_hit(obj, fresh_scene, "spine", 4, (0.0, 40.0, 30.0), (0.1, 0.0, 0.1))
    poses = played(fresh_scene, obj, 24)[6:]
    parts = obj.active_ragdoll.parts
    moments = rigs.box_moments(rigs.masses(obj), np.array([2.0 * rigs.half_extents(part) for part in parts]))
    momentum, around, spin = rigs.momenta(poses, rigs.masses(obj), moments, rigs.FPS)
    for total, inner in ((momentum.sum(axis=1), momentum), ((around + spin).sum(axis=1), around)):
        drift = np.linalg.norm(total - total[0], axis=1).max()
        assert drift < 0.02 * np.linalg.norm(inner, axis=2).sum(axis=1).max()
    between = np.linalg.inv(poses[:, :1]) @ poses
    assert rigs.angles(between[0], between[-1]).max() > 30.0  # its limbs did move


@pytest.mark.parametrize("name", or_own("Knight.glb", own=("own mixamo",)))
def test_tone_calms_the_joints_and_reflexes_put_the_arms_before_the_head(name):
    rag, stunned = (falling.fall(name, "back", *tone) for tone in (falling.RAG, falling.STUNNED))
    fast, calm = (np.percentile(fall.joint_speeds(), 95) for fall in (rag, stunned))
    assert calm < 300.0 and calm < 0.75 * fast
    assert stunned.fold() < max(rag.fold(), 90.0) and stunned.rest() < 3.0
    awake = falling.fall(name, "back", *falling.AWAKE)
    assert np.percentile(awake.joint_speeds(), 95) < 300.0
    assert awake.arms_first() and awake.rest() < 3.0
    assert awake.head_speed() < rag.head_speed()


def test_an_injured_arm_hangs(fresh_scene):
    """Without weight nothing but muscles lowers an arm from T-pose: the one whose tone is taken away stays behind."""
    obj = human(fresh_scene, 24, 0.6, 4, rigs.human)
    fresh_scene.gravity = (0.0, 0.0, 0.0)
    for bone in ("arm.L", "forearm.L"):
        obj.pose.bones[bone].active_ragdoll.tone = 0.0
    start, *_others, end = played(fresh_scene, obj, 24)[3:]
    spine, left, right = rigs.rows(obj, ("spine", "arm.L", "arm.R"))
    hurt, sound = rigs.angles(*(np.linalg.inv(pose[spine]) @ pose[[left, right]] for pose in (start, end)))
    assert sound > 45.0 and hurt < 0.5 * sound


@pytest.mark.blender_version
def test_set_up_gives_tone_and_motors_and_files_of_before_fall_as_rags(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, 20)
    group = obj.active_ragdoll.recovery
    assert group.tone == 0.0 and not any(part.motors for part in obj.active_ragdoll.parts)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.active_ragdoll.setup_recovery()
    assert group.tone == 0.25 and not group.reflexes
    assert all(part.motors for part in obj.active_ragdoll.parts if part.parent)
    bpy.ops.active_ragdoll.set_tone(tone="AWAKE")
    assert group.tone == pytest.approx(0.6) and group.reflexes and not obj.active_ragdoll.layout_changed
    bpy.ops.active_ragdoll.set_tone(tone="RAG")
    bpy.ops.active_ragdoll.setup_recovery()
    assert group.tone == 0.0  # what the user has chosen stays


def test_tone_without_motors_asks_for_a_build_and_falls_as_a_rag_until_then(fresh_scene):
    obj = human(fresh_scene, 12, 0.0)
    obj.active_ragdoll.recovery.tone = 0.5
    assert obj.active_ragdoll.layout_changed
    rigs.play(fresh_scene, 1, 12)
    assert any("muscle tone" in text for text in STATE.warnings[obj.name])
    for _frame in simulate.frames(fresh_scene):
        pass
    assert any(part.motors for part in obj.active_ragdoll.parts)


def test_what_has_no_posture_keeps_its_pose_as_well_as_it_can():
    rig = rigs.load("own dog", 30)
    group = rig.obj.active_ragdoll.recovery
    group.enabled, group.tone, group.reflexes = True, 0.6, True
    knock_outs.prepare(rig.scene, rig.obj, rig.first, rig.last, {rig.first + 2: "LIMP"})
    build.rebuild(rig.obj, rig.scene)
    poses = np.array(rigs.play(rig.scene, rig.first, rig.last, lambda: rigs.bodies(rig.obj)))
    assert np.isfinite(poses).all() and rig.obj.active_ragdoll.state in ("LIMP", "SETTLING", "RECOVERING", "BLENDING")
