"""The speed that size and gravity set: motions are alike where their ratio to it is (Froude's number)."""

import math

from ..errors import RagdollError

EARTH = 9.81  # [m/s^2]


def speed(size: float, gravity: float) -> float:
    """sqrt(gravity * height) [m/s]: 4.2 for a man. Where nothing falls, the Earth's gravity counts.

    Raises:
        RagdollError: a height that is not positive, or a value that is no number.
    """
    if not (math.isfinite(size) and size > 0.0):
        raise RagdollError(f"The character's height must be positive, got {size:g} m")
    if not math.isfinite(gravity):
        raise RagdollError(f"Gravity must be a number, got {gravity:g}")
    return math.sqrt((abs(gravity) or EARTH) * size)
