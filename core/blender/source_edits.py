"""What is changed by hand and not keyed, carried from a character to its source.

The source is a copy: it has the character's action, so that keys reach it by themselves. A bone turned, an object
moved or a switch of the rig set without a key would not.
"""

import numpy as np

from .runtime import STATE
from .source import CONSTRAINT_NAME

_OBJECT = (
    "location",
    "rotation_euler",
    "rotation_quaternion",
    "rotation_axis_angle",
    "scale",
    "delta_location",
    "delta_rotation_euler",
    "delta_rotation_quaternion",
    "delta_scale",
    "matrix_parent_inverse",
)
# Of pose bones: how many numbers each has.
_BONES = {"location": 3, "rotation_quaternion": 4, "rotation_axis_angle": 4, "rotation_euler": 3, "scale": 3}


def carry(obj) -> bool:
    """Let the source stand, be posed and be set as the character is; whether there was anything new to carry.

    What is keyed is overruled when the source is evaluated at another frame, as the character's own is.
    """
    copy = obj.active_ragdoll.source
    if copy is None or len(copy.pose.bones) != len(obj.pose.bones):
        return False
    now = {name: np.array(getattr(obj, name), dtype=np.float32) for name in _OBJECT}
    modes = [bone.rotation_mode for bone in obj.pose.bones]
    pose, switches = _pose_of(obj), _switches_of(obj)
    # Compared with what was carried last, not with the source: what is driven there by its own pose may differ for
    # ever, and every edit would be followed by another.
    key = copy.name, *(value.tobytes() for value in (*now.values(), *pose.values())), repr((modes, switches))
    if STATE.carried.get(obj.name) == key:
        return False
    STATE.carried[obj.name] = key
    for name, value in now.items():
        setattr(copy, name, getattr(obj, name) if value.ndim > 1 else value.tolist())
    for bone, mode in zip(copy.pose.bones, modes, strict=True):
        if bone.rotation_mode != mode:
            bone.rotation_mode = mode
    for name, values in pose.items():
        copy.pose.bones.foreach_set(name, values)
    _set_switches(copy, switches)
    copy.update_tag()
    return True


def _pose_of(obj) -> dict:
    result = {}
    for name, size in _BONES.items():
        result[name] = np.empty(size * len(obj.pose.bones), dtype=np.float32)
        obj.pose.bones.foreach_get(name, result[name])
    return result


def _switches_of(obj) -> dict:
    """Custom properties, which rigs' drivers read, and the influence of constraints, by owner and kind."""
    result = {}
    for i, owner in enumerate((obj, *obj.pose.bones)):
        for key, value in owner.items():
            if isinstance(value, bool | int | float | str):
                result[i, "property", key] = value
        for constraint in owner.constraints:
            if not constraint.name.startswith(CONSTRAINT_NAME):
                result[i, "influence", constraint.name] = constraint.influence
    return result


def _set_switches(copy, switches: dict) -> None:
    owners = (copy, *copy.pose.bones)
    for (i, kind, name), value in switches.items():
        if kind == "property":
            owners[i][name] = value
        elif name in owners[i].constraints:
            owners[i].constraints[name].influence = value
