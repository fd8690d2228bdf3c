"""What the 3D view shows of characters, as data, and what is picked in it.

A ragdoll's figure is read again when the ragdoll is built anew or, at a frame that is redrawn, when its bodies or
limits were edited. No bpy object is kept: after an undo there might be another one behind the same address.
"""

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Vector
from mathutils.geometry import intersect_line_plane

from ...anatomy.masses import froude
from ...anatomy.roles import FOOT, HAND
from ...errors import RagdollError
from ...motion.components import unit
from ...motion.look_at.chain import PARENT
from ...ragdoll import hits as core_hits
from ...ragdoll import overlay
from ..physics import body_objects, world
from ..physics.joint_objects import joint_frames
from ..rig.armature import anatomy_of, array_of, pose_matrices, rigid, selected, values_of
from ..rig.skinning import is_deformed_by
from ..run import get_up, records
from ..runtime import STATE, state_of
from ..stack import pose_stack

HIT, BLAST, ATTACHED = (1.0, 0.45, 0.1), (1.0, 0.8, 0.2), (0.95, 0.35, 0.85)
SIMULATED, BESIDE = (0.2, 1.0, 0.85, 0.9), 1e-3  # bones beside baked ones; heights that these are elsewhere by
PLAN, STANDS, CROSS = (0.45, 0.85, 0.35), 2e-3, 0.03  # of the way up; of the height: a limb that moves less; its mark
DIM, BRIGHT, LOOSE = 0.45, 1.0, 0.35  # opacity of the active hit at least, of one that acts; of what is not held
FADE = 12.0  # [frames] in which hits fade before and after they act
UP = (0.0, 0.0, 1.0)
FORWARD_LENGTH = 0.2  # of a look-at's forward vectors, of the character's size


@dataclass
class Cached:
    """The lines of a ragdoll, and what they were made from."""

    parts: tuple  # identity of the bodies: another one after every build
    settings: tuple  # of bodies and joints
    frame: float  # frame at which `settings` was last compared
    bones: np.ndarray  # index of every body's bone [m]
    offsets: np.ndarray  # from the bones to their bodies [m, 4, 4]
    wires: overlay.Wires


def lines(obj, scene, depsgraph, show: overlay.Show, eye=None) -> overlay.Lines | None:
    """The lines of a ragdoll as a view layer shows it, or None; `eye` as in `overlay.Wires.outlined`."""
    cached, bodies = shown_bodies(obj, scene, depsgraph)
    if cached is None:
        return None
    if obj.mode == "POSE":
        return cached.wires.lines(bodies, selected(obj)[cached.bones], show, eye)
    pieces_of = {piece.parent for piece in bpy.context.selected_objects if piece.parent is not None}
    found = [part.body.select_get() or part.body in pieces_of for part in obj.active_ragdoll.parts]
    return cached.wires.lines(bodies, np.array(found, dtype=bool), show, eye)


def current(obj, scene) -> Cached | None:
    """The cached figure, made anew where it is out of date; None where a body has been deleted."""
    parts = obj.active_ragdoll.parts
    bodies = [part.body for part in parts]
    if not (bodies and all(bodies)):
        return None
    identity = tuple(body.session_uid for body in bodies)
    cached = STATE.figures.get(obj.name)
    frame = scene.frame_current_final
    if cached is not None and cached.parts == identity and cached.frame != frame:
        cached.frame = frame  # it plays: nobody edits
        return cached
    settings = _settings(obj, parts, bodies)
    if settings is None:
        return None
    if cached is None or cached.parts != identity or cached.settings != settings:
        bones = np.array([obj.data.bones.find(part.bone) for part in parts], dtype=int)
        offsets = np.array([part.offset for part in parts], dtype=float)
        cached = Cached(identity, settings, frame, bones, offsets, overlay.Wires(figure(obj)))
        STATE.figures[obj.name] = cached
    return cached


