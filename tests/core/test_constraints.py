"""Joint limits: measuring and widening them, the plan of constraints against Bullet's angles, and the way back."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core import pose, quaternion
from core.ragdoll.joints import constraints, limits

RNG = np.random.default_rng(7)
DIRECTIONS = np.arange(180) * (2.0 * math.pi / 180) + 0.003


def swing(direction, angle) -> np.ndarray:
    direction, angle = np.broadcast_arrays(direction, angle)
    vector = np.stack((np.cos(direction), np.zeros_like(direction), np.sin(direction)), axis=-1)
    return quaternion.from_rotation_vector(vector * angle[..., None])


def about(axis: int, angle) -> np.ndarray:
    return quaternion.from_rotation_vector(np.asarray(angle, dtype=float)[..., None] * np.eye(3)[axis])


def bullet_angles(spec: constraints.ConstraintSpec, r_rel) -> np.ndarray:
    """Bullet's (a, b, c): Rx(a) Ry(b) Rz(c) is the child relative to the parent in the Empty's frame."""
    rotation = np.array(spec.rotation)
    inside = quaternion.multiply(quaternion.multiply(quaternion.conjugate(rotation), r_rel), rotation)
    m = quaternion.to_matrix(inside)
    a = np.arctan2(-m[..., 1, 2], m[..., 2, 2])
    b = np.arcsin(np.clip(m[..., 0, 2], -1.0, 1.0))
    return np.stack((a, b, np.arctan2(-m[..., 0, 1], m[..., 0, 0])), axis=-1)


def allowed(plan, r_rel) -> np.ndarray:
    inside = np.ones(r_rel.shape[:-1], dtype=bool)
    for spec in plan:
        angles = bullet_angles(spec, r_rel)
        for axis, bounds in enumerate(spec.angular_limits):
            if bounds is not None:
                inside &= (angles[..., axis] >= bounds[0] - 1e-9) & (angles[..., axis] <= bounds[1] + 1e-9)
    return inside


def first_stop(plan, directions, twist=0.0) -> np.ndarray:
    """The swing at which the plan stops the bone in each direction: walked in half degrees, then bisected."""

    def inside(angles):
        return allowed(plan, quaternion.multiply(swing(directions, angles), about(1, np.array(twist))))

    walk = np.linspace(0.0, math.pi, 361)
    passed = inside(walk[:, None])
    stop = np.where(passed.all(axis=0), len(walk) - 1, np.argmin(passed, axis=0))
    good, bad = walk[np.maximum(stop - 1, 0)], walk[stop]
    for _ in range(12):
        middle = 0.5 * (good + bad)
        is_inside = inside(middle)
        good, bad = np.where(is_inside, middle, good), np.where(is_inside, bad, middle)
    return 0.5 * (good + bad)


def cone_limits(x_max, x_min, z_max, z_min, twist=30.0):
    return np.radians((-x_min, -twist, -z_min)), np.radians((x_max, twist, z_max))


CONES = [(34.4,) * 4, (60, 60, 60, 60), (60, 60, 20, 20), (60, 20, 45, 30), (30, 20, 10, 60), (60, 60, 8, 8)]


@pytest.mark.parametrize("degrees", (*CONES, *RNG.uniform(8.0, 60.0, (2, 4))))
def test_cone_is_within_five_per_cent_in_every_direction_at_any_twist(degrees):
    lower, upper = cone_limits(*degrees)
    plan = constraints.plan_cone(lower, upper)
    assert len(plan) == 2 if np.ptp(degrees) == 0.0 else len(plan) <= 5
    # The twist's own limit is left out: it is shifted by the swing and is tested apart.
    untwisted = [replace(spec, angular_limits=(*spec.angular_limits[:2], None)) for spec in plan]
    for twist in (0.0, 0.2, -0.2):
        found = first_stop(untwisted, DIRECTIONS, twist)
        assert np.abs(found / limits.ellipse_radius(limits.half_axes_of(lower, upper), DIRECTIONS) - 1.0).max() < 0.05


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_hinge_turns_positively_about_its_axis(axis):
    lower, upper = np.zeros(3), np.zeros(3)
    lower[axis], upper[axis] = -0.2, 1.0
    (spec,) = constraints.plan("HINGE", lower, upper)
    turned = quaternion.rotate(np.array(spec.rotation), np.array((0.0, 0.0, 1.0)))
    np.testing.assert_allclose(turned, np.eye(3)[axis], atol=1e-12)
    assert spec.type == "HINGE" and spec.angular_limits == (None, None, (-0.2, 1.0))


@pytest.mark.parametrize(
    ("joint_type", "lower", "upper", "planned", "bounds"),
    [
        ("FIXED", (0, 0, 0), (0, 0, 0), "FIXED", None),
        ("FREE", (0, 0, 0), (0, 0, 0), "POINT", None),
        ("CONE", (0, 0, 0), (0, 0, 0), "FIXED", None),
        ("HINGE", (0, 0, 0), (0, 0, 0), "HINGE", (0.0, 0.0)),
        ("HINGE", (0.1, 0, 0), (0.5, 0, 0), "HINGE", (0.1, 0.5)),  # without the bind pose
        ("HINGE", (-math.pi, 0, 0), (math.pi, 0, 0), "HINGE", None),  # without end
    ],
)
def test_other_joints_need_one_constraint(joint_type, lower, upper, planned, bounds):
    (spec,) = constraints.plan(joint_type, lower, upper)
    assert (spec.type, spec.angular_limits[2]) == (planned, bounds)


@pytest.mark.parametrize(
    "joint_type, lower, upper, message",
    [
        ("CONE", (0.5, 0, 0), (0.2, 0, 0), "0.5 > 0.2 rad for X"),
        ("HINGE", (0, 0, 0.5), (0, 0, 0.2), "0.5 > 0.2 rad for Z"),
        ("CONE", (math.nan, 0, 0), (0.2, 0, 0), "nan"),
        ("FREE", (0, 0, 0), (math.inf, 0, 0), "inf"),
    ],
)
def test_bad_limits_are_refused_by_value(joint_type, lower, upper, message):
    with pytest.raises(ValueError, match=message):
        constraints.plan(joint_type, lower, upper)
    with pytest.raises(ValueError, match=message):
        limits.excess(joint_type, lower, upper, np.array((1.0, 0.0, 0.0, 0.0)))


def test_excess_of_fixed_hinge_and_free():
    turned = about(0, np.array((0.5, -0.5)))
    np.testing.assert_allclose(limits.excess("FIXED", (0, 0, 0), (0, 0, 0), turned), 0.5)
    np.testing.assert_allclose(limits.excess("FREE", (0, 0, 0), (0, 0, 0), turned), 0.0)
    np.testing.assert_allclose(limits.excess("HINGE", (-0.2, 0, 0), (1.0, 0, 0), turned), (0.0, 0.3), atol=1e-12)
    np.testing.assert_allclose(limits.excess("HINGE", (0, 0, -0.2), (0, 0, 1.0), turned), 0.5)
    assert limits.swing_twist_angles((-0.0, 1.0, 0.0, 0.0))[1] == 0.0  # half a turn of swing, whatever sign nothing has


def test_opened_constraints_let_through_what_was_seen():
    plan = constraints.plan_cone(*cone_limits(60, 20, 45, 30))
    seen = quaternion.multiply(swing(DIRECTIONS[::10], 1.3), about(1, np.array(0.7)))
    assert not allowed(plan, seen).any()
    found = constraints.opened(plan, seen, 0.3)
    assert allowed(found, seen).all()
    latitudes = [bound for spec in found for bound in spec.angular_limits[1] or ()]
    assert latitudes and max(map(abs, latitudes)) <= math.pi / 2.0
    assert constraints.opened(plan, quaternion.identity((1,)), 0.3) == plan


def test_widening_by_a_single_pose_touches_only_its_side():
    lower, upper = cone_limits(20, 20, 20, 20)
    new_lower, new_upper = constraints.widened("CONE", lower, upper, about(0, np.radians((-40.0,))), np.radians(2))
    np.testing.assert_allclose(np.degrees(new_lower), (-42, -30, -20), atol=1e-3)
    np.testing.assert_allclose(np.degrees(new_upper), (20, 30, 20), atol=1e-3)
    hinge = constraints.widened("HINGE", (-0.1, 0, 0), (2.0, 0, 0), about(0, np.array((-0.5, 2.5))), 0.1)
    np.testing.assert_allclose(hinge, ((-0.6, 0, 0), (2.6, 0, 0)), atol=1e-9)


def test_a_flat_cone_is_measured_to_its_near_side():
    """Half axes 2 and 0.1: a point 0.05 beyond the flat side is 0.05 out, however far its own direction leads."""
    low, high = np.array((-2.0, -1.0, -0.1)), np.array((2.0, 1.0, 0.1))
    edge = 0.1 * np.sqrt(1.0 - (1.0 / 2.0) ** 2)
    assert 0.049 < limits.excess("CONE", low, high, quaternion.multiply(about(0, 1.0), about(2, edge + 0.05))) <= 0.05


PLANNED = {
    "hip": ((-30, -40, -25), (120, 40, 45)),
    "shoulder": ((-45, -80, -90), (85, 80, 135)),
    "knee with play": ((-8, -8, -8), (140, 8, 8)),
    "ankle": ((-50, -30, -10), (20, 15, 10)),
}


@pytest.mark.parametrize("name", PLANNED)
def test_what_a_plan_lets_through_stays_within_the_limits(name):
    """Random walks from bind pose that the constraints' own angles allow never get noticeably beyond."""
    low, high = (np.radians(values) for values in PLANNED[name])
    specs = constraints.plan("CONE", tuple(low), tuple(high))
    random = np.random.default_rng(3)
    walkers = np.tile((1.0, 0.0, 0.0, 0.0), (300, 1))
    farthest = 0.0
    for _step in range(400):
        tried = quaternion.multiply(walkers, quaternion.from_rotation_vector(random.normal(0.0, 0.06, (300, 3))))
        walkers = np.where(allowed(specs, tried)[:, None], tried, walkers)
        farthest = max(farthest, float(limits.excess("CONE", low, high, walkers).max()))
    assert np.degrees(farthest) < 2.0
    x, _twist, z = limits.cone_angles(low, high, walkers)
    assert max(np.ptp(x), np.ptp(z)) > 0.6 * max((high - low)[[0, 2]]), "the walk went somewhere"


def places(rng, count: int) -> np.ndarray:
    ways, turns = rng.normal(size=(2, count, 3))
    return pose.compose_matrices(ways, quaternion.from_rotation_vector(turns))


def test_joint_rotations_do_not_see_where_the_character_is():
    """The identity in bind pose, also moved and turned; a turn about the joint's axis is read."""
    rng = np.random.default_rng(2)
    bind_child, bind_parent, frame = places(rng, 4), places(rng, 4), places(rng, 4)
    child_frames, parent_frames = np.linalg.inv(bind_child) @ frame, np.linalg.inv(bind_parent) @ frame
    moved = places(rng, 1)[0]
    rest = limits.joint_rotations(moved @ bind_child, moved @ bind_parent, child_frames, parent_frames)
    assert quaternion.angle_between(rest, quaternion.identity((4,))).max() < 1e-7
    about_x = quaternion.from_axis_angle((1.0, 0.0, 0.0), np.full(4, 0.7))
    turn = frame @ pose.compose_matrices(np.zeros((4, 3)), about_x) @ np.linalg.inv(frame)
    found = limits.joint_rotations(moved @ turn @ bind_child, moved @ bind_parent, child_frames, parent_frames)
    assert quaternion.angle_between(found, about_x).max() < 1e-7
