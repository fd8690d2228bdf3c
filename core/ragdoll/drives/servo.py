"""From weights to what a drive does: gains, force caps, and where the target bodies stand.

A drive is one six-axis servo between a body and its kinematic target body. On every axis Bullet moves the body
towards the target at the velocity ``rate * error`` relative to the target's own motion, with at most the force
``stiffness * error``. The error is measured anew in every substep. So two numbers per body say all:

* the frequency w of the spring that the force cap amounts to (stiffness = mass w^2, or inertia w^2), 0 at weight 0
  and beyond what any load can bend at weight 1: a load F displaces the body by F / (m w^2), a blow of velocity v
  by about v / w, an acceleration a of the target by a / w^2. All three rise monotonically as the weight falls.
* the rate, the share of the error closed per second. It stays at half of w or less: the approach is an exponential
  without overshoot.

Both are per second, so that another frame rate gives the same motion.
"""

import math

import numpy as np

from ... import quaternion, skeleton
from ...pose import affine
from .law import Frame, Joints, Law, Side

FLOAT_STEP = 2.0**-24  # spacing of single precision below 1: see `motor`
REFERENCE_FREQUENCY = 2.0 * np.pi * 2.0  # [rad/s] at weight 1/2: the 2 Hz default of Jolt's motors
FULL_FREQUENCY = 1500.0  # [rad/s] at weight 1: gravity displaces a body by 0.004 mm, the solver by less than 0.1
FULL_RATE = 160.0  # [1/s] at weight 1; measured: from 240 to 480 steps a second, errors are the same at any scale
MAX_ERROR_PER_SECOND = np.radians(60.0) * 24.0  # [rad/s] fastest way back of a strong servo
# [rad] farthest a target runs ahead of its body: well inside the 90 degrees where the servo's three axes degenerate
MAX_ERROR, FARTHEST = np.radians(60.0), np.radians(75.0)
DRAG_RATIO = 0.15  # damping ratio of a soft body's swing about where its load holds it
CALM_SPEED, CALM_AFTER, CALM_DRAG = 0.06, 0.3, 2.5  # of a body's own speed, [s], [1/s]
SUPPORTED, MOST_BORNE = 0.5, 3.0  # weights that are borne: enough to lie; a blow of a contact counts as no more
STIFF = 50.0  # [rad/s] beyond it the swing is too small to matter
FASTEST = np.radians(60.0) * 24.0  # [rad/s] at which a motor closes an error at most
WITHOUT_LIMIT = 1e4  # torque of a full weight, in units of inertia times the square of the reference frequency


def frequency(weight):
    """Frequency [rad/s] of the force cap for weights in [0, 1]; strictly monotonic, 0 at 0."""
    weight = np.clip(np.asarray(weight, dtype=float), 0.0, 1.0)
    return REFERENCE_FREQUENCY * weight / (1.0 - weight + REFERENCE_FREQUENCY / FULL_FREQUENCY)


def rate(weight):
    """Share of the error closed per second [1/s]: half the frequency, which is critical damping, at most `FULL_RATE`.

    Faster, the servo would brake only at the edge of its force, and a weak one would resonate with the animation."""
    half = 0.5 * frequency(weight)
    limit = FULL_RATE / (1.0 - FULL_RATE / (0.5 * FULL_FREQUENCY))
    return half / (1.0 + half / limit)


def drag(weight):
    """Damping of a body's motion [1/s] that comes with a weight.

    The servo brakes only what is faster than its rate: a body that hangs in its spring under a load would swing for
    ever below that. Bullet's own damping ends it, at any frame rate; it fades where the spring is stiff, and at weight
    0, where the body is free.
    """
    omega = frequency(weight)
    return 2.0 * DRAG_RATIO * omega / (1.0 + (omega / STIFF) ** 4)