def _settings(obj, parts, bodies) -> tuple | None:
    """All that a figure is made from and a user may edit; None where a bone is gone."""
    found = []
    pieces = body_objects.pieces_by_body(obj.active_ragdoll) if body_objects.is_editing(obj) else {}
    for part, body in zip(parts, bodies, strict=True):
        bone = obj.pose.bones.get(part.bone)
        if bone is None or body.rigid_body is None:
            return None
        own = bone.active_ragdoll
        limits = own.joint, own.limit_min[:], own.limit_max[:], own.joint_rotation[:]
        # Reading boxes takes longer than all the rest: only those that somebody may be working on.
        box = tuple(corner[:] for corner in body.bound_box) if body.select_get() else None
        places = tuple(tuple(row) for piece in pieces.get(body, ()) for row in piece.matrix_basis)
        found.append((body.rigid_body.collision_shape, box, places, *limits))
    return tuple(found)


def figure(obj) -> overlay.Figure:
    """The figure of a built ragdoll: wires of the bodies, joint frames and limits as the bones' settings say."""
    settings = obj.active_ragdoll
    own = [obj.pose.bones[part.bone].active_ragdoll for part in settings.parts]
    edges, sides = zip(*(body_edges(part.body) for part in settings.parts), strict=True)
    lengths = np.array([float(np.ptp(e.reshape(-1, 3), axis=0).max()) for e in edges])
    limits = np.array([(bone.limit_min, bone.limit_max) for bone in own], dtype=float).swapaxes(0, 1)
    types = [bone.joint for bone in own]
    return overlay.Figure(edges, sides, lengths, *joint_frames(obj), types, *limits, settings.height)


def body_edges(body) -> tuple[np.ndarray, np.ndarray]:
    """Edges [k, 2, 3] of a body's mesh in its own frame, and the normals of the two faces at each [k, 2, 3].

    Of a compound those of the bodies parented to it. An edge of one face is an outline, one of none is always seen."""
    if body.rigid_body.collision_shape == "COMPOUND":
        found = []
        for piece in (child for child in body.children if child.rigid_body is not None and child.type == "MESH"):
            place, (edges, sides) = body_objects.place_in(piece), body_edges(piece)
            found.append((edges @ place[:3, :3].T + place[:3, 3], sides @ place[:3, :3].T))
        if found:
            return tuple(np.concatenate(each) for each in zip(*found, strict=True))
    mesh = body.data
    at = values_of(mesh.edges, "vertices", 2, dtype=np.int32)
    corners = values_of(mesh.polygons, "loop_total", dtype=np.int32)
    normals = np.repeat(values_of(mesh.polygons, "normal", 3), corners, axis=0)
    edge_of = values_of(mesh.loops, "edge_index", dtype=np.int32)
    order, sides = np.argsort(edge_of, kind="stable"), np.zeros((len(at), 2, 3))
    first, end = (np.searchsorted(edge_of[order], np.arange(len(at)), side) for side in ("left", "right"))
    held = np.flatnonzero(end > first)
    sides[held, 0], sides[held, 1] = normals[order[first[held]]], normals[order[end[held] - 1]]
    sides[end == first + 1, 1] *= -1.0
    return values_of(mesh.vertices, "co", 3)[at], sides


def body_matrices(obj, depsgraph, cached: Cached) -> np.ndarray:
    """World matrices [m, 4, 4] of the bodies as the view layer shows them, in the order of the parts.

    Where nothing is simulated they are where the bones have them: Blender leaves bodies without a cache at the origin.
    """
    settings = obj.active_ragdoll
    if state_of(obj) in ("LIVE", "CACHED") or body_objects.is_editing(obj):
        objects = settings.bodies.evaluated_get(depsgraph).objects if settings.bodies is not None else ()
        if len(objects) == len(cached.bones):
            return values_of(objects, "matrix_world", 4, 4)
        # something else was put into the collection
        return np.array([part.body.evaluated_get(depsgraph).matrix_world for part in settings.parts], dtype=np.float32)
    posed = obj.evaluated_get(depsgraph)
    return rigid(array_of(posed.matrix_world) @ pose_matrices(posed)[cached.bones]) @ cached.offsets


