"""Reading, writing and swapping actions: layered ones with slots (Blender 4.4 and later) and the older ones.

`bake` makes an action that plays given poses of some bones and changes nothing else, `save` and `restore`
swap it in and the old one back. How the baked action and the old animation share the character:

- **No NLA is played** (no unmuted track, or NLA switched off): the baked action is a copy of the old one,
  with all its slots and channels; the baked bones' channels are replaced inside the baked range. Outside it
  the old keys stay. Where the range cuts a curve between two keys, the cut segment is sampled on whole frames
  up to the range's edge, so that the old animation still plays exactly on every whole frame outside; kept
  keys' handles are frozen, so that Blender does not bend their curves. On a side where the old action has no
  keys at all beyond the range, the first or last baked pose is held instead, and the action does not grow.
- **NLA tracks are played**: the baked action holds the baked channels only and plays on top of the tracks
  (REPLACE, influence 1). Other bones keep what the tracks give. Where the tracks go on outside the range they
  are seen there (extrapolation NOTHING or HOLD_FORWARD), otherwise the baked pose is held. An old action on
  top of the tracks is moved to a strip of its own in a new topmost track, with its own blending, so that it
  still acts below the bake.
- **A solo track**: Blender then ignores the action altogether, so the solo is exchanged for mutes of all
  others.
- Drivers of baked channels are muted, as they would win over keys.

Muted tracks stay muted. What an old action or the tracks would give for a baked channel is always overruled:
a channel is left out only if nothing animates it and it stays at rest.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field

import bpy
import numpy as np
from numpy.typing import NDArray

from .. import key_reduction, rotation_modes
from ..errors import RagdollError

# Values of the enums in Keyframe; foreach_set is four times faster with bytes than with wider integers.
CONSTANT, LINEAR = 0, 1
FREE_HANDLE, AUTO_CLAMPED_HANDLE = 0, 4

# A channel this close to rest is left out. Scale is less exact: it comes from products of single precision.
LOCATION_AT_REST = 1e-6  # metres
SCALE_AT_REST = 1e-5

# A strip that stands for an endless action; powers of two keep whole frames exact in single precision.
ENDLESS = 2.0**15

ROTATION_PROPERTIES = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}

_KEY_FLOATS = {"co": 2, "handle_left": 2, "handle_right": 2, "back": 1, "amplitude": 1, "period": 1}
_KEY_ENUMS = ("interpolation", "easing", "type", "handle_left_type", "handle_right_type")


# ------------------------------------------------------------------------------------------------------------
# Slots, layers and channel bags


def has_slots() -> bool:
    """Whether this Blender has layered actions with slots (4.4 and later)."""
    return hasattr(bpy.types, "ActionSlot")


def slot_of(action: bpy.types.Action, owner: bpy.types.ID):
    """The slot of `action` that animates `owner`, None where there is none or Blender has no slots.

    The assigned slot if the action is assigned, otherwise the one that Blender itself would choose by name,
    and the only one if there is a single slot.
    """
    if not has_slots():
        return None
    animation = owner.animation_data
    if animation is not None and animation.action == action:
        return animation.action_slot
    usable = [slot for slot in action.slots if slot.target_id_type in {owner.id_type, "UNSPECIFIED"}]
    for slot in usable:
        if slot.name_display == owner.name:
            return slot
    return usable[0] if len(usable) == 1 else None


def channels_of(action: bpy.types.Action, slot, *, ensure: bool = False):
    """What holds `fcurves` and `groups`: a channel bag, on Blender before 4.4 the action itself.

    Args:
        action: The action.
        slot: Its slot; ignored before Blender 4.4.
        ensure: Make layer, strip and channel bag where they are missing.

    Returns:
        None where there is none and `ensure` is not set.
    """
    if not has_slots():
        return action
    if slot is None:
        return None
    if ensure:
        layer = action.layers[0] if len(action.layers) else action.layers.new("Layer")
        strip = layer.strips[0] if len(layer.strips) else layer.strips.new(type="KEYFRAME")
        return strip.channelbag(slot, ensure=True)
    for layer in action.layers:
        for strip in layer.strips:
            bag = strip.channelbag(slot)
            if bag is not None:
                return bag
    return None


def fcurves_of(action: bpy.types.Action | None, owner: bpy.types.ID):
    """The F-curves of `action` that animate `owner`; an empty tuple where there are none."""
    channels = channels_of(action, slot_of(action, owner)) if action is not None else None
    return channels.fcurves if channels is not None else ()


def all_fcurves(action: bpy.types.Action) -> Iterator[bpy.types.FCurve]:
    """The F-curves of all slots of an action."""
    if not has_slots():
        yield from action.fcurves
        return
    for layer in action.layers:
        for strip in layer.strips:
            for bag in strip.channelbags:
                yield from bag.fcurves


def new_action_for(owner: bpy.types.ID, name: str) -> tuple[bpy.types.Action, object]:
    """A new, empty, unassigned action and its slot for `owner` (None before Blender 4.4)."""
    action = bpy.data.actions.new(name)
    slot = action.slots.new(id_type=owner.id_type, name=owner.name) if has_slots() else None
    if not has_slots():
        action.id_root = owner.id_type
    return action, slot


def assign(owner: bpy.types.ID, action: bpy.types.Action | None, slot) -> None:
    """Assign an action and exactly that slot of it."""
    animation = owner.animation_data_create()
    animation.action = action
    if has_slots() and action is not None:
        animation.action_slot = slot


def current(owner: bpy.types.ID) -> tuple[bpy.types.Action | None, object]:
    """The assigned action and slot."""
    animation = owner.animation_data
    action = animation.action if animation is not None else None
    return action, (animation.action_slot if action is not None and has_slots() else None)


# ------------------------------------------------------------------------------------------------------------
# Saving and restoring what a bake changes


@dataclass
class AnimationState:
    """Everything that `bake` changes on the character but the action itself, which is kept as a pointer.

    Attributes:
        slot_handle: Handle of the assigned slot, 0 where there is none.
        tracks: (name, mute, is_solo) of every NLA track.
        pushed_track: Name of the track that `bake` added for the old action, "" if none.
        muted_drivers: (data path, index) of the drivers that `bake` muted.
        rest: Values by data path of channels that only the baked action animates. Blender writes evaluated
            values back to the properties, so they have to be put back by hand.
    """

    had_animation_data: bool = False
    slot_handle: int = 0
    last_slot: str = ""
    blend_type: str = "REPLACE"
    extrapolation: str = "HOLD"
    influence: float = 1.0
    use_nla: bool = True
    tracks: list[tuple[str, bool, bool]] = field(default_factory=list)
    pushed_track: str = ""
    muted_drivers: list[tuple[str, int]] = field(default_factory=list)
    rest: dict[str, list[float]] = field(default_factory=dict)

    def to_json(self) -> str:
        """Text that `from_json` reads back."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "AnimationState":
        """The state written by `to_json`.

        Raises:
            ValueError, TypeError: the text is not such a state.
        """
        return cls(**json.loads(text))


