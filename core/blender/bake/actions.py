"""Swapping actions for a bake: layered ones with slots (Blender 4.4 and later) and the older ones.

`bake` makes an action that plays given poses of some bones and changes nothing else; `save` and `restore` put the old
one back. How the baked action and the old animation share the character:

- **No NLA is played** (no unmuted track, or NLA switched off): the baked action is a copy of the old one with all its
  slots and channels; the baked bones' channels are replaced inside the baked range. A segment that the range cuts is
  sampled on whole frames up to the range's edge and kept keys' handles are frozen, so that the old animation plays
  exactly on every whole frame outside. On a side without old keys the first or last baked pose is held.
- **NLA tracks are played**: the baked action has the baked channels only and plays on top of the tracks (REPLACE,
  influence 1). Where the tracks go on outside the range they are seen there (extrapolation NOTHING or HOLD_FORWARD),
  otherwise the baked pose is held. An old action on top of the tracks gets a strip of its own in a new topmost track,
  with its own blending, so that it still acts below the bake.
- **A solo track** makes Blender ignore the action altogether, so the solo is exchanged for mutes of all others.
- Drivers of baked channels are muted, as they would win over keys. Muted tracks stay muted.

What an old action or the tracks would give for a baked channel is always overruled: a channel is left out only if
nothing animates it and it stays at rest.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import contextlib
import bpy
from numpy.typing import NDArray

from ...errors import RagdollError
from ..rig.action_channels import (
    ROTATION_PROPERTIES,
    assign,
    bone_path,
    channels_of,
    current,
    curves_of,
    has_slots,
    new_action_for,
    rotation_property,
)
from .action_keys import KeyWriter, Outside, Poses, Tolerance, write_poses

# A strip that stands for an endless action; powers of two keep whole frames exact in single precision.
ENDLESS = 2.0**15


# Attributes of AnimData that an `AnimationState` keeps, by its own names.
_KEPT = {
    "blend_type": "action_blend_type",
    "extrapolation": "action_extrapolation",
    "influence": "action_influence",
    "use_nla": "use_nla",
}

# ---- saving and restoring what a bake changes -----------------------------------------------------------------------


@dataclass
class AnimationState:
    """Everything that `bake` changes on the character but the action itself, which is kept as a pointer."""

    had_animation_data: bool = False
    slot_handle: int = 0  # handle of the assigned slot, 0 where there is none
    last_slot: str = ""
    blend_type: str = "REPLACE"
    extrapolation: str = "HOLD"
    influence: float = 1.0
    use_nla: bool = True
    tracks: list[tuple[str, bool, bool]] = field(default_factory=list)  # (name, mute, is_solo) of every NLA track
    pushed_track: str = ""  # name of the track that `bake` added for the old action, "" if none
    # (data path, index) of the drivers that `bake` muted
    muted_drivers: list[tuple[str, int]] = field(default_factory=list)
    # values by data path of channels that only the baked action animates. Blender writes evaluated values back to the
    # properties, so they have to be put back by hand.
    rest: dict[str, list[float]] = field(default_factory=dict)


def save(obj: bpy.types.Object) -> AnimationState:
    """How the object's action is assigned and its NLA set, for `restore`."""
    animation = obj.animation_data
    if animation is None:
        return AnimationState()
    return AnimationState(
        had_animation_data=True,
        slot_handle=animation.action_slot_handle if has_slots() else 0,
        last_slot=animation.last_slot_identifier if has_slots() else "",
        tracks=[(track.name, track.mute, track.is_solo) for track in animation.nla_tracks],
        **{name: getattr(animation, own) for name, own in _KEPT.items()},
    )


