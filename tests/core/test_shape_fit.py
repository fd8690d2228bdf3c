"""Fits of primitives and hulls against known solids, and what must not change them; overlaps against closed forms."""

import anatomies
import numpy as np
import pytest

from core import mirror, quaternion
from core.errors import RagdollError
from core.ragdoll.bodies import convex, fitting, overlap, shapes
from core.ragdoll.bodies.fitting import BOX, CAPSULE, CONVEX_HULL, SPHERE, Shape, Skin

KINDS = (CAPSULE, BOX, SPHERE, CONVEX_HULL)


def capsule_points(radius: float, half_length: float, count: int = 400) -> np.ndarray:
    """Points on a capsule along z whose tips are `half_length` from its middle."""
    caps = radius * overlap.sphere_directions(count // 2)
    caps[:, 2] += np.sign(caps[:, 2]) * (half_length - radius)
    turn = np.arange(count) * 2.4
    height = np.linspace(-1.0, 1.0, count) * (half_length - radius)
    return np.concatenate([caps, np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1)])


def box_points(half, count: int = 9) -> np.ndarray:
    """A grid on the surface of a box."""
    line = np.linspace(-1.0, 1.0, count)
    grid = np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3)
    return grid[np.abs(grid).max(axis=1) == 1.0] * half


def rotation(seed: int) -> np.ndarray:
    """Some rotation [3, 3]."""
    return quaternion.to_matrix(quaternion.normalize(np.random.default_rng(seed).normal(size=4)))


