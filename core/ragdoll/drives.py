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

import numpy as np

from .. import quaternion

FLOAT_STEP = 2.0**-24  # spacing of single precision below 1: see `motor`
REFERENCE_FREQUENCY = 2.0 * np.pi * 2.0  # [rad/s] at weight 1/2: the 2 Hz default of Jolt's motors
FULL_FREQUENCY = 1500.0  # [rad/s] at weight 1: gravity displaces a body by 0.004 mm, the solver by less than 0.1
FULL_RATE = 160.0  # [1/s] at weight 1; measured: from 240 to 480 steps a second, errors are the same at any scale
MAX_ERROR_PER_SECOND = np.radians(60.0) * 24.0  # [rad/s] fastest way back of a strong servo
# [rad] farthest a target runs ahead of its body: well inside the 90 degrees where the servo's three axes degenerate
MAX_ERROR, FARTHEST = np.radians(60.0), np.radians(75.0)


DRAG_RATIO = 0.15  # damping ratio of a soft body's swing about where its load holds it
CALM_SPEED, CALM_AFTER, CALM_DRAG = 0.06, 0.3, 2.5  # of a body's own speed, [s], [1/s]
STIFF = 50.0  # [rad/s] beyond it the swing is too small to matter


def frequency(weight):
    """Frequency [rad/s] of the force cap for weights in [0, 1]; strictly monotonic, 0 at 0."""
    weight = np.clip(np.asarray(weight, dtype=float), 0.0, 1.0)
    slack = REFERENCE_FREQUENCY / FULL_FREQUENCY
    return REFERENCE_FREQUENCY * weight / (1.0 - weight + slack)


def rate(weight):
    """Share of the error closed per second [1/s]: half the frequency, which is critical damping, at most `FULL_RATE`.

    Faster, the servo would brake only at the edge of its force, and a weak one would resonate with the animation.
    """
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


def settled(calm, speed, own_speed, seconds):
    """Seconds for which a character has been calm, after one more frame.

    Blender's bodies roll and rock without any resistance of their own: a limp character that lies nearly still would
    take a dozen seconds to come to rest. Once it has been slow throughout for `CALM_AFTER` seconds, its limp bodies get
    `CALM_DRAG`, until one of them is fast again.

    Args:
        calm: seconds so far.
        speed: of its fastest body [m/s].
        own_speed: that of a body of its size, the root of height times gravity [m/s].
        seconds: duration of the frame.
    """
    bound = CALM_SPEED * own_speed * (2.0 if calm >= CALM_AFTER else 1.0)
    return calm + seconds if speed < bound else 0.0


def servo(weight, inertia, steps_per_second):
    """Stiffness and rate of one servo axis.

    Args:
        weight: [..] in [0, 1].
        inertia: mass [kg] or moment of inertia [kg m^2] that the axis moves [..].
        steps_per_second: substeps of the rigid body world per second; the rate stays at half of it or less.
    Returns:
        stiffness [N/m or N m/rad], rate [1/s], both [..].
    """
    stiffness = np.asarray(inertia, dtype=float) * frequency(weight) ** 2
    return stiffness, np.minimum(rate(weight), 0.5 * steps_per_second)


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


def lag_compensated(previous, target, substeps):
    """Where to put the kinematic targets so that the bodies *end* the frame on `target`.

    Bullet measures the error of a substep against the target's place at the end of that substep but the body's at
    its beginning, so a body that follows exactly ends one substep ahead: at g + (g - g') / n. Solved for g.
    Rotations are blended as matrices and made orthogonal again: within 0.01 degrees of the arc for 20 degrees a
    frame.

    Args:
        previous, target: rigid matrices [m, 4, 4] of the last command and of the wanted pose.
        substeps: n, steps per frame.
    """
    share = substeps / (substeps + 1.0)
    return orthogonal(previous + (target - previous) * share)


def orthogonal(matrices):
    """Nearly rigid matrices [m, 4, 4] with their rotations made orthogonal.

    One step of third order to the polar factor: R (15 - 10 M + 3 M^2) / 8 with M = R^T R, the first terms of the
    series of R M^(-1/2) about M = 1.
    """
    result = matrices.copy()
    rotation = matrices[:, :3, :3]
    square = rotation.transpose(0, 2, 1) @ rotation
    result[:, :3, :3] = rotation @ (_FIRST + square @ (0.375 * square - _SECOND))
    return result


