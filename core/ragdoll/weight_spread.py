"""Per-bone weights spread over a skeleton: by chain, with falloff up or down the tree, copied, mirrored, as presets.

All functions take the weights of all bones [n] in [0, 1] and give new ones; bones are rows, parents may stand in any
order and are -1 at roots.
"""

import numpy as np

from ..anatomy import roles
from ..anatomy.order import from_the_roots
from ..errors import RagdollError

UPPER_BODY_LOOSE, ONE_ARM_LIMP, DRUNK, RIGID = "UPPER_BODY_LOOSE", "ONE_ARM_LIMP", "DRUNK", "RIGID"
PRESETS = (UPPER_BODY_LOOSE, ONE_ARM_LIMP, DRUNK, RIGID)

# Rotation weights of the presets by role, for one generation of bones; what has no entry has that of its parent.
_LOOSE = {
    roles.PELVIS: 1.0,
    roles.SPINE: 0.6,
    roles.CHEST: 0.5,
    roles.NECK: 0.4,
    roles.HEAD: 0.4,
    roles.CLAVICLE: 0.5,
    roles.UPPER_ARM: 0.25,
    roles.FOREARM: 0.15,
    roles.HAND: 0.1,
    roles.WING: 0.25,
    roles.THIGH: 1.0,
    roles.SHANK: 1.0,
    roles.FOOT: 1.0,
    roles.TAIL: 0.3,
}
_DRUNKEN = {
    roles.PELVIS: 0.6,
    roles.SPINE: 0.4,
    roles.CHEST: 0.35,
    roles.NECK: 0.2,
    roles.HEAD: 0.15,
    roles.CLAVICLE: 0.35,
    roles.UPPER_ARM: 0.2,
    roles.FOREARM: 0.15,
    roles.HAND: 0.1,
    roles.WING: 0.2,
    roles.THIGH: 0.5,
    roles.SHANK: 0.5,
    roles.FOOT: 0.6,
    roles.TAIL: 0.2,
}
# Four-footed: the forelegs carry as the hind legs do, and the trunk between them is no upper body.
_FORELEGS = {
    roles.CLAVICLE: roles.PELVIS,
    roles.UPPER_ARM: roles.THIGH,
    roles.FOREARM: roles.SHANK,
    roles.HAND: roles.FOOT,
}
_TRUNK = (roles.SPINE, roles.CHEST)
_LOOSE_STEP, _DRUNK_TOP, _DRUNK_STEP = 0.75, 0.6, 0.85  # by generation from the root, on rigs without roles
LOOSE_CHAIN = 0.5  # a limp arm's collar bone


def checked(weights, names) -> np.ndarray:
    """Weights [n] as an array of their own.

    Raises:
        RagdollError: a weight is no number within 0..1; names the bone and the value.
    """
    weights = np.array(weights, dtype=float)
    wrong = np.flatnonzero(~((weights >= 0.0) & (weights <= 1.0)))
    if len(wrong):
        raise RagdollError(f"Bone '{names[wrong[0]]}': a weight must be 0 to 1, got {weights[wrong[0]]:g}")
    return weights


def chain(parents, first: int, last: int, names=None) -> list:
    """Rows from a bone to one below it (or the other way round), both included.

    Raises:
        RagdollError: neither is above the other.
    """
    for low, high in ((last, first), (first, last)):
        row, found = low, [low]
        while row != high and row >= 0:
            row = int(parents[row])
            found.append(row)
        if row == high:
            return found[::-1] if low == last else found
    shown = [names[i] if names is not None else str(i) for i in (first, last)]
    raise RagdollError(f"Bones '{shown[0]}' and '{shown[1]}' are not on one chain: neither is above the other")


