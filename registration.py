"""The explicit, ordered list of what the extension registers."""

import bpy

from . import operators, panels
from .core.blender import handlers, properties
from .operators import command_line

CLASSES = (*properties.CLASSES, *operators.CLASSES, *panels.CLASSES)

_command = []


def register() -> None:
    """Classes first, then the settings that point at them, then handlers and the command."""
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    properties.add_settings()
    panels.overlay.add()
    handlers.add()
    if hasattr(bpy.utils, "register_cli_command"):
        _command.append(bpy.utils.register_cli_command("active_ragdoll", command_line.run))


def unregister() -> None:
    """The reverse order of `register`; ragdolls in open files stay and show their animation."""
    while _command:
        bpy.utils.unregister_cli_command(_command.pop())
    handlers.remove()
    panels.overlay.remove()
    panels.space_preview.remove()
    properties.remove_settings()
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
