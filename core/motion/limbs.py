"""Limbs: two-bone IK, which brings an end to a point, and leg stabilisers, which put feet back where they were.

A limb of three joints has a closed form. Longer ones are brought there by FABRIK and closed exactly: A. Aristidou and
J. Lasenby, "FABRIK: a fast, iterative solver for the inverse kinematics problem", Graphical Models 73 (2011).

Two-bone IK follows Unreal's node of that name where the triangle has no answer; `solve` lists the cases. A stabilised
leg keeps the shape of the reference pose as far as it can: the line from hip to foot is turned by the smallest angle,
the plane in which the leg bends goes with it, and within that plane the joints move.
"""

from dataclasses import InitVar, dataclass, field
from itertools import accumulate, pairwise
from math import sqrt

import numpy as np

from ..anatomy.roles import ARM, FOOT, LEG, TWIST
from ..errors import RagdollError
from ..skeleton import path_to_root
from . import components as c
from .components import ModelView, transformed, write_rotations
from .stack import Inputs, LocalPose, Rig, point_to_model, vector_of, weight_of

# A chain that leaves its line by less, in parts of its length, is straight: what it does leave it by is noise. From
# there to twice that a limb's own plane takes over from the bind pose's.
_STRAIGHT = 0.01
_TINY = 1e-12  # what two joints closer than this part of the chain's length call a direction is noise
_PIECES = (*ARM, *LEG[: LEG.index(FOOT) + 1])  # roles of a limb's parts that rigs make of several bones in a row
_ASIDE = 0.05  # of the way past it, how far a joint of bind pose may be off that where two pieces of one part meet


def without_pieces(rig: Rig, path: list) -> list:
    """A path from a limb's end upwards without the bones that only go on the part that their parent begins.

    These are the second halves of bones in two parts: they keep their shape where the limb is bent. Both ends stay."""
    kept, heads = path[:1], rig.bind_positions
    for bone, above in pairwise(path[1:]):
        role, way = rig.roles[bone], heads[kept[-1]] - heads[above]
        goes_on = role == TWIST or (role in _PIECES and role == rig.roles[above])
        if not goes_on or np.linalg.norm(np.cross(heads[bone] - heads[above], way)) > _ASIDE * (way @ way):
            kept.append(bone)
    return kept + path[1:][-1:]


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

    A leg that is straight there too bends to the side of the foot's own offset, else any one, always the same."""
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
    return c.along(c.mul(upper * cosine, forward), upper * sqrt(1.0 - cosine * cosine), side), c.mul(held, forward)


def reach(chain: list, lengths: list, target, bend, tolerance: float, max_iterations: int) -> list:
    """Joints of a chain whose first stays and whose last goes near a target; no segment changes its length.

    Args:
        chain: joints. lengths: of its segments. bend: direction to which a straight chain gives way.
        tolerance: distance of the last joint from the target at which it ends, in parts of the chain's length.

    A target out of reach gives the straight chain that points at it; a chain that is there already stays.
    """
    start, total = chain[0], sum(lengths)
    span = c.sub(target, start)
    if c.length(span) >= total:
        forward = c.unit(span, c.unit(c.sub(chain[-1], start), bend))
        return [start, *(c.along(start, travelled, forward) for travelled in accumulate(lengths))]
    margin = tolerance * total
    if c.length(c.sub(target, chain[-1])) <= margin:
        return chain
    joints = _off_line(chain, total, target, bend)
    for _ in range(max_iterations):
        if c.length(c.sub(target, joints[-1])) <= margin:
            break
        joints = _stretched(start, _stretched(target, joints[::-1], lengths[::-1])[::-1], lengths)
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


def _off_line(chain: list, total: float, target, bend) -> list:
    """The chain, given a bend where it stands in line with its target: nothing would move it off that line."""
    along = c.unit(c.sub(target, chain[0]), c.unit(c.sub(chain[-1], chain[0]), bend))
    offsets = [c.sub(joint, chain[0]) for joint in chain[1:]]
    if max(c.length(_off(offset, along)) for offset in offsets) >= _STRAIGHT * total:
        return chain
    side = c.perpendicular(along, bend)
    bent = [c.along(c.along(chain[0], c.dot(offset, along), along), _STRAIGHT * total, side) for offset in offsets[:-1]]
    return [chain[0], *bent, chain[-1]]


