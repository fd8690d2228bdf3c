"""A chain of bones that turns until the first of them looks at a point: the solver.

After P. Massoudi's article "The Perfect Look At System": the first bone turns to the target up to its limit, what it
could not do is asked of the next, and so on. The article stretches each further bone's forward to a point one unit
ahead of the first bone, which leaves an error where bones are far apart. Here the point is taken on the first bone's
line of sight, as far from the turning bone as the target: turning it onto the target is exact in one step.

What limits and up weights leave is taken up by further passes. Each turn of them is in proportion to the error left,
and nothing is ever chosen between two answers: so the pose changes steadily with the target, limits and weights.
Where either way round would do (a target straight behind what is turned) a bone therefore does nothing at all.
"""

import math
from itertools import pairwise
from math import atan2, cos, sin, sqrt

from .. import components as c
from ..components import Affine, transformed

AIMED = math.radians(0.02)  # the solver is done when the first bone aims this well [rad]
_SINE_AIMED = sin(AIMED) ** 2
PASSES = 5  # more bring targets at the edge of reach no nearer than by a third of a degree
_AT_REST = 1e-4  # a pass whose turns are all smaller is the last [rad]
_UP_ALONE = 0.25  # from this weight about up on, what a pass has left is corrected about up alone
# An entry turns by at most so many times its limit. Only poses that come in far beyond a limit meet this bound; it
# lets their turns go to none as the limit goes to 0.
_LIMITS = 8.0
# Where a limit holds a bone, its twist is that of a turn as much shorter as its way is, both ways taken as this longer
# [rad]: so the twist of a turn about where the bone looks, which hardly leads it anywhere, is kept.
_WAY = 0.25
# Sine of the angle to the axis from which on a direction counts less the nearer it is: its way round grows too steep.
_STEEP = 0.15


