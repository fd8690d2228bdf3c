"""Profiles, their presets and presets of weights on real rigs: exact back to the same, by role to others."""

import json

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core import profile, quaternion
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.tools import diagnose, profiles
from own_characters import or_own
from test_settings import another, plain, settings_in


def everything(obj) -> dict:
    """All settings of its own, bit for bit, by owner and name."""
    owners = [(owner.name, owner.active_ragdoll) for owner in (obj, *obj.pose.bones)]
    found = [(name, group, *each[:2]) for name, group in owners for each in settings_in(group)]
    return {(name, each): plain(getattr(group, each)) for name, group, its, each in found if its == group}


def bodies_of(obj, role, side=None):
    found = profiles.anatomy_of(obj)
    rows = (i for i, own in enumerate(found.roles) if own == role and side in (None, found.sides[i]))
    return [obj.pose.bones[i] for i in rows if obj.pose.bones[i].active_ragdoll.simulate]


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
    assert not {key: after[key] for key in before if before[key] != after[key]}
    assert profile.dump(profiles.collect(obj)) == text


def test_by_role_to_another_rig():
    """From the Knight: other names, other rolls, other scales; the same range about the same anatomical axes."""
    source, _made = rigs.built("Knight.glb")
    left, right = (bodies_of(source.obj, "FOREARM", side)[0] for side in ("LEFT", "RIGHT"))
    for bone, top in ((left, 1.5), (right, 1.25)):
        settings = bone.active_ragdoll
        rigs.changed(settings, joint="HINGE", mass=top * 2.0, limit_min=(0.0, 0.0, 0.0), limit_max=(top, 0.0, 0.0))
        assert settings.limits_from == "USER"
    made = profiles.collect(source.obj)
    target = rigs.load("walk.fbx")
    assert profiles.apply(target.obj, profile.parse(profile.dump(made), profiles.schema())).bones > 8
    found = profiles.anatomy_of(target.obj)
    frames, _rests = profiles.anatomical_frames(target.obj, found)
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(version=9), "version: 9 is unknown"),
        (lambda d: d["bones"][-1].update(mass=-1.0), ".mass: -1.0 is not from 0"),
        (lambda d: d.update(bones=[{"name": "nobody", "mass": 1.0}]), "None of the profile's 1 bones is found"),
    ],
)
def test_a_wrong_file_changes_nothing(tmp_path, change, message):
    path, knight = tmp_path / "wrong.json", rigs.built("Knight.glb")[0].obj
    data = json.loads(profile.dump(profiles.collect(knight)))
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


def test_command_line_takes_a_file_and_a_preset(call, tmp_path):
    rig, _made = rigs.built("Knight.glb")
    bodies = len(rig.obj.active_ragdoll.parts)
    rig.obj.pose.bones[bodies_of(rig.obj, "HEAD")[0].name].active_ragdoll.simulate = False
    rig.obj.active_ragdoll.rotation_weight = 0.375
    path, knight_file = tmp_path / "knight.json", rigs.KEPT / "Knight.glb.blend"
    profiles.write(path, profiles.collect(rig.obj))
    out_path = tmp_path / "out.blend"
    code, out, errors = call("build", knight_file, "--profile", path, "--output", out_path)
    assert code == 0 and not errors, errors
    assert f"{bodies - 1} bodies" in out and "profile" in out
    obj = bpy.context.scene.objects["Rig"]
    assert obj.active_ragdoll.rotation_weight == 0.375
    assert call("build", out_path, "--profile", "robot", "--output", tmp_path / "robot.blend")[0] == 0
    obj = bpy.context.scene.objects["Rig"]
    assert "HINGE" in {bone.active_ragdoll.joint for bone in obj.pose.bones if bone.active_ragdoll.simulate}
    code, _out, errors = call("bake", knight_file, "--frames", 1, 3, "--profile", "fish")
    assert code == 1 and len(errors) == 1 and "Unknown preset 'fish'" in errors[0]


def simulated(obj) -> list:
    return [bone for bone in obj.pose.bones if bone.active_ragdoll.simulate]


def limits(bone) -> tuple:
    own = bone.active_ragdoll
    return own.joint, tuple(own.limit_min), tuple(own.limit_max)


@pytest.mark.parametrize("preset", ("ROBOT", "HUMAN_ATHLETIC"))
def test_the_animation_does_not_fight_a_presets_limits(data_dir, preset):
    rig = rigs.load(data_dir / or_own("Knight.glb")[0], 60)
    profiles.apply(rig.obj, profiles.preset(preset))
    built = build.build(rig.obj, rig.scene)
    assert len([bone for bone in simulated(rig.obj) if bone.active_ragdoll.limits_from == "PROFILE"]) >= 7
    assert not [excess for excess in diagnose.check_limits(rig.obj, rig.scene).found if excess.worst > np.radians(1.0)]
    if preset == "ROBOT":
        assert any("widened the preset's limits" in note for note in built.notes)


def test_a_new_build_begins_with_the_presets_own_range(fresh_scene):
    """Another animation: what the last one needed is not kept; a hinge that had to become a cone is a hinge again."""
    obj = rigs.swinging_human(fresh_scene)
    profiles.apply(obj, profiles.preset("Robot"))
    stated = {bone.name: limits(bone) for bone in obj.pose.bones}
    build.build(obj, fresh_scene)
    assert any(limits(bone) != stated[bone.name] for bone in simulated(obj))
    obj.animation_data_clear()
    for bone in obj.pose.bones:
        bone.matrix_basis.identity()
        bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    build.rebuild(obj, fresh_scene)
    assert {bone.name: limits(bone) for bone in obj.pose.bones} == stated
