"""Aim offsets: mesh space only, exact at samples, on top of any base, yaw and pitch of a target."""

import numpy as np
import pytest
from pose_samples import assert_close, human, random_pose

from core import pose as pose_space
from core import quaternion
from core.errors import RagdollError
from core.motion.additive import LOCAL, MESH, AdditivePose, make_additive
from core.motion.aim_offset import AimOffset, yaw_pitch
from core.motion.blend_space import Axis, BlendSpace1D, BlendSpace2D
from core.motion.clip import Clip
from core.motion.local_pose import LocalPose

SKELETON = human()
COUNT = len(SKELETON)
YAW, PITCH = Axis("Yaw", -90.0, 90.0), Axis("Pitch", -90.0, 90.0)
NAMES = [f"{y} {p}" for y in (-90, 0, 90) for p in (-90, 0, 90)]
PLACES = [[float(v) for v in name.split()] for name in NAMES]
AIMING = [SKELETON.index(name) for name in ("spine", "chest", "head", "arm.L", "forearm.L", "hand.L")]


def turned(yaw, pitch):
    """Mesh-space turn by yaw about Z, then up by pitch, of all aiming bones."""
    pose = AdditivePose(np.zeros((COUNT, 3)), quaternion.identity((COUNT,)), np.zeros((COUNT, 3)), MESH)
    about_z = quaternion.from_axis_angle([0.0, 0.0, 1.0], np.radians(yaw))
    about_x = quaternion.from_axis_angle([-1.0, 0.0, 0.0], np.radians(pitch))
    pose.rotations[AIMING] = quaternion.multiply(about_z, about_x)
    return pose


def aim():
    samples = {name: turned(*place) for name, place in zip(NAMES, PLACES, strict=True)}
    return AimOffset(BlendSpace2D((YAW, PITCH), NAMES, PLACES), samples)


def model(pose):
    return pose_space.local_to_model_rotations(SKELETON, pose.rotations)


def test_samples_are_given_back_at_their_places():
    offset = aim()
    for name, (yaw, pitch) in zip(NAMES, PLACES, strict=True):
        pose = offset.pose(yaw, pitch)
        assert_close(pose, offset.samples[NAMES.index(name)], 1e-12)
        assert pose.space == MESH


@pytest.mark.parametrize("seed", range(3))
def test_aiming_turns_the_same_way_on_any_base(seed):
    base = random_pose(np.random.default_rng(seed), (COUNT,))
    for yaw in (-90.0, -45.0, 45.0, 90.0):
        result = aim().apply(SKELETON, base, yaw, 0.0)
        moved = quaternion.multiply(model(result), quaternion.conjugate(model(base)))
        expected = quaternion.identity((COUNT,))
        expected[AIMING] = quaternion.from_axis_angle([0.0, 0.0, 1.0], np.radians(yaw))
        assert np.degrees(quaternion.angle_between(moved, expected)).max() < 0.01


def test_aiming_goes_on_without_jumps_from_end_to_end():
    offset = aim()
    path = np.linspace(-120, 120, 2401)
    poses = offset.pose(path, 0.37 * path)
    steps = np.degrees(quaternion.angle_between(poses.rotations[1:], poses.rotations[:-1]))
    assert steps.max() < 0.5
    assert steps[:290].max() < 0.1  # beyond the end of yaw only the pitch goes on


def test_characters_aim_together():
    offset, rng = aim(), np.random.default_rng(4)
    base = random_pose(rng, (3, COUNT))
    yaw, pitch, weight = rng.uniform(-90, 90, 3), rng.uniform(-90, 90, 3), rng.uniform(0, 1, 3)
    together = offset.apply(SKELETON, base, yaw, pitch, weight[:, None])
    for i in range(3):
        one = LocalPose(*(a[i] for a in vars(base).values()))
        alone = offset.apply(SKELETON, one, yaw[i], pitch[i], weight[i])
        assert_close(alone, LocalPose(*(a[i] for a in vars(together).values())), 1e-9)


def test_a_line_of_yaw_alone_and_samples_that_are_clips():
    clip = Clip(
        "left", SKELETON.names, 24.0, AdditivePose(*(a[None] for a in list(vars(turned(90, 0)).values())[:3]), MESH)
    )
    offset = AimOffset(BlendSpace1D(YAW, ["right", "left"], [-90, 90]), {"left": clip, "right": turned(-90, 0)})
    assert quaternion.angle_between(offset.pose(0.0).rotations, quaternion.identity((COUNT,))).max() < 1e-9


def test_other_samples_are_refused_by_name():
    rng = np.random.default_rng(5)
    base, pose = random_pose(rng, (COUNT,)), random_pose(rng, (COUNT,))
    space = BlendSpace1D(YAW, ["ahead", "left"], [0, 90])
    good = turned(0, 0)
    with pytest.raises(RagdollError, match='sample "left" of the aim offset is not additive'):
        AimOffset(space, {"ahead": good, "left": pose})
    with pytest.raises(RagdollError, match='sample "left" of the aim offset is additive in local'):
        AimOffset(space, {"ahead": good, "left": make_additive(SKELETON, pose, base, LOCAL)})
    with pytest.raises(RagdollError, match='sample "left" of the aim offset is missing'):
        AimOffset(space, {"ahead": good})
    with pytest.raises(RagdollError, match='"Yaw" is not a number'):
        aim().pose(np.nan, 0.0)


def test_yaw_and_pitch_turn_forward_to_the_target():
    rng = np.random.default_rng(6)
    for _ in range(50):
        turn = quaternion.normalize(rng.normal(size=4))
        forward, up, left = (quaternion.rotate(turn, v) for v in ([0, -1, 0], [0, 0, 1], [1, 0, 0]))
        yaw, pitch = rng.uniform(-3.1, 3.1), rng.uniform(-1.5, 1.5)
        direction = np.cos(pitch) * (np.cos(yaw) * forward + np.sin(yaw) * left) + np.sin(pitch) * up
        found = yaw_pitch(direction * rng.uniform(0.01, 100), forward, up)
        np.testing.assert_allclose(found, (yaw, pitch), atol=1e-9)
    assert yaw_pitch([0, 0, 2])[0] == 0 and yaw_pitch([0, 0, 2])[1] == pytest.approx(np.pi / 2)
    with pytest.raises(RagdollError, match="direction of the target"):
        yaw_pitch([0, 0, 0])
    with pytest.raises(RagdollError, match="forward axis"):
        yaw_pitch([1, 0, 0], forward=(0, 0, 1))
