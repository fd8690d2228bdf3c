"""From one motion into another: blended without a jump, and getting up where one lies.

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
from typing import NamedTuple

import numpy as np

from ... import quaternion
from ...errors import RagdollError
from ...pose import affine, compose_matrices


def smooth_step(share) -> np.ndarray:
    """0..1 for 0..1 with no velocity and no acceleration at either end: 6 s^5 - 15 s^4 + 10 s^3."""
    # The upper half as the lower one upside down: there the sum of large terms would round to beyond 1.
    plain = type(share) is float  # needs no arrays: some are asked for at every frame
    s = min(max(share, 0.0), 1.0) if plain else np.minimum(np.maximum(share, 0.0), 1.0)
    low = min(s, 1.0 - s) if plain else np.minimum(s, 1.0 - s)
    half = low * low * low * (low * (6.0 * low - 15.0) + 10.0)
    return (1.0 - half if s > 0.5 else half) if plain else np.where(s > 0.5, 1.0 - half, half)


class Transition(NamedTuple):
    """The offsets of an old motion from a new one at the change, and their velocities then; they die away."""

    way: np.ndarray  # offset of the positions [.., 3]
    pace: np.ndarray  # its velocity [.., 3]
    turn: np.ndarray  # offset of the rotations, as rotation vectors [.., 3]
    spin: np.ndarray  # its velocity [.., 3]
    duration: np.ndarray  # until all is over [..], [s]

    def applied(self, positions, rotations, seconds) -> tuple[np.ndarray, np.ndarray]:
        """The new motion's positions [.., 3] and rotations [.., 4] with what is left of the offsets, some seconds
        after the change."""
        duration = np.asarray(self.duration, dtype=float)
        some = duration > 0.0
        s = np.clip(np.where(some, seconds / np.where(some, duration, 1.0), 1.0), 0.0, 1.0)
        # Both end at 0 without velocity and acceleration, and begin without acceleration: from 1 at rest, and from 0
        # with velocity 1.
        left, drift = (1.0 - smooth_step(s))[..., None], (duration * s * (1.0 - s) ** 3 * (1.0 + 3.0 * s))[..., None]
        turn = quaternion.from_rotation_vector(left * self.turn + drift * self.spin)
        return np.asarray(positions) + (left * self.way + drift * self.pace), quaternion.multiply(turn, rotations)

    def placed(self, places: np.ndarray, seconds) -> np.ndarray:
        """The new motion's rigid matrices [.., 4, 4] likewise."""
        return compose_matrices(*self.applied(places[..., :3, 3], quaternion.from_matrix(places[..., :3, :3]), seconds))


@dataclass(frozen=True)
class Moving:
    """Bones at a moment: positions [.., 3], rotations [.., 4], velocities [.., 3], angular velocities [.., 3] [1/s].

    All in one space: the world's, or for a local pose the parents'."""

    positions: np.ndarray
    rotations: np.ndarray
    velocities: np.ndarray
    spins: np.ndarray

    @staticmethod
    def from_frames(positions, rotations, before_positions, before_rotations, seconds: float) -> "Moving":
        """From two frames: here and `seconds` before, with the mean velocities between."""
        positions, rotations = np.asarray(positions, dtype=float), np.asarray(rotations, dtype=float)
        spins = quaternion.to_rotation_vector(quaternion.multiply(rotations, quaternion.conjugate(before_rotations)))
        return Moving(positions, rotations, (positions - before_positions) / seconds, spins / seconds)


def transition(old: Moving, new: Moving, duration) -> Transition:
    """From an old motion to a new one, both at the moment of the change, within durations [..], [s]."""
    offset = quaternion.multiply(old.rotations, quaternion.conjugate(new.rotations))
    offset = np.where(offset[..., :1] < 0.0, -offset, offset)
    vector = quaternion.to_rotation_vector(offset)
    spin = old.spins - quaternion.rotate(offset, new.spins)
    moved = old.positions - new.positions, old.velocities - new.velocities
    return Transition(*moved, vector, vector_velocity(vector, spin), duration)


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
    """Both motions mixed, positions [.., 3] and rotations [.., 4]: the old one at share 0 [..], the new one at 1.

    `share` is that of the blend's time that has passed; it is eased so that no velocity jumps at either end."""
    eased = smooth_step(share)
    old, new = np.asarray(old_positions, dtype=float), np.asarray(new_positions, dtype=float)
    return old + (new - old) * eased[..., None], quaternion.slerp(old_rotations, new_rotations, eased)


# Only what leaves the floor a floor is done: a turn about the vertical and a shift along the ground, and where the
# floor is higher or lower there, the difference.
#
# The heading of a lying body: its trunk is raised upright on the shortest arc, and where it looks then is its heading.
# Who lies on his back thus looks to his feet's side and who lies on his face to his head's, as they do once they have
# sat or knelt up; standing, it is the way the chest points. The same rule for the lying pose and for the get-up's first
# frame makes the two agree, whatever pose the action begins in.
FACE_UP, FACE_DOWN = "FACE_UP", "FACE_DOWN"
UP = np.array([0.0, 0.0, 1.0])
_FAINT = 1e-6  # below this length of a unit vector on the floor there is no direction


@dataclass(frozen=True)
class Trunk:
    """Where a trunk is and how it lies."""

    pelvis: np.ndarray  # its place [3], world, [m]
    along: np.ndarray  # unit vector from the pelvis to the chest [3]
    forward: np.ndarray  # where the chest points, across it [3]


