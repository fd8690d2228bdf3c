"""Leading bodies back whose joints were thrown over their limits."""

import numpy as np
import pytest

from core import pose, quaternion
from core.ragdoll import dislocation


def places(rng, count: int) -> np.ndarray:
    return pose.compose_matrices(
        rng.normal(size=(count, 3)), quaternion.from_rotation_vector(rng.normal(size=(count, 3)))
    )


def test_the_way_back_leads_from_where_a_body_is_to_where_it_is_wanted():
    rng = np.random.default_rng(0)
    body, wanted = places(rng, 6), places(rng, 6)
    ways, turns = dislocation.offsets(body, wanted)
    there = [dislocation.on_the_way(wanted, ways, turns, np.full(6, s)) for s in (0.0, dislocation.RETURNS, 9.0)]
    assert np.abs(there[0] - body).max() < 1e-12
    assert np.array_equal(there[1], wanted) and np.array_equal(there[2], wanted)


def test_it_leaves_and_arrives_without_haste_and_turns_the_shortest_way():
    rng = np.random.default_rng(1)
    body, wanted = places(rng, 5), places(rng, 5)
    ways, turns = dislocation.offsets(body, wanted)
    shares = np.linspace(0.0, 1.0, 201)
    way = np.array([dislocation.on_the_way(wanted, ways, turns, np.full(5, s * dislocation.RETURNS)) for s in shares])
    angles = np.array([dislocation.angles_off(now, wanted) for now in way])
    assert np.all(np.diff(angles, axis=0) <= 1e-6)
    assert angles[0] == pytest.approx(dislocation.angles_off(body, wanted))
    speeds = np.abs(np.diff(angles, axis=0))
    assert speeds[0].max() < 0.001 * speeds.max() and speeds[-1].max() < 0.001 * speeds.max()


def test_joint_rotations_do_not_see_where_the_character_is():
    """The identity in bind pose, also moved and turned; a turn about the joint's axis is read."""
    rng = np.random.default_rng(2)
    bind_child, bind_parent, frame = places(rng, 4), places(rng, 4), places(rng, 4)
    child_frames, parent_frames = np.linalg.inv(bind_child) @ frame, np.linalg.inv(bind_parent) @ frame
    moved = places(rng, 1)[0]
    rest = dislocation.joint_rotations(moved @ bind_child, moved @ bind_parent, child_frames, parent_frames)
    assert quaternion.angle_between(rest, quaternion.identity((4,))).max() < 1e-7
    about_x = quaternion.from_axis_angle((1.0, 0.0, 0.0), np.full(4, 0.7))
    turn = frame @ pose.compose_matrices(np.zeros((4, 3)), about_x) @ np.linalg.inv(frame)
    found = dislocation.joint_rotations(moved @ turn @ bind_child, moved @ bind_parent, child_frames, parent_frames)
    assert quaternion.angle_between(found, about_x).max() < 1e-7
