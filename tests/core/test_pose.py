"""Skeletons in level order; local and model space of poses, against plain 4x4 matrices multiplied bone by bone."""

from itertools import pairwise

import numpy as np
import pose_samples
import pytest
from anatomies import ancestors
from forests import forests
from hypothesis import given, settings
from hypothesis import strategies as st

from core import pose, quaternion
from core.skeleton import Skeleton, nearest_ancestors, subtree_means
from refusals import refuses


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture
def skeleton(rng):
    """Forty bones, three of them roots."""
    parents = [-1 if i < 3 else int(rng.integers(0, i)) for i in range(40)]
    return Skeleton.from_parents([f"bone {i}" for i in range(40)], parents)


def random_pose(rng, lead, count, uniform_scale=True):
    positions, rotations, scales = vars(pose_samples.random_pose(rng, (*lead, count))).values()
    return positions, rotations, scales[..., :1] * np.ones(3) if uniform_scale else scales


def walk_down(skeleton, matrices_ls):
    """Reference: one matrix product per bone, in a Python loop."""
    matrices_ms = []
    for bone, parent in enumerate(skeleton.parents):
        matrices_ms.append(matrices_ls[bone] if parent < 0 else matrices_ms[parent] @ matrices_ls[bone])
    return np.array(matrices_ms)


# Products of up to a dozen matrices with entries of order 1..100: some hundred roundings of 1e-16 each.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.parametrize("sign", [1, -1])
def test_model_space_equals_matrices_multiplied_bone_by_bone(rng, skeleton, sign):
    local = random_pose(rng, (), 40)
    local[2][::3] *= sign
    plain = np.tile(np.eye(4), (40, 1, 1))  # translation * rotation * scale
    plain[:, :3, :3], plain[:, :3, 3] = quaternion.to_matrix(local[1]) * local[2][:, None], local[0]
    reference = walk_down(skeleton, plain)
    positions, rotations, scales = pose.local_to_model(skeleton, *local)
    np.testing.assert_allclose(positions, reference[:, :3, 3], **CLOSE)
    np.testing.assert_allclose(pose.compose_matrices(positions, rotations, scales), reference, **CLOSE)


def test_matrices_are_exact_with_any_scale_and_shear_and_there_and_back(rng, skeleton):
    local = pose.compose_matrices(*random_pose(rng, (3,), 40, uniform_scale=False))
    local[..., :3, :3] += 0.2 * rng.normal(size=(3, 40, 3, 3))
    model = pose.local_to_model_matrices(skeleton, local)
    np.testing.assert_allclose(model[2], walk_down(skeleton, local[2]), **CLOSE)
    # The inverse loses what the condition of the accumulated scales costs (up to 4^depth, some 1e4 here).
    np.testing.assert_allclose(pose.model_to_local_matrices(skeleton, model), local, rtol=1e-8, atol=1e-8)


def test_compose_and_decompose_are_inverse(rng):
    positions, rotations, scales = random_pose(rng, (30,), 2, uniform_scale=False)
    scales[::2] *= -1  # mirrored: all three negative, as Blender does it
    back = pose.decompose_matrices(pose.compose_matrices(positions, rotations, scales))
    np.testing.assert_allclose(back[0], positions, **CLOSE)
    np.testing.assert_allclose(back[2], scales, **CLOSE)
    assert quaternion.angle_between(back[1], rotations).max() < 1e-13
    for flat in (*(1 - np.eye(3)), np.zeros(3)):
        _, back, sizes = pose.decompose_matrices(pose.compose_matrices(np.zeros(3), rotations[0, 0], flat))
        np.testing.assert_allclose(sizes, flat, rtol=0, atol=1e-15)
        assert quaternion.angle_between(back, rotations[0, 0] if flat.any() else [1, 0, 0, 0]) < 1e-14


