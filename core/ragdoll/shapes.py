"""Which bones get a body, and the shape of each: fitted to the mesh, else from the joints' positions alone.

Everything is measured from joint to joint: the drawn length of a bone means nothing on many rigs. All lengths
are in metres in the armature's frame at world scale; arrays are in Blender's bone order.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from .. import reflection
from . import compound, shape_fit, symmetry
from .limbs import distance_to_parent, end_of, extent, fork, frame, limb, merged_points, plausible
from .shape_fit import BOX, CAPSULE, COMPOUND, CONVEX_HULL, SPHERE, Shape
from .tree import join_loose_roots

__all__ = ["BOX", "CAPSULE", "COMPOUND", "CONVEX_HULL", "SPHERE", "BodyPlan", "extent", "plan_bodies"]

MIN_SIZE = 0.035  # of the character's extent: smaller bones (finger joints) are merged into their parent
RADIUS_AT_ROOT = 0.055  # of the extent, falling with depth^1.1 as in a published PhysX ragdoll write-up
RADIUS_PER_DEPTH = 0.005
RADIUS_MIN = 0.012
SMALLEST = 0.2 * MIN_SIZE  # of the extent: no half extent is less
GRANDPARENT_ROOM = 0.5  # a grandparent whose gap is less than this times the two radii is told apart, as a parent is
UPRIGHT_WINS = 0.95  # a box along the armature's axes is taken where it has at most this share of the volume
GAP = 0.002  # of the extent, between shapes of bones that are not joined


@dataclass
class BodyPlan:
    """Shapes of the m bodies, in the order of `bones` (parents before children).

    Attributes:
        bones: bone indices [m].
        parents: index of the parent body, -1 for roots [m].
        depth: depth of the bone in the whole skeleton, skipped bones counted [m].
        kinds: CAPSULE, BOX, SPHERE, CONVEX_HULL or COMPOUND [m].
        centers: middle of the limb [m, 3].
        axes: body frames, columns x, y, z with z along the limb [m, 3, 3].
        half: half extents in the body frame [m, 3]; capsules have the radius in x and y.
        points: a hull's corners in the body frame, their box centred on the origin [k, 3]; None for other kinds [m].
        pieces: a compound's convex shapes, none for other kinds [m].
        no_collide: pairs of bodies that do not touch each other though they are not joined [(i, j)]: a body and its
            near grandparent, and those that overlap in bind pose.
        twins: index of the mirror image of each body, itself in the mirror plane, -1 for none [m].
        normal, offset: the mirror plane, normal . p = offset; None where the rig has no symmetry.
    """

    bones: np.ndarray
    parents: np.ndarray
    depth: np.ndarray
    kinds: list
    centers: np.ndarray
    axes: np.ndarray
    half: np.ndarray
    points: list
    pieces: list
    no_collide: list = field(default_factory=list)
    twins: np.ndarray | None = None
    normal: np.ndarray | None = None
    offset: float = 0.0

    def shapes(self) -> list:
        """The bodies as `Shape`s [m]."""
        rows = zip(self.kinds, self.centers, self.axes, self.half, self.points, self.pieces, strict=True)
        return [Shape(*each) for each in rows]

    def volumes(self) -> np.ndarray:
        """Volumes [m^3] of the shapes, [m]."""
        return np.array([shape.volume() for shape in self.shapes()])

    def strangers(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs [p], [p] of bodies that touch each other: neither joined nor in `no_collide`."""
        first, second = _unjoined(self.parents)
        apart = [(i, j) not in set(self.no_collide) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
        return first[apart], second[apart]

    def deepest_overlap(self) -> float:
        """How deep the worst pair of `strangers` stands in each other [m]; 0 where none does."""
        depth = compound.depths(self.shapes(), *self.strangers())
        return max(0.0, float(depth.max())) if len(depth) else 0.0


def height(heads, tails, simulated, axes=None) -> float:
    """Extent [m] of the simulated bones: their joints, and their tails where they are drawn at a plausible length."""
    size = extent(heads[simulated], axes)
    drawn = np.linalg.norm(tails - heads, axis=1)
    meant = simulated & (drawn <= max(0.15 * size, 1e-9)) if size > 0.0 else simulated
    return extent(np.concatenate([heads[simulated], tails[meant]]), axes)


def depths(parents: np.ndarray) -> np.ndarray:
    """Depth [n] of every bone; parents [n] come before their children, -1 at roots."""
    depth = np.zeros(len(parents), dtype=int)
    for i, parent in enumerate(parents):
        depth[i] = 0 if parent < 0 else depth[parent] + 1
    return depth


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


def choose_bones(heads, tails, parents, candidates, axes=None) -> np.ndarray:
    """Which candidates [n] get a body [n]: all but the tiny ones, which their parent's body carries.

    A tiny bone that holds several others together and has no simulated ancestor (a hip stub) stays. Sizes are
    compared with the extent along `axes`, see `extent`.
    """
    size_of_all = extent(heads[candidates], axes) if np.any(candidates) else 0.0
    sizes = joint_sizes(heads, tails, parents, candidates)
    chosen = candidates & (sizes >= MIN_SIZE * size_of_all)
    for i in np.flatnonzero(candidates & ~chosen):
        if nearest_ancestors(parents, chosen)[i] < 0:
            children = nearest_ancestors(parents, chosen | _only(i, len(parents))) == i
            if np.count_nonzero(children & chosen) > 1:
                chosen[i] = True
    if not np.any(chosen) and np.any(candidates):
        chosen[np.flatnonzero(candidates)[0]] = True
    return chosen


def nearest_ancestors(parents, chosen) -> np.ndarray:
    """Nearest strict ancestor that is chosen, -1 where there is none, for every bone [n]."""
    result = np.full(len(parents), -1)
    for i, parent in enumerate(parents):
        if parent >= 0:
            result[i] = parent if chosen[parent] else result[parent]
    return result


def plan_bodies(
    heads, tails, rotations, parents, simulated, kinds=None, skin=None, axes=None, coverage=0.9
) -> BodyPlan:
    """Shapes for the simulated bones.

    Args:
        heads, tails: joints in bind pose [n, 3].
        rotations: bind rotation matrices of the bones [n, 3, 3].
        parents: bone parents, before their children [n].
        simulated: mask [n].
        kinds: wanted shape per bone, "AUTO" for the one of least volume [n].
        skin: `Skin` of the meshes in bind pose, or None; bodies without vertices of their own are shaped by their
            joints alone.
        axes: the armature's axes [3, 3], see `extent`.
        coverage: share of a body's weighted vertices that its shape covers at least, before overlaps are resolved.
    """
    axes = np.eye(3) if axes is None else axes
    origin = heads[simulated].mean(axis=0) if np.any(simulated) else np.zeros(3)
    kinds = kinds or ["AUTO"] * len(parents)
    if skin is not None:
        skin = replace(skin, points=(skin.points - origin) @ axes)
    # In the armature's own frame, so that moving and turning a character changes no shape.
    turned = (heads - origin) @ axes, (tails - origin) @ axes, axes.T @ rotations
    plan = _plan(*turned, parents, simulated, kinds, skin, coverage)
    plan.centers = plan.centers @ axes.T + origin
    plan.axes = axes @ plan.axes
    plan.pieces = [tuple(compound.moved(piece, axes, origin) for piece in own) for own in plan.pieces]
    if plan.normal is not None:
        plan.normal = axes @ plan.normal
        plan.offset = plan.offset + float(plan.normal @ origin)
    return plan


def _plan(heads, tails, rotations, parents, simulated, kinds, skin, coverage) -> BodyPlan:
    size = height(heads, tails, simulated)
    depth = depths(parents)
    ancestors = nearest_ancestors(parents, simulated)
    bones = np.flatnonzero(simulated)
    row = {bone: i for i, bone in enumerate(bones)}
    body_parents = np.array([row.get(ancestors[bone], -1) for bone in bones], dtype=int)
    join_loose_roots(bones, body_parents, heads, tails, parents)
    top = depth[bones].min() if len(bones) else 0

    normal, offset, twins = symmetry.mirror_plane(heads[bones], body_parents, np.eye(3), size)
    same = np.array([kinds[bones[i]] == kinds[bones[k]] for i, k in enumerate(twins)], dtype=bool)
    twins = np.where(same, twins, -1)
    children = [
        [heads[bones[k]] for k in np.flatnonzero(body_parents == i) if ancestors[bones[k]] == bone]
        for i, bone in enumerate(bones)
    ]
    owner = [row.get(bone if simulated[bone] else ancestors[bone], -1) for bone in range(len(parents))]
    merged = [merged_points(bone, heads, tails, ancestors, simulated) for bone in bones]
    owner = np.array(owner, dtype=int)
    vertices, holder, share = _held(skin, owner, len(bones))
    own_vertices, strongest = vertices, None if skin is None else skin.strongest(owner, holder)
    ends = np.zeros((len(bones), 3))
    for i, bone in enumerate(bones):
        points = None if vertices[i] is None else vertices[i][0]
        ends[i] = end_of(bone, children[i], merged[i], heads, tails, rotations, parents, points)
    if skin is not None:
        vertices = _with_between(vertices, skin.between(holder, share, heads[bones], ends, _joined(body_parents)))
    vertices = _mirrored_too(vertices, twins, normal, offset)

    found = []
    for i, bone in enumerate(bones):
        if 0 <= twins[i] < i:
            found.append(found[twins[i]].mirrored(normal, offset))
            continue
        points, weights = vertices[i] or (None, None)
        by_depth = RADIUS_AT_ROOT - RADIUS_PER_DEPTH * float(depth[bone] - top) ** 1.1
        radius = size * max(RADIUS_MIN, by_depth)
        if len(children[i]) > 1 and (kinds[bone] == "AUTO" or points is not None):
            shape = fork(heads[bone], np.array(children[i]), rotations[bone], radius)
        else:
            wanted = "AUTO" if kinds[bone] == COMPOUND else kinds[bone]
            shape = limb(heads[bone], ends[i], rotations[bone], radius, wanted, SMALLEST * size)
        if points is not None and len(points) >= shape_fit.FEWEST_POINTS:
            along = shape.axes if twins[i] != i else _in_plane(shape.axes, normal)
            settings = {"weights": weights, "share": coverage, "smallest": SMALLEST * size}
            wanted = "AUTO" if kinds[bone] == COMPOUND else kinds[bone]
            shape = shape_fit.fit(points, along, wanted, **settings)
            # Where no single limb gives the direction, a box along the armature's own axes may fit better.
            if len(children[i]) != 1 and shape.kind == BOX:
                upright = shape_fit.fit(points, _nearest_turn(np.eye(3), along), BOX, **settings)
                shape = upright if upright.volume() < UPRIGHT_WINS * shape.volume() else shape
            merged_bones = np.flatnonzero(owner == i)
            if own_vertices[i] is not None and _may_split(kinds[bone], twins[i] == i, len(merged_bones)):
                known = own_vertices[i][0], strongest[holder == i]
                shape = _split(shape, points, known, merged_bones, parents, settings, kinds[bone] == COMPOUND)
        found.append(shape)
    no_collide = _separate(found, body_parents, size, twins, normal, offset, vertices)
    return BodyPlan(
        bones=bones,
        parents=body_parents,
        depth=depth[bones],
        kinds=[shape.kind for shape in found],
        centers=np.array([shape.center for shape in found]).reshape(-1, 3),
        axes=np.array([shape.axes for shape in found]).reshape(-1, 3, 3),
        half=np.array([shape.half for shape in found]).reshape(-1, 3),
        points=[shape.points for shape in found],
        pieces=[shape.pieces for shape in found],
        no_collide=no_collide,
        twins=twins,
        normal=normal,
        offset=offset,
    )


def _may_split(kind, in_mirror_plane, bone_count) -> bool:
    """Whether a body may become a compound: one in the mirror plane, whose parts would have to mirror, by hand only."""
    return bone_count > 1 and (kind == COMPOUND or (kind == "AUTO" and not in_mirror_plane))


def _split(shape, points, known, bones, parents, settings, forced):
    """A body as a compound where that pays; `known` are vertices [j, 3] and the bones that hold them most [j]."""
    trees = []
    for top in bones[1:]:
        tree = np.zeros(len(parents), dtype=bool)
        tree[top] = True
        for bone in bones[bones > top]:
            tree[bone] = parents[bone] >= 0 and tree[parents[bone]]
        trees.append(tree)
    held_by = compound.nearest_labels(points, *known)
    fitting = {"share": settings["share"], "smallest": settings["smallest"]}
    return compound.split(shape, points, settings["weights"], held_by, trees, forced=forced, **fitting)


def _held(skin, owner, count):
    """For each body its own vertices and the share of each that it holds, or None [m]; each vertex's body and share."""
    if skin is None:
        return [None] * count, None, None
    holder, share = skin.holders(owner, count)
    held = [np.flatnonzero(holder == i) for i in range(count)]
    return [(skin.points[rows], share[rows]) if len(rows) else None for rows in held], holder, share


def _with_between(vertices, beyond):
    return [
        own if own is None else tuple(np.concatenate(two) for two in zip(own, more, strict=True))
        for own, more in zip(vertices, beyond, strict=True)
    ]


def _joined(parents) -> np.ndarray:
    """Whether two bodies are parent and child [m, m]."""
    count = len(parents)
    result = np.zeros((count + 1, count + 1), dtype=bool)
    result[np.arange(count), parents] = True
    return (result | result.T)[:-1, :-1]


def _mirrored_too(vertices, twins, normal, offset):
    """Vertices and weights of every body with the mirror images of its twin's, so that both get the same shape."""
    result = list(vertices)
    for i, twin in enumerate(twins):
        if twin >= 0 and vertices[twin] is not None:
            points, weights = vertices[twin]
            image = reflection.reflect(points, normal, offset)
            own = [vertices[i]] if vertices[i] is not None else []
            result[i] = (
                np.concatenate([*(points for points, _weights in own), image]),
                np.concatenate([*(weights for _points, weights in own), weights]),
            )
    return result


def _in_plane(axes, normal):
    """The frame of a body in the mirror plane: its z in the plane or across it, another axis across it."""
    z = axes[:, 2]
    if abs(z @ normal) > 0.7:
        return frame(normal * np.sign(z @ normal), axes)
    z = z - normal * (z @ normal)
    z /= np.linalg.norm(z)
    return np.stack([normal, np.cross(z, normal), z], axis=1)


def _only(index, count):
    mask = np.zeros(count, dtype=bool)
    mask[index] = True
    return mask


def _nearest_turn(axes, wanted):
    """The armature's axes [3, 3] in the order in which their z and x lie nearest to a frame's."""
    match = axes.T @ wanted
    z = int(np.argmax(np.abs(match[:, 2])))
    return frame(axes[:, z] * (np.sign(match[z, 2]) or 1.0), axes)


def _unjoined(parents):
    first, second = np.triu_indices(len(parents), 1)
    joined = (parents[first] == second) | (parents[second] == first)
    return first[~joined], second[~joined]


def _separate(shapes, parents, size, twins, normal, offset, vertices) -> list:
    """Make bodies smaller that overlap without being joined, in place; the pairs that are to be told apart instead."""
    first, second = _unjoined(parents)
    grand = np.where(parents >= 0, parents[parents], -1)
    near = (grand[first] == second) | (grand[second] == first)
    siblings = (parents[first] == parents[second]) & (parents[first] >= 0)
    overlapping = compound.separate(
        shapes,
        first,
        second,
        gap=GAP * size,
        may_overlap=near | siblings,
        twins=twins,
        normal=normal,
        offset=offset,
        points=[None if own is None else own[0][:: 1 + len(own[0]) // 150] for own in vertices],
    )
    told_apart = np.zeros(len(first), dtype=bool)
    told_apart[overlapping] = True
    # A body next to its grandparent (thigh and pelvis, with a stub between them) meets it whenever the joints bend.
    radius = np.array([np.sort(shape.half)[1] for shape in shapes])
    depth = compound.depths(shapes, first[near], second[near], within=size)
    told_apart[near] |= -depth < GRANDPARENT_ROOM * (radius[first] + radius[second])[near]
    return [(int(i), int(j)) for i, j in zip(first[told_apart], second[told_apart], strict=True)]
