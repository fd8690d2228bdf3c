"""Compounds in Blender: what their children are, that runs repeat, that they touch with what sticks out, edits."""

import bpy
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


def local_corners(part) -> np.ndarray:
    """Those of all pieces in the body's frame [k, 3]."""
    return (np.concatenate(corners_of(part)) - part.bind[:3, 3]) @ part.bind[:3, :3]


@pytest.mark.blender_version
def test_runs_repeat_bit_for_bit_wherever_the_last_one_ended(rig):
    """The children's places are read when the world is built anew, before Blender moves them after their bodies."""
    rigs.set_weights(rig.obj)
    runs = []
    for _again in range(3):
        runs.append(rigs.play(rig.scene, rig.first, rig.last, lambda: rigs.bodies(rig.obj)))
        STATE.runs.clear()
    assert np.array_equal(runs, runs[:1] * 3)


@pytest.mark.blender_version
def test_children_ride_their_bodies_and_are_not_simulated_themselves(rig):
    rigs.set_weights(rig.obj)
    rigs.play(rig.scene, rig.first, rig.last)
    pieces = body_objects.pieces_of(rig.obj.active_ragdoll)
    assert len(pieces) == 4
    for piece in pieces:
        body, own = rigs.matrices([piece.parent, piece])
        np.testing.assert_allclose(np.linalg.inv(body) @ own, np.array(piece.matrix_basis), atol=1e-4)


@pytest.mark.blender_version
@pytest.mark.parametrize("hidden", (False, True))
def test_a_body_falls_on_what_sticks_out(hidden):
    """A foot comes to rest on a floor, not in it, and the gap above the instep is none: part of the floor fits there.

    With the ragdoll's collection hidden, too.
    """
    rig = rigs.load(NAME)
    scene, obj = rig.scene, rig.obj
    rigs.set_range(scene, rig.first, rig.first + 120)
    chosen = np.array([bone.name == "LowerLeg.L" for bone in obj.pose.bones])
    obj.animation_data_clear()
    rigs.set_weights(obj)
    build.build(obj, scene, chosen)
    (part,) = compound_parts(obj)
    bind = part.bind
    corners = local_corners(part) @ np.eye(3, 4) + np.eye(4)[3]
    height = float(np.linalg.norm(rigs.half_extents(part)))
    floor = bind[2, 3] - 3.0 * height
    rigs.box(scene, "Floor", (40 * height, 40 * height, height), (*bind[:2, 3], floor - 0.5 * height), passive=True)
    obj.active_ragdoll.collection.hide_viewport = hidden
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


def test_a_compound_that_is_moved_turned_and_scaled_keeps_its_pieces_and_reset_brings_it_back(rig):
    part = compound_parts(rig.obj)[0]
    bone, before = part.bone, corners_of(part)
    size = rigs.half_extents(part)
    part.body.location.x += 0.1
    part.body.rotation_quaternion = Quaternion((0, 0, 1), 0.2) @ part.body.rotation_quaternion
    part.body.scale = (1.0, 1.1, 1.2)
    wanted = corners_of(part)
    for _time in range(2):
        build.rebuild(rig.obj, rig.scene)
    own = rig.obj.pose.bones[bone].active_ragdoll
    assert own.shape_by_user and own.shape == "COMPOUND"
    assert_same(rig.obj, bone, wanted)
    np.testing.assert_allclose(rigs.half_extents(rigs.part(rig.obj, bone)), size * (1.0, 1.1, 1.2), rtol=1e-3)
    body_objects.reset_body(rig.obj, bone)
    own.shape = "AUTO"
    build.rebuild(rig.obj, rig.scene)
    assert_same(rig.obj, bone, before)


def test_a_piece_that_is_moved_is_kept_and_the_others_stay(rig):
    part = compound_parts(rig.obj)[0]
    bone = part.bone
    piece = body_objects.pieces_by_body(rig.obj.active_ragdoll)[part.body][1]
    piece.location.x += 0.05
    piece.scale.z = 1.3
    wanted = corners_of(part)
    assert body_objects.collect_edits(rig.obj) == [bone]
    build.rebuild(rig.obj, rig.scene)
    assert_same(rig.obj, bone, wanted)
    assert body_objects.collect_edits(rig.obj) == []
    rigs.play(rig.scene, rig.first, rig.first + 3)
    bpy.context.view_layer.objects.active = rig.obj
    pairs = bone_tools.mirror(rig.obj, [bone], ["size", "body"])
    build.rebuild(rig.obj, rig.scene)
    ((_bone, other),) = pairs
    mine, its = (body_objects.solids_of(rigs.part(rig.obj, name).body) for name in (bone, other))
    assert len(mine) == len(its)
    assert sum(p.volume() for p in mine) == pytest.approx(sum(p.volume() for p in its), rel=1e-4)
