"""Roles of bones from names and from joints: every convention, names that say nothing, and invariances."""

import re

import conventions
import numpy as np
import pytest
from anatomies import ancestors, human
from convention_rigs import BODY, UP, dog, place_in_chain, rig_of, spider
from hypothesis import given, settings
from hypothesis import strategies as st

from core import quaternion, skeleton
from core.anatomy import axes, roles
from core.anatomy.names import read_name
from core.anatomy.recognise import recognise
from core.anatomy.roles import CENTER, CREATURE, HUMAN, LEFT, QUADRUPED, RIGHT
from refusals import refuses


@pytest.mark.parametrize("convention", conventions.ALL)
def test_every_bone_of_a_convention_gets_its_role_and_side(convention):
    rig = rig_of(convention)
    anatomy = rig.recognise()
    assert anatomy.kind == HUMAN
    found = zip(rig.names, zip(anatomy.roles, anatomy.sides), zip(rig.roles, rig.sides), strict=True)
    assert [
        f"{name}: {got} instead of {want}"
        for name, got, want in found
        if got[0] != want[0] or (got[1] != want[1] and want[0] not in ("HELPER", "GENERIC"))
    ] == []
    spaced = [_spaced(name) for name in rig.names]
    if not convention.startswith("MMD"):  # Japanese has no case
        assert rig.recognise(names=spaced).roles == anatomy.roles, "case and separators of names do not matter"


def _spaced(name: str) -> str:
    """The same words in capitals, apart: "LeftUpLeg" becomes "LEFT UP LEG"."""
    parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^A-Za-z\d]+", name)
    return "".join(part if not part.isalnum() else (" " if i else "") + part.upper() for i, part in enumerate(parts))


@pytest.mark.parametrize("convention", conventions.ALL)
def test_names_that_say_nothing_leave_the_main_roles_as_they_are(convention):
    rig = rig_of(convention)
    deform = np.array([role not in ("HELPER", "GENERIC", "TWIST") for role in rig.roles])
    anatomy = rig.recognise(names=[f"Node_{i * 7 % 101}" for i in range(len(rig.names))], deform=deform)
    for i in [rig.roles.index(role) for role in ("THIGH", "SHANK", "FOOT", "UPPER_ARM", "FOREARM", "HAND")]:
        assert anatomy.roles[i] == rig.roles[i], rig.names[i]
    for i, (want, got) in enumerate(zip(rig.roles, anatomy.roles, strict=True)):
        # Where several bones share a role the joints alone may draw the line elsewhere in the same part.
        part = {"SPINE": "SPINE", "CHEST": "SPINE", "PELVIS": "SPINE", "NECK": "NECK", "HEAD": "NECK"}
        if want in BODY and (want != "HAND" or place_in_chain(rig.roles, rig.parents, i) == 0):
            assert part.get(got, got) == part.get(want, want), rig.names[i]
            assert anatomy.sides[i] == rig.sides[i], rig.names[i]
    assert anatomy.kind == HUMAN
    assert np.all(anatomy.certainty < 1.0)


@pytest.mark.parametrize("name, meaning, side", (
    ("lhand", "HAND", LEFT), ("RIGHT_ARM", "arm", RIGHT), ("DEF-upper_arm.L.001", "UPPER_ARM", LEFT),
    ("ORG-upper_arm.L", "HELPER", None), ("Bip01LFinger0Nub", "HELPER", LEFT), ("b_RightLeg01_019", "leg", RIGHT),
    ("r_toe.L", "TOE", LEFT), ("左ﾋｼﾞ", "FOREARM", LEFT), ("右足ＩＫ", "HELPER", RIGHT), ("Bone.001", None, None),
    ("lip", "HELPER", None), ("", None, None),
))  # fmt: skip
def test_words_in_a_name(name, meaning, side):
    found = read_name(name)
    assert (found.meaning, found.side) == (meaning, side)


def test_a_generated_rigify_rig_gives_roles_to_its_deforming_bones_only():
    rig = rig_of("Unreal")
    rows = [i for i, role in enumerate(rig.roles) if role in BODY or role == "TOE"]
    plain = [rig.names[i] for i in rows]
    count = len(rows)
    parents = [next((rows.index(j) for j in ancestors(rig.parents, i) if j in rows), -1) for i in rows]
    # Every ORG bone hangs on the ORG bone above, every DEF bone beside its ORG bone, on the one above it.
    all_names = [f"ORG-{name}" for name in plain] + [f"DEF-{name}" for name in plain] + plain
    all_parents = parents + parents + [-1] * count
    heads, tails = np.tile(rig.heads[rows], (3, 1)), np.tile(rig.tails[rows], (3, 1))
    anatomy = recognise(all_names, all_parents, heads, tails)
    assert anatomy.roles[count : 2 * count] == tuple(rig.roles[i] for i in rows)
    assert set(anatomy.roles[:count]) | set(anatomy.roles[2 * count :]) == {"HELPER"}
    for k, parent in enumerate(parents):
        assert anatomy.parents[count + k] == (count + parent if parent >= 0 else -1), plain[k]


