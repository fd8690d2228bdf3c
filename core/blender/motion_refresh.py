"""Showing an edit of the motion stack at once, without a change of frame.

Only for characters whose motion nothing simulates: a simulated shot shows an edit from its next frame or run on.
"""

import bpy

from ..errors import RagdollError
from . import source
from .runtime import STATE


def request(obj) -> None:
    """Show a character's stack anew as soon as Blender is idle; for update callbacks, which must not do so."""
    if bpy.app.background or STATE.building or not isinstance(obj, bpy.types.Object):
        return
    if obj.active_ragdoll.target_armature is not None and not bpy.app.timers.is_registered(now):
        bpy.app.timers.register(now, first_interval=0.0)


def now() -> None:
    """Pose the targets of all scenes at the frames that they show."""
    from . import motion  # it needs what the settings' modules define

    if STATE.busy or STATE.rendering:
        return
    for scene in bpy.data.scenes:
        if scene.active_ragdoll.is_source or scene.active_ragdoll.source is None or scene.name in STATE.runs:
            continue
        if any(o.active_ragdoll.is_ragdoll and not o.active_ragdoll.muted for o in motion.motions(scene)):
            continue
        try:
            for obj in motion.motions(scene):
                if source.scene_of(obj) == scene:
                    motion.of(obj)
            motion.show(scene)
        except RagdollError as error:
            STATE.messages[scene.name] = str(error)
