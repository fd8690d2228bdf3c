"""Profiles: everything set on a ragdoll, as JSON.

A file states lengths, masses and times in SI units and angles in radians. Settings of bones stand under `bones`, each
entry for the bone of a name, for the bones of a role, or both: by name it comes back to the rig it was taken from, by
role it suits any other. The joint's limits count in the joint's frame: X and Z are swings, Y the twist along the bone.
Frames of the left and the right side are mirror images, so that mirroring a joint keeps X and negates Y and Z;
`joint_rotation` leads from the bone's frame to the joint's, `joint_in_anatomy` from the anatomical frame, which every
rig has the same, whatever the roll of its bones.
"""

import json
import math
from dataclasses import dataclass, field, replace

from .anatomy import roles
from .errors import RagdollError
from .profile_schema import Field, Schema, checked, shown

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
_TOP = ("format", "version", "units", "name", "description", "kind", "object", "bones")
_IDENTITY = ("name", "role", "side", "order", "share", "range", "joint_in_anatomy", "rest")
_ORDER = Field("INT", low=0, high=10_000)
_RANGE = Field("FLOAT", low=0.0, high=4.0)
_ROTATION = Field("FLOAT", 4, -1e3, 1e3)


@dataclass(frozen=True)
class Entry:
    """Settings for one bone or for all of a role.

    Attributes:
        settings: by their names; what is not there stays as it is on the bone.
        name: of the bone it was taken from.
        role: one of roles.ROLES, or ANY.
        side: one of roles.SIDES; None for all.
        order: which of its chain; None for all.
        share: the limits are those of the whole chain, which its bones share.
        range: multiplies the limits that the rig has by itself.
        joint_in_anatomy: rotation (w, x, y, z) from the anatomical frame of the bone to the joint's.
        rest: rotation (w, x, y, z) of the named bone in bind pose, in the armature's space.
    """

    settings: dict
    name: str | None = None
    role: str | None = None
    side: str | None = None
    order: int | None = None
    share: bool = False
    range: float | None = None
    joint_in_anatomy: tuple | None = None
    rest: tuple | None = None


@dataclass(frozen=True)
class Profile:
    """The settings of a character and of its bones.

    Attributes:
        object: settings of the character by their names.
        entries: of its bones.
        name, description: for people.
        kind: what it is made for, one of KINDS; None for anything.
    """

    object: dict = field(default_factory=dict)
    entries: tuple = ()
    name: str = ""
    description: str = ""
    kind: str | None = None

    def named(self, name: str) -> "Profile":
        """The same under another name."""
        return replace(self, name=name)


# ---- reading --------------------------------------------------------------------------------------------------------


class _Pairs(dict):
    """A JSON object that remembers a key that stands in it twice."""

    repeated = None


def _pairs(items) -> _Pairs:
    result = _Pairs(items)
    if len(result) < len(items):
        seen = set()
        result.repeated = next(key for key, _value in items if key in seen or seen.add(key))
    return result


