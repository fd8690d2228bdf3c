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
- **CURRENT** keys the present action itself, whoever else uses it; a copy from before takes its place on the way back.
- **LAYER** leaves the animation below as it is and plays the baked channels from a strip in a new topmost track.
- Drivers of baked channels are muted, as they would win over keys, but those of controls, for which poses with them
  were found. Muted tracks stay muted.

What an old action or the tracks would give for a baked channel is always overruled: a channel is left out only if
nothing animates it and it stays at rest.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import bpy
from numpy.typing import NDArray

from ...errors import RagdollError
from ..rig import action_channels
from .action_keys import KeyWriter, Outside, Poses, write_poses, write_properties

# A strip that stands for an endless action; powers of two keep whole frames exact in single precision.
ENDLESS = 2.0**15
NO = False, False  # before a bake's frames, after them
DESTINATIONS = NEW, CURRENT, LAYER = "NEW", "CURRENT", "LAYER"

# Attributes of AnimData that an `AnimationState` keeps, by its own names.
_KEPT = {name: f"action_{name}" for name in ("blend_type", "extrapolation", "influence")} | {"use_nla": "use_nla"}


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
    layer_track: str = ""  # and of the one for the baked action
    rest_track: str = ""  # and of the one below them that holds what is written of `rest`
    in_place: bool = False  # whether the old action is a copy, and the baked one is that which was there before
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
    slots = (animation.action_slot_handle, animation.last_slot_identifier) if action_channels.has_slots() else (0, "")
    tracks = [(track.name, track.mute, track.is_solo) for track in animation.nla_tracks]
    return AnimationState(True, *slots, tracks=tracks, **{n: getattr(animation, own) for n, own in _KEPT.items()})


def restore(obj, state: AnimationState, action: bpy.types.Action | None, baked=None, others=frozenset()) -> None:
    """Put back what `save` has read. The baked action stays in the file.

    Raises RagdollError: the object is in NLA tweak mode, where Blender allows no other action.

    Args:
        state: what `bake` or `save` returned.
        action: the one that was assigned then, or its copy from before a bake into the current action.
        baked: the baked action. others: actions that other baked characters play, as duplicates do.
    """
    animation = obj.animation_data_create()
    _refuse_tweak_mode(obj)
    if state.in_place and action is not None and baked is not None and baked not in others:
        # The copy from before the bake has the name and the users again.
        name = baked.name
        baked.user_remap(action)
        baked.name = f"{name} Ragdoll Bake"
        action.name = name
    slot = None
    if action_channels.has_slots() and action is not None:
        slot = next((s for s in action.slots if s.handle == state.slot_handle), None)
    action_channels.assign(obj, action, slot)
    if action_channels.has_slots() and animation.last_slot_identifier != state.last_slot:
        animation.last_slot_identifier = state.last_slot
    for name, own in _KEPT.items():
        setattr(animation, own, getattr(state, name))
    for name in filter(None, (state.pushed_track, state.layer_track, state.rest_track)):
        if (track := animation.nla_tracks.get(name)) is not None:
            held = {strip.action for strip in track.strips if name == state.rest_track} - {None}
            animation.nla_tracks.remove(track)
            bpy.data.batch_remove(held - others)
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
    # The bone may have been renamed or removed since, or the file was damaged.
    with contextlib.suppress(ValueError, AttributeError, TypeError, KeyError, IndexError):
        target, name, custom = action_channels.property_at(obj, path)
        if custom:
            target[name] = type(target[name])(values[0])
        else:
            now = getattr(target, name)
            setattr(target, name, values if hasattr(now, "__len__") else type(now)(values[0]))


@contextlib.contextmanager
def repeated(obj: bpy.types.Object, first: int, last: int, times: int):
    """While it lasts, the range of an action that plays alone comes again and again; other animation plays on. Raises
    RagdollError: the object is in NLA tweak mode."""
    _refuse_tweak_mode(obj)
    existing, state = _Existing.of(obj), save(obj)
    if not existing.is_copied:
        yield
        return
    animation = obj.animation_data
    try:
        action_channels.assign(obj, None, None)
        state.layer_track, strip = _new_strip(animation, existing.action, existing.slot, first, last)
        animation.use_nla, strip.repeat = True, times
        for track in animation.nla_tracks[:-1]:
            track.mute = True
        yield
    finally:
        restore(obj, state, existing.action)


