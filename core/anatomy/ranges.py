"""Anatomical ranges of motion per role, and their share for each bone of a chain.

Human ranges are those of clinical tables (Kurz; Soucie et al. 2011, Haemophilia 17), counted from the anatomical
position: upright, limbs straight, arms hanging. What these tables do not give (collar bones, toes, jaws, wings, tails)
is assumed and marked so.

Ranges of four-legged animals: Jaegger, Marcellin-Little and Levine 2002, Reliability of goniometry in Labrador
Retrievers, Am. J. Vet. Res. 63. They state the angle between two bones, 180 when straight, so that a bent bind pose
needs no further care. Sideways motion and turns of their legs are assumed.
"""

from dataclasses import dataclass, replace

import numpy as np

from . import roles
from .order import from_the_roots

CONE, HINGE = "CONE", "HINGE"


@dataclass(frozen=True)
class Range:
    """A joint's range from the anatomical position, degrees; none negative.

    Attributes:
        flexion, extension: about the flexion axis, see `core.anatomy.axes`.
        outward, inward: sideways, away from the body's middle (abduction) and towards it.
        turn_in, turn_out: about the limb, its front towards the body's middle and away from it.
        joint: CONE or HINGE, which has flexion and extension only.
        included: smallest and largest angle between the bone before and this one; takes the place of `flexion` and
            `extension` where the bone before is known.
    """

    flexion: float
    extension: float
    outward: float = 0.0
    inward: float = 0.0
    turn_in: float = 0.0
    turn_out: float = 0.0
    joint: str = CONE
    included: tuple | None = None

    def divided(self, count: int) -> "Range":
        """The share of one of `count` joints that have the range together."""
        names = ("flexion", "extension", "outward", "inward", "turn_in", "turn_out")
        return replace(self, **{name: getattr(self, name) / count for name in names})


# Chains of bones that have a range together.
NECK, SPINE, TAIL, FINGER, THUMB = "NECK", "SPINE", "TAIL", "FINGER", "THUMB"
_CHAIN_OF = {
    roles.NECK: NECK,
    roles.HEAD: NECK,
    roles.PELVIS: SPINE,
    roles.SPINE: SPINE,
    roles.CHEST: SPINE,
    roles.TAIL: TAIL,
    roles.FINGER: FINGER,
    roles.THUMB: THUMB,
}
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

    Args:
        anatomy: of all bones.
        bones: bone of every body [m].
        parents: body parents, -1 at roots [m].
    """
    table = HUMAN if anatomy.kind == roles.HUMAN else ANIMAL
    found = [anatomy.roles[bone] for bone in bones]
    chains = [_CHAIN_OF.get(role) for role in found]
    counts = _joints_of_chain(chains, parents)
    result = []
    for i, role in enumerate(found):
        chain = chains[i]
        own = table.get(role if chain is None else chain)
        if own is None or parents[i] < 0:
            result.append(None)
            continue
        if chain is not None:
            own = own.divided(counts[i])
            widest = WIDEST.get(chain)
            if widest is not None:
                own = replace(own, flexion=min(own.flexion, widest), extension=min(own.extension, widest))
                own = replace(own, outward=min(own.outward, widest), inward=min(own.inward, widest))
        result.append(own)
    return result


def _joints_of_chain(chains, parents) -> np.ndarray:
    """How many joints the chain through each body has, along its longest way; 0 where it is in none [m]."""
    count = len(chains)
    above, below = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
    order = from_the_roots(parents)
    for i in order:
        parent = parents[i]
        if chains[i] is None or parent < 0:
            continue
        above[i] = 1 + (above[parent] if chains[parent] == chains[i] else 0)
    for i in reversed(order):
        parent = parents[i]
        if chains[i] is None or parent < 0:
            continue
        if chains[parent] == chains[i]:
            below[parent] = max(below[parent], below[i] + 1)
    return above + below
