"""What the scripts share that play, edit, undo and redo in a real Blender window.

No data-block is kept between two steps, since undo replaces them."""

import sys
from pathlib import Path

import bpy
import numpy as np

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO), str(REPO / "tests" / "blender")]

import harness  # noqa: E402

harness.load_extension()

from active_ragdoll.core.blender.physics import source, view_layers  # noqa: E402
from active_ragdoll.core.blender.rig.armature import pose_matrices  # noqa: E402


class Session:
    """What is kept between the calls of the timer."""

    name = ""  # of the character
    bone = ""  # whose settings are edited
    reference: dict = {}  # pose at every frame


def scene():
    return bpy.data.scenes["Scene"]


def armature():
    return bpy.data.objects[Session.name]


def pose():
    """What the character shows now."""
    return pose_matrices(armature().evaluated_get(view_layers.depsgraph_of(scene())))


def animation(frame):
    """Its own animation at a frame."""
    scene().active_ragdoll.source.frame_set(frame)
    return pose_matrices(source.evaluated(armature()))


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
