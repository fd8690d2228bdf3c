"""A stack of layers, each of which changes the pose below it: overriding it or adding to it, on some of the bones.

Layers act in their order, the first one lowest: an override hides what is below it as far as its weight goes, an
additive layer adds to whatever is below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import RagdollError
from ..skeleton import Skeleton
from .additive import LOCAL, MESH, AdditivePose, apply_additive, kept_bones, make_additive
from .clip import between, interpolate
from .local_pose import LocalPose

OVERRIDE, ADDITIVE_LOCAL, ADDITIVE_MESH = "OVERRIDE", "ADDITIVE_LOCAL", "ADDITIVE_MESH"
SPACE_OF_MODE = {ADDITIVE_LOCAL: LOCAL, ADDITIVE_MESH: MESH}
MODES = (OVERRIDE, *SPACE_OF_MODE)


class CheckedMask:
    """A layer's mask and what follows from it alone, for every frame.

    Attributes:
        given, skeleton: What it is made of.
        values: 0..1, float64 [n].
        most: The largest.
        kept: Bones that an additive layer in mesh space leaves as they are, boolean [n].
    """

    def __init__(self, given: ArrayLike, skeleton: Skeleton) -> None:
        """Raises RagdollError: another shape than [n], or a value outside of 0 and 1."""
        self.given, self.skeleton = given, skeleton
        self.values = _mask_values(given, skeleton)
        self.most = float(self.values.max())
        self.kept = kept_bones(skeleton, self.values == 0.0)


@dataclass
class Layer:
    """One layer.

    Attributes:
        name: For messages.
        source: Gives the pose [..., n] at a time [s]: a clip's `sample`, a blend space, an aim offset. May raise
            RagdollError.
        mode: OVERRIDE, ADDITIVE_LOCAL or ADDITIVE_MESH.
        weight: 0..1, [...], for instance one per character.
        mask: Share of the weight of each bone, 0..1 [n]; None: all bones wholly. Checked once, so not to be written to
            but replaced.
        base: Additive modes: what a source that gives whole poses is the difference to. A source that gives additive
            poses needs none.
        enabled: Off: the layer does nothing.
        solo: While any enabled layer is solo, only those act.
    """

    name: str
    source: Callable[[Any], LocalPose | AdditivePose]
    mode: str = OVERRIDE
    weight: ArrayLike = 1.0
    mask: np.ndarray | None = None
    base: LocalPose | None = None
    enabled: bool = True
    solo: bool = False
    checked_mask: CheckedMask | None = field(default=None, init=False, repr=False, compare=False)


def active_layers(layers: Iterable[Layer]) -> list[Layer]:
    """The layers that act, in their order."""
    enabled = [layer for layer in layers if layer.enabled]
    solo = [layer for layer in enabled if layer.solo]
    return solo or enabled


def apply_layers(
    skeleton: Skeleton,
    pose: LocalPose,
    layers: Iterable[Layer],
    time: Any = 0.0,
    problems: list[str] | None = None,
) -> LocalPose:
    """A pose with a stack of layers on top.

    Args:
        skeleton: Of all poses.
        pose: What is below the first layer [..., n].
        layers: The lowest first.
        time: Passed to the layers' sources: seconds, or whatever they take.
        problems: Where given, a layer that cannot be evaluated is left out, its message is appended, and the rest goes
            on; otherwise the first such layer raises.

    Returns:
        A pose [..., n]; `pose` itself where no layer acts. Weight 0 gives the pose below and weight 1 of an override
        its source, both to the bit, bone by bone.

    Raises:
        RagdollError: naming the layer.
    """
    for layer in active_layers(layers):
        try:
            pose = apply_layer(skeleton, pose, layer, time)
        except RagdollError as error:
            message = f'Layer "{layer.name}": {error}'
            if problems is None:
                raise RagdollError(message) from error
            problems.append(message)
    return pose


def apply_layer(
    skeleton: Skeleton, pose: LocalPose, layer: Layer, time: Any = 0.0, weight: ArrayLike | None = None
) -> LocalPose:
    """A pose with one layer on top, whether it is enabled or not; see `apply_layers`. `weight`: in place of its own."""
    if layer.mode not in MODES:
        raise RagdollError(f'there is no mode "{layer.mode}"; use {", ".join(MODES)}')
    weight = np.asarray(layer.weight if weight is None else weight, dtype=np.float64)
    most = _largest(weight)
    mask = _checked_mask(layer, skeleton) if most > 0.0 else None
    if most == 0.0 or (mask is not None and mask.most == 0.0):
        return pose
    one = weight.ndim == 0
    weights = weight if one else weight[..., None]
    if mask is not None:
        weights = weights * mask.values
        most *= mask.most
    given = layer.source(time)
    _check_pose(given, skeleton)
    if layer.mode == OVERRIDE:
        if isinstance(given, AdditivePose):
            raise RagdollError("its source is additive, which cannot override")
        if mask is None and one and most == 1.0 and given.rotations.ndim >= pose.rotations.ndim:
            return given
        return interpolate(pose, given, weights) if most == 1.0 else between(pose, given, weights)
    space = SPACE_OF_MODE[layer.mode]
    if not isinstance(given, AdditivePose):
        if layer.base is None:
            raise RagdollError("its source gives whole poses: an additive layer needs a base pose for them")
        given = make_additive(skeleton, given, layer.base, space)
    elif given.space != space:
        raise RagdollError(f"its source is additive in {given.space.lower()} space, the layer in {space.lower()} space")
    return apply_additive(skeleton, pose, given, weights, mask.kept if one and mask is not None else None)


def mask_from_bones(skeleton: Skeleton, bones: Sequence[str], *, depth: int = 0, children: bool = True) -> np.ndarray:
    """A mask [n] that is 1 on bones and what hangs on them, or rises along the way.

    Args:
        skeleton: The bones.
        bones: Names of those where it begins; of a collection, all of its bones with `children` off.
        depth: Bones over which it rises: of a falloff over 3, the first bone has 1/3, its children 2/3, theirs and all
            below 1. 0 and 1: no falloff. Where several begin in one branch, the largest value counts.
        children: Whether what hangs on the bones is included.

    Raises:
        RagdollError: a bone that the skeleton does not have, or a negative depth.
    """
    if depth < 0:
        raise RagdollError(f"The falloff of a mask must be 0 or more bones, got {depth}")
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


def mask_from_roles(
    roles: Sequence[str], wanted: Iterable[str], sides: Sequence[str] | None = None, side: str | None = None
) -> np.ndarray:
    """A mask [n] that is 1 on bones of some roles, all in the order of `roles` (level order for a layer).

    Args:
        roles: Role of each bone [n]; see `core.anatomy.roles`.
        wanted: Roles that count.
        sides: Side of each bone [n].
        side: The one side that counts; None: all.
    """
    wanted = set(wanted)
    mask = np.array([role in wanted for role in roles], dtype=np.float64)
    if side is not None and sides is not None:
        mask *= np.array([own == side for own in sides])
    return mask


def _largest(weight: np.ndarray) -> float:
    """The largest weight. Raises RagdollError: one is not within 0 and 1."""
    if weight.ndim == 0:  # of one number Python's own comparison is quicker
        least = most = float(weight)
    else:
        least, most = float(weight.min()), float(weight.max())
    if not (least >= 0.0 and most <= 1.0):
        wrong = weight[~((weight >= 0.0) & (weight <= 1.0))].flat[0]
        raise RagdollError(f"the weight must be within 0 and 1, got {wrong:g}")
    return most


def _checked_mask(layer: Layer, skeleton: Skeleton) -> CheckedMask | None:
    """The layer's mask, looked at once."""
    if layer.mask is None:
        return None
    mask = layer.checked_mask
    if mask is None or mask.given is not layer.mask or mask.skeleton is not skeleton:
        mask = layer.checked_mask = CheckedMask(layer.mask, skeleton)
    return mask


