"""Placing hits by hand and showing them: which body a ray meets, what impulse an arrow stands for, and its lines.

An arrow's length is to the character's height as the impulse is to its mass times a fixed share of
sqrt(gravity * height): 1 m for about 100 N s on a man of 70 kg, and characters of any size are handled alike.
"""

import numpy as np

from . import speeds

ARROW_SPEED = 0.6  # of sqrt(gravity * height): what an arrow as long as the character gives its whole mass
HEAD, HEAD_WIDTH = 0.2, 0.07  # of an arrow's length
LONGEST, SHORTEST = 2.0, 0.02  # heights: arrows are shown no longer and no shorter
CIRCLE = 48  # segments


def arrow(impulse, mass: float, size: float, gravity: float) -> np.ndarray:
    """The arrow [.., 3], [m], of an impulse [.., 3], [N s].

    Args:
        mass: of the whole character [kg]. size: its height [m]. gravity: [m/s^2].
    """
    return np.asarray(impulse, dtype=float) * (size / (mass * ARROW_SPEED * speeds.froude(size, gravity)))


def impulse(drawn, mass: float, size: float, gravity: float) -> np.ndarray:
    """The impulse [.., 3], [N s], of an arrow [.., 3], [m]: the inverse of `arrow`."""
    return np.asarray(drawn, dtype=float) * (mass * ARROW_SPEED * speeds.froude(size, gravity) / size)


def met(origin, direction, matrices, halves) -> tuple[int, float]:
    """The first box that a ray meets and the distance to it, in lengths of `direction`; (-1, inf) if it meets none.

    Args:
        origin, direction: of the ray [3], world.
        matrices: rigid matrices of the boxes [m, 4, 4]. halves: half of their sizes [m, 3].
    """
    turned = np.asarray(matrices)[:, :3, :3].transpose(0, 2, 1)
    start = np.einsum("mij,mj->mi", turned, np.asarray(origin, dtype=float) - matrices[:, :3, 3])
    way = np.einsum("mij,j->mi", turned, np.asarray(direction, dtype=float))
    way = np.where(np.abs(way) < 1e-12, 1e-12, way)
    first, last = (-halves - start) / way, (halves - start) / way
    enters, leaves = np.minimum(first, last).max(axis=1), np.maximum(first, last).min(axis=1)
    distance = np.where((leaves >= enters) & (leaves >= 0.0), np.maximum(enters, 0.0), np.inf)
    row = int(np.argmin(distance)) if len(distance) else -1
    return (row, float(distance[row])) if row >= 0 and np.isfinite(distance[row]) else (-1, np.inf)


def nearest(point, matrices, halves) -> int:
    """The box nearest to a point [3]; of those that hold it, the one in whose middle it is most."""
    matrices = np.asarray(matrices)
    local = np.einsum("mji,mj->mi", matrices[:, :3, :3], np.asarray(point, dtype=float) - matrices[:, :3, 3])
    outside = np.linalg.norm(np.maximum(np.abs(local) - halves, 0.0), axis=1)
    depth = np.max(np.abs(local) / np.maximum(halves, 1e-12), axis=1)
    inside = depth <= 1.0
    return int(np.argmin(np.where(inside, depth - 2.0, outside)))


def dragged(origin, direction, point, normal) -> np.ndarray | None:
    """From a point [3] to where a ray meets the plane through it with a normal [3]; None if it does not."""
    slope = float(np.dot(direction, normal))
    if abs(slope) < 1e-6 * float(np.linalg.norm(direction) * np.linalg.norm(normal)):
        return None
    distance = float(np.dot(np.asarray(point, dtype=float) - origin, normal)) / slope
    if distance < 0.0:
        return None
    return np.asarray(origin, dtype=float) + distance * np.asarray(direction, dtype=float) - point


def arrow_lines(start, drawn, size: float) -> np.ndarray:
    """Segments [5, 2, 3] of an arrow from a point [3] along a vector [3], [m]; none for no vector."""
    length = float(np.linalg.norm(drawn))
    if not np.isfinite(length) or length == 0.0:
        return np.empty((0, 2, 3))
    way = np.asarray(drawn, dtype=float) / length
    length = float(np.clip(length, SHORTEST * size, LONGEST * size))
    start = np.asarray(start, dtype=float)
    end = start + length * way
    side = np.cross(way, np.eye(3)[int(np.argmin(np.abs(way)))])
    side /= np.linalg.norm(side)
    other = np.cross(way, side)
    neck = end - HEAD * length * way
    tips = [neck + HEAD_WIDTH * length * s for s in (side, -side, other, -other)]
    return np.array([(start, end), *((tip, end) for tip in tips)])


def blast_lines(origin, radius: float) -> np.ndarray:
    """Segments [k, 2, 3] of three circles about an origin [3] and a cross in it."""
    turn = np.linspace(0.0, 2.0 * np.pi, CIRCLE + 1)
    found = []
    for axis in range(3):
        circle = np.zeros((CIRCLE + 1, 3))
        circle[:, (axis + 1) % 3], circle[:, (axis + 2) % 3] = np.cos(turn), np.sin(turn)
        found.append(np.stack([circle[:-1], circle[1:]], axis=1))
        cross = np.zeros((1, 2, 3))
        cross[0, :, axis] = (-0.1, 0.1)
        found.append(cross)
    return np.asarray(origin, dtype=float) + radius * np.concatenate(found)
