"""Which entry of a profile is for which bone of a rig: by name on the rig it came from, by role on any other.

Of several entries for one bone the more particular wins, setting by setting: a name before a role, a role with a
side or an order before the role alone, that before ANY.
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace

import numpy as np

from .anatomy import roles
from .anatomy.roles import Anatomy
from .errors import RagdollError
from .profile import ANY, Entry, Profile
from .profile_mirror import mirrored_content

AUTO, BY_NAME, BY_ROLE = "AUTO", "NAME", "ROLE"
MATCHES = (AUTO, BY_NAME, BY_ROLE)
NO_PART = (roles.GENERIC, roles.TWIST, roles.HELPER)  # say nothing about which bone of another rig is meant
CHAINS = (roles.SPINE, roles.NECK, roles.TAIL)  # of as many bones as the rig's maker liked


@dataclass
class Match:
    """Settings for the n bones of a rig.

    Attributes:
        settings: of every bone, by their names; empty where the profile says nothing [n].
        by: "NAME", "ROLE" or "" for every bone, from its most particular entry [n].
        joint_in_anatomy: as in Entry, of the entry that states the bone's limits; None where none does [n].
        rest: as in Entry, of the entry of the bone's name; None where there is none [n].
        ranges: factor of the rig's own limits; None where they stay, or the profile states others [n].
        unused: entries of named bones that no bone of the rig answers to.
        notes: what a user should know, in words.
    """

    settings: list
    by: list
    joint_in_anatomy: list
    rest: list
    ranges: list
    unused: list = field(default_factory=list)
    notes: list = field(default_factory=list)


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
    count = len(names)
    row = {name: i for i, name in enumerate(names)}
    found = [[] for _name in names]  # (rank, by what, entry) of every bone
    named, for_roles, unused = _sorted_out(profile.entries, row, anatomy, how)
    for bone, entry in named.items():
        found[bone].append((4, BY_NAME, entry))
    if how != BY_NAME:
        _by_role(for_roles, set(named), anatomy, found)
    there = set(_keys(anatomy)) | {(role, None) for role in anatomy.roles}
    unused += [entry for entry in for_roles if entry.name is not None and (entry.role, entry.side) not in there]
    if how == AUTO:  # another rig's helpers are nobody's loss
        unused = [e for e in unused if e.role not in (roles.TWIST, roles.HELPER) or e.settings.get("simulate")]
    result = Match([{} for _name in names], [""] * count, *([None] * count for _list in range(3)), unused)
    for bone, entries in enumerate(found):
        for _rank, by, entry in sorted(entries, key=lambda item: item[0]):
            result.settings[bone].update(entry.settings)
            result.by[bone], result.rest[bone] = by, entry.rest if by == BY_NAME else None
            if "limit_min" in entry.settings:
                result.joint_in_anatomy[bone], result.ranges[bone] = entry.joint_in_anatomy, None
            if entry.range is not None:
                result.ranges[bone] = entry.range
    if profile.entries and not any(result.by):
        count = len(profile.entries)
        raise RagdollError(f"None of the profile's {count} bones is found in {rig}{_listed(unused)}")
    if unused:
        result.notes.append(f"{len(unused)} of the profile's bones are not in {rig}{_listed(unused)}")
    if profile.kind is not None and profile.kind != anatomy.kind and how != BY_NAME and BY_ROLE in result.by:
        result.notes.append(f"the profile is for a {profile.kind.lower()}, {rig} looks like a {anatomy.kind.lower()}")
    return result


def _listed(entries, most: int = 5) -> str:
    texts = [f"'{entry.name}'" if entry.name is not None else entry.role for entry in entries]
    if not texts:
        return ""
    return ": " + ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def _sorted_out(entries, row, anatomy, how):
    """Entries by the bone of their name, entries for roles, and those that are for nobody."""
    named, for_roles, unused = {}, [], []
    same_rig = {entry.name for entry in entries if entry.name is not None} == set(row)
    sure = how == BY_NAME or same_rig
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
    if entry.role in (None, ANY) or entry.role in NO_PART or anatomy.roles[bone] in NO_PART:
        return True
    return entry.role == anatomy.roles[bone] and entry.side in (None, anatomy.sides[bone])


def _by_role(entries, taken, anatomy, found) -> None:
    """Add to `found` what entries say of the bones of their roles."""
    general = [entry for entry in entries if entry.name is None]
    single = defaultdict(list)  # entries taken from single bones, by role, side and order, in the order of the file
    simulated = {(entry.role, entry.side) for entry in entries if entry.settings.get("simulate")}
    for entry in entries:
        # Where some of a chain's bones have bodies, those say more than a stub beside them.
        idle = (entry.role, entry.side) in simulated and entry.settings.get("simulate") is False
        if entry.name is not None and not idle:
            single[entry.role, entry.side, entry.order].append(entry)
    sources = defaultdict(set)
    for role, side, order in single:
        sources[role, side].add(order)
    ranks = _ranks(anatomy)
    lengths = defaultdict(int)
    for bone, key in enumerate(_keys(anatomy)):
        lengths[key] = max(lengths[key], ranks[bone] + 1)
    twins = defaultdict(int)  # bones of the same role, side and order: four fingers
    for bone, (role, side) in enumerate(_keys(anatomy)):
        for entry in general:
            rank = _rank(entry, role, side, int(anatomy.order[bone]))
            if rank is not None and bone not in taken:
                # An entry for both sides states the left one.
                stated = mirrored_content(entry) if entry.side is None and side == roles.RIGHT else entry
                found[bone].append((rank, BY_ROLE, _scaled(stated, 1.0 / lengths[role, side] if entry.share else 1.0)))
        key = (role, side) if (role, side) in sources else (role, None)
        if bone in taken or role in NO_PART or key not in sources:
            continue
        order = _nearest(sorted(sources[key], key=lambda o: -1 if o is None else o), ranks[bone], lengths[role, side])
        entries_here = single[(*key, order)]
        twin = twins[role, side, ranks[bone]]
        twins[role, side, ranks[bone]] += 1
        entry = entries_here[min(twin, len(entries_here) - 1)]
        change = len(sources[key]) / lengths[role, side] if role in CHAINS else 1.0
        found[bone].append((3, BY_ROLE, _scaled(entry, change)))


def _keys(anatomy):
    return list(zip(anatomy.roles, anatomy.sides, strict=True))


def _ranks(anatomy) -> list:
    """Place of every bone in its chain [n], without gaps, from 0."""
    orders = defaultdict(set)
    for key, order in zip(_keys(anatomy), anatomy.order, strict=True):
        orders[key].add(int(order))
    places = {key: {order: i for i, order in enumerate(sorted(held))} for key, held in orders.items()}
    return [places[key][int(order)] for key, order in zip(_keys(anatomy), anatomy.order, strict=True)]


def _rank(entry: Entry, role, side, order) -> int | None:
    """How particular an entry is for a bone; None where it is for others."""
    if entry.side not in (None, side) or entry.order not in (None, order):
        return None
    if entry.role == ANY:
        return 0
    return 1 + (entry.side is not None) + (entry.order is not None) if entry.role == role else None


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
