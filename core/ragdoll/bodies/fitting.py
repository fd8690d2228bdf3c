"""Shapes fitted to weighted points: the least volume that covers a chosen share of the weight.

Everything works in a given frame, whose z is the limb's axis: so a fit moves, turns and grows with its points. No
random numbers, no iteration to a tolerance: the same points give the same shape, to the last bit.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import RagdollError
from ...mirror import reflect, reflection
from . import convex

CAPSULE, BOX, SPHERE, CONVEX_HULL = "CAPSULE", "BOX", "SPHERE", "CONVEX_HULL"
COMPOUND = "COMPOUND"  # of several convex pieces
PRIMITIVES = (CAPSULE, BOX, SPHERE)
FEWEST_POINTS = 8  # fewer say nothing about a limb's thickness
MOST_POINTS = 400  # of a body; more are thinned out evenly, which changes a fit by less than it is exact
# A hull is chosen where it has at most this share of the best primitive's volume. A hull of few corners is a poor
# ball, hence the sphere's. In a limp fall hulls take no longer than primitives.
HULL_WINS = {"BOX": 0.95, "CAPSULE": 0.95, "SPHERE": 0.85}
ROUND_WINS = 0.97  # a sphere is chosen before a capsule that saves less
ROUND = 0.15  # cross-sections whose variances differ by less are round: their axes follow the bone
_PEELS = 16
_RADII = 5
_ENDS = 7
_SIGNS = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) != (0, 0, 0)]
_CORNERS = np.array([signs for signs in _SIGNS if 0 not in signs], dtype=float)
_COMPASS = np.array(_SIGNS, dtype=float) / np.linalg.norm(_SIGNS, axis=1)[:, None]  # mirrored onto itself by each axis
_HALF_COMPASS = _COMPASS[len(_COMPASS) // 2 :]


@dataclass(frozen=True)
class Shape:
    """A convex body, or a compound of several."""

    kind: str  # CAPSULE, BOX, SPHERE, CONVEX_HULL or COMPOUND
    center: np.ndarray  # middle, the body's centre of mass [3] [m]
    axes: np.ndarray  # body frame, columns x, y, z with z along the limb [3, 3]
    half: np.ndarray  # half extents in the body frame [3] [m]; a capsule has its radius in x and y
    points: np.ndarray | None = None  # a hull's corners in the body frame [k, 3] [m], their box centred on the origin
    pieces: tuple = ()  # the convex shapes of a compound; its own frame and half extents are those of their box

    def __post_init__(self) -> None:
        if self.kind == CONVEX_HULL and self.points is None:  # one that was never fitted is its box
            object.__setattr__(self, "points", _CORNERS * self.half)

    def parts(self) -> tuple:
        """The convex shapes that make it up: its pieces, or itself."""
        return self.pieces or (self,)

    @property
    def solid(self) -> convex.Hull:
        """The hull of `points`, in the body frame."""
        return convex.hull(self.points)

    def volume(self) -> float:
        """Volume [m^3]; a compound's is the sum of its pieces'."""
        if self.pieces:
            return sum(piece.volume() for piece in self.pieces)
        x, y, z = (float(h) for h in self.half)
        if self.kind == CAPSULE:
            return np.pi * x * x * 2.0 * max(z - x, 0.0) + 4.0 / 3.0 * np.pi * x**3
        if self.kind == SPHERE:
            return 4.0 / 3.0 * np.pi * x**3
        return 8.0 * x * y * z if self.kind == BOX else self.solid.volume()

    def core(self) -> tuple[np.ndarray, float]:
        """Points [k, 3] in the world and a radius [m]: the shape, or a compound's hull, is all within it of theirs."""
        if self.pieces:
            return np.concatenate([piece.core()[0] for piece in self.pieces]), 0.0
        x, _y, z = self.half
        if self.kind == CAPSULE:
            local, radius = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]) * max(z - x, 0.0), x
        elif self.kind == SPHERE:
            local, radius = np.zeros((1, 3)), x
        else:
            local, radius = _CORNERS * self.half if self.kind == BOX else self.points, 0.0
        return self.center + local @ self.axes.T, float(radius)

    def distance(self, points: np.ndarray) -> np.ndarray:
        """How far [n] points [n, 3] are outside [m]; inside negative, a hull's corners are taken a little too near."""
        if self.pieces:
            return np.min([piece.distance(points) for piece in self.pieces], axis=0)
        local = (points - self.center) @ self.axes
        x, _y, z = self.half
        if self.kind == SPHERE:
            return np.linalg.norm(local, axis=1) - x
        if self.kind == CAPSULE:
            local[:, 2] -= np.clip(local[:, 2], -max(z - x, 0.0), max(z - x, 0.0))
            return np.linalg.norm(local, axis=1) - x
        if self.kind == BOX:
            beyond = np.abs(local) - self.half
            return np.linalg.norm(np.maximum(beyond, 0.0), axis=1) + np.minimum(beyond.max(axis=1), 0.0)
        return np.max(local @ self.solid.normals.T - self.solid.offsets, axis=1)

    def mirrored(self, normal: np.ndarray, offset: float) -> "Shape":
        """The mirror image across the plane `normal` . p = `offset`; its frame is a rotation again, x reversed."""
        axes = reflection(normal) @ self.axes
        axes[:, 0] *= -1.0
        points = self.solid.mirrored().points if self.kind == CONVEX_HULL else None
        pieces = tuple(piece.mirrored(normal, offset) for piece in self.pieces)
        return replace(self, center=reflect(self.center, normal, offset), axes=axes, points=points, pieces=pieces)


