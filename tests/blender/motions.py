"""Motions made in code, for tests that need rotations and no character."""

import numpy as np

from core import quaternion


def smooth_rotations(frame_count, count, seed=1):
    """Rotations of several turns with up to about 0.3 rad a frame, shape [f, count, 4], of random sign."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(frame_count, count, 3))
    kernel = np.hanning(13) / np.hanning(13).sum()
    speed = np.apply_along_axis(np.convolve, 0, steps, kernel, mode="same")
    speed += rng.normal(size=(1, count, 3)) * 0.05
    speed *= np.minimum(1.0, 0.3 / np.maximum(np.linalg.norm(speed, axis=-1, keepdims=True), 1e-9))
    result = quaternion.identity((frame_count, count))
    for frame in range(1, frame_count):
        turn = quaternion.from_rotation_vector(speed[frame])
        result[frame] = quaternion.normalize(quaternion.multiply(turn, result[frame - 1]))
    return result * rng.choice([-1.0, 1.0], size=(frame_count, count, 1))
