"""A chain below unevenly scaled bones, which shear what hangs on them, aims as its matrices show it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_rigs import FORWARD, HUMAN, in_bone, posed, rig

from core import pose as pose_space
from core.motion.local_pose import LocalPose
from core.motion.look_at import LookAt, LookAtEntry
from core.motion.rig import Inputs

LIMITS = {"eye.L": 25, "head": 40, "neck": 30, "spine3": 20, "spine2": 20}
share = st.floats(0.75, 1.35)


def chain(body):
    return LookAt(
        body, [LookAtEntry(body.index[n], np.radians(x), in_bone(body, n, FORWARD)) for n, x in LIMITS.items()]
    )


def shown_error(body, look, pose, target):
    """Angle [deg] between where the matrices have the first bone look and the target."""
    local = pose_space.compose_matrices(pose.positions, pose.rotations, pose.scales)
    matrix = pose_space.local_to_model_matrices(body.skeleton, local)[..., look.entries[0].bone, :, :]
    sight = matrix[..., :3, :3] @ np.array(look.entries[0].forward_axis)
    wanted = target - matrix[..., :3, 3]
    sine = np.linalg.norm(np.cross(sight, wanted), axis=-1)
    return np.degrees(np.arctan2(sine, (sight * wanted).sum(-1)))


def squashed(body, pose, scales):
    result = pose.copy()
    for name, scale in scales.items():
        result.scales[..., body.index[name], :] = scale
    return result


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.tuples(share, share, share), st.tuples(share, share, share), st.floats(-50, 50))
def test_the_first_bone_aims_as_it_is_shown(seed, hips, spine, azimuth):
    body = rig(HUMAN, seed)
    pose = squashed(body, posed(body, np.random.default_rng(seed), 0.05), {"hips": hips, "spine2": spine})
    look = chain(body)
    a = np.radians(azimuth)
    target = body.bind_positions[body.index["eye.L"]] + 3.0 * np.array([np.sin(a), -np.cos(a), 0.1])
    result, _ = look.apply(body, pose, Inputs(target=target))
    assert shown_error(body, look, result, target) < 0.05
    assert np.degrees(look.aim_error(body, result, target)) == pytest.approx(
        shown_error(body, look, result, target), abs=1e-6
    )


def test_out_of_reach_it_is_left_at_its_limits():
    """What the limits do not let it see is no reason to aim anywhere else."""
    body = rig(seed=1)
    look, far = chain(body), np.array([3.0, 8.0, 1.7])
    pose = squashed(body, body.bind, {"hips": (1.2, 1.0, 0.9)})
    result, _ = look.apply(body, pose, Inputs(target=far))
    even, _ = look.apply(body, squashed(body, body.bind, {"hips": (1.0, 1.0, 1.0)}), Inputs(target=far))
    assert np.isfinite(result.rotations).all()
    assert shown_error(body, look, result, far) < shown_error(body, look, even, far) + 15.0


def test_many_characters_get_what_each_gets_alone():
    body, rng = rig(seed=2), np.random.default_rng(3)
    look, count = chain(body), 20
    pose = posed(body, rng, 0.05, (count,))
    pose.scales[:, body.index["spine2"]] = rng.uniform(0.8, 1.25, (count, 3))
    pose.scales[::3, body.index["spine2"]] = 1.1  # some are even
    targets = body.bind_positions[body.index["eye.L"]] + rng.normal(size=(count, 3)) + (0.0, -3.0, 0.0)
    many, _ = look.apply(body, pose, Inputs(target=targets))
    assert shown_error(body, look, many, targets).max() < 0.05
    for i in range(count):
        own = LocalPose(pose.positions[i], pose.rotations[i], pose.scales[i])
        one, _ = look.apply(body, own, Inputs(target=targets[i]))
        np.testing.assert_allclose(one.rotations, many.rotations[i], atol=1e-6)
