"""The explicit, ordered list of what the extension registers."""

import bpy

from . import operators, panels
from .core.blender import languages, preferences
from .core.blender.run import handlers
from .core.blender.settings import declare
from .core.blender.settings import object as settings
from .core.blender.stack import pose_stack
from .operators import command_line

_command = []
_classes = []


def register() -> None:
    """Classes first, then the settings that point at them, then handlers and the command."""
    settings.take_registries()
    _classes.extend((preferences.ActiveRagdollPreferences, *settings.classes(), *operators.CLASSES, *panels.classes()))
    for cls in _classes:
        bpy.utils.register_class(cls)
    settings.add_settings()
    preferences.recolor()
    languages.add()
    bpy.utils.register_manual_map(manual_map)
    declare.show_stack_later = pose_stack.show_when_idle
    panels.overlay.add()
    panels.additions.add()
    handlers.add()
    if hasattr(bpy.utils, "register_cli_command"):
        _command.append(bpy.utils.register_cli_command("active_ragdoll", command_line.run))


def manual_map() -> tuple[str, tuple]:
    """The manual's address, and (what Blender asks help about, the place in it) of every operator and setting."""
    found = []
    for cls in _classes:
        name = getattr(cls, "bl_idname", "")
        if issubclass(cls, bpy.types.Operator):
            found.append((f"bpy.ops.{name}", name))
            found += [(f"bpy.types.{cls.__name__.lower()}.*", name)]
        elif issubclass(cls, bpy.types.PropertyGroup | bpy.types.AddonPreferences):
            owner = cls.__name__.lower()
            names = [f"{owner}.{p.identifier}" for p in cls.bl_rna.properties if p.is_runtime]
            found += [(f"bpy.types.{name}", name) for name in names]
    return preferences.manifest()["website"], tuple((asked, f"reference/#{place}") for asked, place in found)


def unregister() -> None:
    """The reverse order of `register`; ragdolls in open files stay and show their animation."""
    while _command:
        bpy.utils.unregister_cli_command(_command.pop())
    handlers.leave_worlds()
    handlers.remove()
    panels.additions.remove()
    panels.overlay.remove()
    bpy.utils.unregister_manual_map(manual_map)
    languages.remove()
    settings.remove_settings()
    while _classes:
        bpy.utils.unregister_class(_classes.pop())
