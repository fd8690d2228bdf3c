"""Clips, what is added of them, and their phases: clips of different lengths keep step, and time is exact."""

from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pose_samples import assert_same_bits, human, near_pose, random_clip, random_pose

from core import pose as pose_space
from core import quaternion, skeleton
from core.errors import RagdollError
from core.motion.blend_space import lagged
from core.motion.clip import LOCAL, MARKERS, MESH, Clip, SyncGroup, apply_additive, contact_markers, make_additive
from refusals import refuses

SKELETON = human()


@pytest.fixture
def clip():
    return random_clip(np.random.default_rng(0), SKELETON, frames=25)


def test_between_frames_is_on_the_shortest_arc(clip):
    a, b = clip.pose(3), clip.pose(4)
    clip.poses.rotations[4] *= -1
    half = clip.at(3.5 / 24)
    np.testing.assert_allclose(half.positions, 0.5 * (a.positions + b.positions))
    whole = quaternion.angle_between(a.rotations, b.rotations)
    np.testing.assert_allclose(quaternion.angle_between(a.rotations, half.rotations), 0.5 * whole, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(half.rotations, axis=-1), 1)


@pytest.mark.parametrize(("playing", "expected"), [
    ({"mode": "ONCE"}, [0, 0, 0.25, 0.75, 1, 1, 1]),
    ({"mode": "LOOP"}, [0.5, 0, 0.25, 0.75, 0, 0.25, 0.5]),
    ({"mode": "PING_PONG"}, [0.5, 0, 0.25, 0.75, 1, 0.75, 0.5]),
    ({"mode": "ONCE", "start": 0.25, "speed": 2.0}, [0, 0, 0, 1, 1, 1, 1]),
    ({"mode": "ONCE", "speed": -1.0}, [1, 1, 0.75, 0.25, 0, 0, 0]),
])  # fmt: skip
def test_start_speed_and_modes_have_closed_forms(clip, playing, expected):
    times = [clip.clip_time(time, **playing) for time in (-0.5, 0.0, 0.25, 0.75, 1.0, 1.25, 2.5)]
    np.testing.assert_allclose(times, expected)


def test_a_clip_from_poses_meets_them_at_their_times():
    rng = np.random.default_rng(3)
    poses = [random_pose(rng, (len(SKELETON),)) for _ in range(4)]
    clip = Clip.from_poses("Poses", SKELETON.names, 20.0, poses, [1.0, 1.5, 2.0, 4.0])
    assert clip.frame_count == 61
    for pose, time in zip(poses, (0.0, 0.5, 1.0, 3.0), strict=True):
        assert_same_bits(clip.at(time), pose)
    np.testing.assert_allclose(clip.at(2.0).positions, 0.5 * (poses[2].positions + poses[3].positions))
    assert Clip.from_poses("One", SKELETON.names, 24, poses[:1], [7.0]).frame_count == 1


def test_bad_clips_are_refused_by_name(clip):
    pose = clip.pose(0)
    refuses('times of clip "Twice" must rise', Clip.from_poses, "Twice", SKELETON.names, 24, [pose, pose], [1.0, 1.0])
    refuses('speed of clip "Clip" is not a number', clip.clip_time, 0.0, speed=np.nan)
    with pytest.raises(RagdollError, match='No bone of clip "Clip" is in the skeleton; it has "hips"'):
        clip.mapped(skeleton.Skeleton.from_parents(["x"], [None]), random_pose(np.random.default_rng(0), (1,)))


COUNT = len(SKELETON)


def model_rotations(pose):
    return pose_space.local_to_model_rotations(SKELETON, pose.rotations)


@given(seed=st.integers(0, 2**32 - 1), weight=st.floats(0, 1), space=st.sampled_from([LOCAL, MESH]))
def test_rotations_times_the_inverse_of_the_base_s_are_the_weighted_difference(seed, weight, space):
    rng = np.random.default_rng(seed)
    start, base = random_pose(rng, (COUNT,)), random_pose(rng, (COUNT,))
    additive = make_additive(SKELETON, near_pose(rng, start, 0.4), start, space)
    result = apply_additive(SKELETON, base, additive, weight)
    spaces = (model_rotations(result), model_rotations(base)) if space == MESH else (result.rotations, base.rotations)
    turned = quaternion.multiply(spaces[0], quaternion.conjugate(spaces[1]))
    expected = quaternion.from_rotation_vector(weight * quaternion.to_rotation_vector(additive.rotations))
    assert quaternion.angle_between(turned, expected).max() < 1e-9
    np.testing.assert_allclose(result.positions - base.positions, weight * additive.positions, atol=1e-12)
    np.testing.assert_allclose(result.scales / base.scales, 1 + weight * additive.scales, atol=1e-12)


def test_a_base_without_size_is_refused_by_name():
    rng = np.random.default_rng(7)
    base, pose = random_pose(rng, (COUNT,)), random_pose(rng, (COUNT,))
    base.scales[SKELETON.index("chest"), 1] = 0.0
    refuses('"chest" has a scale of 0', make_additive, SKELETON, pose, base)


def cycle(name, seconds, markers=(), fps=24.0):
    """A clip of a length, a cycle whose pose at a phase is the same whatever the length."""
    count = round(seconds * fps) + 1
    clip = random_clip(np.random.default_rng(0), SKELETON, count, max(count - 1, 1), name)
    return Clip(name, SKELETON.names, fps, clip.poses, markers=tuple(markers))


