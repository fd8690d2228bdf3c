"""FABRIK: a chain of joints brought to a point by moving joints along the lines between them.

A. Aristidou and J. Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem", Graphical Models
73 (2011). `solve` is the public form on arrays; `reach` and `close_gap` work on components.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..errors import RagdollError
from . import components as c

# What two joints closer than this part of the chain's length call a direction is noise.
_TINY = 1e-12
# A chain that leaves its line by less, in parts of its length, is straight: what it does leave it by is noise.
_STRAIGHT = 0.01


def solve(
    joints,
    target,
    *,
    tolerance: float = 1e-4,
    max_iterations: int = 30,
    bend=None,
    limits=None,
    exact: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Joints of a chain whose first stays and whose last goes to a target; no segment changes its length.

    Args:
        joints: [..., k, 3], k >= 2.
        target: [..., 3].
        tolerance: distance of the last joint from the target at which it ends, in parts of the chain's length.
        max_iterations: passes there and back, at most.
        bend: direction [..., 3] to which a straight chain gives way; any perpendicular when not given.
        limits: largest angle [rad] between each segment and the one before it [k - 2]; None: none.
        exact: close what is left of the gap in one step, see `close_gap`. Not with limits.

    Returns:
        (joints [..., k, 3], distance of the last joint from the target [...], iterations [...]). A target out of
        reach gives the straight chain that points at it.

    Raises:
        RagdollError: shapes that do not go together, values that are not numbers, or a limit below 0.
    """
    joints, target = np.asarray(joints, dtype=float), np.asarray(target, dtype=float)
    if joints.ndim < 2 or joints.shape[-1] != 3 or joints.shape[-2] < 2 or target.shape[-1:] != (3,):
        shapes = f"{list(joints.shape)} and {list(target.shape)}"
        raise RagdollError(f"joints and target must have the shapes [..., k, 3] and [..., 3], got {shapes}")
    if not (np.isfinite(joints).all() and np.isfinite(target).all()):
        raise RagdollError("joints and target must be numbers")
    count = joints.shape[-2]
    if limits is not None:
        limits = [float(x) for x in limits]
        if len(limits) != count - 2 or not all(x >= 0.0 for x in limits):
            raise RagdollError(f"limits must be {count - 2} angles of at least 0, got {limits}")
    lead = np.broadcast_shapes(joints.shape[:-2], target.shape[:-1])
    rows = np.broadcast_to(joints, (*lead, count, 3)).reshape(-1, count, 3)
    chain = [tuple(rows[:, i].T) for i in range(count)]
    goal = tuple(np.broadcast_to(target, (*lead, 3)).reshape(-1, 3).T)
    m = c.ARRAYS
    lengths = [c.length(m, c.sub(b, a)) for a, b in pairwise(chain)]
    if bend is None:
        along = c.unit(m, c.sub(chain[-1], chain[0]), (0.0, 0.0, 1.0))
        bend = c.some_perpendicular(m, tuple(np.broadcast_to(x, len(rows)) for x in along))
    else:
        bend = tuple(np.broadcast_to(np.asarray(bend, dtype=float), (*lead, 3)).reshape(-1, 3).T)
    result, iterations = reach(m, chain, lengths, goal, bend, tolerance, max_iterations, limits)
    if exact and limits is None:
        result = close_gap(m, result, goal, bend)
    error = c.length(m, c.sub(goal, result[-1]))
    stacked = np.stack([np.stack(np.broadcast_arrays(*p), axis=-1) for p in result], axis=-2)
    return stacked.reshape(*lead, count, 3), np.reshape(error, lead), np.reshape(iterations, lead)


def reach(m, chain: list, lengths: list, target, bend, tolerance: float, max_iterations: int, limits=None) -> tuple:
    """`solve` on components: (joints, iterations)."""
    start = chain[0]
    total = sum(lengths)
    span = c.sub(target, start)
    distance = c.length(m, span)
    far = distance >= total
    straight = _straight(m, start, c.unit(m, span, c.unit(m, c.sub(chain[-1], start), bend)), lengths)
    iterations = distance * 0.0
    if limits is None and m.all(far):
        return straight, iterations
    joints = _off_line(m, chain, lengths, target, bend)
    margin = tolerance * total
    # The chain as it comes in may be good already, then it stays.
    good = c.length(m, c.sub(target, chain[-1])) <= margin
    joints = [c.choose(m, good, a, b) for a, b in zip(chain, joints, strict=True)]
    for _ in range(max_iterations):
        open_ = c.length(m, c.sub(target, joints[-1])) > margin
        if limits is None:
            open_ = open_ & (distance < total)
        if not m.any(open_):
            break
        moved = _forward(m, start, _backward(m, joints, lengths, target, limits), lengths, limits)
        joints = [c.choose(m, open_, b, a) for a, b in zip(joints, moved, strict=True)]
        iterations = iterations + m.where(open_, 1.0, 0.0)
    if limits is None:
        joints = [c.choose(m, far, a, b) for a, b in zip(straight, joints, strict=True)]
    return joints, iterations


