"""Opens or imports a user's own animated character for the demo, with the extension's importer."""

from pathlib import Path

from core.blender.rig import importing
from core.blender.rig.importing import ImportedCharacter
from core.errors import RagdollError

from . import DemoError


def import_character(path: str | Path) -> ImportedCharacter:
    """See `core.blender.rig.importing.import_character`.

    Raises:
        DemoError: no such file, an unknown kind of file, one that Blender cannot read, or no armature in it.
    """
    try:
        return importing.import_character(path)
    except RagdollError as error:
        raise DemoError(str(error)) from error
