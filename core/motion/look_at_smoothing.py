"""Rotations that follow others with a lag, as a function of time and not of how often they are asked for."""

from __future__ import annotations

import numpy as np

from .. import quaternion


def follow(followed_before, followed_now, smoothed_before, speed: float, seconds: float) -> np.ndarray:
    """Smoothed rotations [..., 4] after a time step: y' = speed * (x - y), solved for an x that turns evenly.

    Between the two times x is taken to go steadily from `followed_before` to `followed_now`, so the result is exact,
    whatever the frame rate, as long as it does (about one axis; else up to second order of the angles).

    Args:
        followed_before, followed_now: what is followed, at both times [..., 4].
        smoothed_before: the result at the time before [..., 4].
        speed: share of the distance closed per second [1/s]; 0: no smoothing, the result is what is followed.
        seconds: time between the two, not negative.
    """
    now = np.asarray(followed_now, dtype=float)
    if speed <= 0.0:
        return now
    passed = speed * seconds
    kept = np.exp(-passed)
    # Seen from what is followed now, y lies where y was, less the part of the way that x has made in between.
    lag = -np.expm1(-passed) / passed if passed > 0.0 else 1.0
    inverse = quaternion.conjugate(now)
    smoothed = quaternion.to_rotation_vector(quaternion.multiply(inverse, smoothed_before))
    followed = quaternion.to_rotation_vector(quaternion.multiply(inverse, followed_before))
    offset = (smoothed - followed) * kept + followed * lag
    return quaternion.normalize(quaternion.multiply(now, quaternion.from_rotation_vector(offset)))
