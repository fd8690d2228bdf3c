"""Springs in world and joint space: closed forms of the damped oscillator, and bounded at any setting."""

import math

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender import build
from active_ragdoll.core.blender.runtime import STATE

KICK = 0.3  # [m] that the target moves in the first frame, and stands still


def _empty(fps=24, gravity=0.0):
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.render.fps, scene.gravity = fps, (0.0, 0.0, -gravity)
    return scene


def _constant(obj):
    for curve in rigs.curves_of(obj.animation_data.action):
        for point in curve.keyframe_points:
            point.interpolation = "CONSTANT"


def _one_body(scene, frequency, ratio):
    obj = rigs.chain(scene, 1)
    settings = obj.active_ragdoll
    settings.drive, settings.spring_frequency, settings.spring_damping_ratio = "SPRING", frequency, ratio
    bone = obj.pose.bones["A"].active_ragdoll
    bone.linear_damping = bone.angular_damping = 0.0
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


SPRINGS = [(f, z) for f in (0.5, 1.0, 2.0) for z in (0.0, 0.2, 1.0)]


@pytest.mark.parametrize(("frequency", "ratio"), SPRINGS)
def test_a_kicked_body_follows_the_damped_oscillator(frequency, ratio):
    """At 240 steps a second within 2 % of the largest swing; the body begins with its target's speed."""
    scene = _empty(240)
    last = 2 + 3 * 240
    rigs.set_range(scene, 1, last)
    obj = _one_body(scene, frequency, ratio)
    for frame, x in ((-3, 0.0), (1, 0.0), (2, KICK / 10.0)):
        obj.location.x = x
        obj.keyframe_insert("location", frame=frame)
    _constant(obj)
    build.build(obj, scene)
    scene.rigidbody_world.substeps_per_frame = 1
    places = np.array(rigs.play(scene, 1, last, lambda: rigs.bodies(obj)[0, 0, 3]))
    away = places[1:] - places[0] - KICK / 10.0
    expected = _after(frequency, ratio, len(away), KICK / 10.0 * 240.0)
    assert np.abs(away - expected).max() < 0.02 * np.abs(expected).max()


@pytest.mark.parametrize(("frequency", "ratio"), SPRINGS)
def test_a_turned_body_follows_the_damped_oscillator(frequency, ratio):
    """The same about an axis along the limb, by a kick of 1.2 rad/s."""
    scene = _empty(240)
    last = 2 + 2 * 240
    rigs.set_range(scene, 1, last)
    obj = _one_body(scene, frequency, ratio)
    bone = obj.pose.bones["A"]
    for frame, angle in ((-3, 0.0), (1, 0.0), (2, 1.2 / 240.0)):
        bone.rotation_quaternion = (math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0)
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    _constant(obj)
    bone.active_ragdoll.shape = "SPHERE"  # the same inertia about every axis
    build.build(obj, scene)
    scene.rigidbody_world.substeps_per_frame = 1
    turns = np.array(rigs.play(scene, 1, last, lambda: rigs.bodies(obj)[0, :3, :3]))
    turns = quaternion.from_matrix(turns)
    angle = quaternion.to_rotation_vector(quaternion.multiply(turns, quaternion.conjugate(turns[:1])))[:, 0]
    away = angle[1:] - 1.2 / 240.0 * np.sign(angle[1])
    inertia = obj.active_ragdoll.parts[0].inertia
    own = 0.4 * obj.active_ragdoll.parts[0].body.rigid_body.mass * (0.5 * max(_size(obj))) ** 2
    natural = frequency * math.sqrt(inertia / own)
    expected = _after(natural, ratio * math.sqrt(inertia / own), len(away), 1.2) * np.sign(angle[1])
    assert np.abs(away - expected).max() < 0.02 * np.abs(expected).max()


def _size(obj):
    return np.ptp([tuple(v.co) for v in obj.active_ragdoll.parts[0].body.data.vertices], axis=0)


@pytest.mark.parametrize("space", ("WORLD", "JOINT"))
@pytest.mark.parametrize("fps", (24, 60))
@pytest.mark.parametrize("ratio", (0.0, 1.0, 3.0))
@pytest.mark.parametrize("frequency", (0.1, 3.0, 30.0))
def test_springs_stay_bounded(space, fps, ratio, frequency):
    """Bodies of 0.1 and 10 kg in turns, moving targets, gravity: no body leaves, none spins away."""
    scene = _empty(fps, 9.81)
    last = 1 + 3 * fps
    rigs.set_range(scene, 1, last)
    obj = rigs.chain(scene, 4, 0.3)
    rigs.swing(obj, 1, last, (("A", (0, 0, 1), 30.0, 1.0, 0.0), ("C", (1, 0, 0), 30.0, 2.0, 0.3)), fps)
    settings = obj.active_ragdoll
    settings.drive, settings.drive_space = "SPRING", space
    settings.spring_frequency, settings.spring_damping_ratio = frequency, ratio
    settings.self_collision = False
    for name, mass in zip("ABCD", (0.1, 10.0, 0.1, 10.0), strict=True):
        obj.pose.bones[name].active_ragdoll.mass = mass
    build.build(obj, scene)
    bodies = np.array(rigs.play(scene, 1, last, lambda: rigs.bodies(obj)))
    assert scene.name not in STATE.messages and np.isfinite(bodies).all()
    centre = bodies[:, :, :3, 3].mean(axis=1, keepdims=True)
    assert np.linalg.norm(bodies[:, :, :3, 3] - centre, axis=-1).max() < 0.8  # the chain is 1.2 m long
    turns = bodies[1:, :, :3, :3] @ bodies[:-1, :, :3, :3].transpose(0, 1, 3, 2)
    speed = np.linalg.norm(quaternion.to_rotation_vector(quaternion.from_matrix(turns)), axis=-1) * fps
    assert np.median(speed[-fps:].max(axis=1)) < 40.0


def test_half_the_weight_is_a_spring_of_half_the_stiffness(fresh_scene):
    """It sags twice as far."""

    def sag(weight):
        scene = _empty(24, 9.81)
        rigs.set_range(scene, 1, 120)
        obj = _one_body(scene, 2.0, 1.0)
        obj.active_ragdoll.translation_weight = weight
        build.build(obj, scene)
        heights = rigs.play(scene, 1, 120, lambda: rigs.bodies(obj)[0, 2, 3])
        return heights[0] - heights[-1]

    assert sag(0.5) == pytest.approx(2.0 * sag(1.0), rel=0.03)
    assert sag(1.0) == pytest.approx(9.81 / (2.0 * math.pi * 2.0) ** 2, rel=0.05)


def test_a_keyed_frequency_acts_at_its_frame(fresh_scene):
    """At frame 40 from 4 to 1 Hz: until then nothing differs, then it sags 16 times as far."""

    def heights(keyed):
        scene = _empty(24, 9.81)
        rigs.set_range(scene, 1, 120)
        obj = _one_body(scene, 4.0, 1.0)
        if keyed:
            for frame, value in ((1, 4.0), (40, 1.0)):
                obj.active_ragdoll.spring_frequency = value
                obj.keyframe_insert("active_ragdoll.spring_frequency", frame=frame)
            _constant(obj)
        build.build(obj, scene)
        return np.array(rigs.play(scene, 1, 120, lambda: rigs.bodies(obj)[0, 2, 3]))

    keyed, plain = heights(True), heights(False)
    assert np.array_equal(keyed[:39], plain[:39])
    assert keyed[39] != plain[39]
    assert keyed[0] - keyed[-1] == pytest.approx(16.0 * (plain[0] - plain[-1]), rel=0.05)
