"""Joint frames and ranges: where limbs go at their limits, whatever the place, size, side and bind pose."""

import numpy as np
import pytest
from anatomies import dog, human
from convention_rigs import spider

from core import quaternion
from core.anatomy import roles
from core.anatomy.joints import ANIMAL, joint_limits

AHEAD, UP, LEFT = np.array((0.0, -1.0, 0.0)), np.array((0.0, 0.0, 1.0)), np.array((1.0, 0.0, 0.0))


def _turned(joint, axis: int, angle: float, vector) -> np.ndarray:
    """A vector [3] turned about an axis of a joint's frame."""
    return quaternion.rotate(quaternion.from_axis_angle(joint.rotation[:, axis], angle), vector)


def _end_moves(character, found, name: str, end: str, axis: int, angle: float) -> np.ndarray:
    """By what a turn of a bone about its joint moves the head of another bone [3]."""
    lever = character.heads[character.row(end)] - character.heads[character.row(name)]
    return _turned(found[name], axis, angle, lever) - lever


@pytest.mark.parametrize("pose", ((0, 0, 0), (85, 0, 0), (45, 30, 20), (20, 80, 60)))
def test_knees_bend_back_and_elbows_forward(pose):
    character = human(*pose)
    found = character.limits()
    for part in (0.1, 0.5):
        back = _end_moves(character, found, "shin.L", "foot.L", 0, part * found["shin.L"].limit_max[0])
        assert back @ -AHEAD > 0.0 and abs(back @ LEFT) < 0.1 * np.linalg.norm(back)
        ahead = _end_moves(character, found, "forearm.L", "hand.L", 0, part * found["forearm.L"].limit_max[0])
        if pose[1] == 0:
            assert ahead @ AHEAD > 0.0
        else:  # nearer to the shoulder along the bend that the pose shows
            shoulder, hand = (character.heads[character.row(name)] for name in ("upper_arm.L", "hand.L"))
            assert np.linalg.norm(hand + ahead - shoulder) < np.linalg.norm(hand - shoulder)


@pytest.mark.parametrize("parts", [3, 4, 6])
def test_the_knees_of_a_spider_bend_in_the_plane_of_their_leg_and_feet_come_in_under_the_body(parts):
    rig = spider(parts=parts)
    found = joint_limits(rig.recognise(), rig.parents, rig.heads, rig.tails, np.arange(len(rig.names)), rig.parents)
    for bone in np.flatnonzero(np.isin(rig.roles, ("SHANK", "FOOT"))):
        hip = bone
        while rig.roles[hip] != "THIGH":
            hip = rig.parents[hip]
        own, out = found[bone], rig.heads[bone] - rig.heads[hip]
        out[2] = 0.0
        assert own.joint == ("HINGE" if rig.roles[bone] == "SHANK" else "CONE")
        assert np.all(own.limit_min <= 0.0) and np.all(own.limit_max >= 0.0)  # from the pose that it stands in
        assert own.limit_max[0] - own.limit_min[0] > np.radians(60.0)
        assert abs(own.rotation[:, 0] @ out) < 0.02 * np.linalg.norm(out), rig.names[bone]
        lever = rig.tails[bone] - rig.heads[bone]
        assert (_turned(own, 0, 0.5 * own.limit_max[0], lever) - lever) @ out < 0.0, rig.names[bone]


def test_the_signs_of_every_human_joint():
    """Of the left side: the right one is its mirror image."""
    character = human(arms=45.0)
    found = character.limits()

    def at(name, end, axis, which):
        value = getattr(found[name], which)[axis]
        return _end_moves(character, found, name, end, axis, 0.3 * np.sign(value)), abs(np.degrees(value))

    for name, end, axis, which, way, degrees in (
        ("thigh.L", "shin.L", 0, "limit_max", AHEAD, 120.0),
        ("thigh.L", "shin.L", 0, "limit_min", -AHEAD, 30.0),
        ("thigh.L", "shin.L", 2, "limit_max", LEFT, 45.0),
        ("thigh.L", "shin.L", 2, "limit_min", -LEFT, 25.0),
        ("upper_arm.L", "forearm.L", 2, "limit_max", UP, None),
        ("upper_arm.L", "forearm.L", 2, "limit_max", LEFT, None),
        ("upper_arm.L", "forearm.L", 0, "limit_max", AHEAD, None),
        ("foot.L", "toe.L", 0, "limit_max", UP, 20.0),
    ):
        moved, most = at(name, end, axis, which)
        assert moved @ way > 0.0 and (degrees is None or most == pytest.approx(degrees, abs=1.0)), (name, which)
    foot = found["foot.L"]  # inversion (30) turns the sole inwards
    wide = 1 if foot.limit_max[1] > -foot.limit_min[1] else -1
    assert _turned(foot, 1, 0.3 * wide, -UP) @ LEFT < 0.0
    assert sorted(np.degrees([foot.limit_max[1], -foot.limit_min[1]])) == pytest.approx([15.0, 30.0])
    own = found["hand.L"]  # radial deviation (20) takes the hand to the thumb's side, which is in front
    narrow = 1 if own.limit_max[2] < -own.limit_min[2] else -1
    assert _turned(own, 2, 0.3 * narrow, own.rotation[:, 1]) @ AHEAD > own.rotation[:, 1] @ AHEAD


