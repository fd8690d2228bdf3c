"""Settings of bones from one to another, weights spread over bones, and editing bodies by hand."""

import bpy

from ..core.anatomy import roles
from ..core.blender import interface
from ..core.blender.languages import translated
from ..core.blender.physics import body_objects, build, built
from ..core.blender.settings.declare import choice, flag, number, share, text
from ..core.blender.tools import bone_tools
from ..core.errors import RagdollError, named
from .base import OnRagdoll, Operator, Unbaked, leave_modal

KIND_ITEMS = (
    ("BOTH", "Both", "Rotation and translation"),
    ("ROTATION", "Rotation", "Of orientations"),
    ("TRANSLATION", "Translation", "Of positions"),
)
PRESET_ITEMS = (
    ("UPPER_BODY_LOOSE", "Upper Body Loose", "Legs and pelvis exact, looser towards head and hands"),
    ("ONE_ARM_LIMP", "One Arm Limp", "An arm hangs, its collar bone gives way"),
    ("DRUNK", "Drunk", "Loose all over, most of all neck and arms"),
    ("RIGID", "Rigid", "Every bone at full weight"),
)
SPREADS = (
    ("SET", "Set Selected", "The value on all selected bones"),
    ("CHAIN", "Along Chain", "Evenly from the active bone to the other selected one on its chain"),
    ("DOWN", "Falloff Down", "The active bone, and those below it less and less"),
    ("UP", "Falloff Up", "The active bone, and those above it less and less"),
    ("COPY", "Copy", "The active bone's weights on the selected ones"),
    ("MIRROR", "Mirror", "The selected bones' weights on the other side"),
)
POSED = interface.requirement("Select the other bones in Pose Mode", lambda obj: obj.mode == "POSE")
TRAVEL = 300.0  # [px] of the mouse for the whole range


class BoneOperator(Operator, requires=(interface.not_in_edit_mode, interface.unbaked, interface.bone)):
    """Acts on the active or the selected bones of the active armature."""


class Groups:
    """The groups of settings that an operator is about."""

    body: flag("Body", "Shape, mass, friction, bounciness and damping", True)
    size: flag("Size", "Size and place that were set by hand", True)
    joint: flag("Joint", "Type and frame of the joint", True)
    limits: flag("Limits", "Ranges of the joint", True)
    weights: flag("Weights", "Weights, mode and strongest drive", True)

    def groups(self, verb: str) -> list[str]:
        """The chosen ones of `bone_tools.GROUPS`. Raises RagdollError: there is none."""
        chosen = [name for name in bone_tools.GROUPS if getattr(self, name)]
        if not chosen:
            raise RagdollError(f"Nothing to {verb}: switch on at least one group of settings")
        return chosen

    def draw(self, _context):
        interface.props(self.layout.column(heading="Settings"), self, *bone_tools.GROUPS)


class ACTIVE_RAGDOLL_OT_copy_to_selected(
    Groups, BoneOperator, bpy.types.Operator, label="Copy to Selected", requires=(POSED,)
):
    """Give the selected bones the settings of the active one, in each bone's own frame"""

    size: flag("Size", "Size and place that were set by hand")

    def act(self, _context, obj):
        name = interface.active_bone(obj).name
        others = [other for other in interface.selected_bones(obj) if other != name]
        if not others:
            raise RagdollError(f"Only '{name}' is selected: select the bones to copy to as well")
        bone_tools.copy(obj, name, others, self.groups("copy"))
        return f"Copied '{name}' to {named(others)}"


class ACTIVE_RAGDOLL_OT_mirror_settings(Groups, BoneOperator, bpy.types.Operator, label="Mirror"):
    """Give the bones on the other side the settings of the selected ones, limits and bodies mirrored"""

    def act(self, _context, obj):
        pairs = bone_tools.mirror(obj, interface.selected_bones(obj), self.groups("mirror"))
        return f"Mirrored to {named([other for _name, other in pairs])}"


class ACTIVE_RAGDOLL_OT_reset_bone(BoneOperator, bpy.types.Operator, label="Reset"):
    """Shape, size, mass, joint and limits of the selected bones become automatic again"""

    def act(self, _context, obj):
        names = interface.selected_bones(obj)
        bone_tools.reset(obj, names)
        return f"Reset {named(names)}: rebuild to see it"


class ACTIVE_RAGDOLL_OT_select_bone(Operator, bpy.types.Operator):
    """Make a bone the active one"""

    bone: text("Bone")

    @classmethod
    def description(cls, _context, properties):
        return properties.bone

    def act(self, _context, obj):
        obj.data.bones.active = obj.data.bones.get(self.bone)


class ACTIVE_RAGDOLL_OT_adopt_body(BoneOperator, bpy.types.Operator, label="Set Size by Hand"):
    """Take the body as it stands for the bone's own size and place, to be changed as numbers"""

    def act(self, _context, obj):
        name = interface.active_bone(obj).name
        part = built.part_of(obj, name)
        if part is None or part.body is None:
            raise RagdollError(f"Bone '{name}' has no body: build the ragdoll with it first")
        body_objects.adopt_body(obj, part)


