"""A look-at chain and the legs below it from the bones' roles; forward axes from the bind pose, however the bones are
drawn."""

from dataclasses import dataclass, field

import numpy as np

from ... import quaternion
from ...anatomy import roles
from ...anatomy.axes import character_axes, many_legged, of_role
from ...anatomy.roles import Anatomy
from ...errors import RagdollError
from ..limbs import LONGEST
from ..stack import Rig
from .chain import LinkedBone, LookAtEntry

# Weights about up of the last bones of the trunk, from the top; bones further out turn by the shortest way.
UP_WEIGHTS = (0.1, 0.2, 0.7)
# Limits [deg]: of an eye, the head, the whole neck (its bones share it), each of the trunk's bones from the top. Eyes
# and necks go about half as far as they can, as people do before the next part of the body comes in.
LIMITS = {
    roles.HUMAN: (25.0, 40.0, 30.0, (15.0, 15.0, 20.0)),
    roles.QUADRUPED: (15.0, 40.0, 80.0, (8.0, 8.0, 10.0)),
    roles.CREATURE: (20.0, 40.0, 60.0, (10.0, 10.0, 15.0)),
}
_NEAR_AXIS = np.cos(np.radians(25.0))


@dataclass
class LookAtSetup:
    """What can be made of a character."""

    entries: list  # of the chain, first to last; bones are level indices
    legs: list  # (foot bone, bones count) of each leg below the chain
    notes: list = field(default_factory=list)  # what a user should know, in words


