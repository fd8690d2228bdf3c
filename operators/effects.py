"""Hits, explosions, attachments and recovery: into a character's lists, out of them, and drawn in the viewport."""

from operator import attrgetter

import bpy

from ..core.blender import interface, runtime
from ..core.blender.languages import translated
from ..core.blender.physics import build
from ..core.blender.settings import effects, lists
from ..core.blender.settings.declare import choice, number, text, vector, whole
from ..core.blender.stack import stack_edits
from ..core.blender.stack.entries import balance, look_at
from ..core.blender.tools import story, viewport
from ..core.errors import RagdollError
from .base import OnArmature, OnRagdoll, leave_modal, ray_below


class RemoveOperator(OnRagdoll):
    """Takes the active item out of a list, by its path below `Object.active_ragdoll`; says where it is empty."""

    def __init_subclass__(cls, items: str, empty: str, **more) -> None:
        super().__init_subclass__(requires=(interface.filled(items, empty),), items=items, **more)

    def act(self, _context, obj):
        group, _dot, name = f"active_ragdoll.{self.items}".rpartition(".")
        lists.remove_item(attrgetter(group)(obj), name)


# ---- hits and explosions --------------------------------------------------------------------------------------------
class ACTIVE_RAGDOLL_OT_add_hit(OnRagdoll, bpy.types.Operator):
    """Hit a bone's body at a frame; without values the active bone at the current frame"""

    bone: text("Bone", "Bone whose body is hit; empty takes the active one")
    frame: whole("Frame", "Frame at which it begins")
    impulse: vector("Impulse [N s]", None, (0.0, story.STANDARD, 0.0))
    point: vector("Point", "From the middle of the body, along the bone's axes", unit="LENGTH")
    space: choice("Space", effects.SPACES[:2])
    duration: number("Duration", min=0.0, unit="TIME_ABSOLUTE")

    def act(self, context, obj):
        """Values that were not given are stored, so that the redo panel shows them."""
        scene = interface.scene_of(obj, context)
        if not self.properties.is_property_set("frame"):
            self.frame = scene.frame_current
        self.bone = self.bone or getattr(interface.active_bone(obj), "name", "")
        values = {"space": self.space, "duration": self.duration}
        self.warn(effects.add_hit(obj, scene, self.bone, self.frame, self.impulse[:], self.point[:], **values))


class ACTIVE_RAGDOLL_OT_remove_hit(RemoveOperator, bpy.types.Operator, items="hits", empty="There is no hit"):
    """Take the active hit out of the list"""


class ACTIVE_RAGDOLL_OT_add_explosion(OnRagdoll, bpy.types.Operator):
    """An explosion at the 3D cursor and the current frame"""

    def act(self, context, obj):
        story.explode(obj, interface.scene_of(obj, context))


class ACTIVE_RAGDOLL_OT_remove_explosion(
    RemoveOperator, bpy.types.Operator, items="explosions", empty="There is no explosion"
):
    """Take the active explosion out of the list"""


class ACTIVE_RAGDOLL_OT_place_hit(OnArmature, bpy.types.Operator, label="Draw Hit", requires=OnRagdoll.requires):
    """Press on the character and drag the arrow of a hit at the current frame; with Ctrl it goes into the view"""

    @classmethod
    def why_not(cls, context):
        """It needs the view that is drawn in."""
        space = getattr(context, "space_data", None)
        in_view = space is not None and space.type == "VIEW_3D"
        return super().why_not(context) or ("" if in_view else "Only in a 3D view")

    def invoke(self, context, _event):
        self._place = None
        context.window.cursor_modal_set("CROSSHAIR")
        text = translated("Press on the character and drag. Ctrl: into the view. Esc: cancel")
        context.workspace.status_text_set(text)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type in {"MIDDLEMOUSE", "WHEELUPMOUSE", "WHEELDOWNMOUSE", "TRACKPADPAN", "TRACKPADZOOM"}:
            return {"PASS_THROUGH"}
        if event.type in {"ESC", "RIGHTMOUSE"} and event.value == "PRESS":
            if self._place is not None:
                obj = self.subject(context)
                lists.remove_item(obj.active_ragdoll, "hits", len(obj.active_ragdoll.hits) - 1)
            return self._end(context, {"CANCELLED"})
        if event.type == "LEFTMOUSE" and event.value == "PRESS" and self._place is None:
            return self._press(context, *ray_below(context, event))
        if self._place is not None and event.type in {"MOUSEMOVE", "LEFTMOUSE", "LEFT_CTRL", "RIGHT_CTRL"}:
            self._drag(context, *ray_below(context, event), into=event.ctrl)
            if event.type == "LEFTMOUSE" and event.value == "RELEASE":
                return self._end(context, {"FINISHED"})
        return {"RUNNING_MODAL"}

    def cancel(self, context):
        """Blender itself ends the operator."""
        self._end(context, {"CANCELLED"})

    def _press(self, context, origin, direction):
        obj = self.subject(context)
        scene, graph = interface.scene_of(obj, context), context.view_layer.depsgraph
        found = viewport.picked(obj, scene, graph, origin, direction)
        if found is None:
            self.tell("INFO", f"Nothing of '{obj.name}' is there")
            return {"RUNNING_MODAL"}
        bone, self._place = found
        self._normal = direction
        try:
            point = viewport.point_on(obj, scene, graph, bone, self._place)
            impulse = direction * (story.STANDARD * viewport.mass(obj) / 70.0)
            self.warn(effects.add_hit(obj, scene, bone, scene.frame_current, tuple(impulse), tuple(point)))
        except RagdollError as error:
            return self._end(context, self.cancelled(error))
        interface.redraw()
        return {"RUNNING_MODAL"}

    def _drag(self, context, origin, direction, into: bool):
        obj = self.subject(context)
        scene = interface.scene_of(obj, context)
        impulse = viewport.impulse_by_drag(obj, scene, origin, direction, self._place, self._normal)
        if impulse is None or not impulse.any():
            return
        strength = float((impulse @ impulse) ** 0.5)
        hit = obj.active_ragdoll.hits[-1]
        hit.impulse = self._normal * strength if into else impulse
        context.area.header_text_set(translated(f"Hit on {hit.bone}: {strength:.3g} N s"))
        interface.redraw()

    def _end(self, context, result):
        runtime.STATE.figures.clear()
        return leave_modal(context, result)


