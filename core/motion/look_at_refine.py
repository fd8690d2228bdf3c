"""The last of a look-at near its limits: all entries of the chain turn at once.

Bones that turn one after the other cannot make turns that only help together, such as one to the left with one to the
right, and creep where nearly every bone is at its limit. Here the aim is taken as linear in all turns together, and
the smallest turns that correct it are found (least squares, damped); a bone at the edge of its cone may go along it.
"""

from __future__ import annotations

from . import components as c

# Added to the squared sensitivities: no larger turns than this would ask for from an aim that they hardly move.
_DAMPING = 1e-6
# Nearer to its limit than this an entry is at it [rad].
_AT_LIMIT = 1e-5


def joint_turns(m, chain, target, largest) -> list:
    """One step of all entries together.

    Args:
        chain: positions, forwards, references, limits, up_weights and up, as `look_at_solver.Chain` has them.
        target: point in model space.
        largest: no entry turns by more [rad].

    Returns:
        k quaternions, each without what carries it; None for entries that never turn.
    """
    eye, sight = chain.positions[0], chain.forwards[0]
    to_target = c.sub(target, eye)
    distance = c.length(m, to_target)
    wanted = c.unit(m, to_target, sight)
    first = c.some_perpendicular(m, wanted)
    second = c.cross(wanted, first)
    error = -c.dot(sight, first), -c.dot(sight, second)
    # A small turn d of an entry moves the aim by d x lever; along `first` that is d . (lever x first).
    rows: list = []
    for position, forward, up_weight in zip(chain.positions, chain.forwards, chain.up_weights, strict=True):
        lever = c.along(sight, 1.0 / distance, c.sub(eye, position))
        row = c.cross(lever, first), c.cross(lever, second)
        if up_weight is None:
            row = None
        elif up_weight == 1.0:
            row = tuple(c.mul(c.dot(part, chain.up), chain.up) for part in row)
        else:
            # No rolling about the forward axis: limits do not see it, and it would wind the chain up for little.
            row = tuple(c.along(part, -c.dot(part, forward), forward) for part in row)
        rows.append(row)
    outward = [
        _outward(m, forward, reference, limit)
        for forward, reference, limit in zip(chain.forwards, chain.references, chain.limits, strict=True)
    ]
    steps = _least_squares(m, rows, error)
    for _ in range(2):
        rows = [
            row if row is None else _without_outward(m, row, step, axis, at, chain.up if weight == 1.0 else None)
            for row, step, (axis, at), weight in zip(rows, steps, outward, chain.up_weights, strict=True)
        ]
        steps = _least_squares(m, rows, error)
    return [None if step is None else _rotation(m, step, largest) for step in steps]


def held_in_cone(m, turn, forward, reference, limit, up) -> tuple:
    """A turn, followed by the smallest one that brings `forward` back into its cone."""
    moved = c.rotate(turn, forward)
    cosine = m.cos(limit)
    outside = c.dot(moved, reference) < cosine
    if not m.any(outside):
        return turn
    edge = c.along(c.mul(cosine, reference), m.sin(limit), c.perpendicular(m, reference, moved))
    return c.choose(m, outside, c.multiply(c.arc(m, moved, edge, up), turn), turn)


def _least_squares(m, rows: list, error: tuple) -> list:
    """The smallest steps with the sum of row . step = error: step = J^T (J J^T + damping)^-1 error."""
    used = [row for row in rows if row is not None]
    a = sum(c.dot(row[0], row[0]) for row in used) + _DAMPING
    b = sum(c.dot(row[0], row[1]) for row in used)
    d = sum(c.dot(row[1], row[1]) for row in used) + _DAMPING
    determinant = a * d - b * b
    x = (d * error[0] - b * error[1]) / determinant
    y = (a * error[1] - b * error[0]) / determinant
    return [None if row is None else c.along(c.mul(x, row[0]), y, row[1]) for row in rows]


def _outward(m, forward, reference, limit) -> tuple:
    """Unit axis about which `forward` leaves its cone, and whether it is at the edge."""
    normal = c.cross(reference, forward)
    now = m.atan2(c.length(m, normal), c.dot(reference, forward))
    return c.unit(m, normal, c.some_perpendicular(m, reference)), now > limit - _AT_LIMIT


def _without_outward(m, row: tuple, step, axis, at_limit, only_axis) -> tuple:
    """What an entry can contribute that its step would not take out of the cone."""
    blocked = at_limit & (c.dot(step, axis) > 0.0)
    if only_axis is not None:
        zero = c.mul(0.0, row[0])
        return tuple(c.choose(m, blocked, zero, part) for part in row)
    return tuple(c.choose(m, blocked, c.along(part, -c.dot(part, axis), axis), part) for part in row)


def _rotation(m, step, largest) -> tuple:
    angle = c.length(m, step)
    axis = c.unit(m, step, (0.0, 0.0, 1.0))
    return c.axis_angle(m, axis, m.minimum(angle, largest))