def save(obj: bpy.types.Object) -> AnimationState:
    """How the object's action is assigned and its NLA set, for `restore`."""
    animation = obj.animation_data
    if animation is None:
        return AnimationState()
    return AnimationState(
        had_animation_data=True,
        slot_handle=animation.action_slot_handle if has_slots() else 0,
        last_slot=animation.last_slot_identifier if has_slots() else "",
        blend_type=animation.action_blend_type,
        extrapolation=animation.action_extrapolation,
        influence=animation.action_influence,
        use_nla=animation.use_nla,
        tracks=[(track.name, track.mute, track.is_solo) for track in animation.nla_tracks],
    )


def restore(obj: bpy.types.Object, state: AnimationState, action: bpy.types.Action | None) -> None:
    """Put back what `save` has read. The baked action stays in the file.

    Args:
        obj: The character.
        state: What `bake` or `save` returned.
        action: The action that was assigned then.

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
    animation.action_blend_type = state.blend_type
    animation.action_extrapolation = state.extrapolation
    animation.action_influence = state.influence
    animation.use_nla = state.use_nla

    if state.pushed_track:
        track = animation.nla_tracks.get(state.pushed_track)
        if track is not None:
            animation.nla_tracks.remove(track)
    for name, mute, _ in state.tracks:
        track = animation.nla_tracks.get(name)
        if track is not None and track.mute != mute:
            track.mute = mute
    for name, _, is_solo in state.tracks:
        track = animation.nla_tracks.get(name)
        if track is not None and track.is_solo != is_solo:
            track.is_solo = is_solo

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
    try:
        target = obj.path_resolve(owner)
    except ValueError:  # the bone has been renamed or removed since
        return
    setattr(target, name, values)


# ------------------------------------------------------------------------------------------------------------
# What animates the character now


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


def _strip_paths(animation: bpy.types.AnimData) -> set[str]:
    paths = set()
    for strip in _played_strips(animation):
        if strip.action is not None:
            channels = channels_of(strip.action, strip.action_slot if has_slots() else None)
            paths.update(fcurve.data_path for fcurve in (channels.fcurves if channels is not None else ()))
    return paths


# ------------------------------------------------------------------------------------------------------------
# Writing keys


@dataclass(frozen=True)
class Tolerance:
    """What leaving out keys may change: rotation in radians, location in metres, scale as a factor."""

    rotation: float
    location: float
    scale: float = 1e-3


@dataclass(frozen=True)
class Outside:
    """Which sides of the baked range the old animation goes on, and how far sampled curves are followed.

    Attributes:
        before, after: Whether the old animation is kept before and after the baked range.
        first, last: The frames up to which curves with modifiers, which cannot be kept, are sampled.
    """

    before: bool = False
    after: bool = False
    first: float = 0.0
    last: float = 0.0


class KeyWriter:
    """Writes keys of many channels into one channel bag, reusing the curves that it has.

    Args:
        channels: What `channels_of` gave.
        outside: What to keep of the curves' old keys; None: nothing.
    """

    def __init__(self, channels, outside: Outside | None = None) -> None:
        self._channels = channels
        self.outside = outside or Outside()
        self._curves = {(curve.data_path, curve.array_index): curve for curve in channels.fcurves}
        self._groups = {group.name: group for group in channels.groups}
        self._linear = np.full(0, LINEAR, dtype=np.uint8)

    def value_at(self, path: str, count: int, frame: float) -> NDArray | None:
        """What the first `count` curves of a path give at a frame, None unless all of them exist."""
        curves = [self._curves.get((path, index)) for index in range(count)]
        if not all(curves):
            return None
        return np.array([curve.evaluate(frame) for curve in curves])

    def write(
        self,
        path: str,
        group: str,
        coordinates: NDArray[np.float32],
        *,
        interpolation: int = LINEAR,
        rest: Sequence[float] | None = None,
        hold_last: bool = False,
    ) -> None:
        """Replace the keys of one property inside the frames' range.

        Args:
            path: Data path.
            group: Group of curves that have to be made; the bone's name.
            coordinates: (frame, value) of the keys, strictly increasing, shape [channels, keys, 2], C order.
            interpolation: Of the new keys.
            rest: Values of the property where no curve was there before; used outside the range.
            hold_last: Hold the last key until the next one instead of moving towards it.
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
            if before is None and after is None and not hold_last and interpolation == LINEAR:
                self._set_linear(curve, keys)
            else:
                middle = _plain_keys(keys, interpolation)
                if hold_last:
                    middle["interpolation"][-1] = CONSTANT
                _set_keys(curve, [part for part in (before, middle, after) if part is not None])

    def _group(self, name: str):
        group = self._groups.get(name)
        if group is None or group.mute:
            group = self._groups[name] = self._channels.groups.new(name)
        return group

    def _set_linear(self, curve: bpy.types.FCurve, keys: NDArray[np.float32]) -> None:
        points = curve.keyframe_points
        if len(points):
            points.clear()
        points.add(len(keys))
        if len(self._linear) != len(keys):
            self._linear = np.full(len(keys), LINEAR, dtype=np.uint8)
        points.foreach_set("co", keys.ravel())
        points.foreach_set("interpolation", self._linear)
        curve.update()


