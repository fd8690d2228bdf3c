"""Panels of the motion stack: one for each kind of entry that has a list, and their order."""

import sys

import bpy

from ..core.blender import interface, look_at_api
from ..core.blender.languages import translated
from ..core.blender.settings import declare, lists
from ..core.blender.stack import entries
from ..core.errors import RagdollError
from .base import Part, draw_list, paragraph, press


def draw_items(layout, what: str, obj):
    """A list of the motion stack with buttons to add, remove and move; its active item."""
    own = entries.lists()[what]
    name, number = own.shown

    def draw_row(row, item, _owner) -> None:
        if name == "name":
            row.prop(item, name, text="", emboss=False, icon=own.icon)
        else:
            bone = getattr(item, name)
            row.label(text=interface.short(item.id_data, bone) or "No bone", icon=own.icon if bone else "ERROR")
        row.prop(item, number, text="", emboss=False)
        if hasattr(item, "enabled"):
            row.prop(item, "enabled", text="")

    buttons, item = draw_list(layout, draw_row, own.owner(obj), what, item_dyntip_propname=name)
    draw_add_remove(buttons, what)
    for direction in ("UP", "DOWN"):
        press(buttons, "motion_move", {"what": what, "direction": direction}, text="", icon=f"TRIA_{direction}")
    return item


def draw_add_remove(layout, what: str) -> None:
    """Buttons to add to a list of the motion stack and to remove its active item."""
    for name, icon in (("add", "ADD"), ("remove", "REMOVE")):
        layout.operator(f"active_ragdoll.motion_{name}", text="", icon=icon).what = what


class MotionPanel(Part, parent="motion"):
    """A panel about one list of the motion stack; a class that uses it has the `kind`."""

    kind: entries.ListKind

    def fill(self, _context, obj, layout):
        self.kind.draw_head(layout)
        if (item := draw_items(layout, self.kind.items, obj)) is not None:
            self.kind.draw(layout, obj, item)


class ACTIVE_RAGDOLL_PT_look_at_entries(Part, bpy.types.Panel, label="Bones", parent="look_at", needed="look_at"):
    """The chain from the eye or head down to the spine or pelvis"""

    def fill(self, context, obj, layout):
        entry = draw_items(layout, "entries", obj)
        if entry is None:
            paragraph(layout, context, "Add the bone that looks first, then bones above it", "INFO")
            return
        inner = interface.rows(layout)
        inner.prop_search(entry, "bone", obj.data, "bones")
        interface.props(inner, entry, "limit", "limit_from", "rotate_around_up_weight")
        interface.props(inner, entry, "reset_to_default", "axes_from", "forward_axis")
        interface.props(inner, entry, entry.limit_from == "PARENT" and "parent_forward_axis")
        layout.operator("active_ragdoll.find_look_at_axes", icon="EMPTY_SINGLE_ARROW")
        row = layout.row()
        row.label(text="Linked Bones")
        draw_add_remove(row, "linked_bones")
        for link in entry.linked_bones:
            row = layout.row(align=True)
            row.prop_search(link, "bone", obj.data, "bones", text="")
            row.prop(link, "reset_to_default", toggle=True)


class ACTIVE_RAGDOLL_PT_look_at_weight(Part, bpy.types.Panel, label="Transitions", parent="look_at", needed="look_at"):
    """Transitions of the weight, stored on the timeline"""

    def fill(self, context, obj, layout):
        row = layout.row(align=True)
        for name in ("enable", "disable"):
            row.operator(f"active_ragdoll.{name}_look_at")
        row.operator("active_ragdoll.set_look_at_weight", text="Set")
        chain = lists.active_item(obj.active_ragdoll, "look_at")
        try:
            index = lists.active_index(obj.active_ragdoll, "look_at")
            weight = look_at_api.get_look_at_weight(obj, index)
            left = look_at_api.time_to_finish_transition(obj, index)
            rest = translated(f", {left:.2f} s left") if left > 0.0 else ""
            layout.label(text=translated(f"Weight {weight:.3f}") + rest)
        except RagdollError as error:
            paragraph(layout, context, str(error), "ERROR")
        for event in chain.events:
            row = layout.row(align=True)
            interface.props(row, event, "frame", "kind", "weight" if event.kind == "SET" else "duration", text="")
            if event.kind != "SET":
                row.prop(event, "cancel_current_transition", text="", icon="X")
        if len(chain.events):
            layout.operator("active_ragdoll.clear_look_at_events", icon="TRASH")


class ACTIVE_RAGDOLL_PT_motion_order(Part, bpy.types.Panel, parent="motion"):
    """In which order the entries of the motion stack act, before the physics"""

    def fill(self, _context, obj, layout):
        column = layout.column(align=True)
        known = {kind.identifier: kind for kind in entries.kinds()}
        for identifier in entries.order_of(obj):
            row = column.row(align=True)
            row.label(text=known[identifier].label, icon=known[identifier].icon)
            for direction in ("UP", "DOWN"):
                values = {"kind": identifier, "direction": direction}
                press(row, "motion_order", values, text="", icon=f"TRIA_{direction}")


def classes() -> tuple:
    """What is to be registered, with a panel for each kind that has a list now."""
    kinds = [kind for kind in entries.kinds() if isinstance(kind, entries.ListKind)]
    kinds, bases = sorted(kinds, key=lambda kind: kind.panel_place), (MotionPanel, bpy.types.Panel)
    made = [type(f"ACTIVE_RAGDOLL_PT_{k.items}", bases, {"kind": k}, label=k.label) for k in kinds]
    return (*made, *declare.classes_of(sys.modules[__name__]))
