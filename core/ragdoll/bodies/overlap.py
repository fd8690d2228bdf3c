"""Which bodies meet: how deep they stand in each other, making them smaller until they do not, collision layers.

Two convex shapes are apart when some direction shows a gap between their supports; the least overlap over all
directions is the depth (the separating axis theorem; Ericson, Real-Time Collision Detection, 5.2.1). Directions are
sampled and then refined, so a depth is never reported too small.
"""

import copy
from dataclasses import dataclass, replace

import numpy as np

from ... import quaternion, skeleton
from ...errors import RagdollError
from . import convex
from .fitting import BOX, CAPSULE, SPHERE, Shape, from_hull, joined

_SAMPLES = 32
_REFINEMENTS = 0.3 * 0.55 ** np.arange(8)  # [rad]
_ROUNDS = 12
COVERED = 3.0  # losing all points counts as much as losing all but exp(-3) of the volume
KEPT_AT_LEAST = 0.4  # of its volume: a body that would lose more overlaps instead, if its joint is near


def sphere_directions(count: int) -> np.ndarray:
    """Directions [2 count, 3] spread evenly (Fibonacci's spiral), each with its opposite."""
    i = np.arange(count) + 0.5
    z = 1.0 - i / count
    turn = i * np.pi * (3.0 - np.sqrt(5.0))
    half = np.stack([np.sqrt(1.0 - z * z) * np.cos(turn), np.sqrt(1.0 - z * z) * np.sin(turn), z], axis=1)
    return np.concatenate([half, -half])


_DIRECTIONS = sphere_directions(_SAMPLES)
_RING = np.stack([np.cos(np.arange(8) * np.pi / 4.0), np.sin(np.arange(8) * np.pi / 4.0)], axis=1)
_AT_ONCE = 50_000  # pairs in poses: enough to spread the cost of calling numpy, few enough for the memory


class _Cores:
    """Cores of shapes in equally long arrays: points [m, k, 3], radii [m], middles [m, 3], box radius [m]."""

    def __init__(self, shapes: list) -> None:
        cores = [shape.core() for shape in shapes]
        longest = max(len(points) for points, _radius in cores)
        self.points = np.array([np.concatenate([p, np.repeat(p[:1], longest - len(p), axis=0)]) for p, _r in cores])
        self.radii = np.array([radius for _points, radius in cores])
        self.centers = np.array([shape.center for shape in shapes])
        self.axes = np.array([shape.axes for shape in shapes])
        self.reach = np.linalg.norm(self.points - self.centers[:, None], axis=2).max(axis=1) + self.radii

    def moved(self, moves: np.ndarray) -> "_Cores":
        """The shapes in all of several poses, pose by pose, by the rigid motions [f, m, 4, 4]."""
        turn, shift = moves[..., :3, :3], moves[..., :3, 3]
        result, count = copy.copy(self), len(moves)
        result.points = (self.points @ turn.swapaxes(-1, -2) + shift[:, :, None]).reshape(-1, *self.points.shape[1:])
        result.centers = (np.einsum("fmij,mj->fmi", turn, self.centers) + shift).reshape(-1, 3)
        result.axes = (turn @ self.axes).reshape(-1, 3, 3)
        result.radii, result.reach = np.tile(self.radii, count), np.tile(self.reach, count)
        return result

    def overlap(self, first, second, directions):
        """Overlap [p, d] of pairs along directions [p, d, 3] from the first towards the second."""
        a = np.matmul(directions, self.points[first].transpose(0, 2, 1)).max(axis=2)
        b = np.matmul(directions, self.points[second].transpose(0, 2, 1)).min(axis=2)
        return a - b + (self.radii[first] + self.radii[second])[:, None]


def _perpendicular(directions):
    """Two unit vectors [p, 3] across each direction [p, 3]."""
    u = quaternion.cross(np.eye(3)[np.argmin(np.abs(directions), axis=1)], directions)
    u /= np.linalg.norm(u, axis=1)[:, None]
    return u, quaternion.cross(directions, u)


