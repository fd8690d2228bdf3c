"""Springs and the joint-space drive: closed forms of the damped oscillator."""

import itertools
import math

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.runtime import STATE
from hitting import empty


def _joint_errors(obj, scene, first, last):
    """Errors of the relative rotations [f, k] (degrees) while a shot plays."""

    def read():
        run = STATE.runs[scene.name]
        own = run.joint_drives
        return np.degrees(quaternion.angle_between(own.relative(rigs.bodies(obj)), own.relative(run.wanted)))

    return np.array(rigs.play(scene, first, last, read))


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
    assert max(free, sunk(1.5 * needed)[0]) < 0.002
    assert sunk(0.5 * needed)[0] > 0.05


KICK = 0.3  # [m] that the target moves in the first frame, and stands still


def _one_body(scene, frequency, ratio):
    obj = rigs.chain(scene, 1)
    settings = obj.active_ragdoll
    settings.drive, settings.spring_frequency, settings.spring_damping_ratio = "SPRING", frequency, ratio
    rigs.undamped(obj)
    return obj


def _kicked(frequency, ratio, time, speed):
    """Distance [..] of a damped oscillator from its rest, passing it with a speed at time 0."""
    omega = 2.0 * math.pi * frequency
    if ratio < 1.0:
        turned = omega * math.sqrt(1.0 - ratio**2)
        return speed / turned * np.exp(-ratio * omega * time) * np.sin(turned * time)
    if ratio == 1.0:
        return speed * time * np.exp(-omega * time)
    root = omega * math.sqrt(ratio**2 - 1.0)
    return speed / root * np.exp(-ratio * omega * time) * np.sinh(root * time)


def _after(frequency, ratio, count, speed):
    """Distances in `count` steps of 1/240 s. Bullet's speeds are those in the middle of a step: the body, which had the
    target's speed half a step before, has lost what the damper takes in that time."""
    step = 1.0 / 240.0
    speed *= _kicked(frequency, ratio, np.array(step), 1.0) / step
    return _kicked(frequency, ratio, np.arange(count) * step, speed)


SPRINGS = ((0.5, 1.0), (1.0, 0.2))


@pytest.mark.blender_version
@pytest.mark.parametrize(("frequency", "ratio"), SPRINGS)
def test_a_kicked_body_follows_the_damped_oscillator(frequency, ratio):
    """At 240 steps a second within 2 % of the largest swing; the body begins with its target's speed."""
    scene = empty(240)
    last = 2 + 3 * 240
    rigs.set_range(scene, 1, last)
    obj = _one_body(scene, frequency, ratio)
    rigs.key(obj, "location", {-3: (0.0, 0.0, 0.0), 1: (0.0, 0.0, 0.0), 2: (KICK / 10.0, 0.0, 0.0)})
    rigs.interpolate(obj, "CONSTANT")
    build.build(obj, scene)
    scene.rigidbody_world.substeps_per_frame = 1
    places = np.array(rigs.play(scene, 1, last, lambda: rigs.bodies(obj)[0, 0, 3]))
    away = places[1:] - places[0] - KICK / 10.0
    expected = _after(frequency, ratio, len(away), KICK / 10.0 * 240.0)
    assert np.abs(away - expected).max() < 0.02 * np.abs(expected).max()


# Half extents [m] in the bone's frame, Y along the bone.
BODIES = {"rod": (0.02, 0.5, 0.02), "plate": (0.3, 0.5, 0.02)}


def _shape(bone, body):
    own = bone.active_ragdoll
    rigs.changed(own, shape="BOX", shape_by_user=True, half_extents=BODIES[body], body_location=(0.0, 0.5, 0.0))


def _turns(obj, bone, axis):
    """Angles [f] about a bone's axis, after its animation has turned it by 1.2 rad/s for 1/240 s, a little askew."""
    scene, last = bpy.context.scene, 2 + 3 * 240
    rigs.set_range(scene, 1, last)
    kick = Quaternion(np.add(axis, 0.01), 1.2 / 240.0)
    rigs.key(bone, "rotation_quaternion", {-3: Quaternion(), 1: Quaternion(), 2: kick})
    rigs.interpolate(obj, "CONSTANT")
    build.build(obj, scene)
    scene.rigidbody_world.substeps_per_frame = 1
    along = np.array(bone.bone.matrix_local.to_3x3()) @ axis
    turns = quaternion.from_matrix(np.array(rigs.play(scene, 1, last, lambda: rigs.bodies(obj)[-1, :3, :3])))
    angle = quaternion.to_rotation_vector(quaternion.multiply(turns, quaternion.conjugate(turns[:1]))) @ along
    return angle[1:] - 1.2 / 240.0


