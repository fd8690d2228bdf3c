"""From limp to animated: blending without jumps, where a body lies, which side is up; passages from there."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pose_samples import human, random_pose

from core import pose as pose_space
from core import quaternion
from core.errors import RagdollError
from core.motion import clip, getting_up, stack
from core.ragdoll.recovery import transitions
from core.ragdoll.recovery.transitions import FACE_DOWN, FACE_UP, UP, Landmarks, Moving, Reroot, cross_faded, transition
from core.skeleton import Skeleton
from refusals import refuses

NUMBER = st.floats(-1.0, 1.0)
VECTOR = st.tuples(NUMBER, NUMBER, NUMBER).map(np.array)
TURN = VECTOR.map(lambda v: quaternion.from_rotation_vector(1.6 * v))
ANY_TURN = VECTOR.map(lambda v: quaternion.from_rotation_vector(3.0 * v))
DURATION = st.floats(0.05, 3.0)
MOTION = st.tuples(VECTOR, VECTOR, TURN, VECTOR)
SMALL, FPS = 1e-5, 24.0


def motion(place, velocity, rotation, spin, seconds):
    return place + velocity * seconds, quaternion.multiply(quaternion.from_rotation_vector(spin * seconds), rotation)


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
            assert (played(moment + step)[0] - played(moment)[0]) / step == pytest.approx(state[1], abs=1e-3)
    assert quaternion.angle_between(played(0.0)[1], old[2]) == pytest.approx(0.0, abs=1e-9)
    assert quaternion.angle_between(played(1.0)[1], motion(*new[:2], *new[2:], 1.0)[1]) == pytest.approx(0.0, abs=1e-9)


# A man who stands, facing -Y: pelvis, chest, left and right shoulder.
STANDING = np.array([[0.0, 0.0, 0.95], [0.0, 0.0, 1.4], [0.2, 0.0, 1.4], [-0.2, 0.0, 1.4]])
ON_BACK = quaternion.from_axis_angle(np.array([1.0, 0.0, 0.0]), -0.5 * np.pi)  # the head falls to +Y, behind him
ON_FACE = quaternion.from_axis_angle(np.array([1.0, 0.0, 0.0]), 0.5 * np.pi)


def lying(rotation, place=(0.0, 0.0, 0.0)):
    return transitions.trunk(*(quaternion.rotate(rotation, STANDING) + place))


def test_on_the_back_one_looks_to_the_feet_and_on_the_face_to_the_head():
    back, face = lying(ON_BACK), lying(ON_FACE)
    assert back.along == pytest.approx([0.0, 1.0, 0.0]) and back.forward == pytest.approx(UP)
    marks, level = Landmarks(0, (1, 2, 3), np.zeros((1, 4)), 1.8), quaternion.identity((4,))
    for turn, face_to in ((ON_BACK, FACE_UP), (ON_FACE, FACE_DOWN)):
        assert marks.face(pose_space.compose_matrices(quaternion.rotate(turn, STANDING), level)) == face_to
    assert transitions.heading(back) == pytest.approx([0.0, -1.0, 0.0])
    assert face.along == pytest.approx([0.0, -1.0, 0.0])
    assert transitions.heading(face) == pytest.approx([0.0, -1.0, 0.0])


@given(ANY_TURN, ANY_TURN, VECTOR, st.floats(-1.0, 1.0))
def test_the_animation_comes_to_where_the_body_lies(rest_turn, start_turn, place, rise):
    rest, start, face = lying(rest_turn, 5.0 * place), lying(start_turn), lying(ON_FACE)
    assume(rest.along[2] > -0.999 and start.along[2] > -0.999)
    matrix = transitions.rerooted(rest, start, rise).matrix()
    pelvis = pose_space.moved(start.pelvis, matrix)
    assert pelvis[:2] == pytest.approx(rest.pelvis[:2])
    assert pelvis[2] == pytest.approx(start.pelvis[2] + rise)
    points = pose_space.moved(quaternion.rotate(start_turn, STANDING), matrix)
    assert transitions.heading(transitions.trunk(*points)) == pytest.approx(transitions.heading(rest), abs=1e-6)
    level = quaternion.rotate(transitions.rerooted(rest, face, level=True).rotation, face.along)[:2]
    assert level * np.linalg.norm(rest.along[:2]) == pytest.approx(rest.along[:2])  # rolls over, not over its head
    assert matrix[:3, :3] @ UP == pytest.approx(UP)  # rigid, about the vertical: the floor stays a floor
    assert matrix[:3, :3] @ matrix[:3, :3].T == pytest.approx(np.eye(3))


def _pose(seed):
    return random_pose(np.random.default_rng(seed), (len(human()),), scaled=False)


@pytest.fixture
def rig():
    return stack.Rig(human(), _pose(3))


def _matrices(rig, pose):
    return pose_space.compose_matrices(*pose.model(rig.skeleton))


def _world(scale=1.0, seed=9):
    place = random_pose(np.random.default_rng(seed), ())
    return pose_space.compose_matrices(place.positions, place.rotations, np.full(3, scale))


def _move():
    return Reroot(quaternion.from_axis_angle((0.0, 0.0, 1.0), 2.0), np.array([1.0, -2.0, 0.3]))


def _begun(rig, method, world, **more):
    old = _matrices(rig, _pose(1))
    new = _pose(2)
    carriers = getting_up.carriers_of(rig, [rig.index[name] for name in ("hips", "spine", "foot.L")])
    return old, new, getting_up.begun(
        rig, (old, old), (new, new), (world, world), _move(),
        frame=10.0, fps=FPS, duration=1.0, carriers=carriers, method=method, **more,
    )  # fmt: skip


@pytest.mark.parametrize("method", (getting_up.INERTIALIZED, getting_up.CROSS_FADED))
@pytest.mark.parametrize("scale", (0.01, 1.0, 100.0))
def test_a_passage_begins_with_what_was_shown_and_ends_with_the_moved_motion(rig, method, scale):
    world = _world(scale)
    old, new, passage = _begun(rig, method, world)
    assert np.allclose(_matrices(rig, passage.pose(rig, new, world, 10.0)), old, atol=1e-9)
    at_last = world @ _matrices(rig, passage.pose(rig, new, world, 10.0 + FPS))
    assert passage.seconds(34.0) == pytest.approx(1.0)
    assert np.allclose(at_last, _move().matrix() @ world @ _matrices(rig, new), atol=1e-8 * scale)


def test_what_lies_still_in_an_object_that_moves_gets_up_from_where_it_lies(rig):
    """The planned motion begins at rest in the world; the armature object goes on with its animation."""
    pose, worlds = _pose(1), (_world(), _world())
    worlds[1][:3, 3] -= (0.04, 0.0, 0.0)  # a walker's, the frame before
    old = [np.linalg.solve(world, worlds[0] @ _matrices(rig, pose)) for world in worlds]
    still = stack.LocalPose(*(np.stack([array] * 9) for array in vars(pose).values()))
    planned = clip.Clip("still", rig.skeleton.names, FPS, still)
    passage = getting_up.begun(rig, old, (), worlds, _move(), frame=10.0, fps=FPS, duration=0.3, planned=planned)
    for frame in (10.0, 12.0, 16.0):
        assert np.allclose(_matrices(rig, passage.pose(rig, pose, worlds[0], frame)), _matrices(rig, pose), atol=1e-9)


def test_the_lowest_joint_stays_above_the_floor_on_the_way(rig):
    world = np.eye(4)
    rows = np.array([rig.index[name] for name in ("hips", "spine", "foot.L")])
    old, new, passage = _begun(rig, getting_up.INERTIALIZED, world, lowest=np.insert(np.zeros((3, 3)), 0, rows, axis=1))
    ends = old[rows, 2, 3].min(), (_move().matrix() @ _matrices(rig, new))[rows, 2, 3].min()
    poses = [passage.pose(rig, new, world, frame) for frame in np.linspace(10, 34, 49)]
    heights = [_matrices(rig, pose)[rows, 2, 3].min() for pose in poses]
    assert min(heights) >= min(ends) - 1e-9
    assert heights[0] == pytest.approx(ends[0]) and heights[-1] == pytest.approx(ends[1])


def test_what_hangs_on_one_root_is_not_raised_by_what_hangs_on_another():
    """As hooves do that are roots of a control rig, beside the body's."""
    two = Skeleton.from_parents(("body", "hoof"), (-1, -1))
    still = stack.LocalPose(np.zeros((2, 3)), quaternion.identity((2,)), np.ones((2, 3)))
    rig, old = stack.Rig(two, still), np.tile(np.eye(4), (2, 2, 1, 1))
    old[1, 1, 2, 3] = 0.1  # [m] the frame before: the hoof sinks, and sinks on as the difference dies away
    shown = []
    for lowest in ((), np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])):
        more = {"frame": 1.0, "fps": FPS, "duration": 1.0, "lowest": lowest}
        none = Reroot(quaternion.identity(), np.zeros(3))
        passage = getting_up.begun(rig, old, (still, still), (np.eye(4),) * 2, none, **more)
        shown.append([passage.pose(rig, still, np.eye(4), frame).positions[:, 2] for frame in np.arange(1.0, 26.0)])
    free, held = np.array(shown)
    assert free.min() < -0.1 and np.allclose(held, 0.0)
    assert np.array_equal(free[:, 0], held[:, 0])


