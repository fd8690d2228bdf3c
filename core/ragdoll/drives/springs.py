"""Springs between a body and its target: frequency and damping ratio as gains, and the same in discrete steps.

A spring's torque is ``k e - c w``: e the rotation vector of the shortest arc from the body to its target, w the
angular velocity relative to the target's; its force the same with the distance and the velocity. Stiffness and damping
come from a frequency f [Hz] and a damping ratio z,

    k = I (2 pi f)^2        c = 2 z I (2 pi f),

I being the mass or the moment of inertia, about the axis that swings, of all that the joint carries (Zordan and Hodgins
2002, Motion capture-driven simulations that hit and react), so that one pair of numbers serves fingers and hips. In
world space there is one moment for each of the body's axes, as in bind pose, but see `_LEAST_MOMENT`; in joint space
the tensor of the pose as it is.

A spring evaluated in steps with those gains is another spring, and beyond two radians a step it explodes. So the gains
here are those for which the *stepped* motion has the poles of the continuous one, ``exp(s step)`` with s the roots of
s^2 + 2 z w s + w^2 (pole matching, see Franklin, Powell and Workman, Digital Control of Dynamic Systems). A pole of a
damped spring lies within the unit circle at any step, so no frequency, damping ratio or step makes it unstable. What
would swing through more than a quarter of its circle in a step is slowed to that: 6 Hz for a motor at 24 frames a
second, 60 Hz for a constraint at 240 substeps.

Bullet does it by a SPRING2 constraint (`spring2`), which measures error and velocity in every substep, or by a motor
for a whole frame (`motor`). It limits a SPRING2's gains to what one substep can bear by the bodies' own inertia: a
spring stiffer than that is softer than asked for, but holds.

In both, Bullet's velocity is that of the middle of a substep: a body released at rest is ahead of the continuous motion
by half of a substep, at 240 steps a second 2 ms; a softer first frame makes up for most of it. Measured in Blender 4.5
at 24 frames of 10 substeps, a released body of 0.5 to 2 Hz: within 0.03 % of the closed form half a substep on.
"""

import numpy as np

from ... import quaternion
from . import law, servo

LOWEST, HIGHEST = 0.1, 30.0  # [Hz]
MOST_DAMPING = 3.0
# [rad] A swing through more of its circle in a step could as well be a slower one the other way round.
_LARGEST_PHASE = 0.5 * np.pi
# A slender body's moment about itself counts as no less than this share of its largest. Bullet measures a rotation as
# three angles one after the other, so a swing across also turns the body about itself, with a part of its own
# stiffness. A twist that is hundreds of times softer grows by that until it takes the swing with it.
_LEAST_MOMENT = 0.3


def _poles(frequency, damping_ratio, step):
    """Sum and product of the two poles of a damped oscillator sampled every `step` seconds."""
    phase = np.minimum(2.0 * np.pi * np.asarray(frequency, dtype=float) * step, _LARGEST_PHASE)
    ratio = np.asarray(damping_ratio, dtype=float)
    damped, turned = ratio * phase, phase * np.sqrt(np.abs(1.0 - ratio**2))
    decay = np.exp(-damped)
    # exp(-z p) cosh(x) written with the exponents together, as one alone overflows
    overdamped = np.exp(turned - damped) + np.exp(-turned - damped)
    return np.where(ratio < 1.0, 2.0 * decay * np.cos(turned), overdamped), decay**2


def spring2(frequency, damping_ratio, inertia, step):
    """Stiffness and damping of a SPRING2 constraint that moves an inertia as the continuous spring does.

    Bullet adds ``k e - c v`` times the step to the momentum and then moves the body. That has the sum of poles
    2 - a - d and their product 1 - d, with a = k step^2 / I and d = c step / I.

    Frequency [Hz], damping ratio and inertia [kg or kg m^2] are broadcast; `step` is the duration of a substep [s].
    """
    total, product = _poles(frequency, damping_ratio, step)
    inertia = np.asarray(inertia, dtype=float)
    return inertia * np.maximum(1.0 - total + product, 0.0) / step**2, inertia * (1.0 - product) / step


def motor(frequency, damping_ratio, error, velocity, seconds, substeps):
    """Velocity of a motor for one frame, and the acceleration that its force amounts to, to move as the spring does.

    The motor pushes with a constant force through the frame; its velocity is where the force takes the body by the
    frame's end, so that it never pushes further when others push with it. The acceleration is ``-K e - C v``, K and C
    placing the poles of ``x' = x + T v + T^2 u (n + 1) / (2 n), v' = v + T u``: the body's motion in a frame of T
    seconds and n substeps.
    Returns velocity relative to the target and acceleration [.., 3], both along the world's axes.

    Args:
        frequency [Hz], damping_ratio: [..], broadcast.
        error: from the body to its target at the frame's beginning [.., 3] (m, or a rotation vector in rad).
        velocity: of the body relative to its target then [.., 3].
    """
    error, velocity = np.asarray(error, dtype=float), np.asarray(velocity, dtype=float)
    total, product = _poles(frequency, damping_ratio, seconds)
    along = np.maximum(1.0 - total + product, 0.0)
    against = 1.0 - product + 0.5 * (1.0 - 1.0 / substeps) * along
    acceleration = ((along / seconds)[..., None] * error - against[..., None] * velocity) / seconds
    return velocity + acceleration * seconds, acceleration


