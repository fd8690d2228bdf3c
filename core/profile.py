"""Profiles: everything set on a ragdoll as JSON, every value checked, and which entry is for which bone of a rig.

A file states lengths, masses and times in SI units and angles in radians. Settings of bones stand under `bones`, each
entry for the bone of a name, for the bones of a role, or both: by name it comes back to the rig it was taken from, by
role it suits any other. Of several entries for one bone the more particular wins, setting by setting: a name before a
role, a role with a side or an order before the role alone, that before ANY.

The joint's limits count in the joint's frame: X and Z are swings, Y the twist along the bone. Frames of the left and
the right side are mirror images, so that mirroring a joint keeps X and negates Y and Z; `joint_rotation` leads from the
bone's frame to the joint's, `joint_in_anatomy` from the anatomical frame, which every rig has the same, whatever the
roll of its bones.
"""

import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

import numpy as np

from . import mirror, quaternion
from .anatomy import roles
from .errors import RagdollError, listed

FORMAT = "active_ragdoll profile"
VERSION = 1
UNITS = {"length": "m", "mass": "kg", "density": "kg/m^3", "force": "N", "torque": "N m", "angle": "rad"}
UNITS |= {"rotation": "quaternion w, x, y, z"}
ANY = "ANY"  # an entry for every bone
KINDS = (roles.HUMAN, roles.QUADRUPED, roles.CREATURE)
BOOL, INT, FLOAT, ENUM, TEXT, POINTS = "BOOL", "INT", "FLOAT", "ENUM", "TEXT", "POINTS"
LARGEST = float(np.finfo(np.float32).max)
_TYPES = {BOOL: (bool, "true or false"), INT: (int, "a whole number"), FLOAT: ((int, float), "a number")}


@dataclass(frozen=True)
class Field:
    """What one setting may hold."""

    kind: str  # BOOL, INT, FLOAT, ENUM, TEXT or POINTS
    length: int = 0  # of a vector; 0 is a single value. Of POINTS the most there may be, of three coordinates each.
    low: float = -LARGEST  # the least number allowed, in SI units and radians
    high: float = LARGEST  # the largest one
    choices: tuple = ()  # of an enum


@dataclass(frozen=True)
class Schema:
    """The settings that characters and bones have, by their name."""

    object: dict = field(default_factory=dict)
    bone: dict = field(default_factory=dict)
    former: tuple = ()  # keys of characters that older files have and that say nothing any more


@dataclass(frozen=True)
class Entry:
    """Settings for one bone or for all of a role."""

    settings: dict  # by their names; what is not there stays as it is on the bone
    name: str | None = None  # of the bone it was taken from
    role: str | None = None  # one of roles.ROLES, or ANY.
    side: str | None = None  # one of roles.SIDES; None for all.
    order: int | None = None  # which of its chain; None for all
    share: bool = False  # the limits are those of the whole chain, which its bones share
    range: float | None = None  # multiplies the limits that the rig has by itself
    joint_in_anatomy: tuple | None = None  # rotation (w, x, y, z) from the anatomical frame of the bone to the joint's
    rest: tuple | None = None  # rotation (w, x, y, z) of the named bone in the rest pose, in the armature's space


@dataclass(frozen=True)
class Profile:
    """The settings of a character and of its bones."""

    object: dict = field(default_factory=dict)  # settings of the character by their names
    entries: tuple = ()  # of its bones
    name: str = ""  # for people
    description: str = ""  # for people
    kind: str | None = None  # what it is made for, one of KINDS; None for anything


# Where they are not null: what a file says of itself, and an entry of the bones that it is for.
_ABOUT = {"name": Field(TEXT), "description": Field(TEXT), "kind": Field(ENUM, choices=KINDS)}
_ROTATIONS = ("joint_rotation", "joint_in_anatomy", "rest")
_PLACE = {"name": Field(TEXT), "role": Field(ENUM, choices=(*roles.ROLES, ANY))}
_PLACE |= {"side": Field(ENUM, choices=roles.SIDES)}
_PLACE |= {"order": Field(INT, low=0, high=10_000), "share": Field(BOOL), "range": Field(FLOAT, low=0.0, high=4.0)}
_PLACE |= dict.fromkeys(_ROTATIONS[1:], Field(FLOAT, 4, -1e3, 1e3))


