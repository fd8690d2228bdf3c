"""Hits in a run: what the hits and explosions of its characters do in each frame, and how they loosen the weights.

A hit of frame F acts in the step from F to F + 1: a blow in its first substep, a push over its duration.
"""

from dataclasses import replace

import bpy
import numpy as np

from .. import quaternion
from ..errors import RagdollError
from ..ragdoll import hits as core_hits
from ..ragdoll import hitter, loosening
from . import hit_reading, hitters
from .armature import array_of
from .hit_reading import CharacterHits, Hitter, acting_points, hitter_of, kind_of, lengths_of, own_inertia
from .runtime import STATE

CAUSE = "hits"  # of the run's factors


# ---- once per run ---------------------------------------------------------------------------------------------------


def start(run, scene) -> None:
    """Read the hits of all characters and have a hitter wherever one acts; before the world is made anew.

    Raises:
        RagdollError: a hit makes no sense; the message names it.
    """
    run.hits = []
    run.impulses = np.zeros(len(run.masses))
    run.awake = np.zeros(len(run.masses), dtype=bool)
    for character in run.characters:
        settings = character.obj.active_ragdoll
        if settings.muted:
            continue
        row = {part.bone: i for i, part in enumerate(settings.parts)}
        own = CharacterHits(
            character,
            np.array([row.get(part.parent, -1) for part in settings.parts], dtype=int),
            np.array([own_inertia(part.body) for part in settings.parts]),
            np.ones(len(settings.parts)),
        )
        run.hits.append(own)
        STATE.warnings[character.name] = []
        hit_reading.read(own, scene)
        wanted = hitters.needed(acting_points(own), character.height)
        made = hitters.ensure(character.obj, scene, wanted)
        first = character.rows.start
        own.hitters = [
            Hitter(helper, bone, first + row[bone], point, kind)
            for helper, (bone, point, kind) in zip(made, wanted, strict=True)
        ]
    _note_all(run)


def rest(run, matrices) -> None:
    """All springs off, all hitters at their points of the bodies: in the warm-up, where the springs get their frames.

    Args:
        matrices: of the bodies in bind pose [m, 4, 4].
    """
    for own in run.hits:
        for helper in own.hitters:
            helper.acting = False
            matrix = hitters.placed(matrices[helper.row], helper.point)
            helper.place = matrix[:3, 3]
            hitters.put(helper.obj, matrix, run.graph)
        for entry in own.character.obj.active_ragdoll.hitters:  # also those that nothing needs any more
            hitters.act(entry.object, 0.0, run.graph)


def read(run, scene) -> None:
    """Read the hits again after an edit in mid-shot; one that makes no sense is left out, with a warning."""
    for own in run.hits:
        hit_reading.read(own, scene, leave_out=True)
    _note_all(run)


def _note_all(run) -> None:
    for own in run.hits:
        if any(hitter_of(own, *point) is None for point in acting_points(own)):
            STATE.warn(own.character.name, "What was set in mid-shot acts from the next start of the shot on")


def let_go(run) -> None:
    """At a run's untimely end: what it leaves behind pushes no more."""
    for helper in [helper for own in run.hits for helper in own.hitters if helper.acting]:
        helper.acting = False
        try:
            hitters.act(helper.obj, 0.0, run.graph)
        except ReferenceError:  # it was deleted
            continue


# ---- every frame ----------------------------------------------------------------------------------------------------


def step(run, scene) -> None:
    """The step into the frame that the scene is about to show: springs, hitters, factors of the weights."""
    frame, rate = scene.frame_current, _rate(scene)
    run.impulses[:] = 0.0
    awake = np.zeros_like(run.awake)
    if any(own.lengths != lengths_of(own.character.obj.active_ragdoll) for own in run.hits):
        read(run, scene)  # lists tell nobody when they get longer or shorter
    for own in run.hits:
        if own.hits or own.explosions or any(h.acting for h in own.hitters) or own.factors.min() < 1.0:
            _step_character(run, own, scene, frame, rate, awake)
    if np.any(awake != run.awake):
        run.awake, run.gains_dirty = awake, True


def _rate(scene) -> float:
    """Frames per second of physics. Times are frame numbers divided by it, so that equal ones are equal to the bit."""
    fps = scene.render.fps / scene.render.fps_base
    return fps / max(scene.rigidbody_world.time_scale, 1e-9)


