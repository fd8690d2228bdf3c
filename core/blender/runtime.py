"""What a session knows about its runs. Nothing of it is in the file; `STATE.clear()` forgets it all."""

from contextlib import contextmanager

import bpy

from .rig.clips import ClipCache


class State:
    """Run-time state of all scenes."""

    def __init__(self) -> None:
        self.runs = {}  # the run of each scene by the scene's name
        self.busy = False  # set while a handler itself moves a scene through frames
        self.building = False  # set while operators write settings, so that update callbacks do not take them for edits
        self.interrupted = False  # Ctrl-C came while a handler ran, from which Blender does not let it out
        self.cameras = {}  # of scenes whose render is being stopped; see `handlers.before_render`
        self.rendering = False  # set between render_init and render_complete or render_cancel
        self.alive = set()  # scenes whose rigid body world a run has filled
        self.halted = set()  # scenes whose world must not step before it is made anew at a first frame
        self.made_with = {}  # names of the joints that a scene's world was last made with; before Blender 4.3
        self.stepped = {}  # by scene, the view layer that steps it, whose copies of the joints Bullet may hold
        self.evaluated = {}  # by scene, the frame evaluated last and the index of the view layer (-1: unknown)
        self.can_step = set()  # (scene, view layer) of those that Blender lets step a world
        self.unstepped = {}  # by scene, the frame at which it has stood since its world was made
        self.released = {}  # by scene, the frame at which it has stood since Bullet was made to forget its joints
        self.members = {}  # by scene, how many bodies and joints its world has had
        self.joined = set()  # scenes whose joints may hold on to bodies, also of worlds that are no more
        # scenes whose run was interrupted in mid-shot (undo, redo, load, a ragdoll built anew or removed)
        self.broken = set()
        self.messages = {}  # last trouble by object name, shown in the sidebar
        self.warnings = {}  # of the last run by object name, which did not stop it
        self.limits = {}  # last `diagnose.Report` by object name
        self.records = {}  # of recoveries in the file by object name, with the text they were read from
        self.motions = {}  # motion stacks by object name, each with its record of states
        # by object name, what of a character its source was last brought in line with; see `source.Stamp`
        self.stamps = {}
        self.edited = set()  # characters whose settings were edited since their stack was last shown
        self.diagnoses = {}  # what `diagnose` last found by object name, shown in the sidebar
        self.readings = {}  # what graphs read from ragdolls by object name and frame
        self.waiting = False  # stacks are to be shown anew once Blender is idle
        self.figures = {}  # what the overlay draws by object name; see `viewport.Cached`
        self.drawing = ""  # what went wrong while the overlay was drawn: it rests until it is switched on again
        self.clips = ClipCache()  # actions sampled for layers, samples and states

    def clear(self) -> None:
        """Forget everything, as after loading a file."""
        self.__init__()

    @contextmanager
    def _while(self, flag: str):
        before = getattr(self, flag)
        setattr(self, flag, True)
        try:
            yield
        finally:
            setattr(self, flag, before)

    def occupied(self):
        """While we move a scene through frames ourselves: our handlers take no part in it."""
        return self._while("busy")

    def writing(self):
        """While we write settings ourselves: their callbacks do not take it for edits."""
        return self._while("building")

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
