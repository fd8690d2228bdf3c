"""What is shown of a run without a step: jumps, edits in mid-shot, and the frames of a baked cache."""

import numpy as np

from . import evaluated, recovery_record, shot_run, source, world
from .shot_run import Run, active_ragdolls, depsgraph_of


def show_other(run: Run | None, scene) -> None:
    """A jump: the cached pose where the frame is simulated, else the animation."""
    if run is not None:
        run.graph = depsgraph_of(scene)
        if run.shows(scene.frame_current):
            # A cache that settings have outdated loses what comes after, on a jump back.
            run.reached = min(run.reached, max(scene.frame_current, run.first))
            evaluated.follow_cache(run)
            evaluated.show_physics(run, True)
            for character in run.characters:
                _write_shown_blend(run, character, scene)
        else:
            evaluated.show_physics(run, False)
        run.frame = None


def show_again(run: Run, scene) -> None:
    """After an edit without a change of frame: what Blender has copied anew knows nothing of what the run wrote.

    Such as a physics armature when a bone gets another colour. It is written again; that it is seen, too, needs another
    evaluation of the bones, which only what they copy can be tagged for: a tag of their own would copy them once more.
    """
    now = scene.rigidbody_world
    if now is None or now.point_cache.is_baked or not run.shows(scene.frame_current) or scene.frame_subframe != 0.0:
        return
    run.graph = depsgraph_of(scene)
    renewed = {character.name for character in evaluated.show_physics(run, True)}
    for character in run.characters:
        if _write_shown_blend(run, character, scene) or character.name in renewed:
            for part in character.obj.active_ragdoll.parts:
                part.anchor.update_tag(refresh={"OBJECT"})


def _write_shown_blend(run: Run, character, scene) -> bool:
    """The share of the physics at a frame that is simulated already; whether another was shown."""
    frame = scene.frame_current
    if character.blends is None:
        own = character.obj.active_ragdoll.physics_blend
    else:
        own = character.blends.get(frame, character.blend)
    found = run.recoveries.get(character.name)
    share = 1.0 if found is None else found.record.blend(frame)
    blend = (own if np.isfinite(own) else character.blend) * share
    return evaluated.write_blend(character.obj, character, blend, scene)


def show_cached(scene) -> None:
    """With a baked cache: bodies within the shot, the animation outside it.

    Blender takes frame 0 of a point cache for "not found" and cannot read it. As the first frame of a shot it is the
    animation anyway; a shot that begins before it shows its animation there.

    The physics armatures are no physics objects, so their originals may be written, and a final render sees it too.
    """
    first, last = world.shot_range(scene)[0], world.last_good(scene)
    frame = scene.frame_current
    _mute_originals(scene, not (first <= frame <= last and frame != 0))
    keyed = [obj for obj in active_ragdolls(scene) if shot_run.is_keyed(obj, "physics_blend")]
    if keyed:
        scene.active_ragdoll.source.frame_set(frame)
    for obj in active_ragdolls(scene):
        record = recovery_record.of(obj, frame)
        if record is None and obj not in keyed:
            continue
        blend = (source.evaluated(obj) if obj in keyed else obj).active_ragdoll.physics_blend
        if record is not None:
            blend *= record.blend(frame)
        _write_blend(obj, blend)


def _write_blend(obj, blend: float) -> None:
    """Set the influence of the constraints that a character itself carries."""
    for name in [part.bone for part in obj.active_ragdoll.parts] + source.followers(obj):
        constraint = obj.pose.bones[name].constraints[source.CONSTRAINT_NAME]
        if abs(constraint.influence - blend) > 1e-7:
            constraint.influence = blend


def stop_showing(scene) -> None:
    """When the baked cache is freed: physics armatures play the animation until a run shows otherwise."""
    _mute_originals(scene, True)
    for obj in active_ragdolls(scene):
        if obj.active_ragdoll.recovery.record:
            recovery_record.drop(obj)
            _write_blend(obj, obj.active_ragdoll.physics_blend)


def _mute_originals(scene, mute: bool) -> None:
    for obj in active_ragdolls(scene):
        settings = obj.active_ragdoll
        for part in settings.parts if settings.physics_armature else ():
            bone = settings.physics_armature.pose.bones.get(part.bone)
            constraint = bone.constraints.get(source.CONSTRAINT_NAME) if bone else None
            if constraint is None:
                continue
            if constraint.mute == mute:
                break  # all of a character are alike
            constraint.mute = mute
