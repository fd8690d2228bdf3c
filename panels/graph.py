"""The graph of states in the sidebar, as lists."""

import bpy

from ..core.blender import space_view
from .layers import draw_action, draw_messages
from .ragdoll import Sidebar, active_armature, paragraph, reason, rows, why_not


class ACTIVE_RAGDOLL_UL_parameters(bpy.types.UIList):
    """Parameters"""

    def draw_item(self, _context, layout, _data, item, _icon, _active_data, _active_property):
        row = layout.row(align=True)
        row.prop(item, "name", text="", emboss=False)
        if item.read == "VALUE":
            row.prop(item, "on" if item.kind == "BOOL" else "value", text="")
        else:
            row.label(text=bpy.types.UILayout.enum_item_name(item, "read", item.read))


class ACTIVE_RAGDOLL_UL_states(bpy.types.UIList):
    """States; the first one begins"""

    def draw_item(self, context, layout, _data, item, _icon, _active_data, _active_property):
        shown = dict(space_view.shown_states(item.id_data, context.scene.frame_current))
        row = layout.row(align=True)
        row.prop(item, "name", text="", emboss=False, icon="RADIOBUT_ON" if item.name in shown else "RADIOBUT_OFF")
        if item.name in shown:
            row.label(text=f"{shown[item.name]:.0%}")


class ACTIVE_RAGDOLL_UL_transitions(bpy.types.UIList):
    """Transitions; those further up come first"""

    def draw_item(self, _context, layout, _data, item, _icon, _active_data, _active_property):
        layout.label(text=f"{item.origin} \u2192 {item.target or '?'}")
        layout.label(text=f"{len(item.conditions)} conditions")


def _list(layout, what: str, list_class: str, owner, items: str, index: str) -> None:
    row = layout.row()
    row.template_list(list_class, "", owner, items, owner, index, rows=2)
    buttons = row.column(align=True)
    for do, icon, step in (("ADD", "ADD", 1), ("REMOVE", "REMOVE", 1), ("MOVE", "TRIA_UP", -1)):
        button = buttons.operator("active_ragdoll.edit_graph", text="", icon=icon)
        button.what, button.do, button.step = what, do, step


class ACTIVE_RAGDOLL_PT_graph(Sidebar, bpy.types.Panel):
    """States that each play a clip or blend space, and what leads from one to another"""

    bl_label = "State Graph"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        obj = active_armature(context)
        layout = reason(self.layout, context, why_not(obj, need_ragdoll=False))
        graph = obj.active_ragdoll.graph if obj is not None else None
        on = graph is not None and graph.enabled
        layout.operator("active_ragdoll.enable_graph", text="Use Graph", depress=on, icon="NODETREE")
        if not on:
            return
        column = layout.column()
        column.use_property_split = True
        column.prop(graph, "weight", slider=True)
        draw_messages(layout, context, space_view.messages(obj, "GRAPH"))
        layout.label(text="States")
        _list(layout, "STATE", "ACTIVE_RAGDOLL_UL_states", graph, "states", "state_index")
        if 0 <= graph.state_index < len(graph.states):
            self._draw_state(layout, obj, graph.states[graph.state_index])
        layout.label(text="Parameters")
        _list(layout, "PARAMETER", "ACTIVE_RAGDOLL_UL_parameters", graph, "parameters", "parameter_index")
        if 0 <= graph.parameter_index < len(graph.parameters):
            self._draw_parameter(layout, obj, graph.parameters[graph.parameter_index])
        layout.label(text="Transitions")
        _list(layout, "TRANSITION", "ACTIVE_RAGDOLL_UL_transitions", graph, "transitions", "transition_index")
        if 0 <= graph.transition_index < len(graph.transitions):
            self._draw_transition(layout, context, graph, graph.transitions[graph.transition_index])

    def _draw_state(self, layout, obj, state):
        column = rows(layout)
        column.prop(state, "source")
        if state.source == "CLIP":
            draw_action(column, state)
            column.prop(state, "speed")
            column.prop(state, "playback")
        elif state.source == "BLEND_SPACE":
            column.prop_search(state, "blend_space", obj.active_ragdoll, "blend_spaces")

    def _draw_parameter(self, layout, obj, parameter):
        column = rows(layout)
        column.prop(parameter, "read")
        if parameter.read == "VALUE":
            column.prop(parameter, "kind")
            column.use_property_decorate = True
            column.prop(parameter, "on" if parameter.kind == "BOOL" else "value")
        if parameter.read == "RAGDOLL_CONTACT":
            column.prop_search(parameter, "bone", obj.data, "bones")

    def _draw_transition(self, layout, context, graph, transition):
        column = rows(layout)
        column.prop_search(transition, "origin", graph, "states")
        column.prop_search(transition, "target", graph, "states")
        column.prop(transition, "blend_time")
        for condition in transition.conditions:
            row = layout.row(align=True)
            row.prop(condition, "parameter", text="")
            row.prop(condition, "compare", text="")
            row.prop(condition, "value", text="")
        row = layout.row(align=True)
        for do, icon in (("ADD", "ADD"), ("REMOVE", "REMOVE")):
            button = row.operator("active_ragdoll.edit_graph", text=f"{do.title()} Condition", icon=icon)
            button.what, button.do = "CONDITION", do
        if not len(transition.conditions):
            paragraph(layout, context, "Without conditions it begins at once", "INFO")


CLASSES = (
    ACTIVE_RAGDOLL_UL_parameters,
    ACTIVE_RAGDOLL_UL_states,
    ACTIVE_RAGDOLL_UL_transitions,
    ACTIVE_RAGDOLL_PT_graph,
)
