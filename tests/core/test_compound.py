"""Compounds, what their parts cover, and moments of inertia that bodies carry."""

import numpy as np
import pytest

from core import quaternion, skeleton
from core.anatomy.axes import limb_directions
from core.pose import affine
from core.ragdoll.bodies import fitting, overlap, shapes
from core.ragdoll.bodies.fitting import BOX, COMPOUND, CONVEX_HULL, Shape, Skin
from core.ragdoll.drives import joint_motors

LEG = ((0.05, 0.05, 0.2), (0.0, 0.0, 0.2))
FOOT = ((0.05, 0.15, 0.04), (0.0, -0.1, 0.0))


def block(half, center, count=6) -> np.ndarray:
    line = np.linspace(-1.0, 1.0, count)
    return np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3) * half + center


def boot(foot=FOOT):
    """Points of a shank and a foot, the bone of each, and the tree of the foot."""
    return np.concatenate([block(*LEG), block(*foot)]), np.repeat([0, 1], 216), [np.array([False, True])]


def split(points, bones, trees, axes=None, **options):
    axes = np.eye(3) if axes is None else axes
    weights = np.ones(len(points))
    whole = fitting.fit(points, axes, share=1.0)
    return whole, fitting.split(whole, points, weights, bones, trees, share=1.0, smallest=0.001, **options)


def test_a_shank_with_its_foot_becomes_two_parts_that_cover_it():
    points, bones, trees = boot()
    whole, found = split(points, bones, trees)
    assert found.kind == COMPOUND and len(found.pieces) == 2
    assert found.volume() == pytest.approx(8.0 * (np.prod(LEG[0]) + np.prod(FOOT[0])), rel=1e-6)
    assert found.volume() < fitting.WINS * whole.volume() and found.distance(points).max() < 1e-9
    # The frame is that of the box around all parts, with its origin in the middle.
    local = (points - found.center) @ found.axes
    assert np.array([local.max(axis=0), -local.min(axis=0)]) == pytest.approx(np.tile(found.half, (2, 1)), rel=1e-6)


def test_what_goes_straight_on_stays_one():
    points, bones, trees = boot(((0.05, 0.05, 0.1), (0.0, 0.0, -0.1)))
    (whole, found), (_whole, forced) = (split(points, bones, trees, forced=each) for each in (False, True))
    assert found is whole and forced.kind == COMPOUND and forced.distance(points).max() < 1e-9


def test_overlaps_count_by_parts():
    """A ball above the instep lies in the hull of shank and foot, and in neither of them."""
    found = split(*boot())[1]
    hull = fitting.fit(boot()[0], np.eye(3), CONVEX_HULL, share=1.0)
    places = np.array([(0.0, -0.12, 0.1), (0.0, -0.2, 0.05)])
    ball, near = (Shape("SPHERE", place, np.eye(3), np.full(3, 0.03)) for place in places)
    assert overlap.convex_depths([hull, ball], [0], [1])[0][0] > 0.0
    assert overlap.depths([found, ball], [0], [1], within=1.0)[0] == pytest.approx(0.03 - 0.06, abs=1e-3)
    assert overlap.depths([found, near], [0], [1])[0] == pytest.approx(0.02, abs=1e-3)
    away = np.tile(np.eye(4), (2, 2, 1, 1))
    away[1, 0, 2, 3] = -0.02
    assert overlap.met([found, near], [0], [1], away)[0] and not overlap.met([found, ball], [0], [1], away)[0]


def test_separating_leaves_the_part_that_is_not_met():
    found = split(*boot())[1]
    solids = [found, Shape(BOX, np.array([0.0, -0.29, 0.0]), np.eye(3), np.array([0.2, 0.06, 0.2]))]
    left = overlap.separate(solids, [0], [1], gap=0.001, may_overlap=[False], points=[boot()[0], None])
    assert not left and overlap.depths(solids, [0], [1])[0] <= 0.0
    assert [len(solids[0].pieces), solids[0].pieces[0].volume()] == pytest.approx([2, found.pieces[0].volume()])


LEFT = [(0.1, 0, 0.9), (0.1, 0, 0.45), (0.1, 0, 0.05), (0.1, -0.2, 0.0)]  # hip, knee, ankle, tip of the foot
RIGHT = [(-x, y, z) for x, y, z in LEFT]
HEADS = np.array([(0, 0, 1.0), *LEFT[:3], *RIGHT[:3]])
TAILS = np.array([(0, 0, 1.2), *LEFT[1:], *RIGHT[1:]])
PARENTS = np.array([-1, 0, 1, 2, 0, 4, 5])


def legs():
    """A pelvis and two legs with feet: (points of each bone)."""
    parts = ((0.06, 0.06, 0.19), 0, 0.68), ((0.05, 0.05, 0.17), 0, 0.26), ((0.045, 0.18, 0.04), -0.14, 0.04)
    limbs = [block(half, (0.1 * side, y, z)) for side in (1.0, -1.0) for half, y, z in parts]
    return [block((0.12, 0.08, 0.08), (0, 0, 1.08)), *limbs]


