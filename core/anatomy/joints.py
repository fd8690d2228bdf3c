"""Anatomical joints of a ragdoll: type, frame and limits of every body's joint, counted from bind pose.

Human ranges are those of clinical tables (Kurz; Soucie et al. 2011, Haemophilia 17), counted from the anatomical
position: upright, limbs straight, arms hanging. What these tables do not give (collar bones, toes, jaws, wings, tails)
is assumed and marked so.

Ranges of four-legged animals: Jaegger, Marcellin-Little and Levine 2002, Reliability of goniometry in Labrador
Retrievers, Am. J. Vet. Res. 63. They state the angle between two bones, 180 when straight, so that a bent bind pose
needs no further care. Sideways motion and turns of their legs are assumed.
"""

from dataclasses import dataclass, replace

import numpy as np

from .. import quaternion, skeleton
from . import axes, roles

CONE, HINGE = "CONE", "HINGE"


@dataclass(frozen=True)
class Range:
    """A joint's range from the anatomical position, degrees; none negative."""

    flexion: float  # about the flexion axis, see `core.anatomy.axes`
    extension: float  # the other way
    outward: float = 0.0  # sideways, away from the body's middle (abduction)
    inward: float = 0.0  # towards it
    turn_in: float = 0.0  # about the limb, its front towards the body's middle
    turn_out: float = 0.0  # away from it
    joint: str = CONE  # or HINGE, which has flexion and extension only
    included: tuple | None = None  # least and largest angle to the bone before; instead of the first two where known


# Chains of bones that have a range together.
NECK, SPINE, TAIL, FINGER, THUMB = "NECK", "SPINE", "TAIL", "FINGER", "THUMB"
_CHAIN_OF = dict.fromkeys((roles.PELVIS, roles.SPINE, roles.CHEST), SPINE)
_CHAIN_OF |= {roles.NECK: NECK, roles.HEAD: NECK, roles.TAIL: TAIL, roles.FINGER: FINGER, roles.THUMB: THUMB}
_SWINGS = "flexion", "extension", "outward", "inward"
WIDEST = {TAIL: 60.0, FINGER: 100.0, THUMB: 80.0}  # of one joint where a chain has only few; assumed
_COMMON = {
    TAIL: Range(180, 180, 180, 180, 60, 60),  # assumed: curls up half a turn to any side
    FINGER: Range(270, 30, 20, 20, 10, 10),  # three joints of about 90; sideways in the first one
    THUMB: Range(140, 30, 40, 40, 20, 20),
    roles.EAR: Range(30, 30, 30, 30, 15, 15),  # assumed, as all below
    roles.JAW: Range(35, 2, 5, 5, 5, 5),
    roles.EYE: Range(35, 35, 35, 35, 5, 5),
    roles.WING: Range(60, 60, 60, 60, 40, 40),
}
HUMAN = {
    **_COMMON,
    NECK: Range(70, 55, 35, 35, 70, 70),
    SPINE: Range(75, 30, 35, 35, 30, 30),
    roles.CLAVICLE: Range(20, 20, 30, 10, 10, 10),  # forward, back, up, down; assumed
    roles.UPPER_ARM: Range(180, 60, 180, 45, 80, 80),
    roles.FOREARM: Range(150, 0, joint=HINGE),
    # A hinge cannot turn, so the forearm's 85 to each side are the wrist's.
    roles.HAND: Range(80, 70, 20, 40, 85, 85),  # outward: towards the thumb (radial)
    roles.THIGH: Range(120, 30, 45, 25, 40, 40),
    roles.SHANK: Range(140, 0, joint=HINGE),
    # The foot's own direction is forward: dorsiflexion, plantarflexion, then to the sides (assumed), and about the
    # foot inversion and eversion.
    roles.FOOT: Range(20, 50, 10, 10, 30, 15),
    roles.TOE: Range(60, 40, 5, 5, 5, 5),  # up and down; assumed
}
ANIMAL = {
    **_COMMON,
    NECK: Range(90, 90, 90, 90, 60, 60),  # assumed
    SPINE: Range(45, 30, 35, 35, 20, 20),  # assumed
    roles.CLAVICLE: Range(25, 25, 10, 10, 10, 10),  # assumed: the shoulder blade slides on the ribs
    roles.UPPER_ARM: Range(50, 50, 25, 15, 15, 15, included=(57.0, 165.0)),
    roles.FOREARM: Range(110, 20, joint=HINGE, included=(36.0, 165.0)),
    roles.HAND: Range(140, 15, 10, 10, 15, 15, included=(32.0, 196.0)),
    roles.THIGH: Range(60, 50, 35, 15, 20, 20),  # 112 in all
    roles.SHANK: Range(90, 30, joint=HINGE, included=(41.0, 162.0)),
    roles.FOOT: Range(60, 60, 8, 8, 10, 10, included=(38.0, 165.0)),
    roles.TOE: Range(60, 60, 10, 10, 10, 10),
}


