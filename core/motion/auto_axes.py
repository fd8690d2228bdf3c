"""Forward axes of bones, found from the bind pose whatever the bones are drawn like."""

from __future__ import annotations

import numpy as np

from .. import quaternion
from ..anatomy.axes import character_axes
from ..anatomy.roles import Anatomy
from .rig import Rig

_NEAR_AXIS = np.cos(np.radians(25.0))


def character_forward(rig: Rig, anatomy: Anatomy, tails=None) -> np.ndarray | None:
    """Where a character faces in bind pose: a unit vector [3] in armature space; None where nothing tells.

    Left and right are well told by joints, up only to some degrees (13 for Rigify's wolf), since nobody's feet stand
    exactly below their hips; rigs are made upright in their space. So up is the nearest of its axes, where one is near.

    Args:
        anatomy: of the armature's bones, in their input order.
        tails: of the bones in bind pose [n, 3], in input order, armature space; along the bones' own Y when not given.
    """
    order = rig.skeleton.from_level
    heads = rig.bind_positions[order]
    if tails is None:
        tails = heads + 0.05 * rig.size * quaternion.rotate(rig.bind_rotations[order], (0.0, 1.0, 0.0))
    axes = character_axes(anatomy, heads, np.asarray(tails, dtype=float))
    if axes is None:
        return None
    nearest = int(np.argmax(np.abs(axes.up)))
    if abs(axes.up[nearest]) < _NEAR_AXIS:
        return axes.forward
    up = np.eye(3)[nearest] * np.sign(axes.up[nearest])
    forward = np.cross(axes.left, up)
    return forward / np.linalg.norm(forward)


def in_bone(rig: Rig, bone: int, direction) -> tuple:
    """A direction of the armature's space in a bone's own frame in bind pose, as a unit vector.

    For a bone of -1, above a root, it is the direction itself.
    """
    vector = np.asarray(direction, dtype=float)
    if bone >= 0:
        vector = quaternion.rotate(quaternion.conjugate(rig.bind_rotations[bone]), vector) / rig.bind_scales[bone]
    return tuple((vector / np.linalg.norm(vector)).tolist())


def forward_axes(rig: Rig, bone: int, forward=None) -> tuple[tuple, tuple]:
    """A bone's forward axis and its parent's, each in their own frame.

    Args:
        bone: level index.
        forward: where the character faces in bind pose, in armature space. None: along the bone itself, its own Y.
    """
    if forward is None:
        forward = quaternion.rotate(rig.bind_rotations[bone], rig.bind_scales[bone] * np.array([0.0, 1.0, 0.0]))
    return in_bone(rig, bone, forward), in_bone(rig, rig.parents[bone], forward)
