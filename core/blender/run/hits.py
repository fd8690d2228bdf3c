"""Hits and explosions in a run: what they do in each frame, and how they loosen the weights.

A hit of frame F acts in the step from F to F + 1: a blow in its first substep, a push over its duration.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from ... import quaternion
from ...errors import RagdollError
from ...pose import affine
from ...ragdoll import hits as core_hits
from ...ragdoll.drives import springs
from ..physics import body_meshes, built, world
from ..rig.armature import array_of
from ..runtime import STATE
from . import effect_objects as helpers
from .effects import Effect

FARTHEST = 10.0  # greatest distance of a hit's point from its body, in heights of the character


@dataclass
class Hitter:
    """A helper and what it does."""

    obj: object
    bone: str
    row: int  # of its body in the run
    point: np.ndarray  # where it acts, in the body's frame [3] [m]
    kind: int  # what it is for; see `kind_of`
    place: np.ndarray | None = None  # where it stands [3]
    acting: bool = False  # its spring is on


@dataclass
class CharacterHits:
    """The hits of one character."""

    character: object
    parents: np.ndarray  # of its bodies [m], -1 at roots
    inertia: np.ndarray  # moments of its bodies about their own axes [m, 3] [kg m^2]
    factors: np.ndarray  # of its weights [m]
    hits: list = field(default_factory=list)  # those that are enabled, in the bodies' own axes
    explosions: list = field(default_factory=list)
    targets: dict = field(default_factory=dict)  # objects that they refer to, by their number: ("Hit", 1)
    lengths: tuple = (0, 0)  # number of entries of the user's lists when they were read
    loose: core_hits.Loosening = field(default_factory=core_hits.Loosening)
    hitters: list = field(default_factory=list)
    notes: list = field(default_factory=list)  # what was wrong with the entries when they were read

    @property
    def acts(self) -> bool:
        """Whether there is anything to do in a step."""
        return bool(self.hits or self.explosions or any(h.acting for h in self.hitters) or self.factors.min() < 1.0)


def read_character(own: CharacterHits, scene, *, leave_out: bool = False) -> None:
    """Read the settings. Hits are numbered by their places in the user's lists.

    Raises RagdollError: a hit, an explosion or the loosening is invalid; names it and the character.

    Args:
        leave_out: in mid-shot, leave out invalid entries with a warning.
    """
    obj, notes = own.character.obj, []
    settings = obj.active_ragdoll
    own.hits, own.explosions, own.targets = [], [], {}
    own.lengths = lengths_of(settings)
    for kind, entries, take in (("Hit", settings.hits, _take_hit), ("Explosion", settings.explosions, _take_explosion)):
        for number, entry in enumerate(entries, 1):
            if not entry.enabled:
                continue
            try:
                notes += take(own, entry, number, *world.shot_range(scene))
            except RagdollError as error:
                if not leave_out:
                    raise RagdollError(f"'{obj.name}': {error}") from error
                notes.append(f"'{obj.name}': {error}; it is left out")
                continue
            if entry.target is not None and getattr(entry, "space", core_hits.TOWARDS) == core_hits.TOWARDS:
                own.targets[kind, number] = entry.target
    loose = _loosening(settings)
    try:
        core_hits.checked_loosening(loose)
        own.loose = loose
    except RagdollError as error:
        if not leave_out:
            raise RagdollError(f"'{obj.name}': {error}") from error
        notes.append(f"'{obj.name}': {error}; the last good setting stays")
    known = STATE.warnings.setdefault(obj.name, [])
    known[:] = [text for text in known if text not in own.notes] + notes
    own.notes = notes


def lengths_of(settings) -> tuple[int, int]:
    return len(settings.hits), len(settings.explosions)


def _take_hit(own: CharacterHits, entry, number: int, first: int, last: int) -> list:
    """Add a hit if it is valid. Returns notes on it."""
    names = own.character.bone_names
    turn = own.character.offsets[names.index(entry.bone), :3, :3].T if entry.bone in names else np.eye(3)
    hit = _hit(entry, number, turn)
    if entry.space == core_hits.TOWARDS and entry.target is None:
        raise RagdollError(f"{hit.title(0)}: it has no target object to go towards")
    notes = core_hits.checked_hits([hit], names, first, last)
    away = max(abs(component) for component in hit.point)
    if away > FARTHEST * own.character.height:
        raise RagdollError(f"{hit.title(0)}: the point is {away:.3g} m from the body, too far to push there")
    own.hits.append(hit)
    return notes


def _take_explosion(own: CharacterHits, entry, number: int, first: int, last: int) -> list:
    frame, origin, strength = float(entry.frame), tuple(entry.origin), entry.impulse
    blast = core_hits.Explosion(frame, origin, entry.radius, strength, entry.falloff, entry.duration, number)
    notes = core_hits.checked_explosions([blast], first, last)
    own.explosions.append(blast)
    return notes


def _loosening(settings) -> core_hits.Loosening:
    names = ("parents", "children", "others", "regain")
    return core_hits.Loosening(settings.loosening, **{name: getattr(settings, f"loosening_{name}") for name in names})


def _hit(entry, number: int, turn) -> core_hits.Hit:
    """A hit in its body's axes. turn: from the bone's axes to the body's [3, 3]."""
    impulse = np.array(entry.impulse, dtype=float)
    strength = float(np.linalg.norm(impulse))
    way = impulse / strength if strength > 0.0 else np.array((0.0, 0.0, 1.0))
    if not np.isfinite(strength):
        way = np.array((0.0, 0.0, 1.0))  # the message names the strength itself
    elif entry.space == core_hits.LOCAL:
        way = turn @ way
    what = float(entry.frame), entry.bone, strength, tuple(way), tuple(turn @ np.array(entry.point, dtype=float))
    return core_hits.Hit(*what, entry.space, entry.duration, number=number)


