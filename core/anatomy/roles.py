"""The vocabulary of bones: what part of a body a bone is, on which side, and the how-manieth of its chain."""

from dataclasses import dataclass, field

import numpy as np

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

HUMAN, QUADRUPED, CREATURE = "HUMAN", "QUADRUPED", "CREATURE"  # a creature is anything else: birds, snakes, props


@dataclass(frozen=True)
class Anatomy:
    """What was recognised of a skeleton of n bones, in Blender's bone order.

    Attributes:
        roles: one of ROLES [n]. TWIST: takes a share of the turn of a limb. HELPER: control, IK target, prop, end
            marker; neither deserves a body of its own. GENERIC: unknown.
        sides: LEFT, RIGHT or CENTER [n].
        order: which of its chain [n]: 0 the first spine bone above the pelvis, the first phalanx of a finger, ...
        kind: HUMAN, QUADRUPED or CREATURE.
        certainty: 1 where the name and the structure agree, less where only one speaks, 0 where unknown [n].
        notes: what a user should know, in words: bones that stay generic, sides that contradict each other.
        parents: the bone of the body that each bone hangs on [n], -1 at its root and where there is none. It differs
            from the hierarchy where that goes through controls, or not at all: a foot on the floor hangs on its shank.
            None when it is not known.
    """

    roles: tuple
    sides: tuple
    order: np.ndarray
    kind: str
    certainty: np.ndarray
    notes: list = field(default_factory=list)
    parents: np.ndarray | None = None
