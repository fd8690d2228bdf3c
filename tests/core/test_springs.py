"""Springs: gains, discrete gains, and what Bullet's substep makes of them."""

from dataclasses import dataclass

import numpy as np
import pytest

from core.errors import RagdollError
from core.ragdoll.drives import springs

STEP = 1.0 / 240.0
INERTIA = 0.3


def oscillator(frequency, ratio, time, start, speed=0.0):
    """Place of a damped oscillator: the sum of its two exponentials, from their complex roots."""
    omega = 2.0 * np.pi * frequency
    if ratio == 1.0:
        return (start + (speed + omega * start) * time) * np.exp(-omega * time)
    root = np.sqrt(complex(ratio**2 - 1.0))
    first, second = omega * (-ratio + root), omega * (-ratio - root)
    share = (speed - second * start) / (first - second)
    return (share * np.exp(first * time) + (start - share) * np.exp(second * time)).real


def run_spring2(frequency, ratio, seconds, start=1.0, speed=0.0, step=STEP, first=0):
    world = World(np.array([INERTIA, np.inf]), np.array([start, 0.0]), np.array([speed, 0.0]), step)
    places = [start]
    for substep in range(round(seconds / step)):
        acting = springs.first_frame(frequency, first) if substep < first else frequency
        stiffness, damping = springs.spring2(acting, ratio, INERTIA, step)
        world.substep([world.spring2(0, 1, float(stiffness), float(damping))])
        places.append(world.x[0])
    return np.arange(len(places)) * step, np.array(places)


def run_motor(frequency, ratio, seconds, fps, substeps, start=1.0, observed=True):
    world = World(np.array([INERTIA, np.inf]), np.array([start, 0.0]), np.zeros(2), 1.0 / (fps * substeps))
    places, acceleration, mean = [start], np.zeros(3), np.zeros(3)
    for _frame in range(round(seconds * fps)):
        velocity = np.array([world.v[0], 0.0, 0.0])
        if observed:
            velocity = springs.velocity_at_end(mean, acceleration, 1.0 / fps, substeps)
        error = np.array([-world.x[0], 0.0, 0.0])
        wanted, force, acceleration = springs.motor(frequency, ratio, INERTIA, error, velocity, 1.0 / fps, substeps)
        for _substep in range(substeps):
            world.substep([world.motor(0, 1, wanted[0], force[0])])
        mean = np.array([(world.x[0] - places[-1]) * fps, 0.0, 0.0])
        places.append(world.x[0])
    return np.arange(len(places)) / fps, np.array(places)


@pytest.mark.parametrize("frequency", [0.5, 2.0])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("substeps", [4, 10])
def test_a_softer_first_frame_makes_up_for_half_a_substep(frequency, ratio, substeps):
    time, found = run_spring2(frequency, ratio, 4.0, first=substeps)
    exact = oscillator(frequency, ratio, time, 1.0)
    assert np.abs(found - exact).max() <= 0.007


@pytest.mark.parametrize("fps", [24, 60])
@pytest.mark.parametrize("ratio", [0.2, 1.5])
def test_the_motion_is_the_same_at_any_frame_rate(fps, ratio):
    time, found = run_motor(1.0, ratio, 3.0, fps, round(240 / fps))
    assert np.abs(found - oscillator(1.0, ratio, time, 1.0)).max() <= 0.02


def test_settings_out_of_range_are_refused_by_name():
    springs.FREQUENCY.check("Head", 2.0)
    springs.DAMPING_RATIO.check("Head", 1.0)
    for parameter, values in ((springs.FREQUENCY, (0.0, 31.0, np.nan)), (springs.DAMPING_RATIO, (-0.1, 4.0, np.nan))):
        for value in values:
            with pytest.raises(RagdollError, match=f"Head.*{value:g}"):
                parameter.check("Head", value)


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
