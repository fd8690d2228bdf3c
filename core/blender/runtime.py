"""What a session knows about its runs. Nothing of it is in the file; `STATE.clear()` forgets it all."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partialmethod

import bpy

from .rig.clips import ClipCache


@dataclass
class State:
    """Run-time state of all scenes. What is said of a scene or a character is kept by its name."""

    runs: dict = field(default_factory=dict)  # the run of each scene
    busy: bool = False  # a handler itself moves a scene through frames
    building: bool = False  # operators write settings: update callbacks must not take them for edits
    interrupted: bool = False  # Ctrl-C came while a handler ran, from which Blender does not let it out
    cameras: dict = field(default_factory=dict)  # of scenes whose render is being stopped; see `simulate.begin_render`
    ranges: dict = field(default_factory=dict)  # first and last frame of scenes with characters as they were loaded
    rendering: bool = False  # between render_init and render_complete or render_cancel

    # Scenes and their rigid body worlds:
    live_worlds: set = field(default_factory=set)  # a run has filled the world
    halted_worlds: set = field(default_factory=set)  # it must not step before it is made anew at a first frame
    worlds_with_joints: set = field(default_factory=set)  # joints may hold on to bodies, also of worlds that are gone
    made_with: dict = field(default_factory=dict)  # how many bodies and which joints it was made with
    members: dict = field(default_factory=dict)  # and those that have come since
    stepped: dict = field(default_factory=dict)  # the view layer that steps it, whose joints Bullet may hold
    can_step: set = field(default_factory=set)  # (scene, view layer) of those that Blender lets step a world
    evaluated: dict = field(default_factory=dict)  # frame evaluated last, index of the view layer (-1: of no matter)
    unstepped: dict = field(default_factory=dict)  # frame at which the scene has stood since its world was made
    released: dict = field(default_factory=dict)  # the same since Bullet was made to forget its joints
    at_rest: set = field(default_factory=set)  # no run has shown bodies since its end was shown
    broken: set = field(default_factory=set)  # undo, redo, a load or a new build has ended the run in mid-shot

    names: dict = field(default_factory=dict)  # by the number that a scene has for the session
    shown: tuple = ()  # the scene shown last, and its characters that have their ragdoll in another one

    # Characters:
    messages: dict = field(default_factory=dict)  # last trouble, shown in the sidebar; of scenes, too
    warnings: dict = field(default_factory=dict)  # of the last run, which did not stop it
    limits: dict = field(default_factory=dict)  # last report of Check Limits
    controls: dict = field(default_factory=dict)  # what Find Controls told, and what that holds for: `bake.searched`
    diagnoses: dict = field(default_factory=dict)  # what Diagnose last found, shown in the sidebar
    upright: dict = field(default_factory=dict)  # why they cannot get up over hands and feet; of which build
    motions: dict = field(default_factory=dict)  # motion stacks, each with its record of states
    stamps: dict = field(default_factory=dict)  # what the source was last brought in line with; see `source.Stamp`
    waiting: set = field(default_factory=set)  # the stack is to be shown anew once Blender is idle
    readings: dict = field(default_factory=dict)  # what graphs read from the ragdoll, by frame
    gaits: dict = field(default_factory=dict)  # animations of characters that keep their balance, by frame
    figures: dict = field(default_factory=dict)  # what the overlay draws; see `viewport.Cached`
    plans: dict = field(default_factory=dict)  # the passage that was drawn last as a way up, and its lines
    dragged: tuple = ()  # ends [2, 3] of what is being moved of the way up
    pointed: str = ""  # bone below the pointer as the pie of what happens from here was opened
    drawing: str = ""  # what went wrong while the overlay was drawn: it rests until it is switched on again
    clips: ClipCache = field(default_factory=ClipCache)  # actions sampled for layers

    def clear(self) -> None:
        """Forget everything, as after loading a file."""
        self.__init__()

    def follow_names(self) -> None:
        """Keep what is known of a scene under its present name, so that renaming it changes nothing."""
        known_as, self.names = self.names, {scene.session_uid: scene.name for scene in bpy.data.scenes}
        for number, name in self.names.items() if known_as != self.names else ():
            before = known_as.get(number, name)
            for known in vars(self).values() if before != name else ():
                if isinstance(known, dict) and before in known:
                    known[name] = known.pop(before)
                elif isinstance(known, set):
                    pairs = {key for key in known if isinstance(key, tuple) and key[0] == before}
                    renamed = {(name, *key[1:]) for key in pairs} | ({name} if before in known else set())
                    known -= pairs | {before}
                    known |= renamed

    @contextmanager
    def _while(self, flag: str):
        before = getattr(self, flag)
        setattr(self, flag, True)
        try:
            yield
        finally:
            setattr(self, flag, before)

    # Contexts in which we move a scene through frames ourselves, and our handlers take no part in it; and in which we
    # write settings ourselves, and their update callbacks do not take it for edits.
    occupied, writing = partialmethod(_while, "busy"), partialmethod(_while, "building")

    def warn(self, name: str, text: str) -> None:
        """Note and print, once, what is wrong with a character though its run goes on."""
        notes = self.warnings.setdefault(name, [])
        if text not in notes:
            notes.append(text)
            print(f"Active Ragdoll: {text}")


STATE = State()


def settings_changed(owner, layout: bool = False, stack: bool = True) -> None:
    """Have the run read the settings again, and tell that the cache is outdated; called by update callbacks. With
    `layout` the ragdoll has to be built anew, with `stack` the motion stack: not for what that reads at each frame."""
    if STATE.building or not isinstance(owner, bpy.types.Object):
        return
    if stack:
        STATE.motions.pop(owner.name, None)
    if owner.name in STATE.stamps:
        STATE.stamps[owner.name].settings = False
    if not owner.active_ragdoll.is_ragdoll:
        return
    for run in STATE.runs.values():
        run.settings_dirty = True
    settings = owner.active_ragdoll
    if layout and not settings.layout_changed:
        settings.layout_changed = True
    scene = settings.scene
    world = scene.rigidbody_world if scene else None
    if world and world.point_cache.is_baked and not settings.cache_outdated:
        settings.cache_outdated = True


def state_of(obj) -> str:
    """The value of `Object.active_ragdoll.run_state`."""
    settings = obj.active_ragdoll
    if not settings.is_ragdoll:
        return "NONE"
    if settings.muted:
        return "BAKED"
    scene, shown = settings.scene, bpy.context.scene
    if scene is None or scene.library is not None or (scene != shown and obj.name in shown.objects):
        return "ELSEWHERE"
    world = scene.rigidbody_world
    if world is None:
        return "READY"
    if world.point_cache.is_baked:
        return "CACHED"
    if scene.name in STATE.broken:
        return "BROKEN"
    run = STATE.runs.get(scene.name)
    shown = run is not None and run.shows(scene.frame_current) and scene.frame_subframe == 0.0
    return "LIVE" if shown and world.enabled and world.time_scale > 0.0 else "READY"
