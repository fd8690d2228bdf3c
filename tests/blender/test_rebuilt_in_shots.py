"""Ragdolls built anew, removed one by one, and undone in mid-shot beside others and joints of the user's own.

Joints that were made in a world that is no more must hold no bodies, and a world no joints that are no more: a crash
ends the process."""

import itertools

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, remove, source, view_layers, world
from active_ragdoll.core.blender.run import reconcile, simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import effects

pytestmark = [pytest.mark.blender_version, pytest.mark.own_process]
LAST, MIDDLE = 12, 6


@pytest.fixture
def pair(fresh_scene):
    """Two swinging humans with ragdolls, with an undo step, in mid-shot."""
    for name, place in (("One", 0.0), ("Other", 4.0)):
        obj = rigs.human(fresh_scene, name)
        obj.location.x = place
        rigs.swing(obj, 1, LAST)
        build.build(obj, fresh_scene)
    rigs.set_range(fresh_scene, 1, LAST)
    rigs.play(fresh_scene, 1, MIDDLE)
    return fresh_scene


@pytest.mark.parametrize("change", (build.rebuild, remove.remove))
def test_undo_after_one_of_two_was_changed_in_mid_shot(pair, change):
    for _turn in range(3):
        bpy.ops.ed.undo_push(message="before")
        change(bpy.data.objects["Other"], bpy.context.scene)
        bpy.ops.ed.undo_push(message="changed")
        bpy.data.objects["One"].active_ragdoll.rotation_weight = 0.5
        bpy.ops.ed.undo_push(message="edited")
        for _step in range(2):
            bpy.ops.ed.undo()
            bpy.context.view_layer.update()
        scene = bpy.context.scene
        assert all(bpy.data.objects[name].active_ragdoll.is_ragdoll for name in ("One", "Other"))
        rigs.step(scene, range(1, MIDDLE + 1))
        assert not STATE.messages and len(STATE.runs[scene.name].characters) == 2
        for name in ("One", "Other"):
            assert np.isfinite(rigs.pose(bpy.data.objects[name])).all()


def test_undo_while_another_scene_is_shown_than_the_one_that_played(fresh_scene):
    rigs.box(fresh_scene, "Floor", (20.0, 20.0, 1.0), (0.0, 0.0, -0.5), passive=True)
    rigs.ragdoll(fresh_scene, LAST)
    rigs.play(fresh_scene, 1, 3)
    bpy.ops.ed.undo_push(message="played")
    bpy.ops.scene.new(type="NEW")
    for name in ("Floor", "Human"):
        bpy.ops.ed.undo_push(message="before")
        bpy.data.objects[name].name = "Renamed"
    bpy.ops.ed.undo_push(message="renamed")
    bpy.ops.ed.undo()
    assert rigs.play(bpy.data.scenes["Scene"], 1, 3, lambda: STATE.runs["Scene"].frame) == [1, 2, 3]


@pytest.mark.parametrize("change", (build.rebuild, remove.remove))
def test_the_frames_after_such_a_change_show_the_animation(pair, change):
    """Nothing steps any more before the shot begins anew, and then all goes on."""
    one, graph = bpy.data.objects["One"], bpy.context.view_layer.depsgraph
    for is_kept in (False, True):  # which a copy has not that was made anew: only what a run has shown needs that
        one.active_ragdoll.physics_armature.evaluated_get(graph).show_in_front = True
        change(bpy.data.objects["Other"], pair)
        bpy.context.view_layer.update()
        assert one.active_ragdoll.physics_armature.evaluated_get(graph).show_in_front == is_kept
    posed = rigs.step(pair, range(MIDDLE + 1, LAST + 1), lambda: rigs.pose(one))[-1]
    pair.active_ragdoll.source.frame_set(LAST)
    played = source.evaluated(one)
    assert np.abs(posed - [np.array(played.matrix_world @ bone.matrix) for bone in played.pose.bones]).max() < 1e-4
    assert rigs.play(pair, 1, LAST, lambda: STATE.runs[pair.name].frame) == list(range(1, LAST + 1))


def test_joints_that_come_and_go_between_two_shots(pair):
    """A baked cache, one built anew, and helpers of a hit on the other: the world is made with other joints."""
    list(simulate.frames(pair))
    pair.frame_set(LAST + 3)
    copy = bpy.data.objects["Other"].copy()
    pair.collection.objects.link(copy)
    build.rebuild(bpy.data.objects["Other"], pair)
    effects.add_hit(bpy.data.objects["One"], pair, "head", 3, (0.0, 20.0, 0.0))
    rigs.play(pair, 1, LAST)
    remove.remove(copy, pair)
    rigs.play(pair, 1, LAST)
    assert len(STATE.runs[pair.name].characters) == 2


