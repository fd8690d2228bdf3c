"""Pose layers, blend spaces and the graph of states: adding, removing, moving, masks."""

import bpy

from ..core.blender.interface import filled, requirement, scene_of
from ..core.blender.languages import translated
from ..core.blender.rig.armature import selected
from ..core.blender.settings import lists
from ..core.blender.settings.declare import choice, text, whole
from ..core.blender.stack import stack_edits
from ..core.errors import RagdollError
from .base import Unbaked

SOURCES = (
    ("ACTION", "Current Action", "Play the action that the character plays now"),
    ("CURRENT_POSE", "Current Pose", "Keep the pose that the character shows now, as an action of one frame"),
    ("POSE_ASSET", "Pose Asset", "Take a pose of the pose library, or a frame of any other action"),
    ("BLEND_SPACE", "Blend Space", "Play the active blend space"),
    ("AIM_OFFSET", "Aim Offset", "Put the active blend space on top as an aim offset"),
)
KINDS = (
    ("SPEED", "Speed", "One axis: speed, from standing to running"),
    ("DIRECTION", "Direction and Speed", "Two axes, measured of how the character moves"),
    ("AIM", "Aim", "Two axes: yaw and pitch, for an aim offset"),
    ("PLAIN", "Plain", "One axis from 0 to 4"),
)
OF_WHAT = (("LAYER", "Layer", "The active layer"), ("SAMPLES", "Samples", "All samples of the active blend space"))
SPACES = (
    ("LOCAL", "Local", "Each bone in its parent's frame"),
    ("MESH", "Mesh", "Rotations in the armature's space: what is not moved keeps its direction"),
)
BASES = (
    ("BIND", "Bind Pose", "The difference to the bind pose"),
    ("FIRST", "First Frame", "The difference to each action's own first frame"),
    ("FRAME", "This Frame", "The difference to each action's pose at the frame that the scene shows"),
)
GRAPH_ITEMS = (
    ("PARAMETER", "Parameter", "A value that conditions ask for"),
    ("STATE", "State", "What is played"),
    ("TRANSITION", "Transition", "A way from state to state"),
    ("CONDITION", "Condition", "When the active transition begins"),
)
HAS_LAYER = filled("layers", "Add a layer first")
HAS_SPACE = filled("blend_spaces", "Add a blend space first")
HAS_SAMPLE = requirement("Add a sample first", lambda obj: len(active_space(obj).samples))


def active_space(obj):
    """The active blend space of a character, None where there is none."""
    return lists.active_item(obj.active_ragdoll, "blend_spaces")


def action_named(name: str):
    """An action of the file. Raises RagdollError: there is none of that name."""
    action = bpy.data.actions.get(name)
    if action is None:
        raise RagdollError(f"There is no action '{name}'")
    return action


class ACTIVE_RAGDOLL_OT_add_layer(Unbaked, bpy.types.Operator):
    """Put a pose layer on top of the active one"""

    source: choice("Source", SOURCES)
    action: text("Action", "Of a pose asset; empty: the active asset")

    @classmethod
    def description(cls, _context, properties):
        return translated(next(text for key, _name, text in SOURCES if key == properties.source))

    def invoke(self, context, _event):
        if self.source == "POSE_ASSET" and not self.action and _active_asset(context) is None:
            return context.window_manager.invoke_props_dialog(self)
        return self.execute(context)

    def draw(self, _context):
        self.layout.prop_search(self, "action", bpy.data, "actions")

    def act(self, context, obj):
        scene = scene_of(obj, context)
        if self.source == "ACTION":
            action, slot = stack_edits.current_action(obj)
            layer = stack_edits.add_layer(obj, scene, "CLIP", "", action, slot)
        elif self.source in ("CURRENT_POSE", "POSE_ASSET"):
            posed = self.source == "CURRENT_POSE"
            action = stack_edits.pose_action(obj, f"{obj.name} Pose") if posed else self._pose_asset(context)
            layer = stack_edits.add_layer(obj, scene, "POSE", "", action)
        elif (space := active_space(obj)) is None:
            raise RagdollError("Add a blend space first, and give it samples")
        else:
            layer = stack_edits.add_layer(obj, scene, self.source, space.name)
            layer.blend_space = space.name
        return f"Layer '{layer.name}' of '{obj.name}'"

    def _pose_asset(self, context):
        if self.action:
            return action_named(self.action)
        asset = _active_asset(context)
        if asset is None:
            raise RagdollError("No pose asset is active")
        return asset.local_id or stack_edits.appended_action(asset.full_library_path, asset.name)


def _active_asset(context):
    """The action asset that is active in an asset browser or shelf, or None."""
    asset = getattr(context, "asset", None)
    return asset if asset is not None and asset.id_type == "ACTION" else None


class ACTIVE_RAGDOLL_OT_remove_layer(Unbaked, bpy.types.Operator, requires=(HAS_LAYER,)):
    """Remove the active layer; with the last one the character is as it was before"""

    def act(self, _context, obj):
        lists.remove_item(obj.active_ragdoll, "layers")
        stack_edits.drop_if_idle(obj)


