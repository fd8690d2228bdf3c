"""Profiles, their presets and presets of weights on real rigs: exact back to the same, by role to others."""

import json

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.tools import bone_tools, diagnose, profiles
from active_ragdoll.core.errors import RagdollError
from active_ragdoll.core.profile import Entry, Profile, dump, parse
from active_ragdoll.core.ragdoll import weight_spread as spread
from own_characters import or_own
from test_settings import another, settings_in

SKIP = {"rna_type", "name", "profile_limits"}  # the last is what a preset said, not what is set


def everything(obj) -> dict:
    """All stored settings, bit for bit, by owner and name: without the schema that is to be tested."""
    groups = {"": obj.active_ragdoll, **{bone.name: bone.active_ragdoll for bone in obj.pose.bones}}
    result = {}
    for owner, group in groups.items():
        for p in group.bl_rna.properties:
            if p.identifier in SKIP or p.is_readonly or p.type not in ("BOOLEAN", "INT", "FLOAT", "ENUM", "STRING"):
                continue
            value = getattr(group, p.identifier)
            result[owner, p.identifier] = tuple(value) if getattr(p, "is_array", False) else value
    return result


def bodies_of(obj, role, side=None):
    found = profiles.anatomy_of(obj)
    return [
        bone
        for i, bone in enumerate(obj.pose.bones)
        if found.roles[i] == role and side in (None, found.sides[i]) and bone.active_ragdoll.simulate
    ]


def test_applying_marks_what_waits_for_a_build(fresh_scene):
    obj = rigs.human(fresh_scene)
    build.build(obj, fresh_scene)
    same = profiles.collect(obj)
    assert profiles.apply(obj, same).changed == 0 and not obj.active_ragdoll.layout_changed
    weights = Profile({"rotation_weight": 0.5}, (Entry({"rotation_weight": 0.25}, "head"),))
    assert profiles.apply(obj, weights).changed == 2 and not obj.active_ragdoll.layout_changed
    assert profiles.apply(obj, Profile({}, (Entry({"mass": 3.0}, "head"),))).changed == 1
    assert obj.active_ragdoll.layout_changed
    assert obj.pose.bones["head"].active_ragdoll.limits_from != "USER"


@pytest.mark.blender_version
def test_a_round_trip_through_a_file_is_exact(fresh_scene, tmp_path):
    """Other values everywhere, as bones and the character may have them, are brought back bit for bit."""
    obj = rigs.human(fresh_scene)
    build.build(obj, fresh_scene)
    path = tmp_path / "all.json"
    owners = [obj.active_ragdoll, *(bone.active_ragdoll for bone in obj.pose.bones)]
    plain = everything(obj)
    for owner in owners:
        for group, name, _said in settings_in(owner):
            if group == owner and name not in ("body_points", "simulate"):
                setattr(group, name, another(group, name))
    before = everything(obj)
    assert sum(before[key] != plain[key] for key in before) > 20 * len(owners)
    assert bpy.ops.active_ragdoll.export_profile(filepath=str(path)) == {"FINISHED"}
    text = path.read_text(encoding="utf-8")
    profiles.apply(obj, profiles.preset("Robot"))
    assert everything(obj) != before
    assert bpy.ops.active_ragdoll.import_profile(filepath=str(path)) == {"FINISHED"}
    after = everything(obj)
    assert not {key: after[key] for key in before if before[key] != after[key] and key[1] != "layout_changed"}
    assert dump(profiles.collect(obj)) == text


@pytest.mark.parametrize("name", ["mh_mixamo.blend", "walk.fbx", "jumping_jacks.bvh"])
def test_by_role_to_another_rig(name):
    """From the Knight: other names, other rolls, other scales; the same range about the same anatomical axes."""
    source, _made = rigs.built("Knight.glb")
    left, right = (bodies_of(source.obj, "FOREARM", side)[0] for side in ("LEFT", "RIGHT"))
    for bone, top in ((left, 1.5), (right, 1.25)):
        settings = bone.active_ragdoll
        settings.joint, settings.mass = "HINGE", top * 2.0
        settings.limit_min, settings.limit_max = (0.0, 0.0, 0.0), (top, 0.0, 0.0)
        assert settings.limits_from == "USER"
    made = profiles.collect(source.obj)
    target = rigs.load(name)
    applied = profiles.apply(target.obj, parse(dump(made), profiles.schema()))
    assert applied.bones > 8
    found = profiles.anatomy_of(target.obj)
    frames = profiles.anatomical_frames(target.obj, found)
    seen = 0
    for i, bone in enumerate(target.obj.pose.bones):
        if found.roles[i] != "FOREARM":
            continue
        top = {"LEFT": 1.5, "RIGHT": 1.25}[found.sides[i]]
        settings = bone.active_ragdoll
        assert settings.joint == "HINGE" and settings.mass == top * 2.0 and settings.limits_from == "USER"
        assert tuple(settings.limit_min) == (0.0, 0.0, 0.0) and tuple(settings.limit_max) == (top, 0.0, 0.0)
        apart = quaternion.angle_between(np.array(settings.joint_rotation, dtype=float), frames[i])
        assert apart < 1e-3  # the Knight's own joints stand in their anatomical frames
        seen += 1
    assert seen >= 2
    build.build(target.obj, target.scene, "KEEP")
    joints = bodies_of(target.obj, "FOREARM")
    assert joints and all(bone.active_ragdoll.joint == "HINGE" for bone in joints)


