"""Settings of look-at and leg stabilisers, and the operators that edit them: keyed, stored; what cannot be is named."""

import math

import bpy
import numpy as np
import pytest

import looking
import rigs
from active_ragdoll.core.blender import look_at_api
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.settings import effects, lists
from active_ragdoll.core.blender.stack import pose_stack, stack_edits, stack_setup
from active_ragdoll.core.errors import RagdollError


@pytest.fixture
def human(fresh_scene):
    return looking.to_its_side(fresh_scene, rigs.swinging_human(fresh_scene, 1, 48))


def head(obj):
    return rigs.pose(obj)[obj.data.bones.find("head")]


def turned(obj, scene, frame) -> float:
    """How far the head is turned [deg] from what it is with the chain switched off."""
    chain = obj.active_ragdoll.look_at[0]
    scene.frame_set(frame)
    now = head(obj)
    chain.enabled = False
    scene.frame_set(frame)
    plain = head(obj)
    chain.enabled = True
    scene.frame_set(frame)
    return float(rigs.angles(now, plain))


# ---- weights --------------------------------------------------------------------------------------------------------


@pytest.mark.blender_version
def test_a_keyed_weight_is_read_at_the_frame(human, fresh_scene):
    whole = turned(human, fresh_scene, 20)
    rigs.key(human, "active_ragdoll.look_at[0].weight", {10: 0.0, 30: 1.0})
    rigs.interpolate(human, "LINEAR", "look_at")
    assert turned(human, fresh_scene, 10) < 1e-3
    assert 0.3 * whole < turned(human, fresh_scene, 20) < 0.7 * whole
    assert looking.aim_error(human, bpy.data.objects["Target"]) > 1.0
    fresh_scene.frame_set(30)
    assert looking.aim_error(human, bpy.data.objects["Target"]) < 0.05


@pytest.mark.blender_version
def test_keys_on_a_list_that_grew_after_the_set_up(human, fresh_scene):
    item = stack_edits.add(human, fresh_scene, "bone_transforms", "head")
    item.rotation_space, item.rotation_mode = "BONE", "ADD"
    human.active_ragdoll.look_at[0].enabled = False
    for frame, angle in ((10, 0.0), (20, 1.0)):
        item.rotation = (0.0, angle, 0.0)
        human.keyframe_insert("active_ragdoll.bone_transforms[0].rotation", frame=frame)
    fresh_scene.frame_set(20)
    with_turn = head(human)
    item.enabled = False
    fresh_scene.frame_set(20)
    assert rigs.angles(with_turn, head(human)) == pytest.approx(math.degrees(1.0), abs=0.01)


@pytest.mark.blender_version
def test_a_driver_on_a_weight(human, fresh_scene):
    human.driver_add("active_ragdoll.look_at[0].weight").driver.expression = "0.0 if frame < 10 else 1.0"
    assert turned(human, fresh_scene, 9) < 1e-3
    fresh_scene.frame_set(10)
    assert looking.aim_error(human, bpy.data.objects["Target"]) < 0.05


def test_the_weight_functions_have_the_articles_meaning(human, fresh_scene):
    api, fps = look_at_api, 24.0
    fresh_scene.frame_set(1)
    assert api.get_look_at_weight(human) == 1.0
    assert api.time_to_finish_transition(human) == 0.0 and not api.is_in_transition(human)
    assert api.disable_look_at(human, 1.0, frame=5)
    assert api.get_look_at_weight(human, frame=5 + fps / 4) == pytest.approx(0.75)
    assert api.is_in_transition(human, frame=11) and not api.is_in_transition(human, frame=30)
    assert api.time_to_finish_transition(human, frame=5 + fps / 4) == pytest.approx(0.75)
    # A call that does not cancel is ignored meanwhile; by default it cancels.
    assert not api.enable_look_at(human, 0.5, False, frame=17)
    assert api.get_look_at_weight(human, frame=29) == pytest.approx(0.0)
    assert api.enable_look_at(human, 0.5, frame=17)
    assert api.get_look_at_weight(human, frame=17) == pytest.approx(0.5)
    assert api.get_look_at_weight(human, frame=17 + fps / 4) == pytest.approx(0.75)
    # Setting cancels.
    api.set_look_at_weight(human, 0.2, frame=20)
    assert api.get_look_at_weight(human, frame=21) == pytest.approx(0.2)
    assert api.time_to_finish_transition(human, frame=21) == 0.0
    api.clear_events(human)
    assert api.get_look_at_weight(human, frame=21) == 1.0
    with pytest.raises(RagdollError, match="look-at chain 3"):
        api.get_look_at_weight(human, 3)
    with pytest.raises(RagdollError, match=r"1\.5"):
        api.set_look_at_weight(human, 1.5)
    with pytest.raises(RagdollError, match="-1"):
        api.enable_look_at(human, -1.0)


