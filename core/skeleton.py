"""A skeleton as a structure of arrays in level order (breadth-first), and what trees of bones in any order are asked.

All roots come first, then all their children, then all of theirs: a *level* is one contiguous slice, and so
are the children of one bone. What has to be done parents first is then done for a whole level at once. Within
a level bones are sorted by their parent, and siblings keep the order of the input, so the same input always
gives the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from .errors import RagdollError


class SkeletonError(RagdollError, ValueError):
    """The bones given do not make a skeleton; the message names the bone."""


@dataclass(frozen=True, slots=True, eq=False)
class Skeleton:
    """Bones in level order; make one with `Skeleton.from_parents`. Its arrays are not to be written.

    "Input order" is the order of the bones given to `from_parents`: Blender's own order for an armature.
    """

    names: tuple[str, ...]  # in level order [n]
    parents: np.ndarray  # level index of each bone's parent, -1 for roots; int32 [n]. Never decreases along the array.
    children_start: np.ndarray  # level index of the first child, -1 for childless bones; int32 [n]
    children_end: np.ndarray  # level index of the last child (inclusive), -1 for childless bones; int32 [n]
    levels: tuple[tuple[int, int], ...]  # (start, stop) of each level; level 0 holds the roots
    to_level: np.ndarray  # permutation into level order: `values_level = values_input[to_level]`; intp [n]
    from_level: np.ndarray  # permutation back to input order: `values_input = values_level[from_level]`; intp [n]
    # How to go down, one step for each level but the first: the slice of the level above, the slice of the level, and
    # for each of its bones the parent, counted from the start of the level above (intp). Thus
    # `values[level] = f(values[above][parents], local[level])` for each step in turn.
    level_steps: tuple[tuple[slice, slice, np.ndarray], ...]
    _index: dict[str, int] = field(repr=False)

    @staticmethod
    def from_parents(names: Sequence[str], parents: Sequence[int | str | None] | np.ndarray) -> Skeleton:
        """Build a skeleton from bones in any order.

        Raises SkeletonError: no bones, a name twice, a parent that is not among the bones, or a cycle.

        Args:
            names: the bones' names, each once.
            parents: for each bone its parent, by index into `names` (-1: none) or by name (None: none).
        """
        names = tuple(names)
        count = len(names)
        if count == 0:
            raise SkeletonError("A skeleton needs at least one bone, got none")
        index_of = {name: i for i, name in enumerate(names)}
        if len(index_of) != count:
            duplicate = next(name for i, name in enumerate(names) if index_of[name] != i)
            raise SkeletonError(f'Bone name "{duplicate}" occurs more than once')
        if len(parents) != count:
            raise SkeletonError(f"Got {count} bone names but {len(parents)} parents")
        parents_input = _parent_indices(names, parents, index_of)

        order, levels = _level_order(parents_input)
        if len(order) != count:
            raise SkeletonError(_describe_cycle(names, parents_input, order))

        from_level = np.empty(count, np.intp)
        from_level[order] = np.arange(count)
        parents_level = parents_input[order]
        has_parent = parents_level >= 0
        parents_level[has_parent] = from_level[parents_level[has_parent]]

        children_start = np.full(count, -1, np.int32)
        children_end = np.full(count, -1, np.int32)
        first_child = levels[0][1]  # the roots end there, and every later bone is somebody's child
        if first_child < count:
            # Parents never decrease, so each run of equal parents is one bone's children.
            run_starts = np.flatnonzero(np.diff(parents_level[first_child:], prepend=-1)) + first_child
            run_parents = parents_level[run_starts]
            children_start[run_parents] = run_starts
            children_end[run_parents] = np.append(run_starts[1:], count) - 1

        level_steps = tuple(
            # Left writable: numpy's `take` copies read-only indices first, which costs a quarter of a pass.
            (slice(*above), slice(*level), parents_level[slice(*level)] - above[0])
            for above, level in pairwise(levels)
        )
        names_level = tuple(names[i] for i in order.tolist())
        return Skeleton(
            names=names_level,
            parents=_read_only(parents_level.astype(np.int32)),
            children_start=_read_only(children_start),
            children_end=_read_only(children_end),
            levels=levels,
            to_level=_read_only(order),
            from_level=_read_only(from_level),
            level_steps=level_steps,
            _index={name: i for i, name in enumerate(names_level)},
        )

    def __len__(self) -> int:
        return len(self.names)

    @property
    def root_count(self) -> int:
        """Number of roots; they are the bones 0 .. root_count - 1."""
        return self.levels[0][1]

    def index(self, name: str) -> int:
        """Level index of the bone called `name`. Raises SkeletonError if there is none."""
        try:
            return self._index[name]
        except KeyError:
            raise SkeletonError(f'There is no bone "{name}" in the skeleton') from None

    def children(self, bone: int) -> range:
        """Level indices of the children of the bone with the level index `bone`."""
        start = int(self.children_start[bone])
        return range(start, int(self.children_end[bone]) + 1) if start >= 0 else range(0)


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _parent_indices(
    names: tuple[str, ...], parents: Sequence[int | str | None] | np.ndarray, index_of: dict[str, int]
) -> np.ndarray:
    count = len(names)
    if isinstance(parents, np.ndarray) and np.issubdtype(parents.dtype, np.integer):
        indices = parents.astype(np.intp)
    else:
        indices = np.empty(count, np.intp)
        for i, parent in enumerate(parents):
            if parent is None:
                indices[i] = -1
            elif isinstance(parent, str):
                if parent not in index_of:
                    raise SkeletonError(f'Bone "{names[i]}" has the unknown parent "{parent}"')
                indices[i] = index_of[parent]
            elif isinstance(parent, (int, np.integer)) and not isinstance(parent, bool):
                indices[i] = parent if -1 <= parent < count else -2
            else:
                raise SkeletonError(f'Parent of bone "{names[i]}" must be an index, a name or None, got {parent!r}')
    wrong = (indices < -1) | (indices >= count)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise SkeletonError(
            f'Bone "{names[first]}" has the unknown parent {parents[first]}; indices go from -1 (none) to {count - 1}'
        )
    return indices


def _level_order(parents: np.ndarray) -> tuple[np.ndarray, tuple[tuple[int, int], ...]]:
    """Bones reachable from the roots, level by level, and the levels' slices; parents are in input order."""
    count = len(parents)
    by_parent = np.argsort(parents, kind="stable")  # roots, then the children of bone 0, 1, ... each in input order
    child_counts = np.bincount(parents[parents >= 0], minlength=count)
    root_count = count - int(child_counts.sum())
    first_child = root_count + np.cumsum(child_counts) - child_counts  # position in by_parent

    order = [by_parent[:root_count]]
    levels = [(0, root_count)]
    while True:
        above = order[-1]
        counts = child_counts[above]
        total = int(counts.sum())
        if total == 0:
            break
        # Ranges first_child .. first_child + counts of all bones above, one after the other.
        offset = first_child[above] - (np.cumsum(counts) - counts)
        order.append(by_parent[np.repeat(offset, counts) + np.arange(total)])
        levels.append((levels[-1][1], levels[-1][1] + total))
    return np.concatenate(order), tuple(levels)


def _describe_cycle(names: tuple[str, ...], parents: np.ndarray, reached: np.ndarray) -> str:
    unreached = np.ones(len(names), bool)
    unreached[reached] = False
    # An unreached bone is in a cycle or below one: going up long enough ends in it.
    bone = int(np.argmax(unreached))
    seen: dict[int, int] = {}
    while bone not in seen:
        seen[bone] = len(seen)
        bone = int(parents[bone])
    cycle = list(seen)[seen[bone] :]
    shown = [f'"{names[i]}"' for i in cycle[:8]] + (["..."] if len(cycle) > 8 else [])
    return f'Bone "{names[bone]}" is its own ancestor: ' + " > ".join([*shown, f'"{names[bone]}"'])


# ---- trees in any order ---------------------------------------------------------------------------------------------
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
