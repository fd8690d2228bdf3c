"""Pose layers: adding, removing, moving, their masks."""

import bpy
from bpy.props import EnumProperty, IntProperty, StringProperty

from ..core.blender import keyed_lists, layer_tools, motion_setup
from ..core.errors import RagdollError
from .character import active_armature, needs_armature, refuse, scene_of

SOURCES = (
    ("ACTION", "Current Action", "Play the action that the character plays now"),
    ("CURRENT_POSE", "Current Pose", "Keep the pose that the character shows now, as an action of one frame"),
    ("POSE_ASSET", "Pose Asset", "Take a pose of the pose library, or a frame of any other action"),
    ("BLEND_SPACE", "Blend Space", "Play the active blend space"),
    ("AIM_OFFSET", "Aim Offset", "Put the active blend space on top as an aim offset"),
)


def layers_can_change(cls, context) -> bool:
    """For `poll`: an armature is active, and its result is not baked."""
    if not needs_armature(cls, context):
        return False
    if active_armature(context).active_ragdoll.muted:
        return refuse(cls, "The result is baked: revert the bake first")
    return True


def has_layer(cls, context) -> bool:
    """For `poll`: there is an active layer."""
    if not layers_can_change(cls, context):
        return False
    settings = active_armature(context).active_ragdoll
    return 0 <= settings.layer_index < len(settings.layers) or refuse(cls, "Add a layer first")


def active_layer(context):
    """The active layer of the active armature."""
    settings = active_armature(context).active_ragdoll
    return settings.layers[settings.layer_index]


class ACTIVE_RAGDOLL_OT_add_layer(bpy.types.Operator):
    """Put a pose layer on top of the active one"""

    bl_idname = "active_ragdoll.add_layer"
    bl_label = "Add Layer"
    bl_options = {"REGISTER", "UNDO"}

    source: EnumProperty(name="Source", items=SOURCES, default="ACTION")
    action: StringProperty(name="Action", description="Of a pose asset; empty: the active asset")

    @classmethod
    def poll(cls, context):
        return layers_can_change(cls, context)

    @classmethod
    def description(cls, _context, properties):
        return next(text for key, _name, text in SOURCES if key == properties.source)

    def invoke(self, context, _event):
        if self.source == "POSE_ASSET" and not self.action and _active_asset(context) is None:
            return context.window_manager.invoke_props_dialog(self)
        return self.execute(context)

    def draw(self, _context):
        self.layout.prop_search(self, "action", bpy.data, "actions")

    def execute(self, context):
        obj = active_armature(context)
        try:
            layer = self._add(context, obj, scene_of(obj, context))
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, f"Layer '{layer.name}' of '{obj.name}'")
        return {"FINISHED"}

    def _add(self, context, obj, scene):
        settings = obj.active_ragdoll
        if self.source == "ACTION":
            return layer_tools.add_clip_layer(obj, scene)
        if self.source == "CURRENT_POSE":
            return layer_tools.add_pose_layer(obj, scene, layer_tools.pose_action(obj, f"{obj.name} Pose"))
        if self.source == "POSE_ASSET":
            return layer_tools.add_pose_layer(obj, scene, self._pose_asset(context))
        if not 0 <= settings.blend_space_index < len(settings.blend_spaces):
            raise RagdollError("Add a blend space first, and give it samples")
        space = settings.blend_spaces[settings.blend_space_index]
        layer = layer_tools.add_layer(obj, scene, self.source, space.name)
        layer.blend_space = space.name
        return layer

    def _pose_asset(self, context):
        if self.action:
            action = bpy.data.actions.get(self.action)
            if action is None:
                raise RagdollError(f"There is no action '{self.action}'")
            return action
        asset = _active_asset(context)
        if asset is None:
            raise RagdollError("No pose asset is active")
        return asset.local_id or layer_tools.appended_action(asset.full_library_path, asset.name)


def _active_asset(context):
    """The action asset that is active in an asset browser or shelf, or None."""
    asset = getattr(context, "asset", None)
    return asset if asset is not None and asset.id_type == "ACTION" else None


