"""Attachments: what a constraint that is made in mid-shot must be like, so that a body comes to be held as it should.

A constraint's zero is where its two bodies stand when it is made. One that is made at the moment therefore keeps the
offset of that moment. A stated offset is approached: a kinematic holder is led there; between two simulated bodies the
constraint is made anew in every frame, its limits being the step that is due.
"""

import numpy as np

from .. import quaternion
from ..pose import affine

POINT, FIXED, DISTANCE = "POINT", "FIXED", "DISTANCE"
MOMENT, STATED = "MOMENT", "STATED"
FARTHEST_STEP = np.radians(60.0)  # of turn within a frame: well inside the 90 degrees where Euler angles degenerate
SWAY = 0.15  # of a rope's length that its end may be aside of where it was expected, in each of two directions
TAUT = 0.8  # of its length: a shorter distance does not become too long by less than that


def eased(share: float) -> float:
    """A share of time [0..1] as a share of way that begins and ends at rest."""
    share = min(max(share, 0.0), 1.0)
    return share * share * (3.0 - 2.0 * share)


def between(first, second, share: float) -> np.ndarray:
    """The rigid matrix [4, 4] a share of the way from the first to the second."""
    if share <= 0.0 or share >= 1.0:
        return np.array(first if share <= 0.0 else second, dtype=float)
    turns = quaternion.from_matrix(np.stack([first[:3, :3], second[:3, :3]]))
    return placed((1.0 - share) * first[:3, 3] + share * second[:3, 3], quaternion.slerp(turns[0], turns[1], share))


def placed(location, rotation=(1.0, 0.0, 0.0, 0.0)) -> np.ndarray:
    """A rigid matrix [4, 4] from a place [3] and a rotation [4]."""
    return affine(quaternion.to_matrix(np.asarray(rotation, dtype=float)), location)


def rope(point, anchor, velocity, anchor_velocity, length: float, seconds: float) -> tuple[np.ndarray, float]:
    """The direction along which a rope pulls in a frame, and how far its end may move along it.

    The direction is that of the frame's middle, so that a swinging end neither gains nor loses length to first order:
    with an angle a between middle and end the rope is `length * cos(a)` long along it.
    Returns Unit vector from the anchor to the point [3], and the way [m], negative while it is stretched.

    Args:
        point, anchor: its ends now [3], [m]. velocity, anchor_velocity: theirs [3], [m/s].
        length: [m]. seconds: of the frame.
    """
    now = np.asarray(point, dtype=float) - anchor
    moved = (np.asarray(velocity, dtype=float) - anchor_velocity) * seconds
    end = now + moved
    middle = now + 0.5 * moved
    size = float(np.linalg.norm(middle))
    if size < 1e-9 * max(length, 1e-9):
        middle, size = np.array([0.0, 0.0, -1.0]), 1.0
    axis = middle / size
    far = float(np.linalg.norm(end))
    cosine = float(axis @ end) / far if far > 1e-9 else 1.0
    return axis, length * max(cosine, 0.5) - float(axis @ now)


def sway(point, anchor, velocity, anchor_velocity, length: float, gravity: float, seconds: float) -> tuple | None:
    """How far the end of a taut rope may come aside of where its velocity takes it in a frame; None where it is slack.

    The limit along the rope is a plane; beside the place that it was made for, the plane is farther than the rope is
    long. A limb that whips round when the rope becomes taut would come there: 0.9 m out on a rope of 0.08 m. An end
    that is aside by no more than `SWAY` of the length is at most 2.3 % too far. What gravity does is always allowed.

    Arguments are those of `rope`, with the scene's gravity [m/s^2]. Returns the way [3] of the end in the frame against
    the anchor, and the deviation from it [m].
    """
    now = np.asarray(point, dtype=float) - anchor
    moved = (np.asarray(velocity, dtype=float) - anchor_velocity) * seconds
    if max(np.linalg.norm(now), np.linalg.norm(now + moved)) < TAUT * length:
        return None
    return moved, max(SWAY * length, 1.5 * gravity * seconds**2)


def frame_along(origin, axis) -> np.ndarray:
    """A rigid matrix [4, 4] at an origin [3] whose X axis is a unit vector [3]."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    z = np.cross(axis, helper)
    z /= np.linalg.norm(z)
    return affine(np.stack([axis, np.cross(z, axis), z], axis=1), origin)


def step_towards(now, wanted, share: float) -> tuple[np.ndarray, np.ndarray]:
    """The step from a pose [4, 4] to another [4, 4], a share of it, as limits of a GENERIC constraint.

    Its object1 is what the poses are measured against, its object2 what moves, its frame has the axes of the poses'
    own space and stands at the first pose's origin.
    Returns Way [3] and Euler angles [3] (rad). Bullet takes the angles of the inverse rotation, as Rx Ry Rz.
    """
    turn = quaternion.from_matrix(wanted[:3, :3] @ now[:3, :3].T)
    turn = quaternion.to_rotation_vector(turn) * share
    size = float(np.linalg.norm(turn))
    turn *= min(1.0, FARTHEST_STEP / max(size, 1e-12))
    m = quaternion.to_matrix(quaternion.from_rotation_vector(-turn))
    angles = np.array(
        [np.arctan2(-m[1, 2], m[2, 2]), np.arcsin(np.clip(m[0, 2], -1.0, 1.0)), np.arctan2(-m[0, 1], m[0, 0])]
    )
    return (wanted[:3, 3] - now[:3, 3]) * share, angles
