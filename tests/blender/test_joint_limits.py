"""Limp bones stop in Blender's physics where `core.ragdoll.joints` plans it, wherever gravity pulls them; a limb that
was flung over its joints' limits, and is held there, comes back."""

import math

import numpy as np
import pytest
from mathutils import Quaternion, Vector

import hitting
import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import kinematic
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.tools import measure
from active_ragdoll.core.ragdoll.joints import limits

pytestmark = pytest.mark.blender_version

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
        turned = rest.T @ pose[0, :3, :3].T @ pose[1, :3, :3]
        found.append(limits.swing_twist_angles(quaternion.from_matrix(turned)))
    return np.array(found)


def swung(direction, beyond):
    """Where the bone points after a swing by `beyond` about (cos direction, 0, sin direction)."""
    return -math.sin(direction) * math.sin(beyond), math.cos(beyond), math.cos(direction) * math.sin(beyond)


# Half axes [deg]: X max, -X min, Z max, -Z min.
@pytest.mark.parametrize("cone", ((45, 45, 45, 45), (60, 60, 20, 20), (60, 20, 45, 30), (25, 55, 10, 40)))
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


# Joint, limits [deg], the axis that is tried.
SINGLE = (
    ("CONE", (0, -20, 0), (0, 50, 0), 1),
    ("CONE", (0, -150, 0), (0, 120, 0), 1),
    ("CONE", (-40, -10, -30), (120, 10, 30), 0),
    ("HINGE", (-10, 0, 0), (130, 0, 0), 0),
    ("HINGE", (10, 0, 0), (40, 0, 0), 0),
    ("HINGE", (0, -30, 0), (0, 60, 0), 1),
    ("HINGE", (0, 0, -100), (0, 0, 5), 2),
    ("FIXED", (0, 0, 0), (0, 0, 0), 0),
)


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
        # A cone's swing is only promised to a share of itself.
        share = SHARE if joint == "CONE" and axis != 1 else 0.0
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


def test_nothing_is_led_while_limits_hold(fresh_scene):
    """A blow that bends joints to their limits, and springs back: no body rides its animation."""
    hitting.add(rigs.ragdoll(fresh_scene, 40, 0.6), "forearm.L", 10, (0.0, 60.0, 0.0))

    def read():
        run = STATE.runs[fresh_scene.name]
        return rigs.angles(run.body, run.wanted).max(), run.kinematic_by_effect.any()

    angles, led = np.transpose(rigs.play(fresh_scene, 1, 40, read))
    assert not led.any()
    assert angles.max() > 30.0 and np.isfinite(angles).all()
