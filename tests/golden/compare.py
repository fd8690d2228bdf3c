"""Compares what two runs of shots.py kept, bit for bit: python tests/golden/compare.py BEFORE.npz AFTER.npz"""

import sys

import numpy as np


def difference(before: np.ndarray | None, after: np.ndarray | None) -> str:
    """How two records of a shot [frames, things, 4, 4] differ, in words; empty if they are equal in every bit."""
    if before is None or after is None:
        return f"could not be played {'before' if before is None else 'after'}"
    if before.shape != after.shape:
        return f"{before.shape} before, {after.shape} after"
    frames = [i for i in range(len(before)) if before[i].tobytes() != after[i].tobytes()]
    largest = np.max(np.abs(after.astype(float) - before))
    return f"from frame {frames[0] + 1} on {len(frames)} frames, by up to {largest:.3g}" if frames else ""


def main(*paths: str) -> int:
    """Print a line for each record of each shot; 1 if any two differ."""
    before, after = map(dict, map(np.load, paths))
    found = {name: difference(before.get(name), after.get(name)) for name in before | after}
    for name, words in found.items():
        print(f"  {name:<26}{'DIFFERENT ' + words if words else 'equal'}")
    return 1 if any(found.values()) or not after else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
