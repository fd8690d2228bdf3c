"""A bake to controls: what carries simulated bones is found by trying, and keyed; the way back; rigs with controls."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix

import control_rigs
import hitting
import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.bake import controls
from active_ragdoll.core.blender.physics import build, remove, source
from animated import curves

pytestmark = pytest.mark.blender_version
LAST = 24
ARMS = ("arm.L", "forearm.L")


def _controlled(scene, human=rigs.HUMAN, more=()):
    """A human below controls of its own bones' names; its left arm by IK while a property of the hips is 0."""
    table = dict(human) | dict(more)
    for name in ARMS:
        head, tail, parent = table[name]
        table[f"IK {name}"] = (head, tail, f"IK {parent}" if parent in ARMS else parent)
    table["hand"] = (table["finger.L"][0], (0.85, 0, 1.42), None)
    for name, (head, tail, parent) in human.items():
        table[f"DEF-{name}"] = (head, tail, f"DEF-{parent}" if parent else name)
    obj = rigs.armature(scene, table)
    for name in human:
        control_rigs.constraint(obj, f"DEF-{name}", "COPY_TRANSFORMS", name)
    control_rigs.constraint(obj, "IK forearm.L", "IK", "hand", chain_count=2)
    obj.pose.bones["hips"]["fk"] = 0.0
    for name in ARMS:
        copied = control_rigs.constraint(obj, f"DEF-{name}", "COPY_TRANSFORMS", f"IK {name}")
        control_rigs.drive(obj, copied, 'pose.bones["hips"]["fk"]', "1 - x")
    rigs.swing(obj, 1, LAST)
    rigs.set_range(scene, 1, LAST)
    return obj


def _places(obj):
    return rigs.pose(obj)[[obj.data.bones.find(part.bone) for part in obj.active_ragdoll.parts]]


def _deforming(obj) -> np.ndarray:
    """Which of its bones get bodies."""
    return np.array([bone.name.startswith("DEF-") and "finger" not in bone.name for bone in obj.data.bones])


