"""The panel of attachments: the list, and the active entry."""

import bpy

from .ragdoll import Sidebar, active_armature, paragraph, reason, rows, why_not


class ACTIVE_RAGDOLL_UL_attachments(bpy.types.UIList):
    """Attachments: name, bone, target"""

    def draw_item(self, _context, layout, _data, item, _icon, _active, _name, _index):
        row = layout.row(align=True)
        row.prop(item, "enabled", text="")
        inner = row.row(align=True)
        inner.active = item.enabled
        inner.prop(item, "name", text="", emboss=False)
        inner.label(text=item.bone or "no bone")
        inner.label(text=item.target.name if item.target is not None else "no target")


class ACTIVE_RAGDOLL_PT_attachments(Sidebar, bpy.types.Panel):
    """Bones held at objects and at other bones"""

    bl_label = "Attachments"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        obj = active_armature(context)
        column = reason(self.layout, context, why_not(obj))
        if obj is None:
            return
        settings = obj.active_ragdoll
        row = column.row()
        row.template_list(
            "ACTIVE_RAGDOLL_UL_attachments", "", settings, "attachments", settings, "active_attachment", rows=3
        )
        buttons = row.column(align=True)
        buttons.operator("active_ragdoll.add_attachment", text="", icon="ADD")
        buttons.operator("active_ragdoll.remove_attachment", text="", icon="REMOVE")
        if 0 <= settings.active_attachment < len(settings.attachments):
            self._draw_item(column, context, obj, settings.attachments[settings.active_attachment])

    def _draw_item(self, column, context, obj, item):
        inner = rows(column)
        inner.prop_search(item, "bone", obj.data, "bones")
        if item.bone and not any(part.bone == item.bone for part in obj.active_ragdoll.parts):
            paragraph(column, context, f"'{item.bone}' has no body", "ERROR")
        inner = rows(column)
        inner.prop(item, "point")
        inner.prop(item, "target")
        if item.target is not None and item.target.type == "ARMATURE":
            inner.prop_search(item, "target_bone", item.target.data, "bones")
        inner.prop(item, "kind")
        inner.prop(item, "offset")
        if item.offset == "STATED":
            inner.prop(item, "offset_location")
            if item.kind == "FIXED":
                inner.prop(item, "offset_rotation")
            if item.kind != "DISTANCE":
                inner.prop(item, "reach_seconds")
        keyed = column.column(align=True)
        keyed.use_property_split = keyed.use_property_decorate = True
        keyed.prop(item, "enabled")
        if item.kind == "DISTANCE":
            keyed.prop(item, "length")
        else:
            keyed.prop(item, "max_force")


CLASSES = (ACTIVE_RAGDOLL_UL_attachments, ACTIVE_RAGDOLL_PT_attachments)
