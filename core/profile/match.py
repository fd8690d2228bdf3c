"""Which entry of a profile is for which bone of a rig: by name on the rig it came from, by role on any other.

Of several entries for one bone the more particular wins, setting by setting: a name before a role, a role with a
side or an order before the role alone, that before ANY. A profile of one side may be mirrored to the other.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

import numpy as np

from .. import quaternion
from ..anatomy import roles
from ..anatomy.roles import Anatomy
from ..errors import RagdollError
from ..mirror import ACROSS, flipped_name, mirrored_limits, mirrored_rotation
from .format import ANY, Entry, Profile

AUTO, BY_NAME, BY_ROLE = "AUTO", "NAME", "ROLE"
MATCHES = (AUTO, BY_NAME, BY_ROLE)
NO_PART = (roles.GENERIC, roles.TWIST, roles.HELPER)  # say nothing about which bone of another rig is meant
CHAINS = (roles.SPINE, roles.NECK, roles.TAIL)  # of as many bones as the rig's maker liked


@dataclass
class Match:
    """Settings for the n bones of a rig."""

    settings: list  # of every bone, by their names; empty where the profile says nothing [n]
    by: list  # "NAME", "ROLE" or "" for every bone, from its most particular entry [n]
    joint_in_anatomy: list  # as in Entry, of the entry that states the bone's limits; None where none does [n]
    rest: list  # as in Entry, of the entry of the bone's name; None where there is none [n]
    ranges: list  # factor of the rig's own limits; None where they stay, or the profile states others [n]
    unused: list = field(default_factory=list)  # entries of named bones that no bone of the rig answers to
    notes: list = field(default_factory=list)  # what a user should know, in words


def match(profile: Profile, names, anatomy: Anatomy, how: str = AUTO, rig: str = "the rig") -> Match:
    """Find every bone's settings.

    Args:
        names: of the rig's bones [n].
        anatomy: of the rig.
        how: AUTO takes a name where the rig has it and the roles do not contradict each other, else the role; where
            the rig has exactly the profile's names it is the same, and names say all.
        rig: the rig's name for messages.
    Raises:
        RagdollError: an unknown way of matching, or a profile none of whose bones is found.
    """
    if how not in MATCHES:
        raise RagdollError(f"Unknown way of matching '{how}': use one of {', '.join(MATCHES)}")
    named, for_roles, unused = _sorted_out(profile.entries, names, anatomy, how)
    found = [[(4, named[i])] if i in named else [] for i in range(len(names))]  # (rank, entry) for every bone
    if how != BY_NAME:
        _add_general(found, [entry for entry in for_roles if entry.name is None], named, anatomy)
        _add_chains(found, for_roles, named, anatomy)
    keys = _keys(anatomy)
    there = {*keys, *((role, None) for role, _side in keys)}
    unused += [entry for entry in for_roles if entry.name is not None and (entry.role, entry.side) not in there]
    if how == AUTO:  # another rig's helpers are nobody's loss
        unused = [e for e in unused if e.role not in (roles.TWIST, roles.HELPER) or e.settings.get("simulate")]
    result = Match([{} for _name in names], [""] * len(names), *([None] * len(names) for _list in range(3)), unused)
    for bone, entries in enumerate(found):
        for rank, entry in sorted(entries, key=lambda item: item[0]):
            result.settings[bone].update(entry.settings)
            result.by[bone], result.rest[bone] = (BY_NAME, entry.rest) if rank == 4 else (BY_ROLE, None)
            if "limit_min" in entry.settings:
                result.joint_in_anatomy[bone], result.ranges[bone] = entry.joint_in_anatomy, None
            if entry.range is not None:
                result.ranges[bone] = entry.range
    listed = _listed(unused)
    if profile.entries and not any(result.by):
        raise RagdollError(f"None of the profile's {len(profile.entries)} bones is found in {rig}{listed}")
    if unused:
        result.notes.append(f"{len(unused)} of the profile's bones are not in {rig}{listed}")
    if profile.kind is not None and profile.kind != anatomy.kind and how != BY_NAME and BY_ROLE in result.by:
        kinds = profile.kind.lower(), anatomy.kind.lower()
        result.notes.append(f"the profile is for a {kinds[0]}, {rig} looks like a {kinds[1]}")
    return result


def _listed(entries, most: int = 5) -> str:
    texts = [f"'{entry.name}'" if entry.name is not None else entry.role for entry in entries]
    if not texts:
        return ""
    return ": " + ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def _sorted_out(entries, names, anatomy, how) -> tuple[dict, list, list]:
    """Entries by the bone of their name, entries for roles, and those that are for nobody."""
    row = {name: i for i, name in enumerate(names)}
    sure = how == BY_NAME or {entry.name for entry in entries if entry.name is not None} == set(row)
    named, for_roles, unused = {}, [], []
    for entry in entries:
        bone = row.get(entry.name) if entry.name is not None else None
        if bone is not None and how != BY_ROLE and (sure or _agree(entry, anatomy, bone)):
            named[bone] = entry
        elif how == BY_NAME or entry.role is None or (entry.name is not None and entry.role in NO_PART):
            unused.append(entry)
        else:
            for_roles.append(entry)
    return named, for_roles, unused


def _agree(entry: Entry, anatomy, bone: int) -> bool:
    """Whether a bone of the same name can be the same part: another rig may call its thigh "Bone.003" too."""
    if entry.role in (None, ANY, *NO_PART) or anatomy.roles[bone] in NO_PART:
        return True
    return entry.role == anatomy.roles[bone] and entry.side in (None, anatomy.sides[bone])


def _add_general(found, entries, taken, anatomy) -> None:
    """What entries without a name say of the bones that they are for, unless these are taken by their names."""
    _ranks, lengths = _chains(anatomy)
    for bone, key in enumerate(_keys(anatomy)):
        role, side = key
        for entry in entries if bone not in taken else ():
            if (
                entry.role not in (ANY, role)
                or entry.side not in (None, side)
                or entry.order not in (None, int(anatomy.order[bone]))
            ):
                continue
            rank = 0 if entry.role == ANY else 1 + (entry.side is not None) + (entry.order is not None)
            # An entry for both sides states the left one.
            stated = mirrored_content(entry) if entry.side is None and side == roles.RIGHT else entry
            found[bone].append((rank, _scaled(stated, 1.0 / lengths[key] if entry.share else 1.0)))


def _add_chains(found, entries, taken, anatomy) -> None:
    """What entries taken from single bones say of the bones at their places in chains of the same role and side."""
    simulated = {(entry.role, entry.side) for entry in entries if entry.settings.get("simulate")}
    sources = defaultdict(lambda: defaultdict(list))  # entries by role and side, then by order
    for entry in entries:
        key = entry.role, entry.side
        # Where some of a chain's bones have bodies, those say more than a stub beside them.
        idle = key in simulated and entry.settings.get("simulate") is False
        if entry.name is not None and not idle:
            sources[key][entry.order].append(entry)
    ranks, lengths = _chains(anatomy)
    seen = Counter()  # bones of the same role, side and order: four fingers
    for bone, key in enumerate(_keys(anatomy)):
        role, _side = key
        chain = sources.get(key) or sources.get((role, None))
        if bone in taken or role in NO_PART or not chain:
            continue
        orders = sorted(chain, key=lambda order: -1 if order is None else order)
        twins = chain[_nearest(orders, ranks[bone], lengths[key])]
        entry = twins[min(seen[key, ranks[bone]], len(twins) - 1)]
        seen[key, ranks[bone]] += 1
        found[bone].append((3, _scaled(entry, len(chain) / lengths[key] if role in CHAINS else 1.0)))


def _keys(anatomy) -> list:
    return list(zip(anatomy.roles, anatomy.sides, strict=True))


def _chains(anatomy) -> tuple[list, dict]:
    """Place of every bone in its chain [n], without gaps, from 0; and the chains' lengths by role and side."""
    orders = defaultdict(set)
    for key, order in zip(_keys(anatomy), anatomy.order, strict=True):
        orders[key].add(int(order))
    ranks = [sorted(orders[key]).index(int(o)) for key, o in zip(_keys(anatomy), anatomy.order, strict=True)]
    return ranks, {key: len(held) for key, held in orders.items()}


