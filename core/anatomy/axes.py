"""The character's own axes and the frame of every joint, from the places of the joints alone.

Nothing here reads a bone's axes, so the result does not depend on roll, nor on where the character stands. All is in
one frame, the armature's or the world's; lengths may be scaled.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .. import quaternion
from ..skeleton import path_to_root
from . import roles
from .roles import of_role

# A bind pose bent by less says nothing about the axis of a knee or elbow, one bent by more says all [rad].
BEND_NOTICED, BEND_TRUSTED = np.radians(4.0), np.radians(15.0)
# A bend against what the role expects is taken for a bind pose pushed through straight up to this angle [rad].
BEND_CONTRADICTS = np.radians(30.0)
ASIDE = 0.7  # share of a shoulder blade's way that leads to the side, from which on it is no part of the leg's bend
_TINY = 1e-6  # of the character's size: shorter directions mean nothing
_LIMBS = (*pairwise(roles.ARM), *pairwise(roles.LEG))
# Roles in which a limb goes on, and the one before.
_NEXT = {above: (below,) for above, below in _LIMBS} | {roles.HAND: (roles.FINGER,)}
_NEXT |= {role: (role,) for role in (roles.FINGER, roles.THUMB, roles.TOE, roles.TAIL, roles.EAR, roles.WING)}
_NEXT |= {role: (role, *roles.TRUNK[i + 1 : i + 3]) for i, role in enumerate(roles.TRUNK[1:4], 1)}
_NEXT[roles.PELVIS] = roles.SPINE, roles.CHEST
_PREVIOUS = {below: above for above, below in _LIMBS[:-1]}
_BETWEEN = roles.TWIST, roles.HELPER, roles.GENERIC


@dataclass(frozen=True)
class Axes:
    """The character's unit axes [3] each, at right angles; `forward` is ``left x up``.

    `swapped`: the rig calls left what is right."""

    up: np.ndarray
    left: np.ndarray
    forward: np.ndarray
    swapped: bool = False

    def mirror(self, side: str) -> float:
        """-1 for the side that is the character's right, 1 for the other and for the middle."""
        return -1.0 if side == (roles.LEFT if self.swapped else roles.RIGHT) else 1.0


@dataclass(frozen=True)
class JointFrame:
    """The frame of a joint in bind pose."""

    # columns X, Y, Z [3, 3]. Y lies along the limb. A positive turn about X is flexion; about Z, of a left limb,
    # outward, of a right one inward; about Y, of a left limb, its front inwards, of a right one outwards.
    rotation: np.ndarray
    bend: float  # of the bind pose against the bone before, negative when overstretched [rad]; nan where it is unknown


def unit(vector) -> np.ndarray | None:
    """A vector [3] at length 1; None when it has none."""
    length = float(np.linalg.norm(vector))
    return np.asarray(vector) / length if length > 0.0 else None


def across(vector, axis) -> np.ndarray:
    """The part of a vector [3] at a right angle to a unit axis [3]."""
    return vector - axis * float(vector @ axis)


def angle_between(a, b) -> float:
    """Angle [rad] between two unit vectors [3], accurate for small ones."""
    return 2.0 * float(np.arctan2(np.linalg.norm(a - b), np.linalg.norm(a + b)))


def many_legged(anatomy) -> bool:
    """Whether it has more legs than one on each side that are hind legs: a spider, a beetle."""
    return sum(anatomy.order[row] == 0 for row in of_role(anatomy, roles.FOOT)) > len(roles.SIDES)  # not their pieces


# ---- the character's axes -----------------------------------------------------------------------------------------
def character_axes(anatomy, heads, directions) -> Axes | None:
    """Up, left and forward of a character in bind pose; None when nothing tells them.

    Left is where the left joints are, seen from their right twins. Up leads from the feet to the hips of animals, to
    the head of humans. Forward is at right angles to both; its sign comes from where the feet point, else from front
    and hind legs, else from the names of the sides. Where that contradicts the names of the sides, left follows it:
    many rigs are named as seen by the viewer. `heads` are joints in bind pose [n, 3]; directions of the bones [n, 3]:
    see `limb_directions`.
    """
    heads = np.asarray(heads, dtype=float)
    size = float(np.max(np.ptp(heads, axis=0))) if len(heads) else 0.0
    left, up = _named_left(anatomy, heads, size), _raw_up(anatomy, heads, size)
    up = None if left is None or up is None else unit(across(up, left))
    if up is None:
        return None
    forward = quaternion.cross(left, up)
    seen = _raw_forward(anatomy, heads, size, directions)
    swapped = seen is not None and float(seen @ forward) < 0.0
    if swapped:
        left, forward = -left, -forward
    return Axes(up, left, forward, swapped)


