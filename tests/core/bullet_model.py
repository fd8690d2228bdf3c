"""Bullet's substep for bodies on one axis: rows solved by sequential impulses, velocities before positions.

Rows are those of btGeneric6DofSpring2Constraint (SPRING2) and of a motor of btGeneric6DofConstraint (MOTOR): a wanted
relative velocity and bounds of the impulse, accumulated over the iterations.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Row:
    """Between body and other: velocity of the one relative to the other, impulse on the body within bounds."""

    body: int
    other: int
    velocity: float
    low: float
    high: float


@dataclass
class World:
    """Bodies on an axis; a mass of infinity is kinematic and keeps its velocity."""

    mass: np.ndarray
    x: np.ndarray
    v: np.ndarray
    step: float = 1.0 / 240.0
    iterations: int = 10

    def spring2(self, body: int, other: int, stiffness: float, damping: float) -> Row:
        """A SPRING2 row that pulls the body to the other's place; the other's is that of the substep's end."""
        step, speed = self.step, self.v[body] - self.v[other]
        ahead = self.v[other] * step if np.isinf(self.mass[other]) else 0.0
        error = self.x[other] + ahead - self.x[body]
        mass = 1.0 / (1.0 / self.mass[body] + 1.0 / self.mass[other])
        if np.sqrt(stiffness / mass) * step > 0.25:
            stiffness = mass / step**2 / 16.0
        if damping * step > mass:
            damping = mass / step
        brake = -damping * speed * step
        impulse = stiffness * error * step + brake
        low, high = min(impulse, brake), max(impulse, brake)
        return Row(body, other, speed + impulse / mass, min(low, 0.0), max(high, 0.0))

    def motor(self, body: int, other: int, velocity: float, force: float) -> Row:
        """A MOTOR row."""
        return Row(body, other, velocity, -force * self.step, force * self.step)

    def substep(self, rows: list) -> None:
        """Solve the rows, then move."""
        done = np.zeros(len(rows))
        for _iteration in range(self.iterations):
            changed = False
            for i, row in enumerate(rows):
                mass = 1.0 / (1.0 / self.mass[row.body] + 1.0 / self.mass[row.other])
                wanted = done[i] + (row.velocity - self.v[row.body] + self.v[row.other]) * mass
                impulse = min(max(wanted, row.low), row.high) - done[i]
                changed |= impulse != 0.0
                done[i] += impulse
                self.v[row.body] += impulse / self.mass[row.body]
                self.v[row.other] -= impulse / self.mass[row.other]
            if not changed:
                break
        self.x = self.x + self.v * self.step
