"""Ragdolls built anew and removed in mid-shot, undone or not: the others go on.

Joints that were made in a world that is no more must hold no bodies, and a world no joints that are no more.
"""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, remove, source
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import effects

pytestmark = [pytest.mark.blender_version, pytest.mark.own_process]

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


@pytest.mark.parametrize("change", (build.rebuild, remove.remove))
def test_the_frames_after_such_a_change_show_the_animation(pair, change):
    """Nothing steps any more before the shot begins anew, and then all goes on."""
    change(bpy.data.objects["Other"], pair)
    for frame in range(MIDDLE + 1, LAST + 1):
        pair.frame_set(frame)
        posed = rigs.pose(bpy.data.objects["One"])
    pair.active_ragdoll.source.frame_set(LAST)
    played = source.evaluated(bpy.data.objects["One"])
    assert np.abs(posed - [np.array(played.matrix_world @ bone.matrix) for bone in played.pose.bones]).max() < 1e-4
    assert rigs.play(pair, 1, LAST, lambda: STATE.runs[pair.name].frame) == list(range(1, LAST + 1))


def test_joints_that_come_and_go_between_two_shots(pair):
    """A baked cache, one built anew, and helpers of a hit on the other: the world is made with other joints."""
    list(simulate.frames(pair))
    pair.frame_set(LAST + 3)
    copy = bpy.data.objects["Other"].copy()
    pair.collection.objects.link(copy)
    build.rebuild(bpy.data.objects["Other"], pair)
    effects.add_hit(bpy.data.objects["One"], pair, "head", 3, (0.0, 20.0, 0.0))
    rigs.play(pair, 1, LAST)
    remove.remove(copy, pair)
    rigs.play(pair, 1, LAST)
    assert len(STATE.runs[pair.name].characters) == 2
