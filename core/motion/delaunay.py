"""Delaunay triangles of a handful of points in the plane, and where points are in them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..errors import RagdollError

# Twice an area, in units of the points' extent squared, below which three points are on a line.
COLLINEAR = 1e-10
_INSIDE = -1e-12  # barycentric coordinates down to this count as inside: rounding at shared edges


def triangulate(points: NDArray) -> NDArray:
    """Delaunay triangles of points that cover their convex hull.

    Points are taken in from left to right, each joined to the edges of the hull that it sees; edges are then flipped
    until no point lies within a triangle's circumcircle (C. Lawson, Software for C1 surface interpolation, 1977).
    Of the two diagonals of four points on one circle the one with the smaller direction is taken.

    Args:
        points: Shape [k, 2], all different.

    Returns:
        Corners of each triangle, counter-clockwise, indices [t, 3].

    Raises:
        RagdollError: fewer than three points, or all of them on one line.
    """
    points = np.asarray(points, dtype=np.float64)
    extent = float(np.ptp(points, axis=0).max(initial=0.0)) if len(points) else 0.0
    if len(points) < 3 or extent == 0.0:
        raise RagdollError(f"Triangles need at least three different points, got {len(points)}")
    unit = (points - points.min(axis=0)) / extent
    order = np.lexsort((unit[:, 1], unit[:, 0])).tolist()
    first = next((i for i in range(2, len(order)) if abs(_area(unit, order[0], order[1], order[i])) > COLLINEAR), None)
    if first is None:
        raise RagdollError("All points are on one line")
    # The points before are in a row: a fan from the first one that is not gives the first triangles.
    tip = order[first]
    row = order[:first]
    if _area(unit, row[0], row[1], tip) < 0.0:
        row = row[::-1]
    triangles = [(a, b, tip) for a, b in pairwise(row)]
    hull = [*row, tip]
    for point in order[first + 1 :]:
        hull = _join(unit, triangles, hull, point)
    _flip(unit, triangles)
    return np.array(triangles, dtype=np.intp)


def hull_edges(triangles: NDArray) -> NDArray:
    """Edges that belong to one triangle only, indices [e, 2]."""
    edges = [tuple(sorted(e)) for t in triangles.tolist() for e in ((t[0], t[1]), (t[1], t[2]), (t[2], t[0]))]
    return np.array(sorted(e for e in set(edges) if edges.count(e) == 1), dtype=np.intp)


def coefficients(points: NDArray, triangles: NDArray) -> NDArray:
    """What makes barycentric weights of the place (x, y, 1): shape [t, 3 corners, 3].

    Triangles without an area get weights that are inside nowhere.
    """
    corners = np.concatenate([points[triangles], np.ones((*triangles.shape, 1))], axis=-1)  # [t, corner, (x, y, 1)]
    flat = np.abs(np.linalg.det(corners)) < np.finfo(float).tiny
    corners[flat] = np.eye(3)
    result = np.swapaxes(np.linalg.inv(corners), -1, -2)
    result[flat] = [[0.0, 0.0, -1.0]] * 3
    return result


def barycentric(coefficients: NDArray, at: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """The triangle that each place is in, or is nearest to being in.

    Args:
        coefficients: What the function of that name gives for the triangles [t, 3, 3].
        at: Places [m, 2].

    Returns:
        Triangle [m], its weights of the three corners [m, 3] (they sum to 1), and whether the place is inside [m].
    """
    flat = coefficients.reshape(-1, 3)
    weights = (at @ flat[:, :2].T + flat[:, 2]).reshape(len(at), -1, 3)
    least = weights.min(axis=-1)
    best = least.argmax(axis=-1)
    rows = np.arange(len(at))
    chosen = np.maximum(weights[rows, best], 0.0)
    inside = least[rows, best] >= _INSIDE
    return best, chosen / np.maximum(chosen.sum(axis=-1, keepdims=True), _INSIDE * _INSIDE), inside


def barycentric_of_one(coefficients: NDArray, x: float, y: float) -> tuple[int, list[float]] | None:
    """The triangle that one place is in, and the weights of its corners, none negative; None: it is in no triangle.

    `coefficients`: as for `barycentric`, whose weights also sum to 1 where rounding has made one of them negative.
    """
    weights = coefficients.dot(np.array((x, y, 1.0)))  # [t, 3]
    least = weights.min(axis=-1)
    best = int(least.argmax())
    if least[best] < _INSIDE:
        return None
    return best, [max(weight, 0.0) for weight in weights[best].tolist()]


def nearest_on_edges(points: NDArray, edges: NDArray, at: NDArray) -> tuple[NDArray, NDArray]:
    """Nearest edge [m] of places [m, 2], and the share [m] of the way along it, 0..1, of its nearest point."""
    a = points[edges[:, 0]]
    along = points[edges[:, 1]] - a
    share = np.sum((at[:, None, :] - a) * along, axis=-1) / np.sum(along * along, axis=-1)
    share = np.clip(share, 0.0, 1.0)
    distance = np.sum((a + share[..., None] * along - at[:, None, :]) ** 2, axis=-1)
    best = np.argmin(distance, axis=-1)
    return best, share[np.arange(len(at)), best]


def _cross(a: NDArray, b: NDArray) -> NDArray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _area(points: NDArray, a: int, b: int, c: int) -> float:
    """Twice the area of a triangle, positive when it is counter-clockwise."""
    return float(_cross(points[b] - points[a], points[c] - points[a]))


def _join(points: NDArray, triangles: list, hull: list[int], point: int) -> list[int]:
    """Join a point outside the hull (counter-clockwise) to the edges that face it; returns the new hull."""
    count = len(hull)
    seen = [_area(points, hull[i], hull[(i + 1) % count], point) < -COLLINEAR for i in range(count)]
    if not any(seen):
        # It is on the line of an edge: the most nearly visible one takes it in.
        areas = [_area(points, hull[i], hull[(i + 1) % count], point) for i in range(count)]
        seen[int(np.argmin(areas))] = True
    for i in range(count):
        if seen[i]:
            triangles.append((hull[(i + 1) % count], hull[i], point))
    # Edges that are seen follow each other; the point replaces all corners between them.
    start = next(i for i in range(count) if seen[i] and not seen[i - 1])
    stop = start
    while seen[stop % count]:
        stop += 1
    kept = [hull[i % count] for i in range(stop, start + count + 1)]
    return [*kept, point]


def _flip(points: NDArray, triangles: list) -> None:
    """Flip edges in place until every triangle is a Delaunay triangle."""
    third = {}  # directed edge -> its triangle's other corner
    for a, b, c in triangles:
        third[a, b], third[b, c], third[c, a] = c, a, b
    queue = sorted(edge for edge in third if edge[0] < edge[1] or (edge[1], edge[0]) not in third)
    while queue:
        a, b = queue.pop()
        if (a, b) not in third or (b, a) not in third:
            continue
        c, d = third[a, b], third[b, a]
        if min(_area(points, a, d, c), _area(points, d, b, c)) <= COLLINEAR or not _flips(points, a, b, c, d):
            continue
        del third[a, b], third[b, a]
        third[d, c], third[c, d] = a, b
        third[c, a], third[a, d], third[b, c], third[d, b] = d, c, d, c
        queue += [(c, a), (a, d), (b, c), (d, b)]
    corners = {tuple(_lowest_first(a, b, c)) for (a, b), c in third.items()}
    triangles[:] = sorted(corners)


def _lowest_first(*corners: int) -> tuple[int, ...]:
    start = corners.index(min(corners))
    return (*corners[start:], *corners[:start])


def _flips(points: NDArray, a: int, b: int, c: int, d: int) -> bool:
    """Whether the edge c d is better than a b for the quadrilateral a d b c (counter-clockwise).

    It is where d lies within the circle through a, b, c. With all four on one circle both are equally good; the one
    with the smaller direction is then taken, so that copies of the same points have the same triangles.
    """
    rows = np.array([points[a] - points[d], points[b] - points[d], points[c] - points[d]])
    squares = np.sum(rows * rows, axis=-1, keepdims=True)
    depth = float(np.linalg.det(np.concatenate([rows, squares], axis=-1)))
    if abs(depth) > COLLINEAR:
        return depth > 0.0
    return _direction(points[d] - points[c]) < _direction(points[b] - points[a])


def _direction(edge: NDArray) -> float:
    """Angle of an edge, whichever way it goes; the jump is where no grid has its edges."""
    return (math.atan2(edge[1], edge[0]) + 0.1) % math.pi