class ACTIVE_RAGDOLL_OT_move_layer(Unbaked, bpy.types.Operator, requires=(HAS_LAYER,)):
    """Move the active layer: those further down the list act later, on top of those above"""

    step: whole("Step", None, 1, min=-1, max=1)

    def act(self, _context, obj):
        stack_edits.edit_list(obj.active_ragdoll, "layers", "MOVE", self.step)


class ACTIVE_RAGDOLL_OT_make_additive(Unbaked, bpy.types.Operator):
    """Let the active layer add its difference to a base pose, or do so with all samples of the active blend space"""

    what: choice("What", OF_WHAT)
    space: choice("Space", SPACES)
    base: choice("Base", BASES, "FIRST")

    def act(self, context, obj):
        of_layer = self.what == "LAYER"
        if missing := (HAS_LAYER if of_layer else HAS_SPACE)(obj):
            raise RagdollError(missing)
        chosen = [lists.active_item(obj.active_ragdoll, "layers")] if of_layer else active_space(obj).samples
        name, value = ("mode", f"ADDITIVE_{self.space}") if of_layer else ("additive", self.space)
        for item in chosen:
            setattr(item, name, value)
            item.base = "BIND" if self.base == "BIND" or item.action is None else "FRAME"
            if item.base == "FRAME":
                item.base_frame = item.action.frame_range[0] if self.base == "FIRST" else context.scene.frame_current
        return f"{len(chosen)} made additive in {self.space.lower()} space"


class ACTIVE_RAGDOLL_OT_mask_from_selected(
    Unbaked, bpy.types.Operator, label="Mask from Selected", requires=(HAS_LAYER,)
):
    """Let the active layer act on the selected bones and what hangs on them"""

    def act(self, _context, obj):
        names = [bone.name for bone, chosen in zip(obj.data.bones, selected(obj), strict=True) if chosen]
        if not names:
            raise RagdollError("Select bones in pose mode first")
        stack_edits.mask_bones(lists.active_item(obj.active_ragdoll, "layers"), names)
        return f"Mask of {len(names)} bones"


class ACTIVE_RAGDOLL_OT_edit_layer_list(Unbaked, bpy.types.Operator, label="Edit Layer", requires=(HAS_LAYER,)):
    """Add to, or remove from, the poses or mask bones of the active layer"""

    items: choice("List", (("POSES", "Poses", ""), ("BONES", "Mask Bones", "")))
    do: choice("Do", (("ADD", "Add", ""), ("REMOVE", "Remove", "")))

    def act(self, context, obj):
        layer = lists.active_item(obj.active_ragdoll, "layers")
        added = stack_edits.edit_list(layer, "poses" if self.items == "POSES" else "mask_bones", self.do)
        if added is not None and self.items == "POSES" and layer.action is not None:
            stack_edits.choose(added, layer.action, layer.slot)
            added.frame, added.time = context.scene.frame_current, 10.0 * (len(layer.poses) - 1)


class ACTIVE_RAGDOLL_OT_add_blend_space(Unbaked, bpy.types.Operator):
    """Add a blend space, which layers and states of the graph can play"""

    kind: choice("Kind", KINDS)

    def act(self, _context, obj):
        stack_edits.add_blend_space(obj, self.kind)


class ACTIVE_RAGDOLL_OT_remove_blend_space(Unbaked, bpy.types.Operator, requires=(HAS_SPACE,)):
    """Remove the active blend space"""

    def act(self, _context, obj):
        lists.remove_item(obj.active_ragdoll, "blend_spaces")


class ACTIVE_RAGDOLL_OT_add_sample(Unbaked, bpy.types.Operator, requires=(HAS_SPACE,)):
    """Add the action that the character plays, or another one, to the active blend space at its current point"""

    action: text("Action", "Empty: the one that the character plays")

    def act(self, _context, obj):
        action, slot = (action_named(self.action), "") if self.action else stack_edits.current_action(obj)
        stack_edits.add_sample(active_space(obj), action, slot)


class ACTIVE_RAGDOLL_OT_remove_sample(Unbaked, bpy.types.Operator, requires=(HAS_SPACE, HAS_SAMPLE)):
    """Remove the active sample of the active blend space"""

    def act(self, _context, obj):
        lists.remove_item(active_space(obj), "samples")


class ACTIVE_RAGDOLL_OT_enable_graph(Unbaked, bpy.types.Operator, label="Use Graph"):
    """Let a graph of states give the pose that layers are put on, or do without it again"""

    def act(self, context, obj):
        graph = obj.active_ragdoll.graph
        if graph.enabled:
            graph.enabled = False
            stack_edits.drop_if_idle(obj)
        else:
            stack_edits.ensure(obj, scene_of(obj, context))
            graph.enabled = True


class ACTIVE_RAGDOLL_OT_edit_graph(Unbaked, bpy.types.Operator):
    """Add, remove or move parameters, states, transitions and conditions of the graph"""

    what: choice("What", GRAPH_ITEMS, "STATE")
    do: choice("Do", (("ADD", "Add", ""), ("REMOVE", "Remove", ""), ("MOVE", "Move", "")))
    step: whole("Step", None, 1, min=-1, max=1)

    def act(self, _context, obj):
        stack_edits.edit_graph(obj, self.what, self.do, self.step)
