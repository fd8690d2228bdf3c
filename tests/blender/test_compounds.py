"""Compounds in Blender: what their children are, that runs repeat, that they touch with what sticks out, edits."""

import numpy as np
import pytest
from mathutils import Quaternion

import rigs
from active_ragdoll.core.blender.physics import body_objects, build
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.tools import bone_tools
from active_ragdoll.core.ragdoll.bodies import convex

FRAMES = 30
GAP = 0.01
NAME = "modular_men_Worker.glb"  # without a motion


@pytest.fixture
def rig():
    """He with his main bodies, of which shanks with feet are compounds."""
    rig, _made = rigs.built(NAME, "MAIN")
    rig.last = rig.first + FRAMES
    rigs.set_range(rig.scene, rig.first, rig.last)
    return rig


def compound_parts(obj) -> list:
    return [part for part in obj.active_ragdoll.parts if part.body.rigid_body.collision_shape == "COMPOUND"]


def corners_of(part) -> list:
    """Corners of a compound's pieces where they were made, in their order."""
    return [piece.core()[0] for piece in body_objects.solids_of(part.body)]


@pytest.mark.blender_version
def test_runs_repeat_bit_for_bit_and_pieces_ride_their_bodies(rig):
    """The children's places are read when the world is built anew, before Blender moves them after their bodies."""
    rigs.set_weights(rig.obj)
    runs = []
    for _again in range(2):
        runs.append(rigs.play(rig.scene, rig.first, rig.last, lambda: rigs.bodies(rig.obj)))
        STATE.runs.clear()
    assert np.array_equal(*runs)
    pieces = [p for its in body_objects.pieces_by_body(rig.obj.active_ragdoll).values() for p in its]
    assert len(pieces) == 4
    for piece in pieces:
        body, own = rigs.matrices([piece.parent, piece])
        np.testing.assert_allclose(np.linalg.inv(body) @ own, np.array(piece.matrix_basis), atol=1e-4)


@pytest.mark.blender_version
def test_a_body_falls_on_what_sticks_out():
    """A foot comes to rest on a floor, not in it, also with the ragdoll's collection hidden."""
    rig = rigs.load(NAME)
    scene, obj = rig.scene, rig.obj
    rigs.set_range(scene, rig.first, rig.first + 120)
    chosen = np.array([bone.name == "LowerLeg.L" for bone in obj.pose.bones])
    obj.animation_data_clear()
    rigs.set_weights(obj)
    build.build(obj, scene, chosen)
    (part,) = compound_parts(obj)
    bind = part.bind
    corners = (np.concatenate(corners_of(part)) - part.bind[:3, 3]) @ part.bind[:3, :3] @ np.eye(3, 4) + np.eye(4)[3]
    height = float(np.linalg.norm(rigs.half_extents(part)))
    floor = bind[2, 3] - 3.0 * height
    rigs.box(scene, "Floor", (40 * height, 40 * height, height), (*bind[:2, 3], floor - 0.5 * height), passive=True)
    obj.active_ragdoll.collection.hide_viewport = True
    lowest = rigs.play(scene, rig.first, rig.first + 120, lambda: (corners @ rigs.bodies(obj)[0].T)[:, 2].min())
    assert abs(lowest[-1] - floor) < GAP * height
    assert min(lowest) > floor - 0.1 * height


def assert_same(obj, bone, wanted, tolerance=1e-4) -> None:
    """A body's pieces are those whose corners are given, to a share of the character's height."""
    found = corners_of(rigs.part(obj, bone))
    assert len(found) == len(wanted)
    for a, b in [*zip(found, wanted, strict=True), *zip(wanted, found, strict=True)]:
        hull = convex.hull(a)
        assert (hull.normals @ b.T - hull.offsets[:, None]).max() < tolerance * obj.active_ragdoll.height


def test_edited_bodies_and_pieces_are_kept_mirrored_and_reset(rig):
    obj, part = rig.obj, compound_parts(rig.obj)[0]
    bone, before, size = part.bone, corners_of(part), rigs.half_extents(part)
    part.body.location.x += 0.1
    part.body.rotation_quaternion = Quaternion((0, 0, 1), 0.2) @ part.body.rotation_quaternion
    part.body.scale = (1.0, 1.1, 1.2)
    wanted = corners_of(part)
    for _time in range(2):
        build.rebuild(obj, rig.scene)
    own = obj.pose.bones[bone].active_ragdoll
    assert own.shape_by_user and own.shape == "COMPOUND"
    assert_same(obj, bone, wanted)
    np.testing.assert_allclose(rigs.half_extents(rigs.part(obj, bone)), size * (1.0, 1.1, 1.2), rtol=1e-3)
    part = rigs.part(obj, bone)
    piece = body_objects.pieces_by_body(obj.active_ragdoll)[part.body][1]
    piece.location.x += 0.05
    piece.scale.z = 1.3
    wanted = corners_of(part)
    assert body_objects.collect_edits(obj) == [bone]
    build.rebuild(obj, rig.scene)
    assert_same(obj, bone, wanted)
    body_objects.reset_body(obj, bone)
    own.shape = "AUTO"
    build.rebuild(obj, rig.scene)
    assert_same(obj, bone, before)
    rigs.part(obj, bone).body.scale.z = 1.2
    build.rebuild(obj, rig.scene)
    ((_bone, other),) = bone_tools.mirror(obj, [bone], ["size", "body"])
    build.rebuild(obj, rig.scene)
    volumes = [[p.volume() for p in body_objects.solids_of(rigs.part(obj, name).body)] for name in (bone, other)]
    assert len(volumes[0]) == len(volumes[1]) and sum(volumes[0]) == pytest.approx(sum(volumes[1]), rel=1e-4)
