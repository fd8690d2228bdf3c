"""Panels of the motion stack: look-at, leg stabilisers, two-bone IK, transform bone, and their order."""

import bpy

from ..core.blender import look_at_api, motion_lists
from ..core.blender.motion_entries import order_of
from ..core.blender.runtime import STATE
from ..core.errors import RagdollError
from .ragdoll import Sidebar, active_armature, paragraph, reason, rows, why_not

KIND_ICONS = {
    "GRAPH": "NODETREE",
    "LAYERS": "NLA",
    "BONE_TRANSFORMS": "OBJECT_ORIGIN",
    "TWO_BONE_IK": "CON_KINEMATIC",
    "LOOK_AT": "HIDE_OFF",
    "LEG_STABILIZERS": "CON_FLOOR",
}


class ACTIVE_RAGDOLL_UL_motion(bpy.types.UIList):
    """Items of the motion stack, with their switch and weight"""

    bl_idname = "ACTIVE_RAGDOLL_UL_motion"

    def draw_item(self, _context, layout, _data, item, _icon, _active_data, _active_property, index=0):
        """The name or bone, the switch and the weight or limit."""
        row = layout.row(align=True)
        kind = type(item).__name__
        if kind == "ActiveRagdollLookAt":
            row.prop(item, "name", text="", emboss=False, icon="HIDE_OFF")
            row.prop(item, "weight", text="", emboss=False)
        elif kind == "ActiveRagdollLookAtEntry":
            row.label(text=item.bone or "No bone", icon="BONE_DATA" if item.bone else "ERROR")
            row.prop(item, "limit", text="", emboss=False)
        elif kind == "ActiveRagdollLegStabilizer":
            row.label(text=item.foot_bone or "No bone", icon="CON_FLOOR")
            row.prop(item, "ik_weight", text="", emboss=False)
        else:
            bone = item.end_bone if kind == "ActiveRagdollTwoBoneIK" else item.bone
            row.label(text=bone or "No bone", icon="BONE_DATA" if bone else "ERROR")
            row.prop(item, "weight", text="", emboss=False)
        if hasattr(item, "enabled"):
            row.prop(item, "enabled", text="")


def draw_list(layout, owner, what: str, active: str, editable: bool = True) -> None:
    """A list with buttons to add, remove and move."""
    row = layout.row()
    row.template_list(ACTIVE_RAGDOLL_UL_motion.bl_idname, what, owner, what, owner, active, rows=3)
    column = row.column(align=True)
    column.enabled = editable
    column.operator("active_ragdoll.motion_add", text="", icon="ADD").what = what
    column.operator("active_ragdoll.motion_remove", text="", icon="REMOVE").what = what
    for direction in ("UP", "DOWN"):
        button = column.operator("active_ragdoll.motion_move", text="", icon=f"TRIA_{direction}")
        button.what, button.direction = what, direction


def bone_field(layout, obj, item, prop: str, text: str | None = None) -> None:
    """A field that offers the bones of an armature."""
    extra = {} if text is None else {"text": text}
    layout.prop_search(item, prop, obj.data, "bones", **extra)


def object_fields(layout, item, obj_prop: str, bone_prop: str) -> None:
    """An object, and a bone of it when it is an armature."""
    layout.prop(item, obj_prop)
    chosen = getattr(item, obj_prop)
    if chosen is not None and chosen.type == "ARMATURE":
        bone_field(layout, chosen, item, bone_prop)


def messages(layout, context, obj, kind: str) -> None:
    """Why entries were left out: those whose name begins with `kind`."""
    stack = STATE.motions.get(obj.name)
    for name, text in stack.messages.items() if stack is not None else ():
        if name.startswith(kind):
            box = layout.box()
            box.alert = True
            paragraph(box, context, text, "ERROR")


class MotionPanel(Sidebar):
    """A panel about one list of the motion stack."""

    bl_options = {"DEFAULT_CLOSED"}

    def begin(self, context):
        """The character and a layout, greyed out where it cannot be edited; no character: nothing to draw."""
        obj = active_armature(context)
        column = reason(self.layout, context, why_not(obj, need_ragdoll=False))
        return obj, column


