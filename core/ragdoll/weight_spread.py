"""Per-bone weights spread over a skeleton: by chain, with falloff up or down the tree, as presets.

All functions take the weights of all bones [n] in [0, 1] and give new ones; bones are rows, parents may stand in any
order and are -1 at roots.
"""

import numpy as np

from ..anatomy import roles
from ..errors import RagdollError
from ..skeleton import depths, from_the_roots, path_to_root

UPPER_BODY_LOOSE, ONE_ARM_LIMP, DRUNK, RIGID = "UPPER_BODY_LOOSE", "ONE_ARM_LIMP", "DRUNK", "RIGID"
PRESETS = (UPPER_BODY_LOOSE, ONE_ARM_LIMP, DRUNK, RIGID)
UP, DOWN = "UP", "DOWN"

# Rotation weights of the presets by role, for one generation of bones; what has no entry has that of its parent.
_BY_ROLE = {  # loose, drunk
    roles.PELVIS: (1.0, 0.6),
    roles.SPINE: (0.6, 0.4),
    **dict.fromkeys((roles.CHEST, roles.CLAVICLE), (0.5, 0.35)),
    roles.NECK: (0.4, 0.2),
    roles.HEAD: (0.4, 0.15),
    **dict.fromkeys((roles.UPPER_ARM, roles.WING), (0.25, 0.2)),
    roles.FOREARM: (0.15, 0.15),
    roles.HAND: (0.1, 0.1),
    **dict.fromkeys((roles.THIGH, roles.SHANK), (1.0, 0.5)),
    roles.FOOT: (1.0, 0.6),
    roles.TAIL: (0.3, 0.2),
}
# Four-footed: the forelegs carry as the hind legs do, and the trunk between them is no upper body.
_FOUR_FOOTED = dict.fromkeys((roles.CLAVICLE, roles.SPINE, roles.CHEST), roles.PELVIS)
_FOUR_FOOTED |= {roles.UPPER_ARM: roles.THIGH, roles.FOREARM: roles.SHANK, roles.HAND: roles.FOOT}
_UNKNOWN = {UPPER_BODY_LOOSE: (1.0, 0.75), DRUNK: (0.6, 0.85)}  # on rigs without roles: the root's, and each step's
_COLLAR = 0.5  # rotation weight of a limp arm's collar bone


def checked(weights, names) -> np.ndarray:
    """Weights [n] as an array of their own. Raises RagdollError: one is no number in 0..1; names bone and value."""
    weights = np.array(weights, dtype=float)
    wrong = np.flatnonzero(~((weights >= 0.0) & (weights <= 1.0)))
    if len(wrong):
        raise RagdollError(f"Bone '{names[wrong[0]]}': a weight must be 0 to 1, got {weights[wrong[0]]:g}")
    return weights


def chain(parents, first: int, last: int, names) -> list:
    """Rows from a bone to one below it or above it, both included. Raises RagdollError: neither is above the other."""
    up, down = path_to_root(parents, first), path_to_root(parents, last)
    if last in up:
        return up[: up.index(last) + 1]
    if first in down:
        return down[: down.index(first) + 1][::-1]
    raise RagdollError(f"Bones '{names[first]}' and '{names[last]}' are not on one chain: neither is above the other")


def distances(parents, bone: int) -> tuple[np.ndarray, np.ndarray]:
    """Bones on the way from a bone to others: how far up it goes, and how far down [n]; infinite where none leads."""
    up, down = np.full(len(parents), np.inf), np.full(len(parents), np.inf)
    above = path_to_root(parents, bone)
    up[above], down[above] = np.arange(len(above)), 0.0
    for row in from_the_roots(parents):
        parent = int(parents[row])
        if np.isinf(up[row]) and parent >= 0 and np.isfinite(up[parent]):
            up[row], down[row] = up[parent], down[parent] + 1.0
    return up, down


