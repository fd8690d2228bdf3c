"""Pose layers, the first one lowest, each of which overrides the pose below it or adds to it, on some of the bones."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import RagdollError
from ..skeleton import Skeleton
from .blend_space import SpacePlayer, SpaceState, step_all
from .clip import LOCAL, MESH, AdditivePose, apply_additive, interpolate, make_additive, stack, weighted_sum
from .stack import LocalPose, Rig, Step

OVERRIDE, ADDITIVE_LOCAL, ADDITIVE_MESH = "OVERRIDE", "ADDITIVE_LOCAL", "ADDITIVE_MESH"
SPACE_OF_MODE = {ADDITIVE_LOCAL: LOCAL, ADDITIVE_MESH: MESH}
NORMALIZE, ADD = "NORMALIZE", "ADD"


@dataclass
class LayerInputs:
    """What is read at a frame, and what the layers' sources are given."""

    weights: Sequence[float]  # of every layer, 0..1
    # Inputs of the blend spaces by name, for the sources their states; or the error where there are none
    spaces: Mapping[str, tuple | SpaceState | RagdollError] = field(default_factory=dict)
    # Weights of the poses of layers that have several, by the layer's place
    poses: Mapping[int, Sequence[float]] = field(default_factory=dict)
    seconds: float = 0.0  # time of the frame; for the sources

    def space(self, name: str) -> SpaceState:
        """For a source: the state of a blend space. Raises RagdollError where its inputs are wrong."""
        state = self.spaces[name]
        if isinstance(state, RagdollError):
            raise state
        return state


@dataclass
class Layer:
    """One layer."""

    name: str  # for messages
    # Gives the pose [n] at a frame: of a clip, a blend space, an aim offset. May raise RagdollError.
    source: Callable[[LayerInputs], LocalPose | AdditivePose]
    mode: str = OVERRIDE  # OVERRIDE, ADDITIVE_LOCAL or ADDITIVE_MESH
    mask: np.ndarray | None = None  # share of the weight of each bone, 0..1 [n]; None: all bones wholly
    # Additive modes: what a source that gives whole poses is the difference to. A source that gives additive
    # poses needs none.
    base: LocalPose | None = None

    def apply(self, skeleton: Skeleton, pose: LocalPose, frame: LayerInputs, weight: float) -> LocalPose:
        """A pose [n] with this layer on top.

        Weight 0 gives the pose below and weight 1 of an override its source, both to the bit, bone by bone.
        Raises RagdollError: the weight is not within 0 and 1, the source fails, gives what is not a number, or is not
        of the kind that the mode needs.
        """
        if not 0.0 <= weight <= 1.0:
            raise RagdollError(f"the weight must be within 0 and 1, got {weight:g}")
        if weight == 0.0 or (self.mask is not None and not self.mask.any()):
            return pose
        given = self.source(frame)
        _check_numbers(given, skeleton)
        weights = np.float64(weight) if self.mask is None else weight * self.mask
        if self.mode == OVERRIDE:
            if isinstance(given, AdditivePose):
                raise RagdollError("its source is additive, which cannot override")
            return interpolate(pose, given, weights)
        space = SPACE_OF_MODE[self.mode]
        if not isinstance(given, AdditivePose):
            if self.base is None:
                raise RagdollError("its source gives whole poses: an additive layer needs a base pose for them")
            given = make_additive(skeleton, given, self.base, space)
        elif given.space != space:
            own, wanted = given.space.lower(), space.lower()
            raise RagdollError(f"its source is additive in {own} space, the layer in {wanted} space")
        return apply_additive(skeleton, pose, given, weights)


