"""Playing after a build, edits in mid-shot, a second window with its own view layer, a body deleted, dropped frames.

In a real Blender window:
blender --factory-startup --enable-event-simulate --python tests/real/playing_in_window.py

Ends with exit code 0 when all held. Keys go through Blender's own queue of events. Between an edit and the look at what
is shown the window has been drawn. Frames are dropped since a handler makes each as slow as a heavy scene."""

import sys
import time
from itertools import pairwise
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import window
from window_session import Session, activate, armature, compare, play, pose, push, scene

import rigs
from active_ragdoll.core.blender.runtime import STATE

FIRST, MIDDLE, LAST = 1, 14, 40
WAIT = 8  # ticks for a playback
SLOW = 0.15  # seconds for a frame of a heavy scene


class PlayFromScript(bpy.types.Operator):
    bl_idname, bl_label = "wm.test_play_from_script", "Play"

    def execute(self, context):
        bpy.ops.screen.animation_play()
        return {"FINISHED"}


def set_up():
    window.empty_file()
    bpy.utils.register_class(PlayFromScript)
    obj = rigs.swinging_human(scene(), FIRST, LAST)
    Session.name = obj.name
    obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 0.0
    bpy.ops.mesh.primitive_cone_add(location=(3.0, 0.0, 0.0))
    build_anew()
    Session.reference = play(FIRST, LAST)
    build_anew()


def build_anew():
    """The scene stands at the first frame, and no run does."""
    scene().frame_set(FIRST)
    activate()
    assert bpy.ops.active_ragdoll.build() == {"FINISHED"}
    assert not STATE.runs


def press(key):
    area = window.area()
    place = area.x + area.width // 2, area.y + area.height // 2
    window.move(*place)
    window.strike(key, *place)


def is_as_played(least):
    frame = scene().frame_current
    assert least <= frame <= LAST, f"stands at frame {frame}"
    compare({frame: pose()}, Session.reference, f"frame {frame}")
    assert np.any(Session.reference[frame] != Session.reference[FIRST]), "it does not fall"


def begin():
    """The window is not told to show the frame once more, with which the run would begin anew."""
    scene().frame_set(FIRST)
    Session.run = STATE.runs["Scene"]


def has_begun_once():
    assert STATE.runs["Scene"] is Session.run
    build_anew()


def stopped_as_played():
    if any(window.screen.is_animation_playing for window in bpy.context.window_manager.windows):
        bpy.ops.screen.animation_play()  # it stops
    is_as_played(FIRST + 2)
    build_anew()


def mode(name):
    activate()
    bpy.ops.object.mode_set(mode=name)


EDITS = (  # that change no frame
    lambda: mode("POSE"),
    lambda: bpy.ops.pose.select_all(action="INVERT"),
    lambda: setattr(armature().data, "display_type", "STICK"),
    lambda: setattr(armature().data.bones["hips"], "hide", True),
    lambda: setattr(bpy.data.objects["Cone"].location, "x", 0.5),
    lambda: mode("OBJECT"),
    lambda: setattr(armature().data.bones["hips"].color, "palette", "THEME03"),
    lambda: setattr(armature(), "show_in_front", True),
    lambda: mode("EDIT"),
    lambda: mode("OBJECT"),
)


def stays():
    """It lies limp, far from its animation, and stays where it lies."""
    if armature().mode != "EDIT":
        off = float(np.abs(pose() - Session.reference[MIDDLE]).max())
        assert off < 1e-5, f"{off} off"
    push("edited")


def open_window():
    bpy.ops.wm.window_new()
    bpy.context.window_manager.windows[1].view_layer = scene().view_layers.new("Second")


def both_show_the_run():
    found = play(FIRST, 12)
    del found[FIRST]  # once the bodies are released, a second window has them read from the cache (1.5e-7 to 3e-7)
    compare(found, Session.reference, "two windows")
    build_anew()


def play_in_second_window():
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[1]):
        bpy.ops.screen.animation_play()


def close_second_window():
    play(FIRST, FIRST + 5)
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[1]):
        bpy.ops.wm.window_close()


def select_a_body():
    assert len(bpy.context.window_manager.windows) == 1
    found = play(FIRST, 8)
    del found[FIRST]
    compare(found, Session.reference, "after the window was closed")
    scene().frame_set(FIRST)
    scene().active_ragdoll.show_helpers = True
    Session.body = armature().active_ragdoll.parts[4].body.name
    body = bpy.data.objects[Session.body]
    body.hide_select = False
    bpy.ops.object.select_all(action="DESELECT")
    body.select_set(True)
    bpy.context.view_layer.objects.active = body


def body_is_gone():
    assert Session.body not in bpy.data.objects, "the key deleted nothing"
    for frame in (FIRST + 1, FIRST + 2, FIRST + 1, FIRST, FIRST + 1, FIRST + 2):
        scene().frame_set(frame)
    assert "was deleted" in STATE.messages["Scene"], STATE.messages
    build_anew()
    play(FIRST, 8)


def heavy(shown, _graph=None):
    if shown == scene() and Session.heavy and not STATE.busy:  # not in the warm-up
        said = STATE.messages.get("Scene", "")
        Session.shown.append((shown.frame_current, armature().active_ragdoll.run_state, said))
        time.sleep(SLOW)


def play_heavily():
    """With a build right before, the first step from the first frame is dropped."""
    scene().sync_mode, scene().frame_end = "FRAME_DROP", 100 * LAST  # a slow machine does not come round
    if heavy not in bpy.app.handlers.frame_change_post:
        bpy.app.handlers.frame_change_post.append(heavy)
    assert not STATE.messages
    Session.shown, Session.heavy = [], True
    bpy.ops.screen.animation_play()


def drops_are_told():
    """Of every frame that was shown after one that was left out, up to the next first frame."""
    dropped, before = 0, Session.shown[0][0]
    for frame, state, said in Session.shown:
        dropped = 0 if frame == FIRST else dropped + (frame > before + 1)
        assert not dropped or (state == "READY" and "left out frames after" in said), Session.shown
        before = frame
    assert any(b[0] > a[0] + 1 for a, b in pairwise(Session.shown)), f"nothing was dropped: {Session.shown}"
    Session.heavy, scene().frame_end = False, LAST
    bpy.ops.screen.animation_cancel(restore_frame=False)
    build_anew()


STEPS = (
    begin, lambda: None, has_begun_once, lambda: press("RIGHT_ARROW"), lambda: None, lambda: is_as_played(FIRST + 1),
    lambda: press("RIGHT_ARROW"), lambda: None, lambda: is_as_played(FIRST + 2), build_anew, lambda: press("SPACE"),
    *[lambda: None] * WAIT, stopped_as_played, lambda: bpy.ops.wm.test_play_from_script(), *[lambda: None] * WAIT,
    stopped_as_played, lambda: play(FIRST, MIDDLE), *[step for edit in EDITS for step in (edit, stays)], build_anew,
    open_window, both_show_the_run, play_in_second_window, *[lambda: None] * WAIT, stopped_as_played,
    close_second_window, select_a_body, lambda: press("DEL"), lambda: None, body_is_gone, build_anew, play_heavily,
    *[lambda: None] * WAIT, drops_are_told, lambda: play(FIRST, FIRST + 4), play_heavily, *[lambda: None] * WAIT,
    drops_are_told, lambda: bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True), lambda: None,
)  # fmt: skip


def in_turn():
    set_up()
    yield
    for step in STEPS:
        step()
        yield "held"


window.run(in_turn())
