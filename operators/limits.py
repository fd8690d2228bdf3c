"""Checking the animation against the joints' limits."""

import bpy
from bpy.props import BoolProperty

from ..core.blender import build, limit_check
from ..core.errors import RagdollError
from .character import active_armature, needs_ragdoll, refuse, scene_of


class ACTIVE_RAGDOLL_OT_check_limits(bpy.types.Operator):
    """List the bones whose animation goes beyond their joints' limits, at which frames and by how much"""

    bl_idname = "active_ragdoll.check_limits"
    bl_label = "Check Limits"
    bl_options = {"REGISTER", "UNDO"}

    widen: BoolProperty(
        name="Widen",
        description="Widen these limits to what the animation needs, and build anew so that they act",
        default=False,
    )

    @classmethod
    def poll(cls, context):
        if not needs_ragdoll(cls, context):
            return False
        if active_armature(context).active_ragdoll.muted:
            return refuse(cls, "The result is baked: revert the bake first")
        return True

    def execute(self, context):
        obj = active_armature(context)
        scene = scene_of(obj, context)
        try:
            report = limit_check.check(obj, scene, widen=self.widen)
            if self.widen and report.found:
                build.rebuild(obj, scene)
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"WARNING" if report.found and not self.widen else "INFO"}, f"'{obj.name}': {report.text()}")
        return {"FINISHED"}


CLASSES = (ACTIVE_RAGDOLL_OT_check_limits,)
