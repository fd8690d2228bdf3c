"""Time of poses in level order: a tree of 40,000 bones with 4 children each, against plain Python.

    python dev.py bench skeleton [--rounds N] [--json FILE]

"sums": every bone's position is summed with its parent's, the case that an article measured in C++ and ISPC, with an
aim of 0.06 ms, and must be what the loop in Python gives; then the whole model-space transforms of that tree.
"""

import time

import _characters
import numpy as np

from active_ragdoll.core import pose, quaternion
from active_ragdoll.core.skeleton import Skeleton

BONES, CHILDREN, AIM_MS = 40_000, 4, 0.06


def accumulate_positions(skeleton: Skeleton, offsets: np.ndarray, out: np.ndarray) -> None:
    """Sum of each bone's offset [n, c] with those of all its ancestors, to `out`; both in level order and contiguous.

    Fastest with float32 rows of 4: a row is then 16 bytes and moves as one machine word.
    """
    roots = slice(0, skeleton.root_count)
    out[roots] = offsets[roots]
    for above, level, parents in skeleton.level_steps:
        own = out[level]
        # The parents' values go straight to their place. All indices are valid; "wrap" only keeps numpy from taking
        # the detour by a buffer that its default "raise" needs.
        out[above].take(parents, 0, own, "wrap")
        np.add(own, offsets[level], own)


def summed_in_python(parents: list[int], offsets: list[list[float]]) -> list[list[float]]:
    """The same, bone by bone."""
    rows = [row[:] for row in offsets]
    for bone, parent in enumerate(parents):
        if parent >= 0:
            above, own = rows[parent], rows[bone]
            rows[bone] = [own[0] + above[0], own[1] + above[1], own[2] + above[2]]
    return rows


def timed(call, rounds: int) -> list[float]:
    """Best and median time [ms] of a call."""
    times = []
    for _round in range(rounds):
        began = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - began))
    return [min(times), float(np.median(times))]


def run(rounds: int) -> tuple[dict, bool]:
    """Print the table."""
    parents = (np.arange(BONES) - 1) // CHILDREN
    parents[0] = -1
    skeleton = Skeleton.from_parents([f"bone {i}" for i in range(BONES)], parents)
    rng = np.random.default_rng(1)
    # Multiples of 1/256 below 4: all sums are exact, so float32 and Python's float64 must agree to the bit.
    offsets = np.zeros((BONES, 4), np.float32)
    offsets[:, :3] = rng.integers(-1024, 1024, size=(BONES, 3)) / 256
    sums, rows, order = np.empty_like(offsets), offsets[:, :3].tolist(), skeleton.parents.tolist()
    rotations = quaternion.normalize(rng.normal(size=(BONES, 4)).astype(np.float32))
    ones = np.ones((BONES, 3), np.float32)
    table = {
        "sums: level by level": timed(lambda: accumulate_positions(skeleton, offsets, sums), rounds),
        "sums: plain Python": timed(lambda: summed_in_python(order, rows), 3),
        "transforms": timed(lambda: pose.local_to_model(skeleton, offsets[:, :3], rotations, ones), rounds),
    }
    if not np.array_equal(sums[:, :3], summed_in_python(order, rows)):
        raise RuntimeError("sums level by level are not those of plain Python")
    lines = [[name, *times] for name, times in table.items()]
    _characters.print_table(f"{BONES} bones with {CHILDREN} children each, ms", ("", "best", "median"), lines)
    return {"ms": table, "aim_ms": AIM_MS}, table["sums: level by level"][1] <= AIM_MS


if __name__ == "__main__":
    _characters.bench(run, __doc__, rounds=300)
