"""Time of the motion stack's solvers: a look-at of six bones and two leg stabilisers.

    python dev.py bench motion [--rounds N] [--json FILE]

A human turns eye, head, neck, two spine bones and its hips to a target, and both feet are put back. Targets: `near` is
done by eye and head and leaves the feet where they are, `side` needs the spine, `out` is at the edge of their
reach. One numpy thread; processor time, so that a busy machine counts less; best and median of the rounds in ms.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1] / "core")]

from motion_rigs import FORWARD, HUMAN, aim_error, in_bone, posed, rig  # noqa: E402

from core.motion.limbs import LegStabilizer, stabilize  # noqa: E402
from core.motion.look_at import LinkedBone, LookAt, LookAtEntry  # noqa: E402
from core.motion.rig import Inputs  # noqa: E402

CHAIN = {"eye.L": (25, 0.0), "head": (40, 0.0), "neck": (30, 0.0), "spine3": (20, 0.1), "spine1": (25, 0.2)}
CHAIN["hips"] = (25, 0.7)
TARGETS = {"near": (0.9, -3.0, 0.3), "side": (3.0, 1.2, 0.5), "out": (1.5, 3.0, 2.0)}  # from the eye
AIM = 0.3  # [ms] look-at and both legs together


def timed(run, rounds: int, seconds: float = 0.02) -> tuple[float, float]:
    """(best, median) of a call [ms] over rounds of some length."""
    times = []
    for _ in range(rounds):
        count, start = 0, time.process_time()
        while time.process_time() - start < seconds:
            run()
            count += 1
        times.append((time.process_time() - start) / count * 1e3)
    return min(times), float(np.median(times))


def main() -> None:
    """Print the table, and write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    body = rig(HUMAN, 1)
    entries = [
        LookAtEntry(body.index[name], np.radians(limit), in_bone(body, name, FORWARD), up_weight=weight)
        for name, (limit, weight) in CHAIN.items()
    ]
    entries[0].linked.append(LinkedBone(body.index["eye.R"]))
    look = LookAt(body, entries)
    legs = [LegStabilizer(body, body.index[f"foot.{side}"], 3) for side in "LR"]
    pose, table = posed(body, np.random.default_rng(0), 0.05), {}
    for name, offset in TARGETS.items():
        target = body.bind_positions[body.index["eye.L"]] + np.array(offset)
        looked, _ = look.apply(body, pose, Inputs(target=target))
        parts = {
            "look-at": timed(lambda t=target: look.apply(body, pose, Inputs(target=t)), options.rounds),
            "two legs": timed(lambda p=looked: stabilize(legs, body, p, Inputs(reference=pose)), options.rounds),
        }
        print(f"{name}: {np.degrees(aim_error(body, look, looked, target)):.3f} deg left")
        for part, (best, median) in parts.items():
            print(f"  {part:10} {best:8.3f}   median {median:8.3f}")
        print(f"  {'together':10} {sum(best for best, _ in parts.values()):8.3f}   aim {AIM:g}")
        table |= {f"{name}: {part}": times for part, times in parts.items()}
    if options.json:
        options.json.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
