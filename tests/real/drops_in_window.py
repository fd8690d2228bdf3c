"""Playback that drops frames, by the play button in a real Blender window: it says so and is not called live.

blender --factory-startup --python tests/real/drops_in_window.py

Ends with exit code 0 when all held. A handler makes every frame as slow as a heavy scene.
"""

import sys
import time
from itertools import pairwise
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parent))

from window_session import Session, activate, armature, empty_file, run, scene

import rigs
from active_ragdoll.core.blender.runtime import STATE

FIRST, LAST = 1, 200
WAIT = 12  # ticks for a playback
SLOW = 0.15  # seconds for a frame


def heavy(shown, _graph=None):
    if shown == scene() and Session.heavy and not STATE.busy:  # not in the warm-up
        said = STATE.messages.get("Scene", "")
        Session.shown.append((shown.frame_current, armature().active_ragdoll.run_state, said))
        time.sleep(SLOW)


def set_up():
    empty_file()
    Session.heavy = False
    obj = rigs.swinging_human(scene(), FIRST, LAST)
    Session.name = obj.name
    rigs.set_weights(obj)
    activate()
    assert bpy.ops.active_ragdoll.build() == {"FINISHED"}
    bpy.app.handlers.frame_change_post.append(heavy)
    scene().sync_mode = "FRAME_DROP"


def play():
    Session.shown, Session.heavy = [], True
    bpy.ops.screen.animation_play()


def play_a_run():
    for frame in range(FIRST, FIRST + 5):
        scene().frame_set(frame)
    assert not STATE.messages
    assert armature().active_ragdoll.run_state == "LIVE"
    play()


def play_after_build():
    """The first step from the first frame is dropped. (Blender shows the first frame once more before it.)"""
    scene().frame_set(FIRST)
    activate()
    assert bpy.ops.active_ragdoll.build() == {"FINISHED"}
    assert not STATE.runs and not STATE.messages
    play()


def is_told():
    """Of every frame that was shown after one that was left out, up to the next first frame."""
    dropped, before = 0, Session.shown[0][0]
    for frame, state, said in Session.shown:
        dropped = 0 if frame == FIRST else dropped + (frame > before + 1)
        assert not dropped or (state == "READY" and "left out frames after" in said), Session.shown
        before = frame
    assert any(b[0] > a[0] + 1 for a, b in pairwise(Session.shown)), f"nothing was dropped: {Session.shown}"
    Session.heavy = False
    bpy.ops.screen.animation_cancel(restore_frame=False)


STEPS = (
    play_a_run,
    *[lambda: None] * WAIT,
    is_told,
    play_after_build,
    *[lambda: None] * WAIT,
    is_told,
)


def step(number):
    STEPS[number]()
    print(f"step {number} of {len(STEPS)}: held", flush=True)


run(set_up, step, len(STEPS))
