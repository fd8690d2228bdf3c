"""Bodies fitted to the mesh: what they cover, margins; main bodies are few, and all moves with them."""

import math

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.anatomy.roles import HELPER
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.rig import armature, skinning
from own_characters import TABLES, or_own

NEAR = 0.01  # of the height


@pytest.fixture(scope="module", params=(*or_own("Knight.glb", "animals_pack_Horse.glb", own=()), *TABLES))
def rig(request):
    """A rig with its ragdoll; the file stays loaded while its tests run."""
    return rigs.built(request.param)[0]


def _points(part) -> np.ndarray:
    flat = np.empty(3 * len(part.body.data.vertices), dtype=np.float32)
    part.body.data.vertices.foreach_get("co", flat)
    return flat.reshape(-1, 3).astype(float)


def _shapes(obj) -> list:
    """The bodies in bind pose, as the objects in the file have them."""
    return [rigs.solid(part) for part in obj.active_ragdoll.parts]


def _read(obj):
    world = np.array(obj.matrix_world)
    pose = armature.BindPose(obj, world)
    return pose, skinning.read_skin(obj, pose, world, armature.prop_bones(obj, armature.anatomy_of(obj)))


def _joined(obj) -> np.ndarray:
    parts = list(obj.active_ragdoll.parts)
    row = {part.bone: i for i, part in enumerate(parts)}
    joined = np.eye(len(parts), dtype=bool)
    for i, part in enumerate(parts):
        if part.parent:
            joined[i, row[part.parent]] = joined[row[part.parent], i] = True
    return joined


def test_bodies_that_are_not_joined_do_not_stand_in_each_other(rig):
    """By points inside, not by the way in which the depths were found: a grid of them in every body."""
    shapes, joined = _shapes(rig.obj), _joined(rig.obj)
    height = rig.obj.active_ragdoll.height
    line = np.linspace(-1.0, 1.0, 13)
    grid = np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3)
    centers, reach = np.array([s.center for s in shapes]), np.array([np.linalg.norm(s.half) for s in shapes])
    near = np.linalg.norm(centers[:, None] - centers, axis=-1) < reach[:, None] + reach
    for i, shape in enumerate(shapes):
        points = shape.center + (grid * shape.half) @ shape.axes.T
        points = points[shape.distance(points) <= 0.0]
        for k, other in enumerate(shapes):
            if near[i, k] and not joined[i, k]:
                assert other.distance(points).min() > -1e-4 * height, (
                    f"{rig.obj.active_ragdoll.parts[i].bone} stands in {rig.obj.active_ragdoll.parts[k].bone}"
                )


def test_the_mesh_is_covered(rig):
    _pose, skin = _read(rig.obj)
    if skin is None:
        pytest.skip("the character has no mesh")
    held = skin.points[np.unique(skin.vertex)]
    distance = np.min([shape.distance(held) for shape in _shapes(rig.obj)], axis=0)
    assert np.mean(distance <= NEAR * rig.obj.active_ragdoll.height) >= 0.9


