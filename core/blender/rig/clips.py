"""Actions as clips: every bone's channels, sampled to poses local to the parent bone, and kept until they change.

What counts is the action alone: its keys at their own interpolation, its curves' modifiers, mutes of curves and
groups. Channels that it does not have stand at bind pose, whatever the bones' properties hold now. Constraints,
drivers and other actions play no part; for those the character's evaluated pose is there (`source.py`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import bpy
import numpy as np
from numpy.typing import NDArray

from ... import keyframes, quaternion
from ... import pose as pose_space
from ...errors import RagdollError
from ...motion.clip import Clip
from ...motion.stack import LocalPose
from ...skeleton import Skeleton
from .action_channels import bone_path, curves_of, fcurves_of, has_slots, rotation_property, slot_of
from .armature import converted, values_of

# Value of each rotation property in bind pose.
_REST = {
    "location": (0.0, 0.0, 0.0), "rotation_euler": (0.0, 0.0, 0.0), "scale": (1.0, 1.0, 1.0),
    "rotation_quaternion": (1.0, 0.0, 0.0, 0.0), "rotation_axis_angle": (0.0, 0.0, 1.0, 0.0),
}  # fmt: skip
_MODE = "rotation_mode"
CYCLE_SAMPLES = 4  # a frame, of clips whose ends are between frames


class RigRest:
    """Bones of an armature at rest, as sampling needs them."""

    def __init__(self, obj: bpy.types.Object, matrices: NDArray | None = None) -> None:
        """Read them, or a pose in the rest pose's place: `matrices` [n, 4, 4] in the armature's space.
        Raises RagdollError: the object is no armature or has no bones."""
        if obj is None or obj.type != "ARMATURE":
            raise RagdollError(f"'{obj.name if obj else None}' is no armature: clips need one")
        bones = obj.data.bones
        if len(bones) == 0:
            raise RagdollError(f"'{obj.name}' has no bones")
        parents = [bone.parent.name if bone.parent else None for bone in bones]
        self.skeleton = Skeleton.from_parents([bone.name for bone in bones], parents)  # its input order is Blender's
        matrices = values_of(bones, "matrix_local", 4, 4).astype(float) if matrices is None else matrices
        relative = pose_space.model_to_local_matrices(self.skeleton, matrices[self.skeleton.to_level])
        # Without what they lack to be rotations (up to 2e-5 in imported rigs): a step of Newton's method for the polar
        # decomposition (N. Higham, 1986), whose error is then below 1e-9.
        linear = relative[:, :3, :3]
        relative[:, :3, :3] = 1.5 * linear - 0.5 * linear @ np.swapaxes(linear, -1, -2) @ linear
        positions, rotations, scales = pose_space.decompose_matrices(relative)
        self.bind = LocalPose(positions, rotations, np.ones_like(scales))  # local to the parents, level order [n]
        self.modes = tuple(bone.rotation_mode for bone in obj.pose.bones)  # this and all below in Blender's order [n]
        self.connected = np.array([bone.use_connect and bone.parent is not None for bone in bones])  # without location
        inner = [(row, own) for row, own in enumerate(bones) if own.parent is not None or not own.use_local_location]
        other = {row for row, bone in inner if not (bone.use_inherit_rotation and bone.use_local_location)}
        # Bones that do not inherit all of the parent's transform, and whether they differ in its scale alone.
        self.special = [row for row, bone in inner if row in other or bone.inherit_scale != "FULL"]
        self.scale_only = not other


def sample_action(action, obj, *, slot=None, frames=None, fps: float | None = None, cycle=False) -> Clip:
    """Sample an action on an armature's bones, by their names.

    Raises RagdollError: the action has no usable slot or no curves, or none of its bones is in the armature.

    Args:
        action: The action; it need not be assigned.
        obj: The armature object: its rest pose, rotation modes and inheritance are used.
        slot: The action's slot (4.4 and later); without, the one that Blender would choose, see `slot_of`.
        frames: Evenly spaced frames of the action [f]; without, all whole frames of its range.
        fps: Frames of the action per second; without, the scene's.
        cycle: Without `frames`: sample from the exact beginning to the exact end, instead of at whole frames.
    """
    rest, curves = RigRest(obj), action_curves(action, obj, slot)
    places, missing, moved = _places(curves, obj.data.bones.keys())
    if not moved:
        listed = ", ".join(f'"{bone}"' for bone in missing[:5])
        raise RagdollError(f"Action \"{action.name}\" animates no bone of '{obj.name}'; it has {listed or 'no bones'}")
    frames = np.asarray(_own_frames(action, curves, cycle) if frames is None else frames, dtype=np.float64)
    if frames.ndim != 1 or len(frames) == 0:
        raise RagdollError(f'Action "{action.name}" needs frames to be sampled at, got {list(frames.shape)}')
    local = _local(obj, rest, *_channels(places, rest, frames))
    step = float(frames[1] - frames[0]) if len(frames) > 1 else 1.0
    fps, names = (scene_fps(bpy.context.scene) if fps is None else fps) / step, rest.skeleton.names
    still = tuple(name for name in names if name not in moved)
    return Clip(action.name, names, fps, local, float(frames[0]), tuple(missing), still)


def scene_fps(scene: bpy.types.Scene) -> float:
    render = scene.render
    return render.fps / render.fps_base


def object_matrices(action: bpy.types.Action, obj: bpy.types.Object, frames: NDArray, slot=None) -> NDArray:
    """World matrices [f, 4, 4] that an action's channels of the object itself give it at frames [f].

    Channels that it lacks, the object's parent and constraints stand as they are now."""
    slot = slot_of(action, obj) if slot is None else slot
    turned = rotation_property(obj.rotation_mode)
    names = ("location", "scale", turned)
    values = {name: np.tile(np.array(getattr(obj, name), dtype=float), (len(frames), 1)) for name in names}
    for curve in curves_of(action, slot):
        if curve.data_path in values and not curve.mute:
            values[curve.data_path][:, curve.array_index] = [curve.evaluate(frame) for frame in frames.tolist()]
    turns = keyframes.rotations(obj.rotation_mode, values[turned])
    basis = pose_space.compose_matrices(values["location"], quaternion.normalize(turns), values["scale"])
    return np.array(obj.matrix_world @ obj.matrix_basis.inverted(), dtype=float) @ basis


