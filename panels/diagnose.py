"""Findings of the self-check with their buttons, and the profiles."""

import bpy

from ..core.blender import diagnose
from .ragdoll import Sidebar, active_armature, paragraph, reason, why_not

ICONS = {"ERROR": "CANCEL", "WARNING": "ERROR", "INFO": "INFO"}


class ACTIVE_RAGDOLL_PT_diagnose(Sidebar, bpy.types.Panel):
    """What would make this ragdoll unstable"""

    bl_label = "Diagnose"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        layout = self.layout
        obj = active_armature(context)
        text = why_not(obj)
        reason(layout, context, text).operator("active_ragdoll.diagnose", icon="VIEWZOOM")
        found = None if text else diagnose.latest(obj)
        if found is None:
            return
        if not found:
            layout.label(text="Nothing found", icon="CHECKMARK")
        for finding in found:
            self._draw_finding(context, finding)

    def _draw_finding(self, context, finding):
        box = self.layout.box()
        box.alert = finding.severity == "ERROR"
        paragraph(box, context, finding.text, ICONS[finding.severity])
        if not finding.operator:
            paragraph(box, context, finding.remedy, "BLANK1")
            return
        button = box.operator(f"active_ragdoll.{finding.operator}", text=finding.button)
        for key, value in finding.arguments.items():
            setattr(button, key, value)


class ACTIVE_RAGDOLL_PT_profile(Sidebar, bpy.types.Panel):
    """All settings of the character to a file and back"""

    bl_label = "Profile"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        obj = active_armature(context)
        column = reason(self.layout, context, why_not(obj, need_ragdoll=False))
        column.operator_menu_enum("active_ragdoll.apply_preset", "name", text="Preset", icon="PRESET")
        row = column.row(align=True)
        row.operator("active_ragdoll.import_profile", text="Import", icon="IMPORT")
        row.operator("active_ragdoll.export_profile", text="Export", icon="EXPORT")


CLASSES = (ACTIVE_RAGDOLL_PT_profile, ACTIVE_RAGDOLL_PT_diagnose)
