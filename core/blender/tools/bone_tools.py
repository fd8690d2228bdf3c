"""Settings and weights of many bones at once: copied, mirrored, reset, spread, as presets."""

import contextlib
import json

import numpy as np

from ...anatomy import roles
from ...errors import RagdollError
from ...mirror import carried_over, flipped_name, mirrored_settings, plane_of_joints, reflection
from ...ragdoll import weight_spread
from .. import runtime
from ..physics import body_objects
from ..rig.armature import BindPose, anatomy_of, bone_parents, check_armature
from ..settings import declare
from ..settings.bone import ActiveRagdollBone

WEIGHTS = ("rotation_weight", "translation_weight")
GROUPS = ("body", "size", "joint", "limits", "weights")  # of settings, which are copied together
RESET = declare.names(ActiveRagdollBone, found=True)  # what a build finds by itself
NEAR = 0.01  # of the armature's size: how far a mirrored bone may be from its counterpart


def copy(obj, name: str, others: list[str], groups) -> None:
    """Give other bones the settings of a bone, each group as it is in the bone's own frame. groups: of `GROUPS`."""
    _collect(obj, groups)
    for other in others:
        _copy(obj, name, other, groups)


def mirror(obj, names: list[str], groups) -> list[tuple[str, str]]:
    """Give the counterparts of bones their settings, mirrored across the armature; returns (bone, counterpart) of each.
    Raises RagdollError: a bone has no counterpart, or both of a pair are among the names."""
    _collect(obj, groups)
    pose = BindPose(obj, np.eye(4))
    normal, twins = _symmetry(pose)
    pairs = [(name, counterpart(pose, twins, name)) for name in names]
    for name, other in pairs:
        if other in names:
            raise RagdollError(f"'{name}' and '{other}' are both selected: select one side")
    for name, other in pairs:
        binds = (pose.matrices[pose.row[bone], :3, :3] for bone in (name, other))
        _copy(obj, name, other, groups, carried_over(*binds, normal))
    return pairs


def counterpart(pose: BindPose, twins: np.ndarray, name: str) -> str:
    """The bone on the other side: by its name, else by its place. Raises RagdollError: there is none."""
    other = flipped_name(name)
    if other != name and other in pose.row:
        return other
    twin = int(twins[pose.row[name]])
    if twin < 0:
        raise RagdollError(f"Bone '{name}' has no counterpart on the other side, by name or by place")
    if twin == pose.row[name]:
        raise RagdollError(f"Bone '{name}' lies in the middle: it is its own counterpart")
    return pose.names[twin]


def _symmetry(pose: BindPose) -> tuple[np.ndarray, np.ndarray]:
    """Normal of the armature's mirror plane [3], X unless another fits, and every bone's mirror image [n], -1: none."""
    size = float(np.ptp(np.concatenate([pose.heads, pose.tails]), axis=0).max())
    normal, _offset, twins = plane_of_joints(pose.heads, pose.parents, size)
    if normal is not None:
        return normal, twins
    normal = np.array([1.0, 0.0, 0.0])
    flipped = reflection(normal)
    heads, tails = pose.heads @ flipped, pose.tails @ flipped
    apart = np.linalg.norm(heads[:, None] - pose.heads[None], axis=2)
    apart = np.maximum(apart, np.linalg.norm(tails[:, None] - pose.tails[None], axis=2))
    return normal, np.where(apart.min(axis=1) < NEAR * size, np.argmin(apart, axis=1), -1)


def reset(obj, names: list[str]) -> None:
    """Shape, mass, joint and limits of bones are automatic again; a new build finds them."""
    for name in names:
        own = obj.pose.bones[name].active_ragdoll
        for setting in RESET:
            own.property_unset(setting)
        body_objects.reset_body(obj, name)
    runtime.settings_changed(obj, layout=True)


def _collect(obj, groups) -> None:
    """Bodies moved in the viewport since the build count, too."""
    if "size" in groups and obj.active_ragdoll.is_ragdoll and body_objects.collect_edits(obj):
        runtime.settings_changed(obj, layout=True)


def _copy(obj, name: str, other: str, groups, carry=None) -> None:
    """Give a bone the settings of another one, mirrored where there is a `carry`, see `mirrored_settings`."""
    own, its = (obj.pose.bones[bone].active_ragdoll for bone in (name, other))
    if "size" in groups:
        body_objects.reset_body(obj, other)
    known = [setting for group in groups for setting in declare.names(ActiveRagdollBone, group=group)]
    values = {setting: getattr(own, setting) for setting in known}
    if carry is not None:
        points = json.loads(values.get("body_points") or "[]")
        mirrored = mirrored_settings(values | {"body_points": points}, carry)
        mirrored["body_points"] = json.dumps(mirrored["body_points"]) if points else ""
        values |= {key: value for key, value in mirrored.items() if own.shape_by_user or not key.startswith("body_")}
    for setting in known:
        setattr(its, setting, values[setting])


