"""Bodies: their meshes, from which Blender sizes primitive shapes and draws wires; pieces of compounds; and edits by
hand in the viewport, which a new build finds and keeps."""

import hashlib
import json
from functools import cache

import bpy
import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...errors import RagdollError
from ...pose import affine, moved
from ...ragdoll.bodies import convex, fitting, overlap
from ...ragdoll.bodies.fitting import BOX, CAPSULE, COMPOUND, CONVEX_HULL, PRIMITIVES, SPHERE, Shape
from ..rig.armature import array_of, rigid, values_of
from ..runtime import STATE
from ..settings import declare
from ..settings.bone import ActiveRagdollBone
from . import built, helpers, source

SIDES = 8
MARGIN = 0.005  # of the smallest half extent; a hull is larger than its mesh by this margin
_BOX_CORNERS = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], dtype=float)
_BOX_FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


@cache
def _round(capsule: bool) -> tuple[np.ndarray, np.ndarray, list]:
    """A sphere of radius 1 in rings about z: vertices [k, 3], the half of each [k] (1 above, -1 below), faces.

    A capsule has the equator twice, once for each half. The poles are small rings, so that no face is degenerate."""
    bend = np.radians((30, 60, 90))
    upper = [(0.02, 1.0), *zip(np.sin(bend), np.cos(bend), strict=True)]
    lower = [(r, -h) for r, h in reversed(upper if capsule else upper[:-1])]
    radius, height = np.repeat(np.array(upper + lower)[::-1], SIDES, axis=0).T
    turn = np.tile(np.arange(SIDES) * (2.0 * np.pi / SIDES), len(upper + lower))
    half = np.repeat([-1.0] * len(lower) + [1.0] * len(upper), SIDES)
    faces = [tuple(range(SIDES))[::-1]]
    for low in range(0, len(half) - SIDES, SIDES):
        faces += [(low + i, low + j, low + SIDES + j, low + SIDES + i) for i, j in enumerate((*range(1, SIDES), 0))]
    faces.append(tuple(range(len(half) - SIDES, len(half))))
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1), half, faces


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
        tags, place = (built.PIECE, body[built.BONE], number), inverse @ affine(piece.axes, piece.center)
        made = helpers.helper(f"{body.name} {number}", mesh, collection, *tags, place=place, aside=False)
        made.parent = body
        made.display_type = "WIRE"
        scene.rigidbody_world.collection.objects.link(made)
        made.rigid_body.type = "PASSIVE"
        set_shape(made.rigid_body, piece.kind, piece.half)


def pieces_by_body(settings) -> dict:
    """The objects of the pieces of each compound of a ragdoll, in their order."""
    found: dict = {}
    for piece in settings.collection.objects if settings.collection is not None else ():
        body = piece.parent.rigid_body if piece.parent is not None and piece.rigid_body is not None else None
        if body is not None and body.collision_shape == COMPOUND:
            found.setdefault(piece.parent, []).append(piece)
    return found


def place_in(piece) -> np.ndarray:
    """Where a compound's piece was made, in its body's own frame before it is scaled [4, 4]."""
    return np.array(piece.matrix_parent_inverse @ piece.matrix_basis, dtype=float)


def solids_of(body) -> list[Shape]:
    """The convex shapes of a body where it was made, in the world; a compound has those of its children."""
    place = np.array(body.matrix_basis, dtype=float)
    kind = body.rigid_body.collision_shape
    if kind != COMPOUND:
        return [_shape(body, kind, place)]
    children = [child for child in body.children if child.type == "MESH" and child.rigid_body is not None]
    found = [_shape(child, child.rigid_body.collision_shape, place @ place_in(child)) for child in children]
    return found or [_shape(body, CONVEX_HULL, place)]


def _shape(body, kind, place) -> Shape:
    points = _points(body.data).astype(float) * np.linalg.norm(place[:3, :3], axis=0)
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
        for body, pieces in pieces_by_body(character.obj.active_ragdoll).items():
            place = body.evaluated_get(run.graph).matrix_world
            for piece in pieces:
                piece.evaluated_get(run.graph).matrix_world = place @ piece.matrix_basis


# ---- edits by hand ---------------------------------------------------------------------------------------------------
# After a build every body carries a record of how it was made. Before the next one, a body that was moved, turned or
# scaled, or whose mesh, shape or mass was changed, is measured, and its place and size go to the bone's settings, in
# the bone's frame and the armature's own units, so that they hold wherever the character stands later, at any scale.