class ACTIVE_RAGDOLL_PT_look_at(MotionPanel, bpy.types.Panel):
    """Bones that look at a target"""

    bl_label = "Look-at"

    def draw(self, context):
        obj, layout = self.begin(context)
        if obj is None:
            return
        settings = obj.active_ragdoll
        layout.operator("active_ragdoll.setup_look_at", icon="HIDE_OFF")
        draw_list(layout, settings, "look_at", "active_look_at")
        item = motion_lists.active_item(obj, "look_at")
        stack = STATE.motions.get(obj.name)
        if stack is not None:
            names = [chain.name for chain in settings.look_at]
            for name, text in stack.messages.items():
                if name in names or name.split(" (")[0] in names or name.startswith("Look-at"):
                    box = layout.box()
                    box.alert = True
                    paragraph(box, context, text, "ERROR")
        if item is None:
            return
        inner = rows(layout)
        inner.use_property_decorate = True
        inner.prop(item, "target_type")
        if item.target_type == "POINT":
            inner.prop(item, "target_point")
        else:
            object_fields(inner, item, "target", "target_bone")
        inner.prop(item, "weight", slider=True)
        inner = rows(layout)
        inner.prop(item, "blend_speed")
        inner.prop(item, "up_vector")
        inner.prop(item, "comfort", slider=True)
        inner.prop(item, "behind_margin")
        inner.prop(item, "marks_reference")


class ACTIVE_RAGDOLL_PT_look_at_entries(Sidebar, bpy.types.Panel):
    """The chain from the eye or head down to the spine or pelvis"""

    bl_label = "Bones"
    bl_parent_id = "ACTIVE_RAGDOLL_PT_look_at"

    @classmethod
    def poll(cls, context):
        obj = active_armature(context)
        return obj is not None and len(obj.active_ragdoll.look_at) > 0

    def draw(self, context):
        obj = active_armature(context)
        layout = reason(self.layout, context, why_not(obj, need_ragdoll=False))
        chain = motion_lists.active_item(obj, "look_at")
        draw_list(layout, chain, "entries", "active_entry")
        entry = motion_lists.active_item(obj, "entries")
        if entry is None:
            paragraph(layout, context, "Add the bone that looks first, then bones above it", "INFO")
            return
        inner = rows(layout)
        bone_field(inner, obj, entry, "bone")
        inner.prop(entry, "limit")
        inner.prop(entry, "limit_from")
        inner.prop(entry, "rotate_around_up_weight", slider=True)
        inner.prop(entry, "reset_to_default")
        inner.prop(entry, "axes_from")
        inner.prop(entry, "forward_axis")
        if entry.limit_from == "PARENT":
            inner.prop(entry, "parent_forward_axis")
        layout.operator("active_ragdoll.find_look_at_axes", icon="EMPTY_SINGLE_ARROW")
        row = layout.row()
        row.label(text="Linked Bones")
        row.operator("active_ragdoll.motion_add", text="", icon="ADD").what = "linked_bones"
        row.operator("active_ragdoll.motion_remove", text="", icon="REMOVE").what = "linked_bones"
        for link in entry.linked_bones:
            row = layout.row(align=True)
            bone_field(row, obj, link, "bone", "")
            row.prop(link, "reset_to_default", toggle=True)


class ACTIVE_RAGDOLL_PT_look_at_weight(Sidebar, bpy.types.Panel):
    """Transitions of the weight, stored on the timeline"""

    bl_label = "Transitions"
    bl_parent_id = "ACTIVE_RAGDOLL_PT_look_at"
    bl_options = {"DEFAULT_CLOSED"}

    poll = ACTIVE_RAGDOLL_PT_look_at_entries.poll

    def draw(self, context):
        obj = active_armature(context)
        layout = reason(self.layout, context, why_not(obj, need_ragdoll=False))
        row = layout.row(align=True)
        for name in ("enable", "disable"):
            row.operator(f"active_ragdoll.{name}_look_at")
        row.operator("active_ragdoll.set_look_at_weight", text="Set")
        chain = motion_lists.active_item(obj, "look_at")
        try:
            index = motion_lists.active_index(obj, "look_at")
            weight = look_at_api.get_look_at_weight(obj, index)
            left = look_at_api.time_to_finish_transition(obj, index)
            layout.label(text=f"Weight {weight:.3f}" + (f", {left:.2f} s left" if left > 0.0 else ""))
        except RagdollError as error:
            paragraph(layout, context, str(error), "ERROR")
        for event in chain.events:
            row = layout.row(align=True)
            row.prop(event, "frame", text="")
            row.prop(event, "kind", text="")
            row.prop(event, "weight" if event.kind == "SET" else "duration", text="")
            if event.kind != "SET":
                row.prop(event, "cancel_current_transition", text="", icon="X")
        if len(chain.events):
            layout.operator("active_ragdoll.clear_look_at_events", icon="TRASH")


