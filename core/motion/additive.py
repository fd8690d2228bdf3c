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
from .rig import LocalPose

LOCAL, MESH = "LOCAL", "MESH"


@dataclass
class AdditivePose:
    """A difference of poses; bones in level order.

    Attributes:
        positions: To be added [n, 3], in the parent's axes; of a clip [f, n, 3], and so on.
        rotations: To be multiplied from the left [n, 4].
        scales: s of the factor 1 + w s [n, 3].
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
        pose, base: [n], or of a clip [f, n], broadcast against each other: many frames to one base, or frame by frame.
        space: LOCAL or MESH.

    Raises:
        RagdollError: a bone whose base has a scale of 0 that the pose has not.
    """
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


def apply_additive(skeleton: Skeleton, pose: LocalPose, additive: AdditivePose, weight: ArrayLike = 1.0) -> LocalPose:
    """A pose [n] with a difference [n] on top; the weight is a number or one of each bone [n], 0 the identity to the
    bit."""
    weight = np.asarray(weight, dtype=np.float64)
    if weight.ndim == 0 and weight == 0.0:
        return pose
    w = weight[:, None] if weight.ndim else weight
    turns = quaternion.power(additive.rotations, weight)
    if additive.space == MESH:
        model = pose_space.local_to_model_rotations(skeleton, pose.rotations)
        rotations = pose_space.model_to_local_rotations(skeleton, quaternion.multiply(turns, model))
        if weight.ndim:  # there and back is not the same to the bit
            kept = _kept_bones(skeleton, weight == 0.0)
            np.copyto(rotations, pose.rotations, where=kept[:, None])
    else:
        rotations = quaternion.multiply(turns, pose.rotations)
    # x + 0 and x * 1, of numbers and of rotations, are x to the bit.
    return LocalPose(pose.positions + w * additive.positions, rotations, pose.scales * (1.0 + w * additive.scales))


def _kept_bones(skeleton: Skeleton, untouched: np.ndarray) -> np.ndarray:
    """Bones [n] that keep their local rotation: those that do in mesh space, and their parent too."""
    roots = skeleton.root_count
    result = untouched.copy()
    result[roots:] &= untouched[skeleton.parents[roots:]]
    return result


def additive_clip(skeleton: Skeleton, clip: Clip, base: LocalPose, space: str = LOCAL) -> Clip:
    """A clip of the differences, in local or mesh space, between a clip's frames and a base pose [n].

    Raises:
        RagdollError: see `make_additive`.
    """
    return replace(clip, poses=make_additive(skeleton, clip.poses, base, space))
