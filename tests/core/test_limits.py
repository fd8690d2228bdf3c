"""Limits of joints: excess in the angles that are limited, widening, and plans that stay inside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import pose, quaternion
from core.ragdoll.joints import constraints, limits

SIDE = st.floats(0.1, 1.4)
LIMITS = st.tuples(SIDE, st.floats(0.05, 1.5), SIDE, SIDE, st.floats(0.05, 1.5), SIDE)
X, Y, Z = np.eye(3)


def _bounds(values):
    return -np.array(values[:3]), np.array(values[3:])


def _joint(x: float, twist: float, z: float, x_first: bool):
    """A rotation from its joint angles, by multiplying its three turns."""
    first, second = quaternion.from_axis_angle(X, x), quaternion.from_axis_angle(Z, z)
    swing = quaternion.multiply(first, second) if x_first else quaternion.multiply(second, first)
    return quaternion.multiply(swing, quaternion.from_axis_angle(Y, twist))


@given(LIMITS, st.floats(-1.3, 1.3), st.floats(-3.0, 3.0), st.floats(-1.3, 1.3))
def test_joint_angles_are_those_that_make_the_rotation(stated, x, twist, z):
    low, high = _bounds(stated)
    x_first = max(-low[0], high[0]) >= max(-low[2], high[2])
    q = _joint(x, twist, z, x_first)
    found = [float(v[0]) for v in limits.cone_angles(low, high, q[None])]
    assert found == pytest.approx([x, twist, z], abs=1e-6)


@given(LIMITS, st.integers(0, 2), st.floats(-1.5, 1.5))
def test_about_one_axis_excess_is_the_plain_distance_to_the_range(stated, axis, angle):
    low, high = _bounds(stated)
    q = quaternion.from_axis_angle(np.eye(3)[axis], angle)
    expected = max(angle - high[axis], low[axis] - angle, 0.0)
    assert limits.excess("CONE", low, high, q) == pytest.approx(expected, abs=1e-6)


def test_a_round_cone_is_exceeded_by_the_rest_of_the_swing():
    low, high = np.array((-0.5, -2.5, -0.5)), np.array((0.5, 2.5, 0.5))
    for direction in np.linspace(0.0, 2.0 * np.pi, 9):
        x, z = 0.8 * np.cos(direction), 0.8 * np.sin(direction)
        found = limits.excess("CONE", low, high, _joint(x, 0.0, z, True))
        assert found == pytest.approx(0.3, abs=1e-6)


def test_a_flat_cone_is_measured_to_its_near_side():
    """Half axes 2 and 0.1: a point 0.05 beyond the flat side is 0.05 out, however far its own direction leads."""
    low, high = np.array((-2.0, -1.0, -0.1)), np.array((2.0, 1.0, 0.1))
    edge = 0.1 * np.sqrt(1.0 - (1.0 / 2.0) ** 2)
    found = limits.excess("CONE", low, high, _joint(1.0, 0.0, edge + 0.05, True))
    assert 0.049 < found <= 0.05


@given(
    LIMITS,
    st.lists(st.tuples(st.floats(-1.4, 1.4), st.floats(-1.5, 1.5), st.floats(-1.4, 1.4)), min_size=1, max_size=6),
)
def test_widened_limits_contain_what_was_seen_and_are_never_narrower(stated, seen):
    low, high = _bounds(stated)
    q = np.array([_joint(*angles, True) for angles in seen])
    wide_low, wide_high = constraints.widened("CONE", low, high, q, 0.02)
    assert (wide_low <= low + 1e-9).all() and (wide_high >= high - 1e-9).all()
    assert limits.excess("CONE", wide_low, wide_high, q).max() < 1e-6
    if limits.excess("CONE", low, high, q).max() == 0.0:
        assert np.array_equal(wide_low, low) and np.array_equal(wide_high, high)


PLANNED = {
    "hip": ((-30, -40, -25), (120, 40, 45)),
    "shoulder": ((-45, -80, -90), (85, 80, 135)),
    "knee with play": ((-8, -8, -8), (140, 8, 8)),
    "ankle": ((-50, -30, -10), (20, 15, 10)),
}


@pytest.mark.parametrize("name", PLANNED)
def test_what_a_plan_lets_through_stays_within_the_limits(name):
    """Random walks from bind pose that the constraints' own angles allow never get noticeably beyond."""
    low, high = (np.radians(values) for values in PLANNED[name])
    specs = constraints.plan("CONE", tuple(low), tuple(high))
    random = np.random.default_rng(3)
    walkers = np.tile((1.0, 0.0, 0.0, 0.0), (300, 1))
    farthest = 0.0
    for _step in range(400):
        tried = quaternion.multiply(walkers, quaternion.from_rotation_vector(random.normal(0.0, 0.06, (300, 3))))
        allowed = np.ones(300, dtype=bool)
        for spec in specs:
            angles = limits.measured_angles([spec.rotation], tried)[0]
            for axis, limit in enumerate(spec.angular_limits):
                if limit is not None:
                    allowed &= (angles[:, axis] >= limit[0]) & (angles[:, axis] <= limit[1])
        walkers = np.where(allowed[:, None], tried, walkers)
        farthest = max(farthest, float(limits.excess("CONE", low, high, walkers).max()))
    assert np.degrees(farthest) < 2.0
    x, _twist, z = limits.cone_angles(low, high, walkers)
    assert max(np.ptp(x), np.ptp(z)) > 0.6 * max((high - low)[[0, 2]]), "the walk went somewhere"


