"""What one entry of a look-at chain does: turn as near to the target as its limit and its weight about up allow."""

from __future__ import annotations

from . import components as c

_PLAIN = 1e-100  # a longer normal of two directions needs no substitute


def ahead(m, offset, sight, reach, to_target) -> tuple:
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
    further = m.sqrt(m.maximum(root, 0.0)) - half
    exact = (root > 0.0) & (further > 0.0)
    further = m.where(exact, further, c.length(m, to_target))
    turn_to = c.unit(m, reach, sight)
    return c.unit(m, c.along(offset, further, sight), turn_to), turn_to


def step(m, turn_from, turn_to, forward, reference, limit, up_weight: float, up) -> tuple:
    """The turn that brings one direction nearest to another within an entry's limit."""
    cosine, beyond = m.cos(limit), None
    if up_weight == 0.0:
        turn = c.arc(m, turn_from, turn_to, up)
        beyond = c.rotate(turn, forward)
        if m.all(c.dot(beyond, reference) >= cosine - 1e-12):
            return turn
    axis, angle = _axis_and_angle(m, turn_from, turn_to, up, up_weight)
    allowed = angle_to_cone(m, axis, angle, forward, reference, cosine)
    turn = c.axis_angle(m, axis, allowed)
    stopped = allowed < angle - 1e-12
    if up_weight == 1.0 or not m.any(stopped):
        return turn
    # At the limit what is left of the turn slides along the cone, but not where it is about up alone.
    at_limit = c.rotate(turn, forward)
    if beyond is None:
        beyond = c.rotate(c.axis_angle(m, axis, angle), forward)
    # A turn to straight behind names no side of the cone; the one it is on then.
    side = c.perpendicular(m, reference, c.along(beyond, 1e-6, at_limit))
    nearest = c.along(c.mul(cosine, reference), m.sin(limit), side)
    slide = c.arc(m, at_limit, nearest, up)
    if up_weight > 0.0:
        slide = c.between(m, c.IDENTITY, slide, 1.0 - up_weight)
    return c.choose(m, stopped, c.multiply(slide, turn), turn)


def _axis_and_angle(m, turn_from, turn_to, up, up_weight: float) -> tuple:
    """Unit axis and angle [rad] of the turn, between the shortest and the one about up alone.

    Rotation vectors are blended, so that the axis goes over steadily and a target straight above, which no turn
    about up brings nearer, needs no choice of side.
    """
    normal, cosine = c.cross(turn_from, turn_to), c.dot(turn_from, turn_to)
    size = c.length(m, normal)
    if m.all(size > _PLAIN):
        axis = c.mul(1.0 / size, normal)
    else:
        axis = c.unit(m, normal, c.perpendicular(m, turn_from, up))
    angle = m.atan2(size, cosine)
    if up_weight == 0.0:
        return axis, angle
    from_up, to_up = c.dot(turn_from, up), c.dot(turn_to, up)
    across, ahead = c.dot(up, normal), cosine - from_up * to_up
    level = (1.0 - from_up * from_up > 1e-14) & (1.0 - to_up * to_up > 1e-14)
    about_up = m.where(level, m.atan2(across, ahead), 0.0)
    blended = c.along(c.mul((1.0 - up_weight) * angle, axis), up_weight * about_up, up)
    return c.unit(m, blended, up), c.length(m, blended)


def angle_to_cone(m, axis, angle, forward, reference, cosine):
    """How much of a turn `forward` can take until it leaves the cone about `reference`.

    The cosine between the two is a + b cos x + s sin x after a turn by x, for constants a, b and s: a wave about a
    that is highest at x = atan2(s, b).
    """
    fixed = c.dot(forward, axis) * c.dot(axis, reference)
    b = c.dot(forward, reference) - fixed
    s = c.dot(c.cross(axis, forward), reference)
    height = m.sqrt(b * b + s * s)
    flat = height < 1e-12
    width = m.acos((cosine - fixed) / m.where(flat, 1.0, height))
    most = m.maximum(m.atan2(s, b) + width, 0.0)
    return m.where(flat, angle, m.minimum(angle, most))
