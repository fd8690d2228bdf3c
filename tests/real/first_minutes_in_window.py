"""The README's first five minutes by mouse and keyboard: install, import, build, play, bake, remove, each undone.

In a real Blender window:
ACTIVE_RAGDOLL_ZIP=... blender --factory-startup --enable-event-simulate --python tests/real/first_minutes_in_window.py

Ends with exit code 0 when all held. A button or field is found as a user finds it: the pointer moves over the sidebar
until Blender says that what is below it has that name."""

import os
import sys
from pathlib import Path

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d

sys.path.insert(0, str(Path(__file__).resolve().parent))

from window import area, empty_file, move, override, region, run, strike, walker, window

ZIP = Path(os.environ.get("ACTIVE_RAGDOLL_ZIP", "not set"))
if not ZIP.is_file():
    print(f"ACTIVE_RAGDOLL_ZIP is {ZIP}: the zip to install is needed", flush=True)
    os._exit(1)
FBX = Path(bpy.app.tempdir) / "walk.fbx"
LAST = 30  # of the shot
ROW = 9  # pixels between two places where a button, 20 high, is looked for
COLUMNS = (0.5, 0.92, 0.25)  # of the sidebar's width
SEEN = {}  # where what has been found; nothing in the panels jumps


def scene():
    return bpy.context.scene


def armature():
    return next((obj for obj in scene().objects if obj.type == "ARMATURE"), None)


def settings():
    return armature().active_ragdoll


def pose():
    bpy.context.view_layer.update()
    posed = armature().evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([bone.matrix for bone in posed.pose.bones])


