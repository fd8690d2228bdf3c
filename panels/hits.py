"""The panel of hits and explosions: lists, the active entry, what hits do to the weights."""

import bpy

from .ragdoll import Sidebar, active_armature, paragraph, reason, rows, why_not


class ACTIVE_RAGDOLL_UL_hits(bpy.types.UIList):
    """Hits: frame, bone, strength"""

    def draw_item(self, _context, layout, _data, item, _icon, _active, _name, _index):
        row = layout.row(align=True)
        row.prop(item, "enabled", text="")
        row.active = item.enabled
        split = row.split(factor=0.28, align=True)
        split.prop(item, "frame", text="", emboss=False)
        split = split.split(factor=0.7, align=True)
        split.label(text=item.bone or "no bone")
        split.label(text=f"{item.strength:.3g}")


class ACTIVE_RAGDOLL_UL_explosions(bpy.types.UIList):
    """Explosions: frame, radius, impulse"""

    def draw_item(self, _context, layout, _data, item, _icon, _active, _name, _index):
        row = layout.row(align=True)
        row.prop(item, "enabled", text="")
        row.active = item.enabled
        row.prop(item, "frame", text="", emboss=False)
        row.prop(item, "radius", text="", emboss=False)
        row.prop(item, "impulse", text="", emboss=False)


class ACTIVE_RAGDOLL_PT_hits(Sidebar, bpy.types.Panel):
    """Impulses at frames of the shot"""

    bl_label = "Hits"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        obj = active_armature(context)
        column = reason(self.layout, context, why_not(obj))
        if obj is None:
            return
        settings = obj.active_ragdoll
        column.operator("active_ragdoll.place_hit", icon="CURSOR")
        row = column.row()
        row.template_list("ACTIVE_RAGDOLL_UL_hits", "", settings, "hits", settings, "active_hit", rows=3)
        buttons = row.column(align=True)
        buttons.operator("active_ragdoll.add_hit", text="", icon="ADD")
        buttons.operator("active_ragdoll.remove_hit", text="", icon="REMOVE")
        if 0 <= settings.active_hit < len(settings.hits):
            self._draw_hit(column, context, obj, settings.hits[settings.active_hit])

    def _draw_hit(self, column, context, obj, hit):
        inner = rows(column)
        inner.prop(hit, "frame")
        inner.prop_search(hit, "bone", obj.data, "bones")
        if hit.bone and not any(part.bone == hit.bone for part in obj.active_ragdoll.parts):
            paragraph(column, context, f"'{hit.bone}' has no body", "ERROR")
        inner = rows(column)
        inner.prop(hit, "space")
        if hit.space == "TOWARDS":
            inner.prop(hit, "target")
        inner.prop(hit, "strength", text="Strength [N s]")
        if hit.space != "TOWARDS":
            inner.prop(hit, "impulse")
        inner.prop(hit, "point")
        inner.prop(hit, "duration")


class HitPart(Sidebar):
    """A panel inside that of hits."""

    bl_parent_id = "ACTIVE_RAGDOLL_PT_hits"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return active_armature(context) is not None

    def column(self, context):
        """A column that is greyed out where nothing can be set, and the settings."""
        obj = active_armature(context)
        column = self.layout.column()
        column.enabled = not why_not(obj)
        return column, obj.active_ragdoll


class ACTIVE_RAGDOLL_PT_explosions(HitPart, bpy.types.Panel):
    """Blasts that push all bodies away"""

    bl_label = "Explosions"

    def draw(self, context):
        column, settings = self.column(context)
        row = column.row()
        row.template_list(
            "ACTIVE_RAGDOLL_UL_explosions", "", settings, "explosions", settings, "active_explosion", rows=2
        )
        buttons = row.column(align=True)
        buttons.operator("active_ragdoll.add_explosion", text="", icon="ADD")
        buttons.operator("active_ragdoll.remove_explosion", text="", icon="REMOVE")
        if 0 <= settings.active_explosion < len(settings.explosions):
            blast = settings.explosions[settings.active_explosion]
            inner = rows(column)
            inner.prop(blast, "frame")
            inner.prop(blast, "target")
            if blast.target is None:
                inner.prop(blast, "origin")
            inner.prop(blast, "radius")
            inner.prop(blast, "impulse", text="Impulse [N s]")
            inner.prop(blast, "falloff")
            inner.prop(blast, "duration")


class ACTIVE_RAGDOLL_PT_loosening(HitPart, bpy.types.Panel):
    """How hits lower the weights for a while"""

    bl_label = "Loosening"

    def draw(self, context):
        column, settings = self.column(context)
        inner = rows(column)
        inner.prop(settings, "loosening")
        shares = inner.column(align=True)
        shares.active = settings.loosening > 0.0
        for name in ("parents", "children", "others", "regain"):
            shares.prop(settings, f"loosening_{name}")


CLASSES = (
    ACTIVE_RAGDOLL_UL_hits,
    ACTIVE_RAGDOLL_UL_explosions,
    ACTIVE_RAGDOLL_PT_hits,
    ACTIVE_RAGDOLL_PT_explosions,
    ACTIVE_RAGDOLL_PT_loosening,
)
