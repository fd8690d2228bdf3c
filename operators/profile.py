"""Profiles: a character's settings to a file and back, and the shipped presets."""

import bpy
from bpy.props import EnumProperty, StringProperty
from bpy_extras.io_utils import ExportHelper, ImportHelper

from ..core.blender import active
from ..core.blender.tools import profiles
from ..core.errors import RagdollError
from .base import Operator

MATCHES = (
    ("AUTO", "Name or Role", "By name where the rig has such a bone, else by what part of the body it is"),
    ("NAME", "Name", "Bones of the same name only"),
    ("ROLE", "Role", "Bones that are the same part of the body, whatever their names"),
)
MIRRORS = (
    ("NONE", "As It Is", "Left stays left"),
    ("SWAP", "Swap Sides", "Left and right change places"),
    ("LEFT_TO_RIGHT", "Left to Right", "The right side gets the left one's settings, mirrored"),
    ("RIGHT_TO_LEFT", "Right to Left", "The left side gets the right one's settings, mirrored"),
)


class ProfileOperator(Operator):
    """Changes the settings of an armature."""

    requires = (active.unbaked,)

    def apply(self, obj, profile, how: str, mirror: str = "NONE") -> str:
        """Put a profile on a character; a line about what came of it."""
        applied = profiles.apply(obj, profile, how, mirror)
        self.warn(applied.notes)
        title = f"'{profile.name}'" if profile.name else "profile"
        return f"{title} on '{obj.name}': {applied.bones} bones, {applied.changed} settings changed"


class ACTIVE_RAGDOLL_OT_export_profile(Operator, bpy.types.Operator, ExportHelper):
    """Write everything set on the character and its bones to a file, for this rig or any other"""

    bl_options = {"REGISTER"}

    filename_ext = ".json"
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    def act(self, _context, obj):
        path = bpy.path.abspath(self.filepath)
        try:
            profiles.write(path, profiles.collect(obj))
        except OSError as error:
            raise RagdollError(f"{path}: {error.strerror or error}") from error
        return f"Settings of '{obj.name}' written to {path}"


class ACTIVE_RAGDOLL_OT_import_profile(ProfileOperator, bpy.types.Operator, ImportHelper):
    """Read the settings of the character and its bones from a file; wrong files change nothing"""

    filename_ext = ".json"
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})
    match: EnumProperty(name="Bones By", items=MATCHES, default="AUTO", description="Which bone gets which settings")
    mirror: EnumProperty(name="Mirror", items=MIRRORS, default="NONE", description="Exchange or copy sides")

    def act(self, _context, obj):
        return self.apply(obj, profiles.read(bpy.path.abspath(self.filepath)), self.match, self.mirror)


class ACTIVE_RAGDOLL_OT_apply_preset(ProfileOperator, bpy.types.Operator):
    """Give the character's bones the settings of a preset, by what part of the body they are"""

    name: EnumProperty(name="Preset", items=profiles.PRESETS, default="HUMAN")

    def act(self, _context, obj):
        return self.apply(obj, profiles.preset(self.name), "AUTO")
