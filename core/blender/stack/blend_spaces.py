"""Blend spaces made from settings, their inputs at a frame, and what the sidebar shows of them."""

import itertools
import math
from contextlib import nullcontext

import numpy as np
from mathutils.geometry import delaunay_2d_cdt

from ... import quaternion
from ...errors import RagdollError
from ...motion.blend_space import Axis, BlendSpace1D, BlendSpace2D, SpacePlayer, check_aim, ground_direction, yaw_pitch
from ...motion.clip import MARKERS
from ...motion.stack import point_to_model
from ..rig.action_library import Library, fingerprint
from ..runtime import STATE
from . import world_reader

KEPT = 4  # frames whose places are kept
# Points on one circle have several Delaunay triangulations. A slight shear decides between them in the same way
# wherever the points are; it is far above the single precision in which Blender finds the triangles.
SHEAR = -1e-4


class FromSettings:
    """A step of the motion stack that plays actions. It is refreshed when one of them is edited, replaced or deleted.
    `problems` tells, by name, which settings are left out and what is odd about actions."""

    def __init__(self, obj, rig) -> None:
        self._obj, self._rig = obj, rig
        self._make()

    def _make(self) -> None:
        self._made_of = fingerprint(self._obj)
        self._library = Library(self._obj, self._rig)
        self._spaces = Spaces(self._obj, self._library)
        self.problems = self._library.notes
        self._fill()

    def _fill(self) -> None:
        """Make from the settings what is to be played."""
        raise NotImplementedError

    def refresh(self) -> bool:
        """Take in edits of actions. Returns whether they change what is played."""
        if fingerprint(self._obj) == self._made_of:
            return False
        before = self._library
        self._make()
        return not self._library.plays_as(before)

    def apply(self, rig, pose, inputs, state, seconds) -> tuple:
        after = super().apply(rig, pose, inputs, state, seconds)
        self.messages = self.problems | self.messages
        return after


def axis_of(axis) -> Axis:
    """The axis of a setting. Raises RagdollError, naming it, when its minimum is not below its maximum."""
    return Axis(axis.name, axis.minimum, axis.maximum, axis.ends, axis.grid)


def labels(space) -> list[str]:
    """A unique name for each sample: that of its action, with a number if it occurs again."""
    found: list[str] = []
    for sample in space.samples:
        name = sample.action.name if sample.action is not None else sample.action_name or "no action"
        numbered = (f"{name} ({count})" for count in itertools.count(2))
        found.append(next(label for label in itertools.chain([name], numbered) if label not in found))
    return found


def triangulate(points: np.ndarray) -> np.ndarray:
    """Delaunay triangles [t, 3] of points [k, 2]."""
    sheared = points + SHEAR * points[:, ::-1] * (1.0, 0.0)
    _points, _edges, triangles, origins, *_rest = delaunay_2d_cdt(sheared.tolist(), [], [], 0, 1e-7)
    return np.array([[origins[corner][0] for corner in triangle] for triangle in triangles])


def axes_of(space) -> tuple:
    """The settings of a blend space's axes."""
    return (space.x,) if space.dimensions == "1D" else (space.x, space.y)


def places_of(space, without=()) -> BlendSpace1D | BlendSpace2D:
    """The samples' places and their weighting, without their clips; `without` are labels of samples that are left out.
    Raises RagdollError: no samples, two at one place, on one line, outside the axes; or a wrong axis."""
    kept = {label: sample for label, sample in zip(labels(space), space.samples, strict=True) if label not in without}
    names = list(kept)
    if space.dimensions == "1D":
        return BlendSpace1D(axis_of(space.x), names, [sample.x for sample in kept.values()])
    positions = [(sample.x, sample.y) for sample in kept.values()]
    return BlendSpace2D((axis_of(space.x), axis_of(space.y)), names, positions, space.method, triangulate)


