"""Compares what two runs of shots.py kept, bit for bit.

python tests/golden/compare.py BEFORE.npz AFTER.npz
"""

import hashlib
import sys

import numpy as np


def difference(before: np.ndarray | None, after: np.ndarray | None) -> str:
    """How two records of a shot [frames, things, 4, 4] differ, in words; empty if they are equal in every bit."""
    if before is None or after is None:
        return f"could not be played {'before' if before is None else 'after'}"
    if before.shape != after.shape or before.dtype != after.dtype:
        return f"{before.dtype} {before.shape} before, {after.dtype} {after.shape} after"
    if before.tobytes() == after.tobytes():
        return ""
    frames = [i for i in range(len(before)) if before[i].tobytes() != after[i].tobytes()]
    largest = np.max(np.abs(after.astype(float) - before))
    return f"from frame {frames[0] + 1} on {len(frames)} frames, by up to {largest:.3g}"


def digest(values: np.ndarray | None) -> str:
    """Short name of a record's bits."""
    return hashlib.sha256(values.tobytes()).hexdigest()[:12] if values is not None else "-"


def main(before_path: str, after_path: str) -> int:
    """Print a line for each record of each shot; 1 if any two differ."""
    before, after = np.load(before_path), np.load(after_path)
    differing = 0
    for name in dict.fromkeys((*before.files, *after.files)):
        pair = [records[name] if name in records.files else None for records in (before, after)]
        words = difference(*pair)
        differing += bool(words)
        print(f"  {name:<26}{digest(pair[1]):<14}{'DIFFERENT ' + words if words else 'equal'}")
    return 1 if differing or not after.files else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
