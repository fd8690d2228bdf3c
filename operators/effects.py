"""Hits, explosions, attachments and recovery: into a character's lists, out of them, and drawn in the viewport."""

from operator import attrgetter

import bpy
import numpy as np
from mathutils import Vector

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

FLAT, UP = 0.2, Vector((0.0, 0.0, 1.0))  # a view flatter than that cannot lead along the floor


class RemoveOperator(OnRagdoll):
    """Takes the active item out of a list, by its path below `Object.active_ragdoll`; says where it is empty."""

    def __init_subclass__(cls, items: str, empty: str, **own) -> None:
        super().__init_subclass__(items=items, requires=(interface.filled(items, empty),), **own)

    def act(self, _context, obj):
        group, _dot, name = f"active_ragdoll.{self.items}".rpartition(".")
        lists.remove_item(attrgetter(group)(obj), name)


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


class ACTIVE_RAGDOLL_OT_add_explosion(OnRagdoll, bpy.types.Operator):
    """An explosion at the 3D cursor and the current frame"""

    def act(self, context, obj):
        story.explode(obj, interface.scene_of(obj, context))


class DragOperator(OnArmature, requires=OnRagdoll.requires):
    """Press on something in the 3D view and drag it: `press(context, ..)` takes hold, `drag` moves it.

    `_place` [3] is where, `_normal` [3] that of the plane in which it moves; `_take_back()` undoes."""

    @classmethod
    def why_not(cls, context):
        """It needs the view that is drawn in."""
        space = getattr(context, "space_data", None)
        in_view = space is not None and space.type == "VIEW_3D"
        return super().why_not(context) or ("" if in_view else "Only in a 3D view")

    def invoke(self, context, _event):
        self._place = None
        context.window.cursor_modal_set("CROSSHAIR")
        context.workspace.status_text_set(translated(self.hint))
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type in {"MIDDLEMOUSE", "WHEELUPMOUSE", "WHEELDOWNMOUSE", "TRACKPADPAN", "TRACKPADZOOM"}:
            return {"PASS_THROUGH"}
        if event.type in {"ESC", "RIGHTMOUSE"} and event.value == "PRESS":
            if self._place is not None:
                self._take_back()
            return self._end(context, {"CANCELLED"})
        obj = self.subject(context)
        here = context, obj, interface.scene_of(obj, context), *ray_below(context, event)
        if event.type == "LEFTMOUSE" and event.value == "PRESS" and self._place is None:
            try:
                self.press(*here)
            except RagdollError as error:
                return self._end(context, self.cancelled(error))
            interface.redraw()
        elif self._place is not None and event.type in {"MOUSEMOVE", "LEFTMOUSE", "LEFT_CTRL", "RIGHT_CTRL"}:
            if (end := viewport.dragged_to(*here[-2:], self._place, self._normal)) is not None:
                context.area.header_text_set(translated(self.drag(obj, here[2], end - self._place, event.ctrl)))
                interface.redraw()
            if event.type == "LEFTMOUSE" and event.value == "RELEASE":
                return self._end(context, {"FINISHED"})
        return {"RUNNING_MODAL"}

    def cancel(self, context):
        self._end(context, {"CANCELLED"})

    def _end(self, context, result):
        runtime.STATE.figures.clear()
        runtime.STATE.dragged = ()
        return leave_modal(context, result)


class ACTIVE_RAGDOLL_OT_place_hit(DragOperator, bpy.types.Operator, label="Draw Hit"):
    """Press on the character and drag the arrow of a hit at the current frame; with Ctrl it goes into the view"""

    hint = "Press on the character and drag. Ctrl: into the view. Esc: cancel"

    def press(self, context, obj, scene, origin, direction):
        graph = context.view_layer.depsgraph
        found = viewport.picked(obj, scene, graph, origin, direction)
        if found is None:
            return self.tell("INFO", f"Nothing of '{obj.name}' is there")
        bone, place = found
        point = viewport.point_on(obj, scene, graph, bone, place)
        impulse = direction * (story.STANDARD * viewport.mass(obj) / 70.0)
        self.warn(effects.add_hit(obj, scene, bone, scene.frame_current, tuple(impulse), tuple(point)))
        self._place, self._normal = place, direction
        self._take_back = lambda: lists.remove_item(obj.active_ragdoll, "hits", len(obj.active_ragdoll.hits) - 1)

    def drag(self, obj, scene, way, into: bool) -> str:
        impulse, hit = way * viewport.impulse_per_metre(obj, scene), obj.active_ragdoll.hits[-1]
        strength = float((impulse @ impulse) ** 0.5)
        if strength > 0.0:
            hit.impulse = self._normal * strength if into else impulse
        return f"Hit on {hit.bone}: {strength:.3g} N s"


