"""What the overlay shows of look-at chains at the frame that is drawn."""

import numpy as np

from ..motion import look_at_lines
from ..motion.look_at import PARENT
from ..ragdoll.overlay import Lines
from .armature import array_of

_LENGTH = 0.2  # of forward vectors, of the character's size


def lines(obj, depsgraph) -> Lines | None:
    """The drawing of all chains of a character that act; None where it has none.

    Args:
        depsgraph: of the view layer that is drawn.
    """
    settings = obj.active_ragdoll
    if settings.target_armature is None or settings.muted or not len(settings.look_at):
        return None
    posed = obj.evaluated_get(depsgraph)
    world = array_of(posed.matrix_world)
    found = [_chain(obj, posed, world, item, depsgraph) for item in settings.look_at if item.enabled]
    found = [pair for pair in found if pair is not None]
    if not found:
        return None
    ends, colors = (np.concatenate(parts) for parts in zip(*found, strict=True))
    stands_out = np.all(colors == np.array(look_at_lines.TARGET), axis=1)
    # Single precision: the GPU's buffers take the bytes as they are.
    return Lines(ends.astype(np.float32), colors.astype(np.float32), stands_out)


def _chain(obj, posed, world, item, depsgraph) -> tuple | None:
    bones = obj.data.bones
    entries = [entry for entry in item.entries if entry.bone in bones]
    if not entries:
        return None
    positions, forwards, references, limits = [], [], [], []
    for entry in entries:
        bone = bones[entry.bone]
        matrix = world @ array_of(posed.pose.bones[entry.bone].matrix)
        positions.append(matrix[:3, 3])
        forwards.append(_unit(matrix[:3, :3] @ np.array(entry.forward_axis)))
        above = world if bone.parent is None else world @ array_of(posed.pose.bones[bone.parent.name].matrix)
        if entry.limit_from == PARENT:
            reference = above[:3, :3] @ np.array(entry.parent_forward_axis)
        else:
            rest = array_of(bone.matrix_local)
            if bone.parent is not None:
                rest = np.linalg.inv(array_of(bone.parent.matrix_local)) @ rest
            reference = above[:3, :3] @ rest[:3, :3] @ np.array(entry.forward_axis)
        references.append(_unit(reference))
        limits.append(entry.limit)
    if not np.isfinite([positions, forwards, references]).all():
        return None
    length = _LENGTH * _size(obj, world)
    return look_at_lines.lines(positions, forwards, references, limits, _target(item, depsgraph), length)


def _target(item, depsgraph) -> np.ndarray | None:
    """Where the target is shown; None where it is missing."""
    if item.target_type == "POINT":
        return np.array(item.target_point)
    if item.target is None:
        return None
    now = item.target.evaluated_get(depsgraph)
    place = array_of(now.matrix_world)
    if item.target_bone:
        bone = now.pose.bones.get(item.target_bone) if now.pose is not None else None
        if bone is None:
            return None
        place = place @ array_of(bone.matrix)
    return place[:3, 3] if np.isfinite(place).all() else None


def _unit(vector: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vector)
    return vector / length if length > 0.0 else np.array((0.0, 0.0, 1.0))


def _size(obj, world) -> float:
    low, high = np.inf, -np.inf
    for bone in obj.data.bones:
        head = np.array(bone.head_local)
        low, high = np.minimum(low, head), np.maximum(high, head)
    return float(np.max(high - low)) * float(np.cbrt(abs(np.linalg.det(world[:3, :3]))))


def shown(context, every: bool) -> list:
    """The characters whose chains are shown: all of the scene, or the active and the selected ones."""
    found = context.scene.objects if every else {*context.selected_objects, context.view_layer.objects.active} - {None}
    return [obj for obj in found if obj.type == "ARMATURE" and len(obj.active_ragdoll.look_at)]
