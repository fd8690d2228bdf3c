"""Sampled clips, kept until their action, slot or armature changes.

No reference to Blender's data is kept: entries go by the data's session ids. A change is noticed by the dependency
graph's updates (`mark`, from a `depsgraph_update_post` handler), by the number of curves and keys, which every look-up
checks, and by comparing all keys where that is asked for (`verify`, at the start of a run).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import bpy

from ..errors import RagdollError
from ..motion.clip import Clip
from .action_channels import slot_of
from .clips import action_keys, channels_now, cycle_frames, rig_rest, sample_action, whole_frames


@dataclass
class _Entry:
    clip: Clip
    action: int
    armature: int
    size: tuple
    digest: bytes
    stale: bool = False


class ClipCache:
    """Clips by action, slot, armature object and frame rate.

    Attributes:
        edits: rises whenever a kept clip may be out of date.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple, _Entry] = {}
        self.edits = 0

    def get(
        self,
        action: bpy.types.Action,
        obj: bpy.types.Object,
        slot=None,
        fps: float | None = None,
        verify: bool = False,
        *,
        cycle: bool = False,
    ) -> Clip:
        """The clip of an action on an armature, sampled anew only where something changed.

        Args:
            action, obj, slot, fps: See `clips.sample_action`.
            cycle: Sample to the exact end, as `clips.cycle_frames` says, instead of whole frames.
            verify: Compare all keys with those that were sampled; needed after edits that Blender was not told of.

        Raises:
            RagdollError: see `clips.sample_action`.
        """
        action_id = _id(action, obj)
        slot = slot_of(action, obj) if slot is None else slot
        scene = bpy.context.scene
        fps = scene.render.fps / scene.render.fps_base if fps is None else fps
        key = (action_id, slot.handle if slot is not None else 0, obj.session_uid, fps, cycle)
        size = _size(action, obj, slot)
        entry = self._entries.get(key)
        if entry is not None and entry.size == size and not entry.stale and not verify:
            return entry.clip
        keys = action_keys(action, obj, slot)
        rest = rig_rest(obj)
        digest = hashlib.blake2b(keys.contents(whole_frames(action, keys)))
        for array in (rest.bind.positions, rest.bind.rotations):
            digest.update(array.tobytes())
        digest.update(repr((rest.skeleton.names, rest.modes, rest.special, action.frame_range[:])).encode())
        if entry is None or entry.size != size or entry.digest != digest.digest():
            frames = cycle_frames(action, keys) if cycle else None
            clip = sample_action(action, obj, slot=slot, frames=frames, fps=fps, rest=rest, keys=keys)
            entry = _Entry(clip, action_id, obj.data.session_uid, size, digest.digest())
            self._entries[key] = entry
        entry.stale = False
        return entry.clip

    def mark(self, depsgraph: bpy.types.Depsgraph) -> None:
        """Note which actions and armatures were edited; for a `depsgraph_update_post` handler."""
        edited = {
            update.id.original.session_uid
            for update in depsgraph.updates
            if isinstance(update.id, (bpy.types.Action, bpy.types.Armature))
        }
        self._mark([entry for entry in self._entries.values() if edited & {entry.action, entry.armature}])

    def verify_all(self) -> None:
        """Have every clip compared with its action's keys when it is asked for next, as at the start of a shot."""
        self._mark(list(self._entries.values()))

    def _mark(self, entries: list) -> None:
        for entry in entries:
            entry.stale = True
        self.edits += bool(entries)

    def __len__(self) -> int:
        return len(self._entries)

    def clear(self) -> None:
        """Forget everything: another file was loaded, or something was undone."""
        self._entries.clear()
        self.edits += 1


def _id(action: bpy.types.Action, obj: bpy.types.Object) -> int:
    if action is None:
        raise RagdollError(f"No action is chosen for '{obj.name}'")
    try:
        return action.session_uid
    except ReferenceError:
        raise RagdollError(f"An action of '{obj.name}' was deleted while in use") from None


def _size(action: bpy.types.Action, obj: bpy.types.Object, slot) -> tuple:
    curves = channels_now(action, slot)
    modes = tuple(bone.rotation_mode for bone in obj.pose.bones)
    return len(curves), sum(len(curve.keyframe_points) for curve in curves), action.name, modes
