"""Profiles: exact round trips, every fault named with its place, mirroring, and which bone gets what."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import mirror, profile
from core.anatomy import roles
from core.errors import RagdollError
from core.profile import Entry, Field, Profile, Schema

PI32 = float(np.float32(math.pi))
SCHEMA = Schema(
    object={"rotation_weight": Field("FLOAT", low=0.0, high=1.0), "steps": Field("INT", low=1)},
    bone={
        "simulate": Field("BOOL"),
        "shape": Field("ENUM", choices=("AUTO", "BOX")),
        "mass": Field("FLOAT", low=0.0, high=1e7),
        "max_force": Field("FLOAT", low=0.0),
        "limit_min": Field("FLOAT", 3, -PI32, PI32),
        "limit_max": Field("FLOAT", 3, -PI32, PI32),
        "joint_rotation": Field("FLOAT", 4),
        "body_points": Field("POINTS", 4),
    },
)


def text(bones=(), **changes) -> str:
    data = {"format": profile.FORMAT, "version": 1, "units": profile.UNITS, "object": {}, "bones": list(bones)}
    data.update(changes)
    return json.dumps(data)


def anatomy(*bones, kind=roles.HUMAN) -> roles.Anatomy:
    """An anatomy of (role, side, order) each."""
    found, sides, order = zip(*bones, strict=True)
    return roles.Anatomy(found, sides, np.array(order), kind, np.ones(len(bones)))


THREE = st.lists(st.floats(0.0, PI32, width=32).map(profile.shortest), min_size=3, max_size=3)
SETTINGS = st.fixed_dictionaries({
    "simulate": st.booleans(), "shape": st.sampled_from(("AUTO", "BOX")), "mass": st.floats(0.0, 1e6, width=32),
    "limit_min": THREE.map(lambda sizes: [-size for size in sizes]), "limit_max": THREE,
    "joint_rotation": st.lists(st.floats(0.25, 1.0, width=32), min_size=4, max_size=4),
})  # fmt: skip
TURNS = st.none() | st.just((1.0, 0.0, 0.0, 0.0)) | st.just((0.5, 0.5, 0.5, 0.5))


def entries(turns=TURNS):
    """Of bones of different names."""
    of_bones = st.text(min_size=1, max_size=6), st.sampled_from(roles.ROLES), st.sampled_from(roles.SIDES)
    rest = st.none() | st.just((0.0, 1.0, 0.0, 0.0))
    one = st.builds(Entry, SETTINGS, *of_bones, st.integers(0, 9), joint_in_anatomy=turns, rest=rest)
    return st.lists(one, unique_by=lambda entry: entry.name, max_size=5).map(tuple)


@given(entries(), st.floats(0.0, 1.0, width=32), st.text(max_size=5))
def test_round_trip_is_exact(bones, weight, name):
    made = Profile({"rotation_weight": weight, "steps": 3}, bones, name, "for a test", roles.HUMAN)
    written = profile.dump(made)
    read = profile.parse(written, SCHEMA)
    assert read == made and profile.dump(read) == written
    general = Profile({}, (Entry({"mass": 2.0}, role=profile.ANY, range=1.5), Entry({}, role=roles.SPINE, share=True)))
    assert profile.parse(profile.dump(general), SCHEMA) == general
    data = json.loads(written)
    assert data["version"] == 1 and data["units"]["angle"] == "rad" and data["units"]["length"] == "m"


GOOD = {"name": "a", "limit_min": [0, 0, 0], "limit_max": [1, 1, 1]}


def bone(**changes):
    return text([{"name": "b"}, {**GOOD, **changes}])


FAULTS = [
    (text(version=2), "version: 2 is unknown, this extension reads 1"),
    (text(format="vrm"), f"format: expected '{profile.FORMAT}', got 'vrm'"),
    (text(units={"angle": "deg"}), "units.angle: expected 'rad', got 'deg'"),
    (text(kind="FISH"), "kind: unknown value 'FISH', use one of HUMAN, QUADRUPED, CREATURE"),
    (text(object={"steps": 2.5}), "object.steps: expected a whole number, got 2.5"),
    (text(object={"rotation_weight": 1.5}), "object.rotation_weight: 1.5 is not from 0 to 1"),
    (text().replace('"bones": []', '"bones": {}'), "bones: expected a list, got {}"),
    (text([{"mass": 1}]), "bones[0]: neither name nor role says for which bone it is"),
    (text([{"name": "a"}, {"name": "b"}, {"name": "a"}]), "bones[2].name: 'a' stands in bones[0] too"),
    (bone(colour="red"), "bones[1].colour: unknown key"),
    (bone(order=-1), "bones[1].order: -1 is not from 0 to 10000"),
    (bone(range=2), "bones[1].range: multiplies the rig's own limits, but limit_min states others"),
    (bone(shape="BALL"), "bones[1].shape: unknown value 'BALL', use one of AUTO, BOX"),
    (bone(mass=True), "bones[1].mass: expected a number, got True"),
    (bone(max_force=10**400), "is not a finite number"),
    (bone(limit_min=[0, 1.5, 0]), "bones[1].limit_min[1]: 1.5 is above limit_max[1] = 1"),
    (bone(limit_min=[0, 0, math.nan]), "bones[1].limit_min[2]: nan is not a finite number"),
    (bone(limit_min=[0, 0]), "bones[1].limit_min: expected 3 values, got 2"),
    (text([{"name": "a", "limit_max": [0, 0, 0]}]), "bones[0].limit_min: is missing where limit_max is stated"),
    (bone(joint_rotation=[0, 0, 0, 0]), "bones[1].joint_rotation: [0.0, 0.0, 0.0, 0.0] is no rotation"),
    (bone(rest=[0, 0, 0, "x"]), "bones[1].rest[3]: expected a number, got 'x'"),
    ('{"format": 1, "format": 2}', "format: stands there twice"),
    (text([{"name": "a"}])[:-2] + ', {"name": "b", "mass": 1, "mass": 2}]}', "bones[1].mass: stands there twice"),
    (bone(body_points=[[0, 0, 0]] * 5), "bones[1].body_points: expected a list of at most 4 points"),
    ("[]", "file: expected an object in braces, got []"),
    ("", "line 1, column 1"),
    ("[" * 100_000, "not a profile"),
]


@pytest.mark.parametrize(("content", "message"), FAULTS, ids=[message[:40] for _content, message in FAULTS])
def test_a_fault_is_named_with_its_place(content, message):
    with pytest.raises(RagdollError) as raised:
        profile.parse(content, SCHEMA)
    assert message in str(raised.value)
    if not message.startswith(("is not", "line", "not a")):
        assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_a_bound_of_single_precision_is_in_range():
    assert len(profile.parse(bone(), SCHEMA).entries) == 2  # what the faults start from is good
    limits = {"limit_min": [-PI32] * 3, "limit_max": [float(str(np.float32(math.pi)))] * 3}
    assert profile.parse(bone(**limits), SCHEMA).entries[1].settings["limit_min"] == [-PI32] * 3
    with pytest.raises(RagdollError):
        profile.parse(bone(limit_max=[1, 1, 3.1416]), SCHEMA)


@given(entries(st.none()))
def test_mirrored_twice_is_the_same(bones):
    made = Profile({}, bones)
    assert profile.mirrored(profile.mirrored(made)) == made


def test_mirroring_exchanges_sides_and_the_ends_of_sideways_ranges():
    left = {"mass": 2.0, "limit_min": [-0.1, -0.2, -0.3], "limit_max": [1.0, 2.0, 3.0]}
    right = {"mass": 3.0, "limit_min": [0.0, 0.0, 0.0], "limit_max": [0.5, 0.5, 0.5]}
    made = Profile({}, (Entry(left, "hand.L", "HAND", "LEFT", 0), Entry(right, "hand.R", "HAND", "RIGHT", 0)))
    a, b = profile.mirrored(made).entries
    assert (a.name, a.side, a.settings["mass"]) == ("hand.L", "LEFT", 3.0)
    assert b.settings == {"mass": 2.0, "limit_min": [-0.1, -2.0, -3.0], "limit_max": [1.0, 0.2, 0.3]}
    a, b = profile.mirrored(made, "LEFT_TO_RIGHT").entries
    assert a.settings == left and b.settings["mass"] == 2.0
    a, b = profile.mirrored(made, "RIGHT_TO_LEFT").entries
    assert b.settings == right and a.settings["limit_max"] == [0.5, 0.0, 0.0]


def test_one_sided_profile_gets_its_other_side():
    made = Profile({}, (Entry({"mass": 1.0}, "mixamorig:LeftHand", "HAND", "LEFT", 0),))
    assert [e.name for e in profile.mirrored(made).entries] == ["mixamorig:RightHand"]
    both = profile.mirrored(made, "LEFT_TO_RIGHT").entries
    assert [(e.name, e.side) for e in both] == [("mixamorig:LeftHand", "LEFT"), ("mixamorig:RightHand", "RIGHT")]
    assert profile.mirrored(made, "RIGHT_TO_LEFT") == made


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("hand.L", "hand.R"), ("hand.l.001", "hand.r.001"), ("mixamorig:LeftArm", "mixamorig:RightArm"),
        ("thigh_r", "thigh_l"), ("Bip01 L Thigh", "Bip01 R Thigh"), ("leftover", "leftover"), ("Bone.003", "Bone.003"),
    ],
)  # fmt: skip
def test_flipped_names(name, other):
    assert mirror.flipped_name(name) == other
    assert mirror.flipped_name(other) == name


ARMS = anatomy(("HAND", "LEFT", 0), ("HAND", "RIGHT", 0), ("SPINE", "CENTER", 0), ("SPINE", "CENTER", 1))


def matched(entries, names, found, how="AUTO"):
    return profile.match(Profile({}, tuple(entries)), names, found, how)


def test_a_name_wins_over_a_role_and_a_role_over_any():
    given_entries = [
        Entry({"mass": 1.0}, "hand_l"),
        Entry({"mass": 2.0, "shape": "BOX"}, role="HAND"),
        Entry({"mass": 3.0}, role="HAND", side="RIGHT"),
        Entry({"mass": 4.0, "shape": "AUTO", "simulate": True}, role=profile.ANY),
    ]
    for order in (given_entries, given_entries[::-1]):
        found = matched(order, ["hand_l", "hand_r", "a", "b"], ARMS)
        assert [s["mass"] for s in found.settings] == [1.0, 3.0, 4.0, 4.0]
        assert found.settings[1] == {"mass": 3.0, "shape": "BOX", "simulate": True}
        assert found.by == ["NAME", "ROLE", "ROLE", "ROLE"]
    both_sides = Entry({"limit_min": [0, -1, -2], "limit_max": [3, 2, 1]}, role="HAND")
    found = matched([both_sides], ["l", "r", "a", "b"], ARMS)
    assert found.settings[:2] == [both_sides.settings, {"limit_min": [0, -2, -1], "limit_max": [3, 1, 2]}]


def test_same_name_of_another_part_goes_by_role():
    """Two rigs that call everything "Bone": the name says nothing."""
    hands = [Entry({"mass": 1.0}, "Bone", "HAND", "LEFT", 0), Entry({"mass": 2.0}, "Bone.001", "HAND", "RIGHT", 0)]
    names = ["Bone.001", "Bone", "x", "y"]
    assert [s.get("mass") for s in matched(hands, names, ARMS).settings] == [1.0, 2.0, None, None]
    assert [s.get("mass") for s in matched(hands, names, ARMS, "NAME").settings] == [2.0, 1.0, None, None]


@pytest.mark.parametrize("count", [1, 5])
def test_a_chain_keeps_its_range_whatever_its_length(count):
    chain = anatomy(*[("SPINE", "CENTER", i) for i in range(count)])
    low, high = [-0.3, -0.2, -0.1], [0.3, 0.2, 0.1]
    source = [Entry({"limit_min": low, "limit_max": high}, f"s{i}", "SPINE", "CENTER", i) for i in range(2)]
    shared = [Entry({"limit_min": [-1, -1, -1], "limit_max": [1, 1, 1]}, role="SPINE", share=True)]
    names = [f"x{i}" for i in range(count)]
    np.testing.assert_allclose(sum(s["limit_max"][0] for s in matched(source, names, chain).settings), 0.6)
    np.testing.assert_allclose(sum(s["limit_max"][0] for s in matched(shared, names, chain).settings), 1.0)


def test_a_chain_of_another_length_is_matched_by_its_way_and_fingers_of_one_hand_stay_apart():
    chain = anatomy(*[("TAIL", "CENTER", i + 4) for i in range(5)])
    fingers = anatomy(*[("FINGER", "LEFT", 0)] * 3)
    tail = [Entry({"mass": float(i)}, f"s{i}", "TAIL", "CENTER", i) for i in range(3)]
    hand = [Entry({"mass": float(i + 1)}, f"f{i}", "FINGER", "LEFT", 0) for i in range(2)]
    assert [s["mass"] for s in matched(tail, list("abcde"), chain).settings] == [0.0, 1.0, 1.0, 2.0, 2.0]
    assert [s["mass"] for s in matched(hand, list("abc"), fingers).settings] == [1.0, 2.0, 2.0]


def test_a_stub_does_not_take_the_place_of_a_body():
    rows = enumerate((("root", False), ("hips", True)))
    source = [Entry({"simulate": on}, name, "PELVIS", "CENTER", i) for i, (name, on) in rows]
    assert matched(source, ["pelvis"], anatomy(("PELVIS", "CENTER", 0))).settings[0]["simulate"] is True


def test_unknown_bones_are_named():
    entries_here = [Entry({}, "hand_l", "HAND", "LEFT", 0), Entry({}, "wing.L", "WING", "LEFT", 0), Entry({}, "prop")]
    found = matched(entries_here, ["x", "y", "a", "b"], ARMS)
    assert found.notes[0].startswith("2 of") and "'wing.L'" in found.notes[0] and "'prop'" in found.notes[0]
    with pytest.raises(RagdollError, match=r"None of the profile's 1 bones is found in the rig: 'prop'"):
        matched([Entry({}, "prop")], ["x", "y", "a", "b"], ARMS)


def test_a_profile_for_another_kind_of_creature_says_so():
    made = Profile({}, (Entry({}, role="HAND"),), kind=roles.QUADRUPED)
    found = profile.match(made, ["x", "y", "a", "b"], ARMS, rig="'Rig'")
    assert found.notes == ["the profile is for a quadruped, 'Rig' looks like a human"]
