"""Hits and explosions in a run: what they do in each frame, and how they loosen the weights.

A hit of frame F acts in the step from F to F + 1: a blow in its first substep, a push over its duration. It acts
through a hitter: a small kinematic body that gives a bone's body an impulse through a spring, see `ragdoll.hits`. There
are as many as the hits need at the first frame, where the world is made anew; each serves for the point at which it
stands in bind pose during that run. None is taken away before the ragdoll is, and no original is written.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ... import pose, quaternion
from ...errors import RagdollError
from ...ragdoll import hits as core_hits
from ...ragdoll.drives import springs
from ..physics import body_objects, built, helpers, world
from ..rig import armature, clips
from ..runtime import STATE
from . import shot_run, write

SAME_POINT = 1e-6  # of the height
BEARS = 0.5  # least strength that is left of a limb which bears
FLAT = 0.02  # of the height: what the animation has so near its lowest point stands
FARTHEST = 10.0  # greatest distance of a hit's point from its body, in heights of the character


@dataclass
class Hitter:
    """A helper and what it does."""

    bone: str
    point: np.ndarray  # where it acts, in the body's frame [3] [m]
    kind: int  # what it is for; see `kind_of`
    obj: object = None
    row: int = -1  # of its body in the run
    place: np.ndarray | None = None  # where it stands [3]
    acting: bool = False  # its spring is on


class CharacterHits:
    """The hits of one character."""

    def __init__(self, character, scene) -> None:
        """Read the settings, and make sure that there is a hitter wherever something acts."""
        parts = character.obj.active_ragdoll.parts
        self.character, self.parents = character, built.parents_of(parts)  # rows of the parents, -1 at roots
        self.roles = [character.obj.pose.bones[part.bone].active_ragdoll.role for part in parts]
        self.inertia = body_objects.own_moments([part.body for part in parts])  # about the bodies' own axes [m, 3]
        self.factors = np.ones(len(parts))  # of its weights [m]
        self.stirred = False  # one is below 1, or a hitter acts
        self.hurting: dict = {}  # seconds of the simulation since hits, by their title
        self.wounds: dict = {}  # where hits came in, in the bodies' frames [3], by their title
        self.hits: list = []  # and explosions, those that are enabled, in the bodies' own axes
        self.targets: dict = {}  # objects that they refer to, by their title
        self.loose = core_hits.Loosening()
        self.notes: list[str] = []  # what was wrong with the entries when they were read
        self.hitters: list[Hitter] = []
        read_character(self, scene)
        for point in _acting_points(self):
            if _hitter_of(self, *point) is None:
                self.hitters.append(Hitter(*point))
        _ensure_hitters(self, scene)
        for hitter in self.hitters:
            hitter.row = character.rows.start + character.bone_names.index(hitter.bone)

    def acts(self, frame: int, rate: float) -> bool:
        """Whether a hit acts in the step to a frame, or hurts then, be it from before the shot."""
        begin, end, times = (frame - 1) / rate, frame / rate, [(hit, hit.frame / rate) for hit in self.hits]
        hurts = (core_hits.strength_left(getattr(hit, "hurts", 0.0), end - time) < 1.0 for hit, time in times)
        return any(core_hits.share(time, hit.duration, begin, end) > 0.0 for hit, time in times) or any(hurts)


def read_character(own: CharacterHits, scene, *, leave_out: bool = False) -> None:
    """Read the settings. Hits are numbered by their places in the user's lists.

    Raises RagdollError: a hit, an explosion or the loosening is invalid; names it and the character. With `leave_out`,
    in mid-shot, it is left out with a warning.
    """
    obj, settings, notes = own.character.obj, own.character.obj.active_ragdoll, []
    own.hits, own.targets = [], {}
    for entries, read in ((settings.hits, _hit), (settings.explosions, _explosion)):
        for number, entry in enumerate(entries, 1):
            if not entry.enabled:
                continue
            try:
                hit = read(own, entry, number)
                notes += core_hits.checked(hit, own.character.bone_names, *world.shot_range(scene))
            except RagdollError as error:
                if not leave_out:
                    raise RagdollError(f"'{obj.name}': {error}") from error
                notes.append(f"'{obj.name}': {error}; it is left out")
                continue
            own.hits.append(hit)
            if entry.target is not None and getattr(entry, "space", core_hits.TOWARDS) == core_hits.TOWARDS:
                own.targets[own.hits[-1].title] = entry.target
    names = ("parents", "children", "others", "regain")
    loose = core_hits.Loosening(settings.loosening, **{name: getattr(settings, f"loosening_{name}") for name in names})
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


def _hit(own: CharacterHits, entry, number: int) -> core_hits.Hit:
    names = own.character.bone_names
    turn = own.character.offsets[names.index(entry.bone), :3, :3].T if entry.bone in names else np.eye(3)
    impulse = np.array(entry.impulse, dtype=float)
    strength = float(np.linalg.norm(impulse))
    way = np.array((0.0, 0.0, 1.0))
    if strength > 0.0 and np.isfinite(strength):  # else the message names the strength itself
        way = turn @ (impulse / strength) if entry.space == core_hits.LOCAL else impulse / strength
    what = float(entry.frame), entry.bone, strength, tuple(way), tuple(turn @ np.array(entry.point, dtype=float))
    hit = core_hits.Hit(*what, entry.space, entry.duration, entry.hurts, entry.hold, number=number)
    if entry.space == core_hits.TOWARDS and entry.target is None:
        raise RagdollError(f"{hit.title}: it has no target object to go towards")
    away = max(abs(component) for component in hit.point)
    if away > FARTHEST * own.character.height:
        raise RagdollError(f"{hit.title}: the point is {away:.3g} m from the body, too far to push there")
    return hit


def _explosion(_own, entry, number: int) -> core_hits.Explosion:
    what = float(entry.frame), tuple(entry.origin), entry.radius, entry.impulse, entry.falloff, entry.duration
    return core_hits.Explosion(*what, number)


def _acting_points(own: CharacterHits):
    """Bone, point [3] in its body's frame and kind of all that acts."""
    for hit in own.hits:
        is_hit = isinstance(hit, core_hits.Hit)
        for bone in [hit.bone] if is_hit else own.character.bone_names:
            yield bone, np.array(hit.point) if is_hit else np.zeros(3), kind_of(hit)


