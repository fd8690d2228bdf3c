"""The human that Rigify generates: which bodies it gets, and what the motion stack does to its deforming bones."""

import bpy
import numpy as np
import pytest

import layered
import looking
import rigs
from active_ragdoll.core.blender.physics import build
from demo.character import generate_rigify

LAST = 8


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """A file with the rig, its left forearm bent by an IK control that is keyed."""
    metarig = rigs.metarig(rigs.empty_file(), "human")
    obj = generate_rigify(metarig)
    bpy.data.objects.remove(metarig)
    obj.name = "Rigify"
    hand = obj.pose.bones["hand_ik.L"]
    rigs.key(hand, "location", {1: (0.0, 0.0, 0.0), LAST: (0.0, 0.1, 0.05)})
    rigs.set_range(bpy.context.scene, 1, LAST)
    path = tmp_path_factory.mktemp("rigify") / "human.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


@pytest.fixture
def shot(generated):
    bpy.ops.wm.open_mainfile(filepath=str(generated))
    return bpy.context.scene, bpy.data.objects["Rigify"]


def _bones(obj, *names):
    return rigs.pose(obj)[[obj.data.bones.find(name) for name in names]]


def test_main_bodies_are_those_of_trunk_and_limbs(shot):
    scene, obj = shot
    build.build(obj, scene, "MAIN")
    found = {part.bone.removeprefix("DEF-").partition(".")[0] for part in obj.active_ragdoll.parts}
    assert {"spine", "thigh", "shin", "upper_arm", "forearm"} <= found
    assert not found & {"forehead", "temple", "brow", "lid", "lip", "nose", "cheek", "chin", "jaw", "ear", "breast"}


def test_its_animation_from_controls_is_followed(shot):
    scene, obj = shot
    names = ("DEF-forearm.L", "DEF-upper_arm.L", "DEF-spine.006")
    plain = np.array(rigs.step(scene, range(1, LAST + 1), lambda: _bones(obj, *names)))
    build.build(obj, scene, "MAIN")
    shown = np.array(rigs.play(scene, 1, LAST, lambda: _bones(obj, *names)))
    assert rigs.angles(shown, plain).mean() < 0.15  # as of any other character
    assert np.abs(shown - plain)[..., :3, 3].max() < 2e-3


def test_look_at_and_layers_act_on_its_deforming_bones(shot):
    scene, obj = shot
    scene.frame_set(LAST)
    before = _bones(obj, "DEF-spine.006", "DEF-forearm.L", "DEF-shin.L")
    looking.to_its_side(scene, obj)
    scene.frame_set(LAST)
    after = _bones(obj, "DEF-spine.006", "DEF-forearm.L", "DEF-shin.L")
    assert rigs.angles(after[:1], before[:1]).max() > 15.0 and rigs.angles(after[2:], before[2:]).max() < 0.1
    action = bpy.data.actions.new("Bent")
    other = rigs.armature(scene, {"DEF-forearm.L": ((0, 0, 0), (0, 0, 1), None)}, "Other")
    other.animation_data_create().action = action
    rigs.key(other.pose.bones["DEF-forearm.L"], "rotation_quaternion", {1: (0.8, 0.6, 0.0, 0.0)})
    bpy.data.objects.remove(other)
    layered.layer(rigs.Rig(obj, scene, 1, LAST), "Bent")
    scene.frame_set(LAST)
    bent = _bones(obj, "DEF-spine.006", "DEF-forearm.L", "DEF-shin.L")
    assert rigs.angles(bent[1:2], after[1:2]).max() > 30.0 and rigs.angles(bent[2:], after[2:]).max() < 0.1