BUILT = "active_ragdoll_built"  # on a body: how it was made
EDITING = "active_ragdoll_editing"  # on the collection of bodies: what `end_editing` restores
MOVED = 1e-5  # of the height; smaller differences are rounding
SMALLEST = 1e-4  # of the height: a body that is scaled to nothing keeps this half extent

# Settings of a rigid body that a run never writes, and the bone's setting that each comes from.
_TUNED = (("mass", "mass"), ("friction", "friction"), ("restitution", "bounciness"))


def record_bodies(obj, bones=None) -> None:
    """Record bodies with compounds' pieces, all or those of some bones, as they are: only later changes are edits."""
    pieces = pieces_by_body(obj.active_ragdoll)
    for part in obj.active_ragdoll.parts:
        body, its = part.body, pieces.get(part.body, ())
        if body is None or body.rigid_body is None or (bones is not None and part.bone not in bones):
            continue
        for each in (body, *its):
            each[built.OWNER] = obj
        body[BUILT] = {
            "basis": [value for row in body.matrix_basis for value in row],
            "kind": body.rigid_body.collision_shape,
            "mesh": _checksum(_points(body.data)),
            "pieces": _checksum(_placed(its)),
            **{name: float(getattr(body.rigid_body, name)) for name, _setting in _TUNED},
        }


def _record_of(body) -> dict | None:
    """How a body was made; None without a record, or where a file has it damaged: then nothing counts as edited."""
    names = [name for name, _setting in _TUNED]
    try:  # one by one: where a name is no text, reading all at once leaves Python with an error that it does not raise
        found = {name: body[BUILT][name] for name in ("basis", "kind", "mesh", "pieces", *names)}
        found["basis"] = np.array(found["basis"], dtype=float).reshape(4, 4)
        return found if np.isfinite([*found["basis"].ravel(), *(float(found[name]) for name in names)]).all() else None
    except (KeyError, TypeError, ValueError):
        return None


def collect_edits(obj) -> list[str]:
    """Store the edits of a ragdoll's bodies on their bones. Returns names of the bones whose bodies were edited since
    they were built or last collected."""
    settings, edited = obj.active_ragdoll, []
    with STATE.writing():
        shown = None if is_editing(obj) else _animated_places(obj)
        pieces = pieces_by_body(settings)
        for i, part in enumerate(settings.parts):
            body, bone = part.body, obj.pose.bones.get(part.bone)
            made = _record_of(body)
            if made is None or bone is None or body.type != "MESH" or body.rigid_body is None:
                continue
            own, its = bone.active_ragdoll, pieces.get(body, ())
            touched = _reshaped(body, its, made, settings.height)
            if touched:
                _keep_shape(part, its, own, settings, None if shown is None else shown[i])
            for name, setting in _TUNED:
                now = float(getattr(body.rigid_body, name))
                if abs(now - made[name]) > 1e-6 * max(abs(made[name]), 1e-3):
                    setattr(own, setting, now)
                    touched = True
            if touched:
                edited.append(part.bone)
        if edited:
            record_bodies(obj, edited)
    return edited


def with_edits(obj, plan, pose, to_world):
    """A `shapes.BodyPlan`, changed in place, with bodies edited by hand for the automatic ones; pairs that now overlap
    do not collide. Of an `armature.BindPose` and the armature's world matrix [4, 4], uniformly scaled."""
    scale = float(np.cbrt(abs(np.linalg.det(to_world[:3, :3]))))
    edited = []
    for i, bone in enumerate(plan.bones):
        own = obj.pose.bones[int(bone)].active_ragdoll
        if own.shape_by_user and any(own.half_extents):  # else no size was ever set
            plan.shapes[i] = _stated_shape(own, plan.shapes[i].kind, pose.matrices[bone], scale)
            edited.append(i)
    if edited:
        first, second = plan.strangers()
        touched = np.isin(first, edited) | np.isin(second, edited)
        first, second = first[touched], second[touched]
        depth = overlap.depths(plan.shapes, first, second) if len(first) else ()
        plan.no_collide += [(int(i), int(k)) for i, k, deep in zip(first, second, depth) if deep > 0.0]
    return plan


