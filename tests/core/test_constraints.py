"""Joint limits: measuring them, and the plan of constraints against the geometry of Bullet's angles."""

import math
from dataclasses import replace

import numpy as np
import pytest

from core import quaternion
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
    c = np.arctan2(-m[..., 0, 1], m[..., 0, 0])
    return np.stack((a, b, c), axis=-1)


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


def test_swing_twist_angles_give_back_what_was_composed():
    direction = RNG.uniform(-math.pi, math.pi, 200)
    angle = RNG.uniform(0.0, 3.0, 200)
    twist = RNG.uniform(-3.1, 3.1, 200)
    q = quaternion.multiply(swing(direction, angle), about(1, twist))
    for sign in (1.0, -1.0):
        x, y, z = limits.swing_twist_angles(sign * q)
        np.testing.assert_allclose(x, angle * np.cos(direction), atol=1e-9)
        np.testing.assert_allclose(y, twist, atol=1e-9)
        np.testing.assert_allclose(z, angle * np.sin(direction), atol=1e-9)


CONES = [(34.4,) * 4, (60, 60, 60, 60), (60, 60, 20, 20), (60, 20, 45, 30), (30, 20, 10, 60), (60, 60, 8, 8)]


@pytest.mark.parametrize("degrees", (*CONES, *RNG.uniform(8.0, 60.0, (8, 4))))
def test_cone_is_within_five_per_cent_in_every_direction_at_any_twist(degrees):
    lower, upper = cone_limits(*degrees)
    plan = constraints.plan_constraints("CONE", lower, upper)
    assert len(plan) == 2 if np.ptp(degrees) == 0.0 else len(plan) <= 5
    # The twist's own limit is left out: it is shifted by the swing and is tested apart.
    untwisted = [replace(spec, angular_limits=(*spec.angular_limits[:2], None)) for spec in plan]
    for twist in (0.0, 0.2, -0.2):
        found = first_stop(untwisted, DIRECTIONS, twist)
        asked = limits.ellipse_radius(limits.half_axes_of(lower, upper), DIRECTIONS)
        assert np.abs(found / asked - 1.0).max() < 0.05


@pytest.mark.parametrize(
    "degrees", [(150, 60, 40, 40), (120, 120, 120, 120), (150, 40, 120, 30), (120, 60, 100, 100), (100, 100, 10, 10)]
)
def test_wide_cones_are_never_much_tighter_than_asked(degrees):
    lower, upper = cone_limits(*degrees, twist=179.99)
    found = first_stop(constraints.plan_constraints("CONE", lower, upper), DIRECTIONS)
    assert (found >= 0.93 * limits.ellipse_radius(limits.half_axes_of(lower, upper), DIRECTIONS)).all()


def test_latitudes_keep_clear_of_the_singular_angle():
    for half_axes in RNG.uniform(1.0, 150.0, (60, 4)):
        for spec in constraints.plan_constraints("CONE", *cone_limits(*half_axes)):
            for bound in spec.angular_limits[1] or ():
                # 100 degrees is a side without limit: the angle itself ends at 90.
                assert abs(bound) <= constraints.LATITUDE_MAX + 1e-5 or bound == pytest.approx(
                    math.copysign(math.radians(100.0), bound)
                )


def test_twist_range_is_exact_without_swing_and_on_the_swing_axes():
    lower, upper = np.radians((-40, -20, -30)), np.radians((50, 35, 30))
    plan = constraints.plan_constraints("CONE", lower, upper)
    twists = np.radians((-20.1, -19.9, 34.9, 35.1))
    for direction in (0.0, math.pi / 2, math.pi, -math.pi / 2):
        for angle in (0.0, 0.3):
            inside = allowed(plan, quaternion.multiply(swing(direction, angle), about(1, twists)))
            assert inside.tolist() == [False, True, True, False]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_hinge_turns_positively_about_its_axis(axis):
    lower, upper = np.zeros(3), np.zeros(3)
    lower[axis], upper[axis] = -0.2, 1.0
    (spec,) = constraints.plan_constraints("HINGE", lower, upper)
    assert (spec.type, spec.object1) == ("HINGE", "child")
    turned = quaternion.rotate(np.array(spec.rotation), np.array((0.0, 0.0, 1.0)))
    np.testing.assert_allclose(turned, np.eye(3)[axis], atol=1e-12)
    assert spec.angular_limits == (None, None, (-0.2, 1.0))


def test_only_the_first_constraint_holds_position_and_twist():
    plan = constraints.plan_constraints("CONE", *cone_limits(60, 20, 45, 30))
    assert [s.lock_linear for s in plan] == [True] + [False] * (len(plan) - 1)
    assert [s.angular_limits[2] is not None for s in plan] == [True] + [False] * (len(plan) - 1)
    assert all(s.object1 == "child" and s.type == "GENERIC" for s in plan)


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
    (spec,) = constraints.plan_constraints(joint_type, lower, upper)
    assert (spec.type, spec.angular_limits[2]) == (planned, bounds)
    assert constraints.plan(joint_type, lower, upper) == constraints.plan_constraints(joint_type, lower, upper)


