"""Seconds to build ragdolls for 1, 5 and 20 copies of a 29-bone human: at most 2 s for 20, growing linearly.

    python dev.py bench build [--counts 1 5 20] [--rounds N] [--profile] [--json FILE]

The character is Rigify's Basic Human metarig (29 bones) with a walk cycle of 120 frames. A build counts from the
call until it returns, everything evaluated; the animation is sampled for the joints' limits within it.
`build_each` evaluates once at the end; `build` called for one character after the other evaluates the whole scene
each time, which cannot be linear. Figures are the fastest of the rounds, each in an empty file. `remove` of all
is timed too. `--profile` prints where the time of the largest count goes.

The exponent is that of the power law through the time at one character and at the count: 1 is linear growth, 2
what building with operators gives.
"""

import cProfile
import gc
import pstats
import sys
import time

import _characters
import bpy
import numpy as np

import rigs
from active_ragdoll.core.blender.physics import build, remove

AIM_COUNT, AIM_SECONDS, AIM_EXPONENT = 20, 2.0, 1.15
CASES = (
    ("build_each, bones that deform", "DEFORM", True),
    ("build_each, all bones", "ALL", True),
    ("build, one after the other", "DEFORM", False),
)
HEAD = ("characters", "bodies each", "joints", "build s", "ms each", "exponent", "remove s", "aim")


def measure(count: int, bones: str, together: bool = True) -> dict:
    """Build and remove the ragdolls of some characters in an empty file."""
    scene = rigs.empty_file()
    humans = _characters.walking_humans(scene, count)
    gc.collect()
    began = time.perf_counter()
    if together:
        built = list(build.build_each(humans, scene, bones))[-1][1]
    else:
        for human in humans:
            built = build.build(human, scene, bones)
    figures = {"build": time.perf_counter() - began, "bodies": built.bodies, "constraints": built.constraints}
    figures["objects"] = len(bpy.data.objects)
    began = time.perf_counter()
    for human in humans:
        remove.remove(human)
    return figures | {"remove": time.perf_counter() - began}


def run(counts: list[int], rounds: int, profile: bool) -> tuple[dict, bool]:
    """Print a table for each case."""
    measure(1, "DEFORM")  # warm-up: imports and Rigify
    found, met = [], True
    for title, bones, together in CASES:
        rows, single = [], None
        for count in counts:
            one = min((measure(count, bones, together) for _round in range(rounds)), key=lambda one: one["build"])
            single = single or (count, one["build"])
            growth = float(np.log(one["build"] / single[1]) / np.log(count / single[0])) if rows else 1.0
            found.append({"case": title, "count": count, "exponent": growth, **one})
            aimed = count == AIM_COUNT and together
            good = not aimed or (one["build"] <= AIM_SECONDS and growth <= AIM_EXPONENT)
            met &= good
            row = [count, one["bodies"], one["constraints"], one["build"], 1e3 * one["build"] / count, growth]
            rows.append([*row, one["remove"], _characters.verdict(good) if aimed else "-"])
        aim = f"aim: {AIM_COUNT} in {AIM_SECONDS:g} s, exponent {AIM_EXPONENT:g}"
        _characters.print_table(f"{title} ({aim})", HEAD, rows)
    if profile:
        profiler = cProfile.Profile()
        profiler.runcall(measure, max(counts), "DEFORM")
        pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(30)
    return {"cases": found}, met


if __name__ == "__main__":
    _characters.bench(run, __doc__, counts=[1, 5, 20], rounds=2, profile=False)