def _stretched(start, joints: list, lengths: list) -> list:
    """The joints of a chain whose first one is moved: each at its distance from the one before, towards where it was.

    Where two have met, the segment keeps its direction."""
    result = [start]
    for (old, joint), segment in zip(pairwise(joints), lengths, strict=True):
        way, before = c.sub(joint, result[-1]), c.unit(c.sub(joint, old), (0.0, 0.0, 1.0))
        direction = before if c.length(way) <= _TINY * segment else c.unit(way, before)
        result.append(c.along(result[-1], segment, direction))
    return result


# ---- two-bone IK ----------------------------------------------------------------------------------------------------
WORLD, OBJECT, BONE, BEND = "WORLD", "OBJECT", "BONE", "BEND"
_NEAR = 1e-9  # of both lengths together: an effector this near to the root has no direction
_AT_ROOT = (1.0, 0.0, 0.0)


def solve(root, joint, end, effector, pole, stretch: tuple | None = None) -> tuple:
    """Joint and end, both points, of a limb whose end goes to an effector.

    With a = |joint - root|, b = |end - joint| and d the way from root to effector, the joint lies a cos x along d and
    a sin x beside it, cos x = (a^2 + d^2 - b^2) / (2 a d): behind the root where the cosine is negative.

    - Effector at the root: the direction is (1, 0, 0).
    - Pole on the line, or at the root: some perpendicular of the line, which depends on the line alone.
    - Beyond reach: both in line, at their own lengths. Nearer than |a - b|: in line, folded.
    - A limb of no length: joint and end stay at the root.

    Args:
        root, joint, end, effector, pole: points.
        stretch: (start ratio, largest scale), or None. From the start ratio of the reach on both lengths grow, up
            to the largest scale, which is reached where the effector is that many times the reach away.
    """
    upper, lower = c.length(c.sub(joint, root)), c.length(c.sub(end, joint))
    span = c.sub(effector, root)
    distance = c.length(span)
    total = upper + lower
    forward = c.unit(span, _AT_ROOT) if distance > _NEAR * total else _AT_ROOT
    side = c.perpendicular(forward, c.sub(pole, root))
    if stretch is not None:
        start, largest = stretch
        ratio = distance / (total if total > 0.0 else 1.0)
        width = largest - start  # a range of no width is a step: nothing before it, all behind it
        factor = 1.0 + (largest - 1.0) * (c.clamped((ratio - start) / width, 0.0, 1.0) if width > 0.0 else 0.0)
        upper, lower = factor * upper, factor * lower
    knee, foot = triangle(upper, lower, distance, forward, side)
    return c.add(root, knee), c.add(root, foot)


