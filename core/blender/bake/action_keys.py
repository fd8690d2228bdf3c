"""Poses as keys: which properties of which bones need them, and keys written into channels inside a range of frames.

Each bone is keyed in its own rotation mode, and the old keys play as before outside the range."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import bpy
import numpy as np
from numpy.typing import NDArray

from ... import keyframes, quaternion
from ..rig.action_channels import bone_path, property_at, rotation_property
from ..rig.armature import values_of

# Values of the enums in Keyframe; foreach_set is four times faster with bytes than with wider integers.
CONSTANT, LINEAR = 0, 1
FREE_HANDLE, AUTO_CLAMPED_HANDLE = 0, 4
# All attributes of a keyframe.
KEY = [(name, np.float32, 2) for name in ("co", "handle_left", "handle_right")]
KEY += [(name, np.float32) for name in ("back", "amplitude", "period")]
KEY += [(name, np.uint8) for name in ("interpolation", "easing", "type", "handle_left_type", "handle_right_type")]


@dataclass(frozen=True)
class Outside:
    """Which sides of the baked range the old animation goes on, and how far sampled curves are followed."""

    before: bool = False  # the old animation is kept before the baked range
    after: bool = False  # and after it
    first: float = 0.0  # curves with modifiers, which cannot be kept, are sampled from this frame
    last: float = 0.0  # to this one


class KeyWriter:
    """Writes keys of many channels into one channel bag, reusing the curves that it has.

    Args:
        channels: what `channels_of` gave. outside: what to keep of the curves' old keys.
    """

    def __init__(self, channels, outside: Outside) -> None:
        self._channels, self.outside = channels, outside
        self._curves = {(curve.data_path, curve.array_index): curve for curve in channels.fcurves}
        self._groups = {group.name: group for group in channels.groups}

    def value_at(self, path: str, count: int, frame: float) -> NDArray | None:
        """What the first `count` curves of a path give at a frame, None unless all of them exist."""
        curves = [self._curves.get((path, index)) for index in range(count)]
        if not all(curves):
            return None
        return np.array([curve.evaluate(frame) for curve in curves])

    def write(
        self, path: str, group: str, coordinates, *, interpolation: int = LINEAR, rest=None, hold_last=False
    ) -> None:
        """Replace the keys of one property inside the frames' range.

        Args:
            path: its data path. group: group of curves that have to be made; the bone's name.
            coordinates: (frame, value) of the keys, strictly increasing, shape [channels, keys, 2], C order.
            interpolation: of the new keys.
            rest: values of the property where no curve was there before; used outside the range.
            hold_last: hold the last key until the next one instead of moving towards it.
        """
        for index, keys in enumerate(coordinates):
            curve = self._curves.get((path, index))
            before = after = None
            if curve is not None:
                before, after = _kept_keys(curve, keys[0, 0], keys[-1, 0], self.outside)
                if len(curve.modifiers) or len(curve.sampled_points):
                    self._channels.fcurves.remove(curve)
                    curve = None
            elif rest is not None:
                if self.outside.before:
                    before = _plain_keys([(keys[0, 0] - 1.0, rest[index])])
                if self.outside.after:
                    after = _plain_keys([(keys[-1, 0] + 1.0, rest[index])])
            if curve is None:
                curve = self._channels.fcurves.new(path, index=index)
                self._curves[path, index] = curve
                curve.group = self._group(group)
            else:
                curve.mute = False
                if curve.group is not None and curve.group.mute:
                    curve.group = self._group(group)
            if curve.extrapolation == "LINEAR":
                # Sides without an old animation are held; extrapolation holds for both sides of a curve.
                if before is None and after is None:
                    curve.extrapolation = "CONSTANT"
                elif before is None:
                    before = _plain_keys([keys[0] - (1.0, 0.0)])
                elif after is None:
                    after = _plain_keys([keys[-1] + (1.0, 0.0)])
            middle = _plain_keys(keys, interpolation)
            if hold_last:
                middle["interpolation"][-1] = CONSTANT
            _set_keys(curve, np.concatenate([part for part in (before, middle, after) if part is not None]))

    def _group(self, name: str):
        group = self._groups.get(name)
        if group is None or group.mute:
            group = self._groups[name] = self._channels.groups.new(name)
        return group


def _plain_keys(coordinates, interpolation: int = LINEAR) -> NDArray:
    """`KEY`s with automatic handles at (frame, value), shape [keys, 2]."""
    coordinates = np.asarray(coordinates, dtype=np.float32).reshape(-1, 2)
    keys = np.zeros(len(coordinates), dtype=KEY)
    keys["co"] = coordinates
    # Blender's own defaults of the elastic and back easings.
    keys["back"], keys["amplitude"], keys["period"] = 1.70158, 0.8, 4.1
    keys["interpolation"] = interpolation
    keys["handle_left_type"] = keys["handle_right_type"] = AUTO_CLAMPED_HANDLE
    return keys


def _get_keys(curve: bpy.types.FCurve) -> NDArray:
    keys = np.zeros(len(curve.keyframe_points), dtype=KEY)
    for name in keys.dtype.names:
        values = keys[name].copy()
        curve.keyframe_points.foreach_get(name, values.reshape(-1))
        keys[name] = values
    return keys


def _set_keys(curve: bpy.types.FCurve, keys: NDArray) -> None:
    points = curve.keyframe_points
    points.clear()
    points.add(len(keys))
    for name in keys.dtype.names:
        points.foreach_set(name, keys[name].ravel())
    curve.update()


def _kept_keys(curve, start: float, end: float, outside: Outside) -> tuple[NDArray | None, NDArray | None]:
    """Keys that play a curve as before up to the frame before `start` and from the frame after `end`."""
    if not outside.before and not outside.after:
        return None, None
    edges = float(start) - 1.0, float(end) + 1.0
    if len(curve.modifiers) or len(curve.sampled_points):
        before = np.arange(min(np.floor(outside.first), edges[0]), edges[0] + 0.5) if outside.before else None
        after = np.arange(edges[1], max(np.ceil(outside.last), edges[1]) + 0.5) if outside.after else None
        return tuple(None if frames is None else _samples(curve, frames) for frames in (before, after))
    keys = _get_keys(curve)
    # Automatic handles depend on neighbours that are about to be replaced.
    keys["handle_left_type"] = keys["handle_right_type"] = FREE_HANDLE
    before = _keys_before(curve, keys, edges[0]) if outside.before else None
    after = _keys_after(curve, keys, edges[1]) if outside.after else None
    return before, after


def _samples(curve: bpy.types.FCurve, frames: Sequence[float], interpolation: int = LINEAR) -> NDArray:
    return _plain_keys([(frame, curve.evaluate(frame)) for frame in frames], interpolation)


def _keys_before(curve: bpy.types.FCurve, keys: NDArray, edge: float) -> NDArray:
    """Keys that play a curve as before up to the frame `edge`."""
    frames = keys["co"][:, 0]
    count = int((frames <= edge).sum())
    sloped = curve.extrapolation == "LINEAR"
    if count == 0:
        return _samples(curve, [edge - 1.0, edge] if sloped else [edge])
    kept = keys[:count].copy()
    # The last kept key rules the segment that the range cuts.
    kind = int(kept["interpolation"][-1])
    if frames[count - 1] == edge:
        seam = []
    elif kind > LINEAR and count < len(frames):
        seam = np.arange(np.floor(frames[count - 1]) + 1.0, edge + 0.5)
    else:
        seam = [edge]
    kept["interpolation"][-1] = CONSTANT if kind == CONSTANT and len(seam) else LINEAR
    # The first key's slope goes on before it, and a single one has lost what gave it.
    outer = [frames[0] - 1.0] if sloped and count == 1 else []
    return np.concatenate([_samples(curve, outer), kept, _samples(curve, seam)])


def _keys_after(curve: bpy.types.FCurve, keys: NDArray, edge: float) -> NDArray:
    """Keys that play a curve as before from the frame `edge` on."""
    frames = keys["co"][:, 0]
    first = int((frames < edge).sum())
    sloped = curve.extrapolation == "LINEAR"
    if first == len(frames):
        return _samples(curve, [edge, edge + 1.0] if sloped else [edge])
    kept = keys[first:].copy()
    # The last key before those kept rules the segment that the range cuts.
    kind = int(keys["interpolation"][first - 1]) if first else LINEAR
    if frames[first] == edge:
        seam = []
    elif kind > LINEAR:
        seam, kind = np.arange(edge, np.ceil(frames[first]) - 0.5), LINEAR
    else:
        seam = [edge]
    outer = []
    if sloped and first == len(frames) - 1:
        outer = [frames[-1] + 1.0]
        kept["interpolation"][-1] = LINEAR
    return np.concatenate([_samples(curve, seam, kind), kept, _samples(curve, outer)])


# ---- poses ----------------------------------------------------------------------------------------------------------
# A channel this close to rest is left out. Scale is less exact: it comes from products of single precision.
LOCATION_AT_REST = 1e-6  # metres
SCALE_AT_REST = 1e-5


@dataclass(frozen=True)
class Tolerance:
    """What leaving out keys may change: rotation in radians, location in metres, scale as a factor."""

    rotation: float
    location: float
    scale: float = 1e-3


@dataclass(frozen=True)
class Poses:
    """Poses of some bones over a range of frames, relative to their rest (`PoseBone.matrix_basis`)."""

    bones: Sequence[str]  # names
    frames: NDArray  # strictly increasing, shape [f]
    location: NDArray  # metres in armature units, shape [f, bones, 3]
    rotation: NDArray  # unit quaternions (w, x, y, z), shape [f, bones, 4]
    scale: NDArray  # shape [f, bones, 3]
    placed: NDArray | None = None  # of which bones location and scale are written [bones]; None: all

    @classmethod
    def from_matrix_basis(cls, bones: Sequence[str], frames: Sequence[float], matrix_basis: NDArray) -> "Poses":
        """Poses from matrices [f, bones, 4, 4] with axes as columns (`foreach_get` gives them transposed)."""
        return cls(bones, np.asarray(frames, dtype=np.float64), *keyframes.decompose(matrix_basis))


def write_poses(
    writer: KeyWriter, obj, poses: Poses, animated: set[str], tolerance: Tolerance | None, below: dict | None
) -> dict[str, list[float]]:
    """Write the keys of all bones.

    Location is left out for connected bones, which ignore it; location and scale where they stay at rest and nothing
    animates them. A bone whose rotation mode is animated gets the mode's key too, since the rotation is written for the
    mode that the bone has now. Returns the data paths written, with the values that the properties have now.

    Args:
        obj: the character, for the bones' rotation modes and rest values.
        animated: data paths that are animated already.
        tolerance: see `bake`.
        below: what each property of the bones is without the keys [f, bones, channels], by its name; then the keys hold
            what an NLA strip that is combined with it has to add.
    """
    frames = np.asarray(poses.frames, dtype=np.float64)
    locations, scales = poses.location, poses.scale
    if below is not None:
        animated = set()  # the strip's own channels are new
        locations, scales = locations - below["location"], scales / np.where(below["scale"] == 0.0, 1.0, below["scale"])
    pose_bones = [obj.pose.bones[bone] for bone in poses.bones]
    modes = [bone.rotation_mode for bone in pose_bones]
    row_of = {bone.name: row for row, bone in enumerate(obj.pose.bones)}
    columns: list[list[tuple]] = [[] for _ in pose_bones]  # path, keys [channels, keys, 2], rest, hold last key

    @cache
    def rest(prop: str) -> NDArray:
        """Current values of the bones' property [bones, channels]."""
        size = pose_bones[0].bl_rna.properties[prop].array_length
        return values_of(obj.pose.bones, prop, size)[[row_of[bone] for bone in poses.bones]].astype(np.float64)

    def moving(prop: str, values: NDArray, at_rest: float, limit: float) -> NDArray[np.bool_]:
        off = np.abs(values - at_rest).max(axis=(0, 2))
        if below is None:
            off = np.maximum(off, np.abs(rest(prop) - at_rest).max(axis=1))
        return np.array([bone_path(bone, prop) in animated for bone in poses.bones]) | (off > limit)

    connected = np.array([bone.bone.use_connect for bone in pose_bones])
    placed = True if poses.placed is None else poses.placed
    location = np.flatnonzero(moving("location", locations, 0.0, LOCATION_AT_REST) & ~connected & placed)
    scale = np.flatnonzero(moving("scale", scales, 1.0, SCALE_AT_REST) & placed)

    def add(rows, prop, values, allowed, deviation, holds=None) -> None:
        keys, keep = _coordinates(frames, values, allowed, deviation)
        for index, row in enumerate(rows):
            chosen = keys[index] if keep is None else np.ascontiguousarray(keys[index][:, keep[:, index]])
            path = bone_path(poses.bones[row], prop)
            columns[row].append((path, chosen, rest(prop)[row], bool(holds is not None and holds[index])))

    allowed = None if tolerance is None else tolerance.location
    add(location, "location", locations[:, location], allowed, keyframes.distance)
    allowed = None if tolerance is None else tolerance.rotation
    for mode in sorted(set(modes)):
        rows = [row for row, own in enumerate(modes) if own == mode]
        prop = rotation_property(mode)
        paths = [bone_path(poses.bones[row], prop) for row in rows]
        before, after = _values_outside(writer, paths, rest(prop)[rows], frames)
        under = None if below is None else below[prop][:, rows]
        values = keyframes.rotation_channels(mode, poses.rotation[:, rows], before if under is None else under[0])
        if under is not None:
            values = _added(mode, values, under)
        add(rows, prop, values, allowed, _angle(mode), _jumps(mode, values[-1], after))
    allowed = None if tolerance is None else tolerance.scale
    add(scale, "scale", scales[:, scale], allowed, keyframes.distance)
    return _write_columns(writer, pose_bones, columns, frames, animated)


