"""Opening a joint's constraints just far enough for given poses.

Limits are stated as swing and twist; Bullet measures the angles of its own axes, which differ from them between the
swing axes. So that a default range never fights the shot's animation, the bounds themselves are opened to the angles
that Bullet will measure.
"""

import math
from dataclasses import replace

import numpy as np

from .. import quaternion
from .joints import ConstraintSpec

SINGULAR = math.radians(80.0)  # the middle angle beyond which Bullet's other two mean nothing


def measured_angles(spec: ConstraintSpec, r_rel) -> np.ndarray:
    """Angles [f, 3] that Bullet measures about the Empty's X, Y and Z for joint rotations r_rel [f, 4]."""
    turn = np.asarray(spec.rotation, dtype=float)
    matrix = quaternion.to_matrix(
        quaternion.multiply(quaternion.conjugate(turn), quaternion.multiply(np.asarray(r_rel, dtype=float), turn))
    )
    return np.stack(
        [
            np.arctan2(-matrix[:, 1, 2], matrix[:, 2, 2]),
            np.arcsin(np.clip(matrix[:, 0, 2], -1.0, 1.0)),
            np.arctan2(-matrix[:, 0, 1], matrix[:, 0, 0]),
        ],
        axis=1,
    )


def opened(specs: list[ConstraintSpec], r_rel, margin: float) -> list[ConstraintSpec]:
    """The constraints with bounds that contain the joint rotations r_rel [f, 4] and a margin [rad].

    Where the poses come near the singular middle angle of a constraint all its angular limits are given up; a
    bound that would go beyond half a turn too.
    """
    result = []
    for spec in specs:
        if spec.type != "GENERIC":
            result.append(spec)
            continue
        angles = measured_angles(spec, r_rel)
        low, high = angles.min(axis=0), angles.max(axis=0)
        if max(-low[1], high[1]) > SINGULAR:
            result.append(replace(spec, angular_limits=(None, None, None)))
            continue
        limits = []
        for axis, limit in enumerate(spec.angular_limits):
            if limit is not None and (low[axis] < limit[0] or high[axis] > limit[1]):
                limit = min(limit[0], float(low[axis]) - margin), max(limit[1], float(high[axis]) + margin)
                if axis == 1:
                    limit = max(limit[0], -math.pi / 2.0), min(limit[1], math.pi / 2.0)
                elif limit[0] < -math.pi or limit[1] > math.pi:
                    limit = None
            limits.append(limit)
        result.append(replace(spec, angular_limits=tuple(limits)))
    return result
