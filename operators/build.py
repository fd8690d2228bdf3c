"""Making a ragdoll and taking it away."""

import bpy
from bpy.props import EnumProperty

from ..core.blender import build, remove
from ..core.errors import RagdollError
from .character import active_armature, needs_armature, needs_ragdoll, refuse, scene_of

BONES = (
    ("DEFORM", "Deforming", "Bones that deform the mesh; tiny ones ride on their parent's body"),
    ("SELECTED", "Selected", "Exactly the selected bones"),
    ("ALL", "All", "All bones but the tiny ones"),
    ("KEEP", "As Chosen", "The bones whose Simulated is on: brings edited shapes, masses and limits into the bodies"),
)


class ACTIVE_RAGDOLL_OT_build(bpy.types.Operator):
    """Give the active armature a physical body; one that it has already is built anew, its settings are kept"""

    bl_idname = "active_ragdoll.build"
    bl_label = "Build"
    bl_options = {"REGISTER", "UNDO"}

    bones: EnumProperty(name="Bones", items=BONES, default="DEFORM", description="Which bones get a body")

    @classmethod
    def poll(cls, context):
        if not needs_armature(cls, context):
            return False
        if active_armature(context).active_ragdoll.muted:
            return refuse(cls, "The result is baked: revert the bake first")
        return True

    def execute(self, context):
        obj = active_armature(context)
        scene = scene_of(obj, context)
        try:
            if self.bones == "KEEP":
                built = build.rebuild(obj, scene)
            else:
                built = build.build(obj, scene, self.bones)
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        figures = f"{built.bodies} bodies, {built.joints} joints, {built.mass:.4g} kg"
        notes = "".join(f"; {note}" for note in built.notes)
        self.report({"INFO"}, f"'{obj.name}': {figures}{notes}")
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_remove(bpy.types.Operator):
    """Take the ragdoll away; the character is as it was before, and keyframes that were baked stay"""

    bl_idname = "active_ragdoll.remove"
    bl_label = "Remove"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return needs_ragdoll(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        try:
            remove.remove(obj, scene_of(obj, context))
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, f"Removed the ragdoll of '{obj.name}'")
        return {"FINISHED"}


CLASSES = (ACTIVE_RAGDOLL_OT_build, ACTIVE_RAGDOLL_OT_remove)
