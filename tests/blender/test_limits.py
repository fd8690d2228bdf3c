"""Limits by anatomy, by what the rig states, and by hand; and the check of the animation against them."""

import math

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.rig.armature import rigid
from active_ragdoll.core.blender.tools import diagnose
from active_ragdoll.core.errors import RagdollError
from active_ragdoll.core.ragdoll.joints import limits

pytestmark = pytest.mark.blender_version


def _frame(obj, bind, bone) -> np.ndarray:
    """A joint's axes in the world [3, 3]."""
    turn = np.array(obj.pose.bones[bone].active_ragdoll.joint_rotation, dtype=float)
    return rigid(bind[bone])[:3, :3] @ quaternion.to_matrix(quaternion.normalize(turn))


def built_human(scene):
    obj = rigs.human(scene)
    build.build(obj, scene)
    return obj


def _world_limits(obj) -> dict:
    result = {}
    world = np.array(obj.matrix_world, dtype=float)
    for part in obj.active_ragdoll.parts:
        settings = obj.pose.bones[part.bone].active_ragdoll
        bind = {part.bone: world @ np.array(obj.data.bones[part.bone].matrix_local, dtype=float)}
        frame = _frame(obj, bind, part.bone)
        result[part.bone] = (settings.limits_from, settings.joint, frame, (*settings.limit_min, *settings.limit_max))
    return result


@pytest.mark.parametrize("seed", (1, 2))
def test_any_roll_gives_the_same_limits_in_the_world(fresh_scene, seed):
    obj = built_human(fresh_scene)
    before = _world_limits(obj)
    remove.remove(obj)
    rigs.roll_bones(obj, seed)
    build.build(obj, fresh_scene)
    after = _world_limits(obj)
    assert {name for name, (kind, *_rest) in before.items() if kind == "ANATOMY"} >= {"shin.L", "forearm.R", "thigh.L"}
    for name, (kind, joint, frame, values) in before.items():
        assert after[name][:2] == (kind, joint)
        if kind == "ANATOMY":
            assert np.allclose(after[name][2], frame, atol=1e-4), name
            assert after[name][3] == pytest.approx(values, abs=1e-4), name


def test_limits_set_by_hand_survive_new_builds_and_what_a_build_finds_is_no_edit(fresh_scene):
    obj = built_human(fresh_scene)
    bone = obj.pose.bones["shin.L"].active_ragdoll
    assert bone.limits_from == "ANATOMY" and tuple(bone.joint_rotation) != (1.0, 0.0, 0.0, 0.0)
    bone.joint_rotation = (1.0, 0.0, 0.0, 0.0)
    assert bone.limits_from == "USER"
    bone.limit_max = (0.1, 0.2, 0.3)
    by_hand = (*bone.joint_rotation, *bone.limit_max)
    build.rebuild(obj, fresh_scene)
    assert (*bone.joint_rotation, *bone.limit_max) == by_hand
    remove.remove(obj)
    build.build(obj, fresh_scene)
    assert (*bone.joint_rotation, *bone.limit_max) == by_hand


