"""Re-rooting: where a body lies, which side is up, and what moves there."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core import quaternion
from core.errors import RagdollError
from core.ragdoll.recovery import transitions
from core.ragdoll.recovery.transitions import FACE_DOWN, FACE_UP, UP

NUMBER = st.floats(-1.0, 1.0)
VECTOR = st.tuples(NUMBER, NUMBER, NUMBER).map(np.array)
TURN = VECTOR.map(lambda v: quaternion.from_rotation_vector(3.0 * v))
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
    assert str(transitions.faces(back)) == FACE_UP and str(transitions.faces(face)) == FACE_DOWN
    assert transitions.heading(back) == pytest.approx([0.0, -1.0, 0.0])
    assert face.along == pytest.approx([0.0, -1.0, 0.0])
    assert transitions.heading(face) == pytest.approx([0.0, -1.0, 0.0])


@given(st.floats(-1.4, 1.4), st.floats(-1.4, 1.4), YAW)
def test_falling_forwards_or_backwards_keeps_the_heading(pitch, _roll, angle):
    """The trunk turned about its own lateral axis, any way but head down."""
    rotation = quaternion.multiply(yaw(angle), quaternion.from_axis_angle(np.array([1.0, 0.0, 0.0]), pitch * 2.0))
    expected = quaternion.rotate(yaw(angle), np.array([0.0, -1.0, 0.0]))
    assert transitions.heading(lying(rotation)) == pytest.approx(expected, abs=1e-6)


@given(TURN, YAW)
def test_headings_and_faces_turn_with_the_world(rotation, angle):
    one, other = lying(rotation), lying(quaternion.multiply(yaw(angle), rotation))
    assume(one.along[2] > -0.999 and abs(one.forward[2]) > 1e-6)
    assert transitions.heading(other) == pytest.approx(
        quaternion.rotate(yaw(angle), transitions.heading(one)), abs=1e-6
    )
    assert transitions.faces(one) == transitions.faces(other)
    assert transitions.heading(one)[2] == pytest.approx(0.0, abs=1e-9)
    assert np.linalg.norm(transitions.heading(one)) == pytest.approx(1.0)


@given(TURN, TURN, VECTOR, st.floats(-1.0, 1.0))
def test_the_animation_comes_to_where_the_body_lies(rest_turn, start_turn, place, rise):
    rest, start = lying(rest_turn, 5.0 * place), lying(start_turn)
    assume(rest.along[2] > -0.999 and start.along[2] > -0.999)
    move = transitions.rerooted(rest, start, rise)
    pelvis = move.positions(start.pelvis)
    assert pelvis[:2] == pytest.approx(rest.pelvis[:2])
    assert pelvis[2] == pytest.approx(start.pelvis[2] + rise)
    points = move.positions(quaternion.rotate(start_turn, STANDING))
    assert transitions.heading(transitions.trunk(*points)) == pytest.approx(transitions.heading(rest), abs=1e-6)
    # Rigid, about the vertical: the floor stays a floor.
    assert quaternion.rotate(move.rotation, UP) == pytest.approx(UP)
    matrix = move.matrix()
    assert matrix[:3, :3] @ start.pelvis + matrix[:3, 3] == pytest.approx(pelvis)
    assert quaternion.to_matrix(move.rotations(start_turn)) == pytest.approx(
        matrix[:3, :3] @ quaternion.to_matrix(start_turn)
    )


@given(YAW, YAW)
def test_opposite_headings_turn_about_the_vertical(one, other):
    for extra in (0.0, np.pi):
        move = transitions.rerooted(lying(yaw(one)), lying(yaw(one + extra)))
        assert quaternion.rotate(move.rotation, UP) == pytest.approx(UP)
    move = transitions.rerooted(lying(yaw(other)), lying(yaw(one)))
    assert quaternion.angle_between(move.rotation, yaw(other - one)) == pytest.approx(0.0, abs=1e-7)


def test_head_down_there_is_a_heading_too():
    down = lying(quaternion.from_axis_angle(np.array([0.0, 1.0, 0.0]), np.pi))
    assert transitions.heading(down) == pytest.approx([0.0, -1.0, 0.0])


def test_points_that_make_no_trunk_are_refused():
    with pytest.raises(RagdollError, match="one line"):
        transitions.trunk((0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3))
    with pytest.raises(RagdollError, match="chest"):
        transitions.trunk((0, 0, 0), (0, 0, np.nan), (1, 0, 1), (-1, 0, 1))
