"""Speed and direction of what moves, measured from one frame to the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import RagdollError

STILL = 1e-6  # [m/s] slower things have no direction


def velocity(before: ArrayLike, now: ArrayLike, seconds: float) -> np.ndarray:
    """Velocity [..., 3] from positions [..., 3] one step of time apart.

    Raises:
        RagdollError: no time passes, or a position is not a number.
    """
    if not seconds > 0.0:
        raise RagdollError(f"A speed needs some time to be measured in, got {seconds:g} s")
    result = (np.asarray(now, dtype=float) - np.asarray(before, dtype=float)) / seconds
    if not np.isfinite(result).all():
        raise RagdollError("What is measured stands where no number is")
    return result


def ground_speed(velocity_ws: ArrayLike, up: ArrayLike = (0.0, 0.0, 1.0)) -> float:
    """Length of a velocity [3] without its part along `up` (a unit vector)."""
    flat = _flat(velocity_ws, up)
    return float(np.sqrt(flat @ flat))


def direction(velocity_ws: ArrayLike, forward_ws: ArrayLike, up: ArrayLike = (0.0, 0.0, 1.0)) -> float | None:
    """Angle [rad] about `up` from where a character faces to where it moves, -pi..pi, positive to its left.

    None where it stands still or faces along `up`.
    """
    moved, ahead = _flat(velocity_ws, up), _flat(forward_ws, up)
    if np.sqrt(moved @ moved) < STILL or np.sqrt(ahead @ ahead) < 1e-9:
        return None
    return float(np.arctan2(np.cross(ahead, moved) @ np.asarray(up, dtype=float), ahead @ moved))


def _flat(vector: ArrayLike, up: ArrayLike) -> np.ndarray:
    vector, up = np.asarray(vector, dtype=float), np.asarray(up, dtype=float)
    return vector - up * (vector @ up)
