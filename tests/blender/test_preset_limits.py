"""Ranges that presets state: a build widens them to the shot's animation, and each build begins with the preset's."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.tools import diagnose, profiles
from own_characters import or_own

STATING = ("ROBOT", "TAIL_ROPE", "HUMAN_CHILD", "HUMAN_ATHLETIC")


def simulated(obj) -> list:
    return [bone for bone in obj.pose.bones if bone.active_ragdoll.simulate]


def limits(bone) -> tuple:
    own = bone.active_ragdoll
    return own.joint, tuple(own.limit_min), tuple(own.limit_max)


@pytest.mark.parametrize(
    ("preset", "name"),
    [(preset, or_own("Knight.glb")[0]) for preset in STATING]
    + [("ROBOT", name) for name in or_own("run.fbx", "zombie.bvh", own=("own unreal",))],
)
def test_the_animation_does_not_fight_a_presets_limits(data_dir, name, preset):
    rig = rigs.load(data_dir / name)
    rig.last = min(rig.last, rig.first + 60)
    rigs.set_range(rig.scene, rig.first, rig.last)
    profiles.apply(rig.obj, profiles.preset(preset))
    built = build.build(rig.obj, rig.scene)
    stated = [bone for bone in simulated(rig.obj) if bone.active_ragdoll.limits_from == "PROFILE"]
    assert len(stated) >= 7
    assert not [excess for excess in diagnose.check_limits(rig.obj, rig.scene).found if excess.worst > np.radians(1.0)]
    if preset == "ROBOT":
        assert any("widened the preset's limits" in note for note in built.notes)


def test_a_new_build_begins_with_the_presets_own_range(fresh_scene):
    """Another animation: what the last one needed is not kept; a hinge that had to become a cone is a hinge again."""
    obj = rigs.swinging_human(fresh_scene)
    profiles.apply(obj, profiles.preset("Robot"))
    stated = {bone.name: limits(bone) for bone in obj.pose.bones}
    build.build(obj, fresh_scene)
    widened = [bone.name for bone in simulated(obj) if limits(bone) != stated[bone.name]]
    assert widened
    obj.animation_data_clear()
    for bone in obj.pose.bones:
        bone.matrix_basis.identity()
        bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    build.rebuild(obj, fresh_scene)
    assert {bone.name: limits(bone) for bone in obj.pose.bones} == stated


def test_limits_edited_after_the_preset_are_the_users(fresh_scene):
    obj = rigs.swinging_human(fresh_scene)
    profiles.apply(obj, profiles.preset("Robot"))
    edited = obj.pose.bones["thigh.L"]
    edited.active_ragdoll.limit_max = (0.01, 0.0, 0.0)
    before = limits(edited)
    assert edited.active_ragdoll.limits_from == "USER"
    built = build.build(obj, fresh_scene)
    assert limits(edited) == before
    assert any("exceeds the limits of thigh.L" in note for note in built.notes)


def test_a_profile_of_limits_set_by_hand_stays_by_hand(fresh_scene):
    obj = rigs.swinging_human(fresh_scene)
    obj.pose.bones["thigh.L"].active_ragdoll.limit_max = (0.01, 0.0, 0.0)
    made = profiles.collect(obj)
    profiles.apply(obj, profiles.preset("Robot"))
    profiles.apply(obj, made)
    assert obj.pose.bones["thigh.L"].active_ragdoll.limits_from == "USER"
    assert obj.pose.bones["thigh.R"].active_ragdoll.limits_from == "DEFAULT"


def test_a_preset_that_was_widened_goes_to_another_rig_as_a_preset(data_dir):
    rig = rigs.load(data_dir / "Knight.glb")
    rigs.set_range(rig.scene, rig.first, rig.first + 20)
    profiles.apply(rig.obj, profiles.preset("Robot"))
    build.build(rig.obj, rig.scene)
    made = profiles.collect(rig.obj)
    other = rigs.load(data_dir / "walk.fbx")
    profiles.apply(other.obj, made)
    kinds = {bone.active_ragdoll.limits_from for bone in simulated(other.obj)}
    assert "PROFILE" in kinds and "USER" not in kinds