# ---- the bake -------------------------------------------------------------------------------------------------------
def bake(
    obj, poses: Poses, name, *, tolerance=None, destination=NEW, below=None, properties=None, goes_on=NO, overrules=True
) -> tuple[bpy.types.Action, bpy.types.Action | None, AnimationState]:
    """Make an action that plays the poses, and play it on the character.

    Returns the action, the old one as it was, and what `restore` needs together with it. Raises RagdollError: a bone
    does not exist, the object is in NLA tweak mode, or the current action was asked for and is not alone in animating
    the object. Nothing is changed then.

    Args:
        poses: at least one frame. name: of the action.
        tolerance: leave out keys within it; None keeps a key on every frame.
        destination: NEW, CURRENT or LAYER, see above.
        below: of a layer that is combined with the animation below it, what that gives; see `write_poses`.
        properties: keyed beside the bones, see `write_properties`.
        overrules: whether drivers of bones and properties that are keyed are muted; else they have the last word.
        goes_on: whether the animation is kept before and after them, also where it has no keys any more.
    """
    missing = next((bone for bone in poses.bones if bone not in obj.pose.bones), None)
    if missing is not None:
        raise RagdollError(f'"{obj.name}" has no bone "{missing}"')
    _refuse_tweak_mode(obj)
    state = save(obj)
    old, _ = action_channels.current(obj)
    existing = _Existing.of(obj)
    state.in_place = destination == CURRENT
    if state.in_place:
        old = existing.kept(obj)
        baked, slot = existing.action, existing.slot
    elif destination == NEW and existing.is_copied:
        baked, slot = existing.copy(name)
    else:
        baked, slot = action_channels.new_action_for(obj, name)
    try:
        is_copy = destination != LAYER and existing.is_copied
        if is_copy:
            _remove_inactive_rotations(obj, poses.bones, action_channels.channels_of(baked, slot), existing.paths)
        outside = existing.outside(poses.frames, goes_on)
        writer = KeyWriter(action_channels.channels_of(baked, slot, ensure=True), outside if is_copy else Outside())
        written = write_poses(writer, obj, poses, existing.paths, tolerance, below)
        written |= write_properties(writer, obj, poses.frames, properties or {}, below)
        still = {(p, i): v for p, own in written.items() for i, v in enumerate(own) if (p, i) not in existing.keyed}
        state.rest = {path: written[path] for path, _index in still}
        if still and (destination == LAYER or existing.strips):
            state.rest_track = _hold_rest(obj, f"{name} Rest", still)
        if destination == LAYER:
            _lay_over(obj, baked, slot, existing, "REPLACE" if below is None else "COMBINE", poses.frames, state)
        else:
            _play(obj, baked, slot, existing, outside, state)
        for driver in obj.animation_data.drivers:
            of_object = driver.data_path == "location"  # root motion
            if driver.data_path in written and not driver.mute and (overrules or of_object):
                driver.mute = True
                state.muted_drivers.append((driver.data_path, driver.array_index))
    except BaseException:
        restore(obj, state, old, baked)
        bpy.data.actions.remove(baked)
        raise
    return baked, old, state


@dataclass(frozen=True)
class _Existing:
    """What animated the character before the bake."""

    # action, slot: the action that Blender evaluates, None where there is none
    action: bpy.types.Action | None
    slot: object
    strips: list[tuple[float, float]]  # (first, last frame) of the NLA strips that Blender evaluates
    keyed: dict[tuple, bpy.types.FCurve]  # by (data path, index), of all that has keys
    paths: set[str]  # data paths of everything that is animated

    @classmethod
    def of(cls, obj: bpy.types.Object) -> "_Existing":
        """Read it from an object."""
        animation = obj.animation_data
        if animation is None:
            return cls(None, None, [], {}, set())
        action, slot = action_channels.current(obj)
        solo = animation.use_nla and any(track.is_solo for track in animation.nla_tracks)
        if solo or (action_channels.has_slots() and slot is None):
            action = slot = None
        strips = list(action_channels.played_strips(animation))
        played = [(strip.action, strip.action_slot if action_channels.has_slots() else None) for strip in strips]
        curves = [curve for one in ((action, slot), *played) for curve in action_channels.curves_of(*one)]
        keyed = {(curve.data_path, curve.array_index): curve for curve in curves}
        paths = {path for path, _index in keyed} | {curve.data_path for curve in animation.drivers if not curve.mute}
        return cls(action, slot, [(strip.frame_start, strip.frame_end) for strip in strips], keyed, paths)

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
        slot = next(s for s in copy.slots if s.handle == self.slot.handle) if action_channels.has_slots() else None
        return copy, slot

    def kept(self, obj) -> bpy.types.Action:
        """A copy of the action, which is about to be keyed itself. Raises RagdollError: there is none, it is another
        file's, or it is not alone in animating the object."""
        if self.action is None:
            raise RagdollError(f"'{obj.name}' has no action to bake into: choose a new one")
        if self.strips:
            raise RagdollError(f"'{obj.name}' plays NLA tracks: choose a new action or a layer over them")
        if self.action.library is not None:
            text = f"The action '{self.action.name}' of '{obj.name}' is linked: choose a new one or a layer"
            raise RagdollError(text)
        copy = self.action.copy()
        copy.name = f"{self.action.name} before Ragdoll Bake"
        return copy

    def outside(self, frames: NDArray, always: tuple[bool, bool]) -> Outside:
        """On which sides of the frames this animation goes on, or is held."""
        curves = action_channels.curves_of(self.action, self.slot)
        spans = [*self.strips, *(c.range() for c in curves if len(c.keyframe_points) or len(c.sampled_points))]
        if not spans:
            return Outside()
        first, last = min(span[0] for span in spans), max(span[1] for span in spans)
        return Outside(always[0] or first < frames[0], always[1] or last > frames[-1], first, last)


