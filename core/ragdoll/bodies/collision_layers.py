"""Collision layers for characters whose own bodies pass through each other, but not through others'.

Two bodies touch when they share a layer, and Blender has 20. Were all n bodies of one character on layers that no
other of it has, and did each share one with every body of another character of m bodies, then n times m layers would be
needed. So the bodies are put into four groups, and what is of one group is told apart by constraints. Bodies of group a
of one character and group b of another meet on the layer whose row of an orthogonal array has a in the one's column and
b in the other's: the array of strength 2 over the field of four elements has 16 rows and 5 columns (R. C. Bose and
K. A. Bush, Orthogonal arrays of strength two and three, 1952), so five characters meet in full.
"""

import numpy as np

from ...skeleton import path_to_root

LAYERS = 20  # Blender's
GROUPS = 4  # of one character's bodies
CHARACTERS = GROUPS + 1  # that meet each other in full
FIRST = LAYERS - GROUPS * GROUPS  # layers before it are left to the user
_PRODUCTS = np.array(((0, 0, 0, 0), (0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2)))  # of the field's elements; sums are xor


def _array() -> np.ndarray:
    """Rows that hold each pair of groups once in any two columns [16, 5]."""
    x, y = (values.ravel() for values in np.meshgrid(range(GROUPS), range(GROUPS), indexing="ij"))
    return np.stack([_PRODUCTS[x, factor] ^ y for factor in range(GROUPS)] + [x], axis=1)


def layers(slot: int) -> np.ndarray:
    """Layers of each group of a character's bodies: [4, 20], bool.

    `slot` says which of the characters without self-collision it is; the one five on has the same layers, so that of
    the two only like groups meet.
    """
    found = np.zeros((GROUPS, LAYERS), dtype=bool)
    found[:, FIRST:] = _array()[:, slot % CHARACTERS] == np.arange(GROUPS)[:, None]
    return found


def meeting_all() -> np.ndarray:
    """Layers [20] that are also those of what touches characters without self-collision, beside its own."""
    return np.arange(LAYERS) >= FIRST


def groups(parents) -> np.ndarray:
    """The group of each body [n]: limbs stay together, as what is joined needs no constraint to be told apart.

    `parents` [n] are -1 at roots. Depth first, each body comes right after the way that leads to it.
    """
    count = len(parents)
    result = np.empty(count, dtype=int)
    order = sorted(range(count), key=lambda body: path_to_root(parents, body)[::-1])
    result[order] = np.arange(count) * GROUPS // max(count, 1)
    return result
