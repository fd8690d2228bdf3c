"""Edits in mid-shot that change no frame, in a real Blender window; ends with exit code 0 when all held.

blender --factory-startup --python tests/real/edits_in_window.py [-- STEPS]

Between an edit and the look at what is shown the window has been drawn, with all the updates that Blender makes of its
own accord. The character lies limp, far from its animation, and stays where it lies.
"""

import sys
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from window_session import Session, activate, animation, armature, play, pose, push, run, walker

FIRST, MIDDLE, LAST = 1, 14, 24


def mode(name):
    activate()
    bpy.ops.object.mode_set(mode=name)


def hide_some_bones():
    for collection in armature().data.collections:
        collection.is_visible = not collection.is_visible


def move_something():
    bpy.data.objects["Cone"].location.x += 0.5


EDITS = (
    lambda: mode("POSE"),
    lambda: bpy.ops.pose.select_all(action="INVERT"),
    lambda: setattr(armature().data, "display_type", "STICK"),
    hide_some_bones,
    move_something,
    lambda: mode("OBJECT"),
    lambda: setattr(armature().data.bones[Session.bone].color, "palette", "THEME03"),
    lambda: setattr(armature(), "show_in_front", True),
    lambda: mode("EDIT"),
    lambda: mode("OBJECT"),
)
STEPS = int(sys.argv[sys.argv.index("--") + 1]) if "--" in sys.argv else len(EDITS) + 1


def set_up():
    walker(FIRST, LAST)
    bpy.ops.mesh.primitive_cone_add(location=(3.0, 0.0, 0.0))
    activate()
    push("character")
    assert bpy.ops.active_ragdoll.build() == {"FINISHED"}
    settings = armature().active_ragdoll
    settings.rotation_weight = settings.translation_weight = 0.0
    Session.bone = settings.parts[3].bone
    Session.reference = play(FIRST, MIDDLE)
    off = float(np.abs(pose() - animation(MIDDLE)).max())
    assert off > 0.1, f"only {off} from the animation"


def step(number):
    """Look at what the last edit left, and make the next."""
    if number and armature().mode != "EDIT":
        off = float(np.abs(pose() - Session.reference[MIDDLE]).max())
        assert off < 1e-5, f"{off} off after edit {number}"
        print(f"edit {number}: held", flush=True)
    if number < STEPS - 1:
        EDITS[number % len(EDITS)]()
        push(f"edit {number}")


run(set_up, step, STEPS)