def shown_bodies(obj, scene, depsgraph) -> tuple[Cached | None, np.ndarray | None]:
    """The cached figure of a ragdoll and its `body_matrices`; twice None where there is nothing to show."""
    cached = current(obj, scene) if obj.active_ragdoll.is_ragdoll else None
    return cached, None if cached is None else body_matrices(obj, depsgraph, cached)


# ---- hits, explosions and attachments -------------------------------------------------------------------------------
def hit_lines(obj, scene, depsgraph) -> overlay.Lines | None:
    """Arrows of a character's hits and circles of its explosions around their frames; None where there are none."""
    settings = obj.active_ragdoll
    bodies = shown_bodies(obj, scene, depsgraph)[1] if len(settings.hits) or len(settings.explosions) else None
    if bodies is None:
        return None
    parts, pieces = settings.parts, []
    names = {part.bone: i for i, part in enumerate(parts)}

    def show(segments, color, entry, chosen):
        lasts = max(entry.duration * scene.render.fps / scene.render.fps_base, 1.0)
        away = max(entry.frame - scene.frame_current, scene.frame_current - entry.frame - lasts, 0.0)
        opacity = max(BRIGHT * (1.0 - away / FADE), DIM if chosen else 0.0)
        if opacity > 0.0:
            pieces.append((segments, (*color, opacity), away == 0.0))

    for i, hit in enumerate(settings.hits):
        if hit.enabled and hit.bone in names:
            body, offset = bodies[names[hit.bone]], parts[names[hit.bone]].offset
            turn, way = body[:3, :3] @ offset[:3, :3].T, np.array(hit.impulse, dtype=float)
            point = body[:3, 3] + turn @ np.array(hit.point)
            if hit.space == core_hits.LOCAL:
                way = turn @ way
            elif hit.space == core_hits.TOWARDS and hit.target is not None:
                there = _place(hit.target, "", depsgraph)[:3, 3] - point
                way = there * (np.linalg.norm(way) / max(np.linalg.norm(there), 1e-12))
            drawn = core_hits.arrow_lines(point, way / impulse_per_metre(obj, scene), settings.height)
            show(drawn, HIT, hit, i == settings.active_hit)
    for i, blast in enumerate(settings.explosions):
        if blast.enabled:
            origin = blast.origin if blast.target is None else _place(blast.target, "", depsgraph)[:3, 3]
            show(core_hits.blast_lines(origin, blast.radius), BLAST, blast, i == settings.active_explosion)
    return _lines(pieces)


def mass(obj) -> float:
    """Mass of the whole character [kg]."""
    return sum(part.body.rigid_body.mass for part in obj.active_ragdoll.parts if part.body is not None)


def impulse_per_metre(obj, scene) -> float:
    """Of an arrow that shows a hit on a character [N s/m]."""
    size = obj.active_ragdoll.height
    return max(mass(obj), 1e-12) * core_hits.ARROW_SPEED * froude(size, world.pull(scene)) / size


def attachment_lines(obj, scene, depsgraph) -> overlay.Lines | None:
    """A line from each attachment's point to its target; None where there is none."""
    settings = obj.active_ragdoll
    if settings.muted or not len(settings.attachments):
        return None
    cached, bodies = shown_bodies(obj, scene, depsgraph)
    if bodies is None:
        return None
    rows = {part.bone: i for i, part in enumerate(settings.parts)}
    pieces = []
    for item in settings.attachments:
        if item.bone in rows and item.target is not None:
            row = rows[item.bone]
            bone = bodies[row] @ np.linalg.inv(cached.offsets[row])
            place = _place(item.target, item.target_bone, depsgraph)
            place = _place(item.target, "", depsgraph) if place is None else place
            line = np.array([((bone @ [*item.point, 1.0])[:3], place[:3, 3])])
            if np.isfinite(line).all():
                pieces.append((line, (*ATTACHED, BRIGHT if item.enabled else LOOSE), item.enabled))
    return _lines(pieces)


