"""Roles of the bones of arms, legs and trunk: words that mean different bones in different conventions are settled
by the bones above and below them, and along the trunk, where any bone may be called "spine", by the joints.
"""

from itertools import takewhile

import numpy as np

from .names import ANKLE, ARM, ELBOW, FRONT_OF, HIND_OF, HIP, KNEE, LEG, PALM, PAW, ROOT, SHOULDER, TRUNK, WRIST
from .roles import (
    CHEST,
    CLAVICLE,
    EYE,
    FINGER,
    FOOT,
    FOREARM,
    HAND,
    HEAD,
    HELPER,
    JAW,
    LEFT,
    NECK,
    PELVIS,
    RIGHT,
    SHANK,
    SPINE,
    TAIL,
    THIGH,
    THUMB,
    TOE,
    TWIST,
    UPPER_ARM,
    WING,
)
from .structure import Structure, Tree, raised

ARMS = (SHOULDER, CLAVICLE, UPPER_ARM, ARM, FOREARM, ELBOW, HAND, WRIST, FINGER, THUMB, WING)
STRONG = {KNEE: SHANK, ELBOW: FOREARM, WRIST: HAND, ANKLE: FOOT, LEG: THIGH, ARM: UPPER_ARM, PALM: HAND, HIP: THIGH}
_JOINT = {KNEE: SHANK, ELBOW: FOREARM, WRIST: HAND, ANKLE: FOOT}
_ONCE = (UPPER_ARM, FOREARM, THIGH, SHANK)
_NEXT = {None: 0, THIGH: 1, SHANK: 2, UPPER_ARM: 1, FOREARM: 2}
_OF_LEG, _OF_ARM = (THIGH, SHANK, FOOT), (UPPER_ARM, FOREARM, HAND)


def settle_limbs(tree, read: list, notes: list, names: list) -> dict:
    """Role by row for the bones of limbs, HELPER or TWIST for what only belongs to them.

    Args:
        tree: a `Tree`. read: a `names.Name` by row. notes: what a user should know is appended.
    """
    words = {row: _word(read[row]) for row in tree.rows}
    below = _below(tree, words)
    strong = {(words[row], read[row].side) for row in tree.rows if words[row] not in _JOINT}
    roles: dict = {}
    leg_of: dict = {}  # the nearest role of a leg or arm above each row, itself included
    shifted: set = set()
    for row in tree.rows:
        parent = tree.parent[row]
        above = leg_of.get(parent)
        word = words[row]
        role = _role(word, above, below[row], (_JOINT.get(word), read[row].side) in strong)
        if word == LEG and role == THIGH and THIGH in below[row]:
            # A "leg" above an "upper leg": where it is long it is the thigh, and the names are one bone off.
            role = _first_of_leg(tree, row, words)
            if role == THIGH:
                shifted.add(row)
                notes.append(f"'{names[row]}' stands where the thigh is: the leg below it is taken one bone further")
        elif parent in shifted or (parent in leg_of and _under(tree, row, shifted)):
            role = {THIGH: SHANK, SHANK: FOOT, FOOT: TOE}.get(role, role)
        elif role in _ONCE and role == above:
            role = TWIST  # the second half of a bone in two parts
        elif role == FOOT and above == FOOT and TOE not in below[row]:
            role = TOE
        if role is not None:
            roles[row] = role
        leg_of[row] = role if role in _OF_LEG + _OF_ARM or role in (CLAVICLE, TOE, FINGER, THUMB, WING) else above
    return roles


def _word(name) -> str | None:
    """The meaning of a name, turned to the homologous bone where it speaks of a front or hind leg."""
    return {True: FRONT_OF, False: HIND_OF, None: {}}[name.front].get(name.meaning, name.meaning)


def _below(tree, words: dict) -> dict:
    """The words below each row."""
    result: dict = {row: set() for row in tree.rows}
    for row in reversed(tree.rows):
        parent = tree.parent[row]
        if parent >= 0:
            result[parent] |= result[row]
            result[parent].add(words[row])
    return result


def _under(tree, row: int, rows: set) -> bool:
    return bool(rows) and any(item in rows for item in tree.ancestors(row))


