"""Moments of inertia: of bodies as Blender has them, and of all that a joint carries."""

import numpy as np

from .fitting import SPHERE


def own_moments(kinds, sizes, masses) -> np.ndarray:
    """Moments [m, 3] of bodies about their own axes and centres [kg m^2], as Blender gives them.

    A sphere has its own; every other shape, a capsule too, has those of the box around it.

    Args:
        kinds: shapes [m]. sizes: along their own axes [m, 3] [m]. masses: [m] [kg].
    """
    sizes, masses = np.asarray(sizes, dtype=float), np.asarray(masses, dtype=float)[:, None]
    squares = sizes**2
    boxes = masses / 12.0 * (squares.sum(axis=1, keepdims=True) - squares)
    spheres = 0.4 * masses * (0.5 * sizes.max(axis=1, keepdims=True)) ** 2
    return np.where(np.array([kind == SPHERE for kind in kinds])[:, None], spheres, boxes)


def descends(parents) -> np.ndarray:
    """Whether each body hangs on, or is, another [m, m]: row the ancestor, column the descendant.

    `parents` [m] come before their children, -1 at roots.
    """
    result = np.eye(len(parents), dtype=bool)
    for i, parent in enumerate(parents):
        if parent >= 0:
            result[:, i] |= result[:, parent]
    return result


def carried_tensors(masses, moments, rotations, centers, pivots, carries) -> np.ndarray:
    """Inertia tensors [k, 3, 3] of all that each joint carries, about the joint, in world axes [kg m^2].

    Args:
        masses [m] [kg]; moments [m, 3] [kg m^2] about the bodies' own axes.
        rotations [m, 3, 3], centers [m, 3] [m]: where the bodies stand.
        pivots: places of the joints [k, 3] [m].
        carries: whether a joint carries a body [k, m].
    """
    middle = centers.mean(axis=0)  # far from the world's origin the sums below would lose digits
    centers, pivots = centers - middle, pivots - middle
    own = np.einsum("mia,ma,mja->mij", rotations, moments, rotations) + masses[:, None, None] * _spread(
        centers, centers
    )
    carries = carries.astype(float)
    tensors = (carries @ own.reshape(-1, 9)).reshape(-1, 3, 3)
    moment = carries @ (masses[:, None] * centers)
    mass = (carries @ masses)[:, None, None]
    return tensors - _spread(pivots, moment) - _spread(moment, pivots) + mass * _spread(pivots, pivots)


def _spread(first, second) -> np.ndarray:
    """(a . b) 1 - b a^T of vectors a, b [m, 3]: the inertia tensor of a point of 1 kg at a, where a is b."""
    dots = np.einsum("mi,mi->m", first, second)
    return dots[:, None, None] * np.eye(3) - second[:, :, None] * first[:, None, :]