class Entry:
    """A bone of the chain under way; vectors are in the space it turns in, from its joint on.

    Attributes:
        frame: that space in model space, of the pose that comes in. weight: 0 the shortest axis, 1 the up axis alone.
        up: unit vector. forward: where the bone looks by now, a unit vector.
        own: the bone's own turn, without what carries it.
        free: share 0..1 of what a further pass asks for that it turns by the shortest way, not about up.
        most: angle about up that what further passes turn it by stays below, all together [rad].
    """

    def __init__(self, frame: Affine, forward, reference, limit: float, weight: float, up) -> None:
        self.frame, self.forward, self.reference, self.weight, self.up = frame, forward, reference, weight, up
        self.given, self.limit = limit, max(limit, c.angle_between(forward, reference))
        self.largest = min(math.pi, _LIMITS * limit)
        self.least_cosine = cos(0.5 * self.largest) if self.largest < math.pi else 0.0
        self.free = max(0.0, 1.0 - weight / _UP_ALONE) ** 2
        self.free_at_limit = 1.0 - weight * weight if weight > 0.0 else 0.0
        self.own, self.most = c.IDENTITY, math.pi

    def turn(self, turn_from, turn_to, comfort: float) -> tuple:
        """Turn a direction to another as far as weight and a share `comfort` of the limit allow; returns that turn."""
        up, weight, limit = self.up, self.weight, self.limit
        turn, self.most = blended(turn_from, turn_to, up, weight)
        if comfort < 1.0:
            limit = max(comfort * self.given, c.angle_between(self.forward, self.reference))
        return self._taken(turn, 1.0 - weight, limit)

    def turn_on(self, turn_from, turn_to) -> tuple:
        """Likewise by what the first pass has left.

        A weighted entry has its axis from the first pass. What others leave it makes good about up alone, else it
        would spiral to the target and its weight would mean nothing. Near a weight of 0 the two ways are blended, and
        so they are by how much of its limit the first pass has used: no other way may be left to reach the target.
        """
        up, free, turn = self.up, self.free, c.IDENTITY
        if self.free_at_limit > 0.0:
            used = c.angle_between(self.forward, self.reference) / self.limit if self.limit > 0.0 else 1.0
            free = self.free = max(free, min(1.0, used) ** 2 * self.free_at_limit)
            self.free_at_limit = 0.0
        if free > 0.0:
            turn = self._taken(c.part(c.arc(turn_from, turn_to, up), free), 1.0, self.limit)
        if free < 1.0:
            (about, share), most = angle_about(c.rotate(turn, turn_from), turn_to, up), max(self.most, 1e-9)
            about *= share * share  # else passes would make up for what counts less in each of them
            about *= most / (most + abs(about))  # ever less of a longer way, else one bone makes up for all others
            self.most -= abs(about)
            turn = c.multiply(self._taken(c.axis_angle(up, about), 0.0, self.limit), turn)
        return turn

    def _taken(self, turn, free: float, limit: float) -> tuple:
        """As much of a turn as the limit allows; then, as far as the axis is free, along the limit's cone."""
        forward, cosine = c.rotate(turn, self.forward), cos(limit)
        if c.dot(forward, self.reference) < cosine:
            turn = self._held(turn, forward, free, limit, cosine)
            if turn is c.IDENTITY:
                return turn
            forward = c.rotate(turn, self.forward)
        own = turn if self.own is c.IDENTITY else c.multiply(turn, self.own)
        if abs(own[0]) < self.least_cosine:
            shorter = c.part(own, self.largest / (2.0 * c.acos(abs(own[0]))))
            turn, own = c.multiply(shorter, c.conjugate(self.own)), shorter
            forward = c.rotate(turn, self.forward)
        self.own, self.forward = c.normalized(own), forward
        return turn

    def _held(self, turn, beyond, free: float, limit: float, cosine: float) -> tuple:
        """What is left of a turn that would end beyond the limit: up to it, and as far as free to its nearest place."""
        forward, reference, stopped = self.forward, self.reference, c.IDENTITY
        if free < 1.0:
            vector = turn[1:] if turn[0] >= 0.0 else c.mul(-1.0, turn[1:])
            # At its limit it would else only go further.
            if c.dot(forward, reference) > cosine + 1e-12 or c.dot(c.cross(vector, forward), reference) > 0.0:
                axis, angle = c.unit(vector, (0.0, 0.0, 1.0)), 2.0 * atan2(c.length(vector), abs(turn[0]))
                stopped = c.axis_angle(axis, angle_to_cone(axis, angle, forward, reference, cosine))
            if free == 0.0:
                return stopped
        # A turn to straight behind names no side of the cone; the one it is on then.
        side = c.perpendicular(reference, c.along(beyond, 1e-6, forward))
        edge = c.along(c.mul(cosine, reference), sin(limit), side)
        share = (c.angle_between(forward, edge) + _WAY) / (c.angle_between(forward, beyond) + _WAY)
        shorter = c.part(turn, min(1.0, share))
        twist = c.multiply(c.conjugate(c.arc(forward, c.rotate(shorter, forward), self.up)), shorter)
        slid = c.multiply(c.arc(forward, edge, self.up), twist)
        return slid if free == 1.0 else c.multiply(c.part(c.multiply(slid, c.conjugate(stopped)), free), stopped)


