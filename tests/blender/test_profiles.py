"""Profiles, their presets and presets of weights on real rigs: exact back to the same, by role to others."""

import json

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.anatomy import roles
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.rig.armature import anatomy_of
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.tools import bone_tools, diagnose, profiles
from active_ragdoll.core.errors import RagdollError
from active_ragdoll.core.profile import Entry, Profile, dump, parse
from active_ragdoll.core.ragdoll import weight_spread as spread
from own_characters import or_own

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


def scramble(obj, seed: int, built: bool) -> None:
    """Another value for every setting of the character and of its bones, which have no bodies where none are built."""
    rng = np.random.default_rng(seed)
    known = profiles.schema()
    was, STATE.building = STATE.building, True
    of_bones = [(bone.active_ragdoll, known.bone) for bone in obj.pose.bones]
    for owner, fields in [(obj.active_ragdoll, known.object), *of_bones]:
        for key, wanted in fields.items():
            name = profiles._ATTRIBUTES.get(key, key)
            count = wanted.length or 1
            if wanted.kind == "FLOAT":
                values = rng.uniform(max(wanted.low, -3.0), min(wanted.high, 3.0), count).tolist()
            elif wanted.kind == "BOOL":
                values = [bool(v) for v in rng.integers(0, 2, count)]
            elif wanted.kind == "ENUM":
                values = [str(rng.choice(wanted.choices))]
            elif wanted.kind == "POINTS":
                values = [json.dumps(rng.normal(size=(4, 3)).tolist())]
            else:
                values = [int(max(wanted.low, 0)) + int(v) for v in rng.integers(0, 2, count)]
            setattr(owner, name, values if wanted.length and wanted.kind != "POINTS" else values[0])
    for bone in obj.pose.bones:
        low, high = bone.active_ragdoll.limit_min[:], bone.active_ragdoll.limit_max[:]
        bone.active_ragdoll.limit_min = np.minimum(low, high)
        bone.active_ragdoll.limit_max = np.maximum(low, high)
        bone.active_ragdoll.simulate &= built
    STATE.building = was


def bodies_of(obj, role, side=None):
    found = profiles.anatomy_of(obj)
    return [
        bone
        for i, bone in enumerate(obj.pose.bones)
        if found.roles[i] == role and side in (None, found.sides[i]) and bone.active_ragdoll.simulate
    ]


@pytest.mark.blender_version
@pytest.mark.parametrize("built", [False, True])
def test_round_trip_is_exact(fresh_scene, tmp_path, built):
    obj = rigs.human(fresh_scene)
    if built:
        build.build(obj, fresh_scene)
    scramble(obj, 5, built)
    before = everything(obj)
    path = tmp_path / "all.json"
    assert bpy.ops.active_ragdoll.export_profile(filepath=str(path)) == {"FINISHED"}
    scramble(obj, 6, built)
    assert everything(obj) != before
    assert bpy.ops.active_ragdoll.import_profile(filepath=str(path)) == {"FINISHED"}
    after = everything(obj)
    different = {key: (before[key], after[key]) for key in before if before[key] != after[key]}
    different.pop(("", "layout_changed"), None)
    assert not different
    assert len(profiles.read(path).entries) == len(obj.pose.bones)
    # The very text again.
    again = tmp_path / "again.json"
    profiles.write(again, profiles.collect(obj))
    assert again.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


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
        (lambda d: d["bones"][-1].update(limit_min=[0, 9, 0]), ".limit_min[1]: 9 is not from"),
        (lambda d: d["bones"][-1].update(limit_min=[3, 0, 0], limit_max=[1, 1, 1]), ".limit_min[0]: 3 is above"),
        (lambda d: d["bones"][-1].update(joint="BALL"), ".joint: unknown value 'BALL'"),
        (lambda d: d["bones"][-1].update(friction=float("nan")), ".friction: nan is not a finite number"),
        (lambda d: d["bones"][-1].update(speed=1), ".speed: unknown key"),
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


