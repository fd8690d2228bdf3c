"""Rotations as channels of every rotation mode, against Blender's own conversions."""

import math

import numpy as np
import pytest

from animated import smooth_rotations
from core import keyframes, quaternion

EULER_ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")


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
