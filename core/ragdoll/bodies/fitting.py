"""Primitives fitted to weighted points: the least volume that covers a chosen share of the weight.

Everything works in a given frame, whose z is the limb's axis: so a fit moves, turns and grows with its points. No
random numbers, no iteration to a tolerance: the same points give the same shape, to the last bit.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...errors import RagdollError
from ...mirror import reflect, reflection
from . import convex

CAPSULE, BOX, SPHERE, CONVEX_HULL = "CAPSULE", "BOX", "SPHERE", "CONVEX_HULL"
COMPOUND = "COMPOUND"  # of several convex pieces, see `compound`
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
    # a hull's corners in the body frame [k, 3] [m], their box centred on the origin; not used by the others
    points: np.ndarray | None = None
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
        elif self.kind == BOX:
            local, radius = _CORNERS * self.half, 0.0
        else:
            local, radius = self.points, 0.0
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
    """Moments [m, 3] of bodies about their own axes and centres [kg m^2], as Blender gives them.

    A sphere has its own; every other shape, a capsule too, has those of the box around it.

    Args:
        kinds: shapes [m]. sizes: along their own axes [m, 3] [m]. masses: [m] [kg].
    """
    sizes, masses = np.asarray(sizes, dtype=float), np.asarray(masses, dtype=float)[:, None]
    squares = sizes**2
    boxes = masses / 12.0 * (squares.sum(axis=1, keepdims=True) - squares)
    spheres = 0.4 * masses * (0.5 * sizes.max(axis=1, keepdims=True)) ** 2
    return np.where(np.array([kind == SPHERE for kind in kinds])[:, None], spheres, boxes)


def from_hull(solid: convex.Hull, origin: np.ndarray, axes: np.ndarray) -> Shape:
    """A body of a hull in the frame `axes` about a world point; its middle is the middle of the hull's box."""
    low, high = solid.points.min(axis=0), solid.points.max(axis=0)
    middle = (low + high) / 2.0
    points = solid.moved(-middle).points
    return Shape(CONVEX_HULL, origin + axes @ middle, axes, (high - low) / 2.0, points)


def cross_axes(axes: np.ndarray, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The frame [3, 3] turned about its z so that x is the widest direction of the points across it.

    Where their cross-section is round (`ROUND`) the frame stays as it is.
    """
    flat = (points @ axes)[:, :2]
    flat = flat - weights @ flat / weights.sum()
    xx, yy = weights @ (flat * flat)
    xy = weights @ (flat[:, 0] * flat[:, 1])
    if np.hypot(xx - yy, 2.0 * xy) < ROUND * (xx + yy):
        return axes
    angle = 0.5 * np.arctan2(2.0 * xy, xx - yy)
    x = axes[:, 0] * np.cos(angle) + axes[:, 1] * np.sin(angle)
    return np.stack([x, np.cross(axes[:, 2], x), axes[:, 2]], axis=1)


def fit(
    points: np.ndarray, axes: np.ndarray, kind: str = "AUTO", *, weights=None, share: float = 0.9, smallest: float = 0.0
) -> Shape:
    """The shape of least volume that covers a share of weighted points.

    Raises RagdollError: too few points, a share outside 0..1, a kind that does not exist.

    Args:
        points: at least `FEWEST_POINTS` points [k, 3] [m]. weights: not negative [k]; all equal by default.
        axes: frame [3, 3], z along the limb; turned about z to the points' own cross axes.
        kind: CAPSULE, BOX, SPHERE, CONVEX_HULL, or AUTO for the one of least volume (a hull where it wins by much).
        share: of the weight to cover, 0..1. smallest: no half extent is less [m].
    """
    points = np.asarray(points, dtype=float)
    weights = np.ones(len(points)) if weights is None else np.asarray(weights, dtype=float)
    if kind not in ("AUTO", *PRIMITIVES, CONVEX_HULL):
        raise RagdollError(f"Unknown shape '{kind}'")
    if not 0.0 < share <= 1.0:
        raise RagdollError(f"A share to cover must be above 0 and at most 1, got {share}")
    points, weights = points[weights > 0.0], weights[weights > 0.0]
    if len(points) < FEWEST_POINTS:
        raise RagdollError(f"A fit needs {FEWEST_POINTS} points with weight, got {len(points)}")
    weights = weights / weights.sum()
    axes = cross_axes(axes, points, weights)
    if len(points) > MOST_POINTS:
        local = (points - points.mean(axis=0)) @ axes
        corners = np.argmax(local / np.maximum(np.ptp(local, axis=0), 1e-12) @ _COMPASS.T, axis=0)
        chosen = np.union1d(np.linspace(0, len(points) - 1, MOST_POINTS).astype(int), corners)
        few = weights[chosen] / weights[chosen].sum()
        best = _best(points[chosen], few, axes, kind, share, smallest)
        return _reaching(best, points, weights, share)
    return _best(points, weights, axes, kind, share, smallest)


def _reaching(shape, points, weights, share):
    """The shape fitted to some of the points, made larger where it covers too little of all of them."""
    if shape.kind == CONVEX_HULL:
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
    best = None
    for center in (_middle(local, weights, share, _HALF_COMPASS), weights @ local):
        distance = np.linalg.norm(local - center, axis=1)
        radius = float(_quantiles(distance[:, None], weights, (share,))[0, 0])
        if best is None or radius < best[1]:
            best = center, radius
    return best[0], np.full(3, best[1])


def _capsule(local, weights, share):
    """Radii from the share's own quantile to all of it; for each, the shortest axis between trimmed ends."""
    turn = np.arange(8) * (np.pi / 8.0)
    compass = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    z = local[:, 2]
    best = None
    middle = _middle(local[:, :2], weights, share, compass)
    across = np.linalg.norm(local[:, :2] - middle, axis=1)
    radii = np.unique(_quantiles(across[:, None], weights, np.linspace(share, 1.0, _RADII))[:, 0])
    for radius in radii:
        inside = across <= radius + 1e-12
        cap = np.sqrt(np.maximum(radius**2 - across**2, 0.0))
        low, high, w = (z + cap)[inside], (z - cap)[inside], weights[inside]
        spare = max(w.sum() - share, 0.0)
        starts = _quantiles(low[:, None], w / w.sum(), np.linspace(0.0, spare / w.sum(), _ENDS))[:, 0]
        order = np.argsort(high, kind="stable")
        covered = np.cumsum(w[order] * (low[order] >= starts[:, None]), axis=1)
        enough = covered >= share - 1e-9
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
    outer = above.min(axis=1)  # the weight beyond the point in its most outward direction
    ranked = np.argsort(-outer, kind="stable")
    kept = ranked[: int(np.argmax(np.cumsum(weights[ranked]) >= share - 1e-9)) + 1]
    rest = local[kept]
    corners = np.unique(np.argmax(along[kept], axis=0))
    thin = size.min() < max(2.0 * smallest, 1e-6 * size.max())
    if thin or len(corners) < 4:
        return None
    try:
        solid = convex.hull(rest[corners])
    except RagdollError:
        return None
    reach = solid.gauge(local)
    factor = float(_quantiles(reach[:, None], weights, (share,))[0, 0])
    return solid.scaled(max(factor, 1e-3))
