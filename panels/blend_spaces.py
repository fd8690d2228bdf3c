"""Blend spaces in the sidebar: the picture, the samples, the axes."""

import bpy

from . import space_preview
from .layers import draw_action, draw_base, draw_messages
from .ragdoll import Sidebar, active_armature, reason, rows, why_not

SCALE = 9.0  # of the picture, in rows of the interface


class ACTIVE_RAGDOLL_UL_blend_spaces(bpy.types.UIList):
    """Blend spaces"""

    def draw_item(self, _context, layout, _data, item, _icon, _active_data, _active_property):
        layout.prop(item, "name", text="", emboss=False, icon="EMPTY_AXIS")
        layout.label(text=f"{len(item.samples)} samples")


class ACTIVE_RAGDOLL_UL_samples(bpy.types.UIList):
    """Samples, with their numbers in the picture and their places"""

    def draw_item(self, _context, layout, data, item, _icon, _active_data, _active_property, index=0):
        row = layout.split(factor=0.5 if data.dimensions == "2D" else 0.7, align=True)
        row.label(text=f"{index + 1}  {item.action.name if item.action is not None else 'No action'}")
        places = row.row(align=True)
        places.prop(item, "x", text="")
        if data.dimensions == "2D":
            places.prop(item, "y", text="")


class ACTIVE_RAGDOLL_PT_blend_spaces(Sidebar, bpy.types.Panel):
    """Clips placed on a line or in a plane, blended by where the point is"""

    bl_label = "Blend Spaces"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        obj = active_armature(context)
        layout = reason(self.layout, context, why_not(obj, need_ragdoll=False))
        layout.operator_menu_enum("active_ragdoll.add_blend_space", "kind", text="Add Blend Space", icon="ADD")
        if obj is None or not len(obj.active_ragdoll.blend_spaces):
            return
        settings = obj.active_ragdoll
        row = layout.row()
        row.template_list(
            "ACTIVE_RAGDOLL_UL_blend_spaces", "", settings, "blend_spaces", settings, "blend_space_index", rows=2
        )
        row.operator("active_ragdoll.remove_blend_space", text="", icon="REMOVE")
        if not 0 <= settings.blend_space_index < len(settings.blend_spaces):
            return
        space = settings.blend_spaces[settings.blend_space_index]
        icon, weights, message = space_preview.icon_of(obj, space, context.scene.frame_current)
        if icon:
            layout.template_icon(icon_value=icon, scale=SCALE)
        draw_messages(layout, context, [message] if message else [])
        self._draw_inputs(layout, space)
        self._draw_samples(layout, space, weights)

    def _draw_inputs(self, layout, space):
        column = rows(layout)
        column.prop(space, "show_preview")
        for axis in (space.x, space.y)[: 1 if space.dimensions == "1D" else 2]:
            row = column.row(align=True)
            if space.show_preview:
                row.prop(axis, "preview", text=axis.name)
            elif axis.input == "VALUE":
                row.use_property_decorate = True
                row.prop(axis, "value", text=axis.name)
            else:
                row.prop(axis, "input", text=axis.name)

    def _draw_samples(self, layout, space, weights):
        row = layout.row()
        row.template_list("ACTIVE_RAGDOLL_UL_samples", "", space, "samples", space, "sample_index", rows=3)
        buttons = row.column(align=True)
        buttons.operator("active_ragdoll.add_sample", text="", icon="ADD")
        buttons.operator("active_ragdoll.remove_sample", text="", icon="REMOVE")
        if not 0 <= space.sample_index < len(space.samples):
            return
        sample = space.samples[space.sample_index]
        column = rows(layout)
        draw_action(column, sample)
        column.prop(sample, "x", text=space.x.name)
        if space.dimensions == "2D":
            column.prop(sample, "y", text=space.y.name)
        column.prop(sample, "single")
        column.prop(sample, "frame" if sample.single else "speed")
        column.prop(sample, "additive")
        if sample.additive != "NONE":
            draw_base(column, sample)
        if weights is not None and space.sample_index < len(weights):
            column.label(text=f"Weight {weights[space.sample_index]:.2f}")
        row = layout.row(align=True)
        for name in ("LOCAL", "MESH"):
            button = row.operator("active_ragdoll.make_additive", text=f"All Additive, {name.title()}")
            button.what, button.space = "SAMPLES", name


class ACTIVE_RAGDOLL_PT_blend_axes(Sidebar, bpy.types.Panel):
    """Axes, inputs and synchronisation of the active blend space"""

    bl_label = "Axes and Inputs"
    bl_parent_id = "ACTIVE_RAGDOLL_PT_blend_spaces"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        obj = active_armature(context)
        return obj is not None and 0 <= obj.active_ragdoll.blend_space_index < len(obj.active_ragdoll.blend_spaces)

    def draw(self, context):
        obj = active_armature(context)
        settings = obj.active_ragdoll
        space = settings.blend_spaces[settings.blend_space_index]
        column = rows(self.layout)
        column.enabled = not settings.muted
        column.prop(space, "dimensions")
        if space.dimensions == "2D":
            column.prop(space, "method")
        column.prop(space, "sync")
        axes = (space.x, space.y)[: 1 if space.dimensions == "1D" else 2]
        for axis in axes:
            box = rows(column.box())
            for name in ("name", "minimum", "maximum", "ends", "grid", "input", "smoothing"):
                box.prop(axis, name)
        inputs = {axis.input for axis in axes}
        if inputs & {"SPEED", "DIRECTION"}:
            column.prop(space, "measured_object")
            owner = space.measured_object or obj
            if owner.type == "ARMATURE":
                column.prop_search(space, "measured_bone", owner.data, "bones")
        if inputs & {"YAW", "PITCH"}:
            column.prop(space, "target")
            if space.target is not None and space.target.type == "ARMATURE":
                column.prop_search(space, "target_bone", space.target.data, "bones")
            column.prop_search(space, "aim_bone", obj.data, "bones")


CLASSES = (
    ACTIVE_RAGDOLL_UL_blend_spaces,
    ACTIVE_RAGDOLL_UL_samples,
    ACTIVE_RAGDOLL_PT_blend_spaces,
    ACTIVE_RAGDOLL_PT_blend_axes,
)
