"""Attachments: what is held stays held, the reaction acts where physics moves the target, and nothing acts before."""

import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.runtime import STATE
from holding import (
    TIP,
    attach,
    bone_matrix,
    empty,
    in_target,
    key_enabled,
    limp,
    loosen_arm,
    momentum_reader,
    tip,
)

pytestmark = pytest.mark.blender_version

# ---- targets that stand still or are animated -----------------------------------------------------------------------


@pytest.mark.parametrize("space", ("WORLD", "JOINT"))
def test_a_hand_rides_a_moving_target_with_the_offset_of_the_moment(fresh_scene, space):
    obj = rigs.swinging_human(fresh_scene, 1, 48)
    obj.active_ragdoll.drive_space = space
    target = empty(fresh_scene, {1: (0.6, -0.2, 1.3), 48: (0.52, -0.15, 1.36)})
    loosen_arm(obj)
    build.build(obj, fresh_scene)
    if space == "JOINT":
        obj.pose.bones["hips"].active_ragdoll.body_mode = "KINEMATIC"
    attach(obj, target, point=TIP)
    key_enabled(obj, {1: False, 12: True})
    offsets = np.array(rigs.play(fresh_scene, 1, 48, lambda: in_target(target, tip(obj))))
    kept = offsets[10]  # frame 11, where it stood when it was switched on
    assert np.linalg.norm(offsets[12:] - kept, axis=1).max() < 4e-3
    assert np.linalg.norm(offsets[5] - kept) > 0.02, "it moved against the target before"
    assert not STATE.warnings.get(obj.name)


@pytest.mark.parametrize("mode", ("KINEMATIC", "ACTIVE"))
def test_a_fixed_bone_turns_with_its_target(scene, mode):
    """The end of a limp chain whose root is led keeps its pose against a target that moves and turns."""
    scene.render.fps = rigs.FPS
    obj = rigs.chain(scene, 4)
    target = empty(scene, {1: (1.6, 0.0, 2.0), 48: (1.2, 0.3, 2.2)})
    for frame, angle in ((1, 0.0), (48, 1.0)):
        target.rotation_euler = (0.2 * angle, 0.0, angle)
        target.keyframe_insert("rotation_euler", frame=frame)
    rigs.set_range(scene, 1, 48)
    for bone in obj.pose.bones:
        bone.active_ragdoll.joint = "FREE"
        if bone.name != "A":
            bone.active_ragdoll.rotation_weight = bone.active_ragdoll.translation_weight = 0.0
    obj.pose.bones["A"].active_ragdoll.body_mode = mode
    build.build(obj, scene)
    attach(obj, target, bone="D", kind="FIXED", point=(0.0, 0.4, 0.0))
    key_enabled(obj, {1: False, 8: True})
    read = np.array(rigs.play(scene, 1, 48, lambda: np.linalg.inv(rigs.matrices([target])[0]) @ bone_matrix(obj, "D")))
    kept = read[6]
    assert np.linalg.norm(read[7:, :3, 3] - kept[:3, 3], axis=1).max() < 2e-3
    assert rigs.angles(read[7:], np.broadcast_to(kept, read[7:].shape)).max() < 0.5


def test_a_stated_offset_is_reached_in_its_time_and_kept(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 48)
    target = empty(fresh_scene, {1: (0.6, -0.2, 1.3), 48: (0.52, -0.15, 1.36)})
    loosen_arm(obj)
    build.build(obj, fresh_scene)
    attach(obj, target, offset="STATED", offset_location=(0.0, 0.0, 0.1), reach_seconds=0.5, point=TIP)
    key_enabled(obj, {1: False, 12: True})
    offsets = np.array(rigs.play(fresh_scene, 1, 48, lambda: in_target(target, tip(obj)) - (0.0, 0.0, 0.1)))
    away = np.linalg.norm(offsets, axis=1)
    assert away[10] > 0.1
    assert away[24:].max() < 4e-3
    assert np.abs(np.diff(away[10:24])).max() < 2.5 * away[10] / 12, "no jerk on the way"


def test_switched_off_it_falls_and_switched_on_again_it_keeps_the_new_offset(scene):
    scene.render.fps = rigs.FPS
    obj = rigs.chain(scene, 2)
    target = empty(scene, {1: (0.5, 0.0, 2.0)})
    rigs.set_range(scene, 1, 60)
    build.build(obj, scene)
    limp(obj)
    attach(obj, target, bone="A", kind="FIXED")
    key_enabled(obj, {1: True, 20: False, 26: True})
    heights = np.array(rigs.play(scene, 1, 60, lambda: rigs.bodies(obj)[0, 2, 3]))
    assert np.ptp(heights[:18]) < 1e-3
    fall = heights[18] - heights[24]
    assert 0.15 < fall < 0.4, "six frames of free fall: 0.31 m, one body pulls at the other"
    assert np.ptp(heights[26:]) < 5e-3


