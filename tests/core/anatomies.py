"""A human and a dog made of joints alone, with what is to be recognised of them."""

from dataclasses import dataclass, field, replace

import numpy as np

from core import quaternion
from core.anatomy import roles as r
from core.anatomy.joints import joint_limits

L, R, C = r.LEFT, r.RIGHT, r.CENTER
TOES, TIPS = np.array((0.0, -0.13, -0.06)), np.array((0.0, -0.2, -0.06))  # from the ankle


def ancestors(parents, bone):
    """The bones above one, the nearest first."""
    while parents[bone] >= 0:
        bone = int(parents[bone])
        yield bone


@dataclass
class Body:
    """Joints of a character, facing -Y, up Z."""

    names: list
    anatomy: r.Anatomy
    parents: np.ndarray
    heads: np.ndarray
    tails: np.ndarray
    bones: np.ndarray = field(init=False)

    def __post_init__(self):
        self.bones = np.arange(len(self.names))

    def row(self, name: str) -> int:
        """Index of a bone."""
        return self.names.index(name)

    def limits(self, vertices=None) -> dict:
        """The joints' limits by the bones' names."""
        found = joint_limits(self.anatomy, self.parents, self.heads, self.tails, self.bones, self.parents, vertices)
        return dict(zip(self.names, found, strict=True))

    def known_as(self, **changes) -> "Body":
        """The same character, its anatomy changed in some arrays."""
        return Body(self.names, replace(self.anatomy, **changes), self.parents, self.heads, self.tails)

    def moved(self, rotation, scale: float = 1.0, offset=(0.0, 0.0, 0.0)) -> "Body":
        """The same character, turned by a quaternion, scaled and moved."""
        heads, tails = (scale * quaternion.rotate(np.asarray(rotation), p) + offset for p in (self.heads, self.tails))
        return Body(self.names, self.anatomy, self.parents, heads, tails)


def body(table: dict, kind: str) -> Body:
    """From ``{bone: (role, side, parent, head, tail)}``; paired bones end in .L, their right twins are added."""
    full = dict(table)
    for name, (role, side, parent, *ends) in table.items():
        if side == L:
            twins = ([-x, y, z] for x, y, z in ends)
            full[name.replace(".L", ".R")] = (role, R, parent.replace(".L", ".R"), *twins)
    names = list(full)
    found, sides, above, heads, tails = zip(*full.values())
    parents = np.array([names.index(name) if name else -1 for name in above])
    order = np.zeros(len(names), dtype=int)
    for i, parent in enumerate(parents):
        if parent >= 0 and found[i] == found[parent]:
            order[i] = order[parent] + 1
    anatomy = r.Anatomy(found, sides, order, kind, np.ones(len(names)))
    return Body(names, anatomy, parents, np.array(heads, dtype=float), np.array(tails, dtype=float))


def human(arms: float = 0.0, elbow: float = 0.0, knee: float = 0.0, toes: bool = True) -> Body:
    """A human; arms lowered from T-pose by an angle, elbows and knees bent the way they bend [deg]."""
    down, fold, back = np.radians((arms, elbow, knee))
    shoulder = np.array((0.18, 0.0, 1.45))
    along = np.array((np.cos(down), 0.0, -np.sin(down)))
    forearm = np.cos(fold) * along + np.sin(fold) * np.array((0.0, -1.0, 0.0))
    hand = shoulder + 0.3 * along + 0.25 * forearm
    joint = shoulder + 0.3 * along
    shin = np.array((0.0, np.sin(back), -np.cos(back)))
    knee_at = np.array((0.1, 0.0, 0.5))
    ankle = knee_at + 0.42 * shin
    table = {
        "hips": (r.PELVIS, C, "", (0, 0, 1.0), (0, 0, 1.1)),
        "spine": (r.SPINE, C, "hips", (0, 0, 1.1), (0, 0, 1.3)),
        "chest": (r.CHEST, C, "spine", (0, 0, 1.3), (0, 0, 1.5)),
        "neck": (r.NECK, C, "chest", (0, 0, 1.5), (0, 0, 1.6)),
        "head": (r.HEAD, C, "neck", (0, 0, 1.6), (0, 0, 1.8)),
        "clavicle.L": (r.CLAVICLE, L, "chest", (0.03, 0, 1.45), shoulder),
        "upper_arm.L": (r.UPPER_ARM, L, "clavicle.L", shoulder, joint),
        "forearm.L": (r.FOREARM, L, "upper_arm.L", joint, hand),
        "hand.L": (r.HAND, L, "forearm.L", hand, hand + 0.1 * forearm),
        "thigh.L": (r.THIGH, L, "hips", (0.1, 0, 0.95), knee_at),
        "shin.L": (r.SHANK, L, "thigh.L", knee_at, ankle),
        "foot.L": (r.FOOT, L, "shin.L", ankle, ankle + TOES),
    }
    if toes:
        table["toe.L"] = (r.TOE, L, "foot.L", ankle + TOES, ankle + TIPS)
    return body(table, r.HUMAN)


def dog() -> Body:
    """A dog: level spine, elbows behind, knees ahead, hocks behind."""
    table = {
        "hips": (r.PELVIS, C, "", (0, 0.3, 0.5), (0, 0.2, 0.5)),
        "spine": (r.SPINE, C, "hips", (0, 0.2, 0.5), (0, 0, 0.5)),
        "chest": (r.CHEST, C, "spine", (0, 0.0, 0.5), (0, -0.2, 0.5)),
        "neck": (r.NECK, C, "chest", (0, -0.25, 0.52), (0, -0.35, 0.62)),
        "head": (r.HEAD, C, "neck", (0, -0.35, 0.62), (0, -0.5, 0.6)),
        "tail1": (r.TAIL, C, "hips", (0, 0.35, 0.5), (0, 0.45, 0.5)),
        "tail2": (r.TAIL, C, "tail1", (0, 0.45, 0.5), (0, 0.55, 0.5)),
        "tail3": (r.TAIL, C, "tail2", (0, 0.55, 0.5), (0, 0.65, 0.5)),
        "thigh.L": (r.THIGH, L, "hips", (0.07, 0.3, 0.48), (0.07, 0.22, 0.3)),
        "shin.L": (r.SHANK, L, "thigh.L", (0.07, 0.22, 0.3), (0.07, 0.38, 0.17)),
        "foot.L": (r.FOOT, L, "shin.L", (0.07, 0.38, 0.17), (0.07, 0.34, 0.03)),
        "toe.L": (r.TOE, L, "foot.L", (0.07, 0.34, 0.03), (0.07, 0.28, 0.01)),
        "scapula.L": (r.CLAVICLE, L, "chest", (0.06, -0.1, 0.5), (0.07, -0.2, 0.38)),
        "upper_arm.L": (r.UPPER_ARM, L, "scapula.L", (0.07, -0.2, 0.38), (0.07, -0.1, 0.26)),
        "forearm.L": (r.FOREARM, L, "upper_arm.L", (0.07, -0.1, 0.26), (0.07, -0.13, 0.09)),
        "hand.L": (r.HAND, L, "forearm.L", (0.07, -0.13, 0.09), (0.07, -0.14, 0.02)),
    }
    return body(table, r.QUADRUPED)
