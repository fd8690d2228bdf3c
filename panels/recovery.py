"""Knock-out and recovery: thresholds, forced states, getting up."""

import bpy

from .ragdoll import Sidebar, active_armature, reason, why_not


class ACTIVE_RAGDOLL_UL_recovery_events(bpy.types.UIList):
    """States forced on the timeline"""

    def draw_item(self, _context, layout, _data, item, _icon, _active_data, _active_property, _index=0):
        row = layout.row(align=True)
        row.prop(item, "frame", text="", emboss=False)
        row.prop(item, "phase", text="")
        row.prop(item, "hold", text="", icon="PINNED" if item.hold else "UNPINNED", emboss=False)


class ACTIVE_RAGDOLL_PT_recovery(Sidebar, bpy.types.Panel):
    """From a knock-out back to the animation"""

    bl_label = "Recovery"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        obj = active_armature(context)
        column = reason(self.layout, context, why_not(obj))
        if obj is None:
            return
        group = obj.active_ragdoll.recovery
        if not group.enabled:
            column.operator("active_ragdoll.setup_recovery", icon="RECOVER_LAST")
            return
        column.use_property_split = True  # with the dots: these can be keyed
        row = column.row()
        row.use_property_decorate = False
        row.prop(group, "enabled")
        part = column.column(align=True)
        part.label(text="Knocked out by")
        part.prop(group, "knock_out_speed", text="Hit")
        part.prop(group, "knock_out_distance", text="Distance")
        part = column.column(align=True)
        part.prop(group, "watched")
        part.prop(group, "rest_speed")
        part.prop(group, "rest_time")
        part = column.column(align=True)
        part.prop(group, "regain")
        part.prop(group, "blend_time")
        part = column.column(align=True)
        part.use_property_decorate = False
        part.prop(group, "starts")
        part.prop(group, "switch_off")
        row = part.row()
        row.active = group.switch_off
        row.prop(group, "calm_time")


class ACTIVE_RAGDOLL_PT_get_up(Sidebar, bpy.types.Panel):
    """Where and how the character gets up"""

    bl_label = "Getting Up"
    bl_parent_id = "ACTIVE_RAGDOLL_PT_recovery"

    @classmethod
    def poll(cls, context):
        obj = active_armature(context)
        return obj is not None and obj.active_ragdoll.recovery.enabled

    def draw_header(self, context):
        self.layout.prop(active_armature(context).active_ragdoll.recovery, "reroot", text="")

    def draw(self, context):
        obj = active_armature(context)
        group = obj.active_ragdoll.recovery
        column = self.layout.column()
        column.enabled = not why_not(obj) and group.reroot
        column.use_property_split = True
        column.prop(group, "method")
        column.prop(group, "reroot_time")
        part = column.column(align=True)
        part.use_property_decorate = False
        part.prop(group, "get_up_face_up")
        part.prop(group, "get_up_face_down")


class ACTIVE_RAGDOLL_PT_recovery_events(Sidebar, bpy.types.Panel):
    """States forced at frames"""

    bl_label = "Forced States"
    bl_parent_id = "ACTIVE_RAGDOLL_PT_recovery"

    @classmethod
    def poll(cls, context):
        obj = active_armature(context)
        return obj is not None and obj.active_ragdoll.recovery.enabled

    def draw(self, context):
        obj = active_armature(context)
        group = obj.active_ragdoll.recovery
        row = self.layout.row()
        row.enabled = not why_not(obj)
        row.template_list(
            "ACTIVE_RAGDOLL_UL_recovery_events", "", group, "events", group, "event_index", rows=3, maxrows=8
        )
        buttons = row.column(align=True)
        buttons.operator_menu_enum("active_ragdoll.add_recovery_event", "phase", text="", icon="ADD")
        buttons.operator("active_ragdoll.remove_recovery_event", text="", icon="REMOVE")


CLASSES = (
    ACTIVE_RAGDOLL_UL_recovery_events,
    ACTIVE_RAGDOLL_PT_recovery,
    ACTIVE_RAGDOLL_PT_get_up,
    ACTIVE_RAGDOLL_PT_recovery_events,
)
