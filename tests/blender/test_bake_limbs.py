"""Bakes to controls of limbs by inverse kinematics: ends, poles, switches, lengths; rigs made in code."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

import control_rigs
import rigs
from active_ragdoll import panels
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.bake import controls
from active_ragdoll.core.blender.physics import build
from animated import curves
from control_rigs import places
from drawing import drawn

pytestmark = pytest.mark.blender_version
LAST = 10
ENDS = ("hand.L", "hand.R", "foot.L", "foot.R")


def _shot(scene, make, weight: float = 1.0, by_fk: bool = False, without=(), **options):
    """A rig with limbs that reach or are turned, and a ragdoll on its deforming bones, simulated; those bones."""
    obj = make(scene, **options)
    rng, prefix = np.random.default_rng(3), "DEF-" if "DEF-hips" in obj.data.bones else ""
    frames = (1, LAST // 2, LAST)
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
        rigs.key(obj.pose.bones[name], "rotation_quaternion", {1: (1, 0, 0, 0), LAST: (1.0, 0.1, 0.1, 0.05)})
    rigs.set_range(scene, 1, LAST)
    bodies = [f"{prefix}{name}" for name in control_rigs.BENT]
    rigs.set_weights(obj, weight)
    built = {name for name in bodies if name.removeprefix(prefix) not in without}
    build.build(obj, scene, np.array([bone.name in built for bone in obj.data.bones]))
    bpy.ops.active_ragdoll.simulate()
    return obj, bodies


def _apart(scene, obj, names, before) -> tuple:
    """How far the ends of limbs are from where they were, knees and elbows, and how far ends are turned [f, 4] each."""
    now = places(scene, obj, names, LAST)
    off, turned = np.linalg.norm((now - before)[..., :3, 3], axis=2), rigs.angles(now, before)
    kinds = [name.removeprefix("DEF-").partition(".")[0] for name in names]
    ends, middles = ([kind in wanted for kind in kinds] for wanted in (("hand", "foot"), ("forearm", "shin")))
    return off[:, ends], off[:, middles], turned[:, ends]


MADE = {
    "poles": (control_rigs.simple, {}),
    "heels": (control_rigs.simple, {"heels": True}),
    "shoulders": (control_rigs.simple, {"shoulders": True}),
    "no poles": (control_rigs.simple, {"pole": False}),
    "layered": (control_rigs.layered, {"on_object": True}),
    "stretch": (control_rigs.layered, {"stretch": 0.1, "by_fk": True}),
}


@pytest.mark.parametrize("kind", MADE)
def test_ends_are_exact_and_the_middle_joints_where_they_were(fresh_scene, kind):
    make, options = MADE[kind]
    obj, names = _shot(fresh_scene, make, **options)
    before, held = places(fresh_scene, obj, names, LAST), curves(obj.animation_data.action, obj)
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
    before, path = places(fresh_scene, obj, names, LAST), 'pose.bones["hips"]["ik_hand.L"]'
    for limbs, value, control in (("FK", 0.0, "forearm.L"), ("AS_KEYED", 1.0, "IK-hand.L")):
        bpy.ops.active_ragdoll.bake(to="CONTROLS", limbs=limbs)
        found = [bake.controls_of(obj)[f"DEF-{name}.L"]["control"] for name in ("forearm", "hand")]
        assert found == [control, control.replace("forearm", "hand")]
        switch = {curve.data_path: curve for curve in rigs.curves_of(obj.active_ragdoll.baked_action)}[path]
        keys = [(key.co[0], key.co[1], key.interpolation) for key in switch.keyframe_points]
        assert keys == [(1.0, value, "CONSTANT"), (LAST, value, "CONSTANT")]
        off, _middle, turned = _apart(fresh_scene, obj, names, before)
        assert off.max() < (2e-3 if limbs == "FK" else 1e-4) and turned.max() < 0.2
        bpy.ops.active_ragdoll.revert_bake()
        assert obj.pose.bones["hips"]["ik_hand.L"] == 1.0


def test_limbs_whose_chains_have_three_bones_stay_in_fk(fresh_scene):
    obj, names = _shot(fresh_scene, control_rigs.layered, by_fk=True, paws=True)
    before = places(fresh_scene, obj, names, LAST)
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
    both = (places(fresh_scene, obj, some, LAST)[..., :3, 3] for some in (poles, names))
    of_poles, of_bodies = (np.linalg.norm(np.diff(ways, axis=0), axis=2).max() for ways in both)
    assert of_poles < 3.0 * of_bodies + 0.05


def test_joints_that_come_apart_are_given_where_limbs_begin_and_bends_where_they_are_nearly_straight(fresh_scene):
    rig = bake._controls(*_shot(fresh_scene, control_rigs.layered), "IK", True)
    rest = np.array([bone.matrix_local for bone in rig.all])
    for limb in rig.limbs.found:
        joints, drawn = rig.limbs.joints(limb, rest), rest[rig.all.find(limb.end)].copy()
        line, length = joints[2] - joints[0], np.linalg.norm(np.diff(joints, axis=0), axis=1).sum()
        drawn[:3, 3] += line * (0.9996 * length / np.linalg.norm(line) - 1.0)
        rig.copy.pose.bones[limb.end].matrix_basis = Matrix(rig.limbs.basis(limb.end, drawn, rest))
    wanted, kinds = rig.shown(), [name.removeprefix("DEF-").partition(".")[0] for name in rig.bones]
    wanted[np.array(rig.rows)[~np.isin(kinds, ("hips", "spine", "head"))], 2, 3] += 0.004
    uppers = [limb.upper for limb in rig.limbs.found]
    wanted[uppers] = wanted[uppers] @ np.array(Matrix.Rotation(1.0, 4, "Y"))  # says nothing
    off = rig.solve(1, wanted, None)[1]
    rig.remove()
    assert off[np.isin(kinds, ("forearm", "shin")), 1].max() < 1e-3  # of straight limbs far more than where they begin


def test_toes_without_bodies_beyond_heels_turn_with_the_ends_controls(fresh_scene):
    obj, names = _shot(fresh_scene, control_rigs.simple, heels=True)
    names = [*names, "toe.L", "toe.R"]
    rig = controls.Controls(obj, names, bake._parents(obj, names), controls.IK)
    for name, turn in (("foot IK.L", 0.5), ("foot IK.R", -0.4), ("heel.L", 0.2)):
        rig.copy.pose.bones[name].matrix_basis = Matrix.Rotation(turn, 4, "X")
    off = rig.solve(1, rig.shown(), None)[1]  # from the animation's pose
    rig.remove()
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
        own = {"head": head, "tail": head + step, "parent": obj.data.edit_bones[above]}
        rigs.changed(obj.data.edit_bones.new(name), **own)
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
    off = rig.solve(1, wanted, None)[1]
    rig.remove()
    assert off.max() < 0.02


def test_joints_are_where_the_controls_at_rest_show_them(fresh_scene):
    """The hand's control at rest draws the arm in, as a paw's does that bends by itself."""
    obj, names = control_rigs.layered(fresh_scene), [f"DEF-{name}" for name in control_rigs.BENT]
    rigs.edit(obj, lambda bones: bones["IK-hand.L"].translate(Vector((-0.15, 0.0, 0.1))))
    build.build(obj, fresh_scene, np.array([bone.name in names for bone in obj.data.bones]))
    rig = bake._controls(obj, names, "IK", True)
    forearm = rig.bones.index("DEF-forearm.L")
    wanted = rig.trial(rig.copy.pose.bones["POLE-forearm.L"], Matrix.Translation((0.3, 0.3, 0.0)))
    wanted[rig.rows[forearm]] = wanted[rig.rows[forearm]] @ np.array(Matrix.Rotation(1.5, 4, "Y"))  # says nothing
    off = rig.solve(1, wanted, None)[1]
    rig.remove()
    assert rig.control_of[forearm] == "IK-hand.L" and off[forearm, 1] < 1e-3


def test_controls_are_the_default_where_a_rig_has_them(fresh_scene):
    obj, _names = _shot(fresh_scene, control_rigs.layered)
    report = panels.ragdoll.ACTIVE_RAGDOLL_PT_bake_report
    for limbs, control, value in (("IK", "IK-hand.L", 1), ("FK", "hand.L", 0)):
        bpy.ops.active_ragdoll.find_controls(limbs=limbs)
        shown = {text for _kind, text, layout in drawn(report, obj) if layout.live}  # for FK, which is chosen
        found = {f"DEF-hand.L: {control}", "DEF-spine: spine", f"hips, ik_hand.L = {value}"}
        assert found <= set(bake.find_controls(obj, fresh_scene, "AUTO", limbs)) and (found <= shown) == (limbs == "FK")
    bpy.ops.active_ragdoll.bake()
    assert all(layout.live for *_what, layout in drawn(report, obj))
    worst = max(bake.controls_of(obj).values(), key=lambda of_one: of_one["worst_mm"])
    rows = bake.report(obj)
    assert rows[0].startswith("The controls give the motion within") and f"{worst['worst_mm']:.3g} mm" in rows[1]
    bpy.ops.active_ragdoll.revert_bake()
    bpy.ops.active_ragdoll.bake(to="DEFORM")
    assert not bake.report(obj)