def restore(obj: bpy.types.Object, state: AnimationState, action: bpy.types.Action | None) -> None:
    """Put back what `save` has read. The baked action stays in the file.

    Args:
        state: what `bake` or `save` returned.
        action: the one that was assigned then.

    Raises:
        RagdollError: the object is in NLA tweak mode, where Blender allows no other action.
    """
    animation = obj.animation_data_create()
    _refuse_tweak_mode(obj)
    slot = None
    if has_slots() and action is not None:
        slot = next((s for s in action.slots if s.handle == state.slot_handle), None)
    assign(obj, action, slot)
    if has_slots() and animation.last_slot_identifier != state.last_slot:
        animation.last_slot_identifier = state.last_slot
    for name, own in _KEPT.items():
        setattr(animation, own, getattr(state, name))

    pushed = animation.nla_tracks.get(state.pushed_track)
    if state.pushed_track and pushed is not None:
        animation.nla_tracks.remove(pushed)
    for switch, place in (("mute", 1), ("is_solo", 2)):
        for was in state.tracks:
            track = animation.nla_tracks.get(was[0])
            if track is not None and getattr(track, switch) != was[place]:
                setattr(track, switch, was[place])

    muted = {tuple(key) for key in state.muted_drivers}
    for driver in animation.drivers:
        if (driver.data_path, driver.array_index) in muted:
            driver.mute = False
    for path, values in state.rest.items():
        _write_property(obj, path, values)
    if not state.had_animation_data and not len(animation.drivers) and not len(animation.nla_tracks):
        obj.animation_data_clear()


def _refuse_tweak_mode(obj: bpy.types.Object) -> None:
    if obj.animation_data is not None and obj.animation_data.use_tweak_mode:
        raise RagdollError(f'"{obj.name}": leave the tweak mode of the NLA editor first (Tab)')


def _write_property(obj: bpy.types.Object, path: str, values: Sequence[float]) -> None:
    owner, _, name = path.rpartition(".")
    # The bone may have been renamed or removed since, or the file was damaged.
    with contextlib.suppress(ValueError, AttributeError, TypeError):
        setattr(obj.path_resolve(owner), name, values)


def _played_strips(animation: bpy.types.AnimData) -> Iterator[bpy.types.NlaStrip]:
    """The strips of the tracks that Blender evaluates, those inside meta strips included."""
    if not animation.use_nla:
        return
    tracks = [track for track in animation.nla_tracks if track.is_solo] or animation.nla_tracks
    waiting = [strip for track in tracks if not track.mute for strip in track.strips]
    while waiting:
        strip = waiting.pop()
        if strip.mute:
            continue
        waiting.extend(strip.strips)
        yield strip


# ---- the bake -------------------------------------------------------------------------------------------------------


def bake(
    obj: bpy.types.Object, poses: Poses, name: str, *, tolerance: Tolerance | None = None
) -> tuple[bpy.types.Action, AnimationState]:
    """Make an action that plays the poses, and play it on the character.

    Args:
        poses: at least one frame.
        name: of the action.
        tolerance: leave out keys within it; None keeps a key on every frame.

    Returns:
        The action, and what `restore` needs together with the old action, which is unchanged.

    Raises:
        RagdollError: a bone does not exist, or the object is in NLA tweak mode. Nothing is changed then.
    """
    missing = next((bone for bone in poses.bones if bone not in obj.pose.bones), None)
    if missing is not None:
        raise RagdollError(f'"{obj.name}" has no bone "{missing}"')
    _refuse_tweak_mode(obj)
    state = save(obj)
    old_action, _ = current(obj)
    existing = _Existing.of(obj)
    baked, slot = existing.copy(name) if existing.is_copied else new_action_for(obj, name)
    try:
        if existing.is_copied:
            _remove_inactive_rotations(obj, poses.bones, channels_of(baked, slot), existing.paths)
        outside = existing.outside(poses.frames)
        writer = KeyWriter(channels_of(baked, slot, ensure=True), outside if existing.is_copied else Outside())
        written = write_poses(writer, obj, poses, existing.paths, tolerance)
        state.rest = {path: values for path, values in written.items() if path not in existing.paths}
        _play(obj, baked, slot, existing, outside, state)
        _mute_drivers(obj, written, state)
    except BaseException:
        restore(obj, state, old_action)
        bpy.data.actions.remove(baked)
        raise
    return baked, state


