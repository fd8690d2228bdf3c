"""Joint-space drives: motors between child and parent bodies, and what a run writes to them."""

from dataclasses import dataclass

import numpy as np
from mathutils import Matrix

from .. import quaternion
from ..ragdoll import joint_drive, joints
from .helpers import helper

SAMPLES = 5  # of each swing over its range, for choosing motors
STRONGEST = 1e12  # [N m] what Blender takes as a motor's largest torque


def make(obj, scene, collection, pose, plan, animated) -> None:
    """Give every joint the motors that serve it over its whole range and its animation.

    They stand disabled until a run enables their evaluated copies.

    Args:
        animated: joint rotations [f, 4] of the sampled animation, by body, where they are known.
    """
    parts = obj.active_ragdoll.parts
    size = 0.005 * obj.active_ragdoll.height
    for i, bone in enumerate(plan.bones):
        parent = int(plan.parents[i])
        if parent < 0:
            continue
        settings = obj.pose.bones[bone].active_ragdoll
        turn = np.eye(4)
        turn[:3, :3] = quaternion.to_matrix(quaternion.normalize(np.array(settings.joint_rotation, dtype=float)))
        frame = pose.matrices[bone] @ turn
        for index in _motors(settings, animated.get(i)):
            x, z = joint_drive.MOTORS[index]
            own = np.eye(4)
            own[:3, :3] = np.stack([np.eye(3)[x], np.cross(np.eye(3)[z], np.eye(3)[x]), np.eye(3)[z]], axis=1)
            empty = helper(f"{obj.name} {pose.names[bone]} Motor", None, collection, aside=False)
            empty.empty_display_size = size
            empty.matrix_basis = Matrix((frame @ own).tolist())
            scene.rigidbody_world.constraints.objects.link(empty)
            constraint = empty.rigid_body_constraint
            constraint.type = "MOTOR"
            constraint.object1, constraint.object2 = parts[i].body, parts[parent].body
            constraint.disable_collisions = True
            constraint.use_motor_ang, constraint.use_motor_lin = True, False
            constraint.motor_ang_target_velocity = 0.0
            constraint.enabled = False
            motor = parts[i].motors.add()
            motor.empty, motor.index = empty, index


def _motors(settings, animated) -> tuple:
    """Indices into `joint_drive.MOTORS` for a bone's joint."""
    low, high = np.array(settings.limit_min, dtype=float), np.array(settings.limit_max, dtype=float)
    if settings.joint == "FIXED":
        return ()
    if settings.joint == "HINGE":
        axis = joints.hinge_axis(low, high)
        return (next(i for i, (x, _z) in enumerate(joint_drive.MOTORS) if x == axis),)
    if settings.joint == "FREE":
        return tuple(range(len(joint_drive.MOTORS)))
    swing_x, twist, swing_z = (np.linspace(a, b, SAMPLES) for a, b in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(swing_x, twist, swing_z, indexing="ij"), axis=-1).reshape(-1, 3)
    swings = quaternion.from_rotation_vector(grid * (1.0, 0.0, 1.0))
    found = quaternion.multiply(swings, quaternion.from_rotation_vector(grid * (0.0, 1.0, 0.0)))
    if animated is not None:
        found = np.concatenate([found, animated])
    return joint_drive.needed_motors(found)


@dataclass
class JointDrives:
    """The joint-driven bodies of a run.

    Attributes:
        rows: of the child bodies in the run [k].
        parents: rows of their parents [k].
        available: motors that each joint has [k, 6].
        motors: (joint, motor, Empty) of each.
        frames: the joints' frames in bind pose, world [k, 4].
        bind: rotations of all bodies in bind pose [m, 4].
        written: whether each motor was last told to run.
        last: joint rotations and accelerations of the frame before, for springs.
    """

    rows: np.ndarray
    parents: np.ndarray
    available: np.ndarray
    motors: list
    frames: np.ndarray
    bind: np.ndarray
    written: dict
    last: tuple | None = None

    def relative(self, matrices) -> np.ndarray:
        """Rotations [k, 4] of children against parents, in the joints' frames, of rigid matrices [m, 4, 4]."""
        turned = quaternion.multiply(quaternion.from_matrix(matrices[:, :3, :3]), quaternion.conjugate(self.bind))
        between = quaternion.multiply(quaternion.conjugate(turned[self.parents]), turned[self.rows])
        return quaternion.multiply(quaternion.conjugate(self.frames), quaternion.multiply(between, self.frames))


