"""The first bone of a chain looks at the target, within limits, small muscles first, however bones are drawn.

And steadily: the pose has no jump in the target's place, the weights about up and the limits. A jump is allowed where
geometry forces one: straight behind the first bone, where the look goes over to the other side; a change of
`LookAtState.side` tells. Targets do not pass straight above or below a bone that turns about up alone."""

from itertools import pairwise

import anatomies
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_rigs import FORWARD, HUMAN, aim_error, angle, in_bone, posed, rig
from test_look_at_setup import rig_of, with_eyes

from core import quaternion
from core.motion.look_at.chain import PARENT, LinkedBone, LookAt, LookAtEntry, WeightEvent, from_roles, weight_at
from core.motion.stack import Inputs
from refusals import refuses

EXACT = np.radians(0.05)
LIMITS = {"eye.L": 25, "head": 40, "neck": 30, "spine3": 20, "spine2": 20, "spine1": 25}
UP_WEIGHTS = {"spine3": 0.1, "spine2": 0.2, "spine1": 0.7}


def entry(body, name, limit, up_weight=0.0, **options):
    axis, parent = in_bone(body, name, FORWARD), body.parents[body.index[name]]
    above = in_bone(body, body.name(parent), FORWARD) if parent >= 0 else tuple(FORWARD)
    return LookAtEntry(body.index[name], np.radians(limit), axis, above, up_weight, **options)


def chain(body, limits=LIMITS, up_weights=UP_WEIGHTS, linked=True, settings=None, **options):
    entries = [entry(body, name, limit, up_weights.get(name, 0.0), **options) for name, limit in limits.items()]
    if linked and "eye.L" in limits:
        entries[0].linked.append(LinkedBone(body.index["eye.R"]))
    return LookAt(body, entries, **(settings or {}))


def used(body, look, pose):
    """Angle of each entry's forward from the reference that its limit is measured from [rad]."""
    _positions, rotations, scales = pose.model(body.skeleton)
    result = []
    for e in look.entries:
        parent = body.parents[e.bone]
        above = rotations[..., parent, :] if parent >= 0 else np.array([1.0, 0, 0, 0])
        axis = np.array(e.forward_axis) * scales[..., e.bone, :]
        forward = quaternion.rotate(rotations[..., e.bone, :], axis)
        reference = quaternion.rotate(quaternion.multiply(above, body.bind.rotations[e.bone]), axis)
        if e.limit_from == PARENT:
            reference = quaternion.rotate(above, np.array(e.parent_forward_axis) * scales[..., parent, :])
        result.append(angle(forward, reference))
    return np.stack(result, axis=-1)


def squashed(body, pose, scales):
    """The pose with uneven scales of some bones."""
    result = pose.copy()
    for name, scale in scales.items():
        result.scales[body.index[name]] = scale
    return result


def aimed(body, look, pose, target, **inputs):
    result, state = look.apply(body, pose, Inputs(target=np.asarray(target, float), **inputs))
    return result, aim_error(body, look, result, target), state


def target_at(body, azimuth, elevation, distance=3.0, eye=None):
    """Seen from the first bone: azimuth to the left and elevation [deg]."""
    a, e = np.radians([azimuth, elevation])
    eye = body.bind_positions[body.index["eye.L"]] if eye is None else eye
    return eye + distance * np.array([np.sin(a) * np.cos(e), -np.cos(a) * np.cos(e), np.sin(e)])


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 10**6),
    st.floats(-110, 110),
    st.floats(-50, 50),
    st.floats(0.7, 50),
    st.sampled_from([1.0, 0.01, 100.0, -1.0, -0.01]),
)
def test_first_bone_aims_within_a_twentieth_of_a_degree(seed, azimuth, elevation, distance, scale):
    body = rig(HUMAN, seed, {"root": scale})
    pose = posed(body, np.random.default_rng(seed), 0.05)
    look = chain(body)
    result, error, _ = aimed(body, look, pose, target_at(body, azimuth, elevation, distance))
    assert error < EXACT
    limits = np.maximum(np.radians(list(LIMITS.values())), used(body, look, pose))
    assert (used(body, look, result) <= limits + 1e-6).all()
    # Only bones of the chain turn, and nothing moves or grows.
    rest = [i for i in range(len(body.parents)) if i not in look.turned]
    np.testing.assert_array_equal(result.rotations[rest], pose.rotations[rest])
    np.testing.assert_allclose(np.linalg.norm(result.rotations, axis=-1), 1, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), *(st.tuples(*[st.floats(0.75, 1.35)] * 3),) * 2, st.floats(-50, 50))
