"""Joints of the user's own, made with Blender's operators: let go before their world is made anew, and never lost."""

import ctypes
import itertools
import sys

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, remove, view_layers, world
from active_ragdoll.core.blender.run import simulate

pytestmark = [pytest.mark.blender_version, pytest.mark.own_process]

LAST, BODIES, HANGING = 16, 48, 12  # frames; bodies in all, and in one chain, whose first one hangs on a bone


M_PERTURB = -6  # of mallopt(3)


@pytest.fixture(autouse=True)
def _freed_memory_is_overwritten():
    """Whoever looks at freed memory crashes, not only now and then."""
    if sys.platform != "linux":
        yield
        return
    ctypes.CDLL(None).mallopt(M_PERTURB, 85)
    yield
    ctypes.CDLL(None).mallopt(M_PERTURB, 0)


@pytest.fixture
def shot(fresh_scene):
    """A swinging human and chains of bodies joined by springs that hang on its bones."""
    obj = rigs.swinging_human(fresh_scene, 1, LAST)
    rigs.set_range(fresh_scene, 1, LAST)
    rigs.ensure_world(fresh_scene)
    links = _chains(fresh_scene, obj)
    yield fresh_scene, obj, links
    if world.IS_42:  # which crashes by itself when a file is loaded over joined bodies
        view_layers.remake_world(fresh_scene, lambda: _part(fresh_scene))


def _part(scene) -> None:
    for joint in scene.rigidbody_world.constraints.all_objects:
        joint.rigid_body_constraint.object1 = None


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
