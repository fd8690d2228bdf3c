"""Final renders: they have a dependency graph of their own, so what they show is simulated before, and cached."""

import os
import sys

import bpy

from ...errors import RagdollError, unforeseen
from ..physics import built, world
from ..runtime import STATE
from . import shot_run, simulate


def begin(scene) -> None:
    """Simulate what a render will show, or stop the render.

    Blender goes on whatever happens here, but not without a camera.
    """
    if not isinstance(scene, bpy.types.Scene) or scene.active_ragdoll.is_source:
        return
    try:
        for shown in shown_scenes(scene):
            _simulate(shown)
    except (Exception, KeyboardInterrupt) as error:
        known = isinstance(error, RagdollError)
        text = f"The render was stopped: {error if known else unforeseen(error)}"
        STATE.messages[scene.name] = text
        print(f"Active Ragdoll: {text}", file=sys.stderr, flush=True)
        if _renders_for_command_line():
            os._exit(1)
        STATE.cameras[scene.name] = scene.camera
        scene.camera = None
        if not known:
            raise
        return
    STATE.rendering = True


def end() -> None:
    """The render is over, however it ended."""
    STATE.rendering = False
    for name, camera in STATE.cameras.items():
        if name in bpy.data.scenes:
            bpy.data.scenes[name].camera = camera
    STATE.cameras.clear()


def shown_scenes(scene) -> list:
    """The scene and those that its render shows: background sets, strips of the sequencer, layers in the compositor."""
    found = []
    waiting = [scene]
    while waiting:
        shown = waiting.pop()
        if shown is None or shown in found or shown.active_ragdoll.is_source:
            continue
        found.append(shown)
        waiting += [shown.background_set, *_in_strips(shown), *_in_nodes(shown)]
    return found


def _in_strips(scene) -> list:
    editor = scene.sequence_editor
    if editor is None or not scene.render.use_sequencer:
        return []
    strips = editor.strips_all if hasattr(editor, "strips_all") else editor.sequences_all  # since 4.4
    return [strip.scene for strip in strips if strip.type == "SCENE" and not strip.mute]


def _in_nodes(scene) -> list:
    # Since 5.0 the compositor is a node group of the scene's.
    tree = scene.compositing_node_group if hasattr(scene, "compositing_node_group") else scene.node_tree
    if tree is None or not scene.render.use_compositing:
        return []
    return [node.scene for node in tree.nodes if node.type == "R_LAYERS" and not node.mute]


def _simulate(scene) -> None:
    if scene.rigidbody_world is None or not shot_run.active_ragdolls(scene):
        return
    if scene.name not in STATE.ranges and _is_cached(scene):  # a new shot: whichever of its frames are wanted
        return
    own = scene.active_ragdoll
    kept = own.use_range, own.frame_start, own.frame_end
    if not own.use_range:
        simulate.use_range(scene, *_whole(scene, (scene.frame_start, scene.frame_end)))
    try:
        if not _is_cached(scene):
            for _frame in simulate.frames(scene):
                pass
    finally:
        own.use_range, own.frame_start, own.frame_end = kept


def _is_cached(scene) -> bool:
    """Whether a cache has all frames of the shot; one that the user baked is the user's."""
    cache = scene.rigidbody_world.point_cache
    if not cache.is_baked or not scene.active_ragdoll.cache_is_ours:
        return cache.is_baked
    first, last = world.shot_range(scene)
    return cache.frame_start <= first - world.WARM_UP and last <= world.last_good(scene)


def note_ranges() -> None:
    """A file was loaded: note its scenes' ranges, since a piece of a shot is rendered by changing them."""
    scenes = [scene for scene in bpy.data.scenes if built.ragdolls(scene)]
    STATE.ranges = {scene.name: (scene.frame_start, scene.frame_end) for scene in scenes}


def _whole(scene, wanted: tuple[int, int]) -> tuple[int, int]:
    """The frames to simulate for a render of some: a farm's pieces of a shot all begin at the shot's own start."""
    start, end = STATE.ranges.get(scene.name, wanted)
    is_piece = bpy.app.background and start <= wanted[0] <= wanted[1] <= end
    return (start, max(wanted[1], start + 1)) if is_piece else wanted


def _renders_for_command_line() -> bool:
    """Whether Blender was started to render a file, and tells by its exit code alone how it went."""
    options = sys.argv[: sys.argv.index("--")] if "--" in sys.argv else sys.argv
    return bpy.app.background and not {"-a", "--render-anim", "-f", "--render-frame"}.isdisjoint(options)
