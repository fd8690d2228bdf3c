"""Placing hits: rays against boxes, arrows and impulses, whatever the size and the turn of the character."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import quaternion
from core.ragdoll import hits

NUMBERS = st.floats(-3.0, 3.0)
VECTORS = st.tuples(NUMBERS, NUMBERS, NUMBERS).map(np.array)


def boxes(seed=0, count=6):
    rng = np.random.default_rng(seed)
    matrices = np.tile(np.eye(4), (count, 1, 1))
    matrices[:, :3, :3] = quaternion.to_matrix(quaternion.normalize(rng.normal(size=(count, 4))))
    matrices[:, :3, 3] = rng.normal(size=(count, 3))
    return matrices, rng.uniform(0.05, 0.5, (count, 3))


@given(VECTORS, VECTORS, st.integers(0, 30))
def test_a_ray_meets_the_first_box_on_its_surface(origin, direction, seed):
    if np.linalg.norm(direction) < 1e-3:
        return
    matrices, halves = boxes(seed)
    row, distance = hits.box_met(origin, direction, matrices, halves)
    steps = origin + np.linspace(0.0, 20.0 / np.linalg.norm(direction), 4001)[:, None] * direction
    local = np.einsum("mji,kmj->kmi", matrices[:, :3, :3], steps[:, None] - matrices[:, :3, 3])
    inside = (np.abs(local) <= halves * (1.0 - 1e-6)).all(axis=-1)
    if row < 0:
        assert not inside.any()
        return
    there = matrices[row, :3, :3].T @ (origin + distance * direction - matrices[row, :3, 3])
    outside = np.abs(there) / halves[row]
    assert outside.max() < 1.0 + 1e-6
    assert distance == 0.0 or outside.max() > 1.0 - 1e-6
    before = np.linspace(0.0, 20.0 / np.linalg.norm(direction), 4001) < distance - 1e-6
    assert not inside[before].any()


def test_nearest_goes_by_the_surface_and_inside_by_the_middle():
    matrices = np.tile(np.eye(4), (3, 1, 1))
    matrices[:, 0, 3] = (0.0, 1.0, 1.1)
    halves = np.array([(0.1, 0.1, 0.1), (0.4, 0.1, 0.1), (0.2, 0.2, 0.2)])
    assert hits.nearest_box((0.15, 0.0, 0.0), matrices, halves) == 0
    assert hits.nearest_box((0.55, 0.0, 0.0), matrices, halves) == 1
    assert hits.nearest_box((1.1, 0.0, 0.0), matrices, halves) == 2
    assert hits.nearest_box((1.1, 0.0, 5.0), matrices, halves) == 2


@given(VECTORS, st.floats(0.1, 1e3), st.floats(0.02, 200.0))
def test_arrow_and_impulse_are_inverse(vector, mass, size):
    there = hits.impulse_of_arrow(vector, mass, size, 9.81)
    assert np.allclose(hits.arrow(there, mass, size, 9.81), vector, atol=1e-9)


def test_a_man_and_a_giant_get_the_same_arrow_for_the_same_motion():
    """Masses by the cube, gravity kept: speeds by the root of the size."""
    man = hits.arrow((0.0, 100.0, 0.0), 70.0, 1.8, 9.81)
    giant = hits.arrow((0.0, 100.0 * 1000.0 * np.sqrt(10.0), 0.0), 70000.0, 18.0, 9.81)
    assert man[1] == pytest.approx(1.0, rel=0.05)
    assert np.allclose(giant, 10.0 * man)


@given(VECTORS, VECTORS, VECTORS)
def test_a_drag_ends_where_the_ray_meets_the_plane(origin, point, normal):
    if np.linalg.norm(normal) < 1e-2 or abs(np.dot(point - origin, normal)) < 1e-2:
        return
    direction = point - origin + np.cross(normal, (0.3, -0.2, 0.5))
    drag = hits.dragged(origin, direction, point, normal)
    assert abs(np.dot(drag, normal)) < 1e-6
    assert np.allclose(point + drag, origin + direction, atol=1e-6)
    along = np.cross(normal, direction)  # or away from the plane: nothing is dragged
    assert hits.dragged(origin, along, point, normal) is None
    assert hits.dragged(origin, -direction, point, normal) is None


def test_arrows_go_from_the_point_and_blasts_lie_on_their_radius():
    lines = hits.arrow_lines((1.0, 2.0, 3.0), (0.0, 0.0, 0.5), 1.8)
    assert np.allclose(lines[0, 0], (1.0, 2.0, 3.0))
    assert np.allclose(lines[:, 1], (1.0, 2.0, 3.5))
    assert len(hits.arrow_lines((0, 0, 0), (0.0, 0.0, 0.0), 1.8)) == 0
    assert len(hits.arrow_lines((0, 0, 0), (np.nan, 0.0, 0.0), 1.8)) == 0
    longest = hits.arrow_lines((0, 0, 0), (0.0, 1e9, 0.0), 1.8)
    assert np.abs(longest).max() == pytest.approx(2.0 * 1.8)
    radii = np.linalg.norm(hits.blast_lines((1.0, 0.0, 0.0), 2.0) - (1.0, 0.0, 0.0), axis=-1)
    assert np.allclose(radii[radii > 0.5], 2.0)