def close_gap(m, joints: list, target, bend) -> list:
    """Bring the last joint exactly to the target where that is in reach, the chain bending at one joint only.

    The chain is cut at the joint that bends it most; both parts turn as stiff pieces, as the two sides of a triangle
    over the line from the first joint to the target (law of cosines), in the plane that they were in. A chain as good
    as straight bends to `bend`.
    """
    start, end = joints[0], joints[-1]
    span = c.sub(target, start)
    distance = c.length(m, span)
    best = None
    for i in range(1, len(joints) - 1):
        sides = c.length(m, c.sub(joints[i], start)) + c.length(m, c.sub(end, joints[i]))
        if best is None:
            best, cut, widest = joints[i], sides * 0.0 + i, sides
        else:
            more = sides > widest * (1.0 + 1e-9)
            best, cut, widest = c.choose(m, more, joints[i], best), m.where(more, i, cut), m.where(more, sides, widest)
    if best is None:
        return joints
    upper, lower = c.length(m, c.sub(best, start)), c.length(m, c.sub(end, best))
    forward = c.unit(m, span, c.unit(m, c.sub(end, start), bend))
    before = c.unit(m, c.sub(end, start), forward)
    # The line from first to last joint first turns onto the new one, the plane of the bend with it.
    carry = c.arc(m, before, forward, bend)
    side = _side(m, c.sub(best, start), before, c.rotate(c.conjugate(carry), bend))
    side = c.perpendicular(m, forward, c.rotate(carry, side))
    knee, foot = triangle(m, upper, lower, distance, forward, side)
    first = c.multiply(
        c.arc(m, c.unit(m, c.rotate(carry, c.sub(best, start)), side), c.unit(m, knee, side), side), carry
    )
    to_end, rest = c.rotate(carry, c.sub(end, best)), c.sub(foot, knee)
    second = c.multiply(c.arc(m, c.unit(m, to_end, side), c.unit(m, rest, side), side), carry)
    middle = c.add(start, knee)
    result = []
    for i, joint in enumerate(joints):
        above = c.add(start, c.rotate(first, c.sub(joint, start)))
        below = c.add(middle, c.rotate(second, c.sub(joint, best)))
        result.append(c.choose(m, cut >= i, above, below))
    return result


def triangle(m, upper, lower, distance, forward, side) -> tuple:
    """Knee and foot, seen from the hip, of two sides over a line: by the law of cosines.

    Args:
        upper, lower: lengths of the sides. distance: from hip to target.
        forward: unit vector to the target. side: unit vector at a right angle to it, to which the knee bends.

    A target too far gives both sides in line; one too near gives them folded onto each other, in line too.
    """
    longest, least = upper + lower, abs(upper - lower)
    held = m.maximum(m.minimum(distance, longest), least)
    double = 2.0 * upper * held
    some = double > 0.0
    cosine = m.where(some, (upper * upper + held * held - lower * lower) / m.where(some, double, 1.0), 0.0)
    # Folded onto the hip both sides are one line, to the side.
    cosine = m.minimum(m.maximum(cosine, -1.0), 1.0)
    sine = m.sqrt(1.0 - cosine * cosine)
    knee = c.along(c.mul(upper * cosine, forward), upper * sine, side)
    return knee, c.mul(held, forward)


def _side(m, knee, along, bend) -> tuple:
    """Where the knee is off the line; where `bend` points when it is on it."""
    part = c.along(knee, -c.dot(knee, along), along)
    bent = c.length(m, part) > _STRAIGHT * c.length(m, knee)
    return c.choose(m, bent, part, bend)


def _straight(m, start, direction, lengths) -> list:
    result, travelled = [start], 0.0
    for segment in lengths:
        travelled = travelled + segment
        result.append(c.along(start, travelled, direction))
    return result


def _off_line(m, chain, lengths, target, bend) -> list:
    """The chain, given a bend where it stands in line with its target: nothing would move it off that line."""
    total = sum(lengths)
    along = c.unit(m, c.sub(target, chain[0]), c.unit(m, c.sub(chain[-1], chain[0]), bend))
    worst = total * 0.0
    for joint in chain[1:]:
        offset = c.sub(joint, chain[0])
        worst = m.maximum(worst, c.length(m, c.along(offset, -c.dot(offset, along), along)))
    inline = worst < _STRAIGHT * total
    if not m.any(inline):
        return chain
    side = c.perpendicular(m, along, bend)
    result = [chain[0]]
    for joint in chain[1:-1]:
        flat = c.along(chain[0], c.dot(c.sub(joint, chain[0]), along), along)
        result.append(c.choose(m, inline, c.along(flat, _STRAIGHT * total, side), joint))
    return [*result, chain[-1]]


def _backward(m, joints, lengths, target, limits) -> list:
    """From the target to the first joint."""
    result, before = [target], None
    for i in range(len(lengths) - 1, -1, -1):
        direction = _direction(m, result[0], joints[i], joints[i + 1], lengths[i])
        if limits is not None and before is not None:
            direction = _within(m, direction, before, limits[i])
        result.insert(0, c.along(result[0], lengths[i], direction))
        before = direction
    return result


def _forward(m, start, joints, lengths, limits) -> list:
    """From the first joint, back in its place, to the last."""
    result, before = [start], None
    for i, segment in enumerate(lengths):
        direction = _direction(m, result[-1], joints[i + 1], joints[i], segment)
        if limits is not None and before is not None:
            direction = _within(m, direction, before, limits[i - 1])
        result.append(c.along(result[-1], segment, direction))
        before = direction
    return result


def _direction(m, start, end, old_start, segment) -> tuple:
    """Unit vector from a moved joint to its neighbour; the old one where they have met."""
    way = c.sub(end, start)
    met = c.length(m, way) <= _TINY * segment
    old = c.unit(m, c.sub(end, old_start), (0.0, 0.0, 1.0))
    return c.unit(m, c.choose(m, met, old, way), old)


def _within(m, direction, axis, limit: float) -> tuple:
    """A unit vector, brought to the cone of a half angle about an axis where it is outside."""
    cosine, sine = float(np.cos(limit)), float(np.sin(limit))
    side = c.perpendicular(m, axis, direction)
    edge = c.along(c.mul(cosine, axis), sine, side)
    return c.choose(m, c.dot(direction, axis) < cosine, edge, direction) if limit < np.pi else direction
