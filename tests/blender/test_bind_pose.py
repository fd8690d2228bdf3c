"""Rest poses that no body could take, and bind poses from the animation: all that counts from them is as it should be.

Files of motion capture may have all bones along one axis at rest. `in_line` makes such a character of an ordinary one:
the same joints move in the same way, so that the ordinary one says what its ragdoll has to be like."""

import math

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

import own_characters
import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.rig import armature
from active_ragdoll.core.blender.tools import diagnose, profiles
from active_ragdoll.core.ragdoll import diagnosis
from refusals import refuses

# Name of one of our own characters, whether names tell what its bones are.
KINDS = (("own mixamo", True), ("own dog", False))


def in_line(rig: rigs.Rig) -> rigs.Rig:
    """A character whose rest pose has all bones along X, posed on every frame as another is."""
    obj, scene, heads, table = rig.obj, rig.scene, {}, {}
    for bone in obj.data.bones:
        above = bone.parent
        heads[bone] = heads[above] + Vector((above.length, 0, 0)) if above else Vector((0, 0, 0))
        table[bone.name] = heads[bone], heads[bone] + Vector((bone.length, 0, 0)), above.name if above else None
    made = rigs.armature(scene, table, "Line")
    made.matrix_world = obj.matrix_world.copy()
    for frame in range(rig.first - 4, rig.last + 1):
        scene.frame_set(frame)
        for bone in obj.pose.bones:
            own, above = made.pose.bones[bone.name], bone.parent
            known = {}
            if above is not None:
                known = {"parent_matrix": above.matrix, "parent_matrix_local": made.data.bones[above.name].matrix_local}
            own.matrix_basis = own.bone.convert_local_to_pose(bone.matrix, own.bone.matrix_local, invert=True, **known)
            own.keyframe_insert("location", frame=frame)
            own.keyframe_insert("rotation_quaternion", frame=frame)
    for bone in obj.data.bones:
        made.data.bones[bone.name].use_deform = bone.use_deform
    for mesh in [o for o in scene.objects if o.parent == obj]:
        copy = mesh.copy()
        copy.data = mesh.data.copy()
        scene.collection.objects.link(copy)
        copy.parent, copy.modifiers[0].object = made, made
        for vertex in copy.data.vertices:  # each hangs on one bone
            name = copy.vertex_groups[vertex.groups[0].group].name
            vertex.co = made.data.bones[name].matrix_local @ obj.data.bones[name].matrix_local.inverted() @ vertex.co
    scene.frame_set(rig.first)
    return rigs.Rig(made, scene, rig.first, rig.last)


def _joints(obj) -> list:
    """Of each body its bone, mass and size, kind of joint and shape, limits, and axes of the joint in the world."""
    frames = armature.BindPose(obj, np.array(obj.matrix_world)).matrices[:, :3, :3]
    found = []
    for part, mass in zip(obj.active_ragdoll.parts, rigs.masses(obj), strict=True):
        own = obj.pose.bones[part.bone].active_ragdoll
        axes = frames[obj.data.bones.find(part.bone)] @ np.array(own.joint_rotation.to_matrix())
        kind = own.joint, own.limits_from, part.body.rigid_body.collision_shape
        found.append((part.bone, [mass, *part.body.dimensions], kind, [*own.limit_min, *own.limit_max], axes))
    return found


@pytest.mark.blender_version
@pytest.mark.parametrize(("name", "named"), KINDS)
def test_the_ragdoll_is_that_of_the_same_character_with_an_ordinary_rest_pose(name, named):
    plain = own_characters.make(name)
    if name == "own dog":  # of boxes rounding decides whether a box or a hull of eight corners is smaller
        bpy.data.objects.remove(bpy.data.objects["Skin"])
    for i, bone in enumerate(plain.obj.data.bones):
        bone.name = bone.name if named else f"Node_{i}"
    line = in_line(plain)
    (taken,) = (n for n in build.build(line.obj, line.scene).notes if "no body could take the bind pose" in n)
    build.build(plain.obj, plain.scene)
    at_rest = _joints(plain.obj)
    plain.scene.frame_set(int(taken.split("frame ")[1].split()[0]))
    build.choose_bind_pose(plain.obj, plain.scene)
    build.rebuild(plain.obj, plain.scene)
    for found, same, rest in zip(_joints(line.obj), _joints(plain.obj), at_rest, strict=True):
        assert (found[0], found[2]) == (same[0], same[2]) and found[2][:2] == rest[2][:2]
        # Corners of hulls hang on rounding, and by their volumes bodies share the mass of a head or a limb.
        assert found[1] == pytest.approx(same[1], rel=0.01), found[0]
        assert found[3] == pytest.approx(same[3], abs=np.radians(0.1)), found[0]
        assert np.abs(found[4] - same[4]).max() < 1e-3, found[0]
        # The pose taken is one at ease: it differs from the plain one's rest pose by what limbs swing about theirs.
        assert found[3] == pytest.approx(rest[3], abs=np.radians(25.0)), found[0]
    assert diagnosis.BIND_POSE not in [finding.kind for finding in diagnose.diagnose(line.obj, line.scene)]
    assert any("taken from the animation" in note for note in build.rebuild(line.obj, line.scene).notes)


