"""Spreading weights over bones: presets, chains, falloff, copies, the other side, and a drag of the mouse."""

import bpy
from bpy.props import EnumProperty, FloatProperty

from ..core.anatomy import roles
from ..core.blender import weight_tools
from ..core.errors import RagdollError
from .bones import _active_bone, _listed, _needs_bones, _selected_bones
from .character import active_armature, needs_armature, refuse
from .stepping import redraw

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
    ("SET", "Set", "The value on all selected bones"),
    ("CHAIN", "Chain", "Evenly from the active bone to the other selected one on its chain"),
    ("DOWN", "Falloff Down", "The active bone, and those below it less and less"),
    ("UP", "Falloff Up", "The active bone, and those above it less and less"),
    ("COPY", "Copy", "The active bone's weights on the selected ones"),
    ("MIRROR", "Mirror", "The selected bones' weights on the other side"),
)
TRAVEL = 300.0  # [px] of the mouse for the whole range


class ACTIVE_RAGDOLL_OT_weight_preset(bpy.types.Operator):
    """Set the weights of all bones from a preset; keyed weights win over it"""

    bl_idname = "active_ragdoll.weight_preset"
    bl_label = "Weight Preset"
    bl_options = {"REGISTER", "UNDO"}

    preset: EnumProperty(name="Preset", items=PRESET_ITEMS)
    side: EnumProperty(
        name="Side", items=((roles.LEFT, "Left", "The left arm"), (roles.RIGHT, "Right", "The right arm"))
    )

    @classmethod
    def poll(cls, context):
        if not needs_armature(cls, context):
            return False
        muted = active_armature(context).active_ragdoll.muted
        return not muted or refuse(cls, "Baked: revert the bake to change this")

    def draw(self, _context):
        """The side where it matters."""
        self.layout.prop(self, "preset")
        if self.preset == "ONE_ARM_LIMP":
            self.layout.prop(self, "side", expand=True)

    def execute(self, context):
        return _report(self, lambda: weight_tools.preset(active_armature(context), self.preset, self.side))


class ACTIVE_RAGDOLL_OT_spread_weights(bpy.types.Operator):
    """Set the weights of several bones at once"""

    bl_idname = "active_ragdoll.spread_weights"
    bl_label = "Spread Weights"
    bl_options = {"REGISTER", "UNDO"}

    mode: EnumProperty(name="Mode", items=SPREADS)
    kind: EnumProperty(name="Weights", items=KIND_ITEMS)
    value: FloatProperty(name="Weight", default=0.0, min=0.0, max=1.0, subtype="FACTOR")
    end: FloatProperty(
        name="End", description="Weight at the chain's other end", default=1.0, min=0.0, max=1.0, subtype="FACTOR"
    )
    reach: FloatProperty(
        name="Reach", description="Bones away from which nothing changes any more", default=4.0, min=0.1, soft_max=20.0
    )

    @classmethod
    def poll(cls, context):
        return _needs_bones(cls, context)

    def draw(self, _context):
        """What the mode takes."""
        layout = self.layout
        layout.use_property_split = True
        names = {"SET": ("value",), "CHAIN": ("value", "end"), "DOWN": ("value", "reach"), "UP": ("value", "reach")}
        for name in ("mode", "kind", *names.get(self.mode, ())):
            layout.prop(self, name)

    def execute(self, context):
        return _report(self, lambda: self._spread(active_armature(context)))

    def _spread(self, obj) -> list[str]:
        bone, selected = _active_bone(obj), _selected_bones(obj)
        match self.mode:
            case "CHAIN":
                others = [name for name in selected if name != bone]
                if len(others) != 1:
                    raise RagdollError("Select the two ends of a chain, one of them active")
                return weight_tools.along(obj, bone, others[0], self.value, self.end, self.kind)
            case "DOWN" | "UP":
                return weight_tools.falloff(obj, bone, self.value, self.reach, self.mode, self.kind)
            case "COPY":
                return weight_tools.copy(obj, bone, selected, self.kind)
            case "MIRROR":
                return weight_tools.mirror(obj, selected, self.kind)
            case _:
                return weight_tools.set_value(obj, selected, self.value, self.kind)


class ACTIVE_RAGDOLL_OT_drag_weights(bpy.types.Operator):
    """Move the weights of the selected bones with the mouse, all from where they are"""

    bl_idname = "active_ragdoll.drag_weights"
    bl_label = "Slide Weights"
    bl_options = {"REGISTER", "UNDO"}

    kind: EnumProperty(name="Weights", items=KIND_ITEMS)
    change: FloatProperty(name="Change", default=0.0, min=-1.0, max=1.0)

    @classmethod
    def poll(cls, context):
        return _needs_bones(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        names = _selected_bones(obj)
        return _report(self, lambda: weight_tools.move(obj, names, self.change, self.kind))

    def invoke(self, context, event):
        """Follow the mouse until it is clicked."""
        self._obj = active_armature(context)
        self._names = _selected_bones(self._obj)
        self._start = event.mouse_x
        self._before = {kind: weight_tools.read(self._obj, kind) for kind in weight_tools.KINDS}
        context.window_manager.modal_handler_add(self)
        context.window.cursor_modal_set("SCROLL_X")
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "MOUSEMOVE":
            self._restore()
            self.change = max(min((event.mouse_x - self._start) / TRAVEL, 1.0), -1.0)
            weight_tools.move(self._obj, self._names, self.change, self.kind)
            if context.area is not None:
                context.area.header_text_set(f"Weights {self.change:+.2f} on {_listed(self._names)}")
            redraw()
        elif event.type in {"LEFTMOUSE", "RET"} and event.value == "PRESS":
            return self._end(context, {"FINISHED"})
        elif event.type in {"ESC", "RIGHTMOUSE"}:
            self._restore()
            return self._end(context, {"CANCELLED"})
        return {"RUNNING_MODAL"}

    def cancel(self, context):
        """Blender itself ends the operator."""
        self._end(context, {"CANCELLED"})

    def _restore(self):
        for kind, weights in self._before.items():
            weight_tools.write(self._obj, kind, weights)

    def _end(self, context, result):
        context.window.cursor_modal_restore()
        if context.area is not None:
            context.area.header_text_set(None)
        redraw()
        return result


def _report(operator, work):
    try:
        changed = work()
    except RagdollError as error:
        operator.report({"ERROR"}, str(error))
        return {"CANCELLED"}
    operator.report({"INFO"}, f"Weights of {_listed(changed)}" if changed else "No weight changed")
    redraw()
    return {"FINISHED"}


CLASSES = (ACTIVE_RAGDOLL_OT_weight_preset, ACTIVE_RAGDOLL_OT_spread_weights, ACTIVE_RAGDOLL_OT_drag_weights)