# ---- one value ------------------------------------------------------------------------------------------------------
def shown(value) -> str:
    """A value as a message shows it: on one line and short."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else text[:37] + "..."


def checked(value, wanted: Field, path: str):
    """A value of a file as the setting takes it. Raises RagdollError: wrong type or length, not a number, out of range,
    unknown choice; begins with the path."""
    if wanted.kind == POINTS:
        if not isinstance(value, list) or len(value) > wanted.length:
            raise RagdollError(f"{path}: expected a list of at most {wanted.length} points, got {shown(value)}")
        return [checked(point, Field(FLOAT, 3), f"{path}[{i}]") for i, point in enumerate(value)]
    if not wanted.length:
        return _single(value, wanted, path)
    if not isinstance(value, list):
        raise RagdollError(f"{path}: expected a list of {wanted.length} values, got {shown(value)}")
    if len(value) != wanted.length:
        raise RagdollError(f"{path}: expected {wanted.length} values, got {len(value)}")
    return [_single(inner, wanted, f"{path}[{i}]") for i, inner in enumerate(value)]


def _single(value, wanted: Field, path: str):
    types, expected = _TYPES.get(wanted.kind, (str, "a text"))
    if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
        raise RagdollError(f"{path}: expected {expected}, got {shown(value)}")
    if wanted.kind == ENUM and value not in wanted.choices:
        raise RagdollError(f"{path}: unknown value {shown(value)}, use one of {', '.join(wanted.choices)}")
    if wanted.kind not in (INT, FLOAT):
        return value
    if not math.isfinite(value) if isinstance(value, float) else abs(value) > LARGEST:
        raise RagdollError(f"{path}: {shown(value)} is not a finite number")
    # Blender keeps single precision; a bound such as pi is one step larger there than here.
    low, high = np.float32(wanted.low), np.float32(wanted.high)
    if abs(value) > LARGEST or not low <= np.float32(value) <= high:
        if wanted.low > -LARGEST and wanted.high < LARGEST:
            bounds = f"from {wanted.low:g} to {wanted.high:g}"
        elif wanted.low > -LARGEST:
            bounds = f"{wanted.low:g} or more"
        else:
            bounds = f"{wanted.high:g} or less" if wanted.high < LARGEST else "a number of single precision"
        raise RagdollError(f"{path}: {shown(value)} is not {bounds}")
    return value if wanted.kind == INT else float(value)


def shortest(value: float) -> float:
    """The number of fewest digits that single precision stores as the same bits. Raises ValueError: not finite."""
    single = np.float32(value)
    if not np.isfinite(single):
        raise ValueError(f"{value} is not a finite number")
    short = float(str(single))
    return short if np.float32(short) == single else float(single)


# ---- reading --------------------------------------------------------------------------------------------------------
class _Pairs(dict):
    """A JSON object that remembers a key that stands in it twice."""

    def __init__(self, items) -> None:
        super().__init__(items)
        self.repeated = next((key for key, times in Counter(key for key, _value in items).items() if times > 1), None)


def parse(text: str, schema: Schema) -> Profile:
    """A profile from the text of a file; every value of it is checked. Raises RagdollError: begins with the place in
    the file, as in `bones[3].limit_min[1]: ...`."""
    try:
        data = json.loads(text, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        raise RagdollError(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except (RecursionError, ValueError) as error:  # nested too deep; a number of thousands of digits
        raise RagdollError(f"not a profile: {error}") from error
    _check_keys(data, ("format", "version", "units", "object", "bones", *_ABOUT), "")
    if data.get("format") != FORMAT:
        raise RagdollError(f"format: expected '{FORMAT}', got {shown(data.get('format'))}")
    version = data.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise RagdollError(f"version: {shown(version)} is unknown, this extension reads {VERSION}")
    units = data.get("units", UNITS)
    _check_keys(units, UNITS, "units")
    for key, value in units.items():
        if value != UNITS[key]:
            raise RagdollError(f"units.{key}: expected '{UNITS[key]}', got {shown(value)}")
    settings = data.get("object", {})
    _check_keys(settings, (*schema.object, *schema.former), "object")
    entries = data.get("bones", [])
    if not isinstance(entries, list):
        raise RagdollError(f"bones: expected a list, got {shown(entries)}")
    entries = tuple(_entry(entry, schema.bone, f"bones[{i}]") for i, entry in enumerate(entries))
    first = {}
    for i, entry in enumerate(entries):
        if entry.name is not None and first.setdefault(entry.name, i) != i:
            raise RagdollError(f"bones[{i}].name: {shown(entry.name)} stands in bones[{first[entry.name]}] too")
    return Profile(_values(settings, schema.object, "object."), entries, **_stated(data, _ABOUT, ""))


def _check_keys(data, known, path: str) -> None:
    if not isinstance(data, dict):
        raise RagdollError(f"{path or 'file'}: expected an object in braces, got {shown(data)}")
    dot = f"{path}." if path else ""
    if getattr(data, "repeated", None) is not None:
        raise RagdollError(f"{dot}{data.repeated}: stands there twice")
    for key in data:
        if key not in known:
            raise RagdollError(f"{dot}{key}: unknown key")


def _stated(data: dict, fields: dict, path: str) -> dict:
    """The checked values of those fields that are there and not null."""
    return _values({key: value for key, value in data.items() if value is not None}, fields, path)


def _values(data: dict, fields: dict, path: str) -> dict:
    """The checked values of those fields that are there."""
    result = {key: checked(value, fields[key], f"{path}{key}") for key, value in data.items() if key in fields}
    for key in _ROTATIONS:
        if key in result and math.hypot(*result[key]) < 1e-3:
            raise RagdollError(f"{path}{key}: {shown(result[key])} is no rotation")
    low, high = result.get("limit_min"), result.get("limit_max")
    if (low is None) != (high is None):
        there, missing = ("limit_min", "limit_max") if high is None else ("limit_max", "limit_min")
        raise RagdollError(f"{path}{missing}: is missing where {there} is stated")
    for axis in range(3 if low is not None else 0):
        if low[axis] > high[axis]:
            raise RagdollError(f"{path}limit_min[{axis}]: {low[axis]:g} is above limit_max[{axis}] = {high[axis]:g}")
    return result


def _entry(data, fields: dict, path: str) -> Entry:
    _check_keys(data, (*fields, *_PLACE), path)
    settings, place = _values(data, fields, f"{path}."), _stated(data, _PLACE, f"{path}.")
    if "name" not in place and "role" not in place:
        raise RagdollError(f"{path}: neither name nor role says for which bone it is")
    if "range" in place and "limit_min" in settings:
        raise RagdollError(f"{path}.range: multiplies the rig's own limits, but limit_min states others")
    return Entry(settings, **{key: tuple(value) if key in _ROTATIONS else value for key, value in place.items()})


# ---- writing --------------------------------------------------------------------------------------------------------
def dump(profile: Profile) -> str:
    """The text of a profile's file; the same profile always gives the same. Raises ValueError: a number not finite."""
    data = {"format": FORMAT, "version": VERSION, "units": UNITS}
    data |= {key: getattr(profile, key) for key in _ABOUT if getattr(profile, key)}
    data["object"] = profile.object
    stated = [{key: getattr(entry, key) for key in _PLACE} for entry in profile.entries]
    stated = [{key: value for key, value in own.items() if value is not None and value is not False} for own in stated]
    data["bones"] = [own | entry.settings for own, entry in zip(stated, profile.entries, strict=True)]
    return _layout(data, "") + "\n"


