"""Blend spaces: samples placed on a line or in a plane, and their weights at any point of it.

A space knows places and names only; what the samples are (clips, additive clips, poses) is blended by `sync.SyncGroup`
or `pose_blend.weighted_sum` with the weights found here. Weights are not negative, sum to 1, are 1 at a sample's own
place, and change continuously everywhere.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import RagdollError
from . import delaunay

CLAMP, WRAP = "CLAMP", "WRAP"
TRIANGLES, GRID = "TRIANGLES", "GRID"

_SAME_PLACE = 1e-9  # of an axis' length
_NO_WEIGHT = 1e-12  # what rounding leaves at a sample's place


@dataclass(frozen=True)
class Axis:
    """One input.

    Attributes:
        name: For messages and the editor.
        minimum, maximum: Ends, in the input's unit.
        ends: CLAMP: inputs beyond an end are held there. WRAP: the ends are the same place, as of a direction.
        grid: Number of divisions that samples can be snapped to.
    """

    name: str
    minimum: float
    maximum: float
    ends: str = CLAMP
    grid: int = 4

    def __post_init__(self) -> None:
        if not (np.isfinite(self.minimum) and np.isfinite(self.maximum) and self.minimum < self.maximum):
            raise RagdollError(
                f'The minimum of axis "{self.name}" must be below its maximum, '
                f"got {self.minimum:g} and {self.maximum:g}"
            )
        if self.ends not in (CLAMP, WRAP):
            raise RagdollError(f'Axis "{self.name}" cannot end by "{self.ends}"; use {CLAMP} or {WRAP}')
        if self.grid < 1:
            raise RagdollError(f'Axis "{self.name}" needs at least one division, got {self.grid}')

    def share(self, value: ArrayLike) -> NDArray:
        """Values [...] as 0..1 from minimum to maximum; clamped, or wrapped into 0 <= x < 1.

        Raises:
            RagdollError: a value that is not a number.
        """
        if isinstance(value, (int, float)):
            return self._share_of_one(float(value))
        value = np.asarray(value, dtype=np.float64)
        if np.isnan(value).any() or (self.ends == WRAP and not np.isfinite(value).all()):
            raise RagdollError(f'The input of axis "{self.name}" is not a number')
        if self.ends == CLAMP:
            value = np.clip(value, self.minimum, self.maximum)
        result = (value - self.minimum) / (self.maximum - self.minimum)
        return result if self.ends == CLAMP else result - np.floor(result)

    def _share_of_one(self, value: float) -> NDArray:
        """`share` of a single value: numpy takes ten times as long over one number."""
        if math.isnan(value) or (self.ends == WRAP and not math.isfinite(value)):
            raise RagdollError(f'The input of axis "{self.name}" is not a number')
        if self.ends == CLAMP:
            value = min(max(value, self.minimum), self.maximum)
        share = (value - self.minimum) / (self.maximum - self.minimum)
        return np.float64(share if self.ends == CLAMP else share - math.floor(share))

    def snapped(self, value: ArrayLike) -> NDArray:
        """Values [...] on the nearest division."""
        step = (self.maximum - self.minimum) / self.grid
        return self.minimum + np.round((np.asarray(value, dtype=np.float64) - self.minimum) / step) * step


class BlendSpace1D:
    """Samples on a line, linear between neighbours.

    Attributes:
        axis: Its input.
        names: Of the samples [k].
        positions: Of the samples on the axis [k].
    """

    def __init__(self, axis: Axis, names: Sequence[str], positions: ArrayLike) -> None:
        """Raises RagdollError: no samples, one outside the axis or not a number, or two at one place."""
        self.axis, self.names = axis, tuple(names)
        self.positions = np.asarray(positions, dtype=np.float64)
        shares = _checked_samples((axis,), self.names, self.positions.reshape(-1, 1))[:, 0]
        self._order = np.argsort(shares, kind="stable")
        self._places = shares[self._order]
        self._listed = self._places.tolist()

    def weights(self, value: ArrayLike) -> NDArray:
        """Weights of the samples [..., k] at inputs [...].

        Raises:
            RagdollError: an input that is not a number.
        """
        share = self.axis.share(value)
        places, order = self._places, self._order
        count = len(places)
        result = np.zeros((*share.shape, count))
        if count == 1:
            result[...] = 1.0
            return result
        if share.ndim == 0 and self.axis.ends == CLAMP:
            before = min(max(bisect_right(self._listed, share) - 1, 0), count - 2)
            low, high = self._listed[before : before + 2]
            t = min(max((share - low) / (high - low), 0.0), 1.0)
            result[order[before]], result[order[before + 1]] = 1.0 - t, t
            return result
        after = np.searchsorted(places, share, side="right")
        if self.axis.ends == CLAMP:
            before = np.clip(after - 1, 0, count - 2)
            after = before + 1
            t = np.clip((share - places[before]) / (places[after] - places[before]), 0.0, 1.0)
        else:
            before, after = (after - 1) % count, after % count
            gap = (places[after] - places[before]) % 1.0
            t = ((share - places[before]) % 1.0) / np.where(gap == 0.0, 1.0, gap)
        flat, rows = result.reshape(-1, count), np.arange(share.size)
        flat[rows, order[before].ravel()] = 1.0 - t.ravel()
        flat[rows, order[after].ravel()] = t.ravel()
        return result


class BlendSpace2D:
    """Samples in a plane: barycentric in Delaunay triangles, or bilinear in the cells of a regular grid.

    Outside all triangles the nearest point of the nearest edge counts. One or two samples are allowed: a single pose,
    or a line between two.

    Attributes:
        axes: Its two inputs.
        names: Of the samples [k].
        positions: Of the samples [k, 2].
        method: TRIANGLES or GRID.
        triangles: Corners of the triangles for an editor's picture [t, 3], indices of samples; of a wrapped space some
            reach over its ends. Empty for a grid.
    """

    def __init__(
        self, axes: tuple[Axis, Axis], names: Sequence[str], positions: ArrayLike, method: str = TRIANGLES
    ) -> None:
        """Raises RagdollError: no samples, one outside the axes or not a number, two at one place, three or more on
        one line, or, for a grid, a corner without a sample."""
        self.axes, self.names, self.method = tuple(axes), tuple(names), method
        self.positions = np.asarray(positions, dtype=np.float64).reshape(-1, 2)
        self.triangles = np.empty((0, 3), dtype=np.intp)
        shares = _checked_samples(self.axes, self.names, self.positions)
        if method == GRID:
            self._columns, self._rows, self._cells = _grid(self.axes, self.names, shares)
            return
        if method != TRIANGLES:
            raise RagdollError(f'There is no method "{method}"; use {TRIANGLES} or {GRID}')
        self._points, self._owners = _with_wrapped_copies(self.axes, shares)
        if len(self._points) < 3:
            self._corners = None
            return
        try:
            self._corners = delaunay.triangulate(self._points)
        except RagdollError:
            listed = ", ".join(f'"{name}"' for name in self.names)
            raise RagdollError(f"The samples {listed} are on one line: a plane needs one beside it") from None
        self._edges = delaunay.hull_edges(self._corners)
        self._coefficients = delaunay.coefficients(self._points, self._corners)
        self.triangles = self._owners[self._corners]
        self._owners_of_corners = self.triangles.tolist()

    @property
    def edges(self) -> NDArray:
        """Ends of the triangles' sides [e, 2, 2] as shares of the axes, for a picture; of a wrapped space beyond 0..1
        too. Of two samples the line between them."""
        if self.method == GRID or len(self._points) < 2:
            return np.empty((0, 2, 2))
        if self._corners is None:
            return self._points[None, :2]
        sides = self._corners[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
        return self._points[np.unique(np.sort(sides, axis=-1), axis=0)]

    def weights(self, x: ArrayLike, y: ArrayLike) -> NDArray:
        """Weights of the samples [..., k] at inputs [...].

        Raises:
            RagdollError: an input that is not a number.
        """
        shares = self.axes[0].share(x), self.axes[1].share(y)
        if isinstance(x, (int, float)) and isinstance(y, (int, float)):
            inside = self._weights_inside(*shares)
            if inside is not None:
                return inside
        at = np.array(shares) if shares[0].ndim == shares[1].ndim == 0 else np.stack(np.broadcast_arrays(*shares), -1)
        lead, at = at.shape[:-1], at.reshape(-1, 2)
        result = np.zeros((len(at), len(self.names)))
        rows = np.arange(len(at))[:, None]
        if self.method == GRID:
            columns, across = _between(self._columns, at[:, 0])
            lines, up = _between(self._rows, at[:, 1])
            for i, wx in ((0, 1.0 - across), (1, across)):
                for j, wy in ((0, 1.0 - up), (1, up)):
                    np.add.at(result, (rows[:, 0], self._cells[columns + i, lines + j]), wx * wy)
        elif self._corners is None:
            along = np.zeros(len(at))
            if len(self._points) == 2:
                along = delaunay.nearest_on_edges(self._points, np.array([[0, 1]]), at)[1]
                result[:, self._owners[1]] += along
            result[:, self._owners[0]] += 1.0 - along
        else:
            triangle, shares, inside = delaunay.barycentric(self._coefficients, at)
            corners = self._corners[triangle]
            if not inside.all():
                edge, along = delaunay.nearest_on_edges(self._points, self._edges, at[~inside])
                edges = self._edges[edge]
                # The third corner is the second again, and without a weight of its own.
                corners[~inside] = edges[:, [0, 1, 1]]
                shares[~inside] = np.stack([1.0 - along, along, along], axis=-1)
            if len(self._points) == len(self.names):  # without copies no sample is a corner twice
                result[rows, corners] = shares
            else:
                np.add.at(result, (rows, self._owners[corners]), shares)
        result[result < _NO_WEIGHT] = 0.0
        result /= result.sum(axis=-1, keepdims=True)
        return result.reshape(*lead, -1)

    def _weights_inside(self, x: float, y: float) -> NDArray | None:
        """`weights` [k] at one place, in shares of the axes; None: it is in no triangle, or there are none.

        Of the three weights Python's own arithmetic is quicker.
        """
        found = delaunay.barycentric_of_one(self._coefficients, x, y) if len(self.triangles) else None
        if found is None:
            return None
        triangle, shares = found
        result = np.zeros(len(self.names))
        kept = [share if share >= _NO_WEIGHT else 0.0 for share in shares]
        total = sum(kept)
        for sample, share in zip(self._owners_of_corners[triangle], kept, strict=True):
            result[sample] += share / total
        return result


def _checked_samples(axes: Sequence[Axis], names: Sequence[str], positions: NDArray) -> NDArray:
    """Places [k, axes] as shares of the axes."""
    label = " x ".join(f'"{axis.name}"' for axis in axes)
    if len(names) == 0:
        raise RagdollError(f"The blend space {label} has no samples")
    if len(positions) != len(names):
        raise RagdollError(f"The blend space {label} has {len(names)} names but {len(positions)} positions")
    shares = np.empty_like(positions)
    for i, axis in enumerate(axes):
        for name, value in zip(names, positions[:, i].tolist(), strict=True):
            if not axis.minimum <= value <= axis.maximum:
                raise RagdollError(
                    f'Sample "{name}" is at {value:g} on axis "{axis.name}", which goes from {axis.minimum:g} to '
                    f"{axis.maximum:g}"
                )
        shares[:, i] = axis.share(positions[:, i])
    for i in range(len(names)):
        gap = np.abs(shares[i + 1 :] - shares[i])
        for column, axis in enumerate(axes):
            if axis.ends == WRAP:
                gap[:, column] = np.minimum(gap[:, column], 1.0 - gap[:, column])
        same = np.flatnonzero((gap < _SAME_PLACE).all(axis=-1))
        if len(same):
            raise RagdollError(f'Samples "{names[i]}" and "{names[i + 1 + int(same[0])]}" are at one place')
    return shares


def _with_wrapped_copies(axes: Sequence[Axis], shares: NDArray) -> tuple[NDArray, NDArray]:
    """Places of samples and of their copies up to two rounds away on wrapped axes, and whose copy each is.

    One round is not enough: the triangles at the far side of the copies are not those of endless repetition.
    """
    shifts = [(0.0, -1.0, 1.0, -2.0, 2.0) if axis.ends == WRAP else (0.0,) for axis in axes]
    points = np.concatenate([shares + np.array([dx, dy]) for dx in shifts[0] for dy in shifts[1]])
    return points, np.tile(np.arange(len(shares)), len(points) // len(shares))


def _grid(axes: Sequence[Axis], names: Sequence[str], shares: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Columns, rows and the sample at each crossing [columns, rows] of a regular grid; wrapped axes close on
    themselves."""
    lines, places = [], []
    for i in range(2):
        values = np.unique(np.round(shares[:, i] / _SAME_PLACE) * _SAME_PLACE)
        lines.append(values)
        places.append(np.argmin(np.abs(shares[:, i][:, None] - values), axis=-1))
    cells = np.full((len(lines[0]), len(lines[1])), -1, dtype=np.intp)
    cells[places[0], places[1]] = np.arange(len(names))
    empty = np.argwhere(cells < 0)
    if len(empty):
        at = [
            axis.minimum + float(values[i]) * (axis.maximum - axis.minimum)
            for axis, values, i in zip(axes, lines, empty[0].tolist(), strict=True)
        ]
        raise RagdollError(
            f'The grid has no sample where "{axes[0].name}" is {at[0]:g} and "{axes[1].name}" is {at[1]:g}'
        )
    for i, axis in enumerate(axes):
        if axis.ends == WRAP:
            first, last = cells.take([0], axis=i), cells.take([-1], axis=i)
            cells = np.concatenate([last, cells, first], axis=i)
            lines[i] = np.concatenate([[lines[i][-1] - 1.0], lines[i], [lines[i][0] + 1.0]])
        elif len(lines[i]) == 1:
            cells = np.concatenate([cells, cells], axis=i)
            lines[i] = np.concatenate([lines[i], lines[i] + 1.0])
    return lines[0], lines[1], cells


def _between(lines: NDArray, share: NDArray) -> tuple[NDArray, NDArray]:
    """Line below each place, and how far it is to the next, 0..1."""
    below = np.clip(np.searchsorted(lines, share, side="right") - 1, 0, len(lines) - 2)
    return below, np.clip((share - lines[below]) / (lines[below + 1] - lines[below]), 0.0, 1.0)
