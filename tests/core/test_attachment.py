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
