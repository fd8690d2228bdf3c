"""Baking the result to keyframes, and the way back."""

import bpy
from bpy.props import IntProperty

from ..core.blender import bake, world
from ..core.errors import RagdollError
from .character import active_moved, needs_moved, refuse, scene_of
from .stepping import SteppingOperator, choose_range, redraw

SKIP = {"SKIP_SAVE"}


class ACTIVE_RAGDOLL_OT_bake(SteppingOperator, bpy.types.Operator):
    """Write the simulated motion, and the motion stack's, to a new action and mute both; the old action is kept.
    Simulates first where that was not done"""

    bl_idname = "active_ragdoll.bake"
    bl_label = "Bake"
    bl_options = {"REGISTER", "UNDO"}
    verb = "Baking"

    frame_start: IntProperty(name="Start", description="First frame; 0 and 0 take the shot's range", options=SKIP)
    frame_end: IntProperty(name="End", description="Last frame; 0 and 0 take the shot's range", options=SKIP)

    @classmethod
    def poll(cls, context):
        if not needs_moved(cls, context):
            return False
        if active_moved(context).active_ragdoll.muted:
            return refuse(cls, "Baked already: revert the bake first")
        return True

    def prepare(self, context):
        obj = active_moved(context)
        scene = scene_of(obj, context)
        first, last = world.shot_range(scene)
        wanted = (self.frame_start, self.frame_end)
        if wanted == (0, 0):
            wanted = (first, last)
        if first <= wanted[0] < wanted[1] <= last:
            choose_range(scene, 0, 0)
        else:
            choose_range(scene, *wanted)
        self._name = obj.name
        return bake.frames(obj, scene, *wanted), scene

    def finished(self, context, stopped_at):
        if stopped_at is not None:
            self.report({"WARNING"}, f"Stopped at frame {stopped_at}; nothing was baked")
            return {"CANCELLED"}
        action = bpy.data.objects[self._name].active_ragdoll.baked_action
        self.report({"INFO"}, f"Baked '{self._name}' to the action '{action.name if action else ''}'")
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_revert_bake(bpy.types.Operator):
    """Back to the action from before the bake, the live ragdoll and the motion stack;
    the baked action stays in the file"""

    bl_idname = "active_ragdoll.revert_bake"
    bl_label = "Revert Bake"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        if not needs_moved(cls, context):
            return False
        return active_moved(context).active_ragdoll.muted or refuse(cls, "Nothing is baked")

    def execute(self, context):
        obj = active_moved(context)
        try:
            bake.revert(obj)
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        redraw()
        self.report({"INFO"}, f"'{obj.name}' has its old action back")
        return {"FINISHED"}


CLASSES = (ACTIVE_RAGDOLL_OT_bake, ACTIVE_RAGDOLL_OT_revert_bake)
