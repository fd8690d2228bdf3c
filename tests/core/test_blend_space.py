"""Blend spaces: exact at samples, weights that sum to 1, no jumps, Delaunay's circles, wrapped and bounded ends."""

import dataclasses

import numpy as np
import pytest

from core.errors import RagdollError
from core.motion import delaunay
from core.motion.blend_space import CLAMP, GRID, WRAP, Axis, BlendSpace1D, BlendSpace2D

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
given, settings, st = hypothesis.given, hypothesis.settings, hypothesis.strategies

SPEED = Axis("Speed", 0.0, 4.0)
DIRECTION = Axis("Direction", -180.0, 180.0, WRAP)
LEAN = Axis("Lean", -1.0, 1.0)


def names(count):
    return [f"s{i}" for i in range(count)]


def check_weights(weights):
    assert weights.min() >= 0
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-12)


def largest_jump(weights_of, path):
    """How far weights move, in sum, between neighbouring points of a path."""
    return np.abs(np.diff(weights_of(path), axis=0)).sum(axis=-1).max()


# ---- one axis -----------------------------------------------------------------------------------------------------


def test_a_line_is_linear_between_neighbours_and_held_outside():
    space = BlendSpace1D(SPEED, ["run", "idle", "walk"], [4.0, 0.5, 1.5])
    np.testing.assert_allclose(space.weights([0.0, 0.5, 1.0, 1.5, 2.125, 4.0, 9.0]), [
        [0, 1, 0], [0, 1, 0], [0, 0.5, 0.5], [0, 0, 1], [0.25, 0, 0.75], [1, 0, 0], [1, 0, 0]], atol=1e-12)  # fmt: skip


def test_a_wrapped_line_goes_on_at_its_other_end():
    space = BlendSpace1D(DIRECTION, ["forward", "right", "back", "left"], [0, 90, 180, -90])
    np.testing.assert_allclose(space.weights(135), [0, 0.5, 0.5, 0])
    np.testing.assert_allclose(space.weights(-135), [0, 0, 0.5, 0.5])
    np.testing.assert_allclose(space.weights([-180, 180, 540]), [[0, 0, 1, 0]] * 3)
    np.testing.assert_allclose(space.weights(np.array([30, 45]) + 360 * 7), space.weights([30, 45]), atol=1e-9)
    two = BlendSpace1D(DIRECTION, ["a", "b"], [-170, 170])
    np.testing.assert_allclose(two.weights([180, 175, -170]), [[0.5, 0.5], [0.25, 0.75], [1, 0]], atol=1e-12)


@settings(deadline=None, max_examples=80)
@given(places=st.lists(st.integers(0, 40), min_size=1, max_size=8, unique=True), wrap=st.booleans())
def test_lines_are_exact_at_samples_and_continuous(places, wrap):
    axis = Axis("x", 0.0, 41.0, WRAP if wrap else "CLAMP")
    space = BlendSpace1D(axis, names(len(places)), places)
    np.testing.assert_array_equal(space.weights(places), np.eye(len(places)))
    path = np.linspace(-50, 100, 15001)
    check_weights(space.weights(path))
    # The steepest slope is between samples 1 apart: 2 per unit in sum.
    assert largest_jump(space.weights, path) <= 2 * 0.01 + 1e-9


# ---- two axes -----------------------------------------------------------------------------------------------------


