"""The motion stack: set-up from roles, lists of entries, weights of look-at chains."""

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, StringProperty

from ..core.blender import look_at_api, look_at_axes, look_at_setup, motion_lists, motion_show
from ..core.errors import RagdollError
from ..core.motion import stack
from .character import active_armature, needs_armature, refuse, scene_of
from .stepping import redraw

WHAT = (
    ("look_at", "Look-at", "A chain of bones that look at a target"),
    ("entries", "Entry", "A bone of the active look-at chain"),
    ("linked_bones", "Linked Bone", "A bone, such as the other eye, that turns with the active entry's bone"),
    ("leg_stabilizers", "Leg Stabiliser", "A foot that is put back where it was"),
    ("two_bone_ik", "Two-bone IK", "A limb whose end is brought to an effector"),
    ("bone_transforms", "Transform Bone", "A bone that is moved, turned or scaled"),
)
KINDS = [(kind, kind.replace("_", " ").title(), "") for kind in stack.CHOSEN_ORDER]
DIRECTIONS = (("UP", "Up", "Earlier"), ("DOWN", "Down", "Later"))


def _editable(cls, context) -> bool:
    if not needs_armature(cls, context):
        return False
    obj = active_armature(context)
    if obj.mode == "EDIT":
        return refuse(cls, "Leave Edit Mode first")
    return not obj.active_ragdoll.muted or refuse(cls, "Baked: revert the bake to change this")


class MotionOperator:
    """Calls `act(context, obj)`, which returns a line to report or nothing, and shows the result."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        """An armature that can be edited."""
        return _editable(cls, context)

    def execute(self, context):
        """Errors are reported; the scene shows the stack as it is now."""
        obj = active_armature(context)
        try:
            text = self.act(context, obj)
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        motion_show.again(scene_of(obj, context))
        redraw()
        if text:
            self.report({"INFO"}, text)
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_setup_look_at(MotionOperator, bpy.types.Operator):
    """Make a look-at chain from eyes or head to the spine, and a stabiliser for each leg, from the bones' roles"""

    bl_idname = "active_ragdoll.setup_look_at"
    bl_label = "Set Up from Roles"

    target: StringProperty(
        name="Target",
        description="Object to look at; without one the other selected object, else that of before, else a new Empty",
        options={"SKIP_SAVE"},
    )

    def act(self, context, obj):
        """Report what was made."""
        made = look_at_setup.setup(obj, scene_of(obj, context), self._target(context, obj))
        feet = f", {len(made.feet)} feet held" if made.feet else ", no legs recognised"
        notes = "".join(f"; {note}" for note in made.notes)
        return f"'{obj.name}': {made.entries} bones look at '{made.target.name if made.target else ''}'{feet}{notes}"

    def _target(self, context, obj):
        if self.target:
            target = bpy.data.objects.get(self.target)
            if target is None:
                raise RagdollError(f"There is no object '{self.target}' to look at")
            return target
        others = [other for other in context.selected_objects if other is not obj and other.type != "ARMATURE"]
        others = [other for other in others if other.find_armature() is None]  # not the character's own mesh
        return others[0] if len(others) == 1 else None


class ACTIVE_RAGDOLL_OT_motion_add(MotionOperator, bpy.types.Operator):
    """Add to the motion stack"""

    bl_idname = "active_ragdoll.motion_add"
    bl_label = "Add"

    what: EnumProperty(name="What", items=WHAT)
    bone: StringProperty(
        name="Bone", description="Bone it is about; in pose mode the active one", options={"SKIP_SAVE"}
    )

    @classmethod
    def description(cls, _context, properties):
        """The tooltip of the button."""
        return "Add: " + next(text for name, _title, text in WHAT if name == properties.what)

    def act(self, context, obj):
        """The active bone of pose mode when none is given."""
        bone = self.bone
        if not bone and obj.mode == "POSE" and obj.data.bones.active is not None:
            bone = obj.data.bones.active.name
        motion_lists.add(obj, scene_of(obj, context), self.what, bone)


class ACTIVE_RAGDOLL_OT_motion_remove(MotionOperator, bpy.types.Operator):
    """Remove from the motion stack"""

    bl_idname = "active_ragdoll.motion_remove"
    bl_label = "Remove"

    what: EnumProperty(name="What", items=WHAT)

    def act(self, _context, obj):
        """The active item."""
        motion_lists.remove(obj, self.what)


class ACTIVE_RAGDOLL_OT_motion_move(MotionOperator, bpy.types.Operator):
    """Move the active item up or down its list"""

    bl_idname = "active_ragdoll.motion_move"
    bl_label = "Move"

    what: EnumProperty(name="What", items=WHAT)
    direction: EnumProperty(name="Direction", items=DIRECTIONS)

    def act(self, _context, obj):
        """One place."""
        motion_lists.move(obj, self.what, -1 if self.direction == "UP" else 1)


