"""Phases and smoothing: clips of different lengths keep step, and time is exact."""

import numpy as np
import pytest
from pose_samples import assert_close, assert_same_bits, human, random_clip

from core.errors import RagdollError
from core.motion.clip import Clip
from core.motion.local_pose import LocalPose
from core.motion.sync import MARKERS, SyncGroup, contact_markers, smooth, smooth_step

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
given, settings, st = hypothesis.given, hypothesis.settings, hypothesis.strategies

SKELETON = human()


def cycle(name, seconds, markers=(), fps=24.0):
    """A clip of a length, a cycle whose pose at a phase is the same whatever the length."""
    count = round(seconds * fps) + 1
    clip = random_clip(np.random.default_rng(0), SKELETON, count, max(count - 1, 1), name)
    return Clip(name, SKELETON.names, fps, clip.poses, markers=tuple(markers))


def test_without_markers_clips_are_at_the_same_share_of_their_lengths():
    group = SyncGroup([cycle("walk", 1.0), cycle("run", 0.5)])
    np.testing.assert_allclose(group.clip_times(np.array([0.0, 0.25, 1.5])), [[0, 0], [0.25, 0.125], [0.5, 0.25]])
    # The same motion at two lengths is the same pose at any weights: nothing is out of phase.
    pose = group.pose(0.25, [0.3, 0.7])
    assert_close(pose, group.clips[0].at(0.25), 1e-9)


def test_the_rate_is_that_of_the_clips_and_between_them_the_weighted_mean():
    group = SyncGroup([cycle("walk", 1.0), cycle("run", 0.5), cycle("idle", 0.0)], speeds=[1.0, 1.0, 1.0])
    np.testing.assert_allclose(group.rate(np.eye(3)), [1, 2, 0])
    assert group.rate([0.5, 0.5, 0.0]) == pytest.approx(1.5)
    assert group.rate([0.25, 0.0, 0.75]) == pytest.approx(1.0)  # a still pose does not slow the others
    back = SyncGroup([cycle("walk", 1.0)], speeds=[-2.0])
    assert back.advance(0.25, [1.0], 0.5) == pytest.approx(-0.75)
    np.testing.assert_allclose(back.clip_times(-0.75), [0.25])


def test_stepping_is_the_same_as_the_phases_of_a_whole_shot_and_of_any_other_frame_rate():
    group = SyncGroup([cycle("walk", 1.0), cycle("run", 0.5)])

    def phases(fps, seconds=4):
        mix = np.linspace(0, 1, fps * seconds + 1)
        return group.phases(np.stack([1 - mix, mix], axis=-1), fps)

    slow, fast = phases(24), phases(48)
    np.testing.assert_allclose(fast[::2], slow, atol=1e-12)
    assert slow[-1] == pytest.approx(6.0)  # the mean of 1 and 2 cycles a second
    phase, stepped = 0.0, [0.0]
    for frame in range(96):
        mix = (frame + 0.5) / 96
        phase = group.advance(phase, [1 - mix, mix], 1 / 24)
        stepped.append(float(phase))
    np.testing.assert_allclose(stepped, slow, atol=1e-12)


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
    np.testing.assert_allclose(group.rate(np.eye(3)), [1, 2, 1])


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_by_markers_time_runs_forwards_and_round_without_jumps(seed):
    rng = np.random.default_rng(seed)
    times = np.sort(rng.choice(np.arange(1, 23), 4, replace=False)) / 24
    clip = cycle("walk", 1.0, zip(np.roll(["a", "b", "c", "d"], rng.integers(4)).tolist(), times, strict=True))
    group = SyncGroup([cycle("first", 1.0, zip("abcd", (0.0, 0.25, 0.5, 0.75), strict=True)), clip], method=MARKERS)
    phase = np.linspace(-1.7, 2.3, 4001)
    own = group.clip_times(phase)[:, 1]
    steps = np.mod(np.diff(own) + 0.5, 1.0) - 0.5
    assert steps.min() > 0 and steps.max() < 0.001 * 24
    np.testing.assert_allclose(group.clip_times(phase)[:, 0], np.mod(phase, 1.0), atol=1e-9)