def own_moments(kinds, sizes, masses) -> np.ndarray:
    """Moments [m, 3] of bodies about their own axes and centres [kg m^2], as Blender gives them: a sphere has its own,
    every other shape, a capsule too, those of the box around it. Kinds are their collision shapes (m of them),
    sizes along their own axes of shape [m, 3] and in metres, masses of shape [m] and in kg."""
    sizes, masses = np.asarray(sizes, dtype=float), np.asarray(masses, dtype=float)[:, None]
    squares = sizes**2
    boxes = masses / 12.0 * (squares.sum(axis=1, keepdims=True) - squares)
    spheres = 0.4 * masses * (0.5 * sizes.max(axis=1, keepdims=True)) ** 2
    return np.where(np.array([kind == SPHERE for kind in kinds])[:, None], spheres, boxes)


def from_hull(solid: convex.Hull, origin: np.ndarray, axes: np.ndarray) -> Shape:
    """A body of a hull in the frame `axes` about a world point; its middle is the middle of the hull's box."""
    low, high = solid.points.min(axis=0), solid.points.max(axis=0)
    middle = (low + high) / 2.0
    return Shape(CONVEX_HULL, origin + axes @ middle, axes, (high - low) / 2.0, solid.moved(-middle).points)


def fit(points, axes, kind: str = "AUTO", *, weights=None, share: float = 0.9, smallest: float = 0.0) -> Shape:
    """The shape of least volume that covers a share of weighted points.

    Raises RagdollError: too few points.

    Args:
        points: at least `FEWEST_POINTS` points [k, 3] [m]. weights: not negative [k]; all equal by default.
        axes: frame [3, 3], z along the limb; turned about z to the points' own axes unless they are round (`ROUND`).
        kind: CAPSULE, BOX, SPHERE, CONVEX_HULL, or AUTO for the one of least volume (a hull where it wins by much).
        share: of the weight to cover, 0..1. smallest: no half extent is less [m].
    """
    points = np.asarray(points, dtype=float)
    weights = np.ones(len(points)) if weights is None else np.asarray(weights, dtype=float)
    points, weights = points[weights > 0.0], weights[weights > 0.0]
    if len(points) < FEWEST_POINTS:
        raise RagdollError(f"A fit needs {FEWEST_POINTS} points with weight, got {len(points)}")
    weights = weights / weights.sum()
    flat = (points @ axes)[:, :2]
    flat = flat - weights @ flat / weights.sum()
    xx, yy = weights @ (flat * flat)
    xy = weights @ (flat[:, 0] * flat[:, 1])
    if np.hypot(xx - yy, 2.0 * xy) >= ROUND * (xx + yy):  # x is the widest direction of the points across z
        angle = 0.5 * np.arctan2(2.0 * xy, xx - yy)
        x = axes[:, 0] * np.cos(angle) + axes[:, 1] * np.sin(angle)
        axes = np.stack([x, np.cross(axes[:, 2], x), axes[:, 2]], axis=1)
    if len(points) <= MOST_POINTS:
        return _best(points, weights, axes, kind, share, smallest)
    local = (points - points.mean(axis=0)) @ axes
    corners = np.argmax(local / np.maximum(np.ptp(local, axis=0), 1e-12) @ _COMPASS.T, axis=0)
    chosen = np.union1d(np.linspace(0, len(points) - 1, MOST_POINTS).astype(int), corners)
    shape = _best(points[chosen], weights[chosen] / weights[chosen].sum(), axes, kind, share, smallest)
    if shape.kind == CONVEX_HULL:  # made larger where it covers too little of all points
        reach = shape.solid.gauge((points - shape.center) @ shape.axes)
        factor = float(_quantiles(reach[:, None], weights, (share,))[0, 0])
        return from_hull(shape.solid.scaled(factor), shape.center, shape.axes) if factor > 1.0 else shape
    missing = float(_quantiles(shape.distance(points)[:, None], weights, (share,))[0, 0])
    return replace(shape, half=shape.half + missing) if missing > 0.0 else shape


