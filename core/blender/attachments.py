"""Attachments in a run: a bone's body held at an object or at another body, switched on and off in mid-shot.

What holds it is a kinematic holder that rides the target, or, where physics moves the target too, the target's own
body: then the forces act between the two and nothing else holds them. See `attachment_helpers` for how a constraint
comes and goes while the world is alive.
"""

import numpy as np

from ..errors import RagdollError
from ..ragdoll import attachment, drives
from ..ragdoll.attachment import DISTANCE, FIXED
from . import attachment_helpers as helpers
from . import motion_places
from .attachment_reading import Attached, begin, error_of, other_now, place_of, point_of, read, settings_of, stated
from .runtime import STATE

CAUSE = "attachments"  # of the run's factors
SETTLING = 3  # frames after the reach time in which what is left of a stated offset is closed anew


# ---- once per run ---------------------------------------------------------------------------------------------------


def start(run, scene) -> None:
    """Read the attachments of all characters and have helpers for them; before the world is made anew."""
    run.attachments = []
    run.attached = np.zeros(len(run.masses), dtype=bool)
    rows = {}
    for character in run.characters:
        for i, part in enumerate(character.obj.active_ragdoll.parts):
            rows[part.body.name] = character.rows.start + i
    for character in run.characters:
        settings = character.obj.active_ragdoll
        if settings.muted:
            continue
        found = []
        for number, item in enumerate(settings.attachments):
            try:
                found.append(read(character, number, item, scene, rows))
            except RagdollError as error:
                STATE.warn(character.name, str(error))
        triples = helpers.ensure(character.obj, scene, [(a.body, a.other) for a in found])
        for own, (*joints, holder) in zip(found, triples, strict=True):
            own.joints, own.holder = tuple(joints), holder
            if holder is not None:
                own.other = holder
                motion_places.follow(character.obj, own.target)
        run.attachments += found


def rest(run, scene) -> None:
    """All constraints off, all holders at their targets; the hidden scene stands at the first frame."""
    for character in run.characters:
        for part in character.obj.active_ragdoll.attachment_parts:
            for joint in (part.joint, part.other_joint):
                if joint is not None and joint.rigid_body_constraint is not None:
                    helpers.rest(joint, run.graph)
    for own in run.attachments:
        if own.holder is None:
            continue
        try:
            own.place = own.command = place_of(run, own, scene, run.first)
            helpers.put(own.holder, own.place, run.graph)
        except RagdollError as error:
            _fail(run, own, str(error))


def undo(run) -> None:
    """Take away the constraints that Blender has made with the world; before its next step."""
    for character in run.characters:
        for part in character.obj.active_ragdoll.attachment_parts:
            for joint in (part.joint, part.other_joint):
                if joint is not None and joint.rigid_body_constraint is not None:
                    helpers.part_bodies(joint, run.graph)


def let_go(run) -> None:
    """At a run's untimely end: nothing is held any more."""
    for own in run.attachments:
        try:
            _let_go(run, own)
        except ReferenceError:  # a helper was deleted
            continue


# ---- every frame ----------------------------------------------------------------------------------------------------


def step(run, scene, seconds: float, substeps: int) -> None:
    """The step into the frame that the scene is about to show: what is held, and where the holders stand."""
    if not run.attachments:
        return
    attached = np.zeros_like(run.attached)
    factors = np.ones((2, len(run.masses)))  # of rotation and translation weights
    for own in run.attachments:
        if own.trouble:
            continue
        try:
            _step(run, own, scene, seconds, substeps)
        except RagdollError as error:
            _fail(run, own, str(error))
        if own.live is None:
            continue
        attached[own.row] = True
        if own.other_row >= 0:
            attached[own.other_row] = True
        if own.holder is not None and own.kind != DISTANCE:
            # The place in the animation does not pull at what has another place to be at, nor at what hangs on it.
            factors[1, own.below] = 0.0
            if own.kind == FIXED:
                factors[0, own.row] = 0.0
    run.set_factor(CAUSE, factors)
    if np.any(attached != run.attached):
        run.attached, run.gains_dirty = attached, True