def test_a_side_against_the_limb_is_noted_and_the_limb_is_followed():
    rig = rig_of("Mixamo")
    names = list(rig.names)
    row = names.index("mixamorig:LeftHandThumb1")
    names[row] = "mixamorig:RightHandThumb9"
    anatomy = rig.recognise(names=names)
    assert anatomy.sides[row] == LEFT
    assert any("RightHandThumb9" in note for note in anatomy.notes)


def test_a_foot_that_hangs_on_the_root_hangs_on_its_shank_in_the_body():
    rig = rig_of("Quaternius")
    parents = list(rig.parents)
    feet = [i for i, name in enumerate(rig.names) if name.startswith("Foot")]
    for foot in feet:
        parents[foot] = 0
    anatomy = rig.recognise(parents=parents)
    assert anatomy.roles == rig.recognise().roles
    for foot in feet:
        assert anatomy.parents[foot] == rig.parents[foot]
    assert any("'Foot.L'" in note for note in anatomy.notes)


def test_unknown_bones_stay_generic_and_are_said_so():
    rig = rig_of("Bandai-Namco")
    spine = rig.names.index("Spine")
    heads, tails = np.vstack([rig.heads, rig.heads[spine] + (0, 0.2, 0)]), [*rig.tails, rig.heads[spine] + (0, 0.3, 0)]
    anatomy = rig.recognise(names=[*rig.names, "quux"], parents=[*rig.parents, spine], heads=heads, tails=tails)
    assert anatomy.roles[-1] == "GENERIC" and anatomy.certainty[-1] == 0.0
    assert any("quux" in note for note in anatomy.notes)


def test_a_joint_that_is_not_a_number_is_refused_by_name():
    rig = rig_of("Bandai-Namco")
    heads = rig.heads.copy()
    heads[3, 1] = np.nan
    refuses(rig.names[3], rig.recognise, heads=heads)


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_a_bare_chain_is_a_creature_of_generic_bones(count):
    heads = np.array([(0.0, 0.0, 0.1 * i) for i in range(count)]).reshape(-1, 3)
    anatomy = recognise([f"Bone.{i:03}" for i in range(count)], np.arange(count) - 1, heads, heads + 0.1 * UP)
    assert anatomy.kind == CREATURE
    assert set(anatomy.roles) <= {"GENERIC"}
    assert roles.main_bones(anatomy, np.arange(count) - 1).sum() == count


@pytest.mark.parametrize("scrambled", [False, True])
@settings(max_examples=25)
@given(
    angle=st.floats(-np.pi, np.pi),
    scale=st.floats(0.01, 100.0),
    move=st.tuples(*[st.floats(-50.0, 50.0)] * 3),
    convention=st.sampled_from(sorted(conventions.ALL)),
)
def test_turning_about_up_moving_and_scaling_change_nothing(scrambled, angle, scale, move, convention):
    rig = rig_of(convention).nameless() if scrambled else rig_of(convention)
    before = rig.recognise()
    turn = scale * quaternion.to_matrix(quaternion.from_axis_angle(UP, angle)).T
    after = rig.recognise(heads=rig.heads @ turn + move, tails=rig.tails @ turn + move)
    assert (after.roles, after.sides, after.kind) == (before.roles, before.sides, before.kind)
    assert np.array_equal(after.order, before.order)
    assert np.array_equal(after.parents, before.parents)


@pytest.mark.parametrize("up", [(0, 1, 0), (1, 0, 0), (0, -1, 0)])
def test_up_may_be_any_direction(up):
    rig, turn = rig_of("Mixamo"), quaternion.to_matrix(quaternion.shortest_arc(UP, up))
    turned = {"heads": rig.heads @ turn.T, "tails": rig.tails @ turn.T}
    for one in (rig, rig.nameless()):
        before = one.recognise()
        after = one.recognise(**turned, up=up)
        assert (after.roles, after.sides) == (before.roles, before.sides)
    lying, upright = rig.recognise(**turned), rig.recognise()  # named legs say where up is
    assert (lying.roles, lying.sides, lying.kind) == (upright.roles, upright.sides, HUMAN)


