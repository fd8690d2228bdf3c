"""Blender's constraints of a joint with limits as `limits` describes them: planned, kept inside, opened for poses.

How Bullet measures a GENERIC constraint (btGeneric6DofConstraint)
------------------------------------------------------------------
With object1 = child and object2 = parent the child's rotation relative to the parent, in the frame of the
constraint's Empty, is ``Rx(a) Ry(b) Rz(c)``: a positive limit is a positive rotation of the child, the X axis
belongs to the parent, the Z axis to the child, and b is singular at +-90 degrees. So the Empty is turned to
have its Z axis along the bone. Then c is the twist and may go to +-180 degrees, and the bone's direction
depends on (a, b) alone, as on a longitude and a latitude: ::

    a = atan2(sin s cos(phi - turn), cos s)      a great circle: a straight line in the gnomonic picture
    sin b = -sin s sin(phi - turn)               a small circle: a straight line in the orthographic picture

for a swing by the angle s about (cos phi, 0, sin phi), `turn` being the Empty's rotation about the bone. Each GENERIC
is thus four straight cuts at right angles, free of the twist. An elliptic cone is the intersection of one to five of
them, turned differently (two for a circular one, three for most others). All of them act by torques alone, which Bullet
applies in equal and opposite pairs. (A linear limit on a point along the bone would give a circular cone at once, but
Bullet takes each body's lever arm from that body's own point, so that the parent would get no torque in return:
expected, not measured.)

The price: Bullet's c differs from the swing-twist angle by ``2 atan(tan(a / 2) tan(b / 2))``, nothing for swings about
X or Z alone, up to 10 degrees at a swing of 45 degrees between them; see `limits`. It shifts the range and never
narrows it.

Half of the error lies inside the asked ellipse, half outside: within 5 % up to 60 degrees, as measured in Blender too.

Swings beyond 90 degrees: a latitude ends at 90 degrees. A wide side is limited by a longitude, provided that the sides
across it stay below `LATITUDE_MAX`; where neither pair of sides stays below it (beyond about 93 degrees on all four,
say), the wide sides are left without limit, and the twist too. No side is drawn in by more than about 7 %.

HINGE turns about the Z axis of its Empty, with the same sign (object1 = child).
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ... import quaternion
from . import limits

HALF_TURN = math.pi - 1e-3  # [rad] a range this close to a full turn is no limit; Bullet folds angles beyond it
# Largest relative error of the swing limit for which no further constraint is spent. Bullet adds a few tenths of a per
# cent; the promise is 5 %.
CONE_TOLERANCE = 0.043
CONE_TOLERANCE_ABSOLUTE = math.radians(0.25)  # smaller errors are not worth a constraint: Bullet holds limits no better
MAX_CONSTRAINTS = 5
WORTHWHILE = 0.01  # a further constraint must reduce the error ratio by this much
BULLET_SLACK = 0.005  # share by which Bullet lets a loaded bone go past a limit; measured in corners, and made up for
INSIDE_MAX = 0.05  # the limit is nowhere drawn in by more than this
LATITUDE_MAX = math.radians(88.0)  # beyond it the Euler angles are too close to their singularity to be relied on
_HALF_AXIS_MIN = 1e-4  # [rad] half axes are no narrower while the cuts are being chosen: it keeps directions defined
Limits = tuple[float, float] | None
# A wide cone is planned narrower by steps until what Bullet lets through goes beyond by no more than this [rad].
ALLOWED = np.radians(1.5)
_SCALES = (1.0, 0.96, 0.92, 0.88, 0.84, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5)
FLAT = 4.0  # a cone with swings in such a ratio is narrowed across only, so that it keeps its way
SINGULAR = math.radians(80.0)  # the middle angle beyond which Bullet's other two mean nothing


@dataclass(frozen=True)
class ConstraintSpec:
    """One Blender rigid body constraint of a joint."""

    type: str  # GENERIC, HINGE, POINT or FIXED
    rotation: tuple[float, float, float, float]  # of its Empty at the joint in bind pose, in the joint's frame
    lock_linear: bool = False  # of a GENERIC that is a joint's first, which holds the position: by limits of [0, 0]
    angular_limits: tuple[Limits, Limits, Limits] = (None, None, None)  # about the Empty's X, Y, Z [rad]; None: free


def plan(joint_type: str, limit_min, limit_max) -> list[ConstraintSpec]:
    """Blender constraints that make a joint; the first holds the position.

    None of them lets it go noticeably beyond its limits. Cones are approximated; those with a swing beyond a right
    angle by 10 degrees and more in their corners. Such a one is planned a little narrower.
    Raises ValueError: as `checked_limits`.

    Args:
        joint_type: FIXED, HINGE, CONE or FREE.
        limit_min, limit_max: swing X, twist Y, swing Z [rad], [3], positive about the joint's axes, from bind pose.
            Ignored (but checked) for FIXED and FREE.
    """
    lower, upper = limits.checked_limits(limit_min, limit_max)
    if joint_type == "HINGE":
        axis, half = limits.hinge_axis(lower, upper), math.sqrt(0.5)
        # Rotations that carry the Empty's Z axis to the joint's X, Y, Z.
        rotation = ((half, 0.0, half, 0.0), (half, -half, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))[axis]
        bounds = range_or_free(float(lower[axis]), float(upper[axis]))
        return [ConstraintSpec("HINGE", rotation, angular_limits=(None, None, bounds))]
    key = tuple(np.round(np.concatenate((lower, upper)), 6).tolist())
    if joint_type == "CONE" and any(key):
        return list(_held(key))
    return [ConstraintSpec("POINT" if joint_type == "FREE" else "FIXED", (1.0, 0.0, 0.0, 0.0))]


def range_or_free(lower: float, upper: float) -> Limits:
    """A range [rad], None where it is as good as a full turn."""
    if upper - lower >= 2.0 * HALF_TURN:
        return None
    # Bullet folds angles into one turn: a bound beyond half a turn would swap the two.
    return (max(lower, -HALF_TURN), min(upper, HALF_TURN))


_STEPS = 144
_DIRECTIONS = np.arange(_STEPS) * (2.0 * math.pi / _STEPS)
_QUARTER = _STEPS // 4
_CUT_VECTORS = np.stack((np.cos(_DIRECTIONS), np.sin(_DIRECTIONS)), axis=1)
# The four cuts of an Empty turned by step i: a upper, a lower (longitudes), b upper, b lower (latitudes).
_CUT_DIRECTIONS = (0, 2 * _QUARTER, 3 * _QUARTER, _QUARTER)


def _cut_bounds(swing: np.ndarray, cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tightest longitude and latitude bounds [rad] that keep the region inside, one per row of `cosines`."""
    sin, cos = np.sin(swing), np.cos(swing)
    longitude = np.arctan2(sin * cosines, cos).max(axis=1)
    # Along a radius the latitude is largest at 90 degrees, which a wider swing passes.
    latitude = np.arcsin(np.clip((np.where(swing > math.pi / 2.0, 1.0, sin) * cosines).max(axis=1), -1.0, 1.0))
    return longitude, latitude