def action_curves(action: bpy.types.Action, obj: bpy.types.Object, slot=None) -> list[bpy.types.FCurve]:
    """The curves of the slot of an action that animates `obj`, without muted ones, also by their group, and empty ones.
    Raises RagdollError: there is no such slot, or it is empty."""
    name = _checked(action, obj).name
    slot = slot_of(action, obj) if slot is None else slot
    if has_slots() and slot is None:
        slots = ", ".join(f'"{s.name_display}"' for s in action.slots)
        raise RagdollError(f"Action \"{name}\" has no slot for '{obj.name}'; it has {slots or 'none'}")
    curves = [c for c in curves_of(action, slot) if not (c.mute or (c.group is not None and c.group.mute))]
    curves = [c for c in curves if len(c.keyframe_points) or not c.is_empty]
    if not curves:
        raise RagdollError(f'Action "{name}" is empty')
    return curves


def animated_bones(action: bpy.types.Action, obj: bpy.types.Object) -> set[str]:
    """Names of all bones that an action animates in the slot for `obj`, whether it has them or not."""
    return set(_places(fcurves_of(action, obj), ())[1])


def _checked(action: bpy.types.Action | None, obj: bpy.types.Object) -> bpy.types.Action:
    """The action. Raises RagdollError: there is none, or it was deleted, or the object is no armature."""
    if obj.pose is None:
        raise RagdollError(f"'{obj.name}' is no armature: clips need one")
    if action is None:
        raise RagdollError(f"No action is chosen for '{obj.name}'")
    try:
        action.name  # noqa: B018
    except ReferenceError:
        raise RagdollError(f"An action of '{obj.name}' was deleted while in use") from None
    return action