class ACTIVE_RAGDOLL_PT_legs(MotionPanel, bpy.types.Panel):
    """Feet that are put back where they were before the look-at"""

    bl_label = "Leg Stabilisers"

    def draw(self, context):
        obj, layout = self.begin(context)
        if obj is None:
            return
        draw_list(layout, obj.active_ragdoll, "leg_stabilizers", "active_leg_stabilizer")
        messages(layout, context, obj, "Leg stabiliser")
        item = motion_lists.active_item(obj, "leg_stabilizers")
        if item is None:
            return
        inner = rows(layout)
        bone_field(inner, obj, item, "foot_bone")
        inner.prop(item, "bones_count")
        weight = inner.column()
        weight.use_property_decorate = True
        weight.prop(item, "ik_weight", slider=True)
        inner.prop(item, "off_while_limp")
        inner.prop(item, "min_distance")
        if item.bones_count > 3:
            inner.prop(item, "max_iterations")
            inner.prop(item, "tolerance")


class ACTIVE_RAGDOLL_PT_two_bone_ik(MotionPanel, bpy.types.Panel):
    """Limbs whose ends are brought to effectors"""

    bl_label = "Two-bone IK"

    def draw(self, context):
        obj, layout = self.begin(context)
        if obj is None:
            return
        draw_list(layout, obj.active_ragdoll, "two_bone_ik", "active_two_bone_ik")
        messages(layout, context, obj, "Two-bone IK")
        item = motion_lists.active_item(obj, "two_bone_ik")
        if item is None:
            return
        inner = rows(layout)
        inner.use_property_decorate = True
        bone_field(inner, obj, item, "end_bone")
        inner.prop(item, "weight", slider=True)
        object_fields(inner, item, "effector", "effector_target_bone")
        if item.effector is None:
            self._place(inner, obj, item, "effector")
        object_fields(inner, item, "pole", "pole_target_bone")
        if item.pole is None:
            self._place(inner, obj, item, "pole")
        inner.prop(item, "keep_end_rotation")
        inner.prop(item, "allow_stretching")
        if item.allow_stretching:
            inner.prop(item, "start_stretch_ratio")
            inner.prop(item, "max_stretch_scale")
        inner.prop(item, "marks_reference")

    @staticmethod
    def _place(layout, obj, item, what: str) -> None:
        layout.prop(item, f"{what}_space")
        space = getattr(item, f"{what}_space")
        if space == "BONE":
            bone_field(layout, obj, item, f"{what}_bone")
        if space != "BEND":
            layout.prop(item, f"{what}_location")


class ACTIVE_RAGDOLL_PT_bone_transforms(MotionPanel, bpy.types.Panel):
    """Bones that are moved, turned or scaled"""

    bl_label = "Transform Bone"

    def draw(self, context):
        obj, layout = self.begin(context)
        if obj is None:
            return
        draw_list(layout, obj.active_ragdoll, "bone_transforms", "active_bone_transform")
        messages(layout, context, obj, "Transform bone")
        item = motion_lists.active_item(obj, "bone_transforms")
        if item is None:
            return
        inner = rows(layout)
        bone_field(inner, obj, item, "bone")
        weight = inner.column()
        weight.use_property_decorate = True
        weight.prop(item, "weight", slider=True)
        for what in ("translation", "rotation", "scale"):
            part = rows(layout)
            part.use_property_decorate = True
            part.prop(item, f"{what}_mode")
            if getattr(item, f"{what}_mode") != "IGNORE":
                part.prop(item, f"{what}_space")
                part.prop(item, what, text="Value")
        layout.prop(item, "marks_reference")


class ACTIVE_RAGDOLL_PT_motion_order(MotionPanel, bpy.types.Panel):
    """In which order the entries of the motion stack act, before the physics"""

    bl_label = "Motion Order"

    def draw(self, context):
        obj, layout = self.begin(context)
        if obj is None:
            return
        column = layout.column(align=True)
        for kind in order_of(obj):
            row = column.row(align=True)
            row.label(text=kind.replace("_", " ").title(), icon=KIND_ICONS.get(kind, "DOT"))
            for direction in ("UP", "DOWN"):
                button = row.operator("active_ragdoll.motion_order", text="", icon=f"TRIA_{direction}")
                button.kind, button.direction = kind, direction


CLASSES = (
    ACTIVE_RAGDOLL_UL_motion,
    ACTIVE_RAGDOLL_PT_look_at,
    ACTIVE_RAGDOLL_PT_look_at_entries,
    ACTIVE_RAGDOLL_PT_look_at_weight,
    ACTIVE_RAGDOLL_PT_legs,
    ACTIVE_RAGDOLL_PT_two_bone_ik,
    ACTIVE_RAGDOLL_PT_bone_transforms,
    ACTIVE_RAGDOLL_PT_motion_order,
)
