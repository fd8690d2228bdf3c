"""Rotations obey the algebra, agree with matrices, and keep their digits where formulas usually lose them."""

import math

import numpy as np
import pytest

from core import quaternion

EPS = np.finfo(np.float64).eps


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def random_rotations(rng, *shape):
    return quaternion.normalize(rng.normal(size=(*shape, 4)))


def test_rotate_agrees_with_rodrigues_formula(rng):
    for _ in range(20):
        axis, angle, v = rng.normal(size=3), rng.uniform(-4, 4), rng.normal(size=3)
        q = quaternion.from_axis_angle(axis, angle)
        x, y, z = axis / np.linalg.norm(axis)
        k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        reference = np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k
        np.testing.assert_allclose(quaternion.rotate(q, v), reference @ v, rtol=0, atol=20 * EPS)
        np.testing.assert_allclose(quaternion.to_matrix(q), reference, rtol=0, atol=20 * EPS)


def test_matrix_round_trip_at_every_kind_of_rotation(rng):
    half_turns = np.eye(4)[1:]
    nearly_half = quaternion.from_axis_angle(np.eye(3), math.pi - 1e-9)
    two_axes = quaternion.normalize([[0, 1, 1, 0], [0, 0, 1, -1], [1, 1, 1, 1], [1e-9, 1, 1, 1]])
    q = np.concatenate([quaternion.identity((1,)), half_turns, nearly_half, two_axes, random_rotations(rng, 500)])
    back = quaternion.from_matrix(quaternion.to_matrix(q))
    assert (back[:, 0] >= 0).all()
    np.testing.assert_allclose(quaternion.to_matrix(back), quaternion.to_matrix(q), rtol=0, atol=10 * EPS)
    assert quaternion.angle_between(q, back).max() < 20 * EPS


def test_rotation_vector_round_trip_from_tiny_to_half_a_turn(rng):
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    angles = np.array([0, 1e-300, 1e-160, 1e-20, 1e-9, 9e-4, 1e-3, 1.1e-3, 0.1, 1, 3, math.pi - 1e-9])
    vectors = angles[:, None] * direction
    back = quaternion.to_rotation_vector(quaternion.from_rotation_vector(vectors))
    np.testing.assert_allclose(back, vectors, rtol=20 * EPS, atol=0)
    long_way = quaternion.from_rotation_vector([0, 0, 1.5 * math.pi])
    np.testing.assert_allclose(quaternion.to_rotation_vector(long_way), [0, 0, -0.5 * math.pi], rtol=0, atol=10 * EPS)


@pytest.mark.parametrize("angle", (0, 1e-16, 1e-12, 1e-8, 2e-8, 1e-4, 1.5, math.pi - 1e-9))
def test_slerp_and_power_keep_the_digits_of_every_angle(rng, angle):
    a, axes, t = random_rotations(rng, 200), rng.normal(size=(200, 3)), rng.uniform(size=200)
    turn, part = quaternion.from_axis_angle(axes, angle), quaternion.from_axis_angle(axes, t * angle)
    for sign in (1, -1):
        np.testing.assert_allclose(quaternion.angle_between(quaternion.identity(), sign * turn), angle, rtol=1e-14)
    power = quaternion.power(turn, t)
    np.testing.assert_allclose(power[:, 1:], part[:, 1:], rtol=8 * EPS, atol=0)
    np.testing.assert_allclose(power[:, 0], part[:, 0], rtol=0, atol=4 * EPS)
    expected = quaternion.multiply(part, a)
    for sign in (1, -1):
        arc = quaternion.slerp(a, sign * quaternion.multiply(turn, a), t)
        np.testing.assert_allclose(arc, expected, rtol=0, atol=8 * EPS)


@pytest.mark.parametrize("offset", [0, 1e-300, 1e-16, 1e-12, 1e-4])
@pytest.mark.parametrize("sign", [1, -1])
def test_shortest_arc_is_exact_near_parallel_and_antiparallel(rng, offset, sign):
    # Many, since a cross product that is nothing but rounding error points somewhere useful most of the time.
    u = rng.normal(size=(5_000, 3))
    u /= np.linalg.norm(u, axis=-1, keepdims=True)
    u = np.concatenate([u, np.eye(3), -np.eye(3)])
    v = (sign * u + offset * np.roll(u, 1, axis=-1)) * rng.uniform(0.5, 2, size=(len(u), 1))
    q = quaternion.shortest_arc(u, v)
    v /= np.linalg.norm(v, axis=-1, keepdims=True)
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), 1, rtol=0, atol=10 * EPS)
    np.testing.assert_allclose(quaternion.rotate(q, u), v, rtol=0, atol=10 * EPS)
    if offset == 1e-4:  # the shortest: about what is across both
        assert np.abs(np.sum(q[:, 1:] * (u + v), axis=-1)).max() < 20 * EPS


def test_swing_and_twist_make_up_the_rotation(rng):
    q, axis = random_rotations(rng, 200), rng.normal(size=3)
    swing, twist = quaternion.swing_twist(q, axis)
    unit = axis / np.linalg.norm(axis)
    assert quaternion.angle_between(quaternion.multiply(swing, twist), q).max() < 20 * EPS
    assert np.abs(swing[:, 1:] @ unit).max() < 10 * EPS, "the swing's axis is perpendicular to the twist's"
    assert np.abs(np.cross(twist[:, 1:], unit)).max() < 10 * EPS
    assert (swing[:, 0] >= 0).all() and (twist[:, 0] >= 0).all()
    # The twist leaves the axis where it is, so the swing alone takes it to where q does.
    np.testing.assert_allclose(quaternion.rotate(swing, unit), quaternion.rotate(q, unit), rtol=0, atol=10 * EPS)


def test_continuity_only_changes_signs_and_leaves_no_jump(rng):
    smooth = quaternion.from_axis_angle([[1, 2, 3], [0, 1, 0]], np.linspace(0, 20, 200)[:, None])
    flipped = smooth * rng.choice([-1.0, 1.0], size=(200, 2, 1))
    flipped[0] = smooth[0]
    assert np.array_equal(quaternion.ensure_continuity(flipped), smooth)
    assert np.array_equal(quaternion.ensure_continuity(flipped[:1]), smooth[:1])


def test_zero_input_gives_what_the_documentation_says():
    zero, v = np.zeros(4), np.array([1.0, 2, 3])
    assert np.array_equal(quaternion.normalize(zero), [1, 0, 0, 0])
    assert np.array_equal(quaternion.rotate(zero, v), v)
    assert np.array_equal(quaternion.to_matrix(zero), np.eye(3))
    assert np.array_equal(quaternion.to_rotation_vector(zero), np.zeros(3))
    assert quaternion.angle_between(zero, [1, 0, 0, 0]) == 0
    for found in (quaternion.from_axis_angle([0, 0, 0], 1.0), quaternion.shortest_arc(zero[1:], v)):
        assert np.array_equal(found, [1, 0, 0, 0])
    assert np.isnan(quaternion.normalize([math.nan, 0, 0, 1])).any()
