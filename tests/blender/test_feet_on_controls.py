"""Robots whose feet hang on controls that inverse kinematics reaches for: they are feet, stay on, and stand still."""

import numpy as np
import pytest
from mathutils import Matrix

import looking
import rigs
from active_ragdoll.core.anatomy.roles import HUMAN
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.rig.armature import anatomy_of

LAST = 30
FEET = {"ctrl_foot.L": "shin.L", "ctrl_foot.R": "shin.R"}  # and the shank of each


def _robot(scene, control: str, nameless: bool = False) -> rigs.Rig:
    """A robot of boxes that hang on its bones. Its feet hang on a bone `control`, and begin at the heel."""
    bones = {"root": ((0, 0.3, 0), (0, 0.5, 0), None), "hips": (*rigs.HUMAN["hips"][:2], "root")}
    bones |= {name: row for name, row in rigs.HUMAN.items() if not name.startswith(("hips", "foot", "finger"))}
    for side, sign in (("L", 1.0), ("R", -1.0)):
        bones[f"ctrl_foot.{side}"] = (0.1 * sign, 0.08, 0.03), (0.1 * sign, -0.15, 0.02), control
    obj = rigs.armature(scene, bones, "Robot")
    for side in "LR":
        ik = obj.pose.bones[f"shin.{side}"].constraints.new("IK")
        ik.target, ik.subtarget, ik.chain_count = obj, f"ctrl_foot.{side}", 2
        ik.use_rotation = ik.use_stretch = False
        ik.influence = 0.0  # the animation here poses every bone itself
    for bone in obj.data.bones:
        if bone.name != "root":
            box = rigs.box_mesh(bone.name, (0.08, bone.length, 0.08))
            box.transform(Matrix.Translation((0.0, -0.5 * bone.length, 0.0)))  # a child counts from the tail
            rigs.changed(rigs.added(scene, bone.name, box), parent=obj, parent_type="BONE", parent_bone=bone.name)
    rigs.swing(obj, 1, LAST, [swing for swing in rigs._SWINGS if swing[0] in ("spine", "arm.L", "arm.R")])
    for i, bone in enumerate(obj.data.bones if nameless else ()):
        if not bone.name.startswith("ctrl"):
            bone.name = f"Node_{i}"
    rigs.set_range(scene, 1, LAST)
    scene.frame_set(1)
    return rigs.Rig(obj, scene, 1, LAST)


@pytest.mark.blender_version
@pytest.mark.parametrize(("control", "nameless", "bones"), [("root", True, "DEFORM"), ("spine", False, "MAIN")])
def test_they_are_feet_with_a_joint_to_the_shank(fresh_scene, control, nameless, bones):
    rig = _robot(fresh_scene, control, nameless)
    anatomy = anatomy_of(rig.obj)
    names = [bone.name for bone in rig.obj.data.bones]
    assert anatomy.kind == HUMAN
    assert [anatomy.roles[names.index(foot)] for foot in FEET] == ["FOOT", "FOOT"]
    build.build(rig.obj, rig.scene, bones)
    shanks = {part.bone: part.parent for part in rig.obj.active_ragdoll.parts}
    for foot, shank in FEET.items():
        assert shanks[foot] == (shank if not nameless else names[anatomy.parents[names.index(foot)]])
    assert sum(not parent for parent in shanks.values()) == 1
    assert {shanks[foot] for foot in FEET} == {bone for bone in shanks if anatomy.roles[names.index(bone)] == "SHANK"}


@pytest.mark.blender_version
def test_they_stay_on_when_it_falls_and_where_the_result_is_baked(fresh_scene):
    rig = _robot(fresh_scene, "root")
    build.build(rig.obj, rig.scene)
    found = rigs.figures(rig.scene, 1, LAST)
    assert found["pose_orientation_error_deg"]["mean"] <= 0.15 and found["pose_position_error_mm"]["mean"] <= 1.0
    rigs.set_weights(rig.obj, 0.0)
    rows = [rig.obj.data.bones.find(bone) for bone in (*FEET, *FEET.values())]

    def gaps():
        """From where the shin has the heel to where the foot is."""
        pose = rigs.pose(rig.obj)[rows]
        rest = [np.array(rig.obj.data.bones[row].matrix_local) for row in rows]
        heels = [pose[2 + i] @ np.linalg.inv(rest[2 + i]) @ rest[i][:, 3] for i in range(2)]
        return max(float(np.linalg.norm(heels[i] - pose[i][:, 3])) for i in range(2)), rigs.pose(rig.obj)

    played = rigs.play(rig.scene, 1, LAST, gaps)
    assert max(gap for gap, _pose in played) < 0.015
    assert (played[0][1] - played[-1][1])[rows, 2, 3].min() > 1.0  # it fell, feet and all
    list(bake.bake_frames(rig.obj, rig.scene))
    rigs.check_shown(rig.scene, rig.obj, [None, *(pose for _gap, pose in played)], (10, LAST), 2e-3)


@pytest.mark.parametrize("control", ["root", "spine"])
def test_they_stand_still_when_the_look_at_turns_what_they_hang_on(fresh_scene, control):
    rig = _robot(fresh_scene, control)
    plain = rigs.animation(rig.obj, (1, 12, LAST))
    looking.to_its_side(rig.scene, rig.obj)
    rows = [rig.obj.data.bones.find(foot) for foot in FEET]
    for frame in plain:
        rig.scene.frame_set(frame)
        assert np.linalg.norm((rigs.pose(rig.obj) - plain[frame])[rows, :3, 3], axis=1).max() < 1e-3 * 1.75
        assert rigs.angles(rigs.pose(rig.obj), plain[frame]).max() > 15.0
