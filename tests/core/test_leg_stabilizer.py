"""Feet stand where they stood, whatever turns above them; knees keep their plane."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_rigs import DOG, HUMAN, angle, posed, rig, shown

from core import quaternion
from core.errors import RagdollError
from core.motion.limbs import LegStabilizer, stabilize
from core.motion.rig import Inputs


def turned(body, pose, bone, vector):
    """The pose with a bone turned in model space."""
    rotations = pose.model(body.skeleton)[1]
    result, index = pose.copy(), body.index[bone]
    parent = body.parents[index]
    above = rotations[..., parent, :] if parent >= 0 else np.array([1.0, 0, 0, 0])
    delta = quaternion.from_rotation_vector(np.asarray(vector, float))
    new = quaternion.multiply(delta, rotations[..., index, :])
    result.rotations[..., index, :] = quaternion.multiply(quaternion.conjugate(above), new)
    return result


def leg_length(body, leg):
    places = body.bind_positions[list(leg.bones)]
    return np.linalg.norm(np.diff(places, axis=0), axis=1).sum()


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
    distance = np.linalg.norm(foot - hip)
    if count > 2 and 2 * lengths.max() - lengths.sum() < distance < lengths.sum():
        check_planted(body, [leg], body.bind, result, 1e-4)
    # A single segment points at where its foot stood.
    new = result.model(body.skeleton)[0][leg.foot_bone]
    if count == 2:
        assert angle(new - hip, foot - hip) < 1e-6


def test_long_legs_change_shape_as_little_as_they_can_and_stay_in_their_plane():
    body = rig(DOG, 4)
    pose = turned(body, body.bind, "hips", (0.15, 0, 0))
    leg = LegStabilizer(body, body.index["paw"], 4)
    result = stabilize([leg], body, pose, Inputs(reference=body.bind))
    places = result.model(body.skeleton)[0]
    np.testing.assert_allclose(places[list(leg.bones), 0], 0.1, atol=1e-9)
    check_planted(body, [leg], body.bind, result)
    # The shank still goes forward and the hock back.
    assert places[body.index["shank"], 1] < places[body.index["thigh"], 1]
    assert places[body.index["hock"], 1] > places[body.index["shank"], 1]


def bend_normal(places, leg):
    a, b, d = (places[bone] for bone in leg.bones)
    normal = np.cross(b - a, d - b)
    return normal / np.linalg.norm(normal)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 0.3))
def test_knee_stays_in_its_bend_plane(seed, amount):
    rng = np.random.default_rng(seed)
    body = rig(HUMAN, seed)
    before = turned(body, body.bind, "shin.L", (0.6, 0, 0))
    leg = LegStabilizer(body, body.index["foot.L"], 3)
    # About X the hip moves within the plane, which then is kept exactly.
    result = stabilize([leg], body, turned(body, before, "hips", (amount, 0, 0)), Inputs(reference=before))
    places = result.model(body.skeleton)[0]
    np.testing.assert_allclose(
        places[list(leg.bones), 0], before.model(body.skeleton)[0][list(leg.bones), 0], atol=1e-9
    )
    # Otherwise the normal turns by no more than the line from hip to foot does.
    vector = amount * rng.normal(size=3)
    after = turned(body, before, "hips", vector)
    result = stabilize([leg], body, after, Inputs(reference=before))
    old, new = (p.model(body.skeleton)[0] for p in (before, result))
    line_old, line_new = (p[leg.bones[-1]] - p[leg.bones[0]] for p in (old, new))
    if np.linalg.norm(line_new) < 0.999 * leg_length(body, leg):
        assert angle(bend_normal(old, leg), bend_normal(new, leg)) <= angle(line_old, line_new) + 1e-6


def test_out_of_reach_the_leg_is_straight_at_its_foot_and_does_not_jump():
    body = rig(HUMAN, 5)
    leg = LegStabilizer(body, body.index["foot.L"], 3)
    last = None
    for height in np.linspace(-0.02, 0.05, 400):
        pose = body.bind.copy()
        hips = body.index["hips"]
        lift = quaternion.rotate(quaternion.conjugate(body.bind_rotations[body.parents[hips]]), (0, 0, height))
        pose.positions[hips] += lift
        result = stabilize([leg], body, pose, Inputs(reference=body.bind))
        places = result.model(body.skeleton)[0][list(leg.bones)]
        reach, distance = leg_length(body, leg), np.linalg.norm(body.bind_positions[leg.foot_bone] - places[0])
        if distance > reach:
            line = (body.bind_positions[leg.foot_bone] - places[0]) / distance
            np.testing.assert_allclose(places[-1], places[0] + reach * line, atol=1e-7)
            assert angle(places[1] - places[0], line) < 1e-6
        else:
            np.testing.assert_allclose(places[-1], body.bind_positions[leg.foot_bone], atol=1e-9)
            # The knee is always in front.
            assert places[1][1] < (places[0][1] + places[2][1]) / 2
        if last is not None:
            # A knee comes in with the square root of the missing length: steep, but no jump to another side.
            assert np.linalg.norm(places[1] - last[1]) < 0.02
        last = places


def test_straight_leg_bends_as_the_bind_pose_does_in_spite_of_noise():
    body = rig(HUMAN, 6)
    leg = LegStabilizer(body, body.index["foot.L"], 3)
    places = body.bind_positions
    upper = places[body.index["shin.L"]] - places[body.index["thigh.L"]]
    lower = places[body.index["foot.L"]] - places[body.index["shin.L"]]
    straight = turned(body, body.bind, "shin.L", quaternion.to_rotation_vector(quaternion.shortest_arc(lower, upper)))
    rng = np.random.default_rng(0)
    for _ in range(20):
        before = turned(body, straight, "shin.L", 1e-4 * rng.normal(size=3))
        after = before.copy()
        hips = body.index["hips"]
        above = quaternion.conjugate(body.bind_rotations[body.parents[hips]])
        after.positions[hips] += quaternion.rotate(above, (0, 0, -0.05))
        result = stabilize([leg], body, after, Inputs(reference=before))
        joints = result.model(body.skeleton)[0][list(leg.bones)]
        line = (joints[2] - joints[0]) / np.linalg.norm(joints[2] - joints[0])
        knee = joints[1] - joints[0]
        knee -= line * (knee @ line)
        # To the front, and not to the side, whatever the noise in the joints.
        assert angle(knee, (0, -1, 0) - line * -line[1]) < np.radians(1)
        check_planted(body, [leg], before, result)


def test_nothing_moved_nothing_changes():
    body = rig(HUMAN, 7)
    pose = posed(body, np.random.default_rng(0))
    legs = [LegStabilizer(body, body.index[f"foot.{side}"], 3) for side in "LR"]
    np.testing.assert_array_equal(stabilize(legs, body, pose, Inputs(reference=pose)).rotations, pose.rotations)


def test_weight_goes_evenly_from_nothing_to_all():
    body = rig(HUMAN, 8)
    after = turned(body, body.bind, "hips", (0.1, 0.05, 0.2))
    start, end = after.model(body.skeleton)[0], body.bind_positions
    for weight in (0.0, 0.25, 0.5, 1.0):
        for leg, given_weight in (
            (LegStabilizer(body, body.index["foot.L"], 3, ik_weight=weight), 1.0),
            (LegStabilizer(body, body.index["foot.L"], 3), weight),
        ):
            result = stabilize([leg], body, after, Inputs(reference=body.bind, weight=given_weight))
            foot = result.model(body.skeleton)[0][leg.foot_bone]
            expected = start[leg.foot_bone] + weight * (end[leg.foot_bone] - start[leg.foot_bone])
            np.testing.assert_allclose(foot, expected, atol=1e-9)


def test_smallest_distance():
    body = rig(HUMAN, 9)
    after = turned(body, body.bind, "hips", (0.0, 0.0, 0.1))
    moved = np.linalg.norm(after.model(body.skeleton)[0] - body.bind_positions, axis=-1)[body.index["foot.L"]]
    for share, acts in ((0.99, True), (1.01, False)):
        leg = LegStabilizer(body, body.index["foot.L"], 3, min_distance=share * moved)
        result = stabilize([leg], body, after, Inputs(reference=body.bind))
        assert acts != np.array_equal(result.rotations, after.rotations)


def test_refusals_name_the_bones():
    body = rig(HUMAN)
    foot = body.index["foot.L"]
    with pytest.raises(RagdollError, match=r'foot "foot.L": 6 bones asked for, but the chain ends at "root"'):
        LegStabilizer(body, foot, 6)
    with pytest.raises(RagdollError, match=r'begins at "root", which hangs on nothing'):
        LegStabilizer(body, foot, 5)
