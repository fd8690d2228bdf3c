"""Undo and redo around everything a ragdoll can be told, in a real Blender window; ends with exit code 0 when all held.

blender --factory-startup --python tests/real/undo_in_window.py [-- CYCLES]

Each cycle plays to mid-shot or stands at the first frame, edits something, plays on, undoes, plays on, starts again,
redoes, starts again. After an undo the shot, started again, must be what it was before, to the last bit; between
the undo in mid-shot and the new start the character shows its animation.
"""

import sys
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from window_session import Session, activate, animation, armature, compare, play, played_twice, push, run, scene, walker

CYCLES = int(sys.argv[sys.argv.index("--") + 1]) if "--" in sys.argv else 30
FIRST, MIDDLE, LAST = 5, 22, 34
KINDS = ("weight", "bone weight", "limit", "selection", "blend", "remove", "simulate", "bake")


def edit(kind, cycle):
    """One edit as a user makes it: a property of the sidebar, or an operator."""
    obj = armature()
    if kind == "weight":
        obj.active_ragdoll.rotation_weight = 0.3 + 0.01 * cycle
    elif kind == "bone weight":
        obj.pose.bones[Session.bone].active_ragdoll.rotation_weight = 0.5 + 0.01 * cycle
    elif kind == "limit":
        obj.pose.bones[Session.bone].active_ragdoll.limit_max[0] = 0.4 + 0.01 * cycle
    elif kind == "selection":
        bpy.context.view_layer.objects.active = obj
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.pose.select_all(action="INVERT")
    elif kind == "blend":
        obj.active_ragdoll.physics_blend = 0.5
    elif kind == "remove":
        activate()
        bpy.ops.active_ragdoll.remove()
    elif kind == "simulate":
        activate()
        bpy.ops.active_ragdoll.simulate(frame_start=FIRST, frame_end=LAST)
    elif kind == "bake":
        activate()
        bpy.ops.active_ragdoll.bake(frame_start=FIRST, frame_end=LAST)
    push(kind)


def set_up():
    walker(FIRST, LAST)
    activate()
    push("character")
    assert bpy.ops.active_ragdoll.build() == {"FINISHED"}
    obj = armature()
    obj.active_ragdoll.rotation_weight, obj.active_ragdoll.translation_weight = 0.4, 0.5
    Session.bone = obj.active_ragdoll.parts[3].bone
    push("build")
    played_twice(FIRST, LAST)


def cycle(number):
    kind = KINDS[number % len(KINDS)]
    stop = MIDDLE if (number // len(KINDS)) % 2 == 0 else FIRST
    play(FIRST, stop)
    push("before")
    edit(kind, number)
    if kind not in ("remove", "simulate", "bake"):
        play(stop + 1, stop + 6)
    bpy.ops.ed.undo()
    assert armature().active_ragdoll.is_ragdoll
    frame = scene().frame_current
    if armature().active_ragdoll.state not in ("CACHED", "BAKED"):
        going_on = play(frame + 1, frame + 3)
        if frame == FIRST:  # a step from there begins the shot
            compare(going_on, Session.reference, f"{kind}, undone, from where it stands")
        for number_of, shown in going_on.items() if frame > FIRST else ():
            off = float(np.abs(shown - animation(number_of)).max())
            assert off < 1e-4, f"{kind}: {off} off the animation after undo, frame {number_of}"
    compare(play(FIRST, LAST), Session.reference, f"{kind}, undone, from the first frame")
    bpy.ops.ed.redo()
    if kind == "remove":
        assert not armature().active_ragdoll.is_ragdoll
    else:
        play(FIRST, LAST)
    bpy.ops.ed.undo()
    play(FIRST, FIRST + 3)
    compare(play(FIRST, LAST), Session.reference, f"{kind}, redone and undone, from the first frame")
    print(f"cycle {number}: {kind} at {'mid-shot' if stop == MIDDLE else 'the first frame'}: held", flush=True)


run(set_up, cycle, CYCLES)
