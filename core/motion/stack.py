"""The motion stack: entries that a pose goes through one after another, what they know of a character and read."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np

from .. import pose as pose_space
from ..errors import RagdollError
from ..skeleton import Skeleton, path_to_root


@dataclass
class LocalPose:
    """Transforms relative to the parent bone, for roots to the armature; bones in level order, frames may lead."""

    positions: np.ndarray  # [..., n, 3] in the armature's units
    rotations: np.ndarray  # [..., n, 4] unit quaternions (w, x, y, z)
    scales: np.ndarray  # [..., n, 3]

    def copy(self) -> "LocalPose":
        """The same pose in arrays of its own."""
        return LocalPose(self.positions.copy(), self.rotations.copy(), self.scales.copy())

    def model(self, skeleton: Skeleton) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, rotations and scales in model (armature) space, of the same shapes."""
        return pose_space.local_to_model(skeleton, self.positions, self.rotations, self.scales)


class MatrixPose(LocalPose):
    """A pose of local matrices [n, 4, 4], taken apart when it is looked into: mostly it is only passed on."""

    def __init__(self, matrices: np.ndarray) -> None:
        self._matrices = matrices

    def take_apart_as(self, known: LocalPose) -> None:
        """Take the parts of the same pose, which is known apart."""
        self._parts = known.positions, known.rotations, known.scales

    @cached_property
    def _parts(self) -> tuple:
        return pose_space.decompose_matrices(self._matrices)

    positions, rotations, scales = (property(lambda self, i=i: self._parts[i]) for i in range(3))


@dataclass(eq=False)
class Rig:
    """A skeleton of n bones with its bind pose; everything in the skeleton's level order."""

    skeleton: Skeleton  # the bones
    bind: LocalPose  # the bind pose in local space, without leading axes
    find_roles: Callable[[], tuple] | None = None  # of the bones in input order; takes long, so asked where needed
    # bind_positions, bind_rotations, bind_scales: the bind pose in model (armature) space [n, 3], [n, 4], [n, 3]
    bind_positions: np.ndarray = field(init=False)
    bind_rotations: np.ndarray = field(init=False)
    bind_scales: np.ndarray = field(init=False)
    index: dict = field(init=False)  # level index of each bone by name
    parents: tuple = field(init=False)  # level index of each bone's parent as plain integers, -1 at roots [n]

    def __post_init__(self) -> None:
        self.bind_positions, self.bind_rotations, self.bind_scales = self.bind.model(self.skeleton)
        self.index = {name: i for i, name in enumerate(self.skeleton.names)}
        self.parents = tuple(self.skeleton.parents.tolist())

    @property
    def size(self) -> float:
        """Largest extent of the joints in bind pose, armature units; 1 where there is none."""
        extent = float(np.max(np.ptp(self.bind_positions, axis=0)))
        return extent if extent > 0.0 else 1.0

    @cached_property
    def roles(self) -> tuple:
        """What part of a body each bone is, see `core.anatomy.roles` [n]; None where it is not known."""
        found = self.find_roles() if self.find_roles else (None,) * len(self.parents)
        return tuple(found[i] for i in self.skeleton.to_level)

    @cached_property
    def roots(self) -> np.ndarray:
        """Level index of the root above each bone, or of itself [n]."""
        return np.array([path_to_root(self.parents, bone)[-1] for bone in range(len(self.parents))])

    def name(self, bone: int) -> str:
        """A bone's name."""
        return self.skeleton.names[bone]

    def bone(self, entry: str, name: str) -> int:
        """Level index of a bone by name. Raises RagdollError, naming entry and bone, where there is none."""
        if name not in self.index:
            raise RagdollError(f'{entry}: there is no bone "{name}"')
        return self.index[name]

    def is_ancestor(self, ancestor: int, bone: int) -> bool:
        """Whether a bone is above another one; not above itself."""
        return ancestor in path_to_root(self.parents, bone)[1:]

    def are_in_line(self, a: int, b: int) -> bool:
        """Whether one of two bones is above the other."""
        return self.is_ancestor(a, b) or self.is_ancestor(b, a)

    def with_ancestors(self, bones) -> tuple:
        """Bones and all above them, each once, parents before children."""
        return tuple(sorted({above for bone in bones for above in path_to_root(self.parents, bone)}))


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