def _remove_inactive_rotations(obj, bones: Sequence[str], channels, animated: set[str]) -> None:
    """Remove keys of rotation modes that the bones are not in; they would be stale."""
    if channels is None:
        return
    path, kinds = action_channels.bone_path, {"rotation_euler", *action_channels.ROTATION_PROPERTIES.values()}
    still = [obj.pose.bones[bone] for bone in bones if path(bone, "rotation_mode") not in animated]
    modes = [(bone.name, action_channels.rotation_property(bone.rotation_mode)) for bone in still]
    stale = {path(name, kind) for name, mode in modes for kind in kinds - {mode}}
    for curve in [curve for curve in channels.fcurves if curve.data_path in stale]:
        channels.fcurves.remove(curve)


def _play(obj, baked: bpy.types.Action, slot, existing: _Existing, outside: Outside, state: AnimationState) -> None:
    """Assign the baked action so that it alone decides over its channels."""
    animation = obj.animation_data_create()
    _end_solo(animation, state)
    if existing.action is not None and existing.strips:
        state.pushed_track = _push_down(animation, existing, state)
    action_channels.assign(obj, baked, slot)
    animation.action_blend_type = "REPLACE"
    animation.action_influence = 1.0
    if existing.strips and outside.after:
        animation.action_extrapolation = "NOTHING"
    else:
        animation.action_extrapolation = "HOLD_FORWARD" if existing.strips and outside.before else "HOLD"


def _lay_over(obj, baked: bpy.types.Action, slot, existing: _Existing, blend: str, frames, state) -> None:
    """Play the baked action from a strip over all that is played, which goes on below it and outside of the frames."""
    animation = obj.animation_data_create()
    _end_solo(animation, state)
    if not animation.use_nla:
        for track in animation.nla_tracks:
            track.mute = True
        animation.use_nla = True
    if existing.action is not None:
        state.pushed_track = _push_down(animation, existing, state)
    action_channels.assign(obj, None, None)
    state.layer_track, strip = _new_strip(animation, baked, slot, float(frames[0]), float(frames[-1]))
    strip.extrapolation, strip.blend_type = "NOTHING", blend


def _hold_rest(obj, name: str, rest: dict) -> str:
    """Hold values {(path, index): value} outside of baked frames, where Blender keeps the last; the track's name."""
    action, slot = action_channels.new_action_for(obj, name)
    curves = action_channels.channels_of(action, slot, ensure=True).fcurves
    for (path, index), value in rest.items():
        curves.new(path, index=index).keyframe_points.insert(0.0, value)
    return _new_strip(obj.animation_data_create(), action, slot, -ENDLESS, ENDLESS)[0]


def _end_solo(animation: bpy.types.AnimData, state: AnimationState) -> None:
    """Mute all other tracks instead: a solo track silences the action and every new track."""
    if not animation.use_nla or not any(is_solo for _, _, is_solo in state.tracks):
        return
    for track, (_, _, was_solo) in zip(animation.nla_tracks, state.tracks):
        if was_solo:
            track.is_solo = False
        else:
            track.mute = True


def _new_strip(animation, action: bpy.types.Action, slot, first: float, last: float) -> tuple:
    """A strip that plays an action from one frame to another in a new topmost track: (the track's name, strip)."""
    track = animation.nla_tracks.new(prev=animation.nla_tracks[-1] if len(animation.nla_tracks) else None)
    track.name = action.name
    strip = track.strips.new(action.name, int(first), action)
    if action_channels.has_slots():
        strip.action_slot = slot
    strip.use_sync_length = False
    strip.use_auto_blend = False
    strip.action_frame_start, strip.action_frame_end = first, last
    strip.frame_start_raw, strip.frame_end_raw = first, last
    return track.name, strip


def _push_down(animation: bpy.types.AnimData, existing: _Existing, state: AnimationState) -> str:
    """Let the old action play from a strip of its own in a new topmost track; the track's name."""
    first, last = existing.action.curve_frame_range
    start = -ENDLESS if state.extrapolation == "HOLD" else first
    end = last if state.extrapolation == "NOTHING" else ENDLESS
    name, strip = _new_strip(animation, existing.action, existing.slot, start, end)
    strip.extrapolation = state.extrapolation
    strip.blend_type = state.blend_type
    if state.influence != 1.0:
        # A strip's influence is 1 unless it is animated.
        strip.use_animated_influence = True
        strip.fcurves.find("influence").keyframe_points.insert(first, state.influence)
    return name