def test_controls_are_found_keyed_and_give_the_motion(scene):
    obj = _controlled(scene)
    build.build(obj, scene, _deforming(obj))
    hitting.add(obj, "DEF-spine", 8, vector=(0.3, 1.0, 0.0), strength=80.0)
    old = obj.animation_data.action
    held = curves(old, obj)
    before = [c.mute for bone in obj.pose.bones for c in bone.constraints]
    bpy.ops.active_ragdoll.simulate()
    shown = dict(enumerate(rigs.step(scene, range(1, LAST + 1), lambda: _places(obj)), 1))
    bpy.ops.active_ragdoll.bake(to="CONTROLS")
    carried = bake.controls_of(obj)
    wanted = {f"DEF-{name}": name for name in rigs.HUMAN if "finger" not in name}
    assert {name: found["control"] for name, found in carried.items()} == wanted
    keyed = {curve.data_path.split('"')[1] for curve in rigs.curves_of(obj.active_ragdoll.baked_action)}
    assert not any(name.startswith(("DEF", "IK", "hand")) for name in keyed)
    for frame, poses in shown.items():
        scene.frame_set(frame)
        off = np.linalg.norm(_places(obj)[:, :3, 3] - poses[:, :3, 3], axis=1)
        # Physics lets joints come apart a little, which controls cannot.
        assert off.mean() < 2e-3 and off.max() < 12e-3, frame
        assert rigs.angles(_places(obj), poses).max() < 1.0, frame
    assert not any(c.mute for b in obj.pose.bones for c in b.constraints if not c.name.startswith("Active Ragdoll"))
    assert obj.pose.bones["hips"]["fk"] == 1.0
    there = _places(obj)
    obj.pose.bones["forearm.L"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    bpy.context.view_layer.update()
    moved = np.abs(_places(obj) - there).max(axis=(1, 2))
    assert moved[[p.bone for p in obj.active_ragdoll.parts].index("DEF-forearm.L")] > 0.01
    bpy.ops.active_ragdoll.revert_bake()
    assert curves(old, obj) == held and obj.animation_data.action == old
    assert [c.mute for bone in obj.pose.bones for c in bone.constraints] == before
    assert obj.pose.bones["hips"]["fk"] == 0.0


def _hit(scene, obj, mask, bone: str, **blow) -> dict:
    """What carries a limp character that is hit."""
    build.build(obj, scene, mask)
    rigs.set_weights(obj, 0.0)
    hitting.add(obj, bone, 4, **blow)
    bpy.ops.active_ragdoll.bake()  # controls as well, also where some are far off
    return bake.controls_of(obj)


def test_limbs_that_hang_elsewhere_in_the_rig_are_placed(fresh_scene):
    legs = {name: (*bone[:2], None) for name, bone in rigs.HUMAN.items() if name.startswith("thigh")}
    obj = _controlled(fresh_scene, more=legs)
    found = _hit(fresh_scene, obj, _deforming(obj), "DEF-spine", vector=(0.3, 1.0, 0.0), strength=80.0)
    assert max(of_one["worst_mm"] for of_one in found.values()) < 12.0


def test_a_control_without_a_body_helps_where_the_motion_needs_it(fresh_scene):
    top, (head, tail, _parent) = rigs.HUMAN["spine"][1], rigs.HUMAN["head"]
    below = {name: bone for name, bone in rigs.HUMAN.items() if name != "head"}
    obj = _controlled(fresh_scene, below | {"neck": (top, head, "spine"), "head": (head, tail, "neck")})
    shape = bpy.data.objects.new("Shape", None)
    for name in ("neck", "head"):  # which stay upright, so that the spine's turns do not carry the neck along
        obj.data.bones[name].use_inherit_rotation = False
        obj.pose.bones[name].custom_shape = shape
    mask = [b.name.startswith("DEF-") and not b.name.startswith(("DEF-finger", "DEF-neck")) for b in obj.data.bones]
    found = _hit(fresh_scene, obj, np.array(mask), "DEF-spine", vector=(0.3, 1.0, 0.0), strength=80.0)
    assert max(of_one["worst_mm"] for of_one in found.values()) < 12.0
    assert {"neck", "head"} <= {c.data_path.split('"')[1] for c in rigs.curves_of(obj.active_ragdoll.baked_action)}


def test_what_the_rig_has_the_other_way_round_is_turned_and_spoils_nothing(fresh_scene):
    hips, tip = rigs.HUMAN["hips"][0], (0.0, 0.6, 0.9)
    obj = _controlled(fresh_scene, more={"tail": (hips, tip, "hips"), "DEF-tail": (tip, hips, "tail")})
    obj.pose.bones["DEF-tail"].lock_rotation = (True, True, True)
    found = _hit(fresh_scene, obj, _deforming(obj), "DEF-tail", vector=(1.0, 0.3, 0.0), strength=40.0)
    tail = found.pop("DEF-tail")
    assert tail["worst_mm"] > 20.0 and tail["worst_deg"] < 2.0
    assert max(of_one["worst_mm"] for of_one in found.values()) < 12.0
    assert any("'DEF-tail' the other way round" in note for note in bake.notes_on(bake.controls_of(obj)))


def _tail(scene) -> controls.Controls:
    """The controls of a tail of three bones, where a tweak that cannot be turned bends the middle one."""
    places = [(0, y, 1.5) for y in (0, 0.2, 0.4, 0.6)]
    tail = {f"tail{i}": (*places[i : i + 2], "tail0" if i else None) for i in range(3)}
    obj = rigs.armature(scene, tail | {"tweak": (*places[1:3], None)}, "Tail")
    for kind, other in (("COPY_LOCATION", "tweak"), ("DAMPED_TRACK", "tail2")):
        control_rigs.constraint(obj, "tail1", kind, other)
    tweak = obj.pose.bones["tweak"]
    tweak.custom_shape, tweak.lock_rotation = bpy.data.objects.new("Shape", None), (True, True, True)
    build.build(obj, scene, np.array([bone.name in tail for bone in obj.data.bones]))
    return controls.Controls(obj, list(tail), [-1, 0, 1])


def test_after_a_jump_the_pose_of_the_frame_before_is_no_dead_end(fresh_scene):
    rig, rng = _tail(fresh_scene), np.random.default_rng(4)
    for _ in range(5):
        wanted = rig.trial(rig.copy.pose.bones["tail0"], controls.rotation(rng.normal(size=3) * 0.1))
        before = controls._moved(np.tile(np.eye(4), (3, 1, 1)), rng.normal(size=(3, 6)) * ([1.2] * 3 + [0.2] * 3))
        assert rig.solve(1, wanted, before)[1].max() < 1e-3
    bones, rows = [rig.copy.pose.bones[name] for name in rig.keyed], np.ones((3, 6), dtype=bool)
    turned = bones[0].matrix_basis = controls.rotation(np.array((2.0, 0.0, 0.0)))
    basis, ways = np.array([bone.matrix_basis for bone in bones]), rows & [[False], [True], [True]]
    rig._settle(bones, basis, rig.shown(), wanted[rig.rows], ways, rows)
    np.testing.assert_allclose(bones[0].matrix_basis, turned, atol=1e-6)  # of other ways than those of this stage
    rig.remove()


def test_what_a_tweak_bends_is_foreseen_where_the_bone_has_turned(fresh_scene):
    rig = _tail(fresh_scene)
    tweak = next(owner for owner in rig.owners if owner.name == "tweak")
    rig.copy.pose.bones["tail0"].matrix_basis = Matrix.Rotation(1.2, 4, "X")
    before, bent = rig.shown(), []
    for shift in np.eye(3) * 1e-3:
        rig.copy.pose.bones["tweak"].location = shift
        bent.append(rig._weights_in(before)[1] @ controls.turns_between(rig.shown(), before)[rig.rows[1]])
    length = np.linalg.norm(np.subtract(*before[rig.rows[:0:-1], :3, 3]))
    rig.remove()
    assert np.transpose(bent) * length / 1e-3 == pytest.approx(rig._jacobian(before, [tweak])[6:9, 3:], abs=0.02)


def test_a_step_that_leaves_as_much_as_was_missing_is_not_the_last(fresh_scene):
    """From 0.2 rad on the bone turns so much more than its control that the first step goes past the pose by all."""
    place = ((0, 0, 0), (0, 1, 0))
    obj = rigs.armature(fresh_scene, {"control": (*place, None), "bone": (*place, "control")})
    obj.pose.bones["bone"].lock_rotation = (True, True, True)
    turns = {"from_min_x_rot": 0.2, "from_max_x_rot": 1.2, "to_max_x_rot": 2.06, "mix_mode_rot": "ADD"}
    control_rigs.constraint(obj, "bone", "TRANSFORM", "control", map_from="ROTATION", map_to="ROTATION", **turns)
    build.build(obj, fresh_scene, np.array([False, True]))
    rig = controls.Controls(obj, ["bone"], [-1])
    off = rig.solve(1, rig.shown() @ np.array(Matrix.Rotation(0.4, 4, "X")), None)[1]
    rig.remove()
    assert off[0, 0] < 1e-3


@pytest.mark.parametrize("to, keying", (("CONTROLS", True), ("AUTO", False), ("DEFORM", False)))
def test_the_pose_of_a_frame_is_put_on_bones_or_controls(fresh_scene, to, keying):
    obj = _controlled(fresh_scene) if to != "DEFORM" else rigs.swinging_human(fresh_scene, 1, LAST)
    build.build(obj, fresh_scene, _deforming(obj) if to != "DEFORM" else "DEFORM")
    rigs.set_weights(obj, 0.0)
    bpy.ops.active_ragdoll.simulate()
    fresh_scene.frame_set(12)
    shown = _places(obj)
    names = [part.bone for part in obj.active_ragdoll.parts]
    fresh_scene.tool_settings.use_keyframe_insert_auto = keying
    bpy.ops.active_ragdoll.pose_this_frame(to=to)
    rigs.update()
    assert np.abs(_places(obj) - shown).max() < 1e-4
    bpy.ops.active_ragdoll.remove()
    if keying:
        rigs.step(fresh_scene, (1, 12))
        assert obj.pose.bones["hips"]["fk"] == 1.0
    bpy.context.view_layer.update()
    poses = rigs.pose(obj)[[obj.data.bones.find(name) for name in names]]
    assert np.abs(poses[:, :3, 3] - shown[:, :3, 3]).max() < 2e-3
    assert rigs.angles(poses, shown).max() < 0.5


def test_a_face_without_bodies_goes_with_the_head(fresh_scene):
    """It hangs on what the head copies: a bone, one that copies such, one that stretches to the head's control."""
    face = (0, -0.1, 1.8), (0, -0.2, 1.7)
    more = {"face": (*face, "head"), "jaw": (*face, "face"), "lid": (*face, None), "cheek": (*face, "face")}
    obj = _controlled(fresh_scene, more=more)
    control_rigs.constraint(obj, "lid", "COPY_TRANSFORMS", "face")
    control_rigs.constraint(obj, "cheek", "STRETCH_TO", "head")
    rigs.key(obj.pose.bones["face"], "rotation_quaternion", {1: (1, 0, 0, 0), LAST: (1, 0.1, 0.2, 0)})
    obj.scale, rows = (0.1, 0.1, 0.1), [obj.data.bones.find(name) for name in ("DEF-head", *more)]
    wanted = [np.linalg.solve(pose[rows[0]], pose[rows]) for pose in rigs.animation(obj, range(1, LAST + 1)).values()]
    build.build(obj, fresh_scene, _deforming(obj))
    for weight, blend in ((1.0, 1.0), (0.0, 0.5), (0.0, 1.0)):
        rigs.set_weights(obj, weight)
        obj.active_ragdoll.physics_blend = blend
        played = rigs.shown(fresh_scene, obj, range(1, LAST + 1))
        np.testing.assert_allclose([np.linalg.solve(p[rows[0]], p[rows]) for p in played.values()], wanted, atol=2e-3)
    assert (played[1] - played[LAST])[rows, 2, 3].min() > 1.0
    list(bake.bake_frames(obj, fresh_scene, choice=bake.Choice(bake.SIMULATED, to=bake.DEFORM)))
    rigs.check_shown(fresh_scene, obj, played, (10, LAST), 1e-4)
    remove.remove(obj, fresh_scene)
    assert not source.own_constraints(obj)
