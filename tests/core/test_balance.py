"""Balance: the pendulum by its closed form, capture, the order of strategies, feet; gaits; poses on any rig."""

import cmath
import itertools
import math

import motion_rigs
import numpy as np
import pytest

from core import quaternion
from core.motion import balance, balanced_pose, gait, limbs
from core.motion.balance import Body, Manner, Push, State, Stride
from core.pose import affine

MAN = Body(1.8, 0.86, 0.09)
WAYS = {"ahead": 1, "back": -1, "left": 1j, "right": -1j}
FPS = 24


def stand(body=MAN, heading=1 + 0j, left=1j) -> Stride:
    """Both feet side by side, for ever, or as far off the middle as the left one, in parts of the hips' width."""
    feet = tuple(side * left * body.hips * heading for side in (1, -1))
    return Stride(0j, heading, feet, 0j, (True, True), (9.0 * body.time,) * 2, feet, (0j, 0j), 0.96 * body.leg)


def walk(body=MAN, speed=1.2, carried=0.0, cycle=1.1, bounce=0.0, stance=0.6):
    """A walk along x by its formula: each foot stands for 0.6 of the cycle [s], or goes up slowly after a shorter
    stance; on a treadmill, which goes unevenly, it goes back as fast. The hip bounces by a share of the leg."""
    period, unit = cycle * body.time, math.sqrt(body.size * body.gravity / 9.81)
    stride = speed * unit * period

    def sample(frame: int) -> gait.Sample:
        time, ankles, heights = frame / FPS * body.time, [], []
        turns = 4.0 * math.pi * time / period
        for k in (0, 1):
            cycle, phase = divmod(time / period + 0.5 * k, 1.0)
            share = max(phase - 0.6, 0.0) / 0.4
            eased = share * share * (3.0 - 2.0 * share)
            ahead = cycle + eased - 0.5 * k + 0.3 - carried * (time / period + 0.08 * math.sin(turns))
            ankles.append(complex(stride * ahead, (1 - 2 * k) * body.hips))
            late = min(max(phase - stance, 0.0), 0.6 - stance) * period * 0.3 * unit * (1.0 - eased)
            heights.append(body.ankle + 0.12 * body.size * math.sin(math.pi * share) ** 2 + late)
        hip, balls = complex((1.0 - carried) * stride * time / period), tuple(height - 0.05 for height in heights)
        tall = (0.9 + bounce * math.sin(turns)) * body.leg
        return gait.Sample(hip, 1 + 0j, tuple(ankles), tuple(heights), tall, balls)

    return gait.Gait(body, body.time / FPS, sample)


def pushed(body, strides, push, frames=120, first=0, **manner):
    """States of the frames after a blow of a speed [m/s] of a man of 1.8 m, in the character's axes."""
    state, states, seconds, manner = State(), [], body.time / FPS, Manner(**manner)
    for i in range(frames):
        stride = strides(first + i + state.ahead)
        speed = push * stride.heading * math.sqrt(body.size * body.gravity / 9.81) if i == 0 else 0j
        state = balance.step(body, state, stride, Push(speed), seconds, manner)
        state = balance.decided(body, state, lambda n, i=i: strides(first + i + 1 + n), seconds, manner)
        states.append(state)
        if state.fell:
            break
    return states


def test_the_pendulum_swings_as_its_closed_form_says():
    rate, hip, speed, pressure = MAN.omega, 0.03 + 0.02j, 0.4 - 0.1j, 0.05j
    for time in (0.01, 0.1, 0.5):
        found = balance.swung(MAN, hip, speed, pressure, time)
        cosh, sinh = math.cosh(rate * time), math.sinh(rate * time)
        assert found[0] == pytest.approx(pressure + (hip - pressure) * cosh + speed / rate * sinh, abs=1e-12)
        assert found[1] == pytest.approx((hip - pressure) * rate * sinh + speed * cosh, abs=1e-12)
    at = hip + speed / rate  # borne by its capture point it comes to rest there
    assert balance.swung(MAN, hip, speed, at, 3.0) == pytest.approx((at, 0j), abs=1e-3)


@pytest.mark.parametrize("heading", (1 + 0j, cmath.rect(1.0, 2.0)))
@pytest.mark.parametrize("way", WAYS)
def test_who_stands_shifts_weight_then_steps_then_falls(way, heading):
    def steps(impulse):
        states = pushed(MAN, lambda _frame: stand(heading=heading), impulse / 70.0 * WAYS[way])
        return states[-1], sum(any(foot.swing for foot in state.feet) for state in states)

    last, swings = steps(10.0)
    assert not last.fell and swings == 0 and abs(last.hip) < 1e-3
    assert not (last := steps(25.0)[0]).fell and last.is_calm(MAN)
    last, swings = steps(35.0)
    assert not last.fell and swings > 0
    # He stands elsewhere, with his feet side by side and his hip over them.
    assert abs(last.feet[0].offset - last.feet[1].offset) < 0.04 and abs(last.hip - last.offset) < 0.03
    assert (last := steps(90.0)[0]).fell and last.clock < 0.6


