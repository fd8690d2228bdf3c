"""What a session knows about its runs. Nothing of it is in the file; `STATE.clear()` forgets it all."""

from contextlib import contextmanager
from dataclasses import dataclass, field

import bpy

from .rig.clips import ClipCache


@dataclass
class State:
    """Run-time state of all scenes.

    Attributes:
        runs: the run of each scene by the scene's name.
        busy: set while a handler itself moves a scene through frames.
        building: set while operators write settings, so that update callbacks do not take them for edits.
        interrupted: Ctrl-C came while a handler ran, from which Blender does not let it out.
        cameras: of scenes whose render is being stopped; see `handlers.before_render`.
        rendering: set between render_init and render_complete or render_cancel.
        alive: scenes whose rigid body world a run has filled.
        halted: scenes whose world must not step before it is made anew at a first frame.
        made_with: names of the joints that a scene's world was last made with; before Blender 4.3.
        stepped: by scene, the view layer that steps it, whose copies of the joints Bullet may hold.
        evaluated: by scene, the frame evaluated last and the index of the view layer (-1: unknown).
        can_step: (scene, view layer) of those that Blender lets step a world.
        unstepped: by scene, the frame at which it has stood since its world was made.
        released: by scene, the frame at which it has stood since Bullet was made to forget its joints.
        members: by scene, how many bodies and joints its world has had.
        joined: scenes whose joints may hold on to bodies, also of worlds that are no more.
        broken: scenes whose run was interrupted in mid-shot (undo, redo, load, a ragdoll built anew or removed).
        messages: last trouble by object name, shown in the sidebar.
        warnings: of the last run by object name, which did not stop it.
        limits: last `diagnose.Report` by object name.
        records: of recoveries in the file by object name, with the text they were read from.
        motions: motion stacks by object name, each with its record of states.
        stamps: by object name, what of a character its source was last brought in line with; see `source.Stamp`.
        edited: characters whose settings were edited since their stack was last shown.
        diagnoses: what `diagnose` last found by object name, shown in the sidebar.
        readings: what graphs read from ragdolls by object name and frame.
        waiting: stacks are to be shown anew once Blender is idle.
        figures: what the overlay draws by object name; see `viewport.Cached`.
        drawing: what went wrong while the overlay was drawn: it rests until it is switched on again.
        clips: actions sampled for layers, samples and states.
    """

    runs: dict = field(default_factory=dict)
    busy: bool = False
    building: bool = False
    interrupted: bool = False
    cameras: dict = field(default_factory=dict)
    rendering: bool = False
    alive: set = field(default_factory=set)
    halted: set = field(default_factory=set)
    made_with: dict = field(default_factory=dict)
    stepped: dict = field(default_factory=dict)
    evaluated: dict = field(default_factory=dict)
    can_step: set = field(default_factory=set)
    unstepped: dict = field(default_factory=dict)
    released: dict = field(default_factory=dict)
    members: dict = field(default_factory=dict)
    joined: set = field(default_factory=set)
    broken: set = field(default_factory=set)
    messages: dict = field(default_factory=dict)
    warnings: dict = field(default_factory=dict)
    limits: dict = field(default_factory=dict)
    records: dict = field(default_factory=dict)
    motions: dict = field(default_factory=dict)
    stamps: dict = field(default_factory=dict)
    edited: set = field(default_factory=set)
    diagnoses: dict = field(default_factory=dict)
    readings: dict = field(default_factory=dict)
    waiting: bool = False
    figures: dict = field(default_factory=dict)
    drawing: str = ""
    clips: ClipCache = field(default_factory=ClipCache)

    def clear(self) -> None:
        """Forget everything, as after loading a file."""
        self.__init__()

    @contextmanager
    def occupied(self):
        """While we move a scene through frames ourselves: our handlers take no part in it."""
        was_busy, self.busy = self.busy, True
        try:
            yield
        finally:
            self.busy = was_busy

    @contextmanager
    def writing(self):
        """While we write settings ourselves: their callbacks do not take it for edits."""
        was_building, self.building = self.building, True
        try:
            yield
        finally:
            self.building = was_building

    def warn(self, name: str, text: str) -> None:
        """Tell of something wrong with a character that the run goes on without; once."""
        notes = self.warnings.setdefault(name, [])
        if text not in notes:
            notes.append(text)
            print(f"Active Ragdoll: {text}")


STATE = State()


def settings_changed(owner, layout: bool = False, stack: bool = True) -> None:
    """Called by the settings' update callbacks: the run reads them again, the cache is out of date.

    Args:
        stack: the motion stack must be made anew; not for what its entries read on every frame.
    """
    if STATE.building or not isinstance(owner, bpy.types.Object):
        return
    if stack:
        STATE.motions.pop(owner.name, None)
    STATE.edited.add(owner.name)
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
    scene = settings.scene
    if scene is None or scene.rigidbody_world is None:
        return "READY"
    if scene.rigidbody_world.point_cache.is_baked:
        return "CACHED"
    if scene.name in STATE.broken:
        return "BROKEN"
    run = STATE.runs.get(scene.name)
    return "LIVE" if run is not None and run.shows(scene.frame_current) else "READY"