@pytest.mark.parametrize("frames", (0, 1, 8))
def test_the_rest_plays_on(scene, frames):
    """Of four characters, whatever was played between two removals."""
    humans = [rigs.swinging_human(scene, 1, 20)]
    rigs.set_weights(humans[0], 0.3)
    humans += [humans[0].copy() for _other in range(3)]
    for i, other in enumerate(humans[1:], 1):
        other.location.x = 3.0 * i
        scene.collection.objects.link(other)
    list(build.build_each(humans, scene))
    rigs.play(scene, 1, 10)
    for other in humans[:-1]:
        remove.remove(other)
        rigs.play(scene, 1, frames)
        if frames == 0:
            bpy.context.view_layer.update()
    last = humans[-1]
    found = rigs.play(scene, 1, 10, lambda: rigs.pose(last))
    assert last.active_ragdoll.state == "LIVE"
    assert len(list(simulate.frames(scene))) == 20
    remove.remove(last)
    assert scene.rigidbody_world is None
    rigs.step(scene, (1, 2, 3))
    assert np.abs(found[-1] - found[0]).max() > 0.01
    build.build(last, scene)
    assert np.array_equal(found, rigs.play(scene, 1, 10, lambda: rigs.pose(last)))


def test_undo_where_blender_filled_a_freed_world_by_itself(fresh_scene):
    """Between two frames, without a run of ours: the joints' copies look at bodies that the undo frees."""
    build.build(rigs.swinging_human(fresh_scene, 1, LAST), fresh_scene)
    steps = (
        lambda: list(simulate.frames(bpy.context.scene)),
        lambda: bpy.context.scene.frame_set(LAST - 1, subframe=0.5),
        bpy.ops.active_ragdoll.free_cache,
        lambda: bpy.context.scene.frame_set(LAST),
    )
    for _turn in range(3):
        for step in steps:
            bpy.ops.ed.undo_push(message="step")
            step()
        for _step in steps[1:]:
            bpy.ops.ed.undo()
        rigs.play(bpy.context.scene, 1, LAST)
        assert not STATE.messages and STATE.runs[bpy.context.scene.name].frame == LAST


def test_every_pointer_is_found_again_and_it_plays_as_before(fresh_scene):
    """Undo may leave pointers at the wrong object."""
    obj, other = rigs.swinging_human(fresh_scene, 1, 12), rigs.human(fresh_scene, "Other")
    other.location.x = 5.0
    list(build.build_each([obj, other], fresh_scene))
    before = rigs.play(fresh_scene, 1, 12, lambda: rigs.pose(obj))
    found = [(c, "target") for bone in obj.pose.bones for c in bone.constraints if c.name == source.CONSTRAINT_NAME]
    assert len(found) == len(obj.active_ragdoll.parts)
    for group in (found[:1], found[1::3], found[-1:], found):
        was = [getattr(*pointer) for pointer in group]
        for pointer in group:
            setattr(*pointer, obj)
        reconcile.mend()
        assert [getattr(*pointer) for pointer in group] == was
    fresh_scene.active_ragdoll.source = fresh_scene
    reconcile.mend()
    assert np.array_equal(rigs.play(fresh_scene, 1, 12, lambda: rigs.pose(obj)), before)


BODIES, HANGING = 48, 12  # bodies in all, and in one chain, whose first one hangs on a bone


@pytest.fixture
def shot(fresh_scene):
    """A swinging human and chains of bodies joined by springs that hang on its bones."""
    obj = rigs.swinging_human(fresh_scene, 1, LAST)
    rigs.ensure_world(fresh_scene)
    yield fresh_scene, obj, _chains(fresh_scene, obj)
    if world.IS_42:  # which crashes by itself when a file is loaded over joined bodies
        joints = [joint.rigid_body_constraint for joint in fresh_scene.rigidbody_world.constraints.all_objects]
        view_layers.remake_world(fresh_scene, lambda: [setattr(joint, "object1", None) for joint in joints])


def _chains(scene, obj) -> list:
    made = []
    for i in range(BODIES):
        place = (2.0 + 0.12 * (i % HANGING), 0.5 * (i // HANGING), 3.0)
        made.append(rigs.box(scene, f"Link{i}", (0.1, 0.1, 0.1), place, kinematic=i % HANGING == 0))
        if i % HANGING == 0:
            made[-1].parent, made[-1].parent_type, made[-1].parent_bone = obj, "BONE", obj.pose.bones[i // HANGING].name
    for first, second in itertools.pairwise(made):
        joint = rigs.empty(scene, "Joint", first.location)
        bpy.context.view_layer.objects.active = joint
        bpy.ops.rigidbody.constraint_add(type="GENERIC_SPRING")
        joint.rigid_body_constraint.object1, joint.rigid_body_constraint.object2 = first, second
    return made


def _fall(scene, links) -> np.ndarray:
    """Where the links are at every frame [f, n, 4, 4]."""
    return np.array(rigs.step(scene, range(1, LAST + 1), lambda: rigs.matrices(links)))


def _joints(scene) -> list:
    joints = [o.rigid_body_constraint for o in scene.rigidbody_world.constraints.all_objects]
    return [(joint.type, joint.object1, joint.object2) for joint in joints]


def test_the_user_s_joints_act_as_before_when_the_ragdoll_is_gone(shot):
    scene, obj, links = shot
    plain, joints = _fall(scene, links), _joints(scene)
    for _turn in range(2):
        build.build(obj, scene)
        list(simulate.frames(scene))
        remove.remove(obj, scene)
        assert np.array_equal(_fall(scene, links), plain)
        build.build(obj, scene)
        remove.remove(obj, scene)
        assert np.array_equal(_fall(scene, links), plain) and _joints(scene) == joints