@pytest.mark.parametrize("kind", ("AUTO", "CONVEX_HULL", COMPOUND))
def test_bodies_with_merged_feet(kind):
    simulated = np.array([True, True, True, False, True, True, False])
    kinds = [kind if bone in (2, 5) else "AUTO" for bone in range(7)]
    turns = np.tile(np.eye(3), (7, 1, 1))
    points, bones = np.concatenate(legs()), np.repeat(np.arange(7), [len(own) for own in legs()])
    skin = Skin(points, np.arange(len(points)), bones, np.ones(len(points)), 7)
    plan = shapes.plan_bodies(HEADS, TAILS, turns, PARENTS, simulated, kinds, skin, np.eye(3), 1.0)
    made = plan.shapes
    rows = [int(np.flatnonzero(plan.bones == bone)[0]) for bone in (2, 5)]
    assert [made[row].kind for row in rows] == [COMPOUND if kind == "AUTO" else kind] * 2
    assert not (overlap.depths(plan.shapes, *plan.strangers()) > 0.0).any()
    assert made[rows[0]].distance(np.concatenate([legs()[2], legs()[3]])).max() < 1e-6
    image = made[rows[0]].mirrored(plan.normal, plan.offset)
    tried = np.random.default_rng(0).normal(size=(50, 3))
    assert made[rows[1]].distance(tried) == pytest.approx(image.distance(tried), abs=1e-9)


def test_hips_bend_beside_the_belly_and_legs_do_not_pass_through_each_other():
    place = np.append(HEADS, [(0, -0.05, 0.85)], axis=0), np.append(TAILS, [(0, -0.05, 1.03)], axis=0)
    tree = np.tile(np.eye(3), (8, 1, 1)), np.append(PARENTS, 0), np.ones(8, dtype=bool)
    apart = shapes.plan_bodies(*place, *tree, ["AUTO"] * 8, None, np.eye(3), 1.0).no_collide
    assert (1, 7) in apart and (4, 7) in apart and (1, 4) not in apart


def test_a_limb_leads_to_the_joints_that_it_carries_however_bones_are_drawn():
    heads, parents = np.array([(0, 0, 0), (0.3, 0, 0), (0.55, 0, 0), (0.65, 0, 0)]), np.array([-1, 0, 1, 2])
    place, turns = (heads, heads + np.array((0, 0.3, 0))), np.tile(np.eye(3), (4, 1, 1))
    made = shapes.plan_bodies(*place, turns, parents, parents < 1, ["AUTO"] * 4, None, np.eye(3), 1.0).shapes[1]
    assert made.axes[:, 2] @ (1, 0, 0) > 0.999 and 2.0 * made.half[2] == pytest.approx(0.25)
    assert np.allclose(limb_directions(type("Any", (), {"roles": ["GENERIC"] * 4}), parents, *place)[:3], (1, 0, 0))


@pytest.mark.parametrize("place", (0.0, 1e4))
def test_carried_tensors_are_those_of_the_points(place):
    rng, parents = np.random.default_rng(3), (-1, 0, 1, 0, 3)
    count = len(parents)
    masses, sizes = rng.uniform(0.5, 20.0, count), rng.uniform(0.05, 0.5, (count, 3))
    rotations, axes = quaternion.to_matrix(quaternion.normalize(rng.normal(size=(2, count, 4))))
    centers, pivots = (rng.uniform(-1.0, 1.0, (count, 3)) + place for _each in range(2))
    moments = fitting.own_moments(["BOX"] * count, sizes, masses)
    course = affine(rotations, centers), affine(axes, pivots), skeleton.descends(parents)
    found = joint_motors.carried_tensors(masses, moments, *course)
    # Eight equal points at the corners of a box of a third of a body's size have its moments.
    corners = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]) * sizes[:, None] / np.sqrt(12.0)
    points = corners @ rotations.swapaxes(1, 2) + centers[:, None]
    for joint, inside in enumerate(course[2]):
        away = (points[inside] - pivots[joint]).reshape(-1, 3) @ axes[joint]
        squares = np.sum(away**2, axis=1)[:, None, None] * np.eye(3) - away[:, :, None] * away[:, None, :]
        expected = np.einsum("k,kij->ij", np.repeat(masses[inside] / 8.0, 8), squares)
        assert np.allclose(found[joint], expected, rtol=1e-9, atol=1e-9)


def test_only_a_sphere_has_moments_that_are_not_its_boxs():
    moments = fitting.own_moments(("SPHERE", "CAPSULE", "BOX", "CONVEX_HULL"), np.full((4, 3), 0.2), np.full(4, 3.0))
    assert moments[0] == pytest.approx(np.full(3, 0.4 * 3.0 * 0.1**2))
    assert moments[1:] == pytest.approx(np.full((3, 3), 3.0 * 0.2**2 / 6.0))


def test_groups_of_one_character_share_no_layer_and_those_of_any_two_share_exactly_one():
    for slot in range(overlap.CHARACTERS):
        own = overlap.layers(slot)
        assert own.shape == (overlap.GROUPS, overlap.LAYERS)
        for other in range(overlap.CHARACTERS):
            common = own.astype(int) @ overlap.layers(other).T
            assert np.array_equal(common, 4 * np.eye(4) if other == slot else np.ones((4, 4)))
    # The sixth meets the first with like groups.
    assert np.array_equal(overlap.layers(overlap.CHARACTERS), overlap.layers(0))