@pytest.mark.parametrize("x, z", [((0, 0), (-45, 45)), ((-0.5, 0.5), (-45, 45)), ((-30, 60), (0, 0))])
def test_one_locked_swing_needs_one_constraint(x, z):
    (spec,) = constraints.plan_constraints("CONE", np.radians((x[0], -10, z[0])), np.radians((x[1], 10, z[1])))
    wide = 0 if x[1] - x[0] > z[1] - z[0] else 2
    for asked in (x, z)[wide // 2]:
        sign = math.copysign(1.0, asked)
        inside = allowed([spec], about(wide, np.radians((asked - sign, asked + 0.1 * sign))))
        assert inside.tolist() == [True, False]


def test_one_sided_ranges_start_at_the_bind_pose():
    plan = constraints.plan_constraints("CONE", (0.0, -0.1, 0.0), np.radians((45, 5, 30)))
    found = first_stop(plan, np.radians((0.0, 90.0, 180.0, 270.0)))
    np.testing.assert_allclose(np.degrees(found), (45, 30, 0, 0), rtol=0.05, atol=0.1)


@pytest.mark.parametrize(
    "joint_type, lower, upper, message",
    [
        ("CONE", (0.5, 0, 0), (0.2, 0, 0), "0.5 > 0.2 rad for X"),
        ("HINGE", (0, 0, 0.5), (0, 0, 0.2), "0.5 > 0.2 rad for Z"),
        ("CONE", (math.nan, 0, 0), (0.2, 0, 0), "nan"),
        ("FREE", (0, 0, 0), (math.inf, 0, 0), "inf"),
        ("BALL", (0, 0, 0), (0, 0, 0), "BALL"),
        ("CONE", (0, 0), (0, 0), "three angles"),
    ],
)
def test_bad_limits_are_refused_by_value(joint_type, lower, upper, message):
    with pytest.raises(ValueError, match=message):
        constraints.plan_constraints(joint_type, lower, upper)
    with pytest.raises(ValueError, match=message):
        limits.excess(joint_type, lower, upper, np.array((1.0, 0.0, 0.0, 0.0)))


def test_excess_of_a_cone_is_the_larger_of_swing_and_twist():
    lower, upper = cone_limits(60, 20, 45, 30)
    swings = swing(np.radians((0, 180, 90, 0)), np.radians((70, 15, 50, 70)))
    q = quaternion.multiply(swings, about(1, np.radians((0, 35, 42, 45))))
    found = np.degrees(limits.excess("CONE", lower, upper, q))
    np.testing.assert_allclose(found, (10, 5, 12, 15), atol=1e-9)


def test_excess_of_fixed_hinge_and_free():
    turned = about(0, np.array((0.5, -0.5)))
    np.testing.assert_allclose(limits.excess("FIXED", (0, 0, 0), (0, 0, 0), turned), 0.5)
    np.testing.assert_allclose(limits.excess("FREE", (0, 0, 0), (0, 0, 0), turned), 0.0)
    hinged = limits.excess("HINGE", (-0.2, 0, 0), (1.0, 0, 0), turned)
    np.testing.assert_allclose(hinged, (0.0, 0.3), atol=1e-12)
    np.testing.assert_allclose(limits.excess("HINGE", (0, 0, -0.2), (0, 0, 1.0), turned), 0.5)


def test_widened_cone_contains_everything_and_nothing_needless():
    lower, upper = cone_limits(20, 20, 20, 20, twist=10)
    direction, angle = RNG.uniform(-math.pi, math.pi, 500), RNG.uniform(0, 1.0, 500)
    q = quaternion.multiply(swing(direction, angle), about(1, RNG.uniform(-0.5, 0.5, 500)))
    wide_lower, wide_upper = constraints.widened("CONE", lower, upper, q, 0.0)
    assert limits.excess("CONE", wide_lower, wide_upper, q).max() < 1e-6
    assert (wide_upper >= upper).all() and (wide_lower <= lower).all()
    # A hair narrower in any of the six sides, and something sticks out or the old limits do.
    for side in range(3):
        for bounds, sign in ((wide_upper, 1.0), (wide_lower, -1.0)):
            kept = bounds[side]
            bounds[side] -= sign * 0.15 * abs(kept)
            assert limits.excess("CONE", wide_lower, wide_upper, q).max() > 1e-3
            bounds[side] = kept


def test_widening_by_a_single_pose_touches_only_its_side():
    lower, upper = cone_limits(20, 20, 20, 20)
    seen = about(0, np.radians((-40.0,)))
    new_lower, new_upper = constraints.widened("CONE", lower, upper, seen, np.radians(2))
    np.testing.assert_allclose(np.degrees(new_lower), (-42, -30, -20), atol=1e-3)
    np.testing.assert_allclose(np.degrees(new_upper), (20, 30, 20), atol=1e-3)
    hinge = constraints.widened("HINGE", (-0.1, 0, 0), (2.0, 0, 0), about(0, np.array((-0.5, 2.5))), 0.1)
    np.testing.assert_allclose(hinge, ((-0.6, 0, 0), (2.6, 0, 0)), atol=1e-9)
