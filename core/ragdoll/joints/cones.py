"""Elliptic cones as a few GENERIC constraints, turned differently about the bone; the geometry is in `constraints`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .limits import half_axes_of

# A range this close to a full turn is no limit, and Bullet folds angles beyond half a turn [rad].
HALF_TURN = math.pi - 1e-3
# Largest relative error of the swing limit for which no further constraint is spent. Bullet adds a few
# tenths of a per cent; the promise is 5 %.
CONE_TOLERANCE = 0.043
# Errors below this are not worth a constraint whatever their relative size [rad]: Bullet does not hold
# limits better.
CONE_TOLERANCE_ABSOLUTE = math.radians(0.25)
MAX_CONSTRAINTS = 5
# A further constraint must reduce the error ratio by this much.
WORTHWHILE = 0.01
# By this share Bullet lets a loaded bone go past a limit; measured in corners, and made up for.
BULLET_SLACK = 0.005
# The limit is nowhere drawn in by more than this.
INSIDE_MAX = 0.05
# Beyond this latitude the Euler angles are too close to their singularity to be relied on [rad].
LATITUDE_MAX = math.radians(88.0)
# Half axes are at least this wide while the cuts are being chosen, to keep directions defined [rad].
_HALF_AXIS_MIN = 1e-4

Limits = tuple[float, float] | None


@dataclass(frozen=True)
class ConstraintSpec:
    """One Blender rigid body constraint of a joint.

    Attributes:
        type: Blender's constraint type: GENERIC, HINGE, POINT or FIXED.
        rotation: rotation of the constraint's Empty relative to the joint's frame, (w, x, y, z). The Empty
            stands at the joint in bind pose.
        object1: "child" or "parent", the body to put into `object1`; the other one is `object2`.
        lock_linear: the three linear axes are limited to [0, 0]. GENERIC only; the other types hold the
            position by themselves. Exactly the first constraint of a joint holds the position.
        angular_limits: (lower, upper) [rad] about the Empty's X, Y and Z axes, None where there is no limit.
    """

    type: str
    rotation: tuple[float, float, float, float]
    object1: str = "child"
    lock_linear: bool = False
    angular_limits: tuple[Limits, Limits, Limits] = (None, None, None)


def range_or_free(lower: float, upper: float) -> Limits:
    if upper - lower >= 2.0 * HALF_TURN:
        return None
    # Bullet folds angles into one turn: a bound beyond half a turn would swap the two.
    return (max(lower, -HALF_TURN), min(upper, HALF_TURN))


def _turned_rotation(turn: float) -> tuple[float, float, float, float]:
    """Rotation of an Empty whose Z lies along the joint's Y and whose X is (cos turn, 0, sin turn)."""
    # A turn from X towards Z is negative about Y: Ry(-turn) * Rx(-90 degrees).
    cos, sin = math.cos(turn / 2.0), math.sin(turn / 2.0)
    half = math.sqrt(0.5)
    return (half * cos, -half * cos, -half * sin, -half * sin)


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
    sin_widest = np.where(swing > math.pi / 2.0, 1.0, sin)
    latitude = np.arcsin(np.clip((sin_widest * cosines).max(axis=1), -1.0, 1.0))
    return longitude, latitude


def _cut_radii(longitude, latitude, cosines) -> tuple[np.ndarray, np.ndarray]:
    """Swing [rad] at which longitudes and latitudes stop each direction, half a turn where they do not."""
    longitude, latitude = longitude[:, None], latitude[:, None]
    facing = cosines > 0.0
    by_longitude = np.where(facing, np.arctan2(np.sin(longitude), np.cos(longitude) * cosines), math.pi)
    sine = np.divide(np.sin(latitude), cosines, out=np.full_like(cosines, 2.0), where=facing)
    by_latitude = np.where(sine < 1.0, np.arcsin(np.clip(sine, -1.0, 1.0)), math.pi)
    return by_longitude, by_latitude


