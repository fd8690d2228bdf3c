"""Bodies of several convex shapes: a COMPOUND whose shapes are those of the objects parented to it.

Measured on Blender 4.2, 4.5 and 5.0: a child counts if it is in the rigid body world; it is not simulated itself,
whatever its type; the inertia is that of the box around all shapes, about the body's origin. The shapes' places are
taken from the *evaluated* matrices of body and child when the world is built anew, which is before Blender moves the
children after a body that has been put elsewhere: without `place_pieces` a second run has its shapes where the first
one ended.
"""

import numpy as np
from mathutils import Matrix

from ..ragdoll.shape_fit import BOX, CAPSULE, COMPOUND, CONVEX_HULL, SPHERE, Shape
from . import body_meshes
from .armature import rigid
from .helpers import helper


def add_pieces(scene, body, shape, collection) -> None:
    """Make the objects of a compound's pieces; nothing for other shapes."""
    inverse = np.eye(4)
    inverse[:3, :3], inverse[:3, 3] = shape.axes.T, -shape.axes.T @ shape.center
    for number, piece in enumerate(shape.pieces, 1):
        mesh = body_meshes.make(f"{body.name} {number}", piece)
        made = helper(f"{body.name} {number}", mesh, collection, aside=False)
        place = np.eye(4)
        place[:3, :3], place[:3, 3] = piece.axes, piece.center
        made.parent = body
        made.matrix_basis = Matrix((inverse @ place).tolist())
        made.display_type = "WIRE"
        scene.rigidbody_world.collection.objects.link(made)
        made.rigid_body.type = "PASSIVE"
        body_meshes.set_shape(made.rigid_body, piece.kind, piece.half)


def pieces_of(settings) -> list:
    """The objects of all compounds' pieces of a ragdoll."""
    found = settings.collection.objects if settings.collection is not None else ()
    return [o for o in found if o.parent is not None and o.rigid_body is not None and _is_compound(o.parent)]


def by_body(settings) -> dict:
    """The objects of the pieces of each compound of a ragdoll, in their order."""
    found = {}
    for piece in pieces_of(settings):
        found.setdefault(piece.parent, []).append(piece)
    return found


def _is_compound(body) -> bool:
    return body.rigid_body is not None and body.rigid_body.collision_shape == COMPOUND


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
    corners = np.empty(3 * len(body.data.vertices), dtype=np.float32)
    body.data.vertices.foreach_get("co", corners)
    points = corners.reshape(-1, 3).astype(float) * np.linalg.norm(place[:3, :3], axis=0)
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
