"""The pose changes steadily with the target's place, the weights about up and the limits: nothing jumps.

A jump is allowed where geometry forces one: straight behind the first bone, where the look goes over to the other
side; a change of `LookAtState.side` tells. And targets do not pass straight above or below a bone that turns about up
alone, to which that is every direction at once: hence the distance from the long dog.
"""

from itertools import pairwise

import anatomies
import numpy as np
import pytest
from motion_rigs import HUMAN, posed, rig
from test_look_at import LIMITS, UP_WEIGHTS, chain, entry, squashed
from test_look_at_setup import rig_of, with_eyes

from core import quaternion
from core.motion.look_at import LookAt
from core.motion.look_at.chain import from_roles
from core.motion.stack import Inputs

STEP, COARSE, FINEST = 0.25, 4.0, 0.005  # of target angles and limits [deg]
LARGEST, REFINED, AT_ONCE = 4.0, 2.0, 0.5  # turns of a bone in a step, one to look closer at, in the finest step [deg]
TRUNK = ("spine3", "spine2", "spine1")


def human():
    body = rig(HUMAN, 3)
    return body, chain(body), posed(body, np.random.default_rng(5), 0.08)


def squashed_human():
    """Hips and chest of uneven scale, which shear what hangs on them; limits that most targets are out of reach of."""
    body, look, pose = human()
    for e in look.entries:
        e.limit /= 2.0
    return body, look, squashed(body, pose, {"hips": (1.3, 1.0, 0.85), "spine3": (0.85, 1.1, 1.0)})


def robot():
    """No eyes, two bones of a trunk, turned away."""
    body = rig(HUMAN, 5, {"root": 0.01})
    limits, weights = {"head": 40, "neck": 30, "spine2": 15, "hips": 20}, {"spine2": 0.2, "hips": 0.7}
    return body, chain(body, limits, weights, linked=False), posed(body, np.random.default_rng(6), 0.08)


def set_up(body, seed=0):
    body = with_eyes(body)
    found = rig_of(body, seed)
    return found, LookAt(found, from_roles(found, body.anatomy, body.tails).entries), found.bind


RIGS = {
    "human": human,
    "human as set up": lambda: set_up(anatomies.human()),
    "dog as set up": lambda: set_up(anatomies.dog()),
    "robot": robot,
    "squashed human": squashed_human,
}
WEIGHTS = {
    "as they are": lambda look: [e.up_weight for e in look.entries],
    "trunk at 0.9": lambda look: [0.9 if e.up_weight else 0.0 for e in look.entries],
    "all half": lambda look: [0.5] * len(look.entries),
    "all about up": lambda look: [1.0] * len(look.entries),
    "none about up": lambda look: [0.0] * len(look.entries),
}


class Sweep:
    """A pose as a function of one number, looked at ever closer where it turns much.

    Attributes:
        pose_at: rotations of the bones at a number, and the side.
    """

    def __init__(self, pose_at) -> None:
        self.pose_at, self.largest, self.jumps = pose_at, 0.0, []

    def run(self, start, end, step, scale=1.0):
        """`scale`: what a step of one degree is."""
        self.scale = scale
        numbers = np.linspace(start, end, round((end - start) / step) + 1)
        before = self.pose_at(numbers[0])
        for low, high in pairwise(numbers):
            after = self.pose_at(high)
            self.check(low, before, high, after)
            before = after
        assert not self.jumps, self.jumps
        assert self.largest <= LARGEST

    def check(self, low, before, high, after):
        width = (high - low) / self.scale
        turn = np.degrees(quaternion.angle_between(before[0], after[0])).max()
        if turn <= (REFINED if width > FINEST else AT_ONCE):
            return
        same_side = before[1] == after[1]
        if width <= STEP and same_side:
            self.largest = max(self.largest, turn)
        if width > FINEST:
            middle = 0.5 * (low + high)
            half = self.pose_at(middle)
            self.check(low, before, middle, half)
            self.check(middle, half, high, after)
        elif same_side:
            self.jumps.append((round(low, 3), round(turn, 2)))


def looked(body, look, pose, target):
    result, state = look.apply(body, pose, Inputs(target=target))
    return result.rotations[list(look.turned)], int(state.side)


