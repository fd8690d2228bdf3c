"""What would make a ragdoll unstable, and the buttons that mend it."""

import bpy
from bpy.props import EnumProperty, StringProperty

from ..core.blender import diagnose
from ..core.errors import RagdollError
from ..core.ragdoll import diagnosis
from .character import active_armature, needs_ragdoll, refuse, scene_of

LEVELS = {diagnosis.ERROR: "WARNING", diagnosis.WARNING: "WARNING", diagnosis.INFO: "INFO"}
# Those whose remedy is an operator of its own, or nobody's but the user's, are not here.
REMEDIES = (
    (diagnosis.WORLD_DISABLED, "Switch On", "Switch the scene's rigid body world on"),
    (diagnosis.EXCLUDED, "Take In", "Take the ragdoll's collections into the view layer again"),
    (diagnosis.TIME_SCALE, "Set to 1", "Let the bodies move at the animation's speed"),
    (diagnosis.MASS_RATIO, "Stabilize", "Even out the masses of joined bodies, the total being kept, and build anew"),
    (diagnosis.TINY, "Merge", "Let tiny bodies ride on their parents' bodies, and build anew"),
    (diagnosis.SUBSTEPS, "Raise", f"Raise the substeps to {diagnosis.STEPS_PER_SECOND:g} steps a second"),
    (diagnosis.ITERATIONS, "Raise", "Raise the solver's iterations to what limits need"),
)


class ACTIVE_RAGDOLL_OT_diagnose(bpy.types.Operator):
    """Look for what would make this ragdoll shake, jerk or stand still, and for remedies"""

    bl_idname = "active_ragdoll.diagnose"
    bl_label = "Diagnose"
    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context):
        return needs_ragdoll(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        try:
            found = diagnose.diagnose(obj, scene_of(obj, context))
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        for finding in found:
            self.report({LEVELS[finding.severity]}, f"{finding.text}. {finding.remedy}")
        if not found:
            self.report({"INFO"}, f"'{obj.name}': nothing found that would make it unstable")
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_remedy(bpy.types.Operator):
    """Mend one of the findings of Diagnose"""

    bl_idname = "active_ragdoll.remedy"
    bl_label = "Mend"
    bl_options = {"REGISTER", "UNDO"}

    kind: EnumProperty(name="Finding", items=REMEDIES)
    bones: StringProperty(name="Bones", description="Whose bodies are meant, one in a line")

    @classmethod
    def poll(cls, context):
        if not needs_ragdoll(cls, context):
            return False
        if active_armature(context).active_ragdoll.muted:
            return refuse(cls, "The result is baked: revert the bake first")
        return True

    @classmethod
    def description(cls, _context, properties):
        return next((text for kind, _name, text in REMEDIES if kind == properties.kind), cls.__doc__)

    def execute(self, context):
        obj = active_armature(context)
        scene = scene_of(obj, context)
        try:
            diagnose.remedy(obj, scene, self.kind, self.bones.splitlines())
            diagnose.diagnose(obj, scene)
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}


CLASSES = (ACTIVE_RAGDOLL_OT_diagnose, ACTIVE_RAGDOLL_OT_remedy)