def _mask_values(mask: ArrayLike, skeleton: Skeleton) -> np.ndarray:
    mask = np.asarray(mask, dtype=np.float64)
    if mask.shape != (len(skeleton),):
        raise RagdollError(f"its mask must have the shape [{len(skeleton)}], got {list(mask.shape)}")
    if not (mask.min() >= 0.0 and mask.max() <= 1.0):
        bone = int(np.argmin((mask >= 0.0) & (mask <= 1.0)))
        raise RagdollError(f'its mask must be within 0 and 1, bone "{skeleton.names[bone]}" has {mask[bone]:g}')
    return mask


def _check_pose(pose: LocalPose | AdditivePose, skeleton: Skeleton) -> None:
    shape = pose.rotations.shape
    if len(shape) < 2 or shape[-2] != len(skeleton):
        raise RagdollError(f"its source has poses of {shape[-2] if len(shape) > 1 else 0} bones, not {len(skeleton)}")
    # One number that is none, if any of them is.
    rotations, positions, scales = pose.rotations, pose.positions, pose.scales
    squares = np.vdot(rotations, rotations), np.vdot(positions, positions), np.vdot(scales, scales)
    if not math.isfinite(sum(map(float, squares))):
        finite = np.isfinite(np.concatenate([rotations, positions, scales], axis=-1)).all(axis=-1)
        bone = int(np.argmin(finite.reshape(-1, len(skeleton)).all(axis=0)))
        raise RagdollError(f'its source gives a value that is not a number on bone "{skeleton.names[bone]}"')
