"""Updating what motion stacks show after an edit, without a change of frame.

Only for scenes without a run: in a run, the next step takes edits into account.
"""

import bpy

from ..physics import source
from ..runtime import STATE
from . import pose_stack


def again(scene, still: bool = False) -> None:
    """Pose the target armatures of a scene's characters again at the frame that is shown.

    Args:
        still: True keeps edits by hand that no key holds; False evaluates the animation at this frame.
    """
    if scene is None or scene.active_ragdoll.source is None or STATE.busy or scene.name in STATE.runs:
        return
    frame = scene.frame_current
    characters = [obj for obj in pose_stack.motions(scene) if obj.name not in STATE.messages]
    found = [(obj, pose_stack.of(obj)) for obj in characters]
    if not any(stack for _obj, stack in found):
        return
    with STATE.occupied():
        hidden = source.source_scene(scene)
        if still and hidden.frame_current == frame:
            hidden.view_layers[0].update()
        else:
            hidden.frame_set(frame)
        for obj, stack in found:
            if stack is not None:
                pose_stack.write_target(obj, stack.pose(scene, frame)[1])


def later() -> None:
    """Call `again` once Blender is idle; for callbacks of settings, where nothing may be evaluated."""
    if bpy.app.background or STATE.waiting:
        return
    STATE.waiting = True
    bpy.app.timers.register(_now, first_interval=0.0)


def _now() -> None:
    STATE.waiting = False
    edited, STATE.edited = STATE.edited, set()
    scenes = {source.scene_of(obj) for name in edited if (obj := bpy.data.objects.get(name)) is not None}
    for scene in scenes - {None}:
        again(scene)


def after_edits(scene, moved: set, changed: set) -> None:
    """Call `again` if the objects that were edited by hand matter to a motion stack.

    Args:
        moved: names of objects whose place changed.
        changed: names of objects whose place or pose changed.
    """
    if scene.name in STATE.runs:
        return
    edited = False
    for obj in pose_stack.motions(scene):
        if obj.name not in changed or obj.active_ragdoll.is_ragdoll or obj.active_ragdoll.muted:
            continue
        stack = STATE.motions.get(obj.name)
        edited |= source.carry_edits(obj) or (stack is not None and not stack.fits())
    if moved & watched(scene):
        again(scene)
    elif edited:
        again(scene, still=True)


def watched(scene) -> set:
    """Names of the objects that stacks read in the hidden scene. Moving one of them by hand shows at once."""
    hidden = scene.active_ragdoll.source
    own = {o.active_ragdoll.source for o in pose_stack.motions(scene)}
    return {o.name for o in hidden.collection.objects if o not in own} if hidden is not None else set()
