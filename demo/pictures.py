"""Pictures of the five panels for the manual: `python3.11 dev.py pictures`, in a Blender with a window.

Takes them from the X server with ImageMagick, since Blender's own screenshots are black under software OpenGL.
"""

import os
import subprocess
import sys
import traceback
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPO), str(REPO / "tests" / "blender")]

import bpy  # noqa: E402

import harness  # noqa: E402

PANELS = {"main": "ragdoll", "act": "act", "simulate": "simulate", "motion": "motion", "setup": "setup"}  # -> file
WAIT = 1.0  # [s] between what is done and its picture


def prepare() -> list:
    """A walker with a ragdoll, a hit and a look-at, and the panels' classes, all open at first."""
    bpy.context.preferences.view.show_splash = False
    bpy.context.preferences.system.use_region_overlap = False
    harness.load_extension()
    from active_ragdoll import registration
    from demo import character, stage, walk_cycle

    scene = bpy.context.scene
    for obj in list(scene.objects):
        bpy.data.objects.remove(obj)
    walker, _mesh = character.make_rigify_human(scene)
    walk_cycle.make_walk_cycle(walker, scene)
    bpy.context.view_layer.objects.active = walker
    walker.select_set(True)
    walker.data.bones.active = walker.data.bones["spine.003"]
    operators = bpy.ops.active_ragdoll
    operators.build(bones="MAIN")
    stage.make_floor(scene)
    operators.setup_recovery()
    operators.add_hit(frame=30)
    operators.setup_look_at()
    classes = [cls for cls in registration._classes if issubclass(cls, bpy.types.Panel)]
    for cls in reversed(classes):
        bpy.utils.unregister_class(cls)
    return classes


def top_of(cls) -> str:
    """The panel of the sidebar that a panel is in, without ACTIVE_RAGDOLL_PT_."""
    while parent := getattr(cls, "bl_parent_id", ""):
        cls = next(other for other in CLASSES if other.__name__ == parent)
    return cls.__name__.partition("_PT_")[2]


def shots(out: Path):
    """Show one panel after the other and take its picture; yields to let Blender draw."""
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    area.spaces.active.show_region_ui = True
    sidebar = next(region for region in area.regions if region.type == "UI")
    yield
    for top, name in PANELS.items():
        shown = [cls for cls in CLASSES if top_of(cls) == top]
        for cls in shown:
            inner = getattr(cls, "bl_parent_id", "") not in ("", f"ACTIVE_RAGDOLL_PT_{top}")
            cls.bl_options = {"DEFAULT_CLOSED"} if inner else set()
            bpy.utils.register_class(cls)
        yield
        sidebar.active_panel_category = "Ragdoll"
        area.tag_redraw()
        yield
        place = f"{sidebar.width - 30}x{sidebar.height}+{sidebar.x + 5}+{window.height - sidebar.y - sidebar.height}"
        trimmed = ["-crop", place, "+repage", "-trim", "+repage", "-depth", "8"]
        subprocess.run(["import", "-window", "root", *trimmed, str(out / f"{name}.png")], check=True)
        print(out / f"{name}.png")
        for cls in reversed(shown):
            bpy.utils.unregister_class(cls)
        yield


def tick() -> float:
    """Called by Blender between two drawings."""
    try:
        next(STEPS)
    except StopIteration:
        os._exit(0)
    except Exception:
        traceback.print_exc()
        os._exit(1)
    return WAIT


CLASSES = prepare()
STEPS = shots(Path(sys.argv[sys.argv.index("--") + 1]))
bpy.app.timers.register(tick, first_interval=2 * WAIT)
