"""Edits by hand while a look-at works: bones posed, the character moved, switches set, bones edited, undone."""

import bpy
import numpy as np
import pytest

import looking
import rigs
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import pose_stack, stack_edits


@pytest.fixture
def human(fresh_scene):
    """A human that stands still and looks at an Empty to its side; nothing is keyed."""
    return looking_human(fresh_scene, rigs.human(fresh_scene))


@pytest.fixture
def swinging(fresh_scene):
    """Likewise, in motion."""
    return looking_human(fresh_scene, rigs.swinging_human(fresh_scene, 1, 48))


def looking_human(scene, obj):
    looking.to_its_side(scene, obj)
    scene.frame_set(5)
    update()
    return obj


def update():
    """As Blender does after every edit; what a handler changes is shown by the next."""
    bpy.context.view_layer.update()
    bpy.context.view_layer.update()


def shown(obj, bone):
    return rigs.pose(obj)[obj.data.bones.find(bone)]


def aim(obj):
    return looking.aim_error(obj, bpy.data.objects["Target"])


@pytest.mark.blender_version
def test_a_bone_posed_by_hand_is_shown_at_once_and_on_other_frames(human, fresh_scene):
    before, angle = shown(human, "forearm.L"), np.radians(40.0)
    human.pose.bones["forearm.L"].rotation_quaternion = (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2))
    update()
    assert rigs.angles(shown(human, "forearm.L"), before) == pytest.approx(40.0, abs=1e-3)
    for frame in (6, 1, 2):
        fresh_scene.frame_set(frame)
        assert rigs.angles(shown(human, "forearm.L"), before) == pytest.approx(40.0, abs=1e-3)
    assert aim(human) < 0.05


def test_hips_turned_by_hand_take_the_feet_along_and_the_aim_stays(human):
    """The pose that enters the look-at is what feet are held to, also while it is made."""
    before, chain = shown(human, "foot.L"), human.active_ragdoll.look_at[0]
    human.pose.bones["hips"].rotation_quaternion = (np.cos(0.15), 0.0, 0.0, np.sin(0.15))
    update()
    assert aim(human) < 0.05
    looking_pose = shown(human, "foot.L")
    assert rigs.angles(looking_pose, before) == pytest.approx(np.degrees(0.3), abs=1e-3)
    chain.enabled = False
    bpy.context.scene.frame_set(5)
    assert np.abs(shown(human, "foot.L") - looking_pose).max() < 1e-5


def test_a_keyed_bone_posed_by_hand_shows_until_the_frame_changes(swinging, fresh_scene):
    before = shown(swinging, "forearm.L")
    swinging.pose.bones["forearm.L"].rotation_quaternion = (0.7, 0.0, 0.0, 0.7)
    update()
    assert rigs.angles(shown(swinging, "forearm.L"), before) > 30.0
    fresh_scene.frame_set(6)
    fresh_scene.frame_set(5)
    assert rigs.angles(shown(swinging, "forearm.L"), before) < 1e-3


def test_a_character_moved_turned_and_scaled_by_hand_aims_from_where_it_stands(human, fresh_scene):
    for frame, edit in (
        (5, {"location": (1.0, 1.0, 0.3)}),
        (6, {"rotation_euler": (0.2, -0.1, 0.5)}),
        (7, {"scale": (2.0, 2.0, 2.0)}),
    ):
        for name, value in edit.items():
            setattr(human, name, value)
        update()
        assert aim(human) < 0.05, edit
        fresh_scene.frame_set(frame)
        assert aim(human) < 0.05, edit


def test_a_script_that_edits_and_plays_from_the_first_frame_needs_no_update(human, fresh_scene):
    human.location = (1.0, 1.0, 0.3)
    human.pose.bones["spine"].scale = (1.2, 1.2, 1.2)
    for frame in (1, 2, 3):
        fresh_scene.frame_set(frame)
        assert aim(human) < 0.05
    assert np.linalg.norm(shown(human, "spine")[:3, 0]) == pytest.approx(1.2, abs=1e-5)


@pytest.mark.blender_version
def test_a_switch_of_the_rig_reaches_its_drivers(fresh_scene):
    """As FK/IK switches do: a custom property that a constraint's influence is driven by."""
    obj = rigs.human(fresh_scene)
    bone = obj.pose.bones["forearm.R"]
    obj.pose.bones["hips"]["bend"] = 0.0
    curve = bone.driver_add("rotation_quaternion", 3)
    curve.driver.type = "SUM"
    variable = curve.driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = obj, 'pose.bones["hips"]["bend"]'
    looking_human(fresh_scene, obj)
    before = shown(obj, "forearm.R")
    obj.pose.bones["hips"]["bend"] = 0.5
    obj.update_tag()
    update()
    assert rigs.angles(shown(obj, "forearm.R"), before) > 20.0


@pytest.mark.parametrize("scale", ((1.1, 1.0, 1.0), (0.8, 1.3, 1.0)))
def test_a_chest_that_breathes_by_uneven_scale_is_no_hindrance(swinging, fresh_scene, scale):
    """Its children are sheared; where they look is what is shown."""
    swinging.pose.bones["spine"].scale = swinging.pose.bones["hips"].scale = scale
    for frame in (1, 6, 11, 16):
        fresh_scene.frame_set(frame)
        assert aim(swinging) < 0.05


