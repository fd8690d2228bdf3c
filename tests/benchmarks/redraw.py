"""What redrawing the window costs a bake: 250 cached frames in the window against the same without redraws.

    BLENDER_WINDOW=... python dev.py bench redraw

Both are run in turns in one Blender with a window, medians of some rounds. Aim: ratio at most 1.3."""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "real"))
sys.path.insert(0, str(Path(__file__).parent))
import _characters  # noqa: F401  finds the modules below, loads the extension
import window

import harness
import rigs

AIM, FRAMES, ROUNDS = 1.3, 250, 7
OPERATORS = bpy.ops.active_ragdoll


def measure():
    """Yields whenever the window may go on; returns whether the aim is missed."""
    rigs.swinging_human(bpy.context.scene, 1, FRAMES)
    obj = bpy.context.object
    OPERATORS.knock_out_here(simulate=False)
    OPERATORS.simulate(frame_start=1, frame_end=FRAMES)
    alone, ratios = 0.0, []
    for turn in range(2 * ROUNDS):
        begun = time.perf_counter()
        OPERATORS.bake("INVOKE_DEFAULT" if turn % 2 else "EXEC_DEFAULT")
        while not obj.active_ragdoll.muted:
            yield
        seconds = time.perf_counter() - begun
        OPERATORS.revert_bake()
        if turn % 2:
            ratios.append(seconds / alone)
            print(f"alone {alone:.2f} s, in the window {seconds:.2f} s", flush=True)
        alone = seconds
        yield
    print(f"ratio {np.median(ratios):.2f}, aim {AIM}", flush=True)
    return int(np.median(ratios) > AIM)


if not bpy.app.background:
    window.run(measure(), interval=0.001)
elif not os.environ.get("BLENDER_WINDOW"):
    sys.exit("BLENDER_WINDOW is not set: it is a command that starts a Blender with a window")
else:
    options = " --factory-startup --python-exit-code 1 --python"
    harness.exit_now(subprocess.run([*shlex.split(os.environ["BLENDER_WINDOW"] + options), __file__]).returncode)