def distances(parents, bone: int, lengths=None) -> tuple[np.ndarray, np.ndarray]:
    """Way from a bone along the tree: how far up each path goes, and how far down [n]; infinite where none leads.

    Args:
        lengths: from each bone's parent to the bone [n], [m] or any unit; None counts bones.
    """
    count = len(parents)
    lengths = np.ones(count) if lengths is None else np.asarray(lengths, dtype=float)
    up, down = np.full(count, np.inf), np.full(count, np.inf)
    row, way = bone, 0.0
    while row >= 0:
        up[row], down[row] = way, 0.0
        way, row = way + lengths[row], int(parents[row])
    for row in from_the_roots(parents):
        parent = int(parents[row])
        if np.isinf(up[row]) and parent >= 0 and np.isfinite(up[parent]):
            up[row], down[row] = up[parent], down[parent] + lengths[row]
    return up, down


def along(weights, rows, value, end=None) -> np.ndarray:
    """The bones of a chain set to a value, or evenly from `value` at its first to `end` at its last."""
    result = np.array(weights, dtype=float)
    result[rows] = np.linspace(value, value if end is None else end, len(rows))
    return result


def falloff_down(weights, parents, bone: int, value: float, reach: float, lengths=None) -> np.ndarray:
    """A bone set to a value and all below it drawn there, less and less: not at all from `reach` (> 0) on."""
    up, down = distances(parents, bone, lengths)
    return _drawn(weights, value, np.where(up == 0.0, down, np.inf), reach)


def falloff_up(weights, parents, bone: int, value: float, reach: float, lengths=None) -> np.ndarray:
    """A bone set to a value and those above it drawn there, less and less: not at all from `reach` (> 0) on."""
    up, down = distances(parents, bone, lengths)
    return _drawn(weights, value, np.where(down == 0.0, up, np.inf), reach)


def _drawn(weights, value, way, reach) -> np.ndarray:
    weights = np.asarray(weights, dtype=float)
    share = np.clip(1.0 - way / max(reach, 1e-9), 0.0, 1.0)
    return weights + (value - weights) * share


def copied(weights, source: int, rows) -> np.ndarray:
    """The weight of one bone on others."""
    result = np.array(weights, dtype=float)
    result[rows] = result[source]
    return result


def mirrored(weights, counterparts, rows=None) -> np.ndarray:
    """The weights of bones (None: of all on the left) on their counterparts.

    Args:
        counterparts: the bone on the other side [n], -1 where there is none; see `counterparts`.
        rows: bones to copy from; None copies from every bone that comes before its counterpart.
    """
    weights = np.asarray(weights, dtype=float)
    result = weights.copy()
    counterparts = np.asarray(counterparts, dtype=int)
    if rows is None:
        rows = np.flatnonzero(counterparts > np.arange(len(weights)))
    rows = np.asarray(rows, dtype=int)
    rows = rows[counterparts[rows] >= 0]
    result[counterparts[rows]] = weights[rows]
    return result


def counterparts(anatomy: roles.Anatomy, parents) -> np.ndarray:
    """The bone on the other side [n] by role, order and what it hangs on; -1 where there is none or it is not known.

    Bones of one role and order (five fingers) are told apart by the order in which they hang on their parent.
    """
    parents = np.asarray(parents if anatomy.parents is None else anatomy.parents, dtype=int)
    opposite = {roles.LEFT: roles.RIGHT, roles.RIGHT: roles.LEFT}
    result = np.full(len(parents), -1)
    found: dict = {}
    for row in from_the_roots(parents):
        side, parent = anatomy.sides[row], int(parents[row])
        if side not in opposite:
            continue
        known = result[parent] if parent >= 0 and anatomy.sides[parent] == side else parent
        if known < 0 and parent >= 0 and anatomy.sides[parent] == side:
            continue
        key = (anatomy.roles[row], int(anatomy.order[row]))
        waiting = found.setdefault((side, parent, *key), [])
        others = found.get((opposite[side], known, *key), [])
        if len(others) > len(waiting):
            other = others[len(waiting)]
            result[row], result[other] = other, row
        waiting.append(row)
    return result