def _layout(value, indent: str) -> str:
    """JSON with one setting on a line, vectors included."""
    inner = indent + "  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{json.dumps(key)}: {_layout(held, inner)}" for key, held in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join([inner + _layout(held, inner) for held in value]) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


# ---- which entry is for which bone ----------------------------------------------------------------------------------
AUTO, BY_NAME, BY_ROLE = "AUTO", "NAME", "ROLE"
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
    notes: list = field(default_factory=list)  # what a user should know, in words


def match(profile: Profile, names, anatomy: roles.Anatomy, how: str = AUTO, rig: str = "the rig") -> Match:
    """Find every bone's settings.

    Args:
        names: of the rig's bones [n]. anatomy: of the rig.
        how: AUTO takes a name where the rig has it and the roles do not contradict each other, else the role; where
            the rig has exactly the profile's names it is the same, and names say all. rig: the rig's name for messages.
    Raises:
        RagdollError: a profile none of whose bones is found.
    """
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
    result = Match([{} for _name in names], [""] * len(names), *([None] * len(names) for _list in range(3)))
    for bone, entries in enumerate(found):
        for rank, entry in sorted(entries, key=lambda item: item[0]):
            result.settings[bone].update(entry.settings)
            result.by[bone], result.rest[bone] = (BY_NAME, entry.rest) if rank == 4 else (BY_ROLE, None)
            if "limit_min" in entry.settings:
                result.joint_in_anatomy[bone], result.ranges[bone] = entry.joint_in_anatomy, None
            if entry.range is not None:
                result.ranges[bone] = entry.range
    texts = [f"'{entry.name}'" if entry.name is not None else entry.role for entry in unused]
    which = f": {listed(texts, 5)}" if texts else ""
    if profile.entries and not any(result.by):
        raise RagdollError(f"None of the profile's {len(profile.entries)} bones is found in {rig}{which}")
    if unused:
        result.notes.append(f"{len(unused)} of the profile's bones are not in {rig}{which}")
    if profile.kind is not None and profile.kind != anatomy.kind and how != BY_NAME and BY_ROLE in result.by:
        result.notes.append(f"the profile is for a {profile.kind.lower()}, {rig} looks like a {anatomy.kind.lower()}")
    return result


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
    for bone, (role, side, order) in enumerate(zip(anatomy.roles, anatomy.sides, anatomy.order, strict=True)):
        for entry in entries if bone not in taken else ():
            if entry.role in (ANY, role) and entry.side in (None, side) and entry.order in (None, order):
                rank = 0 if entry.role == ANY else 1 + (entry.side is not None) + (entry.order is not None)
                # An entry for both sides states the left one.
                stated = mirrored_content(entry) if entry.side is None and side == roles.RIGHT else entry
                found[bone].append((rank, _scaled(stated, 1.0 / lengths[role, side] if entry.share else 1.0)))