def target_from(body, look, pose, yaw, pitch, distance=3.0):
    """Seen from the first bone, at a distance in sizes of the character."""
    a, e = np.radians([yaw, pitch])
    direction = np.array([np.sin(a) * np.cos(e), -np.cos(a) * np.cos(e), np.sin(e)])
    return pose.model(body.skeleton)[0][look.entries[0].bone] + distance * body.size * direction


EVERYWHERE = ("as they are", "all about up")


@pytest.mark.parametrize(
    ("name", "weights"), [(name, which) for name in RIGS for which in WEIGHTS if which in EVERYWHERE or name == "human"]
)
def test_as_the_target_moves(name, weights):
    body, look, pose = RIGS[name]()
    for e, weight in zip(look.entries, WEIGHTS[weights](look), strict=True):
        e.up_weight = weight
    distance = 12.0 if name.startswith("dog") else 3.0

    def seen(yaw, pitch):
        return looked(body, look, pose, target_from(body, look, pose, yaw, pitch, distance))

    for pitch in (-80, -30, 0, 30, 50, 60):
        Sweep(lambda yaw, pitch=pitch: seen(yaw, pitch)).run(-180, 180, COARSE)
    for yaw in (-94, 60, 125):
        Sweep(lambda pitch, yaw=yaw: seen(yaw, pitch)).run(-80, 80, COARSE)


TARGETS = [(yaw, pitch) for yaw in (40, 90, 150) for pitch in (-60, 35, 60)]


def about_up(*names):
    return lambda weight: {"up_weights": {**UP_WEIGHTS, **dict.fromkeys(names, weight)}}


def limited(*names):
    """From 0 on, which is no turn at all, also for a pose that comes in beyond its limit."""
    return lambda limit: {"limits": {**LIMITS, **dict.fromkeys(names, limit)}}


# Of weights and comfort, a hundredth of the way counts as a degree.
SHARE, ANGLE = (0.05, 1.0, 0.04, 0.01), (0.08, 60.0, COARSE, 1.0)
PARTS = (("spine1",), ("head",), ("eye.L",), TRUNK)
CHANGES = {
    **{f"about up {names}": (about_up(*names), *SHARE) for names in (*PARTS, ("spine3",), tuple(LIMITS))},
    **{f"limits {names}": (limited(*names), *ANGLE) for names in PARTS},
    "comfort": (lambda comfort: {"settings": {"comfort": comfort}}, *SHARE),
}


@pytest.mark.parametrize(("options", "amount", "end", "step", "degree"), CHANGES.values(), ids=CHANGES)
def test_as_weights_about_up_limits_and_comfort_change(options, amount, end, step, degree):
    body = rig(HUMAN, 3)
    pose = posed(body, np.random.default_rng(5), amount)
    for target in TARGETS:

        def pose_at(number, target=target):
            look = chain(body, **options(number))
            return looked(body, look, pose, target_from(body, look, pose, *target))

        Sweep(pose_at).run(0.0, end, step, degree)


@pytest.mark.parametrize("toward", [(1, -1, 1.0), (1, -1, 0.9), (-2, -1, 0.8), (1, -1, -0.6)])
def test_a_weight_leads_the_axis_evenly_from_the_shortest_turns_to_up(toward):
    """One bone, whose aim nothing else can make up."""
    body = rig(seed=6)
    hips = body.index["hips"]
    target = body.bind_positions[hips] + 3 * np.array(toward)
    tilts = []
    weights = np.linspace(0.0, 1.0, 21)
    for weight in weights:
        look = LookAt(body, [entry(body, "hips", 90, weight)])
        result, _ = look.apply(body, body.bind, Inputs(target=target))
        turn = quaternion.multiply(
            result.model(body.skeleton)[1][hips], quaternion.conjugate(body.bind_rotations[hips])
        )
        axis = quaternion.to_rotation_vector(turn)
        tilts.append(np.degrees(np.arctan2(np.linalg.norm(axis[:2]), abs(axis[2]))))
    assert tilts[0] > 20.0 and tilts[-1] < 1e-6
    assert np.abs(np.array(tilts) / tilts[0] - (1.0 - weights)).max() < 0.125  # of the whole way
    assert (-np.diff(tilts)).min() > 0.0 and (-np.diff(tilts)).max() < 2.0 * tilts[0] * (weights[1] - weights[0])