class Spaces:
    """The blend spaces of a character, each made when a layer or a state first asks for it: `players` by the space's
    name, for its use as an aim offset by "name (aim)", and `inputs`, the readers of their inputs, by the same keys."""

    def __init__(self, obj, library) -> None:
        self._obj, self._library = obj, library
        self.players: dict = {}
        self.inputs: dict = {}

    def player(self, name: str, *, aim: bool = False) -> tuple:
        """The key and the player of a blend space. Raises RagdollError: there is none of that name, or it cannot be
        made; names the space."""
        spaces = self._obj.active_ragdoll.blend_spaces
        index = spaces.find(name)
        if not name:
            raise RagdollError("no blend space is chosen")
        if index < 0:
            raise RagdollError(f'there is no blend space "{name}"')
        key = f"{name} (aim)" if aim else name
        if key not in self.players:
            try:
                made = self._make(spaces[index], aim), SpaceInputs(self._obj, index, self._library)
            except RagdollError as error:
                raise RagdollError(f'blend space "{name}": {error}') from error
            self.players[key], self.inputs[key] = made
        return key, self.players[key]

    def _make(self, space, aim: bool) -> SpacePlayer:
        clips, speeds, wrong = [], [], {}
        for label, sample in zip(labels(space), space.samples, strict=True):
            try:
                clip = self._clip(space, sample)
            except RagdollError as error:
                wrong[label] = f'sample "{label}": {error}'
                continue
            try:
                if aim:
                    check_aim(label, clip)
                clips.append(clip)
                speeds.append(sample.speed)
            except RagdollError as error:
                wrong[label] = str(error)
        if wrong and not clips:
            raise RagdollError("; ".join(wrong.values()))
        if wrong:
            text = "; ".join(f"{text}; it is left out" for text in wrong.values())
            self._library.notes[f'Blend space "{space.name}"'] = text
        how = {"aim": aim, "speeds": speeds, "sync": space.sync, "smoothing": (space.x.smoothing, space.y.smoothing)}
        return SpacePlayer(space.name, places_of(space, wrong), clips, **how)

    def _clip(self, space, sample):
        if sample.single:
            clip = self._library.one_frame(sample, sample.frame)
        else:
            clip = self._library.clip(sample, cycle=True)
            if space.sync == MARKERS:
                clip = self._library.with_markers(sample, clip)
        if sample.additive != "NONE":
            clip = self._library.additive(sample, clip, sample.additive)
        return clip

    def read(self, reader) -> dict[str, tuple | RagdollError]:
        """The inputs by key, or the error of those that cannot be read."""
        values = {}
        for key, inputs in self.inputs.items():
            try:
                values[key] = inputs.read(reader)
            except RagdollError as error:
                values[key] = error
        return values


class Mover:
    """Measures speed and direction of an object or bone from frame to frame."""

    def __init__(self, name: str, obj, bone: str, library: Library) -> None:
        self._name, self._obj, self._bone, self._library = name, obj, bone, library
        self._seen: dict[int, np.ndarray] = {}
        self._direction: dict[int, float] = {}

    def velocity(self, reader) -> np.ndarray:
        """World velocity [3] over the last frame. Raises RagdollError where a place is not a number."""
        before, now = self._place(reader, reader.frame - 1)[:3, 3], self._place(reader, reader.frame)[:3, 3]
        result = (now - before) / reader.seconds_per_frame
        if not np.isfinite(result).all():
            raise RagdollError("What is measured stands where no number is")
        return result

    def speed(self, reader) -> float:
        """Speed over the ground [m/s]."""
        return math.hypot(*self.velocity(reader)[:2].tolist())

    def direction(self, reader) -> float:
        """Angle from where it faces to where it moves [deg]; the last one while it stands still."""
        matrix = self._place(reader, reader.frame)
        forward, rig = self._library.facing[0], self._library.rig
        if self._bone and self._obj == reader.obj:
            forward = quaternion.rotate(quaternion.conjugate(rig.bind_rotations[rig.index[self._bone]]), forward)
        found = ground_direction(self.velocity(reader), matrix[:3, :3] @ forward)
        result = self._direction.get(reader.frame - 1, 0.0) if found is None else math.degrees(found)
        self._direction = {reader.frame: result}
        return result

    def _place(self, reader, frame: int) -> np.ndarray:
        """World matrix. It depends on the frame alone, unless the simulation moves the object."""
        if frame not in self._seen or frame == reader.frame:
            with nullcontext(reader) if frame == reader.frame else reader.at(frame) as there:
                self._seen[frame] = there.matrix(self._name, self._obj, self._bone)
            while len(self._seen) > KEPT:
                del self._seen[next(iter(self._seen))]
        return self._seen[frame]


