"""A plain copy of a character for games and other programs: its deforming bones alone, in one tree, with keys.

A bone's parent is the nearest one above it that deforms, or that stands in the place of one above it, as Rigify's
"ORG-" bones do; else that of its joint in the ragdoll. Names, bind pose and weights stay, meshes are shared.
"""

import contextlib
from pathlib import Path

import bpy
import numpy as np

from ... import keyframes
from ...errors import RagdollError
from ..physics import built
from ..rig import armature, importing, skinning
from ..runtime import STATE
from . import action_keys, actions, travel
from .recording import Recorder, basis_of, checked_range, without_shear

SAME_PLACE = 1e-3  # of a bone's length: ends that are no further apart are one
_GLTF = {
    "use_selection": True, "use_active_scene": True,  # hidden scenes have copies of the character
    "export_format": "GLB", "export_animation_mode": "ACTIVE_ACTIONS", "export_optimize_animation_size": False,
}  # fmt: skip
_FBX = {
    "use_selection": True, "object_types": {"ARMATURE", "MESH"}, "add_leaf_bones": False,
    "bake_anim_use_nla_strips": False, "bake_anim_use_all_actions": False, "bake_anim_simplify_factor": 0.0,
}  # fmt: skip
# What writes a file, by its suffix: the operator, the add-on that it is in, settings beside the path.
EXPORTERS = {
    ".glb": ("export_scene.gltf", "io_scene_gltf2", _GLTF),
    ".fbx": ("export_scene.fbx", "io_scene_fbx", _FBX),
    ".usdc": ("wm.usd_export", "", {"selected_objects_only": True, "export_animation": True}),
}
EVEN = (".fbx", ".usdc")  # files that bring what hangs on a stretched bone, as of Rigify's limbs, elsewhere
USD_STEP = 2.0**-6  # of sizes, exact in half precision


def export_frames(obj, scene, first=None, last=None, path: Path | None = None, root_motion: str = travel.STAY):
    """Make a plain copy of a character in its scene, or a file of it, yielding each frame that is read.

    The motion is that of the baked action, or what a bake would write. Stopping early changes nothing.
    Raises RagdollError: nothing deforms, no such frames, trouble in the simulation, or the file cannot be written;
    nothing of the copy is left then.

    Args:
        obj: the character. scene: its scene, which must be the one that is shown. first, last: as of a bake.
        root_motion: what carries the way over the ground; see `travel`.
        path: of a file whose suffix is one of `EXPORTERS`; None leaves the copy in the scene, selected.
    """
    if scene != bpy.context.scene:
        raise RagdollError(f"'{obj.name}' belongs to the scene '{scene.name}': show that one first")
    export = exporter(path) if path is not None else None
    first, last = checked_range(obj, scene, first, last)
    root, current = travel.root_of(obj, root_motion), scene.frame_current
    parents = plain_parents(obj, root)
    recorder = Recorder(obj, scene, False)
    yield from recorder.watch(first, last)
    travel.carry(recorder, root_motion, root)
    with _view_kept(scene, current, path is not None), STATE.occupied(), contextlib.ExitStack() as undo:
        undo.callback(_remove, made := [])
        _make(made, recorder, parents, path.suffix.lower() if path else "")
        if export is not None:
            _write_file(export, path, scene, (first, last))
        else:
            undo.pop_all()


def plain_parents(obj, root: str | None = None) -> dict:
    """{bone: its parent in the plain copy, None at roots} of the bones that deform or carry a mesh, and of a root.
    Raises RagdollError: there are none."""
    bones = obj.data.bones
    carrying = {mesh.parent_bone for mesh in _carried(obj)} | {root}
    flags = armature.deforming(obj, None) | [bone.name in carrying for bone in bones]
    kept = [bone.name for bone, flag in zip(bones, flags, strict=True) if flag]
    if not kept:
        raise RagdollError(f"No bone of '{obj.name}' deforms: mark some as deforming")
    ends = np.hstack([armature.values_of(bones, name, 3) for name in ("head_local", "tail_local")])
    joints = {part.bone: part.parent for part in obj.active_ragdoll.parts}
    twins, found = {}, {}  # the deforming bone that stands where each does
    for i, bone in enumerate(bones):
        near = np.flatnonzero(flags & (np.abs(ends - ends[i]).max(axis=1) < SAME_PLACE * bone.length))
        twins[bone.name] = bone.name if flags[i] else bones[near[0]].name if len(near) else None

    def above(name: str | None) -> list:
        return [] if name is None else [name, *above(found.get(name))]

    for name in kept:
        nearest = (twins.get(one) for one in (*(bone.name for bone in bones[name].parent_recursive), joints.get(name)))
        found[name] = next((one for one in nearest if one and name not in above(one)), None)
    return found


def _carried(obj) -> list:
    """Meshes that hang on a bone as a whole."""
    hanging = (other for other in bpy.data.objects if other.parent == obj and other.parent_type == "BONE")
    return [other for other in hanging if other.type == "MESH" and not built.is_ours(other)]