def test_a_clip_with_all_the_weight_is_itself_to_the_bit():
    group = SyncGroup([cycle("walk", 1.0), cycle("run", 0.5)])
    assert_same_bits(group.pose(7.25, [0.0, 1.0]), group.clips[1].pose(3))
    together = group.pose(np.array([0.0, 0.25, 0.3]), np.array([[0, 1], [1, 0], [0.5, 0.5]]))
    assert_same_bits(LocalPose(*(a[1] for a in vars(together).values())), group.clips[0].pose(6))


def test_contacts_are_found_where_feet_come_down():
    time = np.arange(49) / 24
    heights = np.stack([np.sin(np.pi * time), -np.sin(np.pi * time)], axis=-1)
    markers = contact_markers(heights, 24.0, ["L", "R"], level=0.0)
    assert [name for name, _ in markers] == ["L"] and markers[0][1] == pytest.approx(1.0, abs=1 / 24)
    by_range = contact_markers(heights, 24.0, ["L", "R"])
    expected = {"L": 1 + np.arcsin(0.5) / np.pi, "R": np.arcsin(0.5) / np.pi}
    assert len(by_range) == 2
    for name, found in by_range:
        assert found == pytest.approx(expected[name], abs=0.01)


def test_by_markers_a_clip_that_stands_still_goes_evenly_through_its_own_length():
    walk = cycle("walk", 1.0, [("L", 0.1), ("R", 0.6)])
    idle = cycle("idle", 2.0, ())
    phases = np.linspace(0.0, 3.0, 31)
    for clips, own in (((idle, walk), 0), ((walk, idle), 1)):
        group = SyncGroup(clips, method=MARKERS)
        assert np.allclose(group.clip_times(phases)[:, own], phases % 1.0 * 2.0, atol=1e-12)
        alone = SyncGroup([walk], method=MARKERS).clip_times(phases)[:, 0]
        assert np.allclose(group.clip_times(phases)[:, 1 - own], alone, atol=1e-12)
        assert np.allclose(group.rate(np.eye(2)[own]), 0.5) and np.allclose(group.rate(np.eye(2)[1 - own]), 1.0)


def test_bad_groups_are_refused_by_name():
    walk = cycle("walk", 1.0, [("L", 0.1), ("R", 0.6)])
    for markers, message in (
        ([("L", 0.1)], r'"run" \(L\) do not go round like those of "walk" \(L, R\)'),
        ([("L", 0.1), ("X", 0.2)], '"run"'),
        ([("L", 0.2), ("R", 0.2)], '"run" must rise'),
        ([("L", 0.2), ("R", 0.9)], '"run" must rise'),
    ):
        with pytest.raises(RagdollError, match=message):
            SyncGroup([walk, cycle("run", 0.5, markers)], method=MARKERS)
    with pytest.raises(RagdollError, match="no clips"):
        SyncGroup([])
    with pytest.raises(RagdollError, match='speed of clip "walk" is not a number'):
        SyncGroup([walk], [np.inf])
    with pytest.raises(RagdollError, match="phase is not a number"):
        SyncGroup([walk]).pose(np.nan, [1.0])


# ---- smoothing ----------------------------------------------------------------------------------------------------


def test_a_step_is_63_percent_done_after_the_smoothing_time():
    state = smooth_step(0.0, 1.0, 1.0, 0.5, 0.5)
    assert state == pytest.approx(1 - np.exp(-1))


def test_a_ramp_is_followed_a_time_constant_behind():
    values = np.arange(500) / 24 * 3.0
    result = smooth(values, 0.25, 1 / 24)
    assert values[-1] - result[-1] == pytest.approx(0.75)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), seconds=st.floats(0.01, 5), finer=st.integers(2, 9))
def test_smoothing_does_not_depend_on_the_frame_rate(seed, seconds, finer):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(30, 2))
    frames = np.arange(29 * finer + 1) / finer
    fine = np.stack([np.interp(frames, np.arange(30), values[:, i]) for i in range(2)], axis=-1)
    np.testing.assert_allclose(
        smooth(fine, seconds, 1 / 24 / finer)[::finer], smooth(values, seconds, 1 / 24), atol=1e-9
    )


def test_no_smoothing_is_the_input_and_bad_input_is_refused():
    values = np.random.default_rng(0).normal(size=20)
    np.testing.assert_array_equal(smooth(values, 0.0, 1 / 24), values)
    with pytest.raises(RagdollError, match="got -1"):
        smooth(values, -1.0, 1 / 24)
    with pytest.raises(RagdollError, match="not a number"):
        smooth([0.0, np.nan], 1.0, 1 / 24)
