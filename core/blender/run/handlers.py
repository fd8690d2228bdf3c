"""Frame, undo, load and render handlers. They decide what kind of frame comes; the pipeline does the work."""

import contextlib
import functools
import time

import bpy
from bpy.app.handlers import persistent

from ...errors import RagdollError, unforeseen
from ..physics import built, source, view_layers, world
from ..physics.remove import drop_source_scenes, interrupt
from ..runtime import STATE
from ..settings import saved
from ..stack import pose_stack
from . import pipeline, reconcile, shot_run, show, simulate

_HANDLERS = {}  # by the names of Blender's lists of handlers


def _handler(*names: str):
    """A handler of some names that stays when files are loaded and notes a KeyboardInterrupt, which Blender prints."""

    def handler(function):
        count = function.__code__.co_argcount  # Blender gives those of load and save one, all others two

        @persistent
        @functools.wraps(function, assigned=("__name__", "__doc__"))  # of this module, see `remove`
        def call(*given):
            STATE.follow_names()
            try:
                return function(*given[:count])
            except KeyboardInterrupt:
                STATE.interrupted = True
                raise

        _HANDLERS.update(dict.fromkeys(names, call))
        return call

    return handler


_handler("render_init")(simulate.begin_render)
_handler("render_complete", "render_cancel")(simulate.end_render)


@_handler("frame_change_pre")
def before_frame(scene, _graph=None) -> None:
    """Find out what kind of frame comes, and have it prepared."""
    own = scene.active_ragdoll
    if STATE.busy or own.is_source:
        return
    began = time.perf_counter()
    if _shows_without_run(scene, own):
        return
    if scene.name in STATE.runs and own.source is None:
        _end(scene, f"The hidden source of scene '{scene.name}' was deleted: begin at the shot's first frame again")
    frame, (first, last) = scene.frame_current, world.shot_range(scene)
    if _leaves_first(scene, frame, first, last):
        scene.frame_set(first)
        view_layers.stand_at(scene, frame)
    run = STATE.runs.get(scene.name)
    try:
        posed = ()
        if run is None or frame == first:
            reconcile.reconcile(scene, ragdolls=frame == first)
        if frame == first:
            pose_stack.forget()
            STATE.clips.mark()
        if frame == first and built.ragdolls(scene) and not _is_same_change(scene):
            STATE.broken.discard(scene.name)
            STATE.runs.pop(scene.name, None)
            _forget_trouble(scene)
            run = STATE.runs[scene.name] = pipeline.start(scene)
            posed = run.characters
        elif run is not None and run.frame is not None and frame == run.frame + 1 and frame <= last:
            _refuse_evaluated(run, scene)
            _observe(run, scene)  # another view layer was played than the one that steps
            pipeline.step(run, scene)
            posed = run.characters
        elif run is not None and frame == run.frame:
            return
        else:
            if run is not None and run.frame is not None and first < frame < run.frame and _is_playing():
                show.tell_gone_back(scene, run.frame)
            show.show_other(run, scene)
            if run is None and frame > first + 1 and _is_playing() and _last_shown(scene) == first:
                show.tell_left_out(scene, first)
        pose_stack.show(scene, [character.name for character in posed])
        view_layers.lead(scene)
    except (RagdollError, ReferenceError) as error:
        _stop(scene, run, error)
        if frame == first:
            if _is_stepping(scene):
                with STATE.writing():
                    world.halt(scene)  # which may hold joints that are not evaluated any more
            interrupt(scene)  # what the last run showed
        return
    except (Exception, KeyboardInterrupt) as error:
        _stop(scene, run, unforeseen(error))
        raise  # Blender prints where it was
    finally:
        if scene.frame_current != frame:  # ended in the warm-up
            view_layers.stand_at(scene, frame)
    if run is not None:
        run.seconds["source"].append(run.source_seconds)
        run.seconds["own"].append(time.perf_counter() - began - run.source_seconds)
        run.source_seconds = 0.0


