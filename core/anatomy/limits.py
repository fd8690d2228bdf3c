"""Anatomical joints of a ragdoll: type, frame and limits of every body's joint, counted from bind pose."""

from dataclasses import dataclass, replace

import numpy as np

from . import axes, ranges, roles

# A cone is held well as long as one of its two swings stays inside this on both sides [rad]; see core.ragdoll.joints.
NARROW = np.radians(85.0)
# Straight ahead an arm goes farther the more it hangs; in T-pose it ends across the chest. Horizontal adduction and
# abduction of clinical tables [deg].
ACROSS, BEHIND = 130.0, 45.0


@dataclass(frozen=True)
class JointLimits:
    """What anatomy says of one joint.

    Attributes:
        joint: CONE or HINGE (about X).
        rotation: of the joint's frame, columns X, Y, Z [3, 3], in the frame of the joints given.
        limit_min, limit_max: swing X, twist Y, swing Z from bind pose [rad], [3]; they contain it.
    """

    joint: str
    rotation: np.ndarray
    limit_min: np.ndarray
    limit_max: np.ndarray


def joint_limits(anatomy, parents, heads, tails, bones, body_parents, vertices=None) -> list:
    """Anatomical joints of the bodies: `JointLimits`, or None where nothing is known [m].

    Args:
        anatomy: of all n bones.
        parents: bone parents, before their children, -1 at roots [n].
        heads, tails: joints in bind pose, in any frame and scale [n, 3].
        bones: bone of every body [m].
        body_parents: index of the parent body, -1 at roots [m].
        vertices: for each bone the vertices [k, 3] that it dominates, or None [n]; tell where feet without toes point.
    """
    heads, tails = np.asarray(heads, dtype=float), np.asarray(tails, dtype=float)
    if anatomy.parents is not None:
        parents = anatomy.parents
    found = ranges.joint_ranges(anatomy, bones, body_parents)
    if not any(found):
        return found
    directions = axes.limb_directions(anatomy, parents, heads, tails, vertices)
    own = axes.character_axes(anatomy, heads, tails, directions)
    if own is None:
        return [None] * len(found)
    result = []
    for bone, limits in zip(bones, found, strict=True):
        if limits is None:
            result.append(None)
            continue
        frame = axes.joint_frame(int(bone), anatomy, parents, heads, directions, own)
        result.append(_limits(anatomy, int(bone), limits, frame, own))
    return result


def _limits(anatomy, bone, limits, frame, own) -> JointLimits:
    role, mirror = anatomy.roles[bone], own.mirror(anatomy.sides[bone])
    human = anatomy.kind == roles.HUMAN
    limits = _from_bind(role, human, limits, frame, own, mirror)
    sideways = limits.outward, limits.inward
    turns = limits.turn_in, limits.turn_out
    if mirror < 0.0:
        sideways, turns = sideways[::-1], turns[::-1]
    if not human and role in (roles.UPPER_ARM, roles.HAND):  # their Z points back instead of ahead
        sideways = sideways[::-1]
    if role == roles.FOOT and human:  # the sole turns inwards (inversion) by the turn that takes a shin outwards
        turns = turns[::-1]
    high = np.radians(np.clip((limits.flexion, turns[0], sideways[0]), 0.0, 179.0))
    low = -np.radians(np.clip((limits.extension, turns[1], sideways[1]), 0.0, 179.0))
    if limits.joint == ranges.CONE:
        _narrow(low, high)
    return JointLimits(limits.joint, frame.rotation, low, high)


def _from_bind(role, human, limits, frame, own, mirror):
    """The range counted from bind pose instead of the anatomical position; negative where that lies outside."""
    y = frame.rotation[:, 1]
    bend = np.degrees(frame.bend)
    if limits.included is not None and np.isfinite(bend):
        least, most = limits.included
        return replace(limits, flexion=180.0 - bend - least, extension=most - 180.0 + bend)
    if role in (roles.FOREARM, roles.SHANK, roles.FOOT) and np.isfinite(bend):
        return replace(limits, flexion=limits.flexion - bend, extension=limits.extension + bend)
    ahead, aside, down = float(y @ own.forward), mirror * float(y @ own.left), -float(y @ own.up)
    if role == roles.THIGH and human:
        flexed, apart = np.degrees(np.arctan2(ahead, down)), np.degrees(np.arctan2(aside, down))
        return replace(
            limits,
            flexion=limits.flexion - flexed,
            extension=limits.extension + flexed,
            outward=limits.outward - apart,
            inward=limits.inward + apart,
        )
    if role == roles.UPPER_ARM and human:
        apart = float(np.clip(np.degrees(np.arctan2(aside, down)), 0.0, 180.0))
        level = min(apart / 90.0, 1.0)
        hanging = max(1.0 - apart / 45.0, 0.0)
        flexed = np.degrees(np.arcsin(np.clip(ahead, -1.0, 1.0)))
        return replace(
            limits,
            flexion=ACROSS + (limits.flexion - ACROSS) * hanging - flexed,
            extension=limits.extension + (BEHIND - limits.extension) * level + flexed,
            outward=limits.outward - apart,
            inward=limits.inward + apart,
        )
    return limits


def _narrow(low, high) -> None:
    """Bring one swing of a cone's limits [3] inside `NARROW`: the one that loses less."""
    losses = [max(high[i] - NARROW, 0.0) + max(-low[i] - NARROW, 0.0) for i in (0, 2)]
    if min(losses) > 0.0:
        axis = (0, 2)[int(np.argmin(losses))]
        low[axis], high[axis] = max(low[axis], -NARROW), min(high[axis], NARROW)
