"""Attachments in a run: a bone's body held at an object or at another body, switched on and off in mid-shot.

The body is constrained to a kinematic holder that follows the target. If physics moves the target too, the body is
constrained to the target's own body instead; then the forces act between the two and nothing else holds them.

A constraint's zero is where its two bodies stand when it is made. One that is made at the moment therefore keeps the
offset of that moment. A stated offset is approached: a kinematic holder is led there; between two simulated bodies the
constraint is made anew in every frame, its limits being the step that is due.
"""

from contextlib import suppress

import bpy
import numpy as np

from ... import quaternion
from ...errors import RagdollError
from ...pose import affine, between
from ...ragdoll import drives
from ...ragdoll.drives import law, servo
from ..physics import built, helpers, source, world
from ..rig.armature import array_of, pose_matrices, rigid
from ..runtime import STATE
from ..settings import at_frame
from ..stack import pose_stack, world_reader
from . import shot_run, write

POINT, FIXED, DISTANCE = "POINT", "FIXED", "DISTANCE"
MOMENT, STATED = "MOMENT", "STATED"
FARTHEST_STEP = np.radians(60.0)  # of turn within a frame: well inside the 90 degrees where Euler angles degenerate
SWAY = 0.15  # of a rope's length that its end may be aside of where it was expected, in each of two directions
TAUT = 0.8  # of its length: a shorter distance does not become too long by less than that


class Attached:
    """An attachment of a run. Its kind, `stated`, offset and reach are as the settings had them when the run began."""

    joints: tuple = ()  # two constraint objects
    holder: bpy.types.Object | None = None
    live: int | None = None  # index of the joint that acts, None if none does
    since: int | None = None  # frames since it was switched on, None while it is off
    place: np.ndarray | None = None  # of the target [4, 4]
    command: np.ndarray | None = None  # where the holder is put [4, 4]
    before: np.ndarray | None = None  # of the other body in the last frame but one [4, 4]
    base: np.ndarray | None = None  # the target in the other body's frame when it was switched on [4, 4]
    # The body in the other's frame when it was switched on [4, 4]; for POINT its point, with the other's orientation.
    grip: np.ndarray | None = None
    length = 0.0  # of the rope when it was switched on [m]
    capped = False  # its force has a limit
    trouble = ""  # why it does not act any more

    def __init__(self, character, number: int, item, scene, rows: dict) -> None:
        """Read a character's attachment of a number. rows: of all bodies in the run, by the names of their objects.
        Raises RagdollError: it cannot act; says why."""
        obj, name = character.obj, f"Attachment '{item.name}'"
        part, target = built.part_of(obj, item.bone), item.target
        if part is None:
            what = f"bone '{item.bone}' of '{obj.name}' has no body" if item.bone else "it has no bone"
            raise RagdollError(f"{name}: {what}")
        if target is None:
            raise RagdollError(f"{name}: its target is missing")
        if target.name not in scene.objects:
            raise RagdollError(f"{name}: its target '{target.name}' is not in the scene")
        bone = item.target_bone if target.type == "ARMATURE" else ""
        if bone and bone not in target.data.bones:
            raise RagdollError(f"{name}: '{target.name}' has no bone '{bone}'")
        # It has the body that holds it: another character's, a prop's or the holder. Its row, -1 if it is of none.
        self.other = body_of(target, bone)
        self.other_row = rows.get(self.other.name, -1) if self.other is not None else -1
        if self.other == part.body or (target == obj and not bone):
            raise RagdollError(f"{name}: '{item.bone}' of '{obj.name}' cannot be attached to itself")
        if not np.isfinite([*item.point, *item.offset_location, *item.offset_rotation]).all():
            raise RagdollError(f"{name}: its point or its offset is not a number")
        self.character, self.number, self.name, self.kind = character, number, name, item.kind
        self.target, self.target_bone, self.memory = target, bone, {}
        self.body, self.row = part.body, rows[part.body.name]
        self.part = part.offset  # from the bone's to the body's frame [4, 4]
        self.point = (np.linalg.inv(part.offset) @ [*item.point, 1.0])[:3]  # in the body's frame [3] [m]
        self.stated, self.reach = item.offset == STATED, item.reach_seconds
        turn = quaternion.normalize(np.array(item.offset_rotation, dtype=float))
        # From the other's to the bone's place [4, 4], if one is stated.
        self.offset = affine(quaternion.to_matrix(turn), item.offset_location) if self.stated else np.eye(4)
        below = {part.bone: part}
        for each in obj.active_ragdoll.parts:  # parents come before
            if each.parent in below:
                below[each.bone] = each
        self.below = np.array([rows[each.body.name] for each in below.values()])  # its row, and all that hang on it

    @property
    def item(self):
        """The settings on the character itself."""
        return self.character.obj.active_ragdoll.attachments[self.number]


