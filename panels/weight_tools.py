"""The panel of tools that set the weights of many bones."""

import bpy

from .ragdoll import Sidebar, active_armature, reason, why_not


class ACTIVE_RAGDOLL_PT_weight_tools(Sidebar, bpy.types.Panel):
    """Presets, and weights of several bones at once"""

    bl_label = "Spread over Bones"
    bl_parent_id = "ACTIVE_RAGDOLL_PT_weights"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return active_armature(context) is not None

    def draw(self, context):
        column = reason(self.layout, context, why_not(active_armature(context), need_ragdoll=False))
        column.operator_menu_enum("active_ragdoll.weight_preset", "preset", text="Preset")
        column.operator("active_ragdoll.drag_weights", icon="ARROW_LEFTRIGHT")
        for pair in (("SET", "CHAIN"), ("DOWN", "UP"), ("COPY", "MIRROR")):
            row = column.row(align=True)
            for mode in pair:
                row.operator("active_ragdoll.spread_weights", text=_TITLES[mode]).mode = mode


_TITLES = {
    "SET": "Set Selected",
    "CHAIN": "Along Chain",
    "DOWN": "Falloff Down",
    "UP": "Falloff Up",
    "COPY": "Copy",
    "MIRROR": "Mirror",
}

CLASSES = (ACTIVE_RAGDOLL_PT_weight_tools,)
