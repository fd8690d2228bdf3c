"""Reading the meshes that an armature deforms or its bones carry: vertices in bind pose and their weights."""

import contextlib
from itertools import takewhile

import bpy
import numpy as np

from ...pose import moved
from ...ragdoll.bodies.fitting import Skin
from .armature import values_of

# What these make lies on or near the surface that is there already, and there is very much of it.
_SMOOTHING = {"SUBSURF", "MULTIRES"}


def skinned_meshes(obj) -> list:
    """Mesh objects that the armature deforms."""
    return [other for other in bpy.data.objects if other.type == "MESH" and is_deformed_by(obj, other)]


def is_deformed_by(obj, mesh) -> bool:
    """Whether an armature deforms a mesh object, by a modifier or as its parent."""
    by_modifier = any(m.type == "ARMATURE" and m.object == obj for m in mesh.modifiers)
    return by_modifier or (mesh.parent == obj and mesh.parent_type == "ARMATURE")


def carried_meshes(obj, pose, world: np.ndarray, props: np.ndarray) -> list:
    """Mesh objects that hang on a bone as a whole: (object, index of the bone, its matrix in bind pose [4, 4]).

    They, or what they are parented to, have the bone for a parent or a Child Of constraint to it. Left out are those
    that are deformed too, that no render shows, and rigid bodies of their own. Meshes on `props`, bones [n], do not
    count, unless there are no others; `world` is the matrix [4, 4] that the bind pose was read with.
    """
    deformed = set(skinned_meshes(obj))
    others = [other for other in bpy.data.objects if other.type == "MESH" and other not in deformed]
    others = [other for other in others if not other.hide_render and other.rigid_body is None and other.users_scene]
    found = [(other, *_carried(obj, other, pose, world)) for other in others if len(other.data.vertices)]
    found = [each for each in found if each[1] >= 0]
    worn = [each for each in found if not props[each[1]]]
    return worn if worn or deformed else found


def _carried(obj, other, pose, world) -> tuple[int, np.ndarray | None]:
    """Index of the bone that carries an object, -1 for none, and the object's matrix in bind pose."""
    constraints = [c for c in other.constraints if c.type == "CHILD_OF" and c.target == obj and c.subtarget in pose.row]
    constraints = [c for c in constraints if not c.mute and c.influence > 0.5]
    own = np.array(other.matrix_parent_inverse, dtype=float) @ np.array(other.matrix_basis, dtype=float)
    if constraints:
        by = constraints[-1]
        # Without its constraint the object is where its own parent has it.
        own = own if other.parent is None else np.array(other.parent.matrix_world, dtype=float) @ own
        bone = pose.row[by.subtarget]
        place = world @ pose.local[bone]
        if not (by.use_scale_x and by.use_scale_y and by.use_scale_z):
            place = pose.matrices[bone]
        return bone, place @ np.array(by.inverse_matrix, dtype=float) @ own
    if other.parent == obj and other.parent_type == "BONE" and other.parent_bone in pose.row:
        bone = pose.row[other.parent_bone]
        data = obj.data.bones[other.parent_bone]
        if data.use_relative_parent:  # counts from where the bone is in its rest pose
            return bone, (world if pose.moved is None else world @ pose.moved[bone]) @ own
        tail = np.eye(4)
        tail[1, 3] = data.length
        return bone, world @ pose.local[bone] @ tail @ own
    if other.parent is not None and other.parent != obj and other.parent_type == "OBJECT":
        bone, place = _carried(obj, other.parent, pose, world)
        return bone, None if place is None else place @ own
    return -1, None