@pytest.mark.parametrize("scrambled", [False, True])
def test_a_quadruped_is_found_with_and_without_names(scrambled):
    rig = dog().nameless() if scrambled else dog()
    anatomy = rig.recognise()
    assert anatomy.kind == QUADRUPED
    assert list(anatomy.roles) == rig.roles
    assert list(anatomy.sides) == rig.sides
    chosen = {(anatomy.roles[i], anatomy.sides[i]) for i in np.flatnonzero(roles.main_bones(anatomy, rig.parents))}
    for side in (LEFT, RIGHT):
        assert {(role, side) for role in ("THIGH", "SHANK", "FOOT", "UPPER_ARM", "FOREARM", "HAND")} <= chosen
    assert {("HEAD", CENTER), ("PELVIS", CENTER), ("CHEST", CENTER)} <= chosen


@pytest.mark.parametrize("rooted", ["hips", "chest"])
def test_front_legs_that_are_named_as_the_hind_ones_are_known_by_where_they_hang(rooted):
    rig = dog()
    hind = {"scapula": "shoulder", "upper_arm": "thigh2", "forearm": "shin2", "hand": "foot2"}
    names = [hind.get(name[:-2], name[:-2]) + name[-2:] for name in rig.names]
    parents = list(rig.parents)
    if rooted == "chest":  # it carries the hips
        chain = [rig.names.index(name) for name in ("chest", "spine", "hips")]
        for row, parent in zip(chain, [-1, *chain], strict=False):
            parents[row] = parent
    anatomy = rig.recognise(names=names, parents=parents)
    assert anatomy.kind == QUADRUPED
    limbs = [i for i, side in enumerate(rig.sides) if side != CENTER]
    assert [anatomy.roles[i] for i in limbs] == [rig.roles[i] for i in limbs]


@pytest.mark.parametrize("name", ["Metatarsal.L", "Leg3.L"])
def test_a_foot_of_three_toes_is_one_whatever_it_is_called(name):
    rig = dog()
    foot = rig.names.index("foot.L")
    toe = rig.names.index("toe.L")
    names = [name if i == foot else own for i, own in enumerate(rig.names)] + ["toe_2.L", "toe_3.L"]
    beside = rig.heads[toe] + np.array([(0.03, 0, 0), (-0.03, 0, 0)])
    anatomy = recognise(
        names, [*rig.parents, foot, foot], np.vstack([rig.heads, beside]), np.vstack([rig.tails, beside - 0.02 * UP])
    )
    assert anatomy.roles[foot] == "FOOT" and anatomy.roles[toe] == "TOE"
    assert anatomy.roles[-2:] == ("TOE", "TOE") and anatomy.kind == QUADRUPED


@pytest.mark.parametrize("named", ["leg{pair}_{part}.{letter}", "Bone.{part}{pair}.{letter}", "{letter}{part}_{pair}x"])
@pytest.mark.parametrize("parts", [3, 4, 6])
def test_each_of_eight_legs_has_a_hip_knees_and_a_foot_on_its_own_side(named, parts):
    rig = spider(named, parts)
    rng = np.random.default_rng(parts)
    order = np.concatenate([[0], 1 + rng.permutation(len(rig.names) - 1)])  # of siblings; names are found again
    parents = [-1 if rig.parents[i] < 0 else int(np.flatnonzero(order == rig.parents[i])[0]) for i in order]
    anatomy = recognise([rig.names[i] for i in order], parents, rig.heads[order], rig.tails[order])
    assert anatomy.kind == CREATURE
    assert list(anatomy.roles) == [rig.roles[i] for i in order]
    assert list(anatomy.sides) == [rig.sides[i] for i in order]


@pytest.mark.parametrize("scrambled", [False, True])
@pytest.mark.parametrize("control", ["root", "chest"])
def test_a_foot_that_is_a_control_with_a_mesh_hangs_on_the_shank_that_it_leads(control, scrambled):
    rig = rig_of("Mixamo").nameless() if scrambled else rig_of("Mixamo")
    chest = max(i for i, role in enumerate(rig.roles) if role == "CHEST")
    names, parents, heads = list(rig.names), list(rig.parents), rig.heads.copy()
    ends, feet = [], [i for i, role in enumerate(rig.roles) if role == "FOOT"]
    for foot in feet:
        ends.append((rig.parents[foot], foot, True))
        names[foot] = f"ctrl_{rig.sides[foot][0]}{foot}_ik"
        parents[foot] = chest if control == "chest" else -1
        heads[foot] += (0.0, -0.1, -0.06)
    anatomy = rig.recognise(names=names, parents=parents, heads=heads, ends=ends)
    assert anatomy.kind == HUMAN and set(anatomy.led) == set(feet)
    for shank, foot, _meshed in ends:
        assert anatomy.roles[foot] == "FOOT" and anatomy.parents[foot] == shank
    plain = rig.recognise()
    legs = [i for i, role in enumerate(rig.roles) if role in ("THIGH", "SHANK", "UPPER_ARM", "HAND")]
    assert [anatomy.roles[i] for i in legs] == [plain.roles[i] for i in legs]
    # Where the limb has an end of its own the control stays what it is.
    places = {"heads": [*rig.heads, rig.heads[feet[0]]], "tails": [*rig.tails, rig.tails[feet[0]]]}
    ends = [(rig.parents[feet[0]], len(names), True)]
    plain = rig.recognise(names=[*rig.names, "ik_foot"], parents=[*rig.parents, -1], **places, ends=ends)
    assert plain.roles[-1] == "HELPER" and not plain.led