def _nearest(orders: list, rank: int, length: int):
    """The order of a chain of another length at the same share of its way."""
    if length == len(orders):
        return orders[rank]
    along = rank / (length - 1) if length > 1 else 0.0
    return orders[int(np.floor(along * (len(orders) - 1) + 0.5))]


def _scaled(entry: Entry, factor: float) -> Entry:
    """An entry with its range for a chain of more or fewer bones, so that the whole chain's stays."""
    if factor == 1.0 or "limit_min" not in entry.settings:
        return entry
    ranges = {
        key: [float(np.clip(angle * factor, -np.pi, np.pi)) for angle in entry.settings[key]]
        for key in ("limit_min", "limit_max")
    }
    return replace(entry, settings=entry.settings | ranges)


# ---- the other side -------------------------------------------------------------------------------------------------


SWAP, TO_RIGHT, TO_LEFT = "SWAP", "LEFT_TO_RIGHT", "RIGHT_TO_LEFT"
MIRRORS = (SWAP, TO_RIGHT, TO_LEFT)
OTHER = {roles.LEFT: roles.RIGHT, roles.RIGHT: roles.LEFT}
MIRROR_IMAGES = 1e-5  # frames that differ by less are taken as mirror images, so that numbers stay as they are


def mirrored_settings(settings: dict, change: np.ndarray | None = None) -> dict:
    """Settings of a bone as the bone on the other side has them.

    Args:
        change: reflection [3, 3] from the one bone's frame to the other's; None where they are mirror images.
    """
    result = dict(settings)
    if "limit_min" in result:
        result["limit_min"], result["limit_max"] = mirrored_limits(result["limit_min"], result["limit_max"])
    for key in ("joint_rotation", "body_rotation"):
        if key in result:
            result[key] = _turned(result[key], change)
    if "body_location" in result:
        x, y, z = result["body_location"]
        result["body_location"] = [-x, y, z] if change is None else (change @ (x, y, z)).tolist()
    if "body_points" in result:  # in the body's own frame, which is mirrored as the bone's is
        result["body_points"] = [[-x, y, z] for x, y, z in result["body_points"]]
    return result


