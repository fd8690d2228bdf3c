"""What Blender's undo leaves pointing to its owner points to what it did, for every pointer of a ragdoll."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, source
from active_ragdoll.core.blender.run import reconcile
from active_ragdoll.core.blender.stack import stack_setup

pytestmark = [pytest.mark.blender_version, pytest.mark.own_process]


@pytest.fixture(params=("WORLD", "JOINT"))
def obj(fresh_scene, request):
    obj = rigs.swinging_human(fresh_scene, 1, 12)
    other = rigs.human(fresh_scene, "Other")
    other.location.x = 5.0
    for each in (obj, other):
        each.active_ragdoll.drive_space = request.param
    build.build_all([obj, other], fresh_scene)
    return obj


def pointers(obj) -> list:
    """(owner, property) of all pointers of a character to objects of its ragdoll."""
    found = [(obj.active_ragdoll, "source")]
    for bone in obj.pose.bones:
        found += [(c, "target") for c in bone.constraints if c.name == source.CONSTRAINT_NAME]
    return found


@pytest.mark.parametrize("several", (False, True))
def test_every_pointer_is_found_again(obj, fresh_scene, several):
    found = pointers(obj)
    assert len(found) == 1 + len(obj.active_ragdoll.parts)
    rng = np.random.default_rng(7)
    groups = [rng.permutation(len(found))[:4] for _ in range(12)] if several else [[i] for i in range(len(found))]
    for group in groups:
        was = [getattr(*found[i]) for i in group]
        for i in group:
            setattr(*found[i], obj)
        reconcile.mend()
        assert [getattr(*found[i]) for i in group] == was, [found[i] for i in group]


def test_a_scene_finds_its_hidden_scene_again(obj, fresh_scene):
    hidden = fresh_scene.active_ragdoll.source
    fresh_scene.active_ragdoll.source = fresh_scene
    reconcile.mend()
    assert fresh_scene.active_ragdoll.source == hidden


def test_a_mended_ragdoll_plays_as_before(obj, fresh_scene):
    before = rigs.play(fresh_scene, 1, 12, lambda: rigs.pose(obj))
    for owner, name in pointers(obj)[::3]:
        setattr(owner, name, obj)
    fresh_scene.active_ragdoll.source = fresh_scene
    reconcile.mend()
    bpy.context.view_layer.update()
    fresh_scene.frame_set(20)
    assert np.array_equal(rigs.play(fresh_scene, 1, 12, lambda: rigs.pose(obj)), before)


def test_what_is_right_is_left_alone(obj, fresh_scene):
    found = pointers(obj)
    was = [getattr(*each) for each in found]
    reconcile.mend()
    assert [getattr(*each) for each in found] == was


@pytest.mark.parametrize("stack", (False, True))
def test_bones_that_follow_and_a_motion_stack(fresh_scene, stack):
    obj = rigs.swinging_human(fresh_scene, 1, 12)
    obj.pose.bones["finger.L"].constraints.new("COPY_SCALE").target = obj
    if stack:
        stack_setup.ensure(obj, fresh_scene)
    build.build(obj, fresh_scene, np.array([not bone.name.startswith("finger") for bone in obj.data.bones]))
    settings = obj.active_ragdoll
    before = rigs.play(fresh_scene, 1, 12, lambda: rigs.pose(obj))
    was = settings.source
    follower = settings.physics_armature.pose.bones["finger.L"].constraints.get(source.FOLLOWER_NAME)
    assert (follower is None) == stack
    settings.source = obj
    if stack:
        for bone in obj.pose.bones:
            bone.constraints[source.TARGET_NAME].target = obj
    else:
        follower.target = settings.physics_armature
    reconcile.mend()
    assert settings.source == was
    if stack:
        assert {bone.constraints[source.TARGET_NAME].target for bone in obj.pose.bones} == {settings.target_armature}
    assert stack or (follower.target, follower.subtarget) == (was, "finger.L")
    fresh_scene.frame_set(20)
    assert np.array_equal(rigs.play(fresh_scene, 1, 12, lambda: rigs.pose(obj)), before)