def _add_chains(found, entries, taken, anatomy) -> None:
    """What entries taken from single bones say of the bones at their places in chains of the same role and side."""
    simulated = {(entry.role, entry.side) for entry in entries if entry.settings.get("simulate")}
    sources = defaultdict(lambda: defaultdict(list))  # entries by role and side, then by order
    for entry in entries:
        key = entry.role, entry.side
        # Where some of a chain's bones have bodies, those say more than a stub beside them.
        if entry.name is not None and not (key in simulated and entry.settings.get("simulate") is False):
            sources[key][entry.order].append(entry)
    ranks, lengths = _chains(anatomy)
    seen = Counter()  # bones of the same role, side and order: four fingers
    for bone, key in enumerate(_keys(anatomy)):
        chain = sources.get(key) or sources.get((key[0], None))
        if bone in taken or key[0] in NO_PART or not chain:
            continue
        orders = sorted(chain, key=lambda order: -1 if order is None else order)
        along = ranks[bone] / max(lengths[key] - 1, 1)  # a chain of another length: at the same share of its way
        twins = chain[orders[int(along * (len(orders) - 1) + 0.5)]]
        entry = twins[min(seen[key, ranks[bone]], len(twins) - 1)]
        seen[key, ranks[bone]] += 1
        found[bone].append((3, _scaled(entry, len(chain) / lengths[key] if key[0] in CHAINS else 1.0)))


def _keys(anatomy) -> list:
    return list(zip(anatomy.roles, anatomy.sides, strict=True))


def _chains(anatomy) -> tuple[list, dict]:
    """Place of every bone in its chain [n], without gaps, from 0; and the chains' lengths by role and side."""
    orders = defaultdict(set)
    for key, order in zip(_keys(anatomy), anatomy.order, strict=True):
        orders[key].add(int(order))
    ranks = [sorted(orders[key]).index(int(o)) for key, o in zip(_keys(anatomy), anatomy.order, strict=True)]
    return ranks, {key: len(held) for key, held in orders.items()}


