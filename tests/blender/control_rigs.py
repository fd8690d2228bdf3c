"""Control rigs made in code: limbs by inverse kinematics as animators and generators of rigs set them up."""

import bpy
import numpy as np

import rigs

_LEFT = {  # knees and elbows are bent a little at rest, as inverse kinematics needs them
    "arm.L": ((0.18, 0, 1.42), (0.46, 0.05, 1.42), "spine"),
    "forearm.L": ((0.46, 0.05, 1.42), (0.72, 0, 1.42), "arm.L"),
    "hand.L": ((0.72, 0, 1.42), (0.85, 0, 1.42), "forearm.L"),
    "thigh.L": ((0.1, 0, 0.95), (0.1, -0.06, 0.5), "hips"),
    "shin.L": ((0.1, -0.06, 0.5), (0.1, 0.01, 0.08), "thigh.L"),
}
BENT = {name: row for name, row in rigs.HUMAN.items() if "finger" not in name} | rigs.mirrored(_LEFT)
LIMBS = (("arm", "forearm", "hand"), ("thigh", "shin", "foot"))


def constraint(obj, bone: str, kind: str, target: str, **settings):
    made = obj.pose.bones[bone].constraints.new(kind)
    made.target, made.subtarget = obj, target
    return rigs.changed(made, **settings)


def drive(obj, constraint, path: str, expression: str) -> None:
    driver = constraint.driver_add("influence").driver
    driver.expression, variable = expression, driver.variables.new()
    variable.name, variable.targets[0].id, variable.targets[0].data_path = "x", obj, path


def places(scene, obj, names, last: int) -> np.ndarray:
    """World matrices [f, n, 4, 4] of bones at the frames up to a last one."""
    rows = [obj.data.bones.find(name) for name in names]
    return np.array(rigs.step(scene, range(1, last + 1), lambda: rigs.pose(obj)[rows]))


def simple(scene, pole: bool = True, heels: bool = False, shoulders: bool = False) -> bpy.types.Object:
    """A skeleton whose own limbs are led by inverse kinematics, made by hand: no switch, with poles or without.

    With heels the controls of feet, which are long, are at their tips: they place feet and turn toes; heels turn feet.
    """
    table = dict(BENT)
    for side in ".L", ".R":
        if shoulders:
            arm, *others = (table.pop(f"{name}{side}") for name in LIMBS[0])
            table[f"shoulder{side}"] = ((arm[0][0] / 6, 0.05, 1.35), arm[0], arm[2])
            table |= zip((f"{name}{side}" for name in LIMBS[0]), ((*arm[:2], f"shoulder{side}"), *others))
        for _upper, lower, end in LIMBS:
            head, tail, parent = BENT[f"{end}{side}"]
            table[f"{end} IK{side}"] = (head, tail, None)
            if heels and end == "foot":
                tail = (tail[0], tail[1] - 0.2, tail[2])
                table[f"foot{side}"] = (head, tail, parent)
                table[f"foot IK{side}"] = (tail, (tail[0], tail[1] - 0.1, tail[2]), None)
                table[f"heel{side}"] = (tail, head, f"foot IK{side}")
                table[f"target{side}"] = (head, tail, f"heel{side}")
                table[f"toe{side}"] = (*table[f"foot IK{side}"][:2], f"foot{side}")
            if pole:
                x, y, z = BENT[f"{lower}{side}"][0]
                y += 0.5 if end == "hand" else -0.5
                table[f"{lower} pole{side}"] = ((x, y, z), (x, y, z + 0.1), None)
    obj = rigs.armature(scene, table, "Simple")
    for side in ".L", ".R":
        if shoulders:
            obj.pose.bones[f"shoulder{side}"].custom_shape = bpy.data.objects.new("Shape", None)
        for _upper, lower, end in LIMBS:
            target = f"{end} IK{side}"
            if heels and end == "foot":
                target, obj.data.bones[f"heel{side}"].use_inherit_rotation = f"target{side}", False
                obj.pose.bones[f"heel{side}"].custom_shape = bpy.data.objects.new("Shape", None)
                constraint(obj, f"toe{side}", "COPY_ROTATION", f"foot IK{side}")
                for name in (target, f"heel{side}"):
                    obj.pose.bones[name].lock_location = (True, True, True)
            solver = constraint(obj, f"{lower}{side}", "IK", target, chain_count=2)
            if pole:
                solver.pole_target, solver.pole_subtarget = obj, f"{lower} pole{side}"
                solver.pole_angle = _angle_at_rest(obj, solver)
            constraint(obj, f"{end}{side}", "COPY_ROTATION", target)
    return obj


