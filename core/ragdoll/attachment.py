"""Attachments: what a constraint that is made in mid-shot must be like, so that a body comes to be held as it should.

A constraint's zero is where its two bodies stand when it is made. One that is made at the moment therefore keeps the
offset of that moment. A stated offset is approached: a kinematic holder is led there; between two simulated bodies the
constraint is made anew in every frame, its limits being the step that is due.
"""

import numpy as np

from .. import pose, quaternion

POINT, FIXED, DISTANCE = "POINT", "FIXED", "DISTANCE"
MOMENT, STATED = "MOMENT", "STATED"
FARTHEST_STEP = np.radians(60.0)  # of turn within a frame: well inside the 90 degrees where Euler angles degenerate
SWAY = 0.15  # of a rope's length that its end may be aside of where it was expected, in each of two directions
TAUT = 0.8  # of its length: a shorter distance does not become too long by less than that


def rope(point, anchor, velocity, length: float, far: float, gravity: float, seconds: float) -> tuple[np.ndarray, list]:
    """The frame [4, 4] of a rope's constraint for the frame to come and its three limits [m], None where it has none.

    X is the direction along which the rope pulls in the frame's middle, so that a swinging end neither gains nor loses
    length to first order: with an angle a between middle and end the rope is `length * cos(a)` long along it. The first
    limit is how far the end may move along it, negative while the rope is stretched.

    That limit is a plane; beside the place that it was made for, the plane is farther than the rope is long. A limb
    that whips round when the rope becomes taut would come there: 0.9 m out on a rope of 0.08 m. So the end of a taut
    rope may come aside of where its velocity takes it by no more than `SWAY` of the length, at most 2.3 % too far. What
    gravity does is always allowed.

    Args:
        point, anchor: its ends now [3], [m]. velocity: of the first against the second [3], [m/s].
        length: [m]. far: what is as good as no limit [m]. gravity: the scene's [m/s^2]. seconds: of the frame.
    """
    now, moved = np.asarray(point, dtype=float) - anchor, np.asarray(velocity, dtype=float) * seconds
    end, middle = now + moved, now + 0.5 * moved
    size = float(np.linalg.norm(middle))
    if size < 1e-9 * max(length, 1e-9):
        middle, size = np.array([0.0, 0.0, -1.0]), 1.0
    axis, reach = middle / size, float(np.linalg.norm(end))
    cosine = float(axis @ end) / reach if reach > 1e-9 else 1.0
    z = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    z /= np.linalg.norm(z)
    turn = np.stack([axis, np.cross(z, axis), z], axis=1)
    limits = [(-far, length * max(cosine, 0.5) - float(axis @ now)), None, None]
    if max(np.linalg.norm(now), reach) >= TAUT * length:
        aside = max(SWAY * length, 1.5 * gravity * seconds**2)
        limits[1:] = [(float(y - aside), float(y + aside)) for y in (turn.T @ moved)[1:]]
    return pose.affine(turn, point), limits


def turned_towards(turn, share: float) -> np.ndarray:
    """A share of a turn [3, 3], as Euler angles [3] (rad) for the limits of a GENERIC constraint.

    Its object1 is what turns are measured against, its object2 what turns, its frame has the axes of the turns' space.
    Bullet takes the angles of the inverse rotation, as Rx Ry Rz.
    """
    turn = quaternion.to_rotation_vector(quaternion.from_matrix(turn)) * share
    turn *= min(1.0, FARTHEST_STEP / max(float(np.linalg.norm(turn)), 1e-12))
    m = quaternion.to_matrix(quaternion.from_rotation_vector(-turn))
    x, z = np.arctan2(-m[1, 2], m[2, 2]), np.arctan2(-m[0, 1], m[0, 0])
    return np.array([x, np.arcsin(np.clip(m[0, 2], -1.0, 1.0)), z])