def _excess(radius: np.ndarray, target: np.ndarray, thickness: np.ndarray) -> np.ndarray:
    """Ratio radius / target, counting as exact what lies within the absolute tolerance's band.

    `thickness` is the distance [rad] across the ellipse's edge of a ratio's unit, so that a flat ellipse is
    not measured along its length.
    """
    ratio = radius / target
    return np.where((ratio - 1.0) * thickness <= 2.0 * CONE_TOLERANCE_ABSOLUTE, 1.0, ratio)


@lru_cache(maxsize=1024)
def plan_cone(key: tuple[float, ...], tolerance: float, max_constraints: int) -> tuple[ConstraintSpec, ...]:
    """The constraints of a cone with the limits (minima, maxima) `key`, see `constraints.plan_constraints`."""
    lower, upper = np.array(key[:3]), np.array(key[3:])
    half_axes = np.maximum(half_axes_of(lower, upper), _HALF_AXIS_MIN)
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
    just_beyond = (asked > LATITUDE_MAX) & (asked * (1.0 - INSIDE_MAX) <= LATITUDE_MAX)
    target = np.where(just_beyond, LATITUDE_MAX, asked)
    if half_axes.max() > math.pi / 2.0:
        # Wide cones are held roughly whatever is spent on them.
        max_constraints = min(max_constraints, 3)
    # A ratio of outer to inner limit of 1 + 2 tolerance gives +-tolerance around the middle.
    ratio_wanted = (1.0 + tolerance) / (1.0 - tolerance)
    inner = target * (1.0 - tolerance)

    longitude, latitude = _cut_bounds(inner, cosines)
    by_longitude, by_latitude = _cut_radii(longitude, latitude, cosines)
    turns = np.arange(_STEPS // 2)
    usable = _longitude_usable(latitude, turns)
    a_upper, a_lower, b_upper, b_lower = ((turns + step) % _STEPS for step in _CUT_DIRECTIONS)
    longitudes = np.minimum(by_longitude[a_upper], by_longitude[a_lower])
    latitudes = np.minimum(by_latitude[b_upper], by_latitude[b_lower])
    radius = np.minimum(latitudes, np.where(usable[:, None], longitudes, math.pi))
    ratio = _excess(radius, inner, thickness)
    # Where a side is too wide for any cut, no Empty is to blame.
    ratio /= ratio.min(axis=0)
    chosen = _choose_turns(ratio, usable, half_axes, ratio_wanted, max_constraints)
    return _specs(chosen, asked, target, thickness, cosines, lower[1], upper[1])


def _longitude_usable(latitude: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Whether the singular directions +-X of an Empty stay outside the region, for each turn."""
    limit = LATITUDE_MAX + 1e-6
    return (latitude[(turns + _CUT_DIRECTIONS[2]) % _STEPS] <= limit) & (
        latitude[(turns + _CUT_DIRECTIONS[3]) % _STEPS] <= limit
    )


def _choose_turns(ratio, usable, half_axes, ratio_wanted: float, max_constraints: int) -> list[int]:
    """Steps by which the Empties are turned, the first being the one that also limits the twist."""
    # Along the ellipse's axes the twist is exact, so the first Empty prefers them, the wider swing as
    # longitude.
    wide_z = max(half_axes[2:]) > max(half_axes[:2])
    aligned = [_QUARTER, 0] if wide_z else [0, _QUARTER]
    firsts = [i for i in aligned if usable[i]][:1]
    if not firsts:
        firsts = [int(i) for i in np.flatnonzero(usable)[:: _QUARTER // 4]] or aligned[:1]
    best: list[int] = []
    best_ratio = math.inf
    for count in range(1, max_constraints + 1):
        for first in firsts:
            for start in _starts(ratio, first, count):
                turns, worst = _descend(ratio, start)
                if worst < best_ratio - (WORTHWHILE if count > len(best) else 1e-6):
                    best, best_ratio = turns, worst
        if best_ratio <= ratio_wanted:
            break
    return best


def _starts(ratio: np.ndarray, first: int, count: int) -> list[list[int]]:
    if count == 1:
        return [[first]]
    if count == 2:
        return [[first, -1]]
    if count == 3:
        # Every pair, exactly: [turns, turns, directions] is small enough with every second turn and
        # direction.
        with_first = np.minimum(ratio, ratio[first])[::2, ::2]
        worst = np.minimum(with_first[:, None, :], with_first[None, :, :]).max(axis=2)
        i, j = np.unravel_index(int(np.argmin(worst)), worst.shape)
        return [[first, int(i) * 2, int(j) * 2]]
    spread = [(first + k * 2 * _QUARTER // (2 * count)) % (2 * _QUARTER) for k in range(count)]
    return [_starts(ratio, first, count - 1)[0] + [-1], spread]


def _descend(ratio: np.ndarray, start: list[int]) -> tuple[list[int], float]:
    """Improves all turns but the first, one at a time, until none gets better; -1 means not chosen yet."""
    turns = list(start)
    worst = math.inf
    for _ in range(6):
        before = worst
        for k in range(1, len(turns)):
            others = [ratio[t] for i, t in enumerate(turns) if i != k and t >= 0]
            rows = np.minimum(ratio, np.minimum.reduce(others)).max(axis=1)
            best = int(np.argmin(rows))
            if turns[k] < 0 or rows[best] < rows[turns[k]] - 1e-9:
                turns[k] = best
            worst = float(rows[turns[k]])
        if len(turns) == 1:
            return turns, float(ratio[turns[0]].max())
        if worst >= before - 1e-9:
            break
    return turns, worst


def _specs(
    turns: list[int], asked, target, thickness, cosines, twist_min: float, twist_max: float
) -> tuple[ConstraintSpec, ...]:
    steps = np.array([[(t + d) % _STEPS for d in _CUT_DIRECTIONS] for t in turns])
    cosines = cosines[steps.ravel()]
    # The inner limit lies as far inside the target as the outer one outside it.
    scale = 1.0
    for _ in range(3):
        inner = np.maximum(target * scale, np.minimum(asked * (1.0 - INSIDE_MAX), LATITUDE_MAX))
        longitude, latitude = _cut_bounds(inner, cosines)
        usable = (latitude.reshape(-1, 4)[:, 2:] <= LATITUDE_MAX + 1e-6).all(axis=1)
        by_longitude, by_latitude = _cut_radii(longitude, latitude, cosines)
        radii = np.where((np.arange(len(cosines)) % 4 < 2)[:, None], by_longitude, by_latitude)
        radii = radii.reshape(-1, 4, _STEPS)
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
        others = np.delete(radii.reshape(-1, 4, _STEPS), k, axis=0).min(axis=(0, 1), initial=math.pi)
        axes: list[Limits] = []
        for pair in (slice(0, 2), slice(2, 4)):
            other_pair = slice(2, 4) if pair.start == 0 else slice(0, 2)
            rest = np.minimum(others, radii[k, other_pair].min(axis=0))
            binding = (radii[k, pair].min(axis=0) < rest - 1e-5).any() or (k == 0 and pair.start == 0)
            free = (pair.start == 0 and not usable[k]) or not binding
            if pair.start == 2:
                # A latitude never exceeds 90 degrees: a bound beyond it leaves that side free.
                bound[2:] = np.where(bound[2:] > LATITUDE_MAX + 1e-6, math.radians(100.0), bound[2:])
            axes.append(None if free else (-float(bound[pair][1]), float(bound[pair][0])))
        twist = range_or_free(float(twist_min), float(twist_max)) if k == 0 and usable[0] else None
        turn = turns[k] * (2.0 * math.pi / _STEPS)
        limits = (axes[0], axes[1], twist)
        specs.append(ConstraintSpec("GENERIC", _turned_rotation(turn), "child", k == 0, limits))
    return tuple(s for i, s in enumerate(specs) if i == 0 or any(s.angular_limits))