class SpaceInputs:
    """Reads the inputs of one blend space."""

    def __init__(self, obj, index: int, library: Library) -> None:
        self._obj, self._index, self._library = obj, index, library
        settings = obj.active_ragdoll.blend_spaces[index]
        self._kinds = [axis.input for axis in axes_of(settings)]
        self.mover = None  # where a frame's input depends on the one before
        if {"SPEED", "DIRECTION"} & set(self._kinds):
            other = settings.measured_object
            bone = settings.measured_bone or ("" if other is not None else library.pelvis())
            if other is not None:
                world_reader.follow(obj, other)
            self.mover = Mover("what is measured", other or obj, bone, library)
        self._aims = bool({"YAW", "PITCH"} & set(self._kinds))
        if self._aims:
            if settings.target is None:
                raise RagdollError("yaw and pitch lead to a target, and it has none")
            world_reader.follow(obj, settings.target)
            self._aim_bone = settings.aim_bone or library.head()
        self._target = settings.target.name if settings.target is not None else ""

    def read(self, reader) -> tuple:
        """The inputs at the coming frame. Raises RagdollError if something that is read is missing."""
        own = self._obj.active_ragdoll.blend_spaces[self._index]
        if own.show_preview:
            return tuple(axis.preview for axis in axes_of(own))
        live = reader.settings.blend_spaces[self._index]
        if self.mover is not None and own.measured_name and own.measured_object is None:
            raise RagdollError(f"the object '{own.measured_name}' that it is measured of was deleted")
        if self._aims and own.target is None:
            raise RagdollError(f"its target '{self._target}' was deleted")
        angles = self._angles(reader, own) if self._aims else (0.0, 0.0)
        read = {
            "VALUE": lambda axis: axis.value,
            "SPEED": lambda _axis: self.mover.speed(reader),
            "DIRECTION": lambda _axis: self.mover.direction(reader),
            "YAW": lambda _axis: angles[0],
            "PITCH": lambda _axis: angles[1],
        }
        return tuple(read[kind](axis) for axis, kind in zip(axes_of(live), self._kinds, strict=True))

    def _angles(self, reader, own) -> tuple[float, float]:
        target = reader.point("yaw and pitch", own.target, own.target_bone)
        eye = reader.point("yaw and pitch", self._obj, self._aim_bone)
        forward, up = self._library.facing
        towards = point_to_model(target, reader.world) - point_to_model(eye, reader.world)
        if not np.any(towards):
            return 0.0, 0.0
        yaw, pitch = yaw_pitch(towards, forward, up)
        return math.degrees(yaw), math.degrees(pitch)


def states_of(obj, frame: int) -> list[tuple]:
    """The steps of a character's motion stack, each with its recorded state at a frame; empty if none is recorded."""
    stack = STATE.motions.get(obj.name)
    states = stack.states.get(frame) if stack is not None else None
    return list(zip(stack.entries, states, strict=True)) if states else []


def current_point(obj, space, frame: int) -> tuple:
    """The point of a blend space: the preview, otherwise that of the frame, otherwise the values that are set."""
    axes = axes_of(space)
    if space.show_preview:
        return tuple(axis.preview for axis in axes)
    for step, state in states_of(obj, frame):
        found = step.point(state, space.name) if isinstance(step, FromSettings) else None
        if found is not None and len(found) == len(axes):
            return found
    return tuple(axis.value for axis in axes)


def shown(obj, space, frame: int) -> tuple[list, list]:
    """What the sidebar's bars show of a blend space at a frame. Raises RagdollError: the space is invalid.

    Returns (name, value, share of the way from minimum to maximum) of each axis, and (label, weight) of each sample."""
    places, point = places_of(space), current_point(obj, space, frame)
    axes = [(axis.name, value, axis.share(value)) for axis, value in zip(places.axes, point, strict=True)]
    return axes, list(zip(places.names, places.weights(*point).tolist(), strict=True))
