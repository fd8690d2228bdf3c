"""What a setting of a profile may hold, and the check of one value that names its place in the file."""

import math
from dataclasses import dataclass, field

import numpy as np

from .errors import RagdollError

BOOL, INT, FLOAT, ENUM, POINTS = "BOOL", "INT", "FLOAT", "ENUM", "POINTS"
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Field:
    """One setting.

    Attributes:
        kind: BOOL, INT, FLOAT, ENUM or POINTS.
        length: of a vector; 0 is a single value. Of POINTS the most there may be, of three coordinates each.
        low, high: the range of a number, both included, in SI units and radians.
        choices: of an enum.
    """

    kind: str
    length: int = 0
    low: float = -LARGEST
    high: float = LARGEST
    choices: tuple = ()


@dataclass(frozen=True)
class Schema:
    """The settings that characters and bones have, by their name."""

    object: dict = field(default_factory=dict)
    bone: dict = field(default_factory=dict)


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
    if wanted.kind == BOOL:
        if not isinstance(value, bool):
            raise RagdollError(f"{path}: expected true or false, got {shown(value)}")
        return value
    if wanted.kind == ENUM:
        if not isinstance(value, str):
            raise RagdollError(f"{path}: expected a text, got {shown(value)}")
        if value not in wanted.choices:
            raise RagdollError(f"{path}: unknown value {shown(value)}, use one of {', '.join(wanted.choices)}")
        return value
    return _number(value, wanted, path)


def _number(value, wanted: Field, path: str):
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RagdollError(f"{path}: expected a number, got {shown(value)}")
    if wanted.kind == INT and isinstance(value, float):
        raise RagdollError(f"{path}: expected a whole number, got {shown(value)}")
    if not math.isfinite(value) if isinstance(value, float) else abs(value) > LARGEST:
        raise RagdollError(f"{path}: {shown(value)} is not a finite number")
    # Blender keeps single precision; a bound such as pi is one step larger there than here.
    low, high = np.float32(wanted.low), np.float32(wanted.high)
    if abs(value) > LARGEST or not low <= np.float32(value) <= high:
        raise RagdollError(f"{path}: {shown(value)} is not {_range_text(wanted)}")
    return value if wanted.kind == INT else float(value)


def _range_text(wanted: Field) -> str:
    bounded_low, bounded_high = wanted.low > -LARGEST, wanted.high < LARGEST
    if bounded_low and bounded_high:
        return f"from {wanted.low:g} to {wanted.high:g}"
    if bounded_low:
        return f"{wanted.low:g} or more"
    return f"{wanted.high:g} or less" if bounded_high else "a number of single precision"


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