class ACTIVE_RAGDOLL_OT_motion_order(MotionOperator, bpy.types.Operator):
    """Let a kind of entry act earlier or later in the motion stack"""

    bl_idname = "active_ragdoll.motion_order"
    bl_label = "Order"

    kind: EnumProperty(name="Kind", items=KINDS)
    direction: EnumProperty(name="Direction", items=DIRECTIONS)

    def act(self, _context, obj):
        """One place."""
        motion_lists.move_kind(obj, self.kind, -1 if self.direction == "UP" else 1)


class ACTIVE_RAGDOLL_OT_find_look_at_axes(MotionOperator, bpy.types.Operator):
    """Find the forward axes of the active chain anew from the bind pose, also those set by hand"""

    bl_idname = "active_ragdoll.find_look_at_axes"
    bl_label = "Find Axes"

    def act(self, _context, obj):
        """All entries of the active chain."""
        entries = motion_lists.list_of(obj, motion_lists.ENTRY)
        if not entries:
            raise RagdollError(f"'{obj.name}' has no look-at entries")
        for entry in entries:
            entry.axes_from = "AUTO"
        look_at_axes.find(obj, entries)


class WeightOperator(MotionOperator):
    """An event of the active chain at the current frame."""

    @classmethod
    def poll(cls, context):
        """There must be a chain."""
        if not _editable(cls, context):
            return False
        return bool(len(active_armature(context).active_ragdoll.look_at)) or refuse(cls, "Add a look-at chain first")

    def index(self, obj) -> int:
        """Of the active chain."""
        return motion_lists.active_index(obj, "look_at")


class Transition(WeightOperator):
    """A weight that goes over in a given time."""

    time: FloatProperty(name="Time", description="Of the transition [s]", default=0.5, min=0.0, subtype="TIME_ABSOLUTE")
    cancel_current_transition: BoolProperty(
        name="Cancel Current",
        description="A transition under way gives way to this one; else this one is ignored",
        default=True,
    )

    def act(self, _context, obj):
        """Say when the call was ignored."""
        if not self.call(obj, self.time, self.cancel_current_transition, self.index(obj)):
            return "Ignored: a transition is under way"


class ACTIVE_RAGDOLL_OT_enable_look_at(Transition, bpy.types.Operator):
    """From this frame on the weight of the active chain goes to 1"""

    bl_idname = "active_ragdoll.enable_look_at"
    bl_label = "Enable"
    call = staticmethod(look_at_api.enable_look_at)


class ACTIVE_RAGDOLL_OT_disable_look_at(Transition, bpy.types.Operator):
    """From this frame on the weight of the active chain goes to 0"""

    bl_idname = "active_ragdoll.disable_look_at"
    bl_label = "Disable"
    call = staticmethod(look_at_api.disable_look_at)


class ACTIVE_RAGDOLL_OT_set_look_at_weight(WeightOperator, bpy.types.Operator):
    """Set the weight of the active chain at this frame; a transition under way is cancelled"""

    bl_idname = "active_ragdoll.set_look_at_weight"
    bl_label = "Set Weight"

    weight: FloatProperty(name="Weight", default=1.0, min=0.0, max=1.0, subtype="FACTOR")

    def act(self, _context, obj):
        """Store it."""
        look_at_api.set_look_at_weight(obj, self.weight, self.index(obj))


class ACTIVE_RAGDOLL_OT_clear_look_at_events(WeightOperator, bpy.types.Operator):
    """Forget the stored weights and transitions of the active chain"""

    bl_idname = "active_ragdoll.clear_look_at_events"
    bl_label = "Clear Events"

    def act(self, _context, obj):
        """All of them."""
        look_at_api.clear_events(obj, self.index(obj))


CLASSES = (
    ACTIVE_RAGDOLL_OT_setup_look_at,
    ACTIVE_RAGDOLL_OT_motion_add,
    ACTIVE_RAGDOLL_OT_motion_remove,
    ACTIVE_RAGDOLL_OT_motion_move,
    ACTIVE_RAGDOLL_OT_motion_order,
    ACTIVE_RAGDOLL_OT_find_look_at_axes,
    ACTIVE_RAGDOLL_OT_enable_look_at,
    ACTIVE_RAGDOLL_OT_disable_look_at,
    ACTIVE_RAGDOLL_OT_set_look_at_weight,
    ACTIVE_RAGDOLL_OT_clear_look_at_events,
)
