"""Two-bone IK obeys the law of cosines and has an answer where there is no triangle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_rigs import HUMAN, posed, rig
from refusals import refuses

from core import quaternion
from core.errors import RagdollError
from core.motion.limbs import BEND, BONE, OBJECT, TwoBoneIK, solve
from core.motion.rig import Inputs

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
    # The joint is in the plane of root, effector and pole, on the pole's side.
    forward = effector / distance
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
          for far in (0.9, 0.90001, 2, 1e6)),
        pytest.param((0.5, 0.2), (0, 0.1, 0), (1, 0, 0), (0, 0.5, 0), (0, 0.3, 0), id="too near: folded"),
        pytest.param((0.2, 0.5), (0, 0.1, 0), (1, 0, 0), (0, -0.2, 0), (0, 0.3, 0), id="too near: folded back"),
    ],
)  # fmt: skip
def test_where_there_is_hardly_a_triangle(lengths, effector, pole, joint, end):
    root = np.array((1.0, 2, 3))
    moved = [root + np.array(v) for v in (*limb(*lengths), effector, pole)]
    found = solved(*moved)
    np.testing.assert_allclose([v - root for v in found], (joint, end), atol=1e-7)


def test_pole_on_the_line_gives_the_same_perpendicular_from_frame_to_frame():
    first, _ = solved(*limb(), (0, 0, -0.6), (0, 0, -3))
    for shift in (1e-13, -1e-13, 0):
        joint, end = solved(*limb(), (shift, 0, -0.6), (0, shift, 2))
        np.testing.assert_allclose(joint, first, atol=1e-9)
        assert length(joint) == pytest.approx(0.5)
        assert length(end - joint) == pytest.approx(0.4)
    root_pole, _ = solved(*limb(), (0, 0, -0.6), (0, 0, 0))
    np.testing.assert_allclose(root_pole, first, atol=1e-9)


def test_limbs_of_no_length():
    for upper, lower in ((0, 0), (0, 0.4), (0.5, 0)):
        joint, end = solved(*limb(upper, lower), (0, 0.2, 0), (1, 0, 0))
        assert np.isfinite([joint, end]).all()
        assert length(joint) == pytest.approx(upper, abs=1e-12)
        assert length(end - joint) == pytest.approx(lower, abs=1e-12)


@pytest.mark.parametrize(
    ("distance", "factor"), [(0.5, 1), (0.72, 1), (0.9, 1.125), (1.08, 1.25), (1.35, 1.5), (3, 1.5)]
)
def test_stretch_goes_evenly_from_the_start_ratio_to_the_largest_scale(distance, factor):
    # From 0.8 of the reach (0.72) to 1.5 times it (1.35) the scale goes from 1 to 1.5.
    expected = 1 + 0.5 * np.clip((distance / 0.9 - 0.8) / 0.7, 0, 1)
    joint, end = solved(*limb(), (0, distance, 0), (1, 0, 0), (0.8, 1.5))
    assert length(joint) == pytest.approx(0.5 * expected)
    assert length(end - joint) == pytest.approx(0.4 * expected)
    assert expected == pytest.approx(factor, abs=0.08)


def hand_rig(**scales):
    return rig(HUMAN, 3, scales or None)


def effect(body, entry, effector, pole, weight=1.0, world=None, pose=None):
    result, _ = entry.apply(body, pose or body.bind, Inputs(target=effector, pole=pole, weight=weight, world=world))
    return result.model(body.skeleton)


@pytest.mark.parametrize("scales", [{}, {"hips": 0.5}, {"hips": -1.0}, {"thigh.L": -2.0, "shin.L": 0.3}])
def test_chain_reaches_under_scaled_and_mirrored_parents(scales):
    body = hand_rig(**scales)
    entry = TwoBoneIK(body, body.index["foot.L"])
    goal = np.array([0.3, -0.4, 0.4])
    places, rotations, _ = effect(body, entry, goal, (0.1, -2, 0.6))
    np.testing.assert_allclose(places[body.index["foot.L"]], goal, atol=1e-9)
    np.testing.assert_allclose(np.abs(rotations[body.index["foot.L"]] @ body.bind_rotations[body.index["foot.L"]]), 1)
    assert places[body.index["shin.L"]][1] < -0.1
    untouched = body.index["foot.R"]
    np.testing.assert_allclose(places[untouched], body.bind_positions[untouched], atol=1e-12)


def test_bones_turn_by_the_smallest_angle_so_twist_is_kept():
    body = hand_rig()
    entry = TwoBoneIK(body, body.index["foot.L"], keep_end_rotation=False)
    places, rotations, _ = effect(body, entry, (0.2, -0.3, 0.4), (0.1, -2, 0.6))
    for bone, child in (("thigh.L", "shin.L"), ("shin.L", "foot.L")):
        b, k = body.index[bone], body.index[child]
        turn = quaternion.multiply(rotations[b], quaternion.conjugate(body.bind_rotations[b]))
        before, after = body.bind_positions[k] - body.bind_positions[b], places[k] - places[b]
        arc = quaternion.shortest_arc(before, after)
        assert abs(turn @ arc) == pytest.approx(1, abs=1e-12)


def test_spaces_of_effector_and_pole():
    body = hand_rig()
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


def test_stretching_moves_the_joints_and_weight_is_between():
    body = hand_rig()
    foot = body.index["foot.L"]
    entry = TwoBoneIK(body, foot, allow_stretching=True, start_stretch_ratio=0.9, max_stretch_scale=1.5)
    goal = body.bind_positions[body.index["thigh.L"]] + np.array([0, -1.1, 0])
    places, _, _ = effect(body, entry, goal, (0.1, -2, 3.0))
    np.testing.assert_allclose(places[foot], goal, atol=1e-9)
    half, _, _ = effect(body, entry, goal, (0.1, -2, 3.0), weight=0.5)
    assert 0.1 < length(half[foot] - body.bind_positions[foot]) < length(goal - body.bind_positions[foot]) - 0.1
    none, _ = entry.apply(body, body.bind, Inputs(target=goal, pole=goal, weight=0.0))
    assert none is body.bind


def test_refusals_name_the_bones():
    body = hand_rig()
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
    return (places[..., bone, :] for bone in (ik.upper_bone, ik.lower_bone, ik.end_bone))


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
        for bone in (ik.upper_bone, ik.lower_bone):
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


def test_the_bend_needs_no_pole():
    body, ik = bending()
    assert ik.apply(body, body.bind, Inputs(target=(0.1, 0.0, 0.3), pole=None))[0] is not None
