"""Which bones get a body, and the shape of each, from the joints' positions alone.

Everything is measured from joint to joint: the drawn length of a bone means nothing on many rigs. All lengths
are in metres in the armature's frame at world scale; arrays are in Blender's bone order.
"""

from dataclasses import dataclass, field

import numpy as np

CAPSULE, BOX, SPHERE = "CAPSULE", "BOX", "SPHERE"

MIN_SIZE = 0.035  # of the character's extent: smaller bones (finger joints) are merged into their parent
RADIUS_AT_ROOT = 0.055  # of the extent, falling with depth^1.1 as in a published PhysX ragdoll write-up
RADIUS_PER_DEPTH = 0.005
RADIUS_MIN = 0.012
RADIUS_OF_LENGTH = (0.10, 0.45)  # a limb is never thinner or stouter than this share of its length
GRANDPARENT_ROOM = 1.5  # a grandparent nearer than this times the two radii is told apart, as a parent is
GAP = 0.98  # shapes of bones that are not joined keep 2 % of their distance as a gap


@dataclass
class BodyPlan:
    """Shapes of the m bodies, in the order of `bones` (parents before children).

    Attributes:
        bones: bone indices [m].
        parents: index of the parent body, -1 for roots [m].
        depth: depth of the bone in the whole skeleton, skipped bones counted [m].
        kinds: CAPSULE, BOX or SPHERE [m].
        centers: middle of the limb [m, 3].
        axes: body frames, columns x, y, z with z along the limb [m, 3, 3].
        half: half extents in the body frame [m, 3]; capsules have the radius in x and y.
        no_collide: pairs of bodies that overlap in bind pose without being joined [(i, j)].
    """

    bones: np.ndarray
    parents: np.ndarray
    depth: np.ndarray
    kinds: list
    centers: np.ndarray
    axes: np.ndarray
    half: np.ndarray
    no_collide: list = field(default_factory=list)

    def volumes(self) -> np.ndarray:
        """Volumes [m^3] of the shapes, [m]."""
        x, y, z = self.half.T
        capsule = np.pi * x * x * (2.0 * (z - x)) + 4.0 / 3.0 * np.pi * x**3
        table = {CAPSULE: capsule, BOX: 8.0 * x * y * z, SPHERE: 4.0 / 3.0 * np.pi * x**3}
        return np.array([table[kind][i] for i, kind in enumerate(self.kinds)])


def extent(points: np.ndarray, axes: np.ndarray | None = None) -> float:
    """Largest side [m] of the box around points [n, 3]: the measure of a character's size.

    The box lies along the columns of `axes` [3, 3], the armature's, so that turning a character changes nothing.
    """
    points = points if axes is None else points @ axes
    return float(np.max(np.ptp(points, axis=0))) if len(points) else 0.0


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
        reach = _distance_to_parent(i, heads, parents)
        if _plausible(drawn[i], reach, size_of_all) if reach > 0.0 else tip[i]:
            sizes[i] = max(sizes[i], drawn[i])
        elif tip[i]:
            sizes[i] = 0.5 * reach
    return sizes


def _plausible(drawn, reach, size_of_all):
    """Whether a drawn length can be meant, next to the distance to the parent's joint."""
    return 0.2 * reach <= drawn <= max(1.2 * reach, 0.15 * size_of_all)


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


