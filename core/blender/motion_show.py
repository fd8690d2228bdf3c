"""Showing motion stacks anew after an edit, without a change of frame.

Only characters without a running simulation: what a run has under way is changed by its own steps.
"""

import bpy

from . import motion, source, source_edits
from .runtime import STATE

_waiting: list = []


def again(scene, still: bool = False) -> None:
    """Pose the targets of a scene's characters again at the frame that is shown.

    Args:
        still: as things stand, also what was moved by hand and is keyed otherwise; else as their keys say.
    """
    if scene is None or scene.active_ragdoll.source is None or STATE.busy or scene.name in STATE.runs:
        return
    frame = scene.frame_current
    characters = [obj for obj in motion.motions(scene) if obj.name not in STATE.messages]
    found = [(obj, motion.of(obj)) for obj in characters]
    if not any(stack for _obj, stack in found):
        return
    was_busy, STATE.busy = STATE.busy, True
    try:
        hidden = source.source_scene(scene)
        if still and hidden.frame_current == frame:
            hidden.view_layers[0].update()
        else:
            hidden.frame_set(frame)
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


def after_edits(scene, moved: set, changed: set) -> None:
    """Show again what edits by hand have to do with.

    Args:
        moved: names of objects that stand elsewhere now.
        changed: names of objects that stand or are posed otherwise.
    """
    if scene.name in STATE.runs:
        return
    edited = False
    for obj in motion.motions(scene):
        if obj.name not in changed or obj.active_ragdoll.is_ragdoll or obj.active_ragdoll.muted:
            continue
        stack = STATE.motions.get(obj.name)
        edited |= source_edits.carry(obj) or (stack is not None and not stack.fits())
    if moved & watched(scene):
        again(scene)
    elif edited:
        again(scene, still=True)


def watched(scene) -> set:
    """Names of the objects that stacks read in the hidden scene: moving one by hand shows at once."""
    hidden = scene.active_ragdoll.source
    own = {o.active_ragdoll.source for o in motion.motions(scene)}
    return {o.name for o in hidden.collection.objects if o not in own} if hidden is not None else set()