def _plain_keys(coordinates, interpolation: int = LINEAR) -> dict[str, NDArray]:
    """Key attributes of keys with automatic handles at (frame, value), shape [keys, 2]."""
    coordinates = np.asarray(coordinates, dtype=np.float32).reshape(-1, 2)
    count = len(coordinates)
    keys = {name: np.zeros((count, size), dtype=np.float32) for name, size in _KEY_FLOATS.items()}
    keys["co"] = coordinates
    # Blender's own defaults of the elastic and back easings.
    keys["back"][:], keys["amplitude"][:], keys["period"][:] = 1.70158, 0.8, 4.1
    keys |= {name: np.zeros(count, dtype=np.uint8) for name in _KEY_ENUMS}
    keys["interpolation"][:] = interpolation
    keys["handle_left_type"][:] = keys["handle_right_type"][:] = AUTO_CLAMPED_HANDLE
    return keys


def _get_keys(curve: bpy.types.FCurve) -> dict[str, NDArray]:
    points = curve.keyframe_points
    keys = {name: np.empty((len(points), size), dtype=np.float32) for name, size in _KEY_FLOATS.items()}
    keys |= {name: np.empty(len(points), dtype=np.uint8) for name in _KEY_ENUMS}
    for name, values in keys.items():
        points.foreach_get(name, values.reshape(-1))
    return keys