_FIRST, _SECOND = 1.875 * np.eye(3), 1.25 * np.eye(3)


def extrapolated(pose, coming):
    """The rigid matrices [m, 4, 4] one step before `pose` for the motion from `pose` to `coming`."""
    result = pose.copy()
    result[:, :3, :3] = pose[:, :3, :3] @ coming[:, :3, :3].transpose(0, 2, 1) @ pose[:, :3, :3]
    result[:, :3, 3] = 2.0 * pose[:, :3, 3] - coming[:, :3, 3]
    return result


def reach(weights, seconds):
    """How far [rad] a target may be turned ahead of its body, for weights [m] and the duration of a frame [s].

    A strong servo goes all the way to its target within a frame, so its reach is what the largest speed allows; a
    weak one does not, and pulls as if from `MAX_ERROR` on the frame's average. Both are the same motion at any frame
    rate.
    """
    closing = rate(weights) * seconds
    closed = np.maximum(-np.expm1(-closing), 1e-9)
    angles = np.minimum(MAX_ERROR * closing, MAX_ERROR_PER_SECOND * seconds) / closed
    angles = np.minimum(angles, FARTHEST)
    return np.where(weights > 0.0, angles, np.pi)  # a limp body has no servo to spare


def within_reach(body, target, farthest):
    """Targets [m, 4, 4] turned towards the bodies, on the shortest arc, where they are more than `farthest` ahead."""
    trace = np.einsum("mij,mij->m", body[:, :3, :3], target[:, :3, :3])
    far = np.flatnonzero(trace < 1.0 + 2.0 * np.cos(farthest))
    if not len(far):
        return target
    result = target.copy()
    result[far, :3, :3] = _turned_towards(body[far, :3, :3], target[far, :3, :3], farthest[far])
    return result


def _turned_towards(start, end, angles):
    """Rotations [k, 3, 3] by `angles` [k] from start towards end on the shortest arc (Rodrigues' formula)."""
    way = end @ start.transpose(0, 2, 1)
    twist = way - way.transpose(0, 2, 1)
    length = np.sqrt(0.5 * np.einsum("kij,kij->k", twist, twist))
    axis = twist / np.maximum(length, 1e-12)[:, None, None]
    sine, cosine = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    result = (np.eye(3) + sine * axis + (1.0 - cosine) * (axis @ axis)) @ start
    opposite = np.flatnonzero(length < 1e-3)  # half a turn: the axis does not show in the antisymmetric part
    if len(opposite):
        first, second = quaternion.from_matrix(start[opposite]), quaternion.from_matrix(end[opposite])
        share = angles[opposite] / np.maximum(quaternion.angle_between(first, second), 1e-9)
        result[opposite] = quaternion.to_matrix(quaternion.slerp(first, second, np.minimum(share, 1.0)))
    return result


def carried_inertia(masses, centers, joints, parents, own):
    """Inertia [kg m^2] of everything that each joint carries, about the joint [m].

    Gains scaled by it let one weight serve the whole body (Zordan and Hodgins 2002, Motion capture-driven
    simulations that hit and react). Taken in bind pose, once per build.

    Args:
        masses [m] [kg], centers [m, 3], joints [m, 3] [m], parents [m] (before their children, -1 at roots).
        own: each body's own mean inertia about its centre [m].
    """
    count = len(masses)
    carried = np.zeros(count)
    for i in range(count):
        ancestor = i
        while ancestor >= 0:
            arm = centers[i] - joints[ancestor]
            carried[ancestor] += own[i] + masses[i] * float(arm @ arm)
            ancestor = parents[ancestor]
    return carried


def capped(stiffness, largest, error, least):
    """Stiffness [m] of which ``stiffness * error`` stays within `largest` [m]; 0 in `largest` is no limit.

    `least` is the error that gravity alone makes in a frame: from a smaller one the force is not told apart from one
    without limit before the frame is over.
    """
    limit = np.where(largest > 0.0, largest / np.maximum(error, least), np.inf)
    return np.minimum(stiffness, limit)