def preset(name: str, anatomy: roles.Anatomy, parents, side: str = roles.LEFT, lengths=None):
    """Rotation and translation weights [n] of a preset.

    On a rig of which nothing is recognised, "loose" and "drunk" fall off from the root to the tips, and the limp arm is
    the longest chain without a fork. A quadruped's arms are its forelegs; its upper body is neck, head and tail.

    Args:
        side: of the limp arm, LEFT or RIGHT.
        lengths: from each bone's parent to the bone [n]; None counts bones.

    Raises:
        RagdollError: unknown preset or side, no arm on that side, or no limb that could go limp.
    """
    if name not in PRESETS:
        raise RagdollError(f"Unknown preset of weights {name!r}, use one of {', '.join(PRESETS)}")
    if side not in (roles.LEFT, roles.RIGHT):
        raise RagdollError(f"Unknown side {side!r} of a limp arm, use {roles.LEFT} or {roles.RIGHT}")
    parents = np.asarray(parents if anatomy.parents is None else anatomy.parents, dtype=int)
    count = len(parents)
    if name == RIGID:
        return np.ones(count), np.ones(count)
    known = any(role in (roles.PELVIS, *roles.ARM, *roles.LEG) for role in anatomy.roles)
    if name == ONE_ARM_LIMP:
        return _arm_limp(anatomy, parents, side, lengths)
    if known:
        table = dict(_LOOSE if name == UPPER_BODY_LOOSE else _DRUNKEN)
        if anatomy.kind == roles.QUADRUPED:
            table |= {fore: table[hind] for fore, hind in _FORELEGS.items()}
            table |= dict.fromkeys(_TRUNK, table[roles.PELVIS])
        rotation = _by_role(anatomy, parents, table)
    else:
        top, step = (1.0, _LOOSE_STEP) if name == UPPER_BODY_LOOSE else (_DRUNK_TOP, _DRUNK_STEP)
        rotation = top * step ** _generations(parents)
    # Position is held where the body is strong: a loose part hangs on its joints alone.
    strong = rotation >= (1.0 if name == UPPER_BODY_LOOSE else 0.5)
    return rotation, np.where(strong, rotation, 0.0)


def _by_role(anatomy, parents, table) -> np.ndarray:
    result = np.ones(len(parents))
    for row in from_the_roots(parents):
        above = result[parents[row]] if parents[row] >= 0 else table[roles.PELVIS]
        result[row] = table.get(anatomy.roles[row], above)
    return result


def _generations(parents) -> np.ndarray:
    """How many bones lie above each [n]."""
    result = np.zeros(len(parents))
    for row in from_the_roots(parents):
        if parents[row] >= 0:
            result[row] = result[parents[row]] + 1.0
    return result


def _arm_limp(anatomy, parents, side, lengths):
    rotation, translation = np.ones(len(parents)), np.ones(len(parents))
    arms = [i for i, role in enumerate(anatomy.roles) if role == roles.UPPER_ARM]
    arm = [i for i in arms if anatomy.sides[i] == side]
    if arms and not arm:
        known = sorted({anatomy.sides[i].lower() for i in arms})
        raise RagdollError(f"No arm on the {side.lower()} side is known, only {', '.join(known)}")
    start = arm[0] if arm else _longest_chain(parents, lengths)
    _up, down = distances(parents, start, lengths)
    limp = np.isfinite(down) & (_up == 0.0)
    rotation[limp] = translation[limp] = 0.0
    above = int(parents[start])
    if arm and above >= 0 and anatomy.roles[above] == roles.CLAVICLE:
        rotation[above], translation[above] = LOOSE_CHAIN, 0.0
    return rotation, translation


def _longest_chain(parents, lengths) -> int:
    """The first bone of the longest chain without a fork that hangs on something; its first bone may be the fork's."""
    count = len(parents)
    lengths = np.ones(count) if lengths is None else np.asarray(lengths, dtype=float)
    children = np.bincount(parents[parents >= 0], minlength=count)
    best, result = 0.0, -1
    for tip in np.flatnonzero(children == 0):
        row, way = int(tip), 0.0
        while parents[row] >= 0:
            way += lengths[row]
            if children[parents[row]] != 1 or parents[parents[row]] < 0:
                if way > best:
                    best, result = way, row
                break
            row = int(parents[row])
    if result < 0:
        raise RagdollError("No limb could go limp: the rig has no bone that hangs on another")
    return result
