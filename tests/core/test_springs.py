"""Springs: gains, discrete gains, and what Bullet's substep makes of them."""

import numpy as np
import pytest
from refusals import refuses

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


def moved(place, speed, step, velocity, low, high):
    """Place and speed after a substep of Bullet: a row that brings the body to a velocity with an impulse in bounds."""
    speed += np.clip((velocity - speed) * INERTIA, low, high) / INERTIA
    return place + speed * step, speed


def run_spring2(frequency, ratio, seconds, first=0):
    """SPRING2 rows that pull a body from 1 to 0, the first frame of so many substeps softer."""
    place, speed, places = 1.0, 0.0, [1.0]
    for substep in range(round(seconds / STEP)):
        acting = springs.first_frame(frequency, first) if substep < first else frequency
        stiffness, damping = map(float, springs.spring2(acting, ratio, INERTIA, STEP))
        stiffness = min(stiffness, INERTIA / STEP**2 / 16.0)
        brake = -min(damping, INERTIA / STEP) * speed * STEP
        impulse = -stiffness * place * STEP + brake
        bounds = min(impulse, brake, 0.0), max(impulse, brake, 0.0)
        place, speed = moved(place, speed, STEP, speed + impulse / INERTIA, *bounds)
        places.append(place)
    return np.arange(len(places)) * STEP, np.array(places)


def run_motor(frequency, ratio, seconds, fps, substeps):
    """MOTOR rows told anew at each frame, from what was seen of the last one."""
    step, place, speed, places, acceleration, mean = 1.0 / (fps * substeps), 1.0, 0.0, [1.0], np.zeros(3), np.zeros(3)
    for _frame in range(round(seconds * fps)):
        seen = springs.velocity_at_end(mean, acceleration, 1.0 / fps, substeps)
        error = np.array([-place, 0.0, 0.0])
        wanted, force, acceleration = springs.motor(frequency, ratio, INERTIA, error, seen, 1.0 / fps, substeps)
        for _substep in range(substeps):
            place, speed = moved(place, speed, step, wanted[0], -force[0] * step, force[0] * step)
        mean = np.array([(place - places[-1]) * fps, 0.0, 0.0])
        places.append(place)
    return np.arange(len(places)) / fps, np.array(places)


@pytest.mark.parametrize("frequency", [0.5, 2.0])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("substeps", [4, 10])
def test_a_softer_first_frame_makes_up_for_half_a_substep(frequency, ratio, substeps):
    time, found = run_spring2(frequency, ratio, 4.0, first=substeps)
    exact = oscillator(frequency, ratio, time, 1.0)
    assert np.abs(found - exact).max() <= 0.007


@pytest.mark.parametrize(("parameter", "value"), [(springs.FREQUENCY, 31.0), (springs.DAMPING_RATIO, np.nan)])
def test_settings_out_of_range_are_refused_by_name(parameter, value):
    refuses(f"Head.*{value:g}", parameter.check, "Head", value)


@pytest.mark.parametrize("fps", [24, 60])
@pytest.mark.parametrize("ratio", [0.2, 1.5])
def test_the_motion_is_the_same_at_any_frame_rate(fps, ratio):
    time, found = run_motor(1.0, ratio, 3.0, fps, round(240 / fps))
    assert np.abs(found - oscillator(1.0, ratio, time, 1.0)).max() <= 0.02