def skinned(scene, obj, name: str, points, weights: dict, faces=()) -> bpy.types.Object:
    """A mesh of points with vertex groups ``{bone: weights [k]}`` that the armature deforms."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(np.asarray(points).tolist(), [], list(faces))
    made = rigs.added(scene, name, mesh)
    for bone, values in weights.items():
        group = made.vertex_groups.new(name=bone)
        for index, value in enumerate(values):
            if value > 0.0:
                group.add([index], float(value), "REPLACE")
    made.modifiers.new("Armature", "ARMATURE").object = obj
    bpy.context.view_layer.update()
    return made


def block(half=(0.1, 0.05, 0.2), center=(0.0, 0.0, 0.0)) -> np.ndarray:
    """A grid of points [216, 3] in a box."""
    line = np.linspace(-1.0, 1.0, 6)
    return np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3) * half + center


def one_bone(scene, size: float = 1.0) -> bpy.types.Object:
    return rigs.armature(scene, {"A": ((0, 0, 0), (0, 0, size), None)}, "One")


def _only_part(obj):
    (part,) = obj.active_ragdoll.parts
    return part


@pytest.mark.blender_version
def test_bodies_are_fitted_in_bind_pose_with_shape_keys_and_modifiers_before_the_armature(scene):
    """Only the left half is modelled, a shape key makes it twice as high, and the pose is far from bind pose."""
    obj = one_bone(scene)
    made = skinned(scene, obj, "Half", block((0.1, 0.05, 0.2), (0.1, 0, 0)), {"A": np.ones(216)})
    made.shape_key_add(name="Basis")
    key = made.shape_key_add(name="High")
    for point in key.data:
        point.co.z *= 2.0
    key.value = 1.0
    mirror = made.modifiers.new("Mirror", "MIRROR")
    made.modifiers.move(len(made.modifiers) - 1, 0)
    mirror.use_mirror_merge = False
    obj.pose.bones["A"].rotation_quaternion = (math.cos(0.6), math.sin(0.6), 0.0, 0.0)
    bpy.context.view_layer.update()
    obj.active_ragdoll.coverage = 1.0
    before = rigs.counts()
    build.build(obj, scene)
    (shape,) = _shapes(obj)
    assert sorted(shape.half) == pytest.approx([0.05, 0.2, 0.4], rel=1e-3)
    assert shape.center == pytest.approx((0.0, 0.0, 0.0), abs=1e-4)
    remove.remove(obj)
    assert rigs.counts()["meshes"] == before["meshes"] and rigs.counts()["scenes"] == before["scenes"]


@pytest.mark.blender_version
@pytest.mark.parametrize(("kind", "size"), (("BOX", 18.0), ("CONVEX_HULL", 0.18)))
def test_a_resting_body_touches_the_floor(scene, kind, size):
    """Limp and lying: the gap below the lowest corner is under a thousandth of the size at every size."""
    rigs.set_range(scene, 1, 90)
    obj = one_bone(scene, size)
    cloud = np.random.default_rng(0).uniform(-1.0, 1.0, size=(400, 3)) * (0.2, 0.06, 0.5) * size + (0, 0, size / 2)
    skinned(scene, obj, "Cloud", cloud, {"A": np.ones(400)})
    obj.pose.bones["A"].active_ragdoll.shape = kind
    obj.rotation_euler = (math.pi / 2.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    rigs.ensure_world(scene)
    rigs.set_weights(obj)
    build.build(obj, scene)
    points = np.pad(_points(_only_part(obj)), ((0, 0), (0, 1)), constant_values=1.0)

    def lowest(matrix):
        return float((points @ matrix.T)[:, 2].min())

    floor = lowest(np.array(_only_part(obj).bind).reshape(4, 4)) - 0.02 * size
    rigs.box(scene, "Floor", (20 * size, 20 * size, size), (0, 0, floor - 0.5 * size), passive=True)
    gaps = rigs.play(scene, 1, 90, lambda: lowest(rigs.bodies(obj)[0]) - floor)
    assert abs(gaps[-1]) <= 1e-3 * size
    assert np.ptp(gaps[-20:]) <= 1e-3 * size, "it rests"


FRAMES = 30


@pytest.mark.parametrize("name", (*or_own("animals_pack_Horse.glb", "arnaud.fbx", own=()), *TABLES))
def test_all_that_deforms_moves_with_a_limp_body(name):
    """Nothing stays at the animation when the character falls: fingers, toes, hooves on controls of their own."""
    rig = rigs.load(name, FRAMES)
    last, anatomy = rig.last, armature.anatomy_of(rig.obj)
    ending = rigs.animation(rig.obj, (last,))[last]
    rig = rigs.built(name, "MAIN", FRAMES)[0]
    rigs.set_weights(rig.obj)
    shown = rigs.play(rig.scene, rig.first, rig.last, lambda: rigs.pose(rig.obj))[-1]
    fall = 0.5 * rig.scene.gravity.length * ((rig.last - rig.first) / rigs.FPS) ** 2
    lower = (ending - shown)[:, 2, 3]
    skinned = {group.name for obj in bpy.data.objects if obj.type == "MESH" for group in obj.vertex_groups}
    for i, bone in enumerate(rig.obj.data.bones):
        if bone.use_deform and (bone.name in skinned or not skinned) and anatomy.roles[i] != HELPER:
            assert lower[i] > 0.3 * fall, bone.name