@pytest.mark.parametrize("left", (1j, 2.2j, 2.0 + 2.2j, 3.0 + 1j))
@pytest.mark.parametrize("way", range(0, 360, 30))
def test_who_stands_any_way_catches_a_push_by_few_steps_and_does_not_go_aside_where_he_is_pushed_straight(left, way):
    push = cmath.rect(1.0, np.radians(way))
    states = pushed(MAN, lambda _frame: stand(left=left), 25.0 / 70.0 * push)
    steps = [b.feet[k].swing and not a.feet[k].swing for a, b in itertools.pairwise(states) for k in (0, 1)]
    assert states[-1].is_calm(MAN) and sum(map(bool, steps)) <= 3
    assert way % 180 or abs((states[-1].hip / push).imag) < 2.0 * MAN.hips


@pytest.mark.parametrize("way", WAYS.values())
@pytest.mark.parametrize("fps", (2.0, 6.0, 10.0))
def test_few_frames_a_second_for_its_size_and_feet_on_one_place_are_borne(fps, way):
    for left, size in itertools.product((2.2j, 0j), (15.0, 25.0)):  # a doll sees its frames as seldom
        stride, state = stand(left=left), State()
        for i in range(40):
            push = Push(size / 70.0 * way if i == 0 else 0j)
            state = balance.step(MAN, state, stride, push, 1.0 / fps, Manner())
        assert cmath.isfinite(state.hip) and all(cmath.isfinite(foot.offset) for foot in state.feet)


@pytest.mark.parametrize(("way", "impulse"), (("ahead", 60.0), ("back", 50.0), ("left", 30.0), ("right", 30.0)))
@pytest.mark.parametrize(("cycle", "first"), (*((1.1, i) for i in range(0, 27, 5)), (1.4, 38), (1.8, 0), (1.8, 24)))
def test_a_walker_catches_a_push_at_any_moment(way, impulse, cycle, first):
    # This walk has long double stances, in which no foot is free to go aside; a slow one hurries while one is up.
    strides = walk(cycle=cycle).stride
    states = pushed(MAN, strides, impulse / 70.0 * WAYS[way], first=first)
    assert not states[-1].fell and states[-1].is_calm(MAN)
    for i, (before, after) in enumerate(itertools.pairwise(states), 1):
        for a, b in zip(before.feet, after.feet):
            assert a.swing or b.swing or a.offset == b.offset  # what stands does not slide
        left, right = (balance.shown(after, strides(first + i + before.ahead), k) for k in (0, 1))
        assert (left - right).imag > 0.08 or abs((left - right).real) > balance.PAST  # feet pass on their own sides


GAITS = [walk(speed=speed, cycle=cycle, bounce=0.03).stride for speed, cycle in ((0.9, 1.1), (0.8, 1.4), (0.6, 1.6))]


@pytest.mark.parametrize("way", range(0, 360, 30))
@pytest.mark.parametrize("strides", (lambda _frame: stand(), lambda _frame: stand(left=2.8j), *GAITS))
def test_no_hip_is_jerked_no_foot_lands_or_is_left_out_of_reach_nobody_falls_late(strides, way):
    for size, first in itertools.product((10.0, 25.0, 45.0, 60.0, 90.0), (0, 10, 20)):
        states = pushed(MAN, strides, size / 70.0 * cmath.rect(1.0, math.radians(way)), first=first)
        if states[-1].fell:
            assert size > 10.0 and len(states) <= 0.6 * FPS
            continue
        seen = [strides(first + i + before.ahead) for i, before in enumerate([State(), *states[:-1]])]
        hips = [(stride.hip + state.hip, stride.tall - state.drop[0]) for stride, state in zip(seen, states)]
        across, up = (np.diff(each, 2) * FPS**2 for each in zip(*hips, strict=True))
        moved = [abs(b.feet[k].offset - a.feet[k].offset) for a, b in itertools.pairwise(states) for k in (0, 1)]
        assert np.hypot(abs(across), up)[3:].max() < 8.0 and max(moved) < 0.3  # after the push, given in a frame here
        near = zip(seen, states) if strides(0).ankles[0].imag < 0.2 else ()
        for (stride, state), k in itertools.product(near, (0, 1)):
            off = stride.ankles[k] - stride.hip - 1j * (1 - 2 * k) * MAN.hips
            now, own = off + state.feet[k].offset - state.hip, max(MAN.leg, math.hypot(abs(off), stride.tall))
            far = math.hypot(abs(now), stride.tall - state.drop[0])
            assert state.feet[k].swing or (off or now).real < 0.0 or far < own + 0.002  # its heel comes up