def _cut_radii(longitude, latitude, cosines) -> tuple[np.ndarray, np.ndarray]:
    """Swing [rad] at which longitudes and latitudes stop each direction, half a turn where they do not."""
    longitude, latitude = longitude[:, None], latitude[:, None]
    facing = cosines > 0.0
    by_longitude = np.where(facing, np.arctan2(np.sin(longitude), np.cos(longitude) * cosines), math.pi)
    sine = np.divide(np.sin(latitude), cosines, out=np.full_like(cosines, 2.0), where=facing)
    return by_longitude, np.where(sine < 1.0, np.arcsin(np.clip(sine, -1.0, 1.0)), math.pi)


def _excess(radius: np.ndarray, target: np.ndarray, thickness: np.ndarray) -> np.ndarray:
    """Ratio radius / target, counting as exact what lies within the absolute tolerance's band. `thickness` is the
    distance [rad] across the ellipse's edge of a ratio's unit, so that a flat ellipse is not measured along its length.
    """
    ratio = radius / target
    return np.where((ratio - 1.0) * thickness <= 2.0 * CONE_TOLERANCE_ABSOLUTE, 1.0, ratio)


def plan_cone(lower, upper) -> list[ConstraintSpec]:
    """The constraints that come nearest to a cone with limits [3], see `plan`."""
    lower, upper = np.round(lower, 6), np.round(upper, 6)
    half_axes = np.maximum(limits.half_axes_of(lower, upper), _HALF_AXIS_MIN)
    # Evenly spread on the ellipse, not in angle, so that an elongated one's tips are not missed.
    x, z = np.cos(_DIRECTIONS), np.sin(_DIRECTIONS)
    axis_x = np.where(x >= 0.0, half_axes[0], half_axes[1])
    axis_z = np.where(z >= 0.0, half_axes[2], half_axes[3])
    thickness = 1.0 / np.hypot(x / axis_x, z / axis_z)
    x, z = x * axis_x, z * axis_z
    asked = np.hypot(x, z)
    # Cosine of the angle between a cut's direction (row) and a swing's (column).
    cosines = _CUT_VECTORS @ (np.stack((x, z)) / asked)
    cosines[np.abs(cosines) < 1e-12] = 0.0
    # Sides just beyond the last usable latitude are drawn in to it, as far as that is allowed.
    target = np.where((asked > LATITUDE_MAX) & (asked * (1.0 - INSIDE_MAX) <= LATITUDE_MAX), LATITUDE_MAX, asked)
    # Wide cones are held roughly whatever is spent on them.
    most = 3 if half_axes.max() > math.pi / 2.0 else MAX_CONSTRAINTS
    inner = target * (1.0 - CONE_TOLERANCE)
    longitude, latitude = _cut_bounds(inner, cosines)
    by_longitude, by_latitude = _cut_radii(longitude, latitude, cosines)
    turns = np.arange(_STEPS // 2)
    # The singular directions +-X of an Empty have to stay outside the region.
    across = [latitude[(turns + step) % _STEPS] for step in _CUT_DIRECTIONS[2:]]
    usable = np.max(across, axis=0) <= LATITUDE_MAX + 1e-6
    a_upper, a_lower, b_upper, b_lower = ((turns + step) % _STEPS for step in _CUT_DIRECTIONS)
    longitudes = np.minimum(by_longitude[a_upper], by_longitude[a_lower])
    latitudes = np.minimum(by_latitude[b_upper], by_latitude[b_lower])
    ratio = _excess(np.minimum(latitudes, np.where(usable[:, None], longitudes, math.pi)), inner, thickness)
    ratio /= ratio.min(axis=0)  # where a side is too wide for any cut, no Empty is to blame
    return _specs(_choose_turns(ratio, usable, half_axes, most), asked, target, thickness, cosines, lower[1], upper[1])


def _choose_turns(ratio, usable, half_axes, most: int) -> list[int]:
    """Steps by which the Empties are turned, the first being the one that also limits the twist."""
    # Along the ellipse's axes the twist is exact, so the first Empty prefers them, the wider swing as longitude.
    aligned = [_QUARTER, 0] if max(half_axes[2:]) > max(half_axes[:2]) else [0, _QUARTER]
    firsts = [i for i in aligned if usable[i]][:1]
    if not firsts:
        firsts = [int(i) for i in np.flatnonzero(usable)[:: _QUARTER // 4]] or aligned[:1]
    best: list[int] = []
    best_ratio = math.inf
    for count in range(1, most + 1):
        for first in firsts:
            for start in _starts(ratio, first, count):
                turns, worst = _descend(ratio, start)
                if worst < best_ratio - (WORTHWHILE if count > len(best) else 1e-6):
                    best, best_ratio = turns, worst
        # A ratio of outer to inner limit of 1 + 2 tolerance gives +-tolerance around the middle.
        if best_ratio <= (1.0 + CONE_TOLERANCE) / (1.0 - CONE_TOLERANCE):
            break
    return best


def _starts(ratio: np.ndarray, first: int, count: int) -> list[list[int]]:
    if count < 3:
        return [[first, -1][:count]]
    if count == 3:
        # Every pair, exactly: [turns, turns, directions] is small enough with every second turn and direction.
        with_first = np.minimum(ratio, ratio[first])[::2, ::2]
        worst = np.minimum(with_first[:, None, :], with_first[None, :, :]).max(axis=2)
        i, j = np.unravel_index(int(np.argmin(worst)), worst.shape)
        return [[first, int(i) * 2, int(j) * 2]]
    spread = [(first + k * 2 * _QUARTER // (2 * count)) % (2 * _QUARTER) for k in range(count)]
    return [_starts(ratio, first, count - 1)[0] + [-1], spread]


def _descend(ratio: np.ndarray, start: list[int]) -> tuple[list[int], float]:
    """Improves all turns but the first, one at a time, until none gets better; -1 means not chosen yet."""
    turns = list(start)
    worst = math.inf if len(turns) > 1 else float(ratio[turns[0]].max())
    for _ in range(6):
        before = worst
        for k in range(1, len(turns)):
            others = [ratio[t] for i, t in enumerate(turns) if i != k and t >= 0]
            rows = np.minimum(ratio, np.minimum.reduce(others)).max(axis=1)
            best = int(np.argmin(rows))
            if turns[k] < 0 or rows[best] < rows[turns[k]] - 1e-9:
                turns[k] = best
            worst = float(rows[turns[k]])
        if worst >= before - 1e-9:
            break
    return turns, worst


def _specs(turns: list[int], asked, target, thickness, cosines, twist_min, twist_max) -> list[ConstraintSpec]:
    cosines = cosines[np.array([[(t + d) % _STEPS for d in _CUT_DIRECTIONS] for t in turns]).ravel()]
    # The inner limit lies as far inside the target as the outer one outside it.
    scale = 1.0
    for _ in range(3):
        inner = np.maximum(target * scale, np.minimum(asked * (1.0 - INSIDE_MAX), LATITUDE_MAX))
        longitude, latitude = _cut_bounds(inner, cosines)
        usable = (latitude.reshape(-1, 4)[:, 2:] <= LATITUDE_MAX + 1e-6).all(axis=1)
        by_longitude, by_latitude = _cut_radii(longitude, latitude, cosines)
        radii = np.where((np.arange(len(cosines)) % 4 < 2)[:, None], by_longitude, by_latitude).reshape(-1, 4, _STEPS)
        radii[~usable, :2] = math.pi
        outer = radii.min(axis=(0, 1))
        narrow = target < LATITUDE_MAX + 1e-6
        ratio = float((outer / inner)[narrow].max(initial=1.0))
        if ratio > 1.0 + 3.0 * CONE_TOLERANCE:
            # A flat ellipse, held to the absolute tolerance: its tips must not draw in the whole of it.
            ratio = float(_excess(outer, inner, thickness)[narrow].max())
        scale = max(2.0 / (1.0 + ratio) - BULLET_SLACK, 1.0 - INSIDE_MAX)
    specs = []
    for k in range(len(turns)):
        bound = np.where(np.arange(4) < 2, longitude[4 * k : 4 * k + 4], latitude[4 * k : 4 * k + 4])
        # A latitude never exceeds 90 degrees: a bound beyond it leaves that side free.
        bound[2:] = np.where(bound[2:] > LATITUDE_MAX + 1e-6, math.radians(100.0), bound[2:])
        others = np.delete(radii, k, axis=0).min(axis=(0, 1), initial=math.pi)
        axes: list[Limits] = []
        for pair in (slice(0, 2), slice(2, 4)):
            rest = np.minimum(others, radii[k, slice(2, 4) if pair.start == 0 else slice(0, 2)].min(axis=0))
            binding = (radii[k, pair].min(axis=0) < rest - 1e-5).any() or (k == 0 and pair.start == 0)
            free = (pair.start == 0 and not usable[k]) or not binding
            axes.append(None if free else (-float(bound[pair][1]), float(bound[pair][0])))
        twist = range_or_free(float(twist_min), float(twist_max)) if k == 0 and usable[0] else None
        turn = turns[k] * (2.0 * math.pi / _STEPS)
        # The Empty's Z lies along the joint's Y, its X is (cos turn, 0, sin turn): Ry(-turn) * Rx(-90 degrees).
        cos, sin, half = math.cos(turn / 2.0), math.sin(turn / 2.0), math.sqrt(0.5)
        rotation = (half * cos, -half * cos, -half * sin, -half * sin)
        specs.append(ConstraintSpec("GENERIC", rotation, k == 0, (*axes, twist)))
    return [s for i, s in enumerate(specs) if i == 0 or any(s.angular_limits)]


# ---- plans that stay inside -----------------------------------------------------------------------------------------
@lru_cache(maxsize=1024)
def _held(key) -> list[ConstraintSpec]:
    """The constraints of a cone with the limits (minima, maxima) `key`, as wide as they let nothing through."""
    low, high = np.array(key[:3]), np.array(key[3:])
    reach = np.maximum(high, -low)
    across = [reach[0] <= FLAT * reach[2], False, reach[2] <= FLAT * reach[0]]
    # Rotations [k, 4] around the cone that are beyond it by more than `ALLOWED`.
    cos, sin = np.cos(_TURNS), np.sin(_TURNS)
    x = np.outer(_PARTS, cos * np.where(cos >= 0.0, high[0], -low[0])).ravel()
    z = np.outer(_PARTS, sin * np.where(sin >= 0.0, high[2], -low[2])).ravel()
    first = limits.x_first(low, high)
    most = (np.pi, _STEEPEST) if first else (_STEEPEST, np.pi)
    x, z = np.clip(x, -most[0], most[0]), np.clip(z, -most[1], most[1])
    out = limits.beyond_ellipse(x, z, low, high) > ALLOWED
    about_x = quaternion.from_axis_angle((1.0, 0.0, 0.0), x[out])
    about_z = quaternion.from_axis_angle((0.0, 0.0, 1.0), z[out])
    beyond = quaternion.multiply(about_x, about_z) if first else quaternion.multiply(about_z, about_x)
    for scale in _SCALES:
        factor = np.where(across, scale, 1.0)
        specs = plan_cone(low * factor, high * factor)
        swings = [replace(spec, angular_limits=(*spec.angular_limits[:2], None)) for spec in specs]
        if (excess(swings, beyond) > 0.0).all():
            break
    return specs


# Directions, and parts of the way to the ellipse's edge, at which plans are tried.
_TURNS = np.radians(np.arange(0.0, 360.0, 4.0))
_PARTS = np.concatenate((np.arange(1.02, 1.3, 0.04), np.arange(1.3, 2.0, 0.1)))
_STEEPEST = np.radians(89.0)  # of the second swing, which is singular at a right angle


def excess(specs: list[ConstraintSpec], r_rel) -> np.ndarray:
    """How far joint rotations r_rel [f, 4] are beyond the angular limits of constraints [f] [rad]."""
    angles = limits.measured_angles([spec.rotation for spec in specs], np.reshape(r_rel, (-1, 4)))
    bounds = np.array([[[limit or (-np.inf, np.inf) for limit in spec.angular_limits]] for spec in specs])
    return np.maximum(bounds[..., 0] - angles, angles - bounds[..., 1]).max(axis=(0, 2), initial=0.0)


# ---- wide enough for poses ------------------------------------------------------------------------------------------
def opened(specs: list[ConstraintSpec], r_rel, margin: float) -> list[ConstraintSpec]:
    """The constraints with bounds that contain the joint rotations r_rel [f, 4] and a margin [rad].

    Where the poses come near the singular middle angle of a constraint all its angular limits are given up; a
    bound that would go beyond half a turn too.
    """
    angles = limits.measured_angles([spec.rotation for spec in specs], r_rel)
    result = []
    for spec, low, high in zip(specs, angles.min(axis=1), angles.max(axis=1), strict=True):
        bounds = list(spec.angular_limits) if max(-low[1], high[1]) <= SINGULAR else [None] * 3
        for axis, limit in enumerate(bounds):
            if limit is not None and (low[axis] < limit[0] or high[axis] > limit[1]):
                limit = min(limit[0], float(low[axis]) - margin), max(limit[1], float(high[axis]) + margin)
                if axis == 1:
                    limit = max(limit[0], -math.pi / 2.0), min(limit[1], math.pi / 2.0)
                elif limit[0] < -math.pi or limit[1] > math.pi:
                    limit = None
            bounds[axis] = limit
        result.append(replace(spec, angular_limits=tuple(bounds)) if spec.type == "GENERIC" else spec)
    return result


def widened(joint_type: str, limit_min, limit_max, r_rel, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """Limits (limit_min, limit_max) [rad], [3] each, just wide enough for observed rotations.

    A twist that the joint cannot limit with swings so wide is stated as free.
    Raises ValueError: as `checked_limits`.

    Args:
        joint_type: FIXED, HINGE, CONE or FREE.
        limit_min, limit_max: angles [rad], [3]; never made narrower. FIXED and FREE are returned as they are.
        r_rel: observed unit quaternions (w, x, y, z) in the joint's frame [..., 4].
        margin: what an observed rotation that needs wider limits keeps to them [rad].
    """
    low, high = (each.copy() for each in limits.checked_limits(limit_min, limit_max))
    q = np.asarray(r_rel, dtype=float).reshape(-1, 4)
    if joint_type in ("FIXED", "FREE") or not limits.excess(joint_type, low, high, q).any():
        return low, high
    if joint_type == "HINGE":
        axis = limits.hinge_axis(low, high)
        _widen_range(low, high, axis, limits.twist_angle(quaternion.swing_twist(q, np.eye(3)[axis])[1], axis), margin)
        return low, high
    _widen_cone(low, high, q, margin)
    for _round in range(4):  # the angles depend on which swing is the wider one
        x, turn, z = limits.cone_angles(low, high, q)
        _widen_range(low, high, 1, turn, margin)
        if not limits.beyond_ellipse(x, z, low, high).any():
            break
        for ix in (0, 1):
            for iz in (0, 1):
                _widen_quarter(low, high, x * (1 - 2 * ix), z * (1 - 2 * iz), ix, iz, margin)
    if plan_cone(np.maximum(low, -np.pi), np.minimum(high, np.pi))[0].angular_limits[2] is None:
        low[1], high[1] = -np.pi, np.pi
    return low, high


def _widen_cone(low: np.ndarray, high: np.ndarray, q: np.ndarray, margin: float) -> None:
    """Widen a cone to rotations q [f, 4] in swing and twist, in place.

    Each quarter of the ellipse gets the smallest area that contains the old quarter's half axes and what was seen in
    it. What is planned is the ellipse of the swing's rotation vector, so these are the half axes to begin with.
    """
    swing_x, twist, swing_z = limits.swing_twist_angles(q)
    _widen_range(low, high, 1, twist, margin)
    angle, direction = np.hypot(swing_x, swing_z), np.arctan2(swing_z, swing_x)
    old = limits.half_axes_of(low, high)
    outside = angle > limits.ellipse_radius(old, direction)
    angle = np.minimum(angle + margin, math.pi)[outside]
    x, z = angle * np.cos(direction[outside]), angle * np.sin(direction[outside])
    new = old.copy()
    for ix, in_x in ((0, x >= 0.0), (1, x < 0.0)):
        for iz, in_z in ((2, z >= 0.0), (3, z < 0.0)):
            inside = in_x & in_z
            if inside.any():
                axis_x, axis_z = _enclosing_quarter(np.abs(x[inside]), np.abs(z[inside]), old[ix], old[iz])
                new[ix], new[iz] = max(new[ix], axis_x), max(new[iz], axis_z)
    # A range that does not reach the bind pose counts as reaching it; only what was widened is written.
    for i, (side, sign) in enumerate(((0, 1), (0, -1), (2, 1), (2, -1))):
        if new[i] > old[i]:
            (high if sign > 0 else low)[side] = sign * new[i]


def _widen_range(lower: np.ndarray, upper: np.ndarray, axis: int, angle: np.ndarray, margin: float) -> None:
    middle = 0.5 * (lower[axis] + upper[axis])
    # Angles are taken on the turn around the middle of the range, so that a range beyond half a turn keeps its sense.
    angle = middle + np.mod(angle - middle + math.pi, 2.0 * math.pi) - math.pi
    if angle.min() < lower[axis]:
        lower[axis] = angle.min() - margin
    if angle.max() > upper[axis]:
        upper[axis] = angle.max() + margin


def _enclosing_quarter(x: np.ndarray, z: np.ndarray, least_x: float, least_z: float) -> tuple[float, float]:
    """Half axes of the smallest quarter ellipse around points [n] with half axes no less than given."""
    slack = 1e-9  # points on an axis must not divide by zero; half axes grow by no more than this
    box_x, box_z = max(least_x, float(x.max()), slack), max(least_z, float(z.max()), slack)
    axis_x = box_x * np.concatenate((np.geomspace(1.0 + slack, 1.01, 8), np.geomspace(1.01, 20.0, 192)))
    rest = 1.0 - (x[None, :] / axis_x[:, None]) ** 2
    axis_z = np.maximum((z[None, :] / np.sqrt(rest)).max(axis=1), box_z) * (1.0 + slack)
    best = int(np.argmin(axis_x * axis_z))
    return float(axis_x[best]), float(axis_z[best])


def _widen_quarter(low, high, x, z, ix: int, iz: int, margin: float) -> None:
    """Scale the two half axes of a quarter, the side `ix` of X and `iz` of Z (0 up, 1 down), to hold points [f]."""
    a, b = (max(side, margin, 1e-3) for side in [(high, -low)[side][axis] for axis, side in ((0, ix), (2, iz))])
    inside = (x >= 0.0) & (z >= 0.0)
    ratio = np.hypot(x[inside] / a, z[inside] / b).max(initial=0.0)
    if ratio <= 1.0:
        return
    for axis, side, value in ((0, ix, a), (2, iz, b)):
        wide = min(value * ratio * (1.0 + 1e-9) + margin, np.pi)
        (low if side else high)[axis] = -wide if side else wide
