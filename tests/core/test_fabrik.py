"""FABRIK keeps lengths, never gets worse, reaches what can be reached and points at the rest."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import quaternion
from core.errors import RagdollError
from core.motion.fabrik import solve


def lengths(joints):
    return np.linalg.norm(np.diff(joints, axis=-2), axis=-1)


@st.composite
def chains(draw, most=8):
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    count = draw(st.integers(2, most))
    steps = rng.normal(size=(count, 3))
    steps *= rng.uniform(0.1, 1, (count, 1)) / np.linalg.norm(steps, axis=1, keepdims=True)
    return np.concatenate([[rng.normal(size=3)], steps]).cumsum(axis=0), rng


def reachable(joints, rng):
    """A point that some pose of the chain reaches."""
    steps = rng.normal(size=(len(joints) - 1, 3))
    steps *= lengths(joints)[:, None] / np.linalg.norm(steps, axis=1, keepdims=True)
    return joints[0] + steps.sum(axis=0)


@settings(max_examples=150, deadline=None)
@given(chains(), st.floats(0.1, 3))
def test_lengths_and_first_joint_are_kept(chain, share):
    joints, rng = chain
    target = joints[0] + rng.normal(size=3) * share * lengths(joints).sum()
    for exact in (False, True):
        result, error, _ = solve(joints, target, exact=exact)
        np.testing.assert_allclose(lengths(result), lengths(joints), atol=1e-10)
        np.testing.assert_array_equal(result[0], joints[0])
        assert error == pytest.approx(np.linalg.norm(result[-1] - target))


@settings(max_examples=100, deadline=None)
@given(chains())
def test_what_can_be_reached_is_reached(chain):
    joints, rng = chain
    target = reachable(joints, rng)
    total = lengths(joints).sum()
    _, error, _ = solve(joints, target, exact=True, max_iterations=200)
    assert error < 1e-4 * total
    _, error, _ = solve(joints, target, max_iterations=3000)
    assert error < 2e-4 * total


@settings(max_examples=60, deadline=None)
@given(chains())
def test_error_never_grows_with_more_iterations(chain):
    joints, rng = chain
    target = reachable(joints, rng)
    errors = [solve(joints, target, tolerance=0, max_iterations=n)[1] for n in range(1, 12)]
    assert (np.diff(errors) <= 1e-12).all()


@settings(max_examples=60, deadline=None)
@given(chains(), st.floats(1.0, 50))
def test_out_of_reach_is_straight_and_steady(chain, far):
    joints, rng = chain
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    total = lengths(joints).sum()
    result, error, _ = solve(joints, joints[0] + 1.0001 * far * total * direction)
    along = np.concatenate([[0], lengths(joints).cumsum()])
    np.testing.assert_allclose(result, joints[0] + along[:, None] * direction, atol=1e-9 * total)
    assert error == pytest.approx((1.0001 * far - 1) * total)
    again, _, _ = solve(result, joints[0] + 1.0001 * far * total * direction)
    np.testing.assert_allclose(again, result, atol=1e-9 * total)


@settings(max_examples=40, deadline=None)
@given(chains(), st.floats(0.001, 1000))
def test_moving_turning_scaling_and_mirroring_the_chain_does_the_same_to_the_result(chain, scale):
    joints, rng = chain
    target, bend = reachable(joints, rng), rng.normal(size=3)
    turn, shift = quaternion.normalize(rng.normal(size=4)), rng.normal(size=3)

    def moved(points, shifted=True):
        return quaternion.rotate(turn, points * [-1, 1, 1]) * scale + (shift if shifted else 0)

    expected, _, _ = solve(joints, target, bend=bend, exact=True)
    result, _, _ = solve(moved(joints), moved(target), bend=moved(bend, False), exact=True)
    np.testing.assert_allclose(result, moved(expected), atol=1e-6 * scale * lengths(joints).sum() + 1e-9)


def test_straight_chain_bends_to_the_side_that_is_asked_for():
    straight = np.arange(4)[:, None] * [0, 0, -1.0]
    result, error, _ = solve(straight, [0, 0, -2.0], bend=[0, -1, 0], exact=True)
    assert error < 1e-9
    assert (result[1:-1, 1] < -0.1).all()
    np.testing.assert_allclose(result[:, 0], 0, atol=1e-9)


def test_chain_in_a_plane_stays_in_it():
    joints = np.array([[0, 0, 0], [0, -0.3, -1], [0, 0.2, -2], [0, 0, -2.6]])
    result, error, _ = solve(joints, [0, 0.4, -1.7], exact=True)
    assert error < 1e-9
    np.testing.assert_allclose(result[:, 0], 0, atol=1e-12)


def test_chain_that_is_there_already_is_left_alone():
    joints = np.array([[0, 0, 0], [0, -0.3, -1], [0, 0.2, -2], [0, 0, -2.6]])
    result, _, iterations = solve(joints, joints[-1])
    np.testing.assert_array_equal(result, joints)
    assert iterations == 0


@settings(max_examples=60, deadline=None)
@given(chains(), st.floats(0.1, 1.5))
def test_limits_hold_between_neighbouring_segments(chain, limit):
    joints, rng = chain
    # The first is not asked for more than the limits let it have: start from a chain that is straight.
    result, _, _ = solve(joints, reachable(joints, rng), limits=[limit] * (len(joints) - 2), max_iterations=20)
    np.testing.assert_allclose(lengths(result), lengths(joints), atol=1e-10)
    steps = np.diff(result, axis=0)
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    for a, b in pairwise(steps):
        assert np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b) <= limit + 1e-6


def test_batches_get_what_each_gets_alone():
    rng = np.random.default_rng(1)
    joints = rng.normal(size=(3, 4, 5, 3))
    targets = rng.normal(size=(3, 4, 3)) + joints[..., 0, :]
    many, errors, iterations = solve(joints, targets)
    for i in np.ndindex(3, 4):
        one, error, iteration = solve(joints[i], targets[i])
        np.testing.assert_allclose(one, many[i], atol=1e-12)
        assert error == pytest.approx(errors[i], abs=1e-12)
        assert iteration == iterations[i]


def test_refusals():
    with pytest.raises(RagdollError, match="shapes"):
        solve(np.zeros((1, 3)), np.zeros(3))
    with pytest.raises(RagdollError, match="must be numbers"):
        solve([[0, 0, 0], [0, 0, np.nan]], [0, 0, 0])
    with pytest.raises(RagdollError, match="1 angles"):
        solve([[0, 0, 0], [0, 0, 1], [0, 0, 2]], [0, 0, 0], limits=[-1])