def test_the_largest_force_carries_what_it_can(scene):
    scene.render.fps = rigs.FPS
    results = {}
    for share in (0.8, 4.0):
        scene = rigs.empty_file()
        obj = rigs.chain(scene, 2)
        target = empty(scene, {1: (0.5, 0.0, 2.0)})
        rigs.set_range(scene, 1, 40)
        build.build(obj, scene)
        limp(obj)
        weight = 9.81 * sum(part.body.rigid_body.mass for part in obj.active_ragdoll.parts)
        attach(obj, target, bone="A", max_force=share * weight)
        heights = np.array(rigs.play(scene, 1, 40, lambda obj=obj: bone_matrix(obj, "A")[2, 3]))
        results[share] = heights[0] - heights[24]
    # The bones swing down on what holds them, so that it has to carry more than their weight for a while.
    assert results[4.0] < 0.03
    assert results[0.8] > 0.3


# ---- targets that physics moves -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "offset"), (("POINT", "STATED"), ("FIXED", "MOMENT"), ("FIXED", "STATED"), ("DISTANCE", "MOMENT"))
)
def test_a_pair_keeps_its_momentum(scene, kind, offset):
    """No outside hand: the centre of both goes on as before, through switching on, holding and switching off."""
    obj = rigs.swinging_human(scene, 1, 90)
    scene.gravity = (0.0, 0.0, 0.0)
    prop = rigs.box(scene, "Prop", (0.1, 0.1, 0.1), (0.8, 0.1, 1.6), mass=3.0)
    prop.rigid_body.linear_damping = prop.rigid_body.angular_damping = 0.0
    rigs.undamped(obj)
    obj.active_ragdoll.drive_space = "JOINT"
    build.build(obj, scene)
    attach(obj, prop, kind=kind, offset=offset, point=TIP, offset_location=(-0.15, 0.0, 0.0))
    key_enabled(obj, {1: False, 10: True, 80: False})
    read = rigs.play(scene, 1, 90, lambda: momentum_reader(obj, prop))
    masses = read[0][0]
    centres = np.array([masses @ r[1][:, :3, 3] / masses.sum() for r in read])
    speed = np.diff(centres, axis=0) * rigs.FPS
    assert np.linalg.norm(speed[2:] - speed[5], axis=1).max() < 1e-4
    assert not STATE.warnings.get(obj.name)


@pytest.mark.parametrize("kind", ("POINT", "FIXED"))
def test_a_pair_keeps_its_spin(scene, kind):
    """Two boxes of one bone each: their angular momentum stays, measured at 240 frames a second."""
    scene.gravity = (0.0, 0.0, 0.0)
    scene.render.fps = 240
    obj = rigs.chain(scene, 1)
    rigs.undamped(obj)
    prop = rigs.box(scene, "Prop", (0.3, 0.2, 0.1), (0.3, 0.5, 2.3), mass=2.0)
    prop.rigid_body.linear_damping = prop.rigid_body.angular_damping = 0.0
    rigs.set_range(scene, 1, 120)
    rigs.key_locations(obj, {-3: (0.0, 0.0, 0.0), 1: (0.0, 0.0, 0.0)})
    rigs.key(obj, "rotation_euler", {1: (0.0, 0.0, 0.0), 2: (0.0, 0.0, 0.02)})  # the spin with which the bodies start
    rigs.interpolate(obj, "LINEAR")
    for curve in rigs.curves_of(obj.animation_data.action):
        curve.extrapolation = "LINEAR"
    build.build(obj, scene)
    limp(obj)
    attach(obj, prop, bone="A", kind=kind)
    key_enabled(obj, {1: False, 30: True})
    read = rigs.play(scene, 1, 120, lambda: momentum_reader(obj, prop))
    boxes = [np.array(o.dimensions) for o in (obj.active_ragdoll.parts[0].body, prop)]
    spin = _angular_momentum(read, boxes, 240.0)
    size = np.linalg.norm(spin[5:25], axis=1).mean()
    assert size > 1e-3
    assert np.linalg.norm(spin[5:] - spin[5:25].mean(axis=0), axis=1).max() < 0.02 * size