def kind_of(hit) -> int:
    """0 for a push; 1 and 2 for blows at odd and even frames: after a blow its hitter needs a frame to come back."""
    return 0 if hit.duration >= core_hits.BLOW else 1 + int(hit.frame) % 2


def _hitter_of(own: CharacterHits, bone: str, point, kind: int) -> Hitter | None:
    least, alike = SAME_POINT * own.character.height, (h for h in own.hitters if (h.bone, h.kind) == (bone, kind))
    return next((hitter for hitter in alike if np.abs(hitter.point - point).max() <= least), None)


class Hits(shot_run.Effect):
    """The hits and explosions of all characters of a run."""

    def __init__(self, run, scene) -> None:
        """Make sure that there is an impulse spring wherever a hit acts."""
        self.by_name: dict[str, CharacterHits] = {}
        self._acted = False  # in the last step
        self.strength = np.ones(len(run.masses))  # what is left of it where hits hurt [m]
        for character in run.characters:
            if not character.obj.active_ragdoll.muted:
                STATE.warnings[character.name] = []
                self.by_name[character.name] = CharacterHits(character, scene)

    def before_joints(self, run, scene, bind) -> None:
        """Switch all springs off and put the hitters at their points on the bodies, where springs get their frames."""
        for own in self.by_name.values():
            for hitter in own.hitters:
                hitter.acting = False
                matrix = bind[hitter.row].copy()
                matrix[:3, 3] += matrix[:3, :3] @ hitter.point
                hitter.place = matrix[:3, 3]
                write.put(run, hitter.obj, matrix)
            # Unused ones as well.
            for other in built.helpers(own.character.obj.active_ragdoll.collection, built.HITTER):
                if other.rigid_body_constraint is not None:
                    _drive_spring(run, other, 0.0)

    def read(self, run, scene, character, settings, edited: bool) -> None:
        """Read the settings again after an edit; invalid hits are left out with a warning."""
        own = self.by_name.get(character.name)
        if own is not None and edited and scene.frame_current > run.first:
            read_character(own, scene, leave_out=True)
            if any(_hitter_of(own, *point) is None for point in _acting_points(own)):
                STATE.warn(character.name, "What was set in mid-shot acts from the next start of the shot on")

    def step(self, run, scene, seconds: float, substeps: int) -> None:
        """Set springs, hitters and the factors of the weights."""
        acting = [own for own in self.by_name.values() if own.stirred or own.acts(scene.frame_current, _rate(scene))]
        if not acting and not self._acted:
            return
        self._acted = bool(acting)
        struck = np.zeros(len(run.masses), dtype=bool)
        factor = np.ones(len(run.masses)) if self.factor is None else self.factor.copy()
        for own in acting:
            self.strength[own.character.rows] = left = _step_character(run, own, scene, struck)
            factor[own.character.rows] = own.factors * left
        self.state(factor=factor, awake=struck, struck=struck)

    def impulses_on(self, run, character, frame: int) -> list:
        """The impulses on a character in the step from a frame to the next, each [3] [N s], world."""
        own = self.by_name.get(character.name)
        if own is None or not own.hits:
            return []
        rate, rows = _rate(run.graph.scene), character.rows
        found = _pushes(run, own, run.graph.scene, run.body[rows], frame / rate, (frame + 1) / rate, rate)
        return [push.impulse for push in found if not run.kinematic_by_user[rows][push.row]]

    def fells(self, run, character) -> bool:
        """Whether half of what its animation stands on hurts too much to bear it."""
        weak = self.strength[character.rows] < BEARS
        if not weak.any():
            return False
        bodies = zip(character.bodies.objects, run.wanted[character.rows], strict=True)
        low = np.array([pose.moved(np.array(body.bound_box), place)[:, 2].min() for body, place in bodies])
        return weak[low < low.min() + FLAT * character.height].mean() >= 0.5

    def wound(self, character) -> tuple | None:
        """Where a hand is to go: the last hit that asks for it and hurts, and where that came in [3]; None: nowhere."""
        own = self.by_name.get(character.name)
        since = {hit: own.hurting.get(hit.title, 0.0) for hit in own.hits if getattr(hit, "hold", False)} if own else {}
        hit = min((hit for hit, seconds in since.items() if 0.0 < seconds < hit.hurts), key=since.get, default=None)
        return None if hit is None else (hit, own.wounds.get(hit.title, np.array(hit.point)))

    def finish(self, run) -> None:
        for hitter in [hitter for own in self.by_name.values() for hitter in own.hitters if hitter.acting]:
            hitter.acting = False
            with suppress(ReferenceError):  # the helper was deleted
                _drive_spring(run, hitter.obj, 0.0)


