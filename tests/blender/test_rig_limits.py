"""Limits that the rig states: locked axes, IK limits, Limit Rotation constraints; and those set by hand."""

import math

import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, remove


def _degrees(values):
    return [round(math.degrees(v), 3) for v in values]


def _locked(bone):
    bone.lock_rotation = (False, True, True)


def _ik(bone):
    bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, math.radians(-10), math.radians(70)
    bone.lock_ik_y = bone.lock_ik_z = True


def _ik_locked(bone):
    bone.lock_ik_x = bone.lock_ik_y = bone.lock_ik_z = True


def _constraint(bone):
    constraint = bone.constraints.new("LIMIT_ROTATION")
    constraint.owner_space = "LOCAL"
    for axis, (low, high) in {"x": (-20, 30), "y": (-5, 5), "z": (0, 45)}.items():
        setattr(constraint, f"use_limit_{axis}", True)
        setattr(constraint, f"min_{axis}", math.radians(low))
        setattr(constraint, f"max_{axis}", math.radians(high))


@pytest.mark.parametrize(
    ("state", "joint", "low", "high"),
    (
        (_locked, "HINGE", (None, 0.0, 0.0), (None, 0.0, 0.0)),
        (_ik, "HINGE", (-10.0, 0.0, 0.0), (70.0, 0.0, 0.0)),
        (_ik_locked, "FIXED", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        (_constraint, "CONE", (-20.0, -5.0, 0.0), (30.0, 5.0, 45.0)),
    ),
)
def test_what_the_rig_states_is_taken_in_the_bones_own_frame(fresh_scene, state, joint, low, high):
    """Also on a human, whose shank has a frame and a range by its anatomy; None is a wide range."""
    for obj, name in ((rigs.chain(fresh_scene), "B"), (rigs.human(fresh_scene), "shin.L")):
        build.build(obj, fresh_scene)
        bone = obj.pose.bones[name]
        state(bone)
        build.build(obj, fresh_scene)
        settings = bone.active_ragdoll
        assert (settings.joint, settings.limits_from) == (joint, "RIG")
        assert tuple(settings.joint_rotation) == (1.0, 0.0, 0.0, 0.0)
        for found, wanted in ((settings.limit_min, low), (settings.limit_max, high)):
            for value, asked in zip(_degrees(found), wanted, strict=True):
                assert abs(value) > 57.0 if asked is None else value == pytest.approx(asked, abs=1e-3)


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


@pytest.mark.blender_version
def test_the_hinge_really_turns_about_its_axis_only(scene):
    """Limp under gravity, hanging out to the side: B turns about its free axis until its limit, not about others."""
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
