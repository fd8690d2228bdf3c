"""Reading an armature: its joints in bind pose, what its bones are and which deform, the limits that it states."""

import math
from collections import Counter
from dataclasses import replace

import bpy
import numpy as np
from mathutils import Matrix

from ... import pose, quaternion, skeleton
from ...anatomy.recognise import recognise
from ...anatomy.roles import ARM, CREATURE, HELPER, LEG, TRUNK, Anatomy
from ...errors import RagdollError

ENOUGH = 10  # main bones: with so many a human or an animal is recognised for good
_MAIN = {*TRUNK, *ARM, *LEG}
LIMB = 3  # bones from a root on before skin that goes on with another root's is taken for a limb's end
UNIFORM_TOLERANCE = 1e-3  # relative difference of an object's scale axes that still counts as uniform


def rigid(matrices: np.ndarray) -> np.ndarray:
    """Matrices [.., 4, 4] without their scale; mirrored ones are turned inside out, as Blender's decompose does."""
    result = np.array(matrices, dtype=float)
    axes = result[..., :3, :3]
    axes /= np.sqrt(np.maximum(np.einsum("...ij,...ij->...j", axes, axes), 1e-24))[..., None, :]
    normals = quaternion.cross(axes[..., 0], axes[..., 1])  # their side tells, and sooner than a determinant
    mirrored = np.einsum("...i,...i->...", normals, axes[..., 2]) < 0.0
    if np.any(mirrored):
        axes[mirrored] *= -1.0
    return result


def armatures(objects) -> list:
    """Those of some objects that are armatures: looking for the pose takes half as long as for the type."""
    return [obj for obj in objects if obj.pose is not None]


def with_ragdoll(objects) -> list:
    """Those of some objects that are characters with a ragdoll, be it their own or, of duplicates, another's."""
    return [obj for obj in armatures(objects) if obj.active_ragdoll.is_ragdoll]


def array_of(matrix) -> np.ndarray:
    """A mathutils matrix [4, 4] as an array: four times as fast as numpy finds its way into it."""
    a, b, c, d = matrix
    return np.array((a[:], b[:], c[:], d[:]))


def values_of(items, name: str, *shape: int, dtype: type = np.float32) -> np.ndarray:
    """A property of all items of a collection [n, *shape]; matrices with their axes as columns."""
    values = np.empty((len(items), *shape), dtype=dtype)
    items.foreach_get(name, values.reshape(-1))
    return values.transpose(0, 2, 1) if len(shape) == 2 else values


def pose_matrices(posed) -> np.ndarray:
    """Matrices [n, 4, 4] of an armature's bones as they are posed, in armature space and Blender's order."""
    return values_of(posed.pose.bones, "matrix", 4, 4).astype(float)


def converted(bone: bpy.types.Bone, matrix, parent=None, *, invert: bool = False) -> np.ndarray:
    """A bone's matrix [4, 4] in armature space from its basis matrix, by Blender's own rules of what bones inherit;
    with `invert` the basis matrix from that. `parent` is the parent's matrix in armature space, None at roots."""
    matrix, above = (m if m is None or isinstance(m, Matrix) else Matrix(m.tolist()) for m in (matrix, parent))
    known = {} if above is None else {"parent_matrix": above, "parent_matrix_local": bone.parent.matrix_local}
    return np.array(bone.convert_local_to_pose(matrix, bone.matrix_local, invert=invert, **known))


def bind_joints(obj: bpy.types.Object) -> tuple[np.ndarray, np.ndarray]:
    """Matrices [n, 4, 4] and tails [n, 3] of an armature's bones in bind pose, in its own space. It is the rest pose,
    unless another one is kept: of every bone a turn and a way from its rest pose, as its parent carries that."""
    bones = obj.data.bones
    rest = values_of(bones, "matrix_local", 4, 4).astype(float)
    kept = [bone.active_ragdoll for bone in obj.pose.bones]
    turns = np.array([own.bind_rotation for own in kept], dtype=float).reshape(-1, 4)
    ways = np.array([own.bind_location for own in kept], dtype=float).reshape(-1, 3)
    if not (ways.any() or (turns != (1.0, 0.0, 0.0, 0.0)).any()):
        return rest, values_of(bones, "tail_local", 3).astype(float)
    local = rest @ pose.compose_matrices(ways, quaternion.normalize(turns))
    for i, parent in enumerate(bone_parents(obj)):
        if parent >= 0:
            local[i] = local[parent] @ np.linalg.solve(rest[parent], local[i])
    return local, posed_tails(obj, local)


