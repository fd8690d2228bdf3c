"""What cannot be played says so by name, and the rest goes on."""

import bpy
import numpy as np
import pytest

import layered
import rigs
from active_ragdoll.core.blender.rig import action_channels
from active_ragdoll.core.blender.stack import pose_stack, stack_edits, stack_setup


@pytest.fixture
def rig(data_dir):
    """The knight with one good layer, "Cheer" on the chest, below which the others are put."""
    found = layered.knight(data_dir, 1, 20)
    made = layered.layer(found, "Cheer")
    stack_edits.mask_bones(made, ["chest"])
    return found


def goes_on(rig, name: str, *words) -> str:
    """Check that the good layer still acts and that a message names what is wrong."""
    found = layered.shown(rig, (7,))[7]
    texts = pose_stack.of(rig.obj).messages
    assert name in texts, texts
    assert all(word in texts[name] for word in words), texts[name]
    for layer in rig.obj.active_ragdoll.layers:
        layer.enabled = layer.name == "Cheer"
    alone = layered.shown(rig, (7,))[7]
    assert rigs.angles(found, alone).max() < 0.01
    rig.obj.active_ragdoll.layers[0].enabled = False
    assert rigs.angles(layered.shown(rig, (7,))[7], alone).max() > 5.0
    return texts[name]


def empty_action(obj, name: str, bone: str = ""):
    action, slot = action_channels.new_action_for(obj, name)
    if bone:
        curves = action_channels.channels_of(action, slot, ensure=True).fcurves
        for frame in (1.0, 10.0):
            curve = curves.find(f'pose.bones["{bone}"].location', index=0)
            curve = curve or curves.new(f'pose.bones["{bone}"].location', index=0)
            curve.keyframe_points.insert(frame, 0.1 * frame)
    return action


def test_an_action_with_some_bones_of_another_skeleton_is_played_and_they_are_listed(rig):
    action = bpy.data.actions["Running_A"].copy()
    channels = action_channels.channels_of(action, action_channels.slot_of(action, rig.obj))
    channels.fcurves.new('pose.bones["tentacle"].location', index=0).keyframe_points.insert(1.0, 0.1)
    layer = stack_edits.add_layer(rig.obj, rig.scene, "CLIP", "Mixed")
    stack_edits.choose(layer, action)
    rig.scene.frame_set(5)
    texts = pose_stack.of(rig.obj).messages
    assert "tentacle" in texts[f'Action "{action.name}"'] and 'Layer "Mixed"' not in texts


def test_no_action_and_no_blend_space(rig):
    stack_edits.add_layer(rig.obj, rig.scene, "CLIP", "Open")
    stack_edits.add_layer(rig.obj, rig.scene, "BLEND_SPACE", "Open 2")
    rig.scene.frame_set(4)
    texts = pose_stack.of(rig.obj).messages
    assert "no action" in texts['Layer "Open"'] and "no blend space" in texts['Layer "Open 2"']


@pytest.mark.blender_version
def test_an_action_deleted_while_in_use(rig):
    layered.layer(rig, "Running_A")
    before = layered.shown(rig, (5,))[5]
    bpy.data.actions.remove(bpy.data.actions["Running_A"])
    after = layered.shown(rig, (6,))[6]
    assert rigs.angles(before, after).max() > 1.0
    goes_on(rig, 'Layer "Running_A"', "Running_A", "deleted")


def spaced(rig, samples, kind="SPEED", **values):
    """A layer of a blend space; the values are of its first axis."""
    layered.space_layer(rig, layered.space(rig, samples, kind).name)
    space = rig.obj.active_ragdoll.blend_spaces[0]
    for name, value in values.items():
        setattr(space.x, name, value)
    return space


def _other_skeleton(rig):
    layer = stack_edits.add_layer(rig.obj, rig.scene, "CLIP", "Alien")
    stack_edits.choose(layer, empty_action(rig.obj, "Alien", "tentacle"))


def _empty_action(rig):
    layer = stack_edits.add_layer(rig.obj, rig.scene, "CLIP", "Nothing")
    stack_edits.choose(layer, empty_action(rig.obj, "Nothing"))


def _additive_beside_whole(rig):
    spaced(rig, MOVES).samples[1].additive = "LOCAL"


