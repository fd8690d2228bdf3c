"""From limp to animated: blending without jumps, where a body lies, which side is up, and what moves there."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core import quaternion
from core.errors import RagdollError
from core.ragdoll.recovery import transitions
from core.ragdoll.recovery.transitions import FACE_DOWN, FACE_UP, UP, Moving, cross_faded, transition

NUMBER = st.floats(-1.0, 1.0)
VECTOR = st.tuples(NUMBER, NUMBER, NUMBER).map(np.array)
TURN = VECTOR.map(lambda v: quaternion.from_rotation_vector(1.6 * v))
ANY_TURN = VECTOR.map(lambda v: quaternion.from_rotation_vector(3.0 * v))
DURATION = st.floats(0.05, 3.0)
SMALL = 1e-5


def motion(place, velocity, rotation, spin, seconds):
    return place + velocity * seconds, quaternion.multiply(quaternion.from_rotation_vector(spin * seconds), rotation)


MOTION = st.tuples(VECTOR, VECTOR, TURN, VECTOR)


@given(MOTION, MOTION, DURATION)
def test_no_velocity_jumps_at_start_or_end(old, new, duration):
    """Position and rotation, from before to after each of the two moments."""
    blend = transition(Moving(old[0], old[2], old[1], old[3]), Moving(new[0], new[2], new[1], new[3]), duration)

    def played(seconds):
        if seconds < 0.0:
            return motion(*old[:2], *old[2:], seconds)
        return blend.applied(*motion(*new[:2], *new[2:], seconds), seconds)

    half_turn = abs(quaternion.multiply(old[2], quaternion.conjugate(new[2]))[0]) < 0.02
    for moment in (0.0, duration):
        before, now, after = (played(moment + step) for step in (-SMALL, 0.0, SMALL))
        assert (after[0] - now[0]) / SMALL == pytest.approx((now[0] - before[0]) / SMALL, abs=0.02)
        if not half_turn:
            turns = [
                quaternion.to_rotation_vector(quaternion.multiply(b, quaternion.conjugate(a))) / SMALL
                for a, b in ((before[1], now[1]), (now[1], after[1]))
            ]
            assert turns[0] == pytest.approx(turns[1], abs=0.05)
    place, rotation = played(duration + 1.0)
    there = motion(*new[:2], *new[2:], duration + 1.0)
    assert place == pytest.approx(there[0], abs=1e-9)
    assert quaternion.angle_between(rotation, there[1]) == pytest.approx(0.0, abs=1e-7)


@given(MOTION, MOTION)
def test_a_cross_fade_has_no_jump_either(old, new):
    def played(seconds):
        share = np.clip(seconds, 0.0, 1.0)
        return cross_faded(*motion(*old[:2], *old[2:], seconds), *motion(*new[:2], *new[2:], seconds), share)

    for moment, state in ((0.0, old), (1.0, new)):
        for step in (-SMALL, SMALL):
            velocity = (played(moment + step)[0] - played(moment)[0]) / step
            assert velocity == pytest.approx(state[1], abs=1e-3)
    assert quaternion.angle_between(played(0.0)[1], old[2]) == pytest.approx(0.0, abs=1e-9)
    assert quaternion.angle_between(played(1.0)[1], motion(*new[:2], *new[2:], 1.0)[1]) == pytest.approx(0.0, abs=1e-9)


YAW = st.floats(-3.1, 3.1)
# A man who stands, facing -Y: pelvis, chest, left and right shoulder.
STANDING = np.array([[0.0, 0.0, 0.95], [0.0, 0.0, 1.4], [0.2, 0.0, 1.4], [-0.2, 0.0, 1.4]])
ON_BACK = quaternion.from_axis_angle(np.array([1.0, 0.0, 0.0]), -0.5 * np.pi)  # the head falls to +Y, behind him
ON_FACE = quaternion.from_axis_angle(np.array([1.0, 0.0, 0.0]), 0.5 * np.pi)


def lying(rotation, place=(0.0, 0.0, 0.0)):
    return transitions.trunk(*(quaternion.rotate(rotation, STANDING) + place))


def yaw(angle):
    return quaternion.from_axis_angle(UP, angle)


def test_on_the_back_one_looks_to_the_feet_and_on_the_face_to_the_head():
    back, face = lying(ON_BACK), lying(ON_FACE)
    assert back.along == pytest.approx([0.0, 1.0, 0.0]) and back.forward == pytest.approx(UP)
    assert transitions.faces(back) == FACE_UP and transitions.faces(face) == FACE_DOWN
    assert transitions.heading(back) == pytest.approx([0.0, -1.0, 0.0])
    assert face.along == pytest.approx([0.0, -1.0, 0.0])
    assert transitions.heading(face) == pytest.approx([0.0, -1.0, 0.0])


@given(ANY_TURN, YAW)
def test_headings_and_faces_turn_with_the_world(rotation, angle):
    one, other = lying(rotation), lying(quaternion.multiply(yaw(angle), rotation))
    assume(one.along[2] > -0.999 and abs(one.forward[2]) > 1e-6)
    assert transitions.heading(other) == pytest.approx(
        quaternion.rotate(yaw(angle), transitions.heading(one)), abs=1e-6
    )
    assert transitions.faces(one) == transitions.faces(other)
    assert transitions.heading(one)[2] == pytest.approx(0.0, abs=1e-9)
    assert np.linalg.norm(transitions.heading(one)) == pytest.approx(1.0)


@given(ANY_TURN, ANY_TURN, VECTOR, st.floats(-1.0, 1.0))
def test_the_animation_comes_to_where_the_body_lies(rest_turn, start_turn, place, rise):
    rest, start = lying(rest_turn, 5.0 * place), lying(start_turn)
    assume(rest.along[2] > -0.999 and start.along[2] > -0.999)
    move = transitions.rerooted(rest, start, rise)
    matrix = move.matrix()

    def moved(points):
        return points @ matrix[:3, :3].T + matrix[:3, 3]

    pelvis = moved(start.pelvis)
    assert pelvis[:2] == pytest.approx(rest.pelvis[:2])
    assert pelvis[2] == pytest.approx(start.pelvis[2] + rise)
    points = moved(quaternion.rotate(start_turn, STANDING))
    assert transitions.heading(transitions.trunk(*points)) == pytest.approx(transitions.heading(rest), abs=1e-6)
    # Rigid, about the vertical: the floor stays a floor.
    assert matrix[:3, :3] @ UP == pytest.approx(UP)
    assert matrix[:3, :3] @ matrix[:3, :3].T == pytest.approx(np.eye(3))


@pytest.mark.parametrize("chest", ((0.0, 0.0, 1.0), (0.0, 0.0, np.nan)))
def test_points_that_make_no_trunk_are_refused(chest):
    with pytest.raises(RagdollError, match="one line"):
        transitions.trunk(*np.array([(0.0, 0.0, 0.0), chest, (0.0, 0.0, 2.0), (0.0, 0.0, 3.0)]))