@dataclass
class TwoBoneIK:
    """An entry of the motion stack; the end bone keeps its rotation in model space unless told otherwise. Raises
    RagdollError: a bone without a grandparent, or with a frame below the limb; names entry and bones."""

    rig: InitVar[Rig]  # the character, to check the bones against
    end_bone: int  # level index; its parent is the lower limb, its grandparent the upper, see `without_pieces`
    name: str = "Two-bone IK"  # for messages
    # allow_stretching, start_stretch_ratio, max_stretch_scale: see `solve`
    allow_stretching: bool = False
    start_stretch_ratio: float = 1.0
    max_stretch_scale: float = 1.2
    connected: bool = False  # a bone of the limb stays at its parent's tail, so that the limb grows by its scale
    # effector_space, pole_space: WORLD, OBJECT (the armature's) or BONE. The pole's may be BEND: the limb keeps
    # the plane that it bends in, which goes with the line from root to effector.
    effector_space: str = WORLD
    # effector_bone, pole_bone: level indices, for BONE; positions in their own frame
    effector_bone: int = -1
    pole_space: str = WORLD
    pole_bone: int = -1
    keep_end_rotation: bool = True  # hold the end bone's rotation in model space; else it follows the lower limb
    bones: tuple = field(init=False)  # upper, lower and end bone
    below: tuple = field(init=False)  # the bones below the upper one up to the lower, and from there to the end

    def __post_init__(self, rig: Rig) -> None:
        title = f'{self.name}, "{rig.name(self.end_bone)}"'
        path = path_to_root(rig.parents, self.end_bone)
        parts = without_pieces(rig, path)
        if len(parts) < 2:
            raise RagdollError(f"{title}: it has no parent to be the lower limb")
        if len(parts) < 3:
            raise RagdollError(f'{title}: its parent "{rig.name(parts[1])}" has no parent to be the upper limb')
        self.bones = tuple(parts[2::-1])
        lower, upper = map(path.index, parts[1:3])
        self.below = path[lower:upper], path[:lower]
        for what in ("effector", "pole"):
            space, bone = getattr(self, f"{what}_space"), getattr(self, f"{what}_bone")
            if space == BONE and self.bones[0] in path_to_root(rig.parents, bone):
                raise RagdollError(f'{title}: the {what}\'s bone "{rig.name(bone)}" hangs on the limb itself')
        self._closure = rig.with_ancestors([self.end_bone, self.effector_bone, self.pole_bone])
        self._bend = bind_bend(rig, self.bones) if self.pole_space == BEND else None

    def apply(self, rig: Rig, pose: LocalPose, inputs: Inputs, state=None, seconds: float = 0.0) -> tuple:
        """(pose, None): the pose with the limb brought to `inputs.target`, bending to `inputs.pole`. Raises
        RagdollError: effector, pole or weight that are not numbers; names the entry."""
        weight = weight_of(inputs.weight, self.name)
        if weight == 0.0:
            return pose, None
        view = ModelView(rig, pose, self._closure)
        effector = self._point(view, inputs.target, inputs.world, "effector")
        bends = self.pole_space == BEND
        pole = self._bend_point(view, effector) if bends else self._point(view, inputs.pole, inputs.world, "pole")
        old = [view.positions[bone] for bone in self.bones]
        stretch = (self.start_stretch_ratio, self.max_stretch_scale) if self.allow_stretching else None
        new = [old[0], *solve(*old, effector, pole, stretch)]
        turns = [c.IDENTITY]  # each bone turns by the smallest angle that its segment needs, which keeps its twist
        for (a, b), (new_a, new_b) in zip(pairwise(old), pairwise(new), strict=True):
            before = c.unit(c.sub(b, a), (0.0, 0.0, 1.0))
            turns.append(c.arc(before, c.unit(c.sub(new_b, new_a), before), c.sub(pole, old[0])))
        solved = {}
        for bone, above, turn in zip(self.bones, turns, [*turns[1:], c.IDENTITY], strict=True):
            carrying = c.multiply(above, view.parent_rotation(bone))  # the bone above, or its last piece
            solved[bone] = c.multiply(c.conjugate(carrying), c.multiply(turn, view.rotations[bone]))
        if not self.keep_end_rotation:
            del solved[self.end_bone]
        before = view.local_rotations
        result = write_rotations(pose, {b: c.between(before[b], q, weight) for b, q in solved.items()})
        if self.allow_stretching:
            grown, plain = ([c.length(c.sub(b, a)) for a, b in pairwise(joints)] for joints in (new, old))
            self._stretch(view, result, grown, plain, weight)
        return result, None

    def _point(self, view: ModelView, values, world, what: str) -> tuple:
        """Effector or pole in model space."""
        space, bone = getattr(self, f"{what}_space"), getattr(self, f"{what}_bone")
        point = vector_of(values, self.name, what)
        if space == BONE:
            return c.add(view.positions[bone], view.axis(bone, point))
        return tuple(point_to_model(point, world).tolist()) if space == WORLD else point

    def _bend_point(self, view: ModelView, effector) -> tuple:
        """A point beside the line from root to effector, to where the limb bends."""
        joints = [view.positions[bone] for bone in self.bones]
        size = sum(c.length(c.sub(b, a)) for a, b in pairwise(joints))
        line = c.unit(c.sub(joints[2], joints[0]), (0.0, 0.0, -1.0))
        bend = bend_direction(joints, line, size, c.rotate(view.rotations[self.bones[0]], self._bend))
        return c.along(joints[0], size, c.rotate(c.arc(line, c.unit(c.sub(effector, joints[0]), line), bend), bend))

    def _stretch(self, view: ModelView, result: LocalPose, grown: list, plain: list, weight: float) -> None:
        """Give the upper and the lower limb the share of their new lengths that the weight says."""
        if self.connected:  # evenly: shear would come from below a bone that grows in one direction alone
            ratio = sum(grown) / (sum(plain) or 1.0)  # `solve` has both grow by the same
            result.scales = np.array(result.scales, order="C")
            result.scales[self.bones[0]] *= 1.0 + weight * (ratio - 1.0)
            result.scales[self.end_bone] /= 1.0 + weight * (ratio - 1.0)  # the end keeps its size
            return
        result.positions = np.array(result.positions, order="C")
        for bones, new, old in zip(self.below, grown, plain, strict=True):
            ratio = new / (old if old > 0.0 else 1.0)
            for bone in bones:
                result.positions[bone] = c.mul(1.0 + weight * (ratio - 1.0), view.local_positions[bone])