def _shows_without_run(scene, own) -> bool:
    """Show a frame without characters, of a baked cache, a final render or between two whole ones; whether it was."""
    graph = view_layers.depsgraph_of(scene)
    # What a script edited, brought or took away before it went on at once is tagged for an update.
    tagged = bool(getattr(graph, "updates", True))
    show.show_guests(scene, tagged)
    if not own.has_characters:
        return True
    if scene.rigidbody_world is not None and scene.rigidbody_world.point_cache.is_baked:
        if own.cache_is_ours:
            show.show_cached(scene)
        pose_stack.show(scene)
        return True
    if own.cache_is_ours:  # Blender's own button has deleted it
        simulate.forget(scene)
    if tagged or STATE.stepped.get(scene.name, "") not in scene.view_layers:
        _end_if_spoilt(scene, graph)
    if STATE.rendering or (scene.frame_subframe != 0.0 and scene.name not in STATE.runs):
        pose_stack.show(scene)
    return STATE.rendering or scene.frame_subframe != 0.0


def _refuse_evaluated(run, scene) -> None:
    """Raises RagdollError where Bullet has stepped before the drives were set for the frame."""
    if view_layers.frame_of(run.graph) == scene.frame_current:
        interrupt(scene)
        what = f"Frame {scene.frame_current} was evaluated before the physics was prepared for it"
        raise RagdollError(f"{what}, by a script or another extension: begin at the shot's first frame again")


def _leaves_first(scene, frame: int, first: int, last: int) -> bool:
    """Whether the scene steps from the first frame without a run there, as after a build, a load or an undo at it."""
    run = STATE.runs.get(scene.name)
    if frame != first + 1 or frame > last or (run is not None and run.frame == run.first == first):
        return False
    return _last_shown(scene) == first and bool(built.ragdolls(scene))


def _is_playing() -> bool:
    """Whether a window plays; in the background there is none."""
    manager = bpy.context.window_manager
    return any(window.screen.is_animation_playing for window in (manager.windows if manager else ()))


def _last_shown(scene) -> int | None:
    """The frame that the scene showed before this change of frame."""
    shown = view_layers.frame_of(view_layers.depsgraph_of(scene))
    if shown is not None and shown != scene.frame_current:
        return shown
    # Operators called by scripts evaluate the new frame before this handler comes.
    return STATE.evaluated.get(scene.name, (None, -1))[0]


def _is_same_change(scene) -> bool:
    """Whether the next view layer is evaluated in the same change of frame: `frame_set` evaluates one by one."""
    frame, index = STATE.evaluated.get(scene.name, (None, -1))
    return frame == scene.frame_current and 0 <= index < len(scene.view_layers) - 1


def _note_evaluated(scene, graph) -> None:
    """Note the frame and the view layer that were just evaluated. A single view layer need not be told apart."""
    if len(scene.view_layers) == 1:
        STATE.evaluated[scene.name] = scene.frame_current, -1
        return
    index = next((i for i, layer in enumerate(scene.view_layers) if layer.depsgraph == graph), -1)
    if _is_same_change(scene) and index != STATE.evaluated[scene.name][1] + 1:
        run = STATE.runs.get(scene.name)
        if run is not None and run.frame == run.first == scene.frame_current:
            del STATE.runs[scene.name]  # that frame is shown anew: a new run begins with the next step
    STATE.evaluated[scene.name] = scene.frame_current, index


def _forget_trouble(scene) -> None:
    """Drop the message of what ended the last run, as a new one begins."""
    if text := STATE.messages.pop(scene.name, None):
        for obj in built.ragdolls(scene):
            if STATE.messages.get(obj.name) == text:
                del STATE.messages[obj.name]


def _stop(scene, run, trouble) -> None:
    """End a run with a message, or an error; its last good frames stay in the cache."""
    text = str(trouble)
    if isinstance(trouble, ReferenceError):  # Blender's own words name nothing
        text = f"Something of the ragdolls of scene '{scene.name}' was deleted: begin at the shot's first frame again"
    STATE.runs.pop(scene.name, None)
    if run is not None:
        for effect in run.effects.values():
            effect.finish(run)
    for obj in shot_run.active_ragdolls(scene):
        STATE.messages[obj.name] = text
    STATE.messages[scene.name] = text
    print(f"Active Ragdoll: {text}")


