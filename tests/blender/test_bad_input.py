"""Whatever is wrong: a message that names it, or it just works; never a half-built ragdoll."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.errors import RagdollError
from refusals import refuses

pytestmark = pytest.mark.blender_version
SCALES = (
    ((-1, 1, 1), ()),
    ((-1, -1, -1), ()),
    ((1, -2, 1), ("scale",)),
    ((1, 1, 1.5), ("non-uniform", "1.5", "Apply Transform")),
    ((1e-4, 1e-4, 1e-4), ("0.154 mm", "0.0001", "Apply Transform")),
    ((1e5, 1e5, 1e5), ()),
    ((0, 0, 0), ("scale",)),
    ("parent", ("non-uniform", "'Parent'")),
)


def _refused(obj, scene, *words, bones="DEFORM"):
    """The build raises a message with the words and leaves the file as it was."""
    before, world = rigs.counts(), scene.rigidbody_world is not None
    constraints = sum(len(b.constraints) for b in obj.pose.bones) if obj.pose else 0
    with pytest.raises(RagdollError) as caught:
        build.build(obj, scene, bones)
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (rigs.counts(), scene.rigidbody_world is not None) == (before, world)
    if obj.pose:
        assert sum(len(b.constraints) for b in obj.pose.bones) == constraints
        assert not obj.active_ragdoll.is_ragdoll and obj.active_ragdoll.state == "NONE"


def _works(obj, scene, frames=6):
    """It builds, plays and bakes its cache; every bone stands somewhere."""
    result = build.build(obj, scene)
    first = scene.frame_start
    scene.frame_end = max(scene.frame_end, first + frames)
    simulate.use_range(scene, first, first + frames)
    for frame in simulate.frames(scene):
        assert np.all(np.isfinite(rigs.pose(obj))), frame
    assert scene.name not in STATE.messages
    return result


def test_what_is_no_character_of_the_scene_or_no_bones_of_one(fresh_scene):
    mesh = rigs.added(fresh_scene, "Cube", bpy.data.meshes.new("Cube"))
    boneless = rigs.added(fresh_scene, "Empty Rig", bpy.data.armatures.new("Empty Rig"))
    for obj, word in ((mesh, "armature"), (boneless, "bones")):
        _refused(obj, fresh_scene, obj.name, word)
    refuses("armature", build.build, None, fresh_scene)
    obj = rigs.chain(fresh_scene, 2)
    _refused(obj, bpy.data.scenes.new("Other Scene"), "Chain", "Other Scene")
    _refused(obj, fresh_scene, "SOME", bones="SOME")
    rigs.select(obj, "")
    _refused(obj, fresh_scene, "Chain", "selected", bones="SELECTED")


@pytest.mark.parametrize(("scale", "words"), SCALES)
def test_scales(fresh_scene, scale, words):
    """Mirrored or huge it works, uneven, tiny or none it is refused by name."""
    obj = rigs.swinging_human(fresh_scene, 1, 20)
    if scale == "parent":
        obj.parent = rigs.empty(fresh_scene, "Parent")
        obj.parent.scale, obj.rotation_euler = (2, 1, 1), (0.4, 0.5, 0.6)
    else:
        obj.scale = scale
    bpy.context.view_layer.update()
    if words:
        _refused(obj, fresh_scene, "Human", *words)
    else:
        _works(obj, fresh_scene)


@pytest.mark.parametrize("way", ("excluded", "hidden in mid-shot"))
def test_the_ragdolls_own_collection_may_be_out_of_sight(fresh_scene, way):
    """Its objects are also in the rigid body world's collections, so nothing changes."""
    obj = rigs.ragdoll(fresh_scene, 20)
    plain = rigs.play(fresh_scene, 1, 20, lambda: rigs.pose(obj))
    if way == "excluded":
        bpy.context.view_layer.layer_collection.children["Human Ragdoll"].exclude = True
    else:
        rigs.play(fresh_scene, 1, 8)
        obj.active_ragdoll.collection.hide_viewport = True
        rigs.play(fresh_scene, 9, 12)
    assert np.array_equal(plain, rigs.play(fresh_scene, 1, 20, lambda: rigs.pose(obj)))


def test_in_edit_mode_the_edit_bones_count(fresh_scene):
    obj = rigs.human(fresh_scene)
    bpy.ops.object.mode_set(mode="EDIT")
    moved = obj.data.edit_bones["head"]
    moved.head.z, moved.tail.z = 2.3, 2.5
    build.build(obj, fresh_scene)
    assert obj.mode == "EDIT" and obj.active_ragdoll.height == pytest.approx(2.5 - 0.02, abs=0.1)


@pytest.mark.parametrize(("first", "last"), ((0, 12), (-7, 5), (101, 113), (250, 251)))
def test_odd_ranges(scene, first, last):
    obj = rigs.swinging_human(scene, max(first, 0), max(last, 1))
    rigs.swing(obj, first, last)
    build.build(obj, scene)
    simulate.use_range(scene, first, last)
    other = bpy.data.scenes.new("Other")
    other.frame_set(-10)
    poses = {frame: rigs.pose(obj) for frame in simulate.frames(scene)}
    assert (sorted(poses), other.frame_current) == (list(range(first, last + 1)), -10)
    rigs.check_shown(scene, obj, poses, (last, first, (first + last) // 2), 1e-5)


def test_a_removed_world(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, 20)
    with bpy.context.temp_override(scene=fresh_scene):
        bpy.ops.rigidbody.world_remove()
    refuses("rigid body world", list, simulate.frames(fresh_scene))
    remove.remove(obj)
    assert not obj.active_ragdoll.is_ragdoll


NAMES = ('quo"te', "back\\slash", "Ünï-çødé 骨", "brack[et]", "a.b.c", "x" * 60, "'", "new\nline", "%s{}")


def test_names_with_any_characters(scene):
    above = (None, *NAMES)
    table = {name: ((0.3 * i, 0, 1), (0.3 * i + 0.3, 0, 1), above[i]) for i, name in enumerate(NAMES)}
    obj = rigs.armature(scene, table, 'Odd "name" \\ [x]')
    scene.name = 'Sc"ene [1]'
    rigs.set_range(scene, 1, 20)
    assert [b.name for b in obj.data.bones] == list(NAMES) and _works(obj, scene).bodies == len(NAMES)
    remove.remove(obj)
    assert scene.rigidbody_world is None
