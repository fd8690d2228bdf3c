"""The order in which a tree is walked, and what is gathered on the way."""

import numpy as np


def from_the_roots(parents) -> list:
    """Indices [m] of a tree with parents before their children; `parents` [m] in any order, -1 at roots."""
    children = [[] for _parent in parents]
    for i, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(i)
    order = [i for i, parent in enumerate(parents) if parent < 0]
    for i in order:
        order.extend(children[i])
    return order


def subtree_means(points, parents) -> np.ndarray:
    """Mean of the points [m, 3] of each one of a tree and all below it [m, 3]; `parents` as in `from_the_roots`."""
    total, count = np.array(points, dtype=float), np.ones(len(points))
    for i in reversed(from_the_roots(parents)):
        if parents[i] >= 0:
            total[parents[i]] += total[i]
            count[parents[i]] += count[i]
    return total / count[:, None]
