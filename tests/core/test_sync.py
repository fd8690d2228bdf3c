"""Phases and smoothing: clips of different lengths keep step, and time is exact."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pose_samples import assert_close, human, random_clip
from refusals import refuses

from core.motion.blend_space import smooth_step
from core.motion.clip import MARKERS, Clip, SyncGroup, contact_markers

SKELETON = human()


def times_at(group, phases):
    """Times within the clips [phases, k]."""
    return np.array([group.clip_times(phase) for phase in phases])


def cycle(name, seconds, markers=(), fps=24.0):
    """A clip of a length, a cycle whose pose at a phase is the same whatever the length."""
    count = round(seconds * fps) + 1
    clip = random_clip(np.random.default_rng(0), SKELETON, count, max(count - 1, 1), name)
    return Clip(name, SKELETON.names, fps, clip.poses, markers=tuple(markers))


def test_without_markers_clips_are_at_the_same_share_of_their_lengths():
    group = SyncGroup([cycle("walk", 1.0), cycle("run", 0.5)])
    np.testing.assert_allclose(times_at(group, (0.0, 0.25, 1.5)), [[0, 0], [0.25, 0.125], [0.5, 0.25]])
    # The same motion at two lengths is the same pose at any weights: nothing is out of phase.
    pose = group.pose(0.25, np.array([0.3, 0.7]))
    assert_close(pose, group.clips[0].at(0.25), 1e-9)


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


@given(seed=st.integers(0, 2**32 - 1))
def test_by_markers_time_runs_forwards_and_round_without_jumps(seed):
    rng = np.random.default_rng(seed)
    times = np.sort(rng.choice(np.arange(1, 23), 4, replace=False)) / 24
    clip = cycle("walk", 1.0, zip(np.roll(["a", "b", "c", "d"], rng.integers(4)).tolist(), times, strict=True))
    group = SyncGroup([cycle("first", 1.0, zip("abcd", (0.0, 0.25, 0.5, 0.75), strict=True)), clip], method=MARKERS)
    phase = np.linspace(-1.7, 2.3, 4001)
    first, own = times_at(group, phase).T
    steps = np.mod(np.diff(own) + 0.5, 1.0) - 0.5
    assert steps.min() > 0 and steps.max() < 0.001 * 24
    np.testing.assert_allclose(first, np.mod(phase, 1.0), atol=1e-9)


def test_contacts_are_found_where_feet_come_down():
    time = np.arange(49) / 24
    heights = np.stack([np.sin(np.pi * time), -np.sin(np.pi * time)], axis=-1)
    markers = contact_markers(heights, 24.0, ["L", "R"])
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
        times = times_at(group, phases)
        assert np.allclose(times[:, own], phases % 1.0 * 2.0, atol=1e-12)
        alone = times_at(SyncGroup([walk], method=MARKERS), phases)[:, 0]
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
    result = [values[0]]
    for before, after in pairwise(values):
        result.append(smooth_step(result[-1], before, after, seconds, step))
    return np.array(result)


def test_a_step_is_63_percent_done_after_the_smoothing_time():
    assert smooth_step(0.0, 1.0, 1.0, 0.5, 0.5) == pytest.approx(1 - np.exp(-1))


@given(seed=st.integers(0, 2**32 - 1), seconds=st.floats(0.01, 5), finer=st.integers(2, 9))
def test_smoothing_does_not_depend_on_the_frame_rate(seed, seconds, finer):
    values = np.random.default_rng(seed).normal(size=30)
    fine = np.interp(np.arange(29 * finer + 1) / finer, np.arange(30), values)
    found = smoothed(fine, seconds, 1 / 24 / finer)[::finer]
    np.testing.assert_allclose(found, smoothed(values, seconds, 1 / 24), atol=1e-9)
    np.testing.assert_array_equal(smoothed(values, 0.0, 1 / 24), values)