def joint_ranges(anatomy: roles.Anatomy, bones, parents) -> list:
    """The range of every body's joint [m]; None for roots and for bones without a role of their own.

    `bones` are those of the bodies [m], `parents` the bodies' parents, -1 at roots [m]."""
    table = HUMAN if anatomy.kind == roles.HUMAN else ANIMAL
    chains, counts = chains_of([anatomy.roles[bone] for bone in bones], parents)
    result = []
    for i, chain in enumerate(chains):
        own = table.get(chain or anatomy.roles[bones[i]]) if parents[i] >= 0 else None
        if own and chain:  # its share of what the chain's joints have together
            shares = {name: getattr(own, name) / counts[i] for name in (*_SWINGS, "turn_in", "turn_out")}
            own = replace(own, **shares | {name: min(shares[name], WIDEST.get(chain, np.inf)) for name in _SWINGS})
        result.append(own)
    return result


def chains_of(of_bodies, parents) -> tuple[list, np.ndarray]:
    """By the bodies' roles the chain that each is in, or None [m], and the joints along its longest way, else 0 [m]."""
    chains = [_CHAIN_OF.get(role) for role in of_bodies]
    count = len(chains)
    above, below = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
    order = skeleton.from_the_roots(parents)
    for i in order:
        parent = parents[i]
        if chains[i] is not None and parent >= 0:
            above[i] = 1 + (above[parent] if chains[parent] == chains[i] else 0)
    for i in reversed(order):
        parent = parents[i]
        if chains[i] is not None and parent >= 0 and chains[parent] == chains[i]:
            below[parent] = max(below[parent], below[i] + 1)
    return chains, above + below


# A cone is held well as long as one of its two swings stays inside this on both sides [rad]; see core.ragdoll.joints.
NARROW = np.radians(85.0)
# Straight ahead an arm goes farther the more it hangs; in T-pose it ends across the chest. Horizontal adduction and
# abduction of clinical tables [deg].
ACROSS, BEHIND = 130.0, 45.0


@dataclass(frozen=True)
class JointLimits:
    """What anatomy says of one joint."""

    joint: str  # CONE or HINGE (about X)
    rotation: np.ndarray  # of the joint's frame, columns X, Y, Z [3, 3], in the frame of the joints given
    limit_min: np.ndarray  # swing X, twist Y, swing Z from bind pose [rad], [3]; none above 0
    limit_max: np.ndarray  # the same; none below 0


