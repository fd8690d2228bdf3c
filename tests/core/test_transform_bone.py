"""A bone is moved, turned and scaled in the space that is asked for, and nothing else is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from motion_rigs import HUMAN, posed, rig

from core import pose as pose_space
from core import quaternion
from core.motion.stack import Inputs
from core.motion.transform_bone import ADD, BONE, COMPONENT, PARENT, REPLACE, WORLD, TransformBone
from refusals import refuses

SPACES = (BONE, PARENT, COMPONENT, WORLD)


def setting(seed, scale=1.0, world_scale=1.0):
    rng = np.random.default_rng(seed)
    body = rig(HUMAN, seed, {"spine2": scale})
    pose, turn = posed(body, rng), quaternion.normalize(rng.normal(size=4))
    return body, pose, pose_space.compose_matrices(rng.normal(size=3), turn, np.full(3, world_scale)), rng


def frame(body, pose, bone, space, world):
    """Matrix of a space in model space."""
    matrices = pose_space.compose_matrices(*pose.model(body.skeleton))
    if space == BONE:
        return matrices[bone]
    if space == PARENT:
        return matrices[body.parents[bone]]
    return np.eye(4) if space == COMPONENT else np.linalg.inv(world)


cases = given(st.integers(0, 10**6), *map(st.sampled_from, (SPACES, (1.0, 0.5, -1.0, 100.0), (1.0, 0.01, -2.0))))


@cases
def test_translations_in_all_spaces(seed, space, scale, world_scale):
    """Replaced it is the point of the space, added it moves along the axes of the space."""
    body, pose, world, rng = setting(seed, scale, world_scale)
    bone, value = body.index["head"], rng.normal(size=3)
    matrix = frame(body, pose, bone, space, world)
    for mode, origin in ((REPLACE, matrix[:3, 3]), (ADD, pose.model(body.skeleton)[0][bone])):
        entry = TransformBone(body, bone, translation=value, translation_mode=mode, translation_space=space)
        result, _ = entry.apply(body, pose, Inputs(world=world))
        expected, size = matrix[:3, :3] @ value + origin, max(1, np.abs(matrix).max())
        np.testing.assert_allclose(result.model(body.skeleton)[0][bone], expected, atol=1e-9 * size)
        np.testing.assert_array_equal(result.rotations, pose.rotations)


@cases
def test_rotations_in_all_spaces(seed, space, scale, world_scale):
    body, pose, world, rng = setting(seed, scale, world_scale)
    bone, value = body.index["head"], quaternion.normalize(rng.normal(size=4))
    turn = quaternion.from_matrix(frame(body, pose, bone, space, world)[:3, :3] / np.cbrt(
        np.linalg.det(frame(body, pose, bone, space, world)[:3, :3])))  # fmt: skip
    before = pose.model(body.skeleton)[1][bone]
    for mode in (REPLACE, ADD):
        entry = TransformBone(body, bone, rotation=value, rotation_mode=mode, rotation_space=space)
        result, _ = entry.apply(body, pose, Inputs(world=world))
        after = result.model(body.skeleton)[1][bone]
        if mode == REPLACE:
            expected = quaternion.multiply(turn, value)
        else:
            axes = quaternion.multiply(quaternion.multiply(turn, value), quaternion.conjugate(turn))
            expected = quaternion.multiply(axes, before)
        assert quaternion.angle_between(after, expected) < 1e-7


@pytest.mark.parametrize("space", SPACES)
def test_scales(space):
    body, pose, world, _ = setting(3, 2.0, 0.5)
    bone = body.index["head"]
    of_space = {BONE: 2.0, PARENT: 2.0, COMPONENT: 1.0, WORLD: 2.0}[space]
    entry = TransformBone(body, bone, scale=(3, 3, 3), scale_mode=REPLACE, scale_space=space)
    result, _ = entry.apply(body, pose, Inputs(world=world))
    np.testing.assert_allclose(result.model(body.skeleton)[2][bone], 3 * of_space)
    entry = TransformBone(body, bone, scale=(3, 1, 1), scale_mode=ADD, scale_space=space)
    result, _ = entry.apply(body, pose, Inputs(world=world))
    np.testing.assert_allclose(result.model(body.skeleton)[2][bone], [6, 2, 2])


def test_roots_and_weights():
    body, pose, world, _ = setting(5)
    root = body.index["root"]
    entry = TransformBone(body, root, translation=(1, 0, 0), translation_mode=ADD, translation_space=PARENT)
    for weight in (0.0, 0.25, 1.0):
        result, _ = entry.apply(body, pose, Inputs(world=world, weight=weight))
        np.testing.assert_allclose(result.positions[root] - pose.positions[root], (weight, 0, 0), atol=1e-12)
    entry = TransformBone(body, root, rotation=quaternion.from_axis_angle((0, 0, 1), 1.0), rotation_mode=ADD)
    result, _ = entry.apply(body, pose, Inputs(weight=0.5))
    assert quaternion.angle_between(pose.rotations[root], result.rotations[root]) == pytest.approx(0.5)


def test_refusals_name_the_entry():
    body = rig(HUMAN)
    entry = TransformBone(body, body.index["head"], "Head up", scale=(np.nan, 1, 1), scale_mode=ADD)
    refuses("Head up: the scale is not a number", entry.apply, body, body.bind, Inputs())