@pytest.mark.parametrize("roll", (0, 1))
@pytest.mark.parametrize("pull, bends", ((1.0, True), (-1.0, False)), ids=("from behind", "from the front"))
def test_a_limp_shank_bends_back_and_stops_at_its_limits(scene, pull, bends, roll):
    """The thigh is held; gravity pulls the shank back (it folds until its limit) or forward (it stays straight).

    The human faces -Y, so +Y is behind. The limits are narrowed to stop the fold within reach of a steady pull.
    """
    scene.render.fps = 24
    rigs.set_range(scene, 1, 120)
    scene.gravity = (0.0, 9.81 * pull, 0.0)
    obj = rigs.human(scene)
    if roll:
        rigs.roll_bones(obj, roll)
    obj.active_ragdoll.self_collision = False
    build.build(obj, scene)
    settings = obj.pose.bones["shin.L"].active_ragdoll
    limit = math.radians(60.0)
    settings.limit_max = (limit, 0.0, 0.0)
    build.rebuild(obj, scene)
    for part in obj.active_ragdoll.parts:
        own = obj.pose.bones[part.bone].active_ragdoll
        own.body_mode = "LIMP" if part.bone in ("shin.L", "foot.L") else "KINEMATIC"
    rigs.play(scene, 1, 120)
    shown, world = rigs.pose(obj), np.array(obj.matrix_world, dtype=float)
    rest = {name: world @ np.array(obj.data.bones[name].matrix_local) for name in ("thigh.L", "shin.L")}
    now = {name: shown[obj.data.bones.find(name)] for name in rest}
    turned = [rigid(now[name])[:3, :3] @ rigid(rest[name])[:3, :3].T for name in rest]
    frame = _frame(obj, rest, "shin.L")
    relative = quaternion.from_matrix(frame.T @ turned[0].T @ turned[1] @ frame)
    x, twist, z = (np.degrees(v) for v in limits.swing_twist_angles(relative))
    wanted = math.degrees(limit) if bends else math.degrees(settings.limit_min[0])
    assert x == pytest.approx(wanted, abs=3.0)
    assert max(abs(twist), abs(z)) < 1.0
    moved = now["shin.L"][:3, :3] @ (0, 1, 0) - rest["shin.L"][:3, :3] @ (0, 1, 0)
    assert (moved[1] > 0.5) if bends else abs(moved[1]) < 0.2


def test_a_narrowed_joint_is_found_with_its_frames_and_widened(scene):
    """A thigh that swings by 25 degrees about X at 0.8 Hz, allowed 10: found wherever the sine is beyond."""
    obj = rigs.ragdoll(scene, 60)
    bone = obj.pose.bones["thigh.L"].active_ragdoll
    bone.joint = "CONE"
    bone.joint_rotation = (1.0, 0.0, 0.0, 0.0)
    bone.limit_min, bone.limit_max = np.radians((-10, -10, -10)), np.radians((10, 10, 10))
    report = diagnose.check_limits(obj, scene)
    assert [found.bone for found in report.found] == ["thigh.L"]
    found = report.found[0]
    frames = np.arange(1, 61)
    angle = np.abs(25.0 * np.sin(2.0 * np.pi * (0.8 * (frames - 1) / 24.0 + 0.5)))
    beyond = angle > 10.0 + math.degrees(diagnose.NOTICED)
    assert found.frames.tolist() == frames[beyond].tolist()
    assert np.degrees(found.excess) == pytest.approx(angle[beyond] - 10.0, abs=0.02)
    assert "thigh.L" in report.text() and str(found.worst_frame) in report.text()
    built = build.rebuild(obj, scene)
    assert any("thigh.L" in note and "Check Limits" in note for note in built.notes)

    assert bpy.ops.active_ragdoll.check_limits(widen=True) == {"FINISHED"}
    assert bone.limits_from == "USER" and not obj.active_ragdoll.layout_changed
    assert diagnose.check_limits(obj, scene).found == []
    assert bone.limit_max[0] < math.radians(30.0), "no wider than needed"


def test_a_hinge_that_the_animation_turns_aside_becomes_a_cone(fresh_scene):
    obj = rigs.human(fresh_scene)
    rigs.set_range(fresh_scene, 1, 40)
    rigs.swing(obj, 1, 40, (("shin.L", (0, 1, 0), 12.0, 1.0, 0.0),))
    build.build(obj, fresh_scene)
    settings = obj.pose.bones["shin.L"].active_ragdoll
    assert (settings.limits_from, settings.joint) == ("ANATOMY", "CONE")
    assert obj.pose.bones["shin.R"].active_ragdoll.joint == "HINGE"
    assert diagnose.check_limits(obj, fresh_scene).found == []


def test_limits_that_make_no_sense_are_named(fresh_scene):
    obj = built_human(fresh_scene)
    bone = obj.pose.bones["thigh.R"].active_ragdoll
    bone.limit_min, bone.limit_max = (0.5, 0, 0), (-0.5, 0, 0)
    with pytest.raises(RagdollError, match=r"thigh\.R"):
        diagnose.check_limits(obj, fresh_scene)


