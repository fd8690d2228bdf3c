"""Everything else in the scene moves as in plain Blender, meets the character, and keeps its cache."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.errors import RagdollError

pytestmark = pytest.mark.blender_version

LENGTH = 40


def _scene(first):
    scene = rigs.empty_file(24)
    rigs.set_range(scene, max(first, 0), first + LENGTH)  # Blender's own range does not begin below 0
    simulate.use_range(scene, first, first + LENGTH)
    return scene


def _props(scene, first):
    """A floor, a falling crate that tumbles over an edge, a kinematic prop that pushes another crate."""
    rigs.box(scene, "Floor", (20, 20, 1), (0, 0, -0.5), passive=True)
    rigs.box(scene, "Step", (0.4, 2, 0.4), (5.2, 0, 0.2), passive=True)
    falling = rigs.box(scene, "Falling", (0.3, 0.5, 0.4), (5, 0, 2.5))
    falling.rotation_euler = (0.3, 0.2, 0.1)
    pushed = rigs.box(scene, "Pushed", (0.3, 0.3, 0.3), (5, 4, 0.15))
    pusher = rigs.box(scene, "Pusher", (0.3, 0.3, 0.3), (4, 4, 0.2), passive=True, kinematic=True)
    rigs.key_locations(pusher, {first: (4.2, 4, 0.2), first + 30: (5.6, 4, 0.2)})
    cache = scene.rigidbody_world.point_cache
    cache.frame_start, cache.frame_end = first, first + LENGTH
    return [falling, pushed, pusher]


@pytest.mark.parametrize(
    ("first", "way"), ((1, "live"), (1, "simulate"), (0, "simulate"), (-20, "live"), (-20, "simulate"), (101, "live"))
)
def test_props_move_exactly_as_without_the_character(fresh_scene, first, way):
    scene = _scene(first)
    props = _props(scene, first)
    plain = np.array(rigs.play(scene, first, first + LENGTH, lambda: rigs.matrices(props)))
    assert np.abs(plain[-1] - plain[0])[:, :3, 3].max() > 0.5

    scene = _scene(first)
    obj = rigs.human(scene)
    rigs.swing(obj, first, first + LENGTH)
    props = _props(scene, first)
    build.build(obj, scene)
    obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 0.3
    if way == "live":
        found = np.array(rigs.play(scene, first, first + LENGTH, lambda: rigs.matrices(props)))
    else:
        found = np.array([rigs.matrices(props) for _frame in simulate.frames(scene)])
    assert found.shape == plain.shape
    falling, pushed, pusher = np.abs(found - plain).max(axis=(0, 2, 3))
    assert falling < 1e-6 and pusher < 1e-6
    # Bullet solves several touching contacts in the order of its pairs, which any other body in the scene changes:
    # 30 crates far away make 2 mm here in plain Blender.
    assert pushed < 5e-3


def test_nothing_is_touched_before_the_first_frame(fresh_scene):
    """A crate stands where the arm is in bind pose, but not in the shot, whose first pose has the arms down."""

    def run(with_character):
        scene = _scene(1)
        rigs.box(scene, "Floor", (20, 20, 1), (0, 0, -0.5), passive=True)
        shelf = rigs.box(scene, "Shelf", (0.2, 0.2, 1.3), (0.7, 0, 0.65), passive=True)
        crate = rigs.box(scene, "Crate", (0.18, 0.18, 0.18), (0.7, 0, 1.39))
        scene.rigidbody_world.point_cache.frame_start = 1
        if with_character:
            obj = rigs.human(scene)
            for side, sign in (("L", 1), ("R", -1)):
                bone = obj.pose.bones[f"arm.{side}"]
                axis = np.array(bone.bone.matrix_local)[1, :3]  # the world's Y in the bone's frame
                from mathutils import Quaternion

                for frame in range(-3, 42):
                    bone.rotation_quaternion = Quaternion(axis.tolist(), sign * 1.35)
                    bone.keyframe_insert("rotation_quaternion", frame=frame)
            scene.frame_set(1)
            tip = rigs.pose(obj)[[b.name for b in obj.pose.bones].index("finger.L"), :3, 3]
            assert tip[2] < 1.0 and tip[0] < 0.5, "the arm hangs down"
            obj.active_ragdoll.self_collision = False
            build.build(obj, scene)
        return np.array(rigs.play(scene, 1, 20, lambda: rigs.matrices([crate, shelf])))

    plain, found = run(False), run(True)
    assert np.abs(found - plain).max() < 1e-6


def test_a_users_baked_cache_is_refused_and_kept(fresh_scene):
    scene = _scene(1)
    props = _props(scene, 1)
    cache = scene.rigidbody_world.point_cache
    with bpy.context.temp_override(scene=scene, point_cache=cache):
        bpy.ops.ptcache.bake(bake=True)
    assert cache.is_baked
    scene.frame_set(30)
    baked = rigs.matrices(props)
    obj = rigs.human(scene)
    counts = rigs.counts()
    with pytest.raises(RagdollError, match="baked"):
        build.build(obj, scene)
    assert scene.rigidbody_world.point_cache.is_baked
    assert rigs.counts() == counts
    scene.frame_set(3)
    scene.frame_set(30)
    assert np.array_equal(rigs.matrices(props), baked)


def test_a_cache_that_the_user_bakes_later_is_kept_too(fresh_scene):
    scene = _scene(1)
    obj = rigs.human(scene)
    rigs.swing(obj, 1, 1 + LENGTH)
    build.build(obj, scene)
    rigs.play(scene, 1, 10)
    cache = scene.rigidbody_world.point_cache
    with bpy.context.temp_override(scene=scene, point_cache=cache):
        bpy.ops.ptcache.bake_from_cache()
    assert cache.is_baked
    with pytest.raises(RagdollError, match="baked"):
        list(simulate.frames(scene))
    with pytest.raises(RagdollError, match="baked"):
        build.build(obj, scene)
    assert scene.rigidbody_world.point_cache.is_baked
    assert obj.active_ragdoll.is_ragdoll


def test_the_users_range_comes_back(fresh_scene):
    scene = _scene(1)
    props = _props(scene, 1)
    cache = scene.rigidbody_world.point_cache
    cache.frame_start, cache.frame_end = 5, 77
    obj = rigs.human(scene)
    rigs.swing(obj, 1, 1 + LENGTH)
    build.build(obj, scene)
    rigs.play(scene, 1, 6)
    remove.remove(obj)
    cache = scene.rigidbody_world.point_cache
    assert (cache.frame_start, cache.frame_end) == (5, 77)
    assert all(prop.rigid_body is not None for prop in props)


def test_props_are_the_same_again_after_remove(fresh_scene):
    """Every setting of the scene's own rigid bodies and of its world, and how they fall."""
    scene = _scene(1)
    props = _props(scene, 1)
    world = scene.rigidbody_world
    world.time_scale, world.solver_iterations, world.effector_weights.gravity = 1.25, 17, 0.5
    plain = np.array(rigs.play(scene, 1, 1 + LENGTH, lambda: rigs.matrices(props)))
    before = [_settings(prop.rigid_body) for prop in props]
    obj = rigs.human(scene)
    rigs.swing(obj, 1, 1 + LENGTH)
    build.build(obj, scene)
    list(simulate.frames(scene))
    remove.remove(obj)
    world = scene.rigidbody_world
    assert (world.time_scale, world.solver_iterations, world.effector_weights.gravity) == (1.25, 17, 0.5)
    assert [_settings(prop.rigid_body) for prop in props] == before
    scene.frame_set(1)
    again = np.array(rigs.play(scene, 1, 1 + LENGTH, lambda: rigs.matrices(props)))
    assert np.abs(again - plain).max(axis=(0, 2, 3)) == pytest.approx(0.0, abs=1e-6)


def _settings(group) -> dict:
    names = [p.identifier for p in group.bl_rna.properties if p.identifier != "rna_type"]
    values = {name: getattr(group, name) for name in names}
    return {k: list(v) if hasattr(v, "__len__") and not isinstance(v, str) else v for k, v in values.items()}
