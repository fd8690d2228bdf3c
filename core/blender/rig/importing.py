"""Opening a .blend, importing a character from another format, and finding the armature's action."""

from itertools import takewhile
from pathlib import Path

import addon_utils
import bpy
import numpy as np

from ...errors import RagdollError
from . import action_channels, rig_graph

# Metres a unit in the wild: metre, decimetre, the CMU database's 0.45 inch, inch, centimetre. The one is
# taken that makes the farthest joint come nearest to 1 m from the root, as an adult's does.
_BVH_UNITS = (1.0, 0.1, 0.0254 / 0.45, 0.0254, 0.01)


def open_file(path: str | Path) -> Path:
    """Open a .blend, or import a .glb, .gltf, .fbx or .bvh into an empty file; returns the full path.

    What was open before is gone afterwards. Importers that come with Blender are enabled when they are needed.
    Raises RagdollError: no such file, an unknown kind of file, or one that Blender cannot read.
    """
    path = Path(path).expanduser().resolve()
    suffix = path.suffix.lower()
    if not path.is_file():
        raise RagdollError(f"{path}: no such file")
    if suffix not in _READERS:
        raise RagdollError(f"{path.name}: unknown kind of file; known are {', '.join(sorted(_READERS))}")
    if suffix != ".blend":
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)  # keeps the enabled add-ons
    try:
        _READERS[suffix](path)
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1].removeprefix("Error: ")
        raise RagdollError(f"{path.name}: Blender could not read it ({reason})") from error
    return path


def use_action(armature: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Action | None:
    """Give an armature without an action the longest one that animates its bones; the scene takes its range."""
    action, _slot = action_channels.current(armature)
    fitting = [action for action in bpy.data.actions if _animates(action, armature)] if action is None else ()
    if fitting:
        action = max(fitting, key=lambda action: action.frame_range[1] - action.frame_range[0])
        animation = armature.animation_data_create()
        for track in animation.nla_tracks:
            track.mute = True  # else they would play on top of the action
        animation.action = action
        if getattr(animation, "action_slot", True) is None and len(animation.action_suitable_slots):
            animation.action_slot = animation.action_suitable_slots[0]
    if action is not None:
        frame_start, frame_end = (round(frame) for frame in action.frame_range)
        scene.frame_start, scene.frame_end = frame_start, max(frame_end, frame_start + 1)
    return action


def make_active(armature: bpy.types.Object) -> None:
    """Make an armature the one selected and active object, in object mode, where the view layer has it."""
    view_layer = bpy.context.view_layer
    if armature.name not in view_layer.objects:
        return  # in an excluded collection: whoever works on it says so by name
    view_layer.update()
    if view_layer.objects.active is not None and view_layer.objects.active.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    for obj in list(view_layer.objects.selected):
        obj.select_set(False)
    view_layer.objects.active = armature
    armature.select_set(True)


def _import_gltf(path: Path) -> None:
    enable("io_scene_gltf2")
    bpy.ops.import_scene.gltf(filepath=str(path))


def _import_fbx(path: Path) -> None:
    """The Python importer where there is one: it knows more old files than the newer one in C++."""
    enable("io_scene_fbx", required=False)
    if "fbx" in dir(bpy.ops.import_scene):
        bpy.ops.import_scene.fbx(filepath=str(path))
    elif "fbx_import" in dir(bpy.ops.wm):
        bpy.ops.wm.fbx_import(filepath=str(path))
    else:
        raise RagdollError("this Blender has no FBX importer")


def _import_bvh(path: Path) -> None:
    """Human-sized, upright, at the scene's frame rate: a BVH file names neither its unit nor its up axis."""
    enable("io_anim_bvh")
    joints = _bvh_rest_joints(path)
    reach = float(np.linalg.norm(joints, axis=1).max())
    if reach == 0.0:
        raise RagdollError(f"{path.name}: not a BVH skeleton")
    # a skeleton in bind pose is taller than deep; Y is up in most files
    _width, depth, height = np.ptp(joints, axis=0)
    z_up = height > 2.0 * depth
    axes = dict(zip(("axis_forward", "axis_up"), ("Y", "Z") if z_up else ("-Z", "Y")))
    unit = min(_BVH_UNITS, key=lambda unit: max(reach * unit, 1.0 / (reach * unit)))
    rates = {"use_fps_scale": True, "update_scene_duration": True}
    bpy.ops.import_anim.bvh(filepath=str(path), global_scale=unit, **axes, **rates)


def _bvh_rest_joints(path: Path) -> np.ndarray:
    """Joints and end sites in bind pose, from the root, in the file's units and axes, shape [n, 3]."""
    joints, offset, stack = [(0.0, 0.0, 0.0)], (0.0, 0.0, 0.0), []
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise RagdollError(f"{path.name}: {error.strerror}") from error
    for word, *values in takewhile(lambda words: words[0] != "MOTION", filter(None, map(str.split, lines))):
        if word == "{":
            stack.append(offset)
        elif word == "}" and stack:
            offset = stack.pop()
        elif word == "OFFSET" and len(values) == 3 and len(stack) > 1:
            try:
                offset = tuple(a + float(b) for a, b in zip(stack[-1], values, strict=True))
            except ValueError as error:
                raise RagdollError(f"{path.name}: not a number in {' '.join([word, *values])!r}") from error
            joints.append(offset)
    return np.array(joints)


def enable(module: str, *, required: bool = True) -> None:
    """Enable an importer or exporter that comes with Blender. Raises RagdollError: it is required and not there."""
    if addon_utils.check(module)[1]:
        return
    if addon_utils.enable(module, default_set=True) is None and required:
        raise RagdollError(f"this Blender has no add-on {module!r}")


def _animates(action: bpy.types.Action, armature: bpy.types.Object) -> bool:
    slots = action.slots if action_channels.has_slots() else (None,)
    curves = (curve for slot in slots for curve in action_channels.curves_of(action, slot))
    return any(name in armature.data.bones for curve in curves for name in rig_graph.bones_in(curve.data_path))


_READERS = {".blend": lambda path: bpy.ops.wm.open_mainfile(filepath=str(path), load_ui=False)}
_READERS |= {".glb": _import_gltf, ".gltf": _import_gltf, ".fbx": _import_fbx, ".bvh": _import_bvh}
