"""Weights of many bones at once: along a chain, with falloff, copied, mirrored, moved, as presets."""

import numpy as np

from ..anatomy import roles
from ..errors import RagdollError
from ..ragdoll import weight_spread
from . import recognition
from .armature import check_armature

KINDS = ("rotation_weight", "translation_weight")
BOTH = "BOTH"
UP, DOWN = "UP", "DOWN"


def _parents(obj) -> np.ndarray:
    bones = obj.data.bones
    rows = {bone.name: i for i, bone in enumerate(bones)}
    return np.array([rows[bone.parent.name] if bone.parent else -1 for bone in bones], dtype=int)


def _row(obj, name: str) -> int:
    row = obj.pose.bones.find(name)
    if row < 0:
        raise RagdollError(f"'{obj.name}' has no bone '{name}'")
    return row


def _kinds(kind: str) -> tuple:
    return KINDS if kind == BOTH else (f"{kind.lower()}_weight",)


def read(obj, kind: str) -> np.ndarray:
    """A weight of all bones [n]; `rotation_weight` or `translation_weight`."""
    return np.array([getattr(bone.active_ragdoll, kind) for bone in obj.pose.bones], dtype=float)


def write(obj, kind: str, weights) -> list[str]:
    """Set a weight of all bones; the names of those that changed.

    Raises:
        RagdollError: a weight out of 0..1; nothing is set then.
    """
    names = [bone.name for bone in obj.pose.bones]
    weights = weight_spread.checked(weights, names)
    changed = []
    for bone, before, value in zip(obj.pose.bones, read(obj, kind), weights, strict=True):
        if abs(before - value) > 1e-6:
            setattr(bone.active_ragdoll, kind, value)
            changed.append(bone.name)
    return changed


def _apply(obj, kind: str, change) -> list[str]:
    """Write `change(weights)` for one kind or both; the names of bones that changed."""
    check_armature(obj)
    results = {name: change(read(obj, name)) for name in _kinds(kind)}
    changed: list = []
    for name, weights in results.items():
        changed += [bone for bone in write(obj, name, weights) if bone not in changed]
    return changed


def along(obj, first: str, last: str, value: float, end: float, kind: str = BOTH) -> list[str]:
    """From `value` on one bone evenly to `end` on another of its chain.

    Raises:
        RagdollError: no such bone, neither above the other, a weight out of 0..1.
    """
    rows = weight_spread.chain(_parents(obj), _row(obj, first), _row(obj, last), [b.name for b in obj.pose.bones])
    return _apply(obj, kind, lambda weights: weight_spread.along(weights, rows, value, end))


def falloff(obj, bone: str, value: float, reach: float, way: str = DOWN, kind: str = BOTH) -> list[str]:
    """A bone set to a value and those below or above it drawn there, less the further away; `reach` in bones."""
    row, parents = _row(obj, bone), _parents(obj)
    spread = weight_spread.falloff_down if way == DOWN else weight_spread.falloff_up
    return _apply(obj, kind, lambda weights: spread(weights, parents, row, value, reach))


def copy(obj, bone: str, names, kind: str = BOTH) -> list[str]:
    """The weights of one bone on others."""
    row, rows = _row(obj, bone), [_row(obj, name) for name in names]
    return _apply(obj, kind, lambda weights: weight_spread.copied(weights, row, rows))


def mirror(obj, names=None, kind: str = BOTH) -> list[str]:
    """The weights of bones (None: of one whole side) on their counterparts.

    Raises:
        RagdollError: no bone of the other side is known.
    """
    others = weight_spread.counterparts(recognition.anatomy_of(obj), _parents(obj))
    rows = None if names is None else [_row(obj, name) for name in names]
    if not np.any(others[slice(None) if rows is None else rows] >= 0):
        raise RagdollError(f"No bone of '{obj.name}' on the other side is known")
    return _apply(obj, kind, lambda weights: weight_spread.mirrored(weights, others, rows))


def set_value(obj, names, value: float, kind: str = BOTH) -> list[str]:
    """One value on some bones."""
    rows = [_row(obj, name) for name in names]
    return _apply(obj, kind, lambda weights: weight_spread.along(weights, rows, value))


def preset(obj, name: str, side: str = roles.LEFT) -> list[str]:
    """The rotation and translation weights of a preset on all bones.

    Raises:
        RagdollError: unknown preset or side, no arm on that side, or no limb that could go limp; names the character.
    """
    check_armature(obj)
    try:
        found = weight_spread.preset(name, recognition.anatomy_of(obj), _parents(obj), side)
    except RagdollError as error:
        raise RagdollError(f"'{obj.name}': {error}") from error
    changed: list = []
    for kind, weights in zip(KINDS, found, strict=True):
        changed += [bone for bone in write(obj, kind, weights) if bone not in changed]
    return changed


def move(obj, names, change: float, kind: str = BOTH) -> list[str]:
    """Some bones' weights moved by -1..1, each kept within 0..1."""
    rows = [_row(obj, name) for name in names]

    def moved(weights):
        result = weights.copy()
        result[rows] = np.clip(weights[rows] + change, 0.0, 1.0)
        return result

    return _apply(obj, kind, moved)