def read_weights(obj, kind: str) -> np.ndarray:
    """A weight of all bones [n]; one of `WEIGHTS`."""
    return np.array([getattr(bone.active_ragdoll, kind) for bone in obj.pose.bones], dtype=float)


def write_weights(obj, weights: dict) -> list[str]:
    """Set weights [n] of all bones by their kind; the names of bones that changed. Raises RagdollError: a weight out of
    0..1; nothing of its kind is set then."""
    changed = {}
    for kind, values in weights.items():
        values = weight_spread.checked(values, obj.pose.bones.keys())
        for bone, before, value in zip(obj.pose.bones, read_weights(obj, kind), values, strict=True):
            if abs(before - value) > 1e-6:
                setattr(bone.active_ragdoll, kind, value)
                changed[bone.name] = None
    return list(changed)


def spread_weights(obj, bone: str, names, mode: str, kind: str, value: float, end: float, reach: float) -> list[str]:
    """Set the weights of some bones; the names of those that changed.

    Args:
        mode: SET: `value` on all names. CHAIN: evenly from `value` on the bone to `end` on the other one of the names.
            DOWN, UP: the bone to `value`, and those below or above it less the further away, none `reach` bones away.
            COPY: the bone's own on all names. MIRROR: those of the names on their counterparts.
        kind: ROTATION, TRANSLATION or BOTH.
    Raises:
        RagdollError: no such bone, no chain, no counterpart known, a weight out of 0..1.
    """
    (row,), rows, parents = _rows(obj, [bone]), _rows(obj, names), bone_parents(obj)
    if mode == "CHAIN":
        ends = [other for other in rows if other != row]
        if len(ends) != 1:
            raise RagdollError("Select the two ends of a chain, one of them active")
        rows = weight_spread.chain(parents, row, ends[0], obj.pose.bones.keys())
        return _change(obj, kind, lambda weights: weight_spread.along(weights, rows, value, end))
    if mode in (weight_spread.DOWN, weight_spread.UP):
        return _change(obj, kind, lambda weights: weight_spread.falloff(weights, parents, row, value, reach, mode))
    if mode == "MIRROR":
        pose, origins = BindPose(obj, np.eye(4)), np.arange(len(parents))
        twins = _symmetry(pose)[1]
        for name, own in zip(names, rows, strict=True):
            with contextlib.suppress(RagdollError):
                origins[pose.row[counterpart(pose, twins, name)]] = own
        if (origins == np.arange(len(parents))).all():
            raise RagdollError(f"No bone of '{obj.name}' on the other side is known")
        return _change(obj, kind, lambda weights: weights[origins])
    own = mode == "COPY"
    return _change(obj, kind, lambda weights: weight_spread.along(weights, rows, weights[row] if own else value))


def move_weights(obj, names, change: float, kind: str) -> list[str]:
    """Some bones' weights moved by -1..1, each kept within 0..1; the names of those that changed."""
    changes = np.zeros(len(obj.pose.bones))
    changes[_rows(obj, names)] = change
    return _change(obj, kind, lambda weights: np.clip(weights + changes, 0.0, 1.0))


def apply_weight_preset(obj, name: str, side: str = roles.LEFT) -> list[str]:
    """The rotation and translation weights of a preset on all bones; the names of those that changed. Raises
    RagdollError: unknown preset or side, no arm on that side, or no limb that could go limp."""
    check_armature(obj)
    try:
        found = weight_spread.preset(name, anatomy_of(obj), bone_parents(obj), side)
    except RagdollError as error:
        raise RagdollError(f"'{obj.name}': {error}") from error
    return write_weights(obj, dict(zip(WEIGHTS, found, strict=True)))


def _change(obj, kind: str, change) -> list[str]:
    """Write `change(weights)` for one kind or both."""
    check_armature(obj)
    kinds = WEIGHTS if kind == "BOTH" else (f"{kind.lower()}_weight",)
    return write_weights(obj, {name: change(read_weights(obj, name)) for name in kinds})


def _rows(obj, names) -> list[int]:
    rows = [obj.pose.bones.find(name) for name in names]
    if -1 in rows:
        raise RagdollError(f"'{obj.name}' has no bone '{names[rows.index(-1)]}'")
    return rows
