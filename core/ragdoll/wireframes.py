"""Line segments of shapes and limits: arrays [k, 2, 3], each in the frame that will carry it."""

import math

import numpy as np

from .joints import hinge_axis
from .shapes import BOX, CAPSULE, SPHERE

CIRCLE = 24  # segments of a full turn
BONE = np.array([0.0, 1.0, 0.0])  # the bone's direction in a joint's frame

_X, _Y, _Z = np.eye(3)
_DIRECTIONS = np.arange(2 * CIRCLE) * (2.0 * math.pi / (2 * CIRCLE))


# ---- shapes -------------------------------------------------------------------------------------------------------


def polyline(points) -> np.ndarray:
    """The segments [k - 1, 2, 3] that join points [k, 3] one after the other."""
    points = np.asarray(points, dtype=float)
    return np.stack([points[:-1], points[1:]], axis=1)


def _arc(radius, first, last, count, u, v, center=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Segments of a circle's arc: ``center + radius (u cos t + v sin t)``."""
    t = np.linspace(first, last, count + 1)[:, None]
    return polyline(np.asarray(center) + radius * (np.asarray(u) * np.cos(t) + np.asarray(v) * np.sin(t)))


def capsule_edges(half) -> np.ndarray:
    """Wire [k, 2, 3] of a capsule along Z, sized by its half extents [3] as Blender does: radius the larger of X, Y."""
    radius = float(max(half[0], half[1]))
    straight = max(float(half[2]) - radius, 0.0)
    parts = []
    for end in (straight, -straight):
        center = (0.0, 0.0, end)
        pole = _Z if end > 0.0 or not parts else -_Z
        parts.append(_arc(radius, 0.0, 2.0 * math.pi, CIRCLE, _X, _Y, center))
        parts += [_arc(radius, 0.0, math.pi, CIRCLE // 2, side, pole, center) for side in (_X, _Y)]
    sides = radius * np.array([_X, _Y, -_X, -BONE])
    parts.append(np.stack([sides + straight * _Z, sides - straight * _Z], axis=1))
    return np.concatenate(parts)


def sphere_edges(half) -> np.ndarray:
    """Wire [k, 2, 3] of a sphere: three circles; Blender takes the largest half extent as radius."""
    radius = float(np.max(half))
    pairs = ((_X, _Y), (_Y, _Z), (_Z, _X))
    return np.concatenate([_arc(radius, 0.0, 2.0 * math.pi, CIRCLE, u, v) for u, v in pairs])


def box_edges(half) -> np.ndarray:
    """The twelve edges [12, 2, 3] of a box."""
    signs = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], dtype=float)
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8) if np.count_nonzero(signs[i] != signs[j]) == 1]
    return (signs * np.asarray(half, dtype=float))[np.array(pairs)]


PRIMITIVES = {CAPSULE: capsule_edges, SPHERE: sphere_edges, BOX: box_edges}


def shape_edges(kind: str, half, edges=None) -> np.ndarray:
    """Wire [k, 2, 3] of a shape in its body's frame; kinds other than capsule, box and sphere show their own edges.

    Args:
        kind: Blender's collision shape.
        half: half extents [3].
        edges: edges of the mesh [k, 2, 3], for the other kinds; its box is shown where there are none.
    """
    if kind in PRIMITIVES:
        return PRIMITIVES[kind](half)
    return np.asarray(edges, dtype=float) if edges is not None and len(edges) else box_edges(half)


# ---- limits -------------------------------------------------------------------------------------------------------


def swung(direction, angle) -> np.ndarray:
    """Direction [..., 3] of the bone in the joint's frame after a swing by `angle` about (cos d, 0, sin d)."""
    direction, angle = np.asarray(direction, dtype=float), np.asarray(angle, dtype=float)
    sine = np.sin(angle)
    return np.stack([-np.sin(direction) * sine, np.cos(angle), np.cos(direction) * sine], axis=-1)


def cone_edges(limit_min, limit_max, radius: float) -> np.ndarray:
    """Rim and spokes [k, 2, 3] of a cone's swing limit, in the parent's joint frame.

    The rim is `joints.swing_limit`, with its points spread on the ellipse and not in angle: a flat one keeps its tips.
    """
    x, z = np.cos(_DIRECTIONS), np.sin(_DIRECTIONS)
    half = np.clip([limit_max[0], -limit_min[0], limit_max[2], -limit_min[2]], 0.0, math.pi)
    x, z = x * np.where(x >= 0.0, half[0], half[1]), z * np.where(z >= 0.0, half[2], half[3])
    rim = radius * swung(np.arctan2(z, x), np.hypot(x, z))
    spokes = rim[:: len(rim) // 8]
    loop = polyline(np.concatenate([rim, rim[:1]]))
    return np.concatenate([loop, np.stack([np.zeros_like(spokes), spokes], axis=1)])


def hinge_axes(axis: int) -> tuple[np.ndarray, np.ndarray]:
    """The direction that shows a hinge's angle at zero, and that at a quarter turn: the bone's own unless it is Y."""
    shown = _Z if axis == 1 else _Y
    return shown, np.cross(np.eye(3)[axis], shown)


def hinge_edges(limit_min, limit_max, radius: float) -> np.ndarray:
    """The sector [k, 2, 3] over which a hinge turns, in the parent's joint frame."""
    axis = hinge_axis(limit_min, limit_max)
    u, v = hinge_axes(axis)
    low, high = float(limit_min[axis]), float(limit_max[axis])
    count = max(2, math.ceil((high - low) / (2.0 * math.pi) * 2 * CIRCLE))
    arc = _arc(radius, low, high, count, u, v)
    ends = np.stack([arc[0, 0], arc[-1, 1]])
    return np.concatenate([arc, np.stack([np.zeros_like(ends), ends], axis=1)])


def twist_edges(low: float, high: float, radius: float) -> np.ndarray:
    """The arc [k, 2, 3] of a cone's twist about Y, in the frame that swings with the bone; empty when it is locked."""
    if high - low < 1e-4:
        return np.zeros((0, 2, 3))
    count = max(2, math.ceil((high - low) / (2.0 * math.pi) * CIRCLE))
    center = (0.0, 0.6 * radius, 0.0)
    arc = _arc(0.3 * radius, low, high, count, _Z, _X, center)
    ends = np.stack([arc[0, 0], arc[-1, 1]])
    inner = np.asarray(center) + (ends - center) * 0.7
    return np.concatenate([arc, np.stack([inner, ends], axis=1)])


def twist_tick(radius: float) -> np.ndarray:
    """The mark [1, 2, 3] of the current twist, in the child's joint frame."""
    return radius * np.array([[(0.0, 0.6, 0.0), (0.0, 0.6, 0.36)]])
