"""Evaluates many of Blender's F-curves at many frames at once.

The rules are those of Blender's manual (Graph Editor, F-curves: interpolation, easing, extrapolation) and are kept
equal to `FCurve.evaluate` by a test: a frame within 1e-4 of a key has the key's value; the handles of a Bezier segment
are shortened, along their own direction, where they reach beyond the other key's frame; linear extrapolation goes on
along the outer handle, or along the last segment where that is linear.

What is not expressed here has to be evaluated by the host: see `CurveKeys.unsupported`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .easing import BEZIER, CONSTANT, EASED, ELASTIC, LINEAR, eased

ON_KEY = 1e-4  # frames: Blender's own threshold
_NEWTON_STEPS = 60  # it stops far earlier; halving alone would need 50 for full precision
_SOLVED = 1e-13  # of a segment's length


@dataclass
class CurveKeys:
    """Keys of c curves, one curve after the other; K keys in all.

    Attributes:
        starts: First key of each curve and, last, K; shape [c + 1]. No curve is empty.
        co: Frames and values [K, 2], frames not decreasing within a curve.
        left, right: Handles [K, 2], absolute; only read where a segment is Bezier, or to extrapolate.
        interpolation, easing: Blender's numbers [K], of the segment that begins with the key.
        back: Overshoot [K] of BACK segments.
        extrapolate: Whether each curve goes on linearly outside its keys, else it is held; shape [c].
    """

    starts: NDArray
    co: NDArray
    left: NDArray
    right: NDArray
    interpolation: NDArray
    easing: NDArray
    back: NDArray
    extrapolate: NDArray

    @staticmethod
    def plain(starts, co, interpolation: int = LINEAR) -> CurveKeys:
        """Curves without handles, held outside their keys, with one interpolation for all."""
        co = np.asarray(co, dtype=np.float64)
        count = len(co)
        numbers = np.full(count, interpolation)
        zero = np.zeros(count)
        held = np.zeros(len(starts) - 1, dtype=bool)
        return CurveKeys(np.asarray(starts), co, co, co, numbers, np.zeros(count, dtype=int), zero, held)

    def unsupported(self) -> NDArray:
        """Curves [c] that `evaluate` does not do: elastic segments, Bezier handles that point away from their segment.

        With such handles a segment may have several values at one frame, and which one is right is Blender's choice.
        """
        wrong = self.interpolation == ELASTIC
        bezier = self.interpolation == BEZIER
        bezier[self.starts[1:] - 1] = False
        at = np.flatnonzero(bezier)
        backward = (self.right[at, 0] < self.co[at, 0]) | (self.left[at + 1, 0] > self.co[at + 1, 0])
        wrong[at[backward]] = True
        return np.add.reduceat(wrong, self.starts[:-1]) > 0


def key_before(starts: NDArray, times: NDArray, frames: NDArray) -> NDArray:
    """For each frame and curve the last key at or before the frame, -1 before the first key.

    Args:
        starts: As in `CurveKeys`, shape [c + 1].
        times: The keys' frames [K].
        frames: Shape [f], in any order.

    Returns:
        Counted from each curve's first key, shape [f, c].
    """
    result = np.empty((len(starts) - 1, len(frames)), dtype=np.intp)
    before, found = None, None
    for row, (start, stop) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        own = times[start:stop]
        # The channels of a bone, and often all of an action, share their keys' frames.
        if before is None or len(own) != len(before) or not np.array_equal(own, before):
            before, found = own, np.searchsorted(own, frames, side="right") - 1
        result[row] = found
    return result.T


def evaluate(keys: CurveKeys, frames: NDArray) -> NDArray:
    """Values of all curves at all frames.

    Args:
        keys: The curves; results of those that are `unsupported` have no meaning.
        frames: Shape [f], with or without fractions, in any order.

    Returns:
        Shape [f, c], double precision.
    """
    frames = np.asarray(frames, dtype=np.float64)
    starts = np.asarray(keys.starts)
    times, values = keys.co[:, 0].astype(np.float64), keys.co[:, 1].astype(np.float64)
    last = starts[1:] - starts[:-1] - 1
    place = key_before(starts, times, frames)
    begin = np.clip(place, 0, last) + starts[:-1]
    end = np.minimum(begin - starts[:-1] + 1, last) + starts[:-1]
    t = np.broadcast_to(frames[:, None], begin.shape)

    result = values[begin]
    on_begin = np.abs(times[begin] - t) <= ON_KEY
    on_end = ~on_begin & (np.abs(times[end] - t) <= ON_KEY)
    result[on_end] = values[end[on_end]]
    open_segment = (place >= 0) & (place < last) & ~on_begin & ~on_end & (times[end] > times[begin])
    at = np.nonzero(open_segment)
    if len(at[0]):
        result[at] = _inside(keys, times, values, begin[at], t[at])
    outside = ((place < 0) | (place >= last)) & keys.extrapolate & ~on_begin
    if outside.any():
        _extrapolate(keys, times, values, t, place < 0, outside, result)
    return result


def on_keys(starts: NDArray, times: NDArray, frames: NDArray) -> bool:
    """Whether every frame [f] is on a key of every curve or outside its keys: handles and interpolation do not matter
    there, unless a curve extrapolates."""
    starts = np.asarray(starts)
    last = starts[1:] - starts[:-1] - 1
    place = key_before(starts, times, frames)
    begin = np.clip(place, 0, last) + starts[:-1]
    end = np.minimum(begin - starts[:-1] + 1, last) + starts[:-1]
    t = np.asarray(frames)[:, None]
    near = np.minimum(np.abs(times[begin] - t), np.abs(times[end] - t)) <= ON_KEY
    return bool(np.all(near | (place < 0) | (place >= last)))


def _inside(keys: CurveKeys, times: NDArray, values: NDArray, begin: NDArray, t: NDArray) -> NDArray:
    """Values [m] in the segments [m] that begin with those keys."""
    kinds = keys.interpolation[begin]
    result = values[begin]
    for kind in np.unique(kinds).tolist():
        if kind in (CONSTANT, ELASTIC):
            continue
        rows = slice(None) if len(kinds) and (kinds == kind).all() else np.flatnonzero(kinds == kind)
        k, frame = begin[rows], t[rows]
        if kind == BEZIER:
            result[rows] = _bezier(keys, times, values, k, frame)
            continue
        share = (frame - times[k]) / (times[k + 1] - times[k])
        if kind in EASED:
            for easing in np.unique(keys.easing[k]).tolist():
                own = keys.easing[k] == easing
                share[own] = eased(kind, easing, share[own], keys.back[k[own]])
        result[rows] = values[k] + (values[k + 1] - values[k]) * share
    return result


def _bezier(keys: CurveKeys, times: NDArray, values: NDArray, k: NDArray, t: NDArray) -> NDArray:
    span = times[k + 1] - times[k]
    # Frames as shares of the segment, 0 at its first key and 1 at its second.
    out, into = keys.right[k].astype(np.float64), keys.left[k + 1].astype(np.float64)
    x1, y1 = (out[:, 0] - times[k]) / span, out[:, 1] - values[k]
    x2, y2 = (times[k + 1] - into[:, 0]) / span, into[:, 1] - values[k + 1]
    shorten1, shorten2 = 1.0 / np.maximum(np.abs(x1), 1.0), 1.0 / np.maximum(np.abs(x2), 1.0)
    x1, x2 = x1 * shorten1, 1.0 - x2 * shorten2
    u = _solve_monotone(x1, x2, (t - times[k]) / span)
    v = 1.0 - u
    first, second = values[k] + y1 * shorten1, values[k + 1] + y2 * shorten2
    return v * v * (v * values[k] + 3.0 * u * first) + u * u * (3.0 * v * second + u * values[k + 1])


def _solve_monotone(x1: NDArray, x2: NDArray, x: NDArray) -> NDArray:
    """Parameter u [m] at which the cubic Bezier curve 0, x1, x2, 1 is x; it rises, since all are within 0..1.

    Newton's method, halving the bracket where a step would leave it.
    """
    a, b, c = 1.0 + 3.0 * (x1 - x2), 3.0 * (x2 - 2.0 * x1), 3.0 * x1
    u, low, high = x.copy(), np.zeros_like(x), np.ones_like(x)
    for _ in range(_NEWTON_STEPS):
        error = ((a * u + b) * u + c) * u - x
        if np.abs(error).max(initial=0.0) < _SOLVED:
            break
        above = error > 0.0
        high, low = np.where(above, u, high), np.where(above, low, u)
        slope = (3.0 * a * u + 2.0 * b) * u + c
        step = u - error / np.where(slope == 0.0, 1.0, slope)
        # Ends count as inside: a handle without length has its root's neighbourhood there.
        usable = (step >= low) & (step <= high) & (slope > 0.0)
        u = np.where(usable, step, 0.5 * (low + high))
    return u


def _extrapolate(
    keys: CurveKeys, times: NDArray, values: NDArray, t: NDArray, before: NDArray, outside: NDArray, result: NDArray
) -> None:
    """Go on from the outer keys of the curves that extrapolate."""
    for curve in np.flatnonzero(outside.any(axis=0)).tolist():
        start, stop = int(keys.starts[curve]), int(keys.starts[curve + 1])
        for end, other, handles, rows in (
            (start, start + 1, keys.left, outside[:, curve] & before[:, curve]),
            (stop - 1, stop - 2, keys.right, outside[:, curve] & ~before[:, curve]),
        ):
            kind = keys.interpolation[end]
            if kind == CONSTANT or not rows.any() or (kind == LINEAR and stop - start == 1):
                continue
            x, y = (times[other], values[other]) if kind == LINEAR else handles[end].astype(np.float64)
            if x != times[end]:
                slope = (values[end] - y) / (times[end] - x)
                result[rows, curve] = values[end] + slope * (t[rows, curve] - times[end])