def body_of(target, bone: str):
    """The object whose rigid body moves a target by physics; None if there is none."""
    if target.active_ragdoll.is_ragdoll and bone:
        parts = {part.bone: part.body for part in target.active_ragdoll.parts}
        chain = (target.data.bones[bone], *target.data.bones[bone].parent_recursive)
        return next((parts[above.name] for above in chain if above.name in parts), None)
    while target is not None:
        body = target.rigid_body
        if body is not None and body.type == "ACTIVE" and not body.kinematic:
            return target
        target = target.parent if target.parent_type == "OBJECT" else None
    return None


# ---- where things stand ---------------------------------------------------------------------------------------------
def switch_on(run, own: Attached, body, now) -> None:
    """Store the places at the moment in which an attachment is switched on."""
    own.since = 0
    if own.holder is not None or own.target == own.other:
        own.base = np.eye(4)
    elif own.other_row >= 0 and built.part_of(own.target, own.target_bone) is not None:
        own.base = np.linalg.inv(run.offsets[own.other_row])
    else:  # of a bone without a body, in the frame of the body that carries it
        posed = own.target.evaluated_get(run.graph)
        place = array_of(posed.matrix_world)
        if own.other_row >= 0:
            place = place @ array_of(posed.pose.bones[own.target_bone].matrix)
        own.base = np.linalg.inv(now) @ rigid(place)
    own.length = float(np.linalg.norm(point_of(own, body) - (now @ own.base @ own.offset)[:3, 3]))


def stated_place(own: Attached, place, body) -> np.ndarray:
    """Where the body should be [4, 4]; for a POINT, where its point should be, with the target's orientation."""
    if own.kind == FIXED:
        return place @ own.offset @ own.part
    return affine(place[:3, :3], (place @ own.offset)[:3, 3])


def point_of(own: Attached, body) -> np.ndarray:
    return body[:3, 3] + body[:3, :3] @ own.point


def other_now(run, own: Attached) -> np.ndarray:
    """Place of the other body after the last step [4, 4]."""
    if own.holder is not None:
        return own.command
    if own.other_row >= 0:
        return run.body[own.other_row]
    return rigid(array_of(own.other.evaluated_get(run.graph).matrix_world))


def place_of(run, own: Attached, scene, frame: int) -> np.ndarray:
    """Place of the target at a frame, at which the hidden scene stands: a rigid matrix [4, 4]."""
    now = own.character.source.evaluated_get(run.source_graph)

    def posed(obj):
        now, found = source.evaluated(obj), pose_stack.of(obj)  # none where it is baked
        pose = pose_matrices(now) if found is None else found.pose(scene, frame, record=False)[0]
        return array_of(now.matrix_world), pose

    places = world_reader.WorldReader(scene, own.character.obj, now, pose_matrices(now), frame, own.memory, True, posed)
    place = rigid(places.matrix(own.name, own.item.target, own.target_bone))
    if not np.isfinite(place).all():
        raise RagdollError(f"{own.name}: the place of its target '{own.target.name}' is not a number")
    return place


_KINDS = built.ATTACHMENT, built.HOLDER
SETTLING = 3  # frames after the reach time in which the rest of a stated offset is closed again


class Attachments(shot_run.Effect):
    """The attachments of all characters of a run."""

    def __init__(self, run, scene) -> None:
        """Read the settings and make sure that there are helpers for them."""
        self.all: list[Attached] = []
        parts = [part for character in run.characters for part in character.obj.active_ragdoll.parts]
        rows = {part.body.name: row for row, part in enumerate(parts)}
        for character in (character for character in run.characters if not character.obj.active_ragdoll.muted):
            found = []
            for number, item in enumerate(character.obj.active_ragdoll.attachments):
                try:
                    found.append(Attached(character, number, item, scene, rows))
                except RagdollError as error:
                    STATE.warn(character.name, str(error))
            triples = _ensure_helpers(character.obj, scene, [(own.body, own.other) for own in found])
            for own, (*joints, holder) in zip(found, triples, strict=True):
                own.joints, own.holder = tuple(joints), holder
                if holder is not None:
                    own.other = holder
                    world_reader.follow(character.obj, own.target)
            self.all += found

    def before_joints(self, run, scene, bind) -> None:
        """Switch all constraints off, put the holders at their targets; the hidden scene stands at the first frame."""
        for joint in _joints(run):  # Bullet keeps them, as it must in the step that makes the world
            joint.evaluated_get(run.graph).rigid_body_constraint.enabled = False
        for own in (own for own in self.all if own.holder is not None):
            try:
                own.place = own.command = place_of(run, own, scene, run.first)
                write.put(run, own.holder, own.place)
            except RagdollError as error:
                _fail(run, own, str(error))

    def after_joints(self, run) -> None:
        """Have Bullet remove the constraints, which it made together with the world."""
        for joint in _joints(run):
            _disconnect(run, joint)

    def step(self, run, scene, seconds: float, substeps: int) -> None:
        """Switch attachments on and off and move the holders."""
        if not self.all:
            return
        attached = np.zeros(len(run.masses), dtype=bool)
        factor = np.ones((2, len(run.masses)))  # of rotation and translation weights
        for own in (own for own in self.all if not own.trouble):
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
                # The animation's place does not pull at a body that has another place to be at, nor at those below it.
                factor[1, own.below] = 0.0
                if own.kind == FIXED:
                    factor[0, own.row] = 0.0
        self.state(factor=factor, awake=attached)

    def finish(self, run) -> None:
        for own in self.all:
            with suppress(ReferenceError):  # a helper was deleted
                _let_go(run, own)


