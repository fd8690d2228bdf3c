"""Joining bodies that no simulated ancestor holds into one tree."""

import numpy as np

from .limbs import extent


def join_loose_roots(bones, parents, heads, tails, bone_parents):
    """Bodies without a simulated ancestor join one tree; `parents` is changed in place.

    First where an ancestor lies exactly on a simulated bone: Rigify's DEF chains hang on ORG bones that double them.
    What is still loose then (hooves on IK bones) joins the nearest joint of the main tree: the most central one of the
    large ones, the spine and not a leg with as many bones.
    """
    tolerance = 1e-3 * extent(heads[bones])
    for i in np.flatnonzero(parents < 0):
        ancestor = bone_parents[bones[i]]
        while ancestor >= 0 and parents[i] < 0:
            same = np.linalg.norm(heads[bones] - heads[ancestor], axis=1) < tolerance
            same &= np.linalg.norm(tails[bones] - tails[ancestor], axis=1) < tolerance
            for twin in np.flatnonzero(same):
                if twin != i and not _leads_to(parents, int(twin), i):
                    parents[i] = twin
                    break
            ancestor = bone_parents[ancestor]
    roots = np.flatnonzero(parents < 0)
    if len(roots) < 2:
        return
    owner = np.array([_root_of(parents, i) for i in range(len(bones))])
    sizes = {root: np.count_nonzero(owner == root) for root in roots}
    places = heads[bones]
    large = [root for root in roots if sizes[root] >= 0.4 * max(sizes.values())]
    main = min(large, key=lambda root: (np.linalg.norm(places - places[root], axis=1).sum(), root))
    joined = owner == main
    loose = [root for root in roots if root != main]
    while loose:
        best = min(
            ((float(np.linalg.norm(heads[bones[root]] - heads[bones[k]])), root, k))
            for root in loose
            for k in np.flatnonzero(joined)
        )
        _distance, root, nearest = best
        parents[root] = nearest
        joined |= owner == root
        loose.remove(root)


def _root_of(parents, body):
    while parents[body] >= 0:
        body = parents[body]
    return body


def _leads_to(parents, body, ancestor):
    while body >= 0:
        if body == ancestor:
            return True
        body = parents[body]
    return False