def test_many_cones_at_once_are_beyond_where_one_by_one_they_are():
    rng = np.random.default_rng(3)
    count, frames = 40, 30
    high, low = rng.uniform(0.0, 2.0, (count, 3)), -rng.uniform(0.0, 2.0, (count, 3))
    vectors = rng.normal(size=(frames, count, 3)) * rng.uniform(0.0, 0.8, count)[:, None]
    turns = quaternion.from_rotation_vector(vectors)
    expected = [(limits.excess("CONE", low[j], high[j], turns[:, j]) > 0.0).any() for j in range(count)]
    assert limits.cones_beyond(low, high, turns).tolist() == expected
    assert 5 < sum(expected) < count - 5


def places(rng, count: int) -> np.ndarray:
    return pose.compose_matrices(
        rng.normal(size=(count, 3)), quaternion.from_rotation_vector(rng.normal(size=(count, 3)))
    )


def test_the_way_back_leads_from_where_a_body_is_to_where_it_is_wanted():
    rng = np.random.default_rng(0)
    body, wanted = places(rng, 6), places(rng, 6)
    ways, turns = limits.offsets(body, wanted)
    there = [limits.on_the_way(wanted, ways, turns, np.full(6, s)) for s in (0.0, limits.RETURNS, 9.0)]
    assert np.abs(there[0] - body).max() < 1e-12
    assert np.array_equal(there[1], wanted) and np.array_equal(there[2], wanted)


def test_it_leaves_and_arrives_without_haste_and_turns_the_shortest_way():
    rng = np.random.default_rng(1)
    body, wanted = places(rng, 5), places(rng, 5)
    ways, turns = limits.offsets(body, wanted)
    shares = np.linspace(0.0, 1.0, 201)
    way = np.array([limits.on_the_way(wanted, ways, turns, np.full(5, s * limits.RETURNS)) for s in shares])
    angles = np.array([limits.angles_off(now, wanted) for now in way])
    assert np.all(np.diff(angles, axis=0) <= 1e-6)
    assert angles[0] == pytest.approx(limits.angles_off(body, wanted))
    speeds = np.abs(np.diff(angles, axis=0))
    assert speeds[0].max() < 0.001 * speeds.max() and speeds[-1].max() < 0.001 * speeds.max()


def test_joint_rotations_do_not_see_where_the_character_is():
    """The identity in bind pose, also moved and turned; a turn about the joint's axis is read."""
    rng = np.random.default_rng(2)
    bind_child, bind_parent, frame = places(rng, 4), places(rng, 4), places(rng, 4)
    child_frames, parent_frames = np.linalg.inv(bind_child) @ frame, np.linalg.inv(bind_parent) @ frame
    moved = places(rng, 1)[0]
    rest = limits.joint_rotations(moved @ bind_child, moved @ bind_parent, child_frames, parent_frames)
    assert quaternion.angle_between(rest, quaternion.identity((4,))).max() < 1e-7
    about_x = quaternion.from_axis_angle((1.0, 0.0, 0.0), np.full(4, 0.7))
    turn = frame @ pose.compose_matrices(np.zeros((4, 3)), about_x) @ np.linalg.inv(frame)
    found = limits.joint_rotations(moved @ turn @ bind_child, moved @ bind_parent, child_frames, parent_frames)
    assert quaternion.angle_between(found, about_x).max() < 1e-7
