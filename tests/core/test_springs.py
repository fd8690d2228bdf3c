"""Springs: gains, discrete gains, and what Bullet's substep makes of them."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import RagdollError
from core.ragdoll.drives import springs

FREQUENCY = st.floats(springs.LOWEST, springs.HIGHEST)
RATIO = st.floats(0.0, springs.MOST_DAMPING)
STEP = 1.0 / 240.0
INERTIA = 0.3


def gains(frequency, ratio, inertia):
    """Stiffness and damping of the continuous spring."""
    omega = 2.0 * np.pi * frequency
    return inertia * omega**2, 2.0 * ratio * inertia * omega


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


@pytest.mark.parametrize("frequency", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("substeps", [4, 8, 10])
def test_a_softer_first_frame_makes_up_for_half_a_substep(frequency, ratio, substeps):
    time, found = run_spring2(frequency, ratio, 4.0, first=substeps)
    exact = oscillator(frequency, ratio, time, 1.0)
    assert np.abs(found - exact).max() <= 0.007


@pytest.mark.parametrize("frequency", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.5, 1.0, 2.0, 3.0])
def test_spring2_is_the_exact_motion_of_a_body_whose_velocity_is_of_the_middle_of_a_substep(frequency, ratio):
    """The place before the release is the same as at it: the closed form through these two places, to rounding."""
    time, found = run_spring2(frequency, ratio, 4.0)
    basis = np.stack([oscillator(frequency, ratio, time, 1.0), oscillator(frequency, ratio, time, 0.0, 1.0)])
    before = np.array([oscillator(frequency, ratio, -STEP, 1.0), oscillator(frequency, ratio, -STEP, 0.0, 1.0)])
    # Bullet moves at v from -STEP to 0, then damping acts on it: x(0) = 1, x(-STEP) = 1.
    speed = (1.0 - before[0]) / before[1]
    assert found == pytest.approx(basis[0] + speed * basis[1], abs=1e-9)


@pytest.mark.parametrize("fps", [24, 30, 60])
@pytest.mark.parametrize("ratio", [0.2, 0.7, 1.5])
def test_the_motion_is_the_same_at_any_frame_rate(fps, ratio):
    time, found = run_motor(1.0, ratio, 3.0, fps, round(240 / fps))
    assert np.abs(found - oscillator(1.0, ratio, time, 1.0)).max() <= 0.02


@settings(max_examples=25)
@given(FREQUENCY, RATIO, st.sampled_from([24, 30, 60]))
def test_no_spring_of_one_body_grows(frequency, ratio, fps):
    _time, found = run_spring2(frequency, ratio, 2.0)
    # Swings of cos((n + 1/2) p) / cos(p / 2), and Bullet keeps 4 sin(p / 2)^2, the stiffness, to 1/16.
    assert np.abs(found).max() <= 1.0 / np.sqrt(1.0 - 1.0 / 64.0) + 1e-9
    start = 1.0
    for observed in (True, False):
        _time, found = run_motor(frequency, ratio, 4.0, fps, 10, start, observed)
        size = np.abs(found)
        late, early = size[-len(size) // 2 :].max(), size[: len(size) // 2].max()
        assert np.isfinite(size).all() and late <= early * 1.05 + 1e-9


@settings(max_examples=25)
@given(st.lists(st.floats(0.1, 10.0), min_size=2, max_size=6), FREQUENCY, RATIO, st.booleans())
def test_chains_with_mass_ratios_to_a_hundred_stay_bounded(masses, frequency, ratio, fixed):
    """Every body on a spring to the one before, its gains for the mass of all that it carries."""
    masses = np.array([np.inf if fixed else 10.0, *masses])
    count = len(masses)
    carried = np.cumsum(masses[:0:-1])[::-1]
    world = World(masses, np.linspace(0.0, 1.0, count), np.zeros(count))
    stiffness, damping = springs.spring2(frequency, ratio, carried, STEP)
    pairs = masses[1:] / (1.0 + masses[1:] / masses[:-1])  # the inertia that a spring between two free bodies moves
    held = np.minimum(stiffness, pairs * (0.25 / STEP) ** 2)  # as Bullet limits it
    energy, moving = [], np.isfinite(masses)
    for _substep in range(480):
        before = world.v
        world.v = before.copy()
        place = world.x
        rows = [world.spring2(i, i - 1, float(stiffness[i - 1]), float(damping[i - 1])) for i in range(1, count)]
        world.substep(rows)
        # A spring stores by where it is; the speed there is the mean of those before and after.
        speed = 0.5 * (before + world.v)
        energy.append(0.5 * held @ np.diff(place) ** 2 + 0.5 * np.sum(masses[moving] * speed[moving] ** 2))
    assert max(energy) <= 4.0 * energy[0]  # Bullet stops a row at its speed: undamped chains wander, up to 2.6
    if not fixed:
        assert np.sum(masses * world.v) == pytest.approx(0.0, abs=1e-9)  # a spring between bodies is no outside hand


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