def plan_bodies(heads, tails, rotations, parents, simulated, kinds=None, vertices=None, axes=None) -> BodyPlan:
    """Shapes for the simulated bones.

    Args:
        heads, tails: joints in bind pose [n, 3].
        rotations: bind rotation matrices of the bones [n, 3, 3].
        parents: bone parents, before their children [n].
        simulated: mask [n].
        kinds: wanted shape per bone, "AUTO" where the place in the skeleton decides [n].
        vertices: for each bone the vertices that it dominates in bind pose [k, 3] or None; they give the reach
            of tips and the thickness of limbs where there are any.
        axes: the armature's axes [3, 3], see `extent`.
    """
    count = len(parents)
    kinds = kinds or ["AUTO"] * count
    vertices = vertices or [None] * count
    size_of_all = height(heads, tails, simulated, axes)
    depth = depths(parents)
    ancestors = nearest_ancestors(parents, simulated)
    bones = np.flatnonzero(simulated)
    row = {bone: i for i, bone in enumerate(bones)}
    body_parents = np.array([row.get(ancestors[bone], -1) for bone in bones], dtype=int)
    _join_loose_roots(bones, body_parents, heads, tails, parents)
    top = depth[bones].min() if len(bones) else 0

    plan = BodyPlan(
        bones=bones,
        parents=body_parents,
        depth=depth[bones],
        kinds=[],
        centers=np.zeros((len(bones), 3)),
        axes=np.zeros((len(bones), 3, 3)),
        half=np.zeros((len(bones), 3)),
    )
    for i, bone in enumerate(bones):
        children = [heads[bones[k]] for k in np.flatnonzero(body_parents == i) if ancestors[bones[k]] == bone]
        wanted = kinds[bone]
        by_depth = RADIUS_AT_ROOT - RADIUS_PER_DEPTH * float(depth[bone] - top) ** 1.1
        radius = size_of_all * max(RADIUS_MIN, by_depth)
        if len(children) > 1 and wanted == "AUTO":
            kind, center, axes, half = _fork(heads[bone], np.array(children), rotations[bone], radius)
        else:
            merged = _merged_points(bone, heads, tails, ancestors, simulated)
            end = _end_of(bone, children, merged, heads, tails, rotations, parents, vertices[bone])
            kind, center, axes, half = _limb(
                heads[bone], end, rotations[bone], radius, wanted, vertices[bone], 0.2 * MIN_SIZE * size_of_all
            )
        plan.kinds.append(kind)
        plan.centers[i], plan.axes[i], plan.half[i] = center, axes, half
    _separate(plan)
    return plan


def _only(index, count):
    mask = np.zeros(count, dtype=bool)
    mask[index] = True
    return mask


def _distance_to_parent(bone, heads, parents):
    """To the nearest ancestor whose joint lies elsewhere; 0 when there is none."""
    ancestor = parents[bone]
    while ancestor >= 0:
        distance = float(np.linalg.norm(heads[bone] - heads[ancestor]))
        if distance > 1e-9:
            return distance
        ancestor = parents[ancestor]
    return 0.0


def _merged_points(bone, heads, tails, ancestors, simulated):
    carried = np.flatnonzero((ancestors == bone) & ~simulated)
    return np.concatenate([heads[carried], tails[carried]]) if len(carried) else np.zeros((0, 3))


def _end_of(bone, children, merged, heads, tails, rotations, parents, vertices):
    """The far end of a limb: the child joint; else the mesh, the merged bones, the drawn tail, the parent."""
    head = heads[bone]
    if children:
        return np.mean(children, axis=0)
    reach = _distance_to_parent(bone, heads, parents)
    if vertices is not None and len(vertices) >= 8:
        middle = np.median(vertices, axis=0) - head
        length = np.linalg.norm(middle)
        if length > 1e-9:
            along = (vertices - head) @ (middle / length)
            return head + middle / length * float(np.percentile(along, 95))
    drawn = tails[bone] - head
    length = float(np.linalg.norm(drawn))
    if len(merged):
        distance = np.linalg.norm(merged - head, axis=1)
        far = int(np.argmax(distance))
        if distance[far] > 1e-9 and (reach <= 0.0 or distance[far] <= 1.5 * reach):
            return merged[far]
    if reach <= 0.0 or _plausible(length, reach, extent(heads)):
        return tails[bone]
    direction = drawn / length if length > 1e-9 else rotations[bone][:, 1]
    return head + direction * 0.5 * reach


