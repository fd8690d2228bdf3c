"""Which bones get a body, and the shape of each: fitted to the mesh, else from the joints' positions alone.

Everything is measured from joint to joint: the drawn length of a bone means nothing on many rigs. All lengths
are in metres in the armature's frame at world scale; arrays are in Blender's bone order.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from ... import mirror
from ...skeleton import depths, descends, nearest_ancestors, path_to_root
from . import fitting, overlap
from .fitting import BOX, CAPSULE, COMPOUND, FEWEST_POINTS, SPHERE, Shape

MIN_SIZE = 0.035  # of the character's extent: smaller bones (finger joints) are merged into their parent
LONGEST = 0.4  # of the extent of joints: a tip drawn longer says nothing; the head of a small child is 0.35
RADIUS_AT_ROOT = 0.055  # of the extent, falling with depth^1.1 as in a published PhysX ragdoll write-up
RADIUS_PER_DEPTH = 0.005
RADIUS_MIN = 0.012
RADIUS_OF_LENGTH = (0.10, 0.45)  # a limb is never thinner or stouter than this share of its length
SMALLEST = 0.2 * MIN_SIZE  # of the extent: no half extent is less
GRANDPARENT_ROOM = 0.5  # a grandparent whose gap is less than this times the two radii is told apart, as a parent is
UPRIGHT_WINS = 0.95  # a box along the armature's axes is taken where it has at most this share of the volume
GAP = 0.002  # of the extent, between shapes of bones that are not joined


@dataclass
class BodyPlan:
    """The m bodies, in the order of `bones` (parents before children)."""

    bones: np.ndarray  # bone indices [m]
    parents: np.ndarray  # index of the parent body, -1 for roots [m]
    depth: np.ndarray  # depth of the bone in the whole skeleton, skipped bones counted [m]
    shapes: list  # `fitting.Shape`s [m]
    # pairs (i, j) that do not touch though not joined: near grandparents, and what overlaps in bind pose
    no_collide: list = field(default_factory=list)
    twins: np.ndarray | None = None  # index of each body's mirror image, itself in the mirror plane, -1 for none [m]
    normal: np.ndarray | None = None  # of the mirror plane, normal . p = offset; None where the rig has no symmetry
    offset: float = 0.0

    def array(self, name: str) -> np.ndarray:
        """An attribute of all shapes: their `center` [m, 3], `axes` [m, 3, 3] or `half` extents [m, 3]."""
        found = np.array([getattr(shape, name) for shape in self.shapes])
        return found.reshape(-1, 3, 3) if name == "axes" else found.reshape(-1, 3)

    def joints(self) -> list[tuple[int, int, int]]:
        """Each body with a joint: its row, its bone, and the row of its parent."""
        rows = zip(range(len(self.bones)), self.bones.tolist(), self.parents.tolist(), strict=True)
        return [row for row in rows if row[2] >= 0]

    def strangers(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs [p], [p] of bodies that touch each other: neither joined nor in `no_collide`."""
        (first, second), told_apart = np.nonzero(np.triu(~_joined(self.parents), 1)), set(self.no_collide)
        apart = [pair not in told_apart for pair in zip(first.tolist(), second.tolist(), strict=True)]
        return first[apart], second[apart]


def height(heads, tails, simulated, axes=None) -> float:
    """Extent [m] of the simulated bones: their joints, and their tails where they are drawn at a plausible length."""
    size = extent(heads[simulated], axes)
    meant = simulated & (np.linalg.norm(tails - heads, axis=1) <= max(0.15 * size, 1e-9)) if size > 0.0 else simulated
    return extent(np.concatenate([heads[simulated], tails[meant]]), axes)


