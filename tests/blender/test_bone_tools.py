"""Copying, mirroring and resetting bones; bodies edited by hand outlast a new build."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion, Vector

import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender.physics import body_objects, build, remove
from active_ragdoll.core.ragdoll.joints import limits

OPERATORS = bpy.ops.active_ragdoll


@pytest.fixture
def human(fresh_scene):
    obj = rigs.human(fresh_scene)
    build.build(obj, fresh_scene)
    return obj


def rebuild(obj):
    build.rebuild(obj, bpy.context.scene)


def own(obj, name):
    return obj.pose.bones[name].active_ragdoll


def body_of(obj, name):
    return rigs.part(obj, name).body


def box_of(obj, name) -> np.ndarray:
    """World corners [8, 3] of a body's box as it was made, in bind pose."""
    body = body_of(obj, name)
    points = np.array([vertex.co for vertex in body.data.vertices])
    low, high = points.min(axis=0), points.max(axis=0)
    corners = [(x, y, z) for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
    return np.array([body.matrix_basis @ Vector(corner) for corner in corners])


def same_box(a, b, tolerance=1e-4) -> bool:
    """Whether two sets of corners [k, 3] are alike in any order."""
    return bool(np.linalg.norm(a[:, None] - b[None], axis=2).min(axis=1).max() < tolerance)


@pytest.mark.blender_version
def test_copy_takes_the_chosen_groups_only(human):
    source = own(human, "arm.L")
    source.mass, source.friction, source.joint = 3.0, 0.9, "HINGE"
    source.limit_min, source.limit_max = (-0.1, 0.0, 0.0), (1.0, 0.0, 0.0)
    source.rotation_weight = 0.25
    rigs.select(human, "arm.L", "forearm.L", "thigh.R")
    kinds = {name: own(human, name).joint for name in ("forearm.L", "thigh.R")}
    before = own(human, "shin.L").mass
    assert OPERATORS.copy_to_selected(body=True, joint=False, limits=True, weights=False) == {"FINISHED"}
    for name in kinds:
        its = own(human, name)
        assert (its.mass, its.friction) == pytest.approx((3.0, 0.9))
        assert its.limit_max[:] == pytest.approx((1.0, 0.0, 0.0)) and its.limits_from == "USER"
        assert its.joint == kinds[name] and its.rotation_weight == 1.0
    assert own(human, "shin.L").mass == before
    OPERATORS.copy_to_selected(body=False, joint=True, limits=False, weights=True)
    assert own(human, "thigh.R").joint == "HINGE" and own(human, "thigh.R").rotation_weight == 0.25


EVERY_GROUP = ("body", "size", "joint", "limits", "weights")
UNFIT = (
    (["arm.L"], "copy_to_selected", {}, r"Only 'arm\.L' is selected: select the bones to copy to"),
    (["arm.L", "arm.R"], "copy_to_selected", dict.fromkeys(EVERY_GROUP, False), "switch on at least one group"),
    (["spine"], "mirror_settings", {}, "'spine' lies in the middle"),
    (["arm.L", "arm.R"], "mirror_settings", {}, "both selected: select one side"),
)


@pytest.mark.parametrize(("selected", "operator", "options", "text"), UNFIT)
def test_what_cannot_be_copied_or_mirrored_is_said(human, selected, operator, options, text):
    own(human, "arm.R").mass = 1.0
    rigs.select(human, *selected)
    with pytest.raises(RuntimeError, match=text):
        getattr(OPERATORS, operator)(**options)
    assert (own(human, "arm.L").mass, own(human, "arm.R").mass) == (0.0, 1.0), "half-applied"


def excess(obj, name, turned) -> np.ndarray:
    """Excess [k] of rotations [k, 4] against the parent from bind pose, given in the armature's space."""
    settings = own(obj, name)
    rest = quaternion.from_matrix(np.array(obj.data.bones[name].matrix_local.to_3x3(), dtype=float))
    frame = quaternion.multiply(rest, np.array(settings.joint_rotation, dtype=float))
    relative = quaternion.multiply(quaternion.conjugate(frame), quaternion.multiply(turned, frame))
    return limits.excess(settings.joint, tuple(settings.limit_min), tuple(settings.limit_max), relative)


def test_mirrored_limits_let_the_other_side_do_the_mirrored_motion(fresh_scene):
    random = np.random.default_rng(2)
    obj = rigs.human(fresh_scene)
    rigs.roll_bones(obj, 2)
    obj.matrix_world = Matrix.LocRotScale(Vector((1, 2, 3)), Quaternion((1, 2, 3, 4)).normalized(), Vector((2, 2, 2)))
    build.build(obj, fresh_scene)
    left = own(obj, "arm.L")
    left.joint, left.joint_rotation = "CONE", quaternion.normalize(random.normal(size=4))
    left.limit_min, left.limit_max = (-0.4, -0.2, -0.9), (1.1, 0.7, 0.1)
    rigs.select(obj, "arm.L")
    assert OPERATORS.mirror_settings() == {"FINISHED"}
    turned = quaternion.from_rotation_vector(random.uniform(-1.5, 1.5, size=(200, 3)))
    image = turned * (1.0, 1.0, -1.0, -1.0)  # a character mirrored across X turns about X alike, about Y and Z against
    mine, its = excess(obj, "arm.L", turned), excess(obj, "arm.R", image)
    assert mine.max() > 0.5 and np.allclose(mine, its, atol=1e-5)  # and the limits are not symmetric in themselves:
    assert not np.allclose(mine, excess(obj, "arm.R", turned), atol=0.1)


def test_reset_bones_are_built_as_if_never_touched(human):
    touched, box = own(human, "shin.L"), box_of(human, "shin.L")
    before = touched.limit_min[:], touched.limit_max[:], touched.limits_from, body_of(human, "shin.L").rigid_body.mass
    rigs.changed(touched, mass=9.0, shape="BOX", joint="HINGE", limit_max=(2.0, 0.0, 0.0))
    body_of(human, "shin.L").location.x += 0.1
    rebuild(human)
    assert not same_box(box, box_of(human, "shin.L")) and touched.limits_from == "USER"
    body_of(human, "shin.L").location.x += 0.1  # not yet in the settings
    rigs.select(human, "shin.L")
    assert OPERATORS.reset_bone() == {"FINISHED"}
    assert human.active_ragdoll.layout_changed
    rebuild(human)
    assert same_box(box, box_of(human, "shin.L"))
    assert (touched.mass, touched.shape, touched.shape_by_user) == (0.0, "AUTO", False)
    mass = body_of(human, "shin.L").rigid_body.mass
    assert (touched.limit_min[:], touched.limit_max[:], touched.limits_from, pytest.approx(mass)) == before


@pytest.mark.parametrize("way", ("once", "three times", "removed and built"))
def test_a_moved_turned_and_scaled_body_is_kept(human, way):
    body = body_of(human, "forearm.L")
    body.location += Vector((0.02, -0.03, 0.05))
    body.rotation_quaternion = body.rotation_quaternion @ Quaternion((0.0, 0.0, 1.0), 0.4)
    body.rotation_quaternion = Quaternion((1.0, 0.3, 0.0, 0.0)).normalized() @ body.rotation_quaternion
    body.scale = (1.3, 1.3, 0.7)
    wanted = {part.bone: box_of(human, part.bone) for part in human.active_ragdoll.parts}
    for _time in range(3 if way == "three times" else 1):
        rebuild(human)
    if way == "removed and built":
        remove.remove(human)
        build.build(human, bpy.context.scene)
    assert body_of(human, "forearm.L").scale[:] == pytest.approx((1, 1, 1))
    assert [bone.name for bone in human.pose.bones if bone.active_ragdoll.shape_by_user] == ["forearm.L"]
    assert body_objects.collect_edits(human) == []
    for name, box in wanted.items():
        assert same_box(box, box_of(human, name)), name


@pytest.mark.blender_version
def test_editing_shows_bodies_in_bind_pose_and_keeps_what_was_done(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, 30)
    fresh_scene.frame_set(7)
    rebuild(obj)
    poses = rigs.pose(obj)
    rigs.select(obj, "shin.R")
    assert OPERATORS.edit_bodies() == {"FINISHED"}
    body = body_of(obj, "shin.R")
    assert bpy.context.view_layer.objects.active == body and body.select_get() and not body.hide_select
    assert obj.data.pose_position == "REST" and not fresh_scene.rigidbody_world.enabled
    shown = rigs.bodies(obj)
    assert np.allclose(shown, np.array([np.array(p.bind).reshape(4, 4) for p in obj.active_ragdoll.parts]), atol=1e-5)
    body.location.z += 0.05
    body.scale.x = 1.4
    wanted = box_of(obj, "shin.R")
    assert OPERATORS.edit_bodies() == {"FINISHED"}
    assert bpy.context.view_layer.objects.active == obj
    assert obj.data.pose_position == "POSE" and fresh_scene.rigidbody_world.enabled
    assert body_of(obj, "shin.R").hide_select
    # A capsule's radius is the larger of both: the box may grow to it, its middle and length may not change.
    assert np.allclose(box_of(obj, "shin.R").mean(axis=0), wanted.mean(axis=0), atol=1e-5)
    assert np.allclose(rigs.pose(obj), poses, atol=1e-5)
