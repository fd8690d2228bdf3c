"""Seconds to build ragdolls for 1, 5 and 20 copies of a 29-bone human: at most 2 s for 20, growing linearly.

    python dev.py bench build [--counts 1 5 20] [--rounds N] [--profile] [--json FILE]

The character is Rigify's Basic Human metarig (29 bones) with a walk cycle of 120 frames. A build counts from the
call until it returns, everything evaluated; the animation is sampled for the joints' limits within it.
`build_all` evaluates once at the end; `build` called for one character after the other evaluates the whole scene
each time, which cannot be linear. Figures are the fastest of the rounds, each in an empty file. `remove` of all
is timed too.

The exponent is that of the power law through the time at one character and at the count: 1 is linear growth, 2
what building with operators gives.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import pstats
import sys
import time

import _characters
import bpy
import numpy as np

AIM_COUNT, AIM_SECONDS, AIM_EXPONENT = 20, 2.0, 1.15
CASES = (
    ("build_all, bones that deform", "DEFORM", True),
    ("build_all, all bones", "ALL", True),
    ("build, one after the other", "DEFORM", False),
)


def measure(count: int, bones: str, together: bool = True) -> dict:
    """Build and remove the ragdolls of some characters in an empty file."""
    from active_ragdoll.core.blender import build, remove

    scene = _characters.empty_scene()
    humans = _characters.walking_humans(scene, count)
    gc.collect()
    began = time.perf_counter()
    if together:
        built = build.build_all(humans, scene, bones)[-1]
    else:
        for human in humans:
            built = build.build(human, scene, bones)
    seconds = time.perf_counter() - began
    objects = len(bpy.data.objects)
    began = time.perf_counter()
    for human in humans:
        remove.remove(human)
    return {
        "build": seconds,
        "remove": time.perf_counter() - began,
        "bodies": built.bodies,
        "constraints": built.constraints,
        "objects": objects,
    }


def fastest(count: int, bones: str, together: bool, rounds: int) -> dict:
    """The round with the shortest build."""
    figures = [measure(count, bones, together) for _round in range(rounds)]
    return min(figures, key=lambda one: one["build"])


def main() -> int:
    """Print the tables; 1 when an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 5, 20])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--profile", action="store_true", help="where the time of the largest count goes")
    options = _characters.arguments(parser)
    _characters.start()
    measure(1, "DEFORM")  # warm-up: imports and Rigify
    report = {"bpy": bpy.app.version_string, "cases": []}
    met = True
    for title, bones, together in CASES:
        rows = []
        single = None
        for count in options.counts:
            figures = fastest(count, bones, together, options.rounds)
            single = single or (count, figures["build"])
            growth = np.log(figures["build"] / single[1]) / np.log(count / single[0]) if rows else 1.0
            report["cases"].append({"case": title, "count": count, "exponent": float(growth), **figures})
            verdict = "-"
            if count == AIM_COUNT and together:
                good = bool(figures["build"] <= AIM_SECONDS and growth <= AIM_EXPONENT)
                met &= good
                verdict = "PASS" if good else "MISS"
            rows.append(
                [
                    str(count),
                    str(figures["bodies"]),
                    str(figures["constraints"]),
                    f"{figures['build']:.3f}",
                    f"{1e3 * figures['build'] / count:.1f}",
                    f"{growth:.2f}",
                    f"{figures['remove']:.3f}",
                    verdict,
                ]
            )
        head = ("characters", "bodies each", "joints", "build s", "ms each", "exponent")
        _characters.print_table(
            f"{title}, bpy {bpy.app.version_string} (aim: {AIM_COUNT} in {AIM_SECONDS:g} s, exponent {AIM_EXPONENT:g})",
            (*head, "remove s", "aim"),
            rows,
        )
    if options.profile:
        profile = cProfile.Profile()
        profile.enable()
        measure(max(options.counts), "DEFORM")
        profile.disable()
        pstats.Stats(profile, stream=sys.stdout).sort_stats("tottime").print_stats(30)
    report["met"] = met
    _characters.write_json(options.json, report)
    return 0 if met else 1


if __name__ == "__main__":
    _characters.leave(main())