def random_places(rng, count, low=(0.0, -1.0), high=(4.0, 1.0)):
    return rng.uniform(low, high, (count, 2))


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(3, 14))
def test_triangles_cover_the_hull_once_and_no_sample_is_in_a_circumcircle(seed, count):
    points = np.random.default_rng(seed).uniform(0, 1, (count, 2))
    triangles = delaunay.triangulate(points)
    a, b, c = (points[triangles[:, i]] for i in range(3))
    areas = 0.5 * ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])
    assert areas.min() > 0
    # The hull's area by its support function's polygon: the edges that belong to one triangle, walked around.
    edges = [(t[i], t[(i + 1) % 3]) for t in triangles.tolist() for i in range(3)]
    border = [(i, j) for i, j in edges if (j, i) not in edges]
    hull = 0.5 * sum(points[i, 0] * points[j, 1] - points[j, 0] * points[i, 1] for i, j in border)
    assert areas.sum() == pytest.approx(hull)
    for i, j in border:  # it is convex: all points are on the left of every border edge
        along, to = points[j] - points[i], points - points[i]
        assert (along[0] * to[:, 1] - along[1] * to[:, 0]).min() > -1e-9
    for corners in triangles:
        p = points[corners]
        center = np.linalg.solve(2 * (p[1:] - p[0]), (p[1:] ** 2).sum(1) - (p[0] ** 2).sum())
        radius = np.linalg.norm(p[0] - center)
        if radius < 1e3:
            assert np.linalg.norm(points - center, axis=-1).min() > radius - 1e-7


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 12))
def test_a_plane_is_exact_at_samples_continuous_and_sums_to_1(seed, count):
    rng = np.random.default_rng(seed)
    places = random_places(rng, count)
    space = BlendSpace2D((SPEED, LEAN), names(count), places)
    np.testing.assert_array_equal(space.weights(places[:, 0], places[:, 1]), np.eye(count))
    start, end = rng.uniform([-1, -2], [5, 2], (2, 2))
    coarse, fine = (
        largest_jump(lambda p: space.weights(p[:, 0], p[:, 1]), start + np.linspace(0, 1, n)[:, None] * (end - start))
        for n in (4001, 16001)
    )
    # Of a continuous function that is linear in pieces the largest step shrinks with the distance.
    assert fine < 0.3 * coarse + 1e-7
    check_weights(space.weights(*rng.uniform([-2, -3], [6, 3], (500, 2)).T))


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(3, 12))
def test_inside_the_samples_the_weighted_places_are_the_input(seed, count):
    rng = np.random.default_rng(seed)
    places = random_places(rng, count)
    space = BlendSpace2D((SPEED, LEAN), names(count), places)
    inside = rng.dirichlet(np.ones(count), 200) @ places
    np.testing.assert_allclose(space.weights(*inside.T) @ places, inside, atol=1e-8)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(3, 12), ends=st.sampled_from((CLAMP, WRAP)))
def test_one_place_has_the_weights_that_it_has_among_many(seed, count, ends):
    rng = np.random.default_rng(seed)
    places = random_places(rng, count)
    space = BlendSpace2D((dataclasses.replace(SPEED, ends=ends), LEAN), names(count), places)
    # Samples and what is between them, inside or outside of the triangles.
    asked = np.concatenate([places, 0.5 * (places + places[::-1]), rng.uniform([-2, -3], [6, 3], (20, 2))])
    for many, place in zip(space.weights(*asked.T), asked.tolist(), strict=True):
        np.testing.assert_allclose(space.weights(*place), many, rtol=0, atol=1e-9)


def test_outside_the_nearest_edge_counts():
    space = BlendSpace2D((SPEED, LEAN), names(3), [[1.0, -0.5], [3.0, -0.5], [2.0, 0.5]])
    np.testing.assert_allclose(space.weights([2.0, 1.5, 0.0], [-1.0, -0.9, -1.0]),
                               [[0.5, 0.5, 0], [0.75, 0.25, 0], [1, 0, 0]], atol=1e-12)  # fmt: skip


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(2, 8), both=st.booleans())
def test_a_wrapped_plane_has_no_seam(seed, count, both):
    rng = np.random.default_rng(seed)
    axes = (Axis("u", 0.0, 1.0, WRAP), Axis("v", 0.0, 1.0, WRAP if both else "CLAMP"))
    places = rng.uniform(0, 1, (count, 2))
    space = BlendSpace2D(axes, names(count), places)
    np.testing.assert_array_equal(space.weights(places[:, 0], places[:, 1]), np.eye(count))
    v = rng.uniform(0, 1, 200)
    near, far = np.full(200, 1e-7), np.full(200, 1 - 1e-7)
    np.testing.assert_allclose(space.weights(near, v), space.weights(far, v), atol=1e-4)
    if both:
        np.testing.assert_allclose(space.weights(v, near), space.weights(v, far), atol=1e-4)


def test_wrapped_squares_have_no_seam_either():
    # Four samples on one circle everywhere: the diagonals must be the same ones on both sides of the seam.
    u, v = np.meshgrid([0.0, 0.25, 0.5, 0.75], [0.0, 0.5, 1.0])
    axes = (Axis("u", 0.0, 1.0, WRAP), Axis("v", 0.0, 1.0))
    space = BlendSpace2D(axes, names(12), np.stack([u.ravel(), v.ravel()], -1))
    path = np.stack([np.linspace(-1.3, 2.7, 8001), np.full(8001, 0.2)], -1)
    assert largest_jump(lambda p: space.weights(p[:, 0], p[:, 1]), path) < 2 * 4 * 5e-4 + 1e-6
    turned = BlendSpace2D(axes, names(12), np.stack([(u.ravel() + 0.13) % 1.0, v.ravel()], -1))
    shifted = path + np.array([0.13, 0.0])
    np.testing.assert_allclose(turned.weights(*shifted.T), space.weights(*path.T), atol=1e-6)