@_handler("frame_change_post")
def after_frame(scene, graph=None) -> None:
    """Observe what a step has led to."""
    world.note_frame(scene)
    if STATE.busy or scene.active_ragdoll.is_source:
        return
    _note_evaluated(scene, graph)
    run = STATE.runs.get(scene.name)
    if run is not None and run.frame == scene.frame_current and graph == run.graph:
        _observe(run, scene)


def _observe(run, scene) -> None:
    """Observe a frame of a run, once, after it has been evaluated."""
    if run.observed == run.frame:
        return
    began = time.perf_counter()
    run.observed = run.frame
    try:
        pipeline.observe(run, scene)
        if run.frame == run.first:  # what is edited by hand from now on is told by what is posed now
            for character in run.characters:
                source.carry_edits(character.obj)
    except (RagdollError, ReferenceError) as error:
        _stop(scene, run, error)
    except (Exception, KeyboardInterrupt) as error:
        _stop(scene, run, unforeseen(error))
        raise
    run.seconds["own"][-1] += time.perf_counter() - began


@_handler("depsgraph_update_post")
def after_update(scene, graph=None) -> None:
    """See what has been edited, renamed or deleted since the scene was last evaluated."""
    world.note_frame(scene)
    if graph is None:
        return
    if graph.mode == "VIEWPORT":  # it was updated on its own: from now on Blender lets it step the world
        STATE.can_step.add((graph.scene.name, graph.view_layer.name))
    STATE.clips.mark(graph)  # actions that were edited are sampled anew
    if STATE.busy or scene.active_ragdoll.is_source:
        return
    show.show_arrived(scene)
    if not scene.active_ragdoll.has_characters:
        return
    objects = [u for u in graph.updates if isinstance(u.id, bpy.types.Object)]
    moved = {u.id.original for u in objects if u.is_updated_transform}
    with contextlib.suppress(ReferenceError, KeyError):  # something was deleted: the next frame tells
        pose_stack.after_edits(scene, moved, moved | {u.id.original for u in objects if u.is_updated_geometry})
        if scene.name in STATE.runs:
            show.show_again(STATE.runs[scene.name], scene)
    _end_if_spoilt(scene, graph)


def _is_stepping(scene) -> bool:
    """Whether Bullet has a world for the scene that steps with the next frame."""
    now = scene.rigidbody_world
    return scene.name in STATE.live_worlds and now is not None and not now.point_cache.is_baked


def _end_if_spoilt(scene, graph) -> None:
    """End the run where Bullet's next step would crash, by what a dependency graph tells to be updated.

    That is where bodies or joints of its world were deleted, or the joints were copied anew, which frees what the world
    still holds: those of a view layer that has gone, one that was edited or renamed, and all of them where bones were
    added, removed or renamed.
    """
    if STATE.building or not _is_stepping(scene):
        return
    run, again, text = STATE.runs.get(scene.name), "begin at the shot's first frame again", ""
    if graph.id_type_updated("ARMATURE"):
        name = shot_run.with_other_bones(run, scene)
        text = f"Bones of '{name}' were added, removed or renamed: {again}" if name else ""
    if not text and STATE.stepped.get(scene.name, "") not in scene.view_layers:
        text = "The view layer of the simulation was removed or renamed"
        text = f"{text}: {'save the file and open it anew' if world.IS_42 else again}"
    if not text and world.has_lost_members(scene):
        text = f"A rigid body or a joint of scene '{scene.name}' was deleted, or a joint renamed: {again}"
        try:
            for obj in built.ragdolls(scene):
                shot_run.check_parts(obj)
        except RagdollError as error:
            text = str(error)
    if not text and run is not None:
        joint = _edited_joint(run, graph)
        text = f"The joint '{joint}' was edited: {again}" if joint else ""
    if text:
        _end(scene, text)


