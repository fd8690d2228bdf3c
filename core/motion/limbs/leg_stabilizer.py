"""Leg stabiliser: an entry of the motion stack that puts a foot back where it was before others moved it.

The leg keeps the shape of the reference pose as far as it can: the line from hip to foot is turned by the smallest
angle, the plane in which the leg bends goes with it, and within that plane the joints move. Three joints have a closed
form; more are brought there by FABRIK and closed exactly.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field

import numpy as np

from ...errors import RagdollError
from .. import components as c
from ..model_view import ModelView, transformed, write_rotations
from ..rig import Inputs, LocalPose, Rig, weight_of
from .limb import bend_direction, bind_bend, close_gap, reach, triangle

SHORTEST, LONGEST = 2, 8
# What a foot may have moved and still stand where it was, in parts of the leg: rounding of the pose's numbers.
_STILL = 1e-9
# How far from its place, in parts of the leg, a foot below unevenly scaled bones may come out; steps to it.
_PLACED, _STEPS = 1e-6, 20


@dataclass
class LegStabilizer:
    """One foot.

    Attributes:
        rig: the character, to check the bones against.
        foot_bone: level index.
        bones_count: bones of the leg from the foot up, the foot included: 2 to 8, 3 for a human.
        name: for messages.
        ik_weight: share of the way back to the reference, 0..1; multiplied by the inputs' weight.
        min_distance: how far the foot must have moved before it is put back, armature units; 0: always.
        max_iterations: of FABRIK, where the leg has more than three joints.
        tolerance: at which FABRIK ends, in parts of the leg's length; what is left is closed exactly.

    Raises:
        RagdollError: a bone that is not there, a count out of range or longer than the chain, a weight, distance,
            tolerance or number of iterations out of range; names the entry and its bones.
    """

    rig: InitVar[Rig]
    foot_bone: int
    bones_count: int = 3
    name: str = "Leg stabiliser"
    ik_weight: float = 1.0
    min_distance: float = 0.0
    max_iterations: int = 30
    tolerance: float = 1e-3
    bones: tuple = field(init=False)
    """The leg's bones from the top to the foot, level indices."""

    def __post_init__(self, rig: Rig) -> None:
        self.foot_bone = rig.check(self.name, self.foot_bone)
        title = f'{self.name}, foot "{rig.name(self.foot_bone)}"'
        if not SHORTEST <= self.bones_count <= LONGEST:
            raise RagdollError(f"{title}: a leg has {SHORTEST} to {LONGEST} bones, got {self.bones_count}")
        bones = [self.foot_bone]
        while len(bones) < self.bones_count:
            above = rig.parents[bones[0]]
            if above < 0:
                top = rig.name(bones[0])
                raise RagdollError(f'{title}: {self.bones_count} bones asked for, but the chain ends at "{top}"')
            bones.insert(0, above)
        if rig.parents[bones[0]] < 0:
            raise RagdollError(f'{title}: the leg begins at "{rig.name(bones[0])}", which hangs on nothing')
        for what, value, high in (
            ("weight", self.ik_weight, 1.0),
            ("smallest distance", self.min_distance, np.inf),
            ("tolerance", self.tolerance, 1.0),
            ("number of iterations", self.max_iterations, 10000),
        ):
            if not 0.0 <= value <= high:
                raise RagdollError(f"{title}: the {what} must be in 0..{high:g}, got {value:g}")
        self.bones = tuple(bones)
        self._closure = rig.with_ancestors(bones)
        self._bend = bind_bend(rig, self.bones)

    def apply(self, rig: Rig, pose: LocalPose, inputs: Inputs, state=None, seconds: float = 0.0) -> tuple:
        """(pose, None): the pose with the foot back in the place and orientation it has in `inputs.reference`.

        Raises:
            RagdollError: no reference, or one of another shape; a weight that is not a number. Names the entry.
        """
        return stabilize([self], rig, pose, inputs), None


@dataclass
class Legs:
    """Several legs as one entry.

    Attributes:
        legs: none hangs on another.
    """

    legs: list

    def apply(self, rig: Rig, pose: LocalPose, inputs: Inputs, state=None, seconds: float = 0.0) -> tuple:
        """See `LegStabilizer.apply`."""
        return stabilize(self.legs, rig, pose, inputs), None


def stabilize(legs: list, rig: Rig, pose: LocalPose, inputs: Inputs) -> LocalPose:
    """The pose with several legs put back at once, which costs less than one after the other.

    No leg may hang on another. Arguments and errors as for `LegStabilizer.apply`.
    """
    if not legs:
        return pose
    weight = weight_of(inputs.weight, legs[0].name)
    reference = inputs.reference
    if reference is None:
        raise RagdollError(f"{legs[0].name}: there is no reference pose")
    if reference.rotations.shape != pose.rotations.shape:
        shapes = f"{list(reference.rotations.shape)}, not {list(pose.rotations.shape)}"
        raise RagdollError(f"{legs[0].name}: the reference pose has rotations of shape {shapes}")
    if weight == 0.0:
        return pose
    closure = tuple(sorted({bone for leg in legs for bone in leg._closure}))
    now, then = ModelView(rig, pose, closure), ModelView(rig, reference, closure)
    rotations: dict = {}
    for leg in legs:
        if leg.ik_weight > 0.0:
            rotations |= _solve(leg, now, then, leg.ik_weight * weight)
    return write_rotations(pose, rotations)