# ---- the copy -------------------------------------------------------------------------------------------------------
def _make(made: list, recorder: Recorder, parents: dict, suffix: str) -> None:
    """Make the plain armature with its action, and copies of the meshes; all objects come into `made`."""
    obj, scene = recorder.obj, recorder.scene
    name = f"{obj.name} Export"
    new = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    made.append(new)
    scene.collection.objects.link(new)
    bpy.context.view_layer.update()
    importing.make_active(new)
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in map(obj.data.bones.get, parents):
        copy = new.data.edit_bones.new(bone.name)
        copy.head, copy.tail = bone.head_local, bone.tail_local
        copy.align_roll(bone.matrix_local.col[2].to_3d())
    for name_of_bone, parent in parents.items():
        new.data.edit_bones[name_of_bone].parent = new.data.edit_bones[parent] if parent else None
    bpy.ops.object.mode_set(mode="OBJECT")
    new.rotation_mode = "QUATERNION"
    new.matrix_world = recorder.worlds[0].T
    for mesh in dict.fromkeys([*skinning.skinned_meshes(obj), *_carried(obj)]):
        made.append(_copy_of_mesh(mesh, obj, new))
        scene.collection.objects.link(made[-1])
        made[-1].select_set(True)
    names = [bone.name for bone in new.data.bones]
    poses = np.array(recorder.poses)[:, [obj.data.bones.find(own) for own in names]]
    basis = basis_of(new.data.bones, names, _evened(poses, suffix) if suffix in EVEN else poses)
    numbers = recorder.numbers
    if suffix == ".fbx":  # see _write_file
        numbers, basis = [numbers[0] - 1, *numbers], np.concatenate([np.tile(np.eye(4), (1, len(names), 1, 1)), basis])
    keys = action_keys.Poses.from_matrix_basis(names, numbers, basis)
    worlds, moving = np.array(recorder.worlds), {}
    if np.ptp(worlds, axis=0).max() > action_keys.LOCATION_AT_REST:
        place, turn, size = (each[:, 0] for each in keyframes.decompose(worlds[:, None]))
        moving = {"location": place, "rotation_quaternion": turn, "scale": size}
    actions.bake(new, keys, name, properties=moving)


def _evened(poses: np.ndarray, suffix: str) -> np.ndarray:
    """Poses [f, n, 4, 4] with one size in all directions; places and the bones' own axes are kept.

    For FBX it is the size along the bone: who connects bones, as Blender does, places by it what hangs on them. Blender
    leaves out of a USD file by how much sizes change if that is less than about a hundredth: they go by larger steps.
    """
    axes, result = poses[..., :3, :3], armature.rigid(without_shear(poses.reshape(-1, 4, 4))).reshape(poses.shape)
    if suffix == ".fbx":
        size = np.linalg.norm(axes[..., 1], axis=-1)
    else:
        size = np.round(np.cbrt(np.abs(np.linalg.det(axes))) / USD_STEP) * USD_STEP
    result[..., :3, :3] *= size[..., None, None]
    return result


def _copy_of_mesh(mesh, obj, new):
    """A copy of a mesh object that follows the plain armature instead of the character."""
    copy = mesh.copy()
    for modifier in copy.modifiers:
        if modifier.type == "ARMATURE" and modifier.object == obj:
            modifier.object = new
    for constraint in copy.constraints:
        for target in (constraint, *getattr(constraint, "targets", ())):
            if getattr(target, "target", None) == obj:
                target.target = new
    if mesh.parent == obj:
        copy.parent = new
        if mesh.parent_type == "ARMATURE":
            copy.parent_type = "OBJECT"
            copy.modifiers.new("Armature", "ARMATURE").object = new
    else:
        copy.parent, copy.matrix_parent_inverse = new, new.matrix_world.inverted_safe()
        copy.matrix_basis = mesh.matrix_world
    return copy


def _remove(made: list) -> None:
    data = [obj.data for obj in made if obj.type == "ARMATURE"]
    played = [obj.animation_data.action for obj in made if obj.type == "ARMATURE" and obj.animation_data]
    bpy.data.batch_remove([*made, *data, *filter(None, played)])


@contextlib.contextmanager
def _view_kept(scene, frame: int, after: bool):
    """The frame is shown again, and after trouble, or if asked for, selection, active object and mode are as before."""
    layer = bpy.context.view_layer
    active, chosen = layer.objects.active, list(layer.objects.selected)
    mode = active.mode if active is not None else "OBJECT"
    try:
        yield
    except BaseException:
        after = True
        raise
    finally:
        if after:
            for other in layer.objects:
                other.select_set(other in chosen)
            layer.objects.active = active
            if mode != "OBJECT":
                bpy.ops.object.mode_set(mode=mode)
        scene.frame_set(frame)


# ---- files ----------------------------------------------------------------------------------------------------------
def exporter(path: Path):
    """The operator that writes a file of this name, and its settings. Raises RagdollError: there is none."""
    if path.suffix.lower() not in EXPORTERS:
        raise RagdollError(f"{path.name}: unknown kind of file; known are {', '.join(EXPORTERS)}")
    if not path.parent.is_dir():
        raise RagdollError(f"{path}: there is no folder {path.parent}")
    operator, addon, settings = EXPORTERS[path.suffix.lower()]
    if addon:
        importing.enable(addon)
    module, _, name = operator.partition(".")
    if name not in dir(getattr(bpy.ops, module)):
        raise RagdollError(f"{path.name}: this Blender has no exporter for such files")
    return getattr(getattr(bpy.ops, module), name), settings


def _write_file(export, path: Path, scene, frames: tuple[int, int]) -> None:
    operator, settings = export
    before = scene.frame_start, scene.frame_end
    scene.frame_start, scene.frame_end = frames
    try:
        scene.frame_set(frames[0] - 1)  # an FBX file has no other bind pose of bones without a mesh than the one shown
        operator(filepath=str(path), **settings)
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1].removeprefix("Error: ")
        raise RagdollError(f"{path}: Blender could not write it ({reason})") from error
    finally:
        scene.frame_start, scene.frame_end = before
    if not path.is_file():
        raise RagdollError(f"{path}: Blender has not written it")
