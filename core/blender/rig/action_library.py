"""Clips, single poses and base poses as layers, samples and states choose them."""

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ... import pose as pose_space
from ...anatomy import roles
from ...errors import RagdollError, listed
from ...motion.clip import Clip, contact_markers, make_additive, stack
from ...motion.look_at.chain import upright_axes
from ...motion.stack import LocalPose
from ..runtime import STATE
from . import action_channels, armature, clips

LISTED = 4  # how many bones of another skeleton a note names
STEP = 0.01  # of the character's size: feet that do not rise as far make no steps
# What of an `ActionChoice` a base action of its own has.
Base = namedtuple("Base", ("action", "slot", "armature", "object_motion", "armature_name"))


class Library:
    """Samples actions for one character, while its stack is made."""

    def __init__(self, obj, rig) -> None:
        self.obj, self.rig = obj, rig
        self.fps = clips.scene_fps(obj.active_ragdoll.motion_scene)  # frames per second of the character's scene
        self.notes: dict[str, str] = {}  # what users should know of each action, or of what plays it
        self._sampled: list[Clip] = []

    @cached_property
    def anatomy(self):
        """What the bones are, in Blender's order; recognised when first asked for."""
        return armature.anatomy_of(self.obj)

    @cached_property
    def facing(self) -> tuple:
        """Forward and up, unit vectors [3] in armature space; -Y and Z if they cannot be recognised."""
        forward, up = upright_axes(self.rig, self.anatomy)
        return (np.array([0.0, -1.0, 0.0]), np.array([0.0, 0.0, 1.0])) if forward is None else (forward, up)

    def pelvis(self) -> str:
        """Name of the bone whose speed is measured: the pelvis, otherwise the root with the most bones below it."""
        roots = [bone for bone in self.obj.data.bones if bone.parent is None]
        return self._of_role(roles.PELVIS) or max(roots, key=lambda bone: len(bone.children_recursive)).name

    def head(self) -> str:
        """Name of the bone from which a target is seen; "" without a head."""
        return self._of_role(roles.HEAD)

    def _of_role(self, role: str) -> str:
        found = roles.of_role(self.anatomy, role)
        return self.obj.data.bones[found[0]].name if found else ""

    def plays_as(self, other: "Library") -> bool:
        """Whether another library of the character has the same samples, so no action was edited in between."""
        return self.fps == other.fps and [*map(id, self._sampled)] == [*map(id, other._sampled)]

    def clip(self, choice, frame: float | None = None, *, cycle: bool = False) -> Clip:
        """The clip of an `ActionChoice`, or only one frame of it, which may be between the action's frames or outside.
        A `cycle` is to loop, up to its exact end.
        Raises RagdollError: no action, a deleted or an empty one, a missing slot, one that moves no bone."""
        action, owner = choice.action, choice.armature or self.obj
        if action is None:
            raise RagdollError(_no_action(choice.action_name, "action"))
        if choice.armature is None and choice.armature_name:
            lost, own = choice.armature_name, self.obj.name
            text = f"the armature '{lost}' that it was made for was deleted: the rest pose of '{own}' counts"
            self._note(action.name, text)
        slot = None  # Blender's own choice
        if choice.slot and action_channels.has_slots():
            slot = next((slot for slot in action.slots if slot.identifier == choice.slot), None)
            if slot is None:
                raise RagdollError(f'Action "{action.name}" has no slot "{choice.slot}"')
        if frame is None:
            clip = STATE.clips.get(action, owner, slot, self.fps, cycle=cycle)
            self._sampled.append(clip)
        else:
            clip = clips.sample_action(action, owner, slot=slot, frames=[frame], fps=self.fps)
        if owner != self.obj:
            clip = clip.mapped(self.rig.skeleton, self.rig.bind)
        if choice.object_motion:
            clip = self._with_object(clip, action, owner, slot)
        if clip.missing:
            shown = listed((f'"{bone}"' for bone in clip.missing), LISTED)
            self._note(clip.name, f"'{self.obj.name}' lacks bones that it moves: {shown}")
        return clip

    def _note(self, action: str, text: str) -> None:
        title = f'Action "{action}"'
        known = self.notes.get(title, "")
        if text not in known:
            self.notes[title] = f"{known}; {text}" if known else text

    def pose(self, choice, frame: float) -> LocalPose:
        """The pose [n] at a frame of an action; Raises as `clip`."""
        clip = self.clip(choice)
        if not np.isfinite(frame):
            raise RagdollError(f'The frame of action "{choice.action.name}" is not a number')
        at = frame - clip.start_frame
        if at == round(at) and 0 <= at < clip.frame_count:
            return clip.pose(int(at))
        return self.clip(choice, frame).pose(0)

    def one_frame(self, choice, frame: float) -> Clip:
        """A frame of an action as a clip of one pose; Raises as `clip`."""
        return replace(self.clip(choice), poses=stack([self.pose(choice, frame)]), start_frame=frame, markers=())

    def base(self, choice) -> LocalPose:
        """The base pose [n] of a `BasePose` that is also an `ActionChoice`; Raises as `clip`."""
        if choice.base == "BIND":
            return self.rig.bind
        if choice.base == "FRAME":
            return self.pose(choice, choice.base_frame)
        if choice.base_action is None:
            raise RagdollError(_no_action(choice.base_action_name, "base action"))
        base = Base(choice.base_action, choice.base_slot, choice.base_armature, choice.object_motion, "")
        return self.pose(base, choice.base_frame)

    def additive(self, choice, clip: Clip, space: str) -> Clip:
        """The clip's difference to its base, LOCAL or MESH."""
        return replace(clip, poses=make_additive(self.rig.skeleton, clip.poses, self.base(choice), space))

    def sequence(self, name: str, poses: Sequence) -> Clip:
        """A clip through the poses of settings with times; Raises as `clip`."""
        ordered = sorted(poses, key=lambda item: item.time)
        held = [self.pose(item, item.frame) for item in ordered]
        times = [item.time / self.fps for item in ordered]
        return Clip.from_poses(name, self.rig.skeleton.names, self.fps, held, times)

    def with_markers(self, choice, clip: Clip) -> Clip:
        """The clip with its action's pose markers, or, without any, with its feet's contacts, which are none where the
        character stands."""
        if markers := sorted((marker.frame, marker.name) for marker in getattr(choice.action, "pose_markers", ())):
            times = [((frame - clip.start_frame) / clip.fps, name) for frame, name in markers]
            return replace(clip, markers=tuple((name, time) for time, name in times if 0.0 <= time < clip.length))
        return replace(clip, markers=self._contacts(clip))

    def _contacts(self, clip: Clip) -> tuple:
        level = self.rig.skeleton.from_level
        feet = {}
        for i, (role, side) in enumerate(zip(self.anatomy.roles, self.anatomy.sides, strict=True)):
            if role in (roles.FOOT, roles.TOE) and (role == roles.FOOT or side not in feet):
                feet[side] = int(level[i])
        if len(feet) < 2:
            raise RagdollError(f'Clip "{clip.name}" has no pose markers, and its feet are not known')
        names = sorted(feet)
        positions = clip.poses.model(self.rig.skeleton)[0][:, [feet[name] for name in names]]
        up = armature.array_of(self.obj.matrix_world)[2, :3]
        heights = positions @ (up / np.linalg.norm(up))
        if np.ptp(heights, axis=0).min() < STEP * self.rig.size:
            return ()
        return contact_markers(heights, clip.fps, names)

    def _with_object(self, clip: Clip, action, owner, slot) -> Clip:
        """The clip with the object's own motion on its root bones."""
        frames = clip.start_frame + np.arange(clip.frame_count) * (self.fps / clip.fps)
        places = clips.object_matrices(action, owner, frames, slot)
        places = np.linalg.inv(armature.array_of(self.obj.matrix_world)) @ places
        poses = clip.poses.copy()
        roots = np.flatnonzero(self.rig.skeleton.parents < 0)
        own = [a[:, roots] for a in (poses.positions, poses.rotations, poses.scales)]
        moved = pose_space.decompose_matrices(places[:, None] @ pose_space.compose_matrices(*own))
        poses.positions[:, roots], poses.rotations[:, roots], poses.scales[:, roots] = moved
        return replace(clip, poses=poses)


def _no_action(name: str, what: str) -> str:
    return f'its {what} "{name}" was deleted' if name else f"no {what} is chosen"


def fingerprint(obj) -> tuple:
    """Changes with the frame rate, edits of actions, and which of the data-blocks that settings point at exist."""
    settings, names = obj.active_ragdoll, ("action", "armature", "base_action", "base_armature")
    choices = [*settings.layers, *settings.graph.states]
    choices += [pose for layer in settings.layers for pose in layer.poses]
    choices += [sample for space in settings.blend_spaces for sample in space.samples]
    chosen = (getattr(getattr(item, name, None), "session_uid", 0) for item in choices for name in names)
    return STATE.clips.edits, clips.scene_fps(settings.motion_scene), *chosen