def _angle(mode: str) -> keyframes.Deviation:
    """The angle between rotations that are given as channels of a mode."""
    return lambda *both: quaternion.angle_between(*(keyframes.rotations(mode, channels) for channels in both))


def _added(mode: str, values: NDArray, under: NDArray) -> NDArray:
    """What NLA's *Combine* has to add to rotation channels [f, rows, channels] for them to become the values."""
    if mode == "QUATERNION":
        # Blender takes the angle of what is added from its w alone; keys that are interpolated are not of length 1.
        turns = quaternion.normalize(quaternion.multiply(quaternion.conjugate(under), values))
        return keyframes.rotation_channels(mode, turns)
    return values - under


def write_properties(writer: KeyWriter, obj, frames: NDArray, values: dict, below=None) -> dict[str, list[float]]:
    """Key properties {data path: values [f, channels], or one to hold}; the paths with the properties' values now.

    `below` has what is there without the keys {data path: values [f, channels]} where keys that hold a value are added
    to it. What Blender's *Combine* adds is by how much a strip differs from the property's default.
    """
    now = {path: np.atleast_1d(obj.path_resolve(path)).astype(float).tolist() for path in values}
    for path, given in values.items():
        held, column = np.ndim(given) == 0, np.broadcast_to(given, (len(frames), len(now[path])))
        if held and below is not None:
            own, name, custom = property_at(obj, path)
            known = own.id_properties_ui(name).as_dict()["default"] if custom else own.bl_rna.properties[name].default
            column = column - below[path] + known
        at = sorted({0, len(frames) - 1}) if held and not np.ptp(column, axis=0).any() else range(len(frames))
        keys = np.stack([np.broadcast_to(frames[at, None], column[at].shape), column[at]], axis=-1).transpose(1, 0, 2)
        kind = {"interpolation": CONSTANT} if held else {}
        group = "Switches" if held else "Object Transforms"
        writer.write(path, group, np.ascontiguousarray(keys, dtype=np.float32), rest=now[path], **kind)
    return now


