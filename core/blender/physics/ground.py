"""What is below: rays against the rigid bodies of a scene that are none of ours."""

import numpy as np
from mathutils import Vector

from . import built
from .view_layers import depsgraph_of

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
    """Where a ray of the world meets an evaluated object first [3], and how upright its normal is there, 0..1.

    The ray begins at a place [3] and ends after a way [3] [m].
    """
    into = solid.matrix_world.inverted_safe()
    direction = into.to_3x3() @ Vector(way)
    found, place, normal, _face = solid.ray_cast(into @ Vector(start), direction, distance=direction.length)
    if not found:
        return None
    upright = (into.to_3x3().transposed() @ normal).normalized().z
    return np.array(solid.matrix_world @ place, dtype=float), abs(upright)


def height(scene, found: list, place: complex, top: float, depth: float) -> float | None:
    """Of the highest ground at a place between `top` and so much below [m]; None where there is none.

    Args:
        found: solids of the scene; those that physics moves are no ground.
    """
    graph, heights = depsgraph_of(scene), []
    for solid in found:
        try:
            body = solid.rigid_body
            if body is None or (body.type == "ACTIVE" and not body.kinematic):
                continue
            hit = met(solid.evaluated_get(graph), (place.real, place.imag, top), (0.0, 0.0, -depth))
        except ReferenceError:  # it was deleted
            continue
        if hit is not None and hit[1] > STEEPEST:
            heights.append(float(hit[0][2]))
    return max(heights, default=None)