def test_first_bone_aims_below_unevenly_scaled_bones(seed, hips, spine, azimuth):
    """They shear what hangs on them: what counts is how the bone is shown."""
    body = rig(HUMAN, seed)
    pose = squashed(body, posed(body, np.random.default_rng(seed), 0.05), {"hips": hips, "spine2": spine})
    assert aimed(body, chain(body), pose, target_at(body, azimuth, 5))[1] < EXACT


def test_small_muscles_first():
    body = rig(seed=1)
    look = chain(body)
    for azimuth, moving in ((15, 1), (55, 2), (80, 3)):
        result, error, _ = aimed(body, look, body.bind, target_at(body, azimuth, 0, 1000))
        angles = used(body, look, result)
        assert error < EXACT
        assert (angles[moving:] < np.radians(0.01)).all()
        np.testing.assert_allclose(angles[: moving - 1], np.radians(list(LIMITS.values()))[: moving - 1], atol=1e-6)


def test_limit_from_the_parents_forward():
    body = rig(seed=3)
    rng = np.random.default_rng(0)
    pose = posed(body, rng, 0.05)
    look = chain(body, limit_from=PARENT)
    # The parent's forward need not be where the bone's own is in bind pose.
    look.entries[1].parent_forward_axis = in_bone(body, "neck", (0.2, -1, 0.1))
    look = LookAt(body, look.entries)
    for _ in range(20):
        result, error, _ = aimed(body, look, pose, target_at(body, *rng.uniform(-70, 70, 2)))
        assert error < EXACT
        bound = np.maximum(np.radians(list(LIMITS.values())), used(body, look, pose))
        assert (used(body, look, result) <= bound + 1e-6).all()


def test_a_pose_beyond_its_limit_is_not_pulled_back_only_not_turned_further():
    body = rig(seed=4)
    look = chain(body, {"head": 20}, {}, False)
    left = quaternion.from_axis_angle(in_bone(body, "head", (0, 0, 1)), np.radians(50))
    pose, head = body.bind.copy(), body.index["head"]
    pose.rotations[head] = quaternion.multiply(pose.rotations[head], left)
    assert used(body, look, pose)[0] == pytest.approx(np.radians(50))
    result, _, _ = aimed(body, look, pose, target_at(body, 90, 0, 1e6))  # further left: stays where it is
    assert quaternion.angle_between(result.rotations[head], pose.rotations[head]) < 1e-4
    _, error, _ = aimed(body, look, pose, target_at(body, 10, 0))  # back to the middle it may turn
    assert error < EXACT


def test_about_up_alone_turns_about_up():
    body = rig(seed=5)
    look = chain(body, {"hips": 90}, {"hips": 1.0}, False)
    hips = body.index["hips"]
    eye = body.bind_positions[hips]
    result, _, _ = aimed(body, look, body.bind, eye + 3 * np.array([1, -1, 2.0]))
    turn = quaternion.multiply(result.model(body.skeleton)[1][hips], quaternion.conjugate(body.bind_rotations[hips]))
    np.testing.assert_allclose(quaternion.to_rotation_vector(turn), (0, 0, np.pi / 4), atol=1e-9)
    for sign in (1, -1):  # straight above and below there is nothing to turn to
        result, _, _ = aimed(body, look, body.bind, np.add(eye, (0, 0, 3.0 * sign)))
        np.testing.assert_allclose(result.rotations, body.bind.rotations, atol=1e-9)


def test_up_is_the_worlds():
    """A character lying on its side turns about the world's up, seen from its own armature."""
    body = rig(seed=7)
    world = np.eye(4)
    world[:3, :3] = 0.01 * quaternion.to_matrix(quaternion.from_axis_angle((1, 0, 0), 1.2))
    look = chain(body, {"hips": 90}, {"hips": 1.0}, False)
    result, _ = look.apply(body, body.bind, Inputs(target=target_at(body, 60, 20), world=world))
    hips = body.index["hips"]
    turn = quaternion.multiply(result.model(body.skeleton)[1][hips], quaternion.conjugate(body.bind_rotations[hips]))
    axis = quaternion.to_rotation_vector(turn)
    up = world[:3, :3] @ axis
    assert np.linalg.norm(axis) > 0.1
    np.testing.assert_allclose(np.abs(up / np.linalg.norm(up)), (0, 0, 1), atol=1e-9)


