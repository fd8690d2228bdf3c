"""Additive poses: what turns with what, by how much, and that the way there and back is exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pose_samples import assert_close, assert_same_bits, human, near_pose, random_clip, random_pose

from core import pose as pose_space
from core import quaternion
from core.errors import RagdollError
from core.motion.clip import LOCAL, MESH, AdditivePose, additive_clip, apply_additive, make_additive

SKELETON = human()
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


@pytest.mark.parametrize("space", (LOCAL, MESH))
def test_bones_without_weight_stay_to_the_bit(space):
    rng = np.random.default_rng(3)
    below, base = random_pose(rng, (COUNT,)), random_pose(rng, (COUNT,))
    additive = make_additive(SKELETON, near_pose(rng, base, 0.5), base, space)
    mask = np.zeros(COUNT)
    mask[SKELETON.index("spine")] = 0.7
    result = apply_additive(SKELETON, below, additive, mask)
    # In mesh space what hangs on a turned bone is turned back in its own frame.
    free = [i for i, n in enumerate(SKELETON.names) if n not in {"spine"} | ({"chest"} if space == MESH else set())]
    for key in ("positions", "rotations", "scales"):
        np.testing.assert_array_equal(getattr(result, key)[free], getattr(below, key)[free])
    assert quaternion.angle_between(result.rotations, below.rotations)[SKELETON.index("spine")] > 1e-3


def test_an_additive_clip_on_a_frame_of_itself_is_nothing_at_that_frame():
    rng = np.random.default_rng(5)
    clip = random_clip(rng, SKELETON, frames=9)
    for space in (LOCAL, MESH):
        lean = additive_clip(SKELETON, clip, clip.pose(4), space)
        sample = lean.sample(4 / 24)
        assert isinstance(sample, AdditivePose) and sample.space == space
        below = random_pose(rng, (COUNT,))
        assert_close(apply_additive(SKELETON, below, sample), below, 1e-9)
        assert_close(apply_additive(SKELETON, clip.pose(4), lean.sample(7 / 24)), clip.pose(7), 1e-9)


def test_a_base_without_size_is_refused_by_name():
    rng = np.random.default_rng(7)
    base, pose = random_pose(rng, (COUNT,)), random_pose(rng, (COUNT,))
    base.scales[SKELETON.index("chest"), 1] = 0.0
    with pytest.raises(RagdollError, match='"chest" has a scale of 0'):
        make_additive(SKELETON, pose, base)
