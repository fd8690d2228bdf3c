"""The operators as scripts call them."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.runtime import STATE
from arms import ARM

pytestmark = pytest.mark.blender_version
OPERATORS = bpy.ops.active_ragdoll


@pytest.fixture
def arms(arm):
    """Three beside each other, selected, the first one active."""
    found = [arm, rigs.duplicate(arm, 2.0), rigs.duplicate(arm, 4.0)]
    for obj in found:
        obj.select_set(True)
    bpy.context.view_layer.objects.active = arm
    return found


def played(obj, scene) -> np.ndarray:
    """Joints [frames, n, 3] over the scene's range."""
    return np.array(rigs.step(scene, range(scene.frame_start, scene.frame_end + 1), lambda: rigs.pose(obj)[:, :3, 3]))


def test_build_needs_an_armature(fresh_scene):
    assert not OPERATORS.build.poll()
    with pytest.raises(RuntimeError, match="Select the character"):
        OPERATORS.build()


def test_other_operators_need_a_ragdoll(arm):
    for operator in (OPERATORS.remove, OPERATORS.bake, OPERATORS.revert_bake):
        with pytest.raises(RuntimeError, match="Build the ragdoll first"):
            operator()
    with pytest.raises(RuntimeError, match="Build a ragdoll first"):
        OPERATORS.simulate()
    with pytest.raises(RuntimeError, match="Nothing is simulated"):
        OPERATORS.free_cache()


def test_build_of_selected_bones_and_as_chosen_which_brings_an_edited_mass_into_the_body(arm):
    rigs.select(arm, "shoulder", ARM)
    assert OPERATORS.build(bones="SELECTED") == {"FINISHED"} and arm.mode == "POSE"
    assert [part.bone for part in arm.active_ragdoll.parts] == ["shoulder", ARM]
    arm.pose.bones[ARM].active_ragdoll.mass = 7.5
    arm.pose.bones["shoulder"].active_ragdoll.simulate = False
    assert arm.active_ragdoll.layout_changed
    assert OPERATORS.build(bones="KEEP") == {"FINISHED"} and not arm.active_ragdoll.layout_changed
    assert [part.bone for part in arm.active_ragdoll.parts] == [ARM]
    assert rigs.part(arm, ARM).body.rigid_body.mass == 7.5


def test_simulate_another_range_and_back(arm, scene):
    OPERATORS.build()
    OPERATORS.simulate(frame_start=5, frame_end=12)
    own = scene.active_ragdoll
    assert own.use_range and (own.frame_start, own.frame_end) == (5, 12)
    assert scene.rigidbody_world.point_cache.frame_end == 12
    OPERATORS.simulate(frame_start=1, frame_end=30)
    assert not own.use_range
    assert (scene.frame_start, scene.frame_end) == (1, 30)
    with pytest.raises(RuntimeError, match="The frame range 9 to 9 has no frame"):
        OPERATORS.simulate(frame_start=9, frame_end=9)


def test_bake_and_revert(arm, scene):
    old = arm.animation_data.action
    OPERATORS.build()
    arm.active_ragdoll.rotation_weight = 0.3
    OPERATORS.simulate()
    simulated = played(arm, scene)
    assert OPERATORS.free_cache() == {"FINISHED"} and arm.active_ragdoll.state == "READY"
    # The same to single precision: the cache stores places and rotations, a live step shows matrices.
    np.testing.assert_allclose(played(arm, scene), simulated, rtol=0.0, atol=1e-6)
    OPERATORS.simulate(frame_start=1, frame_end=10)  # a shorter cache than what is baked
    assert OPERATORS.bake(frame_start=1, frame_end=30) == {"FINISHED"}
    assert arm.active_ragdoll.state == "BAKED"
    assert arm.animation_data.action != old and old.name in bpy.data.actions
    np.testing.assert_allclose(played(arm, scene), simulated, atol=1e-4 * 1.5)  # 1e-4 of the arm's height
    for operator in (OPERATORS.bake, OPERATORS.build, OPERATORS.simulate):
        with pytest.raises(RuntimeError, match="revert the bake first"):
            operator()
    assert OPERATORS.revert_bake() == {"FINISHED"}
    assert arm.animation_data.action == old
    with pytest.raises(RuntimeError, match="Nothing is baked"):
        OPERATORS.revert_bake()


def test_build_and_remove_take_all_selected_armatures(arms, scene):
    before = len(bpy.data.objects)
    assert OPERATORS.build(bones="ALL") == {"FINISHED"}
    assert all(obj.active_ragdoll.is_ragdoll for obj in arms)
    rigs.step(scene, range(1, 6))
    assert [len(run.characters) for run in STATE.runs.values()] == [3]
    arms[2].select_set(False)
    assert OPERATORS.remove() == {"FINISHED"}
    assert [obj.active_ragdoll.is_ragdoll for obj in arms] == [False, False, True]
    rigs.step(scene, range(6, 9))  # plays on: Bullet must not step with the joints that are gone
    rigs.step(scene, range(1, 6))
    assert [len(run.characters) for run in STATE.runs.values()] == [1]
    bpy.context.view_layer.objects.active = arms[2]
    assert OPERATORS.remove() == {"FINISHED"}
    assert len(bpy.data.objects) == before and scene.rigidbody_world is None


def test_weights_simulate_bake_and_revert_act_on_all_selected_characters(arms, scene):
    actions = [obj.animation_data.action for obj in arms]
    OPERATORS.build(bones="ALL")
    arms[0].active_ragdoll.rotation_weight = arms[0].active_ragdoll.position_weight = 0.0
    assert OPERATORS.copy_weights() == OPERATORS.simulate() == {"FINISHED"}
    simulated = [played(obj, scene) for obj in arms]
    assert all(np.ptp(poses[:, :, 2], axis=0).max() > 0.1 for poses in simulated)  # all of them fall
    assert OPERATORS.bake() == {"FINISHED"}
    for obj, poses in zip(arms, simulated, strict=True):
        assert obj.active_ragdoll.state == "BAKED"
        np.testing.assert_allclose(played(obj, scene), poses, atol=1e-4 * 1.5)
    assert OPERATORS.revert_bake() == {"FINISHED"}
    assert [obj.animation_data.action for obj in arms] == actions
