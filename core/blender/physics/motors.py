"""Joint-space drives: motors between child and parent bodies, and what a run writes to them."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ... import quaternion, skeleton
from ...pose import affine
from ...ragdoll import drives
from ...ragdoll.drives import joint_motors
from ...ragdoll.drives.law import Frame, Joints
from ...ragdoll.joints import limits
from ..settings import at_frame
from . import body_objects, built, helpers

SAMPLES = 5  # of each swing over its range, for choosing motors
STRONGEST = 1e12  # [N m] what Blender takes as a motor's largest torque


def wanted(obj) -> bool:
    """Whether a character's joints need motors: it is driven at its joints, or falls with muscle tone."""
    settings = obj.active_ragdoll
    falls = settings.recovery.tone > 0.0 or at_frame.is_keyed(obj, "recovery.tone")
    return settings.drive_space == "JOINT" or (settings.recovery.enabled and falls)


def make_motors(obj, scene, collection, pose, plan, animated) -> None:
    """Give every joint the motors that serve it over its whole range and its animation: joint rotations [f, 4] by body
    where they are known. They stand disabled until a run enables their evaluated copies."""
    parts, size = obj.active_ragdoll.parts, 0.005 * obj.active_ragdoll.height
    for i, bone, parent in plan.joints():
        settings = obj.pose.bones[bone].active_ragdoll
        turn = quaternion.to_matrix(quaternion.normalize(np.array(settings.joint_rotation, dtype=float)))
        frame = pose.matrices[bone] @ affine(turn)
        for index in _motors(settings, animated.get(i)):
            x, z = joint_motors.MOTORS[index]
            own = affine(np.stack([np.eye(3)[x], np.cross(np.eye(3)[z], np.eye(3)[x]), np.eye(3)[z]], axis=1))
            name = f"{obj.name} {pose.names[bone]} Motor"
            shown = {"place": frame @ own, "size": size, "aside": False}
            empty = helpers.helper(name, None, collection, built.MOTOR, pose.names[bone], index, **shown)
            constraint = helpers.join(scene, empty, "MOTOR", parts[i].body, parts[parent].body)
            constraint.use_motor_ang, constraint.use_motor_lin = True, False
            constraint.motor_ang_target_velocity = 0.0
            constraint.enabled = False


def _motors(settings, animated) -> tuple:
    """Indices into `joint_motors.MOTORS` for a bone's joint."""
    low, high = np.array(settings.limit_min, dtype=float), np.array(settings.limit_max, dtype=float)
    if settings.joint == "FIXED":
        return ()
    if settings.joint == "HINGE":
        axis = limits.hinge_axis(low, high)
        return (next(i for i, (x, _z) in enumerate(joint_motors.MOTORS) if x == axis),)
    if settings.joint == "FREE":
        return tuple(range(len(joint_motors.MOTORS)))
    swing_x, twist, swing_z = (np.linspace(a, b, SAMPLES) for a, b in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(swing_x, twist, swing_z, indexing="ij"), axis=-1).reshape(-1, 3)
    swings = quaternion.from_rotation_vector(grid * (1.0, 0.0, 1.0))
    found = quaternion.multiply(swings, quaternion.from_rotation_vector(grid * (0.0, 1.0, 0.0)))
    if animated is not None:
        found = np.concatenate([found, animated])
    return joint_motors.needed_motors(found)


@dataclass
class JointDrives:
    """The k joints of a run with motors, between its m bodies."""

    rows: np.ndarray  # of the child bodies in the run [k]
    parents: np.ndarray  # rows of their parents [k]
    available: np.ndarray  # motors that each joint has [k, 6]
    places: tuple  # joint and motor of each Empty [e], [e]
    motors: tuple  # the Empties
    below: np.ndarray  # the joints' frames in their bodies [k, 4, 4]
    above: np.ndarray  # and in the parents [k, 4, 4]
    frames: np.ndarray  # their rotations in bind pose, world [k, 4]
    carries: np.ndarray  # whether a joint carries a body, 1 or 0 [k, m]
    moments: np.ndarray  # of inertia of all bodies about their own axes [m, 3]
    told: np.ndarray  # largest torque that each Empty was last told [e], 0 for one that is off, -1 before that
    memory: dict = field(default_factory=dict)  # what each law of drives keeps from frame to frame, by its identifier
    led: list | None = None  # the muscles that the motors are set for; None where laws have a say
    _last: tuple = (None, None)  # what `relative` was last asked, and its answer

    def of(self, character) -> slice:
        """The places of a character's joints here."""
        return slice(*np.searchsorted(self.rows, (character.rows.start, character.rows.stop)).tolist())

    def relative(self, matrices) -> np.ndarray:
        """Rotations [k, 4] of children against parents, in the joints' frames, of rigid matrices [m, 4, 4]."""
        if self._last[0] is not matrices:
            child, parent = matrices.take(self.rows, axis=0), matrices.take(self.parents, axis=0)
            self._last = matrices, limits.joint_rotations(child, parent, self.below, self.above)
        return self._last[1]

    def carried(self, run, of=slice(None)) -> np.ndarray:
        """Inertia tensors [k, 3, 3] of what the joints, or some of them, carry now, in the parents' joint frames."""
        joints = run.body[self.parents[of]] @ self.above[of]
        return joint_motors.carried_tensors(run.masses, self.moments, run.body, joints, self.carries[of])

    def tell(self, graph, speeds: np.ndarray, torque: np.ndarray) -> None:
        """Set the evaluated motors: their velocities [rad/s] and largest torques [N m], [k, 6]; off are those of 0."""
        speeds, torque = (values[self.places] for values in (speeds, torque))
        turned, other, self.told = np.sign(torque) != np.sign(self.told), torque != self.told, torque
        columns = (values.tolist() for values in (turned, other, speeds, torque))
        for motor, switched, changed, speed, most in zip(self.motors, *columns, strict=True):
            if most or switched:
                constraint = motor.evaluated_get(graph).rigid_body_constraint
                constraint.motor_ang_target_velocity = speed
                if changed:
                    constraint.motor_ang_max_impulse = most
                if switched:
                    constraint.enabled = most > 0.0