def _set_keys(curve: bpy.types.FCurve, parts: list[dict[str, NDArray]]) -> None:
    points = curve.keyframe_points
    points.clear()
    points.add(sum(len(part["co"]) for part in parts))
    for name in (*_KEY_FLOATS, *_KEY_ENUMS):
        points.foreach_set(name, np.concatenate([part[name] for part in parts]).reshape(-1))
    curve.update()


def _select(keys: dict[str, NDArray], chosen: slice) -> dict[str, NDArray]:
    return {name: values[chosen].copy() for name, values in keys.items()}


def _kept_keys(
    curve: bpy.types.FCurve, start: float, end: float, outside: Outside
) -> tuple[dict[str, NDArray] | None, dict[str, NDArray] | None]:
    """Keys that play a curve as before up to the frame before `start` and from the frame after `end`."""
    if not outside.before and not outside.after:
        return None, None
    edges = float(start) - 1.0, float(end) + 1.0
    if len(curve.modifiers) or len(curve.sampled_points):
        before = np.arange(min(np.floor(outside.first), edges[0]), edges[0] + 0.5)
        after = np.arange(edges[1], max(np.ceil(outside.last), edges[1]) + 0.5)
        return (
            _samples(curve, before) if outside.before else None,
            _samples(curve, after) if outside.after else None,
        )

    keys = _get_keys(curve)
    # Automatic handles depend on neighbours that are about to be replaced.
    keys["handle_left_type"][:] = keys["handle_right_type"][:] = FREE_HANDLE
    before = _keys_before(curve, keys, edges[0]) if outside.before else None
    after = _keys_after(curve, keys, edges[1]) if outside.after else None
    return before, after


def _samples(curve: bpy.types.FCurve, frames: Sequence[float], interpolation: int = LINEAR) -> dict[str, NDArray]:
    return _plain_keys([(frame, curve.evaluate(frame)) for frame in frames], interpolation)


