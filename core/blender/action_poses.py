"""Poses as keys: which properties of which bones need them, in every bone's own rotation mode."""

from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from .. import key_reduction, rotation_modes
from .action_channels import bone_path, rotation_property
from .action_keys import CONSTANT, KeyWriter

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
    """Poses of some bones over a range of frames, relative to their rest (`PoseBone.matrix_basis`).

    Attributes:
        bones: Names.
        frames: Strictly increasing, shape [f].
        location: Metres in armature units, shape [f, bones, 3].
        rotation: Unit quaternions (w, x, y, z), shape [f, bones, 4].
        scale: Shape [f, bones, 3].
    """

    bones: Sequence[str]
    frames: NDArray
    location: NDArray
    rotation: NDArray
    scale: NDArray

    @classmethod
    def from_matrix_basis(cls, bones: Sequence[str], frames: Sequence[float], matrix_basis: NDArray) -> "Poses":
        """Poses from matrices [f, bones, 4, 4] with axes as columns (`foreach_get` gives them transposed)."""
        return cls(bones, np.asarray(frames, dtype=np.float64), *rotation_modes.decompose(matrix_basis))


def write_poses(
    writer: KeyWriter,
    obj: bpy.types.Object,
    poses: Poses,
    animated: set[str],
    tolerance: Tolerance | None = None,
) -> dict[str, list[float]]:
    """Write the keys of all bones.

    Location is left out for connected bones, which ignore it; location and scale where they stay at rest and
    nothing animates them. A bone whose rotation mode is animated gets the mode's key too, since the rotation
    is written for the mode that the bone has now.

    Args:
        writer: Where to.
        obj: The character, for the bones' rotation modes and rest values.
        poses: What to write.
        animated: Data paths that are animated already.
        tolerance: See `bake`.

    Returns:
        The data paths written, with the values that the properties have now.
    """
    frames = np.asarray(poses.frames, dtype=np.float64)
    pose_bones = [obj.pose.bones[bone] for bone in poses.bones]
    modes = [bone.rotation_mode for bone in pose_bones]
    rest = _Rest(obj, poses.bones)
    columns: list[list[_Column]] = [[] for _ in pose_bones]

    def moving(prop: str, values: NDArray, at_rest: float, limit: float) -> NDArray[np.bool_]:
        off = np.maximum(np.abs(values - at_rest).max(axis=(0, 2)), np.abs(rest[prop] - at_rest).max(axis=1))
        return np.array([bone_path(bone, prop) in animated for bone in poses.bones]) | (off > limit)

    connected = np.array([bone.bone.use_connect for bone in pose_bones])
    location = np.flatnonzero(moving("location", poses.location, 0.0, LOCATION_AT_REST) & ~connected)
    scale = np.flatnonzero(moving("scale", poses.scale, 1.0, SCALE_AT_REST))

    def add(rows, prop, values, allowed, deviation, holds=None) -> None:
        keys, keep = _coordinates(frames, values, allowed, deviation)
        for index, row in enumerate(rows):
            chosen = keys[index] if keep is None else np.ascontiguousarray(keys[index][:, keep[:, index]])
            path = bone_path(poses.bones[row], prop)
            hold_last = bool(holds is not None and holds[index])
            columns[row].append(_Column(path, chosen, rest[prop][row], hold_last))

    allowed = None if tolerance is None else tolerance.location
    add(location, "location", poses.location[:, location], allowed, key_reduction.distance)
    for mode in sorted(set(modes)):
        rows = [row for row, own in enumerate(modes) if own == mode]
        prop = rotation_property(mode)
        paths = [bone_path(poses.bones[row], prop) for row in rows]
        before, after = _values_outside(writer, paths, rest[prop][rows], frames)
        values = rotation_modes.rotation_channels(mode, poses.rotation[:, rows], before)

        def deviation(line, samples, mode=mode):
            return key_reduction.quaternion_angle(
                rotation_modes.rotations(mode, line), rotation_modes.rotations(mode, samples)
            )

        allowed = None if tolerance is None else tolerance.rotation
        add(rows, prop, values, allowed, deviation, _jumps(mode, values[-1], after))
    allowed = None if tolerance is None else tolerance.scale
    add(scale, "scale", poses.scale[:, scale], allowed, key_reduction.distance)

    written = {}
    for bone, mode, own in zip(pose_bones, modes, columns):
        path = bone_path(bone.name, "rotation_mode")
        if path in animated:
            value = bone.bl_rna.properties["rotation_mode"].enum_items[mode].value
            edges = np.array([[[frames[0], value], [frames[-1], value]]], dtype=np.float32)
            writer.write(path, bone.name, edges[:, : min(len(frames), 2)], interpolation=CONSTANT)
            written[path] = [value]
        for column in own:
            values = column.rest if column.path not in animated else None
            writer.write(column.path, bone.name, column.keys, rest=values, hold_last=column.hold_last)
            written[column.path] = column.rest.tolist()
    return written


class _Rest:
    """Current values of the bones' properties by name of the property, shape [bones, channels]."""

    def __init__(self, obj: bpy.types.Object, bones: Sequence[str]) -> None:
        self._pose_bones = obj.pose.bones
        row = {bone.name: index for index, bone in enumerate(self._pose_bones)}
        self._rows = [row[bone] for bone in bones]
        self._values: dict[str, NDArray] = {}

    def __getitem__(self, prop: str) -> NDArray:
        if prop not in self._values:
            size = self._pose_bones[0].bl_rna.properties[prop].array_length
            values = np.empty(len(self._pose_bones) * size, dtype=np.float32)
            self._pose_bones.foreach_get(prop, values)
            self._values[prop] = values.reshape(-1, size)[self._rows].astype(np.float64)
        return self._values[prop]


@dataclass(frozen=True)
class _Column:
    """Keys of one property: coordinates [channels, keys, 2], rest values, whether the last key is held."""

    path: str
    keys: NDArray[np.float32]
    rest: NDArray
    hold_last: bool


def _coordinates(
    frames: NDArray, values: NDArray, allowed: float | None, deviation: key_reduction.Deviation
) -> tuple[NDArray[np.float32], NDArray[np.bool_] | None]:
    """(frame, value) as keys store it, shape [rows, channels, f, 2], and which to keep, shape [f, rows]."""
    frame_count, row_count, channel_count = values.shape
    keys = np.empty((row_count, channel_count, frame_count, 2), dtype=np.float32)
    keys[..., 0] = frames
    keys[..., 1] = values.transpose(1, 2, 0)
    if not allowed:
        return keys, None
    stored = keys[..., 1].transpose(2, 0, 1).astype(np.float64)
    return keys, key_reduction.keys_to_keep(frames, stored, allowed, deviation)


def _values_outside(
    writer: KeyWriter, paths: list[str], rest: NDArray, frames: NDArray
) -> tuple[NDArray | None, NDArray | None]:
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
        turned = np.sum(last[:, 1:] * after[:, 1:], axis=-1) < 0.0
        return turned | (np.abs(last[:, 0] - after[:, 0]) > np.pi)
    return np.abs(last - after).max(axis=-1) > np.pi
