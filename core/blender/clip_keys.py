"""Keys of an action as arrays, read once and no more than the frames asked for need."""

from __future__ import annotations

from collections.abc import Iterable

import bpy
import numpy as np
from numpy.typing import NDArray

from ..motion import easing
from ..motion.curves import CurveKeys, on_keys


class ActionKeys:
    """The curves of an action's slot that do something.

    Attributes:
        paths: Data path and array index of each curve [c].
        curves: Keys of those curves that are evaluated from arrays.
        own: Their columns, places in `paths`.
        range: First and last frame with a key.
    """

    def __init__(self, fcurves: Iterable[bpy.types.FCurve]) -> None:
        self.paths: list[tuple[str, int]] = []
        self._fcurves: list[bpy.types.FCurve] = []
        own, host, buffers = [], [], []
        for curve in fcurves:
            group = curve.group
            points = curve.keyframe_points
            count = len(points)
            if curve.mute or (group is not None and group.mute) or (count == 0 and curve.is_empty):
                continue
            column = len(self.paths)
            path = curve.data_path
            self.paths.append((path, curve.array_index))
            self._fcurves.append(curve)
            # Blender rounds rotation modes and the like to whole numbers; modifiers and baked samples are its own.
            if count == 0 or len(curve.modifiers) or path.endswith(".rotation_mode"):
                host.append(column)
                continue
            co = np.empty(2 * count, dtype=np.float32)
            points.foreach_get("co", co)
            buffers.append(co)
            own.append(column)
        self.own = np.array(own, dtype=np.intp)
        self._host = host
        self.range = self._key_range(buffers)
        starts = np.concatenate([[0], np.cumsum([len(co) // 2 for co in buffers], dtype=np.intp)]).astype(np.intp)
        co = np.concatenate(buffers).reshape(-1, 2) if buffers else np.empty((0, 2), dtype=np.float32)
        self.curves = CurveKeys.plain(starts, co, easing.CONSTANT)
        extend = [self._fcurves[column].extrapolation == "LINEAR" for column in own]
        self.curves.extrapolate = np.array(extend, dtype=bool)
        self._complete = False

    def _key_range(self, buffers: list[NDArray]) -> tuple[float, float]:
        firsts, lasts = [co[0] for co in buffers], [co[-2] for co in buffers]
        for column in self._host:
            first, last = self._fcurves[column].range()
            firsts.append(first)
            lasts.append(last)
        return (float(min(firsts)), float(max(lasts))) if firsts else (0.0, 0.0)

    def load_for(self, frames: NDArray) -> None:
        """Read interpolation and handles too, unless all frames are on keys (where they do not matter).

        Curves that `CurveKeys` cannot express are handed to Blender from then on.
        """
        curves = self.curves
        if self._complete or not len(self.own):
            return
        if not curves.extrapolate.any() and on_keys(curves, frames):
            return
        self._load()

    def _load(self) -> None:
        if self._complete or not len(self.own):
            return
        self._complete = True
        curves = self.curves
        interpolation = self._read("interpolation", 1, np.int32)
        curves.interpolation = interpolation
        if (interpolation == easing.BEZIER).any() or curves.extrapolate.any():
            curves.left = self._read("handle_left", 2, np.float32)
            curves.right = self._read("handle_right", 2, np.float32)
        if np.isin(interpolation, easing.EASED).any():
            curves.easing = self._read("easing", 1, np.int32)
            curves.back = self._read("back", 1, np.float32)

    def contents(self, frames: NDArray) -> bytes:
        """All that decides the curves' values, as bytes to compare; curves that Blender evaluates by their values."""
        self._load()
        curves = self.curves
        parts = [repr(self.paths).encode()]
        for array in (curves.starts, curves.co, curves.left, curves.right, curves.interpolation):
            parts.append(np.ascontiguousarray(array).tobytes())
        parts += [np.ascontiguousarray(a).tobytes() for a in (curves.easing, curves.back, curves.extrapolate)]
        for curve in self.by_host().values():
            parts.append(np.array([curve.evaluate(frame) for frame in frames.tolist()]).tobytes())
        return b"".join(parts)

    def by_host(self) -> dict[int, bpy.types.FCurve]:
        """Columns and curves whose values Blender has to evaluate."""
        columns = list(self._host)
        if self._complete:
            columns += self.own[self.curves.unsupported()].tolist()
        return {column: self._fcurves[column] for column in columns}

    def _read(self, prop: str, size: int, dtype: type) -> NDArray:
        """A property of all keys [K] or [K, size]."""
        parts = []
        starts = self.curves.starts.tolist()
        for column, start, stop in zip(self.own.tolist(), starts[:-1], starts[1:], strict=True):
            values = np.empty((stop - start) * size, dtype=dtype)
            self._fcurves[column].keyframe_points.foreach_get(prop, values)
            parts.append(values)
        values = np.concatenate(parts)
        return values if size == 1 else values.reshape(-1, size)


def read_keys(fcurves: Iterable[bpy.types.FCurve]) -> ActionKeys:
    """Read the keys of curves; muted ones, those of muted groups and empty ones are left out."""
    return ActionKeys(fcurves)
