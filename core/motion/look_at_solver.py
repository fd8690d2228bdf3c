"""A chain of bones that turns until the first of them looks at a point: the solver, on components.

After P. Massoudi's article "The Perfect Look At System": the first bone turns to the target up to its limit, what it
could not do is asked of the next, and so on. The article stretches each further bone's forward to a point one unit
ahead of the first bone, which leaves an error where bones are far apart. Here the point is taken on the first bone's
line of sight, as far from the turning bone as the target: turning it onto the target is exact in one step. What
limits and up weights leave is taken up by further passes over the chain, from the first bone again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from . import components as c
from .look_at_refine import held_in_cone, joint_turns
from .look_at_step import ahead, angle_to_cone, step

# A pass ends where the first bone aims this well [rad]; its cosine is 1 - angle^2 / 2.
AIMED = np.radians(0.01)
_AIMED_COSINE = 1.0 - 0.5 * AIMED * AIMED
PASSES = 5
# Then passes that use the limits evenly, and from an aim this near [rad] steps of all entries together.
EVEN_PASSES, STEPS = 3, 24
_NEAR = np.radians(10.0)
# A step's largest turn [rad]; one that makes the aim worse is tried again shorter.
_LONGEST_STEP, _SHORTEST_STEP = 0.3, 0.002
# So few characters of many are solved one by one.
_FEW = 8


@dataclass
class Chain:
    """Entries of a chain from the first bone (eye, head) to the last (spine), as components in model space.

    Attributes:
        positions: of the entries' joints, k vectors.
        forwards: unit vectors that the limits measure, k; the first is the line of sight too.
        references: unit vectors that the limits are measured from, k.
        limits: largest angles between the two [rad], k numbers.
        up_weights: 0 the shortest axis, 1 the up axis alone; k plain floats. None: the entry never turns.
        up: unit vector.
    """

    positions: list
    forwards: list
    references: list
    limits: list
    up_weights: tuple
    up: tuple


def solve(m, chain: Chain, target: tuple, comfort: float = 1.0) -> tuple[list, object]:
    """Turns of a chain's entries, so that the first looks at a target.

    Args:
        m: `components.FLOATS` or `components.ARRAYS`.
        chain: is not changed.
        target: point in model space.
        comfort: share of the limits that is used up before entries go to the limits themselves.

    Returns:
        (turns, error): k quaternions, what each entry has been turned by in model space, with what carries it; and
        the angle [rad] left between the first bone's forward and the direction to the target.
    """
    if m is c.ARRAYS:
        return _many(chain, target, comfort)
    work = _Work(m, chain, target)
    for number in range(PASSES):
        work.apply(work.one_pass(comfort if number == 0 else 1.0, 0.25**number))
        error = work.error()
        if error <= AIMED:
            return work.turns, error
    return _at_limits(m, chain, target, work.turns, error)


def _many(chain: Chain, target: tuple, comfort: float) -> tuple[list, np.ndarray]:
    """`solve` for arrays; characters that are done are left out of further passes."""
    m = c.ARRAYS
    size = max(np.size(x) for x in (*target, *chain.positions[0], *chain.forwards[0]))
    chain = _chain_of(chain, lambda x: np.broadcast_to(x, size))
    target = tuple(np.broadcast_to(x, size) for x in target)
    turns, errors, rows = np.zeros((len(chain.positions), 4, size)), np.zeros(size), np.arange(size)

    def store(found: list, error) -> None:
        for i, turn in enumerate(found):
            for j in range(4):
                turns[i, j, rows] = turn[j]
        errors[rows] = error

    work = _Work(m, chain, target)
    for number in range(PASSES):
        work.apply(work.one_pass(comfort if number == 0 else 1.0, 0.25**number))
        error = work.error()
        store(work.turns, error)
        left = error > AIMED
        rows = rows[left]
        if len(rows) <= _FEW:
            break
        work.pick(left)
    if len(rows) > _FEW:
        some = _chain_of(chain, lambda x: x[rows]), tuple(x[rows] for x in target)
        store(*_at_limits(m, *some, [tuple(turn[:, rows]) for turn in turns], errors[rows]))
    else:
        for row in rows.tolist():
            one = _chain_of(chain, lambda x, row=row: float(x[row]))
            found, errors[row] = solve(c.FLOATS, one, tuple(float(x[row]) for x in target), comfort)
            turns[:, :, row] = found
    return [tuple(turn) for turn in turns], errors


def _at_limits(m, chain: Chain, target: tuple, passed: list, passed_error) -> tuple[list, object]:
    """What a chain does for a target that passes do not reach, if it can be reached at all.

    From the start, all entries turn the shortest way, which lines them up to the target: the most that their limits
    allow, and a pose that changes steadily with the target. Weights about up have no say at the limits, but for
    entries that turn about up alone. What comes near is brought there by turning all entries together.

    Args:
        passed, passed_error: what the passes have come to.
    """
    weights = tuple(None if w is None else float(w == 1.0) for w in chain.up_weights)
    work = _Work(m, _chain_of(chain, lambda x: x, weights), target)
    for _ in range(EVEN_PASSES):
        work.apply(work.one_pass(1.0, 1.0))
    error = work.error()
    turns, lined_up = list(work.turns), error
    error = _steps(m, work, error)
    reached = error <= AIMED
    found = [c.choose(m, reached, b, a) for a, b in zip(turns, work.turns, strict=True)]
    if m.all(reached | (passed_error > _NEAR)):
        return found, m.where(reached, error, lined_up)
    # Lining up may lead away from what passes had all but found.
    work = _Work(m, chain, target)
    relative = [c.multiply(c.conjugate(below), above) for above, below in pairwise(passed)]
    work.apply([*relative, passed[-1]])
    again = _steps(m, work, m.where(reached, 0.0, passed_error))
    better = m.negated(reached) & (again <= AIMED)
    found = [c.choose(m, better, b, a) for a, b in zip(found, work.turns, strict=True)]
    return found, m.where(better, again, m.where(reached, error, lined_up))


def _steps(m, work: _Work, error):
    """Steps of all entries together, where the aim is near but not good; the error afterwards."""
    largest = m.where(error < _NEAR, _LONGEST_STEP, 0.0)
    for _ in range(STEPS):
        open_ = (error > AIMED) & (largest > _SHORTEST_STEP)
        if not m.any(open_):
            break
        better = work.apply_if_better(work.joint(largest), error, open_)
        largest = m.where(better, largest, 0.25 * largest)
        error = m.where(better, work.error(), error)
    return error


def _chain_of(chain: Chain, change, up_weights=None) -> Chain:
    """The chain with all its components changed by a function."""
    lists = [[tuple(map(change, v)) for v in part] for part in (chain.positions, chain.forwards, chain.references)]
    weights = chain.up_weights if up_weights is None else up_weights
    return Chain(*lists, [change(x) for x in chain.limits], weights, tuple(map(change, chain.up)))


_LISTS = ("forwards", "references", "offsets", "positions")


class _Work:
    """A chain under way: what has been turned so far."""

    def __init__(self, m, chain: Chain, target: tuple) -> None:
        self.m, self.target, self.up_weights, self.up = m, target, chain.up_weights, chain.up
        self.forwards, self.references = list(chain.forwards), list(chain.references)
        self.limits, self.positions = list(chain.limits), list(chain.positions)
        self.offsets = [c.sub(a, b) for a, b in pairwise(chain.positions)]
        self.turns: list = [c.IDENTITY] * len(chain.positions)

    def error(self):
        """Angle left [rad]."""
        wanted = c.unit(self.m, c.sub(self.target, self.positions[0]), self.forwards[0])
        across = c.length(self.m, c.cross(self.forwards[0], wanted))
        return self.m.atan2(across, c.dot(self.forwards[0], wanted))

    def one_pass(self, share: float, decay: float) -> list:
        """Turns of the entries, first to last, each seeing those before it; None from where all aim well."""
        m, target, up = self.m, self.target, self.up
        eye, sight = self.positions[0], self.forwards[0]
        turns: list = [None] * len(self.turns)
        for i, up_weight in enumerate(self.up_weights):
            to_target = c.sub(target, eye)
            wanted = c.unit(m, to_target, sight)
            aims = c.dot(sight, wanted) >= _AIMED_COSINE
            if m.all(aims):
                break
            if i == 0:
                turn_from, turn_to, offset = sight, wanted, None
            else:
                offset = c.sub(eye, self.positions[i])
                turn_from, turn_to = ahead(m, offset, sight, c.sub(target, self.positions[i]), to_target)
            if up_weight is None:
                continue
            limit = self.limits[i]
            if share < 1.0:
                forward, reference = self.forwards[i], self.references[i]
                now = m.atan2(c.length(m, c.cross(forward, reference)), c.dot(forward, reference))
                limit = m.maximum(share * limit, now)
            weight = up_weight * decay if up_weight < 1.0 else 1.0
            turn = step(m, turn_from, turn_to, self.forwards[i], self.references[i], limit, weight, up)
            if m is c.ARRAYS:
                turn = c.choose(m, aims, c.IDENTITY, turn)
            turns[i] = turn
            sight = c.rotate(turn, sight)
            if i:
                eye = c.add(self.positions[i], c.rotate(turn, offset))
        return turns

    def apply(self, turns: list) -> None:
        """Carry a pass's turns from the last entry to the first."""
        m, carried = self.m, None
        for i in range(len(turns) - 1, -1, -1):
            if carried is not None:
                self.references[i] = c.rotate(carried, self.references[i])
                if i < len(self.offsets):
                    self.offsets[i] = c.rotate(carried, self.offsets[i])
                    self.positions[i] = c.add(self.positions[i + 1], self.offsets[i])
            if turns[i] is not None:
                carried = turns[i] if carried is None else c.multiply(carried, turns[i])
            if carried is not None:
                self.turns[i] = c.normalized(m, c.multiply(carried, self.turns[i]))
                self.forwards[i] = c.rotate(carried, self.forwards[i])

    def pick(self, mask: np.ndarray) -> None:
        """Go on with some of the characters."""
        for name in (*_LISTS, "turns"):
            picked = [tuple(x[mask] if np.ndim(x) else x for x in v) for v in getattr(self, name)]
            setattr(self, name, picked)
        self.limits = [x[mask] for x in self.limits]
        self.target, self.up = (tuple(x[mask] for x in v) for v in (self.target, self.up))

    def joint(self, largest: float) -> list:
        """Turns of all entries at once."""
        m = self.m
        chain = Chain(self.positions, self.forwards, self.references, self.limits, self.up_weights, self.up)
        turns = joint_turns(m, chain, self.target, largest)
        for i, (turn, weight) in enumerate(zip(turns, self.up_weights, strict=True)):
            if turn is None:
                continue
            forward, reference, limit = self.forwards[i], self.references[i], self.limits[i]
            if weight == 1.0:
                angle = 2.0 * m.atan2(c.dot(turn[1:], self.up), turn[0])
                axis = c.mul(m.where(angle < 0.0, -1.0, 1.0), self.up)
                allowed = angle_to_cone(m, axis, abs(angle), forward, reference, m.cos(limit))
                turns[i] = c.axis_angle(m, axis, allowed)
            else:
                turns[i] = held_in_cone(m, turn, forward, reference, limit, self.up)
        return turns

    def apply_if_better(self, turns: list, before, open_):
        """Apply turns to those under way where they lessen the error, and tell where."""
        m, names = self.m, (*_LISTS, "turns")
        kept = [list(getattr(self, name)) for name in names]
        self.apply(turns)
        better = open_ & (self.error() < before)
        if m.all(better):
            return better
        for name, old in zip(names, kept, strict=True):
            new = getattr(self, name)
            setattr(self, name, [c.choose(m, better, b, a) for a, b in zip(old, new, strict=True)])
        return better


