"""Time of the motion stack's solvers: a look-at of six bones and two leg stabilisers.

    python dev.py bench motion [--rounds N] [--characters N] [--json FILE]

A human of 65 bones (arms, fingers) turns eye, head, neck, two spine bones and its hips to a target, and both feet are
put back. Targets: `near` is done by eye and head and leaves the feet where they are, `side` needs all six bones,
`random` is a different one for every character, up to 140 deg to the sides and 30 up or down. One numpy thread;
processor time, so that a busy machine counts less; the figure is the best round, the median is beside it.
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

from motion_rigs import FORWARD, HUMAN, in_bone, posed, rig  # noqa: E402

from core.motion.leg_stabilizer import LegStabilizer, stabilize  # noqa: E402
from core.motion.local_pose import LocalPose  # noqa: E402
from core.motion.look_at import LinkedBone, LookAt, LookAtEntry  # noqa: E402
from core.motion.rig import Inputs  # noqa: E402

CHAIN = (
    ("eye.L", 25, 0.0),
    ("head", 40, 0.0),
    ("neck", 30, 0.0),
    ("spine3", 20, 0.1),
    ("spine1", 25, 0.2),
    ("hips", 25, 0.7),
)
AIMS = {"one": 0.3, "many": 30.0}  # [ms]


def with_arms(table: dict) -> dict:
    """The human with arms and fingers: 65 bones."""
    table = dict(table)
    for side, sign in (("L", 1), ("R", -1)):
        above, x = "spine3", 0.05
        for part in ("clavicle", "arm", "forearm", "hand"):
            table[f"{part}.{side}"] = (above, (sign * x, 0, 1.45))
            above, x = f"{part}.{side}", x + 0.25
        for finger in range(5):
            above = f"hand.{side}"
            for phalanx in range(4):
                name = f"finger{finger}.{phalanx}.{side}"
                table[name] = (above, (sign * (x + 0.03 * phalanx), 0.02 * finger, 1.45))
                above = name
    return table


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
    parser.add_argument("--characters", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    body, rng = rig(with_arms(HUMAN), 1), np.random.default_rng(0)
    entries = [
        LookAtEntry(body.index[name], np.radians(limit), in_bone(body, name, FORWARD), up_weight=weight)
        for name, limit, weight in CHAIN
    ]
    entries[0].linked.append(LinkedBone(body.index["eye.R"]))
    look = LookAt(body, entries)
    legs = [LegStabilizer(body, body.index[f"foot.{side}"], 3) for side in "LR"]
    eye = body.bind_positions[body.index["eye.L"]]
    one, many = posed(body, rng, 0.05), posed(body, rng, 0.05, (options.characters,))
    azimuth = np.radians(rng.uniform(-140, 140, options.characters))
    elevation = np.radians(rng.uniform(-30, 30, options.characters))
    spread = 3 * np.stack([np.sin(azimuth), -np.cos(azimuth), np.tan(elevation)], axis=-1)
    cases = {
        "near": (one, eye + np.array([0.9, -3.0, 0.3])),
        "side": (one, eye + np.array([3.0, 1.2, 0.5])),
        "random": (many, eye + spread),
        "side, many": (many, eye + np.array([3.0, 1.2, 0.5])),
    }
    table = {}
    for name, (pose, target) in cases.items():
        inputs = Inputs(target=target)
        looked, _ = look.apply(body, pose, inputs)
        standing = Inputs(reference=pose)
        error = np.degrees(look.aim_error(body, looked, target))
        parts = {
            "look-at": lambda p=pose, i=inputs: look.apply(body, p, i),
            "two legs": lambda p=looked, i=standing: stabilize(legs, body, p, i),
        }
        for part, run in parts.items():
            table[f"{name}: {part}"] = timed(run, options.rounds)
        both = sum(table[f"{name}: {part}"][0] for part in parts)
        characters = 1 if isinstance(pose, LocalPose) and pose.rotations.ndim == 2 else options.characters
        aim = AIMS["one" if characters == 1 else "many"]
        reached = float(np.mean(error < 0.05))
        print(f"{name}: {characters} character(s), {100 * reached:.1f} % aim within 0.05 deg")
        for part in parts:
            print(f"  {part:10} {table[f'{name}: {part}'][0]:8.3f} ms   median {table[f'{name}: {part}'][1]:8.3f}")
        print(f"  {'together':10} {both:8.3f} ms   aim {aim:g}")
    if options.json:
        options.json.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
