"""Roles of the bones of arms, legs and trunk: words that mean different bones in different conventions are settled
by the bones above and below them, and along the trunk, where any bone may be called "spine", by the joints.
"""

from itertools import takewhile

import numpy as np

from . import roles as r
from .names import ANKLE, ARM, ELBOW, FRONT_OF, HIND_OF, HIP, KNEE, LEG, PALM, PAW, ROOT, SHOULDER, TRUNK, WRIST
from .structure import Structure, Tree, raised

ARMS = (SHOULDER, r.CLAVICLE, r.UPPER_ARM, ARM, r.FOREARM, ELBOW, r.HAND, WRIST, r.FINGER, r.THUMB, r.WING)
_JOINT = {KNEE: r.SHANK, ELBOW: r.FOREARM, WRIST: r.HAND, ANKLE: r.FOOT}
STRONG = _JOINT | {LEG: r.THIGH, ARM: r.UPPER_ARM, PALM: r.HAND, HIP: r.THIGH}
_ONCE = (r.UPPER_ARM, r.FOREARM, r.THIGH, r.SHANK)
_NEXT = {None: 0, r.THIGH: 1, r.SHANK: 2, r.UPPER_ARM: 1, r.FOREARM: 2}
_OF_LIMB = (*r.ARM, *r.LEG, r.FINGER, r.THUMB, r.WING)
_OF_LEG, _OF_ARM = (r.THIGH, r.SHANK, r.FOOT), (r.UPPER_ARM, r.FOREARM, r.HAND)


def settle_limbs(tree, read: list, notes: list, names: list) -> dict:
    """Role by row for the bones of limbs, HELPER or TWIST for what only belongs to them.

    Args:
        tree: a `Tree`. read: a `names.Name` by row. notes: what a user should know is appended.
    """
    # Turned to the homologous bone where a name speaks of a front or hind leg.
    turned = {True: FRONT_OF, False: HIND_OF, None: {}}
    words = {row: turned[read[row].front].get(read[row].meaning, read[row].meaning) for row in tree.rows}
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
        if word == LEG and role == r.THIGH and r.THIGH in below[row]:
            # A "leg" above an "upper leg": where it is long it is the thigh, and the names are one bone off.
            role = _first_of_leg(tree, row, words)
            if role == r.THIGH:
                shifted.add(row)
                notes.append(f"'{names[row]}' stands where the thigh is: the leg below it is taken one bone further")
        elif parent in shifted or (parent in leg_of and _under(tree, row, shifted)):
            role = {r.THIGH: r.SHANK, r.SHANK: r.FOOT, r.FOOT: r.TOE}.get(role, role)
        elif role in _ONCE and role == above:
            role = r.TWIST  # the second half of a bone in two parts
        elif role == r.FOOT and above == r.FOOT and r.TOE not in below[row]:
            role = r.TOE
        if role is not None:
            roles[row] = role
        leg_of[row] = role if role in _OF_LIMB else above
    return roles


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
        return role if not taken or role in below else r.HELPER
    if word == HIP:
        return r.HELPER if below & {HIP, r.THIGH, LEG} or not below & {KNEE, r.SHANK, r.FOOT, ANKLE} else r.THIGH
    if word == LEG:
        return _OF_LEG[_NEXT.get(above, 0)]
    if word == ARM:
        return _OF_ARM[_NEXT.get(above, 0)]
    if word == SHOULDER and above in _OF_ARM:
        return r.HELPER
    if word == SHOULDER:
        if below & {r.UPPER_ARM, ARM, r.WING}:
            return r.HELPER if above == r.CLAVICLE else r.CLAVICLE
        return r.UPPER_ARM if above == r.CLAVICLE or below & {ELBOW, r.FOREARM} else None
    if word == PALM:
        return r.HAND if above in (r.UPPER_ARM, r.FOREARM) else r.HELPER
    if word == PAW:
        return r.HAND if above in (r.CLAVICLE, r.UPPER_ARM, r.FOREARM) else r.FOOT
    if word in (r.FINGER, r.THUMB):
        return r.TOE if above in (r.THIGH, r.SHANK, r.FOOT, r.TOE) else word
    if word == r.CLAVICLE:
        return r.CLAVICLE if below & set(ARMS) else r.HELPER
    if word == r.TOE and above in (r.CLAVICLE, r.UPPER_ARM, r.FOREARM, r.HAND, r.FINGER):
        return r.FINGER
    return word if word in _OF_LEG + _OF_ARM or word in (r.TOE, r.WING) else None


def _first_of_leg(tree, row: int, words: dict) -> str:
    """THIGH where a bone above the one named so is long enough to be it, else HELPER."""
    named = next(item for item in tree.subtree(row)[1:] if words[item] == r.THIGH)
    own, other = tree.ends[row] - tree.heads[row], tree.ends[named] - tree.heads[named]
    return r.THIGH if own @ own > 0.25 * (other @ other) else r.HELPER


# ---- pelvis, spine, chest, neck, head and tail ----------------------------------------------------------------------
_SOFT = (TRUNK, ROOT, None)


