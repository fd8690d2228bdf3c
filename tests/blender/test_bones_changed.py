"""Bones that are added, removed or renamed by hand in mid-shot."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from refusals import refuses

pytestmark = [pytest.mark.blender_version, pytest.mark.own_process]

RENAMES = pytest.mark.skipif(bpy.app.version < (4, 3, 0), reason="4.2 crashes: its bodies look at joints that are gone")


@pytest.fixture
def shot(fresh_scene):
    return fresh_scene, rigs.ragdoll(fresh_scene, 30)


def _rename_at_once(obj):
    """As by a script: the next frame is the first that Blender evaluates after it."""
    obj.data.bones["head"].name = "skull"


def _rename(obj):
    _rename_at_once(obj)
    bpy.context.view_layer.update()


def _remove(obj):
    rigs.edit(obj, lambda bones: bones.remove(bones["finger.L"]))


@pytest.mark.parametrize("change", (*(pytest.param(way, marks=RENAMES) for way in (_rename, _rename_at_once)), _remove))
def test_the_run_ends_with_the_characters_name_and_blender_goes_on(shot, change):
    """Without stopping its world, Blender crashes on the step after a renaming."""
    scene, obj = shot
    rigs.play(scene, 1, 15)
    change(obj)
    rigs.step(scene, range(16, 25))
    assert "'Human'" in STATE.messages[scene.name] and "Bones" in STATE.messages[scene.name]
    assert np.isfinite(rigs.pose(obj)).all()


@RENAMES
def test_after_a_simulation_its_frames_stay(shot):
    scene, obj = shot
    shown = {frame: rigs.pose(obj) for frame in simulate.frames(scene)}
    _rename(obj)
    assert np.isfinite(rigs.step(scene, (20, 5, 30), lambda: rigs.pose(obj))).all()
    refuses("'head' of 'Human' is gone or renamed", list, simulate.frames(scene))
    obj.data.bones["skull"].name = "head"
    assert np.abs({frame: rigs.pose(obj) for frame in simulate.frames(scene)}[30] - shown[30]).max() < 1e-5


def _set_joints(path: str, value, updated: bool = False):
    """Without an update as by a script that goes on at once."""

    def edit(scene, obj):
        for joint in list(scene.rigidbody_world.constraints.all_objects)[:6]:
            group, _, name = path.rpartition(".")
            setattr(joint.path_resolve(group) if group else joint, name, value)
        if updated:
            bpy.context.view_layer.update()

    return edit


EDITS = (
    lambda _, obj: [setattr(h, "name", f"x{i}") for i, h in enumerate(list(obj.active_ragdoll.collection.all_objects))],
    _set_joints("rigid_body_constraint.breaking_threshold", 5.0, updated=True),
    _set_joints("rigid_body_constraint.type", "POINT"),
    _set_joints("rigid_body_constraint.object1", None),
    _set_joints("hide_viewport", True),
    lambda scene, obj: setattr(scene.rigidbody_world, "constraints", None),
)


@pytest.mark.parametrize("edit", EDITS)
@RENAMES
def test_the_run_ends_where_joints_are_edited(shot, edit):
    """Blender copies them anew, and would step with what it has freed. A rebuilt one plays, and nothing of it stays."""
    scene, obj = shot
    for _time in range(2):
        rigs.play(scene, 1, 15)
        edit(scene, obj)
        rigs.step(scene, range(16, 25))
        assert "joint" in STATE.messages[scene.name]
        assert np.isfinite(rigs.pose(obj)).all()
        build.rebuild(obj, scene)
    rigs.play(scene, 1, 15)
    remove.remove(obj, scene)
    assert not [o.name for o in bpy.data.objects if o != obj]


@pytest.mark.parametrize("how", ("hide_viewport", "exclude"))
@RENAMES
def test_a_refused_start_leaves_no_world_that_holds_joints_out_of_sight(shot, how):
    """Blender drops them while its bodies look at them, and would crash with the next file."""
    scene, _obj = shot
    rigs.play(scene, 1, 15)
    joints = scene.rigidbody_world.constraints
    children = bpy.context.view_layer.layer_collection.children
    setattr(joints if how == "hide_viewport" else children[joints.name], how, True)
    rigs.step(scene, range(1, 6))
    assert f"'{joints.name}' is excluded" in STATE.messages[scene.name]
    scene = rigs.empty_file()
    rigs.play(scene, 1, 3)
