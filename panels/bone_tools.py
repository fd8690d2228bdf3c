"""What the active bone's panels show besides plain settings: its tools, and the size of its body."""

import bpy
import numpy as np

CORNERED = ("CONVEX_HULL", "COMPOUND")


def draw_buttons(layout) -> None:
    """Copy, mirror, reset, in one row."""
    row = layout.row(align=True)
    row.operator("active_ragdoll.copy_to_selected", text="Copy", icon="COPYDOWN")
    row.operator("active_ragdoll.mirror_settings", text="Mirror", icon="MOD_MIRROR")
    row.operator("active_ragdoll.reset_bone", text="Reset", icon="LOOP_BACK")


def draw_size(column, settings, part) -> None:
    """Sizes as numbers where they are the bone's own, else as they came out, with a button to take them over.

    Args:
        column: layout with labels on the left.
        settings: `PoseBone.active_ragdoll`.
        part: of the ragdoll, None where the bone has no body.
    """
    if settings.shape_by_user:
        column.prop(settings, "shape_by_user")
        if not (settings.body_points and settings.shape in CORNERED):  # there the corners are the size
            column.prop(settings, "half_extents")
        column.prop(settings, "body_location")
        return
    body = part.body if part is not None else None
    if body is None or body.type != "MESH" or body.rigid_body is None:
        return
    if settings.shape == "AUTO":
        kind = bpy.types.UILayout.enum_item_name(body.rigid_body, "collision_shape", body.rigid_body.collision_shape)
        column.label(text=f"Automatic: {kind}")
    row = column.row(align=True)
    row.label(text=size_text(body))
    row.operator("active_ragdoll.adopt_body", text="", icon="GREASEPENCIL")


def size_text(body) -> str:
    """The size of a body's shape in words [m]."""
    x, y, z = np.ptp(np.array(body.bound_box), axis=0) * np.abs(body.scale)
    shape = body.rigid_body.collision_shape
    if shape == "SPHERE":
        return f"Radius {max(x, y, z) / 2.0:.3g} m"
    if shape == "CAPSULE":
        return f"Radius {max(x, y) / 2.0:.3g} m, length {z:.3g} m"
    return f"{x:.3g} x {y:.3g} x {z:.3g} m"
