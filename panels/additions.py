"""What is added to Blender's own interface: menus of what happens from a frame on, their key, and two panels."""

import bpy

from ..core.blender import interface, runtime
from ..core.blender.languages import CONTEXT, translated
from ..core.blender.tools import story

MODES = ("Object Mode", "Pose")
KEY = {"type": "K", "value": "PRESS", "shift": True, "alt": True}  # Blender's own keymaps leave it free
STORY = (
    ("knock_out_here", "GHOST_ENABLED"),
    ("push_here", "FORCE_WIND"),
    ("explode_here", "LIGHT_POINT"),
    ("limp_from_here", "OUTLINER_OB_ARMATURE"),
    ("follow_from_here", "ARMATURE_DATA"),
)


class StoryMenu:
    """What happens to the character from this frame on"""

    bl_label, bl_translation_context = "Ragdoll from Here", CONTEXT
    is_pie = False

    def draw(self, context):
        layout = self.layout.menu_pie() if self.is_pie else self.layout
        obj, bone = interface.active_armature(context), runtime.STATE.pointed if self.is_pie else ""
        bodies = obj is not None and any(part.body for part in obj.active_ragdoll.parts)
        struck = ": " + interface.short(obj, story.struck_bone(obj, context.object, bone)) if bodies else ""
        for name, icon in STORY:
            kind = getattr(bpy.types, f"ACTIVE_RAGDOLL_OT_{name}")
            text = translated(kind.bl_label) + struck * hasattr(kind, "blow")
            button = layout.operator(f"active_ragdoll.{name}", text=text, translate=False, icon=icon)
            if self.is_pie and hasattr(kind, "blow"):
                button.bone = bone


class ACTIVE_RAGDOLL_MT_story(StoryMenu, bpy.types.Menu):
    """What happens to the character from this frame on"""


class ACTIVE_RAGDOLL_MT_story_pie(StoryMenu, bpy.types.Menu):
    """What happens to the character from this frame on"""

    is_pie = True


def _draw_in_context_menu(menu, context) -> None:
    if interface.active_armature(context) is not None:
        menu.layout.separator()
        menu.layout.menu("ACTIVE_RAGDOLL_MT_story", icon="ARMATURE_DATA")


def _draw_switch(panel, context) -> None:
    if context.scene.active_ragdoll.source is not None:
        panel.layout.prop(context.scene.active_ragdoll_overlay, "show", text="Ragdoll Overlay")


def _close_remove(panel, context) -> None:
    """Blender's button that removes the rigid body world is off while it would crash Blender.

    Drawn before the panel's own button, in the same layout. Removing a world frees its bodies at once, its joints after
    them, which look at the bodies.
    """
    if context.scene.name in runtime.STATE.live_worlds and context.scene.rigidbody_world is not None:
        panel.layout.enabled = False
        panel.layout.label(text="Remove the scene's ragdolls first", icon="INFO")


ADDED = (
    ("VIEW3D_MT_object_context_menu", "append", _draw_in_context_menu),
    ("VIEW3D_MT_pose_context_menu", "append", _draw_in_context_menu),
    ("VIEW3D_PT_overlay", "append", _draw_switch),
    ("SCENE_PT_rigid_body_world", "prepend", _close_remove),
)


def add(undo) -> None:
    """Have all of it drawn, and the key heard; `undo` takes it back."""
    for place, how, draw in ADDED:
        getattr(getattr(bpy.types, place), how)(draw)
        undo.callback(getattr(bpy.types, place).remove, draw)
    config = bpy.context.window_manager.keyconfigs.addon  # None without windows
    for mode in MODES if config is not None else ():
        keymap = config.keymaps.new(name=mode)
        undo.callback(keymap.keymap_items.remove, keymap.keymap_items.new("active_ragdoll.story_pie", **KEY))