# ---- attachments ----------------------------------------------------------------------------------------------------
class ACTIVE_RAGDOLL_OT_add_attachment(OnRagdoll, bpy.types.Operator):
    """Attach a bone to an object; without values the active bone to the other selected object"""

    bone: text("Bone", "Bone whose body is held; empty takes the active one")
    target: text("Target", "Name of the object; empty takes the other selected one")

    def act(self, context, obj):
        target = next((other for other in context.selected_objects if other != obj), None)
        if self.target and (target := bpy.data.objects.get(self.target)) is None:
            raise RagdollError(f"There is no object '{self.target}'")
        effects.attach(obj, self.bone or getattr(interface.active_bone(obj), "name", ""), target)


class ACTIVE_RAGDOLL_OT_remove_attachment(
    RemoveOperator, bpy.types.Operator, items="attachments", empty="There is no attachment"
):
    """Take the active attachment out of the list"""


# ---- recovery -------------------------------------------------------------------------------------------------------
class ACTIVE_RAGDOLL_OT_setup_recovery(OnRagdoll, bpy.types.Operator, label="Set Up Recovery"):
    """Let strong hits knock the character out, and let it get up where it came to rest"""

    def act(self, context, obj):
        story.set_up_recovery(obj, interface.scene_of(obj, context))


class ACTIVE_RAGDOLL_OT_set_tone(OnRagdoll, bpy.types.Operator, label="Tone"):
    """Set how a knocked-out character falls"""

    tone: choice("Tone", effects.TONES, "STUNNED")

    def act(self, context, obj):
        effects.set_tone(obj, self.tone)
        if obj.active_ragdoll.layout_changed:  # muscles need motors
            build.rebuild(obj, interface.scene_of(obj, context))


class ACTIVE_RAGDOLL_OT_setup_balance(OnRagdoll, bpy.types.Operator, label="Set Up Balance"):
    """Let steps catch what hits and pushes do to the character, and let what they cannot catch knock it out"""

    def act(self, context, obj):
        """What it cannot do without two legs is refused before anything changes."""
        balance.figure_of(obj, look_at.rig_of(obj))
        story.set_up_recovery(obj, interface.scene_of(obj, context))
        obj.active_ragdoll.balance.enabled = True
        stack_edits.ensure(obj, interface.scene_of(obj, context))


class ACTIVE_RAGDOLL_OT_add_recovery_event(OnRagdoll, bpy.types.Operator, label="Force State"):
    """Force a state of the recovery at a frame"""

    phase: choice("State", [phase[:3] for phase in effects.PHASES], "LIMP")
    frame: whole("Frame", "0 takes the current frame", options={"SKIP_SAVE"})

    def act(self, context, obj):
        event = lists.add_item(obj.active_ragdoll.recovery, "events")
        event.frame, event.phase = self.frame or context.scene.frame_current, self.phase


class ACTIVE_RAGDOLL_OT_remove_recovery_event(
    RemoveOperator, bpy.types.Operator, label="Remove Forced State", items="recovery.events", empty="No state is forced"
):
    """Remove the selected forced state"""