def test_the_rate_is_that_of_the_clips_and_between_them_the_weighted_mean():
    group = SyncGroup([cycle("walk", 1.0), cycle("run", 0.5), cycle("idle", 0.0)], speeds=[1.0, 1.0, 1.0])
    np.testing.assert_allclose([group.rate(weights) for weights in np.eye(3)], [1, 2, 0])
    assert group.rate(np.array([0.5, 0.5, 0.0])) == pytest.approx(1.5)
    assert group.rate(np.array([0.25, 0.0, 0.75])) == pytest.approx(1.0)  # a still pose does not slow the others
    back = SyncGroup([cycle("walk", 1.0)], speeds=[-2.0])
    assert back.rate(np.ones(1)) == pytest.approx(-2.0)
    np.testing.assert_allclose(back.clip_times(-0.75), [0.25])


def test_markers_bring_the_same_foot_down_in_all_clips_at_once():
    walk = cycle("walk", 1.0, [("L", 0.1), ("R", 0.6)])
    run = cycle("run", 0.5, [("R", 0.05), ("L", 0.35)])
    twice = cycle("two rounds", 2.0, [("L", 0.2), ("R", 0.7), ("L", 1.2), ("R", 1.8)])
    group = SyncGroup([walk, run, twice], method=MARKERS)
    assert group.rounds.tolist() == [1, 1, 2]
    np.testing.assert_allclose(group.clip_times(0.0), [0.1, 0.35, 0.2])
    np.testing.assert_allclose(group.clip_times(0.5), [0.6, 0.05, 0.7])
    np.testing.assert_allclose(group.clip_times(1.5), [0.6, 0.05, 1.8])
    np.testing.assert_allclose(group.clip_times(0.25), [0.35, 0.45, 0.45])  # halfway from L to R in each
    np.testing.assert_allclose([group.rate(weights) for weights in np.eye(3)], [1, 2, 1])


def test_contacts_are_found_where_feet_come_down():
    time = np.arange(49) / 24
    markers = contact_markers(np.stack([np.sin(np.pi * time), -np.sin(np.pi * time)], axis=-1), 24.0, ["L", "R"])
    expected = {"L": 1 + np.arcsin(0.5) / np.pi, "R": np.arcsin(0.5) / np.pi}
    assert len(markers) == 2
    for name, found in markers:
        assert found == pytest.approx(expected[name], abs=0.01)


def test_by_markers_a_clip_that_stands_still_goes_evenly_through_its_own_length():
    walk = cycle("walk", 1.0, [("L", 0.1), ("R", 0.6)])
    idle = cycle("idle", 2.0, ())
    phases = np.linspace(0.0, 3.0, 31)
    for clips, own in (((idle, walk), 0), ((walk, idle), 1)):
        group = SyncGroup(clips, method=MARKERS)
        times = np.array([group.clip_times(phase) for phase in phases])
        assert np.allclose(times[:, own], phases % 1.0 * 2.0, atol=1e-12)
        alone = [SyncGroup([walk], method=MARKERS).clip_times(phase)[0] for phase in phases]
        assert np.allclose(times[:, 1 - own], alone, atol=1e-12)
        assert np.isclose(group.rate(np.eye(2)[own]), 0.5) and np.isclose(group.rate(np.eye(2)[1 - own]), 1.0)


def test_bad_groups_are_refused_by_name():
    walk = cycle("walk", 1.0, [("L", 0.1), ("R", 0.6)])
    for markers, message in (
        ([("L", 0.1)], r'"run" \(L\) do not go round like those of "walk" \(L, R\)'),
        ([("L", 0.1), ("X", 0.2)], '"run"'),
        ([("L", 0.2), ("R", 0.2)], '"run" must rise'),
        ([("L", 0.2), ("R", 0.9)], '"run" must rise'),
    ):
        refuses(message, SyncGroup, [walk, cycle("run", 0.5, markers)], method=MARKERS)
    refuses('speed of clip "walk" is not a number', SyncGroup, [walk], [np.inf])
    refuses("phase is not a number", SyncGroup([walk]).pose, np.nan, np.ones(1))


def smoothed(values, seconds, step):
    """The answer to an input at every frame."""
    steps = accumulate(pairwise(values), lambda now, ends: lagged(now, *ends, seconds, step), initial=values[0])
    return np.array([*steps])


@given(seed=st.integers(0, 2**32 - 1), seconds=st.floats(0.01, 5), finer=st.integers(2, 9))
def test_smoothing_does_not_depend_on_the_frame_rate(seed, seconds, finer):
    values = np.random.default_rng(seed).normal(size=30)
    fine = np.interp(np.arange(29 * finer + 1) / finer, np.arange(30), values)
    found = smoothed(fine, seconds, 1 / 24 / finer)[::finer]
    np.testing.assert_allclose(found, smoothed(values, seconds, 1 / 24), atol=1e-9)
    np.testing.assert_array_equal(smoothed(values, 0.0, 1 / 24), values)
    assert lagged(0.0, 1.0, 1.0, 0.5, 0.5) == pytest.approx(1 - np.exp(-1))  # a step, after the smoothing time
