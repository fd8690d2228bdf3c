"""Strengths by role: order, scaling, what is unknown."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.anatomy import roles
from core.anatomy.masses import GRAVITY, human_strengths
from core.errors import RagdollError

LIMBS = ("UPPER_ARM", "FOREARM", "HAND", "THIGH", "SHANK", "FOOT")
NAMES = ("PELVIS", "SPINE", "CHEST", "HEAD", *LIMBS, "TWIST", "GENERIC")
PARENTS = (-1, 0, 1, 2, 2, 4, 5, 0, 7, 8, 5, -1)


def anatomy(names=NAMES):
    count = len(names)
    return roles.Anatomy(tuple(names), (roles.CENTER,) * count, np.zeros(count, int), roles.HUMAN, np.ones(count))


def of(role, values):
    return values[NAMES.index(role)]


def test_a_man_has_the_torques_of_the_table():
    torque, _force = human_strengths(anatomy(), PARENTS, 70.0, 1.8)
    assert of(roles.THIGH, torque) == pytest.approx(190.0)
    assert of(roles.HAND, torque) == pytest.approx(12.2)
    assert of(roles.HAND, torque) < of(roles.FOREARM, torque) < of(roles.UPPER_ARM, torque) < of(roles.THIGH, torque)


def test_a_man_can_stand_on_one_leg_and_hold_his_arms_out():
    """What the muscles must do at least: the moments of the segments' own weights, de Leva's shares."""
    torque, force = human_strengths(anatomy(), PARENTS, 70.0, 1.8)
    arm = (0.0271 * 0.08 + 0.0162 * 0.25 + 0.0061 * 0.38) * 70.0 * 9.81 * 1.8
    assert of(roles.UPPER_ARM, torque) > 3.0 * arm
    assert of(roles.FOOT, torque) > 0.1 * 70.0 * 9.81  # rising on the ball of one foot, 0.1 m before the ankle
    assert of(roles.PELVIS, force) > 70.0 * 9.81


@given(st.floats(0.01, 100.0), st.floats(1.0, 1000.0))
def test_a_scaled_man_under_scaled_gravity_is_as_able(scale, mass):
    """Times are the same with lengths and gravity times s; torques over weight times height too."""
    one = human_strengths(anatomy(), PARENTS, mass, 1.8)
    other = human_strengths(anatomy(), PARENTS, mass * scale**3, 1.8 * scale, GRAVITY * scale)
    assert other[0] == pytest.approx(one[0] * scale**5)
    assert other[1] == pytest.approx(one[1] * scale**4)


def test_unknown_bones_are_as_strong_as_what_they_hang_on():
    torque, force = human_strengths(anatomy(), PARENTS, 70.0, 1.8)
    assert of(roles.TWIST, torque) == of(roles.FOREARM, torque)
    assert of(roles.TWIST, force) == of(roles.FOREARM, force)
    torque, force = human_strengths(anatomy((roles.GENERIC,) * 3), (-1, 0, 1), 70.0, 1.8)
    assert (torque > 0.0).all() and (force > 0.0).all()


def test_every_role_has_a_strength_and_the_order_of_bones_does_not_matter():
    names = roles.ROLES
    torque, force = human_strengths(anatomy(names), [-1, *[0] * (len(names) - 1)], 70.0, 1.8)
    assert np.isfinite(torque).all() and (torque > 0.0).all() and (force > 0.0).all()
    back = human_strengths(anatomy(NAMES[::-1]), [11 - p if p >= 0 else -1 for p in PARENTS[::-1]], 70.0, 1.8)
    assert back[0][::-1] == pytest.approx(human_strengths(anatomy(), PARENTS, 70.0, 1.8)[0])


@pytest.mark.parametrize("values", [(0.0, 1.8, 9.81), (70.0, np.nan, 9.81), (70.0, 1.8, np.inf), (-1.0, 1.8, 9.81)])
def test_sizes_that_are_none_are_refused(values):
    with pytest.raises(RagdollError, match="positive"):
        human_strengths(anatomy(), PARENTS, *values)