def _role(word, above, below: set, taken: bool) -> str | None:
    """One bone's role from its word, the limb role above it, the words below it."""
    if word is None:
        return None
    if word in _JOINT:
        role = _JOINT[word]
        # "elbow" beside a forearm is a helper at the joint; above it, or without one, it is the bone.
        return role if not taken or role in below else HELPER
    if word == HIP:
        return HELPER if below & {HIP, THIGH, LEG} or not below & {KNEE, SHANK, FOOT, ANKLE} else THIGH
    if word == LEG:
        return _OF_LEG[_NEXT.get(above, 0)]
    if word == ARM:
        return _OF_ARM[_NEXT.get(above, 0)]
    if word == SHOULDER and above in _OF_ARM:
        return HELPER
    if word == SHOULDER:
        if below & {UPPER_ARM, ARM, WING}:
            return HELPER if above == CLAVICLE else CLAVICLE
        return UPPER_ARM if above == CLAVICLE or below & {ELBOW, FOREARM} else None
    if word == PALM:
        return HAND if above in (UPPER_ARM, FOREARM) else HELPER
    if word == PAW:
        return HAND if above in (CLAVICLE, UPPER_ARM, FOREARM) else FOOT
    if word in (FINGER, THUMB):
        return TOE if above in (THIGH, SHANK, FOOT, TOE) else word
    if word == CLAVICLE:
        return CLAVICLE if below & set(ARMS) else HELPER
    if word == TOE and above in (CLAVICLE, UPPER_ARM, FOREARM, HAND, FINGER):
        return FINGER
    return word if word in _OF_LEG + _OF_ARM or word in (TOE, WING) else None


def _first_of_leg(tree, row: int, words: dict) -> str:
    """THIGH where a bone above the one named so is long enough to be it, else HELPER."""
    named = next(item for item in tree.subtree(row)[1:] if words[item] == THIGH)
    own, other = tree.ends[row] - tree.heads[row], tree.ends[named] - tree.heads[named]
    return THIGH if own @ own > 0.25 * (other @ other) else HELPER


# ---- pelvis, spine, chest, neck, head and tail ----------------------------------------------------------------------
_SOFT = (TRUNK, ROOT, None)


def settle_trunk(tree: Tree, words: list, sides: list, limbs: dict, found: Structure) -> dict:
    """Role by row for the bones along the middle.

    Args:
        tree: a `Tree`. words: meanings of the names [n]. sides: [n].
        limbs: role by row of the bones of arms and legs. found: what the joints say.
    """
    legs = _first(tree, limbs, sides, (THIGH,))
    arms = _first(tree, limbs, sides, (CLAVICLE, UPPER_ARM, WING))
    roles, pelvis = _pelvis(tree, words, legs, found)
    head = _head(tree, words, arms, found)
    path = [row for row in _path(tree, head, pelvis) if row not in limbs]
    _along(tree, words, roles, path, head, arms)
    ahead = tree.heads[head] - tree.heads[path[0] if path else pelvis] if head >= 0 else np.zeros(3)
    on_path = {*path, *tree.ancestors(pelvis)}
    for row in tree.rows:
        if row in roles or row in limbs or words[row] not in (TRUNK, ROOT, CHEST, NECK, HEAD, PELVIS):
            continue
        roles[row] = _beside(tree, words, row, pelvis, ahead, roles, on_path)
    return roles


def _first(tree: Tree, limbs: dict, sides: list, kinds: tuple) -> dict:
    """The topmost row of some roles on each side."""
    result: dict = {}
    for row in tree.rows:
        if limbs.get(row) in kinds and sides[row] in (LEFT, RIGHT):
            result.setdefault(sides[row], row)
    return result


