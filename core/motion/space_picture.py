"""A picture of a blend space for an editor: samples, triangles or weights, and the current point, as pixels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .blend_space import GRID, BlendSpace1D, BlendSpace2D

MARGIN = 0.09  # of the picture's side, around the space
_GROUND, _FIELD = (0.11, 0.11, 0.12), (0.17, 0.17, 0.18)
_GRID, _EDGE = (0.25, 0.25, 0.27), (0.45, 0.50, 0.58)
_SAMPLE, _FULL = (0.62, 0.66, 0.72), (0.36, 0.72, 1.00)
_CHOSEN, _POINT, _PREVIEW = (1.0, 1.0, 1.0), (1.00, 0.55, 0.12), (0.55, 0.85, 0.30)
_CURVES = ((0.36, 0.72, 1.00), (0.93, 0.45, 0.45), (0.45, 0.80, 0.50), (0.85, 0.70, 0.35), (0.72, 0.55, 0.95))
# Digits of 3 x 5 pixels: five rows, three bits a row, left bit first.
_DIGITS = ("75557", "26227", "71747", "71717", "55711", "74717", "74757", "71222", "75757", "75717")


def picture(
    space: BlendSpace1D | BlendSpace2D,
    at: Sequence[float] | None = None,
    *,
    chosen: int = -1,
    preview: bool = False,
    size: int = 256,
    drawn: NDArray | None = None,
) -> NDArray:
    """The picture of a space.

    Samples are discs numbered from 1, the bluer the larger their weight at the point; of a space of one axis the
    weights are drawn as curves over it. The point is orange, green while it is a preview.

    Args:
        space: what to draw.
        at: the current point, in the axes' units; None: no point.
        chosen: the sample that is drawn with a ring.
        preview: whether the point is one.
        size: side of the picture [pixels].
        drawn: what `ground` gave for the same space, which is most of the work.

    Returns:
        Colours [size, size, 4], 0..1, the first row on top.
    """
    canvas = _Canvas(size)
    canvas.pixels = ground(space, size) if drawn is None else drawn.copy()
    places = _places(space)
    if isinstance(space, BlendSpace1D):
        point = None if at is None else np.array([_clamped(space.axis, at[0]), 0.5])
    else:
        point = None if at is None else np.array([_clamped(a, x) for a, x in zip(space.axes, at, strict=True)])
    weights = np.zeros(len(places)) if at is None else np.asarray(space.weights(*at)).reshape(-1)
    for i, (place, weight) in enumerate(zip(places, weights.tolist(), strict=True)):
        color = np.array(_SAMPLE) * (1.0 - weight) + np.array(_FULL) * weight
        if i == chosen:
            canvas.disc(place, 0.034, _CHOSEN)
        canvas.disc(place, 0.024 + 0.006 * weight, color)
        canvas.number(i + 1, place)
    if point is not None:
        color = _PREVIEW if preview else _POINT
        if isinstance(space, BlendSpace1D):
            canvas.line((point[0], 0.0), (point[0], 1.0), color, 0.006)
        else:
            for step in ((0.05, 0.0), (0.0, 0.05)):
                canvas.line(point - step, point + step, color, 0.006)
        canvas.disc(point, 0.018, color)
    return canvas.pixels


def ground(space: BlendSpace1D | BlendSpace2D, size: int = 256) -> NDArray:
    """What of the picture does not depend on the point: axes, triangles, curves [size, size, 4]."""
    canvas = _Canvas(size)
    (_draw_line if isinstance(space, BlendSpace1D) else _draw_plane)(canvas, space)
    return canvas.pixels


def _places(space: BlendSpace1D | BlendSpace2D) -> NDArray:
    """Places of the samples in the field [k, 2]."""
    if isinstance(space, BlendSpace1D):
        return np.stack([space.axis.share(space.positions), np.full(len(space.names), 0.5)], axis=-1)
    return np.stack([axis.share(space.positions[:, i]) for i, axis in enumerate(space.axes)], axis=-1)


def _clamped(axis, value: float) -> float:
    return float(axis.share(value))


def _draw_line(canvas: _Canvas, space: BlendSpace1D) -> None:
    axis = space.axis
    canvas.field()
    for i in range(axis.grid + 1):
        canvas.line((i / axis.grid, 0.0), (i / axis.grid, 1.0), _GRID, 0.003)
    ends = 1.0 if axis.ends == "CLAMP" else 1.0 - 1e-9
    # Linear between these.
    shares = np.unique(np.concatenate([[0.0, ends], np.minimum(axis.share(space.positions), ends)]))
    curves = space.weights(axis.minimum + shares * (axis.maximum - axis.minimum))
    for k in range(curves.shape[1]):
        points = np.stack([shares, 0.06 + 0.88 * curves[:, k]], axis=-1)
        for a, b in pairwise(points):
            canvas.line(a, b, _CURVES[k % len(_CURVES)], 0.004)
    canvas.line((0.0, 0.5), (1.0, 0.5), _EDGE, 0.004)


def _draw_plane(canvas: _Canvas, space: BlendSpace2D) -> None:
    canvas.field()
    for column, axis in enumerate(space.axes):
        for i in range(axis.grid + 1):
            a, b = np.zeros(2), np.ones(2)
            a[column] = b[column] = i / axis.grid
            canvas.line(a, b, _GRID, 0.003)
    if space.method == GRID:
        shares = _places(space)
        for column in range(2):
            for value in np.unique(np.round(shares[:, column], 9)):
                a, b = shares.min(axis=0), shares.max(axis=0)
                a[column] = b[column] = value
                canvas.line(a, b, _EDGE, 0.005)
    else:
        for a, b in space.edges:
            canvas.line(a, b, _EDGE, 0.005)


class _Canvas:
    """Pixels that lines, discs and numbers are drawn into; places are shares of the axes, the second one upwards."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.pixels = np.ones((size, size, 4), dtype=np.float32)
        self.pixels[..., :3] = _GROUND
        self._inner = MARGIN * size, (1.0 - 2.0 * MARGIN) * size

    def field(self) -> None:
        """The ground between the axes' ends."""
        low, side = self._inner
        a, b = round(low), round(low + side)
        self.pixels[a:b, a:b, :3] = _FIELD

    def line(self, a, b, color, width: float) -> None:
        """A line; its part outside the field is left out."""
        ends = _clipped(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
        if ends is None:
            return
        p, q = self._pixel(ends[0]), self._pixel(ends[1])
        along = q - p
        square = max(float(along @ along), 1e-12)

        def distance(x, y):
            t = np.clip(((x - p[0]) * along[0] + (y - p[1]) * along[1]) / square, 0.0, 1.0)
            return np.hypot(x - p[0] - t * along[0], y - p[1] - t * along[1])

        self._cover(np.minimum(p, q), np.maximum(p, q), distance, 0.5 * width * self.size, color)

    def disc(self, place, radius: float, color) -> None:
        """A filled circle."""
        center = self._pixel(np.asarray(place, dtype=float))
        self._cover(center, center, lambda x, y: np.hypot(x - center[0], y - center[1]), radius * self.size, color)

    def number(self, number: int, place) -> None:
        """A number to the upper right of a place."""
        scale = max(self.size // 128, 1)
        x, y = (self._pixel(np.asarray(place, dtype=float)) + np.array([0.03, -0.055]) * self.size).astype(int)
        for digit in str(number):
            bits = np.array([[int(row) & bit for bit in (4, 2, 1)] for row in _DIGITS[int(digit)]]) > 0
            mask = np.kron(bits, np.ones((scale, scale), dtype=bool))
            x = min(max(x, 0), self.size - mask.shape[1])
            y = min(max(y, 0), self.size - mask.shape[0])
            self.pixels[y : y + mask.shape[0], x : x + mask.shape[1]][mask] = (0.95, 0.95, 0.95, 1.0)
            x += mask.shape[1] + scale

    def _pixel(self, place: NDArray) -> NDArray:
        low, side = self._inner
        return np.array([low + place[0] * side, self.size - low - place[1] * side])

    def _cover(self, low, high, distance, radius: float, color) -> None:
        """Paint what is nearer than the radius, with a smooth rim of a pixel."""
        reach = radius + 1.0
        x0, y0 = np.maximum(np.floor(low - reach), 0).astype(int)
        x1, y1 = np.minimum(np.ceil(high + reach) + 1, self.size).astype(int)
        if x0 >= x1 or y0 >= y1:
            return
        y, x = np.mgrid[y0:y1, x0:x1] + 0.5
        share = np.clip(radius + 0.5 - distance(x, y), 0.0, 1.0)[..., None]
        part = self.pixels[y0:y1, x0:x1, :3]
        part += share * (np.asarray(color, dtype=float) - part)


def _clipped(a: NDArray, b: NDArray) -> tuple[NDArray, NDArray] | None:
    """The part of a line within 0..1 (after Liang and Barsky, 1984)."""
    start, end, along = 0.0, 1.0, b - a
    for i in range(2):
        for direction, room in ((-along[i], a[i]), (along[i], 1.0 - a[i])):
            if direction == 0.0:
                if room < -1e-9:
                    return None
            elif direction < 0.0:
                start = max(start, room / direction)
            else:
                end = min(end, room / direction)
    return (a + start * along, a + end * along) if start <= end else None