def _own_frames(action: bpy.types.Action, curves: Sequence[bpy.types.FCurve], cycle: bool) -> NDArray:
    """All whole frames of an action's keys, or of its own range where it has one.

    A cycle gets evenly spaced ones from the exact beginning to the exact end, so that it goes round without a halt:
    whole frames where both ends are whole; else the keys' own times where they are evenly spaced (clips made at another
    frame rate), so that nothing between them is lost; else quarters of a frame.
    """
    firsts, lasts = zip(*(curve.range() for curve in curves), strict=True)
    first, last = (action.frame_start, action.frame_end) if action.use_frame_range else (min(firsts), max(lasts))
    whole = np.arange(math.floor(first + 1e-4), math.ceil(last - 1e-4) + 1, dtype=np.float64)
    if not cycle or last <= first or max(abs(first - round(first)), abs(last - round(last))) < 1e-3:
        return whole
    keys = [values_of(curve.keyframe_points, "co", 2)[:, 0] for curve in curves]
    own = np.unique(np.round(np.concatenate(keys).astype(np.float64), 3))
    own = own[(own >= first - 1e-3) & (own <= last + 1e-3)]
    even = np.linspace(first, last, len(own))
    if len(whole) // 2 <= len(own) <= CYCLE_SAMPLES * len(whole) and np.abs(own - even).max() < 5e-3:
        return even
    return np.linspace(first, last, CYCLE_SAMPLES * (len(whole) - 1) + 1)


def _places(curves: Sequence[bpy.types.FCurve], names: Sequence[str]) -> tuple[dict, list[str], set[str]]:
    """Bone, component and curve of all that a property has; bones that are missing; and those that move."""
    known = {bone_path(name, "")[:-1]: row for row, name in enumerate(names)}
    places: dict[str, list[tuple]] = {prop: [] for prop in (*_REST, _MODE)}
    missing: dict[str, None] = {}
    moved = set()
    for curve in curves:
        head, _, prop = curve.data_path.rpartition(".")
        if prop not in places or not head.startswith("pose.bones["):
            continue
        row = known.get(head)
        if row is None:
            missing[bpy.utils.unescape_identifier(head[len('pose.bones["') : -len('"]')])] = None
        elif prop == _MODE or curve.array_index < len(_REST[prop]):
            moved.add(names[row])
            places[prop].append((row, curve.array_index, curve))
    return places, list(missing), moved


def _values(curve: bpy.types.FCurve, frames: NDArray) -> NDArray:
    """Values [f] of a curve."""
    # On keys alone, as most imported clips are, Blender's own value is the keys': ten times as fast. It rounds
    # rotation modes to whole numbers.
    if len(curve.keyframe_points) == len(frames) and not len(curve.modifiers):
        keys = values_of(curve.keyframe_points, "co", 2)
        if np.array_equal(keys[:, 0], frames) and not curve.data_path.endswith(f".{_MODE}"):
            return keys[:, 1]
    return np.array([*map(curve.evaluate, frames.tolist())])


def _channels(places: dict, rest: RigRest, frames: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Location, unit quaternion and scale of each bone [f, n, .], Blender's order."""
    count, bones = len(frames), len(rest.modes)
    values = {prop: np.tile(np.array(at_rest), (count, bones, 1)) for prop, at_rest in _REST.items()}
    for prop, own in values.items():
        for row, component, curve in places[prop]:
            own[:, row, component] = _values(curve, frames)
    values["location"][:, rest.connected] = 0.0
    rotation = quaternion.identity((count, bones))
    modes = np.tile(np.array(rest.modes, dtype=object), (count if places[_MODE] else 1, 1))
    by_value = {item.value: item.identifier for item in bpy.types.PoseBone.bl_rna.properties[_MODE].enum_items}
    for row, _component, curve in places[_MODE]:
        numbers = np.round(_values(curve, frames)).astype(int).tolist()
        modes[:, row] = [by_value.get(number, "QUATERNION") for number in numbers]
    for mode in set(modes.ravel().tolist()):
        prop = rotation_property(mode)
        own = [row for row in sorted({row for row, *_others in places[prop]}) if mode in modes[:, row]]
        if not own:
            continue
        turned = keyframes.rotations(mode, values[prop][:, own])
        turned = quaternion.normalize(turned) if mode == "QUATERNION" else turned
        rotation[:, own] = np.where((modes[:, own] == mode)[..., None], turned, rotation[:, own])
    return values["location"], rotation, values["scale"]


def _local(obj: bpy.types.Object, rest: RigRest, location: NDArray, rotation: NDArray, scale: NDArray) -> LocalPose:
    """Poses relative to the parent bones, level order, of channels in Blender's order."""
    order = rest.skeleton.to_level
    location, rotation, scale = location[:, order], rotation[:, order], scale[:, order]
    if rest.special and not (rest.scale_only and np.all(scale == 1.0)):
        return _local_of_special(obj, rest, location, rotation, scale)
    positions = rest.bind.positions + quaternion.rotate(rest.bind.rotations, location)
    return LocalPose(positions, quaternion.multiply(rest.bind.rotations, rotation), scale)


def _local_of_special(obj, rest: RigRest, location: NDArray, rotation: NDArray, scale: NDArray) -> LocalPose:
    """As `_local`, for rigs in which bones do not inherit everything: their local pose depends on their parents'.

    Blender itself is asked how those bones stand to their parents; all others are products of matrices. Shear, which a
    local pose cannot hold, is lost.
    """
    skeleton = rest.skeleton
    basis = pose_space.compose_matrices(location, rotation, scale)
    local = pose_space.compose_matrices(rest.bind.positions, rest.bind.rotations) @ basis
    special = {int(skeleton.from_level[i]): obj.data.bones[i] for i in rest.special}
    model = np.empty_like(local)
    for row, parent in enumerate(skeleton.parents.tolist()):
        if row in special:
            above = model[:, parent] if parent >= 0 else [None] * len(basis)
            model[:, row] = [converted(special[row], *pair) for pair in zip(basis[:, row], above, strict=True)]
            local[:, row] = model[:, row] if parent < 0 else _inverse(model[:, parent]) @ model[:, row]
        else:
            model[:, row] = local[:, row] if parent < 0 else model[:, parent] @ local[:, row]
    return LocalPose(*pose_space.decompose_matrices(local))


def _inverse(matrices: NDArray) -> NDArray:
    """Inverses; of a bone scaled to nothing the pseudo-inverse, since its children have no better local pose."""
    try:
        return np.linalg.inv(matrices)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrices)


