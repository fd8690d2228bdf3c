"""Bodies edited by hand in the viewport: a new build finds them and keeps what was done.

After a build every body carries a record of how it was made. Before the next one, a body that was moved, turned or
scaled, or whose mesh, shape or mass was changed, is measured, and its place and size go to the bone's settings, in the
bone's frame and the armature's own units, so that they hold for a character that is moved, turned or scaled later.
"""

import hashlib
import json

import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ...errors import RagdollError
from ...ragdoll.bodies import convex, fitting, overlap
from ...ragdoll.bodies.fitting import BOX, CAPSULE, COMPOUND, CONVEX_HULL, PRIMITIVES, SPHERE, Shape
from ..rig.armature import rigid, values_of
from ..runtime import STATE
from ..settings import declare
from ..settings.bone import ActiveRagdollBone
from . import body_meshes, built, source

BUILT = "active_ragdoll_built"  # on a body: how it was made
EDITING = "active_ragdoll_editing"  # on the collection of bodies: what `end_editing` restores
MOVED = 1e-5  # of the height; smaller differences are rounding
SMALLEST = 1e-4  # of the height: a body that is scaled to nothing keeps this half extent

# Settings of a rigid body that a run never writes, and the bone's setting that each comes from.
_TUNED = (("mass", "mass"), ("friction", "friction"), ("restitution", "bounciness"))


def record_bodies(obj) -> None:
    """Record how the bodies of a ragdoll were made; called at the end of a build."""
    pieces = body_meshes.pieces_by_body(obj.active_ragdoll)
    for part in obj.active_ragdoll.parts:
        record_body(obj, part, pieces.get(part.body, ()))


