"""Running a shot from its first to its last frame, with a baked cache at the end."""

from collections.abc import Iterator

from ...errors import RagdollError
from ..physics import world
from ..runtime import STATE
from ..stack import pose_stack, stack_edits
from . import readings, reconcile, recovery_record, shot_run, show, write


def prepare(scene) -> None:
    """Bring everything up to date before a run: edited settings, animations, the cache.

    Raises RagdollError: there is nothing to simulate, the world would not step, or the user's own baked cache is in the
    way.
    """
    reconcile.reconcile(scene)
    characters = shot_run.active_ragdolls(scene)
    if not characters:
        raise RagdollError(f"Scene '{scene.name}' has no ragdoll to simulate: build one first")
    first, last = world.shot_range(scene)
    if last <= first:
        raise RagdollError(f"The frame range {first} to {last} has no frame to simulate")
    world.refuse_user_bake(scene)
    world.check_steps(scene)
    shot_run.check_members(scene, characters)
    stack_edits.end_previews(scene)
    world.free_cache(scene)
    show.stop_showing(scene)
    reconcile.rebuild_edited(scene)
    STATE.runs.pop(scene.name, None)


def frames(scene) -> Iterator[int]:
    """Simulate the shot, yielding each frame while the scene stands at it.

    When it ends, or the caller stops it, what is done is kept as a baked cache.
    Raises RagdollError: something went wrong on the way; the frames before it are kept. Raises KeyboardInterrupt: it
    came while a handler ran, from which Blender does not let it out.
    """
    prepare(scene)
    STATE.interrupted = False
    first, last = world.shot_range(scene)
    done, run, cached = first, None, ""
    try:
        for frame in range(first, last + 1):
            go_to(scene, frame)
            run = _checked(scene, run, frame)
            before, cached = cached, scene.rigidbody_world.point_cache.info
            if cached == before and frame != 0:  # which Blender takes for "not found" and never counts
                raise RagdollError(f"The physics of scene '{scene.name}' did not move on at frame {frame}")
            done = frame
            yield frame
    finally:
        if done > first:
            if run is not None:
                _settle(run, scene, done)
            world.bake_cache(scene, done)
            if run is not None:
                write.follow_cache(run)
                recovery_record.store_records(run)
            for obj in shot_run.active_ragdolls(scene):
                obj.active_ragdoll.cache_outdated = done < last  # stopped early: a bake simulates anew
                readings.store_readings(obj)
            pose_stack.store_seen(scene)
            show.show_cached(scene)


def go_to(scene, frame: int) -> None:
    """Show a frame.

    Raises RagdollError: another handler has changed the frame. Raises KeyboardInterrupt: it came while a handler ran.
    """
    scene.frame_set(frame)
    if STATE.interrupted:
        STATE.interrupted = False
        raise KeyboardInterrupt
    if scene.frame_current != frame and scene.name not in STATE.messages:
        raise RagdollError(
            f"Frame {frame} of scene '{scene.name}' could not be shown: a handler of another extension has gone to "
            f"frame {scene.frame_current}"
        )


def _checked(scene, run, frame: int):
    """The run that has stepped a frame, once: the one that is given, or a new one at the first frame.

    Raises RagdollError: the frame was not stepped by that run.
    """
    if scene.name in STATE.messages:
        raise RagdollError(STATE.messages[scene.name])
    now = STATE.runs.get(scene.name)
    if now is None or (now is not run and run is not None) or not now.frame == now.observed == frame:
        raise RagdollError(
            f"Frame {frame} of scene '{scene.name}' was not simulated: a script or another extension has gone to "
            "other frames meanwhile, or has changed the scene"
        )
    return now


def _settle(run, scene, frame: int) -> None:
    """Read the cache at its last good frame, so that it is not outdated: writing to bodies outdates it until then.

    A cache that begins before frame 0 does not bear being read at once: it loses what comes before that frame.
    """
    if run.first < 0 and scene.frame_current == frame:
        return
    write.follow_cache(run)
    with STATE.occupied():
        scene.frame_set(frame)


def use_range(scene, frame_start: int, frame_end: int) -> None:
    """Simulate this range from now on; the scene's own range means no range of our own."""
    own = scene.active_ragdoll
    own.use_range = (frame_start, frame_end) != (scene.frame_start, scene.frame_end)
    own.frame_start, own.frame_end = frame_start, frame_end
