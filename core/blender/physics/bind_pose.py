"""The bind pose: the rest pose, or a pose of the animation where no body could take that or the user chose so.

It is kept with the bones (`armature.keep_bind_pose`), and everything that counts from the bind pose reads it by
`armature.bind_joints`.
"""

import bpy
import numpy as np

from ...anatomy import axes
from ...anatomy.roles import CREATURE
from ...errors import RagdollError
from .. import runtime
from ..rig.armature import (
    BindPose,
    anatomy_of,
    check_armature,
    keep_bind_pose,
    posed_tails,
    refuse_baked,
    rigid,
)
from ..runtime import STATE
from . import source

CANDIDATES = 25  # poses of the animation that are looked at


def from_frame(obj, scene) -> None:
    """Have the animation's pose at the current frame, without physics, for the bind pose; a build brings it about.

    Raises:
        RagdollError: it is baked, or a bone stands nowhere in that pose.
    """
    check_armature(obj)
    refuse_baked(obj)
    copy = source.copy_of(obj, f".{obj.name} Bind Pose")
    try:
        frame = scene.frame_current
        _world, poses = source.poses_over(copy, frame, frame, frame)
    finally:
        bpy.data.objects.remove(copy)
    bad = np.flatnonzero(~np.isfinite(poses[0]).all(axis=(1, 2)))
    if len(bad):
        raise RagdollError(f"Bone '{obj.pose.bones[int(bad[0])].name}' of '{obj.name}' has a pose that is not a number")
    _keep(obj, rigid(poses[0]))


def from_rest(obj) -> None:
    """Have the rest pose for the bind pose once more; a build brings it about."""
    check_armature(obj)
    refuse_baked(obj)
    _keep(obj, None)


def _keep(obj, local) -> None:
    with STATE.writing():
        keep_bind_pose(obj, local)
    runtime.settings_changed(obj, layout=True)


def find(obj, poses, frames) -> list[str]:
    """Where no body could take the bind pose, have the animation's most natural pose instead; notes of what it is.

    Args:
        poses: of all bones in the armature's space [f, n, 4, 4] at some frames [f].
    """
    pose = BindPose(obj, np.eye(4))
    parents = pose.parents
    if not axes.is_impossible(anatomy_of(obj), parents, pose.heads, pose.tails):
        return [] if pose.moved is None else ["the bind pose is taken from the animation, not the rest pose"]
    best, least, chosen = None, (True, np.inf), 0
    for row in np.unique(np.linspace(0, len(poses) - 1, min(CANDIDATES, len(poses))).astype(int)):
        local = rigid(poses[row])
        tails = posed_tails(obj, local)
        anatomy = anatomy_of(obj, (local, tails))
        strain = axes.strain(anatomy, parents, local[:, :3, 3], tails)
        if strain < axes.AT_EASE and (anatomy.kind == CREATURE, strain) < least:
            best, least, chosen = local, (anatomy.kind == CREATURE, strain), int(frames[row])
    if best is None:
        return [axes.IMPOSSIBLE]
    with STATE.writing():
        keep_bind_pose(obj, best)
    return [f"no body could take the bind pose: the pose of frame {chosen} stands in for it"]
