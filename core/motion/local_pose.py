"""A pose in local space, as every entry of the motion stack takes and gives it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import pose as pose_space
from ..skeleton import Skeleton


@dataclass
class LocalPose:
    """Transforms relative to the parent bone, for roots to the armature; bones in the skeleton's level order.

    Leading axes are characters, frames or both.

    Attributes:
        positions: [..., n, 3] in the armature's units.
        rotations: [..., n, 4] unit quaternions (w, x, y, z).
        scales: [..., n, 3].
    """

    positions: np.ndarray
    rotations: np.ndarray
    scales: np.ndarray

    def copy(self) -> LocalPose:
        """The same pose in arrays of its own."""
        return LocalPose(self.positions.copy(), self.rotations.copy(), self.scales.copy())

    def model(self, skeleton: Skeleton) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, rotations and scales in model (armature) space, of the same shapes."""
        return pose_space.local_to_model(skeleton, self.positions, self.rotations, self.scales)

    @staticmethod
    def from_model(skeleton: Skeleton, positions, rotations, scales) -> LocalPose:
        """The local pose of transforms in model space."""
        return LocalPose(*pose_space.model_to_local(skeleton, positions, rotations, scales))
