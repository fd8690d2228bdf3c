"""Profiles as JSON: what a file may hold, reading it with every value checked, writing it.

A file states lengths, masses and times in SI units and angles in radians. Settings of bones stand under `bones`, each
entry for the bone of a name, for the bones of a role, or both: by name it comes back to the rig it was taken from, by
role it suits any other. The joint's limits count in the joint's frame: X and Z are swings, Y the twist along the bone.
Frames of the left and the right side are mirror images, so that mirroring a joint keeps X and negates Y and Z;
`joint_rotation` leads from the bone's frame to the joint's, `joint_in_anatomy` from the anatomical frame, which every
rig has the same, whatever the roll of its bones.
"""

import json
import math
from dataclasses import dataclass, field

import numpy as np

from ..anatomy import roles
from ..errors import RagdollError

FORMAT = "active_ragdoll profile"
VERSION = 1
READABLE = (1,)
UNITS = {
    "length": "m",
    "mass": "kg",
    "density": "kg/m^3",
    "force": "N",
    "torque": "N m",
    "angle": "rad",
    "rotation": "quaternion w, x, y, z",
}
ANY = "ANY"  # an entry for every bone
KINDS = (roles.HUMAN, roles.QUADRUPED, roles.CREATURE)
BOOL, INT, FLOAT, ENUM, TEXT, POINTS = "BOOL", "INT", "FLOAT", "ENUM", "TEXT", "POINTS"
LARGEST = float(np.finfo(np.float32).max)
_TYPES = {
    BOOL: (bool, "true or false"),
    INT: (int, "a whole number"),
    FLOAT: ((int, float), "a number"),
    ENUM: (str, "a text"),
    TEXT: (str, "a text"),
}


@dataclass(frozen=True)
class Field:
    """What one setting may hold."""

    kind: str  # BOOL, INT, FLOAT, ENUM, TEXT or POINTS
    length: int = 0  # of a vector; 0 is a single value. Of POINTS the most there may be, of three coordinates each.
    # low, high: the range of a number, both included, in SI units and radians
    low: float = -LARGEST
    high: float = LARGEST
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
    rest: tuple | None = None  # rotation (w, x, y, z) of the named bone in bind pose, in the armature's space


@dataclass(frozen=True)
class Profile:
    """The settings of a character and of its bones."""

    object: dict = field(default_factory=dict)  # settings of the character by their names
    entries: tuple = ()  # of its bones
    # name, description: for people
    name: str = ""
    description: str = ""
    kind: str | None = None  # what it is made for, one of KINDS; None for anything


# Where they are not null: what a file says of itself, and an entry of the bones that it is for.
_ABOUT = {"name": Field(TEXT), "description": Field(TEXT), "kind": Field(ENUM, choices=KINDS)}
_PLACE = {
    "name": Field(TEXT),
    "role": Field(ENUM, choices=(*roles.ROLES, ANY)),
    "side": Field(ENUM, choices=roles.SIDES),
    "order": Field(INT, low=0, high=10_000),
    "share": Field(BOOL),
    "range": Field(FLOAT, low=0.0, high=4.0),
    "joint_in_anatomy": Field(FLOAT, 4, -1e3, 1e3),
    "rest": Field(FLOAT, 4, -1e3, 1e3),
}
_ROTATIONS = ("joint_rotation", "joint_in_anatomy", "rest")


# ---- one value ------------------------------------------------------------------------------------------------------


def shown(value) -> str:
    """A value as a message shows it: on one line and short."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else text[:37] + "..."


def checked(value, wanted: Field, path: str):
    """A value of a file as the setting takes it.

    Raises:
        RagdollError: wrong type or length, not a number, out of range, unknown choice; begins with the path.
    """
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
    types, expected = _TYPES[wanted.kind]
    if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
        raise RagdollError(f"{path}: expected {expected}, got {shown(value)}")
    if wanted.kind == ENUM and value not in wanted.choices:
        raise RagdollError(f"{path}: unknown value {shown(value)}, use one of {', '.join(wanted.choices)}")
    return _number(value, wanted, path) if wanted.kind in (INT, FLOAT) else value


def _number(value, wanted: Field, path: str):
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
    """The number of fewest digits that single precision stores as the same bits.

    Raises:
        ValueError: the value is not finite.
    """
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
        seen = set()
        self.repeated = next((key for key, _value in items if key in seen or seen.add(key)), None)


def parse(text: str, schema: Schema) -> Profile:
    """A profile from the text of a file; every value of it is checked.

    Raises:
        RagdollError: begins with the place in the file, as in `bones[3].limit_min[1]: ...`.
    """
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
    if isinstance(version, bool) or version not in READABLE:
        readable = ", ".join(map(str, READABLE))
        raise RagdollError(f"version: {shown(version)} is unknown, this extension reads {readable}")
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
    """The text of a profile's file; the same profile always gives the same text.

    Raises:
        ValueError: a number is not finite.
    """
    data = {"format": FORMAT, "version": VERSION, "units": UNITS}
    data |= {key: getattr(profile, key) for key in _ABOUT if getattr(profile, key)}
    data["object"] = profile.object
    data["bones"] = [_entry_data(entry) for entry in profile.entries]
    return _layout(data, "") + "\n"


def _entry_data(entry: Entry) -> dict:
    stated = {key: getattr(entry, key) for key in _PLACE}
    return {key: value for key, value in stated.items() if value is not None and value is not False} | entry.settings


def _layout(value, indent: str) -> str:
    """JSON with one setting on a line, vectors included."""
    inner = indent + "  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{json.dumps(key)}: {_layout(held, inner)}" for key, held in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        lines = [inner + _layout(held, inner) for held in value]
        return "[\n" + ",\n".join(lines) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