def test_between_two_poses_rotations_turn_and_the_rest_goes_evenly(rng):
    positions, rotations, scales = random_pose(rng, (2,), 30, uniform_scale=False)
    a, b = pose.compose_matrices(positions, rotations, scales)
    assert np.array_equal(pose.between(a, a, 0.3), a), "what stays is not turned by rounding"
    np.testing.assert_allclose(pose.between(a, b, 0.0), a, **CLOSE)
    np.testing.assert_allclose(pose.between(a, b, 1.0), b, **CLOSE)
    found = pose.decompose_matrices(pose.between(a, b, 0.25))
    np.testing.assert_allclose(found[0], 0.75 * positions[0] + 0.25 * positions[1], **CLOSE)
    np.testing.assert_allclose(found[2], 0.75 * scales[0] + 0.25 * scales[1], **CLOSE)
    whole = quaternion.angle_between(*rotations)
    np.testing.assert_allclose(quaternion.angle_between(found[1], rotations[0]), 0.25 * whole, rtol=1e-6)
    assert np.isfinite(pose.between(np.zeros((4, 4)), a[0], 0.5)).all()


def test_a_flattened_parent_is_refused_by_name_and_a_flattened_leaf_is_not(rng):
    skeleton = Skeleton.from_parents(["hips", "spine", "hand"], [None, "hips", "spine"])
    positions, rotations, scales = random_pose(rng, (2,), 3)
    scales[1, 2, 0] = 0
    matrices = pose.compose_matrices(positions, rotations, scales)
    pose.model_to_local_matrices(skeleton, matrices)
    matrices[1, 1, :, :3] = 0
    refuses('"spine" has no inverse', pose.model_to_local_matrices, skeleton, matrices)


def test_bones_are_in_level_order_and_found_by_name():
    # Given leaf first, as no exporter would; "prop" is a second root.
    names = ["foot.L", "head", "leg.L", "prop", "hips", "spine", "leg.R"]
    skeleton = Skeleton.from_parents(names, ["leg.L", "spine", "hips", None, None, "hips", "hips"])
    assert skeleton.names == ("prop", "hips", "leg.L", "spine", "leg.R", "foot.L", "head")
    assert skeleton.index("spine") == 3
    refuses('"tail"', skeleton.index, "tail")
    with pytest.raises(ValueError, match="read-only"):
        skeleton.parents[0] = 3


@settings(max_examples=150)
@given(forests(40))
def test_any_forest_keeps_its_parents_and_its_invariants(parents):
    count = len(parents)
    skeleton = Skeleton.from_parents([f"bone {i}" for i in range(count)], parents)
    assert len(skeleton) == count
    for level_index, name in enumerate(skeleton.names):  # the same tree: each bone's parent by name is the one given
        given_parent = parents[int(name.split()[1])]
        found = skeleton.parents[level_index]
        assert (skeleton.names[found] if found >= 0 else "bone -1") == f"bone {given_parent}"
    assert (skeleton.parents < np.arange(count)).all() and (np.diff(skeleton.parents) >= 0).all()
    for bone in range(count):
        assert list(skeleton.children(bone)) == np.flatnonzero(skeleton.parents == bone).tolist()
        start, stop = skeleton.levels[len([*ancestors(skeleton.parents, bone)])]
        assert start <= bone < stop
    # Levels: one slice per depth, nothing left out.
    assert all(before[1] == after[0] for before, after in pairwise(skeleton.levels))
    assert skeleton.levels[0][0] == 0 and skeleton.levels[-1][1] == count
    assert np.array_equal(skeleton.to_level[skeleton.from_level], np.arange(count))


@given(forests(40), st.randoms(use_true_random=False))
def test_nearest_ancestors_and_subtree_means_equal_a_walk_bone_by_bone(parents, random):
    count = len(parents)
    chosen = np.array([random.random() < 0.3 for _ in range(count)])
    values = np.array([[random.randint(-9, 9), 1.0] for _ in range(count)])
    nearest = [next((a for a in ancestors(parents, bone) if chosen[a]), -1) for bone in range(count)]
    assert nearest_ancestors(parents, chosen).tolist() == nearest
    sums = values.copy()
    for bone in range(count):
        for ancestor in ancestors(parents, bone):
            sums[ancestor] += values[bone]
    assert np.allclose(subtree_means(values, parents), sums / sums[:, 1:])