def _few(cores, first, second):
    """The axes of both shapes and the way from middle to middle [p, 13, 3]."""
    between = cores.centers[second] - cores.centers[first]
    length = np.linalg.norm(between, axis=1)[:, None]
    between = np.where(length > 1e-12, between / np.maximum(length, 1e-12), [0.0, 0.0, 1.0])
    own = np.concatenate([cores.axes[first], cores.axes[second]], axis=2).transpose(0, 2, 1)
    return np.concatenate([own, -own, between[:, None]], axis=1)


def _depths(cores, first, second, enough: float = -np.inf):
    """Depths [p] and directions [p, 3] of pairs; those that are no deeper than `enough` are not measured on."""
    spread = np.broadcast_to(_DIRECTIONS, (len(first), *_DIRECTIONS.shape))
    direction, depth = _least(cores, first, second, np.concatenate([spread, _few(cores, first, second)], axis=1))
    rows = np.flatnonzero(depth > enough)
    for angle in _REFINEMENTS:
        if not len(rows):
            break
        now = direction[rows]
        u, v = _perpendicular(now)
        ring = _RING[:, 0][None, :, None] * u[:, None] + _RING[:, 1][None, :, None] * v[:, None]
        tried = np.concatenate([now[:, None], np.cos(angle) * now[:, None] + np.sin(angle) * ring], axis=1)
        direction[rows], depth[rows] = _least(cores, first[rows], second[rows], tried)
        rows = rows[depth[rows] > enough]
    return depth, direction


def _least(cores, first, second, directions):
    """The direction [p, 3] of each pair's directions [p, d, 3] along which it overlaps least, and by how much [p]."""
    overlap = cores.overlap(first, second, directions)
    least = np.argmin(overlap, axis=1)
    rows = np.arange(len(first))
    return directions[rows, least], overlap[rows, least]


