"""How a kinematic body far away gives another one an exact impulse, by a spring between the two.

A spring of Bullet's older kind is a motor on each axis of its frame whose largest force is ``stiffness * distance``.
With its other end far away, and moving away faster than any body follows, the motor never reaches its velocity and
gives exactly that force, at the place on the body where the spring's frame is; so it turns the body as well. In every
substep the distance is that to where the other end stands at the end of the substep.

A blow acts in the first of the n substeps of a frame alone: its spring is set to break under just what it gives. The
other end comes from near the body and is at ``P0 + (P1 - P0) / n`` by then. A push acts in all of them, on average to
``P0 + (P1 - P0) (n + 1) / 2 n``.
"""

import numpy as np

BREAKS = 0.9999  # of the largest share of an axis; Bullet cuts the axes down to where the spring breaks
FAR = 1000.0  # heights of the character: what a body moves in a frame changes the force by less than a thousandth
AWAY = 100.0  # heights per frame that the other end of a push goes on


def blow(point, place, impulse, seconds: float, substeps: int, size: float) -> tuple[np.ndarray, float]:
    """Where the other end must go in a frame [3], and the stiffness [N/m], for a blow.

    Args:
        point: where it acts now [3], [m]. place: of the other end now, near the body [3], [m].
        impulse: [N s], [3], not zero. seconds: duration of the frame [s]. size: height of the character [m].
    """
    strength = float(np.linalg.norm(impulse))
    first = point + impulse / strength * (FAR * size)
    return place + (first - place) * substeps, strength * substeps / seconds / (FAR * size)


def breaking(impulse, axes) -> float:
    """What impulse [N s] a blow's spring must break under: in one axis of its frame, columns of axes [3, 3]."""
    return BREAKS * float(np.abs(np.asarray(impulse) @ axes).max())


def push(point, place, impulse, seconds: float, substeps: int, size: float) -> tuple[np.ndarray, float]:
    """Where the other end must go in a frame [3], and the stiffness [N/m], for a push.

    The impulse is right whatever the place, since the motion makes up for a place that is off its line.

    Args:
        point: where it acts now [3], [m]. place: of the other end now [3], [m].
        impulse: in this frame [N s], [3], not zero. seconds: duration of the frame [s].
        size: height of the character [m].
    """
    strength = float(np.linalg.norm(impulse))
    start = np.asarray(place, dtype=float) - point
    length = max(float(np.linalg.norm(start)) + 0.5 * AWAY * size, FAR * size)
    mean = impulse / strength * length
    end = start + (mean - start) * (2.0 * substeps / (substeps + 1.0))
    return point + end, strength / seconds / length