def joint_sizes(heads, tails, parents, candidates) -> np.ndarray:
    """Size [n] of every bone: to its farthest child joint, or the drawn length when that is plausible and longer.

    A drawn length far from the distance to the parent's joint says nothing (many importers draw stubs): a tip gets
    half of that distance then.
    """
    sizes = np.zeros(len(parents))
    size_of_all = extent(heads[candidates]) if np.any(candidates) else 0.0
    tip = np.array(candidates, dtype=bool)
    for i, parent in enumerate(parents):
        if parent >= 0 and candidates[i]:
            sizes[parent] = max(sizes[parent], np.linalg.norm(heads[i] - heads[parent]))
            tip[parent] = False
    drawn = np.linalg.norm(tails - heads, axis=1)
    for i in np.flatnonzero(candidates):
        reach = distance_to_parent(i, heads, parents)
        if plausible(drawn[i], reach, size_of_all) if reach > 0.0 else tip[i]:
            sizes[i] = max(sizes[i], drawn[i])
        elif tip[i]:
            sizes[i] = 0.5 * reach
    return sizes


def choose_bones(heads, tails, parents, candidates, axes) -> np.ndarray:
    """Which candidates [n] get a body [n]: all but the tiny ones, which their parent's body carries.

    A tiny bone that holds several others together and has no simulated ancestor (a hip stub) stays. Sizes are
    compared with the extent along `axes`, see `extent`.
    """
    size_of_all = extent(heads[candidates], axes) if np.any(candidates) else 0.0
    chosen = candidates & (joint_sizes(heads, tails, parents, candidates) >= MIN_SIZE * size_of_all)
    for i in np.flatnonzero(candidates & ~chosen):
        if nearest_ancestors(parents, chosen)[i] < 0:
            children = nearest_ancestors(parents, chosen | (np.arange(len(parents)) == i)) == i
            chosen[i] = np.count_nonzero(children & chosen) > 1
    if not np.any(chosen) and np.any(candidates):
        chosen[np.flatnonzero(candidates)[0]] = True
    return chosen


def plan_bodies(heads, tails, rotations, parents, simulated, kinds, skin, axes, coverage, hung=(), led=()) -> BodyPlan:
    """Shapes for the simulated bones.

    Args:
        heads, tails: joints in bind pose [n, 3]. rotations: bind rotation matrices of the bones [n, 3, 3].
        parents: bone parents, before their children [n]. simulated: mask [n].
        kinds: wanted shape per bone, "AUTO" for the one of least volume [n].
        skin: `Skin` of the meshes in bind pose, or None; bodies without vertices of their own are shaped by their
            joints alone. axes: the armature's axes [3, 3], see `extent`.
        coverage: share of a body's weighted vertices that its shape covers at least, before overlaps are resolved.
        hung: the bone of the body that each bone hangs on [n], where that is known; see `roles.Anatomy.parents`.
        led: bones that hang there whatever the hierarchy says; see `roles.Anatomy.led`.
    """
    origin = heads[simulated].mean(axis=0) if np.any(simulated) else np.zeros(3)
    if skin is not None:
        skin = replace(skin, points=(skin.points - origin) @ axes)
    # In the armature's own frame, so that moving and turning a character changes no shape.
    turned = (heads - origin) @ axes, (tails - origin) @ axes, axes.T @ rotations
    plan = _Planner(*turned, parents, simulated, kinds, skin, coverage, hung, led).plan()
    plan.shapes = [fitting.moved(shape, axes, origin) for shape in plan.shapes]
    if plan.normal is not None:
        plan.normal = axes @ plan.normal
        plan.offset = plan.offset + float(plan.normal @ origin)
    return plan