def _step_character(run, own: CharacterHits, scene, frame: int, rate: float, awake) -> None:
    rows = own.character.rows
    begin, end = (frame - 1) / rate, frame / rate
    found = []
    for push in _pushes(run, own, scene, run.body[rows], begin, end, rate):
        if not run.kinematic[rows.start + push.row]:
            found.append(push)
        elif run.riding[rows.start + push.row] and isinstance(push.hit, core_hits.Hit):
            text = f"{push.hit.title(0)}: the bone is kinematic at frame {frame - 1}, nothing is felt"
            STATE.warn(own.character.name, text)
    # A push turns with its body within the frame: it goes where it points in the middle of it.
    middle = {}
    if any(kind_of(push.hit) == 0 for push in found):
        halfway = _pushes(run, own, scene, _foreseen(run, rows, 0.5), begin, end, rate)
        middle = {(push.hit.title(0), push.row): push.impulse for push in halfway if kind_of(push.hit) == 0}
    sums: dict = {}
    for push in found:
        bone, point = own.character.bone_names[push.row], getattr(push.hit, "point", np.zeros(3))
        helper = hitter_of(own, bone, point, kind_of(push.hit))
        if helper is None:
            continue
        if push.warning:
            STATE.warn(own.character.name, push.warning)
        impulse = middle.get((push.hit.title(0), push.row), push.impulse)
        sums[id(helper)] = sums.get(id(helper), 0.0) + impulse
        run.impulses[rows.start + push.row] += float(np.linalg.norm(push.impulse))
        awake[rows.start + push.row] = True
    if awake[rows].any():  # whatever it is hit with, it does not lie still any more
        own.character.calm = 0.0
        run.gains_dirty |= bool(run.calm[rows].any())
        run.calm[rows] = False
    substeps = scene.rigidbody_world.substeps_per_frame
    for helper in own.hitters:
        _drive(run, helper, sums.get(id(helper)), 1.0 / rate, substeps, own.character.height)
    _loosen(run, own, [p for p in found if run.impulses[rows.start + p.row] > 0.0], begin, end, rate, scene)


def impulse_on(run, character, frame: int) -> float:
    """Sum of the sizes of the hits that act on a character in the step from a frame to the next [N s]."""
    own = next((own for own in run.hits if own.character is character), None)
    if own is None or not (own.hits or own.explosions):
        return 0.0
    scene = bpy.data.scenes[run.scene_name]
    rate = _rate(scene)
    found = _pushes(run, own, scene, run.body[character.rows], frame / rate, (frame + 1) / rate, rate)
    riding = run.riding[character.rows]
    return sum(float(np.linalg.norm(push.impulse)) for push in found if not riding[push.row])


def _foreseen(run, rows, share: float) -> np.ndarray:
    """The bodies [m, 4, 4] a share of a frame from now, if they go on as in the last one."""
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
    bodies = core_hits.Bodies(
        own.character.bone_names,
        run.masses[rows],
        own.inertia,
        matrices[:, :3, 3],
        quaternion.from_matrix(matrices[:, :3, :3]),
        own.character.height,
        scene.gravity.length if scene.use_gravity else 0.0,
    )
    found = []
    for hit in [*acting, *blasts]:
        try:
            if isinstance(hit, core_hits.Hit):
                now = [replace(hit, target=_place_of(run, own, "Hit", hit, hit.target))], []
            else:
                now = [], [replace(hit, origin=_place_of(run, own, "Explosion", hit, hit.origin))]
            found += core_hits.pushes(*now, bodies, begin, end, rate)
        except RagdollError as error:
            own.hits = [other for other in own.hits if other is not hit]
            own.explosions = [other for other in own.explosions if other is not hit]
            STATE.warn(own.character.name, f"'{own.character.name}': {error}; it is left out")
    return found


def _place_of(run, own: CharacterHits, kind: str, hit, otherwise) -> tuple:
    """Where the target of a hit stands in the last frame."""
    target = own.targets.get((kind, hit.number))
    if target is None:
        return otherwise
    try:
        return tuple(array_of(target.evaluated_get(run.graph).matrix_world)[:3, 3])
    except ReferenceError:
        raise RagdollError(f"{hit.title(0)}: its target was deleted") from None


def _drive(run, helper: Hitter, impulse, seconds: float, substeps: int, height: float) -> None:
    """Let a hitter give its body an impulse [3] in this frame, or come to rest with none."""
    body = run.body[helper.row]
    point = body[:3, 3] + body[:3, :3] @ helper.point
    if impulse is not None and np.any(impulse):
        if helper.kind:
            helper.place, stiffness = hitter.blow(point, helper.place, impulse, seconds, substeps, height)
            hitters.break_under(helper.obj, hitter.breaking(impulse, body[:3, :3]), run.graph)
        else:
            helper.place, stiffness = hitter.push(point, helper.place, impulse, seconds, substeps, height)
        hitters.act(helper.obj, stiffness, run.graph)
        helper.acting = True
    elif helper.acting:
        hitters.act(helper.obj, 0.0, run.graph)
        helper.place, helper.acting = point, False
    else:
        return
    matrix = np.eye(4)
    matrix[:3, 3] = helper.place
    hitters.put(helper.obj, matrix, run.graph)


def _loosen(run, own: CharacterHits, pushes: list, begin: float, end: float, rate: float, scene) -> None:
    """Factors of the weights after this step; they hold in it already."""
    blows = [loosening.Blow(p.hit.frame / rate, p.row, p.whole, p.hit.duration) for p in pushes]
    rows = own.character.rows
    own.factors = loosening.loosened(
        own.loose,
        own.factors,
        blows,
        own.parents,
        begin,
        end,
        float(run.masses[rows].sum()),
        own.character.height,
        scene.gravity.length if scene.use_gravity else 0.0,
    )
    factors = np.array(np.broadcast_to(run.factors.get(CAUSE, 1.0), len(run.masses)), dtype=float)
    factors[rows] = own.factors
    run.set_factor(CAUSE, factors)
