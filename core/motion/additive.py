"""Additive poses: the difference between a pose and a base, put on top of any other pose.

In local space the difference of rotations is taken in the parent's frame, `d = r_pose * inverse(r_base)`, and applied
from the left, `d^w * r`; translations add `w t`, scales are multiplied by `1 + w s`. In mesh space the differences of
rotations are those of rotations in the armature; translations and scales stay local. So a mesh-space difference of the
spine leaves the directions of the arms alone, a local one carries them along. This is how Unreal Engine's additive
animation is defined (documentation: Additive Animations; FTransform::BlendFromIdentityAndAccumulate), but for `d^w`,
which here is an exact share of the angle on the shortest arc where Unreal interpolates linearly and normalises.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from .. import pose as pose_space
from .. import quaternion
from ..errors import RagdollError
from ..skeleton import Skeleton
from .clip import Clip
from .local_pose import LocalPose

LOCAL, MESH = "LOCAL", "MESH"
SPACES = (LOCAL, MESH)


@dataclass
class AdditivePose:
    """A difference of poses; bones in level order.

    Attributes:
        positions: To be added [..., n, 3], in the parent's axes.
        rotations: To be multiplied from the left [..., n, 4].
        scales: s of the factor 1 + w s [..., n, 3].
        space: LOCAL, rotations being in the parent's frame, or MESH, in the armature's.
    """

    positions: np.ndarray
    rotations: np.ndarray
    scales: np.ndarray
    space: str = LOCAL


def make_additive(skeleton: Skeleton, pose: LocalPose, base: LocalPose, space: str = LOCAL) -> AdditivePose:
    """The difference that turns `base` into `pose` at weight 1.

    Args:
        skeleton: Of both poses.
        pose, base: [..., n], broadcast against each other: many frames to one base, or frame by frame.
        space: LOCAL or MESH.

    Raises:
        RagdollError: an unknown space, or a bone whose base has a scale of 0 that the pose has not.
    """
    if space not in SPACES:
        raise RagdollError(f'There is no additive space "{space}"; use {" or ".join(SPACES)}')
    lost = ((base.scales == 0.0) & (pose.scales != 0.0)).any(axis=-1)
    lost = lost.reshape(-1, len(skeleton)).any(axis=0)
    if lost.any():
        name = skeleton.names[int(np.argmax(lost))]
        raise RagdollError(f'Bone "{name}" has a scale of 0 in the base pose: no factor leads to the pose')
    target, start = pose.rotations, base.rotations
    if space == MESH:
        target = pose_space.local_to_model_rotations(skeleton, target)
        start = pose_space.local_to_model_rotations(skeleton, start)
    empty = base.scales == 0.0
    return AdditivePose(
        pose.positions - base.positions,
        quaternion.multiply(target, quaternion.conjugate(start)),
        np.where(empty, 0.0, pose.scales / np.where(empty, 1.0, base.scales) - 1.0),
        space,
    )


def check_whole(poses: LocalPose | AdditivePose | None, what: str) -> None:
    """Refuse differences where poses to be shown are needed. Raises RagdollError naming `what`."""
    if poses is None or isinstance(poses, AdditivePose):
        raise RagdollError(f"{what} is additive: a state shows whole poses; put it on top as a layer")


def apply_additive(
    skeleton: Skeleton,
    pose: LocalPose,
    additive: AdditivePose,
    weight: ArrayLike = 1.0,
    kept: np.ndarray | None = None,
) -> LocalPose:
    """A pose with a difference on top.

    Args:
        skeleton: Of both.
        pose: [..., n].
        additive: [..., n].
        weight: Of each bone [..., n] or broadcast against it; 0 is the identity, to the bit.
        kept: What `kept_bones` gives for the bones whose weight is 0, where the caller knows it.

    Returns:
        [..., n], with the leading axes of all three broadcast.
    """
    weight = np.asarray(weight, dtype=np.float64)
    w = weight[..., None] if weight.ndim else weight
    turns = quaternion.power(additive.rotations, weight)
    if additive.space == MESH:
        model = pose_space.local_to_model_rotations(skeleton, pose.rotations)
        rotations = pose_space.model_to_local_rotations(skeleton, quaternion.multiply(turns, model))
        if kept is None and not weight.all():
            kept = kept_bones(skeleton, weight == 0.0)
        if kept is not None:  # there and back is not the same to the bit
            np.copyto(rotations, pose.rotations, where=kept[..., None])
    else:
        rotations = quaternion.multiply(turns, pose.rotations)
    # x + 0 and x * 1, of numbers and of rotations, are x to the bit.
    return LocalPose(pose.positions + w * additive.positions, rotations, pose.scales * (1.0 + w * additive.scales))


def kept_bones(skeleton: Skeleton, untouched: np.ndarray) -> np.ndarray:
    """Bones [..., n] that keep their local rotation: those that do in mesh space, and their parent too."""
    if untouched.ndim == 0 or untouched.shape[-1] != len(skeleton):
        return untouched  # one for all bones
    roots = skeleton.root_count
    result = untouched.copy()
    result[..., roots:] &= untouched.take(skeleton.parents[roots:], axis=-1)
    return result


def additive_clip(skeleton: Skeleton, clip: Clip, base: LocalPose, space: str = LOCAL) -> Clip:
    """A clip of the differences between a clip's frames and a base pose.

    Args:
        skeleton: The clip's.
        clip: The motion.
        base: Bind pose, a frame of the clip or of another clip [n]; or as many frames as the clip has [f, n].
        space: LOCAL or MESH.

    Raises:
        RagdollError: see `make_additive`, or the clip is made for another skeleton or is additive itself.
    """
    if clip.bones != skeleton.names:
        raise RagdollError(f'Clip "{clip.name}" is made for another skeleton: map it first')
    if isinstance(clip.poses, AdditivePose):
        raise RagdollError(f'Clip "{clip.name}" is additive already')
    frames = np.ndim(base.rotations) > 2 and len(base.rotations)
    if frames and frames != clip.frame_count:
        raise RagdollError(f'Clip "{clip.name}" has {clip.frame_count} frames, its base has {frames}')
    return replace(clip, poses=make_additive(skeleton, clip.poses, base, space))
