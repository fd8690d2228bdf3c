"""Masses: totals, the tables' shares, what missing bones do, Jolt's ratios; strengths by role."""

import numpy as np
import pytest
from anatomies import human
from forests import forests
from hypothesis import given
from hypothesis import strategies as st

from core.anatomy import masses, roles
from core.anatomy.masses import human_strengths
from refusals import refuses

POSITIVE = st.floats(1e-3, 1e3)


def _shares(character, table, bones=None, volumes=None):
    bones = character.bones if bones is None else np.array([character.row(name) for name in bones])
    volumes = np.ones(len(bones)) if volumes is None else volumes
    found = masses.human_shares(table, character.anatomy, character.parents, bones, volumes)
    return dict(zip([character.names[i] for i in bones], found, strict=True))


@pytest.mark.parametrize("table", masses.TABLES)
def test_bodies_have_their_segments_share_and_sides_are_alike(table):
    percent = masses.TABLES[table]
    whole = sum(percent.values()) + sum(v for k, v in percent.items() if k not in ("HEAD", "TRUNK"))
    shares = _shares(human(), table)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["forearm.L"] == pytest.approx(percent["FOREARM"] / whole)
    assert shares["thigh.R"] == pytest.approx(percent["THIGH"] / whole)
    assert shares["foot.L"] + shares["toe.L"] == pytest.approx(percent["FOOT"] / whole)
    assert shares["neck"] + shares["head"] == pytest.approx(percent["HEAD"] / whole)
    trunk = sum(shares[name] for name in ("hips", "spine", "chest", "clavicle.L", "clavicle.R"))
    assert trunk == pytest.approx(percent["TRUNK"] / whole)
    for name, share in shares.items():
        assert share == pytest.approx(shares[name.replace(".L", ".R")])


def test_what_has_no_body_of_its_own_weighs_where_it_is_carried():
    character = human()
    main = [n for n in character.names if not n.startswith(("hand", "foot", "toe", "clavicle", "neck"))]
    whole, merged = _shares(character, "WINTER"), _shares(character, "WINTER", main)
    assert sum(merged.values()) == pytest.approx(1.0)
    assert merged["forearm.L"] == pytest.approx(whole["forearm.L"] + whole["hand.L"])
    assert merged["shin.R"] == pytest.approx(whole["shin.R"] + whole["foot.R"] + whole["toe.R"])
    assert merged["head"] == pytest.approx(whole["head"] + whole["neck"])
    # So does what the rig has no bones for.
    lacking = [roles.GENERIC if name.startswith(("foot", "toe", "hand")) else role
               for name, role in zip(character.names, character.anatomy.roles, strict=True)]  # fmt: skip
    assert _shares(character.known_as(roles=tuple(lacking)), "WINTER", main) == pytest.approx(merged)
    unknown = tuple(roles.TWIST if role == roles.TOE else role for role in character.anatomy.roles)
    assert _shares(character.known_as(roles=unknown), "WINTER") == pytest.approx(whole), "the parent's segment"


def test_a_humans_mass_goes_with_the_cube_of_its_height_between_the_bounds():
    assert masses.human_mass(1.8) == pytest.approx(70.0)
    assert masses.human_mass(0.9) == pytest.approx(70.0 / 8.0)
    assert masses.human_mass(180.0) == masses.human_mass(masses.GIANT)
    assert masses.human_mass(0.018) == masses.human_mass(masses.DWARF)


@pytest.mark.parametrize(("change", "least", "most"), [(masses.stabilised, 0.8, 1.2), (masses.carried, 0.0, 10.0)])
@given(forests(), st.data())
def test_ratios_of_bodies_to_what_they_hang_on_lie_in_a_range_and_the_total_is_kept(change, least, most, parents, data):
    values = np.array(data.draw(st.lists(POSITIVE, min_size=len(parents), max_size=len(parents))))
    found = change(values, parents)
    assert found.sum() == pytest.approx(values.sum())
    ratios = [found[i] / found[parent] for i, parent in enumerate(parents) if parent >= 0]
    assert all(least - 1e-9 <= ratio <= most * (1.0 + 1e-9) for ratio in ratios)
    assert change(found, parents) == pytest.approx(found), "nothing is left to do"
    assert change(values * 7.0, parents) == pytest.approx(found * 7.0)


MAN = human()


def test_a_man_can_stand_on_one_leg_and_hold_his_arms_out():
    """What the muscles must do at least: the moments of the segments' own weights, de Leva's shares."""
    torque, force = human_strengths(MAN.anatomy.roles, MAN.parents, 70.0, 1.8)
    arm = (0.0271 * 0.08 + 0.0162 * 0.25 + 0.0061 * 0.38) * 70.0 * 9.81 * 1.8
    assert torque[MAN.row("upper_arm.L")] > 3.0 * arm
    assert torque[MAN.row("foot.R")] > 0.1 * 70.0 * 9.81  # rising on the ball of one foot, 0.1 m before the ankle
    assert force[MAN.row("hips")] > 70.0 * 9.81


@given(st.floats(0.01, 100.0), st.floats(1.0, 1000.0))
def test_torques_go_by_weight_times_height_and_forces_by_weight(scale, mass):
    one = human_strengths(MAN.anatomy.roles, MAN.parents, mass, 1.8)
    other = human_strengths(MAN.anatomy.roles, MAN.parents, mass * scale**3, 1.8 * scale)
    assert other[0] == pytest.approx(one[0] * scale**4)
    assert other[1] == pytest.approx(one[1] * scale**3)


def test_unknown_bones_are_as_strong_as_what_they_hang_on():
    hand, forearm = MAN.row("hand.L"), MAN.row("forearm.L")
    changed = tuple(roles.TWIST if row == hand else role for row, role in enumerate(MAN.anatomy.roles))
    for values in human_strengths(changed, MAN.parents, 70.0, 1.8):
        assert values[hand] == values[forearm]
    nothing = human_strengths((roles.GENERIC,) * len(changed), MAN.parents, 70.0, 1.8)
    assert all((values > 0.0).all() for values in nothing)


@pytest.mark.parametrize("values", [(0.0, 1.8), (70.0, np.nan)])
def test_sizes_that_are_none_are_refused(values):
    refuses("positive", human_strengths, MAN.anatomy.roles, MAN.parents, *values)