# ---- mouse and keyboard: each yields once Blender has taken the events ---------------------------------------------
def press(key, where="VIEW_3D", **held):
    """A key or mouse button; keys go to where the pointer is, so it is first put over an editor."""
    if where:
        found = region(of=where)
        yield from point(found.x + found.width // 3, found.y + found.height // 2)
    strike(key, *press.at, **held)
    yield
    yield


def point(x, y):
    press.at = int(x), int(y)
    move(x, y)
    yield


def pointed(x, y):
    """Move the pointer; the name of the button or setting below it."""
    yield from point(x, y)
    manager = bpy.context.window_manager
    with override("UI"):
        if bpy.ops.ui.copy_python_command_button.poll():
            bpy.ops.ui.copy_python_command_button()
            return eval(manager.clipboard.partition("(")[0], {"bpy": bpy}).get_rna_type().name
        if bpy.ops.ui.copy_data_path_button.poll():
            bpy.ops.ui.copy_data_path_button(full_path=True)
            owner, _dot, name = manager.clipboard.rpartition(".")
            said = eval(owner, {"bpy": bpy}).bl_rna.properties.get(name)
            return said.name if said else ""
    return ""


def point_at(name):
    """Put the pointer on what has a name: where it was seen before, else wherever it is in the sidebar."""
    bar = region("UI")
    if name in SEEN and (yield from pointed(*SEEN[name])) == name:
        return
    SEEN.clear()
    for column in COLUMNS:
        for y in range(bar.y + bar.height - ROW, bar.y, -ROW):
            place = bar.x + column * (bar.width - 25), y
            found = yield from pointed(*place)
            SEEN.setdefault(found, place)
            if found == name:
                return
    raise AssertionError(f"no {name!r} in the sidebar, only {sorted(SEEN)}")


def click(name):
    yield from point_at(name)
    yield from press("LEFTMOUSE", where="")


def enter(name, text):
    """Type a value into a field."""
    yield from point_at(name)
    yield from press("RET", where="")
    yield from press("A", where="", ctrl=True)
    for sign in text:
        window().event_simulate(type=KEYS[sign], value="PRESS", unicode=sign, x=press.at[0], y=press.at[1])
        window().event_simulate(type=KEYS[sign], value="RELEASE", x=press.at[0], y=press.at[1])
    yield from press("RET", where="")


KEYS = {"0": "ZERO", "1": "ONE", ".": "PERIOD"}


def until(done, what, ticks=600):
    for _ in range(ticks):
        if done():
            return
        yield
    raise AssertionError(f"it never came to this: {what}")


def undone(made, what):
    """Ctrl Z takes a step back, Ctrl Shift Z brings it again."""
    assert made(), what
    yield from press("Z", ctrl=True)
    yield from until(lambda: not made(), f"undone: {what}")
    yield from press("Z", ctrl=True, shift=True)
    yield from until(made, f"done again: {what}")


def choose_file(operator, path, **options):
    """A file dialog of Blender's, filled in, ended with its button's key."""
    with override():
        operator("INVOKE_DEFAULT", **options)
    yield
    browser = next(a for w in bpy.context.window_manager.windows for a in w.screen.areas if a.type == "FILE_BROWSER")
    yield
    browser.spaces[0].params.directory = str(path.parent).encode()
    browser.spaces[0].params.filename = path.name
    yield
    owner = next(w for w in bpy.context.window_manager.windows if browser in list(w.screen.areas))
    with bpy.context.temp_override(window=owner, area=browser, region=browser.regions[-1]):
        bpy.ops.file.execute()
    yield


# ---- the five minutes ---------------------------------------------------------------------------------------------
def story():
    walker()  # with its mesh, as a motion library would send it
    bpy.ops.export_scene.fbx(filepath=str(FBX), use_armature_deform_only=True, add_leaf_bones=False)
    empty_file()
    yield from choose_file(bpy.ops.extensions.package_install_files, ZIP, repo="user_default")
    yield from until(lambda: hasattr(bpy.types.Object, "active_ragdoll"), "installed and enabled")
    yield "installed"
    yield from choose_file(bpy.ops.wm.fbx_import, FBX)
    yield from until(armature, "imported")
    scene().frame_start, scene().frame_end = 1, LAST
    area().spaces[0].show_region_ui = True
    yield
    yield
    region("UI").active_panel_category = "Ragdoll"
    yield "imported"
    scene().frame_set(1)
    yield from click("Build")
    yield from undone(lambda: armature() and settings().is_ragdoll, "built")
    yield "built"
    for name, field in (("Rotation", "rotation_weight"), ("Translation", "translation_weight")):
        yield from enter(name, "0")
        yield from undone(lambda field=field: getattr(settings(), field) == 0.0, f"{name} 0")
    yield "weights typed"
    yield from press("SPACE")
    yield from until(lambda: scene().frame_current > 5, "plays")
    assert settings().run_state == "LIVE", settings().run_state
    yield from press("SPACE")
    assert not window().screen.is_animation_playing
    yield "played"
    scene().frame_set(10)
    bone = next(bone for bone in armature().pose.bones if "forearm" in bone.name)
    view, found, name = area().spaces[0].region_3d, region(), bone.name
    place = location_3d_to_region_2d(found, view, armature().matrix_world @ bone.center)
    yield from point(found.x + place[0], found.y + place[1])
    yield from press("K", where="", shift=True, alt=True)
    yield from point(press.at[0] - 120, press.at[1])  # the pie's first choice
    yield from press("LEFTMOUSE", where="")
    yield from until(lambda: settings().run_state == "CACHED", "knocked out")
    assert [hit.bone for hit in settings().hits] == [name], f"struck: {settings().hits[0].bone}, not {name}"
    yield from undone(lambda: len(settings().hits) == 1, "knocked out")
    yield "knocked out"
    yield from click("Simulate")
    yield from until(lambda: settings().run_state == "CACHED", "simulated")
    scene().frame_set(LAST)
    simulated = pose()
    yield from scrub(LAST // 2)
    assert scene().frame_current == LAST // 2 and np.abs(pose() - simulated).max() > 0.01, "the scrub shows nothing"
    yield "simulated and scrubbed"
    yield from click("Bake")
    yield from until(lambda: settings().muted, "baked")
    scene().frame_set(LAST)
    assert np.abs(pose() - simulated).max() < 1e-4, "the bake is not what was seen"
    yield from undone(lambda: settings().muted, "baked")
    yield "baked"
    yield from click("Revert Bake")
    yield from undone(lambda: not settings().muted, "reverted")
    yield "reverted"
    yield from click("Remove")
    yield from undone(lambda: not settings().is_ragdoll, "removed")
    left = [obj.name for obj in bpy.data.objects if obj.rigid_body]
    assert left == ["Floor"], f"besides the floor that was asked for, bodies are left: {left}"
    yield "removed"


def scrub(frame):
    """Drag in the timeline to a frame."""
    found = region(of="DOPESHEET_EDITOR")
    x, y = found.view2d.view_to_region(frame, 0, clip=False)[0] + found.x, found.y + found.height - 8
    yield from point(x - 20, y)
    window().event_simulate(type="LEFTMOUSE", value="PRESS", x=int(x - 20), y=y)
    yield
    yield from point(x, y)
    window().event_simulate(type="LEFTMOUSE", value="RELEASE", x=int(x), y=y)
    yield
    yield


run(story(), interval=0.02)