class ACTIVE_RAGDOLL_OT_remove_layer(bpy.types.Operator):
    """Remove the active layer; with the last one the character is as it was before"""

    bl_idname = "active_ragdoll.remove_layer"
    bl_label = "Remove Layer"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return has_layer(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        settings = obj.active_ragdoll
        try:
            settings.layer_index = keyed_lists.remove(obj, "layers", settings.layers, settings.layer_index)
            layer_tools.changed(obj)
            motion_setup.drop_if_idle(obj)
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_move_layer(bpy.types.Operator):
    """Move the active layer: those further down the list act later, on top of those above"""

    bl_idname = "active_ragdoll.move_layer"
    bl_label = "Move Layer"
    bl_options = {"REGISTER", "UNDO"}

    step: IntProperty(name="Step", default=1, min=-1, max=1)

    @classmethod
    def poll(cls, context):
        return has_layer(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        settings = obj.active_ragdoll
        place = settings.layer_index
        settings.layer_index = keyed_lists.move(obj, "layers", settings.layers, place, place + self.step)
        layer_tools.changed(obj)
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_make_additive(bpy.types.Operator):
    """Let the active layer add its difference to a base pose, or do so with all samples of the active blend space"""

    bl_idname = "active_ragdoll.make_additive"
    bl_label = "Make Additive"
    bl_options = {"REGISTER", "UNDO"}

    what: EnumProperty(
        name="What",
        items=(("LAYER", "Layer", "The active layer"), ("SAMPLES", "Samples", "All samples of the active blend space")),
    )
    space: EnumProperty(
        name="Space",
        items=(
            ("LOCAL", "Local", "Each bone in its parent's frame"),
            ("MESH", "Mesh", "Rotations in the armature's space: what is not moved keeps its direction"),
        ),
        default="LOCAL",
    )
    base: EnumProperty(
        name="Base",
        items=(
            ("BIND", "Bind Pose", "The difference to the bind pose"),
            ("FIRST", "First Frame", "The difference to each action's own first frame"),
            ("FRAME", "This Frame", "The difference to each action's pose at the frame that the scene shows"),
        ),
        default="FIRST",
    )

    @classmethod
    def poll(cls, context):
        return layers_can_change(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        try:
            count = layer_tools.make_additive(obj, self.what, self.space, self.base, context.scene.frame_current)
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self.report({"INFO"}, f"{count} made additive in {self.space.lower()} space")
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_mask_from_selected(bpy.types.Operator):
    """Let the active layer act on the selected bones and what hangs on them"""

    bl_idname = "active_ragdoll.mask_from_selected"
    bl_label = "Mask from Selected"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return has_layer(cls, context)

    def execute(self, context):
        obj = active_armature(context)
        names = layer_tools.selected_bones(obj)
        if not names:
            self.report({"ERROR"}, "Select bones in pose mode first")
            return {"CANCELLED"}
        layer_tools.mask_bones(active_layer(context), names)
        self.report({"INFO"}, f"Mask of {len(names)} bones")
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_edit_layer_list(bpy.types.Operator):
    """Add to, or remove from, the poses or mask bones of the active layer"""

    bl_idname = "active_ragdoll.edit_layer_list"
    bl_label = "Edit Layer"
    bl_options = {"REGISTER", "UNDO"}

    items: EnumProperty(name="List", items=(("POSES", "Poses", ""), ("BONES", "Mask Bones", "")))
    do: EnumProperty(name="Do", items=(("ADD", "Add", ""), ("REMOVE", "Remove", "")))

    @classmethod
    def poll(cls, context):
        return has_layer(cls, context)

    def execute(self, context):
        obj, layer = active_armature(context), active_layer(context)
        names = ("poses", "pose_index") if self.items == "POSES" else ("mask_bones", "mask_bone_index")
        items, index = getattr(layer, names[0]), getattr(layer, names[1])
        if self.do == "ADD":
            added = items.add()
            setattr(layer, names[1], len(items) - 1)
            if self.items == "POSES" and layer.action is not None:
                layer_tools.choose(added, layer.action, layer.slot)
                added.frame, added.time = context.scene.frame_current, 10.0 * (len(items) - 1)
        elif 0 <= index < len(items):
            path = f"layers[{obj.active_ragdoll.layer_index}].{names[0]}"
            setattr(layer, names[1], keyed_lists.remove(obj, path, items, index))
        layer_tools.changed(obj)
        return {"FINISHED"}


CLASSES = (
    ACTIVE_RAGDOLL_OT_add_layer,
    ACTIVE_RAGDOLL_OT_remove_layer,
    ACTIVE_RAGDOLL_OT_move_layer,
    ACTIVE_RAGDOLL_OT_make_additive,
    ACTIVE_RAGDOLL_OT_mask_from_selected,
    ACTIVE_RAGDOLL_OT_edit_layer_list,
)
