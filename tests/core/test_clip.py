"""Clips: playing, mapping, poses with times; additive ones: what turns with what, by how much, and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pose_samples import assert_close, assert_same_bits, human, near_pose, random_clip, random_pose
from refusals import refuses

from core import pose as pose_space
from core import quaternion
from core.errors import RagdollError
from core.motion.clip import (
    LOCAL,
    LOOP,
    MESH,
    ONCE,
    PING_PONG,
    AdditivePose,
    Clip,
    apply_additive,
    make_additive,
)
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


COUNT = len(SKELETON)


def model_rotations(pose):
    return pose_space.local_to_model_rotations(SKELETON, pose.rotations)


@given(seed=st.integers(0, 2**32 - 1), space=st.sampled_from([LOCAL, MESH]))
def test_the_difference_on_its_own_base_gives_the_pose_back(seed, space):
    rng = np.random.default_rng(seed)
    base, pose = (random_pose(rng, (COUNT,)) for _ in range(2))
    additive = make_additive(SKELETON, pose, base, space)
    assert_close(apply_additive(SKELETON, base, additive), pose, 1e-6)
    assert_same_bits(apply_additive(SKELETON, base, additive, 0.0), base)


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


def spine_turn(rng, angle=0.6, axis=(0.3, -0.8, 0.5)):
    """Base, and a pose whose spine alone is turned in the armature's space, its children's directions kept or not."""
    base = random_pose(rng, (COUNT,), scaled=False)
    turned = base.copy()
    spine = SKELETON.index("spine")
    turned.rotations[spine] = quaternion.multiply(quaternion.from_axis_angle(axis, angle), base.rotations[spine])
    return base, turned, angle


def test_a_local_spine_turn_carries_the_arms_by_its_angle_and_a_mesh_space_one_leaves_them():
    rng = np.random.default_rng(0)
    base, turned, angle = spine_turn(rng)
    below = random_pose(rng, (COUNT,), scaled=False)
    arm, spine, thigh = (SKELETON.index(name) for name in ("arm.L", "spine", "thigh.L"))

    local = apply_additive(SKELETON, below, make_additive(SKELETON, turned, base, LOCAL))
    moved = quaternion.angle_between(model_rotations(local), model_rotations(below))
    assert moved[arm] == pytest.approx(angle, abs=1e-9) and moved[spine] == pytest.approx(angle, abs=1e-9)
    assert moved[thigh] < 1e-9

    mesh = AdditivePose(np.zeros((COUNT, 3)), quaternion.identity((COUNT,)), np.zeros((COUNT, 3)), MESH)
    mesh.rotations[spine] = quaternion.from_axis_angle([0.3, -0.8, 0.5], angle)
    result = apply_additive(SKELETON, below, mesh)
    moved = np.degrees(quaternion.angle_between(model_rotations(result), model_rotations(below)))
    assert moved[spine] == pytest.approx(np.degrees(angle), abs=1e-6)
    assert np.delete(moved, spine).max() < 0.01


def test_a_base_without_size_is_refused_by_name():
    rng = np.random.default_rng(7)
    base, pose = random_pose(rng, (COUNT,)), random_pose(rng, (COUNT,))
    base.scales[SKELETON.index("chest"), 1] = 0.0
    with pytest.raises(RagdollError, match='"chest" has a scale of 0'):
        make_additive(SKELETON, pose, base)
