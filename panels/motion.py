"""Panels of the motion stack: one for each kind of entry that has a list, and their order."""

import bpy

from ..core.blender import look_at_api
from ..core.blender.interface import props, rows, short
from ..core.blender.languages import translated
from ..core.blender.settings import lists
from ..core.blender.stack import entries, stack_edits
from ..core.errors import RagdollError
from .base import Part, draw_list, paragraph


class StackPanel(Part):
    """A part of the panel of the motion stack: of use without a ragdoll."""

    bl_parent_id = "ACTIVE_RAGDOLL_PT_motion"
    need_ragdoll = False


class ACTIVE_RAGDOLL_UL_motion(bpy.types.UIList):
    """Items of the motion stack, with their switch and weight"""

    bl_idname = "ACTIVE_RAGDOLL_UL_motion"

    def draw_item(self, _context, layout, _data, item, _icon, _active_data, _active_property, index=0):
        """The name or bone, the switch and the weight or limit."""
        row = layout.row(align=True)
        own = next(own for own in entries.lists().values() if isinstance(item, own.group))
        name, number = own.shown
        if name == "name":
            row.prop(item, name, text="", emboss=False, icon=own.icon)
        else:
            bone = getattr(item, name)
            row.label(text=short(item.id_data, bone) or "No bone", icon=own.icon if bone else "ERROR")
        row.prop(item, number, text="", emboss=False)
        if hasattr(item, "enabled"):
            row.prop(item, "enabled", text="")


def draw_items(layout, what: str, obj):
    """A list with buttons to add, remove and move; its active item."""
    tip, owner = entries.lists()[what].shown[0], stack_edits.owner_of(obj, what)
    buttons, item = draw_list(layout, "motion", owner, what, list_id=what, item_dyntip_propname=tip)
    draw_add_remove(buttons, what)
    for direction in ("UP", "DOWN"):
        button = buttons.operator("active_ragdoll.motion_move", text="", icon=f"TRIA_{direction}")
        button.what, button.direction = what, direction
    return item


def draw_add_remove(layout, what: str) -> None:
    """Buttons to add to a list of the motion stack and to remove its active item."""
    for name, icon in (("add", "ADD"), ("remove", "REMOVE")):
        layout.operator(f"active_ragdoll.motion_{name}", text="", icon=icon).what = what


class MotionPanel(StackPanel):
    """A panel about one list of the motion stack; a class that uses it has the `kind`."""

    kind: entries.ListKind

    def fill(self, _context, obj, layout):
        """The list, and the active one."""
        kind = self.kind
        kind.draw_head(layout)
        item = draw_items(layout, kind.items, obj)
        if item is not None:
            kind.draw(layout, obj, item)


def _panel(kind: entries.ListKind) -> type:
    """The panel of a kind."""
    made = {"bl_label": kind.label, "kind": kind, "__doc__": kind.__doc__}
    return type(f"ACTIVE_RAGDOLL_PT_{kind.items}", (MotionPanel, bpy.types.Panel), made)


class LookAtPart(Part):
    """A panel inside that of the look-at, once there is a chain."""

    bl_parent_id = "ACTIVE_RAGDOLL_PT_look_at"
    need_ragdoll = False
    needed = "look_at"


class ACTIVE_RAGDOLL_PT_look_at_entries(LookAtPart, bpy.types.Panel):
    """The chain from the eye or head down to the spine or pelvis"""

    bl_label = "Bones"

    def fill(self, context, obj, layout):
        entry = draw_items(layout, "entries", obj)
        if entry is None:
            paragraph(layout, context, "Add the bone that looks first, then bones above it", "INFO")
            return
        inner = rows(layout)
        inner.prop_search(entry, "bone", obj.data, "bones")
        props(inner, entry, "limit", "limit_from")
        inner.prop(entry, "rotate_around_up_weight", slider=True)
        props(inner, entry, "reset_to_default", "axes_from", "forward_axis")
        if entry.limit_from == "PARENT":
            inner.prop(entry, "parent_forward_axis")
        layout.operator("active_ragdoll.find_look_at_axes", icon="EMPTY_SINGLE_ARROW")
        row = layout.row()
        row.label(text="Linked Bones")
        draw_add_remove(row, "linked_bones")
        for link in entry.linked_bones:
            row = layout.row(align=True)
            row.prop_search(link, "bone", obj.data, "bones", text="")
            row.prop(link, "reset_to_default", toggle=True)


class ACTIVE_RAGDOLL_PT_look_at_weight(LookAtPart, bpy.types.Panel):
    """Transitions of the weight, stored on the timeline"""

    bl_label = "Transitions"

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
            layout.label(
                text=translated(f"Weight {weight:.3f}") + (translated(f", {left:.2f} s left") if left > 0.0 else "")
            )
        except RagdollError as error:
            paragraph(layout, context, str(error), "ERROR")
        for event in chain.events:
            row = layout.row(align=True)
            props(row, event, "frame", "kind", "weight" if event.kind == "SET" else "duration", text="")
            if event.kind != "SET":
                row.prop(event, "cancel_current_transition", text="", icon="X")
        if len(chain.events):
            layout.operator("active_ragdoll.clear_look_at_events", icon="TRASH")


class ACTIVE_RAGDOLL_PT_motion_order(StackPanel, bpy.types.Panel):
    """In which order the entries of the motion stack act, before the physics"""

    def fill(self, _context, obj, layout):
        column = layout.column(align=True)
        known = {kind.identifier: kind for kind in entries.kinds()}
        for identifier in entries.order_of(obj):
            row = column.row(align=True)
            row.label(text=known[identifier].label, icon=known[identifier].icon)
            for direction in ("UP", "DOWN"):
                button = row.operator("active_ragdoll.motion_order", text="", icon=f"TRIA_{direction}")
                button.kind, button.direction = identifier, direction


def classes() -> tuple:
    """What is to be registered, with a panel for each kind that has a list now."""
    kinds = sorted(
        (kind for kind in entries.kinds() if isinstance(kind, entries.ListKind)), key=lambda kind: kind.panel_place
    )
    return (
        ACTIVE_RAGDOLL_UL_motion,
        *map(_panel, kinds),
        ACTIVE_RAGDOLL_PT_look_at_entries,
        ACTIVE_RAGDOLL_PT_look_at_weight,
        ACTIVE_RAGDOLL_PT_motion_order,
    )
