"""The explicit, ordered list of what the extension registers."""

from contextlib import ExitStack

import bpy

from . import operators, panels
from .core.blender import languages, preferences
from .core.blender.run import handlers
from .core.blender.settings import declare
from .core.blender.settings import object as settings
from .core.blender.stack import pose_stack
from .operators import command_line

_classes = []
_undo = ExitStack()  # what takes back what was registered, in the reverse order


def register() -> None:
    """Classes first, then the settings that point at them, then handlers and the command."""
    settings.take_registries()
    _classes.extend((preferences.ActiveRagdollPreferences, *settings.classes(), *operators.CLASSES, *panels.classes()))
    _undo.callback(_classes.clear)
    for cls in _classes:
        bpy.utils.register_class(cls)
        _undo.callback(bpy.utils.unregister_class, cls)
    for owner, group in settings.OWNERS.items():  # values stay in the file when the groups are detached
        owner.active_ragdoll = declare.settings(group, "Active Ragdoll", options=None)
        _undo.callback(delattr, owner, "active_ragdoll")
    preferences.recolor()
    languages.add(_undo)
    bpy.utils.register_manual_map(manual_map)
    _undo.callback(bpy.utils.unregister_manual_map, manual_map)
    declare.show_stack_later = pose_stack.show_when_idle
    panels.overlay.add(_undo)
    panels.additions.add(_undo)
    handlers.add()
    _undo.callback(handlers.remove)
    _undo.callback(handlers.leave_worlds)
    _undo.callback(bpy.utils.unregister_cli_command, bpy.utils.register_cli_command("active_ragdoll", command_line.run))


def manual_map() -> tuple[str, tuple]:
    """The manual's address, and (what Blender asks help about, the place in it) of every operator and setting."""
    found = []
    for cls in _classes:
        name = getattr(cls, "bl_idname", "")
        if issubclass(cls, bpy.types.Operator):
            found += [(f"bpy.ops.{name}", name), (f"bpy.types.{cls.__name__.lower()}.*", name)]
        elif issubclass(cls, bpy.types.PropertyGroup | bpy.types.AddonPreferences):
            owner = cls.__name__.lower()
            names = [f"{owner}.{p.identifier}" for p in cls.bl_rna.properties if p.is_runtime]
            found += [(f"bpy.types.{name}", name) for name in names]
    return preferences.manifest()["website"], tuple((asked, f"reference/#{place}") for asked, place in found)


def unregister() -> None:
    """The reverse of `register`; ragdolls in open files stay and show their animation."""
    _undo.close()
