"""Clips: playing, mapping, poses with times; poses with weights."""

import numpy as np
import pytest
from pose_samples import assert_close, assert_same_bits, human, near_pose, random_clip, random_pose

from core import quaternion
from core.errors import RagdollError
from core.motion import pose_blend
from core.motion.clip import LOOP, MODES, ONCE, PING_PONG, Clip
from core.motion.local_pose import LocalPose
from core.skeleton import Skeleton

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
given, settings, st = hypothesis.given, hypothesis.settings, hypothesis.strategies

SKELETON = human()


@pytest.fixture
def clip():
    return random_clip(np.random.default_rng(0), SKELETON, frames=25)


@pytest.mark.parametrize("mode", MODES)
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


def test_start_speed_and_modes_have_closed_forms(clip):
    time = np.array([-0.5, 0.0, 0.25, 0.75, 1.0, 1.25, 2.5])
    np.testing.assert_allclose(clip.clip_time(time, mode=ONCE), [0, 0, 0.25, 0.75, 1, 1, 1])
    np.testing.assert_allclose(clip.clip_time(time, mode=LOOP), [0.5, 0, 0.25, 0.75, 0, 0.25, 0.5])
    np.testing.assert_allclose(clip.clip_time(time, mode=PING_PONG), [0.5, 0, 0.25, 0.75, 1, 0.75, 0.5])
    np.testing.assert_allclose(clip.clip_time(time, start=0.25, speed=2.0, mode=ONCE), [0, 0, 0, 1, 1, 1, 1])
    np.testing.assert_allclose(clip.clip_time(time, speed=-1.0, mode=ONCE), [1, 1, 0.75, 0.25, 0, 0, 0])
    np.testing.assert_allclose(clip.clip_time(time, speed=-1.0), [0.5, 1, 0.75, 0.25, 1, 0.75, 0.5])


@settings(deadline=None, max_examples=80)
@given(time=st.floats(-50, 50), speed=st.floats(-3, 3), mode=st.sampled_from([ONCE, LOOP, PING_PONG]))
def test_playing_backwards_is_playing_forwards_mirrored(time, speed, mode):
    clip = random_clip(np.random.default_rng(1), SKELETON, frames=13)
    forwards, backwards = (clip.clip_time(time, speed=s, mode=mode) for s in (speed, -speed))
    mirrored = float(abs(forwards - (clip.length - backwards)))
    # The two ends of a loop are one place; speed 0 stands at the start either way.
    assert speed == 0 or min(mirrored, abs(mirrored - clip.length) if mode == LOOP else mirrored) < 1e-6


def test_nothing_drifts_over_10000_frames(clip):
    for mode, period in ((LOOP, 24), (PING_PONG, 48)):
        frames = np.arange(10_000)
        times = np.cumsum(np.full(10_000, 1 / 24)) - 1 / 24
        assert_same_bits(clip.sample(times, mode=mode), clip.sample((frames % period) / 24, mode=mode))


def test_characters_are_sampled_together(clip):
    times, speeds = np.array([0.1, 0.73, 5.0]), np.array([1.0, -0.5, 2.0])
    together = clip.sample(times, speed=speeds)
    for i in range(3):
        one = clip.sample(times[i], speed=speeds[i])
        assert_close(LocalPose(*(a[i] for a in vars(together).values())), one, 1e-12)


def test_a_clip_of_one_pose_is_that_pose_at_any_time():
    clip = Clip("Still", SKELETON.names, 24.0, random_pose(np.random.default_rng(2), (1, len(SKELETON))))
    for mode in MODES:
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


def test_motion_relative_to_bind_pose_survives_the_way_to_another_bind_pose_and_back():
    rng = np.random.default_rng(5)
    here, there = (random_pose(rng, (len(SKELETON),), scaled=False) for _ in range(2))
    clip = random_clip(rng, SKELETON)
    away = clip.mapped(SKELETON, there, here)
    assert_close(away.mapped(SKELETON, here, there).poses, clip.poses, 1e-9)
    # The bind pose itself becomes the other bind pose.
    still = Clip("Bind", SKELETON.names, 24, LocalPose(*(a[None] for a in vars(here).values())))
    assert_close(still.mapped(SKELETON, there, here).pose(0), there, 1e-9)