def _named_left(anatomy, heads, size):
    # Hips and shoulders keep their places in any pose; the rest of the limbs only where there is nothing better.
    for names in ((roles.THIGH, roles.UPPER_ARM, roles.CLAVICLE), (*roles.ARM, *roles.LEG, roles.EYE, roles.EAR)):
        total = np.zeros(3)
        for role in names:
            for a, b in zip(*[of_role(anatomy, role, side) for side in (roles.LEFT, roles.RIGHT)], strict=False):
                total += heads[a] - heads[b]
        if np.linalg.norm(total) > _TINY * size:
            return unit(total)
    return None


def _mean(anatomy, heads, names) -> np.ndarray | None:
    """Mean place of the bones of the first of some roles that there is."""
    found = next(filter(None, (of_role(anatomy, name) for name in names)), None)
    return None if found is None else heads[found].mean(axis=0)


def _raw_up(anatomy, heads, size):
    if anatomy.kind == roles.HUMAN:
        low = _mean(anatomy, heads, (roles.FOOT, roles.SHANK, roles.PELVIS, roles.SPINE))
        high = _mean(anatomy, heads, (roles.HEAD, roles.NECK, roles.CHEST, roles.UPPER_ARM))
    else:
        joints = (roles.FOOT, roles.SHANK), (roles.HAND, roles.FOREARM), (roles.THIGH,), (roles.UPPER_ARM,)
        feet, hands, hips, shoulders = (_mean(anatomy, heads, names) for names in joints)
        low = feet if hands is None or feet is None else (feet + hands) / 2.0
        high = hips if shoulders is None or hips is None or hands is None else (hips + shoulders) / 2.0
    return None if low is None or high is None or np.linalg.norm(high - low) < _TINY * size else high - low


def _raw_forward(anatomy, heads, size, directions):
    """A direction that tells front from back, or None."""
    if many_legged(anatomy):
        return None  # their feet point everywhere
    total = np.zeros(3)
    for toe in of_role(anatomy, roles.TOE):
        feet = of_role(anatomy, roles.FOOT, anatomy.sides[toe])
        if feet and anatomy.order[toe] == 0:
            total += heads[toe] - heads[feet[0]]
    if anatomy.kind == roles.QUADRUPED:
        front = _mean(anatomy, heads, (roles.UPPER_ARM, roles.HEAD, roles.NECK))
        hind = _mean(anatomy, heads, (roles.THIGH, roles.PELVIS))
        if front is not None and hind is not None:
            return front - hind
    if np.linalg.norm(total) < _TINY * size:
        for foot in of_role(anatomy, roles.FOOT):
            total += directions[foot] * size
    return total if np.linalg.norm(total) > _TINY * size else None


# ---- directions of limbs ------------------------------------------------------------------------------------------
def limb_directions(anatomy, parents, heads, tails, vertices=None) -> np.ndarray:
    """Unit direction of every bone [n, 3], joint to joint, whatever the bones are drawn like.

    To the next joint of its limb; without one, to the middle of the mesh that it moves, else to its only child, else
    the drawn tail, else on from its parent.

    Args:
        parents: -1 at roots [n]. heads, tails: joints in bind pose [n, 3].
        vertices: for each bone the vertices [k, 3] that it dominates, or None [n].
    """
    heads, tails = np.asarray(heads, dtype=float), np.asarray(tails, dtype=float)
    size = float(np.max(np.ptp(np.concatenate([heads, tails]), axis=0))) if len(heads) else 0.0
    following = _following(anatomy, np.asarray(parents).tolist())
    result = np.zeros((len(heads), 3))
    for bone in range(len(heads)):
        ways = [heads[following[bone]].mean(axis=0) - heads[bone]] if following[bone] else []
        if vertices is not None and vertices[bone] is not None and len(vertices[bone]) >= 8:
            ways.append(np.median(vertices[bone], axis=0) - heads[bone])
        if not ways and len(below := np.flatnonzero(np.asarray(parents) == bone)) == 1:
            ways.append(heads[below[0]] - heads[bone])
        ways.append(tails[bone] - heads[bone])
        if parents[bone] >= 0:
            ways.append(heads[bone] - heads[parents[bone]])
        result[bone] = next((unit(way) for way in ways if np.linalg.norm(way) > 1e-4 * size), (0.0, 1.0, 0.0))
    return result


def _following(anatomy, parents) -> list:
    """For every bone the bones where its limb goes on: descendants with a role that follows its own."""
    found = [[] for _parent in parents]
    ranks = [99] * len(found)
    for bone in range(len(parents)):
        for ancestor in path_to_root(parents, bone)[1:]:
            if anatomy.roles[bone] in _NEXT.get(anatomy.roles[ancestor], ()):
                rank = 0 if anatomy.roles[bone] == anatomy.roles[ancestor] else 1
                if rank < ranks[ancestor]:
                    found[ancestor], ranks[ancestor] = [], rank
                if rank == ranks[ancestor]:
                    found[ancestor].append(bone)
            if anatomy.roles[ancestor] not in _BETWEEN:
                break
    return found


