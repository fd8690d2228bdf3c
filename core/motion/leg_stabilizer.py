"""Leg stabiliser: an entry of the motion stack that puts a foot back where it was before others moved it.

The leg keeps the shape of the reference pose as far as it can: the line from hip to foot is turned by the smallest
angle, the plane in which the leg bends goes with it, and within that plane the joints move. Three joints have a closed
form; more are brought there by FABRIK and closed exactly.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field

import numpy as np

from ..errors import RagdollError
from . import components as c
from .bend import bend_direction, bind_bend
from .fabrik import close_gap, reach, triangle
from .local_pose import LocalPose
from .model_view import ModelView, aligned, views, with_own_rotations
from .rig import Inputs, Rig, weights_of
from .uneven_scale import carried, is_uneven, placed_anew

SHORTEST, LONGEST = 2, 8
# What a foot may have moved and still stand where it was, in parts of the leg: rounding of the pose's numbers.
_STILL = 1e-9
# How far from its place, in parts of the leg, a foot below unevenly scaled bones may come out.
_PLACED = 1e-6


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
            RagdollError: no reference, or one with other leading axes; a weight that is not a number. Names the entry.
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
    pose = aligned(pose)
    lead = pose.rotations.shape[:-2]
    weights = weights_of(inputs.weight, lead, legs[0].name)
    if inputs.reference is None:
        raise RagdollError(f"{legs[0].name}: there is no reference pose")
    reference = aligned(inputs.reference)
    if reference.rotations.shape != pose.rotations.shape:
        shapes = f"{list(reference.rotations.shape)}, not {list(pose.rotations.shape)}"
        raise RagdollError(f"{legs[0].name}: the reference pose has rotations of shape {shapes}")
    rows = np.flatnonzero(weights)
    if not len(rows):
        return pose
    result = with_own_rotations(pose)
    closure = tuple(sorted({bone for leg in legs for bone in leg._closure}))
    before = views(rig, reference, closure, rows=rows)
    for now, then in zip(views(rig, pose, closure, rows=rows), before, strict=True):
        weight = now.number(weights)
        for leg in legs:
            if leg.ik_weight > 0.0:
                now.write_rotations(result, _solve(leg, now, then, leg.ik_weight * weight))
    return result


def _solve(leg: LegStabilizer, now: ModelView, then: ModelView, weight) -> dict:
    """Local rotations of the leg's bones; empty where the foot stands as it did."""
    m, bones = now.m, leg.bones
    foot = now.positions[bones[-1]]
    wanted = then.positions[bones[-1]]
    offsets = [now.local_positions[b] for b in bones[1:]]
    if now.scales is not None:
        offsets = [_times(now.scales[a], offset) for a, offset in zip(bones, offsets, strict=False)]
    lengths = [c.length(m, offset) for offset in offsets]
    size = sum(lengths)
    moved = c.length(m, c.sub(wanted, foot))
    turned = _half_angle_sine(now.rotations[bones[-1]], then.rotations[bones[-1]])
    start = (moved > _STILL * size) | (turned > _STILL)
    start = start & (moved >= leg.min_distance)
    if not m.any(start):
        return {}
    # The leg as it was, hung on the hip's new place; at a weight below 1 what is in between.
    full = m.all(weight >= 1.0)
    based = [then.rotations[b] for b in bones]
    if not full:
        share = m.where(weight >= 1.0, 1.0, weight)
        based = [c.between(m, now.rotations[b], r, share) for b, r in zip(bones, based, strict=True)]
    target = wanted if full else c.lerp(foot, wanted, share)
    rotations = _toward(leg, now, based, offsets, lengths, target)
    if is_uneven(now, bones[-1]):
        place = wanted if then.local_scales is None else carried(then, bones[-1], leg._bend, {})[0]
        if not full:
            place = c.lerp(carried(now, bones[-1], leg._bend, {})[0], place, share)
        rotations = placed_anew(
            now,
            bones[-1],
            place,
            rotations,
            start,
            lambda offset: _toward(leg, now, based, offsets, lengths, c.add(target, offset)),
            _PLACED * size,
        )
    if m.all(start):
        return rotations
    return {bone: c.choose(m, start, local, now.local_rotations[bone]) for bone, local in rotations.items()}


def _toward(leg: LegStabilizer, now: ModelView, based: list, offsets: list, lengths: list, target: tuple) -> dict:
    """Local rotations of the leg's bones that bring the foot to a point, as rotations and scales know it.

    Args:
        based: rotations of the bones in model space, which the leg keeps the shape of.
        offsets: of each joint from the one above, in the upper bone's frame; lengths: theirs.
    """
    m, bones, size = now.m, leg.bones, sum(lengths)
    hip = now.positions[bones[0]]
    joints = [hip]
    for rotation, offset in zip(based, offsets, strict=False):
        joints.append(c.add(joints[-1], c.rotate(rotation, offset)))
    line = c.unit(m, c.sub(joints[-1], hip), (0.0, 0.0, -1.0))
    goal = c.unit(m, c.sub(target, hip), line)
    bend = bend_direction(m, joints, line, size, c.rotate(based[0], leg._bend))
    carry = c.arc(m, line, goal, bend)
    turned = [c.add(hip, c.rotate(carry, c.sub(joint, hip))) for joint in joints]
    side = c.rotate(carry, bend)
    if len(bones) == 3:
        distance = c.length(m, c.sub(target, hip))
        knee, end = triangle(m, lengths[0], lengths[1], distance, goal, side)
        solved = [hip, c.add(hip, knee), c.add(hip, end)]
    elif len(bones) == 2:
        solved = [hip, c.along(hip, lengths[0], goal)]
    else:
        solved, _ = reach(m, turned, lengths, target, side, leg.tolerance, leg.max_iterations)
        solved = close_gap(m, solved, target, side)
    rotations = {}
    above = now.parent_rotation(bones[0])
    for i, bone in enumerate(bones):
        if i < len(bones) - 1:
            old = c.unit(m, c.sub(turned[i + 1], turned[i]), goal)
            new = c.unit(m, c.sub(solved[i + 1], solved[i]), old)
            rotation = c.multiply(c.arc(m, old, new, side), c.multiply(carry, based[i]))
        else:
            rotation = based[i]
        rotations[bone] = c.normalized(m, c.multiply(c.conjugate(above), rotation))
        above = rotation
    return rotations


def _times(a, b) -> tuple:
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


def _half_angle_sine(a, b):
    """|sin| of half the angle between two rotations, to first order where they are near."""
    x, y, z = c.multiply(c.conjugate(a), b)[1:]
    return abs(x) + abs(y) + abs(z)


__all__ = ["LegStabilizer", "Legs", "stabilize"]
