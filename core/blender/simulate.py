"""Running a shot from its first to its last frame, with a baked cache at the end."""

from collections.abc import Iterator

from ..errors import RagdollError
from . import (
    build,
    collision,
    evaluated,
    layer_tools,
    motion_setup,
    ragdoll_readings,
    recovery_record,
    shot_run,
    showing,
    source,
    world,
)
from .runtime import STATE


def prepare(scene) -> None:
    """Bring everything up to date before a run: edited settings, animations, the cache.

    Raises:
        RagdollError: there is nothing to simulate, or the user's own baked cache is in the way.
    """
    motion_setup.part_duplicates(scene)
    characters = shot_run.active_ragdolls(scene)
    if not characters:
        raise RagdollError(f"Scene '{scene.name}' has no ragdoll to simulate: build one first")
    first, last = world.shot_range(scene)
    if last <= first:
        raise RagdollError(f"The frame range {first} to {last} has no frame to simulate")
    world.refuse_user_bake(scene)
    layer_tools.end_previews(scene)
    world.free_cache(scene)
    showing.stop_showing(scene)
    for obj in characters:
        if obj.active_ragdoll.recovery.enabled and obj.active_ragdoll.recovery.reroot:
            motion_setup.ensure(obj, scene)
        if obj.active_ragdoll.layout_changed:
            build.rebuild(obj, scene)
        source.refresh(obj)
        STATE.messages.pop(obj.name, None)
    STATE.messages.pop(scene.name, None)
    collision.assign(scene)
    STATE.runs.pop(scene.name, None)


def frames(scene) -> Iterator[int]:
    """Simulate the shot, yielding each frame while the scene stands at it.

    When it ends, or the caller stops it, what is done is kept as a baked cache.

    Raises:
        RagdollError: something went wrong on the way; the frames before it are kept.
    """
    prepare(scene)
    first, last = world.shot_range(scene)
    done, run = first, None
    try:
        for frame in range(first, last + 1):
            scene.frame_set(frame)
            run = STATE.runs.get(scene.name, run)
            if scene.name in STATE.messages:
                raise RagdollError(STATE.messages[scene.name])
            done = frame
            yield frame
    finally:
        if done > first:
            if run is not None:
                _settle(run, scene, done)
            world.bake_cache(scene, done)
            if run is not None:
                evaluated.follow_cache(run)
                recovery_record.store(run)
            for obj in shot_run.active_ragdolls(scene):
                obj.active_ragdoll.cache_outdated = done < last  # stopped early: a bake simulates anew
                ragdoll_readings.keep(obj)
            showing.show_cached(scene)


def _settle(run, scene, frame: int) -> None:
    """Let the cache end with the last good frame, in date: what a run writes to bodies outdates it until it is read.

    A cache that begins before frame 0 does not bear being read at once: it loses what comes before that frame.
    """
    if run.first < 0 and scene.frame_current == frame:
        return
    evaluated.follow_cache(run)
    was_busy, STATE.busy = STATE.busy, True
    try:
        scene.frame_set(frame)
    finally:
        STATE.busy = was_busy


def use_range(scene, frame_start: int, frame_end: int) -> None:
    """Simulate this range from now on; the scene's own range means no range of our own."""
    own = scene.active_ragdoll
    own.use_range = (frame_start, frame_end) != (scene.frame_start, scene.frame_end)
    own.frame_start, own.frame_end = frame_start, frame_end