def test_linked_bones_take_the_same_turn_whatever_their_roll():
    for seed in range(4):
        body = rig(seed=seed)
        pose = posed(body, np.random.default_rng(seed), 0.1)
        result, _, _ = aimed(body, chain(body), pose, target_at(body, 100, 20))
        before, after = pose.model(body.skeleton)[1], result.model(body.skeleton)[1]
        eyes = [body.index[eye] for eye in ("eye.L", "eye.R")]
        turns = quaternion.multiply(after[eyes], quaternion.conjugate(before[eyes]))
        assert quaternion.angle_between(*turns) < 1e-9
        assert quaternion.angle_between(turns[0], np.array([1.0, 0, 0, 0])) > 0.5


def test_reset_to_default_starts_from_bind_pose():
    body = rig(seed=9)
    pose = posed(body, np.random.default_rng(0), 0.5, only=("eye.L", "eye.R"))
    look = chain(body)
    look.entries[0].reset_to_default = look.entries[0].linked[0].reset_to_default = True
    look = LookAt(body, look.entries)
    expected, _, _ = aimed(body, look, body.bind, target_at(body, 40, 10))
    result, _, _ = aimed(body, look, pose, target_at(body, 40, 10))
    np.testing.assert_allclose(result.rotations, expected.rotations, atol=1e-12)


@pytest.mark.parametrize("elevation", [0, 30])
def test_behind_the_side_is_kept(elevation):
    body = rig(seed=10)
    look = chain(body, settings={"behind_margin": np.radians(15)})
    state, last, jumps, sides = None, None, [], []
    path = [*np.arange(120, 240, 0.5), *np.arange(240, 120, -0.5)]
    for azimuth in path:
        pose, state = look.apply(body, body.bind, Inputs(target=target_at(body, azimuth, elevation)), state)
        sides.append(int(state.side))
        if last is not None:
            jumps.append(quaternion.angle_between(last.rotations, pose.rotations).max())
        last = pose
    changes = [path[i] for i in range(1, len(path)) if sides[i] != sides[i - 1]]
    # There it goes over 15 deg past straight behind, and back 15 deg past it the other way.
    np.testing.assert_allclose(changes, (195.5, 164.5), atol=3)
    assert np.count_nonzero(np.array(jumps) > np.radians(10)) == 2
    for azimuth in (179.9, 180.1, 179.9, 180.1):  # a target that trembles straight behind flips nothing
        before = state.side
        pose, state = look.apply(body, body.bind, Inputs(target=target_at(body, azimuth, elevation)), state)
        assert state.side == before


def test_degenerate_targets_and_chains():
    body = rig(seed=12)
    look = chain(body)
    eye = body.bind_positions[body.index["eye.L"]]
    still, _, _ = aimed(body, look, body.bind, eye)
    np.testing.assert_allclose(still.rotations, body.bind.rotations, atol=1e-9)
    for near in (1e-9, 1e-4, 0.02):
        result, _, _ = aimed(body, look, body.bind, np.add(eye, (0, near, 0)))
        assert np.isfinite(result.rotations).all()
    for name in LIMITS:
        result, _, _ = aimed(body, look, body.bind, body.bind_positions[body.index[name]])
        assert np.isfinite(result.rotations).all()
    fixed = chain(body, dict.fromkeys(LIMITS, 0))
    result, _, _ = aimed(body, fixed, posed(body, np.random.default_rng(0)), target_at(body, 40, 10))
    np.testing.assert_allclose(result.rotations, posed(body, np.random.default_rng(0)).rotations, atol=1e-12)
    one = chain(body, {"eye.L": 180}, {}, False)
    for azimuth in (0, 90, 180):
        assert aimed(body, one, body.bind, target_at(body, azimuth, 0))[1] < EXACT
    assert aimed(body, chain(body, {"root": 180}, {}, False), body.bind, (3, 2, 1))[1] < EXACT


def test_comfort_spreads_before_the_limit():
    body = rig(seed=13)
    limits = {"eye.L": 20, "head": 40}
    target = target_at(body, 18, 0, 1e6)
    plain, error, _ = aimed(body, chain(body, limits, {}), body.bind, target)
    look = chain(body, limits, {}, settings={"comfort": 0.5})
    spread, comfortable_error, _ = aimed(body, look, body.bind, target)
    assert max(error, comfortable_error) < EXACT
    np.testing.assert_allclose(used(body, look, plain), np.radians([18, 0]), atol=1e-3)
    np.testing.assert_allclose(used(body, look, spread), np.radians([10, 8]), atol=1e-3)
    assert aimed(body, look, body.bind, target_at(body, 55, 0, 1e6))[1] < EXACT  # beyond comfort everything is used


