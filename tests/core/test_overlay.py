"""The overlay's lines: wires lie on their shapes, rims on the limits; marks and colours tell the angles."""

import math

import numpy as np
import pytest

from core import pose, quaternion
from core.ragdoll import overlay
from core.ragdoll.joints import limits

LENGTH = 0.4


def moved(position=(0.0, 0.0, 0.0), rotation=(1.0, 0.0, 0.0, 0.0)) -> np.ndarray:
    """A rigid matrix [4, 4]."""
    return pose.affine(quaternion.to_matrix(quaternion.normalize(rotation)), position)


def pair(kind="CONE", low=(-0.6, -0.3, -0.4), high=(0.9, 0.5, 0.7)):
    """Wires of two bodies whose joint stands at the end of the one and the beginning of the other."""
    edges, sides = box((0.05, LENGTH / 2, 0.05))
    frames = (np.array([np.eye(4), moved((0, side * LENGTH / 2, 0))]) for side in (-1, 1))
    joints = np.array([-1, 0]), *frames, ["FREE", kind], *(np.array([np.zeros(3), end]) for end in (low, high))
    return overlay.Wires(overlay.Figure([edges, edges], [sides, sides], np.full(2, LENGTH), *joints, height=2.0))


def posed(wires, relative, apart=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Body matrices [2, 4, 4] with the child turned by `relative` [4] in the joint's frame and moved apart in it."""
    figure = wires.figure
    joint = figure.parent_frames[1] @ moved(apart, relative)
    return np.array([np.eye(4), joint @ np.linalg.inv(figure.child_frames[1])])


def swing(direction, angle):
    return quaternion.from_axis_angle((math.cos(direction), 0.0, math.sin(direction)), angle)


def twist(angle):
    return quaternion.from_axis_angle((0.0, 1.0, 0.0), angle)


NOTHING = np.zeros(2, dtype=bool)


def box(half) -> tuple[np.ndarray, np.ndarray]:
    """The edges [12, 2, 3] of a box, and the normals of the faces at each [12, 2, 3]."""
    edges, sides = [], []
    for axis in range(3):
        for a, b in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
            normals = np.zeros((2, 3))
            normals[0, (axis + 1) % 3], normals[1, (axis + 2) % 3] = a, b
            ends = np.tile(normals.sum(axis=0), (2, 1))
            ends[:, axis] = -1.0, 1.0
            edges.append(ends * half)
            sides.append(normals)
    return np.array(edges), np.array(sides)


@pytest.mark.parametrize(
    ("eye", "seen"),
    (((9, 7, 5, 1), 6), ((9, 7, 5, 0), 6), ((0, 0, 9, 1), 4), ((9, 7, 0.01, 1), 4 + 2), ((0.01, 0, 0, 1), 0)),
)
def test_a_body_is_drawn_as_its_outline(eye, seen):
    """A box: a hexagon from a corner, a square from before a face, nothing from inside."""
    wires = pair()
    matrices = np.array([moved((1.0, 2.0, 3.0), (0.5, 0.5, -0.5, 0.5)), moved((50.0, 0.0, 0.0))])
    found = wires.lines(matrices, NOTHING, overlay.Show(joints=False, limits=False), matrices[0] @ eye)
    assert np.count_nonzero(np.linalg.norm(found.ends[:, 0] - (1.0, 2.0, 3.0), axis=1) < 1.0) == seen
    assert len(wires.lines(matrices, NOTHING, overlay.Show(joints=False, limits=False)).ends) == 24


@pytest.mark.parametrize(
    ("low", "high"), [((-0.6, 0, -0.4), (0.9, 0, 0.7)), ((-0.1, 0, -2.4), (2.0, 0, 0.1)), ((-3, 0, -2), (1, 0, 0.5))]
)
def test_rim_of_a_cone_is_the_swing_limit(low, high):
    edges = overlay.cone_edges(low, high, 0.3)
    rim = edges[np.linalg.norm(edges[:, 0], axis=1) > 1e-9][:, 0] / 0.3  # spokes begin in the joint
    assert len(rim) >= 40 and np.allclose(np.linalg.norm(rim, axis=1), 1.0)
    assert np.allclose(edges[: len(rim), 1] / 0.3, np.roll(rim, -1, axis=0))  # closed
    axis = np.cross((0, 1, 0), rim)
    angle = np.arctan2(np.linalg.norm(axis, axis=1), rim[:, 1])
    swing_x, _twist, swing_z = limits.swing_twist_angles(quaternion.from_axis_angle(axis, angle))
    wanted = limits.ellipse_radius(limits.half_axes_of(low, high), np.arctan2(swing_z, swing_x))
    assert np.allclose(angle, wanted, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_hinge_s_sector_ends_where_its_bounds_carry_the_mark(axis):
    low, high = np.zeros(3), np.zeros(3)
    low[axis], high[axis] = -0.4, 2.1
    edges = overlay.hinge_edges(low, high, 0.2)
    shown, _quarter = overlay.hinge_axes(axis)
    spokes = edges[np.linalg.norm(edges[:, 0], axis=1) < 1e-9][:, 1]
    for end, angle in zip(spokes, (low[axis], high[axis]), strict=True):
        assert np.allclose(end, 0.2 * quaternion.rotate(quaternion.from_axis_angle(np.eye(3)[axis], angle), shown))
    assert abs(shown[axis]) < 1e-12  # the mark turns, it does not stand on the axis
    wires = pair("HINGE", low, high)
    turns = [quaternion.from_axis_angle(np.eye(3)[axis], angle) for angle in (-0.3, 1.1)]
    turns.append(quaternion.from_axis_angle(np.eye(3)[axis - 1], 0.1))  # bent across its axis
    readings = [wires.read(posed(wires, turn)) for turn in turns]
    assert np.allclose([reading.turn[0] for reading in readings[:2]], (-0.3, 1.1), atol=1e-6)
    assert [int(reading.swing_standing[0]) for reading in readings] == [overlay.INSIDE] * 2 + [overlay.BEYOND]


@pytest.mark.parametrize(
    ("relative", "swing_is", "twist_is"),
    [
        (swing(0.0, 0.80), overlay.INSIDE, overlay.INSIDE),  # 0.9 is the limit
        (swing(0.0, 0.82), overlay.NEAR, overlay.INSIDE),
        (swing(0.0, 0.95), overlay.BEYOND, overlay.INSIDE),
        (swing(math.pi, 0.55), overlay.NEAR, overlay.INSIDE),  # 0.6 on the other side
        (twist(0.44), overlay.INSIDE, overlay.INSIDE),  # -0.3 to 0.5
        (twist(0.46), overlay.INSIDE, overlay.NEAR),
        (twist(-0.32), overlay.INSIDE, overlay.BEYOND),
    ],
)
def test_near_is_within_ten_per_cent_and_beyond_is_outside(relative, swing_is, twist_is):
    wires = pair()
    reading = wires.read(posed(wires, relative))
    assert reading.swing_standing.tolist() == [swing_is]
    assert reading.twist_standing.tolist() == [twist_is]
    table = wires.colors(reading, NOTHING).reshape(2, -1, 4)
    assert np.allclose(table[1, overlay.SWING], overlay.LIMIT_COLORS[swing_is])
    assert np.allclose(table[1, overlay.TWIST], overlay.LIMIT_COLORS[twist_is])


def test_separation_shows_from_a_share_of_the_height_on():
    wires = pair()
    line = lambda apart: wires.lines(posed(wires, (1, 0, 0, 0), apart=(apart, 0, 0)), NOTHING)  # noqa: E731
    close, far = line(0.9 * overlay.APART * 2.0), line(1.1 * overlay.APART * 2.0)
    assert len(far.ends) == len(close.ends) + 1
    magenta = np.all(np.isclose(far.colors, overlay.COLORS[overlay.SEPARATION]), axis=1)
    assert np.count_nonzero(magenta) == 1
    assert np.allclose(far.ends[magenta][0], [(0, LENGTH / 2, 0), (1.1 * overlay.APART * 2.0, LENGTH / 2, 0)])


def test_selected_stands_out_and_the_rest_is_dimmed():
    wires = pair()
    matrices = posed(wires, (1, 0, 0, 0))
    plain = wires.lines(matrices, NOTHING)
    chosen = wires.lines(matrices, np.array([False, True]))
    assert not plain.emphasised.any()
    assert np.allclose(chosen.colors[~chosen.emphasised, 3], overlay.DIM * plain.colors[~chosen.emphasised, 3])
    assert np.count_nonzero(chosen.colors[chosen.emphasised, 3] == 1.0) == 12 + 2, "its box and the marks of its angles"
    assert 0 < np.count_nonzero(chosen.emphasised) < len(chosen.ends)


def test_calm_shows_joints_and_limits_of_what_is_selected_or_near_its_end():
    wires = pair()
    rest, bent = posed(wires, (1, 0, 0, 0)), posed(wires, swing(0.0, 0.88))
    calm, everything = overlay.Show(calm=True), len(wires.lines(posed(wires, (1, 0, 0, 0)), NOTHING).ends)
    assert len(wires.lines(rest, NOTHING, calm).ends) == 24, "two boxes"
    assert len(wires.lines(rest, np.array([False, True]), calm).ends) == everything
    limits_only = overlay.Show(bodies=False, joints=False, calm=True)
    assert len(wires.lines(bent, NOTHING, limits_only).ends) > 0 == len(wires.lines(rest, NOTHING, limits_only).ends)