def joint_motor(relative, before, target, last, weight, frequency, damping_ratio, inertia, seconds, substeps):
    """What a spring between child and parent asks of the motors in a frame: `motor` about the target's motion.

    A weight w makes it a spring of the same damping ratio and of the frequency times the square root of w.
    Returns Angular velocity [k, 3], torque [k, 3] (N m) and acceleration [k, 3], in the parent's joint frame.

    Args:
        relative, before, target: as in `servo.joint_velocity`. weight, frequency [Hz], damping_ratio: [k].
        last: rotations one frame ago and the acceleration [k, 3] that the motors gave then; None at the first.
        inertia: tensors of what the joints carry [k, 3, 3], in the parent's joint frame [kg m^2].
    """
    then, acceleration = last or (relative, None)
    ends, starts = np.array((target, relative, before)), np.array((before, then, relative))
    own, mean, error = quaternion.to_rotation_vector(quaternion.multiply(ends, quaternion.conjugate(starts)))
    own = velocity = own / seconds
    if last is not None:
        # Blender shows where bodies are and not how fast: exact where nothing but the motor pushed.
        velocity = mean / seconds + acceleration * (0.5 * seconds * (1.0 - 1.0 / substeps))
    speed, acceleration = motor(frequency * np.sqrt(weight), damping_ratio, error, velocity - own, seconds, substeps)
    return own + speed, np.einsum("kij,kj->ki", inertia, acceleration), acceleration


# fmt: off
FREQUENCY = law.Parameter(
    name="frequency", setting="spring_frequency", title="Frequency [Hz]", called="spring's frequency", unit="Hz",
    description="How often a second a body would swing on its spring, at weight 1",
    default=3.0, lowest=LOWEST, highest=HIGHEST, within=(LOWEST, HIGHEST), option=("frequency", "HZ", "of the springs"),
    factor=law.Factor("frequency_scale", "Frequency", "Multiplies the character's spring frequency", 0.01))
DAMPING_RATIO = law.Parameter(
    name="damping_ratio", setting="spring_damping_ratio", title="Damping Ratio", called="damping ratio",
    description="Of the springs: 0 swings for ever, 1 comes to rest soonest without swinging",
    default=1.0, lowest=0.0, highest=MOST_DAMPING, option=("damping", "RATIO", "damping ratio of the springs"),
    factor=law.Factor("damping_scale", "Damping", "Multiplies the character's damping ratio"))
# fmt: on


class Spring(law.Law):
    """Damped springs, softer with the weight: a weight w has the frequency times the square root of w."""

    identifier, label = "SPRING", "Spring"
    description = "Damped springs between the bodies and their places in the animation"
    parameters = FREQUENCY, DAMPING_RATIO
    first_frame_differs = True

    def reach(self, weight, seconds):
        """As far as the servo's axes bear, whatever the weight."""
        return np.full_like(weight, servo.FARTHEST)

    def gains(self, side: law.Side, frame: law.Frame) -> tuple:
        """See `spring2`."""
        frequency = side.parameters["frequency"] * np.sqrt(side.weight)
        if frame.is_first:
            # On a body at rest the first of the substeps should kick for half of its time only. With the stiffness of
            # the whole frame lower by 1 / (2 n) the body is as fast as it should be at the frame's end.
            frequency = frequency * np.sqrt(1.0 - 0.5 / frame.substeps)
        ratio, step = side.parameters["damping_ratio"], frame.seconds / frame.substeps
        inertias = np.maximum(side.inertias, _LEAST_MOMENT * side.inertias.max(axis=1, keepdims=True))
        stiffness, damping = spring2(frequency[:, None], ratio[:, None], inertias, step)
        if side.cap is not None:
            stiffness = servo.capped(stiffness, *(np.reshape(each, (-1, 1)) for each in side.cap))
        return stiffness, damping

    def joint_command(self, joints: law.Joints) -> tuple:
        """See `joint_motor`."""
        course = joints.relative, joints.start, joints.end, joints.memory.get("last")
        settings = joints.parameters["frequency"], joints.parameters["damping_ratio"], joints.tensors()
        frame = joints.frame.seconds, joints.frame.substeps
        velocity, torque, acceleration = joint_motor(*course, joints.weight, *settings, *frame)
        joints.memory["last"] = joints.relative, acceleration
        return velocity, torque


# A spring of Bullet's older kind is a motor on each axis of its frame whose largest force is ``stiffness * distance``.
# With its other end far away, and moving away faster than any body follows, the motor never reaches its velocity and
# gives exactly that force, at the place on the body where the spring's frame is; so it turns the body as well. In every
# substep the distance is that to where the other end stands at the end of the substep.
#
# A blow acts in the first of the n substeps of a frame alone: its spring is set to break under just what it gives. The
# other end comes from near the body and is at ``P0 + (P1 - P0) / n`` by then. A push acts in all of them, on average to
# ``P0 + (P1 - P0) (n + 1) / 2 n``.
BREAKS = 0.9999  # of the largest share of an axis; Bullet cuts the axes down to where the spring breaks
FAR = 1000.0  # heights of the character: what a body moves in a frame changes the force by less than a thousandth
AWAY = 100.0  # heights per frame that the other end of a push goes on


def impulse_spring(point, place, impulse, seconds: float, substeps: int, size: float, blow: bool) -> tuple:
    """Where the other end must go in a frame [3], and the stiffness [N/m], for a blow or a push.

    The impulse is right whatever the place, since the motion makes up for a place that is off its line.

    Args:
        point: where it acts now [3], [m]. place: of the other end now [3], [m]; near the body for a blow.
        impulse: in this frame, of a blow the whole one [N s], [3], not zero. seconds: duration of the frame [s].
        size: height of the character [m].
    """
    strength, length = float(np.linalg.norm(impulse)), FAR * size
    if not blow:
        length = max(float(np.linalg.norm(place - point)) + 0.5 * AWAY * size, length)
    mean, times = point + impulse / strength * length, substeps if blow else 2.0 * substeps / (substeps + 1.0)
    return place + (mean - place) * times, strength * (substeps if blow else 1) / seconds / length
