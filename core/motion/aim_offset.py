"""Aim offsets: a blend space of mesh-space additive poses over yaw and pitch, on top of any pose.

Mesh-space samples keep the direction that is aimed at whatever the body below does; a local-space or whole sample would
not, and is refused, as Unreal Engine's aim offsets do.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import RagdollError
from ..skeleton import Skeleton
from .additive import MESH, AdditivePose, apply_additive
from .blend_space import BlendSpace1D, BlendSpace2D
from .clip import Clip, stack
from .local_pose import LocalPose
from .pose_blend import weighted_sum


class AimOffset:
    """A space of yaw, or of yaw and pitch, whose samples are mesh-space additive.

    Attributes:
        space: Places of the samples.
        samples: Additive poses of the samples, in its order.
    """

    def __init__(
        self, space: BlendSpace1D | BlendSpace2D, samples: Mapping[str, AdditivePose | LocalPose | Clip]
    ) -> None:
        """Samples by name; of a clip the first frame counts.

        Raises:
            RagdollError: a sample that is missing, or is not additive in mesh space.
        """
        self.space = space
        self.samples = [mesh_space_pose(name, samples.get(name)) for name in space.names]
        self._stacked = stack(self.samples)

    def weights(self, yaw: ArrayLike, pitch: ArrayLike = 0.0) -> NDArray:
        """Weights of the samples [..., k]; a one-dimensional space takes the yaw alone."""
        if isinstance(self.space, BlendSpace1D):
            return self.space.weights(yaw)
        return self.space.weights(yaw, pitch)

    def pose(self, yaw: ArrayLike, pitch: ArrayLike = 0.0) -> AdditivePose:
        """The additive pose [..., n] at yaw and pitch [...], in the unit of the axes.

        Raises:
            RagdollError: an input that is not a number.
        """
        return self.weighed(self.weights(yaw, pitch))

    def weighed(self, weights: ArrayLike) -> AdditivePose:
        """The additive pose [..., n] of weights of the samples [..., k] that sum to 1."""
        weights = np.asarray(weights, dtype=np.float64)
        if weights.ndim == 1:  # three samples at most have a part
            used = weights.nonzero()[0]
            return weighted_sum(AdditivePose(*(a.take(used, 0) for a in self._arrays()), MESH), weights[used])
        weights = np.moveaxis(weights, -1, 0)
        extra = (1,) * (weights.ndim - 1)
        arrays = (a.reshape(len(a), *extra, *a.shape[1:]) for a in self._arrays())
        return weighted_sum(AdditivePose(*arrays, MESH), weights)

    def apply(
        self, skeleton: Skeleton, pose: LocalPose, yaw: ArrayLike, pitch: ArrayLike = 0.0, weight: ArrayLike = 1.0
    ) -> LocalPose:
        """A pose [..., n] with the offset on top; the weight is [..., n] or broadcast against it."""
        return apply_additive(skeleton, pose, self.pose(yaw, pitch), weight)

    def _arrays(self) -> tuple[NDArray, NDArray, NDArray]:
        return self._stacked.positions, self._stacked.rotations, self._stacked.scales


def yaw_pitch(
    direction: ArrayLike, forward: ArrayLike = (0.0, -1.0, 0.0), up: ArrayLike = (0.0, 0.0, 1.0)
) -> tuple[NDArray, NDArray]:
    """Yaw and pitch [...] in radians of directions to a target.

    Args:
        direction: From the eyes or the weapon to the target, in model space, any length but 0; [..., 3].
        forward: Where yaw and pitch are 0; its part along `up` does not count.
        up: About which the yaw turns.

    Returns:
        Yaw, -pi..pi, positive counter-clockwise seen from above (to the character's left), and pitch, -pi/2..pi/2,
        positive upwards. Straight up or down the yaw is 0.

    Raises:
        RagdollError: a direction that is zero or not a number, or `forward` along `up`.
    """
    direction, up = np.asarray(direction, dtype=np.float64), _unit(np.asarray(up, dtype=np.float64), "up axis")
    direction = _unit(direction, "direction of the target")
    forward = np.asarray(forward, dtype=np.float64)
    forward = _unit(forward - up * (forward @ up), "forward axis across the up axis")
    left = np.cross(up, forward)
    ahead, aside, above = direction @ forward, direction @ left, direction @ up
    across = np.hypot(ahead, aside)
    vertical = across < 1e-9
    return np.where(vertical, 0.0, np.arctan2(aside, ahead)), np.arctan2(above, across)


def _unit(vectors: NDArray, what: str) -> NDArray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not np.isfinite(length).all() or (length < 1e-12).any():
        raise RagdollError(f"The {what} has no length or is not a number")
    return vectors / length


def mesh_space_pose(name: str, sample: AdditivePose | LocalPose | Clip | None) -> AdditivePose:
    """The sample of an aim offset, of a clip its first frame.

    Raises:
        RagdollError: it is missing or not additive in mesh space; names it.
    """
    if sample is None:
        raise RagdollError(f'The sample "{name}" of the aim offset is missing')
    pose = sample.pose(0) if isinstance(sample, Clip) else sample
    if not isinstance(pose, AdditivePose):
        raise RagdollError(f'The sample "{name}" of the aim offset is not additive: it must be, in mesh space')
    if pose.space != MESH:
        raise RagdollError(f'The sample "{name}" of the aim offset is additive in local, not in mesh space')
    return pose
