"""What a plan to get up knows of the floor and of the body's surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import quaternion as q
from ..biped import Biped, Z, unit


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

    def without_ends(self, own: Biped) -> Surface:
        """Without hands and feet, which are laid on the floor by themselves."""
        kept = ~np.isin(self.rows, own.limbs[:, 2:])
        for (_a, row, _e, _x), way, length in zip(own.limbs, own.ways[:, 1], own.lower, strict=True):
            kept &= (self.rows != row) | (self.offsets @ way < 0.5 * length)
        return Surface(self.rows[kept], self.offsets[kept], self.radii[kept])

    def lowest(self, deltas, places, floor: Floor) -> np.ndarray:
        """Height of the lowest point above the floor [..] in poses [.., m, 4], [.., m, 3]."""
        points = places[..., self.rows, :] + q.rotate(deltas[..., self.rows, :], self.offsets)
        return (points[..., 2] - self.radii - floor.under(points)).min(axis=-1)


def joint_balls(own: Biped) -> Surface:
    """A surface where no bodies are known: balls at joints, in shares of the height."""
    knees, hands = own.limbs[:, 1], own.limbs[2:, 2]
    rows = np.array([0, own.chest, own.head, *knees, *hands])
    radii = own.height * np.array([0.05, 0.05, 0.045, *[0.025] * 4, *[0.012] * 2])
    return Surface(rows, np.zeros((len(rows), 3)), radii)
