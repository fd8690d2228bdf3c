"""Seconds to build ragdolls for 1, 5 and 20 copies of a 29-bone human: at most 2 s for 20, growing linearly.

    python dev.py bench build [--counts 1 5 20] [--rounds N] [--profile] [--json FILE]

The character is Rigify's Basic Human metarig (29 bones) with a walk cycle of 120 frames. Two choices of bones:
DEFORM, the default, which merges tiny bones into their parents, and ALL 29. A build counts from the call until
it returns, everything evaluated; the animation is sampled for the joints' limits within it. Figures are the
fastest of the rounds, each in an empty file. `remove` of all is timed too.

Growth is the time per character at a count against that at one character.
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

AIM_COUNT, AIM_SECONDS, AIM_GROWTH = 20, 2.0, 1.25


def measure(count: int, bones: str) -> dict:
    """Build and remove the ragdolls of some characters in an empty file."""
    from active_ragdoll.core.blender import build, remove

    scene = _characters.empty_scene()
    humans = _characters.walking_humans(scene, count)
    gc.collect()
    each = []
    for human in humans:
        began = time.perf_counter()
        built = build.build(human, scene, bones)
        each.append(time.perf_counter() - began)
    objects = len(bpy.data.objects)
    began = time.perf_counter()
    for human in humans:
        remove.remove(human)
    return {
        "build": sum(each),
        "first": each[0],
        "last": each[-1],
        "remove": time.perf_counter() - began,
        "bodies": built.bodies,
        "constraints": built.constraints,
        "objects": objects,
    }


def fastest(count: int, bones: str, rounds: int) -> dict:
    """The round with the shortest build."""
    return min((measure(count, bones) for _round in range(rounds)), key=lambda figures: figures["build"])


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
    for bones in ("DEFORM", "ALL"):
        rows = []
        single = None
        for count in options.counts:
            figures = fastest(count, bones, options.rounds)
            single = single or figures["build"] / count
            growth = figures["build"] / count / single
            report["cases"].append({"bones": bones, "count": count, "growth": growth, **figures})
            verdict = "-"
            if count == AIM_COUNT:
                good = figures["build"] <= AIM_SECONDS and growth <= AIM_GROWTH
                met &= good
                verdict = "PASS" if good else "MISS"
            rows.append(
                [
                    str(count),
                    str(figures["bodies"]),
                    str(figures["constraints"]),
                    f"{figures['build']:.3f}",
                    f"{1e3 * figures['build'] / count:.1f}",
                    f"{1e3 * figures['first']:.1f}",
                    f"{1e3 * figures['last']:.1f}",
                    f"{growth:.2f}",
                    f"{figures['remove']:.3f}",
                    verdict,
                ]
            )
        head = ("characters", "bodies each", "joints", "build s", "ms each", "first ms", "last ms", "growth")
        _characters.print_table(
            f"bones {bones}, bpy {bpy.app.version_string} (aim: {AIM_COUNT} in {AIM_SECONDS:g} s, growth "
            f"{AIM_GROWTH:g})",
            (*head, "remove s", "aim"),
            rows,
        )
    if options.profile:
        profile = cProfile.Profile()
        profile.enable()
        measure(max(options.counts), "DEFORM")
        profile.disable()
        pstats.Stats(profile, stream=sys.stdout).sort_stats("tottime").print_stats(30)
    report["met"] = bool(np.all(met))
    _characters.write_json(options.json, report)
    return 0 if met else 1


if __name__ == "__main__":
    _characters.leave(main())