class LayerStack(Step):
    """The layers of a character, the lowest first, and the blend spaces that they play by name, as a stack's entry."""

    name = "Layers"

    def __init__(self, layers: Sequence[Layer], players: Mapping[str, SpacePlayer]) -> None:
        self.layers, self.players = list(layers), dict(players)

    @property
    def keeps_state(self) -> bool:
        """Whether a frame depends on those before it."""
        return any(player.keeps_state for player in self.players.values())

    def apply(self, rig: Rig, pose: LocalPose, inputs: LayerInputs, state: dict | None, seconds: float) -> tuple:
        """The pose with all layers on top; the state is that of the blend spaces by name.

        A layer that fails is left out and told; the rest goes on."""
        spaces, troubles = step_all(self.players, state or {}, inputs.spaces, seconds)
        errors = {key: RagdollError(f'Blend space "{self.players[key].name}": {why}') for key, why in troubles.items()}
        frame = LayerInputs(inputs.weights, spaces | errors, inputs.poses, seconds)
        self.messages = {}
        for layer, weight in zip(self.layers, inputs.weights, strict=True):
            try:
                pose = layer.apply(rig.skeleton, pose, frame, weight)
            except RagdollError as error:
                self.messages[f'Layer "{layer.name}"'] = str(error)
        return pose, spaces


def mask_from_bones(skeleton: Skeleton, bones: Sequence[str], *, depth: int = 0, children: bool = True) -> np.ndarray:
    """A mask [n] that is 1 on bones, by name, and with `children` on what hangs on them.

    Over a falloff of `depth` bones it rises: of 3, the first bone has 1/3, its children 2/3, theirs and all below 1; 0
    and 1 are no falloff. Where several bones begin in one branch, the largest value counts.
    Raises RagdollError: a bone that the skeleton does not have.
    """
    mask = np.zeros(len(skeleton))
    steps = max(depth, 1)
    for name in bones:
        own = np.zeros(len(skeleton))
        own[skeleton.index(name)] = 1.0
        if children:
            for above, level, parents in skeleton.level_steps:
                from_parent = own[above][parents]
                own[level] += np.where(from_parent > 0.0, np.minimum(from_parent + 1.0, steps), 0.0)
        mask = np.maximum(mask, own / (steps if children else 1.0))
    return mask


def mask_from_roles(roles: Sequence[str], wanted, sides: Sequence[str], side: str | None = None) -> np.ndarray:
    """A mask [n] that is 1 on bones of the wanted roles and, unless it is None, of one side.

    It is in the order of `roles` and `sides`, which say what each bone is; see `core.anatomy.roles`."""
    return np.array([role in wanted and side in (None, own) for role, own in zip(roles, sides, strict=True)], float)


def blend_poses(skeleton: Skeleton, reference: LocalPose, poses, weights, names, mode: str = NORMALIZE) -> LocalPose:
    """Several poses [n] with weights; the names are for messages.

    With NORMALIZE, weights whose sum is above 1 are divided by it, and what is missing to 1 is the reference. With
    ADD, each pose's difference to the reference is added with its weight, in local space and in this order.
    Raises RagdollError: a weight that is negative or no number.
    """
    for name, weight in zip(names, weights, strict=True):
        if not 0.0 <= weight < math.inf:
            raise RagdollError(f'The weight of pose "{name}" must be 0 or more, got {weight:g}')
    if mode == ADD:
        result = reference
        for pose, weight in zip(poses, weights, strict=True):
            result = apply_additive(skeleton, result, make_additive(skeleton, pose, reference), weight)
        return result
    if len(poses) == 1:
        return interpolate(reference, poses[0], min(weights[0], 1.0))
    total = sum(weights)
    shares = np.array([max(1.0 - total, 0.0), *(weight / max(total, 1.0) for weight in weights)])
    return weighted_sum(stack([reference, *poses]), shares)


def _check_numbers(pose: LocalPose | AdditivePose, skeleton: Skeleton) -> None:
    """Raises RagdollError naming the first bone [n] that has a value which is not a number."""
    arrays = pose.rotations, pose.positions, pose.scales
    # One number that is none, if any of them is.
    if not math.isfinite(sum(float(np.vdot(array, array)) for array in arrays)):
        name = skeleton.names[int(np.argmin(np.isfinite(np.concatenate(arrays, axis=-1)).all(axis=-1)))]
        raise RagdollError(f'its source gives a value that is not a number on bone "{name}"')
