"""What is below: rays against the rigid bodies of a scene that are none of ours."""

import numpy as np
from mathutils import Vector

from ...pose import moved
from ..rig.armature import array_of
from . import built, view_layers

STEEPEST = 0.5  # the least vertical part of a normal on which a foot stands


def solids(scene) -> list:
    """The meshes of the rigid body world that are no helpers of a ragdoll."""
    world = scene.rigidbody_world
    found = world.collection.all_objects if world is not None and world.collection is not None else ()
    return [obj for obj in found if obj.type == "MESH" and obj.rigid_body is not None and not built.is_ours(obj)]


def still(scene) -> list:
    """Those of them that physics does not move."""
    return [obj for obj in solids(scene) if obj.rigid_body.type == "PASSIVE" or obj.rigid_body.kinematic]


def met(solid, start, way) -> tuple | None:
    """Where a ray of the world meets an evaluated object first [3], how upright its normal is there, 0..1, and whether
    the ray enters it there. The ray begins at a place [3] and ends after a way [3] [m]."""
    into = solid.matrix_world.inverted_safe()
    direction = into.to_3x3() @ Vector(way)
    found, place, normal, _face = solid.ray_cast(into @ Vector(start), direction, distance=direction.length)
    if not found:
        return None
    upright = (into.to_3x3().transposed() @ normal).normalized().z
    return np.array(solid.matrix_world @ place, dtype=float), abs(upright), normal.dot(direction) < 0.0


def bounded(found, graph) -> tuple:
    """Solids as they are evaluated, and the corners of the boxes around them in the world [s, 3], [s, 3]."""
    others = [solid.evaluated_get(graph) for solid in found]
    boxes = np.array([moved(np.array(other.bound_box), array_of(other.matrix_world)) for other in others])
    boxes = boxes.reshape(-1, 8, 3)
    return others, boxes.min(axis=1), boxes.max(axis=1)


def meetings(solids: tuple, starts: np.ndarray, ways: np.ndarray) -> list:
    """Where ways [k, 3] of the world meet solids (see `bounded`) first: a way's row, a place [3], whether it enters."""
    others, lowest, highest = solids
    low, high = (each(starts, starts + ways)[:, None] for each in (np.minimum, np.maximum))
    near = np.argwhere(((low <= highest) & (high >= lowest)).all(axis=2)).tolist()
    found = ((row, met(others[other], starts[row], ways[row])) for row, other in near)
    return [(row, hit[0], hit[2]) for row, hit in found if hit is not None]


def highest(scene, found, place: complex, top: float, depth: float) -> tuple | None:
    """Height of the ground at a place, between `top` and so much below [m], and whose; None where there is none.
    Of the solids `found` in the scene those that physics moves are no ground."""
    graph, grounds = view_layers.depsgraph_of(scene), []
    for solid in found:
        try:
            body = solid.rigid_body
            if body is None or (body.type == "ACTIVE" and not body.kinematic):
                continue
            hit = met(solid.evaluated_get(graph), (place.real, place.imag, top), (0.0, 0.0, -depth))
        except ReferenceError:  # it was deleted
            continue
        if hit is not None and hit[1] > STEEPEST:
            grounds.append((float(hit[0][2]), solid))
    return max(grounds, key=lambda ground: ground[0], default=None)


def relief(found: list, starts: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """What of evaluated meshes is below and above places [k, 3] of the world, no farther than a reach [m]: heights of
    the first surface below [k], -inf without one, inf for what begins in a solid; and above, inf without one."""
    below, above = np.full(len(starts), -np.inf), np.full(len(starts), np.inf)
    boxes = [moved(np.array(solid.bound_box), array_of(solid.matrix_world)) for solid in found]
    for solid, box in sorted(zip(found, boxes, strict=True), key=lambda each: -each[1][:, 2].max()):
        low, high = box.min(axis=0), box.max(axis=0)
        rows = ((starts >= low) & (starts <= high))[:, :2].all(axis=1)
        rows = np.flatnonzero(rows & (high[2] >= np.minimum(starts[:, 2], below)))  # else something higher is there
        into = np.array(solid.matrix_world.inverted_safe(), dtype=float)
        up = Vector(into[:3, 2])
        for row, start in zip(rows, starts[rows] @ into[:3, :3].T + into[:3, 3], strict=True):
            at = starts[row, 2]  # rays leave the solid, however large it is
            ways = [up * (min(low[2], at) - reach - at), up * (high[2] + reach - at)][: 1 + (high[2] >= at)]
            hits = [solid.ray_cast(start, way, distance=way.length) for way in ways]
            if len(hits) == 2 and all(hit[0] and hit[2].dot(way) > 0.0 for hit, way in zip(hits, ways, strict=True)):
                below[row] = np.inf
                continue
            for (hit, there, _normal, _face), values, pick in zip(hits, (below, above), (max, min), strict=False):
                rise = (there - Vector(start)).dot(up) / up.length_squared
                if hit and abs(rise) <= reach:
                    values[row] = pick(values[row], at + rise)
    return below, above