# ---- bakes ----------------------------------------------------------------------------------------------------------
def simulated_bones(obj, scene, depsgraph) -> overlay.Lines | None:
    """The bones of a baked character as the cache has them, where the keys have them elsewhere, and how far; else None.

    The physics armature goes on to follow the cache that the bake was made from."""
    settings = obj.active_ragdoll
    if not settings.muted or settings.physics_armature is None or not world.cache_covers_shot(scene):
        return None
    rows = [obj.data.bones.find(part.bone) for part in settings.parts]
    axes = np.zeros((len(rows), 2, 4))
    axes[:, 1, 1], axes[:, :, 3] = values_of(obj.data.bones, "length")[rows], 1.0
    ends = []
    for posed in (each.evaluated_get(depsgraph) for each in (obj, settings.physics_armature)):
        poses = array_of(posed.matrix_world) @ pose_matrices(posed)[rows]
        ends.append(np.einsum("mij,mkj->mki", poses, axes)[..., :3])
    baked, simulated = ends
    off = np.linalg.norm(simulated - baked, axis=2).max(axis=1) > BESIDE * settings.height
    drawn = np.concatenate([simulated[off], np.stack([baked[off, 1], simulated[off, 1]], axis=1)])
    return _lines([(drawn, SIMULATED, False)])


def plan_lines(obj, scene, _depsgraph=None) -> overlay.Lines | None:
    """The planned way up, or None: figures at key postures, the way of the hips with crosses, and where limbs stand."""
    passage, (plan, pieces) = _planned(obj, scene), STATE.plans.get(obj.name, (None, ()))
    if passage is None:
        return None
    if plan is not passage:  # finding hands and feet takes as long as a frame does
        plan, pieces = STATE.plans[obj.name] = passage, _plan_pieces(obj, passage)
    return _lines([*pieces, *([(np.array([STATE.dragged]), (*PLAN, BRIGHT), True)] if STATE.dragged else ())])


def _plan_pieces(obj, passage) -> list:
    """What `plan_lines` draws, as `_lines` takes it, but for what is being dragged."""
    parts = obj.active_ragdoll.parts
    rig, anatomy, bodies = pose_stack.of(obj).rig, anatomy_of(obj), {part.bone for part in parts}
    places, at = _way(passage, rig), _frames(passage)
    bones = [bone for bone in obj.data.bones if bone.parent is not None and bone.parent.name in bodies]
    rows, above = np.array([[rig.index[bone.name], rig.index[bone.parent.name]] for bone in bones]).T
    figures = np.stack([places[at][:, above], places[at][:, rows]], axis=2)
    ends = [int(rig.skeleton.from_level[row]) for row, role in enumerate(anatomy.roles) if role in (FOOT, HAND)]
    stand = np.linalg.norm(np.diff(places[at][:, ends], axis=0), axis=-1) < STANDS * obj.active_ragdoll.height
    arms = CROSS * obj.active_ragdoll.height * np.array([[(1, 1, 0), (-1, -1, 0)], [(1, -1, 0), (-1, 1, 0)]])
    hips = places[:, rig.index[parts[0].bone]]
    marks = np.concatenate([places[at[1:]][:, ends][stand], hips[at[1:-2]]])
    strong = [overlay.polyline(hips), (marks[:, None, None] + arms).reshape(-1, 2, 3)]
    return [(figures.reshape(-1, 2, 3), (*PLAN, LOOSE), False), *((lines, (*PLAN, BRIGHT), True) for lines in strong)]