class ACTIVE_RAGDOLL_OT_add_attachment(OnRagdoll, bpy.types.Operator):
    """Attach a bone to an object; without values the active bone to the other selected object"""

    bone: text("Bone", "Bone whose body is held; empty takes the active one")
    target: text("Target", "Name of the object; empty takes the other selected one")

    def act(self, context, obj):
        target = next((other for other in context.selected_objects if other != obj), None)
        if self.target and (target := bpy.data.objects.get(self.target)) is None:
            raise RagdollError(f"There is no object '{self.target}'")
        effects.attach(obj, self.bone or getattr(interface.active_bone(obj), "name", ""), target)


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
        stack_edits.ensure(obj, interface.scene_of(obj, context))
        obj.active_ragdoll.balance.enabled = True


class ACTIVE_RAGDOLL_OT_add_recovery_event(OnRagdoll, bpy.types.Operator, label="Force State"):
    """Force a state of the recovery at a frame"""

    phase: choice("State", [phase[:3] for phase in effects.PHASES], "LIMP")
    frame: whole("Frame", "0 takes the current frame", options={"SKIP_SAVE"})

    def act(self, context, obj):
        event = lists.add_item(obj.active_ragdoll.recovery, "events")
        event.frame, event.phase = self.frame or context.scene.frame_current, self.phase


class ACTIVE_RAGDOLL_OT_move_way_up(DragOperator, bpy.types.Operator):
    """Press on the hips, a hand or a foot of a figure of the planned way up, at a frame of it, and drag: hands and feet
    along the floor, hips in the view's plane. The next simulation gets up that way"""

    hint = "Press on a cross of the way up and drag. Esc: cancel"

    def press(self, _context, obj, scene, origin, direction):
        found = viewport.way_point_below(obj, scene, origin, direction)
        if found is None:
            text = "No planned way up is there: scrub to a frame at which it gets up, and press on a cross"
            return self.tell("INFO", text)
        (key, part, self._place), group = found, obj.active_ragdoll.recovery
        name = effects.PARTS[part][0]
        own = next((way for way in group.way_points if (way.key, way.part) == (key, name)), None)
        self._take_back = lambda: lists.remove_item(group, "way_points", len(group.way_points) - 1)
        if own is None:
            own = lists.add_item(group, "way_points")
            own.key, own.part = key, name
        else:
            lists.edited(group, "way_points", list(group.way_points).index(own))
            self._take_back = lambda before=own.offset[:]: setattr(self._item(obj), "offset", before)
        self._begun, self._normal = own.offset.copy(), UP if part and abs(direction.z) > FLAT else direction

    @staticmethod
    def _item(obj):
        return lists.active_item(obj.active_ragdoll.recovery, "way_points")

    def drag(self, obj, _scene, way, _into) -> str:
        own = self._item(obj)
        way = np.array(way if own.part == "HIPS" else (*way[:2], 0.0))
        own.offset = self._begun + Vector(way)
        runtime.STATE.dragged = self._place, self._place + way
        return f"Moved by {own.offset.length:.2g} m"


class ACTIVE_RAGDOLL_OT_remove_hit(RemoveOperator, bpy.types.Operator, items="hits", empty="There is no hit"):
    """Take the active hit out of the list"""


class ACTIVE_RAGDOLL_OT_remove_explosion(
    RemoveOperator, bpy.types.Operator, items="explosions", empty="There is no explosion"
):
    """Take the active explosion out of the list"""


class ACTIVE_RAGDOLL_OT_remove_attachment(
    RemoveOperator, bpy.types.Operator, items="attachments", empty="There is no attachment"
):
    """Take the active attachment out of the list"""


class ACTIVE_RAGDOLL_OT_remove_way_point(
    RemoveOperator, bpy.types.Operator, items="recovery.way_points", empty="Nothing is moved", label="Remove Moved"
):
    """Let the selected part of the way up be where the plan has it"""


class ACTIVE_RAGDOLL_OT_remove_recovery_event(
    RemoveOperator, bpy.types.Operator, items="recovery.events", empty="No state is forced", label="Remove Forced State"
):
    """Remove the selected forced state"""
