"""Characters that generated control rigs animate are followed as any other, look at things and reach for them."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll import panels
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.rig import action_channels
from active_ragdoll.core.blender.stack import stack_edits
from demo.character import generate_rigify
from drawing import drawn

LAST = 20
# The limb in front, the control of its end, the bone that carries a prop, the last one of the neck, what stands.
RIGS = {
    "human": ("upper_arm", "hand", "DEF-forearm.L", "DEF-spine.006", {"foot"}),
    "Animals.wolf": ("front_thigh", "front_foot", "DEF-front_foot.L", "DEF-spine.011", {"toe", "front_toe"}),
}


def _keyed(obj, bone: str, path: str, *values) -> None:
    """Keys at the first frame, in the middle and at the last one."""
    rigs.key(obj.pose.bones[bone], path, dict(zip((1, LAST // 2, LAST), values, strict=True)))


def _animate(obj, limb: str, end: str, carrying: str) -> None:
    """Inverse kinematics, one leg out of reach, FK on one side, a switch and a space that change, a driver, a prop."""
    rest, pose = (0.0, 0.0, 0.0), obj.pose.bones
    for i, name in enumerate((f"{end}_ik.L", f"{end}_ik.R", "foot_ik.L")):
        _keyed(obj, name, "location", rest, (0.03 - 0.02 * i, -0.05, 0.04), (0.0, -0.02 * i, 0.03))
    _keyed(obj, "foot_ik.R", "location", rest, (0.0, 0.05, -0.04), rest)
    _keyed(obj, "torso", "location", (0.0, 0.0, -0.03), (0.02, 0.03, -0.06), (0.0, 0.0, -0.04))
    _keyed(obj, "torso", "rotation_quaternion", (1, 0, 0, 0), (1, 0.05, 0.03, 0.06), (1, 0, -0.04, 0))
    pose[f"{limb}_parent.R"]["IK_FK"] = 1.0
    _keyed(obj, f"{limb}_fk.R", "rotation_quaternion", (1, 0, 0, 0), (1, 0.2, 0.1, 0.1), (1, 0, 0, 0.1))
    for frame, space in ((1, 1), (LAST // 2, 0)):  # while the root is where it was
        pose[f"{limb}_parent.L"]["IK_parent"] = space
        pose[f"{limb}_parent.L"].keyframe_insert('["IK_parent"]', frame=frame)
    _keyed(obj, "root", "location", rest, rest, (0.0, -0.1, 0.0))
    _keyed(obj, "thigh_parent.L", '["IK_FK"]', 0.0, 0.0, 0.3)
    obj["nod"] = 0.0
    rigs.key(obj, '["nod"]', {1: 0.0, LAST // 2: 0.3, LAST: -0.2})
    pose["head"].rotation_mode = "XYZ"
    driver = pose["head"].driver_add("rotation_euler", 0).driver
    driver.type, variable = "SUM", driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = obj, '["nod"]'
    prop = rigs.added(bpy.context.scene, "Prop", rigs.box_mesh("Prop", (0.1, 0.1, 0.1)))
    prop.parent, prop.parent_type, prop.parent_bone = obj, "BONE", carrying


@pytest.mark.parametrize("name", RIGS)
def test_a_control_rig_is_followed_looks_and_reaches(fresh_scene, name):
    *animated, head, standing = RIGS[name]
    obj = generate_rigify(rigs.metarig(fresh_scene, name))
    _animate(obj, *animated)
    rigs.set_range(fresh_scene, 1, LAST)
    build.build(obj, fresh_scene, "MAIN")
    layered = animated[-1].replace(".L", ".R")
    row, hand, bent = (obj.data.bones.find(bone) for bone in (head, "DEF-hand.L", layered))
    above = obj.data.bones.find(obj.data.bones[layered].parent.name)
    prop, carrying = bpy.data.objects["Prop"], obj.data.bones.find(animated[-1])
    held = np.array(prop.evaluated_get(bpy.context.view_layer.depsgraph).matrix_world)
    carried = np.linalg.solve(rigs.pose(obj)[carrying], held)
    pieces = [bone for bone in obj.data.bones if bone.parent and bone.name == f"{bone.parent.name}.001"]
    pairs = np.array([(obj.data.bones.find(bone.parent.name), obj.data.bones.find(bone.name)) for bone in pieces]).T
    goal = rigs.empty(fresh_scene, "Goal", location=(0.45, -0.2, 1.35))
    shown = []
    for looks in (False, True):
        if looks:
            stack_edits.set_up_look_at(obj, fresh_scene, rigs.empty(fresh_scene, location=(0.8, -2.0, 1.6)))
            feet = [leg.foot_bone for leg in obj.active_ragdoll.leg_stabilizers]
            assert sorted(feet) == sorted(f"DEF-{foot}.{side}" for foot in standing for side in "LR")
            action, slot = action_channels.new_action_for(obj, "Layer")
            curves = action_channels.channels_of(action, slot, ensure=True).fcurves
            for i, value in enumerate((0.9, 0.0, 0.0, 0.4)):
                curves.new(f'pose.bones["{layered}"].rotation_quaternion', index=i).keyframe_points.insert(1, value)
            stack_edits.add_layer(obj, fresh_scene, "POSE", "", action)
            if hand >= 0:
                stack_edits.add(obj, fresh_scene, "two_bone_ik", "DEF-hand.L").effector = goal
            build.rebuild(obj, fresh_scene)
        assert rigs.figures(fresh_scene, 1, LAST)["pose_orientation_error_deg"]["mean"] <= 0.15
        shown.append(rigs.pose(obj))
        held = np.array(prop.evaluated_get(bpy.context.view_layer.depsgraph).matrix_world)
        np.testing.assert_allclose(np.linalg.solve(shown[-1][carrying], held), carried, atol=1e-5)
        if not looks:  # although inverse kinematics stretches limbs, which bodies cannot
            with pytest.raises(RuntimeError, match="that of its animation in all frames"):
                bpy.ops.active_ragdoll.bake(frames="ACTIVE")
    assert rigs.angles(*(pose[row] for pose in shown)) > 15.0  # and it is followed there
    assert hand < 0 or np.linalg.norm(shown[1][hand, :3, 3] - goal.location) < 0.01
    assert rigs.angles(*(np.linalg.solve(pose[above], pose[bent]) for pose in shown)) > 30.0
    motion = [what for panel in panels.motion.classes() for _kind, what, _in in drawn(panel, obj) or ()]
    assert "bones_count" in motion and (hand < 0 or "max_iterations" not in motion)  # a human's legs bend at two places
    first, second = (np.linalg.solve(*pose[pairs]) for pose in shown)
    assert len(pieces) >= 8 and rigs.angles(first, second).max() < 0.1  # what a rig has in pieces bends at joints only
    rigs.set_weights(obj)  # limp: what deforms falls, with a body or without
    first, *_between, last = rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(obj)[:, 2, 3])
    assert (first - last)[[bone.use_deform for bone in obj.data.bones]].min() > 1.0
