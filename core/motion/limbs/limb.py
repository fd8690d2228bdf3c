"""Limbs as joints: where they bend, and how their end is brought to a point.

A limb of three joints has a closed form. Longer ones are brought there by FABRIK: A. Aristidou and J. Lasenby,
"FABRIK: a fast, iterative solver for the inverse kinematics problem", Graphical Models 73 (2011).
"""

from __future__ import annotations

from itertools import pairwise
from math import sqrt

from .. import components as c
from ..model_view import ModelView
from ..rig import Rig

# A chain that leaves its line by less, in parts of its length, is straight: what it does leave it by is noise. From
# there to twice that a limb's own plane takes over from the bind pose's.
_STRAIGHT = 0.01
# What two joints closer than this part of the chain's length call a direction is noise.
_TINY = 1e-12


def bend_direction(joints: list, line, size: float, of_bind) -> tuple:
    """Unit vector at a right angle to the line from hip to foot: to where the leg bends.

    A leg that is as good as straight bends to where the bind pose does, carried by its first bone; in between the
    one goes over into the other, so that noise in a straight leg's joints never turns its plane.
    """
    parts = [_off(c.sub(joint, joints[0]), line) for joint in joints[1:-1]]
    spare = c.perpendicular(line, of_bind)
    if not parts:
        return spare
    best = max(parts, key=c.length)
    widest = c.length(best)
    if widest > 2.0 * _STRAIGHT * size:
        return c.perpendicular(line, best)
    share = c.clamped(widest / (_STRAIGHT * (size if size > 0.0 else 1.0)) - 1.0, 0.0, 1.0)
    own = c.unit(best, spare)
    # Through opposite directions there is no steady way: the leg's own plane counts then.
    if c.dot(own, spare) < -0.5 and share > 0.0:
        share = 1.0
    return c.perpendicular(line, c.lerp(spare, own, share))


def bind_bend(rig: Rig, bones: tuple) -> tuple:
    """Where the leg bends in bind pose, in the frame of its first bone.

    A leg that is straight there too bends to the side of the foot's own offset, else any one, always the same.
    """
    view = ModelView(rig, rig.bind, rig.with_ancestors(bones))
    joints = [tuple(view.positions[bone]) for bone in bones]
    line = c.unit(c.sub(joints[-1], joints[0]), (0.0, 0.0, -1.0))
    size = sum(c.length(c.sub(b, a)) for a, b in pairwise(joints))
    parts = [_off(c.sub(joint, joints[0]), line) for joint in joints[1:-1]]
    # Toes, in front of the ankle, show where a knee goes; a hock's leg is hardly ever straight in bind pose.
    toes = [tuple(rig.bind_positions[child].tolist()) for child in rig.skeleton.children(bones[-1])]
    parts.sort(key=lambda part: -c.length(part))
    ahead = [_off(c.sub(toe, joints[-1]), line) for toe in toes]
    into_bone = c.conjugate(view.rotations[bones[0]])
    for part in [*parts[:1], *ahead]:
        if c.length(part) > 1e-4 * size:
            return c.rotate(into_bone, c.unit(part, line))
    return c.rotate(into_bone, c.some_perpendicular(line))


def triangle(upper: float, lower: float, distance: float, forward, side) -> tuple:
    """Knee and foot, seen from the hip, of two sides over a line: by the law of cosines.

    Args:
        upper, lower: lengths of the sides. distance: from hip to target.
        forward: unit vector to the target. side: unit vector at a right angle to it, to which the knee bends.

    A target too far gives both sides in line; one too near gives them folded onto each other, in line too.
    """
    held = c.clamped(distance, abs(upper - lower), upper + lower)
    double = 2.0 * upper * held
    # Folded onto the hip both sides are one line, to the side.
    cosine = (upper * upper + held * held - lower * lower) / double if double > 0.0 else 0.0
    cosine = c.clamped(cosine, -1.0, 1.0)
    sine = sqrt(1.0 - cosine * cosine)
    return c.along(c.mul(upper * cosine, forward), upper * sine, side), c.mul(held, forward)


