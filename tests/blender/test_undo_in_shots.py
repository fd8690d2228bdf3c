"""Undo after what was built anew in mid-shot: joints of the others, made in a world that is no more, hold no bodies."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender import build, remove
from active_ragdoll.core.blender.runtime import STATE

LAST, MIDDLE = 12, 6


@pytest.fixture
def pair(fresh_scene):
    """Two swinging humans with ragdolls, with an undo step, in mid-shot."""
    for name, place in (("One", 0.0), ("Other", 4.0)):
        obj = rigs.human(fresh_scene, name)
        obj.location.x = place
        rigs.swing(obj, 1, LAST)
        build.build(obj, fresh_scene)
    rigs.set_range(fresh_scene, 1, LAST)
    rigs.play(fresh_scene, 1, MIDDLE)
    return fresh_scene


@pytest.mark.parametrize("change", (build.rebuild, remove.remove))
@pytest.mark.parametrize("again", (1, 4))
def test_undo_after_one_of_two_was_changed_in_mid_shot(pair, change, again):
    for _turn in range(again):
        bpy.ops.ed.undo_push(message="before")
        change(bpy.data.objects["Other"], bpy.context.scene)
        bpy.ops.ed.undo_push(message="changed")
        bpy.data.objects["One"].active_ragdoll.rotation_weight = 0.5
        bpy.ops.ed.undo_push(message="edited")
        for _step in range(2):
            bpy.ops.ed.undo()
            bpy.context.view_layer.update()
        scene = bpy.context.scene
        assert all(bpy.data.objects[name].active_ragdoll.is_ragdoll for name in ("One", "Other"))
        for frame in range(1, MIDDLE + 1):
            scene.frame_set(frame)
        assert not STATE.messages and len(STATE.runs[scene.name].characters) == 2
        for name in ("One", "Other"):
            assert np.isfinite(rigs.pose(bpy.data.objects[name])).all()
