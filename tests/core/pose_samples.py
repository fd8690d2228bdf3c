"""Skeletons and random poses for the tests of the motion stack."""

import numpy as np

from core import quaternion
from core.motion.clip import Clip
from core.motion.stack import LocalPose
from core.skeleton import Skeleton

HUMAN = {
    "hips": None, "spine": "hips", "chest": "spine", "head": "chest", "arm.L": "chest", "forearm.L": "arm.L",
    "hand.L": "forearm.L", "arm.R": "chest", "forearm.R": "arm.R", "hand.R": "forearm.R", "thigh.L": "hips",
    "shin.L": "thigh.L", "foot.L": "shin.L", "thigh.R": "hips", "shin.R": "thigh.R", "foot.R": "shin.R", "prop": None,
}  # fmt: skip


def human() -> Skeleton:
    """Seventeen bones, two of them roots."""
    return Skeleton.from_parents(list(HUMAN), list(HUMAN.values()))


def random_pose(rng, shape, scaled: bool = True) -> LocalPose:
    """Poses of shape [*shape]: any rotations, positions about 1, scales 0.5 to 2."""
    scales = rng.uniform(0.5, 2.0, (*shape, 3)) if scaled else np.ones((*shape, 3))
    return LocalPose(rng.normal(size=(*shape, 3)), quaternion.normalize(rng.normal(size=(*shape, 4))), scales)


def near_pose(rng, pose: LocalPose, angle: float) -> LocalPose:
    """A pose whose bones are turned by about `angle` [rad] each and moved a little."""
    turn = quaternion.from_rotation_vector(rng.normal(size=pose.positions.shape) * angle)
    offset = rng.normal(size=pose.positions.shape) * 0.1
    return LocalPose(pose.positions + offset, quaternion.multiply(turn, pose.rotations), pose.scales * 1.1)


def random_clip(rng, skeleton: Skeleton, frames: int = 25, fps: float = 24.0, name: str = "Clip") -> Clip:
    """A smooth clip."""
    phase = rng.uniform(0, 2 * np.pi, (len(skeleton), 3))
    wave = np.sin(2 * np.pi * (np.arange(frames)[:, None, None] / fps) + phase)
    rotations = quaternion.from_rotation_vector(0.8 * wave)
    return Clip(name, skeleton.names, fps, LocalPose(0.2 * wave, rotations, 1.0 + 0.1 * wave))


def assert_same_bits(a, b) -> None:
    """Both poses are equal to the bit."""
    for key in ("positions", "rotations", "scales"):
        np.testing.assert_array_equal(getattr(a, key), getattr(b, key), err_msg=key)


def assert_close(a, b, tolerance: float) -> None:
    """Both poses are the same; a quaternion's sign does not count."""
    np.testing.assert_allclose(a.positions, b.positions, atol=tolerance)
    np.testing.assert_allclose(a.scales, b.scales, atol=tolerance)
    assert quaternion.angle_between(a.rotations, b.rotations).max() < tolerance
