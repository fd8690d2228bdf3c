"""Frame, undo, load and render handlers. They decide what kind of frame comes; the pipeline does the work."""

import contextlib
import time

import bpy
from bpy.app.handlers import persistent

from ..errors import RagdollError
from . import (
    attachments,
    hits,
    motion,
    motion_setup,
    motion_show,
    override_kept,
    pipeline,
    shot_run,
    showing,
    undo_mending,
    world,
)
from .remove import interrupt
from .runtime import STATE


class Clock:
    """Adds up the time of one frame: all of our own Python, and the source scene's evaluation apart."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.apart = {}

    def __call__(self, name, function, *args):
        began = time.perf_counter()
        result = function(*args)
        self.apart[name] = self.apart.get(name, 0.0) + time.perf_counter() - began
        return result

    def note(self, run) -> None:
        """Append this frame's seconds to the run's."""
        total = time.perf_counter() - self.began
        run.seconds["source"].append(self.apart.get("source", 0.0))
        run.seconds["own"].append(total - sum(self.apart.values()))


def _concerns(scene) -> bool:
    own = scene.active_ragdoll
    return not (STATE.busy or own.is_source or own.source is None)


@persistent
def before_frame(scene, _graph=None) -> None:
    """frame_change_pre"""
    if not _concerns(scene):
        return
    run = STATE.runs.get(scene.name)
    cache_baked = scene.rigidbody_world is not None and scene.rigidbody_world.point_cache.is_baked
    if cache_baked:
        if scene.active_ragdoll.cache_is_ours:
            showing.show_cached(scene)
        motion.show(scene)
        return
    if STATE.rendering:
        motion.show(scene)
        return
    first, last = world.shot_range(scene)
    frame = scene.frame_current
    if scene.frame_subframe != 0.0:
        return
    clock = Clock()
    try:
        posed, stacked = (), None
        if run is None or frame == first:
            _part_duplicates(scene, frame == first)
        if frame == first:
            motion.forget()
            STATE.clips.verify_all()
        if frame == first and shot_run.ragdolls(scene):
            STATE.broken.discard(scene.name)
            STATE.runs.pop(scene.name, None)
            _forget_trouble(scene)
            run = STATE.runs[scene.name] = pipeline.start(scene, clock)
            posed = run.names
        elif run is not None and run.frame is not None and frame == run.frame + 1 and frame <= last:
            pipeline.step(run, scene, clock)
            posed, stacked = run.names, _stacked(run, scene)
        elif run is not None and frame == run.frame:
            return
        else:
            showing.show_other(run, scene)
        motion.show(scene, posed, stacked)
    except (RagdollError, ReferenceError) as error:
        _stop(scene, run, str(error))
        return
    except Exception as error:
        _stop(scene, run, _unforeseen(error))
        raise  # Blender prints where it was
    if run is not None:
        clock.note(run)


def _part_duplicates(scene, ragdolls: bool) -> None:
    was_busy, STATE.busy = STATE.busy, True
    try:
        motion_setup.part_duplicates(scene, ragdolls)
    finally:
        STATE.busy = was_busy


def _stacked(run, scene) -> list:
    """The scene's characters that have a motion stack, looked for again when one was deleted."""
    try:
        if run.stacked is not None and all(obj.name for obj in run.stacked):
            return run.stacked
    except ReferenceError:
        pass
    run.stacked = motion.motions(scene)
    return run.stacked


def _unforeseen(error: Exception) -> str:
    """A run that went on after a mistake of ours would show a pose of some other frame."""
    return f"An error in Active Ragdoll, see the console: {type(error).__name__}: {error}"


def _forget_trouble(scene) -> None:
    """What ended the last run is told no more when a new one begins."""
    text = STATE.messages.pop(scene.name, None)
    for obj in shot_run.ragdolls(scene) if text is not None else ():
        if STATE.messages.get(obj.name) == text:
            del STATE.messages[obj.name]


def _stop(scene, run, text) -> None:
    """End a run for good; its last good frames stay in the cache."""
    STATE.runs.pop(scene.name, None)
    if run is not None:
        hits.let_go(run)
        attachments.let_go(run)
    for obj in shot_run.active_ragdolls(scene):
        STATE.messages[obj.name] = text
    STATE.messages[scene.name] = text
    print(f"Active Ragdoll: {text}")


@persistent
def after_frame(scene, _graph=None) -> None:
    """frame_change_post"""
    if not _concerns(scene):
        return
    run = STATE.runs.get(scene.name)
    if run is None or run.frame != scene.frame_current or run.observed == run.frame:
        return
    began = time.perf_counter()
    if run.frame == run.first:
        pipeline.release(run, scene)
    run.observed = run.frame
    try:
        pipeline.observe(run, scene)
    except (RagdollError, ReferenceError) as error:
        _stop(scene, run, str(error))
    except Exception as error:
        _stop(scene, run, _unforeseen(error))
        raise
    run.seconds["own"][-1] += time.perf_counter() - began


