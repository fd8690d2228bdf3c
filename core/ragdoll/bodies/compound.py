"""Bodies of several convex parts: what sticks out of a limb, such as a foot, gets a part of its own.

Everything about overlaps of bodies goes by their parts here; for a body of one convex shape that is the shape itself.
"""

from dataclasses import replace

import numpy as np

from . import overlap
from .fitting import COMPOUND, CONVEX_HULL, FEWEST_POINTS, Shape, fit

# Parts are taken where together they have at most this share of the volume of the one shape. A shank with its foot,
# which is all air above the instep, comes to 0.75; what saves less is not worth another body in Blender.
WINS = 0.8
THIRD_WINS = 0.9  # a third part must bring it below this share of what two have, or might have
MOST_PARTS = 3
LEAST_HELD = 0.1  # of the weight: what holds less does not stick out
TRIED = 6  # bones at which a body is split, those that hold most


def joined(pieces, axes) -> Shape:
    """The body of boxes and hulls in the frame `axes` [3, 3]: its middle is the middle of their box."""
    corners = np.concatenate([piece.core()[0] for piece in pieces]) @ axes
    low, high = corners.min(axis=0), corners.max(axis=0)
    return Shape(COMPOUND, axes @ ((low + high) / 2.0), axes, (high - low) / 2.0, None, tuple(pieces))


def split(whole: Shape, points, weights, bones, trees, *, share: float, smallest: float, forced: bool = False) -> Shape:
    """The body as a compound of two or three parts where that pays, else `whole`, the one convex shape.

    Args:
        points, weights: what the body is to cover [k, 3] [m], [k]. bones: that hold each point most [k].
        trees: masks of bones [n], each a merged bone and all below it: what may become a part.
        share, smallest: as in `fitting.fit`, for each part. forced: take the best two parts whatever they save.
    """
    held = [float(weights[tree[bones]].sum() / weights.sum()) for tree in trees]
    order = sorted(range(len(trees)), key=lambda i: (-held[i], i))
    trees = [trees[i] for i in order if LEAST_HELD <= held[i] <= 1.0 - LEAST_HELD][:TRIED]
    labels, best, limit = np.zeros(len(points), dtype=int), whole, WINS * whole.volume()
    for count in range(2, MOST_PARTS + 1):
        found = []
        for tree in trees:
            trial = np.where(tree[bones], count - 1, labels)
            rows = [np.flatnonzero(trial == part) for part in range(count)]
            if min(map(len, rows)) < 2 * FEWEST_POINTS:
                continue
            pieces = [
                fit(points[own], whole.axes, CONVEX_HULL, weights=weights[own], share=share, smallest=smallest)
                for own in rows
            ]
            found.append((sum(piece.volume() for piece in pieces), len(found), trial, pieces))
        if not found:
            break
        together, _order, labels, pieces = min(found, key=lambda each: each[:2])
        if together <= limit or (forced and count == 2):
            best, limit = joined(pieces, whole.axes), together
        limit *= THIRD_WINS
    return best


def nearest_labels(points, known, labels) -> np.ndarray:
    """The label of the nearest known point [j, 3] for each point [k, 3]."""
    chosen = np.unique(np.linspace(0, len(known) - 1, min(len(known), 300)).astype(int))
    result = np.empty(len(points), dtype=int)
    for start in range(0, len(points), 1000):
        gaps = np.linalg.norm(points[start : start + 1000, None] - known[None, chosen], axis=2)
        result[start : start + 1000] = labels[chosen[np.argmin(gaps, axis=1)]]
    return result


# ---- overlaps, part by part -----------------------------------------------------------------------------------------
def flattened(shapes: list) -> tuple[list, np.ndarray]:
    """All convex parts of bodies, and the body of each."""
    flat = [part for shape in shapes for part in shape.parts()]
    return flat, np.repeat(np.arange(len(shapes)), [len(shape.parts()) for shape in shapes])


def pairs(owner: np.ndarray, first, second) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of parts [q], [q] of pairs of bodies [p], [p], and the pair [q] of bodies that each is of."""
    parts = [np.flatnonzero(owner == body) for body in range(int(owner.max(initial=-1)) + 1)]
    found = [
        (a, b, row) for row, (i, j) in enumerate(zip(first, second, strict=True)) for a in parts[i] for b in parts[j]
    ]
    return tuple(np.array(found, dtype=int).reshape(-1, 3).T)


def depths(shapes: list, first, second, within: float = 0.0) -> np.ndarray:
    """How deep pairs of bodies [p] stand in each other [m], as `overlap.depths`."""
    flat, owner = flattened(shapes)
    a, b, row = pairs(owner, first, second)
    depth, _direction = overlap.depths(flat, a, b, within)
    result = np.full(len(first), -np.inf)
    np.maximum.at(result, row, depth)
    return result


def met(shapes: list, first, second, moves: np.ndarray) -> np.ndarray:
    """Whether pairs of bodies [p] stand in each other in any of several poses, as `overlap.met`."""
    flat, owner = flattened(shapes)
    a, b, row = pairs(owner, first, second)
    result = np.zeros(len(first), dtype=bool)
    result[row[overlap.met(flat, a, b, moves[:, owner])]] = True
    return result


def separate(shapes: list, first, second, *, may_overlap, twins, points, **settings) -> list:
    """`overlap.separate` for bodies of several parts; `shapes` is changed in place. Rows of pairs that overlap."""
    flat, owner = flattened(shapes)
    if len(flat) == len(shapes):
        return overlap.separate(shapes, first, second, may_overlap=may_overlap, twins=twins, points=points, **settings)
    a, b, row = pairs(owner, first, second)
    begin = np.searchsorted(owner, np.arange(len(shapes)))
    place = np.arange(len(flat)) - begin[owner]
    # A body's parts have those of its twin for twins; the parts of one in the mirror plane have none.
    own = twins[owner]
    single = np.array([len(shape.parts()) == 1 for shape in shapes])[owner]
    part_twins = np.where((own < 0) | ((own == owner) & ~single), -1, begin[own] + place)
    part_points = []
    for part, body in zip(flat, owner, strict=True):
        held = points[body]
        if held is not None and len(shapes[body].parts()) > 1:
            held = held[part.distance(held) <= 0.0]
            held = held if len(held) else None
        part_points.append(held)
    found = overlap.separate(flat, a, b, may_overlap=may_overlap[row], twins=part_twins, points=part_points, **settings)
    for body, shape in enumerate(shapes):
        own = flat[begin[body] : begin[body] + len(shape.parts())]
        shapes[body] = joined(own, shape.axes) if shape.pieces else own[0]
    return sorted({int(row[k]) for k in found})


def moved(shape: Shape, axes: np.ndarray, origin: np.ndarray) -> Shape:
    """A shape turned by `axes` [3, 3] and then shifted to `origin` [3]."""
    pieces = tuple(moved(piece, axes, origin) for piece in shape.pieces)
    return replace(shape, center=axes @ shape.center + origin, axes=axes @ shape.axes, pieces=pieces)
