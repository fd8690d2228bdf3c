"""Joints: what a bone may do relative to its parent, and which Blender constraints make it so.

Conventions
-----------
A joint is described in its own frame: Y lies along the bone, X and Z are the swing axes. The rotation that
counts is that of the child relative to the parent, expressed in the joint's frame: `r_rel`, the identity in
bind pose. It is split as ``r_rel = swing * twist`` (the twist about Y happens first, then the swing about an
axis in the XZ plane). `limit_min` and `limit_max` hold three angles [rad]: swing about X, twist about Y,
swing about Z; (swing X, swing Z) are the components of the swing's rotation vector. Positive means a positive
(right-hand) rotation of the child about that axis of the joint's frame.

- CONE: the swing stays in an ellipse whose four half axes are limit_max[0], -limit_min[0], limit_max[2] and
  -limit_min[2]; the twist stays in [limit_min[1], limit_max[1]]. The ellipse always contains the bind pose:
  a swing range that lies on one side of zero is extended to zero. The twist range need not contain zero.
- HINGE: one axis turns, the others are locked. It is the axis with the widest range (X when all are zero).
  The range need not contain the bind pose.
- FIXED: nothing turns. FREE: everything does.

How Bullet measures a GENERIC constraint (btGeneric6DofConstraint)
------------------------------------------------------------------
With object1 = child and object2 = parent the child's rotation relative to the parent, in the frame of the
constraint's Empty, is ``Rx(a) Ry(b) Rz(c)``: a positive limit is a positive rotation of the child, the X axis
belongs to the parent, the Z axis to the child, and b is singular at +-90 degrees. So the Empty is turned to
have its Z axis along the bone. Then c is the twist and may go to +-180 degrees, and the bone's direction
depends on (a, b) alone, as on a longitude and a latitude: ::

    a = atan2(sin s cos(phi - turn), cos s)      a great circle: a straight line in the gnomonic picture
    sin b = -sin s sin(phi - turn)               a small circle: a straight line in the orthographic picture

for a swing by the angle s about (cos phi, 0, sin phi), `turn` being the Empty's rotation about the bone. Each
GENERIC is thus four straight cuts at right angles, free of the twist. An elliptic cone is the intersection
of one to five of them, turned differently (two for a circular one, three for most others). All of them act by
torques alone, which Bullet applies in equal and opposite pairs. (A linear limit on a point along the bone
would give a circular cone at once, but Bullet takes each body's lever arm from that body's own point, so that
the parent would get no torque in return: expected, not measured.)

The price: Bullet's c differs from the swing-twist angle by ``2 atan(tan(a / 2) tan(b / 2))``, nothing for
swings about X or Z alone, up to 10 degrees at a swing of 45 degrees between them; see `twist_offset`. It
shifts the range and never narrows it.

Half of the error lies inside the asked ellipse, half outside: within 5 % up to 60 degrees, also as measured
in Blender (tests/blender/joint_limits.py).

Swings beyond 90 degrees: a latitude ends at 90 degrees. A wide side is limited by a longitude, provided that
the sides across it stay below `LATITUDE_MAX`; where neither pair of sides stays below it (beyond about 93
degrees on all four, say), the wide sides are left without limit, and the twist too. No side is drawn in by
more than about 7 %.

HINGE turns about the Z axis of its Empty, with the same sign (object1 = child).
"""

from __future__ import annotations

import math

import numpy as np

from .cones import CONE_TOLERANCE, LATITUDE_MAX, MAX_CONSTRAINTS, plan_cone
from .joint_angles import limit_excess, swing_twist_angles, twist_offset, widen_limits
from .joint_ranges import JOINT_TYPES, ConstraintSpec, checked_limits, hinge_axis, range_or_free, swing_limit

__all__ = [
    "JOINT_TYPES",
    "LATITUDE_MAX",
    "ConstraintSpec",
    "checked_limits",
    "hinge_axis",
    "limit_excess",
    "plan_constraints",
    "swing_limit",
    "swing_twist_angles",
    "twist_offset",
    "widen_limits",
]


def plan_constraints(
    joint_type: str,
    limit_min,
    limit_max,
    *,
    tolerance: float = CONE_TOLERANCE,
    max_constraints: int = MAX_CONSTRAINTS,
) -> list[ConstraintSpec]:
    """Blender constraints that make a joint.

    Args:
        joint_type: FIXED, HINGE, CONE or FREE.
        limit_min, limit_max: swing X, twist Y, swing Z [rad], shape [3], positive about the joint's axes,
        from
            bind pose. Ignored (but checked) for FIXED and FREE.
        tolerance: relative error of a cone's swing limit at which no further constraint is added.
        max_constraints: most constraints for one cone.

    Returns:
        Constraints, the first of which holds the position. The same limits give the same (cached) plan.

    Raises:
        ValueError: unknown type, limits that are not three finite numbers, or limit_min > limit_max.
    """
    lower, upper = checked_limits(joint_type, limit_min, limit_max)
    if joint_type == "FREE":
        return [ConstraintSpec("POINT", (1.0, 0.0, 0.0, 0.0))]
    if joint_type == "FIXED":
        return [ConstraintSpec("FIXED", (1.0, 0.0, 0.0, 0.0))]
    if joint_type == "HINGE":
        return [_plan_hinge(lower, upper)]
    if not lower.any() and not upper.any():
        return [ConstraintSpec("FIXED", (1.0, 0.0, 0.0, 0.0))]
    key = tuple(np.round(np.concatenate((lower, upper)), 6).tolist())
    return list(plan_cone(key, float(tolerance), int(max_constraints)))


def _plan_hinge(lower: np.ndarray, upper: np.ndarray) -> ConstraintSpec:
    axis = hinge_axis(lower, upper)
    half = math.sqrt(0.5)
    # Rotations that carry the Empty's Z axis to the joint's X, Y, Z.
    rotation = ((half, 0.0, half, 0.0), (half, -half, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))[axis]
    limits = range_or_free(float(lower[axis]), float(upper[axis]))
    return ConstraintSpec("HINGE", rotation, angular_limits=(None, None, limits))
