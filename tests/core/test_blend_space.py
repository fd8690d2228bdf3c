"""Blend spaces: exact at samples, weights that sum to 1, no jumps, wrapped and bounded ends, phases over time, aims.

Planes with Blender's own triangles, also wrapped ones, are in ../blender/test_blend_spaces.py."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pose_samples import human, random_clip

from core import quaternion
from core.errors import RagdollError
from core.motion.blend_space import GRID, WRAP, Axis, BlendSpace1D, BlendSpace2D, SpacePlayer, yaw_pitch
from core.motion.clip import MESH, AdditivePose, Clip, make_additive
from refusals import refuses

SKELETON = human()
COUNT = len(SKELETON)
FPS = 24.0
SPEED = Axis("Speed", 0.0, 4.0)
DIRECTION = Axis("Direction", -180.0, 180.0, WRAP)
LEAN = Axis("Lean", -1.0, 1.0)
S = [f"s{i}" for i in range(10)]  # names of samples


def delaunay(points):
    """Of points of which no four are on a circle: the triangles whose circumcircle holds no point."""
    found = []
    for corners in combinations(range(len(points)), 3):
        p = points[list(corners)]
        center = np.linalg.solve(2 * (p[1:] - p[0]), (p[1:] ** 2).sum(1) - (p[0] ** 2).sum())
        if np.linalg.norm(points - center, axis=-1).min() > np.linalg.norm(p[0] - center) - 1e-9:
            found.append(corners)
    return np.array(found)


def plane(places):
    return BlendSpace2D((SPEED, LEAN), S[: len(places)], places, triangulate=delaunay)


def weights_at(space, places):
    """Weights [m, k] at places [m] or [m, 2]."""
    return np.array([space.weights(*np.atleast_1d(place).tolist()) for place in places])


def check_continuous(space, start, end, count=200):
    """Where weights move most between neighbouring points of a way, they move less and less in between."""
    path = start + np.linspace(0, 1, count)[:, None] * (np.asarray(end) - start)
    found = weights_at(space, path)
    assert found.min() >= 0
    np.testing.assert_allclose(found.sum(axis=-1), 1, atol=1e-12)
    i = int(np.abs(np.diff(found, axis=0)).sum(axis=-1).argmax())
    low, high = path[i], path[i + 1]
    for _ in range(40):
        middle = 0.5 * (low + high)
        a, b, c = weights_at(space, (low, middle, high))
        low, high = (low, middle) if np.abs(b - a).sum() > np.abs(c - b).sum() else (middle, high)
    assert np.abs(np.diff(weights_at(space, (low, high)), axis=0)).sum() < 1e-6


def test_a_line_is_linear_between_neighbours_and_held_outside():
    space = BlendSpace1D(SPEED, ["run", "idle", "walk"], [4.0, 0.5, 1.5])
    np.testing.assert_allclose(weights_at(space, [0.0, 0.5, 1.0, 1.5, 2.125, 4.0, 9.0]), [
        [0, 1, 0], [0, 1, 0], [0, 0.5, 0.5], [0, 0, 1], [0.25, 0, 0.75], [1, 0, 0], [1, 0, 0]], atol=1e-12)  # fmt: skip
    assert [SPEED.snapped(value) for value in (0.4, 0.6, 3.9)] == [0.0, 1.0, 4.0]


def test_a_wrapped_line_goes_on_at_its_other_end():
    space = BlendSpace1D(DIRECTION, ["forward", "right", "back", "left"], [0, 90, 180, -90])
    np.testing.assert_allclose(space.weights(135), [0, 0.5, 0.5, 0])
    np.testing.assert_allclose(space.weights(-135), [0, 0, 0.5, 0.5])
    np.testing.assert_allclose(weights_at(space, [-180, 180, 540]), [[0, 0, 1, 0]] * 3)
    np.testing.assert_allclose(space.weights(30 + 360 * 7), space.weights(30), atol=1e-9)
    two = BlendSpace1D(DIRECTION, ["a", "b"], [-170, 170])
    np.testing.assert_allclose(weights_at(two, [180, 175, -170]), [[0.5, 0.5], [0.25, 0.75], [1, 0]], atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 10))
def test_a_plane_is_exact_at_samples_continuous_and_sums_to_1(seed, count):
    rng = np.random.default_rng(seed)
    places = rng.uniform((0.0, -1.0), (4.0, 1.0), (count, 2))
    space = plane(places)
    np.testing.assert_array_equal(weights_at(space, places), np.eye(count))
    check_continuous(space, *rng.uniform([-1, -2], [5, 2], (2, 2)))
    inside = rng.dirichlet(np.ones(count), 40) @ places
    if count > 2:
        np.testing.assert_allclose(weights_at(space, inside) @ places, inside, atol=1e-8)


def test_outside_the_nearest_edge_counts():
    space = plane([[1.0, -0.5], [3.0, -0.5], [2.0, 0.5]])
    np.testing.assert_allclose(weights_at(space, [[2.0, -1.0], [1.5, -0.9], [0.0, -1.0]]),
                               [[0.5, 0.5, 0], [0.75, 0.25, 0], [1, 0, 0]], atol=1e-12)  # fmt: skip
    assert BlendSpace2D((SPEED, LEAN), ["only"], [[1, 0]]).weights(3, 0.3).tolist() == [1.0]
    two = BlendSpace2D((SPEED, LEAN), ["a", "b"], [[1, 0], [3, 0]])
    np.testing.assert_allclose(weights_at(two, [[1.5, 1], [0, -1], [3, 0]]), [[0.75, 0.25], [1, 0], [0, 1]], atol=1e-12)


def test_a_regular_grid_is_bilinear():
    u, v = np.meshgrid([0.0, 2.0, 4.0], [-1.0, 1.0])
    space = BlendSpace2D((SPEED, LEAN), S[:6], np.stack([u.ravel(), v.ravel()], -1), GRID)
    np.testing.assert_array_equal(weights_at(space, np.stack([u.ravel(), v.ravel()], -1)), np.eye(6))
    np.testing.assert_allclose(space.weights(1.0, 0.5), np.outer([0.25, 0.75], [0.5, 0.5, 0]).ravel(), atol=1e-12)
    check_continuous(space, np.array([-1.0, -2.0]), [5.0, 2.0])
    ring = BlendSpace2D((DIRECTION, LEAN), S[:3], [[-120, 0], [0, 0], [120, 0]], GRID)
    np.testing.assert_allclose(weights_at(ring, [[180, 0.3], [-180, -1]]), [[0.5, 0, 0.5]] * 2, atol=1e-9)


def test_bad_spaces_are_refused_by_name():
    refuses('minimum of axis "Speed" must be below its maximum, got 3 and 3', Axis, "Speed", 3.0, 3.0)
    refuses('"Speed" has no samples', BlendSpace1D, SPEED, [], [])
    refuses('"Speed" x "Lean" has no samples', BlendSpace2D, (SPEED, LEAN), [], [])
    refuses('"back" and "front" are at one place', BlendSpace1D, DIRECTION, ["back", "front"], [-180, 180])
    refuses('"b" and "c" are at one place', BlendSpace2D, (SPEED, LEAN), ["a", "b", "c"], [[0, 0], [1, 0.5], [1, 0.5]])
    refuses('"run" is at 5 on axis "Speed"', BlendSpace1D, SPEED, ["run"], [5])
    with pytest.raises(RagdollError, match='"s0", "s1", "s2" are on one line'):
        BlendSpace2D((SPEED, LEAN), S[:3], [[0, 0], [1, 0], [2, 0]], triangulate=lambda _points: [])
    with pytest.raises(RagdollError, match='no sample where "Speed" is 4 and "Lean" is 1'):
        BlendSpace2D((SPEED, LEAN), S[:3], [[0, -1], [4, -1], [0, 1]], GRID)
    refuses('input of axis "Lean" is not a number', plane([[0, -1], [4, -1], [0, 1]]).weights, 1.0, np.nan)
    refuses('input of axis "Direction" is not a number', BlendSpace1D(DIRECTION, ["a"], [0]).weights, np.inf)


def cycle(name: str, frames: int) -> Clip:
    """A motion of a number of frames."""
    return random_clip(np.random.default_rng(0), SKELETON, frames, FPS, name)


GAIT = SpacePlayer("S", BlendSpace1D(SPEED, ["walk", "run"], [0.0, 4.0]), [cycle("walk", 25), cycle("run", 13)])


def test_the_phase_is_the_integral_of_the_rate():
    # A second of the walk, which takes one; of the run, which takes half of one; of what goes from one to the other.
    for inputs, phase in (([0.0] * 25, 1.0), ([4.0] * 25, 2.0), (np.linspace(0.0, 4.0, 25), 1.5)):
        state = None
        for i, value in enumerate(inputs):
            state = GAIT.step(state, (value,), i / FPS)
        assert np.isclose(state.phase, phase, rtol=1e-5, atol=1e-3 if phase == 1.5 else 1e-8)


def test_a_direction_goes_the_short_way_over_its_ends():
    space = BlendSpace1D(Axis("direction", -180.0, 180.0, "WRAP"), ["a", "b"], [0.0, 90.0])
    turning = SpacePlayer("D", space, [cycle("a", 25), cycle("b", 25)], smoothing=(0.2,))
    state = turning.step(None, (170.0,), 0.0)
    for i in range(1, 60):
        state = turning.step(state, (-170.0,), i / FPS)
        assert 169.0 < state.at[0] < 190.1
    assert np.isclose(state.at[0], 190.0, atol=0.1)


def test_samples_must_be_alike():
    space = BlendSpace1D(Axis("x", 0.0, 1.0), ["whole", "lean"], [0.0, 1.0])
    lean = cycle("lean", 25)
    lean = replace(lean, poses=make_additive(SKELETON, lean.poses, cycle("base", 1).pose(0)))
    refuses(r"lean.*whole", SpacePlayer, "S", space, [cycle("whole", 25), lean])


YAW, PITCH = Axis("Yaw", -90.0, 90.0), Axis("Pitch", -90.0, 90.0)
NAMES = [f"{y} {p}" for y in (-90, 0, 90) for p in (-90, 0, 90)]
PLACES = [[float(v) for v in name.split()] for name in NAMES]
AIMING = [SKELETON.index(name) for name in ("spine", "chest", "head", "arm.L", "forearm.L", "hand.L")]


def turned(yaw, pitch):
    """Mesh-space turn by yaw about Z, then up by pitch, of all aiming bones, as a clip of one frame."""
    rotations = quaternion.identity((1, COUNT))
    about_z = quaternion.from_axis_angle([0.0, 0.0, 1.0], np.radians(yaw))
    about_x = quaternion.from_axis_angle([-1.0, 0.0, 0.0], np.radians(pitch))
    rotations[:, AIMING] = quaternion.multiply(about_z, about_x)
    none = np.zeros((1, COUNT, 3))
    return Clip(f"{yaw} {pitch}", SKELETON.names, FPS, AdditivePose(none, rotations, none, MESH))


AIM = SpacePlayer("Aim", BlendSpace2D((YAW, PITCH), NAMES, PLACES, GRID), [turned(*at) for at in PLACES], aim=True)


def aimed(*at):
    return AIM.pose(AIM.step(None, at, 0.0))


def test_aims_are_given_back_at_their_places_and_keep_no_state_without_smoothing():
    for place in PLACES:
        pose = aimed(*place)
        assert pose.space == MESH
        assert quaternion.angle_between(pose.rotations, turned(*place).poses.rotations[0]).max() < 1e-12
    assert not AIM.keeps_state and GAIT.keeps_state
    line = BlendSpace1D(YAW, ["a", "b"], [-90.0, 90.0])
    ends = [turned(-90, 0), turned(90, 0)]
    assert SpacePlayer("A", line, ends, aim=True, smoothing=(0.1,)).keeps_state
    half = SpacePlayer("A", line, ends, aim=True)
    middle = half.pose(half.step(None, (0.0,), 0.0)).rotations
    assert quaternion.angle_between(middle, quaternion.identity()).max() < 1e-9


def test_yaw_and_pitch_turn_forward_to_the_target():
    rng = np.random.default_rng(6)
    for _ in range(50):
        turn = quaternion.normalize(rng.normal(size=4))
        forward, up, left = (quaternion.rotate(turn, v) for v in ([0, -1, 0], [0, 0, 1], [1, 0, 0]))
        yaw, pitch = rng.uniform(-3.1, 3.1), rng.uniform(-1.5, 1.5)
        direction = np.cos(pitch) * (np.cos(yaw) * forward + np.sin(yaw) * left) + np.sin(pitch) * up
        np.testing.assert_allclose(yaw_pitch(direction * rng.uniform(0.01, 100), forward, up), (yaw, pitch), atol=1e-9)
    assert yaw_pitch([0, 0, 2])[0] == 0 and yaw_pitch([0, 0, 2])[1] == pytest.approx(np.pi / 2)
