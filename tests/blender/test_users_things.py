"""What users put among a ragdoll's helpers is theirs: Remove and Rebuild move it out and delete only what is tagged."""

import bpy
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, remove, source
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.stack import stack_setup
from active_ragdoll.core.errors import RagdollError

pytestmark = pytest.mark.blender_version

WAYS = {"remove": remove.remove, "rebuild": build.rebuild}


@pytest.fixture
def shot(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, 8, 0.2)
    list(simulate.frames(fresh_scene))
    return fresh_scene, obj


def _prop(collection):
    made = bpy.data.objects.new("Prop", rigs.box_mesh("Prop", (1.0, 1.0, 1.0)))
    collection.objects.link(made)
    return made


def _in_the_collection(scene, obj):
    return _prop(obj.active_ragdoll.collection)


def _among_the_bodies(scene, obj):
    made = _prop(obj.active_ragdoll.bodies)
    scene.collection.objects.link(made)
    return made


def _with_a_body_s_mesh(scene, obj):
    made = bpy.data.objects.new("Shown", rigs.part(obj, "spine").body.data)
    scene.collection.objects.link(made)
    return made


def _in_an_inner_collection(scene, obj):
    inner = bpy.data.collections.new("Mine")
    obj.active_ragdoll.collection.children.link(inner)
    return _prop(inner)


def _the_character_itself(scene, obj):
    obj.active_ragdoll.collection.objects.link(obj)
    scene.collection.objects.unlink(obj)
    return obj


CASES = (_in_the_collection, _among_the_bodies, _with_a_body_s_mesh, _in_an_inner_collection, _the_character_itself)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("put", CASES)
def test_it_stays_in_the_scene(shot, put, way):
    scene, obj = shot
    thing = put(scene, obj)
    name, data = thing.name, thing.data.name
    WAYS[way](obj, scene)
    kept = bpy.data.objects[name]
    assert name in scene.objects and kept.data.name == data and kept.users_collection
    assert obj.active_ragdoll.is_ragdoll == (way == "rebuild")
    if way == "rebuild":
        list(simulate.frames(scene))


def test_what_lies_in_a_stack_s_collection_stays(fresh_scene):
    obj = rigs.swinging_human(fresh_scene)
    stack_setup.ensure(obj, fresh_scene)
    thing = _prop(obj.active_ragdoll.motion_collection)
    stack_setup.drop(obj)
    assert thing.name in fresh_scene.objects


@pytest.mark.parametrize("name", (source.CONSTRAINT_NAME, source.TARGET_NAME))
def test_a_constraint_of_the_name_of_ours(fresh_scene, name):
    scene, obj = fresh_scene, rigs.swinging_human(fresh_scene, 1, 8)
    constraint = obj.pose.bones["spine"].constraints.new("LIMIT_ROTATION")
    constraint.name = name
    for make in (build.build, stack_setup.ensure):
        with pytest.raises(RagdollError, match=f"'spine' of '{obj.name}' has a constraint named '{name}'"):
            make(obj, scene)
    constraint.name = "Mine"
    build.build(obj, scene)
    constraint = obj.pose.bones["spine"].constraints["Mine"]
    constraint.name = name + ".001"
    assert constraint.name in source.copy_of(obj, "Copy").pose.bones["spine"].constraints
    remove.remove(obj)
    assert [c.type for c in obj.pose.bones["spine"].constraints] == ["LIMIT_ROTATION"]
