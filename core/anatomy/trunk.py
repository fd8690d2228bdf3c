"""Pelvis, spine, chest, neck, head and tail from names and joints: any of them may be called "spine"."""

import numpy as np

from .names import ROOT, TRUNK
from .roles import (
    CHEST,
    CLAVICLE,
    EYE,
    HEAD,
    HELPER,
    JAW,
    LEFT,
    NECK,
    PELVIS,
    RIGHT,
    SPINE,
    TAIL,
    THIGH,
    UPPER_ARM,
    WING,
)
from .structure import Structure, raised
from .tree import Tree

_SOFT = (TRUNK, ROOT, None)


def settle(tree: Tree, words: list, sides: list, limbs: dict, found: Structure) -> dict:
    """Role by row for the bones along the middle.

    Args:
        tree: a `Tree`. words: meanings of the names [n]. sides: [n].
        limbs: role by row of the bones of arms and legs. found: what the joints say.
    """
    legs = _first(tree, limbs, sides, (THIGH,))
    arms = _first(tree, limbs, sides, (CLAVICLE, UPPER_ARM, WING))
    roles, pelvis = _pelvis(tree, words, legs, found)
    head = _head(tree, words, arms, pelvis, found)
    path = _path(tree, head, pelvis)
    path = [row for row in path if row not in limbs]
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


def _head(tree: Tree, words: list, arms: dict, pelvis: int, found: Structure) -> int:
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
    while True:
        rest = [child for child in tree.children[row] if words[child] in (TRUNK, NECK)]
        if not rest:
            break
        row = max(rest, key=lambda child: tree.reach[child])
    if row == start and words[start] != NECK:
        return found.head
    return row


def _path(tree: Tree, head: int, pelvis: int) -> list:
    """Rows from above the pelvis, or from the root, to the head."""
    if head < 0:
        return []
    stop = set(tree.ancestors(pelvis)) if pelvis >= 0 else set()
    result = []
    for row in tree.ancestors(head):
        if row in stop:
            break
        result.append(row)
    return result[::-1]


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
