"""Limits by anatomy, by the rig and by hand, and the check against them; limp bones stop at them, and come back."""

import math

import bpy
import numpy as np
import pytest
from mathutils import Quaternion, Vector

import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.run import kinematic
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.tools import diagnose, measure
from active_ragdoll.core.ragdoll.joints import limits

pytestmark = pytest.mark.blender_version


def test_limits_set_by_hand_survive_new_builds_and_what_a_build_finds_is_no_edit(fresh_scene):
    obj = rigs.human(fresh_scene)
    build.build(obj, fresh_scene)
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


@pytest.mark.parametrize("pull, bends, roll", ((1.0, True, 1), (-1.0, False, 0)))
def test_a_limp_shank_bends_back_and_stops_at_its_limits(scene, pull, bends, roll):
    """The thigh is held; gravity pulls the shank back (it folds until its limit) or forward (it stays straight).

    The human faces -Y, so +Y is behind. The limits are narrowed to stop the fold within reach of a steady pull."""
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
    rest = rigs.pose(obj)[obj.data.bones.find("shin.L"), :3, 1]
    rigs.play(scene, 1, 120)
    now = rigs.pose(obj)[obj.data.bones.find("shin.L"), :3, 1]
    wanted = limit if bends else settings.limit_min[0]
    assert np.degrees(np.arccos(now @ rest)) == pytest.approx(abs(math.degrees(wanted)), abs=3.0)
    assert (now - rest)[1] > 0.5 if bends else abs((now - rest)[1]) < 0.2
    assert abs((now - rest)[0]) < 0.02, "not aside"


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
    assert found.frames.tolist() == frames[angle > 10.0 + math.degrees(diagnose.NOTICED)].tolist()
    assert np.degrees(found.worst) == pytest.approx(angle.max() - 10.0, abs=0.02)
    assert "thigh.L" in report.text() and str(found.worst_frame) in report.text()
    assert any("thigh.L" in note and "Check Limits" in note for note in build.rebuild(obj, scene).notes)
    assert bpy.ops.active_ragdoll.check_limits(widen=True) == {"FINISHED"}
    assert bone.limits_from == "USER" and not obj.active_ragdoll.layout_changed
    assert diagnose.check_limits(obj, scene).found == []
    assert bone.limit_max[0] < math.radians(30.0), "no wider than needed"


def test_a_human_has_a_humans_masses(fresh_scene):
    obj = rigs.human(fresh_scene)
    built = build.build(obj, fresh_scene)
    assert built.mass == pytest.approx(70.0 * (obj.active_ragdoll.height / 1.8) ** 3, rel=1e-4)
    assert rigs.part(obj, "thigh.L").body.rigid_body.mass / built.mass == pytest.approx(0.1416, rel=0.01)
    obj.active_ragdoll.mass_model, obj.active_ragdoll.body_mass = "WINTER", 55.0
    obj.pose.bones["head"].active_ragdoll.mass = 9.0
    build.build(obj, fresh_scene)
    assert rigs.part(obj, "thigh.L").body.rigid_body.mass == pytest.approx(5.5, rel=0.01)
    assert rigs.part(obj, "head").body.rigid_body.mass == pytest.approx(9.0)


def _ik(bone):
    bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, math.radians(-10), math.radians(70)
    bone.lock_ik_y = bone.lock_ik_z = True


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
        (_ik, "HINGE", (-10.0, 0.0, 0.0), (70.0, 0.0, 0.0)),
        (lambda bone: [setattr(bone, f"lock_ik_{x}", True) for x in "xyz"], "FIXED", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        (_limit_rotation, "CONE", (-20.0, -5.0, 0.0), (30.0, 5.0, 45.0)),
    ),
)
def test_what_the_rig_states_is_taken_in_the_bones_own_frame(fresh_scene, state, joint, low, high):
    """Also on a human, whose shank has a frame and a range by its anatomy."""
    for obj, name in ((rigs.chain(fresh_scene), "B"), (rigs.human(fresh_scene), "shin.L")):
        build.build(obj, fresh_scene)
        bone = obj.pose.bones[name]
        state(bone)
        build.build(obj, fresh_scene)
        settings = bone.active_ragdoll
        assert (settings.joint, settings.limits_from) == (joint, "RIG")
        assert tuple(settings.joint_rotation) == (1.0, 0.0, 0.0, 0.0)
        assert np.degrees((settings.limit_min, settings.limit_max)) == pytest.approx(np.array((low, high)), abs=1e-3)


