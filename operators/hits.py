"""Hits and explosions: into a character's list, out of it, and drawn in the viewport."""

import bpy
from bpy.props import EnumProperty, FloatProperty, FloatVectorProperty, IntProperty, StringProperty
from bpy_extras import view3d_utils

from ..core.blender import hit_edits, hit_settings, overlay_data
from ..core.errors import RagdollError
from .bones import _active_bone
from .character import active_armature, needs_ragdoll, refuse, scene_of
from .stepping import redraw

STANDARD = 20.0  # [N s] of a click without a drag, on a man of 70 kg


def _may_edit(cls, context) -> bool:
    if not needs_ragdoll(cls, context):
        return False
    if active_armature(context).active_ragdoll.muted:
        return refuse(cls, "Baked: revert the bake to change this")
    return True


class ACTIVE_RAGDOLL_OT_add_hit(bpy.types.Operator):
    """Hit a bone's body at a frame; without values the active bone at the current frame"""

    bl_idname = "active_ragdoll.add_hit"
    bl_label = "Add Hit"
    bl_options = {"REGISTER", "UNDO"}

    bone: StringProperty(name="Bone", description="Bone whose body is hit; empty takes the active one")
    frame: IntProperty(name="Frame", description="Frame at which it begins")
    impulse: FloatVectorProperty(name="Impulse", description="[N s]", subtype="XYZ", default=(0.0, STANDARD, 0.0))
    point: FloatVectorProperty(
        name="Point", description="From the middle of the body, along the bone's axes", subtype="XYZ", unit="LENGTH"
    )
    space: EnumProperty(name="Space", items=hit_settings.SPACES[:2], default="WORLD")
    duration: FloatProperty(name="Duration", min=0.0, unit="TIME_ABSOLUTE")

    @classmethod
    def poll(cls, context):
        return _may_edit(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        scene = scene_of(obj, context)
        if not self.properties.is_property_set("frame"):
            self.frame = scene.frame_current
        if not self.bone:
            self.bone = _active_bone(obj) or ""
        try:
            notes = hit_edits.add(
                obj,
                scene,
                self.bone,
                self.frame,
                tuple(self.impulse),
                tuple(self.point),
                space=self.space,
                duration=self.duration,
            )
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        for note in notes:
            self.report({"WARNING"}, note)
        redraw()
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_remove_hit(bpy.types.Operator):
    """Take the active hit out of the list"""

    bl_idname = "active_ragdoll.remove_hit"
    bl_label = "Remove Hit"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        if not _may_edit(cls, context):
            return False
        return len(active_armature(context).active_ragdoll.hits) > 0 or refuse(cls, "There is no hit")

    def execute(self, context):
        obj = active_armature(context)
        hit_edits.remove(obj, min(obj.active_ragdoll.active_hit, len(obj.active_ragdoll.hits) - 1))
        redraw()
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_add_explosion(bpy.types.Operator):
    """An explosion at the 3D cursor and the current frame"""

    bl_idname = "active_ragdoll.add_explosion"
    bl_label = "Add Explosion"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return _may_edit(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        scene = scene_of(obj, context)
        settings = obj.active_ragdoll
        blast = settings.explosions.add()
        blast.frame, blast.origin = scene.frame_current, scene.cursor.location
        blast.radius = 2.0 * settings.height
        settings.active_explosion = len(settings.explosions) - 1
        redraw()
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_remove_explosion(bpy.types.Operator):
    """Take the active explosion out of the list"""

    bl_idname = "active_ragdoll.remove_explosion"
    bl_label = "Remove Explosion"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        if not _may_edit(cls, context):
            return False
        return len(active_armature(context).active_ragdoll.explosions) > 0 or refuse(cls, "There is no explosion")

    def execute(self, context):
        obj = active_armature(context)
        settings = obj.active_ragdoll
        hit_edits.remove(obj, min(settings.active_explosion, len(settings.explosions) - 1), "explosions")
        redraw()
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_place_hit(bpy.types.Operator):
    """Press on the character and drag the arrow of a hit at the current frame; with Ctrl it goes into the view"""

    bl_idname = "active_ragdoll.place_hit"
    bl_label = "Draw Hit"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        if not _may_edit(cls, context):
            return False
        space = getattr(context, "space_data", None)
        return (space is not None and space.type == "VIEW_3D") or refuse(cls, "Only in a 3D view")

    def invoke(self, context, _event):
        self._place = None
        context.window.cursor_modal_set("CROSSHAIR")
        context.workspace.status_text_set("Press on the character and drag.  Ctrl: into the view.  Esc: cancel")
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type in {"MIDDLEMOUSE", "WHEELUPMOUSE", "WHEELDOWNMOUSE", "TRACKPADPAN", "TRACKPADZOOM"}:
            return {"PASS_THROUGH"}
        if event.type in {"ESC", "RIGHTMOUSE"} and event.value == "PRESS":
            if self._place is not None:
                obj = active_armature(context)
                hit_edits.remove(obj, len(obj.active_ragdoll.hits) - 1)
            return self._end(context, {"CANCELLED"})
        if event.type == "LEFTMOUSE" and event.value == "PRESS" and self._place is None:
            return self._press(context, *self._ray(context, event))
        if self._place is not None and event.type in {"MOUSEMOVE", "LEFTMOUSE", "LEFT_CTRL", "RIGHT_CTRL"}:
            self._drag(context, *self._ray(context, event), into=event.ctrl)
            if event.type == "LEFTMOUSE" and event.value == "RELEASE":
                return self._end(context, {"FINISHED"})
        return {"RUNNING_MODAL"}

    def cancel(self, context):
        """Blender itself ends the operator."""
        self._end(context, {"CANCELLED"})

    def _ray(self, context, event):
        region = next(r for r in context.area.regions if r.type == "WINDOW")
        view = context.space_data.region_3d
        at = event.mouse_x - region.x, event.mouse_y - region.y
        origin = view3d_utils.region_2d_to_origin_3d(region, view, at)
        return origin, view3d_utils.region_2d_to_vector_3d(region, view, at)

    def _press(self, context, origin, direction):
        obj = active_armature(context)
        scene = scene_of(obj, context)
        graph = context.view_layer.depsgraph
        found = hit_edits.picked(obj, scene, graph, origin, direction)
        if found is None:
            self.report({"INFO"}, f"Nothing of '{obj.name}' is there")
            return {"RUNNING_MODAL"}
        bone, self._place = found
        self._normal = direction
        try:
            point = hit_edits.point_on(obj, scene, graph, bone, self._place)
            impulse = direction * (STANDARD * hit_edits.mass(obj) / 70.0)
            notes = hit_edits.add(obj, scene, bone, scene.frame_current, tuple(impulse), tuple(point))
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return self._end(context, {"CANCELLED"})
        for note in notes:
            self.report({"WARNING"}, note)
        redraw()
        return {"RUNNING_MODAL"}

    def _drag(self, context, origin, direction, into: bool):
        obj = active_armature(context)
        scene = scene_of(obj, context)
        impulse = hit_edits.impulse_by_drag(obj, scene, origin, direction, self._place, self._normal)
        if impulse is None or not impulse.any():
            return
        strength = float((impulse @ impulse) ** 0.5)
        hit = obj.active_ragdoll.hits[-1]
        hit.impulse = self._normal * strength if into else impulse
        context.area.header_text_set(f"Hit on {hit.bone}: {strength:.3g} N s")
        redraw()

    def _end(self, context, result):
        context.window.cursor_modal_restore()
        context.workspace.status_text_set(None)
        if context.area is not None:
            context.area.header_text_set(None)
        overlay_data.forget()
        redraw()
        return result


CLASSES = (
    ACTIVE_RAGDOLL_OT_add_hit,
    ACTIVE_RAGDOLL_OT_remove_hit,
    ACTIVE_RAGDOLL_OT_add_explosion,
    ACTIVE_RAGDOLL_OT_remove_explosion,
    ACTIVE_RAGDOLL_OT_place_hit,
)