def _write_columns(writer: KeyWriter, pose_bones: list, columns: list, frames: NDArray, animated: set[str]) -> dict:
    """Write the columns of each bone, and its rotation mode where that is animated; what `write_poses` returns."""
    written = {}
    for bone, own in zip(pose_bones, columns):
        mode, path = bone.rotation_mode, bone_path(bone.name, "rotation_mode")
        if path in animated:
            value = bone.bl_rna.properties["rotation_mode"].enum_items[mode].value
            edges = np.array([[[frames[0], value], [frames[-1], value]]], dtype=np.float32)
            writer.write(path, bone.name, edges[:, : min(len(frames), 2)], interpolation=CONSTANT)
            written[path] = [value]
        for path, keys, rest, hold_last in own:
            writer.write(path, bone.name, keys, rest=rest, hold_last=hold_last)
            written[path] = rest.tolist()
    return written


def _coordinates(frames: NDArray, values: NDArray, allowed: float | None, deviation: keyframes.Deviation) -> tuple:
    """(frame, value) as keys store it, shape [rows, channels, f, 2], and which to keep, shape [f, rows]."""
    frame_count, row_count, channel_count = values.shape
    keys = np.empty((row_count, channel_count, frame_count, 2), dtype=np.float32)
    keys[..., 0] = frames
    keys[..., 1] = values.transpose(1, 2, 0)
    if not allowed:
        return keys, None
    stored = keys[..., 1].transpose(2, 0, 1).astype(np.float64)
    return keys, keyframes.keys_to_keep(frames, stored, allowed, deviation)


def _values_outside(writer: KeyWriter, paths: list[str], rest: NDArray, frames: NDArray) -> tuple:
    """Values [paths, channels] on the frames next to the range, None on sides where nothing is kept."""

    def at(frame: float) -> NDArray:
        found = [writer.value_at(path, rest.shape[1], frame) for path in paths]
        return np.array([rest[row] if value is None else value for row, value in enumerate(found)])

    outside = writer.outside
    return at(frames[0] - 1.0) if outside.before else None, at(frames[-1] + 1.0) if outside.after else None


def _jumps(mode: str, last: NDArray, after: NDArray | None) -> NDArray | None:
    """Where going straight from the last baked channels to those after would take a detour, shape [rows]."""
    if after is None:
        return None
    if mode == "QUATERNION":
        return np.sum(last * after, axis=-1) < 0.0
    if mode == "AXIS_ANGLE":
        return (np.sum(last[:, 1:] * after[:, 1:], axis=-1) < 0.0) | (np.abs(last[:, 0] - after[:, 0]) > np.pi)
    return np.abs(last - after).max(axis=-1) > np.pi
