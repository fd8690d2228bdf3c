"""Poses with weights: between a reference and one or several poses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from .. import quaternion
from ..errors import RagdollError
from ..skeleton import Skeleton
from .additive import apply_additive, make_additive
from .clip import interpolate, like, stack
from .local_pose import LocalPose

NORMALIZE, ADD = "NORMALIZE", "ADD"


def toward(reference: LocalPose, pose: LocalPose, weight: ArrayLike) -> LocalPose:
    """Between a reference (weight 0) and a pose (weight 1), on shortest arcs.

    Args:
        reference, pose: [..., n].
        weight: [..., n] or broadcast against it; a weight of a whole pose is [..., 1].
    """
    return interpolate(reference, pose, weight)


def weighted_sum(poses: LocalPose, weights: ArrayLike) -> LocalPose:
    """Mean of poses [k, ..., n] of one kind with weights [k, ...] that sum to 1; rotations normalised.

    A weight that is the only one gives its pose to the bit.
    """
    weights = np.asarray(weights, dtype=np.float64)
    rotations = quaternion.weighted_mean(poses.rotations, weights[..., None])
    return like(poses, _sum(poses.positions, weights), rotations, _sum(poses.scales, weights))


def _sum(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum of values [k, ..., n, 3] with weights [k, ...]."""
    if weights.ndim == 1:
        return weights.dot(values.reshape(len(weights), -1)).reshape(values.shape[1:])
    return np.add.reduce(values * weights[..., None, None], axis=0)


def blend_poses(
    skeleton: Skeleton,
    reference: LocalPose,
    poses: Sequence[LocalPose],
    weights: Sequence[ArrayLike],
    names: Sequence[str] | None = None,
    mode: str = NORMALIZE,
) -> LocalPose:
    """Several poses with weights.

    Args:
        skeleton: Of all poses.
        reference: What the weights that are missing to 1 stand for [..., n].
        poses: k poses [..., n].
        weights: k weights, each [...].
        names: Of the poses, for messages.
        mode: NORMALIZE: weights whose sum is above 1 are divided by it. ADD: each pose's difference to the reference is
            added with its weight, in local space and in this order.

    Raises:
        RagdollError: an unknown mode, other numbers of poses and weights, or a weight that is negative or no number.
    """
    if len(poses) != len(weights):
        raise RagdollError(f"Got {len(poses)} poses but {len(weights)} weights")
    names = [str(i) for i in range(len(poses))] if names is None else names
    given = [np.asarray(weight, dtype=np.float64) for weight in weights]
    for name, weight in zip(names, given, strict=True):
        if not np.isfinite(weight).all() or (weight < 0.0).any():
            raise RagdollError(f'The weight of pose "{name}" must be 0 or more, got {weight.min():g}')
    if mode == ADD:
        result = reference
        for pose, weight in zip(poses, given, strict=True):
            result = apply_additive(skeleton, result, make_additive(skeleton, pose, reference), weight[..., None])
        return result
    if mode != NORMALIZE:
        raise RagdollError(f'Poses cannot be blended by "{mode}"; use {NORMALIZE} or {ADD}')
    if len(poses) == 1:
        return toward(reference, poses[0], np.minimum(given[0], 1.0)[..., None])
    shares = np.stack(np.broadcast_arrays(*given)) if given else np.zeros((0,))
    total = np.sum(shares, axis=0)
    shares = shares / np.maximum(total, 1.0)
    rest = np.maximum(1.0 - total, 0.0)
    return weighted_sum(stack(_broadcast([reference, *poses])), np.concatenate([rest[None], shares]))


def _broadcast(poses: list[LocalPose]) -> list[LocalPose]:
    shape = np.broadcast_shapes(*(pose.rotations.shape[:-1] for pose in poses))
    return [
        replace(
            pose,
            positions=np.broadcast_to(pose.positions, (*shape, 3)),
            rotations=np.broadcast_to(pose.rotations, (*shape, 4)),
            scales=np.broadcast_to(pose.scales, (*shape, 3)),
        )
        for pose in poses
    ]