class _Planner:
    """The steps from joints and vertices to shapes, in the armature's own frame; arguments as for `plan_bodies`."""

    def __init__(self, heads, tails, rotations, parents, simulated, kinds, skin, coverage, hung, led) -> None:
        self.heads, self.tails, self.rotations, self.bone_parents = heads, tails, rotations, parents
        self.skin, self.size = skin, height(heads, tails, simulated)
        self.fit_settings = {"share": coverage, "smallest": SMALLEST * self.size}
        # The bodies' bones, their tree, and which body carries each bone.
        self.depth = depths(self.bone_parents)
        self.ancestors = nearest_ancestors(self.bone_parents, simulated)
        self.bones = np.flatnonzero(simulated)
        row = {bone: i for i, bone in enumerate(self.bones)}
        self.parents = np.array([row.get(self.ancestors[bone], -1) for bone in self.bones], dtype=int)
        self.parents[np.isin(self.bones, led)] = -1
        self.below = descends(self.bone_parents)
        join_loose_roots(self.bones, self.parents, self.heads, self.tails, self.bone_parents, hung)
        carriers = np.where(simulated, np.arange(len(simulated)), self.ancestors)
        self.owner = np.array([row.get(bone, -1) for bone in carriers], dtype=int)
        self.normal, self.offset, twins = mirror.plane_of_joints(self.heads[self.bones], self.parents, self.size)
        self.kinds = np.array([kinds[bone] for bone in self.bones], dtype=object)
        self.fit_kinds = np.where(self.kinds == COMPOUND, "AUTO", self.kinds)  # a compound begins as one shape
        self.twins = np.where(self.kinds == self.kinds[twins], twins, -1)  # those of different kinds are no images
        self._find_ends(simulated)

    def _find_ends(self, simulated) -> None:
        """Where each limb ends, and the vertices that its shape is fitted to."""
        count = len(self.bones)
        above = self.ancestors[self.bones]
        rows = [np.flatnonzero((self.parents == i) & (above == bone)) for i, bone in enumerate(self.bones)]
        self.children = [list(self.heads[self.bones[own]]) for own in rows]
        self.own_vertices = [None] * count
        if self.skin is not None:
            self.own_vertices, self.holder, share = self.skin.dominated(self.owner, count)
        ends = np.zeros((count, 3))
        for i, bone in enumerate(self.bones):
            carried = (self.ancestors == bone) & ~simulated
            ends[i] = self._end_of(i, bone, np.concatenate([self.heads[carried], self.tails[carried]]))
        self.ends, vertices = ends, self.own_vertices
        if self.skin is not None:
            self.strongest = self.skin.strongest(self.owner, self.holder)
            beyond = self.skin.between(self.holder, share, self.heads[self.bones], ends, _joined(self.parents))
            pairs = zip(vertices, beyond, strict=True)
            vertices = [own and tuple(map(np.concatenate, zip(own, more, strict=True))) for own, more in pairs]
        self.vertices = list(vertices)
        for i, twin in enumerate(self.twins):  # with the mirror images of its twin's, so that both get the same shape
            if twin >= 0 and vertices[twin] is not None:
                points, weights = vertices[twin]
                both = [*filter(None, [vertices[i]]), (mirror.reflect(points, self.normal, self.offset), weights)]
                self.vertices[i] = tuple(map(np.concatenate, zip(*both, strict=True)))

    def _end_of(self, i, bone, merged) -> np.ndarray:
        """The far end: the child joint; else the mesh, the merged bones, the only child, the drawn tail, the parent."""
        head, tail = self.heads[bone], self.tails[bone]
        if self.children[i]:
            return np.mean(self.children[i], axis=0)
        reach = distance_to_parent(bone, self.heads, self.bone_parents)
        if self.own_vertices[i] is not None and len(self.own_vertices[i][0]) >= FEWEST_POINTS:
            ways = self.own_vertices[i][0] - head
            middle = np.median(self.own_vertices[i][0], axis=0) - head
            length = np.linalg.norm(middle)
            if length > 1e-9:
                return head + middle / length * float(np.percentile(ways @ (middle / length), 95))
        if len(merged):
            distance = np.linalg.norm(merged - head, axis=1)
            far = int(np.argmax(distance))
            if distance[far] > 1e-9 and (reach <= 0.0 or distance[far] <= 1.5 * reach):
                return merged[far]
        below = self.heads[np.asarray(self.bone_parents) == bone]
        if len(below) == 1 and np.linalg.norm(below[0] - head) > 1e-9:
            return below[0]
        length = float(np.linalg.norm(tail - head))
        if reach <= 0.0 or plausible(length, reach, extent(self.heads)):
            return tail
        return head + ((tail - head) / length if length > 1e-9 else self.rotations[bone][:, 1]) * 0.5 * reach

    def plan(self) -> BodyPlan:
        """A shape for each body, made smaller where strangers overlap."""
        found = []
        for i, twin in enumerate(self.twins):
            found.append(found[twin].mirrored(self.normal, self.offset) if 0 <= twin < i else self._shape(i))
        symmetry = {"twins": self.twins, "normal": self.normal, "offset": self.offset}
        no_collide = self._separate(found, symmetry)
        return BodyPlan(self.bones, self.parents, self.depth[self.bones], found, no_collide, **symmetry)

    def _separate(self, shapes, symmetry: dict) -> list:
        """Make bodies smaller that overlap without being joined, in place; the pairs to be told apart instead."""
        parents = self.parents
        first, second = np.nonzero(np.triu(~_joined(parents), 1))
        grand = np.where(parents >= 0, parents[parents], -1)
        near = (grand[first] == second) | (grand[second] == first)
        siblings = (parents[first] == parents[second]) & (parents[first] >= 0)
        points = [None if own is None else own[0][:: 1 + len(own[0]) // 150] for own in self.vertices]
        may = {"gap": GAP * self.size, "may_overlap": near | siblings}
        told_apart = np.zeros(len(first), dtype=bool)
        told_apart[overlap.separate(shapes, first, second, **may, **symmetry, points=points)] = True
        # A body next to its grandparent (thigh and pelvis, with a stub between them) meets it when the joints bend, and
        # a limb what leads the other way in the middle from where it hangs (thigh and belly).
        radius, middle = np.array([np.sort(shape.half)[1] for shape in shapes]), self.twins == np.arange(len(parents))
        ways = np.array([shape.axes[:, 2] for shape in shapes])
        near |= siblings & (middle[first] != middle[second]) & (np.sum(ways[first] * ways[second], axis=1) < -0.5)
        depth = overlap.depths(shapes, first[near], second[near], within=self.size)
        told_apart[near] |= -depth < GRANDPARENT_ROOM * (radius[first] + radius[second])[near]
        return [(int(i), int(j)) for i, j in zip(first[told_apart], second[told_apart], strict=True)]

    def _shape(self, i) -> Shape:
        """A body's shape: from its joints, or fitted to its vertices where there are enough of them."""
        points, weights = self.vertices[i] or (None, None)
        shape = self._from_joints(i, points is not None)
        if points is None or len(points) < fitting.FEWEST_POINTS:
            return shape
        shape = self._fitted(i, shape, points, {"weights": weights, **self.fit_settings})
        kind, carried = self.kinds[i], np.flatnonzero(self.owner == i)
        # A body in the mirror plane, whose parts would have to mirror, becomes a compound by hand only.
        may_split = kind == COMPOUND or (kind == "AUTO" and self.twins[i] != i)
        if self.own_vertices[i] is None or len(carried) < 2 or not may_split:
            return shape
        held_by = fitting.nearest_labels(points, self.own_vertices[i][0], self.strongest[self.holder == i])
        trees = list(self.below[carried[1:]])
        return fitting.split(shape, points, weights, held_by, trees, forced=kind == COMPOUND, **self.fit_settings)

    def _from_joints(self, i, has_vertices) -> Shape:
        """A limb from its joint to its end, as thick as its depth in the skeleton lets expect; a box at a fork."""
        bone = self.bones[i]
        below = float(self.depth[bone] - self.depth[self.bones].min())
        radius = self.size * max(RADIUS_MIN, RADIUS_AT_ROOT - RADIUS_PER_DEPTH * below**1.1)
        if len(self.children[i]) > 1 and (self.kinds[i] == "AUTO" or has_vertices):
            return fork(self.heads[bone], np.array(self.children[i]), self.rotations[bone], radius)
        smallest = self.fit_settings["smallest"]
        return limb(self.heads[bone], self.ends[i], self.rotations[bone], radius, self.fit_kinds[i], smallest)

    def _fitted(self, i, shape, points, settings) -> Shape:
        """The shape fitted to vertices along the limb."""
        along = shape.axes if self.twins[i] != i else _in_plane(shape.axes, self.normal)
        shape = fitting.fit(points, along, self.fit_kinds[i], **settings)
        # Where no single limb gives the direction, a box along the armature's own axes may fit better.
        if len(self.children[i]) != 1 and shape.kind == BOX:
            z = int(np.argmax(np.abs(along[:, 2])))  # the one nearest to the limb
            turn = frame(np.eye(3)[z] * (np.sign(along[z, 2]) or 1.0), np.eye(3))
            upright = fitting.fit(points, turn, BOX, **settings)
            shape = upright if upright.volume() < UPRIGHT_WINS * shape.volume() else shape
        return shape


def _joined(parents) -> np.ndarray:
    """Whether two bodies are parent and child [m, m]."""
    count = len(parents)
    result = np.zeros((count + 1, count + 1), dtype=bool)
    result[np.arange(count), parents] = True
    return (result | result.T)[:-1, :-1]


def _in_plane(axes, normal):
    """The frame of a body in the mirror plane: its z in the plane or across it, another axis across it."""
    z = axes[:, 2]
    if abs(z @ normal) > 0.7:
        return frame(normal * np.sign(z @ normal), axes)
    z = z - normal * (z @ normal)
    z /= np.linalg.norm(z)
    return np.stack([normal, np.cross(z, normal), z], axis=1)


# ---- one tree -------------------------------------------------------------------------------------------------------
def join_loose_roots(bones, parents, heads, tails, bone_parents, hung):
    """Bodies without a simulated ancestor join one tree; `parents` is changed in place.

    First where an ancestor doubles a simulated bone, or several in a row: Rigify's DEF chains hang on ORG bones.
    Then where they hang in the anatomy, as hooves on IK bones do. What is still loose joins the nearest joint of the
    main tree: the most central one of the large ones, the spine and not a leg with as many bones.
    """
    tolerance = 1e-3 * extent(heads[bones])
    row, ends = {bone: i for i, bone in enumerate(bones)}, np.stack([heads[bones], tails[bones]])
    for i in np.flatnonzero(parents < 0):
        for ancestor in (above for above in path_to_root(bone_parents, bones[i])[1:] if above not in row):
            along = tails[ancestor] - heads[ancestor]
            length = max(np.linalg.norm(along), tolerance)
            shares = (ends - heads[ancestor]) @ along / length**2
            off = np.linalg.norm(ends - heads[ancestor] - shares[..., None] * along, axis=2).max(axis=0)
            inside = (shares[0] < shares[1]) & (np.abs(shares - 0.5).max(axis=0) < 0.5 + tolerance / length)
            own = shares[0, i]
            inside &= off < tolerance
            if twins := [twin for twin in np.flatnonzero(inside) if i not in path_to_root(parents, twin)]:
                parents[i] = twins[np.argmin(np.abs(own - np.clip(own, *shares[:, twins])))]
                break
    for i in np.flatnonzero(parents < 0) if len(hung) else ():
        above = next((row[bone] for bone in path_to_root(hung, bones[i])[1:] if bone in row), -1)
        if above >= 0 and i not in path_to_root(parents, above):
            parents[i] = above
    roots = np.flatnonzero(parents < 0)
    if len(roots) < 2:
        return
    owner = np.array([path_to_root(parents, i)[-1] for i in range(len(bones))])
    sizes = {root: np.count_nonzero(owner == root) for root in roots}
    places = heads[bones]
    large = [root for root in roots if sizes[root] >= 0.4 * max(sizes.values())]
    main = min(large, key=lambda root: (np.linalg.norm(places - places[root], axis=1).sum(), root))
    joined = owner == main
    loose = [root for root in roots if root != main]
    while loose:
        near = np.flatnonzero(joined)
        gaps = ((float(np.linalg.norm(places[root] - places[k])), root, k) for root in loose for k in near)
        _distance, root, nearest = min(gaps)
        parents[root] = nearest
        joined |= owner == root
        loose.remove(root)


# ---- shapes from the joints alone -----------------------------------------------------------------------------------
def extent(points: np.ndarray, axes: np.ndarray | None = None) -> float:
    """Largest side [m] of the box around points [n, 3]: the measure of a character's size.

    The box lies along the columns of `axes` [3, 3], the armature's, so that turning a character changes nothing."""
    points = points if axes is None else points @ axes
    return float(np.max(np.ptp(points, axis=0))) if len(points) else 0.0


def plausible(drawn, reach, size_of_all):
    """Whether a drawn length can be meant, next to the distance to the parent's joint."""
    return 0.2 * reach <= drawn <= max(1.2 * reach, LONGEST * size_of_all)


def distance_to_parent(bone, heads, parents):
    """To the nearest ancestor whose joint lies elsewhere; 0 when there is none."""
    above = (float(np.linalg.norm(heads[bone] - heads[row])) for row in path_to_root(parents, bone)[1:])
    return next((distance for distance in above if distance > 1e-9), 0.0)


def frame(z, bone_rotation):
    """A rotation with the given z; x follows the bone's x, or its z where the limb lies along x."""
    z = z / np.linalg.norm(z)
    x = bone_rotation[:, 2 if abs(bone_rotation[:, 0] @ z) > 0.9 else 0]
    x = x - z * (x @ z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def limb(head, end, bone_rotation, radius, wanted, smallest) -> Shape:
    """A shape from a joint to the limb's end, all [m]; `wanted` is a kind or AUTO, which makes a capsule."""
    axis = end - head
    length = float(np.linalg.norm(axis))
    if length < smallest:  # a stub whose child joint lies on its own
        half = np.full(3, max(radius * 0.5, smallest))
        return Shape(BOX if wanted == BOX else SPHERE, head.copy(), bone_rotation.copy(), half)
    axes = frame(axis, bone_rotation)
    low, high = (share * length for share in RADIUS_OF_LENGTH)
    radius = length / 2.0 if wanted == SPHERE else float(np.clip(radius, low, high))
    kind = wanted if wanted in (BOX, SPHERE) else CAPSULE
    return Shape(kind, (head + end) / 2.0, axes, np.array([radius, radius, length / 2.0]))


def fork(head, children, bone_rotation, radius) -> Shape:
    """A box around the joint and its children's, z towards them, x along their widest spread."""
    points = np.concatenate([head[None], children])
    z = children.mean(axis=0) - head
    if np.linalg.norm(z) < 0.2 * max(float(np.max(np.ptp(points, axis=0))), 1e-9):
        z = bone_rotation[:, 1]
    z = z / np.linalg.norm(z)
    centred = points - points.mean(axis=0)
    _u, size, directions = np.linalg.svd(centred - np.outer(centred @ z, z), full_matrices=False)
    axes = frame(z, bone_rotation)
    if size[0] > 0.1 * radius:
        axes = frame(z, directions.T if directions[0] @ axes[:, 0] >= 0.0 else -directions.T)
    local = points @ axes
    low, high = local.min(axis=0), local.max(axis=0)
    half = np.maximum((high - low) / 2.0 * 0.9, [0.8 * radius, 0.6 * radius, 0.5 * radius])
    return Shape(BOX, axes @ ((low + high) / 2.0), axes, half)
