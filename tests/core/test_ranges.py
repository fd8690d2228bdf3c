"""Ranges of motion: chains share theirs, limits contain the bind pose and count from the anatomical position."""

import numpy as np
import pytest
from anatomies import dog, human

from core import quaternion
from core.anatomy import roles
from core.anatomy.limits import ANIMAL, HUMAN, joint_ranges
from core.ragdoll.joints import constraints, limits


def _ranges(character):
    found = joint_ranges(character.anatomy, character.bones, character.parents)
    return dict(zip(character.names, found, strict=True))


@pytest.mark.parametrize("character", (human(), dog()), ids=("human", "dog"))
@pytest.mark.parametrize("chain, members", (("SPINE", ("spine", "chest")), ("NECK", ("neck", "head"))))
def test_a_chain_of_bones_has_its_range_as_a_whole(character, chain, members):
    table = HUMAN if character.anatomy.kind == roles.HUMAN else ANIMAL
    found = _ranges(character)
    for name in ("flexion", "extension", "outward", "inward", "turn_in", "turn_out"):
        assert sum(getattr(found[bone], name) for bone in members) == pytest.approx(getattr(table[chain], name))


def test_one_bone_alone_has_the_whole_range():
    character = human()
    bones = np.array([character.row(n) for n in ("hips", "chest", "head")])
    chest, head = joint_ranges(character.anatomy, bones, np.array([-1, 0, 1]))[1:]
    assert (chest.flexion, head.flexion) == (75.0, 70.0)


def test_tail_bones_share_theirs_up_to_what_one_joint_can():
    found = _ranges(dog())
    assert [found[f"tail{i}"].flexion for i in (1, 2, 3)] == [60.0, 60.0, 60.0]


def test_roots_and_unknown_bones_have_none():
    character = human()
    assert _ranges(character)["hips"] is None
    assert not any(_ranges(character.known_as(roles=(roles.GENERIC,) * len(character.names))).values())


def test_a_side_said_of_a_neck_does_not_break_its_chain():
    character = human()
    sides = list(character.anatomy.sides)
    sides[character.row("neck")] = roles.LEFT
    assert _ranges(character.known_as(sides=tuple(sides))) == _ranges(character)


def test_parents_may_come_in_any_order():
    character = human()
    order = np.random.default_rng(0).permutation(len(character.names))
    place = np.append(np.argsort(order), -1)
    found = joint_ranges(character.anatomy, order, place[character.parents[order]])
    expected = _ranges(character)
    assert found == [expected[character.names[i]] for i in order]


POSES = {
    "T": human(),
    "A": human(arms=45.0),
    "hanging": human(arms=85.0),
    "bent": human(arms=30.0, elbow=40.0, knee=35.0),
    "dog": dog(),
}


@pytest.mark.parametrize("pose", POSES)
def test_limits_contain_the_bind_pose_and_can_be_planned(pose):
    for name, found in POSES[pose].limits().items():
        if found is None:
            continue
        assert (found.limit_min <= 0.0).all() and (found.limit_max >= 0.0).all(), name
        assert (found.limit_max - found.limit_min).max() > np.radians(4.0), name
        assert limits.excess(found.joint, found.limit_min, found.limit_max, (1.0, 0.0, 0.0, 0.0)) == 0.0
        assert constraints.plan_constraints(found.joint, tuple(found.limit_min), tuple(found.limit_max))


@pytest.mark.parametrize("bend", (20.0, 60.0, 100.0))
def test_knees_and_elbows_count_from_the_straight_limb(bend):
    found = human(elbow=bend, knee=bend).limits()
    for name, most in (("shin", 140.0), ("forearm", 150.0)):
        for side in "LR":
            one = found[f"{name}.{side}"]
            assert one.joint == "HINGE"
            assert np.degrees(one.limit_max) == pytest.approx([most - bend, 0.0, 0.0], abs=1e-6)
            assert np.degrees(one.limit_min) == pytest.approx([-bend, 0.0, 0.0], abs=1e-6)


def test_an_overstretched_knee_does_not_turn_its_limit_round():
    found = human(knee=-8.0).limits()["shin.L"]
    assert np.degrees(found.limit_max[0]) == pytest.approx(148.0)
    assert found.limit_min[0] == 0.0, "the bind pose itself is allowed, nothing beyond"


@pytest.mark.parametrize("arms", (0.0, 30.0, 45.0, 60.0))
def test_a_lowered_arm_has_less_way_down(arms):
    found = human(arms=arms).limits()["upper_arm.L"]
    down = np.degrees(-found.limit_min[2])
    assert down == pytest.approx(90.0 - arms + 45.0)
    assert np.degrees(found.limit_max[2]) == pytest.approx(90.0 + arms)


def test_animal_limbs_move_between_the_measured_angles():
    """At either end of its range the angle between the two bones is what the goniometer says."""
    character = dog()
    found = character.limits()
    for name, before, end in (("shin", "thigh", "foot"), ("foot", "shin", "toe"), ("forearm", "upper_arm", "hand")):
        least, most = ANIMAL[character.anatomy.roles[character.row(f"{name}.L")]].included
        upper, joint, lower = (character.heads[character.row(f"{n}.L")] for n in (before, name, end))
        one = found[f"{name}.L"]
        now = np.degrees(
            quaternion.angle_between(quaternion.identity(), quaternion.shortest_arc(upper - joint, lower - joint))
        )
        assert now - np.degrees(one.limit_max[0]) == pytest.approx(least)
        assert now - np.degrees(one.limit_min[0]) == pytest.approx(max(most, now))
