"""Look-at and leg stabilisers: what cannot be is named, and the operators that edit them."""

import math

import bpy
import numpy as np
import pytest

import looking
import rigs
from active_ragdoll.core.blender import look_at_api
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.settings import effects, lists
from active_ragdoll.core.blender.stack import pose_stack, stack_lists, stack_setup, stack_show
from active_ragdoll.core.errors import RagdollError

OPERATORS = bpy.ops.active_ragdoll


@pytest.fixture
def human(fresh_scene):
    return looking.to_its_side(fresh_scene, rigs.swinging_human(fresh_scene, 1, 48))


# ---- refused --------------------------------------------------------------------------------------------------------


def messages(obj, scene, frame=5) -> str:
    scene.frame_set(frame)
    return " | ".join(pose_stack.of(obj).messages.values())


def _chain(obj):
    return obj.active_ragdoll.look_at[0]


def _target():
    return bpy.data.objects["Target"]


def _no_target_bone(obj):
    _chain(obj).target, _chain(obj).target_bone = obj, "nose"


BAD = {
    "renamed bone": (lambda obj: setattr(obj.data.bones["head"], "name", "skull"), '"head"', "Look-at"),
    "twice": (lambda obj: setattr(_chain(obj).entries.add(), "bone", "head"), '"head"', "twice"),
    "not an ancestor": (
        lambda obj: setattr(_chain(obj).entries.add(), "bone", "arm.L"),
        '"arm.L"',
        '"spine"',
        "ancestor",
    ),
    "linked entry": (
        lambda obj: setattr(_chain(obj).entries[0].linked_bones.add(), "bone", "spine"),
        '"spine"',
        '"head"',
    ),
    "no entries": (lambda obj: _chain(obj).entries.clear(), "Look-at", "no entries"),
    "no target": (lambda _obj: bpy.data.objects.remove(_target()), "Look-at", "missing"),
    "unlinked": (lambda _obj: bpy.context.scene.collection.objects.unlink(_target()), "Target", "not in the scene"),
    "not a number": (lambda _obj: setattr(_target().location, "x", math.nan), "Look-at", "not a number"),
    "no target bone": (_no_target_bone, "Look-at", "nose"),
    "no up": (lambda obj: setattr(_chain(obj), "up_vector", (0.0, 0.0, 0.0)), "direction"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_is_named_and_the_rest_goes_on(human, fresh_scene, what):
    spoil, *words = BAD[what]
    item = stack_lists.add(human, fresh_scene, "bone_transforms", "arm.R")
    item.rotation_mode, item.rotation = "ADD", (0.0, 0.0, 0.7)
    item.enabled = False
    fresh_scene.frame_set(5)
    row = human.data.bones.find("arm.R")
    before = rigs.pose(human)[row]
    item.enabled = True
    spoil(human)
    pose_stack.forget()
    text = messages(human, fresh_scene)
    for word in words:
        assert word in text
    chain_off = rigs.pose(human)[row]
    assert rigs.angles(chain_off, before) > 10.0


def test_limits_stay_within_what_there_is(human, fresh_scene):
    chain = human.active_ragdoll.look_at[0]
    entry = chain.entries[0]
    entry.limit = -1.0
    assert entry.limit == 0.0
    entry.limit = math.pi  # in single precision a little more
    chain.behind_margin = math.pi / 2.0
    assert not messages(human, fresh_scene)


def test_a_target_inside_the_head_and_on_the_up_axis_leave_numbers(human, fresh_scene):
    target = bpy.data.objects["Target"]
    fresh_scene.frame_set(5)
    place = looking.sight(human, human.active_ragdoll.look_at[0])[0]
    for offset in ((0, 0, 0), (0, 0, 0.01), (0, 0, 3.0), (0, 0, -0.5)):
        target.location = place + np.array(offset)
        fresh_scene.frame_set(5)
        assert np.isfinite(rigs.pose(human)).all()
        assert not pose_stack.of(human).messages


@pytest.mark.parametrize(
    ("foot", "count", "words"),
    (
        ("hips", 3, ('"hips"', "chain ends")),
        ("foot.L", 4, ('"foot.L"', '"hips"')),
        ("no foot", 3, ('"no foot"',)),
        ("foot.R", 2, ('"foot.R"', "same leg")),
    ),
)
def test_legs_that_cannot_be_are_named(human, fresh_scene, foot, count, words):
    item = human.active_ragdoll.leg_stabilizers.add()
    item.foot_bone, item.bones_count = foot, count
    text = messages(human, fresh_scene)
    for word in words:
        assert word in text
    assert looking.aim_error(human, bpy.data.objects["Target"]) < 0.05


# ---- operators ------------------------------------------------------------------------------------------------------


@pytest.mark.blender_version
def test_one_click_makes_the_whole_chain(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 24)
    assert OPERATORS.setup_look_at() == {"FINISHED"}
    settings = obj.active_ragdoll
    chain = settings.look_at[0]
    assert [entry.bone for entry in chain.entries] == ["head", "spine"]
    assert {leg.foot_bone for leg in settings.leg_stabilizers} == {"foot.L", "foot.R"}
    assert chain.target.name == "Human Look Target"
    chain.target.location.x += 0.7
    fresh_scene.frame_set(9)
    assert looking.aim_error(obj, chain.target) < 0.05
    # Again: nothing twice, the target stays.
    assert OPERATORS.setup_look_at() == {"FINISHED"}
    assert (len(settings.look_at), len(settings.leg_stabilizers)) == (1, 2)
    assert len(settings.look_at[0].entries) == 2 and settings.look_at[0].target.name == "Human Look Target"


@pytest.mark.blender_version
def test_the_other_selected_object_is_the_target(fresh_scene):
    target = bpy.data.objects.new("Lamp", None)
    fresh_scene.collection.objects.link(target)
    obj = rigs.human(fresh_scene)
    target.select_set(True)
    assert OPERATORS.setup_look_at() == {"FINISHED"}
    assert obj.active_ragdoll.look_at[0].target == target
    with pytest.raises(RuntimeError, match="no object 'Moon'"):
        OPERATORS.setup_look_at(target="Moon")
    with pytest.raises(RuntimeError, match="itself"):
        OPERATORS.setup_look_at(target="Human")


@pytest.mark.blender_version
def test_lists_are_edited_by_operators(fresh_scene):
    obj = rigs.human(fresh_scene)
    settings = obj.active_ragdoll
    assert OPERATORS.motion_add(what="look_at") == {"FINISHED"}
    assert OPERATORS.motion_add(what="entries", bone="head") == {"FINISHED"}
    assert OPERATORS.motion_add(what="entries") == {"FINISHED"}
    entries = settings.look_at[0].entries
    assert [entry.bone for entry in entries] == ["head", "spine"]
    assert OPERATORS.motion_move(what="entries", direction="UP") == {"FINISHED"}
    assert [entry.bone for entry in entries] == ["spine", "head"]
    assert OPERATORS.motion_add(what="linked_bones", bone="arm.L") == {"FINISHED"}
    assert len(entries[0].linked_bones) == 1
    for what, bone in (("leg_stabilizers", "foot.L"), ("two_bone_ik", "forearm.L"), ("bone_transforms", "hips")):
        assert OPERATORS.motion_add(what=what, bone=bone) == {"FINISHED"}
        assert len(getattr(settings, what)) == 1
    assert settings.leg_stabilizers[0].bones_count == 3
    assert settings.target_armature is not None
    for what in ("linked_bones", "entries", "entries", "look_at", "leg_stabilizers", "two_bone_ik", "bone_transforms"):
        assert OPERATORS.motion_remove(what=what) == {"FINISHED"}
    assert settings.target_armature is None, "with the last item the stack goes"
    with pytest.raises(RuntimeError, match="nothing to remove"):
        OPERATORS.motion_remove(what="look_at")
    with pytest.raises(RuntimeError, match="no bone 'nose'"):
        OPERATORS.motion_add(what="bone_transforms", bone="nose")
    with pytest.raises(RuntimeError, match="add one first"):
        OPERATORS.motion_add(what="entries")


def test_names_of_chains_and_attachments_are_each_once_whatever_was_removed(human, fresh_scene):
    settings = human.active_ragdoll
    for _chain in range(2):
        stack_lists.add(human, fresh_scene, "look_at")
    stack_lists.remove(human, "look_at", 1)
    stack_lists.add(human, fresh_scene, "look_at")
    assert len({chain.name for chain in settings.look_at}) == 3
    build.build(human, fresh_scene)
    for _item in range(2):
        effects.attach(human, "head")
    lists.remove_item(human.active_ragdoll, "attachments", 0)
    effects.attach(human, "head")
    assert [item.name for item in settings.attachments] == ["Attachment 2", "Attachment 3"]


def test_weights_by_operators(human, fresh_scene):
    fresh_scene.frame_set(10)
    assert OPERATORS.disable_look_at(time=0.5) == {"FINISHED"}
    fresh_scene.frame_set(16)
    assert look_at_api.get_look_at_weight(human) == pytest.approx(0.5)
    assert OPERATORS.enable_look_at(time=0.5, cancel_current_transition=False) == {"FINISHED"}
    assert len(human.active_ragdoll.look_at[0].events) == 1
    assert OPERATORS.set_look_at_weight(weight=0.25) == {"FINISHED"}
    assert look_at_api.get_look_at_weight(human) == pytest.approx(0.25)
    assert OPERATORS.clear_look_at_events() == {"FINISHED"}
    assert look_at_api.get_look_at_weight(human) == 1.0


def test_axes_are_found_and_shown_and_a_choice_is_kept(human):
    entry = human.active_ragdoll.look_at[0].entries[0]
    found = tuple(entry.forward_axis)
    assert entry.axes_from == "AUTO"
    world = np.array(human.data.bones["head"].matrix_local)[:3, :3] @ np.array(found)
    assert np.allclose(world, (0.0, -1.0, 0.0), atol=1e-5), "the character faces -Y"
    entry.forward_axis = (1.0, 0.0, 0.0)
    assert entry.axes_from == "USER"
    entry.bone = "spine"
    assert tuple(entry.forward_axis) == (1.0, 0.0, 0.0)
    assert OPERATORS.find_look_at_axes() == {"FINISHED"}
    entry.bone = "head"
    assert np.allclose(entry.forward_axis, found) and entry.axes_from == "AUTO"


@pytest.mark.blender_version
def test_an_edit_is_shown_without_a_change_of_frame(human, fresh_scene):
    fresh_scene.frame_set(7)
    assert looking.aim_error(human, bpy.data.objects["Target"]) < 0.05
    for entry in human.active_ragdoll.look_at[0].entries:
        entry.limit = 0.1
    stack_show.again(fresh_scene)
    bpy.context.view_layer.update()
    assert looking.aim_error(human, bpy.data.objects["Target"]) > 5.0


def test_a_baked_character_is_left_alone(human, fresh_scene):
    assert OPERATORS.bake() == {"FINISHED"}
    assert not OPERATORS.setup_look_at.poll()
    with pytest.raises(RagdollError, match="baked"):
        stack_lists.remove(human, "look_at")
    assert OPERATORS.revert_bake() == {"FINISHED"}
    assert OPERATORS.setup_look_at.poll()
    stack_setup.drop(human)