class ACTIVE_RAGDOLL_OT_edit_bodies(OnRagdoll, bpy.types.Operator):
    """Show the bodies in bind pose, to be moved, scaled or edited; once more keeps the edits. Physics rests"""

    def act(self, context, obj):
        layer = context.view_layer
        if layer.objects.active is not None and layer.objects.active.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        editing = body_objects.is_editing(obj)
        edited = body_objects.collect_edits(obj)
        build.rebuild(obj, interface.scene_of(obj, context))
        if editing:
            layer.objects.active = obj
            obj.select_set(True)
            return f"Kept the edits of {named(edited)}" if edited else "No body was edited"
        body_objects.begin_editing(obj)
        part = built.part_of(obj, getattr(interface.active_bone(obj), "name", ""))
        if part is not None and part.body.visible_get():  # that of the active bone is ready to be moved
            for other in context.selected_objects:
                other.select_set(False)
            part.body.select_set(True)
            layer.objects.active = part.body


def _changed(names) -> str:
    return f"Weights of {named(names)}" if names else "No weight changed"


class ACTIVE_RAGDOLL_OT_weight_preset(Unbaked, bpy.types.Operator):
    """Set the weights of all bones of the selected characters from a preset; keyed weights win over it"""

    preset: choice("Preset", PRESET_ITEMS)
    side: choice("Side", ((roles.LEFT, "Left", "The left arm"), (roles.RIGHT, "Right", "The right arm")))

    def draw(self, _context):
        self.layout.prop(self, "preset")
        if self.preset == "ONE_ARM_LIMP":
            self.layout.prop(self, "side", expand=True)

    def act(self, context, _obj):
        found = [obj for obj in interface.characters(context) if not obj.active_ragdoll.muted]
        return _changed([n for obj in found for n in bone_tools.apply_weight_preset(obj, self.preset, self.side)])


class ACTIVE_RAGDOLL_OT_copy_weights(Unbaked, bpy.types.Operator, label="To Selected Characters"):
    """Give the other selected characters the weights and the physics blend of the active one; keyed ones win"""

    @classmethod
    def why_not(cls, context):
        others = len(interface.characters(context)) > 1
        return super().why_not(context) or ("" if others else "Select other characters as well")

    def act(self, context, obj):
        others = [other for other in interface.characters(context)[1:] if not other.active_ragdoll.muted]
        for other in others:
            for name in (*bone_tools.WEIGHTS, "physics_blend"):
                setattr(other.active_ragdoll, name, getattr(obj.active_ragdoll, name))
        return f"Weights of {named([other.name for other in others])}"


class ACTIVE_RAGDOLL_OT_spread_weights(BoneOperator, bpy.types.Operator):
    """Set the weights of several bones at once"""

    mode: choice("Mode", SPREADS)
    kind: choice("Weights", KIND_ITEMS)
    value: share("Weight", None, 0.0)
    end: share("End", "Weight at the chain's other end")
    reach: number("Reach", "Bones away from which nothing changes any more", 4.0, min=0.1, soft_max=20.0)

    def draw(self, _context):
        self.layout.use_property_split = True
        names = {"SET": ("value",), "CHAIN": ("value", "end"), "DOWN": ("value", "reach"), "UP": ("value", "reach")}
        interface.props(self.layout, self, "mode", "kind", *names.get(self.mode, ()))

    def act(self, _context, obj):
        bone, how = interface.active_bone(obj).name, (self.mode, self.kind, self.value, self.end, self.reach)
        return _changed(bone_tools.spread_weights(obj, bone, interface.selected_bones(obj), *how))


class ACTIVE_RAGDOLL_OT_drag_weights(BoneOperator, bpy.types.Operator, label="Slide Weights"):
    """Move the weights of the selected bones with the mouse, all from where they are"""

    kind: choice("Weights", KIND_ITEMS)
    change: number("Change", min=-1.0, max=1.0)

    def act(self, _context, obj):
        return _changed(bone_tools.move_weights(obj, interface.selected_bones(obj), self.change, self.kind))

    def invoke(self, context, event):
        self._obj = self.subject(context)
        self._names = interface.selected_bones(self._obj)
        self._start = event.mouse_x
        self._before = {kind: bone_tools.read_weights(self._obj, kind) for kind in bone_tools.WEIGHTS}
        context.window_manager.modal_handler_add(self)
        context.window.cursor_modal_set("SCROLL_X")
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        """Each move counts from the weights that were there before the drag."""
        if event.type == "MOUSEMOVE":
            bone_tools.write_weights(self._obj, self._before)
            self.change = max(min((event.mouse_x - self._start) / TRAVEL, 1.0), -1.0)
            bone_tools.move_weights(self._obj, self._names, self.change, self.kind)
            if context.area is not None:
                context.area.header_text_set(translated(f"Weights {self.change:+.2f} on {named(self._names)}"))
            interface.redraw()
        elif event.type in {"LEFTMOUSE", "RET"} and event.value == "PRESS":
            return leave_modal(context, {"FINISHED"})
        elif event.type in {"ESC", "RIGHTMOUSE"}:
            bone_tools.write_weights(self._obj, self._before)
            return leave_modal(context, {"CANCELLED"})
        return {"RUNNING_MODAL"}

    def cancel(self, context):
        leave_modal(context, {"CANCELLED"})