def trunk(pelvis, chest, left, right) -> Trunk:
    """The trunk from four points [3]: pelvis, upper trunk, and one on either side, of the hips or the shoulders. Raises
    RagdollError: the four lie on one line, or are not numbers."""
    along, forward = chest - pelvis, np.cross(left - right, chest - pelvis)
    size, across = np.linalg.norm(along), np.linalg.norm(forward)
    if not (size > 0.0 and across > 1e-9 * size**2):
        raise RagdollError("The trunk has no direction: pelvis, chest and sides lie on one line")
    return Trunk(pelvis, along / size, forward / across)


def heading(found: Trunk) -> np.ndarray:
    """Unit vector along the floor [3]; see above. Head down, where any arc is the shortest, it is where the chest
    points."""
    raised = found.forward
    if found.along @ UP >= -1.0 + 1e-9:
        raised = quaternion.rotate(quaternion.shortest_arc(found.along, UP), raised)
    flat = raised - (raised @ UP) * UP
    return flat / max(float(np.linalg.norm(flat)), _FAINT)


@dataclass(frozen=True)
class Reroot:
    """A move of a whole animation: turned about the vertical through the world's origin, then shifted."""

    rotation: np.ndarray  # unit quaternion [4]
    shift: np.ndarray  # [3], [m]

    def matrix(self) -> np.ndarray:
        """The move as a matrix [4, 4], to be multiplied from the left to world matrices of roots."""
        return affine(quaternion.to_matrix(self.rotation), self.shift)


def rerooted(rest: Trunk, animated: Trunk, rise: float = 0.0, level: bool = False) -> Reroot:
    """The move that takes the trunk of an animation at the frame it is to go on from to where it came to rest.

    rise: how much higher the floor is there than where the animation stands [m]. level: it is so lying and standing."""
    start, end = (each.along if level else heading(each) for each in (animated, rest))  # along itself: it rolls over
    # About the vertical always: the shortest arc of opposite headings could as well lead over the head.
    rotation = quaternion.from_axis_angle(UP, np.arctan2(np.cross(start, end) @ UP, np.sum(start[:2] * end[:2])))
    shift = rest.pelvis - quaternion.rotate(rotation, animated.pelvis)
    return Reroot(rotation, shift - (shift @ UP - rise) * UP)


STEP = 0.1  # of the height: less is a pose lower or higher than the other one, not another floor


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Bones that tell how a character lies, as rows of its poses."""

    pelvis: int  # its row
    trunk: tuple | None  # rows of the upper trunk and of a bone on the left and the right; None without known anatomy
    lowest: np.ndarray  # points of which the lowest one tells where the floor is, see `heights_of` [k, 4]
    height: float  # of the character [m]
    level: bool = False  # whether its trunk is level where it stands, as a quadruped's

    def trunk_of(self, matrices: np.ndarray) -> Trunk | None:
        """The trunk in a pose [n, 4, 4], world; None where the anatomy is not known."""
        return trunk(*matrices[[self.pelvis, *self.trunk], :3, 3]) if self.trunk is not None else None

    def face(self, matrices: np.ndarray) -> str:
        """FACE_UP or FACE_DOWN in a pose [n, 4, 4], world: whether the chest points above the horizon or below.

        Standing exactly upright counts as FACE_UP, and so does what has no known anatomy."""
        trunk = self.trunk_of(matrices)
        return FACE_UP if trunk is None or trunk.forward @ UP >= -1e-9 else FACE_DOWN

    def action(self, matrices: np.ndarray, face_up: str, face_down: str) -> str:
        """Of two get-up actions the one for how the character lies; where one is missing ("") the other."""
        chosen, other = (face_down, face_up) if self.face(matrices) == FACE_DOWN else (face_up, face_down)
        return chosen or other

    def move(self, rest: np.ndarray, animated: np.ndarray) -> Reroot:
        """The move that takes an animation's pose, at the frame it goes on from, to one that lies, both [n, 4, 4]."""
        rise = heights_of(self.lowest, rest).min() - heights_of(self.lowest, animated).min()
        rise = rise if abs(rise) > STEP * self.height else 0.0
        trunks = self.trunk_of(rest), self.trunk_of(animated)
        if trunks[0] is not None:
            return rerooted(*trunks, rise, self.level)
        turn = quaternion.from_matrix(_axes(rest[self.pelvis]) @ _axes(animated[self.pelvis]).T)
        _swing, twist = quaternion.swing_twist(turn, UP)
        shift = rest[self.pelvis, :3, 3] - quaternion.rotate(twist, animated[self.pelvis, :3, 3])
        shift[2] = rise
        return Reroot(twist, shift)


def heights_of(points: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Heights [k] of points [k, 4] in a pose [n, 4, 4], world; each a bone's row and a place in its axes, as bodies
    have them: without scale, and turned back where the bone is mirrored."""
    bones = matrices[points[:, 0].astype(int)]
    sense = np.sign(np.linalg.det(bones[:, :3, :3]))[:, None]
    axes = sense * bones[:, 2, :3] / np.maximum(np.linalg.norm(bones[:, :3, :3], axis=1), 1e-12)
    return bones[:, 2, 3] + np.sum(axes * points[:, 1:], axis=1)


def _axes(matrix: np.ndarray) -> np.ndarray:
    """The unit axes [3, 3] of a bone."""
    return matrix[:3, :3] / np.linalg.norm(matrix[:3, :3], axis=0)