@pytest.mark.parametrize("way", WAYS.values())
def test_who_flies_knows_from_the_first_where_his_foot_lands(way):
    goals, state = [], State(speed=0.12 * way, clock=1.0, feet=(balance.Foot(swing=(0j, 0j, 0.0)),) * 2)
    for i in range(7):
        stride = stand()._replace(stands=(False, False), seconds=(0.3 - i / FPS, 0.8 - i / FPS))
        state = balance.step(MAN, state, stride, Push(), 1.0 / FPS, Manner())
        goals.append(state.feet[0].swing[1])
    assert np.abs(np.diff(goals)).max() < 0.015 and abs(goals[-1] - state.capture(MAN)) < 0.01


def test_a_foot_that_is_long_in_the_air_goes_with_the_hip():
    state = State(speed=0.12 + 0j, clock=1.0, feet=(balance.Foot(swing=(0j, 0j, 0.0)),) * 2)
    for i in range(12):
        stride = stand()._replace(stands=(False, False), seconds=(1.5 - i / FPS,) * 2)
        state = balance.step(MAN, state, stride, Push(), 1.0 / FPS, Manner())
    assert state.feet[1].offset.real > 0.4 * state.feet[1].swing[1].real > 0.01


def test_a_small_push_hurries_a_gait_less():
    small, large = (max(s.hurries[1] for s in pushed(MAN, walk().stride, size / 70.0 * 1j)) for size in (10.0, 45.0))
    assert 0.0 < small < 0.5 * large


@pytest.mark.parametrize(("first", "turn", "shift"), ((6, -2.0, 1j), (12, 2.0, 0j), (21, 0.0, 1j)))
def test_who_walks_back_after_a_get_up_keeps_his_hip_over_his_feet(first, turn, shift):
    strides = walk().stride
    state, manner = balance.left(strides(first).hip, turn, shift, 0.0), Manner(steps_home=4)
    for i in range(300):
        state = balance.step(MAN, state, strides(first + i + state.ahead), Push(), MAN.time / FPS, manner)
        assert abs(state.hip - state.offset) < 0.5 * MAN.leg


def test_the_hip_goes_down_alike_on_either_side_of_a_foot_that_stands_far_off():
    states = (State(hip=x - 0.2j, feet=(balance.Foot(0.3j), balance.Foot()), clock=0.0) for x in (-1e-6, 1e-6))
    rates = [balance.step(MAN, state, stand(), Push(), 1.0 / FPS, Manner()).drop[1] for state in states]
    assert 0.01 < rates[0] == pytest.approx(rates[1], abs=1e-4)


@pytest.mark.parametrize("way", WAYS.values())
def test_against_wind_or_a_weight_it_stands_so_far_off_that_nothing_turns_it_about_its_feet(way):
    pull, state = 0.8 * way, State()
    for _ in range(400):
        state = balance.step(MAN, state, stand(), Push(pull=pull), 1.0 / FPS, Manner())
    assert state.is_calm(MAN) and abs(state.feet[1].offset - state.feet[0].offset) < 0.04
    # Of the pendulum: what gravity turns it by, omega^2 times how far it is off its feet, and the load are equal.
    assert MAN.omega**2 * (state.shown_hip(MAN) - state.offset) == pytest.approx(-pull, abs=0.15)
    assert state.lean[0] == pytest.approx(-pull / 9.81, abs=0.02)


@pytest.mark.parametrize("way", WAYS.values())
def test_ground_that_starts_takes_the_feet_along_and_the_hip_after_them(way):
    speed, state, hips = 0.35 * way, State(), []
    for i in range(120):
        push = Push(carry=(speed.real / FPS, speed.imag / FPS, 0.0), start=speed * (i == 0))
        before, state = state, balance.step(MAN, state, stand(), push, 1.0 / FPS, Manner())
        moved = [a.offset - b.offset for a, b in zip(state.feet, before.feet, strict=True) if not (a.swing or b.swing)]
        assert all(abs(each) < 1e-12 for each in moved)  # what stands goes with the ground
        hips.append(complex(*state.carried[:2]) + state.shown_hip(MAN))
    rates = np.diff([0j, *hips]) * FPS
    assert abs(rates[0]) < 0.1 * abs(speed) and np.abs(np.diff(rates)).max() * FPS < 8.0  # it is not thrown along
    assert rates[-1] == pytest.approx(speed, abs=1e-3) and state.is_calm(MAN)