def _solve(leg: LegStabilizer, now: ModelView, then: ModelView, weight: float) -> dict:
    """Local rotations of the leg's bones; empty where the foot stands as it did."""
    bones = leg.bones
    frame, foot = now.frame(bones[0]), bones[-1]
    size = sum(c.length(offset) for offset in _offsets(now, bones))
    place, wanted = now.frame(foot).origin, then.frame(foot).origin
    moved = c.length(c.sub(wanted, place))
    turned = _half_angle_sine(now.rotations[foot], then.rotations[foot])
    if (moved <= _STILL * size and turned <= _STILL) or moved < leg.min_distance:
        return {}
    # The leg as it was, hung on the hip's new place; at a weight below 1 what is in between.
    based = [then.rotations[b] for b in bones]
    if weight < 1.0:
        based = [c.between(now.rotations[b], r, weight) for b, r in zip(bones, based, strict=True)]
        wanted = c.lerp(place, wanted, weight)
    inverse, away = frame.inverse(), c.sub(wanted, frame.origin)
    target = away if inverse is None else transformed(inverse, away)
    rotations = _toward(leg, now, based, target)
    if not now.is_uneven(foot):
        return rotations
    # Unevenly scaled bones of the leg itself change its segments' lengths as they turn.
    missed = c.sub(wanted, now.shown(foot, rotations))
    for _ in range(_STEPS):
        if c.length(missed) <= _PLACED * size:
            break
        target = c.add(target, missed if inverse is None else transformed(inverse, missed))
        again = _toward(leg, now, based, target)
        still = c.sub(wanted, now.shown(foot, again))
        if c.length(still) >= c.length(missed):
            break
        rotations, missed = again, still
    return rotations


def _offsets(view: ModelView, bones: tuple) -> list:
    """Each joint of a leg from the one above, in the upper bone's frame, sized as in the frame of the first bone."""
    offsets = [view.local_positions[bone] for bone in bones[1:]]
    if view.scales is None:
        return offsets
    scale = view.local_scales[bones[0]] if view.is_uneven(bones[0]) else view.scales[bones[0]]
    result = []
    for bone, offset in zip(bones[1:], offsets, strict=True):
        result.append(c.times(scale, offset))
        scale = c.times(scale, view.local_scales[bone])
    return result


def _toward(leg: LegStabilizer, now: ModelView, based: list, target: tuple) -> dict:
    """Local rotations of the leg's bones that bring the foot to a point.

    Args:
        based: rotations of the bones, which the leg keeps the shape of; target: both in the frame of the first bone.
    """
    bones, offsets = leg.bones, _offsets(now, leg.bones)
    lengths = [c.length(offset) for offset in offsets]
    hip, size = (0.0, 0.0, 0.0), sum(lengths)
    joints = [hip]
    for rotation, offset in zip(based, offsets, strict=False):
        joints.append(c.add(joints[-1], c.rotate(rotation, offset)))
    line = c.unit(joints[-1], (0.0, 0.0, -1.0))
    goal = c.unit(target, line)
    bend = bend_direction(joints, line, size, c.rotate(based[0], leg._bend))
    carry = c.arc(line, goal, bend)
    turned = [c.rotate(carry, joint) for joint in joints]
    side = c.rotate(carry, bend)
    if len(bones) == 3:
        solved = [hip, *triangle(lengths[0], lengths[1], c.length(target), goal, side)]
    elif len(bones) == 2:
        solved = [hip, c.mul(lengths[0], goal)]
    else:
        solved = reach(turned, lengths, target, side, leg.tolerance, leg.max_iterations)
        solved = close_gap(solved, target, side)
    rotations = {}
    above = now.parent_rotation(bones[0])
    for i, bone in enumerate(bones):
        rotation = based[i]
        if i < len(bones) - 1:
            old = c.unit(c.sub(turned[i + 1], turned[i]), goal)
            new = c.unit(c.sub(solved[i + 1], solved[i]), old)
            rotation = c.multiply(c.arc(old, new, side), c.multiply(carry, rotation))
        rotations[bone] = c.normalized(c.multiply(c.conjugate(above), rotation))
        above = rotation
    return rotations


def _half_angle_sine(a: tuple, b: tuple) -> float:
    """|sin| of half the angle between two rotations, to first order where they are near."""
    x, y, z = c.multiply(c.conjugate(a), b)[1:]
    return abs(x) + abs(y) + abs(z)