def support(share, gained, gravity, seconds):
    """Share of a character's weight that something bears, after one more frame: 0 in free flight, 1 where it lies.

    Blender tells nothing about contacts, but what nothing bears falls as gravity has it. Smoothed over `CALM_AFTER`
    seconds, as a body that rocks on its contacts is borne by fits and starts. Without gravity nothing bears it.

    Args:
        share: so far.
        gained: velocity [3] that its centre of mass has gained in the frame, beside what damping took [m/s].
        gravity: [3] [m/s^2]. seconds: duration of the frame.
    """
    x, y, z = gravity
    pull = x * x + y * y + z * z
    if pull == 0.0:
        return 0.0
    fallen = gained[0] * x + gained[1] * y + gained[2] * z
    borne = min(max(1.0 - fallen / (pull * seconds), -MOST_BORNE + 2.0), MOST_BORNE)
    return share + (borne - share) * -math.expm1(-seconds / CALM_AFTER)


def settled(calm, speed, own_speed, supported, seconds):
    """Seconds for which a character has been calm, after one more frame.

    Blender's bodies roll and rock without any resistance of their own: a limp character that lies nearly still would
    take a dozen seconds to come to rest. Once it has been slow throughout for `CALM_AFTER` seconds, and something bears
    it (see `support`), its limp bodies get `CALM_DRAG`, until one of them is fast again.

    Args:
        calm: seconds so far. speed: of its fastest body [m/s].
        own_speed: that of a body of its size, the root of height times gravity [m/s].
        supported: whether something bears it. seconds: duration of the frame.
    """
    bound = CALM_SPEED * own_speed * (2.0 if calm >= CALM_AFTER else 1.0)
    return calm + seconds if supported and speed < bound else 0.0


def servo(weight, inertia, steps_per_second):
    """Stiffness [N/m or N m/rad] and rate [1/s] of one servo axis, both [..], for weights [..] in [0, 1].

    `inertia` is the mass [kg] or moment of inertia [kg m^2] that the axis moves [..]. The rate stays at half of the
    rigid body world's substeps per second or less.
    """
    return np.asarray(inertia, dtype=float) * frequency(weight) ** 2, np.minimum(rate(weight), 0.5 * steps_per_second)


def motor(gain, stiffness, weight, scale):
    """Stiffness and Blender's damping value that give Bullet's spring motor a rate [1/s].

    The motor's velocity is ``steps * (1 - damping) / iterations * stiffness * error``; 1 - damping is a whole
    number of single-precision steps, so the stiffness is moved to where the rate comes out right. It cannot exceed 1
    either: bodies too light for that (a character a tenth of a man) get the stiffness that the rate takes, fading with
    the weight, so that at weight 1 they follow as well as heavy ones.

    Args:
        gain [1/s], stiffness [N/m or N m/rad], weight [0..1], scale: iterations / steps per second [s].
    """
    stiffness = np.maximum(stiffness, gain * scale * weight**4)
    wanted = np.where(stiffness > 0.0, gain * scale / np.maximum(stiffness, 1e-30), 1.0)
    whole = np.clip(np.round(wanted / FLOAT_STEP), 1.0, 1.0 / FLOAT_STEP)
    exact = np.where(wanted < 1.0, gain * scale / (whole * FLOAT_STEP), stiffness)
    return np.where(stiffness > 0.0, exact, 0.0), 1.0 - whole * FLOAT_STEP


_UNIT, _FIRST, _SECOND = np.eye(3), 1.875 * np.eye(3), 1.25 * np.eye(3)


