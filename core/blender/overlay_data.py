"""What the overlay shows of a built ragdoll: the figure as built, and where its bodies stand now.

The figure is read again when the ragdoll is built anew or, at a frame that is redrawn, when its bodies or limits were
edited. No bpy object is kept: after an undo there might be another one behind the same address.
"""

from dataclasses import dataclass, field

import bpy
import numpy as np

from ..ragdoll import overlay, wireframes
from . import body_edits, compounds, runtime
from .armature import array_of, rigid
from .body_edits import OWNER
from .joint_frames import joint_frames


@dataclass
class Cached:
    """The lines of a ragdoll, and what they were made from.

    Attributes:
        parts: identity of the bodies: another one after every build.
        settings: of bodies and joints.
        frame: frame at which `settings` was last compared.
        bones: index of every body's bone [m].
        offsets: from the bones to their bodies [m, 4, 4].
    """

    parts: tuple
    settings: tuple
    frame: float
    bones: np.ndarray
    offsets: np.ndarray
    wires: overlay.Wires
    buffer: np.ndarray = field(repr=False, default=None)


_cache: dict = {}


def forget() -> None:
    """Drop all that is cached, as after loading a file."""
    _cache.clear()


def lines(obj, scene, depsgraph, show: overlay.Show) -> overlay.Lines | None:
    """The lines of a ragdoll at the frame shown; None where there is nothing to show.

    Args:
        obj: a character with a ragdoll.
        depsgraph: of the view layer that is drawn.
    """
    if not obj.active_ragdoll.is_ragdoll or not len(obj.active_ragdoll.parts):
        return None
    cached = current(obj, scene)
    if cached is None:
        return None
    return cached.wires.lines(body_matrices(obj, depsgraph, cached), selected_bodies(obj, cached.bones), show)


def current(obj, scene) -> Cached | None:
    """The cached figure, made anew where it is out of date; None where a body has been deleted."""
    parts = obj.active_ragdoll.parts
    bodies = [part.body for part in parts]
    if not all(bodies):
        return None
    identity = tuple(body.session_uid for body in bodies)
    cached = _cache.get(obj.name)
    frame = scene.frame_current_final
    if cached is not None and cached.parts == identity and cached.frame != frame:
        cached.frame = frame  # it plays: nobody edits
        return cached
    settings = _settings(obj, parts, bodies)
    if settings is None:
        return None
    if cached is None or cached.parts != identity or cached.settings != settings:
        wires = overlay.Wires(figure(obj))
        rows = {bone.name: i for i, bone in enumerate(obj.data.bones)}
        bones = np.array([rows[part.bone] for part in parts], dtype=int)
        buffer = np.empty((len(parts), 16), dtype=np.float32)
        offsets = np.array([part.offset for part in parts], dtype=float).reshape(-1, 4, 4)
        cached = _cache[obj.name] = Cached(identity, settings, frame, bones, offsets, wires, buffer)
    return cached


def _settings(obj, parts, bodies) -> tuple | None:
    """All that a figure is made from and a user may edit; None where a bone is gone."""
    found = []
    pieces = compounds.by_body(obj.active_ragdoll) if body_edits.is_editing(obj) else {}
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
    parts = settings.parts
    own = [obj.pose.bones[part.bone].active_ragdoll for part in parts]
    parents, child_frames, parent_frames = joint_frames(obj)
    edges = [body_edges(part.body) for part in parts]
    return overlay.Figure(
        edges=edges,
        lengths=np.array([float(np.ptp(e.reshape(-1, 3), axis=0).max()) for e in edges]),
        parents=parents,
        child_frames=child_frames,
        parent_frames=parent_frames,
        types=[bone.joint for bone in own],
        limit_min=np.array([bone.limit_min for bone in own], dtype=float),
        limit_max=np.array([bone.limit_max for bone in own], dtype=float),
        height=settings.height,
    )


def body_edges(body) -> np.ndarray:
    """Wire [k, 2, 3] of a body in its own frame; of a compound, those of the bodies parented to it."""
    shape = body.rigid_body.collision_shape
    if shape == "COMPOUND":
        pieces = [child for child in body.children if child.rigid_body is not None and child.type == "MESH"]
        found = []
        for piece in pieces:
            place = np.array(piece.matrix_parent_inverse @ piece.matrix_basis, dtype=float)
            found.append(body_edges(piece) @ place[:3, :3].T + place[:3, 3])
        if found:
            return np.concatenate(found)
    corners = np.array(body.bound_box, dtype=float)
    half = np.ptp(corners, axis=0) / 2.0
    if shape in wireframes.PRIMITIVES:
        return wireframes.shape_edges(shape, half)
    return wireframes.shape_edges(shape, half, _mesh_edges(body.data))


def _mesh_edges(mesh) -> np.ndarray:
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)
    pairs = np.empty(2 * len(mesh.edges), dtype=np.int32)
    mesh.edges.foreach_get("vertices", pairs)
    return points.reshape(-1, 3)[pairs.reshape(-1, 2)].astype(float)


def body_matrices(obj, depsgraph, cached: Cached) -> np.ndarray:
    """World matrices [m, 4, 4] of the bodies as the view layer shows them, in the order of the parts.

    Where nothing is simulated they are where the bones have them: Blender leaves bodies without a cache at the origin.
    """
    settings = obj.active_ragdoll
    if runtime.state_of(obj) not in ("LIVE", "CACHED") and not body_edits.is_editing(obj):
        return _on_bones(obj, depsgraph, cached)
    objects = settings.bodies.evaluated_get(depsgraph).objects if settings.bodies is not None else ()
    buffer = cached.buffer
    if len(objects) == len(buffer):
        objects.foreach_get("matrix_world", buffer.reshape(-1))
    else:  # something else was put into the collection
        for i, part in enumerate(settings.parts):
            buffer[i] = np.array(part.body.evaluated_get(depsgraph).matrix_world).T.ravel()
    return buffer.reshape(-1, 4, 4).transpose(0, 2, 1)


def _on_bones(obj, depsgraph, cached: Cached) -> np.ndarray:
    posed = obj.evaluated_get(depsgraph)
    matrices = np.empty(len(posed.pose.bones) * 16, dtype=np.float32)
    posed.pose.bones.foreach_get("matrix", matrices)
    matrices = matrices.reshape(-1, 4, 4)[cached.bones].transpose(0, 2, 1)
    return rigid(array_of(posed.matrix_world) @ matrices) @ cached.offsets


def selected_bodies(obj, bones: np.ndarray) -> np.ndarray:
    """Which bodies [m] are selected: by their bones in pose mode, else as objects, or a compound by a piece of it.

    Args:
        bones: index of every body's bone [m].
    """
    if obj.mode != "POSE":
        of_pieces = {piece.parent for piece in bpy.context.selected_objects if piece.parent is not None}
        parts = obj.active_ragdoll.parts
        return np.array([part.body.select_get() or part.body in of_pieces for part in parts], dtype=bool)
    on_pose = "select" in bpy.types.PoseBone.bl_rna.properties  # moved there in Blender 5.0
    flags = np.empty(len(obj.data.bones), dtype=bool)
    (obj.pose.bones if on_pose else obj.data.bones).foreach_get("select", flags)
    return flags[bones]


def shown(context, every: bool) -> list:
    """The characters whose overlay is shown: all of the scene, or those active, selected or owning what is active."""
    if every:
        found = context.scene.objects
    else:
        active = context.view_layer.objects.active
        found = {*context.selected_objects, active, active.get(OWNER) if active is not None else None} - {None}
    return [obj for obj in found if obj.type == "ARMATURE" and obj.active_ragdoll.is_ragdoll]
