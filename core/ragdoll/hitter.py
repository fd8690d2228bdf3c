"""How a kinematic body far away gives another one an exact impulse, by a spring between the two.

A spring of Bullet's older kind is a motor on each axis of its frame whose largest force is ``stiffness * distance``.
With its other end far away, and moving away faster than any body follows, the motor never reaches its velocity and
gives exactly that force, at the place on the body where the spring's frame is; so it turns the body as well. In every
substep the distance is that to where the other end stands at the end of the substep, so in a frame of n substeps the
spring pulls on average to ``P0 + (P1 - P0) (n + 1) / 2 n`` when its other end goes from P0 to P1.
"""

import numpy as np

FAR = 1000.0  # heights of the character: what a body moves in a frame changes the force by less than a thousandth
AWAY = 100.0  # heights that the other end goes per frame: faster than any body


def parked(point, way, size: float) -> np.ndarray:
    """Where the other end stands [3] at the frame at which the force begins.

    Args:
        point: where the force will act [3], [m]. way: its direction, a unit vector [3].
        size: height of the character [m].
    """
    return np.asarray(point, dtype=float) + FAR * size * np.asarray(way, dtype=float)


def pull(point, place, impulse, seconds: float, substeps: int, size: float) -> tuple[np.ndarray, float]:
    """Where the other end must go in a frame [3], and the stiffness [N/m], so that the body gains an impulse.

    The impulse is right whatever the place, since the motion makes up for a place that is off its line.

    Args:
        point: where the force acts now [3], [m]. place: of the other end now [3], [m].
        impulse: [N s], [3], not zero. seconds: duration of the frame [s]. size: height of the character [m].
    """
    force = np.asarray(impulse, dtype=float) / seconds
    strength = float(np.linalg.norm(force))
    start = np.asarray(place, dtype=float) - point
    mean = (float(np.linalg.norm(start)) + 0.5 * AWAY * size) / strength * force
    end = start + (mean - start) * (2.0 * substeps / (substeps + 1.0))
    return point + end, strength / float(np.linalg.norm(mean))
