"""Does the animation stay within the joints' limits: every frame of the shot, bone by bone."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import bpy
import numpy as np

from ..errors import RagdollError
from . import joint_objects, source, world
from .armature import BindPose, check_armature, rigid
from .runtime import STATE

NOTICED = np.radians(0.1)  # less than any drive would show
MARGIN = np.radians(2.0)  # what widened limits keep beyond the animation


@dataclass
class Excess:
    """A bone whose animation goes beyond its joint's limits.

    Attributes:
        bone: its name.
        frames: the frames at which it does.
        excess: by how much at each [rad], `core.ragdoll.holding.excess`.
    """

    bone: str
    frames: np.ndarray
    excess: np.ndarray

    @property
    def worst(self) -> float:
        """The largest excess [rad]."""
        return float(self.excess.max())

    @property
    def worst_frame(self) -> int:
        """The frame of the largest excess."""
        return int(self.frames[int(np.argmax(self.excess))])


@dataclass
class Report:
    """What a check found, the worst bone first."""

    first: int
    last: int
    found: list = field(default_factory=list)
    widened: bool = False

    def text(self) -> str:
        """One line for messages."""
        if not self.found:
            return f"No bone exceeds its limits in frames {self.first} to {self.last}"
        worst = self.found[0]
        count = f"{len(self.found)} bones exceed" if len(self.found) > 1 else "1 bone exceeds"
        done = "; the limits are widened now" if self.widened else ""
        return (
            f"{count} the limits in frames {self.first} to {self.last}, worst '{worst.bone}': "
            f"{np.degrees(worst.worst):.1f} deg at frame {worst.worst_frame}, "
            f"{len(worst.frames)} frame{'s' if len(worst.frames) > 1 else ''} in all{done}"
        )


def check(obj, scene, *, widen: bool = False) -> Report:
    """Compare the character's own animation with its joints' limits at every frame of the shot.

    Args:
        obj: character with a ragdoll.
        scene: its scene.
        widen: widen the limits that are exceeded to what the animation needs, as if edited by hand: a new build keeps
            them, and is needed before they act. FIXED joints stay as they are.

    Returns:
        The report on the limits as they were; also kept in `STATE.limits` under the object's name.

    Raises:
        RagdollError: no ragdoll, a bone that is gone, or limits that make no sense.
    """
    check_armature(obj)
    if not obj.active_ragdoll.is_ragdoll:
        raise RagdollError(f"'{obj.name}' has no ragdoll: build it first")
    first, last = world.shot_range(scene)
    plan, pose, relatives = _rotations(obj, scene, first, last)
    frames = np.arange(first, last + 1)
    report = Report(first, last, widened=widen)
    for i, bone in enumerate(plan.bones):
        if plan.parents[i] < 0:
            continue
        settings = obj.pose.bones[pose.names[bone]].active_ragdoll
        excess = joint_objects.excesses(pose.names[bone], settings, relatives[:, i])
        beyond = excess > NOTICED
        if not beyond.any():
            continue
        report.found.append(Excess(pose.names[bone], frames[beyond], excess[beyond]))
        if widen:
            joint_objects.fit_limits(settings, relatives[:, i], MARGIN)
    report.found.sort(key=lambda found: -found.worst)
    STATE.limits[obj.name] = report
    return report


def _rotations(obj, scene, first: int, last: int):
    """(bones and parents of the bodies, bind pose, rotations [f, m, 4] of their joints at every frame)."""
    copy = source.copy_of(obj, f".{obj.name} Limits")
    try:
        chunks = []
        for start in range(first, last + 1, source.RANGE_SAMPLES):
            stop = min(start + source.RANGE_SAMPLES - 1, last)
            to_world, poses = source.poses_over(copy, start, stop, scene.frame_current)
            chunks.append(poses)
    finally:
        bpy.data.objects.remove(copy)
    pose = BindPose(obj.data, to_world)
    parts = obj.active_ragdoll.parts
    row = {part.bone: i for i, part in enumerate(parts)}
    missing = [part.bone for part in parts if part.bone not in pose.row]
    if missing:
        raise RagdollError(f"Bone '{missing[0]}' of '{obj.name}' is gone or renamed: build the ragdoll anew")
    plan = SimpleNamespace(
        bones=np.array([pose.row[part.bone] for part in parts]),
        parents=np.array([row.get(part.parent, -1) for part in parts]),
    )
    turns = np.array([obj.pose.bones[part.bone].active_ragdoll.joint_rotation for part in parts], dtype=float)
    poses = np.concatenate(chunks)
    return plan, pose, joint_objects.relative_rotations(poses, plan, rigid(pose.local), turns)