def _joints(run):
    """The constraint objects of all characters' attachments, including unused ones."""
    for character in run.characters:
        for joint in built.helpers(character.obj.active_ragdoll.collection, built.ATTACHMENT):
            if joint.rigid_body_constraint is not None:
                yield joint


def _step(run, own: Attached, scene, seconds: float, substeps: int) -> None:
    if own.number >= len(own.character.obj.active_ragdoll.attachments):
        raise RagdollError(f"{own.name} was removed: what else was set in mid-shot acts from the next start on")
    if own.item.target is None:
        raise RagdollError(f"{own.name}: its target was deleted")
    items = at_frame.owner(own.character.obj, own.character.keyed).active_ragdoll.attachments
    settings = items[own.number] if own.number < len(items) else own.item
    now = other_now(run, own)
    before, own.before = (now if own.before is None else own.before), now
    if own.holder is not None:
        own.place = place_of(run, own, scene, scene.frame_current)
    body = run.body[own.row]
    if not settings.enabled or (own.holder is not None and run.kinematic[own.row]):
        _let_go(run, own)
        _move_holder(run, own, own.place)
        return
    if own.since is None:
        switch_on(run, own, body, now)
    own.since += 1
    if own.kind == DISTANCE:
        length = settings.length if settings.length > 0.0 else own.length
        _rope(run, own, scene, body, now, before, length, seconds)
        _move_holder(run, own, own.place)
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
        frame = affine(now[:3, :3], point_of(own, body))
        own.grip = np.linalg.inv(now) @ (body if own.kind == FIXED else frame)
        _join(run, own, frame, gains)
    elif settings.max_force > 0.0 or own.capped:
        write.set_springs(_constraint_of(run, own), gains)
    own.capped = settings.max_force > 0.0
    if own.holder is not None:
        wanted = own.place
        if own.stated:
            share = min(own.since * seconds / max(own.reach, seconds), 1.0)
            goal = stated_place(own, own.place, body) @ np.linalg.inv(own.grip)
            wanted = between(own.place, goal, share * share * (3.0 - 2.0 * share))
        _move_holder(run, own, servo.lag_compensated(own.command[None], wanted[None], substeps)[0])


def _approach(run, own: Attached, body, now, left: int) -> None:
    """Take a step towards a stated offset between two simulated bodies, by limits that are set again in each frame."""
    wanted = stated_place(own, now @ own.base, body)
    point = point_of(own, body)
    if own.kind == FIXED:
        turn = wanted[:3, :3] @ body[:3, :3].T  # the point also moves when the body turns
        angles = turned_towards(turn, 1.0 / left)
        way = (wanted[:3, 3] + turn @ (point - body[:3, 3]) - point) / left
    else:
        way, angles = (wanted[:3, 3] - point) / left, None
    _join(run, own, affine(np.eye(3), point), None, [(float(x), float(x)) for x in way], angles)


def _rope(run, own: Attached, scene, body, now, before, length: float, seconds: float) -> None:
    """Limit the distance along the rope. The constraint is remade in each frame, as its axes do not swing."""
    anchor = (now @ own.base @ own.offset)[:3, 3]
    point, last = point_of(own, body), point_of(own, run.body_before[own.row])
    if own.holder is not None:
        pace = ((own.place @ own.offset)[:3, 3] - anchor) / seconds
    else:
        pace = (anchor - (before @ own.base @ own.offset)[:3, 3]) / seconds
    velocity, far = (point - last) / seconds - pace, 1e3 * max(length, own.character.height)
    frame, limits = rope(point, anchor, velocity, length, far, world.pull(scene), seconds)
    _join(run, own, frame, None, limits)