FRAMES = 90
DIRECTIONS = 12
# The promise: a cone is planned within this share of the asked swing, and may be drawn in by as much again.
SHARE = 0.05
ANGLE = math.radians(2.0)


def hang(scene, number, joint, low, high, pull, *, aside=False):
    """A held bone and a limp one whose joint has limits [rad]; gravity pulls along `pull` in the joint's frame."""
    obj = rigs.chain(scene, 2)
    held, limp = (obj.pose.bones[name].active_ragdoll for name in "AB")
    held.body_mode, limp.body_mode = "KINEMATIC", "LIMP"
    limp.joint, limp.joint_rotation, limp.limit_min, limp.limit_max = joint, (1.0, 0.0, 0.0, 0.0), low, high
    limp.linear_damping, limp.angular_damping = 0.0, 0.9
    limp.shape, limp.shape_by_user, limp.half_extents = "BOX", True, (0.1, 0.1, 0.1)
    limp.body_location = (0.4, 0.0, 0.0) if aside else (0.0, 0.4, 0.0)
    obj.active_ragdoll.self_collision = False
    down = obj.data.bones["B"].matrix_local.to_3x3() @ Vector(pull)
    turn = Quaternion((0.0, 0.0, 1.0), 1.7 * number + 0.4) @ down.rotation_difference(Vector((0.0, 0.0, -1.0)))
    obj.rotation_mode, obj.rotation_quaternion, obj.location.x = "QUATERNION", turn, 5.0 * number
    build.build(obj, scene)
    return obj


def stopped(scene, characters) -> np.ndarray:
    """Swing about X, twist and swing about Z [n, 3] of limp bones that came to rest [rad]."""
    rigs.set_range(scene, 1, FRAMES)
    rigs.play(scene, 1, FRAMES)
    found = []
    for obj in characters:
        pose, bones = rigs.pose(obj), obj.data.bones
        rest = np.array((bones["A"].matrix_local.inverted() @ bones["B"].matrix_local).to_3x3())
        found.append(limits.swing_twist_angles(quaternion.from_matrix(rest.T @ pose[0, :3, :3].T @ pose[1, :3, :3])))
    return np.array(found)


def swung(direction, beyond):
    """Where the bone points after a swing by `beyond` about (cos direction, 0, sin direction)."""
    return -math.sin(direction) * math.sin(beyond), math.cos(beyond), math.cos(direction) * math.sin(beyond)


# Half axes [deg]: X max, -X min, Z max, -Z min.
@pytest.mark.parametrize("cone", ((45, 45, 45, 45), (25, 55, 10, 40)))
def test_a_bone_stops_at_its_cone_in_every_direction(fresh_scene, cone):
    half = np.radians(cone)
    low, high = (-half[1], -0.5, -half[3]), (half[0], 0.5, half[2])
    pulls = [swung(2.0 * math.pi * i / DIRECTIONS, math.radians(100.0)) for i in range(DIRECTIONS)]
    made = [hang(fresh_scene, i, "CONE", low, high, pull) for i, pull in enumerate(pulls)]
    x, _twist, z = stopped(fresh_scene, made).T
    half_axes = limits.half_axes_of(low, high)
    asked = np.array([limits.ellipse_radius(half_axes, direction) for direction in np.arctan2(z, x)])
    off = np.hypot(x, z) / asked - 1.0
    assert off.min() > -2.0 * SHARE and off.max() < SHARE, off