def joint_limits(anatomy, parents, heads, tails, bones, body_parents, vertices=None) -> list:
    """Anatomical joints of the bodies: `JointLimits`, or None where nothing is known [m].

    Args:
        parents: bone parents, -1 at roots [n]. heads, tails: joints in bind pose, in any frame and scale [n, 3].
        bones: bone of every body [m]. body_parents: index of the parent body, -1 at roots [m].
        vertices: for each bone the vertices [k, 3] that it dominates, or None [n]; tell where feet without toes point.
    """
    found = joint_ranges(anatomy, bones, body_parents)
    parents = roles.body_parents(anatomy, parents)
    bind = axes.bind_of(anatomy, parents, heads, tails, vertices) if any(found) else None
    if bind is None:
        return [None] * len(found)
    return [limits and _limits(bind, int(bone), limits) for bone, limits in zip(bones, found, strict=True)]


def _limits(bind: axes.Bind, bone: int, limits: Range) -> JointLimits:
    anatomy, own, frame = bind.anatomy, bind.axes, bind.joint_frame(bone)
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
    losses = [max(high[i] - NARROW, 0.0) + max(-low[i] - NARROW, 0.0) for i in (0, 2)]
    if limits.joint == CONE and min(losses) > 0.0:  # one swing has to be inside: the one that loses less
        axis = (0, 2)[int(np.argmin(losses))]
        low[axis], high[axis] = max(low[axis], -NARROW), min(high[axis], NARROW)
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
    if not human or role not in (roles.THIGH, roles.UPPER_ARM):
        return limits
    ahead, aside, down = float(y @ own.forward), mirror * float(y @ own.left), -float(y @ own.up)
    flexed, apart = np.degrees(np.arctan2(ahead, down)), np.degrees(np.arctan2(aside, down))
    flexion, extension = limits.flexion, limits.extension
    if role == roles.UPPER_ARM:
        apart = float(np.clip(apart, 0.0, 180.0))
        flexed = np.degrees(np.arcsin(np.clip(ahead, -1.0, 1.0)))
        flexion = ACROSS + (flexion - ACROSS) * max(1.0 - apart / 45.0, 0.0)  # hanging
        extension += (BEHIND - extension) * min(apart / 90.0, 1.0)  # level
    limits = replace(limits, flexion=flexion - flexed, extension=extension + flexed)
    return replace(limits, outward=limits.outward - apart, inward=limits.inward + apart)


@dataclass(frozen=True)
class Arm:
    """An arm's angles [deg]."""

    shoulder: float  # forwards
    out: float  # away from the body
    elbow: float
    turn: float = 0.0  # of the upper arm about itself, the elbow's inside towards the body's middle
    wrist: float = 0.0  # towards the palm


@dataclass(frozen=True)
class Posture:
    """Angles [deg]; those of trunk and neck are spread over their joints."""

    trunk: float  # forwards
    neck: float  # forwards
    hip: float
    knee: float
    left: Arm
    right: Arm
    aside: float = 0.0  # trunk and neck each, to the left
    apart: float = 4.0  # each thigh
    splay: float = 0.0  # of each thigh about itself, outwards


def _even(trunk, neck, hip, knee, *arm) -> Posture:
    return Posture(trunk, neck, hip, knee, Arm(*arm), Arm(*arm))


_LEFT = Posture(5.0, 5.0, 45.0, 105.0, Arm(20.0, 85.0, 20.0, 0.0, -30.0), Arm(60.0, 10.0, 80.0, 30.0), -30.0)
# Of somebody who loses his senses; and what protects in a fall forwards (hands ahead, face and chest away from the
# floor, knees bent, so that they come before the trunk), backwards (down on the haunches, hands behind, the back round,
# the chin in), to either side (down as well, trunk and head bent away from it, so that the arm and the hip come first),
# and from high up (drawn in). Of legs that lie: the one that is bent more, and the other.
RELAXED, FORWARD, BACKWARD, LEFT, RIGHT, AIR, *LYING = POSTURES = (
    _even(15.0, 25.0, 30.0, 40.0, 15.0, 18.0, 45.0),
    _even(-10.0, -50.0, 40.0, 85.0, 110.0, 15.0, 30.0, 40.0, -50.0),
    _even(20.0, 40.0, 50.0, 105.0, -60.0, 20.0, 15.0, 0.0, -60.0),
    _LEFT,
    replace(_LEFT, left=_LEFT.right, right=_LEFT.left, aside=-_LEFT.aside),
    _even(30.0, 35.0, 70.0, 90.0, 60.0, 15.0, 90.0),
    replace(_even(0.0, 0.0, 15.0, 35.0, 0.0, 0.0, 0.0), apart=22.0, splay=35.0),
    replace(_even(0.0, 0.0, 5.0, 15.0, 0.0, 0.0, 0.0), apart=12.0, splay=35.0),
)
_BEND = {roles.FOREARM: "elbow", roles.SHANK: "knee", roles.HAND: "wrist"}


