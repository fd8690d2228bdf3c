"""What the scripts that act in a Blender window share, with the extension or without: editors, input, steps in turn."""

import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def window():
    return bpy.context.window_manager.windows[0]


def area(kind="VIEW_3D"):
    return max((a for a in window().screen.areas if a.type == kind), key=lambda a: a.width * a.height)


def region(kind="WINDOW", of="VIEW_3D"):
    return next(region for region in area(of).regions if region.type == kind)


def override(kind="WINDOW"):
    return bpy.context.temp_override(window=window(), area=area(), region=region(kind))


def move(x, y):
    window().event_simulate(type="MOUSEMOVE", value="NOTHING", x=int(x), y=int(y))


def strike(key, x, y, **held):
    """A key or a mouse button, down and up."""
    for value in ("PRESS", "RELEASE"):
        window().event_simulate(type=key, value=value, x=int(x), y=int(y), **held)


def empty_file():
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)


def walker():
    """An empty file with Rigify's human walking."""
    from demo import character, walk_cycle

    empty_file()
    obj, _mesh = character.make_rigify_human(bpy.context.scene)
    walk_cycle.make_walk_cycle(obj, bpy.context.scene)
    return obj


def run(steps: Iterator[str | None], interval=0.05) -> None:
    """Go on with `steps` whenever the window has been drawn, then leave Blender: with what it returns, or 0.

    What it yields says what has held; nothing is said where it only waits."""
    held = 0

    def tick():
        nonlocal held
        try:
            with override():
                said = next(steps)
        except StopIteration as end:
            if held:
                print(f"{held} passed, 0 failed", flush=True)
            os._exit(end.value or 0)
        except Exception:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        if said:
            held += 1
            print(f"step {held}: {said}", flush=True)
        return interval

    bpy.context.preferences.view.show_splash = False
    bpy.app.timers.register(tick, first_interval=1.0, persistent=True)
