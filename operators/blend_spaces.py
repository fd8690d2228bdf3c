"""Blend spaces and the graph of states: their lists."""

import bpy
from bpy.props import EnumProperty, IntProperty, StringProperty

from ..core.blender import keyed_lists, layer_tools, motion_setup
from ..core.errors import RagdollError
from .character import active_armature, refuse, scene_of
from .layers import layers_can_change

KINDS = (
    ("SPEED", "Speed", "One axis: speed, from standing to running"),
    ("DIRECTION", "Direction and Speed", "Two axes, measured of how the character moves"),
    ("AIM", "Aim", "Two axes: yaw and pitch, for an aim offset"),
    ("PLAIN", "Plain", "One axis from 0 to 4"),
)
GRAPH_ITEMS = (
    ("PARAMETER", "Parameter", "A value that conditions ask for"),
    ("STATE", "State", "What is played"),
    ("TRANSITION", "Transition", "A way from state to state"),
    ("CONDITION", "Condition", "When the active transition begins"),
)


def has_space(cls, context) -> bool:
    """For `poll`: there is an active blend space."""
    if not layers_can_change(cls, context):
        return False
    settings = active_armature(context).active_ragdoll
    return 0 <= settings.blend_space_index < len(settings.blend_spaces) or refuse(cls, "Add a blend space first")


def active_space(context):
    """The active blend space of the active armature."""
    settings = active_armature(context).active_ragdoll
    return settings.blend_spaces[settings.blend_space_index]


class ACTIVE_RAGDOLL_OT_add_blend_space(bpy.types.Operator):
    """Add a blend space, which layers and states of the graph can play"""

    bl_idname = "active_ragdoll.add_blend_space"
    bl_label = "Add Blend Space"
    bl_options = {"REGISTER", "UNDO"}

    kind: EnumProperty(name="Kind", items=KINDS, default="SPEED")

    @classmethod
    def poll(cls, context):
        return layers_can_change(cls, context)

    def execute(self, context):
        layer_tools.add_blend_space(active_armature(context), self.kind)
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_remove_blend_space(bpy.types.Operator):
    """Remove the active blend space"""

    bl_idname = "active_ragdoll.remove_blend_space"
    bl_label = "Remove Blend Space"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return has_space(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        settings = obj.active_ragdoll
        place = settings.blend_space_index
        settings.blend_space_index = keyed_lists.remove(obj, "blend_spaces", settings.blend_spaces, place)
        layer_tools.changed(obj)
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_add_sample(bpy.types.Operator):
    """Add the action that the character plays, or another one, to the active blend space at its current point"""

    bl_idname = "active_ragdoll.add_sample"
    bl_label = "Add Sample"
    bl_options = {"REGISTER", "UNDO"}

    action: StringProperty(name="Action", description="Empty: the one that the character plays")

    @classmethod
    def poll(cls, context):
        return has_space(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        try:
            if self.action:
                action, slot = bpy.data.actions.get(self.action), ""
                if action is None:
                    raise RagdollError(f"There is no action '{self.action}'")
            else:
                action, slot = layer_tools.current_action(obj)
            layer_tools.add_sample(active_space(context), action, slot)
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        layer_tools.changed(obj)
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_remove_sample(bpy.types.Operator):
    """Remove the active sample of the active blend space"""

    bl_idname = "active_ragdoll.remove_sample"
    bl_label = "Remove Sample"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        if not has_space(cls, context):
            return False
        space = active_space(context)
        return 0 <= space.sample_index < len(space.samples) or refuse(cls, "Add a sample first")

    def execute(self, context):
        obj, space = active_armature(context), active_space(context)
        path = f"blend_spaces[{obj.active_ragdoll.blend_space_index}].samples"
        space.sample_index = keyed_lists.remove(obj, path, space.samples, space.sample_index)
        layer_tools.changed(obj)
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_enable_graph(bpy.types.Operator):
    """Let a graph of states give the pose that layers are put on, or do without it again"""

    bl_idname = "active_ragdoll.enable_graph"
    bl_label = "Use Graph"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return layers_can_change(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        graph = obj.active_ragdoll.graph
        try:
            if graph.enabled:
                graph.enabled = False
                motion_setup.drop_if_idle(obj)
            else:
                motion_setup.ensure(obj, scene_of(obj, context))
                graph.enabled = True
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_edit_graph(bpy.types.Operator):
    """Add, remove or move parameters, states, transitions and conditions of the graph"""

    bl_idname = "active_ragdoll.edit_graph"
    bl_label = "Edit Graph"
    bl_options = {"REGISTER", "UNDO"}

    what: EnumProperty(name="What", items=GRAPH_ITEMS, default="STATE")
    do: EnumProperty(
        name="Do", items=(("ADD", "Add", ""), ("REMOVE", "Remove", ""), ("MOVE", "Move", "")), default="ADD"
    )
    step: IntProperty(name="Step", default=1, min=-1, max=1)

    @classmethod
    def poll(cls, context):
        return layers_can_change(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        try:
            layer_tools.edit_graph(obj, self.what, self.do, self.step)
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        layer_tools.changed(obj)
        return {"FINISHED"}


CLASSES = (
    ACTIVE_RAGDOLL_OT_add_blend_space,
    ACTIVE_RAGDOLL_OT_remove_blend_space,
    ACTIVE_RAGDOLL_OT_add_sample,
    ACTIVE_RAGDOLL_OT_remove_sample,
    ACTIVE_RAGDOLL_OT_enable_graph,
    ACTIVE_RAGDOLL_OT_edit_graph,
)
