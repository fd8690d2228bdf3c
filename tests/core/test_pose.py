"""Local and model space of whole poses, against plain 4x4 matrices multiplied bone by bone."""

import numpy as np
import pytest

from core import pose, quaternion
from core.errors import RagdollError
from core.skeleton import Skeleton


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def random_skeleton(rng, count, roots=3):
    parents = [-1 if i < roots else int(rng.integers(0, i)) for i in range(count)]
    order = rng.permutation(count)
    place = np.argsort(order)
    shuffled = [-1 if parents[i] < 0 else int(place[parents[i]]) for i in order]
    return Skeleton.from_parents([f"bone {i}" for i in range(count)], shuffled)


@pytest.fixture
def skeleton(rng):
    return random_skeleton(rng, 40)


def random_pose(rng, lead, count, uniform_scale=True):
    scales = rng.uniform(0.5, 2, size=(*lead, count, 1 if uniform_scale else 3))
    return (
        rng.normal(size=(*lead, count, 3)),
        quaternion.normalize(rng.normal(size=(*lead, count, 4))),
        np.broadcast_to(scales, (*lead, count, 3)).copy(),
    )


def plain_matrix(position, rotation, scale):
    """Translation * rotation * scale of one bone."""
    matrix = np.eye(4)
    matrix[:3, :3] = quaternion.to_matrix(rotation) @ np.diag(scale)
    matrix[:3, 3] = position
    return matrix


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
    reference = walk_down(skeleton, [plain_matrix(*bone) for bone in zip(*local, strict=True)])
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
    matrices = pose.compose_matrices(positions, rotations, scales)
    back = pose.decompose_matrices(matrices)
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
    np.testing.assert_allclose(pose.between(a, b, 0.0), a, **CLOSE)
    np.testing.assert_allclose(pose.between(a, b, 1.0), b, **CLOSE)
    found = pose.decompose_matrices(pose.between(a, b, 0.25))
    np.testing.assert_allclose(found[0], 0.75 * positions[0] + 0.25 * positions[1], **CLOSE)
    np.testing.assert_allclose(found[2], 0.75 * scales[0] + 0.25 * scales[1], **CLOSE)
    whole = quaternion.angle_between(*rotations)
    np.testing.assert_allclose(quaternion.angle_between(found[1], rotations[0]), 0.25 * whole, rtol=1e-6)
    flat = np.zeros((4, 4))
    assert np.isfinite(pose.between(flat, a[0], 0.5)).all()


def test_a_flattened_parent_is_refused_by_name_and_a_flattened_leaf_is_not(rng):
    skeleton = Skeleton.from_parents(["hips", "spine", "hand"], [None, "hips", "spine"])
    positions, rotations, scales = random_pose(rng, (2,), 3)
    scales[1, 2, 0] = 0
    matrices = pose.compose_matrices(positions, rotations, scales)
    pose.model_to_local_matrices(skeleton, matrices)
    matrices[1, 1, :, :3] = 0
    with pytest.raises(RagdollError, match='"spine" has no inverse'):
        pose.model_to_local_matrices(skeleton, matrices)