# ---- joint frames -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Bind:
    """A bind pose and what its joints tell; places are in any one frame."""

    anatomy: roles.Anatomy
    parents: np.ndarray  # of the bones [n], -1 at roots
    heads: np.ndarray  # [n, 3]
    directions: np.ndarray  # of the bones [n, 3], see `limb_directions`
    axes: Axes

    def joint_frame(self, bone: int) -> JointFrame:
        """The frame of a bone's joint from the character's axes and, for limbs that bend, from the bind pose's bend."""
        anatomy, heads, axes = self.anatomy, self.heads, self.axes
        role, side, along = anatomy.roles[bone], anatomy.sides[bone], self.directions[bone]
        human = anatomy.kind == roles.HUMAN
        if role == roles.FOOT and human:
            # The ankle's axes are those of the sole, which is level in bind pose, not of the way from ankle to toes.
            level = unit(across(along, axes.up))
            along = level if level is not None and float(along @ axes.up) > -0.97 else axes.forward
        bend_to = _bends_to(role, human, anatomy, side, along, heads, axes)
        if role in (roles.SHANK, roles.FOOT, roles.TOE) and many_legged(anatomy):
            hips = (above for above in path_to_root(self.parents, bone) if anatomy.roles[above] == roles.THIGH)
            bend_to = unit(heads[next(hips, bone)] - heads[bone])  # which is in the plane of the leg
            bend_to = axes.forward if bend_to is None else bend_to
        expected = unit(quaternion.cross(along, bend_to))
        # Twist bones and stubs lie between; bones of the body do not.
        before = next((row for row in path_to_root(self.parents, bone)[1:] if anatomy.roles[row] not in _BETWEEN), None)
        follows = _PREVIOUS.get(role), roles.SHANK if role == roles.SHANK else None  # a spider has several knees
        if expected is None or np.linalg.norm(quaternion.cross(along, bend_to)) < 0.1:
            expected = unit(across(axes.left, along)) if abs(axes.left @ along) < 0.9 else unit(across(axes.up, along))
        if before is None or anatomy.roles[before] not in follows:
            return JointFrame(_frame(expected, along), float("nan"))
        upper = unit(heads[bone] - heads[before])
        upper = self.directions[before] if upper is None else upper
        if role == roles.UPPER_ARM and not human and abs(float(axes.left @ upper)) > ASIDE:
            return JointFrame(_frame(expected, along), float("nan"))
        if role == roles.FOOT and human:
            return JointFrame(_frame(expected, along), np.pi / 2.0 - angle_between(along, -upper))
        turn = quaternion.cross(upper, along)
        angle = angle_between(upper, along)
        own = unit(turn)
        if own is None:
            return JointFrame(_frame(expected, along), 0.0)
        if role in (roles.FOREARM, roles.SHANK) or not human:
            share = np.clip((angle - BEND_NOTICED) / (BEND_TRUSTED - BEND_NOTICED), 0.0, 1.0)
            share = share * share * (3.0 - 2.0 * share)
            if own @ expected > 0.0 or angle > BEND_CONTRADICTS:
                expected = unit((1.0 - share) * expected + share * own)
        return JointFrame(_frame(expected, along), float(np.arctan2(turn @ expected, upper @ along)))


def bind_of(anatomy, parents, heads, tails, vertices=None) -> Bind | None:
    """A bind pose, see `limb_directions`; None where nothing tells its axes."""
    directions = limb_directions(anatomy, parents, heads, tails, vertices)
    axes = character_axes(anatomy, heads, directions)
    return axes and Bind(anatomy, parents, np.asarray(heads, dtype=float), directions, axes)


def _frame(x, y) -> np.ndarray:
    x = unit(across(x, y))
    return np.stack([x, y, quaternion.cross(x, y)], axis=1)


def _bends_to(role, human, anatomy, side, along, heads, axes: Axes) -> np.ndarray:
    """The direction [3] towards which flexion moves the end of a limb."""
    if role in (*roles.TRUNK, roles.TAIL, roles.JAW, roles.EAR, roles.EYE):
        return quaternion.cross(axes.left, along)  # towards the belly, whether the back is upright or level
    if role in (roles.HAND, roles.FINGER, roles.THUMB) and human:
        return _palm(anatomy, side, along, heads, axes)
    if role in (roles.FOOT, roles.TOE) and human:
        return axes.up
    backwards = (roles.SHANK,) if human else (roles.SHANK, roles.UPPER_ARM, roles.HAND)
    return -axes.forward if role in backwards else axes.forward


