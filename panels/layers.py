"""Pose layers, blend spaces and the graph of states in the sidebar."""

import bpy

from ..core.blender.interface import object_fields, props, rows
from ..core.blender.languages import translated
from ..core.blender.settings.lists import active_item
from ..core.blender.stack import blend_spaces
from ..core.blender.stack.entries import state_graph
from ..core.errors import RagdollError
from .base import Part, draw_list, paragraph, press

SOURCE_ICONS = {"CLIP": "ACTION", "POSE": "ARMATURE_DATA", "BLEND_SPACE": "EMPTY_AXIS", "AIM_OFFSET": "TRACKER"}


def _draw_layer(row, item, _owner) -> None:
    row.prop(item, "enabled", text="")
    row.label(text="", icon=SOURCE_ICONS[item.source])
    row.prop(item, "name", text="", emboss=False)
    weight = row.row(align=True)
    weight.active = item.enabled
    weight.prop(item, "weight", text="")
    row.prop(item, "solo", text="", icon="SOLO_ON" if item.solo else "SOLO_OFF", emboss=False)


def draw_action(layout, choice, of: str = "") -> None:
    """The action of a layer, sample or state, or, `of` "base_", of its base, and its slot where it has several."""
    chosen, armature = getattr(choice, f"{of}action"), getattr(choice, f"{of}armature")
    props(layout, choice, f"{of}action", len(getattr(chosen, "slots", ())) > 1 and f"{of}slot_choice")
    if not of or (chosen is not None and armature is not None):
        props(layout, choice, f"{of}armature", not of and armature is not None and "object_motion")


def draw_base(layout, choice) -> None:
    """What an additive motion is the difference to."""
    layout.prop(choice, "base")
    if choice.base == "ACTION":
        draw_action(layout, choice, "base_")
    props(layout, choice, choice.base != "BIND" and "base_frame")


class ACTIVE_RAGDOLL_PT_layers(Part, bpy.types.Panel, label="Pose Layers", parent="motion"):
    """Poses, clips and blend spaces on top of the animation, before look-at and physics"""

    def fill(self, context, obj, layout):
        layout.operator_menu_enum("active_ragdoll.add_layer", "source", text="Add Layer", icon="ADD")
        if not len(obj.active_ragdoll.layers):
            return
        buttons, layer = draw_list(layout, _draw_layer, obj.active_ragdoll, "layers")
        buttons.operator("active_ragdoll.remove_layer", text="", icon="REMOVE")
        buttons.separator()
        for icon, step in (("TRIA_UP", -1), ("TRIA_DOWN", 1)):
            buttons.operator("active_ragdoll.move_layer", text="", icon=icon).step = step
        column = rows(layout)
        props(rows(column, keyed=True), layer, "weight")
        column.prop(layer, "source")
        if layer.source == "CLIP":
            draw_action(column, layer)
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
        additive = {"text": "Make Additive", "icon": "SELECT_DIFFERENCE"}
        layout.operator_menu_enum("active_ragdoll.make_additive", "base", **additive)

    def _draw_playback(self, column, obj, layer):
        column.prop(layer, "start")
        column.prop_search(layer, "sync_with", obj.active_ragdoll, "blend_spaces")
        if not layer.sync_with:
            props(column, layer, "speed", "playback")

    def _draw_poses(self, column, obj, layer):
        if not len(layer.poses):
            draw_action(column, layer)
            props(column, layer, "frame", "only_keyed")
        else:
            column.prop(layer, "several")
        row = column.row(align=True)
        press(row, "edit_layer_list", {"items": "POSES", "do": "ADD"}, text="Add Pose", icon="ADD")
        if not len(layer.poses):
            return
        press(row, "edit_layer_list", {"items": "POSES", "do": "REMOVE"}, text="Remove", icon="REMOVE")
        for pose in layer.poses:
            box = column.box()
            draw_action(box, pose)
            props(box, pose, "frame", "time" if layer.several == "SEQUENCE" else "weight")
        if layer.several == "SEQUENCE":
            self._draw_playback(column, obj, layer)
        elif layer.mode == "OVERRIDE":
            draw_base(column, layer)


