"""Postures that a human's muscles pull to in a fall, as turns of each body's bone against the one before.

Angles count from the anatomical position (upright, limbs straight, arms hanging, palms to the front), so that the same
table serves any bind pose. Nothing here reads a bone's axes but to state the result in them.
"""

from dataclasses import dataclass, replace

import numpy as np

from .. import quaternion
from . import axes, limits, roles


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
    aside: float = 0.0  # neck, to the left


def _even(trunk, neck, hip, knee, *arm) -> Posture:
    return Posture(trunk, neck, hip, knee, Arm(*arm), Arm(*arm))


_LEFT = Posture(10.0, 5.0, 25.0, 40.0, Arm(25.0, 75.0, 25.0, 0.0, -30.0), Arm(60.0, 10.0, 80.0, 30.0), -25.0)
# Of somebody who loses his senses; and what protects in a fall forwards (hands ahead, face away from the floor),
# backwards (down on the haunches, the back round, the chin in), to either side, and from high up (drawn in).
RELAXED, FORWARD, BACKWARD, LEFT, RIGHT, AIR = POSTURES = (
    _even(15.0, 25.0, 30.0, 40.0, 15.0, 18.0, 45.0),
    _even(10.0, -10.0, 15.0, 25.0, 110.0, 15.0, 30.0, 40.0, -50.0),
    _even(30.0, 40.0, 60.0, 105.0, 20.0, 30.0, 45.0),
    _LEFT,
    replace(_LEFT, left=_LEFT.right, right=_LEFT.left, aside=-_LEFT.aside),
    _even(30.0, 35.0, 70.0, 90.0, 60.0, 15.0, 90.0),
)
_BEND = {roles.FOREARM: "elbow", roles.SHANK: "knee", roles.HAND: "wrist"}
_APART = 4.0  # thighs, [deg]


@dataclass(frozen=True)
class Body:
    """A human's bind pose, for its postures. Places are in any one frame."""

    anatomy: roles.Anatomy
    parents: np.ndarray  # of the bones [n], -1 at roots
    heads: np.ndarray  # [n, 3]
    directions: np.ndarray  # of the bones [n, 3], see `axes.limb_directions`
    own: axes.Axes
    turns: np.ndarray  # rotations of the bones' own axes [n, 4]

    def frame(self, bone: int) -> axes.JointFrame:
        """Of the joint at a bone's head."""
        return axes.joint_frame(bone, self.anatomy, self.parents, self.heads, self.directions, self.own)


def body_of(anatomy, parents, heads, tails, turns, vertices=None) -> Body | None:
    """A bind pose, of what `limits.joint_limits` takes and the bones' own axes [n, 4]; None for all but humans."""
    if anatomy.kind != roles.HUMAN:
        return None
    parents = parents if anatomy.parents is None else anatomy.parents
    directions = axes.limb_directions(anatomy, parents, heads, tails, vertices)
    own = axes.character_axes(anatomy, heads, tails, directions)
    return own and Body(anatomy, parents, np.asarray(heads, dtype=float), directions, own, turns)


def turns_of(posture: Posture, body: Body, bones, body_parents) -> np.ndarray:
    """Rotations [m, 4] of the bodies' bones against those of the bodies before, from bind pose, along the bones' axes.

    NaN for roots and for what a posture says nothing of.
    """
    chains, counts = limits.chains_of(body.anatomy, bones, body_parents)
    result = np.full((len(bones), 4), np.nan)
    for i, bone in enumerate(bones):
        if body_parents[i] < 0:
            continue
        turn = _chain(posture, body.own, chains[i], counts[i]) if chains[i] else _limb(posture, body, int(bone))
        if turn is not None:
            result[i] = quaternion.multiply(
                quaternion.conjugate(body.turns[bone]), quaternion.multiply(turn, body.turns[bone])
            )
    return result


def _about(axis, degrees) -> np.ndarray:
    return quaternion.from_axis_angle(axis, np.radians(degrees))


def _chain(posture: Posture, own: axes.Axes, chain: str, count: int):
    if chain == limits.SPINE:
        return _about(own.left, posture.trunk / count)
    if chain == limits.NECK:
        return quaternion.multiply(_about(own.left, posture.neck / count), _about(own.forward, -posture.aside / count))
    return quaternion.identity()


def _limb(posture: Posture, body: Body, bone: int):
    anatomy, own = body.anatomy, body.own
    role, side = anatomy.roles[bone], anatomy.sides[bone]
    if role not in (*roles.ARM, *roles.LEG):
        return None
    mirror = own.mirror(side)
    arm = posture.left if mirror > 0.0 else posture.right
    if anatomy.order[bone] > 0 or role not in (*_BEND, roles.UPPER_ARM, roles.THIGH):
        return quaternion.identity()
    if role in _BEND:
        frame, angle = body.frame(bone), getattr(posture if role == roles.SHANK else arm, _BEND[role])
        bend = frame.bend if role != roles.HAND and np.isfinite(frame.bend) else 0.0
        return quaternion.from_axis_angle(frame.rotation[:, 0], np.radians(angle) - bend)
    down, is_arm = -own.up, role == roles.UPPER_ARM
    flexion, out, turn = (arm.shoulder, arm.out, arm.turn) if is_arm else (posture.hip, _APART, 0.0)
    way = quaternion.multiply(_about(own.left, -flexion), _about(own.forward, mirror * out))
    way = quaternion.multiply(way, _about(down, mirror * turn))
    # From bind pose to hanging down, the elbow's inside to the front or the back of the knee to the back.
    along = body.directions[bone]
    below = axes.of_role(anatomy, roles.FOREARM if is_arm else roles.SHANK, side)
    inside = body.frame(below[0]).rotation[:, 2] if below else None
    inside = None if inside is None else axes.unit(axes.across(inside, along))
    if inside is None:
        hang = quaternion.shortest_arc(along, down)
    else:
        front = own.forward if is_arm else -own.forward
        pair = [np.stack([y, z, quaternion.cross(y, z)], axis=1) for y, z in ((down, front), (along, inside))]
        hang = quaternion.from_matrix(pair[0] @ pair[1].T)
    return quaternion.multiply(way, hang)
