"""Evaluates many of Blender's F-curves at many frames at once.

The rules are those of Blender's manual (Graph Editor, F-curves: interpolation, easing, extrapolation) and are kept
equal to `FCurve.evaluate` by a test: a frame within 1e-4 of a key has the key's value; the handles of a Bezier segment
are shortened, along their own direction, where they reach beyond the other key's frame; linear extrapolation goes on
along the outer handle, or along the last segment where that is linear.

What is not expressed here has to be evaluated by the host: see `CurveKeys.unsupported`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .easing import BACK, BEZIER, CONSTANT, EASED, ELASTIC, LINEAR, eased

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


def evaluate(keys: CurveKeys, frames: NDArray) -> NDArray:
    """Values of all curves at all frames.

    Args:
        keys: The curves; results of those that are `unsupported` have no meaning.
        frames: Shape [f], with or without fractions, in any order.

    Returns:
        Shape [f, c], double precision.
    """
    frames = np.asarray(frames, dtype=np.float64)
    result = np.empty((len(keys.starts) - 1, len(frames)))
    for curves, at in _groups(keys, keys.interpolation, keys.easing):
        result[curves] = _evaluate_group(keys, curves, at, frames)
    return result.T


def on_keys(keys: CurveKeys, frames: NDArray) -> bool:
    """Whether every frame [f] is on a key of every curve or outside its keys: handles and interpolation do not matter
    there, unless a curve extrapolates."""
    return all(not len(_place(keys.co[at[0], 0], frames)[4]) for _, at in _groups(keys))


def _groups(keys: CurveKeys, *same: NDArray) -> list[tuple[NDArray, NDArray]]:
    """Curves that share their keys' frames and the values [K] of `same`: their numbers [g] and keys [g, k].

    The channels of a bone, and often all of an action, do; what depends on frames alone is then done once.
    """
    starts = keys.starts.tolist()
    # Values that are the same on all keys tell nothing apart.
    columns = [np.ascontiguousarray(keys.co[:, 0]), *(v for v in same if (v != v[:1]).any())]
    found: dict[tuple, list[int]] = {}
    for curve, (start, stop) in enumerate(pairwise(starts)):
        found.setdefault(tuple(column[start:stop].tobytes() for column in columns), []).append(curve)
    groups = []
    for curves in found.values():
        numbers = np.array(curves)
        groups.append((numbers, keys.starts[numbers][:, None] + np.arange(starts[curves[0] + 1] - starts[curves[0]])))
    return groups


def _place(times: NDArray, frames: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
    """Where frames [f] are among the keys' frames [k]: the last key at or before (-1: none), the keys of the segment,
    whether the second one is met, and which frames are inside a segment, on none of its keys [m]."""
    times = times.astype(np.float64)
    place = np.searchsorted(times, frames, side="right") - 1
    last = len(times) - 1
    begin = np.clip(place, 0, last)
    end = np.minimum(begin + 1, last)
    on_begin = np.abs(times[begin] - frames) <= ON_KEY
    on_end = ~on_begin & (np.abs(times[end] - frames) <= ON_KEY)
    inside = (place >= 0) & (place < last) & ~on_begin & ~on_end & (times[end] > times[begin])
    return place, begin, end, on_end, np.flatnonzero(inside)


def _evaluate_group(keys: CurveKeys, curves: NDArray, at: NDArray, frames: NDArray) -> NDArray:
    """Values [g, f] of curves [g] with keys [g, k] that share frames, interpolation and easing."""
    times = keys.co[at[0], 0].astype(np.float64)
    values = keys.co[at, 1].astype(np.float64)
    place, begin, end, on_end, inside = _place(times, frames)
    result = values[:, begin]
    if on_end.any():
        result[:, on_end] = values[:, end[on_end]]
    kinds = keys.interpolation[at[0]][begin[inside]]
    for kind in np.unique(kinds).tolist():
        if kind in (CONSTANT, ELASTIC):
            continue
        columns = inside[kinds == kind]
        k = begin[columns]
        share = (frames[columns] - times[k]) / (times[k + 1] - times[k])
        if kind == BEZIER:
            result[:, columns] = _bezier(keys, at, times, values, k, share)
        else:
            way = _eased_shares(keys, at, kind, k, share) if kind in EASED else share
            result[:, columns] = values[:, k] + (values[:, k + 1] - values[:, k]) * way
    outside = (place < 0) | ((place == len(times) - 1) & (frames > times[-1] + ON_KEY))
    if outside.any():
        for row in np.flatnonzero(keys.extrapolate[curves]).tolist():
            _extrapolate(keys, at[row], frames, place < 0, outside, result[row])
    return result


def _eased_shares(keys: CurveKeys, at: NDArray, kind: int, k: NDArray, share: NDArray) -> NDArray:
    """Shares of the way [g, m], or [m] where they are the same for all curves."""
    ways = keys.easing[at[0]][k]
    overshoot = keys.back[at][:, k].astype(np.float64) if kind == BACK else np.zeros(len(k))
    result = np.empty_like(overshoot)
    for easing in np.unique(ways).tolist():
        own = ways == easing
        result[..., own] = eased(kind, easing, share[own], overshoot[..., own])
    return result


def _bezier(keys: CurveKeys, at: NDArray, times: NDArray, values: NDArray, k: NDArray, share: NDArray) -> NDArray:
    """Values [g, m] at shares of the time of the segments that begin with the keys k [m]."""
    used, back = np.unique(k, return_inverse=True)
    span = times[used + 1] - times[used]
    out, into = keys.right[at[:, used]].astype(np.float64), keys.left[at[:, used + 1]].astype(np.float64)
    # Frames as shares of the segment, 0 at its first key and 1 at its second.
    x1, x2 = (out[..., 0] - times[used]) / span, (times[used + 1] - into[..., 0]) / span
    shorten1, shorten2 = 1.0 / np.maximum(np.abs(x1), 1.0), 1.0 / np.maximum(np.abs(x2), 1.0)
    first = values[:, used] + (out[..., 1] - values[:, used]) * shorten1
    second = values[:, used + 1] + (into[..., 1] - values[:, used + 1]) * shorten2
    x1, x2 = x1 * shorten1, 1.0 - x2 * shorten2
    if (x1 == x1[:1]).all() and (x2 == x2[:1]).all():  # automatic handles depend on frames alone
        x1, x2 = x1[:1], x2[:1]
    u = _solve_monotone(x1[:, back], x2[:, back], share)
    v = 1.0 - u
    result = (v * v * v) * values[:, k]
    result += (3.0 * u * v * v) * first[:, back]
    result += (3.0 * u * u * v) * second[:, back]
    result += (u * u * u) * values[:, k + 1]
    return result


def _solve_monotone(x1: NDArray, x2: NDArray, x: NDArray) -> NDArray:
    """Parameters u [g, m] at which the cubic Bezier curve 0, x1, x2, 1 is x; it rises, since all are within 0..1.

    Newton's method, halving the bracket where a step would leave it.
    """
    a, b, c = 1.0 + 3.0 * (x1 - x2), 3.0 * (x2 - 2.0 * x1), 3.0 * x1
    x = np.broadcast_to(x, x1.shape)
    u, low, high = x.copy(), np.zeros(x.shape), np.ones(x.shape)
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
    keys: CurveKeys, at: NDArray, frames: NDArray, before: NDArray, outside: NDArray, result: NDArray
) -> None:
    """Go on from the outer keys of one curve with the keys [k]: writes its values [f] where it is outside."""
    last = len(at) - 1
    for end, other, handles, rows in (
        (at[0], at[min(1, last)], keys.left, outside & before),
        (at[-1], at[max(last - 1, 0)], keys.right, outside & ~before),
    ):
        kind = keys.interpolation[end]
        if kind == CONSTANT:
            continue
        time, value = keys.co[end].astype(np.float64)
        x, y = (keys.co[other] if kind == LINEAR else handles[end]).astype(np.float64)
        if x != time:
            result[rows] = value + (value - y) / (time - x) * (frames[rows] - time)