def blob(seed: int = 3) -> np.ndarray:
    """A lopsided cloud [300, 3] with a few far-away points."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(300, 3)) * (0.1, 0.06, 0.25) + random.uniform(size=(300, 1)) * (0.1, 0.0, 0.2)
    points[:6] *= 3.0
    return points


def covered(shape: Shape, points: np.ndarray) -> float:
    """Share of the points inside."""
    return float(np.mean(shape.distance(points) <= 1e-9))


@pytest.mark.parametrize("auto", (False, True))
@pytest.mark.parametrize(
    ("kind", "points", "half", "volume", "near"),
    (
        (CAPSULE, capsule_points(0.1, 0.4), (0.1, 0.1, 0.4), np.pi * (0.1**2 * 0.6 + 4 / 3 * 0.1**3), 0.02),
        (BOX, box_points((0.3, 0.1, 0.5)), (0.3, 0.1, 0.5), 0.12, 1e-6),
        (SPHERE, 0.2 * overlap.sphere_directions(200), (0.2, 0.2, 0.2), 4 / 3 * np.pi * 0.2**3, 0.01),
    ),
)
def test_points_on_a_solid_give_it_back(auto, kind, points, half, volume, near):
    turn = quaternion.to_matrix(quaternion.from_axis_angle((0.0, 0.0, 1.0), 0.7))  # about the limb
    place = np.array((1.0, 2.0, -7.0))
    shape = fitting.fit(points @ turn.T + place, np.eye(3), "AUTO" if auto else kind, share=1.0)
    assert shape.kind == kind
    np.testing.assert_allclose(shape.half, half, rtol=near)
    assert shape.volume() == pytest.approx(volume, rel=3 * near)
    np.testing.assert_allclose(shape.center, place, atol=0.003)
    if kind == BOX:
        np.testing.assert_allclose(np.abs(shape.axes.T @ turn), np.eye(3), atol=1e-6)


def test_a_wedge_is_a_hull():
    """A prism over a triangle fills half of its box, so the hull of its corners wins."""
    line = np.linspace(0.0, 1.0, 12)
    x, y, z = (axis.ravel() for axis in np.meshgrid(line, line, line))
    shape = fitting.fit(np.stack([x, y, z], axis=1)[x + z <= 1.0 + 1e-9], np.eye(3), share=1.0)
    assert shape.kind == CONVEX_HULL
    assert shape.volume() == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_the_share_is_covered_and_not_much_more_and_less_never_takes_more_volume(kind):
    points = blob()
    found = {share: fitting.fit(points, np.eye(3), kind, share=share) for share in (0.5, 0.8, 0.9, 1.0)}
    for share, shape in found.items():
        assert share - 1e-9 <= covered(shape, points) <= share + 0.04
    volumes = [shape.volume() for shape in found.values()]
    assert volumes == sorted(volumes)
    points = np.concatenate([blob(seed) for seed in range(6)])  # many are thinned, but all of them count
    assert 0.9 - 1e-9 <= covered(fitting.fit(points, np.eye(3), kind), points) <= 0.94
    assert fitting.fit(blob() * (1.0, 0.0, 1.0), np.eye(3), kind, smallest=0.02).half.min() >= 0.02 - 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_weights_say_what_is_to_be_covered(kind):
    """Points without weight do not count, wherever they are, nor does the unit of the weights."""
    points = blob()
    stray = np.concatenate([points, points * 10.0])
    shape = fitting.fit(points, np.eye(3), kind)
    same = fitting.fit(stray, np.eye(3), kind, weights=np.repeat((3.0, 0.0), len(points)))
    np.testing.assert_allclose(same.half, shape.half, rtol=1e-9)
    inner = np.linalg.norm(points - points.mean(axis=0), axis=1)
    inner = inner < np.median(inner)
    assert fitting.fit(points, np.eye(3), kind, weights=np.where(inner, 50.0, 1.0)).volume() < 0.8 * shape.volume()


@pytest.mark.parametrize("kind", (*KINDS, "AUTO"))
def test_a_fit_moves_turns_and_grows_with_its_points(kind):
    points, turn, shift, scale = blob(), rotation(5), np.array([3.0, -40.0, 7.0]), 100.0
    shape = fitting.fit(points, np.eye(3), kind)
    moved = fitting.fit(scale * points @ turn.T + shift, turn, kind)
    assert moved.kind == shape.kind
    np.testing.assert_allclose(moved.half, scale * shape.half, rtol=1e-6)
    np.testing.assert_allclose(moved.center, scale * turn @ shape.center + shift, atol=1e-6 * scale)
    np.testing.assert_allclose(moved.axes, turn @ shape.axes, atol=1e-6)


def test_what_hangs_on_the_double_of_a_bone_in_pieces_hangs_on_the_piece_next_to_it():
    """A hip, a leg in two pieces, and a toe and a spur whose ancestor is one bone in the leg's place."""
    heads = np.array([(0, 0, 2), (0, 0, 2), (0, 0, 1), (0, 0, 2), (0, 1, 0), (0, 1, 1.7)], dtype=float)
    tails = np.array([(0, 0, 3), (0, 0, 1), (0, 0, 0), (0, 0, 0), (0, 2, 0), (0, 2, 1.7)], dtype=float)
    bones, parents = np.array([0, 1, 2, 4, 5]), np.array([-1, 0, 1, -1, -1])
    shapes.join_loose_roots(bones, parents, heads, tails, np.array([-1, 0, 1, 0, 3, 3]), ())
    assert parents.tolist() == [-1, 0, 1, 2, 1]


def test_the_hull_of_a_grid_is_its_box():
    """Points inside edges and faces are no corners, and coplanar triangles are one face."""
    line = np.linspace(-1.0, 1.0, 3)
    solid = convex.hull(np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3) * (1.0, 2.0, 3.0))
    assert len(solid.points) == 8 and sorted(map(len, solid.faces)) == [4] * 6
    assert solid.volume() == pytest.approx(48.0)
    assert solid.gauge(np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 1.5]])) == pytest.approx((2.0, 0.5))


@pytest.mark.parametrize("noise", (1e-3, 1e-6, 1e-8, 1e-9, 1e-12))
def test_corners_that_are_almost_in_a_plane_make_a_closed_hull(noise):
    line = np.linspace(-1.0, 1.0, 3)
    grid = np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3)
    for seed in range(10):
        points = grid + noise * np.random.default_rng(seed).normal(size=grid.shape)
        solid = convex.hull(points @ rotation(seed).T)
        edges = {(face[i - 1], face[i]) for face in solid.faces for i in range(len(face))}
        assert all((b, a) in edges for a, b in edges)
        assert solid.volume() == pytest.approx(8.0, rel=0.02)


def test_flat_or_too_many_points_have_no_hull():
    with pytest.raises(RagdollError, match="plane"):
        convex.hull(np.concatenate([np.random.default_rng(0).normal(size=(9, 2)), np.ones((9, 1))], axis=1))
    with pytest.raises(RagdollError, match="33"):
        convex.hull(np.random.default_rng(0).normal(size=(33, 3)))