def vector_of(values, entry: str, what: str) -> tuple:
    """A vector as plain numbers. Raises RagdollError, naming the entry, where it has a value that is no number."""
    result = tuple(map(float, values))
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
    """A direction of the world, such as up, as unit vector [3] in armature space. Raises RagdollError: a world matrix
    of no extent, or a vector of no length."""
    vector = np.asarray(vector_ws, dtype=float)
    if world is not None:
        vector = solved(np.asarray(world, dtype=float)[:3, :3], vector)
    size = np.linalg.norm(vector)
    if not 0.0 < size < math.inf:
        raise RagdollError(f"{np.asarray(vector_ws).tolist()} is not a direction")
    return vector / size


def point_to_model(point_ws, world) -> np.ndarray:
    """A point of the world [3] in armature space. Raises RagdollError for a world matrix of no extent."""
    point = np.asarray(point_ws, dtype=float)
    if world is None:
        return point
    world = np.asarray(world, dtype=float)
    return solved(world[:3, :3], point - world[:3, 3])


def solved(world: np.ndarray, values: np.ndarray) -> np.ndarray:
    """What the armature's world matrix, or its linear part, makes the values of. Raises RagdollError: it is flat."""
    try:
        return np.linalg.solve(world, values)
    except np.linalg.LinAlgError:
        raise RagdollError("The armature's world matrix has a scale of 0") from None


class Step:
    """One step of the stack."""

    name: str  # for messages
    solver: object  # what `apply` calls, unless a class has its own
    marks_reference: bool = False  # the pose that enters this step is the reference from here on
    begins_reference: bool = False  # it is, where no step before has marked one
    reads_reference: bool = False  # its inputs get the reference: leg stabilisers put feet back to it
    plays_elsewhere: bool = False  # what the steps before it give is the animation, which it moves or hides
    keeps_state: bool = False  # what it does depends on the frames before
    note: str = ""  # what of its settings it leaves out, told at every frame; empty: nothing
    # Why parts of it were left out at the last frame, by their names
    messages: Mapping[str, str] = MappingProxyType({})

    def read(self, context, pose: LocalPose) -> Inputs | None:
        """Its inputs at a frame, given what the host hands to `run` and the pose that comes in; None: leave it out."""
        raise NotImplementedError

    def apply(self, rig: Rig, pose: LocalPose, inputs: Inputs, state, seconds: float) -> tuple[LocalPose, object]:
        """The new pose, and the state for the next frame."""
        return self.solver.apply(rig, pose, inputs, state, seconds)

    def refresh(self) -> bool:
        """Take in what changed beside the settings, such as an edited action; whether recorded states are void."""
        return False


def run(entries: list[Step], rig: Rig, pose: LocalPose, context, states: tuple | None, seconds: float) -> tuple:
    """Take a pose through all entries, in order. An entry that fails is left out; the rest goes on.

    Every entry's `read` gets the context. States are those of the frame before, one per entry, None where there is
    none; `seconds` is the time of this frame.
    Returns the pose, the states of this frame, and messages by the name of the entry that failed or has a note.
    """
    reference, after, messages = None, [], {}
    for i, entry in enumerate(entries):
        state = states[i] if states is not None else None
        if entry.marks_reference or (entry.begins_reference and reference is None):
            reference = pose
        if entry.note:
            messages[entry.name] = entry.note
        try:
            if (inputs := entry.read(context, pose)) is not None:
                if entry.reads_reference and inputs.reference is None:
                    inputs.reference = pose if reference is None else reference
                pose, state = entry.apply(rig, pose, inputs, state, seconds)
                messages |= entry.messages
        except RagdollError as error:
            messages[entry.name] = str(error)
        after.append(state)
    return pose, tuple(after), messages
