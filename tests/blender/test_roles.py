"""Roles of the bones of real rigs: files of the test data, all Rigify metarigs; and a generated Rigify rig."""

import bpy
import numpy as np
import pytest

import layered
import rigs
from active_ragdoll.core.anatomy import roles
from active_ragdoll.core.blender.rig.armature import anatomy_of
from active_ragdoll.core.blender.settings.bone import store_roles
from active_ragdoll.core.skeleton import nearest_ancestors
from demo.character import generate_rigify
from role_tables import ALL, FILES, MAIN


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """A file with the rig."""
    metarig = rigs.metarig(rigs.empty_file(), "human")
    obj = generate_rigify(metarig)
    bpy.data.objects.remove(metarig)
    obj.name = "Rigify"
    path = tmp_path_factory.mktemp("rigify") / "human.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


@pytest.fixture(scope="module", params=ALL)
def found(request, data_dir):
    """(name, object, anatomy) of one rig; it stays loaded while its tests run."""
    name = request.param
    if name == "generated":
        _scene, obj = rigs.opened(request.getfixturevalue(name), "Rigify")
    elif name in FILES:
        obj = rigs.load(data_dir / name).obj
    else:
        obj = rigs.metarig(rigs.empty_file(), name.removeprefix("metarig "))
    return name, obj, anatomy_of(obj)


def _rows(obj) -> tuple[list, list]:
    names = [bone.name for bone in obj.data.bones]
    return names, [-1 if bone.parent is None else names.index(bone.parent.name) for bone in obj.data.bones]


def test_every_bone_has_its_role_side_and_place_in_its_chain(found):
    name, obj, anatomy = found
    names, _parents = _rows(obj)
    expected = ALL[name].expected()
    assert set(expected) <= set(names), "the table names bones that are not there"
    assert {n: (r, s) for n, r, s in zip(names, anatomy.roles, anatomy.sides, strict=True) if r in MAIN} == expected
    assert anatomy.kind == ALL[name].kind and anatomy.roles.count("GENERIC") == ALL[name].generic
    assert any("generic" in note for note in anatomy.notes) == (ALL[name].generic > 0)
    for role, listed in ALL[name].bones.items():
        assert [anatomy.order[names.index(bone)] for bone in listed] == list(range(len(listed))), role


def test_the_main_bodies_are_as_many_as_listed_and_hang_together(found):
    name, obj, anatomy = found
    names, parents = _rows(obj)
    heads = np.array([obj.matrix_world @ bone.head_local for bone in obj.data.bones])
    mask = roles.main_bones(anatomy, parents, [bone.use_deform for bone in obj.data.bones], heads)
    assert mask.sum() == ALL[name].bodies
    into = np.where(mask, np.arange(len(mask)), nearest_ancestors(anatomy.parents, mask))
    roots = [i for i in np.flatnonzero(mask) if anatomy.parents[i] < 0 or into[anatomy.parents[i]] < 0]
    assert len(roots) == 1, [names[i] for i in roots]


# ---- stored roles -------------------------------------------------------------------------------------------------
@pytest.mark.blender_version
def test_roles_are_stored_and_a_choice_by_hand_stays(fresh_scene):
    obj = rigs.human(fresh_scene)
    anatomy = anatomy_of(obj)
    store_roles(obj, anatomy)
    settings = {bone.name: bone.active_ragdoll for bone in obj.pose.bones}
    names = [bone.name for bone in obj.data.bones]
    assert [settings[name].role for name in names] == list(anatomy.roles)
    assert not any(own.role_by_user for own in settings.values())
    settings["spine"].role = "SPINE"
    assert settings["spine"].role_by_user and anatomy.roles[names.index("spine")] == "CHEST"
    store_roles(obj, anatomy)
    assert settings["spine"].role == "SPINE"
    chosen = dict(zip(names, anatomy_of(obj).roles, strict=True))
    assert chosen == dict(zip(names, anatomy.roles, strict=True)) | {"spine": "SPINE"}


def test_layers_act_on_the_deforming_bones_of_a_generated_rig(generated):
    (scene, obj), bones = rigs.opened(generated, "Rigify"), ("DEF-forearm.L", "DEF-shin.L")
    before = [rigs.bone(obj, bone) for bone in bones]
    action = bpy.data.actions.new("Bent")
    other = rigs.armature(scene, {"DEF-forearm.L": ((0, 0, 0), (0, 0, 1), None)}, "Other")
    other.animation_data_create().action = action
    rigs.key(other.pose.bones["DEF-forearm.L"], "rotation_quaternion", {1: (0.8, 0.6, 0.0, 0.0)})
    bpy.data.objects.remove(other)
    layered.layer(rigs.Rig(obj, scene, 1, 8), "Bent")
    scene.frame_set(8)
    forearm, shin = (rigs.angles(rigs.bone(obj, bone), was) for bone, was in zip(bones, before, strict=True))
    assert forearm > 30.0 and shin < 0.1