def test_smoothing_does_not_depend_on_the_frame_rate():
    body = rig(seed=15)
    look = chain(body, {"head": 80}, {}, False, {"blend_speed": 5.0})

    def path(t):
        return target_at(body, 60 * min(t, 1.0), 0, 1e6)

    poses, head = [], body.index["head"]
    for rate in (2, 24, 60):
        state = None
        for time in np.arange(1.5 * rate + 1) / rate:
            pose, state = look.apply(body, body.bind, Inputs(target=path(time)), state, time)
        poses.append(pose)
    for pose in poses[1:]:
        assert quaternion.angle_between(pose.rotations[head], poses[0].rotations[head]) < 1e-5
    # After a ramp of 60 deg in 1 s the lag is 60/5 (1 - e^-5) deg and then dies away with e^-5t.
    lag = np.radians(60 / 5) * (1 - np.exp(-5)) * np.exp(-2.5)
    assert aim_error(body, look, poses[1], path(9)) == pytest.approx(lag, rel=1e-3)


def test_inputs_that_cannot_be_used_are_refused_by_name():
    body = rig()
    look = LookAt(body, [entry(body, "head", 40)], name="Gun arm")
    refuses("Gun arm: the target is not a number", look.apply, body, body.bind, Inputs(target=(0, np.nan, 0)))
    refuses("scale of 0", look.apply, body, body.bind, Inputs(target=(0, 0, 0), world=np.diag([0.0, 0, 0, 1])))
    for event in ((0.0, 1.5), (0.0, 1.0, -1.0), (np.nan, 0.0, 1.0)):
        refuses("look-at", WeightEvent, *event)


def test_chains_that_cannot_be_are_refused_by_name():
    body = rig()
    eye, head, neck = (lambda: entry(body, "eye.L", 20)), entry(body, "head", 40), entry(body, "neck", 30)
    cases = [
        ([], "no entries"),
        ([head, eye()], '"eye.L" is not an ancestor of "head"'),
        ([entry(body, "eye.R", 1), eye()], '"eye.L" is not an ancestor of "eye.R"'),
        ([eye(), head, head], 'entry "head": the bone is in the chain twice'),
        ([LookAtEntry(body.index["head"], 0.1, (0, 0, 0))], 'entry "head".*no forward axis'),
        (
            [entry(body, "eye.L", 5, linked=[LinkedBone(body.index["neck"])]), neck],
            'linked bone "neck": it is an entry',
        ),
        ([entry(body, "eye.L", 5, linked=[LinkedBone(body.index["head"])])], 'linked bone "head": it must be beside'),
        ([entry(body, "eye.L", 5, linked=[LinkedBone(body.index["eye.R"])] * 2)], "linked twice"),
    ]
    for entries, message in cases:
        refuses(f"Look-at.*{message}", LookAt, body, entries)


OFF = (0.0, 0.0, 2.0)
# Calls (seconds, weight, duration or none to set it at once, whether it cancels), and (weight, what is left) by time.
WEIGHTS = (
    ((), {3.0: (1.0, 0.0)}),
    (((1.0, 0.0, 2.0), (4.0, 1.0, 1.0)), {0.5: (1.0, 0.0), 1.0: (1.0, 2.0), 2.5: (0.25, 0.5), 3.0: (0.0, 0.0),
                                          4.5: (0.5, 0.5), 5.0: (1.0, 0.0), 9.0: (1.0, 0.0)}),
    # A new transition starts where the old one is, or is as if not called until the old one has ended.
    ((OFF, (1.0, 1.0, 1.0)), {1.0: (0.5, 1.0), 1.5: (0.75, 0.5), 2.0: (1.0, 0.0)}),
    ((OFF, (1.0, 1.0, 1.0, False)), {1.0: (0.5, 1.0), 1.5: (0.25, 0.5), 2.0: (0.0, 0.0), 5.0: (0.0, 0.0)}),
    ((OFF, (2.0, 1.0, 1.0, False)), {2.0: (0.0, 1.0), 2.5: (0.5, 0.5), 3.0: (1.0, 0.0)}),
    ((OFF, (1.0, 0.9)), {0.99: (0.505, 1.01), 1.0: (0.9, 0.0), 5.0: (0.9, 0.0)}),  # setting cancels one
)  # fmt: skip


