"""Two-bone IK obeys the law of cosines; feet stand where they stood, whatever turns above them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_rigs import DOG, HUMAN, angle, posed, rig, shown

from core import quaternion
from core.errors import RagdollError
from core.motion.limbs import BEND, BONE, OBJECT, LegStabilizer, TwoBoneIK, solve, stabilize
from core.motion.stack import Inputs
from refusals import refuses

length = np.linalg.norm
number = st.floats(-3, 3).filter(lambda x: abs(x) > 1e-3)
point = st.tuples(number, number, number)


def solved(root, joint, end, effector, pole, stretch=None):
    values = (tuple(map(float, v)) for v in (root, joint, end, effector, pole))
    return (np.array(v) for v in solve(*values, stretch))


def limb(upper=0.5, lower=0.4):
    return (0, 0, 0), (upper, 0, 0), (upper + lower, 0, 0)


@settings(max_examples=200, deadline=None)
@given(point, point, st.floats(0.1, 2), st.floats(0.1, 2), st.floats(0.02, 0.98))
def test_triangle_has_the_angles_of_the_law_of_cosines(effector, pole, upper, lower, share):
    distance = abs(upper - lower) + share * (upper + lower - abs(upper - lower))
    effector = np.array(effector) / length(effector) * distance
    joint, end = solved(*limb(upper, lower), effector, pole)
    assert length(joint) == pytest.approx(upper, abs=1e-9)
    assert length(end - joint) == pytest.approx(lower, abs=1e-9)
    np.testing.assert_allclose(end, effector, atol=1e-9)
    # c^2 = a^2 + b^2 - 2 a b cos(gamma), gamma being the inner angle at the joint.
    gamma = np.arccos(np.clip((-joint) @ (end - joint) / (upper * lower), -1, 1))
    assert upper**2 + lower**2 - 2 * upper * lower * np.cos(gamma) == pytest.approx(distance**2, abs=1e-9)
    forward = effector / distance  # the joint is in the plane of root, effector and pole, on the pole's side
    beside = np.array(pole) - forward * (pole @ forward)
    if length(beside) > 1e-3:
        off = joint - forward * (joint @ forward)
        assert length(np.cross(off, beside / length(beside))) < 1e-7
        assert off @ beside >= -1e-12


COSINE = (0.3**2 + 0.25**2 - 0.5**2) / (2 * 0.3 * 0.25)  # negative
FAR = np.array([0.6, 0, 0.8])


@pytest.mark.parametrize(
    ("lengths", "effector", "pole", "joint", "end"),
    [
        pytest.param((0.3, 0.5), (0.25, 0, 0), (0, 1, 0), (0.3 * COSINE, 0.3 * np.sqrt(1 - COSINE**2), 0), (0.25, 0, 0),
                     id="joint behind the root"),
        pytest.param((0.5, 0.5), (0, 0, 0), (0, 3, 0), (0, 0.5, 0), (0, 0, 0), id="effector at the root"),
        pytest.param((0.5, 0.4), (0, 0, 0), (0, 3, 0), (0.5, 0, 0), (0.1, 0, 0), id="at the root: the direction x"),
        *(pytest.param((0.5, 0.4), far * FAR, (0, 1, 0), 0.5 * FAR, 0.9 * FAR, id=f"beyond reach: in line, {far}")
          for far in (0.90001, 1e6)),
        pytest.param((0.5, 0.2), (0, 0.1, 0), (1, 0, 0), (0, 0.5, 0), (0, 0.3, 0), id="too near: folded"),
        pytest.param((0.2, 0.5), (0, 0.1, 0), (1, 0, 0), (0, -0.2, 0), (0, 0.3, 0), id="too near: folded back"),
    ],
)  # fmt: skip
def test_where_there_is_hardly_a_triangle(lengths, effector, pole, joint, end):
    root = np.array((1.0, 2, 3))
    moved = [root + np.array(v) for v in (*limb(*lengths), effector, pole)]
    np.testing.assert_allclose([v - root for v in solved(*moved)], (joint, end), atol=1e-7)


def effect(body, entry, effector, pole, weight=1.0, world=None, pose=None):
    result, _ = entry.apply(body, pose or body.bind, Inputs(target=effector, pole=pole, weight=weight, world=world))
    return result.model(body.skeleton)


@pytest.mark.parametrize("scales", [{}, {"hips": -1.0}, {"thigh.L": -2.0, "shin.L": 0.3}])
def test_chain_reaches_under_scaled_and_mirrored_parents(scales):
    body = rig(HUMAN, 3, scales)
    entry = TwoBoneIK(body, body.index["foot.L"])
    goal = np.array([0.3, -0.4, 0.4])
    places, rotations, _ = effect(body, entry, goal, (0.1, -2, 0.6))
    np.testing.assert_allclose(places[body.index["foot.L"]], goal, atol=1e-9)
    np.testing.assert_allclose(np.abs(rotations[body.index["foot.L"]] @ body.bind_rotations[body.index["foot.L"]]), 1)
    assert places[body.index["shin.L"]][1] < -0.1
    untouched = body.index["foot.R"]
    np.testing.assert_allclose(places[untouched], body.bind_positions[untouched], atol=1e-12)


def test_spaces_of_effector_and_pole():
    body = rig(HUMAN, 3)
    goal, pole = np.array([0.2, -0.3, 0.4]), np.array([0.1, -2, 0.6])
    foot = body.index["foot.L"]
    expected = effect(body, TwoBoneIK(body, foot, effector_space=OBJECT, pole_space=OBJECT), goal, pole)
    world = np.eye(4)
    turn = quaternion.to_matrix(quaternion.normalize(np.array([1.0, 2, 3, 4])))
    world[:3, :3], world[:3, 3] = -0.01 * turn, (5, 6, 7)
    outside = [world[:3, :3] @ p + world[:3, 3] for p in (goal, pole)]
    np.testing.assert_allclose(effect(body, TwoBoneIK(body, foot), *outside, world=world)[0], expected[0], atol=1e-9)
    head = body.index["head"]
    back = quaternion.conjugate(body.bind_rotations[head])
    inside = [quaternion.rotate(back, p - body.bind_positions[head]) for p in (goal, pole)]
    entry = TwoBoneIK(body, foot, effector_space=BONE, effector_bone=head, pole_space=BONE, pole_bone=head)
    np.testing.assert_allclose(effect(body, entry, *inside)[0], expected[0], atol=1e-9)


@pytest.mark.parametrize("connected", (False, True))
def test_stretching_moves_the_joints_and_weight_is_between(connected):
    body = rig(HUMAN, 3)
    foot = body.index["foot.L"]
    stretch = {"allow_stretching": True, "start_stretch_ratio": 0.9, "max_stretch_scale": 1.5}
    entry = TwoBoneIK(body, foot, **stretch, connected=connected)
    goal = body.bind_positions[body.index["thigh.L"]] + np.array([0, -1.1, 0])
    places, _, _ = effect(body, entry, goal, (0.1, -2, 3.0))
    np.testing.assert_allclose(places[foot], goal, atol=1e-9)
    half, _, _ = effect(body, entry, goal, (0.1, -2, 3.0), weight=0.5)
    assert 0.1 < length(half[foot] - body.bind_positions[foot]) < length(goal - body.bind_positions[foot]) - 0.1
    none, _ = entry.apply(body, body.bind, Inputs(target=goal, pole=goal, weight=0.0))
    assert none is body.bind
    after, _ = entry.apply(body, body.bind, Inputs(target=goal, pole=(0.1, -2, 3.0)))
    moved = np.any(after.positions != body.bind.positions, axis=1)
    assert moved.any() != connected, "a bone at its parent's tail cannot be moved"
    np.testing.assert_allclose(after.scales[list(entry.bones)].prod(axis=0), 1.0)


def test_refusals_name_the_bones():
    body = rig(HUMAN, 3)
    refuses(r'"root".*no parent', TwoBoneIK, body, body.index["root"])
    refuses(r'"hips".*"root" has no parent', TwoBoneIK, body, body.index["hips"])
    with pytest.raises(RagdollError, match=r'"toe.L" hangs on the limb'):
        TwoBoneIK(body, body.index["foot.L"], effector_space=BONE, effector_bone=body.index["toe.L"])
    entry = TwoBoneIK(body, body.index["foot.L"], name="Left leg")
    with pytest.raises(RagdollError, match=r"Left leg: the effector is not a number"):
        entry.apply(body, body.bind, Inputs(target=(np.nan, 0, 0), pole=(0, 0, 0)))


STRAIGHT = {**HUMAN, "shin.L": ("thigh.L", (0.1, 0.005, 0.515)), "foot.L": ("shin.L", (0.1, 0.01, 0.08))}


def bending(seed=None, table=HUMAN):
    body = rig(table, seed)
    return body, TwoBoneIK(body, body.index["foot.L"], effector_space=OBJECT, pole_space=BEND)


def joints(body, ik, pose):
    places, _, _ = pose.model(body.skeleton)
    return (places[..., bone, :] for bone in ik.bones)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1000), st.floats(0.5, 0.95))
def test_an_effector_on_the_limbs_line_keeps_the_plane_of_the_bend(seed, share):
    body, ik = bending(seed)
    pose = posed(body, np.random.default_rng(seed), 0.4)
    root, joint, end = joints(body, ik, pose)
    result, _ = ik.apply(body, pose, Inputs(target=root + share * (end - root)))
    after = list(joints(body, ik, result))
    np.testing.assert_allclose(after[2], root + share * (end - root), atol=1e-9)
    line = (end - root) / length(end - root, axis=-1, keepdims=True)
    sides = [v - line * (v * line).sum(-1, keepdims=True) for v in (joint - root, after[1] - root)]
    bent = length(sides[0], axis=-1) > 0.03 * length(end - root, axis=-1)
    cosine = (sides[0] * sides[1]).sum(-1) / (length(sides[0], axis=-1) * length(sides[1], axis=-1))
    assert np.all(cosine[bent] > 1 - 1e-9)


def test_a_straight_limb_bends_to_the_same_side_whatever_noise_its_joints_have():
    """To where the toes point; a millionth of the leg to any side changes nothing."""
    body, ik = bending(table=STRAIGHT)
    sides = []
    for noise in (0.0, 1e-6, -1e-6):
        pose = body.bind.copy()
        for bone in ik.bones[:2]:
            pose.rotations[bone] = quaternion.normalize(pose.rotations[bone] + noise)
        root, _joint, end = joints(body, ik, pose)
        result, _ = ik.apply(body, pose, Inputs(target=root + 0.8 * (end - root)))
        _root, joint, end = joints(body, ik, result)
        line = (end - root) / length(end - root)
        side = joint - root - line * ((joint - root) @ line)
        sides.append(side / length(side))
    np.testing.assert_allclose(sides[1], sides[0], atol=1e-4)
    np.testing.assert_allclose(sides[2], sides[0], atol=1e-4)
    assert sides[0] @ (0.0, -1.0, 0.0) > 0.9, "a knee bends forwards"


def turned(body, pose, bone, vector):
    """The pose with a bone turned in model space."""
    rotations = pose.model(body.skeleton)[1]
    result, index = pose.copy(), body.index[bone]
    parent = body.parents[index]
    above = rotations[..., parent, :] if parent >= 0 else np.array([1.0, 0, 0, 0])
    new = quaternion.multiply(quaternion.from_rotation_vector(np.asarray(vector, float)), rotations[..., index, :])
    result.rotations[..., index, :] = quaternion.multiply(quaternion.conjugate(above), new)
    return result


def leg_length(body, leg):
    return np.linalg.norm(np.diff(body.bind_positions[list(leg.bones)], axis=0), axis=1).sum()


def check_planted(body, legs, before, after, atol=1e-6):
    old, new = before.model(body.skeleton), after.model(body.skeleton)
    for leg in legs:
        foot, size = leg.foot_bone, leg_length(body, leg)
        assert np.linalg.norm(old[0][..., foot, :] - new[0][..., foot, :], axis=-1).max() < atol * size
        assert quaternion.angle_between(old[1][..., foot, :], new[1][..., foot, :]).max() < 1e-6


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.001, 0.35), st.sampled_from([1.0, 0.01, 100.0, -1.0, -0.01]))
def test_feet_keep_place_and_orientation_under_any_turn_of_the_hips(seed, amount, scale):
    rng = np.random.default_rng(seed)
    body = rig(HUMAN, seed, {"root": scale})
    before = posed(body, rng, 0.1)
    vector = rng.normal(size=3)
    after = turned(body, before, "hips", amount * vector / np.linalg.norm(vector))
    legs = [LegStabilizer(body, body.index[f"foot.{side}"], 3) for side in "LR"]
    places = after.model(body.skeleton)[0]
    wanted = before.model(body.skeleton)[0]
    ways = [np.linalg.norm(wanted[leg.foot_bone] - places[leg.bones[0]]) for leg in legs]
    within_reach = [leg for leg, way in zip(legs, ways, strict=True) if way <= 0.999 * leg_length(body, leg)]
    result = stabilize(legs, body, after, Inputs(reference=before))
    check_planted(body, within_reach, before, result)
    np.testing.assert_array_equal(result.positions, after.positions)
    np.testing.assert_allclose(np.linalg.norm(result.rotations, axis=-1), 1, atol=1e-9)
    # Only the legs' own bones turn.
    others = [i for i in range(len(body.parents)) if not any(i in leg.bones for leg in legs)]
    np.testing.assert_array_equal(result.rotations[others], after.rotations[others])


@pytest.mark.parametrize("scaled", ("hips", "thigh.L"))
@pytest.mark.parametrize("weight", (1.0, 0.4))
def test_feet_stay_below_unevenly_scaled_bones(weight, scaled):
    """Squashed and stretched bones shear the legs: the foot still stands where the matrices have it."""
    rng = np.random.default_rng(5)
    body = rig(HUMAN, 5, {})
    before = posed(body, rng, 0.1)
    for bone, angle_of_knee in (("thigh.L", -0.4), ("shin.L", 0.8), ("thigh.R", -0.4), ("shin.R", 0.8)):
        before = turned(body, before, bone, (angle_of_knee, 0.0, 0.0))
    before.scales[..., body.index[scaled], :] = (1.1, 1.0, 0.95)
    after = turned(body, before, "hips", (0.12, -0.08, 0.15))
    legs = [LegStabilizer(body, body.index[f"foot.{side}"], 3, ik_weight=weight) for side in "LR"]
    result = stabilize(legs, body, after, Inputs(reference=before))
    for leg in legs:
        size = leg_length(body, leg)
        old, moved, new = (shown(body, pose, leg.foot_bone)[:3, 3] for pose in (before, after, result))
        assert np.linalg.norm(moved - old, axis=-1).max() > 0.02 * size
        assert np.linalg.norm(new - (moved + weight * (old - moved)), axis=-1).max() < 1e-5 * size


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.floats(0.001, 0.3))
def test_hocks_and_toes(seed, count, amount):
    rng = np.random.default_rng(seed)
    body = rig(DOG, seed)
    vector = rng.normal(size=3)
    after = turned(body, body.bind, "hips", amount * vector / np.linalg.norm(vector))
    leg = LegStabilizer(body, body.index[{2: "shank", 3: "hock", 4: "paw", 5: "toe"}[count]], count)
    assert leg.bones[0] == body.index["thigh"]
    result = stabilize([leg], body, after, Inputs(reference=body.bind))
    hip, foot = after.model(body.skeleton)[0][leg.bones[0]], body.bind_positions[leg.foot_bone]
    lengths = np.linalg.norm(np.diff(body.bind_positions[list(leg.bones)], axis=0), axis=1)
    if count > 2 and 2 * lengths.max() - lengths.sum() < np.linalg.norm(foot - hip) < lengths.sum():
        check_planted(body, [leg], body.bind, result, 1e-4)
    new = result.model(body.skeleton)[0][leg.foot_bone]  # a single segment points at where its foot stood
    if count == 2:
        assert angle(new - hip, foot - hip) < 1e-6


@pytest.mark.parametrize("goal", ((0.3, -0.4, 0.4), (0.1, -1.2, 0.9), None))  # near, too far, of a leg put back
def test_parts_in_two_pieces_bend_as_one_bone(goal):
    table, role = dict(HUMAN), {"thigh.L": "THIGH", "thigh.L2": "TWIST", "shin.L": "SHANK", "shin.L2": "SHANK"}
    for part, below in (("thigh.L", "shin.L"), ("shin.L", "foot.L")):
        end = table[below][1]
        table |= {f"{part}2": (part, np.mean((table[part][1], end), axis=0)), below: (f"{part}2", end)}
    cut, joints = rig(table, 3), []
    cut.find_roles = lambda: [role.get(name, "GENERIC") for name in table]
    for body, count in ((rig(HUMAN, 3), 3), (cut, 5)):
        foot = body.index["foot.L"]
        if goal is None:
            turn = turned(body, body.bind, "hips", (0.1, 0.2, -0.1))
            after = stabilize([LegStabilizer(body, foot, count)], body, turn, Inputs(reference=body.bind))
        else:
            inputs = Inputs(target=goal, pole=(0.1, -2, 0.6))
            after, _ = TwoBoneIK(body, foot, allow_stretching=True).apply(body, body.bind, inputs)
        joints.append(after.model(body.skeleton)[0][[body.index[name] for name in ("shin.L", "foot.L", "toe.L")]])
    np.testing.assert_allclose(*joints, atol=1e-9)
    pieces = [cut.index[name] for name in ("thigh.L2", "shin.L2")]
    np.testing.assert_allclose(after.rotations[pieces], cut.bind.rotations[pieces], atol=1e-9)


@pytest.mark.parametrize(("scales", "weight"), [(None, 1.0), ({"hips": (0.5, 0.5, 0.5)}, 0.5)])
def test_a_foot_alone_is_moved_back_and_nothing_else(scales, weight):
    body = rig(HUMAN, 3, scales)
    reference = posed(body, np.random.default_rng(1))
    pose = turned(body, reference, "hips", (0.1, 0.3, -0.4))
    leg = LegStabilizer(body, body.index["foot.L"], 1, ik_weight=weight)
    result = stabilize([leg], body, pose, Inputs(reference=reference))
    others = [i for i in range(len(pose.positions)) if i != leg.foot_bone]
    for name in ("positions", "rotations", "scales"):
        assert np.array_equal(getattr(result, name)[others], getattr(pose, name)[others])
    was, now, wanted = (found.model(body.skeleton) for found in (pose, result, reference))
    assert now[0][leg.foot_bone] == pytest.approx((was[0] + weight * (wanted[0] - was[0]))[leg.foot_bone], abs=1e-9)
    left = quaternion.angle_between(now[1], wanted[1])[leg.foot_bone]
    assert left == pytest.approx((1.0 - weight) * quaternion.angle_between(was[1], wanted[1])[leg.foot_bone], abs=1e-6)


def test_legs_that_cannot_be_are_refused_by_name():
    body = rig(HUMAN)
    foot = body.index["foot.L"]
    refuses(r'foot "foot.L": 6 bones asked for, but the chain ends at "root"', LegStabilizer, body, foot, 6)
    refuses(r'begins at "root", which hangs on nothing', LegStabilizer, body, foot, 5)