def keep_bind_pose(obj: bpy.types.Object, local: np.ndarray | None) -> None:
    """Have a pose [n, 4, 4] (in the armature's space) for the bind pose; None is the rest pose once more."""
    rest = values_of(obj.data.bones, "matrix_local", 4, 4).astype(float)
    for i, (bone, parent) in enumerate(zip(obj.pose.bones, bone_parents(obj), strict=True)):
        own = bone.active_ragdoll
        own.property_unset("bind_rotation")
        own.property_unset("bind_location")
        if local is not None:
            own_rest = rest[i] if parent < 0 else local[parent] @ np.linalg.solve(rest[parent], rest[i])
            basis = np.linalg.solve(own_rest, local[i])
            own.bind_rotation, own.bind_location = quaternion.from_matrix(basis[:3, :3]), basis[:3, 3]


def posed_tails(obj: bpy.types.Object, local: np.ndarray) -> np.ndarray:
    """Tails [n, 3] of an armature's bones posed by rigid matrices [n, 4, 4], in the same space."""
    return local[:, :3, 3] + values_of(obj.data.bones, "length")[:, None] * local[:, :3, 1]


def bone_parents(obj: bpy.types.Object) -> np.ndarray:
    """Row of every bone's parent [n], -1 at roots. A child always comes after its parent in Blender's order."""
    bones = obj.data.bones
    row = {bone.name: i for i, bone in enumerate(bones)}
    return np.array([row[bone.parent.name] if bone.parent else -1 for bone in bones], dtype=int)


class BindPose:
    """Joints of an armature in bind pose, the pose that a build looks at (`bind_joints`), in Blender's bone order."""

    def __init__(self, obj: bpy.types.Object, world: np.ndarray) -> None:
        bones = obj.data.bones
        self.names = [bone.name for bone in bones]
        self.row = {name: i for i, name in enumerate(self.names)}
        self.parents = bone_parents(obj)  # [n], -1 at roots
        self.local, self.local_tails = bind_joints(obj)  # [n, 4, 4], [n, 3], in the armature
        self.rest = values_of(bones, "matrix_local", 4, 4).astype(float)  # the rest pose [n, 4, 4], in the armature
        # from the rest pose to the bind pose, in the armature [n, 4, 4]; None where they are one
        self.moved = None if np.array_equal(self.rest, self.local) else self.local @ np.linalg.inv(self.rest)
        matrices = world @ self.local
        self.matrices = rigid(matrices)  # [n, 4, 4], in the world
        self.axes = rigid(world)[:3, :3]  # of the armature object in the world
        self.heads = matrices[:, :3, 3].copy()  # [n, 3], in the world
        self.tails = pose.moved(self.local_tails, world)
        assert np.all(self.parents < np.arange(len(bones)))  # everything that walks the tree relies on it


def check_armature(obj) -> None:
    """Raise RagdollError, naming the trouble, when an object cannot carry a ragdoll."""
    if obj is None:
        raise RagdollError("No active object: select the character's armature")
    if obj.type != "ARMATURE":
        raise RagdollError(f"'{obj.name}' is a {obj.type.lower()}, not an armature")
    if obj.library is not None:
        file = bpy.path.basename(obj.library.filepath)
        raise RagdollError(f"'{obj.name}' is linked from {file}: make a library override first")
    if len(obj.data.bones) == 0:
        raise RagdollError(f"'{obj.name}' has no bones")
    settings = obj.active_ragdoll
    if settings.is_ragdoll is False and obj.name.startswith(".") and settings.scene is not None:
        raise RagdollError(f"'{obj.name}' is a helper of a ragdoll")


def refuse_baked(obj) -> None:
    """Raise RagdollError when a character's result is baked: it plays its keys."""
    if obj.active_ragdoll.muted:
        raise RagdollError(f"'{obj.name}' is baked: revert the bake first")


def check_ragdoll(obj) -> None:
    """Raise RagdollError when an object cannot carry a ragdoll or has none."""
    check_armature(obj)
    if not obj.active_ragdoll.is_ragdoll:
        raise RagdollError(f"'{obj.name}' has no ragdoll: build it first")
    check_record(obj)


def check_record(obj) -> None:
    """Raise RagdollError where what was built cannot be read: the file was damaged."""
    if not obj.active_ragdoll.parts:
        raise RagdollError(f"The record of the ragdoll of '{obj.name}' is damaged: build the ragdoll anew")