def record_body(obj, part, pieces) -> None:
    """Record a body and its compound's pieces as they are now: only later changes count as edits."""
    body = part.body
    for each in (body, *pieces):
        each[built.OWNER] = obj
    body[BUILT] = {
        "basis": [value for row in body.matrix_basis for value in row],
        "kind": body.rigid_body.collision_shape,
        "mesh": _checksum(_points(body.data)),
        "pieces": _checksum(_placed(pieces)),
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
    """Store the edits of a ragdoll's bodies on their bones.

    Returns names of the bones whose bodies were edited since they were built or last collected.
    """
    settings = obj.active_ragdoll
    edited = []
    with STATE.writing():
        editing = is_editing(obj)
        shown = None if editing else _animated_places(obj)
        pieces = body_meshes.pieces_by_body(settings)
        for i, part in enumerate(settings.parts):
            body, bone = part.body, obj.pose.bones.get(part.bone)
            if body is None or bone is None or body.type != "MESH" or body.rigid_body is None:
                continue
            built = _record_of(body)
            if built is None:
                continue
            own = bone.active_ragdoll
            touched = _keep_tuning(body, built, own)
            its = pieces.get(body, ())
            if _reshaped(body, its, built, settings.height):
                _keep_shape(part, its, built, own, settings, None if shown is None else shown[i])
                touched = True
            if touched:
                edited.append(part.bone)
                record_body(obj, part, its)
    return edited


def with_edits(obj, plan, pose, to_world):
    """The plan with bodies edited by hand in place of the automatic ones. Pairs that now overlap do not collide.

    Args:
        plan: `shapes.BodyPlan`; changed in place. pose: `armature.BindPose`.
        to_world: world matrix of the armature [4, 4], uniformly scaled.
    """
    scale = float(np.cbrt(abs(np.linalg.det(to_world[:3, :3]))))
    edited = []
    for i, bone in enumerate(plan.bones):
        own = obj.pose.bones[int(bone)].active_ragdoll
        if own.shape_by_user:
            shape = _shape(own, plan.kinds[i], pose.matrices[bone], scale)
            plan.kinds[i], plan.points[i], plan.pieces[i] = shape.kind, shape.points, shape.pieces
            plan.centers[i], plan.axes[i], plan.half[i] = shape.center, shape.axes, shape.half
            edited.append(i)
    if edited:
        first, second = plan.strangers()
        touched = np.isin(first, edited) | np.isin(second, edited)
        first, second = first[touched], second[touched]
        depth = overlap.depths(plan.shapes(), first, second) if len(first) else ()
        plan.no_collide += [(int(i), int(k)) for i, k, deep in zip(first, second, depth) if deep > 0.0]
    return plan


def _shape(own, planned: str, bind, scale: float) -> Shape:
    """The shape [m] that a bone's settings state; a round one takes its larger half extents, as in Blender."""
    kind = planned if own.shape == "AUTO" else own.shape
    points = np.array(json.loads(own.body_points or "[]"), dtype=float).reshape(-1, 3) * scale
    if kind == COMPOUND:
        if len(points) and sum(own.body_pieces) == len(points):
            return _compound(own, points, bind, scale)
        kind = CONVEX_HULL  # of corners that are told as a whole
    if kind == CONVEX_HULL and not len(points):
        kind = BOX
    half = np.array(own.half_extents, dtype=float) * scale
    half = np.maximum(half, 1e-3 * max(half.max(), 1e-6))
    if kind == SPHERE:
        half[:] = half.max()
    elif kind == CAPSULE:
        half[:2] = half[:2].max()
        half[2] = max(half[2], half[0])
    elif kind == CONVEX_HULL:
        half = np.ptp(points, axis=0) / 2.0
    center, axes = _place(own, bind, scale)
    return Shape(kind, center, axes, half, points if kind == CONVEX_HULL else None)


def _compound(own, points, bind, scale: float) -> Shape:
    """A compound of the hulls of corners [k, 3] in the body's frame [m]."""
    center, axes = _place(own, bind, scale)
    pieces = []
    for corners in np.split(points, np.cumsum(own.body_pieces)[:-1]):
        if len(corners):
            low, high = corners.min(axis=0), corners.max(axis=0)
            middle = (low + high) / 2.0
            pieces.append(Shape(CONVEX_HULL, center + axes @ middle, axes, (high - low) / 2.0, corners - middle))
    return fitting.joined(pieces, axes)


def _place(own, bind, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Middle [3] [m] and axes [3, 3] of a body, as a bone's settings state them."""
    center = bind[:3, :3] @ np.array(own.body_location, dtype=float) * scale + bind[:3, 3]
    return center, bind[:3, :3] @ np.array(Quaternion(own.body_rotation).normalized().to_matrix())


def adopt_body(obj, part) -> None:
    """Write a body's place and size as they stand to its bone's settings, to be edited as numbers."""
    with STATE.writing():
        own = obj.pose.bones[part.bone].active_ragdoll
        pieces = body_meshes.pieces_by_body(obj.active_ragdoll).get(part.body, ())
        _keep_shape(part, pieces, own, obj.active_ragdoll, None)


SHAPE_SETTINGS = declare.names(ActiveRagdollBone, group="size")


def reset_body(obj, bone_name: str) -> None:
    """Forget the edits of a bone's body, including those not collected yet."""
    own = obj.pose.bones[bone_name].active_ragdoll
    for name in SHAPE_SETTINGS:
        own.property_unset(name)
    for part in obj.active_ragdoll.parts:
        if part.bone == bone_name and part.body is not None and part.body.rigid_body is not None:
            record_body(obj, part, body_meshes.pieces_by_body(obj.active_ragdoll).get(part.body, ()))


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
    pieces = body_meshes.pieces_by_body(settings)
    for part in settings.parts:
        part.body.hide_select = False
        if part.body in pieces:  # its wires would stay behind when a piece is moved
            part.body.display_type = "BOUNDS"


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
    for part in settings.parts:
        if part.body is not None:
            part.body.hide_select, part.body.display_type = True, "WIRE"
    _show_for_editing(obj, False)
    del settings.bodies[EDITING]


def _show_for_editing(obj, editing: bool) -> None:
    """Show a character's bodies and their pieces while they are edited, even if helpers are hidden."""
    settings = obj.active_ragdoll
    outer = settings.scene.collection
    pieces = body_meshes.pieces_of(settings)
    for things, held in (([settings.bodies], outer.children), (pieces, outer.objects)):
        for thing in things:
            if editing != (thing.name in held):
                (held.link if editing else held.unlink)(thing)
    for piece in pieces:
        piece.hide_select = not editing


# ---- measuring ----------------------------------------------------------------------------------------------------
def _points(mesh) -> np.ndarray:
    return values_of(mesh.vertices, "co", 3)


def _placed(pieces) -> np.ndarray:
    """Corners of a compound's pieces [k, 3], in the body's own frame before it is scaled."""
    found = [np.empty((0, 3))]
    for piece in pieces:
        place = np.array(piece.matrix_parent_inverse @ piece.matrix_basis, dtype=float)
        found.append(_points(piece.data) @ place[:3, :3].T + place[:3, 3])
    return np.concatenate(found)


def _checksum(points) -> str:
    return hashlib.blake2b(points.tobytes(), digest_size=8).hexdigest()


def _reshaped(body, pieces, built, height) -> bool:
    """Whether place, size, shape, mesh or pieces of a body are not as built."""
    if body.rigid_body.collision_shape != built["kind"] or _checksum(_points(body.data)) != built["mesh"]:
        return True
    if _checksum(_placed(pieces)) != built["pieces"]:
        return True
    before = built["basis"]
    now = np.array(body.matrix_basis)
    size = float(np.abs(_points(body.data)).max(initial=0.0))
    # A turn counts by how far it carries the shape's surface.
    difference = np.abs(now - before)
    return bool(max(difference[:3, 3].max(), difference[:3, :3].max() * size) > MOVED * height)


def _keep_tuning(body, built, own) -> bool:
    """Copy mass, friction and bounciness that were changed on the rigid body to the bone; whether there were any."""
    touched = False
    for name, setting in _TUNED:
        now = float(getattr(body.rigid_body, name))
        if abs(now - built[name]) > 1e-6 * max(abs(built[name]), 1.0e-3):
            setattr(own, setting, now)
            touched = True
    return touched


def _keep_shape(part, pieces, built, own, settings, shown) -> None:
    """Measure a body and write its place and size to its bone's settings; a compound is its pieces."""
    body = part.body
    place, turn, scale = body.matrix_basis.decompose()
    if pieces and _checksum(_points(body.data)) != built["mesh"]:
        pieces = ()  # its whole mesh was edited: that is what counts
    lumps = [_lump(_placed([piece]) * np.array(scale), settings.height) for piece in pieces]
    points = np.concatenate(lumps) if lumps else _points(body.data).astype(float) * np.array(scale)
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2.0
    now = np.array(Matrix.LocRotScale(place, turn, Vector((1.0, 1.0, 1.0))), dtype=float)
    now[:3, 3] += now[:3, :3] @ middle
    bind = part.bind
    half = np.maximum((high - low) / 2.0, SMALLEST * settings.height)
    reference = _nearest(now, [bind] if shown is None else [bind, shown], half)
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
    half = np.maximum((high - low) / 2.0, SMALLEST * height)
    return (low + high) / 2.0 + half * np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])