@persistent
def after_edit(scene, graph=None) -> None:
    """depsgraph_update_post: a character or what it looks at was moved, posed or edited by hand.

    A run's physics is shown again where the edit has hidden it.
    """
    if graph is None or not _concerns(scene):
        return
    if scene.name in STATE.runs:
        with contextlib.suppress(ReferenceError, KeyError):  # something was deleted: the next frame tells
            showing.show_again(STATE.runs[scene.name], scene)
    if not STATE.motions:
        return
    objects = [u for u in graph.updates if isinstance(u.id, bpy.types.Object)]
    moved = {u.id.name for u in objects if u.is_updated_transform}
    motion_show.after_edits(scene, moved, moved | {u.id.name for u in objects if u.is_updated_geometry})


@persistent
def after_update(_scene=None, graph=None) -> None:
    """depsgraph_update_post: actions that were edited are sampled anew."""
    if graph is not None and len(STATE.clips):
        STATE.clips.mark(graph)


@persistent
def after_bones_changed(scene, graph=None) -> None:
    """depsgraph_update_post: bones of a character were added, removed or renamed while its world is alive.

    Renaming has Blender copy all objects anew, the joints too, whose constraints Bullet's world still holds: the next
    step would crash.
    """
    if graph is None or scene.name not in STATE.alive or not graph.id_type_updated("ARMATURE") or not _concerns(scene):
        return
    if scene.rigidbody_world is None or scene.rigidbody_world.point_cache.is_baked:
        return
    run = STATE.runs.get(scene.name)
    names = [obj.name for obj in shot_run.ragdolls(scene) if shot_run.has_other_bones(run, obj)]
    if not names:
        return
    _stop(scene, run, f"Bones of '{names[0]}' were added, removed or renamed: begin at the shot's first frame again")
    interrupt(scene)
    if bpy.app.version < world.JOINTS_LEAVE_BODIES:
        return  # there nothing helps: the bodies look at joints that are gone as soon as they are freed
    was_busy, STATE.busy = STATE.busy, True
    try:
        world.halt(scene)
    finally:
        STATE.busy = was_busy


@persistent
def before_undo(_scene=None, _graph=None) -> None:
    """undo_pre, redo_pre: Blender is about to free bodies that the copies of their joints still look at."""
    for scene in _with_world(STATE.joined):
        world.clear_old(scene)
        if scene.rigidbody_world.constraints is not None:
            world.release(scene, scene.rigidbody_world.constraints.all_objects)
    STATE.joined.clear()


@persistent
def after_undo(_scene=None, _graph=None) -> None:
    """undo_post, redo_post: bodies and joints may be others now, so the run cannot go on."""
    undo_mending.mend()
    break_runs()
    STATE.clips.clear()
    motion.forget()
    for scene in _with_world(STATE.alive):
        if not scene.rigidbody_world.point_cache.is_baked:  # a baked world does not step, and keeps its cache
            world.halt(scene)


def _with_world(names: set) -> list:
    """Those of some scenes that have a rigid body world."""
    return [scene for scene in bpy.data.scenes if scene.name in names and scene.rigidbody_world is not None]


def break_runs() -> None:
    """Mark every run in mid-shot as broken; the shot starts again from its first frame."""
    for scene in bpy.data.scenes:
        if scene.active_ragdoll.source:
            interrupt(scene)
    STATE.runs.clear()


@persistent
def before_load(_file=None) -> None:
    """load_pre"""
    if bpy.app.version >= world.JOINTS_LEAVE_BODIES:
        return
    was_busy, STATE.busy = STATE.busy, True
    try:
        for scene in _with_world(STATE.joined):
            world.clear(scene)
    finally:
        STATE.busy = was_busy
    break_runs()


@persistent
def after_load(_file=None) -> None:
    """load_post"""
    STATE.clear()
    shot_run.forget()
    override_kept.restore()


@persistent
def before_save(_file=None) -> None:
    """save_pre"""
    override_kept.keep()


@persistent
def before_render(scene, _graph=None) -> None:
    """render_init: a final render has its own dependency graph, so it needs a baked cache."""
    if not isinstance(scene, bpy.types.Scene) or scene.active_ragdoll.is_source:
        return
    now = scene.rigidbody_world
    if now is not None and not now.point_cache.is_baked and shot_run.active_ragdolls(scene):
        from . import simulate

        for _frame in simulate.frames(scene):
            pass
    STATE.rendering = True


@persistent
def after_render(_scene=None, _graph=None) -> None:
    """render_complete, render_cancel"""
    STATE.rendering = False


_HANDLERS = (
    ("frame_change_pre", before_frame),
    ("frame_change_post", after_frame),
    ("depsgraph_update_post", after_update),
    ("depsgraph_update_post", after_edit),
    ("depsgraph_update_post", after_bones_changed),
    ("undo_pre", before_undo),
    ("redo_pre", before_undo),
    ("undo_post", after_undo),
    ("redo_post", after_undo),
    ("load_pre", before_load),
    ("load_post", after_load),
    ("save_pre", before_save),
    ("render_init", before_render),
    ("render_complete", after_render),
    ("render_cancel", after_render),
)


def add() -> None:
    """Install the handlers, once each."""
    remove()
    for name, function in _HANDLERS:
        getattr(bpy.app.handlers, name).append(function)


def remove() -> None:
    """Take our handlers out again, also copies left by an earlier load of this module."""
    for name, function in _HANDLERS:
        installed = getattr(bpy.app.handlers, name)
        for other in [
            f for f in installed if getattr(f, "__module__", None) == __name__ and f.__name__ == function.__name__
        ]:
            installed.remove(other)
    STATE.clear()
