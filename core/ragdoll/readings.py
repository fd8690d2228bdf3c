"""What can be read from how a ragdoll's bodies moved over a frame."""

import numpy as np
from numpy.typing import ArrayLike


def measure(
    bodies: ArrayLike, wanted: ArrayLike, masses: ArrayLike, before: dict | None, seconds: float, gravity: ArrayLike
) -> dict:
    """Speed of the whole, and the largest speed that something other than gravity and the animation gave a body.

    Args:
        bodies, wanted: centres of the bodies, and where the animation has them [m, 3], world.
        masses: [m] [kg].
        before: what this gave one frame ago; None at the first frame.
        seconds: from frame to frame.
        gravity: acceleration [3].

    Returns:
        `speed`: of the centre of mass [m/s]; `hit` [m/s]; and `bodies`, `wanted`, `away`: what the next frame needs.
        A body that its animation drives changes its speed with it, so only the speed against the animation counts; of
        its change, a fall's share is no hit.
    """
    bodies, wanted, masses = np.asarray(bodies), np.asarray(wanted), np.asarray(masses, dtype=float)
    result = {"bodies": bodies, "wanted": wanted, "away": None, "speed": 0.0, "hit": 0.0}
    if before is None or not seconds > 0.0:
        return result
    moved = (bodies - before["bodies"]) / seconds
    result["speed"] = float(np.linalg.norm(masses @ moved / masses.sum()))
    away = moved - (wanted - before["wanted"]) / seconds
    result["away"] = away
    if before["away"] is not None:
        change = np.linalg.norm(away - before["away"], axis=-1)
        fall = float(np.linalg.norm(gravity)) * seconds
        result["hit"] = float(max(np.max(change) - fall, 0.0))
    return result


def corners(box: ArrayLike, matrix: ArrayLike) -> np.ndarray:
    """Corners [8, 3] of a bounding box [8, 3] under a matrix [4, 4]."""
    matrix = np.asarray(matrix, dtype=float)
    return np.asarray(box, dtype=float) @ matrix[:3, :3].T + matrix[:3, 3]