def turns_of(posture: Posture, bind: axes.Bind, turns, bones, body_parents) -> np.ndarray:
    """Rotations [m, 4] of the bodies' bones against those of the bodies before, from bind pose, along the bones' axes.

    NaN for roots and for what a posture says nothing of. `turns` are the rotations of the bones' own axes [n, 4]."""
    chains, counts = chains_of([bind.anatomy.roles[bone] for bone in bones], body_parents)
    result = np.full((len(bones), 4), np.nan)
    for i, bone in enumerate(bones):
        if body_parents[i] < 0:
            continue
        turn = quaternion.identity() if chains[i] else _limb(posture, bind, int(bone))
        if chains[i] in (SPINE, NECK):
            turn = _about(bind.axes.left, (posture.trunk if chains[i] == SPINE else posture.neck) / counts[i])
            turn = quaternion.multiply(turn, _about(bind.axes.forward, -posture.aside / counts[i]))
        if turn is not None:
            result[i] = quaternion.multiply(quaternion.conjugate(turns[bone]), quaternion.multiply(turn, turns[bone]))
    return result


def _about(axis, degrees) -> np.ndarray:
    return quaternion.from_axis_angle(axis, np.radians(degrees))


def _limb(posture: Posture, bind: axes.Bind, bone: int):
    anatomy, own = bind.anatomy, bind.axes
    role, side = anatomy.roles[bone], anatomy.sides[bone]
    if role not in (*roles.ARM, *roles.LEG):
        return None
    mirror = own.mirror(side)
    arm = posture.left if mirror > 0.0 else posture.right
    if anatomy.order[bone] > 0 or role not in (*_BEND, roles.UPPER_ARM, roles.THIGH):
        return quaternion.identity()
    if role in _BEND:
        frame, angle = bind.joint_frame(bone), getattr(posture if role == roles.SHANK else arm, _BEND[role])
        bend = frame.bend if role != roles.HAND and np.isfinite(frame.bend) else 0.0
        return quaternion.from_axis_angle(frame.rotation[:, 0], np.radians(angle) - bend)
    down, is_arm = -own.up, role == roles.UPPER_ARM
    flexion, out, turn = (arm.shoulder, arm.out, arm.turn) if is_arm else (posture.hip, posture.apart, -posture.splay)
    way = quaternion.multiply(_about(own.left, -flexion), _about(own.forward, mirror * out))
    way = quaternion.multiply(way, _about(down, mirror * turn))
    # From bind pose to hanging down, the elbow's inside to the front or the back of the knee to the back.
    along = bind.directions[bone]
    below = roles.of_role(anatomy, roles.FOREARM if is_arm else roles.SHANK, side)
    inside = bind.joint_frame(below[0]).rotation[:, 2] if below else None
    inside = None if inside is None else axes.unit(axes.across(inside, along))
    if inside is None:
        hang = quaternion.shortest_arc(along, down)
    else:
        front = own.forward if is_arm else -own.forward
        pair = [np.stack([y, z, quaternion.cross(y, z)], axis=1) for y, z in ((down, front), (along, inside))]
        hang = quaternion.from_matrix(pair[0] @ pair[1].T)
    return quaternion.multiply(way, hang)
