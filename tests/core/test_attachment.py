"""Ropes: how their end may move within a frame, seen from the limits that a run makes of it."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.ragdoll import attachment

SECONDS = 1.0 / 24.0
numbers = st.floats(-1.0, 1.0)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)


def test_a_slack_rope_lets_its_end_go_anywhere():
    still = np.zeros(3)
    assert attachment.sway((0.0, 0.0, -0.5), still, still, still, 1.0, 9.81, SECONDS) is None
    assert attachment.sway((0.0, 0.0, -0.9), still, still, still, 1.0, 9.81, SECONDS) is not None
    fast = np.array((0.0, 0.0, -0.4)) / SECONDS
    assert attachment.sway((0.0, 0.0, -0.5), still, fast, still, 1.0, 9.81, SECONDS) is not None


@given(vectors, vectors, vectors, st.floats(0.05, 3.0))
def test_what_gravity_and_a_swing_do_is_allowed(point, velocity, pull, length):
    """A pendulum's end deviates from its straight way by the centripetal part, along the rope, and by gravity's."""
    size = np.linalg.norm(point)
    assume(size > 0.1)
    point = point / size * length
    still = np.zeros(3)
    moved, aside = attachment.sway(point, still, velocity, still, length, 9.81, SECONDS)
    assert moved == pytest.approx(velocity * SECONDS)
    axis, _way = attachment.rope(point, still, velocity, still, length, SECONDS)
    gravity = pull / max(np.linalg.norm(pull), 1e-9) * 9.81
    across = gravity - axis * (axis @ gravity)
    assert np.linalg.norm(across) * SECONDS**2 < aside


@given(vectors, vectors, st.floats(0.3, 3.0), numbers, numbers)
def test_an_end_within_its_bounds_is_hardly_farther_than_the_rope_is_long(point, velocity, length, up, across):
    """A taut end that swings in one frame by less than a radian: at most 2.3 % too far, wherever in its bounds."""
    size = np.linalg.norm(point)
    assume(size > 0.1)
    point = point / size * length
    velocity = velocity - point * (velocity @ point) / length**2  # along the sphere
    still = np.zeros(3)
    assume(np.linalg.norm(velocity) * SECONDS < length)
    axis, way = attachment.rope(point, still, velocity, still, length, SECONDS)
    frame = attachment.frame_along(point, axis)[:3, :3]
    moved, aside = attachment.sway(point, still, velocity, still, length, 0.0, SECONDS)
    expected = frame.T @ moved
    end = point + frame @ (way, expected[1] + up * aside, expected[2] + across * aside)
    side = np.hypot(*(expected[1:] + np.array((up, across)) * aside) + (frame.T @ point)[1:])
    swing = np.hypot(*(frame.T @ (point + moved))[1:])
    assert np.linalg.norm(end) <= np.hypot(length, side) + 1e-9
    assert side <= swing + np.sqrt(2.0) * attachment.SWAY * length + 1e-9
    if swing < 1e-3 * length:
        assert np.linalg.norm(end) <= 1.023 * length
