"""What is shown without a step: after jumps, after edits in mid-shot, and with a baked cache."""

import math

import bpy
import numpy as np

from ..physics import built, source, view_layers, world
from ..runtime import STATE
from ..settings import at_frame
from ..stack import pose_stack
from . import records, shot_run, write


def show_other(run: shot_run.Run | None, scene) -> None:
    """After a jump, show the cached pose if the frame was simulated, otherwise the animation."""
    if run is not None:
        run.graph = view_layers.depsgraph_of(scene)
        if run.shows(scene.frame_current):
            # On a jump back, an outdated cache loses all later frames.
            run.reached = min(run.reached, max(scene.frame_current, run.first))
            write.follow_cache(run)
            write.show_physics(run, True, scene)
            for character in run.characters:
                _write_shown_blend(run, character, scene)
        else:
            write.show_physics(run, False, scene)
            if run.frame is not None and run.frame < scene.frame_current:
                tell_left_out(scene, run.frame)
        run.frame = None


def tell_left_out(scene, frame: int) -> None:
    """Say that playback has left out the frames after one, where the scene's Sync lets it."""
    if scene.sync_mode != "NONE":
        what = f"Playback has left out frames after {frame}, so the simulation has ended there"
        STATE.messages[scene.name] = f"{what}: set Sync to Play Every Frame (Timeline > Playback), or simulate"


def tell_gone_back(scene, frame: int) -> None:
    """Say that while a window played the scene has gone back from a frame, as handlers of other extensions do."""
    what = f"Playback went from frame {frame} back to {scene.frame_current}, so the simulation has ended there"
    STATE.messages[scene.name] = f"{what}: play from the shot's first frame, without extensions that change the frame"


def show_again(run: shot_run.Run, scene) -> None:
    """After an edit without a change of frame, write again what the run had written to evaluated copies.

    The edit may have made Blender copy an object anew from its original, such as a physics armature when a bone gets
    another colour. To be seen, the new values need another evaluation of the bones. Tagging the armature would copy it
    once more, so the anchors that the bones copy are tagged.
    """
    now = scene.rigidbody_world
    if now is None or now.point_cache.is_baked or not run.shows(scene.frame_current) or scene.frame_subframe != 0.0:
        return
    run.graph = view_layers.depsgraph_of(scene)
    renewed = {character.name for character in write.show_physics(run, True, scene)}
    for character in run.characters:
        if _write_shown_blend(run, character, scene) or character.name in renewed:
            for part in character.obj.active_ragdoll.parts:
                part.anchor.update_tag(refresh={"OBJECT"})


def _write_shown_blend(run: shot_run.Run, character, scene) -> bool:
    """Write the physics blend of a frame that was simulated. Returns whether another one was shown."""
    frame = scene.frame_current
    if character.blends is None:
        own = character.obj.active_ragdoll.physics_blend
    else:
        own = character.blends.get(frame, character.blend)
    blend = (own if np.isfinite(own) else character.blend) * math.prod(run.shares_at(character, frame))
    return write.write_blend(character, blend, scene)


def show_cached(scene) -> None:
    """With a baked cache, show the bodies within the shot and the animation outside it.

    Blender cannot read frame 0 of a point cache: to it, 0 means "not found". A shot that begins at 0 shows the
    animation there anyway; one that begins earlier shows the animation at that frame.

    Physics armatures are not physics objects, so their originals may be written. A final render sees that, too.
    """
    # The cache's own start: of a part of the shot that is rendered alone, the blur of the first frame lies before it.
    first, last = world.first_frame(scene), world.last_good(scene)
    frame = math.floor(scene.frame_current_final)  # also where time is remapped
    share = scene.frame_current_final - frame
    # Blender shows the last frame's bodies in the sub-frames after it, too.
    _mute_originals(shot_run.active_ragdolls(scene), not (first <= scene.frame_current_final < last + 1 and frame != 0))
    keyed = [obj for obj in shot_run.active_ragdolls(scene) if at_frame.is_keyed(obj, "physics_blend")]
    if keyed:
        scene.active_ragdoll.source.frame_set(frame, subframe=share)
    for obj in shot_run.active_ragdolls(scene):
        record = records.record_of(obj, frame)
        if record is None and obj not in keyed:
            continue
        blend = at_frame.owner(obj, obj in keyed).active_ragdoll.physics_blend
        if record is not None:
            blend *= (1.0 - share) * record.blend(frame) + share * record.blend(frame + 1)
        source.set_influence(obj, blend)


def stop_showing(scene) -> None:
    """When the baked cache is freed, make the physics armatures show the animation."""
    _mute_originals(shot_run.active_ragdolls(scene), True)
    for obj in pose_stack.characters(scene):
        obj.active_ragdoll.property_unset("seen")
    for obj in shot_run.active_ragdolls(scene):
        if obj.active_ragdoll.recovery.record:
            obj.active_ragdoll.recovery.property_unset("record")
            source.set_influence(obj, obj.active_ragdoll.physics_blend)


def show_guests(scene, tagged: bool = True) -> None:
    """Let characters that have their ragdoll in another scene show their animation, after their motion stacks.

    Looking through all objects takes long: where there were none before one may only have come if something was
    `tagged` for an update. What was updated since shows `show_arrived`.
    """
    if (tagged or STATE.shown != (scene.name, frozenset())) and has_guests(scene):
        STATE.shown = _shown(scene)
        _mute_originals(built.guests(scene), True)
        pose_stack.show_guests(scene)


def _shown(scene) -> tuple:
    """A scene, and the names of its characters that have their ragdoll or their motion stack in another one."""
    return scene.name, frozenset(obj.name for obj in (*built.guests(scene), *pose_stack.guests(scene)))


def has_guests(scene) -> bool:
    """Whether characters of a scene may have their ragdoll in another one."""
    return len(bpy.data.scenes) > 1 + (scene.active_ragdoll.source is not None)


def show_arrived(scene) -> None:
    """The same as soon as a character has come or another scene is shown, which then shows its baked cache again.

    Not where windows show several scenes: what one shows may be what another hides."""
    manager = bpy.context.window_manager
    if not has_guests(scene) or {window.scene for window in manager.windows if manager} != {scene}:
        STATE.shown = ()  # the next frame looks for them
    elif STATE.shown != _shown(scene):
        STATE.shown = ()
        with STATE.occupied():
            show_guests(scene)
            if scene.active_ragdoll.cache_is_ours and scene.rigidbody_world is not None:
                show_cached(scene)


def _mute_originals(characters, mute: bool) -> None:
    for obj in characters:
        physics = obj.active_ragdoll.physics_armature
        for bone in physics.pose.bones if physics is not None else ():
            own = [constraint for constraint in bone.constraints if constraint.name in source.OF_PHYSICS]
            if own and own[0].mute == mute:
                break  # all bones of a character are alike
            for constraint in own:
                constraint.mute = mute
