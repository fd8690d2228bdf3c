"""The motion stack: set-up from roles, lists of entries, weights of look-at chains."""

import bpy

from ..core.blender import interface, look_at_api
from ..core.blender.languages import translated
from ..core.blender.settings import lists
from ..core.blender.settings.declare import choice, flag, menu, number, share, text
from ..core.blender.stack import entries, pose_stack, stack_edits
from ..core.blender.stack.entries import look_at
from ..core.errors import RagdollError
from .base import Operator

TARGET = "Object to look at; without one the other selected object, else that of before, else a new Empty"
DIRECTIONS = (("UP", "Up", "Earlier"), ("DOWN", "Down", "Later"))
LISTS = menu(lambda _self: [(name, own.title, own.description) for name, own in entries.lists().items()])
KINDS = menu(lambda _self: [(kind.identifier, kind.label, "") for kind in entries.kinds() if kind.movable])


class MotionOperator(Operator, requires=(interface.not_in_edit_mode, interface.unbaked)):
    """Changes the motion stack; the scene shows it as it is then."""

    def execute(self, context):
        result = super().execute(context)
        if "FINISHED" in result:
            pose_stack.show_now(interface.scene_of(self.subject(context), context))
        return result


class ACTIVE_RAGDOLL_OT_setup_look_at(MotionOperator, bpy.types.Operator, label="Set Up from Roles"):
    """Make a look-at chain from eyes or head to the spine, and a stabiliser for each leg, from the bones' roles"""

    target: text("Target", TARGET, options={"SKIP_SAVE"})

    def act(self, context, obj):
        scene, target = interface.scene_of(obj, context), self._target(context, obj)
        chain, feet, notes = stack_edits.set_up_look_at(obj, scene, target)
        held = f", {feet} feet held" if feet else ", no legs recognised"
        told, name = "".join(f"; {note}" for note in notes), chain.target.name if chain.target else ""
        return f"'{obj.name}': {len(chain.entries)} bones look at '{name}'{held}{told}"

    def _target(self, context, obj):
        if self.target and (target := bpy.data.objects.get(self.target)) is None:
            raise RagdollError(f"There is no object '{self.target}' to look at")
        if self.target:
            return target
        others = [other for other in context.selected_objects if other is not obj and other.type != "ARMATURE"]
        others = [other for other in others if other.find_armature() is None]  # not the character's own mesh
        return others[0] if len(others) == 1 else None


class ACTIVE_RAGDOLL_OT_motion_add(MotionOperator, bpy.types.Operator, label="Add"):
    """Add to the motion stack"""

    what: choice("What", LISTS)
    bone: text("Bone", "Bone it is about; in pose mode the active one", options={"SKIP_SAVE"})

    @classmethod
    def description(cls, _context, properties):
        return translated(f"Add: {entries.lists()[properties.what].description}")

    def act(self, context, obj):
        active = obj.data.bones.active if obj.mode == "POSE" else None
        stack_edits.add(obj, interface.scene_of(obj, context), self.what, self.bone or getattr(active, "name", ""))


class ACTIVE_RAGDOLL_OT_motion_remove(MotionOperator, bpy.types.Operator, label="Remove"):
    """Remove from the motion stack"""

    what: choice("What", LISTS)

    def act(self, _context, obj):
        stack_edits.remove(obj, self.what)


class ACTIVE_RAGDOLL_OT_motion_move(MotionOperator, bpy.types.Operator, label="Move"):
    """Move the active item up or down its list"""

    what: choice("What", LISTS)
    direction: choice("Direction", DIRECTIONS)

    def act(self, _context, obj):
        stack_edits.move(obj, self.what, -1 if self.direction == "UP" else 1)


class ACTIVE_RAGDOLL_OT_motion_order(MotionOperator, bpy.types.Operator, label="Order"):
    """Let a kind of entry act earlier or later in the motion stack"""

    kind: choice("Kind", KINDS)
    direction: choice("Direction", DIRECTIONS)

    def act(self, _context, obj):
        stack_edits.move_kind(obj, self.kind, -1 if self.direction == "UP" else 1)


class ACTIVE_RAGDOLL_OT_find_look_at_axes(MotionOperator, bpy.types.Operator, label="Find Axes"):
    """Find the forward axes of the active chain anew from the bind pose, also those set by hand"""

    def act(self, _context, obj):
        chain = lists.active_item(obj.active_ragdoll, "look_at")
        bones = () if chain is None else chain.entries
        if not bones:
            raise RagdollError(f"'{obj.name}' has no look-at entries")
        for entry in bones:
            entry.axes_from = "AUTO"
        look_at.find_axes(obj, bones)


class WeightOperator(MotionOperator, requires=(interface.filled("look_at", "Add a look-at chain first"),)):
    """An event of the active chain at the current frame."""


class Transition(WeightOperator):
    """A weight that goes over in a given time; a class says which function is to be called."""

    time: number("Time", "Of the transition [s]", 0.5, min=0.0, subtype="TIME_ABSOLUTE")
    cancel_current_transition: flag(
        "Cancel Current", "A transition under way gives way to this one; else this one is ignored", True
    )

    def act(self, _context, obj):
        index = lists.active_index(obj.active_ragdoll, "look_at")
        if not getattr(look_at_api, self.call)(obj, self.time, self.cancel_current_transition, index):
            return "Ignored: a transition is under way"


class ACTIVE_RAGDOLL_OT_enable_look_at(Transition, bpy.types.Operator, label="Enable", call="enable_look_at"):
    """From this frame on the weight of the active chain goes to 1"""


class ACTIVE_RAGDOLL_OT_disable_look_at(Transition, bpy.types.Operator, label="Disable", call="disable_look_at"):
    """From this frame on the weight of the active chain goes to 0"""


class ACTIVE_RAGDOLL_OT_set_look_at_weight(WeightOperator, bpy.types.Operator, label="Set Weight"):
    """Set the weight of the active chain at this frame; a transition under way is cancelled"""

    weight: share("Weight")

    def act(self, _context, obj):
        look_at_api.set_look_at_weight(obj, self.weight, lists.active_index(obj.active_ragdoll, "look_at"))


class ACTIVE_RAGDOLL_OT_clear_look_at_events(WeightOperator, bpy.types.Operator, label="Clear Events"):
    """Forget the stored weights and transitions of the active chain"""

    def act(self, _context, obj):
        look_at_api.clear_events(obj, lists.active_index(obj.active_ragdoll, "look_at"))
