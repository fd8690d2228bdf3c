"""Users' things among a ragdoll's helpers stay theirs; bodies whose character was deleted are told and swept."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, built, remove, source
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import stack_edits
from active_ragdoll.core.blender.tools import diagnose, health
from active_ragdoll.core.ragdoll import diagnosis
from refusals import refuses

pytestmark = pytest.mark.blender_version
WAYS = {"remove": remove.remove, "rebuild": build.rebuild}


def _prop(collection):
    collection.objects.link(made := bpy.data.objects.new("Prop", rigs.box_mesh("Prop", (1.0, 1.0, 1.0))))
    return made


def _things(scene, obj) -> list:
    """Among its bodies, with a body's mesh, in its collection and in an inner one; the character itself."""
    own, inner = obj.active_ragdoll, bpy.data.collections.new("Mine")
    own.collection.children.link(inner)
    made = [_prop(own.bodies), bpy.data.objects.new("Shown", rigs.part(obj, "spine").body.data)]
    for each in made:
        scene.collection.objects.link(each)
    own.collection.objects.link(obj)
    scene.collection.objects.unlink(obj)
    return [_prop(own.collection), *made, _prop(inner), obj]


@pytest.mark.parametrize("way", WAYS)
def test_it_stays_in_the_scene(scene, way):
    obj = rigs.ragdoll(scene, 8, 0.2)
    list(simulate.frames(scene))
    names = [(thing.name, thing.data.name) for thing in _things(scene, obj)]
    rigs.select(obj, "spine")
    scene.objects[names[0][0]].hide_set(True)
    WAYS[way](obj, scene)
    assert bpy.context.active_object.name == names[-1][0] and scene.objects[names[0][0]].hide_get()
    for name, data in names:
        assert name in scene.objects and scene.objects[name].data.name == data
    assert obj.active_ragdoll.is_ragdoll == (way == "rebuild")
    if way == "rebuild":
        list(simulate.frames(scene))


@pytest.mark.parametrize("name", (source.CONSTRAINT_NAME, source.TARGET_NAME))
def test_a_constraint_of_the_name_of_ours(scene, name):
    obj = rigs.swinging_human(scene, 1, 8)
    constraint = obj.pose.bones["spine"].constraints.new("LIMIT_ROTATION")
    constraint.name = name
    for make in (build.build, stack_edits.ensure):
        refuses(f"'spine' of '{obj.name}' has a constraint named '{name}'", make, obj, scene)
    constraint.name = "Mine"
    build.build(obj, scene)
    constraint = obj.pose.bones["spine"].constraints["Mine"]
    constraint.name = name + ".001"
    assert constraint.name in source.copy_of(obj, "Copy").pose.bones["spine"].constraints
    remove.remove(obj)
    assert [c.type for c in obj.pose.bones["spine"].constraints] == ["LIMIT_ROTATION"]


LAST = 20


def _character(scene):
    scene.frame_start, scene.frame_end = 1, LAST
    rigs.box(scene, "Floor", (9.0, 9.0, 1.0), (0.0, 0.0, -0.5), passive=True)
    obj = rigs.chain(scene, 3, head=(0.0, 0.0, 0.8))
    rigs.set_weights(obj)
    build.build(obj, scene)
    return obj


@pytest.mark.parametrize("way", ("button", "finding", "rebuild", "remove"))
def test_it_is_told_and_removed(fresh_scene, way):
    """A limp chain falls above a ghost: another, which was deleted by hand; and alone."""
    obj = _character(fresh_scene)
    alone = np.array(rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(obj)))
    scene = rigs.empty_file(24)
    obj = _character(scene)
    ghost = rigs.chain(scene, 3, head=(0.1, 0.0, 0.2))
    ghost.name = "Ghost"
    ghost.active_ragdoll.body_mass = 500.0
    build.build(ghost, scene)
    bpy.data.objects.remove(ghost)
    assert np.abs(np.array(rigs.play(scene, 1, LAST, lambda: rigs.pose(obj))) - alone).max() > 1e-3
    assert any("'Ghost'" in text for text in STATE.warnings[obj.name])
    found = diagnose.diagnose(obj, scene)[0]
    assert found.kind == diagnosis.LEFT_OVER and "'Ghost'" in found.text
    if way == "remove":
        remove.remove(obj)
        assert not built.orphans(scene) and {o.name for o in bpy.data.objects} == {obj.name, "Floor"}
        return
    prop = _prop(built.orphans(scene)[0])
    bpy.context.view_layer.objects.active = obj if way != "button" else None
    if way == "rebuild":
        build.rebuild(obj, scene)
    elif way == "button":
        assert bpy.ops.active_ragdoll.remove(left_over=True) == {"FINISHED"}
    else:
        assert getattr(bpy.ops.active_ragdoll, found.operator)(**found.arguments) == {"FINISHED"}
    assert obj.active_ragdoll.is_ragdoll and prop.name in scene.objects
    assert "Ghost" not in str(health.notices(obj, scene))
    assert not built.orphans(scene) and "Ghost" not in str([*bpy.data.objects, *bpy.data.collections])
    assert np.abs(np.array(rigs.play(scene, 1, LAST, lambda: rigs.pose(obj))) - alone).max() < 1e-6
    remove.remove(obj)


def _joined(scene, obj):
    bpy.ops.object.select_all(action="DESELECT")
    build.build(rigs.chain(scene, 2, head=(3.0, 0.0, 0.8)), scene)
    obj.select_set(True)
    scene.view_layers[0].objects.active = obj
    bpy.ops.object.join()


@pytest.mark.parametrize("edit", (_joined, lambda _s, obj: bpy.data.collections.remove(obj.active_ragdoll.collection)))
def test_nothing_stays_of_a_ragdoll_that_was_taken_apart(fresh_scene, edit):
    obj = _character(fresh_scene)
    list(simulate.frames(fresh_scene))
    edit(fresh_scene, obj)
    rigs.step(fresh_scene, range(1, 6))
    assert np.isfinite([rigs.pose(obj) for _frame in simulate.frames(fresh_scene)]).all()
    remove.remove(obj, fresh_scene)
    assert {o.name for o in bpy.data.objects if o.users_scene} == {obj.name, "Floor"}
    assert not any(map(built.is_ours, (*bpy.data.objects, *bpy.data.collections))) and len(bpy.data.scenes) == 1