@pytest.mark.blender_version
def test_it_follows_as_exactly_as_the_same_character_with_an_ordinary_rest_pose():
    worst = {}
    for laid in (False, True):
        rig = own_characters.make("own mixamo")
        if laid:
            rig, other = in_line(rig), rig.obj
            bpy.data.objects.remove(other)
        build.build(rig.obj, rig.scene)
        worst[laid] = rigs.figures(rig.scene, rig.first, rig.last)
    for kind in ("pose_orientation_error_deg", "pose_position_error_mm"):
        assert worst[True][kind]["max"] <= 1.1 * worst[False][kind]["max"] + 1e-3, kind


def _swinging(scene):
    """A human whose pose at frame 20 has an arm down."""
    obj = rigs.swinging_human(scene, 1, 24)
    turned = {frame: (math.cos(half), math.sin(half), 0.0, 0.0) for frame, half in ((19, 0.0), (20, 0.6), (21, 0.0))}
    rigs.key(obj.pose.bones["arm.L"], "rotation_quaternion", turned)
    return obj


@pytest.mark.blender_version
def test_the_user_chooses_a_frame_and_takes_it_back_in_one_step_each(fresh_scene, tmp_path):
    obj = _swinging(fresh_scene)
    build.build(obj, fresh_scene)
    first = {part.bone: part.bind for part in obj.active_ragdoll.parts}
    fresh_scene.frame_set(20)
    assert bpy.ops.active_ragdoll.bind_pose_from_frame() == {"FINISHED"}
    assert obj.active_ragdoll.layout_changed
    copy = rigs.duplicate(obj, 3.0)
    build.rebuild(obj, fresh_scene)
    fresh_scene.frame_set(20)
    there = rigs.pose(obj)
    for part in obj.active_ragdoll.parts:
        bone = obj.data.bones.find(part.bone)
        assert np.abs(part.bind @ np.linalg.inv(part.offset) - there[bone]).max() < 1e-5, part.bone
    assert np.abs(rigs.part(obj, "arm.L").bind - first["arm.L"]).max() > 0.1
    # A duplicate, a saved file and a profile keep it.
    assert np.allclose(armature.bind_joints(copy)[0], armature.bind_joints(obj)[0])
    again = rigs.human(fresh_scene, "Again")
    profiles.apply(again, profiles.collect(obj))
    assert np.allclose(armature.bind_joints(again)[0], armature.bind_joints(obj)[0], atol=1e-5)
    assert bpy.ops.active_ragdoll.bind_pose_from_frame(rest=True) == {"FINISHED"}
    assert armature.BindPose(again, np.eye(4)).moved is None
    scene, obj = rigs.reopened(tmp_path / "kept.blend")
    build.rebuild(obj, scene)
    assert np.abs(rigs.part(obj, "arm.L").bind - first["arm.L"]).max() > 0.1
    build.choose_bind_pose(obj)
    build.rebuild(obj, scene)
    for part in obj.active_ragdoll.parts:
        assert np.array_equal(part.bind, first[part.bone])


def test_what_is_no_pose_is_refused_by_name(fresh_scene):
    obj = _swinging(fresh_scene)
    obj.pose.bones["hips"].location = (float("nan"), 0.0, 0.0)
    refuses("'hips' of 'Human'", build.choose_bind_pose, obj, fresh_scene)
    assert armature.BindPose(obj, np.eye(4)).moved is None


def test_an_animation_that_never_leaves_such_a_rest_pose_is_told(fresh_scene):
    rig = in_line(own_characters.make("own mixamo"))
    rig.obj.animation_data_clear()
    for bone in rig.obj.pose.bones:
        bone.matrix_basis = Matrix()
    assert any("mean little" in note for note in build.build(rig.obj, rig.scene).notes)
    assert diagnosis.BIND_POSE in [finding.kind for finding in diagnose.diagnose(rig.obj, rig.scene)]
