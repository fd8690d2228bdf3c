"""Limits that the rig states: locked axes, IK limits, Limit Rotation constraints; and those set by hand."""

import math

import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender import build, remove


def _degrees(values):
    return [round(math.degrees(v), 3) for v in values]


def test_a_bone_with_two_locked_axes_becomes_a_hinge(fresh_scene):
    obj = rigs.chain(fresh_scene)
    obj.pose.bones["B"].lock_rotation = (False, True, True)
    build.build(obj, fresh_scene)
    bone = obj.pose.bones["B"].active_ragdoll
    assert (bone.joint, bone.limits_from) == ("HINGE", "RIG")
    assert _degrees(bone.limit_min)[1:] == [0.0, 0.0] and _degrees(bone.limit_max)[1:] == [0.0, 0.0]
    assert bone.limit_max[0] > 1.0 and bone.limit_min[0] < -1.0


def test_ik_limits_are_taken(fresh_scene):
    obj = rigs.chain(fresh_scene)
    bone = obj.pose.bones["B"]
    bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, math.radians(-10), math.radians(70)
    bone.lock_ik_y = bone.lock_ik_z = True
    build.build(obj, fresh_scene)
    settings = bone.active_ragdoll
    assert (settings.joint, settings.limits_from) == ("HINGE", "RIG")
    assert _degrees(settings.limit_min) == [-10.0, 0.0, 0.0]
    assert _degrees(settings.limit_max) == [70.0, 0.0, 0.0]


def test_limit_rotation_constraints_are_taken(fresh_scene):
    obj = rigs.chain(fresh_scene)
    constraint = obj.pose.bones["B"].constraints.new("LIMIT_ROTATION")
    constraint.owner_space = "LOCAL"
    for axis, (low, high) in {"x": (-20, 30), "y": (-5, 5), "z": (0, 45)}.items():
        setattr(constraint, f"use_limit_{axis}", True)
        setattr(constraint, f"min_{axis}", math.radians(low))
        setattr(constraint, f"max_{axis}", math.radians(high))
    build.build(obj, fresh_scene)
    settings = obj.pose.bones["B"].active_ragdoll
    assert (settings.joint, settings.limits_from) == ("CONE", "RIG")
    assert _degrees(settings.limit_min) == [-20.0, -5.0, 0.0]
    assert _degrees(settings.limit_max) == [30.0, 5.0, 45.0]


def test_three_locked_ik_axes_make_a_fixed_joint(fresh_scene):
    obj = rigs.chain(fresh_scene)
    bone = obj.pose.bones["C"]
    bone.lock_ik_x = bone.lock_ik_y = bone.lock_ik_z = True
    build.build(obj, fresh_scene)
    assert bone.active_ragdoll.joint == "FIXED"


def test_limits_set_by_hand_survive_a_new_build(fresh_scene):
    obj = rigs.chain(fresh_scene)
    build.build(obj, fresh_scene)
    bone = obj.pose.bones["B"].active_ragdoll
    bone.limit_max = (0.1, 0.2, 0.3)
    assert bone.limits_from == "USER"
    build.rebuild(obj, fresh_scene)
    assert list(bone.limit_max) == pytest.approx([0.1, 0.2, 0.3])
    remove.remove(obj)
    build.build(obj, fresh_scene)
    assert list(bone.limit_max) == pytest.approx([0.1, 0.2, 0.3])


def test_the_hinge_really_turns_about_its_axis_only(fresh_scene):
    """Limp under gravity, hanging out to the side: B turns about its free axis until its limit, not about others."""
    scene = fresh_scene
    rigs.set_range(scene, 1, 60)
    obj = rigs.chain(scene, 2)
    bone = obj.pose.bones["B"]
    # The chain lies along X, so the axis that gravity turns it about is the bone's X or Z; find it, free it alone.
    axis = int(np.argmax(np.abs(np.array(bone.bone.matrix_local)[1, :3])))
    free = "xyz"[axis]
    setattr(bone, f"use_ik_limit_{free}", True)
    setattr(bone, f"ik_min_{free}", math.radians(-40))
    setattr(bone, f"ik_max_{free}", math.radians(40))
    for other in set("xyz") - {free}:
        setattr(bone, f"lock_ik_{other}", True)
    build.build(obj, scene)
    obj.pose.bones["A"].active_ragdoll.body_mode = "KINEMATIC"
    bone.active_ragdoll.rotation_weight = bone.active_ragdoll.translation_weight = 0.0
    rigs.play(scene, 1, 60)
    turned = obj.evaluated_get(scene.view_layers[0].depsgraph).pose.bones["B"]
    local = (turned.parent.matrix.inverted() @ turned.matrix).to_quaternion()
    rest = (turned.bone.parent.matrix_local.inverted() @ turned.bone.matrix_local).to_quaternion()
    delta = rest.inverted() @ local
    along = np.degrees(2.0 * np.arcsin(np.clip(np.array([delta.x, delta.y, delta.z]), -1, 1)))
    assert abs(along[axis]) == pytest.approx(40.0, abs=2.0)
    assert np.abs(np.delete(along, axis)).max() < 1.0
