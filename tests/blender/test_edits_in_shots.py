"""Edits of a character in mid-shot: the frame goes on showing the physics."""

import bpy
import numpy as np
import pytest

import rigs

pytestmark = pytest.mark.blender_version

LAST, NOW = 20, 10


@pytest.fixture
def limp(fresh_scene):
    """A limp character in mid-fall, far from its animation, and what it shows."""
    obj = rigs.ragdoll(fresh_scene, LAST, 0.0)
    rigs.step(fresh_scene, range(1, NOW + 1))
    bpy.context.view_layer.objects.active = obj
    return obj, rigs.pose(obj)


def update():
    """As Blender does after every edit; what a handler changes is shown by the next."""
    bpy.context.view_layer.update()
    bpy.context.view_layer.update()


def edited_bones(obj):
    bpy.ops.object.mode_set(mode="EDIT")
    obj.data.edit_bones["forearm.L"].select = True
    bpy.ops.object.mode_set(mode="OBJECT")


def data(obj):
    obj.data.show_names = True
    obj.data.update_tag()


EDITS = {
    "pose mode": lambda _obj: bpy.ops.object.mode_set(mode="POSE"),
    "edit mode": edited_bones,
    "armature data": data,
    "a bone's colour": lambda obj: setattr(obj.data.bones["forearm.L"].color, "palette", "THEME01"),
    "a property of the object": lambda obj: setattr(obj, "show_in_front", True),
}


def test_the_shot_goes_on_as_without_the_edits(limp, fresh_scene):
    obj, _shown = limp
    rigs.play(fresh_scene, 1, LAST)
    expected = rigs.bodies(obj)
    for frame in range(1, LAST + 1):
        fresh_scene.frame_set(frame)
        list(EDITS.values())[frame % len(EDITS)](obj)
        update()
    assert np.array_equal(rigs.bodies(obj), expected)


@pytest.mark.parametrize("jump", (False, True))
def test_a_keyed_blend_stays_that_of_the_frame(limp, fresh_scene, jump):
    """It is read at the frame that is shown, also after a jump back."""
    obj, _shown = limp
    rigs.key(obj, "active_ragdoll.physics_blend", {1: 1.0, LAST: 0.0})
    poses = rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(obj))
    frame = NOW if jump else LAST
    fresh_scene.frame_set(frame)
    assert np.abs(rigs.pose(obj) - poses[frame - 1]).max() < 1e-5
    for edit in EDITS.values():
        edit(obj)
        update()
        assert np.abs(rigs.pose(obj) - poses[frame - 1]).max() < 1e-5