def acting_points(own: CharacterHits):
    for hit in own.hits:
        yield hit.bone, np.array(hit.point), kind_of(hit)
    for blast in own.explosions:
        for bone in own.character.bone_names:
            yield bone, np.zeros(3), kind_of(blast)


def kind_of(hit) -> int:
    """0 for a push; 1 and 2 for blows at odd and even frames: after a blow its hitter needs a frame to come back."""
    return 0 if hit.duration >= core_hits.BLOW else 1 + int(hit.frame) % 2


def hitter_of(own: CharacterHits, bone: str, point, kind: int) -> Hitter | None:
    alike = [helper for helper in own.hitters if (helper.bone, helper.kind) == (bone, kind)]
    return next((h for h in alike if helpers.is_same_point(h.point, point, own.character.height)), None)


class Hits(Effect):
    """The hits and explosions of all characters of a run."""

    name = "hits"

    def __init__(self, run, scene) -> None:
        """Make sure that there is an impulse spring wherever a hit acts."""
        super().__init__(run, scene)
        self.characters: list[CharacterHits] = []
        self._acted = False  # in the last step
        for character in run.characters:
            if not character.obj.active_ragdoll.muted:
                STATE.warnings[character.name] = []
                self.characters.append(_hits_of(character, scene))
                _note_late(self.characters[-1])

    def before_joints(self, run, scene, bind) -> None:
        """Switch all springs off and put the hitters at their points on the bodies, where springs get their frames."""
        for own in self.characters:
            for helper in own.hitters:
                helper.acting = False
                matrix = helpers.moved_to(bind[helper.row], helper.point)
                helper.place = matrix[:3, 3]
                helpers.put(helper.obj, matrix, run.graph)
            # Unused ones as well.
            for other in built.helpers(own.character.obj.active_ragdoll.collection, built.HITTER):
                if other.rigid_body_constraint is not None:
                    helpers.drive_spring(other, 0.0, run.graph)

    def read(self, run, scene, character, settings, edited: bool) -> None:
        """Read the settings again after an edit; invalid hits are left out with a warning."""
        for own in self.characters:
            if edited and scene.frame_current > run.first and own.character is character:
                _read_again(own, scene)

    def step(self, run, scene, seconds: float, substeps: int) -> None:
        """Set springs, hitters and the factors of the weights."""
        for own in self.characters:
            if own.lengths != lengths_of(own.character.obj.active_ragdoll):
                _read_again(own, scene)  # lists trigger no update when entries come or go
        acting = [own for own in self.characters if own.acts]
        if not acting and not self._acted:
            return
        self._acted = bool(acting)
        struck = np.zeros(len(run.masses), dtype=bool)
        factor = np.ones(len(run.masses)) if self.factor is None else self.factor.copy()
        for own in acting:
            _step_character(run, own, scene, struck)
            factor[own.character.rows] = own.factors
        self.state(factor=factor, awake=struck, struck=struck)

    def impulse_on(self, run, character, frame: int) -> float:
        """Sum of the magnitudes of the impulses on a character in the step from a frame to the next [N s]."""
        return sum(float(np.linalg.norm(impulse)) for impulse in self.impulses_on(run, character, frame))

    def impulses_on(self, run, character, frame: int) -> list:
        """The impulses on a character in the step from a frame to the next, each [3] [N s], world."""
        own = next((own for own in self.characters if own.character is character), None)
        if own is None or not (own.hits or own.explosions):
            return []
        scene = run.graph.scene
        rate = _rate(scene)
        found = _pushes(run, own, scene, run.body[character.rows], frame / rate, (frame + 1) / rate, rate)
        kinematic = run.kinematic_by_user[character.rows]
        return [push.impulse for push in found if not kinematic[push.row]]

    def finish(self, run) -> None:
        """Switch all springs off."""
        for helper in [helper for own in self.characters for helper in own.hitters if helper.acting]:
            helper.acting = False
            try:
                helpers.drive_spring(helper.obj, 0.0, run.graph)
            except ReferenceError:  # the helper was deleted
                continue