@dataclass(eq=False)
class Muscles:
    """Springs at some joints of a run, which lead them instead of the drives."""

    of: np.ndarray | slice  # joints [j], by their places in `JointDrives`
    start: np.ndarray  # rotations that they are led to, now and at the frame's end [j, 4]
    end: np.ndarray
    weight: np.ndarray  # in [0, 1] [j]
    parameters: dict  # of the law of springs
    memory: dict  # what that law keeps from frame to frame
    strongest: np.ndarray  # largest torques [j] [N m], 0 for no limit
    holding: np.ndarray  # torques [j] with which each motor at least keeps to its velocity [N m]

    def command(self, own: JointDrives, run, relative, frame: Frame) -> tuple:
        """What `Law.joint_command` gives."""
        course = relative[self.of], self.start, self.end, self.weight
        carried = 0.0, partial(own.carried, run, self.of), 0.0  # of which springs need the tensors alone
        return drives.of("SPRING").joint_command(Joints(*course, *carried, self.parameters, frame, self.memory))


def gather_motors(characters, parents: np.ndarray, frames: tuple) -> JointDrives | None:
    """The joint drives of a run's characters, by the rows of its bodies' parents [m] and what `limits.frames_in_bodies`
    gives of these; None where there is none."""
    parts = [part for character in characters for part in character.obj.active_ragdoll.parts]
    rows = np.array([row for row, part in enumerate(parts) if part.motors], dtype=int)
    if not len(rows):
        return None
    empties = [(joint, motor) for joint, row in enumerate(rows.tolist()) for motor in parts[row].motors]
    places = tuple(np.array([(joint, motor[built.NUMBER]) for joint, motor in empties]).T)
    available = np.zeros((len(rows), len(joint_motors.MOTORS)), dtype=bool)
    available[places] = True
    below, above = (each[rows] for each in frames)
    turned = quaternion.from_matrix((np.array([parts[row].bind for row in rows.tolist()]) @ below)[:, :3, :3])
    inner = rows, parents[rows], available, places, tuple(motor for _joint, motor in empties), below, above, turned
    moments = body_objects.own_moments([part.body for part in parts])
    return JointDrives(*inner, skeleton.descends(parents)[rows].astype(float), moments, np.full(len(empties), -1))


def write_motors(run, before, seconds: float, substeps: int, gravity: float) -> None:
    """Set the motors for the frame to come, of so many seconds and substeps; `before` is where the animation had the
    bodies at the frame shown [m, 4, 4], the gravity in m/s^2."""
    own, by_laws = run.joint_drives, run.joint_space.any()
    muscles = [each for effect in run.effects.values() for each in effect.muscles]
    if not by_laws and muscles == own.led:
        return
    own.led = None if by_laws else muscles
    relative, frame = own.relative(run.body), Frame(seconds, substeps)
    velocity, limit = np.zeros((len(relative), 3)), run.numbers["max_torque"][own.rows]
    commands = [*_of_laws(run, before, relative, frame, gravity)] if by_laws else []
    commands += [(each.of, *each.command(own, run, relative, frame)) for each in muscles]
    for of, wanted_velocity, _torque in commands:
        velocity[of] = wanted_velocity
    on, speeds, axes = joint_motors.motor_speeds(relative, velocity, own.available, seconds)
    torque = np.zeros(on.shape)
    for of, _velocity, most in commands:
        torque[of] = joint_motors.shares(axes[of], on[of], most) if most.shape[1] == 3 else most
    for each in muscles:
        limit[each.of], torque[each.of] = each.strongest, np.maximum(torque[each.of], each.holding[:, None])
    torque = np.minimum(torque, np.minimum(np.where(limit > 0.0, limit, np.inf), STRONGEST)[:, None])
    own.tell(run.graph, speeds, torque * on)


def _of_laws(run, before, relative, frame: Frame, gravity: float) -> Iterator[tuple]:
    """The places of the joints that each law leads, and what it asks of their motors, see `Law.joint_command`."""
    own = run.joint_drives
    joints = Joints(
        relative=relative,
        start=own.relative(before),
        end=own.relative(run.wanted),
        weight=np.where(run.joint_space, run.weighed[0], 0.0)[own.rows],
        inertia=run.inertia[own.rows],
        tensors=lambda: own.carried(run),
        # During the frame a limb that nothing held would turn by this much, and on average by half of it.
        fall=0.25 * gravity * frame.seconds**2 / run.gyration_radius[own.rows],
        parameters={name: values[own.rows] for name, values in run.numbers.items()},
        frame=frame,
    )
    for law, mask in drives.in_use(run.drive[own.rows]):
        of, memory = np.flatnonzero(mask), own.memory.setdefault(law.identifier, {})
        yield of, *(values[of] for values in law.joint_command(replace(joints, memory=memory)))