def _gains(run, own: Attached, scene, max_force: float, seconds: float, substeps: int, body, now) -> list[float]:
    """What `set_springs` takes, of servos of full weight that could carry the whole character."""
    mass, height, arm = own.character.mass, own.character.height, float(run.gyration_radius[own.row])
    frame = law.Frame(seconds, substeps, scene.rigidbody_world.solver_iterations)
    fall = 0.5 * max(scene.gravity.length, 1e-6) * seconds**2
    error, angle, found = 0.0, 0.0, []  # of the body, from where its constraint holds it
    if own.grip is not None:
        wanted, place = now @ own.grip, body[:3, 3] if own.kind == FIXED else point_of(own, body)
        error = float(np.linalg.norm(place - wanted[:3, 3]))
        if own.kind == FIXED:
            turns = quaternion.from_matrix(np.stack([body[:3, :3], wanted[:3, :3]]))
            angle = float(quaternion.angle_between(turns[0], turns[1]))
    for inertia, *cap in ((mass, max_force, error, fall), (mass * height**2, max_force * arm, angle, fall / arm)):
        side = law.Side(np.ones(1), np.array([inertia]), np.array([[inertia]]), tuple(cap), {})
        found.append([gain.item() for gain in drives.of("VELOCITY").gains(side, frame)])
    (linear, damping), (angular, turning) = found
    return [linear, damping, *[angular] * 3, *[turning] * 3]


# ---- helpers --------------------------------------------------------------------------------------------------------
def _let_go(run, own: Attached) -> None:
    if own.live is not None:
        _disconnect(run, own.joints[own.live])
    own.live = own.since = own.grip = None


def _move_holder(run, own: Attached, command) -> None:
    if own.holder is not None:
        own.command = command
        write.put(run, own.holder, command)


def _fail(run, own: Attached, text: str) -> None:
    own.trouble = text
    _let_go(run, own)
    STATE.warn(own.character.name, text)


# ---- constraints ----------------------------------------------------------------------------------------------------
# They come and go in mid-shot as docs/blender-facts.md has it (Joints). The original constraint names both bodies, so
# that Blender notices when one is deleted; a run removes them from the evaluated copy during the warm-up.
def _ensure_helpers(obj, scene, wanted) -> list:
    """Two constraint objects and a holder or None for each pair of a body and what holds it (None for a holder)."""
    free: dict = {}
    for group in _by_number(obj.active_ragdoll).values():
        joints, holders = ([each for each in group if each[built.KIND] == kind] for kind in _KINDS)
        ends = [joint.rigid_body_constraint for joint in joints if joint.name in scene.objects]
        whole = [own for own in ends if own is not None and own.object1 and own.object2 and own.object2.rigid_body]
        if len(joints) == len(whole) == 2:
            key = whole[0].object1, None if holders else whole[0].object2
            free.setdefault(key, []).append((*joints, holders[0] if holders else None))
    return helpers.used_again(scene, free, wanted, lambda pair: _make_attachment(obj, scene, *pair))


def _by_number(settings) -> dict[int, list]:
    """The helpers of each of a character's attachments by its number, including unused ones."""
    found: dict = {}
    for each in (each for kind in _KINDS for each in built.helpers(settings.collection, kind)):
        found.setdefault(each[built.NUMBER], []).append(each)
    return found


def _make_attachment(obj, scene, body, other) -> tuple:
    settings, holder = obj.active_ragdoll, None
    number = 1 + max(_by_number(settings), default=0)
    if other is None:
        mesh, tags = settings.parts[0].target.data, (built.HOLDER, "", number)
        made = helpers.helper(f"{obj.name} Holder", mesh, settings.collection, *tags, place=body.matrix_basis)
        holder = other = helpers.make_kinematic(scene, made)
    tags, shown = (built.ATTACHMENT, "", number), {"place": body.matrix_basis, "size": 0.01 * settings.height}
    joints = [helpers.helper(f"{obj.name} Attachment", None, settings.collection, *tags, **shown) for _ in range(2)]
    for joint in joints:
        helpers.add_spring(scene, joint, body, other).enabled = False
    return *joints, holder


def _constraint_of(run, own: Attached):
    """The evaluated constraint of the live joint."""
    return own.joints[own.live].evaluated_get(run.graph).rigid_body_constraint


