"""The frames of joints in the bodies that they join."""

import numpy as np

from .. import quaternion


def joint_frames(obj) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a built ragdoll: parent of every body [m] (-1 at roots), the joint's frame in the body, and in its parent.

    Both frames are [m, 4, 4]; in bind pose they are one.
    """
    parts = obj.active_ragdoll.parts
    count = len(parts)
    row = {part.bone: i for i, part in enumerate(parts)}
    binds = np.array([part.bind for part in parts], dtype=float).reshape(count, 4, 4)
    offsets = np.array([part.offset for part in parts], dtype=float).reshape(count, 4, 4)
    parents = np.array([row.get(part.parent, -1) for part in parts], dtype=int)
    turns = np.tile(np.eye(4), (count, 1, 1))
    rotations = np.array([obj.pose.bones[part.bone].active_ragdoll.joint_rotation for part in parts], dtype=float)
    turns[:, :3, :3] = quaternion.to_matrix(quaternion.normalize(rotations))
    child_frames = np.linalg.inv(offsets) @ turns
    return parents, child_frames, np.linalg.inv(binds[parents]) @ binds @ child_frames