@pytest.fixture
def knight():
    return rigs.built("Knight.glb")[0].obj


@pytest.fixture(scope="module")
def one_knight():
    """For tests after which he is as before, one after the other."""
    return rigs.built("Knight.glb")[0].obj


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(version=9), "version: 9 is unknown"),
        (lambda d: d["bones"][-1].update(mass=-1.0), ".mass: -1.0 is not from 0"),
        (lambda d: d["object"].update(physics_blend="all"), "object.physics_blend: expected a number"),
        (lambda d: d.update(bones=[{"name": "nobody", "mass": 1.0}]), "None of the profile's 1 bones is found"),
    ],
)
def test_a_wrong_file_changes_nothing(one_knight, tmp_path, change, message):
    knight, path = one_knight, tmp_path / "wrong.json"
    data = json.loads(dump(profiles.collect(knight)))
    data["object"]["rotation_weight"] = 0.125
    for entry in data["bones"]:
        entry["mass"] = 7.0
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    before = everything(knight)
    with pytest.raises(RuntimeError) as raised:
        bpy.ops.active_ragdoll.import_profile(filepath=str(path))
    assert message in str(raised.value)
    assert everything(knight) == before


def test_trouble_while_writing_puts_everything_back(knight, monkeypatch):
    """Blender may refuse a value in the middle: a setting that cannot be written is told, the others are as before."""
    before = everything(knight)
    last = knight.pose.bones[-1].active_ragdoll
    wanted = [(knight.active_ragdoll, {"density": 500.0}), (last, {"mass": 3.0, "shape": "NO_SUCH_SHAPE"})]
    with pytest.raises(TypeError):
        profiles._write(knight, wanted)
    assert everything(knight) == before


def test_files_that_are_none(knight, tmp_path):
    (tmp_path / "text.json").write_text("hello", encoding="utf-8")
    (tmp_path / "latin.json").write_bytes(b'{"name": "\xe4"}')
    for name, message in (
        ("text.json", "text.json: line 1"),
        ("latin.json", "latin.json: not a text in UTF-8"),
        ("none.json", "No such file"),
    ):
        with pytest.raises(RagdollError, match=message):
            profiles.read(tmp_path / name)


def test_a_baked_character_refuses(knight):
    made = profiles.collect(knight)
    knight.active_ragdoll.muted = True
    with pytest.raises(RagdollError, match="revert the bake"):
        profiles.apply(knight, made)


def test_generic_takes_a_preset_back(fresh_scene):
    obj = rigs.human(fresh_scene)
    build.build(obj, fresh_scene)
    before = profiles.collect(obj)
    for identifier in ("ROBOT", "HUMAN_CHILD", "TAIL_ROPE"):
        profiles.apply(obj, profiles.preset(identifier))
        profiles.apply(obj, profiles.preset("Generic"))
        build.rebuild(obj, fresh_scene)
        assert profiles.collect(obj).entries == before.entries


def test_presets_are_there_and_named_as_listed():
    listed = {f"{identifier.lower()}.json" for identifier, _shown, _text in profiles.PRESETS}
    assert {path.name for path in profiles.FOLDER.glob("*.json")} == listed
    for identifier, shown, text in profiles.PRESETS:
        made = profiles.preset(identifier)
        assert made.name == shown and made.description == text and made.entries
    with pytest.raises(RagdollError, match="Unknown preset 'Fish': use one of 'Human'"):
        profiles.preset("Fish")