def _edited_joint(run, graph) -> str:
    """The name of a joint that was edited, by hand or by a script; "" where there is none."""
    updated = {update.id.name for update in graph.updates}
    if all(target.name in updated for character in run.characters for target in character.targets.objects):
        return ""  # somebody else's frame handler updates the scene: Blender tells once more what the frame has changed
    for update in graph.updates:
        joint = update.id
        if isinstance(joint, bpy.types.Object) and joint.rigid_body_constraint is not None:
            carried = update.is_updated_transform and joint.parent is not None
            if not (carried or update.is_updated_shading):  # the latter where Blender looks anew at all that depends
                return joint.name
    return ""


def _end(scene, text: str) -> None:
    """End the run and keep its world from stepping; it is made anew at the shot's first frame."""
    _stop(scene, STATE.runs.get(scene.name), text)
    interrupt(scene)
    now, shown = scene.frame_current, STATE.evaluated.get(scene.name, (None, -1))[0]
    with STATE.occupied():
        # A script went on at once: first Blender looks at what was changed, without a step.
        if shown not in (None, now):
            view_layers.stand_at(scene, shown)
            view_layers.stepping_layer(scene).update()
            view_layers.stand_at(scene, now)
        world.halt(scene)


@_handler("undo_pre", "redo_pre")
def before_undo() -> None:
    """Let go of joints, since Blender is about to free bodies that their copies look at; also without a run of ours."""
    for scene in _with_world(STATE.worlds_with_joints | {s.name for s in bpy.data.scenes if built.ragdolls(s)}):
        world.clear_old(scene)
        world.release(scene)
        if scene != bpy.context.scene and _is_stepping(scene):  # which an undo sets aside, and frees its bodies
            world.replace(scene)
    STATE.worlds_with_joints.clear()


@_handler("undo_post", "redo_post")
def after_undo() -> None:
    """End the runs, because bodies and joints may have been replaced."""
    reconcile.mend()
    break_runs()
    STATE.unstepped.clear()
    STATE.released.clear()
    _note_frames()
    STATE.clips.clear()
    pose_stack.forget()
    for scene in filter(_is_stepping, bpy.data.scenes):  # a baked world does not step, and keeps its cache
        world.halt(scene)
    view_layers.renew()


def _with_world(names: set) -> list:
    """The scenes with a rigid body world among some names."""
    return [scene for scene in bpy.data.scenes if scene.name in names and scene.rigidbody_world is not None]


def _note_frames() -> None:
    """Note the frames at which scenes stand after a load or an undo."""
    STATE.evaluated = {scene.name: (scene.frame_current, -1) for scene in bpy.data.scenes}


def break_runs() -> None:
    """End all runs. Those in mid-shot are marked as broken: they start again from the shot's first frame."""
    for scene in bpy.data.scenes:
        if scene.active_ragdoll.source:
            interrupt(scene)
    STATE.shown = ()
    STATE.runs.clear()


@_handler("load_pre")
def leave_worlds() -> None:
    """Before a file is loaded, and when the handlers go: end all runs where Blender would crash otherwise."""
    if not world.IS_42:
        return
    with STATE.occupied():
        for scene in _with_world(STATE.worlds_with_joints):
            world.clear(scene)
    break_runs()


@_handler("load_post")
def after_load() -> None:
    """Begin anew with what was loaded, brought up to date."""
    STATE.clear()
    saved.mend_values()
    _note_frames()
    # A piece of a shot is rendered by changing the range.
    STATE.ranges = {s.name: (s.frame_start, s.frame_end) for s in bpy.data.scenes if s.active_ragdoll.has_characters}
    saved.restore_overrides()
    saved.bring_up()
    reconcile.mend()
    drop_source_scenes()  # those of scenes that were deleted, when there was nothing left to remove


@_handler("save_pre")
def before_save() -> None:
    """Note what a file has to keep."""
    saved.keep_overrides()
    saved.note_version()


def add() -> None:
    """Install the handlers, once each."""
    remove()
    for name, function in _HANDLERS.items():
        getattr(bpy.app.handlers, name).append(function)


def remove() -> None:
    """Remove our handlers, also those left by an earlier load of this module."""
    for name in _HANDLERS:
        installed = getattr(bpy.app.handlers, name)
        installed[:] = [other for other in installed if getattr(other, "__module__", None) != __name__]
    STATE.clear()
