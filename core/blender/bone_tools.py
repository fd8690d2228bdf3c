"""Copying, mirroring and resetting the settings of bones."""

import json

import bpy
import numpy as np

from ..errors import RagdollError
from ..ragdoll import mirroring
from ..ragdoll.symmetry import mirror_plane
from ..reflection import reflection
from . import body_edits, runtime
from .armature import BindPose

GROUPS = {
    "body": ("shape", "mass", "friction", "bounciness", "linear_damping", "angular_damping"),
    "size": body_edits.SHAPE_SETTINGS,
    "joint": ("joint", "joint_rotation"),
    "limits": ("limit_min", "limit_max"),
    "weights": (
        *("rotation_weight", "translation_weight", "body_mode", "max_torque", "max_force"),
        *("frequency_scale", "damping_scale"),
    ),
}
RESET = ("shape", "mass", "joint", "limit_min", "limit_max", "joint_rotation", "limits_from")
NEAR = 0.01  # of the armature's size: how far a mirrored bone may be from its counterpart


def copy(obj, name: str, others: list[str], groups) -> None:
    """Give other bones the settings of a bone, each group as it is in the bone's own frame.

    Args:
        groups: keys of `GROUPS`.
    """
    if "size" in groups:
        _collect(obj)
    own = obj.pose.bones[name].active_ragdoll
    for other in others:
        its = obj.pose.bones[other].active_ragdoll
        if "size" in groups:
            body_edits.reset(obj, other)
        for setting in _settings_of(own, groups):
            setattr(its, setting, _value(own, setting))


def mirror(obj, names: list[str], groups) -> list[tuple[str, str]]:
    """Give the counterparts of bones their settings, mirrored across the armature.

    Returns:
        (bone, counterpart) of each.
    Raises:
        RagdollError: a bone has no counterpart, or both of a pair are among the names.
    """
    if "size" in groups:
        _collect(obj)
    pose = BindPose(obj.data, np.eye(4))
    normal, twins = _symmetry(pose)
    pairs = [(name, counterpart(pose, twins, name)) for name in names]
    for name, other in pairs:
        if other in names:
            raise RagdollError(f"'{name}' and '{other}' are both selected: select one side")
    for name, other in pairs:
        own, its = obj.pose.bones[name].active_ragdoll, obj.pose.bones[other].active_ragdoll
        bind, its_bind = pose.matrices[pose.row[name]], pose.matrices[pose.row[other]]
        carry = mirroring.carried_over(bind[:3, :3], its_bind[:3, :3], normal)
        if "size" in groups:
            body_edits.reset(obj, other)
        for setting in _settings_of(own, groups):
            setattr(its, setting, _value(own, setting))
        rotation, low, high = mirroring.mirrored_joint(carry, own.joint_rotation, own.limit_min, own.limit_max)
        if "joint" in groups:
            its.joint_rotation = rotation
        if "limits" in groups:
            its.limit_min, its.limit_max = low, high
        if "size" in groups and own.shape_by_user:
            its.body_location, its.body_rotation = mirroring.mirrored_place(carry, own.body_location, own.body_rotation)
            if own.body_points:
                its.body_points = json.dumps([(-x, y, z) for x, y, z in json.loads(own.body_points)])
    return pairs


def counterpart(pose: BindPose, twins: np.ndarray, name: str) -> str:
    """The bone on the other side: by its name, else by its place.

    Raises:
        RagdollError: there is none.
    """
    other = bpy.utils.flip_name(name)
    if other != name and other in pose.row:
        return other
    twin = int(twins[pose.row[name]])
    if twin < 0:
        raise RagdollError(f"Bone '{name}' has no counterpart on the other side, by name or by place")
    if twin == pose.row[name]:
        raise RagdollError(f"Bone '{name}' lies in the middle: it is its own counterpart")
    return pose.names[twin]


def _symmetry(pose: BindPose) -> tuple[np.ndarray, np.ndarray]:
    """Normal of the armature's mirror plane [3] and every bone's mirror image [n], -1 where there is none.

    The armature's X, unless its bones are symmetric about another of its axes.
    """
    size = float(np.ptp(np.concatenate([pose.heads, pose.tails]), axis=0).max())
    normal, _offset, twins = mirror_plane(pose.heads, pose.parents, np.eye(3), size)
    if normal is not None:
        return normal, twins
    normal = np.array([1.0, 0.0, 0.0])
    flipped = reflection(normal)
    heads, tails = pose.heads @ flipped, pose.tails @ flipped
    apart = np.linalg.norm(heads[:, None] - pose.heads[None], axis=2)
    apart = np.maximum(apart, np.linalg.norm(tails[:, None] - pose.tails[None], axis=2))
    nearest = np.argmin(apart, axis=1)
    return normal, np.where(apart.min(axis=1) < NEAR * size, nearest, -1)


def reset(obj, names: list[str]) -> None:
    """Shape, mass, joint and limits of bones are automatic again; a new build finds them."""
    for name in names:
        own = obj.pose.bones[name].active_ragdoll
        for setting in RESET:
            own.property_unset(setting)
        body_edits.reset(obj, name)
    runtime.settings_changed(obj, layout=True)


def _collect(obj) -> None:
    """Bodies moved in the viewport since the build count, too."""
    if obj.active_ragdoll.is_ragdoll and body_edits.collect(obj):
        runtime.settings_changed(obj, layout=True)


def _settings_of(own, groups) -> list[str]:
    return [name for group in groups for name in GROUPS[group] if hasattr(own, name)]


def _value(own, name):
    value = getattr(own, name)
    return value[:] if hasattr(value, "__len__") and not isinstance(value, str) else value
