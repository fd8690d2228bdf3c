"""Knock-out and recovery: switching it on, and states forced on the timeline."""

import bpy
from bpy.props import EnumProperty, IntProperty

from ..core.blender import motion_setup, recovery_settings, runtime
from ..core.errors import RagdollError
from .character import active_armature, needs_ragdoll, refuse, scene_of


def _needs_live(cls, context) -> bool:
    if not needs_ragdoll(cls, context):
        return False
    if active_armature(context).active_ragdoll.muted:
        return refuse(cls, "The result is baked: revert the bake first")
    return True


class ACTIVE_RAGDOLL_OT_setup_recovery(bpy.types.Operator):
    """Let strong hits knock the character out, and let it get up where it came to rest"""

    bl_idname = "active_ragdoll.setup_recovery"
    bl_label = "Set Up Recovery"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return _needs_live(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        try:
            if obj.active_ragdoll.recovery.reroot:
                motion_setup.ensure(obj, scene_of(obj, context))
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        obj.active_ragdoll.recovery.enabled = True
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_add_recovery_event(bpy.types.Operator):
    """Force a state of the recovery at a frame"""

    bl_idname = "active_ragdoll.add_recovery_event"
    bl_label = "Force State"
    bl_options = {"REGISTER", "UNDO"}

    phase: EnumProperty(name="State", items=recovery_settings.PHASES, default="LIMP")
    frame: IntProperty(name="Frame", description="0 takes the current frame", options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context):
        return _needs_live(cls, context)

    def execute(self, context):
        group = active_armature(context).active_ragdoll.recovery
        event = group.events.add()
        event.frame = self.frame or context.scene.frame_current
        event.phase = self.phase
        group.event_index = len(group.events) - 1
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_remove_recovery_event(bpy.types.Operator):
    """Remove the selected forced state"""

    bl_idname = "active_ragdoll.remove_recovery_event"
    bl_label = "Remove Forced State"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        if not _needs_live(cls, context):
            return False
        return bool(active_armature(context).active_ragdoll.recovery.events) or refuse(cls, "No state is forced")

    def execute(self, context):
        group = active_armature(context).active_ragdoll.recovery
        index = min(max(group.event_index, 0), len(group.events) - 1)
        group.events.remove(index)
        group.event_index = max(min(index, len(group.events) - 1), 0)
        runtime.settings_changed(active_armature(context))
        return {"FINISHED"}


CLASSES = (
    ACTIVE_RAGDOLL_OT_setup_recovery,
    ACTIVE_RAGDOLL_OT_add_recovery_event,
    ACTIVE_RAGDOLL_OT_remove_recovery_event,
)
