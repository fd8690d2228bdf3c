"""Muscle tone: postures from any bind pose, the way of a fall, how tone fades and stiffens."""

from dataclasses import replace

import anatomies
import numpy as np
import pytest

from core import quaternion
from core.anatomy import axes, joints
from core.anatomy.joints import AIR, BACKWARD, FORWARD, LEFT, RELAXED, RIGHT
from core.ragdoll.joints import limits
from core.ragdoll.recovery import tone

AHEAD, ASIDE, UP, DOWN = np.array((0, -1.0, 0)), np.array((1.0, 0, 0)), np.array((0, 0, 1.0)), np.array((0, 0, -1.0))
RELAX, FORTH, BACK, TO_LEFT, TO_RIGHT, HIGH = range(tone.CHOICES)


def ways(posture, body, roll=0.0) -> dict:
    """Directions of the limbs in a posture, by bone; the bones' own axes are turned at random from a seed."""
    turns = quaternion.normalize(np.random.default_rng(int(roll)).normal(size=(len(body.names), 4)))
    found = axes.bind_of(body.anatomy, body.parents, body.heads, body.tails)
    local = joints.turns_of(posture, found, turns, body.bones, body.parents)
    deltas = {}
    for i in body.bones:
        own = quaternion.identity()
        if np.isfinite(local[i]).all():
            own = quaternion.multiply(turns[i], quaternion.multiply(local[i], quaternion.conjugate(turns[i])))
        above = deltas[body.parents[i]] if body.parents[i] >= 0 else quaternion.identity()
        deltas[i] = quaternion.multiply(above, own)
    return {name: quaternion.rotate(deltas[i], found.directions[i]) for i, name in enumerate(body.names)}


HUMANS = [anatomies.human(**more) for more in ({}, {"arms": 45.0, "elbow": 20.0}, {"arms": 80.0})]
BINDS = (*HUMANS, HUMANS[0].moved(quaternion.identity(), 0.01, (3.0, 0.0, 0.0)))


@pytest.mark.parametrize("posture", joints.POSTURES)
def test_a_posture_is_the_same_whatever_the_bind_pose_and_the_bones_rolls(posture):
    first = ways(posture, BINDS[0])
    for roll, body in enumerate(BINDS, 1):
        other = ways(posture, body, roll)
        for bone in ("upper_arm.L", "upper_arm.R", "forearm.L", "forearm.R", "thigh.L", "shin.L", "shin.R", "head"):
            assert first[bone] @ other[bone] > np.cos(np.radians(1.0)), bone
    bent = ways(posture, anatomies.human(knee=18.0))  # whose up leads from the feet behind to the head
    assert bent["thigh.L"] @ bent["shin.L"] == pytest.approx(np.cos(np.radians(posture.knee)), abs=0.02)


def test_postures_protect_where_the_fall_goes():
    body = anatomies.human()
    found = {posture: ways(posture, body) for posture in joints.POSTURES}
    assert found[RELAXED]["upper_arm.L"] @ DOWN > 0.9 and found[RELAXED]["forearm.L"] @ AHEAD > 0.5
    assert found[RELAXED]["shin.L"] @ AHEAD < 0.0 < found[RELAXED]["thigh.L"] @ AHEAD
    for side in ("L", "R"):  # forwards both hands are ahead, face and chest away from the floor
        assert found[FORWARD][f"forearm.{side}"] @ AHEAD > 0.5
    assert found[FORWARD]["head"] @ AHEAD < found[RELAXED]["head"] @ AHEAD < found[BACKWARD]["head"] @ AHEAD
    assert found[FORWARD]["chest"] @ AHEAD < 0.0 < found[BACKWARD]["chest"] @ AHEAD
    assert found[BACKWARD]["thigh.L"] @ AHEAD > 0.3  # the back is round, the knees are bent, hands behind
    assert max(found[BACKWARD][f"{bone}.{side}"] @ AHEAD for bone in ("upper_arm", "forearm") for side in "LR") < -0.5
    # The arm of that side reaches out, the head keeps away; right is left in the mirror.
    assert found[LEFT]["upper_arm.L"] @ ASIDE > 0.8 > found[LEFT]["upper_arm.R"] @ -ASIDE
    assert max(found[LEFT][bone] @ ASIDE for bone in ("chest", "head")) < -0.3
    for bone, way in found[LEFT].items():
        twin = bone[:-1] + {"L": "R", "R": "L"}.get(bone[-1], bone[-1]) if "." in bone else bone
        assert np.allclose(way, found[RIGHT][twin] * (-1, 1, 1), atol=1e-6), bone
    assert found[AIR]["thigh.L"] @ AHEAD > 0.8