@dataclass
class _Kept:
    clip: Clip
    action: int
    armature: int
    size: tuple | None  # None: to be sampled anew


class ClipCache:
    """Clips by action, slot, armature object and frame rate, kept until something that they are made of changes.

    No reference to Blender's data is kept: entries go by the data's session ids. A change is noticed by the dependency
    graph's updates (`mark`, from a `depsgraph_update_post` handler), by the number of curves and keys, which every
    look-up checks, and by sampling all anew at the start of a run.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple, _Kept] = {}
        self.edits = 0  # rises whenever a kept clip may be out of date

    def get(self, action: bpy.types.Action, obj: bpy.types.Object, slot=None, fps=None, *, cycle: bool = False) -> Clip:
        """The clip of an action on an armature, the same one as long as nothing in it changed; see `sample_action`."""
        action_id = _checked(action, obj).session_uid
        slot = slot_of(action, obj) if slot is None else slot
        fps = scene_fps(bpy.context.scene) if fps is None else fps
        key = (action_id, slot.handle if slot is not None else 0, obj.session_uid, fps, cycle)
        curves, modes = curves_of(action, slot), tuple(bone.rotation_mode for bone in obj.pose.bones)
        size = len(curves), sum(len(curve.keyframe_points) for curve in curves), action.name, modes
        kept = self._entries.get(key)
        if kept is not None and kept.size == size:
            return kept.clip
        clip = sample_action(action, obj, slot=slot, fps=fps, cycle=cycle)
        if kept is not None and _same(kept.clip, clip):
            clip = kept.clip
        self._entries[key] = _Kept(clip, action_id, obj.data.session_uid, size)
        return clip

    def mark(self, depsgraph: bpy.types.Depsgraph | None = None) -> None:
        """Have the clips of actions and armatures that were edited sampled anew when they are asked for next: those
        that the graph of a `depsgraph_update_post` handler names, or, without one, all: Blender does not tell of all.
        """
        kinds = bpy.types.Action, bpy.types.Armature
        updates = depsgraph.updates if depsgraph and self._entries else ()
        edited = {update.id.original.session_uid for update in updates if isinstance(update.id, kinds)}
        kept = self._entries.values()
        stale = [own for own in kept if depsgraph is None or not edited.isdisjoint((own.action, own.armature))]
        for own in stale:
            own.size = None
        self.edits += bool(stale)

    def clear(self) -> None:
        """Forget everything: another file was loaded, or something was undone."""
        self._entries.clear()
        self.edits += 1


def _same(a: Clip, b: Clip) -> bool:
    """Whether two clips are equal to the bit."""
    rest = (field.name for field in fields(Clip) if field.name != "poses")
    pairs = zip(vars(a.poses).values(), vars(b.poses).values(), strict=True)
    return all(getattr(a, name) == getattr(b, name) for name in rest) and all(np.array_equal(*pair) for pair in pairs)