def _pelvis(tree: Tree, words: list, legs: dict, found: Structure) -> tuple[dict, int]:
    """Rows of the pelvis (several where one carries the legs and another the spine), and the one that leads."""
    named = [row for row in tree.rows if words[row] == PELVIS]
    meeting = tree.meeting(*legs.values()) if len(legs) == 2 else found.pelvis if not named else -1
    if meeting < 0:
        carrying = [row for row in named if len(tree.children[row]) > 0] or named
        return dict.fromkeys(carrying[:1], PELVIS), carrying[0] if carrying else -1
    roles = {}
    pelvis = next((row for row in tree.ancestors(meeting)[::-1] if words[row] == PELVIS), -1)
    if pelvis < 0:
        pelvis = raised(tree, meeting)
        while pelvis != meeting and words[pelvis] not in _SOFT:
            pelvis = next(row for row in tree.children[pelvis] if row in tree.ancestors(meeting))
    roles[pelvis] = PELVIS
    for row in named:
        if any(words[item] in (TRUNK, CHEST, NECK, HEAD) for item in tree.subtree(row)) or (
            meeting in tree.subtree(row) and row in tree.subtree(pelvis)
        ):
            roles[row] = PELVIS
    return roles, pelvis


def _head(tree: Tree, words: list, arms: dict, found: Structure) -> int:
    """The head's row: named so, else what carries jaw or eyes, else the last of neck or spine beyond the arms."""
    named = [row for row in tree.rows if words[row] == HEAD]
    if named:
        # A head with bones of its own name inside: the topmost; "headgear" beside it carries nothing.
        return max(named, key=lambda row: (tree.reach[row] > 0.0, -len(tree.ancestors(row)), tree.height[row]))
    for row in tree.rows:
        if words[row] in (JAW, EYE) and tree.parent[row] >= 0:
            return int(tree.parent[row])
    start = next((row for row in reversed(tree.rows) if words[row] == NECK), -1)
    if start < 0:
        start = tree.meeting(*arms.values()) if len(arms) == 2 else -1
    if start < 0:
        return found.head
    row = start
    while rest := [child for child in tree.children[row] if words[child] in (TRUNK, NECK)]:
        row = max(rest, key=lambda child: tree.reach[child])
    if row == start and words[start] != NECK:
        return found.head
    return row


def _path(tree: Tree, head: int, pelvis: int) -> list:
    """Rows from above the pelvis, or from the root, to the head."""
    stop = set(tree.ancestors(pelvis))
    return list(takewhile(lambda row: row not in stop, tree.ancestors(head)))[::-1]


def _along(tree: Tree, words: list, roles: dict, path: list, head: int, arms: dict) -> None:
    """Spine, chest and neck along a path; a neck begins at a bone named so or beyond the arms."""
    if not path:
        return
    meeting = tree.meeting(*arms.values()) if len(arms) == 2 else -1
    shoulders = np.mean([tree.heads[row] for row in arms.values()], axis=0) if arms else None
    carried = path.index(meeting) if meeting in path else -1
    trunk: list = []
    for i, row in enumerate(path):
        if row in roles:
            continue
        word = words[row]
        if row == head:
            roles[row] = HEAD
        elif word == NECK or any(roles.get(item) == NECK for item in path[:i]):
            roles[row] = NECK
        elif word == CHEST or not arms or i <= carried or _reaches(tree, row, shoulders):
            roles[row] = CHEST if word == CHEST else SPINE
            trunk.append(row)
        else:
            roles[row] = NECK
    if trunk and arms:
        roles[trunk[-1]] = CHEST


def _reaches(tree: Tree, row: int, shoulders: np.ndarray) -> bool:
    """Whether the shoulders are beside or beyond a bone, seen along it."""
    line = tree.ends[row] - tree.heads[row]
    return (shoulders - tree.heads[row]) @ line > 0.1 * (line @ line)


def _beside(tree: Tree, words: list, row: int, pelvis: int, ahead: np.ndarray, roles: dict, on_path: set) -> str:
    """A bone named as of the trunk that is not on the way from pelvis to head: a tail, or a helper."""
    parent = tree.parent[row]
    if words[row] not in (TRUNK, CHEST, NECK) or row in on_path:
        return HELPER
    if parent >= 0 and roles.get(parent) == TAIL:
        return TAIL
    line = tree.ends[row] - tree.heads[row]
    backwards = line @ ahead < 0.0 and ahead @ ahead > 0.0
    chain = len(tree.children[row]) > 0 and any(words[child] == TRUNK for child in tree.children[row])
    return TAIL if words[row] == TRUNK and backwards and chain else HELPER
