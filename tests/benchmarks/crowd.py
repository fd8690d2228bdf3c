"""A crowd: 25 characters of 18 bodies in one scene, which collide with each other.

    python dev.py bench crowd [--count N] [--rounds N] [--frames N] [--json FILE]

Walking humans (the main bodies of Rigify's Basic Human, with a trunk of four and a neck) in two groups that
walk through each other, so that they touch all the time, above a floor. Cases:

    plain       the same bodies and joints, limp, in plain Blender without the extension (as in the cost benchmark)
    limp        the extension at weights 0/0
    separate    every character has weights of its own, from 0.3 to 1
    w 1/1       all at full weights

each with Blender's own 10 substeps of 10 iterations and with the substeps and iterations that the extension gives to
new worlds. "own" is the extension's own Python, "source" the evaluation of the hidden scene in which the animation is
read before physics, "share" both together as a share of the frame. "fps" is the rate at which it would play without a
viewport.

Aimed at: 24 frames a second on two cores with separate weights, where plain Blender reaches that itself; and own
Python at most 15 % of the frame without the source's evaluation, everywhere.
"""

import _characters
import bpy
import cost
import numpy as np

import rigs

AIM_FPS, AIM_SHARE = 24.0, 0.15
LEFT_OUT = (*cost.LEFT_OUT, "toe", "shoulder")
BODIES = 18
LANES, LANE, ROW = 5, 0.4, 0.9  # columns of the crowd, their distance and that of the rows [m]


def place(human: bpy.types.Object, i: int) -> None:
    """Lanes in turns towards each other."""
    lane, row = i % LANES, i // LANES
    against = lane % 2
    human.location = (LANE * lane, (ROW * row + 1.0) * (-1.0 if against else 1.0), 0.0)
    human.rotation_euler.z = np.pi if against else 0.0


def separate(_scene, humans) -> None:
    """Weights of its own for every character."""
    for i, human in enumerate(humans):
        weight = 0.3 + 0.7 * i / max(len(humans) - 1, 1)
        human.active_ragdoll.rotation_weight = human.active_ragdoll.translation_weight = weight


CASES = {"plain": (None,), "limp": ((0, 0),), "separate": ((1, 1), separate), "w 1/1": ((1, 1),)}


def run(count: int, rounds: int, frames: int) -> tuple[dict, bool]:
    """Print a table for Blender's substeps and iterations, and one for the extension's."""
    rigs.empty_file()
    scenes = [(case, cost.make(count, *how, place=place, left_out=LEFT_OUT)) for case, how in CASES.items()]
    own_world = scenes[1][1].rigidbody_world
    found, met = [], True
    for substeps, iterations in ((10, 10), (own_world.substeps_per_frame, own_world.solver_iterations)):
        for _case, scene in scenes:
            scene.rigidbody_world.substeps_per_frame = substeps
            scene.rigidbody_world.solver_iterations = iterations
        cases = cost.measure(scenes, frames, rounds)
        found.append({"substeps": substeps, "iterations": iterations, "cases": cases})
        rows = []
        for case in cases:
            case |= {"fps": 1e3 / case["ms"], "share": (case["own"] + case["source"]) / case["ms"]}
            aimed = case["case"] != "plain"
            good = not aimed or case["own_share"] <= AIM_SHARE
            if case["case"] == "separate" and cases[0]["fps"] >= AIM_FPS:
                good &= case["fps"] >= AIM_FPS
            met &= good
            row = [case[key] for key in ("case", "ms", "fps", "source", "own")]
            row += [f"{100 * case[key]:.1f} %" for key in ("own_share", "share")]
            rows.append([*row, case["full_ratio"], _characters.verdict(good) if aimed else "-"])
        _characters.print_table(
            f"{count} characters of {BODIES} bodies, {substeps} substeps of {iterations} iterations",
            ("case", "ms a frame", "fps", "source", "own", "own share", "share", "ratio", "aim"),
            rows,
        )
    return {"count": count, "bodies": BODIES, "worlds": found}, met


if __name__ == "__main__":
    _characters.bench(run, __doc__, count=25, rounds=1, frames=60)