def _rate(scene) -> float:
    """Frames per second of simulation. Times are frame numbers divided by it, so that equal times are bit-identical."""
    return clips.scene_fps(scene) / max(scene.rigidbody_world.time_scale, 1e-9)


def _step_character(run, own: CharacterHits, scene, struck) -> np.ndarray:
    """Set its hitters and `own.factors`, and note in `struck` whom hits strike; what is left of its strength [m]."""
    rows, frame, rate = own.character.rows, scene.frame_current, _rate(scene)
    begin, end = (frame - 1) / rate, frame / rate
    found, middle, sums, sizes = [], {}, {}, np.zeros(rows.stop - rows.start)
    for push in _pushes(run, own, scene, run.body[rows], begin, end, rate):
        if not run.kinematic[rows.start + push.row]:
            found.append(push)
        elif run.kinematic_by_user[rows.start + push.row] and isinstance(push.hit, core_hits.Hit):
            text = f"{push.hit.title}: the bone is kinematic at frame {frame - 1}, nothing is felt"
            STATE.warn(own.character.name, text)
    # A push turns with its body during the frame, so take its direction in the middle of the frame.
    if any(kind_of(push.hit) == 0 for push in found):
        bodies = pose.between(run.body_before[rows], run.body[rows], 1.5)  # if they move on as in the last frame
        halfway = _pushes(run, own, scene, bodies, begin, end, rate)
        middle = {(push.hit.title, push.row): push.impulse for push in halfway if kind_of(push.hit) == 0}
    for push in found:
        bone, point = own.character.bone_names[push.row], getattr(push.hit, "point", np.zeros(3))
        hitter = _hitter_of(own, bone, point, kind_of(push.hit))
        if hitter is None:
            continue
        if push.warning:
            STATE.warn(own.character.name, push.warning)
        sums[id(hitter)] = sums.get(id(hitter), 0.0) + middle.get((push.hit.title, push.row), push.impulse)
        sizes[push.row] += (size := float(np.linalg.norm(push.impulse)))
        if size > 0.0 and getattr(push.hit, "hold", False):
            own.wounds.setdefault(push.hit.title, _wound(run, own, push, push.impulse / size))
        struck[rows.start + push.row] = True
    substeps = scene.rigidbody_world.substeps_per_frame
    for hitter in own.hitters:
        _drive(run, hitter, sums.get(id(hitter)), 1.0 / rate, substeps, own.character.height)
    # The factors of the weights after this step already hold in it.
    felt = [push for push in found if sizes[push.row] > 0.0]
    blows = [core_hits.Blow(p.hit.frame / rate, p.row, p.whole, p.hit.duration) for p in felt]
    size = own.character.mass, own.character.height, world.pull(scene)
    own.factors = core_hits.loosened(own.loose, own.factors, blows, own.parents, begin, end, *size)
    strength = np.ones(len(own.parents))
    for hit in own.hits:
        # The rate may change in mid-shot, with the time scale.
        before = own.hurting.get(hit.title, 0.0)
        own.hurting[hit.title] = since = before + 1.0 / rate if before > 0.0 else end - hit.frame / rate
        if (left := core_hits.strength_left(getattr(hit, "hurts", 0.0), since)) < 1.0:
            limb = core_hits.limb_of(own.character.bone_names.index(hit.bone), own.roles, own.parents)
            strength[limb] = np.minimum(strength[limb], left)
    own.stirred = bool(min(own.factors.min(), strength.min()) < 1.0) or any(hitter.acting for hitter in own.hitters)
    return strength


