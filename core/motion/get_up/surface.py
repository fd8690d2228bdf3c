"""What a plan to get up knows of the floor, of the body's surface and of its joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import quaternion as q
from ...ragdoll.joints import limits
from ..biped import LEGS, Biped, Posture, Z, unit

_SWIVEL = 10.0  # [deg] from one trial of where a knee points to the next
_KEPT = 0.1  # of an angle that a knee is turned by: what it costs, against as much beyond a range


@dataclass(frozen=True)
class Floor:
    """A plane, in the plan frame."""

    height: float  # at the origin [m]
    slope: tuple = (0.0, 0.0)  # rise along x and y

    def under(self, points) -> np.ndarray:
        """Its height under points [.., 3]."""
        return self.height + points[..., 0] * self.slope[0] + points[..., 1] * self.slope[1]

    def seen_from(self, turn, origin) -> Floor:
        """From a frame that stands turned [4] about the vertical at a point of the floor [3]."""
        slope = q.rotate(q.conjugate(turn), np.array([*self.slope, 0.0]))
        return Floor(0.0, (float(slope[0]), float(slope[1])))

    @property
    def tilt(self) -> np.ndarray:
        """The rotation [4] from level to along the floor."""
        return q.shortest_arc(Z, unit(np.array([-self.slope[0], -self.slope[1], 1.0])))


@dataclass(frozen=True, eq=False)
class Surface:
    """Points of a body's surface."""

    rows: np.ndarray  # index of the biped's bone that each is fixed to [p]
    offsets: np.ndarray  # from that bone's joint in bind pose, in the character's axes [p, 3], [m]
    radii: np.ndarray  # of balls around them [p], [m]

    def extent(self, row, joint, direction) -> float:
        """How far a bone's points reach in a direction, with its joint there; minus infinity where there are none."""
        own = self.rows == row
        return float(((self.offsets[own] + joint) @ direction + self.radii[own]).max()) if own.any() else -np.inf

    def depths(self, own: Biped, deltas, places, floor: Floor) -> np.ndarray:
        """How deep [.., 5] [m] trunk and limbs are in the floor in poses [.., m, 4], [.., m, 3], 0 above it.

        A limb is what moves with its end, such as hands and feet, which may have no bodies of their own.
        """
        points = places[..., self.rows, :] + q.rotate(deltas[..., self.rows, :], self.offsets)
        found = self.radii + floor.under(points) - points[..., 2]
        of = np.zeros(len(self.rows), dtype=int)
        for i, (_upper, lower, end, toe) in enumerate(own.limbs.tolist()):
            far = (self.rows == lower) & (self.offsets @ own.ways[i, 1] > 0.5 * own.lower[i])
            of[far | (self.rows == end) | ((self.rows == toe) & (i in LEGS))] = i + 1
        parts = [found[..., of == i] for i in range(5)]
        return np.stack([np.max(part, axis=-1, initial=0.0) for part in parts], axis=-1)


def joint_balls(own: Biped) -> Surface:
    """A surface where no bodies are known: balls at joints, in shares of the height."""
    knees, hands = own.limbs[:, 1], own.limbs[2:, 2]
    rows = np.array([0, own.chest, own.head, *knees, *hands])
    radii = own.height * np.array([0.05, 0.05, 0.045, *[0.025] * 4, *[0.012] * 2])
    return Surface(rows, np.zeros((len(rows), 3)), radii)


@dataclass(frozen=True, eq=False)
class Ranges:
    """What a body's joints allow."""

    rows: np.ndarray  # index of the biped's bone that each moves [k]
    above: np.ndarray  # and of that which it hangs on [k]
    frames: np.ndarray  # the joints' own in bind pose, in the character's axes [k, 4]
    bounds: tuple  # type, least and largest angles of each, as in `limits.excess` [k]

    def excess(self, deltas) -> np.ndarray:
        """How far poses [.., m, 4] are beyond it [.., k] [rad]."""
        turned = q.multiply(q.conjugate(deltas[..., self.above, :]), deltas[..., self.rows, :])
        turned = q.multiply(q.conjugate(self.frames), q.multiply(turned, self.frames))
        found = [limits.excess(*bounds, turned[..., i, :]) for i, bounds in enumerate(self.bounds)]
        return np.stack(found, axis=-1) if found else np.zeros((*turned.shape[:-2], 0))

    def hinges(self, own: Biped) -> np.ndarray:
        """The axes [4, 2, 3] that limbs bend about: those of hinges at knees and elbows, else the biped's own."""
        found = own.hinges.copy()
        for row, frame, (joint, low, high) in zip(self.rows, self.frames, self.bounds, strict=True):
            for limb in np.flatnonzero((own.limbs[:, 1] == row) & (joint == "HINGE")):
                axis = q.rotate(frame, np.eye(3)[limits.hinge_axis(low, high)])
                found[limb] = axis * np.sign(axis @ found[limb, 1])
        return found

    def eased(self, own: Biped, postures: Posture) -> Posture:
        """Postures [f] with knees and elbows turned about the lines from limbs' ends to their beginnings.

        By as much as the joints ask for: that leaves what stands where it stands.
        """
        angles = np.radians(np.arange(-180.0, 180.0, _SWIVEL))
        way = unit(postures.ends - own.firsts(postures))
        turns = q.from_axis_angle(way, np.broadcast_to(angles[:, None, None], (len(angles), *way.shape[:-1])))
        poles = q.rotate(turns, postures.poles)
        arrays = [np.broadcast_to(array, (len(angles), *array.shape)) for array in postures.arrays()]
        arrays[3] = poles
        beyond = self.excess(own.solve(Posture(*arrays))[0])
        cost = np.stack([beyond[..., np.isin(self.rows, limb)].sum(axis=-1) for limb in own.limbs], axis=-1)
        best = np.argmin(cost + _KEPT * np.abs(angles)[:, None, None], axis=0)
        poles = np.take_along_axis(poles, best[None, ..., None], axis=0)[0]
        return Posture(*(poles if i == 3 else array for i, array in enumerate(postures.arrays())))
