"""Inputs of a character's blend spaces at a frame: values, measured speed and direction, angles to a target."""

import math
from contextlib import nullcontext

import numpy as np

from .. import quaternion
from ..anatomy import roles
from ..anatomy.axes import character_axes, of_role
from ..errors import RagdollError
from ..motion import measured
from ..motion.aim_offset import yaw_pitch
from ..motion.auto_axes import character_forward
from ..motion.rig import points_to_model
from . import motion_places

NEAR_AXIS = math.cos(math.radians(25.0))
KEPT = 4  # frames whose places are kept


class Facing:
    """Where a character faces, and what of it is measured; found when first asked for."""

    def __init__(self, library) -> None:
        self._library, self._axes = library, None

    @property
    def axes(self) -> tuple:
        """Forward and up, unit vectors [3] in armature space; -Y and Z where nothing tells them."""
        if self._axes is None:
            rig, anatomy = self._library.rig, self._library.anatomy
            order = rig.skeleton.from_level
            heads = rig.bind_positions[order]
            tails = heads + 0.05 * rig.size * quaternion.rotate(rig.bind_rotations[order], (0.0, 1.0, 0.0))
            found = character_axes(anatomy, heads, tails)
            forward = character_forward(rig, anatomy, tails)
            if found is None or forward is None:
                self._axes = np.array([0.0, -1.0, 0.0]), np.array([0.0, 0.0, 1.0])
            else:
                nearest = int(np.argmax(np.abs(found.up)))
                near = abs(found.up[nearest]) >= NEAR_AXIS
                self._axes = forward, np.eye(3)[nearest] * np.sign(found.up[nearest]) if near else found.up
        return self._axes

    @property
    def rig(self):
        """The character's skeleton and bind pose."""
        return self._library.rig

    def pelvis(self) -> str:
        """Name of the bone that speed is measured of: the pelvis, else the root with the most bones."""
        obj = self._library.obj
        found = of_role(self._library.anatomy, roles.PELVIS)
        if found:
            return obj.data.bones[found[0]].name
        return max((b for b in obj.data.bones if b.parent is None), key=lambda b: len(b.children_recursive)).name

    def head(self) -> str:
        """Name of the bone that a target is seen from; "" where there is no head."""
        found = of_role(self._library.anatomy, roles.HEAD)
        return self._library.obj.data.bones[found[0]].name if found else ""


class Mover:
    """Measures speed and direction of an object or bone from frame to frame."""

    def __init__(self, name: str, obj, bone: str, facing: Facing) -> None:
        self._name, self._obj, self._bone, self._facing = name, obj, bone, facing
        self._seen: dict[int, np.ndarray] = {}
        self._direction: dict[int, float] = {}

    def velocity(self, places) -> np.ndarray:
        """World velocity [3] over the last frame."""
        return measured.velocity(
            self._place(places, places.frame - 1)[:3, 3],
            self._place(places, places.frame)[:3, 3],
            places.seconds_per_frame,
        )

    def speed(self, places) -> float:
        """Over the ground [m/s]."""
        return measured.ground_speed(self.velocity(places))

    def direction(self, places) -> float:
        """Where it moves from where it faces [deg]; while it stands still, where it did last."""
        matrix = self._place(places, places.frame)
        forward = self._facing.axes[0]
        if self._bone and self._obj == places.obj:
            rig = self._facing.rig
            turned = quaternion.rotate(quaternion.conjugate(rig.bind_rotations[rig.index[self._bone]]), forward)
            forward = matrix[:3, :3] @ turned
        else:
            forward = matrix[:3, :3] @ forward
        found = measured.direction(self.velocity(places), forward)
        result = self._direction.get(places.frame - 1, 0.0) if found is None else math.degrees(found)
        self._direction = {places.frame: result}
        return result

    def _place(self, places, frame: int) -> np.ndarray:
        """World matrix; a function of the frame alone, unless the simulation moves it."""
        if frame not in self._seen or frame == places.frame:
            with nullcontext(places) if frame == places.frame else places.at(frame) as there:
                self._seen[frame] = there.matrix(self._name, self._obj, self._bone)
            while len(self._seen) > KEPT:
                del self._seen[next(iter(self._seen))]
        return self._seen[frame]


class SpaceInputs:
    """Reads the inputs of one blend space."""

    def __init__(self, obj, index: int, live, facing: Facing) -> None:
        self._obj, self._index, self._live, self._facing = obj, index, live, facing
        settings = obj.active_ragdoll.blend_spaces[index]
        axes = ("x", "y")[: 1 if settings.dimensions == "1D" else 2]
        self._axes = axes
        self._kinds = [getattr(settings, axis).input for axis in axes]
        self._mover = None
        if {"SPEED", "DIRECTION"} & set(self._kinds):
            other = settings.measured_object
            bone = settings.measured_bone or ("" if other is not None else facing.pelvis())
            if other is not None:
                motion_places.follow(obj, other)
            self._mover = Mover("what is measured", other or obj, bone, facing)
        self._aims = bool({"YAW", "PITCH"} & set(self._kinds))
        if self._aims:
            if settings.target is None:
                raise RagdollError("yaw and pitch lead to a target, and it has none")
            motion_places.follow(obj, settings.target)
            self._aim_bone = settings.aim_bone or facing.head()
        self._target = settings.target.name if settings.target is not None else ""

    @property
    def is_measured(self) -> bool:
        """Whether a frame's input depends on the one before."""
        return self._mover is not None

    def read(self, places) -> tuple:
        """The inputs at the frame to come. Raises RagdollError where something that is read is missing."""
        own = self._obj.active_ragdoll.blend_spaces[self._index]
        if own.show_preview:
            return tuple(getattr(own, axis).preview for axis in self._axes)
        live = self._live.settings(f"blend_spaces[{self._index}]").blend_spaces[self._index]
        yaw = pitch = 0.0
        if self._mover is not None and own.measured_name and own.measured_object is None:
            raise RagdollError(f"the object '{own.measured_name}' that it is measured of was deleted")
        if self._aims and own.target is None:
            raise RagdollError(f"its target '{self._target}' was deleted")
        if self._aims:
            yaw, pitch = self._angles(places, own)
        values = []
        for axis, kind in zip(self._axes, self._kinds, strict=True):
            if kind == "SPEED":
                values.append(self._mover.speed(places))
            elif kind == "DIRECTION":
                values.append(self._mover.direction(places))
            elif kind == "YAW":
                values.append(yaw)
            elif kind == "PITCH":
                values.append(pitch)
            else:
                values.append(getattr(live, axis).value)
        return tuple(values)

    def _angles(self, places, own) -> tuple[float, float]:
        target = places.point("yaw and pitch", own.target, own.target_bone)
        eye = places.point("yaw and pitch", self._obj, self._aim_bone)
        forward, up = self._facing.axes
        towards = points_to_model(target, places.world) - points_to_model(eye, places.world)
        if not np.any(towards):
            return 0.0, 0.0
        yaw, pitch = yaw_pitch(towards, forward, up)
        return math.degrees(float(yaw)), math.degrees(float(pitch))