@dataclass(frozen=True)
class _Existing:
    """What animated the character before the bake."""

    # action, slot: the action that Blender evaluates, None where there is none
    action: bpy.types.Action | None
    slot: object
    strips: list[tuple[float, float]]  # (first, last frame) of the NLA strips that Blender evaluates
    paths: set[str]  # data paths of everything that is animated

    @classmethod
    def of(cls, obj: bpy.types.Object) -> "_Existing":
        """Read it from an object."""
        animation = obj.animation_data
        if animation is None:
            return cls(None, None, [], set())
        action, slot = current(obj)
        solo = animation.use_nla and any(track.is_solo for track in animation.nla_tracks)
        if solo or (has_slots() and slot is None):
            action = slot = None
        strips = list(_played_strips(animation))
        played = [(strip.action, strip.action_slot if has_slots() else None) for strip in strips]
        paths = {curve.data_path for one in ((action, slot), *played) for curve in curves_of(*one)}
        paths.update(driver.data_path for driver in animation.drivers if not driver.mute)
        return cls(action, slot, [(strip.frame_start, strip.frame_end) for strip in strips], paths)

    @property
    def is_copied(self) -> bool:
        """Whether the baked action begins as a copy of the old one."""
        return self.action is not None and not self.strips

    def copy(self, name: str) -> tuple[bpy.types.Action, object]:
        """The old action's copy and its slot."""
        copy = self.action.copy()
        copy.name = name
        copy.use_fake_user = False
        if copy.asset_data is not None:
            copy.asset_clear()
        slot = next(s for s in copy.slots if s.handle == self.slot.handle) if has_slots() else None
        return copy, slot

    def outside(self, frames: NDArray) -> Outside:
        """On which sides of the frames this animation goes on."""
        curves = [c for c in curves_of(self.action, self.slot) if len(c.keyframe_points) or len(c.sampled_points)]
        spans = [*self.strips, *(curve.range() for curve in curves)]
        if not spans:
            return Outside()
        first, last = min(span[0] for span in spans), max(span[1] for span in spans)
        return Outside(first < frames[0], last > frames[-1], first, last)


def _remove_inactive_rotations(obj, bones: Sequence[str], channels, animated: set[str]) -> None:
    """Remove keys of rotation modes that the bones are not in; they would be stale."""
    if channels is None:
        return
    stale = {
        bone_path(bone, prop)
        for bone in bones
        if bone_path(bone, "rotation_mode") not in animated
        for prop in ("rotation_euler", *ROTATION_PROPERTIES.values())
        if prop != rotation_property(obj.pose.bones[bone].rotation_mode)
    }
    for curve in [curve for curve in channels.fcurves if curve.data_path in stale]:
        channels.fcurves.remove(curve)


def _play(obj, baked: bpy.types.Action, slot, existing: _Existing, outside: Outside, state: AnimationState) -> None:
    """Assign the baked action so that it alone decides over its channels."""
    animation = obj.animation_data_create()
    if animation.use_nla and any(is_solo for _, _, is_solo in state.tracks):
        for track, (_, _, was_solo) in zip(animation.nla_tracks, state.tracks):
            if was_solo:
                track.is_solo = False
            else:
                track.mute = True
    if existing.action is not None and existing.strips:
        state.pushed_track = _push_down(animation, existing, state)
    assign(obj, baked, slot)
    animation.action_blend_type = "REPLACE"
    animation.action_influence = 1.0
    if existing.strips and outside.after:
        animation.action_extrapolation = "NOTHING"
    elif existing.strips and outside.before:
        animation.action_extrapolation = "HOLD_FORWARD"
    else:
        animation.action_extrapolation = "HOLD"


def _push_down(animation: bpy.types.AnimData, existing: _Existing, state: AnimationState) -> str:
    """Let the old action play from a strip of its own in a new topmost track; the track's name."""
    action = existing.action
    first, last = action.curve_frame_range
    start = -ENDLESS if state.extrapolation == "HOLD" else first
    end = last if state.extrapolation == "NOTHING" else ENDLESS
    track = animation.nla_tracks.new(prev=animation.nla_tracks[-1])
    track.name = action.name
    strip = track.strips.new(action.name, int(first), action)
    if has_slots():
        strip.action_slot = existing.slot
    strip.use_sync_length = False
    strip.use_auto_blend = False
    strip.action_frame_start, strip.action_frame_end = start, end
    strip.frame_start_raw, strip.frame_end_raw = start, end
    strip.extrapolation = state.extrapolation
    strip.blend_type = state.blend_type
    if state.influence != 1.0:
        # A strip's influence is 1 unless it is animated.
        strip.use_animated_influence = True
        strip.fcurves.find("influence").keyframe_points.insert(first, state.influence)
    return track.name


def _mute_drivers(obj, paths: Collection[str], state: AnimationState) -> None:
    for driver in obj.animation_data.drivers:
        if driver.data_path in paths and not driver.mute:
            driver.mute = True
            state.muted_drivers.append((driver.data_path, driver.array_index))