def _step(run, own: Attached, scene, seconds: float, substeps: int) -> None:
    settings = settings_of(run, own)
    now = other_now(run, own)
    before, own.before = (now if own.before is None else own.before), now
    if own.holder is not None:
        own.place = place_of(run, own, scene, scene.frame_current)
    body = run.body[own.row]
    if not settings.enabled or (own.holder is not None and run.kinematic[own.row]):
        _let_go(run, own)
        _lead(run, own, own.place)
        return
    if own.since is None:
        begin(run, own, scene, body, now)
    own.since += 1
    if own.kind == DISTANCE:
        length = settings.length if settings.length > 0.0 else own.length
        _rope(run, own, scene, body, now, before, length, seconds)
        _lead(run, own, own.place)
        return
    if own.holder is None and own.stated:
        frames = round(own.reach / seconds)
        last = frames + SETTLING
        if own.since <= last:
            _approach(run, own, body, now, max(frames - own.since + 1, 1))
        if own.since <= last or (settings.max_force <= 0.0 and own.grip is None):
            return  # the last limits stay
    gains = _gains(run, own, scene, settings.max_force, seconds, substeps, body, now)
    if own.grip is None:
        frame = np.array(now, dtype=float)
        frame[:3, 3] = point_of(own, body)
        own.grip = np.linalg.inv(now) @ (body if own.kind == FIXED else frame)
        _swap(run, own)
        helpers.join_by_spring(own.joints[own.live], run.graph, own.body, own.other, frame, gains, own.kind == FIXED)
    elif settings.max_force > 0.0 or own.capped:
        helpers.set_gains(own.joints[own.live], run.graph, gains)
    own.capped = settings.max_force > 0.0
    if own.holder is not None:
        wanted = own.place
        if own.stated:
            share = attachment.eased(own.since * seconds / max(own.reach, seconds))
            wanted = attachment.between(own.place, stated(own, own.place, body) @ np.linalg.inv(own.grip), share)
        command = drives.lag_compensated(own.command[None], wanted[None], substeps)[0]
        _lead(run, own, command)


def _approach(run, own: Attached, body, now, left: int) -> None:
    """A step towards a stated offset between two bodies that physics moves: limits, anew in every frame."""
    wanted = stated(own, now @ own.base, body)
    point = point_of(own, body)
    if own.kind == FIXED:
        way, angles = attachment.step_towards(body, wanted, 1.0 / left)
        turn = wanted[:3, :3] @ body[:3, :3].T  # the point moves with the body's turn as well
        way = (wanted[:3, 3] + turn @ (point - body[:3, 3]) - point) / left
    else:
        way, angles = (wanted[:3, 3] - point) / left, None
    _swap(run, own)
    limits = [(float(x), float(x)) for x in way]
    frame = attachment.placed(point)
    helpers.join_by_limits(own.joints[own.live], run.graph, own.other, own.body, frame, limits, angles)


def _rope(run, own: Attached, scene, body, now, before, length: float, seconds: float) -> None:
    """A limit along the rope, anew in every frame: the rope swings, the axes of a constraint do not."""
    held = own.offset if own.stated else np.eye(4)
    anchor = (now @ own.base @ held)[:3, 3]
    point, last = point_of(own, body), point_of(own, run.body_before[own.row])
    if own.holder is not None:
        ahead = (own.place @ held)[:3, 3]
        pace = (ahead - anchor) / seconds
    else:
        pace = (anchor - (before @ own.base @ held)[:3, 3]) / seconds
    axis, way = attachment.rope(point, anchor, (point - last) / seconds, pace, length, seconds)
    _swap(run, own)
    frame = attachment.frame_along(point, axis)
    limits = [(-1e3 * max(length, own.character.height), way), None, None]
    gravity = scene.gravity.length if scene.use_gravity else 0.0
    aside = attachment.sway(point, anchor, (point - last) / seconds, pace, length, gravity, seconds)
    if aside is not None:
        expected = frame[:3, :3].T @ aside[0]
        limits[1:] = [(float(y - aside[1]), float(y + aside[1])) for y in expected[1:]]
    helpers.join_by_limits(own.joints[own.live], run.graph, own.other, own.body, frame, limits)


def _gains(run, own: Attached, scene, max_force: float, seconds: float, substeps: int, body, now) -> tuple:
    """Stiffness and damping of ways and turns: a servo of full weight that could carry the whole character."""
    rows = own.character.rows
    mass = float(run.masses[rows].sum())
    inertia = mass * own.character.height**2
    steps = substeps / seconds
    scale = scene.rigidbody_world.solver_iterations / steps
    linear, rate = drives.servo(1.0, mass, steps)
    angular, turning = drives.servo(1.0, inertia, steps)
    if max_force > 0.0:
        fall = 0.5 * max(scene.gravity.length, 1e-6) * seconds**2
        error, angle = error_of(own, body, now)
        linear = drives.capped(linear, max_force, error, fall)
        arm = float(run.arms[own.row])
        angular = drives.capped(angular, max_force * arm, angle, fall / arm)
    return tuple(
        float(x) for x in (*drives.motor(rate, linear, 1.0, scale), *drives.motor(turning, angular, 1.0, scale))
    )


# ---- helpers --------------------------------------------------------------------------------------------------------


def _swap(run, own: Attached) -> None:
    """Let the other of the two constraint objects be the live one."""
    if own.live is not None:
        helpers.part_bodies(own.joints[own.live], run.graph)
    own.live = 0 if own.live is None else 1 - own.live


def _let_go(run, own: Attached) -> None:
    if own.live is not None:
        helpers.part_bodies(own.joints[own.live], run.graph)
    own.live = own.since = own.grip = None


def _lead(run, own: Attached, command) -> None:
    if own.holder is not None:
        own.command = command
        helpers.put(own.holder, command, run.graph)


def _fail(run, own: Attached, text: str) -> None:
    own.trouble = text
    _let_go(run, own)
    STATE.warn(own.character.name, text)
