"""Meshes of the bodies: what Blender sizes a primitive collision shape by, and what is drawn as a wire."""

import bpy
import numpy as np

from ..ragdoll.shape_fit import BOX, CAPSULE, CONVEX_HULL, Shape

SIDES = 8
MARGIN = 0.005  # of the smallest half extent; a hull is larger than its mesh by it

_BOX_FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def _rings(rings: list) -> tuple[list, list]:
    """Vertices and faces of a surface of revolution about z; rings are (radius, height), ends closed."""
    angles = np.arange(SIDES) * (2.0 * np.pi / SIDES)
    vertices = [(r * np.cos(a), r * np.sin(a), z) for r, z in rings for a in angles]
    faces = [tuple(range(SIDES))[::-1]]
    for ring in range(len(rings) - 1):
        for i in range(SIDES):
            j = (i + 1) % SIDES
            low, high = ring * SIDES, (ring + 1) * SIDES
            faces.append((low + i, low + j, high + j, high + i))
    faces.append(tuple((len(rings) - 1) * SIDES + i for i in range(SIDES)))
    return vertices, faces


def make(name: str, shape: Shape) -> bpy.types.Mesh:
    """A mesh whose bounding box is exactly the shape's in its own frame; a compound's is that of all its pieces."""
    vertices, faces = [], []
    for part in shape.parts():
        own, polygons = _surface(part)
        turn = shape.axes.T @ part.axes
        faces += [tuple(len(vertices) + i for i in face) for face in polygons]
        vertices += (own if part is shape else own @ turn.T + shape.axes.T @ (part.center - shape.center)).tolist()
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices, [], faces)
    return mesh


def _surface(shape: Shape) -> tuple[np.ndarray, list]:
    """Vertices [k, 3] in the shape's own frame, and faces, of a convex shape."""
    x, y, z = (float(h) for h in shape.half)
    if shape.kind == CONVEX_HULL:
        return shape.solid.points, shape.solid.faces
    if shape.kind == BOX:
        signs = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], dtype=float)
        return signs * (x, y, z), _BOX_FACES
    straight = max(z - x, 0.0) if shape.kind == CAPSULE else 0.0
    tip = 0.02 * x  # the poles are small rings: every face stays a proper polygon
    bend = [(x * np.sin(t), x * np.cos(t)) for t in np.radians((30, 60, 90))]
    upper = [(r, straight + h) for r, h in bend]
    rings = [(tip, straight + x), *upper]
    rings += [(r, -h) for r, h in reversed(rings)] if straight > 0.0 else [(r, -h) for r, h in reversed(rings[:-1])]
    vertices, faces = _rings(rings[::-1])
    return np.array(vertices), faces


def set_shape(rigid_body, kind: str, half) -> None:
    """Collision shape of a rigid body, with a margin that suits its size.

    Blender's own margin of 0.04 m is thicker than many a character's limb. It is part of a box, and of a hull where it
    finds room, which depends on the size; a margin that is set lies around the hull. Measured, resting on a floor: the
    gap is 0 for boxes and the margin for hulls at 0.18, 1.8 and 18 m. Capsules and spheres are their own margin.
    """
    rigid_body.collision_shape = kind
    if kind in (BOX, CONVEX_HULL):
        rigid_body.use_margin = True
        rigid_body.collision_margin = MARGIN * float(min(half))
