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
PASSES = 6
# Passes that gain less than this [rad], or this share of the error, have all they can get alone.
_GAIN, _SLOW = np.radians(0.0005), 0.1
# Then come steps of all entries together, each with its largest turn [rad].
STEPS, _LITTLE = 16, 0.02
_LONGEST_STEP, _SHORTEST_STEP = 0.3, 0.004
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
    work = _Work(m, chain, target)
    _run(m, work, comfort, 0)
    return work.finished()


def _run(m, work: _Work, comfort: float, first: int) -> None:
    """Passes from a first one on, then steps of all entries together."""
    for number in range(first, PASSES):
        before = work.error() if number else None
        work.apply(work.one_pass(comfort if number == 0 else 1.0, 0.25**number))
        error = work.error()
        open_ = error > AIMED
        if number:
            open_ = open_ & (before - error > m.maximum(_GAIN, _SLOW * error))
        if not m.any(open_) or work.keep(open_, number + 1):
            break
    if work.reopen():
        return
    for _ in range(STEPS):
        before = work.error()
        if not m.any(before > AIMED):
            break
        better = work.apply_if_better(work.joint(work.largest), before)
        error = work.error()
        # A step that was too long is tried again shorter; one that gains little is the last.
        gain = before - error > m.maximum(_GAIN, _LITTLE * error)
        work.largest = m.where(better, work.largest, 0.25 * work.largest)
        open_ = (error > AIMED) & (gain | m.negated(better)) & (work.largest > _SHORTEST_STEP)
        if not m.any(open_) or work.keep(open_, PASSES):
            break


_VECTORS, _LISTS = ("target", "up", "base"), ("forwards", "references", "offsets", "positions")


class _Work:
    """A chain under way: what has been turned so far, for the characters that are not done yet."""

    def __init__(self, m, chain: Chain, target: tuple) -> None:
        self.m, self.target, self.up_weights = m, target, chain.up_weights
        count = len(chain.positions)
        self.forwards, self.references = list(chain.forwards), list(chain.references)
        self.limits, self.up = list(chain.limits), chain.up
        self.base = chain.positions[-1]
        self.offsets = [c.sub(chain.positions[i], chain.positions[i + 1]) for i in range(count - 1)]
        self.positions = list(chain.positions)
        self.turns: list = [c.IDENTITY] * count
        self.everyone, self.largest = None, _LONGEST_STEP
        if m is c.ARRAYS:
            size = max(np.size(x) for x in (*target, *chain.positions[0], *chain.forwards[0]))
            # `closed`: who is finished. `alone`: that nobody is left in the arrays.
            self.rows, self.closed, self.alone = np.arange(size), np.zeros(size, bool), False
            self.everyone = np.zeros((count, 4, size)), np.zeros(size)
            for name in _VECTORS:
                setattr(self, name, _full(getattr(self, name), size))
            for name in (*_LISTS, "turns"):
                setattr(self, name, [_full(v, size) for v in getattr(self, name)])
            self.limits = [np.broadcast_to(x, size) for x in self.limits]
            self.largest = np.full(size, self.largest)
            self.whole = {name: tuple(getattr(self, name)) for name in (*_VECTORS, *_LISTS, "limits")}

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

    def keep(self, mask, next_pass: int) -> bool:
        """Go on with some of the characters; what the others have got is stored. True: nothing is left to do.

        The last few go on one by one in plain numbers, which costs less than arrays.
        """
        if self.everyone is None:
            return False
        self._store()
        rows = self.rows[mask]
        if len(rows) <= _FEW:
            self._one_by_one(np.flatnonzero(mask), next_pass)
            return True
        if len(rows) < len(self.rows):
            self.largest = self.largest[mask]
            self._restore(rows)
        return False

    def reopen(self) -> bool:
        """Go on with all whose aim is not good, those too that passes brought no further. True: there are none."""
        if self.everyone is None:
            return False
        if not self.alone:
            self._store()
        rows = np.flatnonzero((self.everyone[1] > AIMED) & ~self.closed)
        if not len(rows):
            return True
        self._restore(rows)
        self.largest, self.alone = np.full(len(rows), _LONGEST_STEP), False
        if len(rows) <= _FEW:
            self._one_by_one(np.arange(len(rows)), PASSES)
            return True
        return False

    def _one_by_one(self, places: np.ndarray, next_pass: int) -> None:
        """Finish the characters at some places of `rows` in plain numbers."""
        turns, errors = self.everyone
        names = ("forwards", "references", "positions", "limits", "turns")
        for place in places.tolist():
            state = {name: [_single(v, place) for v in getattr(self, name)] for name in names}
            before = state.pop("turns")
            chain = Chain(**state, up_weights=self.up_weights, up=_single(self.up, place))
            work = _Work(c.FLOATS, chain, _single(self.target, place))
            _run(c.FLOATS, work, 1.0, next_pass)
            row = self.rows[place]
            for i, turn in enumerate(work.turns):
                turns[i, :, row] = c.multiply(turn, before[i])
            errors[row] = work.error()
            self.closed[row] = True
        self.alone = True

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

    def apply_if_better(self, turns: list, before):
        """Apply turns where they lessen the error, and tell where."""
        m, names = self.m, ("forwards", "references", "offsets", "positions", "turns")
        kept = [list(getattr(self, name)) for name in names]
        self.apply(turns)
        better = self.error() < before
        if m.all(better):
            return better
        for name, old in zip(names, kept, strict=True):
            new = getattr(self, name)
            setattr(self, name, [c.choose(m, better, b, a) for a, b in zip(old, new, strict=True)])
        return better

    def finished(self) -> tuple[list, object]:
        """Turns and error of all characters."""
        if self.everyone is None:
            return self.turns, self.error()
        if not self.alone:
            self._store()
        return [tuple(q) for q in self.everyone[0]], self.everyone[1]

    def _store(self) -> None:
        """Put what these characters have got to everyone's."""
        turns, errors = self.everyone
        for i, turn in enumerate(self.turns):
            for j in range(4):
                turns[i, j, self.rows] = turn[j]
        errors[self.rows] = self.error()

    def _restore(self, rows: np.ndarray) -> None:
        """Go on with the characters in `rows` from where they have got to."""
        self.rows = rows
        whole = {name: tuple(x[rows] for x in self.whole[name]) for name in _VECTORS}
        lists = {name: [tuple(x[rows] for x in v) for v in self.whole[name]] for name in _LISTS}
        for name, value in (whole | lists).items():
            setattr(self, name, value)
        self.limits = [x[rows] for x in self.whole["limits"]]
        self.turns = [c.IDENTITY] * len(self.limits)
        done = [tuple(x[rows] for x in q) for q in self.everyone[0]]
        relative = [c.multiply(c.conjugate(below), above) for above, below in pairwise(done)]
        self.apply([*relative, done[-1]])


def _single(value, place: int):
    """One character's number or vector in plain numbers."""
    if isinstance(value, tuple):
        return tuple(float(x[place]) if np.ndim(x) else x for x in value)
    return float(value[place])


def _full(vector, size: int) -> tuple:
    return tuple(np.broadcast_to(np.asarray(x, float), size) for x in vector)


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
