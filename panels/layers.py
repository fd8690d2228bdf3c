"""Pose layers in the sidebar."""

import bpy

from ..core.blender import space_view
from .ragdoll import Sidebar, active_armature, paragraph, reason, rows, why_not

SOURCE_ICONS = {"CLIP": "ACTION", "POSE": "ARMATURE_DATA", "BLEND_SPACE": "EMPTY_AXIS", "AIM_OFFSET": "TRACKER"}


class ACTIVE_RAGDOLL_UL_layers(bpy.types.UIList):
    """Layers: the first one lowest"""

    def draw_item(self, _context, layout, _data, item, _icon, _active_data, _active_property):
        row = layout.row(align=True)
        row.prop(item, "enabled", text="")
        row.label(text="", icon=SOURCE_ICONS[item.source])
        row.prop(item, "name", text="", emboss=False)
        weight = row.row(align=True)
        weight.active = item.enabled
        weight.prop(item, "weight", text="", slider=True)
        row.prop(item, "solo", text="", icon="SOLO_ON" if item.solo else "SOLO_OFF", emboss=False)


def draw_action(layout, choice, action: str = "action", slot: str = "slot") -> None:
    """The action of a layer, sample or state, and its slot where it has several."""
    layout.prop(choice, action)
    chosen = getattr(choice, action)
    if chosen is not None and len(getattr(chosen, "slots", ())) > 1:
        layout.prop_search(choice, slot, chosen, "slots")
    if action == "action":
        layout.prop(choice, "armature")
        if choice.armature is not None:
            layout.prop(choice, "object_motion")
    elif chosen is not None and choice.base_armature is not None:
        layout.prop(choice, "base_armature")


def draw_base(layout, choice) -> None:
    """What an additive motion is the difference to."""
    layout.prop(choice, "base")
    if choice.base == "ACTION":
        draw_action(layout, choice, "base_action", "base_slot")
    if choice.base != "BIND":
        layout.prop(choice, "base_frame")


def draw_messages(layout, context, texts) -> None:
    """Boxes with what is wrong."""
    for text in texts:
        box = layout.box()
        box.alert = True
        paragraph(box, context, text, "ERROR")


class ACTIVE_RAGDOLL_PT_layers(Sidebar, bpy.types.Panel):
    """Poses, clips and blend spaces on top of the animation, before look-at and physics"""

    bl_label = "Pose Layers"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        layout = self.layout
        obj = active_armature(context)
        layout = reason(layout, context, why_not(obj, need_ragdoll=False))
        layout.operator_menu_enum("active_ragdoll.add_layer", "source", text="Add Layer", icon="ADD")
        if obj is None or not len(obj.active_ragdoll.layers):
            return
        settings = obj.active_ragdoll
        row = layout.row()
        row.template_list("ACTIVE_RAGDOLL_UL_layers", "", settings, "layers", settings, "layer_index", rows=3)
        buttons = row.column(align=True)
        buttons.operator("active_ragdoll.remove_layer", text="", icon="REMOVE")
        buttons.separator()
        buttons.operator("active_ragdoll.move_layer", text="", icon="TRIA_UP").step = -1
        buttons.operator("active_ragdoll.move_layer", text="", icon="TRIA_DOWN").step = 1
        draw_messages(layout, context, space_view.messages(obj, "LAYERS"))
        if 0 <= settings.layer_index < len(settings.layers):
            self._draw_layer(context, layout, obj, settings.layers[settings.layer_index])

    def _draw_layer(self, context, layout, obj, layer):
        column = rows(layout)
        keyed = column.column()
        keyed.use_property_decorate = True
        keyed.prop(layer, "weight", slider=True)
        column.prop(layer, "source")
        if layer.source == "CLIP":
            draw_action(column, layer)
            column.prop(layer, "start")
            self._draw_playback(column, obj, layer)
            column.prop(layer, "only_keyed")
        elif layer.source == "POSE":
            self._draw_poses(column, obj, layer)
        else:
            column.prop_search(layer, "blend_space", obj.active_ragdoll, "blend_spaces")
        if layer.source == "AIM_OFFSET":
            paragraph(column, context, "Its samples must be additive in mesh space", "INFO")
        else:
            column.prop(layer, "mode")
            if layer.mode != "OVERRIDE":
                draw_base(column, layer)
        row = layout.row(align=True)
        row.operator_menu_enum("active_ragdoll.make_additive", "base", text="Make Additive", icon="SELECT_DIFFERENCE")

    def _draw_playback(self, column, obj, layer):
        column.prop_search(layer, "sync_with", obj.active_ragdoll, "blend_spaces")
        if not layer.sync_with:
            column.prop(layer, "speed")
            column.prop(layer, "playback")

    def _draw_poses(self, column, obj, layer):
        if not len(layer.poses):
            draw_action(column, layer)
            column.prop(layer, "frame")
            column.prop(layer, "only_keyed")
        else:
            column.prop(layer, "several")
        row = column.row(align=True)
        add = row.operator("active_ragdoll.edit_layer_list", text="Add Pose", icon="ADD")
        add.items, add.do = "POSES", "ADD"
        if not len(layer.poses):
            return
        remove = row.operator("active_ragdoll.edit_layer_list", text="Remove", icon="REMOVE")
        remove.items, remove.do = "POSES", "REMOVE"
        for pose in layer.poses:
            box = column.box()
            draw_action(box, pose)
            box.prop(pose, "frame")
            if layer.several == "SEQUENCE":
                box.prop(pose, "time")
            else:
                box.prop(pose, "weight", slider=True)
        if layer.several == "SEQUENCE":
            column.prop(layer, "start")
            self._draw_playback(column, obj, layer)
        elif layer.mode == "OVERRIDE":
            draw_base(column, layer)


class ACTIVE_RAGDOLL_PT_layer_mask(Sidebar, bpy.types.Panel):
    """Which bones the active layer acts on"""

    bl_label = "Mask"
    bl_parent_id = "ACTIVE_RAGDOLL_PT_layers"

    @classmethod
    def poll(cls, context):
        obj = active_armature(context)
        return obj is not None and 0 <= obj.active_ragdoll.layer_index < len(obj.active_ragdoll.layers)

    def draw(self, context):
        obj = active_armature(context)
        settings = obj.active_ragdoll
        layer = settings.layers[settings.layer_index]
        column = rows(self.layout)
        column.enabled = not settings.muted
        column.prop(layer, "mask")
        if layer.mask == "BONES":
            for item in layer.mask_bones:
                row = column.row(align=True)
                row.prop_search(item, "bone", obj.data, "bones", text="")
                row.prop(item, "weight", text="", slider=True)
            row = column.row(align=True)
            for do, icon in (("ADD", "ADD"), ("REMOVE", "REMOVE")):
                button = row.operator("active_ragdoll.edit_layer_list", text="", icon=icon)
                button.items, button.do = "BONES", do
            row.operator("active_ragdoll.mask_from_selected", text="From Selected", icon="RESTRICT_SELECT_OFF")
        elif layer.mask == "COLLECTION":
            column.prop_search(layer, "mask_collection", obj.data, "collections")
        elif layer.mask == "ROLES":
            column.prop(layer, "mask_roles")
            column.prop(layer, "mask_side")
        if layer.mask in {"BONES", "COLLECTION"}:
            column.prop(layer, "mask_children")
            column.prop(layer, "mask_falloff")
        if layer.mask != "ALL":
            column.prop(layer, "mask_invert")


CLASSES = (ACTIVE_RAGDOLL_UL_layers, ACTIVE_RAGDOLL_PT_layers, ACTIVE_RAGDOLL_PT_layer_mask)
