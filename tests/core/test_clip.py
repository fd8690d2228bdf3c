"""Clips: playing, mapping, poses with times."""

import numpy as np
import pytest
from pose_samples import assert_same_bits, human, random_clip, random_pose
from refusals import refuses

from core import quaternion
from core.errors import RagdollError
from core.motion.clip import LOOP, ONCE, PING_PONG, Clip
from core.skeleton import Skeleton

SKELETON = human()


@pytest.fixture
def clip():
    return random_clip(np.random.default_rng(0), SKELETON, frames=25)


@pytest.mark.parametrize("mode", (ONCE, LOOP, PING_PONG))
def test_whole_frames_are_the_clip_s_to_the_bit(clip, mode):
    for frame in range(24):
        assert_same_bits(clip.sample(frame / 24, mode=mode), clip.pose(frame))


def test_between_frames_is_on_the_shortest_arc(clip):
    a, b = clip.pose(3), clip.pose(4)
    clip.poses.rotations[4] *= -1
    half = clip.sample(3.5 / 24)
    np.testing.assert_allclose(half.positions, 0.5 * (a.positions + b.positions))
    whole = quaternion.angle_between(a.rotations, b.rotations)
    np.testing.assert_allclose(quaternion.angle_between(a.rotations, half.rotations), 0.5 * whole, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(half.rotations, axis=-1), 1)


@pytest.mark.parametrize(("playing", "expected"), [
    ({"mode": ONCE}, [0, 0, 0.25, 0.75, 1, 1, 1]),
    ({"mode": LOOP}, [0.5, 0, 0.25, 0.75, 0, 0.25, 0.5]),
    ({"mode": PING_PONG}, [0.5, 0, 0.25, 0.75, 1, 0.75, 0.5]),
    ({"mode": ONCE, "start": 0.25, "speed": 2.0}, [0, 0, 0, 1, 1, 1, 1]),
    ({"mode": ONCE, "speed": -1.0}, [1, 1, 0.75, 0.25, 0, 0, 0]),
    ({"mode": LOOP, "speed": -1.0}, [0.5, 1, 0.75, 0.25, 1, 0.75, 0.5]),
])  # fmt: skip
def test_start_speed_and_modes_have_closed_forms(clip, playing, expected):
    times = [clip.clip_time(time, **playing) for time in (-0.5, 0.0, 0.25, 0.75, 1.0, 1.25, 2.5)]
    np.testing.assert_allclose(times, expected)


def test_a_clip_of_one_pose_is_that_pose_at_any_time():
    clip = Clip("Still", SKELETON.names, 24.0, random_pose(np.random.default_rng(2), (1, len(SKELETON))))
    for mode in (ONCE, LOOP, PING_PONG):
        assert_same_bits(clip.sample(17.3, speed=-2, mode=mode), clip.pose(0))
    assert_same_bits(clip.at_phase(0.7), clip.pose(0))


def test_a_clip_from_poses_meets_them_at_their_times():
    rng = np.random.default_rng(3)
    poses = [random_pose(rng, (len(SKELETON),)) for _ in range(4)]
    clip = Clip.from_poses("Poses", SKELETON.names, 20.0, poses, [1.0, 1.5, 2.0, 4.0])
    assert clip.frame_count == 61
    for pose, time in zip(poses, (0.0, 0.5, 1.0, 3.0), strict=True):
        assert_same_bits(clip.sample(time, mode=ONCE), pose)
    half = clip.sample(2.0)
    np.testing.assert_allclose(half.positions, 0.5 * (poses[2].positions + poses[3].positions))
    one = Clip.from_poses("One", SKELETON.names, 24, poses[:1], [7.0])
    assert one.frame_count == 1


def test_a_motion_is_put_on_another_skeleton_by_names():
    rng = np.random.default_rng(4)
    other = Skeleton.from_parents(["tail", "spine", "hips", "head"], ["hips", "hips", None, "spine"])
    bind = random_pose(rng, (len(other),), scaled=False)
    clip = random_clip(rng, SKELETON)
    mapped = clip.mapped(other, bind)
    assert mapped.bones == other.names and mapped.unanimated == ("tail",)
    assert set(mapped.missing) == set(SKELETON.names) - {"spine", "hips", "head"}
    for name in ("spine", "hips", "head"):
        np.testing.assert_array_equal(
            mapped.poses.rotations[:, other.index(name)], clip.poses.rotations[:, SKELETON.index(name)]
        )
    np.testing.assert_array_equal(mapped.poses.positions[:, other.index("tail")], np.tile(bind.positions[1], (25, 1)))


def test_bad_clips_are_refused_by_name(clip):
    pose = clip.pose(0)
    refuses('times of clip "Twice" must rise', Clip.from_poses, "Twice", SKELETON.names, 24, [pose, pose], [1.0, 1.0])
    refuses('speed of clip "Clip" is not a number', clip.sample, 0.0, speed=np.nan)
    with pytest.raises(RagdollError, match='No bone of clip "Clip" is in the skeleton; it has "hips"'):
        clip.mapped(Skeleton.from_parents(["x"], [None]), random_pose(np.random.default_rng(0), (1,)))
