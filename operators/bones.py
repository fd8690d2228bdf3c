"""Settings of bones from one to another, and editing bodies by hand."""

import bpy
from bpy.props import BoolProperty

from ..core.blender import armature, body_edits, bone_tools, build
from ..core.errors import RagdollError
from .character import active_armature, refuse, scene_of


class Groups:
    """Which settings are meant."""

    body: BoolProperty(name="Body", description="Shape, mass, friction, bounciness and damping", default=True)
    size: BoolProperty(name="Size", description="Size and place that were set by hand", default=True)
    joint: BoolProperty(name="Joint", description="Type and frame of the joint", default=True)
    limits: BoolProperty(name="Limits", description="Ranges of the joint", default=True)
    weights: BoolProperty(name="Weights", description="Weights, mode and strongest drive", default=True)

    def groups(self) -> list[str]:
        """The chosen keys of `bone_tools.GROUPS`."""
        return [name for name in bone_tools.GROUPS if getattr(self, name)]

    def draw(self, context):
        """The groups as a row of switches."""
        column = self.layout.column(heading="Settings")
        for name in bone_tools.GROUPS:
            column.prop(self, name)


def _active_bone(obj):
    bone = obj.data.bones.active
    return bone.name if bone is not None and bone.name in obj.pose.bones else None


def _selected_bones(obj) -> list[str]:
    """The selected bones in pose mode, else the active one, which is what the sidebar shows."""
    active = _active_bone(obj)
    if obj.mode != "POSE":
        return [active] if active else []
    names = [bone.name for bone, flag in zip(obj.data.bones, armature.selected(obj)) if flag]
    return names or ([active] if active else [])


def _needs_bones(cls, context) -> bool:
    obj = active_armature(context)
    if obj is None:
        return refuse(cls, "Select the character's armature")
    if obj.mode == "EDIT":
        return refuse(cls, "Leave Edit Mode first")
    if obj.active_ragdoll.muted:
        return refuse(cls, "Baked: revert the bake to change this")
    return _active_bone(obj) is not None or refuse(cls, "No active bone: click one in Pose Mode")


class OnBones:
    """An operator on the active or the selected bones of the active armature."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return _needs_bones(cls, context)

    def cancelled(self, reason: str) -> set:
        """Say why nothing is done."""
        self.report({"ERROR"}, reason)
        return {"CANCELLED"}


def _listed(names) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")


class ACTIVE_RAGDOLL_OT_copy_to_selected(Groups, OnBones, bpy.types.Operator):
    """Give the selected bones the settings of the active one, in each bone's own frame"""

    bl_idname = "active_ragdoll.copy_to_selected"
    bl_label = "Copy to Selected"

    size: BoolProperty(name="Size", description="Size and place that were set by hand", default=False)

    @classmethod
    def poll(cls, context):
        if not _needs_bones(cls, context):
            return False
        return active_armature(context).mode == "POSE" or refuse(cls, "Select the other bones in Pose Mode")

    def execute(self, context):
        obj = active_armature(context)
        name = _active_bone(obj)
        others = [other for other in _selected_bones(obj) if other != name]
        if not others:
            return self.cancelled(f"Only '{name}' is selected: select the bones to copy to as well")
        if not self.groups():
            return self.cancelled("Nothing to copy: switch on at least one group of settings")
        bone_tools.copy(obj, name, others, self.groups())
        self.report({"INFO"}, f"Copied '{name}' to {_listed(others)}")
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_mirror_settings(Groups, OnBones, bpy.types.Operator):
    """Give the bones on the other side the settings of the selected ones, limits and bodies mirrored"""

    bl_idname = "active_ragdoll.mirror_settings"
    bl_label = "Mirror"

    def execute(self, context):
        obj = active_armature(context)
        if not self.groups():
            return self.cancelled("Nothing to mirror: switch on at least one group of settings")
        try:
            pairs = bone_tools.mirror(obj, _selected_bones(obj), self.groups())
        except RagdollError as error:
            return self.cancelled(str(error))
        self.report({"INFO"}, f"Mirrored to {_listed([other for _name, other in pairs])}")
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_reset_bone(OnBones, bpy.types.Operator):
    """Shape, size, mass, joint and limits of the selected bones become automatic again"""

    bl_idname = "active_ragdoll.reset_bone"
    bl_label = "Reset"

    def execute(self, context):
        obj = active_armature(context)
        names = _selected_bones(obj)
        bone_tools.reset(obj, names)
        self.report({"INFO"}, f"Reset {_listed(names)}: rebuild to see it")
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_adopt_body(OnBones, bpy.types.Operator):
    """Take the body as it stands for the bone's own size and place, to be changed as numbers"""

    bl_idname = "active_ragdoll.adopt_body"
    bl_label = "Set Size by Hand"

    def execute(self, context):
        obj = active_armature(context)
        name = _active_bone(obj)
        part = next((part for part in obj.active_ragdoll.parts if part.bone == name), None)
        if part is None or part.body is None:
            return self.cancelled(f"Bone '{name}' has no body: build the ragdoll with it first")
        body_edits.adopt(obj, part)
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_edit_bodies(bpy.types.Operator):
    """Show the bodies in bind pose, to be moved, scaled or edited; once more keeps the edits. Physics rests"""

    bl_idname = "active_ragdoll.edit_bodies"
    bl_label = "Edit Bodies"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        obj = character(context)
        if obj is None:
            return refuse(cls, "Build the ragdoll first")
        return not obj.active_ragdoll.muted or refuse(cls, "Baked: revert the bake to change this")

    def execute(self, context):
        obj = character(context)
        scene = scene_of(obj, context)
        layer = context.view_layer
        if layer.objects.active is not None and layer.objects.active.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        editing = body_edits.is_editing(obj)
        try:
            edited = body_edits.collect(obj)
            build.rebuild(obj, scene)
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        if editing:
            layer.objects.active = obj
            obj.select_set(True)
            self.report({"INFO"}, f"Kept the edits of {_listed(edited)}" if edited else "No body was edited")
            return {"FINISHED"}
        body_edits.begin(obj)
        self._activate(context, obj)
        return {"FINISHED"}

    def _activate(self, context, obj):
        """Select the body of the active bone, ready to be moved."""
        parts = obj.active_ragdoll.parts
        part = next((part for part in parts if part.bone == _active_bone(obj)), None)
        if part is None or not part.body.visible_get():
            return
        for other in context.selected_objects:
            other.select_set(False)
        part.body.select_set(True)
        context.view_layer.objects.active = part.body


def character(context):
    """The character with a ragdoll that is active, or whose body is."""
    obj = getattr(context, "object", None)
    if obj is not None and obj.type != "ARMATURE":
        obj = obj.get(body_edits.OWNER)
    return obj if obj is not None and obj.active_ragdoll.is_ragdoll else None


CLASSES = (
    ACTIVE_RAGDOLL_OT_copy_to_selected,
    ACTIVE_RAGDOLL_OT_mirror_settings,
    ACTIVE_RAGDOLL_OT_reset_bone,
    ACTIVE_RAGDOLL_OT_adopt_body,
    ACTIVE_RAGDOLL_OT_edit_bodies,
)