# ---- falling ---------------------------------------------------------------------------------------------------------
def trunk(velocity=(0, 0, 0), lean=(0, 0, 1.0), clearance=1.0, size=1.8, gravity=9.81, turn=0.0):
    """Of somebody who looks along -Y and is turned about the vertical [rad]."""
    q = quaternion.from_axis_angle(UP, turn)
    axes = quaternion.rotate(q, np.array([AHEAD, ASIDE]))
    way, lean = quaternion.rotate(q, np.array([velocity, lean], dtype=float))
    return tone.Trunk(lean, way, axes, clearance, size, gravity * DOWN)


def fallen(found, seconds, fps=24.0, reflexes=True, fall=None):
    """After some seconds of the same motion."""
    fall = fall or tone.Fall()
    for _frame in range(round(seconds * fps)):
        fall = tone.step(fall, found, reflexes, 1.0 / fps)
    return fall


def strength(found, seconds, **how):
    """That of the tone by then."""
    return float(tone.strength(fallen(found, seconds, **how).calmed))


@pytest.mark.parametrize("turn", (0.0, 2.5))
@pytest.mark.parametrize(("way", "posture"), [(AHEAD, FORTH), (-AHEAD, BACK), (ASIDE, TO_LEFT), (-ASIDE, TO_RIGHT)])
def test_the_way_of_the_fall_chooses_the_posture(way, posture, turn):
    fall = fallen(trunk(1.5 * way, turn=turn), 0.4)
    assert int(np.argmax(fall.shares)) == posture and fall.shares[posture] > 0.9
    assert np.isclose(sum(fall.shares), 1.0) and (fall.gone < 0.9) == (posture == FORTH)  # moving until the floor
    assert fallen(trunk(1.5 * way, turn=turn), 0.4, reflexes=False).shares[RELAX] == 1.0
    axes = np.array([DOWN, ASIDE])  # who looks at the floor already, the head along -Y, still falls on his face
    found = tone.Trunk(np.array((0, -0.5, 0.2)), np.array((0, -1.0, -2.0)), axes, 0.2, 1.8, 9.81 * DOWN)
    assert fallen(found, 0.4).shares[FORTH] > 0.9


def test_high_above_the_floor_limbs_are_drawn_in_and_near_it_they_protect():
    up, low = trunk((0, -2.0, 0), clearance=6.0), trunk((0, -2.0, -5.0), clearance=1.0)
    assert fallen(up, 0.5).shares[HIGH] > 0.95 > 0.05 > fallen(low, 0.5).shares[HIGH]
    assert fallen(trunk(clearance=np.inf), 0.5).shares[HIGH] > 0.95  # no floor at all


def test_tone_fades_to_a_tenth_half_a_second_after_the_trunk_has_touched():
    lies = trunk(clearance=-0.01)
    assert strength(lies, 0.25) == pytest.approx(0.55, abs=0.01)
    assert strength(lies, 0.5) == pytest.approx(tone.LEFT) == strength(lies, 5.0)
    still, falls = trunk(), trunk((0, 0, -3.0))  # nothing touched: from the latest moment on, unless it still falls
    assert strength(still, 0.6) > 0.99 and strength(still, 1.2) == pytest.approx(tone.LEFT)
    assert strength(falls, 3.0) == 1.0
    # Who tumbles on protects himself as long as that lasts; without reflexes he does not.
    rolls = trunk((0, -2.0, 0), clearance=-0.01)
    assert strength(rolls, 2.0) == 1.0
    assert strength(rolls, 2.0, reflexes=False) == pytest.approx(tone.LEFT)
    # All tighten a tenth of a second before it touches, and let go in half a second, also of who tumbles on.
    high, low = (trunk((0, 0, -4.0), clearance=clearance) for clearance in (0.5, 0.3))
    assert fallen(high, 0.1).holds == tone.HOLDS > fallen(low, 0.1).holds == fallen(low, 0.1, fps=240.0).holds == 0.0
    assert all(0.0 < fallen(way, 0.3).holds < fallen(way, 0.7).holds == tone.HOLDS for way in (lies, rolls))


def test_who_sits_and_tips_over_another_way_goes_on_protecting_himself_all_but_his_legs():
    sits, tips = trunk(1.5 * ASIDE, clearance=-0.01), trunk(-0.9 * AHEAD, 0.3 * UP - 0.3 * AHEAD, clearance=-0.01)
    sat = fallen(sits, 0.1, fall=fallen(trunk(1.5 * ASIDE), 0.4))
    fall, plain = fallen(tips, 0.3, fall=sat), fallen(trunk(0.9 * ASIDE, clearance=-0.01), 0.3, fall=sat)
    assert fall.tips[BACK] > 0.8 and fall.shares[TO_LEFT] > 0.9 and fall.calmed < 0.1 and fall.faded > 0.25
    assert plain.tips == pytest.approx(plain.shares, abs=0.01) and plain.calmed == plain.faded > 0.25
    assert fallen(tips, 1.0, fall=fall).calmed > 0.5


