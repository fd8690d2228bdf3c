"""Attachments: into a character's list and out of it."""

import bpy
from bpy.props import StringProperty

from ..core.blender import attachment_edits
from ..core.errors import RagdollError
from .bones import _active_bone
from .character import active_armature, needs_ragdoll, refuse
from .stepping import redraw


def _may_edit(cls, context) -> bool:
    if not needs_ragdoll(cls, context):
        return False
    if active_armature(context).active_ragdoll.muted:
        return refuse(cls, "Baked: revert the bake to change this")
    return True


class ACTIVE_RAGDOLL_OT_add_attachment(bpy.types.Operator):
    """Attach a bone to an object; without values the active bone to the other selected object"""

    bl_idname = "active_ragdoll.add_attachment"
    bl_label = "Add Attachment"
    bl_options = {"REGISTER", "UNDO"}

    bone: StringProperty(name="Bone", description="Bone whose body is held; empty takes the active one")
    target: StringProperty(name="Target", description="Name of the object; empty takes the other selected one")

    @classmethod
    def poll(cls, context):
        return _may_edit(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        target = bpy.data.objects.get(self.target) if self.target else None
        if self.target and target is None:
            self.report({"ERROR"}, f"There is no object '{self.target}'")
            return {"CANCELLED"}
        if not self.target:
            target = next((other for other in context.selected_objects if other != obj), None)
        try:
            attachment_edits.add(obj, self.bone or _active_bone(obj) or "", target)
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        redraw()
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_remove_attachment(bpy.types.Operator):
    """Take the active attachment out of the list"""

    bl_idname = "active_ragdoll.remove_attachment"
    bl_label = "Remove Attachment"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        if not _may_edit(cls, context):
            return False
        return len(active_armature(context).active_ragdoll.attachments) > 0 or refuse(cls, "There is no attachment")

    def execute(self, context):
        obj = active_armature(context)
        settings = obj.active_ragdoll
        attachment_edits.remove(obj, min(settings.active_attachment, len(settings.attachments) - 1))
        redraw()
        return {"FINISHED"}


CLASSES = (ACTIVE_RAGDOLL_OT_add_attachment, ACTIVE_RAGDOLL_OT_remove_attachment)