def _stated_shape(own, planned: str, bind, scale: float) -> Shape:
    """The shape [m] that a bone's settings state; a round one takes its larger half extents, as in Blender."""
    kind = planned if own.shape == "AUTO" else own.shape
    points = np.array(json.loads(own.body_points or "[]"), dtype=float).reshape(-1, 3) * scale
    center = bind[:3, :3] @ np.array(own.body_location, dtype=float) * scale + bind[:3, 3]
    axes = bind[:3, :3] @ np.array(Quaternion(own.body_rotation).normalized().to_matrix())
    if kind == COMPOUND and len(points) and sum(own.body_pieces) == len(points):
        pieces = []
        for corners in filter(len, np.split(points, np.cumsum(own.body_pieces)[:-1])):
            low, high = corners.min(axis=0), corners.max(axis=0)
            middle = (low + high) / 2.0
            pieces.append(Shape(CONVEX_HULL, center + axes @ middle, axes, (high - low) / 2.0, corners - middle))
        return fitting.joined(pieces, axes)
    if kind in (COMPOUND, CONVEX_HULL):  # a compound's corners may be told as a whole
        kind = CONVEX_HULL if len(points) else BOX
    half = np.array(own.half_extents, dtype=float) * scale
    half = np.maximum(half, 1e-3 * max(half.max(), 1e-6))
    if kind == SPHERE:
        half[:] = half.max()
    elif kind == CAPSULE:
        half[:2] = half[:2].max()
        half[2] = max(half[2], half[0])
    elif kind == CONVEX_HULL:
        half = np.ptp(points, axis=0) / 2.0
    return Shape(kind, center, axes, half, points if kind == CONVEX_HULL else None)


def adopt_body(obj, part) -> None:
    """Write a body's place and size as they stand to its bone's settings, to be edited as numbers."""
    with STATE.writing():
        own = obj.pose.bones[part.bone].active_ragdoll
        _keep_shape(part, pieces_by_body(obj.active_ragdoll).get(part.body, ()), own, obj.active_ragdoll, None)


SHAPE_SETTINGS = declare.names(ActiveRagdollBone, group="size")


def reset_body(obj, bone_name: str) -> None:
    """Forget the edits of a bone's body, including those not collected yet."""
    for name in SHAPE_SETTINGS:
        obj.pose.bones[bone_name].active_ragdoll.property_unset(name)
    record_bodies(obj, (bone_name,))


# ---- editing in the viewport ----------------------------------------------------------------------------------------
def is_editing(obj) -> bool:
    """Whether the bodies of a character stand in bind pose to be edited."""
    bodies = obj.active_ragdoll.bodies
    return bodies is not None and EDITING in bodies


def begin_editing(obj) -> None:
    """Show the bodies of a freshly built ragdoll in bind pose, where the mesh is too, and let them be selected.

    The rigid body world rests meanwhile: Blender shows and moves simulated bodies from their places in the simulation.
    """
    settings = obj.active_ragdoll
    world = settings.scene.rigidbody_world
    settings.bodies[EDITING] = {"enabled": int(world.enabled), "pose": obj.data.pose_position}
    world.enabled = False
    if obj.data.library is None:
        obj.data.pose_position = "REST"
    settings.collection.hide_viewport = settings.bodies.hide_viewport = False
    _show_for_editing(obj, True)


def end_editing(obj) -> None:
    """Undo `begin_editing`, if it was called."""
    if not is_editing(obj):
        return
    settings = obj.active_ragdoll
    before = settings.bodies[EDITING]
    if settings.scene is not None and settings.scene.rigidbody_world is not None:
        settings.scene.rigidbody_world.enabled = bool(before["enabled"])
    if obj.data.library is None:
        obj.data.pose_position = before["pose"]
    _show_for_editing(obj, False)
    del settings.bodies[EDITING]


def _show_for_editing(obj, editing: bool) -> None:
    """Show a character's bodies and their pieces while they are edited, even if helpers are hidden."""
    settings, by_body = obj.active_ragdoll, pieces_by_body(obj.active_ragdoll)
    outer, bodies = settings.scene.collection, [part.body for part in settings.parts if part.body is not None]
    pieces = [piece for its in by_body.values() for piece in its]
    for things, held in (([settings.bodies], outer.children), (pieces, outer.objects)):
        for thing in things:
            if editing != (thing.name in held):
                (held.link if editing else held.unlink)(thing)
    for each in (*pieces, *bodies):
        each.hide_select = not editing
    for body in bodies:  # a compound's wires would stay behind when a piece is moved
        body.display_type = "BOUNDS" if editing and body in by_body else "WIRE"


# ---- measuring ----------------------------------------------------------------------------------------------------
def _points(mesh) -> np.ndarray:
    return values_of(mesh.vertices, "co", 3)


def _placed(pieces) -> np.ndarray:
    """Corners of a compound's pieces [k, 3], in the body's own frame before it is scaled."""
    return np.concatenate([np.empty((0, 3)), *(moved(_points(piece.data), place_in(piece)) for piece in pieces)])


def _checksum(points) -> str:
    return hashlib.blake2b(points.tobytes(), digest_size=8).hexdigest()