def test_command_line_takes_a_file_and_a_preset(call, tmp_path):
    rig, _made = rigs.built("Knight.glb")
    bodies = len(rig.obj.active_ragdoll.parts)
    head = bodies_of(rig.obj, "HEAD")[0].name
    rig.obj.pose.bones[head].active_ragdoll.simulate = False
    rig.obj.active_ragdoll.rotation_weight = 0.375
    path, knight_file = tmp_path / "knight.json", rigs.KEPT / "Knight.glb.blend"
    profiles.write(path, profiles.collect(rig.obj))

    out_path = tmp_path / "out.blend"
    code, out, errors = call("build", knight_file, "--profile", path, "--output", out_path)
    assert code == 0 and not errors, errors
    assert f"{bodies - 1} bodies" in out and "profile" in out
    obj = bpy.context.scene.objects["Rig"]
    assert obj.active_ragdoll.rotation_weight == 0.375

    code, out, errors = call("build", out_path, "--profile", "robot", "--output", tmp_path / "robot.blend")
    assert code == 0 and not errors, errors
    obj = bpy.context.scene.objects["Rig"]
    assert len(obj.active_ragdoll.parts) == bodies - 1
    assert "HINGE" in {bone.active_ragdoll.joint for bone in obj.pose.bones if bone.active_ragdoll.simulate}

    code, _out, errors = call("bake", knight_file, "--frames", 1, 3, "--profile", "fish")
    assert code == 1 and len(errors) == 1 and "Unknown preset 'fish'" in errors[0]
    path.write_text(path.read_text(encoding="utf-8").replace('"version": 1', '"version": 3'), encoding="utf-8")
    code, _out, errors = call("build", knight_file, "--profile", path)
    assert code == 1 and "knight.json: version: 3 is unknown" in errors[0]


STATING = ("ROBOT", "TAIL_ROPE", "HUMAN_CHILD", "HUMAN_ATHLETIC")


def simulated(obj) -> list:
    return [bone for bone in obj.pose.bones if bone.active_ragdoll.simulate]


def limits(bone) -> tuple:
    own = bone.active_ragdoll
    return own.joint, tuple(own.limit_min), tuple(own.limit_max)


@pytest.mark.parametrize(
    ("preset", "name"),
    [(preset, or_own("Knight.glb")[0]) for preset in STATING]
    + [("ROBOT", name) for name in or_own("run.fbx", "zombie.bvh", own=("own unreal",))],
)
def test_the_animation_does_not_fight_a_presets_limits(data_dir, name, preset):
    rig = rigs.load(data_dir / name, 60)
    profiles.apply(rig.obj, profiles.preset(preset))
    built = build.build(rig.obj, rig.scene)
    stated = [bone for bone in simulated(rig.obj) if bone.active_ragdoll.limits_from == "PROFILE"]
    assert len(stated) >= 7
    assert not [excess for excess in diagnose.check_limits(rig.obj, rig.scene).found if excess.worst > np.radians(1.0)]
    if preset == "ROBOT":
        assert any("widened the preset's limits" in note for note in built.notes)


def test_a_new_build_begins_with_the_presets_own_range(fresh_scene):
    """Another animation: what the last one needed is not kept; a hinge that had to become a cone is a hinge again."""
    obj = rigs.swinging_human(fresh_scene)
    profiles.apply(obj, profiles.preset("Robot"))
    stated = {bone.name: limits(bone) for bone in obj.pose.bones}
    build.build(obj, fresh_scene)
    widened = [bone.name for bone in simulated(obj) if limits(bone) != stated[bone.name]]
    assert widened
    obj.animation_data_clear()
    for bone in obj.pose.bones:
        bone.matrix_basis.identity()
        bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    build.rebuild(obj, fresh_scene)
    assert {bone.name: limits(bone) for bone in obj.pose.bones} == stated


def test_limits_edited_after_the_preset_are_the_users(fresh_scene):
    obj = rigs.swinging_human(fresh_scene)
    profiles.apply(obj, profiles.preset("Robot"))
    edited = obj.pose.bones["thigh.L"]
    edited.active_ragdoll.limit_max = (0.01, 0.0, 0.0)
    before = limits(edited)
    assert edited.active_ragdoll.limits_from == "USER"
    built = build.build(obj, fresh_scene)
    assert limits(edited) == before
    assert any("exceeds the limits of thigh.L" in note for note in built.notes)


def _weights(obj):
    return tuple(bone_tools.read_weights(obj, kind) for kind in bone_tools.WEIGHTS)


def test_messages_name_the_character_and_nothing_is_set(fresh_scene):
    obj = rigs.human(fresh_scene)
    obj.pose.bones["head"].active_ragdoll.rotation_weight = 0.7
    before = _weights(obj)
    single = rigs.armature(fresh_scene, {"A": ((0, 0, 0), (0, 0, 1), None)}, "Post")
    with pytest.raises(RagdollError, match="'Post': No limb"):
        bone_tools.apply_weight_preset(single, spread.ONE_ARM_LIMP)
    bpy.context.view_layer.objects.active = single
    with pytest.raises(RuntimeError, match="No limb"):
        bpy.ops.active_ragdoll.weight_preset(preset="ONE_ARM_LIMP", side="RIGHT")
    assert all(np.array_equal(a, b) for a, b in zip(_weights(obj), before, strict=True))