def _wound(run, own: CharacterHits, push, way) -> np.ndarray:
    """Where a hit along a unit vector [3] came in, on the surface of its body, in the body's frame [3]."""
    body, far = run.body[own.character.rows.start + push.row], own.character.height
    half = np.ptp(np.array(own.character.bodies.objects[push.row].bound_box), axis=0) / 2.0
    start = pose.moved(np.array(push.hit.point), body) - far * way
    far = min(far, core_hits.box_met(start, way, body[None], half)[1])  # a point beside its box is as it is
    return np.linalg.solve(body, np.append(start + far * way, 1.0))[:3]


def _pushes(run, own: CharacterHits, scene, matrices, begin: float, end: float, rate: float) -> list:
    acting = [hit for hit in own.hits if core_hits.share(hit.frame / rate, hit.duration, begin, end) > 0.0]
    if not acting:
        return []
    rows = own.character.rows
    places = matrices[:, :3, 3], quaternion.from_matrix(matrices[:, :3, :3])
    masses, size = (run.masses[rows], own.inertia), (own.character.height, world.pull(scene))
    bodies = core_hits.Bodies(own.character.bone_names, *masses, *places, *size)
    found = []
    for hit in acting:
        now, target = hit, own.targets.get(hit.title)
        try:
            if target is not None:  # where it was in the last frame
                place = tuple(armature.array_of(target.evaluated_get(run.graph).matrix_world)[:3, 3])
                now = replace(hit, **{"target" if isinstance(hit, core_hits.Hit) else "origin": place})
            found += core_hits.pushes(now, bodies, begin, end, rate)
        except (RagdollError, ReferenceError) as error:
            own.hits = [other for other in own.hits if other is not hit]
            text = error if isinstance(error, RagdollError) else f"{hit.title}: its target was deleted"
            STATE.warn(own.character.name, f"'{own.character.name}': {text}; it is left out")
    return found