def _best(points, weights, axes, kind, share, smallest):
    origin = weights @ points
    local = (points - origin) @ axes

    def placed(center, half, kind):
        half = np.maximum(half, smallest)
        if kind == CAPSULE:
            half[2] = max(half[2], half[0])
        return Shape(kind, origin + axes @ center, axes, half)

    makers = {CAPSULE: _capsule, BOX: _box, SPHERE: _sphere}
    found = [placed(*makers[k](local, weights, share), k) for k in PRIMITIVES if kind in ("AUTO", k)]
    # A sphere that is as good as the best is simpler than a capsule without length.
    best = min(found, key=lambda shape: shape.volume() * (ROUND_WINS if shape.kind == SPHERE else 1.0), default=None)
    if kind in ("AUTO", CONVEX_HULL):
        solid = fit_hull(local, weights, share, smallest)
        if solid is not None and (best is None or solid.volume() < HULL_WINS[best.kind] * best.volume()):
            best = from_hull(solid, origin, axes)
        elif best is None:  # all in a plane: a thin box is their hull
            best = placed(*_box(local, weights, share), BOX)
    return best


def _quantiles(values, weights, levels):
    """Weighted quantiles [.., d] of the columns of values [k, d]: the least value with that share at or below it."""
    order = np.argsort(values, axis=0, kind="stable")
    ranked = np.take_along_axis(values, order, axis=0)
    below = np.cumsum(weights[order], axis=0)
    rows = [np.argmax(below >= level - 1e-9, axis=0) for level in levels]
    return np.array([ranked[row, np.arange(values.shape[1])] for row in rows])


def _middle(local, weights, share, directions):
    """A centre [d]: by least squares in the middle of the trimmed extents along all directions [n, d]."""
    trim = (1.0 - share) / (2.0 * len(directions[0]))
    low, high = _quantiles(local @ directions.T, weights, (trim, 1.0 - trim))
    return np.linalg.lstsq(directions, (low + high) / 2.0, rcond=None)[0]


def _sphere(local, weights, share):
    found = []
    for center in (_middle(local, weights, share, _HALF_COMPASS), weights @ local):
        distance = np.linalg.norm(local - center, axis=1)
        found.append((float(_quantiles(distance[:, None], weights, (share,))[0, 0]), center))
    radius, center = min(found, key=lambda each: each[0])
    return center, np.full(3, radius)


def _capsule(local, weights, share):
    """Radii from the share's own quantile to all of it; for each, the shortest axis between trimmed ends."""
    turn = np.arange(8) * (np.pi / 8.0)
    compass = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    z = local[:, 2]
    best = None
    middle = _middle(local[:, :2], weights, share, compass)
    across = np.linalg.norm(local[:, :2] - middle, axis=1)
    for radius in np.unique(_quantiles(across[:, None], weights, np.linspace(share, 1.0, _RADII))[:, 0]):
        inside = across <= radius + 1e-12
        cap = np.sqrt(np.maximum(radius**2 - across**2, 0.0))
        low, high, w = (z + cap)[inside], (z - cap)[inside], weights[inside]
        spare = max(w.sum() - share, 0.0)
        starts = _quantiles(low[:, None], w / w.sum(), np.linspace(0.0, spare / w.sum(), _ENDS))[:, 0]
        order = np.argsort(high, kind="stable")
        enough = np.cumsum(w[order] * (low[order] >= starts[:, None]), axis=1) >= share - 1e-9
        ends = high[order][np.argmax(enough, axis=1)]
        length = np.where(enough[:, -1], np.maximum(ends - starts, 0.0), np.inf)
        row = int(np.argmin(length))
        volume = np.pi * radius**2 * (length[row] + 4.0 / 3.0 * radius)
        if np.isfinite(volume) and (best is None or volume < best[0]):
            center = (starts[row] + ends[row]) / 2.0
            best = volume, np.array([*middle, center]), np.array([radius, radius, length[row] / 2.0 + radius])
    return best[1], best[2]


