"""A skeleton in level order: the order itself, its ranges, and what goes up and down in it."""

from itertools import pairwise

import numpy as np
import pytest
from forests import forests
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import RagdollError
from core.skeleton import Skeleton, nearest_ancestors, subtree_means


def ancestors(parents, bone):
    chain = []
    while parents[bone] >= 0:
        bone = int(parents[bone])
        chain.append(bone)
    return chain


def test_bones_are_in_level_order_and_found_by_name():
    #  hips ── spine ── head          Given leaf first, as no exporter would; "prop" is a second root.
    #       ├─ leg.L ── foot.L
    #       └─ leg.R
    names = ["foot.L", "head", "leg.L", "prop", "hips", "spine", "leg.R"]
    skeleton = Skeleton.from_parents(names, ["leg.L", "spine", "hips", None, None, "hips", "hips"])
    assert skeleton.names == ("prop", "hips", "leg.L", "spine", "leg.R", "foot.L", "head")
    assert skeleton.index("spine") == 3
    with pytest.raises(RagdollError, match='"tail"'):
        skeleton.index("tail")
    with pytest.raises(ValueError, match="read-only"):
        skeleton.parents[0] = 3


@settings(max_examples=150)
@given(forests(40))
def test_any_forest_keeps_its_parents_and_its_invariants(parents):
    count = len(parents)
    skeleton = Skeleton.from_parents([f"bone {i}" for i in range(count)], parents)
    assert len(skeleton) == count
    # The same tree: each bone's parent by name is the one given.
    for level_index, name in enumerate(skeleton.names):
        given_parent = parents[int(name.split()[1])]
        found = skeleton.parents[level_index]
        assert (skeleton.names[found] if found >= 0 else "bone -1") == f"bone {given_parent}"
    # Level order: parents come first, siblings lie together.
    assert (skeleton.parents < np.arange(count)).all()
    assert (np.diff(skeleton.parents) >= 0).all()
    for bone in range(count):
        assert list(skeleton.children(bone)) == np.flatnonzero(skeleton.parents == bone).tolist()
        start, stop = skeleton.levels[len(ancestors(skeleton.parents, bone))]
        assert start <= bone < stop
    # Levels: one slice per depth, nothing left out.
    assert all(before[1] == after[0] for before, after in pairwise(skeleton.levels))
    assert skeleton.levels[0][0] == 0 and skeleton.levels[-1][1] == count
    assert np.array_equal(skeleton.to_level[skeleton.from_level], np.arange(count))


@given(forests(40), st.randoms(use_true_random=False))
def test_nearest_ancestors_and_subtree_means_equal_a_walk_bone_by_bone(parents, random):
    count = len(parents)
    chosen = np.array([random.random() < 0.3 for _ in range(count)])
    values = np.array([[random.randint(-9, 9), 1.0] for _ in range(count)])
    nearest = [next((a for a in ancestors(parents, bone) if chosen[a]), -1) for bone in range(count)]
    assert nearest_ancestors(parents, chosen).tolist() == nearest
    sums = values.copy()
    for bone in range(count):
        for ancestor in ancestors(parents, bone):
            sums[ancestor] += values[bone]
    assert np.allclose(subtree_means(values, parents), sums / sums[:, 1:])