def _hits_of(character, scene) -> CharacterHits:
    settings = character.obj.active_ragdoll
    parts = settings.parts
    row = {part.bone: i for i, part in enumerate(parts)}
    moments = body_meshes.own_moments([part.body for part in parts])
    own = CharacterHits(character, built.parents_of(parts), moments, np.ones(len(parts)))
    read_character(own, scene)
    wanted = helpers.needed_hitters(acting_points(own), character.height)
    made = helpers.ensure_hitters(character.obj, scene, wanted)
    first = character.rows.start
    own.hitters = [
        Hitter(helper, bone, first + row[bone], point, kind)
        for helper, (bone, point, kind) in zip(made, wanted, strict=True)
    ]
    return own


def _read_again(own: CharacterHits, scene) -> None:
    read_character(own, scene, leave_out=True)
    _note_late(own)


def _note_late(own: CharacterHits) -> None:
    if any(hitter_of(own, *point) is None for point in acting_points(own)):
        STATE.warn(own.character.name, "What was set in mid-shot acts from the next start of the shot on")


def _rate(scene) -> float:
    """Frames per second of simulation. Times are frame numbers divided by it, so that equal times are bit-identical."""
    fps = scene.render.fps / scene.render.fps_base
    return fps / max(scene.rigidbody_world.time_scale, 1e-9)


def _step_character(run, own: CharacterHits, scene, struck) -> None:
    rows, frame, rate = own.character.rows, scene.frame_current, _rate(scene)
    begin, end = (frame - 1) / rate, frame / rate
    found = []
    for push in _pushes(run, own, scene, run.body[rows], begin, end, rate):
        if not run.kinematic[rows.start + push.row]:
            found.append(push)
        elif run.kinematic_by_user[rows.start + push.row] and isinstance(push.hit, core_hits.Hit):
            text = f"{push.hit.title(0)}: the bone is kinematic at frame {frame - 1}, nothing is felt"
            STATE.warn(own.character.name, text)
    # A push turns with its body during the frame, so take its direction in the middle of the frame.
    middle = {}
    if any(kind_of(push.hit) == 0 for push in found):
        halfway = _pushes(run, own, scene, _foreseen(run, rows, 0.5), begin, end, rate)
        middle = {(push.hit.title(0), push.row): push.impulse for push in halfway if kind_of(push.hit) == 0}
    sums: dict = {}
    sizes = np.zeros(rows.stop - rows.start)
    for push in found:
        bone, point = own.character.bone_names[push.row], getattr(push.hit, "point", np.zeros(3))
        helper = hitter_of(own, bone, point, kind_of(push.hit))
        if helper is None:
            continue
        if push.warning:
            STATE.warn(own.character.name, push.warning)
        impulse = middle.get((push.hit.title(0), push.row), push.impulse)
        sums[id(helper)] = sums.get(id(helper), 0.0) + impulse
        sizes[push.row] += float(np.linalg.norm(push.impulse))
        struck[rows.start + push.row] = True
    substeps = scene.rigidbody_world.substeps_per_frame
    for helper in own.hitters:
        _drive(run, helper, sums.get(id(helper)), 1.0 / rate, substeps, own.character.height)
    _loosen(run, own, [p for p in found if sizes[p.row] > 0.0], begin, end, rate, scene)


