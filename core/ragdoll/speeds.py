"""Speeds of bodies: the one that size and gravity set, and what a graph reads of a frame."""

import math

import numpy as np
from numpy.typing import ArrayLike

from ..errors import RagdollError

EARTH = 9.81  # [m/s^2]


def froude(size: float, gravity: float) -> float:
    """sqrt(gravity * height) [m/s]: 4.2 for a man. Where nothing falls, the Earth's gravity counts.

    Motions are alike where the ratio of their speeds to it is (Froude's number).
    Raises RagdollError: a height that is not positive, or a value that is no number.
    """
    if not (math.isfinite(size) and size > 0.0):
        raise RagdollError(f"The character's height must be positive, got {size:g} m")
    if not math.isfinite(gravity):
        raise RagdollError(f"Gravity must be a number, got {gravity:g}")
    return math.sqrt((abs(gravity) or EARTH) * size)


def measure(
    bodies: ArrayLike, wanted: ArrayLike, masses: ArrayLike, before: dict | None, seconds: float, gravity: ArrayLike
) -> dict:
    """Speed of the whole, and the largest speed that something other than gravity and the animation gave a body.

    Args:
        bodies, wanted: centres of the bodies, and where the animation has them [m, 3], world. masses: [m] [kg].
        before: what this gave one frame ago; None at the first frame.
        seconds: from frame to frame. gravity: acceleration [3].
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