def placed(kind, center, half) -> Shape:
    """A primitive."""
    return Shape(kind, np.array(center, dtype=float), np.eye(3), np.array(half, dtype=float))


PAIRS = (
    (placed(SPHERE, (0, 0, 0), (0.5,) * 3), placed(SPHERE, (0.3, 0.6, 0.2), (0.4,) * 3), 0.9 - 0.7),
    (placed(BOX, (0, 0, 0), (1, 1, 1)), placed(BOX, (1.5, 0.3, -0.2), (1, 1, 1)), 0.5),
    (placed(CAPSULE, (0, 0, 0), (0.2, 0.2, 1)), placed(CAPSULE, (0.3, 0, 0), (0.2, 0.2, 1)), 0.1),
    (placed(BOX, (0, 0, 0), (1, 1, 1)), placed(SPHERE, (0, 0, 1.25), (0.5,) * 3), 0.25),
    (placed(CAPSULE, (0, 0, 0), (0.2, 0.2, 1)), placed(BOX, (0, 0, 1.7), (1, 1, 0.5)), -0.2),
    (placed(SPHERE, (0, 0, 0), (0.5,) * 3), placed(SPHERE, (0.6, 0.8, 0.0), (0.4,) * 3), -0.1),
)


@pytest.mark.parametrize(("a", "b", "depth"), PAIRS)
@pytest.mark.parametrize("seed", (None, 1))
def test_depths_are_those_of_geometry(a, b, depth, seed):
    turn = np.eye(3) if seed is None else rotation(seed)
    turned = [Shape(s.kind, turn @ s.center, turn @ s.axes, s.half) for s in (a, b)]
    found, direction = overlap.convex_depths(turned, [0, 1], [1, 0])
    # Directions are sampled: never too small, and too large by the cosine of a small angle at most.
    assert np.all(found >= depth - 1e-9)
    np.testing.assert_allclose(found, depth, atol=2e-3)
    np.testing.assert_allclose(np.linalg.norm(direction, axis=1), 1.0)
    assert direction[0] @ (turned[1].center - turned[0].center) > 0.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_separated_shapes_are_smaller_and_apart(kind, other):
    one = fitting.fit(blob(1), rotation(1), kind)
    two = fitting.fit(blob(2) + np.array((0.4, 0.05, 0.0)), rotation(2), other)
    shapes = [one, two]
    assert overlap.convex_depths(shapes, [0], [1])[0][0] > 0.0
    assert overlap.separate(shapes, [0], [1], gap=0.002, may_overlap=[False]) == []
    assert overlap.convex_depths(shapes, [0], [1])[0][0] < 0.0
    random = np.random.default_rng(0).uniform(-1.0, 1.0, size=(4000, 3))
    for before, after in zip((one, two), shapes, strict=True):
        assert 0.1 * before.volume() < after.volume() <= before.volume() * (1.0 + 1e-9)
        core, radius = after.core()
        inside = core.mean(axis=0) + random * (np.ptp(core, axis=0) / 2.0 + radius)
        inside = inside[after.distance(inside) <= 0.0]
        assert before.distance(inside).max() < 1e-6, "nothing grows beyond the shape that it was"


def test_separation_keeps_mirror_images():
    normal = np.array([1.0, 0.0, 0.0])
    left = fitting.fit(blob(1) + np.array((0.08, 0.0, 0.0)), rotation(1), CONVEX_HULL)
    shapes = [placed(BOX, (0.0, 0.0, 0.3), (0.2, 0.2, 0.2)), left, left.mirrored(normal, 0.0)]
    twins = np.array([0, 2, 1])
    overlap.separate(shapes, [0, 0, 1], [1, 2, 2], gap=0.002, may_overlap=[False] * 3, twins=twins, normal=normal)
    assert overlap.convex_depths(shapes, [0, 0, 1], [1, 2, 2])[0].max() < 0.0
    np.testing.assert_allclose(shapes[2].mirrored(normal, 0.0).core()[0], shapes[1].core()[0], atol=1e-12)
    assert abs(shapes[0].center[0]) < 1e-12