def test_a_regular_grid_is_bilinear():
    u, v = np.meshgrid([0.0, 2.0, 4.0], [-1.0, 1.0])
    space = BlendSpace2D((SPEED, LEAN), names(6), np.stack([u.ravel(), v.ravel()], -1), GRID)
    np.testing.assert_array_equal(space.weights(u.ravel(), v.ravel()), np.eye(6))
    expected = np.outer([0.25, 0.75], [0.5, 0.5, 0]).ravel()
    np.testing.assert_allclose(space.weights(1.0, 0.5), expected, atol=1e-12)
    rng = np.random.default_rng(0)
    check_weights(space.weights(*rng.uniform(-5, 5, (2, 300))))
    path = np.linspace([-1, -2], [5, 2], 10001)
    assert largest_jump(lambda p: space.weights(p[:, 0], p[:, 1]), path) < 4e-3
    ring = BlendSpace2D((DIRECTION, LEAN), names(3), [[-120, 0], [0, 0], [120, 0]], GRID)
    np.testing.assert_allclose(ring.weights([180, -180], [0.3, -1]), [[0.5, 0, 0.5]] * 2, atol=1e-9)


def test_one_and_two_samples():
    one = BlendSpace2D((SPEED, LEAN), ["only"], [[1, 0]])
    assert one.weights(3, 0.3).tolist() == [1.0]
    two = BlendSpace2D((SPEED, LEAN), ["a", "b"], [[1, 0], [3, 0]])
    np.testing.assert_allclose(two.weights([1.5, 0, 3], [1, -1, 0]), [[0.75, 0.25], [1, 0], [0, 1]], atol=1e-12)


def test_inputs_of_many_characters_keep_their_shape():
    space = BlendSpace2D((SPEED, LEAN), names(4), random_places(np.random.default_rng(1), 4))
    assert space.weights(np.zeros((2, 3)), np.zeros(3)).shape == (2, 3, 4)
    assert BlendSpace1D(SPEED, names(2), [0, 1]).weights(np.zeros((5, 2))).shape == (5, 2, 2)


def test_snapping():
    assert SPEED.snapped([0.4, 0.6, 3.9]).tolist() == [0.0, 1.0, 4.0]


def test_bad_spaces_are_refused_by_name():
    with pytest.raises(RagdollError, match='minimum of axis "Speed" must be below its maximum, got 3 and 3'):
        Axis("Speed", 3.0, 3.0)
    with pytest.raises(RagdollError, match='"Speed"'):
        Axis("Speed", 0.0, np.nan)
    with pytest.raises(RagdollError, match='"Speed" has no samples'):
        BlendSpace1D(SPEED, [], [])
    with pytest.raises(RagdollError, match='"Speed" x "Lean" has no samples'):
        BlendSpace2D((SPEED, LEAN), [], [])
    with pytest.raises(RagdollError, match='"walk" and "run" are at one place'):
        BlendSpace1D(SPEED, ["idle", "walk", "run"], [0, 2, 2])
    with pytest.raises(RagdollError, match='"back" and "front" are at one place'):
        BlendSpace1D(DIRECTION, ["back", "front"], [-180, 180])
    with pytest.raises(RagdollError, match='"b" and "c" are at one place'):
        BlendSpace2D((SPEED, LEAN), ["a", "b", "c"], [[0, 0], [1, 0.5], [1, 0.5]])
    with pytest.raises(RagdollError, match='"run" is at 5 on axis "Speed"'):
        BlendSpace1D(SPEED, ["run"], [5])
    with pytest.raises(RagdollError, match='"run" is at nan'):
        BlendSpace1D(SPEED, ["run"], [np.nan])
    for places in ([[0, 0], [1, 0], [2, 0]], [[0, -1], [2, 0], [4, 1]], [[0, -0.3], [0.3, -0.225], [0.4, -0.2]]):
        with pytest.raises(RagdollError, match='"a", "b", "c" are on one line'):
            BlendSpace2D((SPEED, LEAN), ["a", "b", "c"], places)
    with pytest.raises(RagdollError, match='no sample where "Speed" is 4 and "Lean" is 1'):
        BlendSpace2D((SPEED, LEAN), names(3), [[0, -1], [4, -1], [0, 1]], GRID)
    space = BlendSpace2D((SPEED, LEAN), names(3), [[0, -1], [4, -1], [0, 1]])
    with pytest.raises(RagdollError, match='input of axis "Lean" is not a number'):
        space.weights(1.0, np.nan)
    with pytest.raises(RagdollError, match='input of axis "Direction" is not a number'):
        BlendSpace1D(DIRECTION, ["a"], [0]).weights(np.inf)
