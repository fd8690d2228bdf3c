"""Where a limb leads and what shape its joints alone give it."""

import numpy as np

from .shape_fit import BOX, CAPSULE, FEWEST_POINTS, SPHERE, Shape

RADIUS_OF_LENGTH = (0.10, 0.45)  # a limb is never thinner or stouter than this share of its length


def extent(points: np.ndarray, axes: np.ndarray | None = None) -> float:
    """Largest side [m] of the box around points [n, 3]: the measure of a character's size.

    The box lies along the columns of `axes` [3, 3], the armature's, so that turning a character changes nothing.
    """
    points = points if axes is None else points @ axes
    return float(np.max(np.ptp(points, axis=0))) if len(points) else 0.0


def plausible(drawn, reach, size_of_all):
    """Whether a drawn length can be meant, next to the distance to the parent's joint."""
    return 0.2 * reach <= drawn <= max(1.2 * reach, 0.15 * size_of_all)


def distance_to_parent(bone, heads, parents):
    """To the nearest ancestor whose joint lies elsewhere; 0 when there is none."""
    ancestor = parents[bone]
    while ancestor >= 0:
        distance = float(np.linalg.norm(heads[bone] - heads[ancestor]))
        if distance > 1e-9:
            return distance
        ancestor = parents[ancestor]
    return 0.0


def merged_points(bone, heads, tails, ancestors, simulated):
    """Heads and tails [k, 3] of the bones that a simulated bone carries along."""
    carried = np.flatnonzero((ancestors == bone) & ~simulated)
    return np.concatenate([heads[carried], tails[carried]]) if len(carried) else np.zeros((0, 3))


def end_of(bone, children, merged, heads, tails, rotations, parents, vertices) -> np.ndarray:
    """The far end of a limb: the child joint; else the mesh, the merged bones, the drawn tail, the parent."""
    head = heads[bone]
    if children:
        return np.mean(children, axis=0)
    reach = distance_to_parent(bone, heads, parents)
    if vertices is not None and len(vertices) >= FEWEST_POINTS:
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
    if reach <= 0.0 or plausible(length, reach, extent(heads)):
        return tails[bone]
    direction = drawn / length if length > 1e-9 else rotations[bone][:, 1]
    return head + direction * 0.5 * reach


def frame(z, bone_rotation):
    """A rotation with the given z; x follows the bone's x, or its z where the limb lies along x."""
    z = z / np.linalg.norm(z)
    x = bone_rotation[:, 0]
    if abs(x @ z) > 0.9:
        x = bone_rotation[:, 2]
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
    low, high = RADIUS_OF_LENGTH
    radius = float(np.clip(radius, low * length, high * length))
    if wanted == SPHERE:
        return Shape(SPHERE, (head + end) / 2.0, axes, np.full(3, length / 2.0))
    half = np.array([radius, radius, length / 2.0])
    return Shape(BOX if wanted == BOX else CAPSULE, (head + end) / 2.0, axes, half)


def fork(head, children, bone_rotation, radius) -> Shape:
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
    axes = frame(z, bone_rotation)
    if x is not None:
        x = x - z * (x @ z)
        x /= np.linalg.norm(x)
        x = x if x @ axes[:, 0] >= 0.0 else -x
        axes = np.stack([x, np.cross(z, x), z], axis=1)
    local = points @ axes
    low, high = local.min(axis=0), local.max(axis=0)
    half = np.maximum((high - low) / 2.0 * 0.9, [0.8 * radius, 0.6 * radius, 0.5 * radius])
    return Shape(BOX, axes @ ((low + high) / 2.0), axes, half)