def parse(text: str, schema: Schema) -> Profile:
    """A profile from the text of a file; every value of it is checked.

    Raises:
        RagdollError: begins with the place in the file, as in `bones[3].limit_min[1]: ...`.
    """
    try:
        data = json.loads(text, object_pairs_hook=_pairs)
    except json.JSONDecodeError as error:
        raise RagdollError(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except (RecursionError, ValueError) as error:  # nested too deep; a number of thousands of digits
        raise RagdollError(f"not a profile: {error}") from error
    return from_data(data, schema)


def from_data(data, schema: Schema) -> Profile:
    """`parse` for what JSON has been read to: dictionaries, lists, texts and numbers."""
    _check_keys(data, _TOP, "")
    if data.get("format") != FORMAT:
        raise RagdollError(f"format: expected '{FORMAT}', got {shown(data.get('format'))}")
    version = data.get("version")
    if isinstance(version, bool) or version not in READABLE:
        readable = ", ".join(map(str, READABLE))
        raise RagdollError(f"version: {shown(version)} is unknown, this extension reads {readable}")
    units = data.get("units", UNITS)
    _check_keys(units, tuple(UNITS), "units")
    for key, value in units.items():
        if value != UNITS[key]:
            raise RagdollError(f"units.{key}: expected '{UNITS[key]}', got {shown(value)}")
    entries = data.get("bones", [])
    if not isinstance(entries, list):
        raise RagdollError(f"bones: expected a list, got {shown(entries)}")
    profile = Profile(
        object=_settings(data.get("object", {}), schema.object, (), "object"),
        entries=tuple(_entry(entry, schema.bone, f"bones[{i}]") for i, entry in enumerate(entries)),
        name=_text(data, "name", "") or "",
        description=_text(data, "description", "") or "",
        kind=_choice(data, "kind", KINDS, ""),
    )
    _check_names(profile.entries)
    return profile


def _check_keys(data, known, path: str) -> None:
    if not isinstance(data, dict):
        raise RagdollError(f"{path or 'file'}: expected an object in braces, got {shown(data)}")
    dot = f"{path}." if path else ""
    repeated = getattr(data, "repeated", None)
    if repeated is not None:
        raise RagdollError(f"{dot}{repeated}: stands there twice")
    for key in data:
        if key not in known:
            raise RagdollError(f"{dot}{key}: unknown key")


def _text(data, key, path) -> str | None:
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        raise RagdollError(f"{path}{key}: expected a text, got {shown(value)}")
    return value


def _choice(data, key, choices, path) -> str | None:
    value = _text(data, key, path)
    if value is not None and value not in choices:
        raise RagdollError(f"{path}{key}: unknown value {shown(value)}, use one of {', '.join(choices)}")
    return value


def _settings(data, fields: dict, others: tuple, path: str) -> dict:
    _check_keys(data, (*fields, *others), path)
    result = {key: checked(data[key], fields[key], f"{path}.{key}") for key in data if key in fields}
    _check_limits(result, path)
    rotation = result.get("joint_rotation")
    if rotation is not None:
        _check_rotation(rotation, f"{path}.joint_rotation")
    return result


def _check_limits(settings, path) -> None:
    low, high = settings.get("limit_min"), settings.get("limit_max")
    if (low is None) != (high is None):
        there, missing = ("limit_min", "limit_max") if high is None else ("limit_max", "limit_min")
        raise RagdollError(f"{path}.{missing}: is missing where {there} is stated")
    for axis in range(3 if low is not None else 0):
        if low[axis] > high[axis]:
            raise RagdollError(f"{path}.limit_min[{axis}]: {low[axis]:g} is above limit_max[{axis}] = {high[axis]:g}")


def _check_rotation(rotation, path) -> None:
    if math.hypot(*rotation) < 1e-3:
        raise RagdollError(f"{path}: {shown(rotation)} is no rotation")


def _entry(data, fields: dict, path: str) -> Entry:
    settings = _settings(data, fields, _IDENTITY, path)
    name = _text(data, "name", f"{path}.")
    role = _choice(data, "role", (*roles.ROLES, ANY), f"{path}.")
    if name is None and role is None:
        raise RagdollError(f"{path}: neither name nor role says for which bone it is")
    share = data.get("share", False)
    if not isinstance(share, bool):
        raise RagdollError(f"{path}.share: expected true or false, got {shown(share)}")
    order, factor = (
        None if data.get(key) is None else checked(data[key], wanted, f"{path}.{key}")
        for key, wanted in (("order", _ORDER), ("range", _RANGE))
    )
    if factor is not None and "limit_min" in settings:
        raise RagdollError(f"{path}.range: multiplies the rig's own limits, but limit_min states others")
    turns = {}
    for key in ("joint_in_anatomy", "rest"):
        if data.get(key) is not None:
            turn = checked(data[key], _ROTATION, f"{path}.{key}")
            _check_rotation(turn, f"{path}.{key}")
            turns[key] = tuple(turn)
    side = _choice(data, "side", roles.SIDES, f"{path}.")
    return Entry(settings, name, role, side, order, share, factor, **turns)


def _check_names(entries) -> None:
    first = {}
    for i, entry in enumerate(entries):
        if entry.name is not None and first.setdefault(entry.name, i) != i:
            raise RagdollError(f"bones[{i}].name: {shown(entry.name)} stands in bones[{first[entry.name]}] too")


# ---- writing --------------------------------------------------------------------------------------------------------


def dump(profile: Profile) -> str:
    """The text of a profile's file; the same profile always gives the same text.

    Raises:
        ValueError: a number is not finite.
    """
    data = {"format": FORMAT, "version": VERSION, "units": UNITS}
    data |= {key: getattr(profile, key) for key in ("name", "description", "kind") if getattr(profile, key)}
    data["object"] = profile.object
    data["bones"] = [_entry_data(entry) for entry in profile.entries]
    return _layout(data, "") + "\n"


def _entry_data(entry: Entry) -> dict:
    stated = {key: getattr(entry, key) for key in ("name", "role", "side", "order")}
    data = {key: value for key, value in stated.items() if value is not None}
    if entry.share:
        data["share"] = True
    if entry.range is not None:
        data["range"] = entry.range
    for key in ("joint_in_anatomy", "rest"):
        if getattr(entry, key) is not None:
            data[key] = list(getattr(entry, key))
    return data | entry.settings


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
