"""Bind poses that no body could take, and of an animation's poses the one that is most like how a body stands.

Files of motion capture may leave the pose to the animation altogether, so that the rest pose has all limbs along one
axis. Joints, shapes and masses mean nothing there.
"""

import numpy as np

from . import roles
from .axes import across, character_axes, limb_directions

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
        ways = limb_directions(anatomy, parents, heads, tails)[rows]
        if np.linalg.norm(ways.mean(axis=0)) > ALIKE:
            return True
    return _in_one_line(parents, np.asarray(heads, dtype=float))


def _in_one_line(parents, heads) -> bool:
    children = np.bincount([parent for parent in parents if parent >= 0], minlength=len(parents))
    limbs = sum(children[i] == 0 and parent >= 0 and children[parent] == 1 for i, parent in enumerate(parents))
    return limbs >= LIMBS and _breadth(heads) < LINE


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
    ways = limb_directions(anatomy, parents, heads, tails)
    own = character_axes(anatomy, heads, tails, ways)
    if own is None or anatomy.kind == roles.CREATURE:
        return 1.0 - _breadth(np.asarray(heads, dtype=float))
    human = anatomy.kind == roles.HUMAN
    found, ahead = [], dict.fromkeys(_TRUNK, own.up if human else own.forward) | dict.fromkeys(_LEG, -own.up)
    if not human:
        ahead |= dict.fromkeys(_ARM, -own.up)
    upper = {anatomy.sides[i]: ways[i] for i, role in enumerate(anatomy.roles) if role == roles.UPPER_ARM}
    for way, role, side in zip(ways, anatomy.roles, anatomy.sides, strict=True):
        if role in ahead:
            found.append(1.0 - way @ ahead[role])
        elif role == roles.UPPER_ARM:
            found.append(1.0 - np.linalg.norm(across(way, own.forward)) + max(float(way @ own.up), 0.0))
        elif role in (roles.FOREARM, roles.HAND) and side in upper:
            found.append(1.0 - way @ upper[side])
    return float(np.mean(found)) if found else np.inf