def facing(m, forward, up, to_target, last_side, margin: float) -> tuple:
    """The side by which a target behind is looked at, with hysteresis, and the direction to look in instead.

    Within `margin` of straight behind (as seen along up) the side of before is kept, and the direction is that at
    the margin on that side; so neither a target that crosses straight behind nor one that dwells there flips the
    look.

    Args:
        forward, up: unit vectors of the character.
        to_target: from the first bone to the target.
        last_side: 1 left, -1 right, 0 not known yet.
        margin: half the width of the zone [rad].

    Returns:
        (side, behind, direction): the side now, whether the target is in the zone, and the vector to look along.
    """
    level = c.along(forward, -c.dot(forward, up), up)
    distance = c.length(m, to_target)
    if m.all(c.dot(level, to_target) > 1e-6 * distance):
        # In front: then the side is known without the angle.
        return m.where(c.dot(c.cross(up, level), to_target) < 0.0, -1.0, 1.0), distance < 0.0, to_target
    size = c.length(m, level)
    known = size > 1e-6
    ahead = c.mul(1.0 / m.where(known, size, 1.0), level)
    left = c.cross(up, ahead)
    x, y = c.dot(to_target, ahead), c.dot(to_target, left)
    radius = m.sqrt(x * x + y * y)
    # Straight above and below there is no behind.
    known = known & (radius > 1e-6 * distance)
    azimuth = m.atan2(y, x)
    sign = m.where(azimuth < 0.0, -1.0, 1.0)
    behind = known & (abs(azimuth) > np.pi - margin)
    held = behind & (last_side != 0.0)
    side = m.where(held, last_side, m.where(known, sign, last_side))
    edge = np.pi - margin
    height = c.dot(to_target, up)
    at_edge = c.along(c.mul(radius * m.cos(edge), ahead), radius * m.sin(edge) * side, left)
    return side, behind, c.along(at_edge, height, up)
