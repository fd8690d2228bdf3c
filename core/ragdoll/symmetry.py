"""The mirror plane of a rig and its pairs of bodies, from the joints' places alone."""

import numpy as np

from ..anatomy.order import subtree_means
from ..reflection import reflect

TOLERANCE = 5e-3  # of the character's extent: how far a mirrored joint may be from its counterpart
LEAST = 0.7  # of the bodies must have a counterpart, or the rig has no symmetry


def mirror_plane(heads: np.ndarray, parents: np.ndarray, axes: np.ndarray, size: float):
    """The plane across which a skeleton is its own mirror image.

    Args:
        heads: joints of the m bodies [m, 3] [m].
        parents: of the bodies, -1 at roots [m].
        axes: the armature's own axes, of which the plane's normal is one [3, 3].
        size: the character's extent [m].

    Returns:
        The unit normal [3], the offset [m] (points on the plane have normal . p = offset) and the counterpart of
        every body [m]: itself in the plane, -1 where there is none. Without symmetry the normal is None.
    """
    count = len(heads)
    none = None, 0.0, np.full(count, -1)
    if count < 3 or size <= 0.0:
        return none
    features = _features(heads, parents)
    best = none
    most = 0
    for normal in axes.T:
        along = heads @ normal
        # The plane goes through the joints of the trunk, or half-way between the outermost ones.
        for offset in _distinct([float(np.median(along)), float(along.min() + along.max()) / 2.0, float(along[0])]):
            twins = _counterparts(features, normal, offset, TOLERANCE * size)
            matched = np.flatnonzero(twins >= 0)
            pairs = np.count_nonzero(twins[matched] != matched)
            if len(matched) >= LEAST * count and pairs > most:
                own = matched[twins[matched] == matched]
                middle = (along[matched] + along[twins[matched]]) / 2.0
                exact = float(np.median(along[own])) if len(own) else float(middle.mean())
                best, most = (normal.copy(), exact, twins), pairs
    return best


def _distinct(values):
    found = []
    for value in values:
        if not any(value == other for other in found):
            found.append(value)
    return found


def _features(heads, parents):
    """A body's joint, and the mean joint of all that hangs on it [m, 2, 3]: twins at one place differ in the second."""
    return np.stack([heads, subtree_means(heads, parents)], axis=1)


def _counterparts(features, normal, offset, tolerance):
    mirrored = reflect(features, normal, offset)
    distance = np.linalg.norm(features[:, None] - mirrored[None], axis=3)
    # What hangs on a joint may differ by a prop on one side; the joint itself may not.
    cost = distance[..., 0] + 0.1 * distance[..., 1]
    nearest = np.argmin(cost, axis=1)
    rows = np.arange(len(features))
    good = (nearest[nearest] == rows) & (distance[rows, nearest, 0] <= tolerance)
    good &= distance[nearest, rows, 0] <= tolerance
    return np.where(good, nearest, -1)