# ---- leg stabilisers ------------------------------------------------------------------------------------------------
SHORTEST, LONGEST = 1, 8
# What a foot may have moved and still stand where it was, in parts of the leg: rounding of the pose's numbers.
_STILL = 1e-9
# How far from its place, in parts of the leg, a foot below unevenly scaled bones may come out; steps to it.
_PLACED, _STEPS = 1e-6, 20


@dataclass
class LegStabilizer:
    """One foot. Raises RagdollError: more bones than the chain has, or none above; names the entry and its bones."""

    rig: InitVar[Rig]  # the character, to check the bones against
    foot_bone: int  # level index
    # Bones of the leg from the foot up, the foot included: 1 to 8, 3 for a human. One alone, which hangs on a control,
    # is moved.
    bones_count: int = 3
    name: str = "Leg stabiliser"  # for messages
    ik_weight: float = 1.0  # share of the way back to the reference, 0..1; multiplied by the inputs' weight
    min_distance: float = 0.0  # how far the foot must have moved before it is put back, armature units; 0: always
    max_iterations: int = 30  # of FABRIK, where the leg has more than three joints
    tolerance: float = 1e-3  # at which FABRIK ends, in parts of the leg's length; what is left is closed exactly
    bones: tuple = field(init=False)
    """The leg's bones from the top to the foot, its pieces among them, level indices."""

    def __post_init__(self, rig: Rig) -> None:
        title = f'{self.name}, foot "{rig.name(self.foot_bone)}"'
        bones = path_to_root(rig.parents, self.foot_bone)[: self.bones_count][::-1]
        top = rig.name(bones[0])
        if len(bones) < self.bones_count:
            raise RagdollError(f'{title}: {self.bones_count} bones asked for, but the chain ends at "{top}"')
        if rig.parents[bones[0]] < 0:
            raise RagdollError(f'{title}: the leg begins at "{top}", which hangs on nothing')
        self.bones = tuple(bones)
        self._closure = rig.with_ancestors(bones)
        parts = without_pieces(rig, bones[::-1])[::-1]
        self._bend = bind_bend(rig, tuple(parts))
        self.joints = [bones.index(bone) for bone in parts]  # places in the bones where it bends, and the foot's


def stabilize(legs: list[LegStabilizer], rig: Rig, pose: LocalPose, inputs: Inputs, now=None, then=None) -> LocalPose:
    """The pose with the feet of legs back in the places and orientations that they have in `inputs.reference`.

    No leg may hang on another. `now` and `then` are the views of the legs in both poses, where they are known.
    Raises RagdollError, naming the first leg: a weight that is not a number.
    """
    weight = weight_of(inputs.weight, legs[0].name)
    if weight == 0.0:
        return pose
    closure = tuple(sorted({bone for leg in legs for bone in leg._closure}))
    now, then = now or ModelView(rig, pose, closure), then or ModelView(rig, inputs.reference, closure)
    rotations, places = {}, {}
    for leg in legs:
        if leg.ik_weight > 0.0 and len(leg.bones) > 1:
            rotations |= _solve(leg, now, then, leg.ik_weight * weight)
        elif leg.ik_weight > 0.0:
            _put_back(leg, now, then, leg.ik_weight * weight, places, rotations)
    result = write_rotations(pose, rotations)
    if places:
        result.positions = np.array(result.positions, order="C")
        result.positions[list(places)] = list(places.values())
    return result


def _put_back(leg: LegStabilizer, now: ModelView, then: ModelView, weight: float, places: dict, rotations: dict):
    """Note the local position and rotation of a foot that is moved by itself."""
    foot = leg.foot_bone
    place, wanted = now.positions[foot], then.positions[foot]
    if c.length(c.sub(wanted, place)) >= leg.min_distance:
        frame = now.space(now.rig.parents[foot])
        places[foot] = c.into(frame, c.lerp(place, wanted, weight))
        turned = c.between(now.rotations[foot], then.rotations[foot], weight)
        rotations[foot] = c.normalized(c.multiply(c.conjugate(frame[1]), turned))