def _turned(rotation, change) -> list:
    if change is None:
        return mirrored_rotation(rotation)
    return quaternion.from_matrix(change @ quaternion.to_matrix(_unit(rotation)) @ ACROSS).tolist()


def _unit(rotation) -> np.ndarray:
    return np.array(rotation, dtype=float) / np.linalg.norm(rotation)


def _change(source: Entry, target: Entry) -> np.ndarray | None:
    """The reflection between the frames of two bones, from the anatomical frames in them; None for mirror images."""
    frames = []
    for entry in (source, target):
        turn = entry.settings.get("joint_rotation")
        if turn is None or entry.joint_in_anatomy is None:
            return None
        frames.append(quaternion.to_matrix(_unit(turn)) @ quaternion.to_matrix(_unit(entry.joint_in_anatomy)).T)
    change = frames[1] @ ACROSS @ frames[0].T
    return None if np.abs(change - ACROSS).max() < MIRROR_IMAGES else change


def mirrored_content(entry: Entry, target: Entry | None = None) -> Entry:
    """An entry with what it says mirrored for the bone of another entry, its own by default."""
    rotation = entry.joint_in_anatomy
    return replace(
        entry,
        settings=mirrored_settings(entry.settings, _change(entry, target or entry)),
        joint_in_anatomy=None if rotation is None else tuple(mirrored_rotation(rotation)),
    )


def mirrored(profile: Profile, how: str = SWAP) -> Profile:
    """A profile mirrored left to right; twice is what it was.

    Args:
        how: SWAP lets both sides change places, the middle is mirrored in itself; LEFT_TO_RIGHT and RIGHT_TO_LEFT
            copy one side to the other and leave the middle.
    Raises:
        RagdollError: an unknown way.
    """
    if how not in MIRRORS:
        raise RagdollError(f"Unknown way of mirroring '{how}': use one of {', '.join(MIRRORS)}")
    partners = _partners(profile.entries)
    names = {entry.name for entry in profile.entries}
    result = []
    for i, entry in enumerate(profile.entries):
        k = partners.get(i)
        if k is None:
            result.append(_alone(entry, how, names))
        elif how == SWAP or entry.side == OTHER[_from(how)]:
            content = mirrored_content(profile.entries[k], entry)
            result.append(replace(entry, settings=content.settings, joint_in_anatomy=content.joint_in_anatomy))
        else:
            result.append(entry)
    if how != SWAP:
        result += [_for_other_side(e, names) for e in _lonely(profile.entries, partners, _from(how))]
    return replace(profile, entries=tuple(result))


def _from(how):
    return roles.LEFT if how == TO_RIGHT else roles.RIGHT


def _lonely(entries, partners, side):
    return [entry for i, entry in enumerate(entries) if i not in partners and entry.side == side]


def _for_other_side(entry, names):
    """A copy of an entry of one side for the other; without a name where the name tells no side."""
    result = _swapped_side(entry, names)
    return replace(result, name=None) if result.name == entry.name else result


def _alone(entry, how, names):
    """An entry without a partner: of the middle, for both sides, or of a side that the profile knows alone."""
    if how != SWAP:
        return entry
    if entry.side in OTHER:
        return _swapped_side(entry, names)
    # For both sides, an entry states the left one; swapping the sides of a symmetric rig changes nothing.
    return entry if entry.side is None else mirrored_content(entry)


def _swapped_side(entry, names):
    entry = mirrored_content(entry)
    name = None if entry.name is None else flipped_name(entry.name)
    name = entry.name if name in names else name
    rest = None if entry.rest is None else tuple(mirrored_rotation(entry.rest))
    return replace(entry, name=name, side=OTHER[entry.side], rest=rest)


def _partners(entries) -> dict:
    """The entry of the other side for each that has one: by name, else by role, order and place in the file."""
    by_name = {entry.name: i for i, entry in enumerate(entries) if entry.name is not None}
    result = {}
    for i, entry in enumerate(entries):
        k = by_name.get(flipped_name(entry.name)) if entry.name is not None else None
        if k is not None and k != i and entry.side in OTHER and entries[k].side == OTHER[entry.side]:
            result[i] = k
    rest = {roles.LEFT: defaultdict(list), roles.RIGHT: defaultdict(list)}
    for i, entry in enumerate(entries):
        if i not in result and entry.side in rest and entry.role is not None:
            rest[entry.side][entry.role, entry.order, entry.name is None].append(i)
    for key, left in rest[roles.LEFT].items():
        right = rest[roles.RIGHT].get(key, ())
        if len(left) == len(right):  # else nobody knows which belong together
            for i, k in zip(left, right, strict=True):
                result[i], result[k] = k, i
    return result