class ACTIVE_RAGDOLL_PT_layer_mask(Part, bpy.types.Panel, label="Mask", parent="layers", needed="layers"):
    """Which bones the active layer acts on"""

    def fill(self, _context, obj, column):
        layer, column = active_item(obj.active_ragdoll, "layers"), rows(column)
        column.prop(layer, "mask")
        if layer.mask == "BONES":
            for item in layer.mask_bones:
                row = column.row(align=True)
                row.prop_search(item, "bone", obj.data, "bones", text="")
                row.prop(item, "weight", text="")
            row = column.row(align=True)
            for do in ("ADD", "REMOVE"):
                press(row, "edit_layer_list", {"items": "BONES", "do": do}, text="", icon=do)
            row.operator("active_ragdoll.mask_from_selected", text="From Selected", icon="RESTRICT_SELECT_OFF")
        elif layer.mask == "COLLECTION":
            column.prop_search(layer, "mask_collection", obj.data, "collections")
        of_masks = {"ROLES": ("mask_roles", "mask_side"), "ALL": ()}
        props(column, layer, *of_masks.get(layer.mask, ("mask_children", "mask_falloff")))
        props(column, layer, layer.mask != "ALL" and "mask_invert")


def _draw_space(row, item, _owner) -> None:
    row.prop(item, "name", text="", emboss=False, icon="EMPTY_AXIS")
    row.label(text=translated(f"{len(item.samples)} samples"))


def _draw_sample(row, item, space) -> None:
    row = row.split(factor=0.5 if space.dimensions == "2D" else 0.7, align=True)
    row.label(text=item.action.name if item.action is not None else "No action")
    places = row.row(align=True)
    places.prop(item, "x", text="")
    if space.dimensions == "2D":
        places.prop(item, "y", text="")


class ACTIVE_RAGDOLL_PT_blend_spaces(Part, bpy.types.Panel, parent="motion"):
    """Clips placed on a line or in a plane, blended by where the point is"""

    def fill(self, context, obj, layout):
        layout.operator_menu_enum("active_ragdoll.add_blend_space", "kind", text="Add Blend Space", icon="ADD")
        if not len(obj.active_ragdoll.blend_spaces):
            return
        buttons, space = draw_list(layout, _draw_space, obj.active_ragdoll, "blend_spaces", rows=2)
        buttons.operator("active_ragdoll.remove_blend_space", text="", icon="REMOVE")
        self._draw_point(layout, context, obj, space)
        column = rows(layout)
        column.prop(space, "show_preview")
        for axis in blend_spaces.axes_of(space):
            row = column.row(align=True)
            shown = "preview" if space.show_preview else "value" if axis.input == "VALUE" else "input"
            row.use_property_decorate = shown == "value"
            row.prop(axis, shown, text=axis.name)
        _column, sample = draw_list(layout, _draw_sample, space, "samples", "sample")
        if sample is None:
            return
        column = rows(layout)
        draw_action(column, sample)
        for name, axis in zip("xy", blend_spaces.axes_of(space)):
            column.prop(sample, name, text=axis.name)
        props(column, sample, "single", "frame" if sample.single else "speed", "additive")
        if sample.additive != "NONE":
            draw_base(column, sample)
        row = layout.row(align=True)
        for name in ("LOCAL", "MESH"):
            title = translated(f"All Additive, {name.title()}")
            press(row, "make_additive", {"what": "SAMPLES", "space": name}, text=title)

    def _draw_point(self, layout, context, obj, space):
        try:
            axes, samples = blend_spaces.shown(obj, space, context.scene.frame_current)
        except RagdollError as error:
            paragraph(layout, context, str(error), "ERROR")
            return
        column = layout.column(align=True)
        for name, value, share in axes:
            column.progress(text=f"{name} {value:.2f}", factor=share)
        column = layout.column(align=True)
        for name, weight in (sample for sample in samples if sample[1] > 0.0):
            column.progress(text=f"{name} {weight:.0%}", factor=weight)