# ---- smoothing, links, reset ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fps", (12, 24, 48))
def test_blend_speed_means_the_same_at_any_frame_rate(human, fresh_scene, fps):
    """A step of the target at t = 0.5 s: the angle left decays as exp(-speed t), by its definition."""
    human.animation_data_clear()
    fresh_scene.render.fps = fps
    fresh_scene.frame_start, fresh_scene.frame_end = 0, 2 * fps
    target, chain = bpy.data.objects["Target"], human.active_ragdoll.look_at[0]
    while len(chain.entries) > 1:
        chain.entries.remove(1)
    step = fps // 2
    for frame, x in ((0, 0.0), (step, 0.0), (step + 1e-3, 1.5)):
        target.location = (x, -2.0, 1.6)
        target.keyframe_insert("location", frame=frame)
    rigs.interpolate(target, "CONSTANT")
    chain.blend_speed = 4.0
    fresh_scene.frame_set(0)
    left = {}
    for frame in range(0, 2 * fps + 1):
        fresh_scene.frame_set(frame)
        left[frame] = looking.aim_error(human, target)
    ratio = left[step + fps] / left[step + fps // 2]
    assert ratio == pytest.approx(math.exp(-4.0 * 0.5), rel=0.01)
    pose_stack.forget()
    fresh_scene.frame_set(step + fps // 2)
    assert looking.aim_error(human, target) == pytest.approx(left[step + fps // 2], abs=1e-4)


def test_linked_bones_take_the_same_turn(data_dir):
    rig, _target, plain = looking.set_up("metarig human", data_dir)
    chain = rig.obj.active_ragdoll.look_at[0]
    assert [link.bone for link in chain.entries[0].linked_bones] == ["eye.R"]
    rows = [rig.obj.data.bones.find(name) for name in ("eye.L", "eye.R", "spine.006")]
    for frame, pose in looking.shown(rig, (4, 12, 20)).items():
        turns = [pose[row][:3, :3] @ np.linalg.inv(plain[frame][row][:3, :3]) for row in rows]
        assert np.abs(turns[0] - turns[1]).max() < 1e-5
        assert np.abs(turns[0] - turns[2]).max() > 1e-2, "the eyes do not turn in the head: nothing is tested"


def test_reset_to_default_forgets_the_incoming_pose(human, fresh_scene):
    """The head swings; a chain that starts from bind pose aims with the roll of bind pose, the same at every frame."""
    chain = human.active_ragdoll.look_at[0]
    while len(chain.entries) > 1:
        chain.entries.remove(1)
    for curve in [c for c in rigs.curves_of(human.animation_data.action) if '"head"' not in c.data_path]:
        curve.mute = True
    frames = (5, 15, 25)
    swinging = [head(human) for frame in frames if fresh_scene.frame_set(frame) is None]
    assert max(rigs.angles(pose, swinging[0]) for pose in swinging) > 0.5, "the head does not roll"
    chain.entries[0].reset_to_default = True
    resting = [head(human) for frame in frames if fresh_scene.frame_set(frame) is None]
    assert max(rigs.angles(pose, resting[0]) for pose in resting) < 1e-3


# ---- stored ---------------------------------------------------------------------------------------------------------


@pytest.mark.blender_version
def test_a_library_override_is_set_up(human, fresh_scene, tmp_path):
    stack_edits.remove(human, "look_at")
    for _ in range(2):
        stack_edits.remove(human, "leg_stabilizers")
    linked = rigs.linked(tmp_path / "library.blend")
    scene = bpy.context.scene
    with pytest.raises(RagdollError, match="override"):
        stack_edits.set_up_look_at(linked, scene)
    obj = linked.override_create(remap_local_usages=True)
    if obj.name not in scene.objects:
        scene.collection.objects.link(obj)
    target = stack_edits.set_up_look_at(obj, scene).target
    target.location = (1.5, -2.0, 1.6)
    name = target.name
    scene.frame_set(12)
    assert looking.aim_error(obj, target) < 0.05
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    obj = next(o for o in bpy.context.scene.objects if o.type == "ARMATURE" and len(o.active_ragdoll.look_at))
    assert [entry.bone for entry in obj.active_ragdoll.look_at[0].entries] == ["head", "spine"]
    bpy.context.scene.frame_set(15)
    assert looking.aim_error(obj, bpy.data.objects[name]) < 0.05


OPERATORS = bpy.ops.active_ragdoll


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
    item = stack_edits.add(human, fresh_scene, "bone_transforms", "arm.R")
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
        stack_edits.add(human, fresh_scene, "look_at")
    stack_edits.remove(human, "look_at", 1)
    stack_edits.add(human, fresh_scene, "look_at")
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
    pose_stack.show_now(fresh_scene)
    bpy.context.view_layer.update()
    assert looking.aim_error(human, bpy.data.objects["Target"]) > 5.0


def test_a_baked_character_is_left_alone(human, fresh_scene):
    assert OPERATORS.bake() == {"FINISHED"}
    assert not OPERATORS.setup_look_at.poll()
    with pytest.raises(RagdollError, match="baked"):
        stack_edits.remove(human, "look_at")
    assert OPERATORS.revert_bake() == {"FINISHED"}
    assert OPERATORS.setup_look_at.poll()
    stack_setup.drop(human)
