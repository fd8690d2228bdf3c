"""Settings of the motion stack at the frame to come: animated and driven ones are read from the source copy.

The character's own copy of an animated setting still holds the last frame's value when the stack runs.
"""

import bpy

from . import action_channels, source

PREFIX = "active_ragdoll."


def animated_paths(obj) -> list[str]:
    """Data paths of a character's settings that are keyed or driven, without their prefix."""
    data = obj.animation_data
    if data is None:
        return []
    curves = [c for action in action_channels.played(data) for c in action_channels.all_fcurves(action)]
    paths = {curve.data_path for curve in [*curves, *data.drivers] if curve.data_path.startswith(PREFIX)}
    return sorted(path.removeprefix(PREFIX) for path in paths)


class LiveSettings:
    """Where each group of a character's settings is read from."""

    def __init__(self, obj) -> None:
        self._obj = obj
        self._paths = animated_paths(obj)

    def is_animated(self, group: str) -> bool:
        """Whether anything in a group is animated; a group is a path such as ``layers[0]``."""
        return any(path == group or path.startswith((f"{group}.", f"{group}[")) for path in self._paths)

    def carry(self, name: str) -> None:
        """Let the source have the same list or group of settings, so that only animated ones differ from the
        character's own."""
        copy = self._obj.active_ragdoll.source
        if copy is not None and self.is_animated(name):
            copy_value(self._obj.active_ragdoll, copy.active_ragdoll, name)

    def settings(self, group: str):
        """The settings to read a group from now."""
        return source.evaluated(self._obj).active_ragdoll if self.is_animated(group) else self._obj.active_ragdoll


def copy_value(owner, copy, name: str) -> None:
    """Copy a property between two groups of one kind, with all that is in it."""
    prop = owner.bl_rna.properties[name]
    if prop.type == "COLLECTION":
        there = getattr(copy, name)
        there.clear()
        for item in getattr(owner, name):
            copy_group(item, there.add())
    elif prop.type == "POINTER" and isinstance(getattr(owner, name), bpy.types.PropertyGroup):
        copy_group(getattr(owner, name), getattr(copy, name))
    elif not prop.is_readonly and not isinstance(getattr(owner, name), bpy.types.Object):
        setattr(copy, name, getattr(owner, name))  # who is only pointed at by a copy can be deleted


def copy_group(group, copy) -> None:
    """Copy all properties of a group."""
    for prop in group.bl_rna.properties:
        if prop.identifier != "rna_type":
            copy_value(group, copy, prop.identifier)