def convex_depths(shapes: list, first, second, within: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Penetration depths [p] [m] of pairs of convex shapes, by their indices, and the directions of the least one.

    A depth is negative where there is a gap: its width or, beyond `within` [m], less. Directions are unit vectors
    [p, 3] from the first to the second.
    """
    first, second = np.asarray(first, dtype=int), np.asarray(second, dtype=int)
    if not len(first):
        return np.zeros(0), np.zeros((0, 3))
    cores = _Cores(shapes)
    between = cores.centers[second] - cores.centers[first]
    distance = np.linalg.norm(between, axis=1)
    depth = cores.reach[first] + cores.reach[second] - distance
    direction = between / np.maximum(distance, 1e-12)[:, None]
    near = np.flatnonzero(depth > -within)
    if len(near):
        few = _few(cores, first[near], second[near])  # few directions settle most pairs
        direction[near], depth[near] = _least(cores, first[near], second[near], few)
        near = near[depth[near] > -within]
    if len(near):
        depth[near], direction[near] = _depths(cores, first[near], second[near])
    return depth, direction


def _parts(shapes: list, first, second) -> tuple[list, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """All convex parts of bodies, the body of each, pairs of parts [q], [q] of pairs of bodies [p], [p], and the pair
    of bodies that each is of [q]."""
    flat = [part for shape in shapes for part in shape.parts()]
    owner = np.repeat(np.arange(len(shapes)), [len(shape.parts()) for shape in shapes])
    own = [np.flatnonzero(owner == body) for body in range(len(shapes))]
    found = [(a, b, row) for row, (i, j) in enumerate(zip(first, second, strict=True)) for a in own[i] for b in own[j]]
    return flat, owner, *np.array(found, dtype=int).reshape(-1, 3).T


def depths(shapes: list, first, second, within: float = 0.0) -> np.ndarray:
    """How deep pairs of bodies [p], compounds too, stand in each other [m], as `convex_depths`."""
    flat, _owner, a, b, row = _parts(shapes, first, second)
    result = np.full(len(first), -np.inf)
    np.maximum.at(result, row, convex_depths(flat, a, b, within)[0])
    return result


def met(shapes: list, first, second, moves: np.ndarray) -> np.ndarray:
    """Whether pairs of bodies [p] stand in each other in any of several poses.

    `shapes` stand in bind pose [m]; `moves` are their rigid motions from there to each pose [f, m, 4, 4]."""
    bodies = len(first)
    shapes, owner, first, second, row = _parts(shapes, first, second)
    moves, found = moves[:, owner], np.zeros(len(first), dtype=bool)
    if not len(first):
        return np.zeros(bodies, dtype=bool)
    cores = _Cores(shapes)
    step = max(_AT_ONCE // len(first), 1)
    for start in range(0, len(moves), step):
        some = moves[start : start + step]
        posed, pairs = cores.moved(some), np.flatnonzero(~found)
        begin = len(shapes) * np.arange(len(some))[:, None]
        a, b = (begin + first[pairs]).ravel(), (begin + second[pairs]).ravel()
        gaps = posed.centers[b] - posed.centers[a]  # what the spheres around the middles leave apart does not meet
        rows = np.flatnonzero(np.einsum("pi,pi->p", gaps, gaps) < (posed.reach[a] + posed.reach[b]) ** 2)
        if len(rows):  # few directions settle most pairs
            _direction, depth = _least(posed, a[rows], b[rows], _few(posed, a[rows], b[rows]))
            rows = rows[depth > 0.0]
        while len(rows):
            # What keeps a pair apart in one pose, turned with its first shape, mostly does in the others.
            _pair, once = np.unique(rows % len(pairs), return_index=True)
            tried = rows[once]
            depth, direction = _depths(posed, a[tried], b[tried], 0.0)
            apart = depth <= 0.0
            found[pairs[tried[~apart] % len(pairs)]] = True
            held = np.full((len(pairs), 3), np.nan)
            held[tried[apart] % len(pairs)] = np.einsum("pij,pi->pj", posed.axes[a[tried[apart]]], direction[apart])
            rows = rows[~np.isin(rows, tried)]
            turned = np.einsum("pij,pj->pi", posed.axes[a[rows]], held[rows % len(pairs)])
            rows = rows[posed.overlap(a[rows], b[rows], turned[:, None])[:, 0] > 0.0]
    return np.bincount(row[found], minlength=bodies) > 0


@dataclass(frozen=True)
class Smaller:
    """A way to make a shape reach less far."""

    volume: float  # of the smaller shape [m^3]; for a cut hull an estimate
    shape: Shape | None = None  # the smaller shape, or None where it is a hull that is to be cut
    planes: tuple = ()  # what is to be cut off: everything beyond `level` [m] along a unit direction, for each

    def make(self, shape: Shape) -> Shape | None:
        """The smaller shape, None where nothing would be left."""
        if self.shape is not None:
            return self.shape
        for direction, level in self.planes:
            shape = _clipped(shape, direction, level) if shape is not None else None
        return shape


def ways_to_shrink(shape: Shape, direction: np.ndarray, amount: float, mirror: np.ndarray | None = None) -> list:
    """Ways to make a shape smaller, inside itself, so that it reaches `amount` [m] less far along a direction.

    `mirror` is the unit normal of a mirror plane through the body: what is taken from one side is taken from both."""
    if mirror is not None and abs(direction @ mirror) < 1e-6:
        mirror = None
    way = {SPHERE: _shrink_sphere, CAPSULE: _shrink_capsule, BOX: _shrink_box}.get(shape.kind, _cut_hull)
    found = way(shape, direction, amount, mirror)
    return [each if isinstance(each, Smaller) else Smaller(each.volume(), each) for each in found]


def _shrink_sphere(shape, direction, amount, mirror):
    """Away from the other body, so that the far side stays where it is; in the mirror plane only."""
    shift = direction - (mirror * (direction @ mirror) if mirror is not None else 0.0)
    less = amount / (1.0 + float(shift @ direction))
    if less >= shape.half[0]:
        return []
    return [replace(shape, center=shape.center - shift * less, half=shape.half - less)]


def _shrink_capsule(shape, direction, amount, mirror):
    """Thinner all round, thinner and away from the other body, or shorter."""
    x, _y, z = (float(h) for h in shape.half)
    along = direction @ shape.axes
    found = []
    if amount < x:
        found.append(replace(shape, half=shape.half - amount))
    push = float(np.hypot(along[0], along[1]))
    if push > 0.3 and mirror is None and amount / (1.0 + push) < x:
        less = amount / (1.0 + push)
        shift = shape.axes[:, :2] @ along[:2] * (less / push)
        found.append(replace(shape, center=shape.center - shift, half=shape.half - less))
    steep = abs(float(along[2]))
    both = mirror is not None and abs(shape.axes[:, 2] @ mirror) > 0.99
    cut = amount / max(steep, 1e-3) * (1.0 if both else 0.5)
    if z - cut >= x:
        shift = 0.0 if both else -np.sign(along[2]) * cut
        found.append(replace(shape, center=shape.center + shape.axes[:, 2] * shift, half=np.array([x, x, z - cut])))
    return found


def _shrink_box(shape, direction, amount, mirror):
    """One of the sides that face the other body moved in."""
    along = direction @ shape.axes
    found = []
    for axis in range(3):
        both = mirror is not None and abs(shape.axes[:, axis] @ mirror) > 1e-3
        cut = amount / max(abs(float(along[axis])), 1e-3) * (1.0 if both else 0.5)
        if cut < shape.half[axis]:
            half = shape.half.copy()
            half[axis] -= cut
            shift = 0.0 if both else -np.sign(along[axis]) * cut
            found.append(replace(shape, center=shape.center + shape.axes[:, axis] * shift, half=half))
    return found


def _cut_hull(shape, direction, amount, mirror):
    """Cut by a plane, and by its mirror image. The volume is estimated from the middles between all corners."""
    points = shape.core()[0]
    middles = (points[:, None] + points[None]).reshape(-1, 3) / 2.0
    planes = [(direction, float(np.max(points @ direction)) - amount)]
    if mirror is not None:
        other = direction - 2.0 * (direction @ mirror) * mirror
        planes.append((other, float(np.max(points @ other)) - amount))
    left = np.all([middles @ way <= level for way, level in planes], axis=0)
    return [Smaller(shape.volume() * float(left.mean()), None, tuple(planes))]


def _clipped(shape, direction, level):
    """A hull without what lies beyond `level` along a direction; None when that is all."""
    direction, level = direction @ shape.axes, level - direction @ shape.center
    solid = shape.solid
    height = solid.points @ direction
    below = height <= level
    if not np.any(below):
        return None
    if np.all(below):
        return shape
    edges = np.array([pair for face in solid.faces for pair in zip(face, face[1:] + face[:1], strict=True)])
    edges = edges[~below[edges[:, 0]] & below[edges[:, 1]]]
    high, low = height[edges].T
    start, end = solid.points[edges[:, 1]], solid.points[edges[:, 0]]
    crossing = start + ((level - low) / (high - low))[:, None] * (end - start)
    room = max(convex.MOST_POINTS - np.count_nonzero(below), 3)
    if len(crossing) > room:
        u, v = (axis[0] for axis in _perpendicular(direction[None]))
        turn = np.arange(room) * (2.0 * np.pi / room)
        outward = np.outer(u, np.cos(turn)) + np.outer(v, np.sin(turn))
        crossing = crossing[np.unique(np.argmax(crossing @ outward, axis=0))]
    try:
        cut = convex.hull(np.concatenate([crossing, solid.points[below]])[: convex.MOST_POINTS])
    except RagdollError:
        return None
    return from_hull(cut, shape.center, shape.axes)


def separate(shapes, first, second, *, gap, may_overlap, twins=None, normal=None, offset=0.0, points=None) -> list:
    """Shrink bodies until none of the pairs overlaps; `shapes` is changed in place.

    The two of a pair give way so that the least is lost of their volumes and of the points that they cover, along the
    direction of least depth or one of their own axes. A body's twin is always its mirror image.
    Returns Rows of the pairs that overlap.

    Args:
        first, second: the pairs [p]. gap: distance [m] that is left between them.
        may_overlap: pairs [p] that rather overlap than cost a body more than `KEPT_AT_LEAST` leaves of it.
        twins: counterpart of every body, itself in the mirror plane `normal`, `offset`, -1 for none [m].
        points: what each body is to cover [k, 3], or None, for each [m].
    """
    flat, owner, a, b, row = _parts(shapes, first, second)
    begin = np.searchsorted(owner, np.arange(len(shapes)))
    # A body's parts have those of its twin for twins; the parts of one in the mirror plane have none.
    own = (np.full(len(shapes), -1) if twins is None else np.asarray(twins))[owner]
    several = np.array([bool(shape.pieces) for shape in shapes], dtype=bool)[owner]
    part_twins = np.where((own < 0) | ((own == owner) & several), -1, begin[own] + np.arange(len(flat)) - begin[owner])
    part_points = []
    for part, body in zip(flat, owner, strict=True):
        held = None if points is None else points[body]
        if held is not None and shapes[body].pieces:
            held = held[part.distance(held) <= 0.0]
        part_points.append(held if held is not None and len(held) else None)
    found = _separate(flat, a, b, gap, np.asarray(may_overlap)[row], part_twins, normal, offset, part_points)
    for body, shape in enumerate(shapes):
        parts = flat[begin[body] : begin[body] + len(shape.parts())]
        shapes[body] = joined(parts, shape.axes) if shape.pieces else parts[0]
    return sorted({int(row[k]) for k in found})


def _separate(shapes, first, second, gap, may_overlap, twins, normal, offset, points) -> list:
    """`separate` for convex shapes."""
    full = np.array([shape.volume() for shape in shapes])

    def left(body, way):
        """How much a smaller shape leaves of a body: of its volume, and of its points where it has any."""
        covered = 1.0
        if points[body] is not None:
            shape = shapes[body] if way.shape is None else way.shape
            inside = shape.distance(points[body]) <= 1e-9 * shape.half.max()
            for direction, level in way.planes:
                inside &= points[body] @ direction <= level
            covered = inside.mean()
        return np.log(max(way.volume / full[body], 1e-9)) + COVERED * covered

    given_up = set()
    active = np.arange(len(first))
    for _round in range(_ROUNDS):
        depth, direction = convex_depths(shapes, first[active], second[active], gap)
        meeting = [k for k in np.flatnonzero(depth > -0.5 * gap) if int(active[k]) not in given_up]
        if not meeting:
            break
        touched = set()
        for k in sorted(meeting, key=lambda k: (-depth[k], k)):
            i, j = int(first[active[k]]), int(second[active[k]])
            if touched & {i, j}:
                continue
            smallest = 0.0 if not may_overlap[active[k]] else KEPT_AT_LEAST
            change = _least_harm(shapes, i, j, depth[k] + gap, direction[k], full, smallest, twins, normal, left)
            if change is None:
                given_up.add(int(active[k]))
                continue
            for body, shape in change.items():
                twin = int(twins[body])
                shapes[body] = shape
                if twin >= 0 and twin != body:
                    shapes[twin] = shape.mirrored(normal, offset)
                touched |= {body, twin}
        active = active[depth > -0.5 * gap]
    depth, _direction = convex_depths(shapes, first, second)
    return [int(k) for k in np.flatnonzero(depth > 0.0)]


def _least_harm(shapes, i, j, amount, direction, full, smallest, twins, normal, left):
    """The smaller shapes of a pair, by body, that cost least; None when each way leaves too little."""
    cores = _Cores([shapes[i], shapes[j]])
    pair = np.array([0]), np.array([1])
    depth = float(cores.overlap(*pair, direction[None, None])[0, 0])
    twin = int(twins[i]) == j  # each stays on its side of the mirror plane
    ways = [normal] if twin else [direction, shapes[i].axes[:, 2], shapes[j].axes[:, 2]]
    before = {body: left(body, Smaller(shapes[body].volume(), shapes[body])) for body in (i, j)}
    found = []
    for way in (way if way @ direction > 0.0 else -way for way in ways):
        needed = float(cores.overlap(*pair, way[None, None])[0, 0]) - depth + amount
        if needed > 4.0 * amount and not twin:
            continue
        for share in (0.5,) if twin else (0.0, 0.5, 1.0):
            harm, chosen = 0.0, {}
            for body, sign, part in ((i, 1.0, share), (j, -1.0, 1.0 - share)):
                if part <= 0.0:
                    continue
                mirror = normal if int(twins[body]) == body else None
                options = ways_to_shrink(shapes[body], sign * way, part * needed, mirror)
                options = [each for each in options if each.volume > max(smallest, 0.02) * full[body]]
                if not options:
                    break
                values = [left(body, each) for each in options]
                chosen[body] = options[int(np.argmax(values))]
                harm += before[body] - max(values)
            else:
                found.append((harm, len(found), chosen))
    for _harm, _order, chosen in sorted(found, key=lambda each: each[:2]):
        made = {body: way.make(shapes[body]) for body, way in chosen.items()}
        if all(shape is not None for shape in made.values()):
            return made
    return None


# ---- collision layers -----------------------------------------------------------------------------------------------
# Collision layers for characters whose own bodies pass through each other, but not through others'.
#
# Two bodies touch when they share a layer, and Blender has 20. Were all n bodies of one character on layers that no
# other of it has, and did each share one with every body of another character of m bodies, then n times m layers would
# be needed. So the bodies are put into four groups, and what is of one group is told apart by constraints. Bodies of
# group a of one character and group b of another meet on the layer whose row of an orthogonal array has a in the one's
# column and b in the other's: the array of strength 2 over the field of four elements has 16 rows and 5 columns (R. C.
# Bose and K. A. Bush, Orthogonal arrays of strength two and three, 1952), so five characters meet in full.
LAYERS = 20  # Blender's
GROUPS = 4  # of one character's bodies
CHARACTERS = GROUPS + 1  # that meet each other in full
FIRST = LAYERS - GROUPS * GROUPS  # layers before it are left to the user
_PRODUCTS = np.array(((0, 0, 0, 0), (0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2)))  # of the field's elements; sums are xor
_X, _Y = (values.ravel() for values in np.meshgrid(range(GROUPS), range(GROUPS), indexing="ij"))
# Rows that hold each pair of groups once in any two columns [16, 5].
_ROWS = np.stack([_PRODUCTS[_X, factor] ^ _Y for factor in range(GROUPS)] + [_X], axis=1)


def layers(slot: int) -> np.ndarray:
    """Layers of each group of a character's bodies: [4, 20], bool. `slot` says which of the characters without self-
    collision it is; the one five on has the same layers, so that of the two only like groups meet."""
    found = np.zeros((GROUPS, LAYERS), dtype=bool)
    found[:, FIRST:] = _ROWS[:, slot % CHARACTERS] == np.arange(GROUPS)[:, None]
    return found


def meeting_all() -> np.ndarray:
    """Layers [20] that are also those of what touches characters without self-collision, beside its own."""
    return np.arange(LAYERS) >= FIRST


def groups(parents) -> np.ndarray:
    """The group of each body [n]: limbs stay together, as what is joined needs no constraint to be told apart.

    `parents` [n] are -1 at roots. Depth first, each body comes right after the way that leads to it."""
    count = len(parents)
    result = np.empty(count, dtype=int)
    order = sorted(range(count), key=lambda body: skeleton.path_to_root(parents, body)[::-1])
    result[order] = np.arange(count) * GROUPS // max(count, 1)
    return result
