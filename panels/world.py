"""Blender's own panel of the rigid body world, in the scene properties: Remove is off while it would crash Blender."""

import bpy

from ..core.blender.runtime import STATE


def _close_remove(panel, context) -> None:
    """Drawn before the panel's own button, in the same layout.

    Removing a world frees its bodies at once, its joints after them, which look at the bodies.
    """
    if context.scene.name in STATE.live_worlds and context.scene.rigidbody_world is not None:
        panel.layout.enabled = False
        panel.layout.label(text="Remove the scene's ragdolls first", icon="INFO")


def add() -> None:
    """Have it drawn."""
    bpy.types.SCENE_PT_rigid_body_world.prepend(_close_remove)


def remove() -> None:
    """Have it drawn no more."""
    bpy.types.SCENE_PT_rigid_body_world.remove(_close_remove)