@pytest.mark.blender_version
@pytest.mark.parametrize("how", ("renamed", "deleted"))
def test_a_bone_that_goes_is_named_and_the_rest_goes_on(swinging, fresh_scene, how):
    item = stack_edits.add(swinging, fresh_scene, "bone_transforms", "arm.R")
    item.rotation_mode, item.rotation = "ADD", (0.0, 0.0, 0.7)
    fresh_scene.frame_set(6)
    before = shown(swinging, "arm.R")
    bpy.ops.object.mode_set(mode="EDIT")
    bones = swinging.data.edit_bones
    if how == "renamed":
        bones["head"].name = "skull"
    else:
        bones.remove(bones["head"])
    bpy.ops.object.mode_set(mode="OBJECT")
    fresh_scene.frame_set(7)
    assert pose_stack.of(swinging).messages == {"Look-at": 'Look-at: there is no bone "head"'}
    fresh_scene.frame_set(6)
    # The chain does not turn the spine any more; the transform still turns the arm.
    item.enabled = False
    fresh_scene.frame_set(6)
    assert rigs.angles(shown(swinging, "arm.R"), before) > 10.0
    assert fresh_scene.name not in STATE.messages


def test_a_bone_that_is_added_or_moved_does_not_stop_it(swinging, fresh_scene):
    bpy.ops.object.mode_set(mode="EDIT")
    bones = swinging.data.edit_bones
    extra = bones.new("extra")
    extra.head, extra.tail, extra.parent = (0.0, 0.0, 1.8), (0.0, 0.0, 1.9), bones["head"]
    for name in ("head", "extra"):
        for end in (bones[name].head, bones[name].tail):
            end.y += 0.1
    bpy.ops.object.mode_set(mode="OBJECT")
    for frame in (6, 7, 3):
        fresh_scene.frame_set(frame)
        assert fresh_scene.name not in STATE.messages
        assert not pose_stack.of(swinging).messages
        assert aim(swinging) < 0.05


@pytest.mark.blender_version
def test_undone_and_done_again_it_shows_what_it_did(swinging, fresh_scene):
    bpy.ops.ed.undo_push(message="before")
    swinging.active_ragdoll.look_at[0].entries[0].limit = 0.05
    fresh_scene.frame_set(8)
    limited = rigs.pose(swinging)
    bpy.ops.ed.undo_push(message="limit")
    bpy.ops.ed.undo()
    obj, scene = bpy.data.objects["Human"], bpy.context.scene
    assert obj.active_ragdoll.look_at[0].entries[0].limit > 0.5
    scene.frame_set(8)
    assert aim(obj) < 0.05 and not pose_stack.of(obj).messages
    bpy.ops.ed.redo()
    obj, scene = bpy.data.objects["Human"], bpy.context.scene
    scene.frame_set(9)
    scene.frame_set(8)
    assert np.abs(rigs.pose(obj) - limited).max() < 1e-6


@pytest.mark.parametrize("bone", ("arm.L", "spine", "hips", "thigh.L"))
def test_a_bone_scaled_to_nothing_to_hide_it_stops_nobody(swinging, fresh_scene, bone):
    other = rigs.human(fresh_scene, "Other")
    other.location.x = 3.0
    stack_edits.set_up_look_at(other, fresh_scene, bpy.data.objects["Target"])
    swinging.pose.bones[bone].scale = (0.0, 0.0, 0.0)
    for frame in (1, 6, 7):
        fresh_scene.frame_set(frame)
        assert fresh_scene.name not in STATE.messages
        assert not pose_stack.of(swinging).messages
        assert aim(other) < 0.05
    after, below = rigs.pose(swinging), [bone, *(child.name for child in swinging.data.bones[bone].children_recursive)]
    assert np.isfinite(after).all()
    size = np.linalg.norm(after[:, :3, :3], axis=1).max(axis=1)
    for row, found in enumerate(swinging.data.bones):
        assert size[row] == pytest.approx(0.0 if found.name in below else 1.0, abs=1e-3), found.name
    if "head" not in below:
        assert aim(swinging) < 0.05


@pytest.mark.blender_version
def test_keys_go_with_chains_and_limbs(human, fresh_scene):
    """Of a keyed chain and a keyed leg, others before them are added, moved and removed."""
    settings = human.active_ragdoll
    stack_edits.add(human, fresh_scene, "look_at")
    stack_edits.add(human, fresh_scene, "leg_stabilizers", "foot.L")
    stack_edits.add(human, fresh_scene, "leg_stabilizers", "foot.R")
    for path in ("look_at[0].weight", "leg_stabilizers[1].ik_weight"):
        owner, name = human.path_resolve(f"active_ragdoll.{path.split('.')[0]}"), path.split(".")[1]
        for frame, value in ((1, 1.0), (11, 0.0)):
            setattr(owner, name, value)
            human.keyframe_insert(f"active_ragdoll.{path}", frame=frame)

    def keyed():
        paths = {curve.data_path for curve in rigs.curves_of(human.animation_data.action)}
        return {path.removeprefix("active_ragdoll.") for path in paths if path.startswith("active_ragdoll")}

    settings.active_look_at = 0
    assert stack_edits.move(human, "look_at", 1)
    assert keyed() == {"look_at[1].weight", "leg_stabilizers[1].ik_weight"}
    stack_edits.remove(human, "look_at", 0)
    stack_edits.remove(human, "leg_stabilizers", 0)
    assert keyed() == {"look_at[0].weight", "leg_stabilizers[0].ik_weight"}
    assert settings.leg_stabilizers[0].foot_bone == "foot.R"
    for frame, weight in ((1, 1.0), (11, 0.0)):
        fresh_scene.frame_set(frame)
        assert settings.look_at[0].weight == weight and settings.leg_stabilizers[0].ik_weight == weight
    stack_edits.remove(human, "look_at")
    assert keyed() == {"leg_stabilizers[0].ik_weight"}
