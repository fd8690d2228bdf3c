"""Meshes of the bodies: what Blender sizes a primitive collision shape by, and what is drawn as a wire."""

from functools import cache

import bpy
import numpy as np

from ..ragdoll.shape_fit import BOX, CAPSULE, CONVEX_HULL, Shape

SIDES = 8
MARGIN = 0.005  # of the smallest half extent; a hull is larger than its mesh by it

_BOX_CORNERS = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], dtype=float)
_BOX_FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


@cache
def _round(capsule: bool) -> tuple[np.ndarray, np.ndarray, list]:
    """A ball of radius 1 cut in rings about z: vertices [k, 3], the half of each (1 above, -1 below) [k], faces.

    A capsule has the equator twice, once for each half. The poles are small rings: every face stays a proper polygon.
    """
    bend = np.radians((30, 60, 90))
    upper = [(0.02, 1.0), *zip(np.sin(bend), np.cos(bend), strict=True)]
    lower = [(r, -h) for r, h in reversed(upper if capsule else upper[:-1])]
    radius, height = np.repeat(np.array(upper + lower)[::-1], SIDES, axis=0).T
    turn = np.tile(np.arange(SIDES) * (2.0 * np.pi / SIDES), len(upper + lower))
    half = np.repeat([-1.0] * len(lower) + [1.0] * len(upper), SIDES)
    faces = [tuple(range(SIDES))[::-1]]
    for low in range(0, len(half) - SIDES, SIDES):
        faces += [(low + i, low + j, low + SIDES + j, low + SIDES + i) for i, j in _SIDES_IN_TURN]
    faces.append(tuple(range(len(half) - SIDES, len(half))))
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1), half, faces


_SIDES_IN_TURN = [(i, (i + 1) % SIDES) for i in range(SIDES)]


def make(name: str, shape: Shape) -> bpy.types.Mesh:
    """A mesh whose bounding box is exactly the shape's in its own frame; a compound's is that of all its pieces."""
    vertices, faces, count = [], [], 0
    for part in shape.parts():
        own, polygons = _surface(part)
        faces += [tuple(count + i for i in face) for face in polygons] if count else polygons
        count += len(own)
        if part is not shape:
            own = own @ (shape.axes.T @ part.axes).T + shape.axes.T @ (part.center - shape.center)
        vertices.append(own)
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(np.concatenate(vertices).astype(np.float32), [], faces)
    return mesh


def _surface(shape: Shape) -> tuple[np.ndarray, list]:
    """Vertices [k, 3] in the shape's own frame, and faces, of a convex shape."""
    if shape.kind == CONVEX_HULL:
        return shape.solid.points, shape.solid.faces
    if shape.kind == BOX:
        return _BOX_CORNERS * shape.half, _BOX_FACES
    radius, straight = float(shape.half[0]), float(shape.half[2] - shape.half[0]) if shape.kind == CAPSULE else 0.0
    ball, half, faces = _round(straight > 0.0)
    vertices = radius * ball
    if straight > 0.0:
        vertices[:, 2] += straight * half
    return vertices, faces


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
