"""The ground that is there: what a foot can stand on, in the evaluated scene."""

import numpy as np
from mathutils import Vector

from ..physics import built
from ..physics.view_layers import depsgraph_of

_STEEPEST = 0.5  # the least vertical part of a normal on which a foot stands


class Ground:
    """The rigid bodies of a scene that physics does not move and that are none of ours."""

    def __init__(self, scene) -> None:
        self._scene = scene
        world = scene.rigidbody_world
        found = world.collection.objects if world is not None and world.collection is not None else ()
        self._objects = [other for other in found if other.type == "MESH" and not built.is_ours(other)]

    def height(self, place: complex, top: float, depth: float) -> float | None:
        """Of the highest ground at a place between `top` and so much below [m]; None where there is none."""
        graph, best = depsgraph_of(self._scene), None
        for other in self._objects:
            try:
                body = other.rigid_body
                if body is None or (body.type == "ACTIVE" and not body.kinematic):
                    continue
                matrix = other.evaluated_get(graph).matrix_world
            except ReferenceError:  # it was deleted
                continue
            inverse = matrix.inverted_safe()
            start, end = (inverse @ Vector((place.real, place.imag, z)) for z in (top, top - depth))
            way = end - start
            hit, point, normal, _face = other.evaluated_get(graph).ray_cast(start, way, distance=way.length)
            up = (inverse.to_3x3().transposed() @ normal).normalized().z
            if hit and abs(up) > _STEEPEST:
                z = (matrix @ point).z
                best = z if best is None else max(best, z)
        return None if best is None else float(np.float64(best))