def _scaled(entry: Entry, factor: float) -> Entry:
    """An entry with its range for a chain of more or fewer bones, so that the whole chain's stays."""
    if factor == 1.0 or "limit_min" not in entry.settings:
        return entry
    ends = ("limit_min", "limit_max")
    ranges = np.clip(factor * np.array([entry.settings[end] for end in ends]), -np.pi, np.pi).tolist()
    return replace(entry, settings=entry.settings | dict(zip(ends, ranges, strict=True)))


# ---- the other side -------------------------------------------------------------------------------------------------
SWAP, TO_RIGHT, TO_LEFT = "SWAP", "LEFT_TO_RIGHT", "RIGHT_TO_LEFT"
MIRROR_IMAGES = 1e-5  # frames that differ by less are taken as mirror images, so that numbers stay as they are


def _change(source: Entry, target: Entry) -> np.ndarray | None:
    """The reflection between the frames of two bones, from the anatomical frames in them; None for mirror images."""
    frames = []
    for entry in (source, target):
        turn = entry.settings.get("joint_rotation")
        if turn is None or entry.joint_in_anatomy is None:
            return None
        joint, inside = quaternion.to_matrix(quaternion.normalize([turn, entry.joint_in_anatomy]))
        frames.append(joint @ inside.T)
    change = frames[1] @ mirror.ACROSS @ frames[0].T
    return None if np.abs(change - mirror.ACROSS).max() < MIRROR_IMAGES else change


def mirrored_content(entry: Entry, target: Entry | None = None) -> Entry:
    """An entry with what it says mirrored for the bone of another entry, its own by default."""
    settings = mirror.mirrored_settings(entry.settings, _change(entry, target or entry))
    rotation = entry.joint_in_anatomy and tuple(mirror.mirrored_rotation(entry.joint_in_anatomy))
    return replace(entry, settings=settings, joint_in_anatomy=rotation)


def mirrored(profile: Profile, how: str = SWAP) -> Profile:
    """A profile mirrored left to right; twice is what it was. SWAP lets both sides change places, the middle is
    mirrored in itself; LEFT_TO_RIGHT and RIGHT_TO_LEFT copy one side to the other and leave the middle."""
    partners = _partners(profile.entries)
    names = {entry.name for entry in profile.entries}
    copied = {TO_RIGHT: roles.LEFT, TO_LEFT: roles.RIGHT}.get(how)  # the side that is copied to the other
    result, added = [], []
    for i, entry in enumerate(profile.entries):
        if i in partners:
            if how == SWAP or entry.side == roles.OPPOSITE[copied]:
                content = mirrored_content(profile.entries[partners[i]], entry)
                entry = replace(entry, settings=content.settings, joint_in_anatomy=content.joint_in_anatomy)
        elif how == SWAP and entry.side in roles.OPPOSITE:
            entry = _swapped_side(entry, names)
        elif how == SWAP and entry.side is not None:  # (one for both sides states the left one: nothing changes)
            entry = mirrored_content(entry)
        elif entry.side == copied is not None:
            other = _swapped_side(entry, names)  # without a name where the name tells no side
            added.append(replace(other, name=None) if other.name == entry.name else other)
        result.append(entry)
    return replace(profile, entries=(*result, *added))


def _swapped_side(entry, names) -> Entry:
    """An entry as it is for the other side; it keeps its name where the other one's is taken."""
    entry = mirrored_content(entry)
    name = None if entry.name is None else mirror.flipped_name(entry.name)
    name = entry.name if name in names else name
    rest = None if entry.rest is None else tuple(mirror.mirrored_rotation(entry.rest))
    return replace(entry, name=name, side=roles.OPPOSITE[entry.side], rest=rest)


def _partners(entries) -> dict:
    """The entry of the other side for each that has one: by name, else by role, order and place in the file."""
    by_name = {entry.name: i for i, entry in enumerate(entries) if entry.name is not None}
    result = {}
    for i, entry in enumerate(entries):
        k = by_name.get(mirror.flipped_name(entry.name)) if entry.name is not None else None
        if k is not None and k != i and entry.side in roles.OPPOSITE and entries[k].side == roles.OPPOSITE[entry.side]:
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