def _foreseen(run, rows, share: float) -> np.ndarray:
    """The bodies [m, 4, 4] a share of a frame from now, if they move on as in the last frame."""
    now, before = run.body[rows], run.body_before[rows]
    moved = now.copy()
    moved[:, :3, 3] += share * (now[:, :3, 3] - before[:, :3, 3])
    turn = quaternion.from_matrix(now[:, :3, :3] @ before[:, :3, :3].transpose(0, 2, 1))
    turn = quaternion.from_rotation_vector(share * quaternion.to_rotation_vector(turn))
    moved[:, :3, :3] = quaternion.to_matrix(turn) @ now[:, :3, :3]
    return moved


def _pushes(run, own: CharacterHits, scene, matrices, begin: float, end: float, rate: float) -> list:
    acting = [h for h in own.hits if core_hits.share(h.frame / rate, h.duration, begin, end) > 0.0]
    blasts = [b for b in own.explosions if core_hits.share(b.frame / rate, b.duration, begin, end) > 0.0]
    if not acting and not blasts:
        return []
    rows = own.character.rows
    places = matrices[:, :3, 3], quaternion.from_matrix(matrices[:, :3, :3])
    masses, size = (run.masses[rows], own.inertia), (own.character.height, world.pull(scene))
    bodies = core_hits.Bodies(own.character.bone_names, *masses, *places, *size)
    found = []
    for hit in [*acting, *blasts]:
        try:
            if isinstance(hit, core_hits.Hit):
                now = [replace(hit, target=_target_place(run, own, "Hit", hit, hit.target))], []
            else:
                now = [], [replace(hit, origin=_target_place(run, own, "Explosion", hit, hit.origin))]
            found += core_hits.pushes(*now, bodies, begin, end, rate)
        except RagdollError as error:
            own.hits = [other for other in own.hits if other is not hit]
            own.explosions = [other for other in own.explosions if other is not hit]
            STATE.warn(own.character.name, f"'{own.character.name}': {error}; it is left out")
    return found


def _target_place(run, own: CharacterHits, kind: str, hit, otherwise) -> tuple:
    """Place of the target of a hit in the last frame."""
    target = own.targets.get((kind, hit.number))
    if target is None:
        return otherwise
    try:
        return tuple(array_of(target.evaluated_get(run.graph).matrix_world)[:3, 3])
    except ReferenceError:
        raise RagdollError(f"{hit.title(0)}: its target was deleted") from None


def _drive(run, helper: Hitter, impulse, seconds: float, substeps: int, height: float) -> None:
    """Make a hitter give its body an impulse [3] in this frame, or come to rest if there is none."""
    body = run.body[helper.row]
    point = body[:3, 3] + body[:3, :3] @ helper.point
    if impulse is not None and np.any(impulse):
        if helper.kind:
            helper.place, stiffness = springs.blow_spring(point, helper.place, impulse, seconds, substeps, height)
            helpers.break_under(helper.obj, springs.breaking_impulse(impulse, body[:3, :3]), run.graph)
        else:
            helper.place, stiffness = springs.push_spring(point, helper.place, impulse, seconds, substeps, height)
        helpers.drive_spring(helper.obj, stiffness, run.graph)
        helper.acting = True
    elif helper.acting:
        helpers.drive_spring(helper.obj, 0.0, run.graph)
        helper.place, helper.acting = point, False
    else:
        return
    helpers.put(helper.obj, affine(np.eye(3), helper.place), run.graph)


def _loosen(run, own: CharacterHits, pushes: list, begin: float, end: float, rate: float, scene) -> None:
    """Compute the factors of the weights after this step, which already hold in it."""
    blows = [core_hits.Blow(p.hit.frame / rate, p.row, p.whole, p.hit.duration) for p in pushes]
    size = own.character.mass, own.character.height, world.pull(scene)
    own.factors = core_hits.loosened(own.loose, own.factors, blows, own.parents, begin, end, *size)