def test_bad_clips_are_refused_by_name(clip):
    pose = clip.pose(0)
    with pytest.raises(RagdollError, match='"Empty" has no frames'):
        Clip("Empty", SKELETON.names, 24, LocalPose(np.empty((0, 17, 3)), np.empty((0, 17, 4)), np.empty((0, 17, 3))))
    with pytest.raises(RagdollError, match='"None" needs at least one pose'):
        Clip.from_poses("None", SKELETON.names, 24, [], [])
    with pytest.raises(RagdollError, match='times of clip "Twice" must rise'):
        Clip.from_poses("Twice", SKELETON.names, 24, [pose, pose], [1.0, 1.0])
    with pytest.raises(RagdollError, match='speed of clip "Clip" is not a number'):
        clip.sample(0.0, speed=np.nan)
    with pytest.raises(RagdollError, match='"Clip" cannot be played as "BOUNCE"'):
        clip.sample(0.0, mode="BOUNCE")
    with pytest.raises(RagdollError, match='No bone of clip "Clip" is in the skeleton; it has "hips"'):
        clip.mapped(Skeleton.from_parents(["x"], [None]), random_pose(np.random.default_rng(0), (1,)))
    with pytest.raises(RagdollError, match="there is no frame 25"):
        clip.pose(25)


# ---- poses with weights -------------------------------------------------------------------------------------------


def test_a_pose_s_weight_goes_from_the_reference_to_it():
    rng = np.random.default_rng(6)
    reference, pose = (random_pose(rng, (len(SKELETON),)) for _ in range(2))
    assert_same_bits(pose_blend.toward(reference, pose, 0.0), reference)
    assert_same_bits(pose_blend.toward(reference, pose, 1.0), pose)
    part = pose_blend.toward(reference, pose, 0.3)
    whole = quaternion.angle_between(reference.rotations, pose.rotations)
    np.testing.assert_allclose(quaternion.angle_between(reference.rotations, part.rotations), 0.3 * whole, atol=1e-9)


def test_weights_above_1_in_sum_are_normalised_and_what_is_missing_is_the_reference():
    rng = np.random.default_rng(7)
    reference = random_pose(rng, (len(SKELETON),))
    a, b = (near_pose(rng, reference, 0.3) for _ in range(2))
    blend = pose_blend.blend_poses
    twice = blend(SKELETON, reference, [a, b], [2.0, 2.0])
    assert_close(twice, blend(SKELETON, reference, [a, b], [0.5, 0.5]), 1e-12)
    np.testing.assert_allclose(twice.positions, 0.5 * (a.positions + b.positions))
    part = blend(SKELETON, reference, [a, b], [0.2, 0.3])
    np.testing.assert_allclose(part.positions, 0.2 * a.positions + 0.3 * b.positions + 0.5 * reference.positions)
    assert_same_bits(blend(SKELETON, reference, [a, b], [0.0, 1.0]), b)
    assert_same_bits(blend(SKELETON, reference, [a, b], [0.0, 0.0]), reference)


def test_added_poses_do_not_take_from_each_other():
    rng = np.random.default_rng(8)
    reference = random_pose(rng, (len(SKELETON),))
    left, right = reference.copy(), reference.copy()
    turn = quaternion.from_axis_angle([0.0, 0.0, 1.0], 0.5)
    left.rotations[3] = quaternion.multiply(turn, left.rotations[3])
    right.rotations[5] = quaternion.multiply(turn, right.rotations[5])
    both = pose_blend.blend_poses(SKELETON, reference, [left, right], [1.0, 1.0], mode=pose_blend.ADD)
    expected = reference.copy()
    expected.rotations[3], expected.rotations[5] = left.rotations[3], right.rotations[5]
    assert_close(both, expected, 1e-9)
    assert_close(pose_blend.blend_poses(SKELETON, reference, [left], [0.25], mode="ADD"),
                 pose_blend.toward(reference, left, 0.25), 1e-9)  # fmt: skip
    with pytest.raises(RagdollError, match='pose "smile" must be 0 or more, got nan'):
        pose_blend.blend_poses(SKELETON, reference, [left], [np.nan], ["smile"])