X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


@pytest.mark.parametrize(("frequency", "ratio", "body", "axis"), ((1.0, 0.2, "rod", X), (0.5, 0.0, "plate", Z)))
def test_a_turned_body_follows_the_damped_oscillator(frequency, ratio, body, axis):
    """The same about both axes across the limb, by a kick of 1.2 rad/s, whatever the body's proportions."""
    obj = _one_body(empty(240), frequency, ratio)
    _shape(obj.pose.bones["A"], body)
    away = _turns(obj, obj.pose.bones["A"], axis)
    expected = _after(frequency, ratio, len(away), 1.2)
    assert np.abs(away - expected).max() < 0.02 * np.abs(expected).max()


@pytest.mark.parametrize(("space", "body", "axis"), [*itertools.product(("WORLD", "JOINT"), BODIES, (X, Z))])
def test_a_body_swings_about_its_joint_at_the_frequency_asked_for(space, body, axis):
    """Within 3 % of 1 Hz, about both axes across the limb; its parent stands still."""
    obj = rigs.chain(empty(240), 2, 1.0)
    settings = obj.active_ragdoll
    settings.drive, settings.drive_space, settings.translation_weight = "SPRING", space, 0.0
    settings.spring_frequency, settings.spring_damping_ratio, settings.self_collision = 1.0, 0.05, False
    obj.pose.bones["A"].active_ragdoll.body_mode = "KINEMATIC"
    bone = obj.pose.bones["B"]
    bone.active_ragdoll.joint = "FREE"
    bone.active_ragdoll.linear_damping = bone.active_ragdoll.angular_damping = 0.0
    _shape(bone, body)
    away = _turns(obj, bone, axis)
    crossings = np.flatnonzero((away[1:] < 0.0) != (away[:-1] < 0.0))
    exact = crossings + away[crossings] / (away[crossings] - away[crossings + 1])
    assert 0.5 * 240.0 * (len(exact) - 1) / (exact[-1] - exact[0]) == pytest.approx(1.0, rel=0.03)


@pytest.mark.parametrize("space", ("WORLD", "JOINT"))
def test_springs_stay_bounded(space):
    """Bodies of 0.1 and 10 kg in turns, moving targets, gravity: no body leaves, none spins away."""
    scene, fps, last = rigs.empty_file(), 24, 73
    rigs.set_range(scene, 1, last)
    chains = {}
    for number, (frequency, ratio) in enumerate(itertools.product((0.1, 30.0), (0.0, 3.0))):
        obj = rigs.chain(scene, 4, 0.3, head=(0.0, 10.0 * number, 2.0))  # out of each other's reach
        rigs.swing(obj, 1, last, (("A", (0, 0, 1), 30.0, 1.0, 0.0), ("C", (1, 0, 0), 30.0, 2.0, 0.3)), fps)
        settings = obj.active_ragdoll
        settings.drive, settings.drive_space = "SPRING", space
        settings.spring_frequency, settings.spring_damping_ratio = frequency, ratio
        for name, mass in zip("ABCD", (0.1, 10.0, 0.1, 10.0), strict=True):
            obj.pose.bones[name].active_ragdoll.mass = mass
        settings.self_collision = False
        build.build(obj, scene)
        chains[frequency, ratio] = obj
    found = rigs.play(scene, 1, last, lambda: [rigs.bodies(obj) for obj in chains.values()])
    assert scene.name not in STATE.messages
    for spring, bodies in zip(chains, np.array(found).swapaxes(0, 1), strict=True):
        assert np.isfinite(bodies).all(), spring
        centre = bodies[:, :, :3, 3].mean(axis=1, keepdims=True)
        assert np.linalg.norm(bodies[:, :, :3, 3] - centre, axis=-1).max() < 0.8, spring  # the chain is 1.2 m long
        turns = bodies[1:, :, :3, :3] @ bodies[:-1, :, :3, :3].transpose(0, 1, 3, 2)
        speed = np.linalg.norm(quaternion.to_rotation_vector(quaternion.from_matrix(turns)), axis=-1) * fps
        assert np.median(speed[-fps:].max(axis=1)) < 40.0, spring