def test_refusals(rig):
    broken = _matrices(rig, _pose(1))
    broken[rig.index["thigh.L"]] = np.nan
    pose, places = _pose(2), (np.eye(4), np.eye(4))
    with pytest.raises(RagdollError, match=r'"thigh\.L"'):
        getting_up.begun(rig, (broken, broken), (pose, pose), places, _move(), frame=1.0, fps=FPS, duration=1.0)
    refuses("scale of 0", getting_up.moved_pose, rig, pose, _move().matrix(), np.zeros((4, 4)))
    for chest in (1.0, np.nan):  # points that make no trunk
        refuses("one line", transitions.trunk, *np.array([(0.0, 0.0, height) for height in (0.0, chest, 2.0, 3.0)]))


def test_without_anatomy_the_pelvis_alone_says_where_a_body_lies():
    marks = Landmarks(0, None, np.zeros((1, 4)), 1.8)
    turn = quaternion.to_matrix(quaternion.from_axis_angle((0.0, 0.0, 1.0), 0.7))
    rest, animated = np.eye(4)[None].copy(), np.eye(4)[None]
    rest[0, :3, :3], rest[0, :3, 3] = turn, (3.0, 4.0, 0.1)
    move = marks.move(rest, animated)
    assert np.allclose(move.matrix()[:3, :3], turn) and np.allclose(move.shift, (3.0, 4.0, 0.0))
    rest[0, 2, 3] = 1.0  # a step: another floor
    assert marks.move(rest, animated).shift[2] == pytest.approx(1.0)
    assert marks.action(rest, "", "down") == "down"
    pose = np.array([np.diag((-2.0, -2.0, -2.0, 1.0)), np.diag((0.0, 0.0, 0.0, 1.0))])  # mirrored, and without size
    assert (transitions.heights_of(np.array([(0.0, 0.0, 0.0, -0.5), (1.0, 0.0, 0.0, -9.0)]), pose) == (-0.5, 0.0)).all()