MOVES = (("Idle", 0.0), ("Running_A", 4.0))
LINE = (("Idle", -20.0, 0.0), ("Running_A", 0.0, 0.0), ("Walking_A", 20.0, 0.0))
PLANE = (("Idle", 0.0, 0.0), ("Running_A", 20.0, 0.0), ("Walking_A", 0.0, 20.0))
NAN = float("nan")
WRONG = {
    "another skeleton": (_other_skeleton, "Alien", "Alien", "tentacle"),
    "an empty action": (_empty_action, "Nothing", "Nothing"),
    "a start that is no number": (lambda rig: layered.layer(rig, "Running_A", start=NAN), "Running_A", "not a number"),
    "no samples": (lambda rig: spaced(rig, ()), "Locomotion", "Locomotion", "no samples"),
    "two at one place": (
        lambda rig: spaced(rig, (("Idle", 1.0), ("Running_A", 1.0))),
        "Locomotion",
        "Idle",
        "Running_A",
        "one place",
    ),
    "samples on one line of a plane": (lambda rig: spaced(rig, LINE, "AIM"), "Aim", "Running_A", "one line"),
    "minimum above maximum": (lambda rig: spaced(rig, MOVES, minimum=5.0), "Locomotion", "minimum", "Speed"),
    "an input that is no number": (lambda rig: spaced(rig, MOVES, value=NAN), "Locomotion", "not a number"),
    "no target": (lambda rig: spaced(rig, PLANE, "AIM", input="YAW"), "Aim", "target"),
    "whole samples beside additive ones": (_additive_beside_whole, "Locomotion", "Running_A", "Idle"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named_and_the_rest_goes_on(rig, what):
    spoil, layer, *words = WRONG[what]
    spoil(rig)
    goes_on(rig, f'Layer "{layer}"', *words)


def test_masks_without_bones(rig):
    for name, mask, extra in (
        ("One", "BONES", {}),
        ("Two", "COLLECTION", {"mask_collection": "Nowhere"}),
        ("Three", "ROLES", {"mask_roles": {"WING"}}),
    ):
        layer = layered.layer(rig, "Running_A", mask=mask, **extra)
        layer.name = name
    rig.scene.frame_set(5)
    texts = pose_stack.of(rig.obj).messages
    assert "no bones" in texts['Layer "One"'] and "Nowhere" in texts['Layer "Two"'] and "WING" in texts['Layer "Three"']


def test_operators_refuse_in_words(data_dir):
    rig = rigs.load(data_dir / "arnaud.fbx")  # plays no action
    with pytest.raises(RuntimeError, match="plays no action"):
        bpy.ops.active_ragdoll.add_layer(source="ACTION")
    with pytest.raises(RuntimeError, match="blend space first"):
        bpy.ops.active_ragdoll.add_layer(source="BLEND_SPACE")
    with pytest.raises(RuntimeError, match="Nowhere"):
        bpy.ops.active_ragdoll.add_layer(source="POSE_ASSET", action="Nowhere")
    assert rig.obj.active_ragdoll.target_armature is None and not len(rig.obj.active_ragdoll.layers)


@pytest.mark.blender_version
def test_a_new_users_way_through_the_operators(data_dir):
    """From the sidebar's buttons: layers of an action and a pose, a space with samples, additive, and all removed."""
    rig = layered.knight(data_dir, 1, 20)
    obj, settings = rig.obj, rig.obj.active_ragdoll
    ops = bpy.ops.active_ragdoll
    bpy.context.view_layer.objects.active = obj
    layered.play(obj, "Cheer")
    assert ops.add_layer(source="ACTION") == {"FINISHED"}
    layered.play(obj, "Idle")
    assert ops.add_layer(source="CURRENT_POSE") == {"FINISHED"}
    assert ops.add_layer(source="POSE_ASSET", action="Sit_Floor_Pose") == {"FINISHED"}
    assert [layer.source for layer in settings.layers] == ["CLIP", "POSE", "POSE"]
    assert ops.move_layer(step=-1) == {"FINISHED"} and settings.layers[1].action.name == "Sit_Floor_Pose"
    assert ops.make_additive(what="LAYER", space="MESH", base="BIND") == {"FINISHED"}
    assert settings.layers[1].mode == "ADDITIVE_MESH"
    for bone in obj.data.bones:
        flag = obj.pose.bones[bone.name] if hasattr(obj.pose.bones[0], "select") else bone
        flag.select = bone.name == "chest"
    assert ops.mask_from_selected() == {"FINISHED"} and settings.layers[1].mask_bones[0].bone == "chest"
    assert ops.add_blend_space(kind="SPEED") == {"FINISHED"}
    for name in ("Idle", "Walking_A", "Running_A"):
        layered.play(obj, name)
        assert ops.add_sample() == {"FINISHED"}
    layered.play(obj, "Idle")
    assert [sample.x for sample in settings.blend_spaces[0].samples] == [0.0, 1.0, 2.0]
    assert ops.add_layer(source="BLEND_SPACE") == {"FINISHED"}
    rig.scene.frame_set(9)
    assert pose_stack.of(obj).messages == {}
    assert ops.remove_sample() == {"FINISHED"} and len(settings.blend_spaces[0].samples) == 2
    assert ops.enable_graph() == {"FINISHED"} and settings.graph.enabled
    for what in ("STATE", "PARAMETER", "STATE", "TRANSITION", "CONDITION"):
        assert ops.edit_graph(what=what, do="ADD") == {"FINISHED"}
    assert ops.enable_graph() == {"FINISHED"} and not settings.graph.enabled
    assert ops.bake(frame_start=0, frame_end=0) == {"FINISHED"} and settings.muted
    assert ops.revert_bake() == {"FINISHED"}
    for _ in range(4):
        settings.layer_index = 0
        assert ops.remove_layer() == {"FINISHED"}
    assert settings.target_armature is None and stack_setup is not None
    assert not [c for bone in obj.pose.bones for c in bone.constraints]
    assert np.isfinite(rigs.pose(obj)).all()
