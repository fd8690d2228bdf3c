"""A skeleton in level order: the order itself, its ranges, what goes up and down in it, and bad input."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import RagdollError
from core.skeleton import Skeleton, SkeletonError

#  hips ── spine ── head          Given leaf first, as no exporter would; "prop" is a second root.
#       ├─ leg.L ── foot.L
#       └─ leg.R
NAMES = ["foot.L", "head", "leg.L", "prop", "hips", "spine", "leg.R"]
PARENTS = ["leg.L", "spine", "hips", None, None, "hips", "hips"]


@pytest.fixture
def skeleton():
    return Skeleton.from_parents(NAMES, PARENTS)


@st.composite
def forests(draw, max_size=40):
    """Parents of a random forest in a random input order."""
    count = draw(st.integers(1, max_size))
    parents = [draw(st.integers(-1, i - 1)) for i in range(count)]
    place = draw(st.permutations(range(count)))
    shuffled = [0] * count
    for i, parent in enumerate(parents):
        shuffled[place[i]] = -1 if parent < 0 else place[parent]
    return shuffled


def build(parents):
    return Skeleton.from_parents([f"bone {i}" for i in range(len(parents))], parents)


def ancestors(parents, bone):
    chain = []
    while parents[bone] >= 0:
        bone = int(parents[bone])
        chain.append(bone)
    return chain


def test_bones_are_in_level_order_with_siblings_as_given(skeleton):
    # The leg children come in input order: leg.L's before those of spine, since leg.L was given first.
    assert skeleton.names == ("prop", "hips", "leg.L", "spine", "leg.R", "foot.L", "head")
    assert skeleton.parents.tolist() == [-1, -1, 1, 1, 1, 2, 3]
    assert skeleton.levels == ((0, 2), (2, 5), (5, 7))
    assert skeleton.depths.tolist() == [0, 0, 1, 1, 1, 2, 2]
    assert skeleton.root_count == 2


def test_children_ranges_are_inclusive_and_minus_one_for_childless(skeleton):
    assert skeleton.children_start.tolist() == [-1, 2, 5, 6, -1, -1, -1]
    assert skeleton.children_end.tolist() == [-1, 4, 5, 6, -1, -1, -1]
    assert skeleton.children_counts().tolist() == [0, 3, 1, 1, 0, 0, 0]
    assert list(skeleton.children(1)) == [2, 3, 4]
    assert list(skeleton.children(0)) == []


def test_permutations_lead_to_level_order_and_back(skeleton):
    names = np.array(NAMES)
    assert tuple(names[skeleton.to_level]) == skeleton.names
    assert np.array(skeleton.names)[skeleton.from_level].tolist() == NAMES


def test_parents_by_index_name_and_array_agree(skeleton):
    by_index = [-1 if parent is None else NAMES.index(parent) for parent in PARENTS]
    for parents in (by_index, np.array(by_index), np.array(by_index, np.int16), tuple(by_index)):
        other = Skeleton.from_parents(NAMES, parents)
        assert other.names == skeleton.names
        assert np.array_equal(other.parents, skeleton.parents)


def test_index_finds_a_bone_and_names_the_missing(skeleton):
    assert skeleton.index("spine") == 3
    with pytest.raises(SkeletonError, match='"tail"'):
        skeleton.index("tail")


def test_input_is_not_touched():
    parents = np.array([2, 0, -1])
    Skeleton.from_parents(["a", "b", "c"], parents)
    assert parents.tolist() == [2, 0, -1]


def test_result_cannot_be_edited(skeleton):
    with pytest.raises(AttributeError):
        skeleton.names = ()
    with pytest.raises(ValueError, match="read-only"):
        skeleton.parents[0] = 3


@settings(max_examples=150, deadline=None)
@given(forests())
def test_any_forest_keeps_its_parents_and_its_invariants(parents):
    skeleton = build(parents)
    count = len(parents)
    assert len(skeleton) == count
    # The same tree: each bone's parent by name is the one given.
    for level_index, name in enumerate(skeleton.names):
        given_parent = parents[int(name.split()[1])]
        found = skeleton.parents[level_index]
        assert (skeleton.names[found] if found >= 0 else "bone -1") == f"bone {given_parent}"
    # Level order: parents come first, siblings lie together and in input order.
    assert (skeleton.parents < np.arange(count)).all()
    assert (np.diff(skeleton.parents) >= 0).all()
    inputs = skeleton.to_level
    siblings = skeleton.parents[1:] == skeleton.parents[:-1]
    assert (np.diff(inputs)[siblings] > 0).all()
    for bone in range(count):
        assert list(skeleton.children(bone)) == np.flatnonzero(skeleton.parents == bone).tolist()
        assert skeleton.depths[bone] == len(ancestors(skeleton.parents, bone))
    # Levels: one slice per depth, nothing left out.
    assert [stop - start for start, stop in skeleton.levels] == np.bincount(skeleton.depths).tolist()
    assert skeleton.levels[0][0] == 0 and skeleton.levels[-1][1] == count
    assert np.array_equal(inputs[skeleton.from_level], np.arange(count))


@settings(max_examples=60, deadline=None)
@given(forests(), st.randoms(use_true_random=False))
def test_what_goes_up_and_down_equals_a_walk_bone_by_bone(parents, random):
    skeleton = build(parents)
    count = len(parents)
    selected = np.array([random.random() < 0.3 for _ in range(count)])
    values = np.array([[random.randint(-9, 9), 1] for _ in range(count)])

    nearest = [next((a for a in ancestors(skeleton.parents, bone) if selected[a]), -1) for bone in range(count)]
    assert skeleton.nearest_selected_ancestor(selected).tolist() == nearest
    assert skeleton.descendants_mask(selected).tolist() == [a >= 0 for a in nearest]

    sums = values.copy()
    for bone in range(count):
        for ancestor in ancestors(skeleton.parents, bone):
            sums[ancestor] += values[bone]
    assert skeleton.subtree_sums(values).tolist() == sums.tolist()


def test_nearest_selected_ancestor_skips_unselected_bones():
    skeleton = Skeleton.from_parents(list("abcde"), [-1, 0, 1, 2, 3])
    selected = np.array([False, True, False, False, True])
    assert skeleton.nearest_selected_ancestor(selected).tolist() == [-1, -1, 1, 1, 1]


def test_subtree_sums_count_masks_and_leave_the_input_alone(skeleton):
    assert skeleton.subtree_sums(np.ones(7, bool)).tolist() == [1, 6, 2, 2, 1, 1, 1]
    values = np.ones(7)
    skeleton.subtree_sums(values)
    assert values.tolist() == [1] * 7


def test_masks_and_values_of_the_wrong_shape_are_refused(skeleton):
    with pytest.raises(SkeletonError, match=r"\[7\]"):
        skeleton.nearest_selected_ancestor(np.ones(6, bool))
    with pytest.raises(SkeletonError, match="bool"):
        skeleton.descendants_mask(np.arange(7))
    with pytest.raises(SkeletonError, match=r"\[7, \.\.\.\]"):
        skeleton.subtree_sums(np.ones(3))


@pytest.mark.parametrize(
    ("names", "parents", "message"),
    [
        ([], [], "at least one bone"),
        (["a", "b", "a"], [-1, 0, 0], '"a" occurs more than once'),
        (["a", "b"], [None, "c"], '"b" has the unknown parent "c"'),
        (["a", "b"], [-1, 2], '"b" has the unknown parent 2'),
        (["a", "b"], [-1, -2], '"b" has the unknown parent -2'),
        (["a", "b"], np.array([-1, 2]), '"b" has the unknown parent 2'),
        (["a", "b"], [-1, 10**30], '"b" has the unknown parent 1000'),
        (["a", "b"], [-1, 0.5], '"b" must be an index, a name or None, got 0.5'),
        (["a", "b"], [-1, True], '"b" must be an index, a name or None, got True'),
        (["a", "b"], [-1], "2 bone names but 1 parents"),
        (["a"], [0], '"a" > "a"'),
        (["r", "a", "b", "c"], [-1, 3, 1, 2], '"a" > "c" > "b" > "a"'),
        # A bone that merely hangs below the cycle is not the one to name.
        (["below", "a", "b"], [1, 2, 1], '"a" is its own ancestor: "a" > "b" > "a"'),
    ],
)
def test_bad_skeletons_are_refused_by_name(names, parents, message):
    with pytest.raises(SkeletonError) as caught:
        Skeleton.from_parents(names, parents)
    assert message in str(caught.value)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, RagdollError)


def test_a_long_cycle_is_named_in_short():
    with pytest.raises(SkeletonError) as caught:
        build([(i + 1) % 1000 for i in range(1000)])
    assert len(str(caught.value)) < 200


def test_names_may_be_any_text():
    names = ["", "Bone.001", "骨", "a\nb", '"quoted"']
    assert Skeleton.from_parents(names, [None, "", "", "骨", "骨"]).names == tuple(names)


def test_wide_and_deep_skeletons_of_40000_bones_are_built():
    count = 40_000
    tree = (np.arange(count) - 1) // 4
    tree[0] = -1
    chain = np.arange(count) - 1
    names = [str(i) for i in range(count)]
    start = time.perf_counter()
    assert len(Skeleton.from_parents(names, tree).levels) == 9
    # Takes 0.02 s; bone by bone with a search for children it would be minutes.
    assert time.perf_counter() - start < 2
    assert len(Skeleton.from_parents(names, chain).levels) == count