def test_the_legs_of_a_dog_fold():
    found = dog().limits()
    for name, end, way in (("shin", "foot", -AHEAD), ("foot", "toe", AHEAD), ("forearm", "hand", AHEAD)):
        assert _end_moves(dog(), found, f"{name}.L", f"{end}.L", 0, 0.3) @ way > 0.0, name


def test_front_legs_swing_ahead_also_below_shoulder_blades_that_lead_aside():
    character = dog()
    for side in "LR":
        arm = character.heads[character.row(f"upper_arm.{side}")]
        character.heads[character.row(f"scapula.{side}")] = arm * (0, 1, 1)
    assert abs(character.limits()["upper_arm.L"].rotation[:, 0] @ LEFT) > 0.99


@pytest.mark.parametrize("character", (human(45, 20, 10), dog()), ids=("human", "dog"))
def test_sides_are_mirror_images(character):
    found = character.limits()
    mirror = np.diag([-1.0, 1.0, 1.0])
    for name, left in found.items():
        if not name.endswith(".L"):
            continue
        right = found[name.replace(".L", ".R")]
        assert right.joint == left.joint
        # A mirrored turn goes about the mirrored axis, the other way round.
        assert right.rotation[:, 0] == pytest.approx(-mirror @ left.rotation[:, 0], abs=1e-6)
        assert right.rotation[:, 1] == pytest.approx(mirror @ left.rotation[:, 1], abs=1e-6)
        low, high = left.limit_min, left.limit_max
        assert right.limit_min == pytest.approx([low[0], -high[1], -high[2]], abs=1e-6)
        assert right.limit_max == pytest.approx([high[0], -low[1], -low[2]], abs=1e-6)


TURN = quaternion.from_axis_angle((1.0, 2.0, -0.5), 2.1)


@pytest.mark.parametrize("character", (human(45, 20, 10), dog()), ids=("human", "dog"))
@pytest.mark.parametrize("scale, offset", ((0.01, (3, -2, 1)), (100.0, (30, 0, -9))))
def test_moving_turning_scaling_changes_nothing_but_the_frame(character, scale, offset):
    before, after = character.limits(), character.moved(TURN, scale, offset).limits()
    for name, one in before.items():
        if one is None:
            continue
        assert after[name].rotation == pytest.approx(quaternion.to_matrix(TURN) @ one.rotation, abs=1e-6), name
        assert after[name].limit_min == pytest.approx(one.limit_min, abs=1e-6)
        assert after[name].limit_max == pytest.approx(one.limit_max, abs=1e-6)


def test_the_mesh_tells_the_front_where_feet_have_no_toes():
    """Feet drawn straight down with a mesh that points ahead; turned round, knees bend the other way."""
    character = human(toes=False)
    feet = [character.row(f"foot.{side}") for side in "LR"]
    character.tails[feet] = character.heads[feet] - (0.0, 0.0, 0.05)
    for sign in (1.0, -1.0):
        vertices = [None] * len(character.names)
        for foot in feet:
            grid = np.stack(np.meshgrid([-0.03, 0.03], [0.05, 0.0, -0.08, -0.16], [-0.08, 0.0]), axis=-1).reshape(-1, 3)
            vertices[foot] = character.heads[foot] + grid * (1.0, sign, 1.0)
        assert sign * (_end_moves(character, character.limits(vertices), "shin.L", "foot.L", 0, 0.4) @ -AHEAD) > 0.0


def test_sides_named_as_the_viewer_sees_them_change_no_joint_and_without_sides_there_is_none():
    """The same character with left and right exchanged in its names: feet say where the front is."""
    character = human(45, 20, 10)
    before, sides = character.limits(), character.anatomy.sides
    for name, one in character.known_as(sides=tuple(roles.OPPOSITE.get(side, side) for side in sides)).limits().items():
        if one is not None:
            assert one.rotation == pytest.approx(before[name].rotation, abs=1e-9), name
            assert one.limit_max == pytest.approx(before[name].limit_max, abs=1e-9), name
    assert not any(character.known_as(sides=(roles.CENTER,) * len(sides)).limits().values())


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


def test_animal_limbs_move_between_the_measured_angles():
    """At either end of its range the angle between the two bones is what the goniometer says."""
    character = dog()
    found = character.limits()
    for name, before, end in (("shin", "thigh", "foot"), ("foot", "shin", "toe"), ("forearm", "upper_arm", "hand")):
        least, most = ANIMAL[character.anatomy.roles[character.row(f"{name}.L")]].included
        upper, joint, lower = (character.heads[character.row(f"{n}.L")] for n in (before, name, end))
        one = found[f"{name}.L"]
        now = np.degrees(2.0 * np.arccos(quaternion.shortest_arc(upper - joint, lower - joint)[0]))
        assert now - np.degrees(one.limit_max[0]) == pytest.approx(least)
        assert now - np.degrees(one.limit_min[0]) == pytest.approx(max(most, now))
