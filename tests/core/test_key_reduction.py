"""Key reduction: straight lines between kept keys stay within the tolerance of every sample."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.keyframes import distance, keys_to_keep


@settings(max_examples=150)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from([0.0, 1e-3, 0.1]), st.booleans())
def test_every_sample_is_within_the_tolerance(seed, count, tolerance, walk):
    rng = np.random.default_rng(seed)
    frames = np.cumsum(rng.uniform(0.1, 3.0, count)) - 20.0
    values = rng.normal(size=(count, *rng.integers(1, 5, 2)))
    values = np.cumsum(values * 0.05, axis=0) if walk else values
    keep = keys_to_keep(frames, values, tolerance)
    assert keep.shape == values.shape[:2] and keep[0].all() and keep[-1].all()
    for group in range(keep.shape[1]):
        kept, own = keep[:, group], values[:, group]
        line = np.stack([np.interp(frames, frames[kept], channel[kept]) for channel in own.T], axis=1)
        # np.interp rounds otherwise than the reduction does: an allowance of some units in the last place.
        assert distance(line, own).max() <= tolerance + 1e-12


def test_straight_lines_need_two_keys_and_corners_one_more():
    frames = np.arange(1.0, 102.0)
    assert keys_to_keep(frames, np.stack([frames * 0.25, -frames], axis=1)[:, None], 1e-9).sum() == 2
    assert keys_to_keep(np.empty(0), np.empty((0, 3, 2)), 1.0).shape == (0, 3)
    uneven = np.array([0.0, 1.0, 1.5, 8.0, 10.0])
    assert keys_to_keep(uneven, 3.0 * uneven[:, None, None], 1e-9).sum() == 2
    corner = np.abs(frames - 41.0)[:, None, None]
    np.testing.assert_array_equal(frames[keys_to_keep(frames, corner, 1e-9)[:, 0]], [1, 41, 101])
