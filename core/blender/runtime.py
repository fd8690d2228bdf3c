"""What a session knows about its runs. Nothing of it is in the file; `STATE.clear()` forgets it all."""

from dataclasses import dataclass, field

import bpy

from .clip_cache import ClipCache


@dataclass
class State:
    """Run-time state of all scenes.

    Attributes:
        runs: the run of each scene by the scene's name.
        busy: set while a handler itself moves a scene through frames.
        building: set while operators write settings, so that update callbacks do not take them for edits.
        rendering: set between render_init and render_complete or render_cancel.
        alive: scenes whose rigid body world a run has filled.
        halted: scenes whose world must not step before it is made anew at a first frame.
        made_with: names of the joints that a scene's world was last made with; before Blender 4.3.
        joined: scenes whose joints may hold on to bodies, also of worlds that are no more.
        broken: scenes whose run was interrupted in mid-shot (undo, redo, load, a ragdoll built anew or removed).
        messages: last trouble by object name, shown in the sidebar.
        warnings: of the last run by object name, which did not stop it.
        limits: last `limit_check.Report` by object name.
        records: of recoveries in the file by object name, with the text they were read from.
        motions: motion stacks by object name, each with its record of states.
        carried: what was carried last from characters to their sources, by object name.
        edited: characters whose settings were edited since their stack was last shown.
        diagnoses: what `diagnose` last found by object name, shown in the sidebar.
        readings: what graphs read from ragdolls by object name and frame.
        clips: actions sampled for layers, samples and states.
    """

    runs: dict = field(default_factory=dict)
    busy: bool = False
    building: bool = False
    rendering: bool = False
    alive: set = field(default_factory=set)
    halted: set = field(default_factory=set)
    made_with: dict = field(default_factory=dict)
    joined: set = field(default_factory=set)
    broken: set = field(default_factory=set)
    messages: dict = field(default_factory=dict)
    warnings: dict = field(default_factory=dict)
    limits: dict = field(default_factory=dict)
    records: dict = field(default_factory=dict)
    motions: dict = field(default_factory=dict)
    carried: dict = field(default_factory=dict)
    edited: set = field(default_factory=set)
    diagnoses: dict = field(default_factory=dict)
    readings: dict = field(default_factory=dict)
    clips: ClipCache = field(default_factory=ClipCache)

    def clear(self) -> None:
        """Forget everything, as after loading a file."""
        self.__init__()

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
