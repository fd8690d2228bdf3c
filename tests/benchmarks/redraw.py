"""What redrawing the window costs a bake: 250 cached frames in the window against the same without redraws.

    BLENDER_WINDOW=... python dev.py bench redraw

Both are run in turns in one Blender with a window, medians of some rounds. Aim: ratio at most 1.3.
"""

import os
import shlex
import subprocess
import sys
import time
import traceback
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import _characters  # noqa: F401  finds the modules below, loads the extension

import harness
import rigs

AIM, FRAMES, ROUNDS = 1.3, 250, 7
OPERATORS = bpy.ops.active_ragdoll


def timed(bake) -> float:
    """Seconds until the character is baked, which is then taken back."""
    obj, begun = bpy.context.object, time.perf_counter()
    bake()
    while not obj.active_ragdoll.muted:
        yield
    seconds = time.perf_counter() - begun
    OPERATORS.revert_bake()
    return seconds


def measure():
    """Yields whenever the window may go on."""
    rigs.swinging_human(bpy.context.scene, 1, FRAMES)
    OPERATORS.knock_out_here(simulate=False)
    OPERATORS.simulate(frame_start=1, frame_end=FRAMES)
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    rounds = []
    for _ in range(ROUNDS):
        seconds = []
        for how in ("EXEC_DEFAULT", "INVOKE_DEFAULT"):
            with bpy.context.temp_override(window=window, area=area, region=area.regions[-1]):
                seconds.append((yield from timed(lambda how=how: OPERATORS.bake(how))))
            yield
        rounds.append(seconds)
        print(f"alone {seconds[0]:.2f} s, in the window {seconds[1]:.2f} s", flush=True)
    ratio = float(np.median([shown / alone for alone, shown in rounds]))
    print(f"ratio {ratio:.2f}, aim {AIM}: {'met' if ratio <= AIM else 'missed'}")
    return int(ratio > AIM)


def tick(steps) -> float:
    """Called by a timer of the window."""
    try:
        next(steps)
    except StopIteration as end:
        harness.exit_now(end.value)
    except BaseException:
        traceback.print_exc()
        harness.exit_now(2)
    return 0.001


if not bpy.app.background:
    bpy.context.preferences.view.show_splash = False
    steps = measure()
    bpy.app.timers.register(lambda: tick(steps), first_interval=1.0)
elif not os.environ.get("BLENDER_WINDOW"):
    sys.exit("BLENDER_WINDOW is not set: it is a command that starts a Blender with a window")
else:
    options = " --factory-startup --python-exit-code 1 --python"
    harness.exit_now(subprocess.run([*shlex.split(os.environ["BLENDER_WINDOW"] + options), __file__]).returncode)
