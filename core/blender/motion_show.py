"""Showing motion stacks anew after an edit, without a change of frame.

Only characters without a running simulation: what a run has under way is changed by its own steps.
"""

import bpy

from . import motion, source
from .runtime import STATE

_waiting: list = []


def again(scene) -> None:
    """Pose the targets of a scene's characters again at the frame that is shown."""
    if scene is None or scene.active_ragdoll.source is None or STATE.busy or scene.name in STATE.runs:
        return
    frame = scene.frame_current
    characters = [obj for obj in motion.motions(scene) if obj.name not in STATE.messages]
    found = [(obj, motion.of(obj)) for obj in characters]
    if not any(stack for _obj, stack in found):
        return
    was_busy, STATE.busy = STATE.busy, True
    try:
        source.source_scene(scene).frame_set(frame)
        for obj, stack in found:
            if stack is not None:
                motion.write_target(obj, stack.pose(scene, frame)[1])
    finally:
        STATE.busy = was_busy


def later() -> None:
    """Do so once Blender is idle again; from callbacks of settings, where nothing may be evaluated."""
    if bpy.app.background or _waiting:
        return
    _waiting.append(True)
    bpy.app.timers.register(_now, first_interval=0.0)


def _now() -> None:
    _waiting.clear()
    edited, STATE.edited = STATE.edited, set()
    scenes = {source.scene_of(obj) for name in edited if (obj := bpy.data.objects.get(name)) is not None}
    for scene in scenes - {None}:
        again(scene)


def watched(scene) -> set:
    """Names of the objects that stacks read in the hidden scene: moving one by hand shows at once."""
    hidden = scene.active_ragdoll.source
    own = {o.active_ragdoll.source for o in motion.motions(scene)}
    return {o.name for o in hidden.collection.objects if o not in own} if hidden is not None else set()