def from_roles(rig: Rig, anatomy: Anatomy, tails=None) -> LookAtSetup:
    """The chain from eyes or head down the neck and trunk, and the legs.

    Raises RagdollError: neither head nor neck was recognised.

    Args:
        anatomy: of the armature's bones, in their input order. tails: see `upright_axes`.
    """
    notes: list = []
    level = rig.skeleton.from_level
    role = {int(level[i]): name for i, name in enumerate(anatomy.roles)}
    forward, _up = upright_axes(rig, anatomy, tails)
    if forward is None:
        notes.append("Where the character faces is not known: every bone looks along itself")
    heads = of_role(anatomy, roles.HEAD) or of_role(anatomy, roles.NECK)[-1:]
    if not heads:
        raise RagdollError("No bone was recognised as a head or neck: choose roles, or add the entries by hand")
    head = int(level[heads[0]])
    eye, head_limit, neck_limit, trunk_limits = LIMITS[anatomy.kind]
    entries = []
    eyes = _eyes(rig, anatomy, head)
    if eyes:
        entries.append(_entry(rig, eyes[0], eye, 0.0, forward, [LinkedBone(bone) for bone in eyes[1:]]))
    entries.append(_entry(rig, head, head_limit, 0.0, forward))
    above = _above(rig, head)
    necks = [bone for bone in above if role.get(bone) == roles.NECK]
    entries += [_entry(rig, bone, neck_limit / len(necks), 0.0, forward) for bone in necks]
    trunk = [bone for bone in above if role.get(bone) in (roles.SPINE, roles.CHEST)]
    trunk = trunk if len(trunk) <= 3 else [trunk[0], trunk[len(trunk) // 2], trunk[-1]]
    count = len(trunk)
    for bone, weight, limit in zip(trunk, UP_WEIGHTS[3 - count :], trunk_limits[3 - count :], strict=True):
        entries.append(_entry(rig, bone, limit, weight, forward))
    if not trunk:
        notes.append(f'No spine was recognised above "{rig.name(head)}": head and neck look alone')
    return LookAtSetup(entries, _legs(rig, anatomy, role, entries, notes), notes)


def _entry(rig: Rig, bone: int, limit: float, weight: float, forward, linked=()) -> LookAtEntry:
    axis, above = forward_axes(rig, bone, forward)
    return LookAtEntry(bone, float(np.radians(limit)), axis, above, weight, linked=list(linked))


def _above(rig: Rig, bone: int) -> list:
    found = []
    while rig.parents[bone] >= 0:
        bone = rig.parents[bone]
        found.append(bone)
    return found


def _eyes(rig: Rig, anatomy: Anatomy, head: int) -> list:
    """One eye of each side that hangs on the head, and on no other of them."""
    found: list = []
    for side in (roles.LEFT, roles.RIGHT, roles.CENTER):
        bones = (int(rig.skeleton.from_level[i]) for i in of_role(anatomy, roles.EYE, side))
        found += [bone for bone in bones if rig.is_ancestor(head, bone)][:1]
    alone: list = []
    for bone in found:
        if not any(rig.is_ancestor(other, bone) or rig.is_ancestor(bone, other) for other in alone):
            alone.append(bone)
    return alone


def _legs(rig: Rig, anatomy: Anatomy, role: dict, entries: list, notes: list) -> list:
    """Both legs of a human, all four of a quadruped, with their toes, all of a spider.

    A foot that hangs on a control is one by itself where a bone that looks carries it along.
    """
    turned = {entry.bone for entry in entries}
    wanted = [((roles.THIGH, roles.FOOT, roles.TOE), None)]
    if anatomy.kind == roles.QUADRUPED:
        # Hooves often hang on nothing but a control: then the forearm is kept in place as a whole by what is above.
        wanted.append(((roles.UPPER_ARM, roles.HAND, roles.FINGER), (roles.CLAVICLE, roles.FOREARM, None)))
    result = []
    for parts, instead in wanted:
        for side in (roles.LEFT, roles.RIGHT):
            for number in range(len(of_role(anatomy, parts[1], side)) if many_legged(anatomy) else 1):
                foot, count = _leg(rig, anatomy, role, side, number, *parts)
                if not count and instead is not None:
                    other, count = _leg(rig, anatomy, role, side, number, *instead)
                    foot = other if count or foot < 0 else foot
                above = _above(rig, foot) if foot >= 0 else []
                if not count and turned & {*above} and parts[0] not in map(role.get, above):
                    count = 1
                if count:
                    result.append((foot, count))
                elif turned & {*above}:
                    notes.append(f'The leg of "{rig.name(foot)}" does not lead up to a hip: it has no stabiliser')
    return result


def _leg(rig: Rig, anatomy: Anatomy, role: dict, side: str, number: int, top: str, end: str, toe: str | None) -> tuple:
    """(foot, bones count) of a leg; a count of 0 where it does not lead up to its top, a foot of -1 for none."""
    level = rig.skeleton.from_level
    ends = of_role(anatomy, end, side)
    if not ends:
        return -1, 0
    foot = int(level[ends[number]])
    if anatomy.kind == roles.QUADRUPED and toe is not None:
        # An animal stands on its toes: the part that the human's foot is goes with the leg.
        toes = [int(level[i]) for i in of_role(anatomy, toe, side)]
        toes = [bone for bone in toes if rig.parents[bone] == foot]
        foot = toes[0] if len(toes) == 1 else foot
    chain = [foot, *_above(rig, foot)]
    tops = [i for i, bone in enumerate(chain) if role.get(bone) == top]
    count = tops[-1] + 1 if tops else 0
    if not 2 < count <= LONGEST or rig.parents[chain[count - 1]] < 0:
        return foot, 0
    return foot, count


def upright_axes(rig: Rig, anatomy: Anatomy, tails=None) -> tuple:
    """Where a character faces in bind pose, and its up: unit vectors [3] in armature space; None where nothing tells.

    Left and right are well told by joints, up only to some degrees (13 for Rigify's wolf), since nobody's feet stand
    exactly below their hips; rigs are made upright in their space. So up is the nearest of its axes, where one is near.

    Args:
        anatomy: of the armature's bones, in their input order.
        tails: of the bones in bind pose [n, 3], in input order, armature space; along the bones' own Y when not given.
    """
    order = rig.skeleton.from_level
    heads = rig.bind_positions[order]
    if tails is None:
        tails = heads + 0.05 * rig.size * quaternion.rotate(rig.bind_rotations[order], (0.0, 1.0, 0.0))
    axes = character_axes(anatomy, heads, np.asarray(tails, dtype=float))
    if axes is None:
        return None, None
    nearest = int(np.argmax(np.abs(axes.up)))
    if abs(axes.up[nearest]) < _NEAR_AXIS:
        return axes.forward, axes.up
    up = np.eye(3)[nearest] * np.sign(axes.up[nearest])
    forward = np.cross(axes.left, up)
    return forward / np.linalg.norm(forward), up


def in_bone(rig: Rig, bone: int, direction) -> tuple:
    """A direction of the armature's space in a bone's own frame in bind pose, as a unit vector.

    For a bone of -1, above a root, it is the direction itself.
    """
    vector = np.asarray(direction, dtype=float)
    if bone >= 0:
        vector = quaternion.rotate(quaternion.conjugate(rig.bind_rotations[bone]), vector) / rig.bind_scales[bone]
    return tuple((vector / np.linalg.norm(vector)).tolist())


def forward_axes(rig: Rig, bone: int, forward=None) -> tuple[tuple, tuple]:
    """A bone's forward axis and its parent's, each in their own frame.

    `forward` is where the character faces in bind pose, in armature space; None: along the bone itself, its own Y.
    """
    if forward is None:
        forward = quaternion.rotate(rig.bind_rotations[bone], rig.bind_scales[bone] * np.array([0.0, 1.0, 0.0]))
    return in_bone(rig, bone, forward), in_bone(rig, rig.parents[bone], forward)