def reach(chain: list, lengths: list, target, bend, tolerance: float, max_iterations: int) -> list:
    """Joints of a chain whose first stays and whose last goes near a target; no segment changes its length.

    Args:
        chain: joints. lengths: of its segments.
        bend: direction to which a straight chain gives way.
        tolerance: distance of the last joint from the target at which it ends, in parts of the chain's length.

    A target out of reach gives the straight chain that points at it; a chain that is there already stays.
    """
    start, total = chain[0], sum(lengths)
    span = c.sub(target, start)
    if c.length(span) >= total:
        return _straight(start, c.unit(span, c.unit(c.sub(chain[-1], start), bend)), lengths)
    margin = tolerance * total
    if c.length(c.sub(target, chain[-1])) <= margin:
        return chain
    joints = _off_line(chain, total, target, bend)
    for _ in range(max_iterations):
        if c.length(c.sub(target, joints[-1])) <= margin:
            break
        joints = _forward(start, _backward(joints, lengths, target), lengths)
    return joints


def close_gap(joints: list, target, bend) -> list:
    """Bring the last joint exactly to the target where that is in reach, the chain bending at one joint only.

    The chain is cut at the joint that bends it most; both parts turn as stiff pieces, as the two sides of a triangle
    over the line from the first joint to the target, in the plane that they were in. A chain as good as straight
    bends to `bend`.
    """
    start, end = joints[0], joints[-1]
    cut, widest = 1, -1.0
    for i in range(1, len(joints) - 1):
        sides = c.length(c.sub(joints[i], start)) + c.length(c.sub(end, joints[i]))
        if i == 1 or sides > widest * (1.0 + 1e-9):
            cut, widest = i, sides
    best, span = joints[cut], c.sub(target, start)
    upper, lower = c.length(c.sub(best, start)), c.length(c.sub(end, best))
    forward = c.unit(span, c.unit(c.sub(end, start), bend))
    before = c.unit(c.sub(end, start), forward)
    # The line from first to last joint first turns onto the new one, the plane of the bend with it.
    carry = c.arc(before, forward, bend)
    to_best = c.sub(best, start)
    side = _off(to_best, before)
    if c.length(side) <= _STRAIGHT * c.length(to_best):
        side = c.rotate(c.conjugate(carry), bend)
    side = c.perpendicular(forward, c.rotate(carry, side))
    knee, foot = triangle(upper, lower, c.length(span), forward, side)
    first = c.multiply(c.arc(c.unit(c.rotate(carry, to_best), side), c.unit(knee, side), side), carry)
    to_end, rest = c.rotate(carry, c.sub(end, best)), c.sub(foot, knee)
    second = c.multiply(c.arc(c.unit(to_end, side), c.unit(rest, side), side), carry)
    middle = c.add(start, knee)
    above = [c.add(start, c.rotate(first, c.sub(joint, start))) for joint in joints[: cut + 1]]
    return above + [c.add(middle, c.rotate(second, c.sub(joint, best))) for joint in joints[cut + 1 :]]


def _off(offset, line) -> tuple:
    """What an offset leaves a line by."""
    return c.along(offset, -c.dot(offset, line), line)


def _straight(start, direction, lengths: list) -> list:
    result, travelled = [start], 0.0
    for segment in lengths:
        travelled = travelled + segment
        result.append(c.along(start, travelled, direction))
    return result


def _off_line(chain: list, total: float, target, bend) -> list:
    """The chain, given a bend where it stands in line with its target: nothing would move it off that line."""
    along = c.unit(c.sub(target, chain[0]), c.unit(c.sub(chain[-1], chain[0]), bend))
    offsets = [c.sub(joint, chain[0]) for joint in chain[1:]]
    if max(c.length(_off(offset, along)) for offset in offsets) >= _STRAIGHT * total:
        return chain
    side = c.perpendicular(along, bend)
    bent = [c.along(c.along(chain[0], c.dot(offset, along), along), _STRAIGHT * total, side) for offset in offsets[:-1]]
    return [chain[0], *bent, chain[-1]]


def _backward(joints: list, lengths: list, target) -> list:
    """From the target to the first joint."""
    result = [target]
    for i in range(len(lengths) - 1, -1, -1):
        direction = _direction(result[0], joints[i], joints[i + 1], lengths[i])
        result.insert(0, c.along(result[0], lengths[i], direction))
    return result


def _forward(start, joints: list, lengths: list) -> list:
    """From the first joint, back in its place, to the last."""
    result = [start]
    for i, segment in enumerate(lengths):
        direction = _direction(result[-1], joints[i + 1], joints[i], segment)
        result.append(c.along(result[-1], segment, direction))
    return result


def _direction(start, end, old_start, segment: float) -> tuple:
    """Unit vector from a moved joint to its neighbour; the old one where they have met."""
    way, old = c.sub(end, start), c.unit(c.sub(end, old_start), (0.0, 0.0, 1.0))
    return old if c.length(way) <= _TINY * segment else c.unit(way, old)
