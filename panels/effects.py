"""Hits, explosions, attachments and recovery: their lists, the active entry, what hits do to the weights."""

import bpy

from ..core.blender.interface import object_fields, props, rows, short
from ..core.blender.languages import translated
from ..core.blender.physics import built
from ..core.blender.run.get_up import is_planned
from ..core.blender.tools import story, viewport
from .base import Part, active_armature, draw_list

WHOLE_NAME = {"item_dyntip_propname": "bone"}  # the tooltip of a list's row, which has the bone's name in short


def draw_bone(column, obj, item, *before: str) -> None:
    """Other properties of an entry, then its bone, in red where that bone has no body."""
    inner = rows(column)
    props(inner, item, *before)
    row = inner.row()
    row.alert = bool(item.bone) and built.part_of(obj, item.bone) is None
    row.prop_search(item, "bone", obj.data, "bones")


def _draw_hit(row, item, _owner) -> None:
    row.prop(item, "enabled", text="")
    row.active = item.enabled
    split = row.split(factor=0.28, align=True)
    split.prop(item, "frame", text="", emboss=False)
    split = split.split(factor=0.6, align=True)
    split.label(text=short(item.id_data, item.bone) or "no bone")
    split.label(text=f"{item.strength:.0f} N s")


def _draw_explosion(row, item, _owner) -> None:
    row.prop(item, "enabled", text="")
    row.active = item.enabled
    props(row, item, "frame", "radius", "impulse", text="", emboss=False)


class ACTIVE_RAGDOLL_PT_hits(Part, bpy.types.Panel, parent="act"):
    """Impulses at frames of the shot"""

    def fill(self, _context, obj, column):
        column.operator("active_ragdoll.place_hit", icon="CURSOR")
        _buttons, hit = draw_list(column, _draw_hit, obj.active_ragdoll, "hits", "hit", **WHOLE_NAME)
        if hit is None:
            return
        draw_bone(column, obj, hit, "frame")
        inner, towards = rows(column), hit.space == "TOWARDS"
        props(inner, hit, "space", towards and "target", "strength")
        speed = hit.strength / max(viewport.mass(obj), 1e-12)
        inner.label(text=translated(f"{speed:.2g} m/s for the whole character"))
        props(inner, hit, not towards and "impulse", "point", "duration", "hurts", hit.hurts > 0.0 and "hold")


class ACTIVE_RAGDOLL_PT_explosions(Part, bpy.types.Panel, parent="hits"):
    """Blasts that push all bodies away"""

    def fill(self, _context, obj, column):
        _buttons, blast = draw_list(column, _draw_explosion, obj.active_ragdoll, "explosions", "explosion", rows=2)
        if blast is not None:
            origin = blast.target is None and "origin"
            props(rows(column), blast, "frame", "target", origin, "radius", "impulse", "falloff", "duration")


class ACTIVE_RAGDOLL_PT_loosening(Part, bpy.types.Panel, parent="hits"):
    """How hits lower the weights for a while"""

    def fill(self, _context, obj, column):
        settings, inner = obj.active_ragdoll, rows(column)
        inner.prop(settings, "loosening")
        shares = ("parents", "children", "others", "regain") if settings.loosening > 0.0 else ()
        props(inner.column(align=True), settings, *(f"loosening_{name}" for name in shares))


def _draw_attachment(row, item, _owner) -> None:
    row.prop(item, "enabled", text="")
    inner = row.row(align=True)
    inner.active = item.enabled
    inner.prop(item, "name", text="", emboss=False)
    inner.label(text=short(item.id_data, item.bone) or "no bone")
    inner.label(text=item.target.name if item.target is not None else "no target")


class ACTIVE_RAGDOLL_PT_attachments(Part, bpy.types.Panel, parent="act"):
    """Bones held at objects and at other bones"""

    def fill(self, _context, obj, column):
        settings = obj.active_ragdoll
        _buttons, item = draw_list(column, _draw_attachment, settings, "attachments", "attachment", **WHOLE_NAME)
        if item is None:
            return
        draw_bone(column, obj, item)
        inner = rows(column)
        inner.prop(item, "point")
        object_fields(inner, item, "target", "target_bone")
        props(inner, item, "kind", "offset")
        at_distance = item.kind == "DISTANCE"
        if item.offset == "STATED":
            turns = item.kind == "FIXED" and "offset_angles"
            props(inner, item, "offset_location", turns, not at_distance and "reach_seconds")
        props(rows(column, keyed=True), item, "enabled", "length" if at_distance else "max_force")


