"""Where a limb bends: the plane that its joints lie in, steady also where the limb is straight."""

from __future__ import annotations

from itertools import pairwise

from . import components as c
from .model_view import ModelView
from .rig import Rig

# A leg bent by less is straight; from there to twice that its own plane takes over from the bind pose's [share].
_STRAIGHT = 0.01


def bend_direction(m, joints: list, line, size, of_bind) -> tuple:
    """Unit vector at a right angle to the line from hip to foot: to where the leg bends.

    A leg that is as good as straight bends to where the bind pose does, carried by its first bone; in between the
    one goes over into the other, so that noise in a straight leg's joints never turns its plane.
    """
    widest, best = None, None
    for joint in joints[1:-1]:
        offset = c.sub(joint, joints[0])
        part = c.along(offset, -c.dot(offset, line), line)
        far = c.length(m, part)
        if best is None:
            widest, best = far, part
        else:
            best = c.choose(m, far > widest, part, best)
            widest = m.maximum(far, widest)
    if best is not None and m.all(widest > 2.0 * _STRAIGHT * size):
        return c.perpendicular(m, line, best)
    spare = c.perpendicular(m, line, of_bind)
    if best is None:
        return spare
    share = m.minimum(m.maximum(widest / (_STRAIGHT * m.where(size > 0.0, size, 1.0)) - 1.0, 0.0), 1.0)
    own = c.unit(m, best, spare)
    # Through opposite directions there is no steady way: the leg's own plane counts then.
    share = m.where((c.dot(own, spare) < -0.5) & (share > 0.0), 1.0, share)
    return c.perpendicular(m, line, c.lerp(spare, own, share))


def bind_bend(rig: Rig, bones: tuple) -> tuple:
    """Where the leg bends in bind pose, in the frame of its first bone, as plain numbers.

    A leg that is straight there too bends to the side of the foot's own offset, else any one, always the same.
    """
    m = c.FLOATS
    view = ModelView(rig, rig.bind, rig.with_ancestors(bones), 0)
    joints = [tuple(view.positions[bone]) for bone in bones]
    line = c.unit(m, c.sub(joints[-1], joints[0]), (0.0, 0.0, -1.0))
    size = sum(c.length(m, c.sub(b, a)) for a, b in pairwise(joints))
    parts = [c.along(o, -c.dot(o, line), line) for o in (c.sub(j, joints[0]) for j in joints[1:-1])]
    # Toes, in front of the ankle, show where a knee goes; a hock's leg is hardly ever straight in bind pose.
    toes = [tuple(rig.bind_positions[child].tolist()) for child in rig.skeleton.children(bones[-1])]
    parts.sort(key=lambda part: -c.length(m, part))
    ahead = [c.sub(toe, joints[-1]) for toe in toes]
    ahead = [c.along(o, -c.dot(o, line), line) for o in ahead]
    for part in [*parts[:1], *ahead]:
        if c.length(m, part) > 1e-4 * size:
            return c.rotate(c.conjugate(view.rotations[bones[0]]), c.unit(m, part, line))
    return c.rotate(c.conjugate(view.rotations[bones[0]]), c.some_perpendicular(m, line))