def check_scale(obj, world: np.ndarray) -> None:
    """Refuse scales that Blender's rigid bodies cannot carry; mirrored ones are fine."""
    size = np.linalg.norm(world[:3, :3], axis=0)
    if not np.all(np.isfinite(world)):
        raise RagdollError(f"'{obj.name}' has a transform that is not a number")
    if size.min() < 1e-9:
        raise RagdollError(f"'{obj.name}' has a scale of zero")
    axes = world[:3, :3] / size
    sheared = np.max(np.abs(axes.T @ axes - np.eye(3))) > UNIFORM_TOLERANCE
    if (size.max() - size.min()) / size.max() > UNIFORM_TOLERANCE or sheared:
        text = f"'{obj.name}' has the non-uniform scale {' x '.join(f'{s:.4g}' for s in size)}"
        parent = obj.parent
        while parent is not None and is_evenly_scaled(parent):
            parent = parent.parent
        if parent is not None and is_evenly_scaled(obj):
            raise RagdollError(f"{text} from its parent '{parent.name}': apply the scale of that first")
        raise RagdollError(f"{text}: use Apply Transform in the tab Ragdoll first")


def is_evenly_scaled(obj) -> bool:
    """Whether an object's own scale is the same along its axes."""
    size = np.abs(obj.matrix_basis.to_scale())
    return size.max() - size.min() <= UNIFORM_TOLERANCE * size.max()


def deforming(obj, vertices: list | None) -> np.ndarray:
    """Which bones [n] deform: those that dominate vertices; without a skinned mesh, those marked so."""
    flags = np.array([bone.use_deform for bone in obj.data.bones], dtype=bool)
    if vertices is None:
        return flags if flags.any() else np.ones(len(flags), dtype=bool)
    weighted = np.array([found is not None for found in vertices])
    return weighted if weighted.any() else flags


def selected(obj) -> np.ndarray:
    """Which bones [n] are selected; the flag moved from bones to pose bones in Blender 5.0."""
    on_pose = "select" in bpy.types.PoseBone.bl_rna.properties
    return values_of(obj.pose.bones if on_pose else obj.data.bones, "select", dtype=bool)


def rig_limits(pose_bone) -> tuple[str, tuple, tuple] | None:
    """Joint type and limits (min [3], max [3], radians) that the rig states for a bone, or None.

    Limit Rotation constraints come first, then IK limits and locks, then locked rotation axes."""
    ranges: dict = {}  # by axis
    for constraint in pose_bone.constraints:
        if constraint.type == "LIMIT_ROTATION" and not constraint.mute and constraint.owner_space == "LOCAL":
            for axis, name in enumerate("xyz"):
                if getattr(constraint, f"use_limit_{name}"):
                    ranges[axis] = getattr(constraint, f"min_{name}"), getattr(constraint, f"max_{name}")
    for axis, name in enumerate("xyz"):
        if getattr(pose_bone, f"lock_ik_{name}"):
            ranges[axis] = 0.0, 0.0
        elif getattr(pose_bone, f"use_ik_limit_{name}"):
            (low, high), ik = ranges.get(axis, (-math.pi, math.pi)), pose_bone
            ranges[axis] = max(low, getattr(ik, f"ik_min_{name}")), min(high, getattr(ik, f"ik_max_{name}"))
    # Locks keep an animator's hand off an axis; only two of three say that the joint is a hinge.
    locked = [axis for axis in range(3) if pose_bone.lock_rotation[axis]]
    ranges |= dict.fromkeys(locked, (0.0, 0.0)) if len(locked) == 2 else {}
    if not ranges:
        return None
    low, high = zip(*(sorted(ranges.get(axis, (-math.pi, math.pi))) for axis in range(3)), strict=True)
    return ("FIXED", "HINGE", "CONE", "CONE")[sum(b - a > 1e-6 for a, b in zip(low, high, strict=True))], low, high


