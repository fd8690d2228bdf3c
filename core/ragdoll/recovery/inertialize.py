"""Blending from one motion into another without a jump: inertialised, or cross-faded.

Inertialised: only the new motion is played, plus the offset that the old one had at the change, which dies away along
a polynomial of fifth order that begins with the offset's own velocity and ends at rest (after Bollo 2018,
Inertialization: high-performance animation transitions in Gears of War, GDC). The old motion is needed at one moment
only, so it may well have been a simulation. Bollo also cuts the time short where the offset shrinks fast, so that it
never goes beyond; that brakes at once when the offset is small, and is left out: with both accelerations zero the
polynomial is linear in offset and velocity, and goes beyond by at most 0.2 times velocity times duration.

Offsets are vectors: of positions, and rotation vectors of the shortest arc between the rotations. Leading axes are
bones, characters, anything.
"""

from dataclasses import dataclass

import numpy as np

from ... import quaternion


def smooth_step(share) -> np.ndarray:
    """0..1 for 0..1 with no velocity and no acceleration at either end: 6 s^5 - 15 s^4 + 10 s^3."""
    s = np.clip(np.asarray(share, dtype=float), 0.0, 1.0)
    # The upper half as the lower one upside down: there the sum of large terms would round to beyond 1.
    low = np.minimum(s, 1.0 - s)
    half = low * low * low * (low * (6.0 * low - 15.0) + 10.0)
    return np.where(s > 0.5, 1.0 - half, half)


@dataclass(frozen=True)
class Decay:
    """Vectors that die away.

    Attributes:
        offset: at the change [.., 3]. velocity: then [.., 3].
        duration: until all is over [..], [s].
    """

    offset: np.ndarray
    velocity: np.ndarray
    duration: np.ndarray

    def at(self, seconds) -> np.ndarray:
        """The vectors some seconds [..] after the change; zero from the duration on."""
        duration = np.asarray(self.duration, dtype=float)
        some = duration > 0.0
        s = np.clip(np.where(some, seconds / np.where(some, duration, 1.0), 1.0), 0.0, 1.0)
        # Both end at 0 without velocity and acceleration, and begin without acceleration: from 1 at rest, and from 0
        # with velocity 1.
        drift = duration * s * (1.0 - s) ** 3 * (1.0 + 3.0 * s)
        return (1.0 - smooth_step(s))[..., None] * self.offset + drift[..., None] * self.velocity


@dataclass(frozen=True)
class Transition:
    """The offsets of an old motion from a new one, dying away."""

    positions: Decay
    rotations: Decay

    def applied(self, positions, rotations, seconds) -> tuple[np.ndarray, np.ndarray]:
        """The new motion's positions [.., 3] and rotations [.., 4] with what is left of the offsets, some seconds
        after the change."""
        turn = quaternion.from_rotation_vector(self.rotations.at(seconds))
        return np.asarray(positions) + self.positions.at(seconds), quaternion.multiply(turn, rotations)


@dataclass(frozen=True)
class Moving:
    """Bones at a moment: positions [.., 3], rotations [.., 4], velocities [.., 3], angular velocities [.., 3] [1/s].

    All in one space: the world's, or for a local pose the parents'.
    """

    positions: np.ndarray
    rotations: np.ndarray
    velocities: np.ndarray
    spins: np.ndarray

    @staticmethod
    def from_frames(positions, rotations, before_positions, before_rotations, seconds: float) -> "Moving":
        """From two frames: here and `seconds` before, with the mean velocities between."""
        turned = quaternion.multiply(rotations, quaternion.conjugate(before_rotations))
        return Moving(
            np.asarray(positions, dtype=float),
            np.asarray(rotations, dtype=float),
            (np.asarray(positions, dtype=float) - before_positions) / seconds,
            quaternion.to_rotation_vector(turned) / seconds,
        )


def transition(old: Moving, new: Moving, duration) -> Transition:
    """From an old motion to a new one, both at the moment of the change, within durations [..], [s]."""
    offset = quaternion.multiply(old.rotations, quaternion.conjugate(new.rotations))
    offset = np.where(offset[..., :1] < 0.0, -offset, offset)
    vector = quaternion.to_rotation_vector(offset)
    spin = old.spins - quaternion.rotate(offset, new.spins)
    return Transition(
        Decay(old.positions - new.positions, old.velocities - new.velocities, duration),
        Decay(vector, vector_velocity(vector, spin), duration),
    )


def vector_velocity(vector, spin) -> np.ndarray:
    """How fast rotation vectors [.., 3] change while what they turn has the angular velocity spin [.., 3].

    The inverse of the left Jacobian of the exponential map (Chirikjian 2012, Stochastic Models, Information Theory,
    and Lie Groups).
    """
    vector, spin = np.broadcast_arrays(np.asarray(vector, dtype=float), np.asarray(spin, dtype=float))
    angle = np.linalg.norm(vector, axis=-1, keepdims=True)
    small = angle < 1e-3
    safe = np.where(small, 1.0, angle)
    # (1 + cos) / sin is the cotangent of half the angle, which is fine up to a whole turn.
    factor = np.where(small, 1.0 / 12.0 + angle**2 / 720.0, (1.0 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2)
    turned = np.cross(vector, spin)
    return spin - 0.5 * turned + factor * np.cross(vector, turned)


def cross_faded(old_positions, old_rotations, new_positions, new_rotations, share) -> tuple[np.ndarray, np.ndarray]:
    """Both motions mixed: the old one at share 0, the new one at 1, eased so that no velocity jumps at either end.

    Args:
        old_positions, new_positions: [.., 3]. old_rotations, new_rotations: [.., 4].
        share: of the blend's time that has passed [..].
    """
    eased = smooth_step(share)
    old, new = np.asarray(old_positions, dtype=float), np.asarray(new_positions, dtype=float)
    return old + (new - old) * eased[..., None], quaternion.slerp(old_rotations, new_rotations, eased)
