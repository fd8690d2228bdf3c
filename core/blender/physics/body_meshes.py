"""Meshes of the bodies, from which Blender sizes primitive shapes and draws wires; and pieces of compounds."""

from functools import cache

import bpy
import numpy as np
from mathutils import Matrix

from ...pose import affine
from ...ragdoll.bodies import fitting
from ...ragdoll.bodies.fitting import BOX, CAPSULE, COMPOUND, CONVEX_HULL, SPHERE, Shape
from ..rig.armature import rigid, values_of
from . import built
from .helpers import helper

SIDES = 8
MARGIN = 0.005  # of the smallest half extent; a hull is larger than its mesh by this margin

BOX_CORNERS = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], dtype=float)
_BOX_FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


@cache
def _round(capsule: bool) -> tuple[np.ndarray, np.ndarray, list]:
    """A sphere of radius 1 in rings about z: vertices [k, 3], the half of each [k] (1 above, -1 below), faces.

    A capsule has the equator twice, once for each half. The poles are small rings, so that no face is degenerate.
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


def make_mesh(name: str, shape: Shape) -> bpy.types.Mesh:
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
        return BOX_CORNERS * shape.half, _BOX_FACES
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


def own_moments(bodies) -> np.ndarray:
    """Moments of inertia [m, 3] of built bodies about their own axes [kg m^2], as Blender has them."""
    sizes = [np.ptp(np.array(body.bound_box, dtype=float), axis=0) for body in bodies]
    kinds = [body.rigid_body.collision_shape for body in bodies]
    return fitting.own_moments(kinds, sizes, [body.rigid_body.mass for body in bodies])


def add_pieces(scene, body, shape, collection) -> None:
    """Make the objects of a compound's pieces; nothing for other shapes."""
    inverse = affine(shape.axes.T, -shape.axes.T @ shape.center)
    for number, piece in enumerate(shape.pieces, 1):
        mesh = make_mesh(f"{body.name} {number}", piece)
        made = helper(f"{body.name} {number}", mesh, collection, built.PIECE, body[built.BONE], number, aside=False)
        made.parent = body
        made.matrix_basis = Matrix((inverse @ affine(piece.axes, piece.center)).tolist())
        made.display_type = "WIRE"
        scene.rigidbody_world.collection.objects.link(made)
        made.rigid_body.type = "PASSIVE"
        set_shape(made.rigid_body, piece.kind, piece.half)


def pieces_of(settings) -> list:
    """The objects of all compounds' pieces of a ragdoll."""
    found = settings.collection.objects if settings.collection is not None else ()
    pieces = [(o, o.parent.rigid_body) for o in found if o.parent is not None and o.rigid_body is not None]
    return [piece for piece, body in pieces if body is not None and body.collision_shape == COMPOUND]


def pieces_by_body(settings) -> dict:
    """The objects of the pieces of each compound of a ragdoll, in their order."""
    found = {}
    for piece in pieces_of(settings):
        found.setdefault(piece.parent, []).append(piece)
    return found


def solids_of(body) -> list[Shape]:
    """The convex shapes of a body where it was made, in the world; a compound has those of its children."""
    place = np.array(body.matrix_basis, dtype=float)
    kind = body.rigid_body.collision_shape
    if kind != COMPOUND:
        return [_shape(body, kind, place)]
    found = []
    for child in body.children:
        if child.type == "MESH" and child.rigid_body is not None:
            inner = place @ np.array(child.matrix_parent_inverse @ child.matrix_basis, dtype=float)
            found.append(_shape(child, child.rigid_body.collision_shape, inner))
    return found or [_shape(body, CONVEX_HULL, place)]


def _shape(body, kind, place) -> Shape:
    points = values_of(body.data.vertices, "co", 3).astype(float) * np.linalg.norm(place[:3, :3], axis=0)
    axes = rigid(place)[:3, :3]
    half = np.abs(points).max(axis=0, initial=0.0)
    if kind not in (BOX, CAPSULE, SPHERE):
        return Shape(CONVEX_HULL, place[:3, 3], axes, half, points)
    if kind == SPHERE:
        half = np.full(3, half.max())
    return Shape(kind, place[:3, 3], axes, half)


def place_pieces(run) -> None:
    """Let the evaluated pieces stand on their evaluated bodies; called before Blender makes the shapes."""
    for character in run.characters:
        for piece in pieces_of(character.obj.active_ragdoll):
            body = piece.parent.evaluated_get(run.graph)
            piece.evaluated_get(run.graph).matrix_world = body.matrix_world @ piece.matrix_basis