@pytest.mark.parametrize("convention", conventions.ALL)
def test_a_human_has_ten_to_sixteen_main_bodies_that_hang_together(convention):
    rig = rig_of(convention)
    anatomy = rig.recognise()
    mask = roles.main_bones(anatomy, rig.parents, None, rig.heads)
    assert 10 <= mask.sum() <= 16
    into = np.where(mask, np.arange(len(mask)), skeleton.nearest_ancestors(anatomy.parents, mask))
    assert np.array_equal(into[mask], np.flatnonzero(mask))
    above = np.array(anatomy.parents)[mask]
    assert np.count_nonzero((above < 0) | (into[above] < 0)) == 1
    own = [sorted(anatomy.roles[i] for i in np.flatnonzero(mask) if anatomy.sides[i] == side) for side in (LEFT, RIGHT)]
    assert own[0] == own[1] and len(own[0]) == 4
    # Hands, feet, clavicles and twist bones end up in their own limb, not across the body.
    expected = {"HAND": "FOREARM", "FINGER": "FOREARM", "THUMB": "FOREARM", "FOOT": "SHANK", "TOE": "SHANK"}
    for i, role in enumerate(anatomy.roles):
        if role in expected:
            assert (anatomy.roles[into[i]], anatomy.sides[into[i]]) == (expected[role], anatomy.sides[i]), rig.names[i]
        if role == "CLAVICLE":
            assert anatomy.roles[into[i]] in ("CHEST", "SPINE"), rig.names[i]
    assert set(np.array(anatomy.roles)[mask]) <= set(roles.ROLES) - {"HELPER", "TWIST", "GENERIC"}


@pytest.mark.parametrize("convention", [*conventions.ALL, "dog"])
def test_a_bind_pose_of_limbs_that_all_point_one_way_is_known(convention):
    rig = dog() if convention == "dog" else rig_of(convention)
    anatomy = rig.recognise()
    assert not axes.is_impossible(anatomy, rig.parents, rig.heads, rig.tails)
    heads, tails = np.zeros_like(rig.heads), np.zeros_like(rig.tails)
    for i, parent in enumerate(rig.parents):
        heads[i] = tails[parent] if parent >= 0 else 0.0
        tails[i] = heads[i] + (np.linalg.norm(rig.tails[i] - rig.heads[i]), 0, 0)
    assert axes.is_impossible(anatomy, rig.parents, heads, tails)


@pytest.mark.parametrize("scrambled", [False, True])
@pytest.mark.parametrize("convention", conventions.ALL)
def test_what_is_above_the_pelvis_and_stands_at_the_ground_is_known(convention, scrambled):
    rig = rig_of(convention)
    above = {i for i in ancestors(rig.parents, rig.roles.index("PELVIS")) if rig.heads[i, 2] < 0.1}
    assert set((rig.nameless() if scrambled else rig).recognise().ground_roots) == above


@pytest.mark.parametrize("inside", [False, True])
def test_twist_bones_of_arms_are_known_without_names(inside):
    """Beside the chain, each to the next joint; or in it, in the middle of the upper arm."""
    body = human()
    parents, heads, tails, expected = [*body.parents], [*body.heads], [*body.tails], [*body.anatomy.roles]
    for row in [i for i, role in enumerate(expected) if role == "UPPER_ARM" or (role == "FOREARM" and not inside)]:
        if inside:
            parents[parents.index(row)] = len(parents)
        parents, tails = [*parents, row], [*tails, tails[row]]
        heads, expected = [*heads, 0.5 * (heads[row] + tails[row])], [*expected, "TWIST"]
    assert [*recognise([f"b{i}" for i in range(len(parents))], parents, heads, tails).roles] == expected