def test_unknown_bones_are_told(knight):
    made = profiles.collect(knight)
    more = Profile({}, (*made.entries, Entry({"mass": 1.0}, "third arm", roles.WING, roles.LEFT, 0)))
    assert "'third arm'" in profiles.apply(knight, more).notes[0]


def test_a_baked_character_refuses(knight):
    made = profiles.collect(knight)
    knight.active_ragdoll.muted = True
    with pytest.raises(RagdollError, match="revert the bake"):
        profiles.apply(knight, made)


RIGS = ("Knight.glb", "animals_pack_Horse.glb")


@pytest.mark.parametrize("name", RIGS)
def test_all_presets_apply_and_build(name):
    rig = rigs.load(name)
    masses = {}
    for identifier, _shown, _text in profiles.PRESETS:
        assert bpy.ops.active_ragdoll.apply_preset(name=identifier) == {"FINISHED"}
        build.build(rig.obj, rig.scene)
        masses[identifier] = round(sum(p.body.rigid_body.mass for p in rig.obj.active_ragdoll.parts), 3)
    assert len(set(masses.values())) >= 4  # they differ in what they weigh


def test_generic_takes_a_preset_back(fresh_scene):
    obj = rigs.human(fresh_scene)
    build.build(obj, fresh_scene)
    before = profiles.collect(obj)
    for identifier in ("ROBOT", "HUMAN_CHILD", "TAIL_ROPE"):
        profiles.apply(obj, profiles.preset(identifier))
        profiles.apply(obj, profiles.preset("Generic"))
        build.rebuild(obj, fresh_scene)
        assert profiles.collect(obj).entries == before.entries


def test_robot_has_hinges_and_rope_has_none(fresh_scene):
    obj = rigs.human(fresh_scene)
    profiles.apply(obj, profiles.preset("robot"))
    build.build(obj, fresh_scene)
    joints = {bone.active_ragdoll.joint for bone in obj.pose.bones if bone.active_ragdoll.simulate}
    assert joints <= {"HINGE", "FIXED"} and "HINGE" in joints
    profiles.apply(obj, profiles.preset("Tail or Rope"))
    build.rebuild(obj, fresh_scene)
    assert {bone.active_ragdoll.joint for bone in obj.pose.bones if bone.active_ragdoll.simulate} == {"CONE"}
    assert not obj.active_ragdoll.self_collision


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


def test_a_profile_of_limits_set_by_hand_stays_by_hand(fresh_scene):
    obj = rigs.swinging_human(fresh_scene)
    obj.pose.bones["thigh.L"].active_ragdoll.limit_max = (0.01, 0.0, 0.0)
    made = profiles.collect(obj)
    profiles.apply(obj, profiles.preset("Robot"))
    profiles.apply(obj, made)
    assert obj.pose.bones["thigh.L"].active_ragdoll.limits_from == "USER"
    assert obj.pose.bones["thigh.R"].active_ragdoll.limits_from == "DEFAULT"


def test_a_preset_that_was_widened_goes_to_another_rig_as_a_preset(data_dir):
    rig = rigs.load(data_dir / "Knight.glb", 20)
    profiles.apply(rig.obj, profiles.preset("Robot"))
    build.build(rig.obj, rig.scene)
    made = profiles.collect(rig.obj)
    other = rigs.load(data_dir / "walk.fbx")
    profiles.apply(other.obj, made)
    kinds = {bone.active_ragdoll.limits_from for bone in simulated(other.obj)}
    assert "PROFILE" in kinds and "USER" not in kinds


REAL = or_own(
    "01_01.bvh", "Knight.glb", "cesium_man.gltf", "run.fbx", "mh_mixamo.blend", "Fox.glb", "animals_pack_Horse.glb"
)


def _rows(anatomy, *wanted, side=None):
    pairs = zip(anatomy.roles, anatomy.sides, strict=True)
    return [i for i, (role, its) in enumerate(pairs) if role in wanted and side in (None, its)]


