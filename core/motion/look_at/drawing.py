"""What debug drawing shows of a look-at chain: the way to the target in red, forwards in green, limits as cones."""

import numpy as np

from ... import quaternion

TARGET = (0.95, 0.15, 0.12, 1.0)
FORWARD = (0.25, 0.9, 0.3, 1.0)
CONE = (0.25, 0.75, 0.9, 0.55)
CONE_AT_LIMIT = (1.0, 0.55, 0.1, 0.8)
_AROUND, _SPOKES = 24, 4  # segments of a cone's rim, lines from its tip
_AT_LIMIT = np.radians(0.1)


def lines(positions, forwards, references, limits, target, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends [k, 2, 3] and colours [k, 4] of a chain's drawing, in the space of its arguments.

    Args:
        positions: joints of the k entries [k, 3], the first one's first.
        forwards: where their bones look, unit vectors [k, 3].
        references: what their limits are measured from, unit vectors [k, 3].
        limits: largest angles between the two [k] in radians; an entry of 0 has no cone.
        target: point [3] to which each joint has a line, None: there is none.
        length: of the forward vectors; cones have half of it.
    """
    positions, forwards = np.asarray(positions, dtype=float), np.asarray(forwards, dtype=float)
    references, limits = np.asarray(references, dtype=float), np.asarray(limits, dtype=float)
    ends = [np.stack([positions, positions + length * forwards], axis=1)]
    colors = [np.tile(FORWARD, (len(positions), 1))]
    if target is not None:
        ends.append(np.stack([positions, np.broadcast_to(target, positions.shape)], axis=1))
        colors.append(np.tile(TARGET, (len(positions), 1)))
    for position, forward, reference, limit in zip(positions, forwards, references, limits, strict=True):
        if limit <= 0.0:
            continue
        cone = cone_edges(reference, limit, 0.5 * length) + position
        angle = np.arctan2(np.linalg.norm(np.cross(forward, reference)), forward @ reference)
        ends.append(cone)
        colors.append(np.tile(CONE if angle < limit - _AT_LIMIT else CONE_AT_LIMIT, (len(cone), 1)))
    return np.concatenate(ends), np.concatenate(colors)


def cone_edges(axis, angle: float, length: float) -> np.ndarray:
    """Edges [k, 2, 3] of a cone from the origin: its rim, which lies on a sphere of radius `length`, and spokes.

    The axis is a unit vector, the angle half the cone's opening [rad], up to pi.
    """
    around = np.arange(_AROUND) * (2.0 * np.pi / _AROUND)
    rim = np.stack(
        [np.sin(angle) * np.cos(around), np.sin(angle) * np.sin(around), np.full(_AROUND, np.cos(angle))], axis=1
    )
    rim = length * quaternion.rotate(quaternion.shortest_arc((0.0, 0.0, 1.0), axis), rim)
    edges = np.stack([rim, np.roll(rim, -1, axis=0)], axis=1)
    spokes = rim[:: _AROUND // _SPOKES]
    return np.concatenate([edges, np.stack([np.zeros_like(spokes), spokes], axis=1)])
