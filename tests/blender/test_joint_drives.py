"""The joint-space drive: exact within the body, and no hand from outside."""

import numpy as np
import pytest

import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.runtime import STATE
from own_characters import or_own

(MOCAP,) = or_own("01_01.bvh")


def _joint_errors(obj, scene, first, last):
    """Errors of the relative rotations [f, k] (degrees) while a shot plays."""

    def read():
        run = STATE.runs[scene.name]
        own = run.joint_drives
        return np.degrees(quaternion.angle_between(own.relative(rigs.bodies(obj)), own.relative(run.wanted)))

    return np.array(rigs.play(scene, first, last, read))


def test_relative_rotations_follow_the_mocap():
    """Within 1.5 degrees in the mean while the body falls freely."""
    rig = rigs.load(MOCAP, 60)
    rig.obj.active_ragdoll.drive_space = "JOINT"
    build.build(rig.obj, rig.scene)
    errors = _joint_errors(rig.obj, rig.scene, rig.first, rig.last)
    assert len(errors) > 10
    assert errors.mean() <= 1.5


@pytest.mark.blender_version
@pytest.mark.parametrize(("axis", "degrees"), (((1, 0, 0), 120.0), ((1, 0, 1), 120.0)))
def test_it_holds_through_ninety_and_a_hundred_and_twenty_degrees(scene, axis, degrees):
    """Where an axis of every motor degenerates in turn."""
    scene.gravity = (0.0, 0.0, 0.0)
    rigs.set_range(scene, 1, 73)
    obj = rigs.chain(scene, 3)
    frames = np.arange(-3, 74)
    angles = np.radians(degrees) * 0.5 * (1.0 - np.cos(2.0 * np.pi * np.maximum(frames - 1, 0) / 72.0))
    turns = quaternion.from_axis_angle(np.array(axis) / np.linalg.norm(axis), angles)
    rigs.key(obj.pose.bones["B"], "rotation_quaternion", dict(zip(frames.tolist(), turns, strict=True)))
    for other in obj.pose.bones:
        other.active_ragdoll.joint = "FREE"
    obj.active_ragdoll.drive_space, obj.active_ragdoll.self_collision = "JOINT", False
    build.build(obj, scene)
    assert _joint_errors(obj, scene, 1, 73).max() < 1.5


def _retimed(rig, fps):
    """The clip at another frame rate, the same over time."""
    rig.scene.render.fps = fps
    factor = fps / 24.0
    for curve in rigs.curves_of(rig.obj.animation_data.action):
        for point in curve.keyframe_points:
            for place in (point.co, point.handle_left, point.handle_right):
                place.x = 1.0 + (place.x - 1.0) * factor
        curve.update()
    rig.first = round(1 + (rig.first + 10 - 1) * factor)


def _momenta(name, weight):
    """Linear and angular momentum about the centre of mass [f, 3], and what moves within, at 240 frames a second."""
    rig = rigs.load(name)
    _retimed(rig, 240)
    scene, obj = rig.scene, rig.obj
    rigs.set_range(scene, rig.first, rig.first + 120)
    scene.frame_set(rig.first)
    scene.gravity = (0.0, 0.0, 0.0)
    settings = obj.active_ragdoll
    settings.drive_space, settings.self_collision = "JOINT", False
    rigs.undamped(obj)
    for bone in obj.pose.bones:
        bone.active_ragdoll.shape = "BOX"  # whose inertia is simple
    rigs.set_weights(obj, weight)
    build.build(obj, scene)
    masses = rigs.masses(obj)
    sides = np.array([2.0 * rigs.half_extents(part) for part in settings.parts])
    poses = np.array(rigs.play(scene, rig.first, rig.first + 120, lambda: rigs.bodies(obj)))[1:]
    momentum, around, own = rigs.momenta(poses, masses, rigs.box_moments(masses, sides), 240.0)
    total = momentum.sum(axis=1)
    within = momentum - masses[:, None] * total[:, None] / masses.sum()
    inner, swinging = (np.linalg.norm(each, axis=-1).sum(axis=1).mean() for each in (within, around))
    return total, (around + own).sum(axis=1), inner, swinging


def _drift(momentum):
    return np.linalg.norm(momentum - momentum[0], axis=1).max()


def test_momentum_is_kept_as_well_as_by_a_limp_body():
    """Linear and angular momentum like the same ragdoll limp, or to two thousandths of what moves within: what places
    in single precision leave of their differences."""
    limp_linear, limp_angular, _inner, _swinging = _momenta("zombie.bvh", 0.0)
    linear, angular, inner, swinging = _momenta("zombie.bvh", 1.0)
    assert inner > 0.5, "nothing moves within"
    assert _drift(linear) <= max(2e-3 * inner, 1.5 * _drift(limp_linear))
    assert _drift(angular) <= max(2e-3 * swinging, 1.5 * _drift(limp_angular))


@pytest.mark.blender_version
def test_at_weight_zero_both_spaces_are_the_same_limp_body(fresh_scene):
    """Until the first limit is met: from there on the order of constraints decides how the solver rounds."""

    def run(space):
        scene = rigs.empty_file()
        obj = rigs.ragdoll(scene, 30, 0.0, drive_space=space)
        return np.array(rigs.play(scene, 1, 30, lambda: rigs.bodies(obj)))

    joint, world = run("JOINT"), run("WORLD")
    assert (joint[0] - joint[4])[:, 2, 3].max() > 0.1
    assert np.abs(joint[:5] - world[:5]).max() < 1e-5
    fallen = [(places[0, :, 2, 3] - places[-1, :, 2, 3]).mean() for places in (joint, world)]
    assert fallen[0] == pytest.approx(fallen[1], rel=0.02)


@pytest.mark.blender_version
def test_a_largest_torque_lets_a_lifted_arm_sink(fresh_scene):
    """The upper body stands on kinematic hips; the forearm cannot be held by less than gravity's torque on it."""

    def sunk(torque):
        scene = rigs.empty_file()
        obj = rigs.human(scene)
        rigs.set_range(scene, 1, 25)
        obj.active_ragdoll.drive_space, obj.active_ragdoll.self_collision = "JOINT", False
        for bone in obj.pose.bones:
            if bone.name not in ("forearm.L", "finger.L"):
                bone.active_ragdoll.body_mode = "KINEMATIC"
            bone.active_ragdoll.joint = "FREE"
        obj.pose.bones["forearm.L"].active_ragdoll.max_torque = torque
        build.build(obj, scene)
        carried = [rigs.part(obj, name) for name in ("forearm.L", "finger.L")]
        gravity = sum(p.body.rigid_body.mass * 9.81 * abs(p.bind[0, 3] - 0.47) for p in carried)
        heights = rigs.play(scene, 1, 25, lambda: rigs.matrices([carried[0].body])[0, 2, 3])
        return heights[0] - heights[-1], gravity

    free, needed = sunk(0.0)
    assert free < 0.002
    assert sunk(1.5 * needed)[0] < 0.002
    assert sunk(0.5 * needed)[0] > 0.05
