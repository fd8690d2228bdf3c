"""A bake to controls: what carries bones is found by trying, and keyed; the way back; limbs by inverse kinematics."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

import control_rigs
import hitting
import rigs
from active_ragdoll import panels
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.bake import controls
from active_ragdoll.core.blender.physics import build, remove, source
from animated import curves
from control_rigs import places
from drawing import drawn

pytestmark = pytest.mark.blender_version
LAST, SHORT = 24, 10
ARMS, ENDS = ("arm.L", "forearm.L"), ("hand.L", "hand.R", "foot.L", "foot.R")


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


def test_what_has_no_body_between_two_bodies_has_its_control(fresh_scene):
    obj, bodies = _controlled(fresh_scene), {f"DEF-{name}" for name in rigs.HUMAN if name != "forearm.L"}
    build.build(obj, fresh_scene, np.array([bone.name in bodies for bone in obj.data.bones]))
    assert "DEF-forearm.L: forearm.L" in bake.find_controls(obj, fresh_scene, "CONTROLS", "FK")


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
    hips, tip, far = rigs.HUMAN["hips"][0], (0.0, 0.6, 0.9), ((0, 4, 1), (0, 5, 1))
    more = {"tail": (hips, tip, "hips"), "DEF-tail": (tip, hips, "tail"), "tip": (*far, "tail"), "skin": (*far, None)}
    obj = _controlled(fresh_scene, more=more)
    obj.pose.bones["DEF-tail"].lock_rotation = (True, True, True)
    control_rigs.constraint(obj, "skin", "COPY_TRANSFORMS", "tip")
    found = _hit(fresh_scene, obj, _deforming(obj), "DEF-tail", vector=(1.0, 0.3, 0.0), strength=40.0)
    tail = found.pop("DEF-tail")
    assert tail["worst_mm"] > 20.0 and tail["worst_deg"] < 2.0
    assert max(of_one["worst_mm"] for of_one in found.values()) < 12.0
    assert any("'DEF-tail' the other way round" in note for note in bake.notes_on(bake.controls_of(obj)))
    baked = places(fresh_scene, obj, ["skin"], LAST)
    bpy.ops.active_ragdoll.revert_bake()
    off = np.linalg.norm((places(fresh_scene, obj, ["skin"], LAST) - baked)[..., :3, 3], axis=2) * 1e3
    worst = off[np.linspace(0, LAST - 1, bake.SAMPLES).astype(int)].max()
    assert worst > 20.0 and tail["beyond"] == [pytest.approx(worst), "skin"]


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
        before = controls.moved_by(np.tile(np.eye(4), (3, 1, 1)), rng.normal(size=(3, 6)) * ([1.2] * 3 + [0.2] * 3))
        assert rig.solve(1, wanted, before)[1].max() < 1e-3
    bones, rows = [rig.copy.pose.bones[name] for name in rig.keyed], np.ones((3, 6), dtype=bool)
    turned = bones[0].matrix_basis = controls.rotation(np.array((2.0, 0.0, 0.0)))
    basis, ways = np.array([bone.matrix_basis for bone in bones]), rows & [[False], [True], [True]]
    rig._settle(bones, basis, rig.shown(), wanted[rig.rows], ways, rows)
    np.testing.assert_allclose(bones[0].matrix_basis, turned, atol=1e-6)  # of other ways than those of this stage


def test_what_is_stuck_too_far_off_is_looked_for_from_where_it_begins(fresh_scene, monkeypatch):
    rig = _tail(fresh_scene)
    for name, value in {"STEPS": 3, "FAR": np.inf}.items():  # so few that a start far off leads nowhere
        monkeypatch.setattr(controls, name, value)
    wanted = rig.trial(rig.copy.pose.bones["tail0"], Matrix.Rotation(0.1, 4, "X"))
    assert rig.solve(1, wanted, np.array([Matrix.Rotation(2.5, 4, "X")] * 3))[1].max() < 1e-2


def test_what_a_tweak_bends_is_foreseen_where_the_bone_has_turned(fresh_scene):
    rig = _tail(fresh_scene)
    tweak = next(owner for owner in rig.owners if owner.name == "tweak")
    rig.copy.pose.bones["tail0"].matrix_basis = Matrix.Rotation(1.2, 4, "X")
    before, bent = rig.shown(), []
    for shift in np.eye(3) * 1e-3:
        rig.copy.pose.bones["tweak"].location = shift
        bent.append(rig._weights_in(before)[1] @ controls.turns_between(rig.shown(), before)[rig.rows[1]])
    length = np.linalg.norm(np.subtract(*before[rig.rows[:0:-1], :3, 3]))
    assert np.transpose(bent) * length / 1e-3 == pytest.approx(rig._jacobian(before, [tweak])[6:9, 3:], abs=0.02)


def test_twist_that_no_control_gives_is_told_apart(fresh_scene):
    obj = _controlled(fresh_scene)
    obj.pose.bones["head"].lock_rotation[1] = True
    build.build(obj, fresh_scene, _deforming(obj))
    rig = bake._controls(obj, [part.bone for part in obj.active_ragdoll.parts])
    wanted, row = rig.shown(), obj.data.bones.find("DEF-head")
    wanted[row] = wanted[row] @ np.array(Matrix.Rotation(0.5, 4, "Y"))
    off = rig.solve(1, wanted, None)[1]
    assert off[rig.bones.index("DEF-head")] == pytest.approx((0.0, 0.0, 0.5), abs=1e-3)
    off[rig.bones.index("DEF-hips"), 1] = 0.01 * rig.height
    found = bake._carried(rig, off[None], 1.0, (True, False))
    found["DEF-spine"]["beyond"] = (123.0, "ear")
    first, *_, last = bake.notes_on(found)
    assert "within 123 mm ('ear')" in first and first.endswith("twist within 28.6 deg ('DEF-head')")
    assert "steps by up to 10 mm ('DEF-hips')" in last


def test_a_step_that_leaves_as_much_as_was_missing_is_not_the_last(fresh_scene):
    """From 0.2 rad on the bone turns so much more than its control that the first step goes past the pose by all."""
    place = ((0, 0, 0), (0, 1, 0))
    obj = rigs.armature(fresh_scene, {"control": (*place, None), "bone": (*place, "control")})
    obj.pose.bones["bone"].lock_rotation = (True, True, True)
    turns = {"from_min_x_rot": 0.2, "from_max_x_rot": 1.2, "to_max_x_rot": 2.06, "mix_mode_rot": "ADD"}
    control_rigs.constraint(obj, "bone", "TRANSFORM", "control", map_from="ROTATION", map_to="ROTATION", **turns)
    build.build(obj, fresh_scene, np.array([False, True]))
    rig = controls.Controls(obj, ["bone"], [-1])
    assert rig.solve(1, rig.shown() @ np.array(Matrix.Rotation(0.4, 4, "X")), None)[1][0, 0] < 1e-3


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
    """It hangs on what the head copies: a bone, one that copies such or stretches to it or copies a control locally."""
    parents = {"face": "head", "jaw": "face", "lid": None, "cheek": "face", "master": "head"}
    more = {name: ((0, -0.1, 1.8), (0, -0.2, 1.7), above) for name, above in parents.items()}
    obj, local = _controlled(fresh_scene, more=more), {"owner_space": "LOCAL", "target_space": "LOCAL"}
    control_rigs.constraint(obj, "lid", "COPY_TRANSFORMS", "face")
    control_rigs.constraint(obj, "cheek", "STRETCH_TO", "head")
    control_rigs.constraint(obj, "jaw", "COPY_ROTATION", "master", **local)
    obj.data.bones["master"].use_deform = False
    rigs.key(obj.pose.bones["face"], "rotation_quaternion", {1: (1, 0, 0, 0), LAST: (1, 0.1, 0.2, 0)})
    obj.scale, rows = (0.1, 0.1, 0.1), [obj.data.bones.find(name) for name in ("DEF-head", *more)[:-1]]
    wanted = [np.linalg.solve(pose[rows[0]], pose[rows]) for pose in rigs.animation(obj, range(1, LAST + 1)).values()]
    build.build(obj, fresh_scene, _deforming(obj))
    for weight, blend in ((1.0, 1.0), (0.0, 0.5), (0.0, 1.0)):
        rigs.changed(obj.active_ragdoll, rotation_weight=weight, translation_weight=weight, physics_blend=blend)
        played = rigs.shown(fresh_scene, obj, range(1, LAST + 1))
        found = [np.linalg.solve(p[rows[0]], p[rows]) for p in played.values()]
        np.testing.assert_allclose(found, wanted, atol=2e-3, err_msg=f"{weight} {blend}")
    assert (played[1] - played[LAST])[rows, 2, 3].min() > 1.0
    list(bake.bake_frames(obj, fresh_scene, choice=bake.Choice(bake.SIMULATED, to=bake.DEFORM)))
    rigs.check_shown(fresh_scene, obj, played, (10, LAST), 1e-4)
    remove.remove(obj, fresh_scene)
    assert not source.own_constraints(obj)


def _shot(scene, make, weight: float = 1.0, by_fk: bool = False, without=(), **options):
    """A rig with limbs that reach or are turned, and a ragdoll on its deforming bones, simulated; those bones."""
    obj = make(scene, **options)
    rng, prefix = np.random.default_rng(3), "DEF-" if "DEF-hips" in obj.data.bones else ""
    frames = (1, SHORT // 2, SHORT)
    for end in ENDS:
        upper, lower = (name + end[-2:] for name in (("arm", "forearm") if "hand" in end else ("thigh", "shin")))
        name = f"IK-{end}" if prefix else end.replace(".", " IK.")
        if prefix:
            (obj if options.get("on_object") else obj.pose.bones["hips"])[f"ik_{end}"] = 0.0 if by_fk else 1.0
        heel = [f"heel{end[-2:]}"] if "foot" in end and f"heel{end[-2:]}" in obj.data.bones else []
        for turned in (upper, lower) if by_fk else (name, *heel):
            turns = {frame: (1.0, *rng.normal(size=3) * 0.15) for frame in frames}
            rigs.key(obj.pose.bones[turned], "rotation_quaternion", turns)
        if not by_fk:
            bone = obj.data.bones[name]
            inward = bone.matrix_local.to_3x3().transposed() @ (obj.data.bones[upper].head_local - bone.head_local)
            shares = zip(frames, (0.1, 0.3, 0.15), strict=True)
            rigs.key(obj.pose.bones[name], "location", {frame: inward * share for frame, share in shares})
    for name in {"spine", "shoulder.L", "shoulder.R"} & {bone.name for bone in obj.pose.bones}:
        rigs.key(obj.pose.bones[name], "rotation_quaternion", {1: (1, 0, 0, 0), SHORT: (1.0, 0.1, 0.1, 0.05)})
    rigs.set_range(scene, 1, SHORT)
    bodies = [f"{prefix}{name}" for name in control_rigs.BENT]
    rigs.set_weights(obj, weight)
    built = {name for name in bodies if name.removeprefix(prefix) not in without}
    build.build(obj, scene, np.array([bone.name in built for bone in obj.data.bones]))
    bpy.ops.active_ragdoll.simulate()
    return obj, bodies


def _apart(scene, obj, names, before) -> tuple:
    """How far the ends of limbs are from where they were, knees and elbows, and how far ends are turned [f, 4] each."""
    now = places(scene, obj, names, SHORT)
    off, turned = np.linalg.norm((now - before)[..., :3, 3], axis=2), rigs.angles(now, before)
    kinds = [name.removeprefix("DEF-").partition(".")[0] for name in names]
    ends, middles = ([kind in wanted for kind in kinds] for wanted in (("hand", "foot"), ("forearm", "shin")))
    return off[:, ends], off[:, middles], turned[:, ends]


SIMPLE = ({}, {"heels": True}, {"shoulders": True}, {"pole": False})
LAYERED = ({"on_object": True}, {"stretch": 0.1, "by_fk": True})


@pytest.mark.parametrize("options", SIMPLE + LAYERED)
def test_ends_are_exact_and_the_middle_joints_where_they_were(fresh_scene, options):
    obj, names = _shot(fresh_scene, control_rigs.layered if options in LAYERED else control_rigs.simple, **options)
    before, held = places(fresh_scene, obj, names, SHORT), curves(obj.animation_data.action, obj)
    stretch = [bone.ik_stretch for bone in obj.pose.bones]
    bpy.ops.active_ragdoll.bake(to="CONTROLS", limbs="IK", exact_joints=True)
    assert all(of_one["control"] and of_one["mean_mm"] < 0.1 for of_one in bake.controls_of(obj).values())
    ends, middle, turned = _apart(fresh_scene, obj, names, before)
    assert ends.max() < 1e-4 and turned.max() < 0.1 and middle.mean() < 1e-3 and middle.max() < 5e-3
    rig_own = [c for bone in obj.pose.bones for c in bone.constraints if not c.name.startswith("Active Ragdoll")]
    assert not any(constraint.mute for constraint in rig_own)
    bpy.ops.active_ragdoll.revert_bake()
    assert curves(obj.animation_data.action, obj) == held
    assert [bone.ik_stretch for bone in obj.pose.bones] == stretch


@pytest.mark.parametrize("without", ((), ENDS))  # which have no bodies then and are shown as before too
def test_a_switch_is_held_over_the_range_and_goes_back(fresh_scene, without):
    obj, names = _shot(fresh_scene, control_rigs.layered, without=without)
    before, path = places(fresh_scene, obj, names, SHORT), 'pose.bones["hips"]["ik_hand.L"]'
    for limbs, value, control in (("FK", 0.0, "forearm.L"), ("AS_KEYED", 1.0, "IK-hand.L")):
        bpy.ops.active_ragdoll.bake(to="CONTROLS", limbs=limbs)
        found = [bake.controls_of(obj)[f"DEF-{name}.L"]["control"] for name in ("forearm", "hand")]
        assert found == [control, control.replace("forearm", "hand")]
        switch = {curve.data_path: curve for curve in rigs.curves_of(obj.active_ragdoll.baked_action)}[path]
        keys = [(key.co[0], key.co[1], key.interpolation) for key in switch.keyframe_points]
        assert keys == [(1.0, value, "CONSTANT"), (SHORT, value, "CONSTANT")]
        off, _middle, turned = _apart(fresh_scene, obj, names, before)
        assert off.max() < (2e-3 if limbs == "FK" else 1e-4) and turned.max() < 0.2
        bpy.ops.active_ragdoll.revert_bake()
        assert obj.pose.bones["hips"]["ik_hand.L"] == 1.0


def test_limbs_whose_chains_have_three_bones_stay_in_fk(fresh_scene):
    obj, names = _shot(fresh_scene, control_rigs.layered, by_fk=True, paws=True)
    before = places(fresh_scene, obj, names, SHORT)
    bpy.ops.active_ragdoll.bake(to="CONTROLS", limbs="IK")
    found = bake.controls_of(obj)
    assert [found[f"DEF-{name}.L"]["control"] for name in ("foot", "shin", "hand")] == ["foot.L", "shin.L", "IK-hand.L"]
    assert [f"ik_{end}" for end in ENDS if obj.pose.bones["hips"][f"ik_{end}"] == 0.0] == ["ik_foot.L", "ik_foot.R"]
    note = next(note for note in bake.notes_on(found) if note.startswith("Inverse kinematics cannot lead"))
    assert {name[4:-2] for name in names if f"'{name}'" in note} == {"thigh", "shin", "foot"}
    assert max(off.max() for off in _apart(fresh_scene, obj, names, before)[:2]) < 2e-3


def test_the_poles_of_limp_limbs_do_not_flip(fresh_scene):
    obj, names = _shot(fresh_scene, control_rigs.layered, weight=0.0)
    bpy.ops.active_ragdoll.bake(to="CONTROLS", limbs="IK", exact_joints=True)
    poles = [bone.name for bone in obj.pose.bones if bone.name.startswith("POLE")]
    both = (places(fresh_scene, obj, some, SHORT)[..., :3, 3] for some in (poles, names))
    of_poles, of_bodies = (np.linalg.norm(np.diff(ways, axis=0), axis=2).max() for ways in both)
    assert of_poles < 3.0 * of_bodies + 0.05


def test_properties_of_limbs_without_poles_stay_as_they_are(fresh_scene):
    obj, names = _shot(fresh_scene, control_rigs.simple, pole=False)
    obj["off"] = 0.0
    for solver in [c for bone in obj.pose.bones for c in bone.constraints if c.type == "IK"]:
        control_rigs.drive(obj, solver, '["off"]', "1 - x")
    assert len(bake._controls(obj, names, "IK").limbs.found) == 4


def test_a_shoulder_without_a_body_leaves_the_arm_to_its_inverse_kinematics(fresh_scene):
    """Where it is long it turns the upper arm as much as itself: the hand is held, and the arm gives way."""
    obj, names = control_rigs.simple(fresh_scene, shoulders=True), list(control_rigs.BENT)
    rigs.edit(obj, lambda bones: setattr(bones["shoulder.L"], "head", (-0.2, 0.3, 1.42)))
    build.build(obj, fresh_scene, np.array([bone.name in names for bone in obj.data.bones]))
    assert len(bake._controls(obj, names, "IK").limbs.found) == 4


@pytest.mark.parametrize("drawn, pulled, worst, count", ((0.9996, 4, 5, 4), (0.94, 16, 12, 4), (0.9999, -14, 12, 1)))
def test_joints_that_come_apart_are_given_where_limbs_begin_and_shared(fresh_scene, drawn, pulled, worst, count):
    rig = bake._controls(*_shot(fresh_scene, control_rigs.layered), "IK", True)
    rest = np.array([bone.matrix_local for bone in rig.all])
    for limb in rig.limbs.found:
        joints, goal = rig.limbs.joints(limb, rest), rest[rig.all.find(limb.end)].copy()
        line, length = joints[2] - joints[0], np.linalg.norm(np.diff(joints, axis=0), axis=1).sum()
        goal[:3, 3] += line * (drawn * length / np.linalg.norm(line) - 1.0)
        rig.copy.pose.bones[limb.end].matrix_basis = Matrix(rig.limbs.basis(limb.end, goal, rest))
    wanted, kinds = rig.shown(), [name.removeprefix("DEF-").partition(".")[0] for name in rig.bones]
    wanted[np.array(rig.rows)[~np.isin(kinds, ("hips", "spine", "head"))], 2, 3] += 0.004
    uppers, lowers, lasts = np.transpose([(limb.upper, limb.lower, limb.last) for limb in rig.limbs.found])
    wanted[uppers] = wanted[uppers] @ np.array(Matrix.Rotation(1.0, 4, "Y"))  # says nothing
    assert rig.solve(1, wanted, None)[1][np.isin(kinds, ("forearm", "shin")), 1].max() < 1e-3  # where straight far more
    wanted[lasts[-count:], :3, 3] += 1e-3 * pulled * wanted[lowers[-count:], :3, 1]
    assert rig.solve(1, wanted, None)[1][:, 1].max() < 1e-3 * worst  # else ends were off, or middle joints more


def test_toes_without_bodies_beyond_heels_turn_with_the_ends_controls(fresh_scene):
    obj, names = _shot(fresh_scene, control_rigs.simple, heels=True)
    names = [*names, "toe.L", "toe.R"]
    rig = controls.Controls(obj, names, bake._parents(obj, names), controls.IK)
    for name, turn in (("foot IK.L", 0.5), ("foot IK.R", -0.4), ("heel.L", 0.2)):
        rig.copy.pose.bones[name].matrix_basis = Matrix.Rotation(turn, 4, "X")
    off = rig.solve(1, rig.shown(), None)[1]  # from the animation's pose
    assert [rig.control_of[names.index(name)] for name in ("toe.L", "toe.R")] == ["foot IK.L", "foot IK.R"]
    assert off[:, 0].max() < 1e-3 and off[:, 1].max() < 1e-4


@pytest.mark.parametrize("shifted", ("tweak.L", "head"))
def test_what_is_beyond_ends_and_trunks_that_bend_is_shifted(fresh_scene, shifted):
    """A foot of two halves with a tweak between; legs that hang on the spine, which leaves them behind."""
    obj, (joint, ball, _above) = control_rigs.simple(fresh_scene), control_rigs.BENT["foot.L"]
    ball, step = np.array(ball), np.subtract(ball, joint)
    more = {"half.L": (ball, "foot.L"), "tweak.L": (ball, "foot IK.L"), "aim.L": (ball + step, "foot IK.L")}
    bpy.ops.object.mode_set(mode="EDIT")
    for name, (head, above) in more.items():
        rigs.changed(obj.data.edit_bones.new(name), head=head, tail=head + step, parent=obj.data.edit_bones[above])
    bpy.ops.object.mode_set(mode="OBJECT")
    ways = ("foot.L", "DAMPED_TRACK", "tweak.L"), ("half.L", "COPY_LOCATION", "tweak.L")
    for way in (*ways, ("half.L", "DAMPED_TRACK", "aim.L")):
        control_rigs.constraint(obj, *way)
    obj.pose.bones["tweak.L"].custom_shape = bpy.data.objects.new("Shape", None)
    names = [*control_rigs.BENT, "half.L"]
    build.build(obj, fresh_scene, np.array([bone.name in names for bone in obj.data.bones]))
    above = dict(zip(names, bake._parents(obj, names))) | dict.fromkeys(("thigh.L", "thigh.R"), names.index("spine"))
    rig = controls.Controls(obj, names, list(above.values()), controls.IK)
    wanted = rig.trial(rig.copy.pose.bones[shifted], Matrix.Translation((0.03, 0.0, 0.02)))
    assert rig.solve(1, wanted, None)[1].max() < 0.02


def test_joints_are_where_the_controls_at_rest_show_them(fresh_scene):
    """The hand's control at rest draws the arm in, as a paw's does that bends by itself."""
    obj, names = control_rigs.layered(fresh_scene), [f"DEF-{name}" for name in control_rigs.BENT]
    rigs.edit(obj, lambda bones: bones["IK-hand.L"].translate(Vector((-0.15, 0.0, 0.1))))
    build.build(obj, fresh_scene, np.array([bone.name in names for bone in obj.data.bones]))
    rig = bake._controls(obj, names, "IK", True)
    forearm = rig.bones.index("DEF-forearm.L")
    wanted = rig.trial(rig.copy.pose.bones["POLE-forearm.L"], Matrix.Translation((0.3, 0.3, 0.0)))
    wanted[rig.rows[forearm]] = wanted[rig.rows[forearm]] @ np.array(Matrix.Rotation(1.5, 4, "Y"))  # says nothing
    assert rig.control_of[forearm] == "IK-hand.L" and rig.solve(1, wanted, None)[1][forearm, 1] < 1e-3


def test_controls_are_the_default_where_a_rig_has_them(fresh_scene):
    obj, _names = _shot(fresh_scene, control_rigs.layered)
    report = panels.ragdoll.ACTIVE_RAGDOLL_PT_bake_report
    for limbs, control, value in (("IK", "IK-hand.L", 1), ("FK", "hand.L", 0)):
        bpy.ops.active_ragdoll.find_controls(limbs=limbs)
        shown = {text for _kind, text, layout in drawn(report, obj) if layout.live}  # for FK, which is chosen
        found = {f"DEF-hand.L: {control}", "DEF-spine: spine", f"hips, ik_hand.L = {value}"}
        assert found <= set(bake.find_controls(obj, fresh_scene, "AUTO", limbs)) and (found <= shown) == (limbs == "FK")
    obj.name, head, before = "Another", obj.pose.bones["head"], len(drawn(report, obj))
    names = ({"name": "top"}, {"name": "head"}) if bpy.app.version >= (4, 5) else ()  # 4.2 crashes as this file is left
    for changes in (*names, {"lock_rotation": [True] * 3}, {"lock_rotation": [False] * 3}):
        rigs.changed(head, **changes)
        assert (len(drawn(report, obj)) == before) == (head.name == "head" and not head.lock_rotation[0])
    bpy.ops.active_ragdoll.bake()
    assert all(layout.live for *_what, layout in drawn(report, obj))
    worst = max(bake.controls_of(obj).values(), key=lambda of_one: of_one["worst_mm"])
    rows = bake.report(obj)
    assert rows[0].startswith("The controls give the motion within") and f"{worst['worst_mm']:.3g} mm" in rows[1]
    bpy.ops.active_ragdoll.revert_bake()
    bpy.ops.active_ragdoll.bake(to="DEFORM")
    assert not bake.report(obj)
