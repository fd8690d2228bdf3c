"""Settings of layers in the file: saved, undone, overridden, and taken away without a trace."""

import bpy
import pytest

import layered
import rigs
from active_ragdoll.core.blender.stack import pose_stack, stack_edits, stack_setup
from active_ragdoll.core.errors import RagdollError

pytestmark = pytest.mark.blender_version

FRAMES = (1, 7, 18)


def test_removing_the_last_layer_leaves_nothing_behind(data_dir):
    rig = layered.knight(data_dir)
    plain = layered.shown(rig, FRAMES)
    before = rigs.counts(), sum(len(bone.constraints) for bone in rig.obj.pose.bones)
    layered.layer(rig, "Cheer")
    layered.shown(rig, FRAMES)
    rig.obj.active_ragdoll.layers.remove(0)
    stack_setup.drop_if_idle(rig.obj)
    assert (rigs.counts(), sum(len(bone.constraints) for bone in rig.obj.pose.bones)) == before
    assert layered.difference(layered.shown(rig, FRAMES), plain)[0] < 0.01


def test_a_pose_asset_of_another_file_is_a_layer(data_dir, tmp_path):
    rig = layered.knight(data_dir)
    expected = layered.plays(rig, "Sit_Floor_Pose", FRAMES)
    asset = bpy.data.actions["Sit_Floor_Pose"]
    asset.asset_mark()
    bpy.data.libraries.write(str(tmp_path / "poses.blend"), {asset}, fake_user=True)
    rig = layered.knight(data_dir)
    bpy.data.actions.remove(bpy.data.actions["Sit_Floor_Pose"])
    action = stack_edits.appended_action(str(tmp_path / "poses.blend"), "Sit_Floor_Pose")
    assert action.library is None and action.asset_data is not None
    made = stack_edits.add_pose_layer(rig.obj, rig.scene, action)
    made.only_keyed = False
    stack_edits.changed(rig.obj)
    angle, way = layered.difference(layered.shown(rig, FRAMES), expected)
    assert angle < 1e-3 and way < 1e-5


def test_a_pose_asset_that_is_not_there_is_named(tmp_path, fresh_scene):
    path = str(tmp_path / "poses.blend")
    with pytest.raises(RagdollError, match="' of the pose asset 'Sit' cannot be read"):
        stack_edits.appended_action(path, "Sit")
    bpy.data.libraries.write(path, {fresh_scene})
    with pytest.raises(RagdollError, match="has no action 'Sit'"):
        stack_edits.appended_action(path, "Sit")
    assert not bpy.data.actions and len(bpy.data.scenes) == 1


def test_undo_and_redo_of_layers(data_dir):
    rig = layered.knight(data_dir, 1, 20)
    name, scene = rig.obj.name, rig.scene.name

    def obj():
        return bpy.data.objects[name]

    def pose():
        bpy.data.scenes[scene].frame_set(5)
        return rigs.pose(obj())

    bpy.context.view_layer.objects.active = obj()
    plain = pose()
    bpy.ops.ed.undo_push(message="start")
    assert bpy.ops.active_ragdoll.add_layer(source="POSE_ASSET", action="Sit_Floor_Pose") == {"FINISHED"}
    obj().active_ragdoll.layers[0].weight = 0.5
    bpy.ops.ed.undo_push(message="half")
    half = pose()
    obj().active_ragdoll.layers[0].weight = 1.0
    bpy.ops.ed.undo_push(message="whole")
    whole = pose()
    assert rigs.angles(whole, half).max() > 5.0
    bpy.ops.ed.undo()
    assert rigs.angles(pose(), half).max() < 0.01
    bpy.ops.ed.redo()
    assert rigs.angles(pose(), whole).max() < 0.01
    bpy.ops.ed.undo()
    while len(obj().active_ragdoll.layers):
        bpy.ops.ed.undo()
    assert rigs.angles(pose(), plain).max() < 0.01


def test_a_library_override_keeps_its_own_weight_and_its_own_layer(data_dir, tmp_path):
    rig = layered.knight(data_dir, 1, 20)
    made = rig.obj.active_ragdoll.layers.add()
    made.name, made.weight = "Theirs", 0.5
    stack_edits.choose(made, bpy.data.actions["Cheer"])
    linked = rigs.linked(tmp_path / "library.blend", rig.obj.name)
    scene, obj = bpy.context.scene, linked.override_create(remap_local_usages=True)
    obj.active_ragdoll.layers[0].weight = 0.9
    own = obj.active_ragdoll.layers.add()
    own.name = "Ours"
    stack_edits.choose(own, obj.active_ragdoll.layers[0].action)
    stack_setup.ensure(obj, scene)
    scene.frame_set(5)
    assert pose_stack.of(obj).messages == {}
    shown, name = rigs.pose(obj), obj.name
    _scene, obj = rigs.reopened(tmp_path / "shot.blend", name)
    found = [(layer.name, round(layer.weight, 3)) for layer in obj.active_ragdoll.layers]
    assert found == [("Theirs", 0.9), ("Ours", 1.0)]
    bpy.context.scene.frame_set(5)
    assert rigs.angles(rigs.pose(obj), shown).max() < 0.01