def _reshaped(body, pieces, made, height) -> bool:
    """Whether place, size, shape, mesh or pieces of a body are not as built."""
    points = _points(body.data)
    shape = body.rigid_body.collision_shape, _checksum(points), _checksum(_placed(pieces))
    if shape != (made["kind"], made["mesh"], made["pieces"]):
        return True
    size = float(np.abs(points).max(initial=0.0))
    # A turn counts by how far it carries the shape's surface.
    difference = np.abs(array_of(body.matrix_basis) - made["basis"])
    return bool(max(difference[:3, 3].max(), difference[:3, :3].max() * size) > MOVED * height)


def _keep_shape(part, pieces, own, settings, shown) -> None:
    """Measure a body and write its place and size to its bone's settings; a compound is its pieces."""
    body, made = part.body, _record_of(part.body)
    place, turn, scale = body.matrix_basis.decompose()
    if pieces and made is not None and _checksum(_points(body.data)) != made["mesh"]:
        pieces = ()  # its whole mesh was edited: that is what counts
    lumps = [_lump(_placed([piece]) * np.array(scale), settings.height) for piece in pieces]
    points = np.concatenate(lumps) if lumps else _points(body.data).astype(float) * np.array(scale)
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2.0
    now = np.array(Matrix.LocRotScale(place, turn, Vector((1.0, 1.0, 1.0))), dtype=float)
    now[:3, 3] += now[:3, :3] @ middle
    bind = part.bind
    half = np.maximum((high - low) / 2.0, SMALLEST * settings.height)
    # It was moved from the place whose box's corners went least far: Blender moves a body from where it is shown, and a
    # script from where it was made.
    corners = np.concatenate([_BOX_CORNERS * half, np.ones((8, 1))], axis=1)
    places = [bind] if shown is None else [bind, shown]
    reference = min(places, key=lambda place: float(np.abs((now - place) @ corners.T).max()))
    offset = part.offset @ np.linalg.inv(reference) @ now
    kind, corners = (COMPOUND, points - middle) if lumps else _kind_of(body.rigid_body.collision_shape, points - middle)
    own.shape_by_user, own.shape = True, kind
    own.body_pieces = [len(lump) for lump in lumps] + [0] * (fitting.MOST_PARTS - len(lumps))
    own.body_location = offset[:3, 3] / settings.built_scale
    own.body_rotation = Matrix(offset[:3, :3].tolist()).to_quaternion()
    own.half_extents = half / settings.built_scale
    told = kind in (CONVEX_HULL, COMPOUND)
    own.body_points = json.dumps((corners / settings.built_scale).round(7).tolist()) if told else ""


def _lump(points, height: float) -> np.ndarray:
    """Corners [k, 3] of the hull of a piece's, at most `convex.MOST_POINTS`; of a flat one's box."""
    kind, corners = _kind_of(CONVEX_HULL, points)
    if kind == CONVEX_HULL:
        return corners
    low, high = points.min(axis=0), points.max(axis=0)
    return (low + high) / 2.0 + np.maximum((high - low) / 2.0, SMALLEST * height) * _BOX_CORNERS


def _kind_of(collision_shape: str, points) -> tuple[str, np.ndarray]:
    """The shape's kind and, for a hull, its corners [k, 3]; others than ours become hulls, flat ones boxes."""
    if collision_shape in PRIMITIVES:
        return collision_shape, points
    if len(points) > convex.MOST_POINTS:
        # The farthest points all around, and along the axes, so that their box stays.
        around = overlap.sphere_directions(convex.MOST_POINTS // 2 - 3), np.eye(3), -np.eye(3)
        points = points[np.unique(np.argmax(points @ np.concatenate(around).T, axis=0))]
    try:
        return CONVEX_HULL, convex.hull(points).points
    except RagdollError:
        return BOX, points


def _animated_places(obj) -> np.ndarray | None:
    """Where the animation has the bodies at the frame shown [m, 4, 4]; None where that is not at hand."""
    settings, scene = obj.active_ragdoll, obj.active_ragdoll.scene
    hidden = scene.active_ragdoll.source if scene is not None else None
    if hidden is None or settings.source is None or hidden.frame_current != scene.frame_current:
        return None
    posed = source.evaluated(obj) if hidden.view_layers[0].depsgraph is not None else None
    if posed is None or posed.pose is None or any(part.bone not in posed.pose.bones for part in settings.parts):
        return None
    world, bones = np.array(posed.matrix_world, dtype=float), posed.pose.bones
    return np.array([rigid(world @ np.array(bones[p.bone].matrix, dtype=float)) @ p.offset for p in settings.parts])
