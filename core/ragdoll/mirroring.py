"""Joint settings and body places of a bone as its counterpart on the other side has them.

A reflection F = 1 - 2 n n' turns a rotation by the vector r into one by -F r. With J the joint's frame, the frame
F J diag(-1, 1, 1) is a rotation again, and in it the mirrored vector has the components (x, -y, -z): a range of X is
kept, those of Y and Z change ends. Since that frame is stored relative to the counterpart's own bone, whatever roll it
has, nothing depends on the two bones being drawn as mirror images.
"""

import numpy as np

from .. import quaternion
from ..reflection import reflection

_FLIP = np.diag([-1.0, 1.0, 1.0])
SAME = 1e-4  # a joint's frame this close [rad] to the bone's is the bone's


def carried_over(bone, counterpart, normal) -> np.ndarray:
    """What takes components in a bone's frame to the mirrored ones in its counterpart's [3, 3], an improper rotation.

    Where the counterpart does not lie as the mirrored bone would (a bind pose that is not symmetric), the shortest
    turn between the two is added: limits and bodies count from the bone.

    Args:
        bone, counterpart: rotations of both in bind pose [3, 3], Y along the bone.
        normal: of the mirror plane [3], in the same space.
    """
    mirrored = reflection(normal) @ np.asarray(bone, dtype=float)
    turn = quaternion.to_matrix(quaternion.shortest_arc(mirrored[:, 1], np.asarray(counterpart, dtype=float)[:, 1]))
    return np.asarray(counterpart, dtype=float).T @ turn @ mirrored


def mirrored_joint(carry, joint_rotation, limit_min, limit_max) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The joint of the counterpart.

    Args:
        carry: see `carried_over` [3, 3].
        joint_rotation: from the bone's to the joint's frame, (w, x, y, z).
        limit_min, limit_max: swing X, twist Y, swing Z [rad], [3].

    Returns:
        (joint_rotation [4], limit_min [3], limit_max [3]) of the counterpart.
    """
    frame = quaternion.to_matrix(quaternion.normalize(np.asarray(joint_rotation, dtype=float)))
    rotation = quaternion.from_matrix(carry @ frame @ _FLIP)
    if np.linalg.norm(quaternion.to_rotation_vector(rotation)) < SAME:
        rotation = quaternion.identity()
    low, high = np.array(limit_min, dtype=float), np.array(limit_max, dtype=float)
    return rotation, np.array([low[0], -high[1], -high[2]]), np.array([high[0], -low[1], -low[2]])


def mirrored_place(carry, location, rotation) -> tuple[np.ndarray, np.ndarray]:
    """Place [3] and rotation (w, x, y, z) of a body in its bone's frame, as the counterpart's bone has them.

    The body's own X is reversed, so that its frame stays a rotation: shapes that are not symmetric must follow.
    """
    frame = quaternion.to_matrix(quaternion.normalize(np.asarray(rotation, dtype=float)))
    return carry @ np.asarray(location, dtype=float), quaternion.from_matrix(carry @ frame @ _FLIP)