def _angle_at_rest(obj, solver) -> float:
    """The pole angle with which a limb of two bones keeps its rest pose."""
    last = next(bone for bone in obj.data.bones if solver in obj.pose.bones[bone.name].constraints.values())
    first, pole = last.parent, obj.data.bones[solver.pole_subtarget].head_local
    along = first.tail_local - first.head_local
    across = (last.tail_local - first.head_local).cross(pole - first.head_local).cross(along)
    angle = first.matrix_local.col[0].to_3d().angle(across)
    return -angle if first.matrix_local.col[0].to_3d().cross(across).angle(along) < 1.0 else angle


def layered(scene, on_object: bool = False, stretch: float = 0.0, paws: bool = False) -> bpy.types.Object:
    """Deforming bones that copy a layer between, which copies FK or IK chains as a property says: 0 is FK.

    The properties of all limbs are on one bone, as in CloudRig, or on the armature object, as in MHX. With
    paws the chains of legs have three bones."""
    table = dict(BENT)
    for side in ".L", ".R":
        for upper, lower, end in LIMBS:
            for name in (upper, lower):
                head, tail, parent = BENT[f"{name}{side}"]
                table[f"IK-{name}{side}"] = (head, tail, f"IK-{upper}{side}" if name == lower else parent)
            head, tail, _parent = BENT[f"{end}{side}"]
            table[f"IK-{end}{side}"] = (head, tail, None)
            if paws and end == "foot":
                table[f"IK-{end}{side}"] = (head, tail, f"IK-{lower}{side}")
                table[f"IK-toe{side}"] = (tail, (tail[0], tail[1] - 0.1, tail[2]), None)
            x, y, z = BENT[f"{lower}{side}"][0]
            y += 0.5 if end == "hand" else -0.5
            table[f"POLE-{lower}{side}"] = ((x, y, z), (x, y, z + 0.1), None)
    for name, (head, tail, parent) in BENT.items():
        table[f"DEF-{name}"] = (head, tail, parent and f"DEF-{parent}")
    obj = rigs.armature(scene, table, "Layered")
    for bone in obj.data.bones:
        bone.use_deform = bone.name.startswith("DEF-")
    for name in BENT:
        constraint(obj, f"DEF-{name}", "COPY_TRANSFORMS", name)
    holder, path = (obj, "") if on_object else (obj.pose.bones["hips"], 'pose.bones["hips"]')
    for side in ".L", ".R":
        for upper, lower, end in LIMBS:
            names = (end, "toe", 3) if paws and end == "foot" else (lower, end, 2)
            solver = constraint(obj, f"IK-{names[0]}{side}", "IK", f"IK-{names[1]}{side}", chain_count=names[2])
            solver.pole_target, solver.pole_subtarget = obj, f"POLE-{lower}{side}"
            solver.pole_angle = _angle_at_rest(obj, solver)
            holder[f"ik_{end}{side}"] = 0.0
            for name in (upper, lower, end):
                obj.pose.bones[f"IK-{name}{side}"].ik_stretch = stretch if name != end else 0.0
                copy = constraint(obj, f"DEF-{name}{side}", "COPY_TRANSFORMS", f"IK-{name}{side}")
                drive(obj, copy, f'{path}["ik_{end}{side}"]', "x")
    return obj