# ---- anatomy --------------------------------------------------------------------------------------------------------
def anatomy_of(obj: bpy.types.Object, joints: tuple | None = None) -> Anatomy:
    """What the bones of an armature are, in Blender's bone order; roles that the user chose come before all else.

    `joints` are of the pose that tells, see `bind_joints`, by default the bind pose.
    Raises RagdollError: a joint is not a number; names the bone.
    """
    bones = obj.data.bones
    names = [bone.name for bone in bones]
    row = {name: i for i, name in enumerate(names)}
    parents = bone_parents(obj)
    deform = values_of(bones, "use_deform", dtype=bool)
    world = np.array(obj.matrix_world, dtype=float)[:3, :3]
    size = np.cbrt(np.abs(np.linalg.det(world)))
    local, tails = bind_joints(obj) if joints is None else joints
    heads, tails = size * local[:, :3, 3], size * tails
    best, most, ends = None, (False, -1.0), _ik_ends(obj, row) + _sewn_ends(obj, row, parents)
    axes = np.concatenate([np.eye(3), -np.eye(3)])  # the armature's own and their opposites: one of them is up
    placed = axes @ world.T
    for up in axes[np.argsort(-placed[:, 2] / np.linalg.norm(placed, axis=1), kind="stable")]:
        anatomy = recognise(names, parents, heads, tails, up, deform, ends)
        main = [certainty for role, certainty in zip(anatomy.roles, anatomy.certainty, strict=True) if role in _MAIN]
        score = anatomy.kind != CREATURE, sum(main)
        if score > most:
            best, most = anatomy, score
        if score[0] and len(main) >= ENOUGH:
            break
    chosen = {row[bone.name]: bone.active_ragdoll.role for bone in obj.pose.bones if bone.active_ragdoll.role_by_user}
    roles = tuple(chosen.get(i, role) for i, role in enumerate(best.roles))
    certainty = np.array([1.0 if i in chosen else value for i, value in enumerate(best.certainty)])
    grounded = tuple(i for i in best.ground_roots if i not in chosen)
    return replace(best, roles=roles, certainty=certainty, ground_roots=grounded)


def _ik_ends(obj, row: dict) -> list:
    """What the character's own inverse kinematics says of its limbs; see `recognise`."""
    solvers = ((bone.name, own) for bone in obj.pose.bones for own in bone.constraints if own.type == "IK")
    acting = ((row[name], own.subtarget) for name, own in solvers if own.target == obj and not own.mute)
    return [(last, row[goal], _carries_mesh(obj, goal)) for last, goal in acting if goal in row]


def _sewn_ends(obj, row: dict, parents) -> list:
    """The same as the skin tells it, where the constraints are lost (glTF, FBX): bones of another root on which the
    skin of a limb goes on. Of each such root it is the bone with the most edges across."""
    roots = [skeleton.path_to_root(parents, i)[-1] for i in range(len(parents))]
    sizes, across = Counter(), Counter()
    for mesh in bpy.data.objects if len(set(roots)) > 1 else ():
        if mesh.type == "MESH" and any(m.type == "ARMATURE" and m.object == obj for m in mesh.modifiers):
            groups = [row.get(group.name, -1) for group in mesh.vertex_groups]
            strongest = (max(v.groups, key=lambda e: e.weight, default=None) for v in mesh.data.vertices)
            owner = np.array([-1 if e is None else groups[e.group] for e in strongest], dtype=int)
            sizes.update(roots[i] for i in owner[owner >= 0])
            pairs = owner[values_of(mesh.data.edges, "vertices", 2, dtype=np.int32)]
            across.update((a, b) for a, b in pairs.tolist() + pairs[:, ::-1].tolist() if min(a, b) >= 0)
    main, found = max(sizes, key=sizes.get, default=-1), {}
    for (last, goal), _edges in across.most_common():
        if roots[last] == main != roots[goal] and len(skeleton.path_to_root(parents, last)) >= LIMB:
            found.setdefault(roots[goal], (last, goal, True))
    return list(found.values())


def _carries_mesh(obj, bone: str) -> bool:
    """Whether a part of a mesh hangs on a bone: an object, or vertices of a mesh with an armature modifier."""
    meshes = [other for other in bpy.data.objects if other.type == "MESH"]
    if any(mesh.parent == obj and (mesh.parent_type, mesh.parent_bone) == ("BONE", bone) for mesh in meshes):
        return True
    skins = [mesh for mesh in meshes if any(m.type == "ARMATURE" and m.object == obj for m in mesh.modifiers)]
    groups = ((mesh.data.vertices, mesh.vertex_groups.find(bone)) for mesh in skins if bone in mesh.vertex_groups)
    return any(e.group == i and e.weight > 0.5 for vertices, i in groups for v in vertices for e in v.groups)


def prop_bones(obj: bpy.types.Object, anatomy: Anatomy, bones=None) -> np.ndarray:
    """Bones [n] that hold things, such as a hand's slot: meshes on them are no part of the body. `bones` are those [n]
    that are to have a body of their own whatever they are, by default those that have one."""
    if bones is None:
        bones = np.array([bone.active_ragdoll.simulate for bone in obj.pose.bones], dtype=bool)
    return np.array([role == HELPER for role in anatomy.roles], dtype=bool) & ~bones