def lag_compensated(previous, target, substeps):
    """Where to put the kinematic targets so that the bodies *end* the frame on `target`.

    Bullet measures the error of a substep against the target's place at the end of that substep but the body's at
    its beginning, so a body that follows exactly ends one substep ahead: at g + (g - g') / n. Solved for g.
    Rotations are blended as matrices and made orthogonal again: within 0.01 degrees of the arc for 20 degrees a frame.
    That is one step of third order to the polar factor: R (15 - 10 M + 3 M^2) / 8 with M = R^T R, the first terms of
    the series of R M^(-1/2) about M = 1.
    `previous` and `target` are rigid matrices [m, 4, 4] of the last command and of the wanted pose, n the substeps.
    """
    result = previous + (target - previous) * (substeps / (substeps + 1.0))
    rotation = result[:, :3, :3]
    square = rotation.transpose(0, 2, 1) @ rotation
    result[:, :3, :3] = rotation @ (_FIRST + square @ (0.375 * square - _SECOND))
    return result


def extrapolated(pose, coming):
    """The rigid matrices [m, 4, 4] one step before `pose` for the motion from `pose` to `coming`."""
    turns = pose[:, :3, :3] @ coming[:, :3, :3].transpose(0, 2, 1) @ pose[:, :3, :3]
    return affine(turns, 2.0 * pose[:, :3, 3] - coming[:, :3, 3])


def reach(weights, seconds):
    """How far [rad] a target may be turned ahead of its body, for weights [m] and the duration of a frame [s].

    A strong servo goes all the way to its target within a frame, so its reach is what the largest speed allows; a weak
    one does not, and pulls as if from `MAX_ERROR` on the frame's average. Both are the same motion at any frame rate.
    """
    closing = rate(weights) * seconds
    closed = np.maximum(-np.expm1(-closing), 1e-9)
    angles = np.minimum(MAX_ERROR * closing, MAX_ERROR_PER_SECOND * seconds) / closed
    angles = np.minimum(angles, FARTHEST)
    return np.where(weights > 0.0, angles, np.pi)  # a limp body has no servo to spare


def in_joints(wanted, parents, pivots, slack, placed):
    """Wanted places [m, 4, 4] with bodies no further from their parents than joints let them be; rotations are kept.

    Where the animation stretches bones, the drives of what cannot follow would pull at all that it hangs on.

    Args:
        parents: rows [m], before those of their children, -1 at roots.
        pivots: of the joints in the bodies and in their parents [2, m, 4, 1], homogeneous.
        slack: how far those may be apart [m] [m], without end at roots. placed: mask of bodies that nothing drives [m].
    """
    gaps = (wanted.take(parents, axis=0, mode="wrap") @ pivots[1] - wanted @ pivots[0])[:, :3, 0]
    apart = np.sqrt(np.add.reduce(gaps * gaps, axis=1))
    far = apart > slack
    if not len(far.nonzero()[0]):
        return wanted
    shifts = gaps * np.where(far & ~placed, 1.0 - slack / np.maximum(apart, 1e-12), 0.0)[:, None]
    for row in np.flatnonzero((parents >= 0) & ~placed):
        shifts[row] += shifts[parents[row]]
    result = wanted.copy()
    result[:, :3, 3] += shifts
    return result


def within_reach(body, target, farthest, trace):
    """Targets [m, 4, 4] turned towards the bodies, on the shortest arc, where they are ahead by more than the angles
    `farthest` [m] [rad]; `trace` is that of rotations by these [m]."""
    (far,) = (np.add.reduce(body[:, :3, :3] * target[:, :3, :3], axis=(1, 2)) < trace).nonzero()
    if not len(far):
        return target
    start, end, angles = body[far, :3, :3], target[far, :3, :3], farthest[far]
    way = end @ start.transpose(0, 2, 1)  # Rodrigues' formula
    twist = way - way.transpose(0, 2, 1)
    length = np.sqrt(0.5 * np.einsum("kij,kij->k", twist, twist))
    axis = twist / np.maximum(length, 1e-12)[:, None, None]
    sine, cosine = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    turned = (_UNIT + sine * axis + (1.0 - cosine) * (axis @ axis)) @ start
    (opposite,) = (length < 1e-3).nonzero()  # half a turn: the axis does not show in the antisymmetric part
    if len(opposite):
        first, second = quaternion.from_matrix(start[opposite]), quaternion.from_matrix(end[opposite])
        share = angles[opposite] / np.maximum(quaternion.angle_between(first, second), 1e-9)
        turned[opposite] = quaternion.to_matrix(quaternion.slerp(first, second, np.minimum(share, 1.0)))
    result = target.copy()
    result[far, :3, :3] = turned
    return result