def settle_trunk(tree: Tree, words: list, sides: list, limbs: dict, found: Structure) -> dict:
    """Role by row for the bones along the middle.

    Args:
        tree: a `Tree`. words: meanings of the names [n]. sides: [n].
        limbs: role by row of the bones of arms and legs. found: what the joints say.
    """
    legs = _first(tree, limbs, sides, (r.THIGH,))
    arms = _first(tree, limbs, sides, (r.CLAVICLE, r.UPPER_ARM, r.WING))
    roles, pelvis = _pelvis(tree, words, legs, found)
    head = _head(tree, words, arms, found)
    path = [row for row in _path(tree, head, pelvis) if row not in limbs]
    _along(tree, words, roles, path, head, arms)
    ahead = tree.heads[head] - tree.heads[path[0] if path else pelvis] if head >= 0 else np.zeros(3)
    on_path = {*path, *tree.ancestors(pelvis)}
    for row in tree.rows:
        if row in roles or row in limbs or words[row] not in (TRUNK, ROOT, r.CHEST, r.NECK, r.HEAD, r.PELVIS):
            continue
        roles[row] = _beside(tree, words, row, pelvis, ahead, roles, on_path)
    return roles


def _first(tree: Tree, limbs: dict, sides: list, kinds: tuple) -> dict:
    """The topmost row of some roles on each side."""
    result: dict = {}
    for row in tree.rows:
        if limbs.get(row) in kinds and sides[row] in (r.LEFT, r.RIGHT):
            result.setdefault(sides[row], row)
    return result


def _pelvis(tree: Tree, words: list, legs: dict, found: Structure) -> tuple[dict, int]:
    """Rows of the pelvis (several where one carries the legs and another the spine), and the one that leads."""
    named = [row for row in tree.rows if words[row] == r.PELVIS]
    meeting = tree.meeting(*legs.values()) if len(legs) == 2 else found.pelvis if not named else -1
    if meeting < 0:
        carrying = [row for row in named if len(tree.children[row]) > 0] or named
        return dict.fromkeys(carrying[:1], r.PELVIS), carrying[0] if carrying else -1
    roles = {}
    pelvis = next((row for row in tree.ancestors(meeting)[::-1] if words[row] == r.PELVIS), -1)
    if pelvis < 0:
        pelvis = raised(tree, meeting)
        while pelvis != meeting and words[pelvis] not in _SOFT:
            pelvis = next(row for row in tree.children[pelvis] if row in tree.ancestors(meeting))
    roles[pelvis] = r.PELVIS
    for row in named:
        if any(words[item] in (TRUNK, r.CHEST, r.NECK, r.HEAD) for item in tree.subtree(row)) or (
            meeting in tree.subtree(row) and row in tree.subtree(pelvis)
        ):
            roles[row] = r.PELVIS
    return roles, pelvis


def _head(tree: Tree, words: list, arms: dict, found: Structure) -> int:
    """The head's row: named so, else what carries jaw or eyes, else the last of neck or spine beyond the arms."""
    named = [row for row in tree.rows if words[row] == r.HEAD]
    if named:
        # A head with bones of its own name inside: the topmost; "headgear" beside it carries nothing.
        return max(named, key=lambda row: (tree.reach[row] > 0.0, -len(tree.ancestors(row)), tree.height[row]))
    for row in tree.rows:
        if words[row] in (r.JAW, r.EYE) and tree.parent[row] >= 0:
            return int(tree.parent[row])
    start = next((row for row in reversed(tree.rows) if words[row] == r.NECK), -1)
    if start < 0:
        start = tree.meeting(*arms.values()) if len(arms) == 2 else -1
    if start < 0:
        return found.head
    row = start
    while rest := [child for child in tree.children[row] if words[child] in (TRUNK, r.NECK)]:
        row = max(rest, key=lambda child: tree.reach[child])
    if row == start and words[start] != r.NECK:
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
            roles[row] = r.HEAD
        elif word == r.NECK or any(roles.get(item) == r.NECK for item in path[:i]):
            roles[row] = r.NECK
        elif word == r.CHEST or not arms or i <= carried or _reaches(tree, row, shoulders):
            roles[row] = r.CHEST if word == r.CHEST else r.SPINE
            trunk.append(row)
        else:
            roles[row] = r.NECK
    if trunk and arms:
        roles[trunk[-1]] = r.CHEST


def _reaches(tree: Tree, row: int, shoulders: np.ndarray) -> bool:
    """Whether the shoulders are beside or beyond a bone, seen along it."""
    line = tree.ends[row] - tree.heads[row]
    return (shoulders - tree.heads[row]) @ line > 0.1 * (line @ line)


def _beside(tree: Tree, words: list, row: int, pelvis: int, ahead: np.ndarray, roles: dict, on_path: set) -> str:
    """A bone named as of the trunk that is not on the way from pelvis to head: a tail, or a helper."""
    parent = tree.parent[row]
    if words[row] not in (TRUNK, r.CHEST, r.NECK) or row in on_path:
        return r.HELPER
    if parent >= 0 and roles.get(parent) == r.TAIL:
        return r.TAIL
    line = tree.ends[row] - tree.heads[row]
    backwards = line @ ahead < 0.0 and ahead @ ahead > 0.0
    chain = len(tree.children[row]) > 0 and any(words[child] == TRUNK for child in tree.children[row])
    return r.TAIL if words[row] == TRUNK and backwards and chain else r.HELPER