class Aim:
    """A chain that turns to a target, its entries from the first bone (eye, head) to the last (spine).

    `error` is the angle [rad] between the first bone's line of sight and the direction to the target, as the last entry
    sees it.
    """

    def __init__(self, entries: list) -> None:
        self.entries, self.error = entries, 0.0
        # Each entry's joint as the next one sees it, and how vectors of its space are in that of the next one and
        # back; None: the same.
        self._joints = []
        for below, above in pairwise(entries):
            up, down = above.frame.inverse(), below.frame.inverse()
            joint = transformed(up, c.sub(below.frame.origin, above.frame.origin))
            higher = lower = None
            if up is not None or down is not None:
                higher = tuple(transformed(up, below.frame.vector(axis)) for axis in c.AXES)
                lower = tuple(transformed(down, above.frame.vector(axis)) for axis in c.AXES)
            self._joints.append((joint, higher, lower))

    def sight(self) -> tuple[tuple, tuple]:
        """Where the first bone is by now, and a unit vector where it looks, in model space."""
        eye, sight = (0.0, 0.0, 0.0), self.entries[0].forward
        for entry, (joint, higher, _) in zip(self.entries[1:], self._joints, strict=True):
            eye = c.rotate(entry.own, c.add(joint, transformed(higher, eye)))
            sight = c.rotate(entry.own, transformed(higher, sight))
        frame = self.entries[-1].frame
        return frame.point(eye), c.unit(frame.vector(sight), sight)

    def turn_to(self, target: tuple, comfort: float = 1.0) -> None:
        """Turn the chain on until the first bone looks at a target, a point in model space.

        `comfort` is the share of the limits that is used up before entries go to the limits themselves."""
        last = self.entries[-1].frame
        target = transformed(last.inverse(), c.sub(target, last.origin))
        for number in range(PASSES):
            moved = self._pass(target, comfort if number == 0 else None)
            if self.error <= AIMED or moved < _AT_REST:
                break

    def _pass(self, target: tuple, comfort: float | None) -> float:
        """One pass over the chain, which ends where the aim is good; returns the largest turn made [rad].

        The target is in the last entry's space; `comfort` is None in all passes but the first."""
        entries, joints = self.entries, self._joints
        seen = [target] * len(entries)  # the target as each entry would see it if those above had not turned
        for i in range(len(entries) - 2, -1, -1):
            joint, _, lower = joints[i]
            own = entries[i + 1].own
            above = seen[i + 1] if own is c.IDENTITY else c.rotate(c.conjugate(own), seen[i + 1])
            seen[i] = transformed(lower, c.sub(above, joint))
        eye, sight, moved, to_target = (0.0, 0.0, 0.0), entries[0].forward, 0.0, seen[0]
        if _is_aimed(sight, to_target):
            entries = []
        for i, entry in enumerate(entries):
            if i:
                joint, higher, _ = joints[i - 1]
                if higher is not None:
                    eye, sight = transformed(higher, eye), c.unit(transformed(higher, sight), sight)
                eye = c.add(joint, eye)
                if entry.own is not c.IDENTITY:
                    eye, sight = c.rotate(entry.own, eye), c.rotate(entry.own, sight)
            to_target = c.sub(seen[i], eye)
            if entry.given > 0.0:
                turn_from, turn_to = ahead(eye, sight, seen[i], to_target)
                turn = entry.turn_on(turn_from, turn_to) if comfort is None else entry.turn(turn_from, turn_to, comfort)
                if turn is not c.IDENTITY:
                    eye, sight = c.rotate(turn, eye), c.rotate(turn, sight)
                    to_target = c.sub(seen[i], eye)
                    moved = max(moved, 2.0 * c.length(turn[1:]))
            if _is_aimed(sight, to_target):
                break
        self.error = c.angle_between(sight, to_target)
        return moved


def _is_aimed(sight: tuple, to_target: tuple) -> bool:
    ahead_, square = c.dot(sight, to_target), c.dot(to_target, to_target)
    if ahead_ <= 0.0 or ahead_ * ahead_ < 0.5 * square:
        return False
    across = c.cross(sight, to_target)
    return c.dot(across, across) <= _SINE_AIMED * square


def ahead(offset: tuple, sight: tuple, reach: tuple, to_target: tuple) -> tuple:
    """Unit directions, from a bone, of the point on the line of sight to turn and of the target.

    Args:
        offset: from the bone to the first bone. sight: the first bone's forward. reach: from the bone to the target.
        to_target: from the first bone to the target.

    The point is as far from the bone as the target: |offset + s sight| = |reach|. A target that is nearer than the
    line of sight ever comes has no such point; then it is the point as far from the first bone as the target, which
    is the article's way.
    """
    half = c.dot(offset, sight)
    root = half * half - c.dot(offset, offset) + c.dot(reach, reach)
    further = sqrt(max(root, 0.0)) - half
    if root <= 0.0 or further <= 0.0:
        further = c.length(to_target)
    turn_to = c.unit(reach, sight)
    return c.unit(c.along(offset, further, sight), turn_to), turn_to