def carried_inertia(masses, centers, joints, parents, own):
    """Inertia [kg m^2] of everything that each joint carries, about the joint [m].

    Gains scaled by it let one weight serve the whole body (Zordan and Hodgins 2002, Motion capture-driven
    simulations that hit and react). Taken in bind pose, once per build, from masses [m] [kg], centers [m, 3], joints
    [m, 3] [m], parents [m] (-1 at roots), and each body's own mean inertia about its centre [m].
    """
    arms = centers - joints[:, None]
    return np.einsum("ji,ji->j", skeleton.descends(parents), own + masses * np.einsum("jik,jik->ji", arms, arms))


def capped(stiffness, largest, error, least):
    """Stiffness [m] of which ``stiffness * error`` stays within `largest` [m]; 0 in `largest` is no limit.

    `least` is the error that gravity alone makes in a frame: from a smaller one the force is not told apart from one
    without limit before the frame is over.
    """
    return np.minimum(stiffness, np.where(largest > 0.0, largest / np.maximum(error, least), np.inf))


def joint_velocity(relative, before, target, weight, seconds):
    """Angular velocity [m, 3] of the child against the parent, in the parent's joint frame.

    The target's own motion over the frame, and the share of the error left that the weight closes in it.

    `relative`, `before`, `target` are rotations now, of the target now and at the frame's end [m, 4].
    """
    error = quaternion.to_rotation_vector(quaternion.multiply(before, quaternion.conjugate(relative)))
    share = np.where(weight >= 1.0, 1.0, -np.expm1(-rate(weight) * seconds))
    closed = error * share[:, None]
    closed *= np.minimum(1.0, FASTEST * seconds / np.maximum(np.linalg.norm(closed, axis=-1, keepdims=True), 1e-12))
    own = quaternion.multiply(target, quaternion.conjugate(before))
    return quaternion.to_rotation_vector(quaternion.multiply(own, quaternion.from_rotation_vector(closed))) / seconds


def joint_torque(weight, inertia, error):
    """Largest torque [N m] of a motor [m]: that of a spring of the weight's frequency at the error, as in world space.

    At weight 1 there is no limit to speak of. `inertia` is that of all that the joint carries [kg m^2], `error` the
    average one that the frame is expected to see [rad].
    """
    stiffness = inertia * frequency(weight) ** 2
    free = inertia * REFERENCE_FREQUENCY**2 * WITHOUT_LIMIT
    return np.where(weight >= 1.0, free, np.minimum(stiffness * error, free))


class Velocity(Law):
    """Servos: as fast as the target, and the error closed at a rate that comes with the weight."""

    identifier, label = "VELOCITY", "Velocity"
    description = "Match the animation's velocities and positions"
    constraint = "SPRING1"

    reach, drag = staticmethod(reach), staticmethod(drag)

    def gains(self, side: Side, frame: Frame) -> tuple:
        """See `servo`."""
        steps_per_second = frame.substeps / frame.seconds
        stiffness, gain = servo(side.weight, side.inertia, steps_per_second)
        if side.cap is not None:
            stiffness = capped(stiffness, *side.cap)
        return tuple(each[:, None] for each in motor(gain, stiffness, side.weight, frame.iterations / steps_per_second))

    def joint_command(self, joints: Joints) -> tuple:
        """See `joint_velocity` and `joint_torque`."""
        velocity = joint_velocity(joints.relative, joints.start, joints.end, joints.weight, joints.frame.seconds)
        error = quaternion.angle_between(joints.relative, joints.start) + joints.fall
        return velocity, joint_torque(joints.weight, joints.inertia, error)[:, None]
