"""Motors between child and parent; springs, and what Bullet's substep makes of them."""

from itertools import combinations

import numpy as np
import pytest

from core import quaternion
from core.ragdoll.drives import joint_motors, servo, springs
from refusals import refuses


def random_rotations(count, largest, seed=1):
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=(count, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    return quaternion.from_axis_angle(axis, rng.uniform(0.0, np.radians(largest), count))


def test_axes_are_as_measured_in_blender():
    """a = normalize(x - z (x . z)), x of the parent's frame, z of the child's."""
    q = random_rotations(50, 170.0)
    matrices = quaternion.to_matrix(q)
    found = joint_motors.axes(q)
    for k, (i, j) in enumerate(joint_motors.MOTORS):
        x, z = np.eye(3)[i], matrices[:, :, j]
        a = x - z * (z @ x)[:, None]
        assert np.allclose(found[:, k], a / np.linalg.norm(a, axis=1, keepdims=True), atol=1e-12)


def test_half_the_sphere_needs_no_more_than_what_stands_well_everywhere():
    assert len(joint_motors.needed_motors(random_rotations(300, 40.0))) == 3
    wide = random_rotations(300, 140.0)
    chosen = joint_motors.needed_motors(wide)
    sizes = np.abs(np.linalg.det(joint_motors.axes(wide)[:, list(combinations(range(6), 3))]))
    inside = [set(triple) <= set(chosen) for triple in combinations(range(6), 3)]
    size, best = sizes[:, inside].max(axis=1), sizes.max(axis=1)
    assert size.min() > 0.9 * min(joint_motors.SKEWED, best.min())


@pytest.mark.parametrize("largest", (20.0, 90.0, 150.0))
def test_a_frame_of_motors_leads_to_the_target(largest):
    """Followed through 20 substeps in which the axes turn with the child, as Bullet does: the target to a fiftieth of
    the turn, from where axes at the frame's beginning would miss it by far more."""
    count, seconds, substeps = 200, 1.0 / 24.0, 20
    start = random_rotations(count, largest, 5)
    target = quaternion.multiply(random_rotations(count, 15.0, 6), start)
    velocity = servo.joint_velocity(start, start, target, np.ones(count), seconds)
    on, speeds, _axes = joint_motors.motor_speeds(start, velocity, np.ones((count, 6), dtype=bool), seconds)
    now = start.copy()
    for _substep in range(substeps):
        axes = joint_motors.axes(now)
        turn = np.array([np.linalg.solve(axes[i, on[i]], speeds[i, on[i]]) for i in range(count)])
        now = quaternion.multiply(quaternion.from_rotation_vector(turn * seconds / substeps), now)
    missed = np.degrees(quaternion.angle_between(now, target))
    asked = np.degrees(quaternion.angle_between(start, target))
    assert np.median(missed / asked) < 0.02 and np.percentile(missed, 95) < 0.5


def test_weights_close_their_share_of_the_error_whatever_the_frame_rate():
    start, target = quaternion.identity((1,)), quaternion.from_axis_angle([(0.0, 1.0, 0.0)], np.radians(10.0))
    for weight in (0.2, 0.5, 0.9):
        left = []
        for fps in (24, 30, 60):
            now = start
            for _frame in range(fps // 6):
                velocity = servo.joint_velocity(now, target, target, np.array([weight]), 1.0 / fps)
                now = quaternion.multiply(quaternion.from_rotation_vector(velocity / fps), now)
            left.append(quaternion.angle_between(now, target)[0])
        assert left[0] / np.radians(10.0) == pytest.approx(np.exp(-servo.rate(weight) * 4.0 / 24.0), rel=1e-6, abs=1e-9)
        assert left == pytest.approx([left[0]] * 3, rel=1e-6, abs=1e-9)


def test_full_weight_has_no_limit_and_none_no_torque_and_between_it_rises():
    found = servo.joint_torque(np.linspace(0.0, 1.0, 21), np.ones(21), np.full(21, 0.05))
    assert found[0] == 0.0 and (np.diff(found) > 0.0).all() and found[-1] >= 1e5


def test_shares_amount_to_the_torque():
    q = random_rotations(100, 120.0)
    pull = np.random.default_rng(8).normal(size=(100, 3))
    on, _speeds, axes = joint_motors.motor_speeds(q, pull, np.ones((100, 6), dtype=bool), 1e-9)
    found, three = joint_motors.shares(axes, on, pull), axes[on].reshape(-1, 3, 3)
    signs = np.sign(np.linalg.solve(three.swapaxes(1, 2), pull[..., None])[..., 0])
    given = np.einsum("km,kmi->ki", found[on].reshape(-1, 3) * signs, three)
    assert np.allclose(given, pull, rtol=0.0, atol=1e-12) and not found[~on].any()
    alone = np.eye(6, dtype=bool)[on.argmax(axis=1)]  # a single one: its part
    along = np.abs(np.sum(axes[alone] * pull, axis=1))
    assert np.allclose(joint_motors.shares(axes, alone, pull)[alone], along, rtol=1e-13, atol=0.0)


STEP = 1.0 / 240.0
INERTIA = 0.3


def oscillator(frequency, ratio, time):
    """Place of a damped oscillator that is let go at 1: the sum of its two exponentials, from their complex roots."""
    omega = 2.0 * np.pi * frequency
    if ratio == 1.0:
        return (1.0 + omega * time) * np.exp(-omega * time)
    root = np.sqrt(complex(ratio**2 - 1.0))
    first, second = omega * (-ratio + root), omega * (-ratio - root)
    share = -second / (first - second)
    return (share * np.exp(first * time) + (1.0 - share) * np.exp(second * time)).real


def moved(place, speed, step, velocity, low, high):
    """Place and speed after a substep of Bullet: a row that brings the body to a velocity with an impulse in bounds."""
    speed += np.clip((velocity - speed) * INERTIA, low, high) / INERTIA
    return place + speed * step, speed


def run_spring2(frequency, ratio, seconds, first=0):
    """SPRING2 rows that pull a body from 1 to 0, the first frame of so many substeps softer."""
    place, speed, places = 1.0, 0.0, [1.0]
    for substep in range(round(seconds / STEP)):
        acting = frequency * np.sqrt(1.0 - 0.5 / first) if substep < first else frequency
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
        seen = mean + acceleration * (0.5 / fps * (1.0 - 1.0 / substeps))
        wanted, acceleration = springs.motor(frequency, ratio, np.array([-place, 0.0, 0.0]), seen, 1.0 / fps, substeps)
        most = INERTIA * abs(acceleration[0]) * step
        for _substep in range(substeps):
            place, speed = moved(place, speed, step, wanted[0], -most, most)
        mean = np.array([(place - places[-1]) * fps, 0.0, 0.0])
        places.append(place)
    return np.arange(len(places)) / fps, np.array(places)


@pytest.mark.parametrize("frequency", [0.5, 2.0])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("substeps", [4, 10])
def test_a_softer_first_frame_makes_up_for_half_a_substep(frequency, ratio, substeps):
    time, found = run_spring2(frequency, ratio, 4.0, first=substeps)
    assert np.abs(found - oscillator(frequency, ratio, time)).max() <= 0.007


@pytest.mark.parametrize(("parameter", "value"), [(springs.FREQUENCY, 31.0), (springs.DAMPING_RATIO, np.nan)])
def test_settings_out_of_range_are_refused_by_name(parameter, value):
    refuses(f"Head.*{value:g}", parameter.check, "Head", value)


@pytest.mark.parametrize("fps", [24, 60])
@pytest.mark.parametrize("ratio", [0.2, 1.5])
def test_the_motion_is_the_same_at_any_frame_rate(fps, ratio):
    time, found = run_motor(1.0, ratio, 3.0, fps, round(240 / fps))
    assert np.abs(found - oscillator(1.0, ratio, time)).max() <= 0.02