def _box(local, weights, share):
    """Peels of a fixed weight, each from the side of the six where it shortens the box most."""
    order = np.argsort(local, axis=0, kind="stable")
    ranked = np.take_along_axis(local, order, axis=0).T  # [3, k]
    ranked_weights = weights[order].T
    alive = np.ones(local.shape[0], dtype=bool)
    low, high = local.min(axis=0), local.max(axis=0)
    total, step = 1.0, (1.0 - share) / _PEELS
    rows = np.arange(3)
    for peel in range(_PEELS if step > 1e-9 else 0):
        spare = total - max(share, 1.0 - (peel + 1) * step)
        if spare <= 0.0:
            continue
        below = np.cumsum(ranked_weights * alive[order].T, axis=1)
        new_low = ranked[rows, np.argmax(below > spare + 1e-12, axis=1)]
        new_high = ranked[rows, np.argmax(below >= total - spare - 1e-12, axis=1)]
        size = np.maximum(high - low, 1e-12)
        gain = np.concatenate([(new_low - low) / size, (high - new_high) / size])
        side = int(np.argmax(gain))
        if gain[side] <= 0.0:
            continue
        axis = side % 3
        alive &= local[:, axis] >= new_low[axis] if side < 3 else local[:, axis] <= new_high[axis]
        total = float(weights[alive].sum())
        low, high = local[alive].min(axis=0), local[alive].max(axis=0)
    return (low + high) / 2.0, (high - low) / 2.0


def fit_hull(local: np.ndarray, weights: np.ndarray, share: float, smallest: float = 0.0) -> convex.Hull | None:
    """A hull of at most 26 corners that covers the share of points [n, 3]; None where they lie in one plane.

    The points that are outermost in some of 26 directions are trimmed; of the rest the outermost in each direction
    are its corners. Scaled about its middle it covers exactly the share.
    """
    size = np.maximum(np.ptp(local, axis=0), 1e-12)
    along = (local / size) @ _COMPASS.T
    order = np.argsort(-along, axis=0, kind="stable")
    above = np.empty_like(along)
    np.put_along_axis(above, order, np.cumsum(weights[order], axis=0), axis=0)
    ranked = np.argsort(-above.min(axis=1), kind="stable")  # by the weight beyond it in its most outward direction
    kept = ranked[: int(np.argmax(np.cumsum(weights[ranked]) >= share - 1e-9)) + 1]
    rest = local[kept]
    corners = np.unique(np.argmax(along[kept], axis=0))
    if size.min() < max(2.0 * smallest, 1e-6 * size.max()):
        return None
    try:
        solid = convex.hull(rest[corners])
    except RagdollError:
        return None
    return solid.scaled(max(float(_quantiles(solid.gauge(local)[:, None], weights, (share,))[0, 0]), 1e-3))


# ---- bodies of several convex parts ---------------------------------------------------------------------------------
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