def facing(forward, up, to_target, last_side, margin: float) -> tuple:
    """The side by which a target behind is looked at, with hysteresis, and the direction to look in instead.

    Within `margin` of straight behind (as seen along up) the side of before is kept, and the direction is that at the
    margin on that side; so neither a target that crosses straight behind nor one that dwells there flips the look.

    Args:
        forward: where the first bone looks, up: unit vectors. to_target: from the first bone to the target.
        last_side: 1 left, -1 right, 0 not known yet. margin: half the width of the zone [rad].
    Returns:
        (side, direction): the side now, and the vector to look along; None outside the zone.
    """
    level = c.along(forward, -c.dot(forward, up), up)
    distance = c.length(to_target)
    if c.dot(level, to_target) > 1e-6 * distance:
        # In front: then the side is known without the angle.
        return (-1.0 if c.dot(c.cross(up, level), to_target) < 0.0 else 1.0), None
    size = c.length(level)
    ahead_ = c.mul(1.0 / size, level) if size > 1e-6 else level
    left = c.cross(up, ahead_)
    x, y = c.dot(to_target, ahead_), c.dot(to_target, left)
    radius = sqrt(x * x + y * y)
    if size <= 1e-6 or radius <= 1e-6 * distance:  # straight above and below there is no behind
        return last_side, None
    azimuth = atan2(y, x)
    sign = -1.0 if azimuth < 0.0 else 1.0
    edge = math.pi - margin
    if abs(azimuth) <= edge:
        return sign, None
    side = last_side or sign
    at_edge = c.along(c.mul(radius * cos(edge), ahead_), radius * sin(edge) * side, left)
    return side, c.along(at_edge, c.dot(to_target, up), up)


def blended(turn_from, turn_to, up, weight: float) -> tuple:
    """The turn between the shortest one (weight 0) and the one about up alone (weight 1), and the `most` of an entry.

    Their rotation vectors are blended: the axis goes evenly from the one to the other, and steadily over to the other
    side as a target passes above or below, where the turn about up is none. Where that rather goes over up, either way
    round would do, and each pass would go further than the one before: together they may not go far.
    """
    if weight == 0.0:
        return c.arc(turn_from, turn_to, up), math.pi
    normal = c.cross(turn_from, turn_to)
    size = c.length(normal)
    axis = c.unit(normal, c.perpendicular(turn_from, up))
    angle = atan2(size, c.dot(turn_from, turn_to))
    about, share = angle_about(turn_from, turn_to, up)
    vector = c.along(c.mul((1.0 - weight) * angle, axis), weight * about, up)
    return c.axis_angle(c.unit(vector, up), c.length(vector)), math.pi * share / (12.0 - 11.0 * share)


def angle_about(turn_from, turn_to, axis) -> tuple:
    """The angle [rad] about a unit axis that brings one direction nearest to another, 0 where all are the same; and
    which share it is of the way round: less where the shorter way is over the axis, and near to the axis."""
    from_axis, to_axis = c.dot(turn_from, axis), c.dot(turn_to, axis)
    radius = sqrt(max(0.0, (1.0 - from_axis * from_axis) * (1.0 - to_axis * to_axis)))
    if radius < 1e-7:
        return 0.0, 0.0
    across, ahead = c.dot(axis, c.cross(turn_from, turn_to)), c.dot(turn_from, turn_to) - from_axis * to_axis
    # Of two directions near the axis and on opposite sides of it, the way from one to the other is over the axis.
    opposite = 0.5 - 0.5 * ahead / radius
    over = max(0.0, from_axis * to_axis) * 4.0 * opposite
    angle, around = atan2(across, ahead + over), atan2(across, ahead)
    counts = min(1.0, sqrt(max(0.0, 1.0 - max(from_axis * from_axis, to_axis * to_axis))) / _STEEP)
    return counts * angle, counts * angle / around if around != 0.0 else 1.0


def angle_to_cone(axis, angle: float, forward, reference, cosine: float) -> float:
    """How much of a turn `forward` can take until it leaves the cone about `reference`. The cosine between the two is a
    + b cos x + s sin x after a turn by x, for constants a, b and s: a wave about a that is highest at x = atan2(s, b).
    """
    fixed = c.dot(forward, axis) * c.dot(axis, reference)
    b = c.dot(forward, reference) - fixed
    s = c.dot(c.cross(axis, forward), reference)
    height = sqrt(b * b + s * s)
    return angle if height < 1e-12 else min(angle, max(atan2(s, b) + c.acos((cosine - fixed) / height), 0.0))
