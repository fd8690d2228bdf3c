"""Moments of inertia of bodies and of what joints carry, against sums over points."""

import numpy as np
import pytest

from core import quaternion
from core.ragdoll.bodies import fitting
from core.ragdoll.drives import joint_motors

PARENTS = (-1, 0, 1, 0, 3)


def points_of(size, rotation, center):
    """Corners [8, 3] of a box of a third of a body's size: eight equal points there have its moments."""
    corners = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]) * size / np.sqrt(12.0)
    return corners @ rotation.T + center


def tensor_of(points, masses, pivot):
    away = points - pivot
    squares = np.einsum("ki,ki->k", away, away)
    return np.einsum("k,kij->ij", masses, squares[:, None, None] * np.eye(3) - away[:, :, None] * away[:, None, :])


@pytest.mark.parametrize("place", (0.0, 1e4))
def test_carried_tensors_are_those_of_the_points(place):
    rng = np.random.default_rng(3)
    count = len(PARENTS)
    masses, sizes = rng.uniform(0.5, 20.0, count), rng.uniform(0.05, 0.5, (count, 3))
    rotations = quaternion.to_matrix(quaternion.normalize(rng.normal(size=(count, 4))))
    centers, pivots = (rng.uniform(-1.0, 1.0, (count, 3)) + place for _each in range(2))
    moments = fitting.own_moments(["BOX"] * count, sizes, masses)
    carries = joint_motors.descends(PARENTS)
    found = joint_motors.carried_tensors(masses, moments, rotations, centers, pivots, carries)
    points = [points_of(sizes[i], rotations[i], centers[i]) for i in range(count)]
    for joint in range(count):
        inside = np.flatnonzero(carries[joint])
        own = np.repeat(masses[inside] / 8.0, 8)
        expected = tensor_of(np.concatenate([points[i] for i in inside]), own, pivots[joint])
        assert np.allclose(found[joint], expected, rtol=1e-9, atol=1e-9)


def test_who_hangs_on_whom():
    expected = [[1, 1, 1, 1, 1], [0, 1, 1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 1]]
    assert np.array_equal(joint_motors.descends(PARENTS), np.array(expected, dtype=bool))


def test_only_a_sphere_has_moments_that_are_not_its_boxs():
    kinds = ("SPHERE", "CAPSULE", "BOX", "CONVEX_HULL")
    moments = fitting.own_moments(kinds, np.full((4, 3), 0.2), np.full(4, 3.0))
    assert moments[0] == pytest.approx(np.full(3, 0.4 * 3.0 * 0.1**2))
    assert moments[1:] == pytest.approx(np.full((3, 3), 3.0 * 0.2**2 / 6.0))
