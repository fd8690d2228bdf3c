"""Opening a joint's constraints just far enough for given poses.

Limits are stated as swing and twist; Bullet measures the angles of its own axes, which differ from them between the
swing axes. So that a default range never fights the shot's animation, the bounds themselves are opened to the angles
that Bullet will measure.
"""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from .. import quaternion
from .joints import ConstraintSpec

SINGULAR = math.radians(80.0)  # the middle angle beyond which Bullet's other two mean nothing


def measured_angles(specs: list[ConstraintSpec], r_rel) -> np.ndarray:
    """Angles [s, f, 3] that Bullet measures about each Empty's X, Y and Z for joint rotations r_rel [f, 4]."""
    r = np.asarray(r_rel, dtype=float)
    return _read(r[:, 0], r[:, 1:] @ np.stack([_turn(spec.rotation) for spec in specs]))


def angles_of_each(specs: list[ConstraintSpec], r_rel) -> np.ndarray:
    """As `measured_angles`, each Empty [s] with rotations of its own: of r_rel [f, s, 4] the angles [f, s, 3]."""
    r = np.asarray(r_rel, dtype=float)
    turns = np.stack([_turn(spec.rotation) for spec in specs])
    return _read(r[..., 0], (r[..., None, 1:] @ turns)[..., 0, :])


def _read(w, vectors) -> np.ndarray:
    """Angles [..., 3] of rotations with real parts w and these vectors [..., 3], seen from their Empties."""
    x, y, z = vectors[..., 0], vectors[..., 1], vectors[..., 2]
    angles = np.empty_like(vectors)
    # From the five entries of the rotation's matrix that Rx(a) Ry(b) Rz(c) is read from.
    np.arctan2(2.0 * (w * x - y * z), 1.0 - 2.0 * (x * x + y * y), out=angles[..., 0])
    np.arcsin(np.clip(2.0 * (x * z + w * y), -1.0, 1.0), out=angles[..., 1])
    np.arctan2(2.0 * (w * z - x * y), 1.0 - 2.0 * (y * y + z * z), out=angles[..., 2])
    return angles


@lru_cache(maxsize=1024)
def _turn(rotation) -> np.ndarray:
    return quaternion.to_matrix(np.array(rotation, dtype=float))


def opened(specs: list[ConstraintSpec], r_rel, margin: float) -> list[ConstraintSpec]:
    """The constraints with bounds that contain the joint rotations r_rel [f, 4] and a margin [rad].

    Where the poses come near the singular middle angle of a constraint all its angular limits are given up; a
    bound that would go beyond half a turn too.
    """
    angles = measured_angles(specs, r_rel)
    result = []
    for spec, low, high in zip(specs, angles.min(axis=1), angles.max(axis=1), strict=True):
        if spec.type != "GENERIC":
            result.append(spec)
            continue
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
