"""The panels of the active bone: its body, its joint, its tools; and the tools that set the weights of many bones."""

import bpy
import numpy as np

from ..core.blender.interface import active_bone, not_in_edit_mode, props, rows, why_not
from ..core.blender.interface import bone as has_bone
from ..core.blender.languages import translated
from ..core.blender.physics import built
from ..core.ragdoll import drives
from .base import Part, draw_bone_name

LIMIT_AXES = ("Swing X", "Twist Y", "Swing Z")
CORNERED = ("CONVEX_HULL", "COMPOUND")


class ACTIVE_RAGDOLL_PT_bone(Part, bpy.types.Panel, label="Active Bone", parent="setup"):
    """The body and the joint of the active bone"""

    def fill(self, _context, obj, layout):
        if text := why_not(obj, not_in_edit_mode, has_bone):
            layout.label(text=text, icon="INFO")
            return
        bone = active_bone(obj)
        settings = bone.active_ragdoll
        draw_bone_name(layout, obj, bone.name)
        row = layout.row(align=True)
        row.operator("active_ragdoll.copy_to_selected", text="Copy", icon="COPYDOWN")
        row.operator("active_ragdoll.mirror_settings", text="Mirror", icon="MOD_MIRROR")
        row.operator("active_ragdoll.reset_bone", text="Reset", icon="LOOP_BACK")
        rows(layout).prop(settings, "simulate")
        body = layout.column()
        body.enabled = settings.simulate
        keyed = body.column(align=True)
        keyed.use_property_decorate = True
        props(keyed, settings, "body_mode", "rotation_weight", "translation_weight", "max_torque", "max_force")
        props(keyed, settings, obj.active_ragdoll.recovery.enabled and "tone")
        law = drives.of(obj.active_ragdoll.drive)
        props(keyed, settings, *(parameter.factor.setting for parameter in law.parameters))


class BonePart(Part, parent="bone"):
    """A panel inside the active bone's."""

    @staticmethod
    def is_there(obj):
        return not why_not(obj, not_in_edit_mode, has_bone)

    def of_bone(self, obj, column):
        """A column that is greyed out where the bone has no body, the bone's settings and its part or None."""
        bone = active_bone(obj)
        column = rows(column)
        column.enabled = bone.active_ragdoll.simulate
        return column, bone.active_ragdoll, built.part_of(obj, bone.name)


class ACTIVE_RAGDOLL_PT_body(BonePart, bpy.types.Panel):
    """Shape and mass of the active bone's body"""

    def fill(self, _context, obj, column):
        column, settings, part = self.of_bone(obj, column)
        props(column, settings, "role", "shape")
        body = part.body if part is not None and part.body is not None and part.body.rigid_body is not None else None
        if settings.shape_by_user:
            has_corners = settings.body_points and settings.shape in CORNERED  # these are the size
            props(column, settings, "shape_by_user", not has_corners and "half_extents", "body_location")
        elif body is not None and body.type == "MESH":
            if settings.shape == "AUTO":
                shape = body.rigid_body.collision_shape
                kind = bpy.types.UILayout.enum_item_name(body.rigid_body, "collision_shape", shape)
                column.label(text=translated(f"Automatic: {kind}"))
            row = column.row(align=True)
            row.label(text=size_text(body))
            row.operator("active_ragdoll.adopt_body", text="", icon="GREASEPENCIL")
        props(column, settings, "mass")
        column.label(text=translated(f"Mass now: {body.rigid_body.mass:.3g} kg") if body is not None else "")
        props(column, settings, "friction", "bounciness")
        column.prop(settings, "linear_damping", text="Damping Linear")
        column.prop(settings, "angular_damping", text="Angular")


def size_text(body) -> str:
    """The size of a body's shape in words [m]."""
    x, y, z = np.ptp(np.array(body.bound_box), axis=0) * np.abs(body.scale)
    shape = body.rigid_body.collision_shape
    if shape == "SPHERE":
        return f"Radius {max(x, y, z) / 2.0:.3g} m"
    if shape == "CAPSULE":
        return f"Radius {max(x, y) / 2.0:.3g} m, length {z:.3g} m"
    return f"{x:.3g} x {y:.3g} x {z:.3g} m"


class ACTIVE_RAGDOLL_PT_joint(BonePart, bpy.types.Panel):
    """Joint and limits of the active bone"""

    def fill(self, _context, obj, column):
        column, settings, part = self.of_bone(obj, column)
        column.enabled = column.enabled and not (part is not None and not part.parent)  # a root has no joint
        column.prop(settings, "joint")
        if settings.joint in {"HINGE", "CONE"}:
            for axis, name in enumerate(LIMIT_AXES):
                halves = column.split(factor=0.4, align=True)
                title = halves.column()
                title.alignment = "RIGHT"
                title.label(text=name)
                props(halves.row(align=True), settings, "limit_min", "limit_max", index=axis, text="")
            column.prop(settings, "joint_angles")
        column.prop(settings, "limits_from")


class ACTIVE_RAGDOLL_PT_weight_tools(Part, bpy.types.Panel, label="Spread over Bones", parent="act"):
    """Presets, and weights of several bones at once"""

    def fill(self, _context, _obj, column):
        column.operator_menu_enum("active_ragdoll.weight_preset", "preset", text="Preset")
        column.operator("active_ragdoll.copy_weights", icon="COPYDOWN")
        column.operator("active_ragdoll.drag_weights", icon="ARROW_LEFTRIGHT")
        pairs = column.grid_flow(row_major=True, columns=2, even_columns=True, align=True)
        for mode in bpy.ops.active_ragdoll.spread_weights.get_rna_type().properties["mode"].enum_items:
            pairs.operator("active_ragdoll.spread_weights", text=mode.name).mode = mode.identifier