def _frame(z, bone_rotation):
    """A rotation with the given z; x follows the bone's x, or its z where the limb lies along x."""
    z = z / np.linalg.norm(z)
    x = bone_rotation[:, 0]
    if abs(x @ z) > 0.9:
        x = bone_rotation[:, 2]
    x = x - z * (x @ z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _limb(head, end, bone_rotation, radius, wanted, vertices, smallest):
    axis = end - head
    length = float(np.linalg.norm(axis))
    if length < smallest:  # a stub whose child joint lies on its own
        half = np.full(3, max(radius * 0.5, smallest))
        return (BOX if wanted == "BOX" else SPHERE), head.copy(), bone_rotation.copy(), half
    axes = _frame(axis, bone_rotation)
    low, high = RADIUS_OF_LENGTH
    if vertices is not None and len(vertices) >= 8:
        local = (vertices - head) @ axes
        inside = (local[:, 2] > 0.1 * length) & (local[:, 2] < 0.9 * length)
        if np.count_nonzero(inside) >= 8:
            radius = float(np.median(np.linalg.norm(local[inside, :2], axis=1)))
    radius = float(np.clip(radius, low * length, high * length))
    center = (head + end) / 2.0
    if wanted == "SPHERE":
        return SPHERE, center, axes, np.full(3, length / 2.0)
    return (BOX if wanted == "BOX" else CAPSULE), center, axes, np.array([radius, radius, length / 2.0])


def _fork(head, children, bone_rotation, radius):
    """A box around the joint and its children's, z towards them, x along their widest spread."""
    points = np.concatenate([head[None], children])
    z = children.mean(axis=0) - head
    spread = float(np.max(np.ptp(points, axis=0)))
    if np.linalg.norm(z) < 0.2 * max(spread, 1e-9):
        z = bone_rotation[:, 1]
    z = z / np.linalg.norm(z)
    lateral = (points - points.mean(axis=0)) - np.outer((points - points.mean(axis=0)) @ z, z)
    _u, size, directions = np.linalg.svd(lateral, full_matrices=False)
    x = directions[0] if size[0] > 0.1 * radius else None
    axes = _frame(z, bone_rotation)
    if x is not None:
        x = x - z * (x @ z)
        x /= np.linalg.norm(x)
        x = x if x @ axes[:, 0] >= 0.0 else -x
        axes = np.stack([x, np.cross(z, x), z], axis=1)
    local = points @ axes
    low, high = local.min(axis=0), local.max(axis=0)
    half = np.maximum((high - low) / 2.0 * 0.9, [0.8 * radius, 0.6 * radius, 0.5 * radius])
    return BOX, axes @ ((low + high) / 2.0), axes, half


def _join_loose_roots(bones, parents, heads, tails, bone_parents):
    """Bodies without a simulated ancestor join one tree; `parents` is changed in place.

    First where an ancestor lies exactly on a simulated bone: Rigify's DEF chains hang on ORG bones that double them.
    What is still loose then (hooves on IK bones) joins the nearest joint of the main tree: the most central one of the
    large ones, the spine and not a leg with as many bones.
    """
    tolerance = 1e-3 * extent(heads[bones])
    for i in np.flatnonzero(parents < 0):
        ancestor = bone_parents[bones[i]]
        while ancestor >= 0 and parents[i] < 0:
            same = np.linalg.norm(heads[bones] - heads[ancestor], axis=1) < tolerance
            same &= np.linalg.norm(tails[bones] - tails[ancestor], axis=1) < tolerance
            for twin in np.flatnonzero(same):
                if twin != i and not _leads_to(parents, int(twin), i):
                    parents[i] = twin
                    break
            ancestor = bone_parents[ancestor]
    roots = np.flatnonzero(parents < 0)
    if len(roots) < 2:
        return
    owner = np.array([_root_of(parents, i) for i in range(len(bones))])
    sizes = {root: np.count_nonzero(owner == root) for root in roots}
    places = heads[bones]
    large = [root for root in roots if sizes[root] >= 0.4 * max(sizes.values())]
    main = min(large, key=lambda root: (np.linalg.norm(places - places[root], axis=1).sum(), root))
    joined = owner == main
    loose = [root for root in roots if root != main]
    while loose:
        best = min(
            ((float(np.linalg.norm(heads[bones[root]] - heads[bones[k]])), root, k))
            for root in loose
            for k in np.flatnonzero(joined)
        )
        _distance, root, nearest = best
        parents[root] = nearest
        joined |= owner == root
        loose.remove(root)


def _root_of(parents, body):
    while parents[body] >= 0:
        body = parents[body]
    return body


def _leads_to(parents, body, ancestor):
    while body >= 0:
        if body == ancestor:
            return True
        body = parents[body]
    return False


def segment_distances(start_a, end_a, start_b, end_b) -> np.ndarray:
    """Shortest distances [k] between segments a and b, each given by its ends [k, 3].

    The clamped closed form of Ericson, Real-Time Collision Detection, 5.1.9.
    """
    along_a, along_b, between = end_a - start_a, end_b - start_b, start_a - start_b
    a = np.einsum("ki,ki->k", along_a, along_a)
    e = np.einsum("ki,ki->k", along_b, along_b)
    f = np.einsum("ki,ki->k", along_b, between)
    c = np.einsum("ki,ki->k", along_a, between)
    b = np.einsum("ki,ki->k", along_a, along_b)
    tiny = 1e-18
    denominator = a * e - b * b
    s = np.where(denominator > tiny, np.clip((b * f - c * e) / np.maximum(denominator, tiny), 0.0, 1.0), 0.0)
    t = np.where(e > tiny, (b * s + f) / np.maximum(e, tiny), 0.0)
    clamped = np.clip(t, 0.0, 1.0)
    again = np.clip((b * clamped - c) / np.maximum(a, tiny), 0.0, 1.0)
    s = np.where((t != clamped) | (e <= tiny), np.where(a > tiny, again, 0.0), s)
    gap = between + along_a * s[:, None] - along_b * clamped[:, None]
    return np.linalg.norm(gap, axis=1)


def _as_capsules(plan):
    """Segment ends [m, 3] and radius [m] of every shape; a box counts as the capsule along its longest side."""
    order = np.argsort(plan.half, axis=1)
    rows = np.arange(len(plan.bones))
    longest = order[:, 2]
    radius = plan.half[rows, order[:, 1]]
    reach = plan.half[rows, longest] - radius
    axis = plan.axes[rows, :, longest] * np.maximum(reach, 0.0)[:, None]
    return plan.centers - axis, plan.centers + axis, radius


def _separate(plan):
    """Thin bodies that overlap without being joined; pairs that share their joint are told apart instead."""
    count = len(plan.bones)
    first, second = np.triu_indices(count, 1)
    joined = (plan.parents[first] == second) | (plan.parents[second] == first)
    first, second = first[~joined], second[~joined]
    if not len(first):
        return
    for _round in range(4):
        start, end, radius = _as_capsules(plan)
        distance = segment_distances(start[first], end[first], start[second], end[second])
        room = GAP * distance / np.maximum(radius[first] + radius[second], 1e-12)
        if np.all(room >= 1.0):
            break
        factor = np.ones(count)
        useful = (room < 1.0) & (room > 0.6)  # less than that would make sticks of them
        np.minimum.at(factor, first[useful], room[useful])
        np.minimum.at(factor, second[useful], room[useful])
        for i in np.flatnonzero(factor < 1.0):
            side = plan.half[i, :2].max() if plan.kinds[i] != SPHERE else plan.half[i].max()
            if plan.kinds[i] == SPHERE:
                plan.half[i] = side * factor[i]
            else:
                plan.half[i, :2] *= factor[i]
    start, end, radius = _as_capsules(plan)
    distance = segment_distances(start[first], end[first], start[second], end[second])
    # A body next to its grandparent (thigh and pelvis, with a stub between them) meets it whenever the joints bend.
    grand = np.where(plan.parents >= 0, plan.parents[plan.parents], -1)
    near = (grand[first] == second) | (grand[second] == first)
    overlap = distance < (radius[first] + radius[second]) * np.where(near, GRANDPARENT_ROOM, 1.0)
    plan.no_collide = [(int(i), int(j)) for i, j in zip(first[overlap], second[overlap], strict=True)]