def _draw_way_point(row, item, _owner) -> None:
    row.label(text=translated(f"Posture {item.key}"))
    row.label(text=bpy.types.UILayout.enum_item_name(item, "part", item.part))
    row.label(text=f"{item.offset.length:.2g} m")


def _draw_event(row, item, _owner) -> None:
    row.prop(item, "frame", text="", emboss=False)
    row.prop(item, "phase", text="")
    row.prop(item, "hold", text="", icon="PINNED" if item.hold else "UNPINNED", emboss=False)


class ACTIVE_RAGDOLL_PT_recovery(Part, bpy.types.Panel, parent="act"):
    """From a knock-out back to the animation"""

    def fill(self, context, obj, column):
        group = obj.active_ragdoll.recovery
        if not group.enabled:
            column.operator("active_ragdoll.setup_recovery", icon="RECOVER_LAST")
            return
        column.use_property_split = True  # with the dots: these can be keyed
        props(rows(column), group, "enabled")
        part = column.column(align=True)
        part.label(text="Knocked out by")
        props(part, group, "knock_out_speed", text="Hit")
        part.label(text=translated(f"Strongest of the shot: {story.strongest(obj, context.scene):.2g} m/s"))
        props(part, group, "knock_out_distance", text="Distance")
        part = column.column(align=True)
        row = part.row(align=True)
        row.prop(group, "tone")
        row.operator_menu_enum("active_ragdoll.set_tone", "tone", text="", icon="DOWNARROW_HLT")
        row = part.row()
        row.active = group.tone > 0.0  # a rag has none
        row.prop(group, "reflexes")
        props(column.column(align=True), group, "watched", "rest_speed", "rest_time")
        props(column.column(align=True), group, "regain", "blend_time")
        props(rows(column), group, "starts", "switch_off", group.switch_off and "calm_time")


class ACTIVE_RAGDOLL_PT_balance(Part, bpy.types.Panel, parent="act"):
    """Steps that catch a push"""

    def fill(self, _context, obj, column):
        group = obj.active_ragdoll.balance
        if not group.enabled:
            column.operator("active_ragdoll.setup_balance", icon="CON_FLOOR")
            return
        props(rows(column, keyed=True), group, "strength")
        props(rows(column), group, "enabled", "return_to_path", group.return_to_path != "SHIFT" and "return_steps")


class ACTIVE_RAGDOLL_PT_get_up(Part, bpy.types.Panel, label="Getting Up", parent="recovery", needed="recovery.enabled"):
    """Where and how the character gets up"""

    def draw_header(self, context):
        self.layout.prop(active_armature(context).active_ragdoll.recovery, "reroot", text="")

    def fill(self, _context, obj, column):
        group = obj.active_ragdoll.recovery
        column = column.column()
        column.enabled = group.reroot
        column.use_property_split = True
        props(column, group, "get_up")
        if group.get_up == "STAY_DOWN":
            return
        planned = ("get_up_side", "get_up_seed") if is_planned(group) else ()
        props(column.column(align=True), group, "get_up_pace", *planned)
        if planned:
            buttons, way = draw_list(column, _draw_way_point, group, "way_points", rows=2)
            buttons.operator("active_ragdoll.move_way_up", text="", icon="VIEW_PAN")
            buttons.operator("active_ragdoll.remove_way_point", text="", icon="REMOVE")
            if way is not None:
                props(column.column(align=True), way, "key", "part", "offset", "seconds")
        props(column.column(align=True), group, "method", "reroot_time")
        if group.get_up != "BLEND":
            props(rows(column), group, "get_up_face_up", "get_up_face_down")


class ACTIVE_RAGDOLL_PT_recovery_events(
    Part, bpy.types.Panel, label="Forced States", parent="recovery", needed="recovery.enabled"
):
    """States forced at frames"""

    def fill(self, _context, obj, column):
        buttons, _event = draw_list(column, _draw_event, obj.active_ragdoll.recovery, "events", maxrows=8)
        buttons.operator_menu_enum("active_ragdoll.add_recovery_event", "phase", text="", icon="ADD")
        buttons.operator("active_ragdoll.remove_recovery_event", text="", icon="REMOVE")
