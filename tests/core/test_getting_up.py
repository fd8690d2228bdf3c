"""Passages: they begin with the pose that was shown, end with the moved motion, and keep their place in any world."""

import numpy as np
import pytest
from pose_samples import human, random_pose

from core import pose as pose_space
from core import quaternion
from core.errors import RagdollError
from core.motion import getting_up
from core.motion.clip import Clip
from core.motion.stack import LocalPose, Rig
from core.ragdoll.recovery.transitions import Landmarks, Reroot

FPS = 24.0


def _pose(seed):
    return random_pose(np.random.default_rng(seed), (len(human()),), scaled=False)


@pytest.fixture
def rig():
    return Rig(human(), _pose(3))


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


@pytest.mark.parametrize("method", getting_up.METHODS)
@pytest.mark.parametrize("scale", (0.01, 1.0, 100.0))
def test_a_passage_begins_with_what_was_shown_and_ends_with_the_moved_motion(rig, method, scale):
    world = _world(scale)
    old, new, passage = _begun(rig, method, world)
    at_first = _matrices(rig, passage.pose(rig, new, world, 10.0))
    assert np.allclose(at_first, old, atol=1e-9)
    at_last = world @ _matrices(rig, passage.pose(rig, new, world, 10.0 + FPS))
    assert passage.seconds(34.0) == pytest.approx(1.0)
    assert np.allclose(at_last, _move().matrix() @ world @ _matrices(rig, new), atol=1e-8 * scale)


def test_what_lies_still_in_an_object_that_moves_gets_up_from_where_it_lies(rig):
    """The planned motion begins at rest in the world; the armature object goes on with its animation."""
    pose, worlds = _pose(1), (_world(), _world())
    worlds[1][:3, 3] -= (0.04, 0.0, 0.0)  # a walker's, the frame before
    old = [np.linalg.solve(world, worlds[0] @ _matrices(rig, pose)) for world in worlds]
    still = LocalPose(*(np.stack([array] * 9) for array in vars(pose).values()))
    planned = Clip("still", rig.skeleton.names, FPS, still)
    passage = getting_up.begun(rig, old, (), worlds, _move(), frame=10.0, fps=FPS, duration=0.3, planned=planned)
    for frame in (10.0, 12.0, 16.0):
        assert np.allclose(_matrices(rig, passage.pose(rig, pose, worlds[0], frame)), _matrices(rig, pose), atol=1e-9)


def test_the_lowest_joint_stays_above_the_floor_on_the_way(rig):
    world = np.eye(4)
    rows = np.array([rig.index[name] for name in ("hips", "spine", "foot.L")])
    old, new, passage = _begun(rig, getting_up.INERTIALIZED, world, lowest=rows)
    ends = old[rows, 2, 3].min(), (_move().matrix() @ _matrices(rig, new))[rows, 2, 3].min()
    heights = [
        _matrices(rig, passage.pose(rig, new, world, 10.0 + frame))[rows, 2, 3].min()
        for frame in np.linspace(0, 24, 49)
    ]
    assert min(heights) >= min(ends) - 1e-9
    assert heights[0] == pytest.approx(ends[0]) and heights[-1] == pytest.approx(ends[1])


def test_refusals(rig):
    with pytest.raises(RagdollError, match="SUDDEN"):
        _begun(rig, "SUDDEN", np.eye(4))
    broken = _matrices(rig, _pose(1))
    broken[rig.index["thigh.L"]] = np.nan
    pose = _pose(2)
    with pytest.raises(RagdollError, match=r'"thigh\.L"'):
        getting_up.begun(
            rig, (broken, broken), (pose, pose), (np.eye(4), np.eye(4)), _move(), frame=1.0, fps=FPS, duration=1.0
        )
    with pytest.raises(RagdollError, match="scale of 0"):
        getting_up.moved_pose(rig, pose, _move().matrix(), np.zeros((4, 4)))


def test_without_anatomy_the_pelvis_alone_says_where_a_body_lies():
    marks = Landmarks(0, None, np.array([0]), 1.8)
    animated = np.eye(4)[None]
    turn = quaternion.to_matrix(quaternion.from_axis_angle((0.0, 0.0, 1.0), 0.7))
    rest = np.eye(4)[None].copy()
    rest[0, :3, :3], rest[0, :3, 3] = turn, (3.0, 4.0, 0.1)
    move = marks.move(rest, animated)
    assert np.allclose(move.matrix()[:3, :3], turn) and np.allclose(move.shift, (3.0, 4.0, 0.0))
    rest[0, 2, 3] = 1.0  # a step: another floor
    assert marks.move(rest, animated).shift[2] == pytest.approx(1.0)
    assert marks.action(rest, "", "down") == "down"