def _solve(leg: LegStabilizer, now: ModelView, then: ModelView, weight: float) -> dict:
    """Local rotations of the leg's bones; empty where the foot stands as it did."""
    bones = leg.bones
    frame, foot = now.frame(bones[0]), bones[-1]
    size = sum(map(c.length, offsets := _offsets(now, bones)))
    place, wanted = now.frame(foot).origin, then.frame(foot).origin
    moved = c.length(c.sub(wanted, place))
    x, y, z = c.multiply(c.conjugate(now.rotations[foot]), then.rotations[foot])[1:]
    turned = abs(x) + abs(y) + abs(z)  # the sine of half the angle, to first order
    if (moved <= _STILL * size and turned <= _STILL) or moved < leg.min_distance:
        return {}
    # The leg as it was, hung on the hip's new place; at a weight below 1 what is in between.
    based = [then.rotations[b] for b in bones]
    if weight < 1.0:
        based = [c.between(now.rotations[b], r, weight) for b, r in zip(bones, based, strict=True)]
        wanted = c.lerp(place, wanted, weight)
    inverse, away = frame.inverse(), c.sub(wanted, frame.origin)
    target = transformed(inverse, away)
    rotations = _toward(leg, now, offsets, based, target)
    if not now.is_uneven(foot):
        return rotations
    # Unevenly scaled bones of the leg itself change its segments' lengths as they turn.
    missed = c.sub(wanted, now.shown(foot, rotations))
    for _ in range(_STEPS):
        if c.length(missed) <= _PLACED * size:
            break
        target = c.add(target, transformed(inverse, missed))
        again = _toward(leg, now, offsets, based, target)
        still = c.sub(wanted, now.shown(foot, again))
        if c.length(still) >= c.length(missed):
            break
        rotations, missed = again, still
    return rotations


def _offsets(view: ModelView, bones: tuple) -> list:
    """Each joint of a leg from the one above, in the upper bone's frame, sized as in the frame of the first bone."""
    offsets = [view.local_positions[bone] for bone in bones[1:]]
    if view.scales is None:
        return offsets
    scale = view.local_scales[bones[0]] if view.is_uneven(bones[0]) else view.scales[bones[0]]
    result = []
    for bone, offset in zip(bones[1:], offsets, strict=True):
        result.append(c.times(scale, offset))
        scale = c.times(scale, view.local_scales[bone])
    return result


def _toward(leg: LegStabilizer, now: ModelView, offsets: list, based: list, target: tuple) -> dict:
    """Local rotations of the leg's bones that bring the foot to a point.

    Target and `based`, the rotations of the bones whose shape the leg keeps, are in the frame of the first bone."""
    bones, hip, places = leg.bones, (0.0, 0.0, 0.0), leg.joints
    joints = [hip]
    for rotation, offset in zip(based, offsets, strict=False):
        joints.append(c.add(joints[-1], c.rotate(rotation, offset)))
    if len(places) < len(bones):  # a part keeps its shape, and so the way from joint to joint
        joints = [joints[i] for i in places]
        offsets = [c.sub(b, a) for a, b in pairwise(joints)]
    lengths = [c.length(offset) for offset in offsets]
    line = c.unit(joints[-1], (0.0, 0.0, -1.0))
    goal = c.unit(target, line)
    bend = bend_direction(joints, line, sum(lengths), c.rotate(based[0], leg._bend))
    carry = c.arc(line, goal, bend)
    turned = [c.rotate(carry, joint) for joint in joints]
    side = c.rotate(carry, bend)
    if len(places) == 3:
        solved = [hip, *triangle(lengths[0], lengths[1], c.length(target), goal, side)]
    elif len(places) == 2:
        solved = [hip, c.mul(lengths[0], goal)]
    else:
        solved = reach(turned, lengths, target, side, leg.tolerance, leg.max_iterations)
        solved = close_gap(solved, target, side)
    rotations = {}
    above = now.parent_rotation(bones[0])
    part = -1
    for i, bone in enumerate(bones):
        rotation, part = based[i], part + (i in places)
        if i < len(bones) - 1:
            old = c.unit(c.sub(turned[part + 1], turned[part]), goal)
            new = c.unit(c.sub(solved[part + 1], solved[part]), old)
            rotation = c.multiply(c.arc(old, new, side), c.multiply(carry, rotation))
        rotations[bone] = c.normalized(c.multiply(c.conjugate(above), rotation))
        above = rotation
    return rotations