class ACTIVE_RAGDOLL_PT_blend_axes(
    Part, bpy.types.Panel, label="Axes and Inputs", parent="blend_spaces", needed="blend_spaces"
):
    """Axes, inputs and synchronisation of the active blend space"""

    def fill(self, _context, obj, column):
        space, column = active_item(obj.active_ragdoll, "blend_spaces"), rows(column)
        props(column, space, "dimensions", space.dimensions == "2D" and "method", "sync")
        axes = blend_spaces.axes_of(space)
        for axis in axes:
            props(rows(column.box()), axis, "name", "minimum", "maximum", "ends", "grid", "input", "smoothing")
        inputs = {axis.input for axis in axes}
        if inputs & {"SPEED", "DIRECTION"}:
            column.prop(space, "measured_object")
            owner = space.measured_object or obj
            if owner.type == "ARMATURE":
                column.prop_search(space, "measured_bone", owner.data, "bones")
        if inputs & {"YAW", "PITCH"}:
            object_fields(column, space, "target", "target_bone")
            column.prop_search(space, "aim_bone", obj.data, "bones")


def _draw_parameter(row, item, _owner) -> None:
    row.prop(item, "name", text="", emboss=False)
    if item.read == "VALUE":
        row.prop(item, "on" if item.kind == "BOOL" else "value", text="")
    else:
        row.label(text=bpy.types.UILayout.enum_item_name(item, "read", item.read))


def _draw_state(row, item, _owner) -> None:
    shown = dict(state_graph.shown_states(item.id_data, bpy.context.scene.frame_current))
    row.prop(item, "name", text="", emboss=False, icon="RADIOBUT_ON" if item.name in shown else "RADIOBUT_OFF")
    if item.name in shown:
        row.label(text=f"{shown[item.name]:.0%}")


def _draw_transition(row, item, _owner) -> None:
    row.label(text=f"{item.origin} \u2192 {item.target or '?'}")
    row.label(text=translated(f"{len(item.conditions)} conditions"))


class ACTIVE_RAGDOLL_PT_graph(Part, bpy.types.Panel, label="State Graph", parent="motion"):
    """States that each play a clip or blend space, and what leads from one to another"""

    def fill(self, context, obj, layout):
        graph = obj.active_ragdoll.graph
        layout.operator("active_ragdoll.enable_graph", text="Use Graph", depress=graph.enabled, icon="NODETREE")
        if not graph.enabled:
            return
        column = layout.column()
        column.use_property_split = True
        column.prop(graph, "weight")
        for what, draw_row, title in (
            ("state", _draw_state, "States"),
            ("parameter", _draw_parameter, "Parameters"),
            ("transition", _draw_transition, "Transitions"),
        ):
            layout.label(text=title)
            buttons, item = draw_list(layout, draw_row, graph, f"{what}s", rows=2)
            for do, icon, step in (("ADD", "ADD", 1), ("REMOVE", "REMOVE", 1), ("MOVE", "TRIA_UP", -1)):
                press(buttons, "edit_graph", {"what": what.upper(), "do": do, "step": step}, text="", icon=icon)
            if item is not None:
                getattr(self, f"_draw_{what}")(layout, context, obj, item)

    def _draw_state(self, layout, _context, obj, state):
        column = rows(layout)
        column.prop(state, "source")
        if state.source == "CLIP":
            draw_action(column, state)
            props(column, state, "speed", "playback")
        elif state.source == "BLEND_SPACE":
            column.prop_search(state, "blend_space", obj.active_ragdoll, "blend_spaces")

    def _draw_parameter(self, layout, _context, obj, parameter):
        column = rows(layout)
        column.prop(parameter, "read")
        if parameter.read == "VALUE":
            column.prop(parameter, "kind")
            props(rows(column, keyed=True), parameter, "on" if parameter.kind == "BOOL" else "value")
        if parameter.read == "RAGDOLL_CONTACT":
            column.prop_search(parameter, "bone", obj.data, "bones")

    def _draw_transition(self, layout, context, obj, transition):
        column, graph = rows(layout), obj.active_ragdoll.graph
        column.prop_search(transition, "origin", graph, "states")
        column.prop_search(transition, "target", graph, "states")
        column.prop(transition, "blend_time")
        for condition in transition.conditions:
            props(layout.row(align=True), condition, "parameter", "compare", "value", text="")
        row = layout.row(align=True)
        for do in ("ADD", "REMOVE"):
            title = translated(f"{do.title()} Condition")
            press(row, "edit_graph", {"what": "CONDITION", "do": do}, text=title, icon=do)
        if not len(transition.conditions):
            paragraph(layout, context, "Without conditions it begins at once", "INFO")