def _palm(anatomy, side, along, heads, axes: Axes) -> np.ndarray:
    """Where the palm faces: from the thumb's place beside the hand; without one, thumbs are taken to be in front."""
    mirror = axes.mirror(side)
    thumbs, hands = of_role(anatomy, roles.THUMB, side), of_role(anatomy, roles.HAND, side)
    fingers = [i for i in of_role(anatomy, roles.FINGER, side) if anatomy.order[i] == 0]
    if thumbs and hands and fingers:
        to_fingers = heads[fingers].mean(axis=0) - heads[hands[0]]
        if (straight := unit(to_fingers)) is not None:
            aside = across(heads[thumbs[0]] - heads[hands[0]], straight)
            if np.linalg.norm(aside) > 0.1 * np.linalg.norm(to_fingers):
                return mirror * quaternion.cross(straight, aside / np.linalg.norm(aside))
    aside = unit(across(axes.forward, along))
    return axes.forward if aside is None else mirror * quaternion.cross(along, aside)


# ---- poses that a body could take -----------------------------------------------------------------------------------
ALIKE = 0.9  # mean length of the limbs' unit directions from which on they all point one way
LINE = 0.01  # joints that stray less from a line, as a share of their extent along it, are in one
IMPOSSIBLE = "no body could take the bind pose: limits, shapes and masses that are taken from it mean little"
AT_EASE = 0.7  # `strain` of a pose that limits, shapes and masses may be taken from
LIMBS = 4  # so many limbs do not begin, lie and end in one line
_TRUNK = (roles.SPINE, roles.CHEST, roles.NECK)
_LEG = (roles.THIGH, roles.SHANK)
_ARM = (roles.UPPER_ARM, roles.FOREARM)


def is_impossible(anatomy, parents, heads, tails) -> bool:
    """Whether no body could take a bind pose: trunk and limbs all point one way, or all joints are in one line.

    A human's legs lead down and its trunk up, a quadruped's trunk leads ahead. Where no role is known, several limbs
    in one line tell; a rope, which has none, may well lie in one. For the arguments see `axes.limb_directions`.
    """
    rows = [i for i, role in enumerate(anatomy.roles) if role in (*_TRUNK, *_ARM, *_LEG)]
    there = {anatomy.roles[i] for i in rows}
    if there & {*_TRUNK} and {*_LEG} <= there:
        way = limb_directions(anatomy, parents, heads, tails)[rows].mean(axis=0)
        if np.linalg.norm(way) > ALIKE:
            return True
    children = np.bincount([parent for parent in parents if parent >= 0], minlength=len(parents))
    limbs = sum(children[i] == 0 and parent >= 0 and children[parent] == 1 for i, parent in enumerate(parents))
    return limbs >= LIMBS and _breadth(np.asarray(heads, dtype=float)) < LINE


def _breadth(heads) -> float:
    """Extent of joints across the line that they lie along most, as a share of that along it."""
    spread = np.linalg.svd(heads - heads.mean(axis=0), compute_uv=False)
    return float(spread[1] / max(spread[0], 1e-30))


def strain(anatomy, parents, heads, tails) -> float:
    """How far a pose is from how such a body stands at ease; infinite for one that no body could take.

    The mean of 1 - cos of the angle between the bones and where they would point: of humans and animals the trunk up
    or ahead, the legs down, a human's arms aside or down and straight. Of others the share by which joints lie in line.
    For the arguments see `axes.limb_directions`.
    """
    if is_impossible(anatomy, parents, heads, tails):
        return np.inf
    bind = bind_of(anatomy, parents, heads, tails)
    if bind is None or anatomy.kind == roles.CREATURE:
        return 1.0 - _breadth(np.asarray(heads, dtype=float))
    ways, own = bind.directions, bind.axes
    human = anatomy.kind == roles.HUMAN
    legs = _LEG if human else (*_LEG, *_ARM)
    found, ahead = [], dict.fromkeys(_TRUNK, own.up if human else own.forward) | dict.fromkeys(legs, -own.up)
    upper = {anatomy.sides[i]: ways[i] for i, role in enumerate(anatomy.roles) if role == roles.UPPER_ARM}
    for way, role, side in zip(ways, anatomy.roles, anatomy.sides, strict=True):
        if role in ahead:
            found.append(1.0 - way @ ahead[role])
        elif role == roles.UPPER_ARM:
            found.append(1.0 - np.linalg.norm(across(way, own.forward)) + max(float(way @ own.up), 0.0))
        elif role in (roles.FOREARM, roles.HAND) and side in upper:
            found.append(1.0 - way @ upper[side])
    return float(np.mean(found)) if found else np.inf
