"""Joints that were thrown over their limits and are held there, from the wrong side.

A limit pushes back by the shorter way. A limb that comes back from far away in a moment, as when the weights of a
character that has fallen are set to 1, may be flung past the middle of what its joint forbids; then the limit holds it
there against the drive, for good. Such a body, and what is off with it, is led back to where the drive wants it.
"""

import numpy as np

from .. import quaternion
from .inertialize import smooth_step

DRIVEN = 0.5  # weights from which on a body has to follow, and may be led
FAR = np.radians(30.0)  # from where it is wanted
BEYOND = np.radians(30.0)  # of a limit; what bounces off one, or is pressed into it, stays far below
OWN = np.radians(15.0)  # what the wanted pose itself may be beyond: more, and there is nothing to be led back to
ALONG = np.radians(10.0)  # from where it is wanted: what is farther off is led back together with it
LASTS = 0.25  # [s] for which a body is far off before its joint is looked at
RETURNS = 0.25  # [s] of the way back


def angles_off(body: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Angles [m] (rad) between the axes of rigid matrices [m, 4, 4]."""
    cosine = 0.5 * (np.einsum("mij,mij->m", body[:, :3, :3], wanted[:, :3, :3]) - 1.0)
    return np.arccos(np.clip(cosine, -1.0, 1.0))


def joint_rotations(child: np.ndarray, parent: np.ndarray, child_frames, parent_frames) -> np.ndarray:
    """Rotations [k, 4] of children against their parents in their joints' frames, the identity in bind pose.

    Args:
        child, parent: where the bodies stand: rigid matrices [k, 4, 4].
        child_frames, parent_frames: the joint's frame in each of the two bodies [k, 4, 4].
    """
    above, below = (parent @ parent_frames)[:, :3, :3], (child @ child_frames)[:, :3, :3]
    return quaternion.from_matrix(above.transpose(0, 2, 1) @ below)


def offsets(body: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What leads from where bodies are wanted to where they are, both [k, 4, 4]: ways [k, 3], turns [k, 4] (world)."""
    turn = body[:, :3, :3] @ wanted[:, :3, :3].transpose(0, 2, 1)
    return body[:, :3, 3] - wanted[:, :3, 3], quaternion.from_matrix(turn)


def on_the_way(wanted: np.ndarray, ways: np.ndarray, turns: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Places [k, 4, 4] some seconds [k] after bodies set out for where they are wanted [k, 4, 4].

    They leave and arrive without haste, relative to what is wanted.
    """
    left = 1.0 - smooth_step(np.clip(seconds / RETURNS, 0.0, 1.0))
    result = np.array(wanted)
    result[:, :3, :3] = quaternion.to_matrix(quaternion.power(turns, left)) @ wanted[:, :3, :3]
    result[:, :3, 3] += left[:, None] * ways
    return result
