"""Rotations as channels of every rotation mode, against Blender's own conversions."""

import math

import mathutils
import numpy as np
import pytest

from animated import smooth_rotations
from core import keyframes, quaternion

EULER_ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")


def degenerate_rotations():
    """Rotations on and near gimbal lock of every order, on half turns and on the identity."""
    rng = np.random.default_rng(0)
    quarter = [0.0, math.pi / 2, -math.pi / 2, math.pi, math.pi / 2 - 1e-4, math.pi / 2 + 1e-7]
    angles = np.array([[x, y, z] for x in quarter for y in quarter for z in quarter])
    q = keyframes.euler_to_quaternion(angles, "XYZ")
    return np.concatenate([q, quaternion.normalize(rng.normal(size=(200, 4)))])


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_euler_conversions_agree_with_mathutils(order):
    q = degenerate_rotations()
    # Every rotation is a bone of its own, in two frames of either sign.
    both = np.stack([q, -q])
    for angles in keyframes.rotation_channels(order, both)[[0, 1]]:
        back = [mathutils.Euler(row, order).to_quaternion() for row in angles.tolist()]
        assert quaternion.angle_between(np.array(back), q).max() < 1e-6
        assert quaternion.angle_between(keyframes.euler_to_quaternion(angles, order), q).max() < 1e-9


@pytest.mark.blender_version
@pytest.mark.parametrize("mode", ("QUATERNION", "AXIS_ANGLE", *EULER_ORDERS))
def test_channels_do_not_jump_over_many_turns(mode):
    q = smooth_rotations(2000, 20)
    step = quaternion.angle_between(q[1:], q[:-1])
    channels = keyframes.rotation_channels(mode, q)
    assert quaternion.angle_between(quaternion.normalize(keyframes.rotations(mode, channels)), q).max() < 1e-9
    if mode == "QUATERNION":
        # |q1 - q0| = 2 sin(angle / 4), no flip.
        assert np.all(np.linalg.norm(np.diff(channels, axis=0), axis=-1) <= 2 * np.sin(step / 4) + 1e-9)
    elif mode == "AXIS_ANGLE":
        assert np.all(np.sum(channels[1:, :, 1:] * channels[:-1, :, 1:], axis=-1) >= 0.0)
        assert np.abs(np.diff(channels[..., 0], axis=0)).max() <= math.pi
    else:
        assert np.abs(np.diff(channels, axis=0)).max() <= math.pi


@pytest.mark.parametrize("mode", ("QUATERNION", "AXIS_ANGLE", "XYZ", "ZXY"))
def test_channels_continue_a_reference(mode):
    q = smooth_rotations(50, 8)
    channels = keyframes.rotation_channels(mode, q)
    shifted = channels[20].copy()
    if mode == "QUATERNION":
        shifted *= -1.0
    else:
        shifted[:, 0] += 4 * math.pi
    again = keyframes.rotation_channels(mode, -q[21:], shifted)
    expected = channels[21:] + (0.0 if mode == "QUATERNION" else shifted - channels[20])
    np.testing.assert_allclose(again, -expected if mode == "QUATERNION" else expected, atol=1e-9)


def test_constant_gimbal_lock_stays_constant():
    q = np.tile(keyframes.euler_to_quaternion(np.array([0.3, math.pi / 2, -0.8]), "XYZ"), (20, 1, 1))
    q[:10] = keyframes.euler_to_quaternion(np.array([0.3, math.pi / 2 - 0.2, -0.8]), "XYZ")
    angles = keyframes.rotation_channels("XYZ", q)
    np.testing.assert_allclose(angles[10:, 0], [[0.3, math.pi / 2, -0.8]] * 10, atol=1e-7)


def test_axis_angle_through_the_identity_keeps_its_axis():
    angle = np.linspace(-1.0, 1.0, 21)[:, None]
    q = quaternion.from_axis_angle(np.array([0.6, 0.0, 0.8]), angle)
    channels = keyframes.rotation_channels("AXIS_ANGLE", q)[:, 0]
    assert np.ptp(channels[:, 1:], axis=0).max() < 1e-9
    np.testing.assert_allclose(np.abs(channels[:, 0]), np.abs(angle[:, 0]), atol=1e-9)
    assert np.abs(np.diff(channels[:, 0])).max() < 0.11
