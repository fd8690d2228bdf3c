import numpy as np
import pytest

from core.ragdoll.bodies import overlap as cl


def test_groups_of_one_character_share_no_layer_and_those_of_any_two_share_exactly_one():
    for slot in range(cl.CHARACTERS):
        own = cl.layers(slot)
        assert own.shape == (cl.GROUPS, cl.LAYERS)
        for other in range(cl.CHARACTERS):
            common = own.astype(int) @ cl.layers(other).T
            assert np.array_equal(common, 4 * np.eye(4) if other == slot else np.ones((4, 4)))
    assert np.array_equal(cl.layers(cl.CHARACTERS), cl.layers(0))  # the sixth meets the first with like groups


@pytest.mark.parametrize(("count", "most"), ((1, 0), (4, 0), (16, 12), (24, 40)))
def test_chains_need_few_constraints(count, most):
    """A chain cut in four: of a group of s bodies s - 1 pairs are joined, (s - 1)(s - 2)/2 are not."""
    parents = np.arange(count) - 1
    found = cl.groups(parents)
    pairs = [(i, k) for k in range(count) for i in range(k - 1) if found[i] == found[k]]
    assert len(pairs) == most


def test_the_order_of_the_bodies_does_not_tear_limbs_apart():
    # Breadth first: root, then four limbs of four bodies, interleaved.
    parents = np.array([-1, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    found = cl.groups(parents)
    within = [found[i] == found[p] for i, p in enumerate(parents) if p >= 0]
    assert np.count_nonzero(within) >= 12
