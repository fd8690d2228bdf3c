"""A skeleton as a structure of arrays in level order (breadth-first), and what trees of bones in any order are asked.

All roots come first, then all their children, then all of theirs: a *level* is one contiguous slice, and so are the
children of one bone. What has to be done parents first is then done for a whole level at once. Within a level bones are
sorted by their parent, and siblings keep the order of the input, so the same input always gives the same order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .errors import RagdollError


@dataclass(frozen=True, slots=True, eq=False)
class Skeleton:
    """Bones in level order; make one with `Skeleton.from_parents`. Its arrays are not to be written.

    "Input order" is the order of the bones given to `from_parents`: Blender's own order for an armature."""

    names: tuple[str, ...]  # in level order [n]
    parents: np.ndarray  # level index of each bone's parent, -1 for roots; int32 [n]. Never decreases along the array.
    levels: tuple[tuple[int, int], ...]  # (start, stop) of each level; level 0 holds the roots
    to_level: np.ndarray  # permutation into level order: `values_level = values_input[to_level]`; intp [n]
    from_level: np.ndarray  # permutation back to input order: `values_input = values_level[from_level]`; intp [n]
    # How to go down, one step for each level but the first: the slice of the level above, the slice of the level, and
    # for each of its bones the parent, counted from the start of the level above (intp). Thus
    # `values[level] = f(values[above][parents], local[level])` for each step in turn.
    level_steps: tuple[tuple[slice, slice, np.ndarray], ...]

    @staticmethod
    def from_parents(names: Sequence[str], parents: Sequence[int | str | None] | np.ndarray) -> "Skeleton":
        """Build a skeleton from bones in any order, each name once.

        `parents` has for each bone its parent, by index into `names` (-1: none) or by name (None: none)."""
        index_of = {name: i for i, name in enumerate(names)}
        found = [-1 if p is None else index_of[p] if isinstance(p, str) else p for p in parents]
        order = np.array(from_the_roots(found), np.intp)
        from_level = np.empty(len(order), np.intp)
        from_level[order] = np.arange(len(order))
        parents_level = np.append(from_level, -1)[np.array(found, np.intp)[order]]
        levels = tuple(pairwise([*np.flatnonzero(np.diff(depths(found)[order], prepend=-1)).tolist(), len(order)]))
        level_steps = tuple(
            # Left writable: numpy's `take` copies read-only indices first, which costs a quarter of a pass.
            (slice(*above), slice(*level), parents_level[slice(*level)] - above[0])
            for above, level in pairwise(levels)
        )
        arrays = parents_level.astype(np.int32), order, from_level
        for array in arrays:
            array.flags.writeable = False
        return Skeleton(tuple(names[i] for i in order.tolist()), arrays[0], levels, *arrays[1:], level_steps)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def root_count(self) -> int:
        """Number of roots; they are the bones 0 .. root_count - 1."""
        return self.levels[0][1]

    def index(self, name: str) -> int:
        """Level index of the bone called `name`. Raises RagdollError if there is none."""
        if name not in self.names:
            raise RagdollError(f'There is no bone "{name}" in the skeleton')
        return self.names.index(name)

    def children(self, bone: int) -> list[int]:
        """Level indices of the children of the bone with the level index `bone`."""
        return np.flatnonzero(self.parents == bone).tolist()


def from_the_roots(parents) -> list:
    """Indices [m] of a tree with parents before their children; `parents` [m] in any order, -1 at roots."""
    children = [[] for _parent in parents]
    for i, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(i)
    order = [i for i, parent in enumerate(parents) if parent < 0]
    for i in order:
        order.extend(children[i])
    return order


def path_to_root(parents, row: int) -> list:
    """A bone and all above it, upwards; `parents` [n] in any order, -1 at roots."""
    result = []
    while row >= 0:
        result.append(int(row))
        row = parents[row]
    return result


def descends(parents) -> np.ndarray:
    """Whether each one of a tree hangs on, or is, another [m, m]: row the ancestor, column the descendant."""
    result = np.zeros((len(parents), len(parents)), dtype=bool)
    for i in range(len(parents)):
        result[path_to_root(parents, i), i] = True
    return result


def depths(parents) -> np.ndarray:
    """How many are above each one of a tree [m]; `parents` as in `from_the_roots`."""
    result = np.zeros(len(parents), dtype=int)
    for i in from_the_roots(parents):
        result[i] = 0 if parents[i] < 0 else result[parents[i]] + 1
    return result


def subtree_means(points, parents) -> np.ndarray:
    """Mean of the points [m, 3] of each one of a tree and all below it [m, 3]; `parents` as in `from_the_roots`."""
    total, count = np.array(points, dtype=float), np.ones(len(points))
    for i in reversed(from_the_roots(parents)):
        if parents[i] >= 0:
            total[parents[i]] += total[i]
            count[parents[i]] += count[i]
    return total / count[:, None]


def nearest_ancestors(parents, chosen) -> np.ndarray:
    """Nearest strict ancestor that is chosen, -1 where there is none, for every bone [n]; parents in any order."""
    result = np.full(len(parents), -1)
    for row in from_the_roots(parents):
        parent = parents[row]
        if parent >= 0:
            result[row] = parent if chosen[parent] else result[parent]
    return result
