"""Mirroring a profile: left and right change places, or one side is copied to the other.

The frames of a pair of bones are taken as mirror images, as Blender's Symmetrize makes them: X and Z in the same sense
as seen from their side. A reflection with normal n turns a rotation by the vector r into one by 2 n (n . r) - r. In the
frames' own components that keeps X and negates Y and Z: a range of Y or Z changes ends, and a quaternion its y and z.
"""

import re
from collections import defaultdict
from dataclasses import replace

import numpy as np

from . import quaternion
from .anatomy import roles
from .errors import RagdollError
from .profile import Entry, Profile

SWAP, TO_RIGHT, TO_LEFT = "SWAP", "LEFT_TO_RIGHT", "RIGHT_TO_LEFT"
MIRRORS = (SWAP, TO_RIGHT, TO_LEFT)
OTHER = {roles.LEFT: roles.RIGHT, roles.RIGHT: roles.LEFT}
MIRROR_IMAGES = 1e-5  # frames that differ by less are taken as mirror images, so that numbers stay as they are
_ACROSS = np.diag((-1.0, 1.0, 1.0))
_WORDS = {"left": "right", "right": "left", "l": "r", "r": "l"}
# A whole word, or a single letter set off by separators; "Left" may also stand against the next capital.
_SIDE = re.compile(r"(?<![A-Za-z])(left|right|Left|Right|LEFT|RIGHT)(?![a-z])|(?<![A-Za-z0-9])([lrLR])(?![A-Za-z0-9])")


def flipped_name(name: str) -> str:
    """The name of the bone on the other side; the same where the name tells no side."""
    found = list(_SIDE.finditer(name))
    if not found:
        return name
    last = found[-1]
    word = last.group()
    other = _WORDS[word.lower()]
    other = other.upper() if word.isupper() else other.capitalize() if word[0].isupper() else other
    return name[: last.start()] + other + name[last.end() :]


def mirrored_rotation(rotation) -> list:
    """A quaternion (w, x, y, z) in a bone's frame as it is in the mirrored bone's."""
    w, x, y, z = rotation
    return [w, x, -y, -z]


def mirrored_limits(limit_min, limit_max) -> tuple[list, list]:
    """Ranges [3] in a joint's frame as they are in the mirrored joint's."""
    return (
        [limit_min[0], 0.0 - limit_max[1], 0.0 - limit_max[2]],
        [limit_max[0], 0.0 - limit_min[1], 0.0 - limit_min[2]],
    )


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
    return quaternion.from_matrix(change @ quaternion.to_matrix(_unit(rotation)) @ _ACROSS).tolist()


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
    change = frames[1] @ _ACROSS @ frames[0].T
    return None if np.abs(change - _ACROSS).max() < MIRROR_IMAGES else change


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