def way_point_below(obj, scene, origin, direction) -> tuple[int, int, np.ndarray] | None:
    """What can be moved by hand of the planned way up and is near a ray [3], [3]; None without. Returns which key
    posture it is of, which part of that, as `get_up.plan.Moved` counts them, and its place [3]."""
    passage = _planned(obj, scene)
    if passage is None:
        return None
    own = get_up.biped(obj, pose_stack.of(obj).rig)
    marks = _way(passage, own.rig)[_frames(passage)][:, own.rows[[0, *own.limbs[:, 2]]]]
    marks = marks[1:-2]  # the first is how it lies, the last are the animation's own
    off = np.linalg.norm(np.cross(marks - np.array(origin), np.array(direction)), axis=-1)
    key, part = map(int, np.unravel_index(off.argmin(), off.shape))
    return (key + 1, part, marks[key, part]) if off.min() < 2.0 * CROSS * obj.active_ragdoll.height else None


def _planned(obj, scene):
    """The passage by a plan that a character is in at this frame, or None."""
    record = records.record_of(obj, scene.frame_current)
    passage = record.passage(scene.frame_current) if record is not None else None
    return passage if passage is not None and passage.planned is not None and passage.keys else None


def _way(passage, rig) -> np.ndarray:
    """Heads of bones on a planned way, world [f, n, 3], level order."""
    return passage.planned.poses.model(rig.skeleton)[0] @ passage.place[:3, :3].T + passage.place[:3, 3]


def _frames(passage) -> np.ndarray:
    """Frames of a plan's key postures [k]."""
    return np.rint(np.multiply(passage.keys, passage.fps)).astype(int)


# By the overlay's setting what it draws on top of the figure.
ON_TOP = {"hits": hit_lines, "attachments": attachment_lines, "plan": plan_lines, "simulated": simulated_bones}


# ---- look-at chains -------------------------------------------------------------------------------------------------
def look_at_chains(obj, depsgraph) -> overlay.Lines | None:
    """The drawing of all chains of a character that act; None where it has none."""
    settings = obj.active_ragdoll
    if settings.target_armature is None or settings.muted or not len(settings.look_at):
        return None
    posed = obj.evaluated_get(depsgraph)
    world = array_of(posed.matrix_world)
    found = [_chain(obj, posed, world, item, depsgraph) for item in settings.look_at if item.enabled]
    drawn = [pair for pair in found if pair is not None]
    return _lines([(ends, colors, np.all(colors == np.array(overlay.TARGET), axis=1)) for ends, colors in drawn])


def _chain(obj, posed, world, item, depsgraph) -> tuple | None:
    bones = obj.data.bones
    positions, forwards, references, limits = [], [], [], []
    for entry in (entry for entry in item.entries if entry.bone in bones):
        bone = bones[entry.bone]
        matrix = world @ array_of(posed.pose.bones[entry.bone].matrix)
        positions.append(matrix[:3, 3])
        forwards.append(unit(matrix[:3, :3] @ np.array(entry.forward_axis), UP))
        above = world if bone.parent is None else world @ array_of(posed.pose.bones[bone.parent.name].matrix)
        if entry.limit_from == PARENT:
            reference = above[:3, :3] @ np.array(entry.parent_forward_axis)
        else:
            rest = array_of(bone.matrix_local)
            if bone.parent is not None:
                rest = np.linalg.inv(array_of(bone.parent.matrix_local)) @ rest
            reference = above[:3, :3] @ rest[:3, :3] @ np.array(entry.forward_axis)
        references.append(unit(reference, UP))
        limits.append(entry.limit)
    if not positions or not np.isfinite([positions, forwards, references]).all():
        return None
    target = np.array(item.target_point)
    if item.target_type != "POINT":
        place = None if item.target is None else _place(item.target, item.target_bone, depsgraph)
        target = place[:3, 3] if place is not None and np.isfinite(place).all() else None
    size = np.ptp(values_of(bones, "head_local", 3), axis=0).max() * np.cbrt(abs(np.linalg.det(world[:3, :3])))
    return overlay.look_at_lines(positions, forwards, references, limits, target, FORWARD_LENGTH * float(size))