SINGLE = (  # joint, limits [deg], the axis that is tried
    ("CONE", (0, -20, 0), (0, 50, 0), 1), ("CONE", (0, -150, 0), (0, 120, 0), 1),
    ("CONE", (-40, -10, -30), (120, 10, 30), 0), ("HINGE", (-10, 0, 0), (130, 0, 0), 0),
    ("HINGE", (10, 0, 0), (40, 0, 0), 0), ("HINGE", (0, -30, 0), (0, 60, 0), 1),
    ("HINGE", (0, 0, -100), (0, 0, 5), 2), ("FIXED", (0, 0, 0), (0, 0, 0), 0),
)  # fmt: skip


def test_a_bone_stops_at_either_end_of_a_range(fresh_scene):
    made, wanted = [], []
    for joint, low, high, axis in SINGLE:
        low, high = np.radians(low), np.radians(high)
        for end, sign in ((low[axis], -1.0), (high[axis], 1.0)):
            if axis == 1:  # a weight aside pulls where it would be beyond the limit
                pull = Quaternion((0.0, 1.0, 0.0), end + 0.4 * sign) @ Vector((1.0, 0.0, 0.0))
            else:
                pull = swung(0.0 if axis == 0 else math.pi / 2.0, end + 0.7 * sign)
            made.append(hang(fresh_scene, len(made), joint, low, high, pull, aside=axis == 1))
            wanted.append((joint, axis, end))
    for angles, (joint, axis, end) in zip(stopped(fresh_scene, made), wanted, strict=True):
        share = SHARE if joint == "CONE" and axis != 1 else 0.0  # a cone's swing is only promised to a share of itself
        assert abs(angles[axis] - end) < max(ANGLE, share * abs(end)), (joint, axis, end)
        assert joint == "CONE" or np.abs(np.delete(angles, axis)).max() < ANGLE, (joint, axis, end)


@pytest.mark.parametrize("rescue", (True, False))
def test_what_is_held_on_the_wrong_side_of_a_limit_comes_back(fresh_scene, monkeypatch, rescue):
    """A limb comes out of its animation far beyond its limit, and a board is between it and where it is wanted."""
    if not rescue:
        monkeypatch.setattr(kinematic.LimitRescue, "observe", lambda *_: None)
    obj, last = rigs.chain(fresh_scene, 3), 40
    rigs.set_range(fresh_scene, 1, last)
    for bone in obj.pose.bones:
        own = bone.active_ragdoll
        own.limits_from, own.limit_min, own.limit_max = "USER", (-0.3,) * 3, (0.3,) * 3
    obj.pose.bones["A"].active_ragdoll.body_mode = "KINEMATIC"
    rigs.key(obj.pose.bones["B"], "rotation_quaternion", {10: Quaternion((1.0, 0.0, 0.0), 1.75), 11: Quaternion()})
    rigs.key(obj, 'pose.bones["B"].active_ragdoll.body_mode', {10: "KINEMATIC", 11: "ACTIVE"})
    rigs.box(fresh_scene, "Board", (2.0, 2.0, 0.2), (1.45, 0.0, 2.25), passive=True)
    build.build(obj, fresh_scene)
    worst = measure.Worst(obj, fresh_scene)

    def read():
        worst.after_frame()
        run = STATE.runs[fresh_scene.name]
        return rigs.angles(run.body, run.wanted).max(), tuple(run.kinematic_by_effect)

    angles, led = zip(*rigs.play(fresh_scene, 1, last, read), strict=True)
    assert max(angles[14:16]) > 60.0, "it is held"
    assert angles[-1] < 0.5 if rescue else angles[-1] > 30.0
    assert set(led) == {(False,) * 3} | ({(False, True, True)} if rescue else set()), "with what hangs on it"
    assert worst.summary()["rescued_frames"] == led.count((False, True, True))