@pytest.mark.parametrize(("height", "gravity"), ((0.018, 9.81), (180.0, 9.81), (1.8, 1.62)))
def test_any_size_and_gravity_give_the_same_motion(height, gravity):
    size = height / 1.8
    other = Body(height, size * MAN.leg, size * MAN.hips, gravity)
    for strides in (lambda body: lambda _frame: stand(body), lambda body: walk(body).stride):
        mine, its = (pushed(body, strides(body), 0.5j) for body in (MAN, other))
        for a, b in zip(mine, its, strict=True):
            assert b.hip / size == pytest.approx(a.hip, abs=1e-6)
            assert [foot.offset / size for foot in b.feet] == pytest.approx([f.offset for f in a.feet], abs=1e-6)


@pytest.mark.parametrize(("carried", "cycle", "stance"), ((0.0, 1.1, 0.6), (1.0, 1.1, 0.6), (1.0, 1.8, 0.3)))
def test_contacts_of_a_walk_also_in_its_place_and_of_feet_that_go_up_slowly(carried, cycle, stance):
    found = walk(carried=carried, cycle=cycle, stance=stance)  # the treadmill goes unevenly
    for frame in range(30, 75):
        for k, stands in enumerate(found.stands(frame)):
            phase = (frame / FPS / cycle + 0.5 * k) % 1.0
            if min(abs(phase - at) for at in (0.0, stance, 0.6, 1.0)) > 0.1:  # two frames from where it changes
                assert stands == (phase < stance)
    asked = []  # for frames, where slow motion all but stops the time: some hundreds
    stride = gait.Gait(MAN, 1e-9, lambda n: asked.append(n) or (len(asked) < 5e3 and found.sample(n))).stride(30.5)
    moved = gait.moved(stride, 1j, 2 + 0j)
    assert moved.ankles[0] == 1j * stride.ankles[0] + 2 and moved.seconds == stride.seconds


@pytest.mark.parametrize("seed", (None, 3))
@pytest.mark.parametrize("scale", (0.01, 1.0, -100.0))
def test_the_pose_has_hip_and_feet_where_the_state_has_them(seed, scale):
    rig = motion_rigs.rig(seed=seed)
    legs = tuple(limbs.LegStabilizer(rig, rig.index[f"foot.{side}"]) for side in "LR")
    trunk = tuple((rig.index[name], 0.25) for name in ("hips", "spine1", "spine2", "spine3"))
    toes = tuple(rig.index[f"toe.{side}"] for side in "LR")
    figure = balanced_pose.Figure(rig, legs, trunk, (), toes)
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    world = affine(scale * turn * [1.0, 1.0, abs(scale) / scale], (3.0, 2.0, 1.0))
    size = abs(scale)
    body = figure.body(size, 1.8 * size, 9.81)
    pose = rig.bind.copy()
    before = figure.sampled(pose, world)
    feet = balance.Foot(size * (0.2 + 0.1j), 0.05 * size), balance.Foot(size * -0.1j)
    state = State()._replace(hip=size * (0.1 + 0.02j), drop=(0.15 * size, 0.0), feet=feet)
    upright = figure.posed(body, pose, world, state)
    after = figure.sampled(upright, world)
    assert after.hip == pytest.approx(before.hip + state.hip, abs=1e-9 * size)
    for k in (0, 1):
        assert after.ankles[k] == pytest.approx(before.ankles[k] + feet[k].offset, abs=1e-6 * size)
        assert after.heights[k] == pytest.approx(before.heights[k] + feet[k].height, abs=1e-6 * size)
    leaning = figure.posed(body, pose, world, state._replace(lean=(0.2 * before.heading, 0j)))
    places = [motion_rigs.shown(rig, p, rig.index["head"])[:3, 3] for p in (upright, leaning)]
    assert (complex(*(world[:3, :3] @ (places[1] - places[0]))[:2]) / before.heading / size).real > 0.05
    bent = rig.bind.copy()
    for leg in legs:  # heels come up about the balls of the feet, also of feet that are turned already
        bent.rotations[leg.bones[-1]] = quaternion.multiply(bent.rotations[leg.bones[-1]], (0.98, 0.199, 0.0, 0.0))
    stepped = figure.posed(body, bent, world, State()._replace(hip=0.3 * size * before.heading))
    places = [np.array([world @ motion_rigs.shown(rig, p, toe)[:, 3] for toe in toes]) for p in (bent, stepped)]
    assert places[1] == pytest.approx(places[0], abs=1e-5 * size)
    hips = (size * (x + 0.5j) * before.heading for x in np.linspace(-0.2, 0.2, 81))  # nor does a heel jump
    turns = np.array([figure.posed(body, bent, world, State()._replace(hip=hip)).rotations for hip in hips])
    assert np.max(quaternion.angle_between(turns[1:], turns[:-1])) < 0.1
    for name in ("positions", "rotations", "scales"):  # at rest it is the animation's pose to the last bit
        assert np.array_equal(getattr(figure.posed(body, pose, world, State()), name), getattr(pose, name))
