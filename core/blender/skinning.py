"""Reading the meshes that an armature deforms: their vertices in bind pose and the bones' hold on them."""

import contextlib

import bpy
import numpy as np

from ..ragdoll.skin import Skin

# What these make lies on or near the surface that is there already, and there is very much of it.
_SMOOTHING = {"SUBSURF", "MULTIRES"}


def skinned_meshes(obj) -> list:
    """Mesh objects that the armature deforms."""
    found = []
    for other in bpy.data.objects:
        if other.type != "MESH":
            continue
        by_modifier = any(m.type == "ARMATURE" and m.object == obj for m in other.modifiers)
        if by_modifier or (other.parent == obj and other.parent_type == "ARMATURE"):
            found.append(other)
    return found


def read_skin(obj, pose, world: np.ndarray) -> Skin | None:
    """All vertices of the skinned meshes and the bones' weights on them; None when nothing is skinned.

    Args:
        obj: armature object.
        pose: its `BindPose`.
        world: matrix [4, 4] that the bind pose was read with.
    """
    meshes = [mesh for mesh in skinned_meshes(obj) if mesh.vertex_groups]
    if not meshes:
        return None
    found, offset = [], 0
    inverse_world = np.linalg.inv(np.array(obj.matrix_world))
    for mesh in meshes:
        to_world = world @ inverse_world @ np.array(mesh.matrix_world)
        with _before_armature(mesh, obj) as (data, points):
            points = points @ to_world[:3, :3].T + to_world[:3, 3]
            rows = [pose.row.get(group.name, -1) for group in mesh.vertex_groups]
            vertex, bone, weight = _elements(data, np.array(rows, dtype=int))
            edges = np.empty(2 * len(data.edges), dtype=np.int32)
            data.edges.foreach_get("vertices", edges)
        found.append((points, vertex + offset, bone, weight, edges.reshape(-1, 2) + offset))
        offset += len(points)
    points, vertex, bone, weight, edges = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Skin(points, vertex, bone, weight, len(pose.names), edges)


def dominated_vertices(obj, pose, world: np.ndarray) -> list | None:
    """For each bone the vertices [k, 3] (world, bind pose) that it dominates; None when nothing is skinned."""
    skin = read_skin(obj, pose, world)
    return None if skin is None else vertices_of(skin)


def vertices_of(skin: Skin) -> list:
    """For each bone the vertices [k, 3] that it dominates, or None."""
    return [None if found is None else found[0] for found in skin.dominated()]


def _elements(data, rows):
    """Vertex, bone and weight of each entry [e] of the vertex groups; `rows` gives the bone of a group, -1 for none."""
    counts = [len(vertex.groups) for vertex in data.vertices]
    flat = [value for vertex in data.vertices for e in vertex.groups for value in (e.group, e.weight)]
    group, weight = np.array(flat, dtype=float).reshape(-1, 2).T
    group = group.astype(int)
    vertex = np.repeat(np.arange(len(counts)), counts)
    known = (group >= 0) & (group < len(rows))
    bone = np.where(known, rows[np.where(known, group, 0)] if len(rows) else -1, -1)
    good = (bone >= 0) & np.isfinite(weight) & (weight > 0.0)
    return vertex[good], bone[good], weight[good]


def _points_of(data) -> np.ndarray:
    """Vertices [v, 3] of a mesh with its shape keys as they are set."""
    flat = np.empty(3 * len(data.vertices), dtype=np.float32)
    keys = data.shape_keys
    if keys is None or not keys.use_relative:
        data.vertices.foreach_get("co", flat)
        return flat.reshape(-1, 3).astype(float)

    def of(block):
        block.data.foreach_get("co", flat)
        return flat.reshape(-1, 3).astype(float)

    result = of(keys.reference_key)
    for block in keys.key_blocks:
        # A key that works on a vertex group only is left out: it is a correction of a detail.
        if block.value != 0.0 and not block.mute and not block.vertex_group and block != keys.reference_key:
            result += block.value * (of(block) - of(block.relative_key))
    return result


@contextlib.contextmanager
def _before_armature(mesh, armature):
    """The mesh data and its vertices [v, 3] as the armature's modifier gets them.

    Modifiers before it (a mirror, say) are evaluated in a scene that lasts as long as this; most meshes have none.
    """
    before = []
    for modifier in mesh.modifiers:
        if modifier.type == "ARMATURE":
            break
        before.append(modifier)
    # Without an armature modifier the parent deforms the mesh, before all modifiers.
    deformed_later = any(m.type == "ARMATURE" and m.object == armature for m in mesh.modifiers)
    before = [m for m in before if deformed_later and m.show_viewport and m.type not in _SMOOTHING]
    if not before:
        yield mesh.data, _points_of(mesh.data)
        return
    copy = mesh.copy()
    scene = bpy.data.scenes.new(".Ragdoll Meshes")
    try:
        kept = {modifier.name for modifier in before}
        for modifier in list(copy.modifiers):
            if modifier.name not in kept:
                copy.modifiers.remove(modifier)
        scene.collection.objects.link(copy)
        layer = scene.view_layers[0]
        layer.update()
        data = copy.evaluated_get(layer.depsgraph).data
        flat = np.empty(3 * len(data.vertices), dtype=np.float32)
        data.vertices.foreach_get("co", flat)
        yield data, flat.reshape(-1, 3).astype(float)
    finally:
        bpy.data.objects.remove(copy)
        bpy.data.scenes.remove(scene)