def read_skin(obj, pose, world: np.ndarray, props: np.ndarray) -> Skin | None:
    """All vertices of the skinned and the carried meshes, and their weights; None when there are none.

    A vertex of a mesh that a bone carries hangs on that bone alone. Of the armature's `BindPose`, the matrix `world`
    [4, 4] that it was read with, and `props`: see `carried_meshes`.
    """
    meshes = [mesh for mesh in skinned_meshes(obj) if mesh.vertex_groups]
    carried = carried_meshes(obj, pose, world, props)
    if not meshes and not carried:
        return None
    found, offset = [], 0
    inverse_world = np.linalg.inv(np.array(obj.matrix_world))
    for mesh in meshes:
        to_world = world @ inverse_world @ np.array(mesh.matrix_world)
        # Its armature modifier gets the result of those before; without one the parent deforms the mesh first of all.
        own = any(m.type == "ARMATURE" and m.object == obj for m in mesh.modifiers)
        before = takewhile(lambda m: m.type != "ARMATURE", mesh.modifiers if own else ())
        with _evaluated(mesh, before) as (data, points):
            rows = [pose.row.get(group.name, -1) for group in mesh.vertex_groups]
            vertex, bone, weight = _elements(data, np.array(rows, dtype=int))
            points = moved(points, to_world)
            if pose.moved is not None:
                points = _posed(points, vertex, bone, weight, world @ pose.moved @ np.linalg.inv(world))
            edges = values_of(data.edges, "vertices", 2, dtype=np.int32) + offset
            found.append((points, vertex + offset, bone, weight, edges))
        offset += len(points)
    for mesh, bone, place in carried:
        with _evaluated(mesh, mesh.modifiers) as (data, points):
            own = np.arange(len(points)) + offset, np.full(len(points), bone), np.ones(len(points))
            edges = values_of(data.edges, "vertices", 2, dtype=np.int32) + offset
            found.append((moved(points, place), *own, edges))
        offset += len(points)
    points, vertex, bone, weight, edges = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Skin(points, vertex, bone, weight, len(pose.names), edges)


def _elements(data, rows):
    """Vertex, bone and weight of each entry [e] of the vertex groups; `rows` gives the bone of a group, -1 for none."""
    flat = [value for i, v in enumerate(data.vertices) for e in v.groups for value in (i, e.group, e.weight)]
    vertex, group, weight = np.array(flat, dtype=float).reshape(-1, 3).T
    vertex, group = vertex.astype(int), group.astype(int)
    bone = np.append(rows, -1)[np.where((group >= 0) & (group < len(rows)), group, -1)]
    good = (bone >= 0) & np.isfinite(weight) & (weight > 0.0)
    return vertex[good], bone[good], weight[good]


def _points_of(data) -> np.ndarray:
    """Vertices [v, 3] of a mesh with its shape keys as they are set."""
    keys = data.shape_keys
    if keys is None or not keys.use_relative:
        return values_of(data.vertices, "co", 3).astype(float)
    result = values_of(keys.reference_key.data, "co", 3).astype(float)
    for block in keys.key_blocks:
        # A key that works on a vertex group only is left out: it is a correction of a detail.
        if block.value != 0.0 and not block.mute and not block.vertex_group and block != keys.reference_key:
            own, its = (values_of(each.data, "co", 3).astype(float) for each in (block, block.relative_key))
            result += block.value * (own - its)
    return result


def _posed(points, vertex, bone, weight, ways) -> np.ndarray:
    """Vertices [v, 3] as an armature modifier leaves them: each bone moves its share of them by `ways` [n, 4, 4]."""
    total = np.bincount(vertex, weight, len(points))[vertex]
    there = np.einsum("eij,ej->ei", ways[bone, :3, :3], points[vertex]) + ways[bone, :3, 3]
    result = points.copy()
    np.add.at(result, vertex, (weight / total)[:, None] * (there - points[vertex]))
    return result


@contextlib.contextmanager
def _evaluated(mesh, modifiers):
    """The mesh data and its vertices [v, 3] with these of its modifiers, evaluated in a scene that lasts meanwhile."""
    kept = {m.name for m in modifiers if m.show_viewport and m.type not in _SMOOTHING}
    if not kept:
        yield mesh.data, _points_of(mesh.data)
        return
    copy = mesh.copy()
    scene = bpy.data.scenes.new(".Ragdoll Meshes")
    try:
        for modifier in list(copy.modifiers):
            if modifier.name not in kept:
                copy.modifiers.remove(modifier)
        scene.collection.objects.link(copy)
        layer = scene.view_layers[0]
        layer.update()
        data = copy.evaluated_get(layer.depsgraph).data
        yield data, values_of(data.vertices, "co", 3).astype(float)
    finally:
        bpy.data.objects.remove(copy)
        bpy.data.scenes.remove(scene)