def split(whole: Shape, points, weights, bones, trees, *, forced: bool = False, **settings) -> Shape:
    """The body as a compound of two or three parts where that pays, else `whole`, the one convex shape.

    Args:
        points, weights: what the body is to cover [k, 3] [m], [k]. bones: that hold each point most [k].
        trees: masks of bones [n], each a merged bone and all below it: what may become a part.
        forced: take the best two parts whatever they save. settings: `share` and `smallest` of `fit`, for each part.
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
            pieces = [fit(points[own], whole.axes, CONVEX_HULL, weights=weights[own], **settings) for own in rows]
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


def moved(shape: Shape, axes: np.ndarray, origin: np.ndarray) -> Shape:
    """A shape turned by `axes` [3, 3] and then shifted to `origin` [3]."""
    pieces = tuple(moved(piece, axes, origin) for piece in shape.pieces)
    return replace(shape, center=axes @ shape.center + origin, axes=axes @ shape.axes, pieces=pieces)


# ---- skin weights ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Skin:
    """Vertices in bind pose and their weights; one element is one bone's hold on one vertex."""

    points: np.ndarray  # vertices [v, 3] [m]
    vertex: np.ndarray  # index of the vertex of each element [e]
    bone: np.ndarray  # and of its bone [e]
    weight: np.ndarray  # of each element [e], not negative; those of a vertex need not sum to 1
    bone_count: int  # number of bones n
    edges: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), dtype=int))  # pairs of vertices they join [d, 2]

    def dominated(self, owner: np.ndarray, count: int) -> tuple[list, np.ndarray, np.ndarray]:
        """Vertices of each owner: those on which its bones together have more hold than any other's.

        For each owner (points [k, 3], share of each one's weights that is the owner's [k]) or None, and `holders`."""
        holder, share = self.holders(owner, count)
        rows = [np.flatnonzero(holder == i) for i in range(count)]
        return [(self.points[own], share[own]) if len(own) else None for own in rows], holder, share

    def of_bones(self) -> list:
        """The vertices [k, 3] on which each bone has more hold than any other, or None [n]."""
        return [own and own[0] for own in self.dominated(np.arange(self.bone_count), self.bone_count)[0]]

    def holders(self, owner: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The owner of each vertex, -1 for none, and the share [v] of its weights that this owner's bones have."""
        mask = owner[self.bone] >= 0
        vertex, body, weight = self.vertex[mask], owner[self.bone][mask], self.weight[mask]
        pairs, place = np.unique(vertex.astype(np.int64) * max(count, 1) + body, return_inverse=True)
        held = np.bincount(place.ravel(), weight, len(pairs))
        vertex, body = pairs // max(count, 1), pairs % max(count, 1)
        order = np.lexsort((body, -held, vertex))
        best = order[np.unique(vertex[order], return_index=True)[1]]
        best = best[held[best] > 0.0]
        holder, share = np.full(len(self.points), -1), np.zeros(len(self.points))
        holder[vertex[best]] = body[best]
        share[vertex[best]] = held[best] / np.bincount(self.vertex, self.weight, len(self.points))[vertex[best]]
        return holder, share

    def strongest(self, owner: np.ndarray, holder: np.ndarray) -> np.ndarray:
        """The bone that holds each vertex most among those of its holder, -1 for none [v]; see `holders`."""
        mask = (holder[self.vertex] >= 0) & (owner[self.bone] == holder[self.vertex])
        vertex, bone, weight = self.vertex[mask], self.bone[mask], self.weight[mask]
        order = np.lexsort((-bone, weight, vertex))  # the last of a vertex is the one wanted
        result = np.full(len(self.points), -1)
        result[vertex[order]] = bone[order]
        return result

    def between(self, holder, share, joints, ends, joined) -> list:
        """Points on edges from one body's vertices to another's, where the one body ends.

        Coarse meshes have vertices at the joints only, so that those of a body may be no more than a ring. Its part of
        an edge to a body that it is joined to goes as far as its own limb does, at least to the middle.
        Returns for each body (points [k, 3], weights [k]).

        Args:
            holder, share: see `holders`. joints, ends: where each body's limb begins and ends [m, 3].
            joined: whether bodies are joined [m, m].
        """
        edges = self.edges[np.all(holder[self.edges] >= 0, axis=1)] if len(self.edges) else self.edges
        edges = edges[holder[edges[:, 0]] != holder[edges[:, 1]]]
        edges = np.concatenate([edges, edges[:, ::-1]])
        here, there = self.points[edges[:, 0]], self.points[edges[:, 1]]
        body = holder[edges[:, 0]]
        limb = (ends - joints)[body]
        length = np.linalg.norm(limb, axis=1)
        limb = limb / np.maximum(length, 1e-12)[:, None]
        near = np.einsum("ei,ei->e", here - joints[body], limb)
        far = np.einsum("ei,ei->e", there - joints[body], limb)
        step = np.where(np.abs(far - near) > 1e-12, far - near, 1e-12)
        stop = np.where(far > length, (length - near) / step, np.where(far < 0.0, -near / step, 1.0))
        stop = np.where(joined[body, holder[edges[:, 1]]] & (length > 1e-12), np.clip(stop, 0.5, 1.0), 0.5)
        points = here + stop[:, None] * (there - here)
        return [(points[body == i], share[edges[:, 0]][body == i]) for i in range(len(joints))]