def test_pairs_that_may_overlap_rather_do_than_lose_most_of_a_body():
    shapes = [placed(SPHERE, (0, 0, 0), (0.5,) * 3), placed(SPHERE, (0.01, 0, 0), (0.5,) * 3)]
    assert overlap.separate(list(shapes), [0], [1], gap=0.01, may_overlap=[True]) == [0]


HUMAN = np.array([(0, 0, 1), (0, 0, 1.3), (0.2, 0, 1.3), (0.5, 0, 1.3), (-0.2, 0, 1.3), (-0.5, 0, 1.3)], dtype=float)
HUMAN_PARENTS = np.array([-1, 0, 1, 2, 1, 4])


def test_the_mirror_plane_of_a_human_is_found_wherever_it_stands():
    shift = np.array([5.0, -3.0, 2.0])
    normal, offset, twins = mirror.plane_of_joints(HUMAN + shift, HUMAN_PARENTS, 1.0)
    np.testing.assert_allclose(np.abs(normal), (1.0, 0.0, 0.0), atol=1e-9)
    assert offset == pytest.approx(normal @ shift)
    assert twins.tolist() == [0, 1, 4, 5, 2, 3]


def test_a_lopsided_skeleton_has_no_mirror_plane():
    heads = HUMAN + np.random.default_rng(0).normal(size=HUMAN.shape) * 0.05
    normal, _offset, twins = mirror.plane_of_joints(heads, HUMAN_PARENTS, 1.0)
    assert normal is None and np.all(twins == -1)


def test_a_vertex_belongs_to_the_body_whose_bones_hold_it_most():
    """Bones 1 and 2 are one body: together they hold more of vertex 0 than bone 0 alone; weights need no sum of 1."""
    skin = Skin(np.eye(3), np.array([0, 0, 0, 1, 2]), np.array([0, 1, 2, 0, 2]), np.array([4.0, 3.0, 3.0, 0.1, 7.0]), 3)
    assert [0 if found is None else len(found) for found in skin.of_bones()] == [2, 0, 1]
    merged, _holder, _share = skin.dominated(np.array([0, 1, 1]), 2)
    assert [len(found[0]) for found in merged] == [1, 2]
    np.testing.assert_allclose(merged[1][1], (0.6, 1.0))


def test_a_limb_reaches_along_its_edges_to_its_end():
    """Rings of vertices at the joints only: the first body goes as far as the joint, the second begins there."""
    points = np.array([(x, 0.0, z) for z in (0.0, 1.0, 2.0) for x in (0.0, 0.1)])
    skin = Skin(points, np.arange(6), np.array([0, 0, 1, 1, 1, 1]), np.ones(6), 2, np.array([(0, 2), (1, 3), (2, 4)]))
    holder, share = skin.holders(np.arange(2), 2)
    joints, ends = np.array([(0, 0, 0), (0, 0, 0.8)], dtype=float), np.array([(0, 0, 0.8), (0, 0, 2)], dtype=float)
    first, second = skin.between(holder, share, joints, ends, ~np.eye(2, dtype=bool))
    np.testing.assert_allclose(first[0][:, 2], 0.8)
    np.testing.assert_allclose(second[0][:, 2], 0.5)
    np.testing.assert_allclose(skin.between(holder, share, joints, ends, np.zeros((2, 2), dtype=bool))[0][0][:, 2], 0.5)


def test_a_large_head_on_a_short_neck_has_a_body_as_long_as_it_is_drawn():
    """As of a child: the neck is too small for a body, and the head longer than anything near it."""
    body = anatomies.human()
    heads, tails, head, neck = body.heads.copy(), body.tails.copy(), body.row("head"), body.row("neck")
    heads[neck, 2], tails[head, 2] = heads[head, 2] - 0.03, heads[head, 2] + 0.45
    count = len(heads)
    chosen = shapes.choose_bones(heads, tails, body.parents, np.ones(count, dtype=bool), np.eye(3))
    assert chosen[head] and not chosen[neck]
    rig = heads, tails, np.tile(np.eye(3), (count, 1, 1)), body.parents, chosen, ["AUTO"] * count
    plan = shapes.plan_bodies(*rig, None, np.eye(3), 0.9)
    assert 2.0 * plan.shapes[plan.bones.tolist().index(head)].half.max() == pytest.approx(0.45, rel=0.1)