@pytest.mark.parametrize(("calls", "expected"), WEIGHTS)
def test_weights_by_events(calls, expected):
    events = [WeightEvent(*call) for call in calls]
    for time, found in expected.items():
        assert weight_at(time, events) == pytest.approx(found)
    assert weight_at(-1.0, events, 0.25) == (0.25, 0.0)


STEP, STEEP, COARSE, FINEST = 0.25, 2.0, 4.0, 0.005  # of target angles and limits [deg]
LARGEST, REFINED, AT_ONCE = 4.0, 2.0, 0.5  # turns of a bone in a step, one to look closer at, in the finest step [deg]
TRUNK = ("spine3", "spine2", "spine1")
EDITS = ({}, {"up_weight": 0.99}, {"up_weight": 1.0}, {"up_weight": 1.0, "limit": 2.1})


def human():
    body = rig(HUMAN, 3)
    return body, chain(body), posed(body, np.random.default_rng(5), 0.08)


def squashed_human():
    """Hips and chest of uneven scale, which shear what hangs on them; limits that most targets are out of reach of."""
    body, look, pose = human()
    for e in look.entries:
        e.limit /= 2.0
    return body, look, squashed(body, pose, {"hips": (1.3, 1.0, 0.85), "spine3": (0.85, 1.1, 1.0)})


def set_up(body, seed=0):
    body = with_eyes(body)
    found = rig_of(body, seed)
    return found, LookAt(found, from_roles(found, body.anatomy).entries), found.bind


RIGS = {
    "human": human,
    "human as set up": lambda: set_up(anatomies.human()),
    "dog as set up": lambda: set_up(anatomies.dog()),
    "rolled dog as set up": lambda: set_up(anatomies.dog(), 7),
    "squashed human": squashed_human,
}


class Sweep:
    """A pose as a function of one number, looked at ever closer where it turns much: `pose_at` gives rotations of the
    bones, and the side."""

    def __init__(self, pose_at) -> None:
        self.pose_at, self.largest, self.jumps = pose_at, 0.0, []

    def run(self, start, end, step, scale=1.0):
        """`scale`: what a step of one degree is."""
        self.scale = scale
        numbers = np.linspace(start, end, round((end - start) / step) + 1)
        for (low, before), (high, after) in pairwise((number, self.pose_at(number)) for number in numbers):
            self.check(low, before, high, after)
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
    return target_at(body, yaw, pitch, distance * body.size, pose.model(body.skeleton)[0][look.entries[0].bone])


@pytest.mark.parametrize("edited", EDITS)
@pytest.mark.parametrize("name", RIGS)
def test_as_the_target_moves(name, edited):
    body, look, pose = RIGS[name]()
    for e in look.entries:
        vars(e).update(edited)
    distance = 12.0 if name.startswith("dog") else 3.0

    def seen(yaw, pitch):
        return looked(body, look, pose, target_from(body, look, pose, yaw, pitch, distance))

    for pitch in (-80, -30, 0, 30, 50, 60, 78):
        Sweep(lambda yaw, pitch=pitch: seen(yaw, pitch)).run(-180, 180, COARSE if abs(pitch) < 70 else STEEP)
    for yaw in (-150, -94, 60, 125, 180):
        Sweep(lambda pitch, yaw=yaw: seen(yaw, pitch)).run(-80, 80, STEEP)


TARGETS = [(yaw, pitch) for yaw in (40, 90, 150) for pitch in (-60, 35, 60)]


def changed(what: str, usual: dict, *names):
    return lambda value: {what: {**usual, **dict.fromkeys(names, value)}}


# Of weights and comfort, a hundredth of the way counts as a degree. Limits begin at 0: no turn at all, also for a pose
# that comes in beyond them.
SHARE, ANGLE = (0.05, 1.0, 0.04, 0.01), (0.08, 60.0, COARSE, 1.0)
PARTS = (("spine1",), ("head",), ("eye.L",), TRUNK)
CHANGES = {
    **{f"up {names}": (changed("up_weights", UP_WEIGHTS, *names), *SHARE) for names in (*PARTS, ["spine3"], [*LIMITS])},
    **{f"limits {names}": (changed("limits", LIMITS, *names), *ANGLE) for names in PARTS},
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
