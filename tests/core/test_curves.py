"""F-curves as arrays: closed forms, and what holds for any keys; ../blender/test_clips.py compares with Blender."""

from itertools import pairwise

import numpy as np
import pytest

from core.errors import RagdollError
from core.motion import easing
from core.motion.curves import CurveKeys, evaluate, on_keys

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
given, settings, st = hypothesis.given, hypothesis.settings, hypothesis.strategies


def curve(frames, values, kind, left=None, right=None, extrapolate=False):
    keys = CurveKeys.plain([0, len(frames)], np.stack([frames, values], axis=-1).astype(float), kind)
    if left is not None:
        keys.left, keys.right = np.asarray(left, float), np.asarray(right, float)
    keys.extrapolate = np.array([extrapolate])
    return keys


def at(keys, frames):
    return evaluate(keys, np.asarray(frames, float))[:, 0]


def test_constant_steps_and_linear_is_numpys_interpolation():
    frames, values = np.array([1.0, 4.0, 9.5]), np.array([2.0, -1.0, 5.0])
    asked = np.array([-3.0, 1.0, 2.0, 3.9, 4.0, 7.0, 9.5, 20.0])
    np.testing.assert_array_equal(at(curve(frames, values, easing.CONSTANT), asked), [2, 2, 2, 2, -1, -1, 5, 5])
    np.testing.assert_allclose(at(curve(frames, values, easing.LINEAR), asked), np.interp(asked, frames, values))


def test_bezier_handles_at_thirds_of_a_line_give_the_line():
    keys = curve([0, 9], [3, 12], easing.BEZIER, [[-3, 0], [6, 9]], [[3, 6], [12, 15]])
    asked = np.linspace(0, 9, 40)
    np.testing.assert_allclose(at(keys, asked), 3 + asked, atol=1e-12)


def test_bezier_goes_through_the_points_of_its_own_parameter():
    x, y = np.array([0.0, 1.0, 7.0, 10.0]), np.array([1.0, 5.0, -2.0, 3.0])
    u = np.linspace(0, 1, 60)
    basis = np.stack([(1 - u) ** 3, 3 * u * (1 - u) ** 2, 3 * u**2 * (1 - u), u**3], axis=-1)
    keys = curve(x[[0, 3]], y[[0, 3]], easing.BEZIER, [[-1, 0], [x[2], y[2]]], [[x[1], y[1]], [11, 0]])
    np.testing.assert_allclose(at(keys, basis @ x), basis @ y, atol=1e-4)
    inside = slice(3, -3)  # at its ends a frame within 1e-4 of a key has the key's value
    np.testing.assert_allclose(at(keys, basis @ x)[inside], (basis @ y)[inside], atol=1e-11)


def test_a_handle_that_reaches_too_far_acts_as_one_that_ends_at_the_next_key_s_frame():
    far = curve([0, 4], [0, 1], easing.BEZIER, [[0, 0], [-8, 10]], [[20, 5], [4, 1]])
    cut = curve([0, 4], [0, 1], easing.BEZIER, [[0, 0], [0, 4]], [[4, 1], [4, 1]])
    asked = np.linspace(0, 4, 33)
    np.testing.assert_allclose(at(far, asked), at(cut, asked), atol=1e-12)


@settings(deadline=None, max_examples=120)
@given(seed=st.integers(0, 2**32 - 1), reach=st.floats(0, 3))
def test_bezier_solves_for_the_frame_however_the_handles_lie(seed, reach):
    rng = np.random.default_rng(seed)
    x1, x2 = np.clip(rng.uniform(0, 1 + reach, 2), 0, 1)
    # The values are the frames themselves, so the curve is the identity.
    keys = curve([0, 1], [0, 1], easing.BEZIER, [[0, 0], [1 - x2, 1 - x2]], [[x1, x1], [1, 1]])
    # Within 1e-4 of a key it is the key's value.
    asked = rng.uniform(2e-4, 1 - 2e-4, 50)
    np.testing.assert_allclose(at(keys, asked), asked, atol=1e-12)