def test_a_human_has_a_humans_masses(fresh_scene):
    obj = rigs.human(fresh_scene)
    built = build.build(obj, fresh_scene)
    height = obj.active_ragdoll.height
    assert built.mass == pytest.approx(70.0 * (height / 1.8) ** 3, rel=1e-4)
    assert rigs.part(obj, "thigh.L").body.rigid_body.mass / built.mass == pytest.approx(0.1416, rel=0.01)
    obj.active_ragdoll.mass_model, obj.active_ragdoll.body_mass = "WINTER", 55.0
    obj.pose.bones["head"].active_ragdoll.mass = 9.0
    build.build(obj, fresh_scene)
    assert rigs.part(obj, "thigh.L").body.rigid_body.mass == pytest.approx(5.5, rel=0.01)
    assert rigs.part(obj, "head").body.rigid_body.mass == pytest.approx(9.0)
    obj.pose.bones["head"].active_ragdoll.mass = 0.0
    obj.active_ragdoll.stabilize_masses = True
    build.build(obj, fresh_scene)
    masses = {part.bone: part.body.rigid_body.mass for part in obj.active_ragdoll.parts}
    assert sum(masses.values()) == pytest.approx(55.0, rel=1e-4)
    for part in obj.active_ragdoll.parts:
        if part.parent:
            assert 0.8 - 1e-4 <= masses[part.bone] / masses[part.parent] <= 1.2 + 1e-4


def test_unknown_characters_weigh_by_their_volume(fresh_scene):
    obj = rigs.chain(fresh_scene)
    light = build.build(obj, fresh_scene).mass
    masses = rigs.masses(obj)
    assert masses == pytest.approx([1000.0 * rigs.solid(part).volume() for part in obj.active_ragdoll.parts], rel=1e-3)
    obj.active_ragdoll.density = 2000.0
    assert build.build(obj, fresh_scene).mass == pytest.approx(2.0 * light, rel=1e-3)


def _degrees(values):
    return [round(math.degrees(v), 3) for v in values]


def _locked(bone):
    bone.lock_rotation = (False, True, True)


def _ik(bone):
    bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, math.radians(-10), math.radians(70)
    bone.lock_ik_y = bone.lock_ik_z = True


def _ik_locked(bone):
    bone.lock_ik_x = bone.lock_ik_y = bone.lock_ik_z = True


def _limit_rotation(bone):
    constraint = bone.constraints.new("LIMIT_ROTATION")
    constraint.owner_space = "LOCAL"
    for axis, (low, high) in {"x": (-20, 30), "y": (-5, 5), "z": (0, 45)}.items():
        setattr(constraint, f"use_limit_{axis}", True)
        setattr(constraint, f"min_{axis}", math.radians(low))
        setattr(constraint, f"max_{axis}", math.radians(high))


@pytest.mark.parametrize(
    ("state", "joint", "low", "high"),
    (
        (_locked, "HINGE", (None, 0.0, 0.0), (None, 0.0, 0.0)),
        (_ik, "HINGE", (-10.0, 0.0, 0.0), (70.0, 0.0, 0.0)),
        (_ik_locked, "FIXED", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        (_limit_rotation, "CONE", (-20.0, -5.0, 0.0), (30.0, 5.0, 45.0)),
    ),
)
def test_what_the_rig_states_is_taken_in_the_bones_own_frame(fresh_scene, state, joint, low, high):
    """Also on a human, whose shank has a frame and a range by its anatomy; None is a wide range."""
    for obj, name in ((rigs.chain(fresh_scene), "B"), (rigs.human(fresh_scene), "shin.L")):
        build.build(obj, fresh_scene)
        bone = obj.pose.bones[name]
        state(bone)
        build.build(obj, fresh_scene)
        settings = bone.active_ragdoll
        assert (settings.joint, settings.limits_from) == (joint, "RIG")
        assert tuple(settings.joint_rotation) == (1.0, 0.0, 0.0, 0.0)
        for found, wanted in ((settings.limit_min, low), (settings.limit_max, high)):
            for value, asked in zip(_degrees(found), wanted, strict=True):
                assert abs(value) > 57.0 if asked is None else value == pytest.approx(asked, abs=1e-3)
