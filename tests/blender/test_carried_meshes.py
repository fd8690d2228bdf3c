"""Meshes that hang on a bone as a whole, by parenting or by a Child Of constraint: robots, helmets, swords."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion

import rigs
from active_ragdoll.core.blender.physics import build
from test_shapes import block, skinned

HALF = (0.05, 0.03)  # of the blocks across
WAYS = ("BONE", "RELATIVE", "CHILD_OF", "EMPTY", "MIRROR")


def blocks(scene, name: str, points) -> bpy.types.Object:
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points.tolist(), [], [])
    return rigs.added(scene, name, mesh)


def hang(scene, obj, bone: str, made, way: str = "BONE") -> None:
    """Hang a mesh on a bone so that it keeps the place in the world that it has now."""
    bpy.context.view_layer.update()
    place = made.matrix_world.copy()
    if way == "CHILD_OF":
        by = made.constraints.new("CHILD_OF")
        by.target, by.subtarget = obj, bone
        by.inverse_matrix = (obj.matrix_world @ obj.pose.bones[bone].matrix).inverted()
        return
    held = made
    if way == "EMPTY":
        made.parent = held = rigs.empty(scene, "Between")
    obj.data.bones[bone].use_relative_parent = way == "RELATIVE"
    held.parent, held.parent_type, held.parent_bone = obj, "BONE", bone
    held.location = (0.1, 0.2, 0.0) if way == "EMPTY" else held.location
    bpy.context.view_layer.update()
    made.matrix_world = place


def bodies(obj) -> dict:
    """Shapes in bind pose, by bone."""
    return {part.bone: rigs.solid(part) for part in obj.active_ragdoll.parts}


def robot(scene, way: str, world: Matrix) -> tuple:
    """A human made only of blocks, one in the middle of every bone: (armature, places of the blocks [4, 4])."""
    obj = rigs.human(scene)
    obj.matrix_world = world
    bpy.context.view_layer.update()
    places = {}
    for bone in obj.data.bones:
        x = HALF[0] / 2 if way == "MIRROR" else 0.0  # half of the block is modelled
        made = blocks(scene, f"{bone.name} block", block((HALF[0] - x, HALF[1], 0.3 * bone.length), (x, 0.0, 0.0)))
        if way == "MIRROR":
            made.modifiers.new("Mirror", "MIRROR").use_mirror_merge = False
        along = Quaternion((1.0, 1.0, 0.0, 0.0)).normalized().to_matrix().to_4x4()  # the block's z along the bone's y
        middle = bone.matrix_local @ Matrix.Translation((0.0, 0.5 * bone.length, 0.0)) @ along.inverted()
        made.matrix_world = places[bone.name] = world @ middle
        hang(scene, obj, bone.name, made, way)
    return obj, places


@pytest.mark.parametrize("way", WAYS)
def test_a_character_made_only_of_carried_meshes_gets_bodies_that_fit_them(scene, way):
    """In a pose far from bind pose, and with the armature moved, turned and scaled."""
    world = Matrix.LocRotScale((3.0, -2.0, 0.5), Quaternion((1.0, 0.2, -0.4, 0.7)).normalized(), (2.0, 2.0, 2.0))
    obj, places = robot(scene, way, world)
    for bone in obj.pose.bones:
        bone.rotation_quaternion = Quaternion((1.0, 0.4, 0.1, -0.3)).normalized()
        bone.active_ragdoll.shape = "BOX"
    bpy.context.view_layer.update()
    obj.active_ragdoll.coverage = 1.0
    build.build(obj, scene)
    found = bodies(obj)
    arms = [name for name in found if name.startswith(("arm", "forearm", "shin", "thigh"))]
    assert len(arms) == 8
    for name in arms:  # those far from the others: their boxes were made smaller by nothing
        shape, place = found[name], np.array(places[name])
        half = 2.0 * np.array((HALF[0], HALF[1], 0.3 * obj.data.bones[name].length))
        assert np.sort(shape.half) == pytest.approx(np.sort(half), rel=2e-3), name
        assert shape.center == pytest.approx(place[:3, 3], abs=2e-3), name
        assert abs(shape.axes[:, 2] @ place[:3, 2] / 2.0) == pytest.approx(1.0, abs=1e-3), name


@pytest.mark.blender_version
def test_carried_and_skinned_meshes_count_together(scene):
    """A helmet makes a head's body larger; a hidden one, or one that is a rigid body of its own, does not."""
    obj = rigs.armature(scene, {"A": ((0, 0, 0), (0, 0, 1), None)})
    skinned(scene, obj, "Skin", block((0.1, 0.1, 0.5), (0, 0, 0.5)), {"A": np.ones(216)})
    helmet = blocks(scene, "Helmet", block((0.1, 0.1, 0.1), (0, 0, 1.1)))
    hang(scene, obj, "A", helmet)
    obj.active_ragdoll.coverage = 1.0
    obj.pose.bones["A"].active_ragdoll.shape = "BOX"

    def length():
        build.build(obj, scene)
        (shape,) = bodies(obj).values()
        return 2.0 * float(shape.half.max())

    assert length() == pytest.approx(1.2, rel=1e-3)
    helmet.hide_render = True
    assert length() == pytest.approx(1.0, rel=1e-3)
    helmet.hide_render = False
    rigs.ensure_world(scene)
    scene.rigidbody_world.collection.objects.link(helmet)
    assert length() == pytest.approx(1.0, rel=1e-3)
