"""Profiles: a character's settings to a file and back, and the shipped presets."""

import bpy
from bpy.props import EnumProperty, StringProperty
from bpy_extras.io_utils import ExportHelper, ImportHelper

from ..core.blender import profiles
from ..core.errors import RagdollError
from .character import active_armature, needs_armature, refuse

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


def _needs_editable(cls, context) -> bool:
    if not needs_armature(cls, context):
        return False
    if active_armature(context).active_ragdoll.muted:
        return refuse(cls, "The result is baked: revert the bake first")
    return True


def _apply(operator, obj, read, how: str, mirror: str = "NONE") -> set:
    """Put a profile on a character and say what came of it."""
    try:
        profile = read()
        applied = profiles.apply(obj, profile, how, mirror)
    except RagdollError as error:
        operator.report({"ERROR"}, str(error))
        return {"CANCELLED"}
    for note in applied.notes:
        operator.report({"WARNING"}, note)
    title = f"'{profile.name}'" if profile.name else "profile"
    operator.report({"INFO"}, f"{title} on '{obj.name}': {applied.bones} bones, {applied.changed} settings changed")
    return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_export_profile(bpy.types.Operator, ExportHelper):
    """Write everything set on the character and its bones to a file, for this rig or any other"""

    bl_idname = "active_ragdoll.export_profile"
    bl_label = "Export Profile"
    bl_options = {"REGISTER"}

    filename_ext = ".json"
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    @classmethod
    def poll(cls, context):
        return needs_armature(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        path = bpy.path.abspath(self.filepath)
        try:
            profiles.write(path, profiles.collect(obj))
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        except OSError as error:
            self.report({"ERROR"}, f"{path}: {error.strerror or error}")
            return {"CANCELLED"}
        self.report({"INFO"}, f"Settings of '{obj.name}' written to {path}")
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_import_profile(bpy.types.Operator, ImportHelper):
    """Read the settings of the character and its bones from a file; wrong files change nothing"""

    bl_idname = "active_ragdoll.import_profile"
    bl_label = "Import Profile"
    bl_options = {"REGISTER", "UNDO"}

    filename_ext = ".json"
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})
    match: EnumProperty(name="Bones By", items=MATCHES, default="AUTO", description="Which bone gets which settings")
    mirror: EnumProperty(name="Mirror", items=MIRRORS, default="NONE", description="Exchange or copy sides")

    @classmethod
    def poll(cls, context):
        return _needs_editable(cls, context)

    def execute(self, context):
        path = bpy.path.abspath(self.filepath)
        return _apply(self, active_armature(context), lambda: profiles.read(path), self.match, self.mirror)


class ACTIVE_RAGDOLL_OT_apply_preset(bpy.types.Operator):
    """Give the character's bones the settings of a preset, by what part of the body they are"""

    bl_idname = "active_ragdoll.apply_preset"
    bl_label = "Apply Preset"
    bl_options = {"REGISTER", "UNDO"}

    name: EnumProperty(name="Preset", items=profiles.PRESETS, default="HUMAN")

    @classmethod
    def poll(cls, context):
        return _needs_editable(cls, context)

    def execute(self, context):
        return _apply(self, active_armature(context), lambda: profiles.preset(self.name), "AUTO")


CLASSES = (
    ACTIVE_RAGDOLL_OT_export_profile,
    ACTIVE_RAGDOLL_OT_import_profile,
    ACTIVE_RAGDOLL_OT_apply_preset,
)
