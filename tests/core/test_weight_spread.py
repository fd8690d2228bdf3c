"""Spreading tools for weights: chains, falloff, copy, mirror, presets."""

import anatomies
import numpy as np
import pytest
from forests import forests
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from core.anatomy import roles
from core.ragdoll import weight_spread as spread
from refusals import refuses

HUMAN = anatomies.human()
COUNT = len(HUMAN.names)
WEIGHT = st.floats(0.0, 1.0)
TREES = forests().flatmap(
    lambda tree: st.tuples(st.just(tree), arrays(float, len(tree), elements=WEIGHT), st.integers(0, len(tree) - 1))
)


@given(TREES, WEIGHT, st.floats(0.5, 8.0))
def test_falloff_stays_between_old_and_new_and_touches_one_direction_only(tree, value, reach):
    parents, weights, bone = tree
    rows = np.arange(len(parents))
    below = np.array([bone in (row, *anatomies.ancestors(parents, row)) for row in rows])
    upwards = np.isin(rows, [bone, *anatomies.ancestors(parents, bone)])
    for way, touched in ((spread.DOWN, below), (spread.UP, upwards)):
        result = spread.falloff(weights, parents, bone, value, reach, way)
        assert result[bone] == pytest.approx(value)
        assert np.array_equal(result[~touched], weights[~touched])
        low, high = np.minimum(weights, value), np.maximum(weights, value)
        assert ((result >= low - 1e-12) & (result <= high + 1e-12)).all()


def test_a_chain_leads_from_bone_to_bone():
    hand, arm = HUMAN.row("hand.L"), HUMAN.row("upper_arm.L")
    rows = spread.chain(HUMAN.parents, arm, hand, HUMAN.names)
    assert rows[0] == arm and rows[-1] == hand
    assert spread.chain(HUMAN.parents, hand, arm, HUMAN.names) == rows[::-1]
    assert spread.chain(HUMAN.parents, hand, hand, HUMAN.names) == [hand]
    refuses(r"'hand.L' and 'hand.R'", spread.chain, HUMAN.parents, hand, HUMAN.row("hand.R"), HUMAN.names)
    graded = spread.along(np.ones(COUNT), rows, 1.0, 0.0)
    assert (np.diff(graded[rows]) < 0.0).all() and graded[hand] == 0.0
    assert np.count_nonzero(graded != 1.0) == len(rows) - 1
    assert (spread.along(np.ones(COUNT), rows, 0.3)[rows] == 0.3).all()


def test_presets_do_what_they_say():
    arm, thigh, other = HUMAN.row("hand.R"), HUMAN.row("thigh.L"), HUMAN.row("hand.L")
    rotation, translation = spread.preset(spread.UPPER_BODY_LOOSE, HUMAN.anatomy, HUMAN.parents)
    assert rotation[thigh] == translation[thigh] == 1.0
    assert rotation[arm] < 0.3 and translation[arm] == 0.0
    rotation, translation = spread.preset(spread.ONE_ARM_LIMP, HUMAN.anatomy, HUMAN.parents, roles.RIGHT)
    assert rotation[arm] == translation[arm] == 0.0 and rotation[other] == rotation[thigh] == 1.0
    rotation, _translation = spread.preset(spread.DRUNK, HUMAN.anatomy, HUMAN.parents)
    assert (rotation < 0.8).all() and rotation[arm] < rotation[thigh]
    assert all((values == 1.0).all() for values in spread.preset(spread.RIGID, HUMAN.anatomy, HUMAN.parents))


@given(TREES, st.sampled_from(spread.PRESETS))
def test_presets_fall_back_on_rigs_that_nobody_knows(tree, name):
    parents, _weights, _bone = tree
    count = len(parents)
    anatomy = roles.Anatomy(
        (roles.GENERIC,) * count, (roles.CENTER,) * count, np.zeros(count, int), roles.CREATURE, np.zeros(count)
    )
    if name == spread.ONE_ARM_LIMP and (parents < 0).all():
        refuses("limp", spread.preset, name, anatomy, parents)
        return
    rotation, translation = spread.preset(name, anatomy, parents)
    for values in (rotation, translation):
        assert values.shape == (count,) and ((values >= 0.0) & (values <= 1.0)).all()
    roots = parents < 0
    assert (rotation[roots] == rotation[roots][0]).all() and rotation[roots][0] > 0.0
    if name == spread.ONE_ARM_LIMP:
        limp = rotation == 0.0
        assert 0 < np.count_nonzero(limp) < count
        assert all(limp[row] or not limp[parents[row]] for row in range(count) if parents[row] >= 0)
    elif name != spread.RIGID:
        below = np.flatnonzero(~roots)
        assert (rotation[below] < rotation[parents[below]]).all()


def test_what_is_no_weight_is_refused_by_name():
    assert spread.checked([0.0, 1.0], ["A", "B"]).tolist() == [0.0, 1.0]
    for value in (-0.1, 1.1, np.nan, np.inf):
        refuses("'B'", spread.checked, [0.0, value], ["A", "B"])


def test_a_quadruped_stands_on_four_legs():
    anatomy = HUMAN.known_as(kind=roles.QUADRUPED).anatomy
    rotation, translation = spread.preset(spread.UPPER_BODY_LOOSE, anatomy, HUMAN.parents)
    for bone in ("hand.L", "thigh.L"):
        assert rotation[HUMAN.row(bone)] == translation[HUMAN.row(bone)] == 1.0
    assert rotation[HUMAN.row("head")] < 0.5
    rotation, _translation = spread.preset(spread.DRUNK, anatomy, HUMAN.parents)
    assert rotation[HUMAN.row("hand.L")] == rotation[HUMAN.row("foot.L")] > rotation[HUMAN.row("head")]