def _angular_momentum(read, boxes, fps):
    from active_ragdoll.core import quaternion

    masses = read[0][0]
    places = np.array([r[1] for r in read])
    centres = np.einsum("m,fmi->fi", masses, places[:, :, :3, 3]) / masses.sum()
    arms = places[:, :, :3, 3] - centres[:, None]
    speeds = np.diff(arms, axis=0) * fps
    middle = 0.5 * (arms[1:] + arms[:-1])
    total = np.einsum("m,fmi->fi", masses, np.cross(middle, speeds))
    for i, box in enumerate(boxes):
        inertia = masses[i] / 12.0 * (np.sum(box**2) - box**2)
        turns = quaternion.from_matrix(places[:, i, :3, :3])
        step = quaternion.multiply(turns[1:], quaternion.conjugate(turns[:-1]))
        rate = quaternion.to_rotation_vector(step) * fps
        axes = places[1:, i, :3, :3]
        total += np.einsum("fij,j,fkj,fk->fi", axes, inertia, axes, rate)
    return total


def test_two_characters_hold_hands(scene):
    first = rigs.swinging_human(scene, 1, 60)
    second = rigs.human(scene, "Partner")
    second.location = (1.42, 0.0, 0.0)
    rigs.swing(second, 1, 60)
    loosen_arm(first)
    loosen_arm(second, "R")
    for obj in (first, second):
        build.build(obj, scene)
    item = attach(first, second, kind="POINT", offset="STATED", offset_location=TIP, point=TIP, reach_seconds=0.4)
    item.target_bone = "forearm.R"
    key_enabled(first, {1: False, 10: True, 50: False})
    gaps = np.array(rigs.play(scene, 1, 60, lambda: np.linalg.norm(tip(first) - tip(second, "forearm.R"))))
    assert gaps[8] > 0.04
    assert gaps[20:48].max() < 15e-3  # they meet, and bump, within the time that was given them
    assert gaps[30:48].max() < 5e-3
    assert gaps[-1] > 0.02
    assert not STATE.warnings.get(first.name)


# ---- ropes ----------------------------------------------------------------------------------------------------------


def test_a_rope_swings_as_a_pendulum_and_never_gets_longer(scene):
    """A small body on a long rope: the period is that of a pendulum with its amplitude, within 2 %."""
    scene.render.fps = 48
    obj = rigs.chain(scene, 1, length=0.1, head=(0.0, -0.05, 0.0), direction=(0.0, 1.0, 0.0))
    obj.pose.bones["A"].active_ragdoll.linear_damping = obj.pose.bones["A"].active_ragdoll.angular_damping = 0.0
    length, angle = 1.5, np.radians(40.0)
    target = empty(scene, {1: (length * np.sin(angle), 0.0, length * np.cos(angle))})
    rigs.set_range(scene, 1, 240)
    build.build(obj, scene)
    limp(obj)
    attach(obj, target, bone="A", kind="DISTANCE", point=(0.0, 0.05, 0.0))
    places = np.array(rigs.play(scene, 1, 240, lambda: rigs.bodies(obj)[0, :3, 3]))
    away = places - np.array(target.location)
    lengths = np.linalg.norm(away, axis=1)
    assert abs(lengths[1:] / length - 1.0).max() < 0.01
    angles = np.arctan2(away[:, 0], -away[:, 2])
    assert abs(angles.max() - angle) < np.radians(3.0), "it comes up again on the other side"
    crossings = np.flatnonzero(np.diff(np.sign(angles)))
    at = crossings + angles[crossings] / (angles[crossings] - angles[crossings + 1])
    period = 2.0 * np.mean(np.diff(at)) / 48.0
    exact = 2.0 * np.pi * np.sqrt(length / 9.81) * (1.0 + angle**2 / 16.0 + 11.0 * angle**4 / 3072.0)
    assert abs(period / exact - 1.0) < 0.02


def test_a_slack_rope_does_nothing(scene):
    scene.render.fps = rigs.FPS
    heights = {}
    for name in ("free", "slack"):
        scene = rigs.empty_file()
        obj = rigs.chain(scene, 2)
        target = empty(scene, {1: (0.5, 0.0, 2.2)})
        rigs.set_range(scene, 1, 30)
        build.build(obj, scene)
        limp(obj)
        if name == "slack":
            attach(obj, target, bone="A", kind="DISTANCE", length=0.8)
        heights[name] = np.array(rigs.play(scene, 1, 30, lambda obj=obj: rigs.bodies(obj)[0, 2, 3]))
    fallen = heights["free"][0] - heights["free"]
    free = fallen < 0.4
    assert np.abs(heights["free"] - heights["slack"])[free].max() < 1e-4
    assert heights["slack"][-1] > heights["free"][-1] + 0.2