def _kind_of(collision_shape: str, points) -> tuple[str, np.ndarray]:
    """The shape's kind and, for a hull, its corners [k, 3]; others than ours become hulls, flat ones boxes."""
    if collision_shape in PRIMITIVES:
        return collision_shape, points
    if len(points) > convex.MOST_POINTS:
        # The farthest points in directions spread evenly over the sphere (a Fibonacci lattice), and along the axes, so
        # that their box stays.
        k = np.arange(convex.MOST_POINTS - 6) + 0.5
        polar, around = np.arccos(1.0 - 2.0 * k / len(k)), np.pi * (1.0 + 5.0**0.5) * k
        ring = np.sin(polar)
        directions = np.stack([np.cos(around) * ring, np.sin(around) * ring, np.cos(polar)])
        directions = np.concatenate([directions, np.eye(3), -np.eye(3)], axis=1)
        points = points[np.unique(np.argmax(points @ directions, axis=0))]
    try:
        return CONVEX_HULL, convex.hull(points).points
    except RagdollError:
        return BOX, points


def _nearest(now, candidates, half) -> np.ndarray:
    """The place from which a body was moved: the one whose box's corners went least far.

    Blender moves a body from where it is shown, and a script from where it was made.
    """
    signs = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], dtype=float)
    corners = np.concatenate([signs * half, np.ones((8, 1))], axis=1)
    return min(candidates, key=lambda place: float(np.abs((now - place) @ corners.T).max()))


def _animated_places(obj) -> np.ndarray | None:
    """Where the animation has the bodies at the frame shown [m, 4, 4]; None where that is not at hand."""
    settings = obj.active_ragdoll
    scene = settings.scene
    hidden = scene.active_ragdoll.source if scene is not None else None
    if hidden is None or settings.source is None or hidden.frame_current != scene.frame_current:
        return None
    if hidden.view_layers[0].depsgraph is None:
        return None
    posed = source.evaluated(obj)
    world = np.array(posed.matrix_world, dtype=float)
    result = []
    for part in settings.parts:
        bone = posed.pose.bones.get(part.bone) if posed.pose is not None else None
        if bone is None:
            return None
        result.append(rigid(world @ np.array(bone.matrix, dtype=float)) @ part.offset)
    return np.array(result)
