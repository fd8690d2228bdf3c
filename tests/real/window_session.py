"""What the scripts share that play, edit, undo and redo in a real Blender window.

No data-block is kept between two steps, since undo replaces them.
"""

import os
import sys
import traceback
from pathlib import Path

import bpy
import numpy as np

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO), str(REPO / "tests" / "blender")]

import harness  # noqa: E402

harness.load_extension()

from active_ragdoll.core.blender.physics import source  # noqa: E402
from active_ragdoll.core.blender.run import pipeline  # noqa: E402


class Session:
    """What is kept between the calls of the timer."""

    step = 0
    name = ""  # of the character
    bone = ""  # whose settings are edited
    reference: dict = {}  # pose at every frame


def scene():
    return bpy.data.scenes["Scene"]


def armature():
    return bpy.data.objects[Session.name]


def override():
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    region = next(region for region in area.regions if region.type == "WINDOW")
    return bpy.context.temp_override(window=window, area=area, region=region)


def _matrices(posed):
    result = np.empty((len(posed.pose.bones), 4, 4), dtype=np.float32)
    posed.pose.bones.foreach_get("matrix", result.ravel())
    return result


def pose():
    """What the character shows now."""
    return _matrices(armature().evaluated_get(pipeline.depsgraph_of(scene())))


def animation(frame):
    """Its own animation at a frame."""
    scene().active_ragdoll.source.frame_set(frame)
    return _matrices(source.evaluated(armature()))


def play(first, last):
    """The poses of a range, played frame by frame."""
    result = {}
    for frame in range(first, last + 1):
        scene().frame_set(frame)
        result[frame] = pose()
    return result


def push(message):
    bpy.ops.ed.undo_push(message=message)


def activate():
    bpy.context.view_layer.objects.active = armature()
    armature().select_set(True)


def compare(got, wanted, what):
    worst = max(float(np.abs(got[frame] - wanted[frame]).max()) for frame in got)
    assert worst == 0.0, f"{what}: deviates by {worst}"


def empty_file():
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    bpy.context.scene.name = "Scene"


def walker(first, last):
    """An empty file with Rigify's human walking over some frames."""
    from demo import character, walk_cycle

    empty_file()
    obj, _mesh = character.make_rigify_human(scene())
    walk_cycle.make_walk_cycle(obj, scene())
    scene().frame_start, scene().frame_end = first, last
    Session.name = obj.name


def run(set_up, step, count: int) -> None:
    """Call `set_up`, then `step(0)` to `step(count - 1)`, one at a time, and leave Blender: with 0 if all held."""

    def tick():
        try:
            with override():
                if Session.step == 0:
                    set_up()
                elif Session.step <= count:
                    step(Session.step - 1)
                else:
                    print(f"{count} passed, 0 failed", flush=True)
                    finish(0)
            Session.step += 1
            return 0.05
        except Exception:
            traceback.print_exc()
            finish(1)

    bpy.context.preferences.view.show_splash = False
    bpy.app.timers.register(tick, first_interval=1.0, persistent=True)


def finish(code):
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