def gather(characters) -> JointDrives | None:
    """The joint drives of a run's characters; None where there is none."""
    rows, parents, available, motors, frames, bind = [], [], [], [], [], []
    for character in characters:
        settings = character.obj.active_ragdoll
        index = {part.bone: character.rows.start + i for i, part in enumerate(settings.parts)}
        for part in settings.parts:
            body = np.array(part.bind).reshape(4, 4)
            bind.append(body)
            if not part.motors:
                continue
            mask = np.zeros(len(joint_drive.MOTORS), dtype=bool)
            for motor in part.motors:
                mask[motor.index] = True
                motors.append((len(rows), motor.index, motor.empty))
            own = quaternion.normalize(
                np.array(character.obj.pose.bones[part.bone].active_ragdoll.joint_rotation, dtype=float)
            )
            bone = (body @ np.linalg.inv(np.array(part.offset).reshape(4, 4)))[:3, :3]
            frames.append(quaternion.multiply(quaternion.from_matrix(bone), own))
            rows.append(index[part.bone])
            parents.append(index[part.parent])
            available.append(mask)
    if not rows:
        return None
    bind = quaternion.from_matrix(np.array(bind)[:, :3, :3])
    return JointDrives(np.array(rows), np.array(parents), np.array(available), motors, np.array(frames), bind, {})


def write(run, before, weights, seconds: float, substeps: int, gravity: float) -> None:
    """Set the motors for the frame to come.

    Args:
        before: where the animation had the bodies at the frame shown [m, 4, 4].
        weights: rotation weights of all bodies [m].
        seconds, substeps: of the frame.
        gravity: [m/s^2].
    """
    own = run.joint_drives
    relative, start, end = own.relative(run.body), own.relative(before), own.relative(run.wanted)
    weight = np.where(run.joint_space, weights, 0.0)[own.rows]
    inertia, is_spring = run.inertia[own.rows], run.spring[own.rows]
    velocity = joint_drive.desired(relative, start, end, weight, seconds)
    if is_spring.any():
        settings = (run.frequency[own.rows], run.damping_ratio[own.rows], inertia)
        soft, pull, acceleration = joint_drive.spring(
            relative, start, end, own.last, weight, *settings, seconds, substeps
        )
        velocity = np.where(is_spring[:, None], soft, velocity)
        own.last = relative, acceleration
    on, speeds, axes = joint_drive.motor_speeds(relative, velocity, own.available, seconds)
    # During the frame a limb that nothing held would turn by this much, and on average by half of it.
    fall = 0.25 * gravity * seconds**2 / run.arms[own.rows]
    error = quaternion.angle_between(relative, start) + fall
    torque = np.broadcast_to(joint_drive.torques(weight, inertia, error)[:, None], on.shape)
    if is_spring.any():
        torque = np.where(is_spring[:, None], joint_drive.shares(axes, on, pull), torque)
    limit = run.max_torque[own.rows][:, None]
    torque = np.minimum(np.where(limit > 0.0, np.minimum(torque, limit), torque), STRONGEST)
    on &= torque > 0.0
    on, speeds, torque = on.tolist(), speeds.tolist(), torque.tolist()
    graph = run.graph
    for joint, motor, empty in own.motors:
        active = on[joint][motor]
        if not active and own.written.get((joint, motor)) is False:
            continue
        constraint = empty.evaluated_get(graph).rigid_body_constraint
        if own.written.get((joint, motor)) is not active:
            constraint.enabled = active
            own.written[joint, motor] = active
        if active:
            constraint.motor_ang_target_velocity = speeds[joint][motor]
            constraint.motor_ang_max_impulse = torque[joint][motor]


def held(run) -> np.ndarray:
    """Bodies whose characters are driven in joint space [m]: no drive of theirs acts from the world."""
    result = np.zeros(run.characters[-1].rows.stop, dtype=bool)
    for character in run.characters:
        result[character.rows] = character.obj.active_ragdoll.drive_space == "JOINT"
    return result


def leave_to_world(run, led: list) -> None:
    """Let characters that are brought back to their animation be driven in world space meanwhile.

    Without an outside hand they would only stretch where they lie, and leave the whole way up to the physics blend.

    Args:
        led: slices of their bodies.
    """
    own = run.in_joints.copy()
    for rows in led:
        own[rows] = False
    if np.any(own != run.joint_space):
        run.joint_space, run.gains_dirty = own, True