def test_falls_are_alike_at_any_frame_rate_size_and_gravity():
    moving = {"velocity": 1.2 * AHEAD, "lean": 0.1 * AHEAD + UP}
    one = fallen(trunk(**moving), 0.25)
    assert np.allclose(fallen(trunk(**moving), 0.25, fps=240.0).shares, one.shares, atol=1e-9)
    for size, gravity in ((18.0, 9.81), (0.18, 9.81), (1.8, 1.62)):
        scale, speed = tone.pace(size, gravity), np.sqrt(size * gravity / (1.8 * 9.81))
        alike = trunk(moving["velocity"] * speed, moving["lean"] * size / 1.8, size / 1.8, size, gravity)
        found = fallen(alike, 0.25 * scale, fps=24.0 / scale)
        assert np.allclose(found.shares, one.shares) and np.isclose(found.clock, one.clock)


def test_the_pose_goes_over_from_that_of_the_knock_out_and_keeps_what_no_posture_says():
    start, end, lying = quaternion.normalize(np.random.default_rng(1).normal(size=(3, 3, 4)))
    known, alone, kept = np.tile(end, (6, 1, 1)), np.zeros(3, dtype=int), np.array((0.35, 0, 0))  # by a leg, forwards
    known[:, 1] = np.nan
    for gone, way in ((0.0, FORTH), (1.0, FORTH), (1.0, BACK)):
        shares = gone * np.array((0.65 if way == FORTH else 1.0, 0.0, 1.0))
        found = tone.target([tone.Fall(gone=gone, shares=np.eye(6)[way])], alone, start, tone.sided(known), kept)
        assert np.max(quaternion.angle_between(found, quaternion.slerp(start, end, shares))) < 1e-6
    stretched = quaternion.slerp(quaternion.identity(), start[0], 0.35)  # one stays ahead of the other
    # Muscles let go, legs once they are stretched out.
    for faded, legs in ((0.15, (False, False)), (0.4, (True, False)), (0.55, (False, True))):
        lies = tone.let_go(found, np.full(3, faded), kept > 0.0, stretched, lying)
        assert np.max(quaternion.angle_between(lies[1:], lying[1:])) < 1e-6
        assert (*(quaternion.angle_between(lies[0], [stretched, lying[0]]) < 1e-6),) == legs


def test_joints_stiffen_smoothly_before_their_limits_only_where_there_is_tone():
    high, weight = np.radians((90.0, 140.0)), np.full(2, 0.1)
    bounds = np.radians([[[-30, -20, -40], [90, 20, 40]], [[0, -np.inf, -np.inf], [140, np.inf, np.inf]]])

    def stiff(weight, *shares):  # of the way to the limit, one frame ago and now
        turns = (quaternion.from_rotation_vector(np.array([[share * each, 0, 0] for each in high])) for share in shares)
        return tone.stiffened(weight, 1.0, *turns, bounds)

    found = np.array([stiff(weight, share, share) for share in np.linspace(0.3, 1.0, 60)])
    assert (np.diff(found, axis=0) >= 0.0).all() and np.diff(found, axis=0).max() < 0.15
    assert np.allclose(found[0], 0.1) and np.allclose(found[-1], tone.STIFF)
    assert np.allclose(stiff(weight, 0.7, 0.8), stiff(weight, 0.9, 0.9))  # before it is there, the faster it goes there
    assert not stiff(0.0 * weight, 1.0, 1.0).any()


def test_a_hand_comes_to_where_it_is_to_be_within_the_shoulders_range():
    draw = np.random.default_rng(1)
    frames, (upper, lower) = quaternion.normalize(draw.normal(size=(2, 4))), draw.normal(size=(2, 3))
    bends = quaternion.from_axis_angle(np.eye(3)[0], np.linspace(-np.pi, np.pi, 2000))
    own = {"joints": [], "bones": set(), "above": 0, "bind": np.eye(4), "frames": frames, "shoulder": np.zeros(3)}
    hand = tone.Hand(**own, upper=upper, lower=lower, length=4.0, range=("CONE", [-3.0] * 3, [3.0] * 3), flexions=bends)
    nearest, farthest = (pick(np.linalg.norm(hand.palms(quaternion.identity(), bends), axis=1)) for pick in (min, max))
    for start in quaternion.normalize(draw.normal(size=(8, 4))):
        way = quaternion.rotate(start, DOWN) * 0.5 * (nearest + farthest)
        (there, hard), (beyond, harder) = (hand.reaching(start, far * way) for far in (1.0, 3.0))
        assert np.allclose(hand.palms(*there), way, atol=2e-3 * farthest) and hard < 0.2
        palm = hand.palms(*beyond)  # too far: it points there
        assert harder > 0.3 and palm @ way > 0.0 and np.allclose(np.cross(palm, way), 0.0, atol=1e-6)
    narrow = replace(hand, range=("CONE", [-0.3] * 3, [0.3] * 3))
    beyond = [limits.excess(*narrow.range, own.reaching(start, way)[0][0]) for own in (narrow, hand)]
    assert beyond[0] < beyond[1] - 0.1  # it turns about the way as the shoulder allows
