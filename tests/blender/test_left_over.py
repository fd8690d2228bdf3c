"""Bodies whose character was deleted: told, and one button removes them; Remove and Rebuild sweep them."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, built, remove
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.tools import diagnose
from active_ragdoll.core.ragdoll import diagnosis

LAST = 20

pytestmark = pytest.mark.blender_version


@pytest.fixture
def shot(fresh_scene):
    """A limp chain above a ghost: another, which was deleted by hand. With how the chain falls alone."""
    obj = _character(fresh_scene)
    alone = np.array(rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(obj)))
    scene = rigs.empty_file(24)
    obj = _character(scene)
    ghost = rigs.chain(scene, 3, head=(0.1, 0.0, 0.2))
    ghost.name = "Ghost"
    ghost.active_ragdoll.body_mass = 500.0
    build.build(ghost, scene)
    bpy.data.objects.remove(ghost)
    return scene, obj, alone


def _character(scene):
    scene.frame_start, scene.frame_end = 1, LAST
    rigs.box(scene, "Floor", (9.0, 9.0, 1.0), (0.0, 0.0, -0.5), passive=True)
    obj = rigs.chain(scene, 3, head=(0.0, 0.0, 0.8))
    rigs.set_weights(obj)
    build.build(obj, scene)
    return obj


def _check_alone(scene, obj, alone):
    assert not built.orphans(scene)
    assert not [
        thing.name for things in (bpy.data.objects, bpy.data.collections) for thing in things if "Ghost" in thing.name
    ]
    assert np.abs(np.array(rigs.play(scene, 1, LAST, lambda: rigs.pose(obj))) - alone).max() < 1e-6


def test_it_is_told(shot):
    scene, obj, alone = shot
    assert np.abs(np.array(rigs.play(scene, 1, LAST, lambda: rigs.pose(obj))) - alone).max() > 1e-3
    assert any("'Ghost'" in text for text in STATE.warnings[obj.name])
    found = diagnose.diagnose(obj, scene)[0]
    assert found.kind == diagnosis.LEFT_OVER and "'Ghost'" in found.text


@pytest.mark.parametrize("played", (False, True))
@pytest.mark.parametrize("way", ("button", "finding", "rebuild"))
def test_it_is_removed(shot, way, played):
    scene, obj, alone = shot
    if played:
        list(simulate.frames(scene))
    bpy.context.view_layer.objects.active = obj if way != "button" else None
    if way == "rebuild":
        build.rebuild(obj, scene)
    elif way == "button":
        assert bpy.ops.active_ragdoll.remove(left_over=True) == {"FINISHED"}
    else:
        found = diagnose.diagnose(obj, scene)[0]
        assert getattr(bpy.ops.active_ragdoll, found.operator)(**found.arguments) == {"FINISHED"}
    assert obj.active_ragdoll.is_ragdoll
    _check_alone(scene, obj, alone)
    remove.remove(obj)


def test_remove_sweeps_it_too(shot):
    scene, obj, _alone = shot
    rigs.play(scene, 1, 5)
    remove.remove(obj)
    assert not built.orphans(scene)
    assert {o.name for o in bpy.data.objects} == {obj.name, "Floor"}


def _joined(scene, obj):
    bpy.ops.object.select_all(action="DESELECT")
    other = rigs.chain(scene, 2, head=(3.0, 0.0, 0.8))
    build.build(other, scene)
    obj.select_set(True)
    scene.view_layers[0].objects.active = obj
    bpy.ops.object.join()


def _without_its_collection(scene, obj):
    bpy.data.collections.remove(obj.active_ragdoll.collection)


@pytest.mark.parametrize("simulated", (False, True))
@pytest.mark.parametrize("edit", (_joined, _without_its_collection))
def test_nothing_stays_of_a_ragdoll_that_was_taken_apart(fresh_scene, edit, simulated):
    obj = _character(fresh_scene)
    if simulated:
        list(simulate.frames(fresh_scene))
    edit(fresh_scene, obj)
    rigs.step(fresh_scene, range(1, 6))
    assert np.isfinite([rigs.pose(obj) for _frame in simulate.frames(fresh_scene)]).all()
    remove.remove(obj, fresh_scene)
    assert {o.name for o in bpy.data.objects if o.users_scene} == {obj.name, "Floor"}
    assert not [
        thing for things in (bpy.data.objects, bpy.data.collections) for thing in things if built.is_ours(thing)
    ]
    assert len(bpy.data.scenes) == 1