def _weights(obj):
    return tuple(bone_tools.read_weights(obj, kind) for kind in bone_tools.WEIGHTS)


@pytest.mark.parametrize("name", REAL)
def test_on_real_rigs(data_dir, name):
    obj = rigs.load(data_dir / name).obj
    anatomy = anatomy_of(obj)
    four = anatomy.kind == roles.QUADRUPED
    arms = {side: _rows(anatomy, roles.UPPER_ARM, roles.FOREARM, side=side) for side in (roles.LEFT, roles.RIGHT)}
    legs, head = _rows(anatomy, roles.THIGH, roles.SHANK), _rows(anatomy, roles.HEAD, roles.NECK)
    both = arms[roles.LEFT] + arms[roles.RIGHT]
    assert arms[roles.LEFT] and arms[roles.RIGHT] and legs and head

    bone_tools.apply_weight_preset(obj, spread.UPPER_BODY_LOOSE)
    rotation, translation = _weights(obj)
    assert (rotation[legs] == 1.0).all() and (translation[legs] == 1.0).all()
    assert (rotation[head] < 0.5).all() and not translation[head].any()
    assert (rotation[both] == 1.0).all() if four else (rotation[both] < 0.3).all()

    bone_tools.apply_weight_preset(obj, spread.DRUNK)
    rotation, _translation = _weights(obj)
    assert (rotation <= 0.6 + 1e-6).all() and rotation[legs].min() > rotation[head].max()

    for side, other in ((roles.LEFT, roles.RIGHT), (roles.RIGHT, roles.LEFT)):
        bone_tools.apply_weight_preset(obj, spread.RIGID)
        assert all((values == 1.0).all() for values in _weights(obj))
        changed = bone_tools.apply_weight_preset(obj, spread.ONE_ARM_LIMP, side)
        rotation, translation = _weights(obj)
        assert not rotation[arms[side]].any() and not translation[arms[side]].any()
        for rest in (arms[other], legs, head):
            assert (rotation[rest] == 1.0).all() and (translation[rest] == 1.0).all()
        assert len(changed) == np.count_nonzero((rotation < 1.0) | (translation < 1.0))


def test_messages_name_the_character_and_nothing_is_set(fresh_scene):
    obj = rigs.human(fresh_scene)
    obj.pose.bones["head"].active_ragdoll.rotation_weight = 0.7
    before = _weights(obj)
    for arguments, word in (((spread.ONE_ARM_LIMP, "L"), "side 'L'"), (("FLOPPY",), "'FLOPPY'")):
        with pytest.raises(RagdollError, match=word) as caught:
            bone_tools.apply_weight_preset(obj, *arguments)
        assert "'Human'" in str(caught.value)
    single = rigs.armature(fresh_scene, {"A": ((0, 0, 0), (0, 0, 1), None)}, "Post")
    with pytest.raises(RagdollError, match="'Post': No limb"):
        bone_tools.apply_weight_preset(single, spread.ONE_ARM_LIMP)
    bpy.context.view_layer.objects.active = single
    with pytest.raises(RuntimeError, match="No limb"):
        bpy.ops.active_ragdoll.weight_preset(preset="ONE_ARM_LIMP", side="RIGHT")
    assert all(np.array_equal(a, b) for a, b in zip(_weights(obj), before, strict=True))


def test_a_rig_that_nobody_knows_falls_off_towards_its_tip(fresh_scene):
    obj = rigs.chain(fresh_scene, 5)
    for name in (spread.UPPER_BODY_LOOSE, spread.DRUNK):
        bone_tools.apply_weight_preset(obj, name)
        assert (np.diff(_weights(obj)[0]) < 0.0).all()
    bone_tools.apply_weight_preset(obj, spread.RIGID)
    bone_tools.apply_weight_preset(obj, spread.ONE_ARM_LIMP, roles.RIGHT)
    rotation = _weights(obj)[0]
    assert rotation[0] == 1.0 and rotation[-1] == 0.0