def _place(target, bone: str, depsgraph) -> np.ndarray | None:
    """World matrix of an object, or of a bone of it, as it is shown; None where it has no such bone."""
    now = target.evaluated_get(depsgraph)
    if not bone:
        return array_of(now.matrix_world)
    posed = now.pose.bones.get(bone) if now.pose is not None else None
    return None if posed is None else array_of(now.matrix_world) @ array_of(posed.matrix)


def _lines(pieces: list) -> overlay.Lines | None:
    """The lines of pieces, each (ends [k, 2, 3], colour [4] or [k, 4], whether they stand out); None without any.

    In single precision: the GPU's buffers take the bytes as they are."""
    if not pieces:
        return None
    ends = np.concatenate([own for own, _color, _bold in pieces]).astype(np.float32)
    colors = np.concatenate([np.broadcast_to(color, (len(own), 4)) for own, color, _bold in pieces])
    stand_out = np.concatenate([np.broadcast_to(bold, len(own)) for own, _color, bold in pieces])
    return overlay.Lines(ends, colors.astype(np.float32), stand_out)


# ---- picking --------------------------------------------------------------------------------------------------------
def picked(obj, scene, depsgraph, origin, direction) -> tuple[str, np.ndarray] | None:
    """The bone that a ray in the viewport hits, and the point [3] in the world; None if it hits nothing.

    The mesh counts first, then the bodies themselves, so that an armature without mesh can be hit too. Origin and
    direction of the ray [3] are those in the world; the direction is a unit vector.
    """
    _cached, matrices = shown_bodies(obj, scene, depsgraph)
    if matrices is None:
        return None
    parts = obj.active_ragdoll.parts
    halves = np.array([0.5 * np.ptp(np.array(part.body.bound_box, dtype=float), axis=0) for part in parts])
    row, distance = core_hits.box_met(origin, direction, matrices, halves)
    place = _on_mesh(obj, scene, depsgraph, origin, direction)
    if place is not None:
        row = core_hits.nearest_box(place, matrices, halves)
    elif row >= 0:
        place = np.asarray(origin, dtype=float) + distance * np.asarray(direction, dtype=float)
    return (parts[row].bone, place) if row >= 0 else None


def _on_mesh(obj, scene, depsgraph, origin, direction) -> np.ndarray | None:
    """Where a ray first meets a mesh of the character [3], world; other objects in front are ignored."""
    start, way = Vector(origin), Vector(direction)
    for _surface in range(20):
        found, place, _normal, _face, other, _matrix = scene.ray_cast(depsgraph, start, way)
        if not found:
            return None
        if is_deformed_by(obj, other.original) or other.original.parent == obj:
            return np.array(place, dtype=float)
        start = place + way * 1e-4 * max(obj.active_ragdoll.height, 1e-6)
    return None


def point_on(obj, scene, depsgraph, bone: str, place) -> np.ndarray:
    """A point in the world [3] as a hit's `point`: from the middle of the bone's body, along the bone's axes."""
    cached, matrices = shown_bodies(obj, scene, depsgraph)
    names = [part.bone for part in obj.active_ragdoll.parts]
    if matrices is None or bone not in names:
        raise RagdollError(f"Bone '{bone}' of '{obj.name}' has no body")
    matrix, offset = matrices[names.index(bone)], cached.offsets[names.index(bone)]
    return offset[:3, :3] @ matrix[:3, :3].T @ (np.asarray(place, dtype=float) - matrix[:3, 3])


def dragged_to(origin, direction, place, normal) -> np.ndarray | None:
    """Where a ray meets the plane through a place with such a normal [3]; None where it does not."""
    origin, direction = Vector(origin), Vector(direction)
    end = intersect_line_plane(origin, origin + direction, Vector(place), Vector(normal))
    return None if end is None or (end - origin).dot(direction) < 0.0 else np.array(end)