def _drive(run, hitter: Hitter, impulse, seconds: float, substeps: int, height: float) -> None:
    """Make a hitter give its body an impulse [3] in this frame, or come to rest if there is none."""
    body = run.body[hitter.row]
    point = body[:3, 3] + body[:3, :3] @ hitter.point
    if impulse is not None and np.any(impulse):
        far = seconds, substeps, height, bool(hitter.kind)
        hitter.place, stiffness = springs.impulse_spring(point, hitter.place, impulse, *far)
        if hitter.kind:  # it breaks when it gives that impulse along one axis
            constraint = hitter.obj.evaluated_get(run.graph).rigid_body_constraint
            constraint.breaking_threshold = springs.BREAKS * float(np.abs(impulse @ body[:3, :3]).max())
        _drive_spring(run, hitter.obj, stiffness)
        hitter.acting = True
    elif hitter.acting:
        _drive_spring(run, hitter.obj, 0.0)
        hitter.place, hitter.acting = point, False
    else:
        return
    write.put(run, hitter.obj, pose.affine(np.eye(3), hitter.place))


# ---- hitters --------------------------------------------------------------------------------------------------------
def _ensure_hitters(own: CharacterHits, scene) -> None:
    """Give each hitter its object; those that exist are used again."""
    obj, settings = own.character.obj, own.character.obj.active_ragdoll
    parts = {part.bone: part for part in settings.parts}
    free: dict = {}
    for helper_object in built.helpers(settings.collection, built.HITTER):
        part, spring = parts.get(helper_object[built.BONE]), helper_object.rigid_body_constraint
        whole = helper_object.name in scene.objects and None not in (part, spring, helper_object.rigid_body)
        if whole and (spring.object1, spring.object2) == (part.body, helper_object):
            free.setdefault((part.bone, spring.use_breaking), []).append(helper_object)
    wanted = [(h.bone, h.kind > 0) for h in own.hitters]
    found = helpers.used_again(scene, free, wanted, lambda key: _make_hitter(obj, scene, parts[key[0]], key[1]))
    for hitter, helper_object in zip(own.hitters, found, strict=True):
        hitter.obj = helper_object


def _make_hitter(obj, scene, part, blow: bool):
    settings = obj.active_ragdoll
    name = f"{obj.name} {part.bone} Hitter"
    made = helpers.helper(name, part.target.data, settings.collection, built.HITTER, part.bone, place=part.bind)
    hitter = helpers.make_kinematic(scene, made)
    constraint = helpers.add_spring(scene, hitter, part.body, hitter)
    constraint.enabled = constraint.disable_collisions = False  # there are none, and the pair must not be looked for
    constraint.use_breaking = blow
    for axis in "xyz":
        setattr(constraint, f"use_spring_{axis}", True)
        setattr(constraint, f"spring_damping_{axis}", 0.0)
    return hitter


def _drive_spring(run, hitter, stiffness: float) -> None:
    """Let the evaluated spring act with a stiffness [N/m]; 0 lets it rest."""
    constraint = hitter.evaluated_get(run.graph).rigid_body_constraint
    for axis in "xyz" if stiffness > 0.0 else "":
        setattr(constraint, f"spring_stiffness_{axis}", stiffness)
    if constraint.enabled != (stiffness > 0.0):
        constraint.enabled = stiffness > 0.0
