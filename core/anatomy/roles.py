"""The vocabulary of bones: what part of a body each is, on which side, where in its chain; and the main bodies."""

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from ..skeleton import path_to_root

PELVIS, SPINE, CHEST, NECK, HEAD = "PELVIS", "SPINE", "CHEST", "NECK", "HEAD"
CLAVICLE, UPPER_ARM, FOREARM, HAND, THUMB, FINGER = "CLAVICLE", "UPPER_ARM", "FOREARM", "HAND", "THUMB", "FINGER"
THIGH, SHANK, FOOT, TOE = "THIGH", "SHANK", "FOOT", "TOE"
TAIL, EAR, JAW, EYE, WING = "TAIL", "EAR", "JAW", "EYE", "WING"
TWIST, HELPER, GENERIC = "TWIST", "HELPER", "GENERIC"

# The front legs of a quadruped have the roles of their homologues, the arms: CLAVICLE (shoulder blade), UPPER_ARM,
# FOREARM, HAND; its hind legs those of human legs.
TRUNK = (PELVIS, SPINE, CHEST, NECK, HEAD)
ARM = (CLAVICLE, UPPER_ARM, FOREARM, HAND)
LEG = (THIGH, SHANK, FOOT, TOE)
ROLES = (*TRUNK, *ARM, THUMB, FINGER, *LEG, TAIL, EAR, JAW, EYE, WING, TWIST, HELPER, GENERIC)
LEFT, RIGHT, CENTER = "LEFT", "RIGHT", "CENTER"
SIDES = (LEFT, RIGHT, CENTER)
OPPOSITE = {LEFT: RIGHT, RIGHT: LEFT}
HUMAN, QUADRUPED, CREATURE = "HUMAN", "QUADRUPED", "CREATURE"  # a creature is anything else: birds, snakes, props


@dataclass(frozen=True)
class Anatomy:
    """What was recognised of a skeleton of n bones, in Blender's bone order."""

    # one of ROLES [n]. TWIST: takes a share of the turn of a limb. HELPER: control, IK target, prop, end marker;
    # neither deserves a body of its own. GENERIC: unknown.
    roles: tuple
    sides: tuple  # LEFT, RIGHT or CENTER [n]
    order: np.ndarray  # which of its chain [n]: 0 the first spine bone above the pelvis, a finger's first phalanx, ...
    kind: str  # HUMAN, QUADRUPED or CREATURE
    certainty: np.ndarray  # 1 where the name and the structure agree, less where only one speaks, 0 where unknown [n]
    notes: list = field(default_factory=list)  # what a user should know: generic bones, contradicting sides
    # the bone of the body that each bone hangs on [n], -1 at its root and where there is none. It differs from the
    # hierarchy where that goes through controls, or not at all: a foot on the floor hangs on its shank. None when it
    # is not known.
    parents: np.ndarray | None = None
    ground_roots: tuple = ()  # rows of bones at the ground that move a body which begins at the hips: a game rig's root
    led: tuple = ()  # rows of bones that inverse kinematics leads to the end of a limb on which they do not hang


def of_role(anatomy: Anatomy, role, side=None) -> list:
    """Bones with a role, of one side when given, in order along their chain."""
    places = enumerate(zip(anatomy.roles, anatomy.sides, strict=True))
    bones = [i for i, (own, where) in places if own == role and side in (None, where)]
    return sorted(bones, key=lambda i: (anatomy.order[i], i))


# A human gets ten to thirteen bodies with "main": pelvis, at most three of spine and chest, head, upper arms, forearms,
# thighs and shanks. Hands and feet, clavicles, neck, twist bones and helpers merge into the body they hang on. They are
# light beside their neighbours, their joints stiff or short, and a chain of small bodies between two heavy ones makes a
# ragdoll tremble; a neck of a few centimetres is one such. The head's joint then takes the neck's place at the chest.
#
# A quadruped's hand and foot are whole segments of its legs, its neck and tail are long: the first hand and foot bone
# of each leg stay bodies, as do at most two of the neck and three of the tail. A creature keeps all but what is small
# on any body: fingers, toes, eyes and ears.
MOST_SPINE, MOST_NECK, MOST_TAIL = 3, 2, 3
SHORT = 0.1  # a bone of the trunk shorter than this share of the whole trunk has no body of its own
_SMALL = (HELPER, TWIST, EYE, EAR, FINGER, THUMB, TOE)


def main_bones(anatomy: Anatomy, parents, deform=None, heads=None) -> np.ndarray:
    """Which bones [n] have a body of their own in a ragdoll of main bodies; all others move with the nearest one above.

    Parents are indices, -1 at roots [n]. Of a creature the bones count that deform a mesh [n], all with None. Where
    heads are given, joints [n, 3], stubs of the trunk are left out.
    """
    parents = body_parents(anatomy, parents)
    mask = np.zeros(len(anatomy.roles), dtype=bool)
    if anatomy.kind == CREATURE:
        mask[:] = [role not in _SMALL for role in anatomy.roles]
        return mask & np.asarray(deform, dtype=bool) if deform is not None and np.any(deform) else mask
    limbs = [UPPER_ARM, FOREARM, THIGH, SHANK]
    if anatomy.kind == QUADRUPED:
        limbs += [HAND, FOOT]
        mask[_parts(of_role(anatomy, NECK), MOST_NECK)] = True
        mask[_parts(of_role(anatomy, TAIL), MOST_TAIL)] = True
    for role in (PELVIS, HEAD):
        mask[(of_role(anatomy, role, CENTER) or of_role(anatomy, role))[:1]] = True
    for role, side in product(limbs, SIDES):
        mask[of_role(anatomy, role, side)[:1]] = True
    trunk = np.array(_trunk(anatomy, parents, heads), dtype=int)  # of which as many as may be, evenly, ends included
    mask[trunk[np.round(np.linspace(0, len(trunk) - 1, min(len(trunk), MOST_SPINE))).astype(int)]] = True
    return mask


def body_parents(anatomy: Anatomy, parents) -> np.ndarray:
    """Parents of the bones [n]: those that an anatomy states, else the hierarchy's."""
    return np.asarray(parents if anatomy.parents is None else anatomy.parents, dtype=int)


def _trunk(anatomy: Anatomy, parents: np.ndarray, heads) -> list:
    """Spine and chest upwards, without bones that carry a leg, the pelvis', and stubs, for which the one below is."""
    carrying = {row for thigh in of_role(anatomy, THIGH) for row in path_to_root(parents, thigh)}
    trunk = [row for row in (*of_role(anatomy, SPINE), *of_role(anatomy, CHEST)) if row not in carrying]
    above = of_role(anatomy, NECK) or of_role(anatomy, HEAD, CENTER) or of_role(anatomy, HEAD)
    if heads is None or len(trunk) < 2 or not above:
        return trunk
    lengths = np.linalg.norm(np.diff(np.asarray(heads, dtype=float)[[*trunk, above[0]]], axis=0), axis=1)
    return [row for i, row in enumerate(trunk) if i == 0 or lengths[i] >= SHORT * lengths.sum()]


def _parts(rows: list, most: int) -> list:
    """The first bones of at most so many parts of a chain, of about as many bones each."""
    count = min(len(rows), most)
    return [rows[i * len(rows) // count] for i in range(count)]
