"""Running a shot from its first to its last frame, with a baked cache at the end; and doing so for final renders."""

import os
import sys
from collections.abc import Iterator

import bpy

from ...errors import RagdollError, unforeseen
from ..physics import world
from ..runtime import STATE
from ..stack import pose_stack, stack_edits
from . import reconcile, records, shot_run, show, write


def prepare(scene) -> None:
    """Bring everything up to date before a run: edited settings, animations, the cache. Raises RagdollError: there is
    nothing to simulate, the world would not step, or the user's own baked cache is in the way."""
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
    forget(scene)
    reconcile.rebuild_edited(scene)


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
            # Read the cache at its last good frame, so that it is not outdated: writing to bodies outdates it until
            # then. One that begins before frame 0 does not bear that: it loses what comes before that frame.
            if run.first >= 0 or scene.frame_current != done:
                write.follow_cache(run)
                with STATE.occupied():
                    scene.frame_set(done)
            world.bake_cache(scene, done)
            write.follow_cache(run)
            for obj in shot_run.active_ragdolls(scene):
                obj.active_ragdoll.cache_outdated = done < last  # stopped early: a bake simulates anew
                records.store(obj, run)
            pose_stack.store_seen(scene)
            show.show_cached(scene)


def go_to(scene, frame: int) -> None:
    """Show a frame. Raises RagdollError: another handler has changed the frame. Raises KeyboardInterrupt: it came while
    a handler ran."""
    scene.frame_set(frame)
    if STATE.interrupted:
        STATE.interrupted = False
        raise KeyboardInterrupt
    if scene.frame_current != frame and scene.name not in STATE.messages:
        what = f"Frame {frame} of scene '{scene.name}' could not be shown"
        raise RagdollError(f"{what}: a handler of another extension has gone to frame {scene.frame_current}")


def _checked(scene, run, frame: int):
    """The run that has stepped a frame, once: the given, or a new one at the first frame. Raises RagdollError: none."""
    if scene.name in STATE.messages:
        raise RagdollError(STATE.messages[scene.name])
    now = STATE.runs.get(scene.name)
    if now is None or (now is not run and run is not None) or not now.frame == now.observed == frame:
        raise RagdollError(
            f"Frame {frame} of scene '{scene.name}' was not simulated: a script or another extension has gone to "
            "other frames meanwhile, or has changed the scene"
        )
    return now


def forget(scene) -> None:
    """Drop the simulated frames; the ragdolls play live again from the shot's first frame."""
    world.free_cache(scene)
    show.stop_showing(scene)
    STATE.runs.pop(scene.name, None)
    for obj in shot_run.active_ragdolls(scene):
        obj.active_ragdoll.property_unset("cache_outdated")


def use_range(scene, frame_start: int, frame_end: int) -> None:
    """Simulate this range from now on; the scene's own range means no range of our own."""
    own = scene.active_ragdoll
    own.use_range = (frame_start, frame_end) != (scene.frame_start, scene.frame_end)
    own.frame_start, own.frame_end = frame_start, frame_end


def begin_render(scene) -> None:
    """Simulate and cache what a render will show, with a dependency graph of its own, or stop the render.

    Blender goes on whatever happens here, but not without a camera."""
    if not isinstance(scene, bpy.types.Scene) or scene.active_ragdoll.is_source:
        return
    try:
        for shown in shown_scenes(scene):
            _simulate_for_render(shown)
    except (Exception, KeyboardInterrupt) as error:
        known = isinstance(error, RagdollError)
        text = f"The render was stopped: {error if known else unforeseen(error)}"
        STATE.messages[scene.name] = text
        print(f"Active Ragdoll: {text}", file=sys.stderr, flush=True)
        options = sys.argv[: sys.argv.index("--")] if "--" in sys.argv else sys.argv
        if bpy.app.background and not {"-a", "--render-anim", "-f", "--render-frame"}.isdisjoint(options):
            os._exit(1)  # started to render a file, Blender tells by its exit code alone how that went
        STATE.cameras[scene.name] = scene.camera, scene.render.use_sequencer
        scene.camera, scene.render.use_sequencer = None, False  # strips bring cameras of their own
        if not known:
            raise
        return
    STATE.rendering = True


def end_render() -> None:
    """The render is over, however it ended."""
    STATE.rendering = False
    for name, (camera, use_sequencer) in STATE.cameras.items():
        if scene := bpy.data.scenes.get(name):
            scene.camera, scene.render.use_sequencer = camera, use_sequencer
    STATE.cameras.clear()


def shown_scenes(scene) -> list:
    """The scene and those that its render shows: background sets, strips of the sequencer, layers in the compositor."""
    found, waiting = [], [scene]
    while waiting:
        shown = waiting.pop()
        if shown is None or shown in found or shown.active_ragdoll.is_source:
            continue
        found.append(shown)
        waiting += [shown.background_set, *_others_in(shown)]
    return found


def _others_in(scene) -> list:
    """The scenes in the strips and nodes of a scene."""
    editor = scene.sequence_editor if scene.render.use_sequencer else None
    strips = getattr(editor, "strips_all", None) or getattr(editor, "sequences_all", ())  # until 4.4
    # Since 5.0 the compositor is a node group of the scene's.
    tree = scene.compositing_node_group if hasattr(scene, "compositing_node_group") else scene.node_tree
    nodes = tree.nodes if tree is not None and scene.render.use_compositing else ()
    found = [strip for strip in strips if strip.type == "SCENE"] + [node for node in nodes if node.type == "R_LAYERS"]
    return [each.scene for each in found if not each.mute]


def _simulate_for_render(scene) -> None:
    if scene.rigidbody_world is None or not shot_run.active_ragdolls(scene):
        return
    if scene.library is not None:  # whose cache is not shown either
        raise RagdollError(f"Scene '{scene.name}' is linked from '{scene.library.filepath}': bake its ragdolls there")
    if scene.name not in STATE.ranges and _is_cached(scene):  # a new shot: whichever of its frames are wanted
        return
    own = scene.active_ragdoll
    kept = own.use_range, own.frame_start, own.frame_end
    if not own.use_range:
        use_range(scene, *world.whole_shot(scene, (scene.frame_start, scene.frame_end)))
    try:
        if not _is_cached(scene):
            list(frames(scene))
    finally:
        own.use_range, own.frame_start, own.frame_end = kept


def _is_cached(scene) -> bool:
    """Whether a cache has all frames of the shot; one that the user baked is the user's."""
    cache = scene.rigidbody_world.point_cache
    if not cache.is_baked or not scene.active_ragdoll.cache_is_ours:
        return cache.is_baked
    first, last = world.shot_range(scene)
    return cache.frame_start <= first - world.WARM_UP and last <= world.last_good(scene)