@pytest.mark.parametrize("kind", easing.EASED)
@pytest.mark.parametrize("way", (easing.EASE_IN, easing.EASE_OUT, easing.EASE_IN_OUT))
def test_easing_goes_from_0_to_1_without_jumps_and_out_is_in_turned_round(kind, way):
    t = np.linspace(0, 1, 4001)
    y = easing.eased(kind, way, t, 1.7)
    assert y[0] == pytest.approx(0, abs=1e-12) and y[-1] == pytest.approx(1)
    # A circle begins or ends with an infinite slope, there it moves by sqrt(2 dt).
    assert np.abs(np.diff(y)).max() < (0.035 if kind == easing.CIRC else 0.005)
    other = {easing.EASE_IN: easing.EASE_OUT, easing.EASE_OUT: easing.EASE_IN}.get(way, way)
    np.testing.assert_allclose(y, 1 - easing.eased(kind, other, 1 - t, 1.7), atol=1e-12)


def test_easing_closed_forms():
    half = 0.5
    assert easing.eased(easing.SINE, easing.EASE_IN, half) == pytest.approx(1 - np.sqrt(0.5))
    assert easing.eased(easing.QUINT, easing.EASE_IN, half) == pytest.approx(1 / 32)
    assert easing.eased(easing.CIRC, easing.EASE_IN, half) == pytest.approx(1 - np.sqrt(0.75))
    assert easing.eased(easing.BACK, easing.AUTO, half, 0.0) == pytest.approx(7 / 8)  # out, and cubic without overshoot
    with pytest.raises(RagdollError, match="7"):
        easing.eased(easing.ELASTIC, easing.EASE_IN, half)


def test_extrapolation_goes_on_along_the_end_segments_or_the_outer_handles():
    keys = curve([0, 2, 4], [0, 4, 3], easing.LINEAR, extrapolate=True)
    np.testing.assert_allclose(at(keys, [-1, 6]), [-2, 2])
    keys = curve([0, 4], [0, 3], easing.BEZIER, [[-1, -3], [3, 3]], [[1, 1], [6, 4]], extrapolate=True)
    np.testing.assert_allclose(at(keys, [-2, 8]), [-6, 5])
    assert at(curve([3], [7], easing.LINEAR, extrapolate=True), [0, 9]).tolist() == [7, 7]


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from([0, 1, 2, *easing.EASED]))
def test_many_curves_at_once_are_the_curves_one_by_one_and_moving_time_moves_them(seed, kind):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 6, 5)
    starts = np.concatenate([[0], np.cumsum(counts)])
    parts = [np.cumsum(rng.uniform(0.5, 4, count)) for count in counts]
    frames = np.concatenate(parts)
    keys = CurveKeys.plain(starts, np.stack([frames, rng.normal(size=len(frames))], axis=-1), kind)
    keys.left = keys.co - rng.uniform(0, 3, keys.co.shape) * [1, 0.5]
    keys.right = keys.co + rng.uniform(0, 3, keys.co.shape) * [1, 0.5]
    keys.extrapolate = rng.random(5) < 0.5
    asked = rng.uniform(-5, 25, 30)
    together = evaluate(keys, asked)
    for i, (start, stop) in enumerate(pairwise(starts)):
        part = slice(start, stop)
        own = (keys.co[part], keys.left[part], keys.right[part], keys.interpolation[part], keys.easing[part])
        alone = CurveKeys(np.array([0, stop - start]), *own, keys.back[part], keys.extrapolate[i : i + 1])
        np.testing.assert_allclose(evaluate(alone, asked)[:, 0], together[:, i], atol=1e-11)
    shift = np.array([1000.0, 0.0])
    moved = CurveKeys(starts, keys.co + shift, keys.left + shift, keys.right + shift, keys.interpolation, keys.easing,
                      keys.back, keys.extrapolate)  # fmt: skip
    np.testing.assert_allclose(evaluate(moved, asked + 1000), together, atol=1e-6 + 1e-4 * (kind in (2, 5)))


def test_on_keys_tells_whether_handles_matter():
    keys = curve([1, 2, 3], [0, 1, 0], easing.BEZIER)
    assert on_keys(keys, np.array([0.0, 1.0, 2.00005, 3.0, 9.0]))
    assert not on_keys(keys, np.array([1.0, 1.5]))


def test_unsupported_curves_are_told():
    starts = [0, 2, 4, 6, 8]
    co = np.tile([[0.0, 0.0], [4.0, 1.0]], (4, 1))
    keys = CurveKeys.plain(starts, co, easing.BEZIER)
    side = np.array([1.0, 0.0])
    keys.left, keys.right = co - side, co + side
    keys.right[2, 0] = -0.5  # backwards
    keys.right[5, 0] = 3.0  # backwards too, but beyond the last key
    keys.interpolation[6] = easing.ELASTIC
    assert keys.unsupported().tolist() == [False, True, False, True]
