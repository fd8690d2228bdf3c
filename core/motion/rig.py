"""What entries of the motion stack know of a character and are handed at a frame, a pose above all."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from .. import pose as pose_space
from ..errors import RagdollError
from ..skeleton import Skeleton


@dataclass
class LocalPose:
    """Transforms relative to the parent bone, for roots to the armature; bones in the skeleton's level order.

    Leading axes are characters, frames or both.
    """

    positions: np.ndarray  # [..., n, 3] in the armature's units
    rotations: np.ndarray  # [..., n, 4] unit quaternions (w, x, y, z)
    scales: np.ndarray  # [..., n, 3]

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


@dataclass(frozen=True, eq=False)
class Rig:
    """A skeleton of n bones with its bind pose; everything in the skeleton's level order."""

    skeleton: Skeleton  # the bones
    bind: LocalPose  # the bind pose in local space, without leading axes
    # bind_positions, bind_rotations, bind_scales: the bind pose in model (armature) space [n, 3], [n, 4], [n, 3]
    bind_positions: np.ndarray = field(init=False)
    bind_rotations: np.ndarray = field(init=False)
    bind_scales: np.ndarray = field(init=False)
    index: dict = field(init=False)  # level index of each bone by name
    parents: tuple = field(init=False)  # level index of each bone's parent as plain integers, -1 at roots [n]

    def __post_init__(self) -> None:
        model = self.bind.model(self.skeleton)
        for name, value in zip(("bind_positions", "bind_rotations", "bind_scales"), model, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "index", {name: i for i, name in enumerate(self.skeleton.names)})
        object.__setattr__(self, "parents", tuple(self.skeleton.parents.tolist()))

    @property
    def size(self) -> float:
        """Largest extent of the joints in bind pose, armature units; 1 where there is none."""
        extent = float(np.max(np.ptp(self.bind_positions, axis=0)))
        return extent if extent > 0.0 else 1.0

    def name(self, bone: int) -> str:
        """A bone's name."""
        return self.skeleton.names[bone]

    def bone(self, entry: str, name: str) -> int:
        """Level index of a bone by name. Raises RagdollError, naming entry and bone, where there is none."""
        if name not in self.index:
            raise RagdollError(f'{entry}: there is no bone "{name}"')
        return self.index[name]

    def check(self, entry: str, bone) -> int:
        """A level index as integer. Raises RagdollError, naming the entry, when it is none of the skeleton."""
        if isinstance(bone, bool) or not isinstance(bone, (int, np.integer)) or not 0 <= bone < len(self.parents):
            raise RagdollError(f"{entry}: there is no bone with the index {bone!r}")
        return int(bone)

    def is_ancestor(self, ancestor: int, bone: int) -> bool:
        """Whether a bone is above another one; not above itself."""
        bone = self.parents[bone]
        while bone > ancestor:
            bone = self.parents[bone]
        return bone == ancestor >= 0

    def with_ancestors(self, bones) -> tuple:
        """Bones and all above them, each once, parents before children."""
        found: set = set()
        for bone in bones:
            while bone >= 0 and bone not in found:
                found.add(bone)
                bone = self.parents[bone]
        return tuple(sorted(found))


@dataclass
class Inputs:
    """What an entry reads at a frame."""

    weight: float = 1.0  # share of the entry's result, 0..1, a number
    world: np.ndarray | None = None  # World matrix of the armature object [4, 4]; None: the identity. Without shear.
    # What is looked at, or the effector of an IK: a point [3] in model (armature) space, for two-bone IK in the
    # entry's own space
    target: np.ndarray | None = None
    pole: np.ndarray | None = None  # joint target of a two-bone IK [3] in the entry's own space
    reference: LocalPose | None = None  # the pose that leg stabilisers hold to


def vector_of(values, size: int, entry: str, what: str) -> tuple:
    """A vector as plain numbers. Raises RagdollError: missing, of another size, or not numbers; names the entry."""
    if values is None:
        raise RagdollError(f"{entry}: there is no {what}")
    array = np.asarray(values, dtype=float)
    if array.shape != (size,):
        raise RagdollError(f"{entry}: the {what} has the shape {list(array.shape)}, not [{size}]")
    result = tuple(array.tolist())
    if not all(map(math.isfinite, result)):
        raise RagdollError(f"{entry}: the {what} is not a number")
    return result


def weight_of(weight, entry: str) -> float:
    """A weight, clamped to 0..1. Raises RagdollError, naming the entry, when it is not a number."""
    weight = float(weight)
    if not math.isfinite(weight):
        raise RagdollError(f"{entry}: the weight is not a number")
    return min(1.0, max(0.0, weight))


def vector_to_model(vector_ws, world) -> np.ndarray:
    """A direction of the world, such as up, as unit vector [..., 3] in armature space.

    Raises RagdollError: a world matrix of no extent, or a vector of no length.
    """
    vector = np.asarray(vector_ws, dtype=float)
    if world is not None:
        linear = np.asarray(world, dtype=float)[..., :3, :3]
        try:
            vector = np.linalg.solve(linear, np.broadcast_to(vector, linear.shape[:-1])[..., None])[..., 0]
        except np.linalg.LinAlgError:
            raise RagdollError("The armature's world matrix has a scale of 0") from None
    size = np.linalg.norm(vector, axis=-1, keepdims=True)
    if not (size > 0.0).all() or not np.isfinite(size).all():
        raise RagdollError(f"{np.asarray(vector_ws).tolist()} is not a direction")
    return vector / size


def points_to_model(points_ws, world) -> np.ndarray:
    """Points of the world [..., 3] in armature space. Raises RagdollError for a world matrix of no extent."""
    points = np.asarray(points_ws, dtype=float)
    if world is None:
        return points
    world = np.asarray(world, dtype=float)
    offset = points - world[..., :3, 3]
    try:
        linear = np.broadcast_to(world[..., :3, :3], (*offset.shape, 3))
        return np.linalg.solve(linear, offset[..., None])[..., 0]
    except np.linalg.LinAlgError:
        raise RagdollError("The armature's world matrix has a scale of 0") from None
