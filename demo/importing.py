"""Opens or imports a user's own animated character for the demo, with the extension's importer."""

from dataclasses import dataclass
from pathlib import Path

import bpy

from core.blender.rig.importing import make_active, open_file, use_action
from core.errors import RagdollError

from . import DemoError


@dataclass(frozen=True)
class ImportedCharacter:
    """The armature to work on, its action (None: the file has no animation) and the action's whole frames."""

    armature: bpy.types.Object
    action: bpy.types.Action | None
    frame_start: int
    frame_end: int


def import_character(path: str | Path) -> ImportedCharacter:
    """Open or import a file and prepare its largest character.

    The character is the armature with the most bones in the current scene; where it has no action, it gets the
    longest one of the file that animates bones it has. The scene's frame range becomes the action's; without an
    action it stays as it is.

    Raises:
        DemoError: no such file, an unknown kind of file, one that Blender cannot read, or no armature in it.
    """
    try:
        path = open_file(path)
    except RagdollError as error:
        raise DemoError(str(error)) from error
    scene = bpy.context.scene
    armatures = [obj for obj in scene.objects if obj.type == "ARMATURE"]
    if not armatures:
        raise DemoError(f"{path.name}: no armature in scene {scene.name!r}")
    armature = max(armatures, key=lambda obj: len(obj.data.bones))
    action = use_action(armature, scene)
    make_active(armature)
    scene.frame_set(scene.frame_start)
    return ImportedCharacter(armature, action, scene.frame_start, scene.frame_end)
