"""Bodies that the animation takes into each other."""

import numpy as np

from core.ragdoll import meeting
from core.ragdoll.shape_fit import BOX, SPHERE, Shape


def _moved(*offsets):
    result = np.tile(np.eye(4), (len(offsets), 2, 1, 1))
    result[:, 1, 0, 3] = offsets
    return result


def _spheres():
    return [Shape(SPHERE, np.array((x, 0.0, 0.0)), np.eye(3), np.full(3, 0.5)) for x in (0.0, 2.0)]


def test_spheres_meet_where_their_distance_is_less_than_their_radii():
    for offset, meets in ((0.0, False), (-0.95, False), (-1.05, True), (-3.5, False), (-2.5, True)):
        assert meeting.meeting(_spheres(), [0], [1], _moved(0.0, offset), 0.01)[0] == meets


def test_a_touch_counts_in_the_first_pose_only():
    assert meeting.meeting(_spheres(), [0], [1], _moved(-1.005, 0.0), 0.01)[0]
    assert not meeting.meeting(_spheres(), [0], [1], _moved(0.0, -1.005), 0.01)[0]


def test_turned_boxes_meet_by_their_corners():
    """Two unit cubes 1.2 apart: side by side they do not meet, one turned by 45 degrees reaches 0.71."""
    cubes = [Shape(BOX, np.array((x, 0.0, 0.0)), np.eye(3), np.full(3, 0.5)) for x in (0.0, 1.2)]
    turned = np.tile(np.eye(4), (2, 2, 1, 1))
    cos = np.sqrt(0.5)
    turned[1, 1, :2, :2] = ((cos, -cos), (cos, cos))
    turned[1, 1, :3, 3] = cubes[1].center - turned[1, 1, :3, :3] @ cubes[1].center
    assert not meeting.meeting(cubes, [0], [1], turned[:1], 1e-3)[0]
    assert meeting.meeting(cubes, [0], [1], turned, 1e-3)[0]