def along(weights, rows, value, end=None) -> np.ndarray:
    """The bones of a chain set to a value, or evenly from `value` at its first to `end` at its last."""
    result = np.array(weights, dtype=float)
    result[rows] = np.linspace(value, value if end is None else end, len(rows))
    return result


def falloff(weights, parents, bone: int, value: float, reach: float, way: str = DOWN) -> np.ndarray:
    """A bone set to a value, and those below (DOWN) or above it (UP) drawn there, less the further away.

    From `reach` bones away, > 0, nothing changes any more."""
    weights = np.asarray(weights, dtype=float)
    up, down = distances(parents, bone)
    far = np.where(up == 0.0, down, np.inf) if way == DOWN else np.where(down == 0.0, up, np.inf)
    return weights + (value - weights) * np.clip(1.0 - far / max(reach, 1e-9), 0.0, 1.0)


def preset(name: str, anatomy: roles.Anatomy, parents, side: str = roles.LEFT) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and translation weights [n] of a preset.

    On a rig of which nothing is recognised, "loose" and "drunk" fall off from the root to the tips, and the limp arm is
    the longest chain without a fork. A quadruped's arms are its forelegs; its upper body is neck, head and tail.
    Raises RagdollError: no arm on that side, or no limb that could go limp.
    """
    parents = roles.body_parents(anatomy, parents)
    if name == RIGID:
        return np.ones(len(parents)), np.ones(len(parents))
    if name == ONE_ARM_LIMP:
        return _arm_limp(anatomy, parents, side)
    if any(role in (roles.PELVIS, *roles.ARM, *roles.LEG) for role in anatomy.roles):
        table = {role: weights[0 if name == UPPER_BODY_LOOSE else 1] for role, weights in _BY_ROLE.items()}
        if anatomy.kind == roles.QUADRUPED:
            table |= {role: table[like] for role, like in _FOUR_FOOTED.items()}
        rotation = np.full(len(parents), table[roles.PELVIS])
        for row in from_the_roots(parents):
            above = rotation[parents[row]] if parents[row] >= 0 else table[roles.PELVIS]
            rotation[row] = table.get(anatomy.roles[row], above)
    else:
        top, step = _UNKNOWN[name]
        rotation = top * step ** depths(parents)
    # Position is held where the body is strong: a loose part hangs on its joints alone.
    return rotation, np.where(rotation >= (1.0 if name == UPPER_BODY_LOOSE else 0.5), rotation, 0.0)


def _arm_limp(anatomy, parents, side) -> tuple[np.ndarray, np.ndarray]:
    rotation, translation = np.ones(len(parents)), np.ones(len(parents))
    arms, arm = (roles.of_role(anatomy, roles.UPPER_ARM, where) for where in (None, side))
    if arms and not arm:
        known = sorted({anatomy.sides[i].lower() for i in arms})
        raise RagdollError(f"No arm on the {side.lower()} side is known, only {', '.join(known)}")
    start = arm[0] if arm else _longest_chain(parents)
    limp = distances(parents, start)[0] == 0.0
    rotation[limp] = translation[limp] = 0.0
    above = int(parents[start])
    if arm and above >= 0 and anatomy.roles[above] == roles.CLAVICLE:
        rotation[above], translation[above] = _COLLAR, 0.0
    return rotation, translation


def _longest_chain(parents) -> int:
    """The first bone of the longest chain without a fork that hangs on something; its first bone may be the fork's."""
    children = np.bincount(parents[parents >= 0], minlength=len(parents))
    found = []
    for tip in np.flatnonzero((children == 0) & (parents >= 0)):
        way = path_to_root(parents, tip)
        # Up to the first bone that hangs on a fork or on a root.
        count = next(i for i, row in enumerate(way, 1) if children[parents[row]] != 1 or parents[parents[row]] < 0)
        found.append(way[:count])
    if not found:
        raise RagdollError("No limb could go limp: the rig has no bone that hangs on another")
    return max(found, key=len)[-1]
