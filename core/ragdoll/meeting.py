"""Which bodies the animation itself takes into each other."""

from dataclasses import replace

import numpy as np

from . import overlap

LOOKED_AT = 8  # frames at which pairs of bodies are measured: a clip's overlaps last for many


def meeting(shapes: list, first, second, turned, tolerance: float) -> np.ndarray:
    """Whether pairs of bodies stand in each other in any of the poses [p].

    In the first pose any overlap counts, since there bodies are released; later only one deeper than the tolerance.

    Args:
        shapes: `Shape`s in bind pose [m].
        first, second: indices of the pairs [p].
        turned: rigid matrices from bind pose to each pose [f, m, 4, 4].
        tolerance: depth [m].
    """
    first, second = np.asarray(first, dtype=int), np.asarray(second, dtype=int)
    found = np.zeros(len(first), dtype=bool)
    frames = np.unique(np.linspace(0, len(turned) - 1, min(LOOKED_AT, len(turned))).round().astype(int))
    turned = turned[frames]
    half = np.array([shape.half for shape in shapes])
    axes = turned[..., :3, :3] @ np.array([shape.axes for shape in shapes])
    middles = np.einsum("fmij,mj->fmi", turned[..., :3, :3], np.array([shape.center for shape in shapes]))
    middles += turned[..., :3, 3]
    near = _boxes_meet(middles, axes, half, first, second)
    for k in range(len(frames)):
        open_pairs = np.flatnonzero(near[k] & ~found)
        if not len(open_pairs):
            continue
        posed = [replace(shape, center=c, axes=a) for shape, c, a in zip(shapes, middles[k], axes[k], strict=True)]
        depth, _direction = overlap.depths(posed, first[open_pairs], second[open_pairs])
        found[open_pairs] = depth > (0.0 if k == 0 else tolerance)
    return found


def _boxes_meet(middles, axes, half, first, second) -> np.ndarray:
    """Whether no side of either box parts a pair [f, p]; middles [f, m, 3], axes [f, m, 3, 3], half [m, 3]."""
    between = middles[:, second] - middles[:, first]
    turn = np.abs(axes[:, first].transpose(0, 1, 3, 2) @ axes[:, second])
    in_first = np.abs(np.einsum("fpij,fpi->fpj", axes[:, first], between))
    in_second = np.abs(np.einsum("fpij,fpi->fpj", axes[:, second], between))
    reach_first = half[first] + np.einsum("fpij,pj->fpi", turn, half[second])
    reach_second = half[second] + np.einsum("fpij,pi->fpj", turn, half[first])
    return (in_first < reach_first).all(axis=-1) & (in_second < reach_second).all(axis=-1)
