"""Easing between two keys: how far a segment has come after a share of its time.

The curves are those of R. Penner (Programming Macromedia Flash MX, 2002, chapter 7), which Blender's easing types
follow. Each is given by its way in; the way out is the same turned by half a turn, and in-out is one after the other.
Blender's exponential starts and ends exactly at 0 and 1, so it is stretched a little.
"""

import numpy as np
from numpy.typing import NDArray

from ..errors import RagdollError

# Blender's own numbers (Keyframe.interpolation and Keyframe.easing).
CONSTANT, LINEAR, BEZIER, BACK, BOUNCE, CIRC, CUBIC, ELASTIC, EXPO, QUAD, QUART, QUINT, SINE = range(13)
AUTO, EASE_IN, EASE_OUT, EASE_IN_OUT = range(4)

EASED = (BACK, BOUNCE, CIRC, CUBIC, EXPO, QUAD, QUART, QUINT, SINE)
OUT_BY_DEFAULT = (BACK, BOUNCE)
_POWERS = {QUAD: 2, CUBIC: 3, QUART: 4, QUINT: 5}
_BACK_IN_OUT = 1.525  # Penner's factor that makes in-out overshoot as far as in and out do


def eased(kind: int, easing: int, t: NDArray, overshoot: NDArray | float = 0.0) -> NDArray:
    """Share of the way after a share of the time.

    Args:
        kind: One of `EASED`, a Blender interpolation number.
        easing: AUTO, EASE_IN, EASE_OUT or EASE_IN_OUT; AUTO is out for BACK and BOUNCE, in for the others.
        t: Share of the segment's time, 0..1, any shape.
        overshoot: Of BACK (Keyframe.back); broadcast against `t`.

    Returns:
        The shape of `t`; 0 at 0, 1 at 1.

    Raises:
        RagdollError: The kind is none of `EASED`.
    """
    if kind not in EASED:
        raise RagdollError(f"No easing has the number {kind}")
    t = np.asarray(t, dtype=np.float64)
    if easing == AUTO:
        easing = EASE_OUT if kind in OUT_BY_DEFAULT else EASE_IN
    if easing == EASE_IN:
        return _way_in(kind, t, overshoot)
    if easing == EASE_OUT:
        return 1.0 - _way_in(kind, 1.0 - t, overshoot)
    late = t > 0.5
    way = _way_in(kind, np.where(late, 2.0 - 2.0 * t, 2.0 * t), np.asarray(overshoot) * _BACK_IN_OUT)
    return np.where(late, 1.0 - 0.5 * way, 0.5 * way)


def _way_in(kind: int, t: NDArray, overshoot: NDArray | float) -> NDArray:
    if kind in _POWERS:
        return t ** _POWERS[kind]
    if kind == SINE:
        return 1.0 - np.cos(0.5 * np.pi * t)
    if kind == CIRC:
        return 1.0 - np.sqrt(np.maximum(1.0 - t * t, 0.0))
    if kind == EXPO:
        least = 2.0**-10
        return (2.0 ** (10.0 * (t - 1.0)) - least) / (1.0 - least)
    if kind == BACK:
        return t * t * ((overshoot + 1.0) * t - overshoot)
    return 1.0 - _bounces(1.0 - t)


def _bounces(t: NDArray) -> NDArray:
    """A ball's fall and three bounces: parabolas about 0, 1.5, 2.25 and 2.625 of 2.75 units of time."""
    t = 2.75 * t
    fall = [t * t, (t - 1.5) ** 2 + 0.75, (t - 2.25) ** 2 + 0.9375, (t - 2.625) ** 2 + 0.984375]
    return np.select([t < 1.0, t < 2.0, t < 2.5], fall[:3], fall[3])