def _keys_before(curve: bpy.types.FCurve, keys: dict[str, NDArray], edge: float) -> dict[str, NDArray]:
    """Keys that play a curve as before up to the frame `edge`."""
    frames = keys["co"][:, 0]
    count = int((frames <= edge).sum())
    sloped = curve.extrapolation == "LINEAR"
    if count == 0:
        return _samples(curve, [edge - 1.0, edge] if sloped else [edge])
    kept = _select(keys, slice(0, count))
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
    return _join([_samples(curve, outer), kept, _samples(curve, seam)])


def _keys_after(curve: bpy.types.FCurve, keys: dict[str, NDArray], edge: float) -> dict[str, NDArray]:
    """Keys that play a curve as before from the frame `edge` on."""
    frames = keys["co"][:, 0]
    first = int((frames < edge).sum())
    sloped = curve.extrapolation == "LINEAR"
    if first == len(frames):
        return _samples(curve, [edge, edge + 1.0] if sloped else [edge])
    kept = _select(keys, slice(first, None))
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
    return _join([_samples(curve, seam, kind), kept, _samples(curve, outer)])


def _join(parts: list[dict[str, NDArray]]) -> dict[str, NDArray]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def bone_path(bone_name: str, prop: str) -> str:
    """Data path of a pose bone's property, for names with any characters."""
    return f'pose.bones["{bpy.utils.escape_identifier(bone_name)}"].{prop}'


def rotation_property(mode: str) -> str:
    """The property that holds the rotation of a bone in that rotation mode."""
    return ROTATION_PROPERTIES.get(mode, "rotation_euler")


# ------------------------------------------------------------------------------------------------------------
# The bake


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


def bake(
    obj: bpy.types.Object, poses: Poses, name: str, *, tolerance: Tolerance | None = None
) -> tuple[bpy.types.Action, AnimationState]:
    """Make an action that plays the poses, and play it on the character.

    Args:
        obj: The character, an armature.
        poses: At least one frame.
        name: Of the action.
        tolerance: Leave out keys within it; None keeps a key on every frame.

    Returns:
        The action and what `restore` needs, together with the action that was assigned before. The old action
        is unchanged; the caller keeps a pointer to it.

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
    """What animated the character before the bake.

    Attributes:
        action, slot: The action that Blender evaluates, None where there is none.
        strips: (first, last frame) of the NLA strips that Blender evaluates.
        paths: Data paths of everything that is animated.
    """

    action: bpy.types.Action | None
    slot: object
    strips: list[tuple[float, float]]
    paths: set[str]

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
        paths = _strip_paths(animation)
        paths.update(driver.data_path for driver in animation.drivers if not driver.mute)
        if action is not None:
            channels = channels_of(action, slot)
            paths.update(curve.data_path for curve in (channels.fcurves if channels is not None else ()))
        strips = [(strip.frame_start, strip.frame_end) for strip in _played_strips(animation)]
        return cls(action, slot, strips, paths)

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
        spans = list(self.strips)
        if self.action is not None:
            channels = channels_of(self.action, self.slot)
            for curve in channels.fcurves if channels is not None else ():
                if len(curve.keyframe_points) or len(curve.sampled_points):
                    spans.append(tuple(curve.range()))
        if not spans:
            return Outside()
        first, last = min(span[0] for span in spans), max(span[1] for span in spans)
        return Outside(first < frames[0], last > frames[-1], first, last)


def _remove_inactive_rotations(obj, bones: Sequence[str], channels, animated: set[str]) -> None:
    """Remove keys of rotation modes that the bones are not in; they would be stale."""
    if channels is None:
        return
    stale = set()
    for bone in bones:
        if bone_path(bone, "rotation_mode") in animated:
            continue
        in_use = rotation_property(obj.pose.bones[bone].rotation_mode)
        stale.update(bone_path(bone, prop) for prop in ("rotation_euler", *ROTATION_PROPERTIES.values()))
        stale.discard(bone_path(bone, in_use))
    for curve in [curve for curve in channels.fcurves if curve.data_path in stale]:
        channels.fcurves.remove(curve)


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
