"""Making a ragdoll and taking it away."""

import bpy
from bpy.props import EnumProperty

from ..core.blender import build, remove
from ..core.errors import RagdollError
from .character import active_armature, chosen_armatures, needs_armature, needs_ragdoll, refuse, scene_of

BONES = (
    ("DEFORM", "Deforming", "Bones that deform the mesh; tiny ones ride on their parent's body"),
    ("MAIN", "Main", "The ten to sixteen large bodies of a human, or an animal's; the rest merges into them"),
    ("SELECTED", "Selected", "Exactly the selected bones"),
    ("ALL", "All", "All bones but the tiny ones"),
    ("KEEP", "As Chosen", "The bones whose Simulated is on: brings edited shapes, masses and limits into the bodies"),
)


class ACTIVE_RAGDOLL_OT_build(bpy.types.Operator):
    """Give the selected armatures physical bodies; one that it has already is built anew, its settings are kept"""

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
        objects = [obj for obj in chosen_armatures(context) if not obj.active_ragdoll.muted]
        made = 0
        for obj, built in build.build_each(objects, context.scene, self.bones):
            if isinstance(built, RagdollError):
                self.report({"ERROR"}, str(built))
                continue
            figures = f"{built.bodies} bodies, {built.joints} joints, {built.mass:.4g} kg"
            notes = "".join(f"; {note}" for note in built.notes)
            self.report({"INFO"}, f"'{obj.name}': {figures}{notes}")
            made += 1
        return {"FINISHED"} if made else {"CANCELLED"}


class ACTIVE_RAGDOLL_OT_remove(bpy.types.Operator):
    """Take the ragdolls of the selected armatures away; they are as before, and keyframes that were baked stay"""

    bl_idname = "active_ragdoll.remove"
    bl_label = "Remove"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return needs_ragdoll(cls, context)

    def execute(self, context):
        by_scene = {}
        for obj in chosen_armatures(context):
            if obj.active_ragdoll.is_ragdoll:
                by_scene.setdefault(scene_of(obj, context), []).append(obj)
        for scene, objects in by_scene.items():
            remove.remove_all(objects, scene)
            for obj in objects:
                self.report({"INFO"}, f"Removed the ragdoll of '{obj.name}'")
        return {"FINISHED"}


CLASSES = (ACTIVE_RAGDOLL_OT_build, ACTIVE_RAGDOLL_OT_remove)
