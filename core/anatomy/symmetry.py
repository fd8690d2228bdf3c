"""The plane that mirrors a skeleton, and the pairs of limbs on either side of it; from the joints alone."""

import numpy as np

from ..reflection import reflect
from .order import subtree_means
from .tree import Tree

LIKE = 1.35  # two limbs are a pair when the longer is at most this much longer
JOINTS = 64  # that the mirror plane is tried on
TRIED_PLANES = 8


def mirror_plane(tree: Tree) -> tuple[np.ndarray | None, float]:
    """Unit normal (level) and offset of the plane that mirrors the joints best; (None, 0) without any pair.

    Candidates come from siblings with alike subtrees; each is judged by how far the mirrored joints are from joints.
    """
    means = _means(tree)
    found = []
    for row in tree.rows:
        for a, b in _alike(tree, tree.children[row]):
            across = means[a] - means[b]
            across = across - (across @ tree.up) * tree.up
            width = np.linalg.norm(across)
            if width > 0.02 * tree.size:
                found.append((tree.reach[a] + tree.reach[b], across / width, 0.5 * (means[a] + means[b])))
    if not found:
        return None, 0.0
    found.sort(key=lambda item: -item[0])
    rows = sorted(tree.rows, key=lambda row: -tree.reach[row])[:JOINTS]
    joints = tree.heads[rows]
    weights = tree.reach[rows] + 1e-6 * tree.size
    best, result = np.inf, (None, 0.0)
    for rank, (_reach, normal, middle) in enumerate(found[:TRIED_PLANES]):
        offset = float(middle @ normal)
        mirrored = reflect(joints, normal, offset)
        gaps = np.linalg.norm(mirrored[:, None] - joints, axis=2).min(axis=1)
        # A rig in which everything is in one plane mirrors at any plane across it; longer limbs come first.
        error = float(weights @ gaps / weights.sum()) / tree.size + 0.002 * rank
        if error < best:
            best, result = error, (normal, offset)
    return result


def _means(tree: Tree) -> np.ndarray:
    """Mean of the joints of each subtree [n, 3]."""
    parents = np.full(len(tree.heads), -1)
    parents[tree.rows] = tree.parent[tree.rows]
    return subtree_means(tree.heads, parents)


def _alike(tree: Tree, rows: list):
    """Pairs of siblings of about the same reach and about as many bones."""
    for i, a in enumerate(rows):
        for b in rows[i + 1 :]:
            low, high = sorted((tree.reach[a], tree.reach[b]))
            few, many = sorted((tree.count[a], tree.count[b]))
            if high > 0.0 and high <= LIKE * low and many <= 1 + LIKE * few:
                yield a, b


def limb_pairs(tree: Tree, normal: np.ndarray, offset: float) -> list:
    """Mirrored limbs (row on the side of `normal`, row on the other) of a plane, longest first."""
    lateral = _means(tree) @ normal - offset
    result = []
    for row in tree.rows:
        for a, b in _alike(tree, tree.children[row]):
            apart = abs(lateral[a] - lateral[b])
            if lateral[a] * lateral[b] < 0.0 and abs(lateral[a] + lateral[b]) < 0.4 * apart + 0.05 * tree.size:
                result.append((a, b) if lateral[a] > 0.0 else (b, a))
    return sorted(result, key=lambda pair: -(tree.reach[pair[0]] + tree.reach[pair[1]]))
