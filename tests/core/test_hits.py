"""Hits: momentum and spin of free bodies, spans, clamps, how they loosen weights, and where the mouse places them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core import quaternion
from core.errors import RagdollError
from core.ragdoll import hits
from core.ragdoll.hits import Blow, Bodies, Explosion, Hit, Loosening, speeds_felt
from refusals import refuses

NAMES = ("Hip", "Chest", "Arm")
PARENTS = np.array([-1, 0, 1])
NUMBER = st.floats(-1.0, 1.0)
VECTOR = st.tuples(NUMBER, NUMBER, NUMBER).map(np.array)
WAY = VECTOR.filter(lambda v: np.linalg.norm(v) > 0.1)
TURN = st.tuples(NUMBER, NUMBER, NUMBER).map(lambda v: quaternion.from_rotation_vector(3.0 * np.array(v)))


def bodies(rotation=None, size=1.8, gravity=9.81):
    masses = np.array([10.0, 20.0, 2.0])
    inertia = np.array([[0.2, 0.1, 0.15], [0.5, 0.3, 0.4], [0.02, 0.004, 0.021]])
    centers = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.4], [0.3, 0.0, 1.4]])
    turn = quaternion.identity() if rotation is None else rotation
    return Bodies(NAMES, masses, inertia, centers, np.tile(turn, (3, 1)), size, gravity)


def gained(hit, body, begin, end, fps=24.0) -> SimpleNamespace:
    """Momentum that each body gains [m, 3] and warnings from time `begin` to `end`."""
    result = SimpleNamespace(momentum=np.zeros((3, 3)), warnings=[])
    for push in hits.pushes(hit, body, begin, end, fps):
        result.momentum[push.row] += push.impulse
        result.warnings += [push.warning] if push.warning else []
    return result


def all_of(hit, body, fps=24.0):
    begin = (hit.frame - 1.0) / fps
    return gained(hit, body, begin, begin + hit.duration + 2.0 / fps, fps)


@given(WAY, VECTOR, TURN, st.floats(0.0, 20.0))
def test_a_body_gains_the_impulse_along_its_direction(direction, point, rotation, impulse):
    found = all_of(Hit(5.0, "Arm", impulse, tuple(direction), tuple(0.1 * point)), bodies(rotation))
    wanted = impulse * direction / np.linalg.norm(direction)
    assert found.momentum == pytest.approx(np.array([np.zeros(3), np.zeros(3), wanted])) and not found.warnings


@given(VECTOR, VECTOR)
def test_towards_aims_from_the_point_at_the_target(target, point):
    body = bodies()
    hit = Hit(5.0, "Hip", 2.0, point=tuple(0.1 * point), space=hits.TOWARDS, target=tuple(target))
    way = target - body.centers[0] - 0.1 * point
    assert np.cross(all_of(hit, body).momentum[0], way) == pytest.approx(np.zeros(3), abs=1e-8)
    assert all_of(hit, body).momentum[0] @ way >= 0.0


@pytest.mark.parametrize("duration", [0.0, 0.01, 0.4])
@pytest.mark.parametrize("fps", [24.0, 30.0, 60.0])
def test_all_frames_together_give_the_impulse_once(fps, duration):
    hit = Hit(fps * 0.5, "Hip", 7.0, (0.0, 1.0, 0.0), (0.1, 0.0, 0.0), duration=duration)
    total = np.zeros(3)
    for frame in range(int(2 * fps)):
        total += gained(hit, bodies(), frame / fps, (frame + 1) / fps, fps).momentum[0]
    assert total == pytest.approx([0.0, 7.0, 0.0])


@given(st.floats(1e4, 1.7e308), WAY, VECTOR)
def test_absurd_impulses_are_cut_down_with_a_warning(impulse, direction, point):
    body = bodies()
    found = all_of(Hit(5.0, "Arm", impulse, tuple(direction), tuple(point)), body)
    speed, spin = found.momentum[2] / body.masses[2], np.cross(point, found.momentum[2]) / body.inertia[2]
    rim = np.sqrt(body.inertia[2].max() / body.masses[2])
    assert max(np.linalg.norm(speed), rim * np.linalg.norm(spin)) == pytest.approx(body.fastest)
    assert len(found.warnings) == 1 and "'Arm'" in found.warnings[0] and "frame 5" in found.warnings[0]


@given(st.floats(0.1, 5.0), st.floats(0.0, 4.0), VECTOR)
@example(2.0, 0.0, np.array((0.0, 0.0, 1.0)))
def test_explosions_push_away_and_fade(radius, falloff, origin):
    body = bodies()
    found = gained(Explosion(3.0, tuple(origin), radius, 5.0, falloff), body, 3 / 24, 4 / 24)
    way = body.centers - origin
    distance = np.linalg.norm(way, axis=1)
    size = np.where(distance < radius, 5.0 * np.maximum(1.0 - distance / radius, 0.0) ** falloff, 0.0)
    way[distance <= 1e-9 * radius] = 0.0, 0.0, 1.0  # in a body: it goes up
    assert found.momentum == pytest.approx(way / np.linalg.norm(way, axis=1)[:, None] * size[:, None], abs=1e-9)


BAD = (
    ({"bone": "Tail"}, "'Tail'.*no body"),
    ({"impulse": np.nan}, "'Hip'.*impulse.*nan"),
    ({"impulse": np.inf}, "'Hip'.*impulse.*inf"),
    ({"direction": (0.0, 0.0, 0.0)}, "'Hip'.*direction"),
    ({"direction": (np.nan, 0.0, 0.0)}, "'Hip'.*direction"),
    ({"point": (0.0, np.inf, 0.0)}, "'Hip'.*point"),
    ({"duration": -1.0}, "'Hip'.*duration"),
    ({"hurts": -1.0}, "'Hip'.*hurts"),
)


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_hits_are_refused_by_name(change, message):
    refuses(message, hits.checked, replace(Hit(5.0, "Hip", 1.0), **change), NAMES, 1.0, 100.0)


def test_bad_explosions_are_refused_and_late_hits_noted():
    good = Explosion(5.0, (0.0, 0.0, 0.0), 1.0, 1.0)
    for change in ({"radius": 0.0}, {"impulse": np.nan}, {"falloff": -1.0}, {"origin": (0.0, np.nan, 0.0)}):
        refuses("Explosion 1", hits.checked, replace(good, **change), (), 1.0, 100.0)
    assert not hits.checked(good, (), 1.0, 100.0)
    assert "frame 100" in hits.checked(replace(good, frame=100.0), (), 1.0, 100.0)[0]
    assert "frame 0" in hits.checked(Hit(0.0, "Hip", 1.0), NAMES, 1.0, 100.0)[0]


TIMES = st.floats(0.0, 2.0)
BLOWS = st.lists(st.builds(Blow, TIMES, st.integers(0, 2), st.floats(0.0, 300.0), st.floats(0.0, 1.0)), max_size=4)
SETTINGS = st.builds(
    Loosening, st.floats(0.0, 3.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 5.0)
)


@given(SETTINGS, BLOWS)
def test_factors_stay_weights_and_are_the_same_at_any_frame_rate(settings, blows):
    whole = []
    for fps in (24, 30, 60):
        factors, found = np.ones(3), []
        for frame in range(3 * fps):
            factors = hits.loosened(settings, factors, blows, PARENTS, frame / fps, (frame + 1) / fps, 70.0)
            found.append(factors)
        whole.append(np.array(found))
        assert ((whole[-1] >= 0.0) & (whole[-1] <= 1.0)).all()
    assert whole[0][3::4] == pytest.approx(whole[1][4::5], abs=1e-9)
    assert whole[0][1::2] == pytest.approx(whole[2][4::5], abs=1e-9)


def test_without_gravity_the_earths_counts_and_without_a_size_nothing():
    assert bodies(gravity=0.0).fastest == bodies().fastest
    blow = [Blow(0.0, 0, 30.0)]
    one, other = (hits.loosened(Loosening(), np.ones(3), blow, PARENTS, 0.0, 0.1, 70.0, gravity=g) for g in (0.0, 9.81))
    assert one == pytest.approx(other)
    with pytest.raises(RagdollError, match="height"):
        _ = bodies(size=0.0).fastest


def test_where_it_hurts_the_limb_has_no_strength_until_that_comes_back():
    roles = ["PELVIS", "SPINE", "CLAVICLE", "UPPER_ARM", "HELPER", "HAND", "GENERIC", "THIGH", "FOOT", "GENERIC"]
    parents = np.array([-1, 0, 1, 2, 3, 3, 5, 0, 7, -1])
    for row, limb in ((3, range(2, 7)), (5, range(2, 7)), (8, (7, 8)), (1, (1,)), (9, (9,))):
        assert np.flatnonzero(hits.limb_of(row, roles, parents)).tolist() == [*limb]
    course = [hits.strength_left(2.0, since) for since in np.linspace(0.0, 2.0, 41)]
    assert course[0] == course[-1] == hits.strength_left(0.0, 1.0) == 1.0  # also at its own frame
    assert course[1] < 1e-3 and course[20] == 0.5 and np.all(np.diff(course[1:]) >= 0.0)


def test_bad_loosening_is_refused():
    for change in ({"regain": np.nan}, {"sensitivity": -1.0}, {"parents": 1.5}, {"others": np.nan}):
        refuses(next(iter(change)), hits.checked_loosening, replace(Loosening(), **change))
    hits.checked_loosening(Loosening())
    refuses("body 1", hits.loosened, Loosening(), np.ones(3), [Blow(0.0, 1, np.nan)], PARENTS, 0.0, 0.1, 70.0)


def boxes(seed=0, count=6):
    rng = np.random.default_rng(seed)
    matrices = np.tile(np.eye(4), (count, 1, 1))
    matrices[:, :3, :3] = quaternion.to_matrix(quaternion.normalize(rng.normal(size=(count, 4))))
    matrices[:, :3, 3] = rng.normal(size=(count, 3))
    return matrices, rng.uniform(0.05, 0.5, (count, 3))


@given(VECTOR, WAY, st.integers(0, 30))
def test_a_ray_meets_the_first_box_on_its_surface(origin, direction, seed):
    origin, direction = 3.0 * origin, 3.0 * direction
    matrices, halves = boxes(seed)
    row, distance = hits.box_met(origin, direction, matrices, halves)
    along = np.linspace(0.0, 20.0 / np.linalg.norm(direction), 4001)
    steps = origin + along[:, None] * direction
    local = np.einsum("mji,kmj->kmi", matrices[:, :3, :3], steps[:, None] - matrices[:, :3, 3])
    inside = (np.abs(local) <= halves * (1.0 - 1e-6)).all(axis=-1)
    if row < 0:
        assert not inside.any()
        return
    outside = np.abs(matrices[row, :3, :3].T @ (origin + distance * direction - matrices[row, :3, 3])) / halves[row]
    assert outside.max() < 1.0 + 1e-6
    assert distance == 0.0 or outside.max() > 1.0 - 1e-6
    assert not inside[along < distance - 1e-6].any()


def test_nearest_goes_by_the_surface_and_inside_by_the_middle():
    matrices = np.tile(np.eye(4), (3, 1, 1))
    matrices[:, 0, 3] = (0.0, 1.0, 1.1)
    halves = np.array([(0.1, 0.1, 0.1), (0.4, 0.1, 0.1), (0.2, 0.2, 0.2)])
    for x, z, row in ((0.15, 0.0, 0), (0.55, 0.0, 1), (1.1, 0.0, 2), (1.1, 5.0, 2)):
        assert hits.nearest_box((x, 0.0, z), matrices, halves) == row


def test_a_hit_is_what_neither_gravity_nor_the_animation_explains():
    gravity, step = np.array([0.0, 0.0, -9.81]), 1.0 / 24.0
    bodies, wanted = np.zeros((2, 3)), np.zeros((2, 3))
    state, velocity = None, np.zeros((2, 3))
    hits = []
    for frame in range(12):
        if frame == 8:
            velocity[0] += (2.0, 0.0, 0.0)
        velocity = velocity + gravity * step
        bodies = bodies + velocity * step
        wanted = wanted + np.array([1.0, 0.0, 0.0])
        state = speeds_felt(bodies + wanted, wanted, [1.0, 1.0], state, step, gravity)
        hits.append(state["hit"])
    assert np.argmax(hits) == 8 and 1.5 < hits[8] < 2.1
    assert max(hits[:8] + hits[9:]) < 1e-6