def _disconnect(run, joint) -> None:
    """Have Bullet's constraint removed at the next step."""
    constraint = joint.evaluated_get(run.graph).rigid_body_constraint
    constraint.enabled = False
    constraint.object1 = None
    constraint.type = "GENERIC_SPRING"


def _join(run, own: Attached, frame, gains, linear=(None,) * 3, angular=None) -> None:
    """Have Bullet's constraint made at the next step at a frame [4, 4], by the other one of the two constraint objects.

    Gains are those of a servo that keeps the bodies as they are, None for limits relative to what holds the body: for
    each axis the lowest and the highest offset [m], or None where it is free, and the three angles at which it is held
    [rad]; None leaves it free to turn.
    """
    if own.live is not None:
        _disconnect(run, own.joints[own.live])
    own.live = 0 if own.live is None else 1 - own.live
    constraint = _constraint_of(run, own)
    for i, axis in enumerate("xyz"):
        helpers.limit(constraint, f"lin_{axis}", linear[i])
        helpers.limit(constraint, f"ang_{axis}", None if angular is None else (float(angular[i]),) * 2)
        setattr(constraint, f"use_spring_{axis}", True)  # limits alone have no springs, whatever this says
        setattr(constraint, f"use_spring_ang_{axis}", own.kind == FIXED)
    if gains is not None:
        write.set_springs(constraint, gains)
    write.put(run, own.joints[own.live], frame)
    constraint.enabled = True
    pair = own.body.evaluated_get(run.graph), own.other.evaluated_get(run.graph)
    constraint.object1, constraint.object2 = pair if gains is not None else pair[::-1]
    # Last, because setting the type makes Blender look at the constraint again.
    constraint.type = "GENERIC" if gains is None else "GENERIC_SPRING"


# ---- what a constraint must be like -------------------------------------------------------------------------------
def rope(point, anchor, velocity, length: float, far: float, gravity: float, seconds: float) -> tuple[np.ndarray, list]:
    """The frame [4, 4] of a rope's constraint for the frame to come and its three limits [m], None where it has none.

    X is the direction along which the rope pulls in the frame's middle, so that a swinging end neither gains nor loses
    length to first order: with an angle a between middle and end the rope is `length * cos(a)` long along it. The first
    limit is how far the end may move along it, negative while the rope is stretched.

    That limit is a plane; beside the place that it was made for, the plane is farther than the rope is long. A limb
    that whips round when the rope becomes taut would come there: 0.9 m out on a rope of 0.08 m. So the end of a taut
    rope may come aside of where its velocity takes it by no more than `SWAY` of the length, at most 2.3 % too far. What
    gravity does is always allowed.

    Args:
        point, anchor: its ends now [3], [m]. velocity: of the first against the second [3], [m/s].
        length: [m]. far: what is as good as no limit [m]. gravity: the scene's [m/s^2]. seconds: of the frame.
    """
    now, moved = np.asarray(point, dtype=float) - anchor, np.asarray(velocity, dtype=float) * seconds
    end, middle = now + moved, now + 0.5 * moved
    size = float(np.linalg.norm(middle))
    if size < 1e-9 * max(length, 1e-9):
        middle, size = np.array([0.0, 0.0, -1.0]), 1.0
    axis, reach = middle / size, float(np.linalg.norm(end))
    cosine = float(axis @ end) / reach if reach > 1e-9 else 1.0
    z = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    z /= np.linalg.norm(z)
    turn = np.stack([axis, np.cross(z, axis), z], axis=1)
    limits = [(-far, length * max(cosine, 0.5) - float(axis @ now)), None, None]
    if max(np.linalg.norm(now), reach) >= TAUT * length:
        aside = max(SWAY * length, 1.5 * gravity * seconds**2)
        limits[1:] = [(float(y - aside), float(y + aside)) for y in (turn.T @ moved)[1:]]
    return affine(turn, point), limits


def turned_towards(turn, share: float) -> np.ndarray:
    """A share of a turn [3, 3], as Euler angles [3] (rad) for the limits of a GENERIC constraint.

    Its object1 is what turns are measured against, its object2 what turns, its frame has the axes of the turns' space.
    Bullet takes the angles of the inverse rotation, as Rx Ry Rz.
    """
    turn = quaternion.to_rotation_vector(quaternion.from_matrix(turn)) * share
    turn *= min(1.0, FARTHEST_STEP / max(float(np.linalg.norm(turn)), 1e-12))
    m = quaternion.to_matrix(quaternion.from_rotation_vector(-turn))
    x, z = np.arctan2(-m[1, 2], m[2, 2]), np.arctan2(-m[0, 1], m[0, 0])
    return np.array([x, np.arcsin(np.clip(m[0, 2], -1.0, 1.0)), z])
