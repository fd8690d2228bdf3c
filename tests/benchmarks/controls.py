"""How near a bake to controls comes, and how long it takes, on rigs that Rigify generates and on some made in code.

python dev.py bench controls [--rigs human wolf ...] [--frames N] [--json FILE]

given      motion that the controls were given at random is found again (FK: mean 0.3 mm and 0.1 deg, worst 2 mm
           and 1 deg at 1.8 m; by IK with exact joints: ends 0.1 mm, knees and elbows mean 1, worst 5; without 20)
physical   a shot in which the character is hit, by its size, and falls limp on a floor (mean 2 mm, worst 12), in FK and
           by IK with exact joints; angles are those between bones' directions, twist that no control gives is apart
           (180 deg if physics bends a knee the wrong way: a pole turns the whole limb)
stretched  the same by IK without exact joints: the rig's solver stretches bones instead of bending, and with ends where
           they belong a pole only turns the middle joint about their line. How far that circle is off at least is
           "stretch", which a bake reports and exact joints key away; as missed counts what is beyond it
planes     in which limbs by IK bend, where they are bent by more than 10 deg (2 deg)
cost       seconds of the search, and of 250 frames in FK and IK (10); how often Blender evaluates a frame; how many
           times as long the rig's own operators take that snap its IK to its FK, where it has such"""

import json
import re
import time

import _characters
import bpy
import numpy as np
from mathutils import Matrix, Vector

import control_rigs
import hitting
import knock_outs
import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.bake import controls, ik_limbs
from active_ragdoll.core.blender.physics import build
from demo.character import generate_rigify

HEIGHT = 1.8  # [m] that distances are stated for
METARIGS = {"human": "human", "basic": "Basic.basic_human"}
METARIGS |= {name: f"Animals.{name}" for name in ("wolf", "horse", "cat", "bird")}
MADE = {
    "cloud": (control_rigs.layered, {}),
    "mhx": (control_rigs.layered, {"on_object": True, "stretch": 0.1}),
    "poles": (control_rigs.simple, {}),
    "heels": (control_rigs.simple, {"heels": True}),
}
FREE, FIGURES = np.inf, ("mean_mm", "worst_mm", "mean_deg", "worst_deg", "mean_twist", "worst_twist")
KINDS = "given", "given stretched", "physical", "stretched"
AIMS = {  # mean and worst mm, mean and worst deg, mean and worst deg of twist
    "given": (0.3, 2.0, 0.1, 1.0, 0.1, 1.0),
    "given ends": (0.1, 0.1, *[FREE] * 4),
    **dict.fromkeys(("given by IK", "given middles"), (1.0, 5.0, *[FREE] * 4)),
    **dict.fromkeys([f"given stretched {of}" for of in ("by IK", "ends", "middles")], (20.0, 20.0, *[FREE] * 4)),
    **dict.fromkeys([f"physical{of}" for of in ("", " by IK", " ends", " middles")], (2.0, 12.0, *[FREE] * 4)),
    **dict.fromkeys([f"stretched {of}" for of in ("by IK", "ends", "middles")], (2.0, 12.0, *[FREE] * 4)),
    **dict.fromkeys([f"{of} planes" for of in KINDS], (FREE, FREE, 2.0, 2.0, FREE, FREE)),
    **dict.fromkeys([f"{of} stretch" for of in KINDS], (FREE,) * 6),
}
BENT = np.radians(10.0)  # of a limb, from where on its bend has a plane
POSES, STEPS, SECONDS, SNAPPED = 4, 5, 10.0, 3
COSTS = ("carried", "search s", "250 in FK s", "tries", "250 in IK s", "tries in IK", "snapping")


def make(name: str):
    """A rig with a ragdoll of its main bones, in an empty file."""
    scene = rigs.empty_file()
    if name in MADE:
        obj = MADE[name][0](scene, **MADE[name][1])
        prefix = "DEF-" if "DEF-hips" in obj.data.bones else ""
        bones = {f"{prefix}{bone}" for bone in control_rigs.BENT}
        build.build(obj, scene, np.array([bone.name in bones for bone in obj.data.bones]))
    else:
        obj = generate_rigify(rigs.metarig(scene, METARIGS[name]))
        build.build(obj, scene, "MAIN")
    return scene, obj


def snapping(name: str) -> float:
    """Seconds that a generated rig's own operators take to snap its IK to its FK over 250 frames."""
    obj = generate_rigify(rigs.metarig(rigs.empty_file(), METARIGS[name]))
    found = r"operator\('pose\.(rigify_limb_ik2fk_bake_\w+)'.*\n((?: +props\.\w+ = .*\n)+)"
    calls = set(re.findall(found, "".join(text.as_string() for text in bpy.data.texts)))
    calls = [(operator, dict(re.findall(r"props\.(\w+) = '(.*)'", settings))) for operator, settings in calls]
    for bone in (bone for _operator, settings in calls for bone in json.loads(settings["fk_bones"])):
        turns = {frame: (1.0, 0.02 * frame, 0.0, 0.01) for frame in range(1, SNAPPED + 1)}
        rigs.key(obj.pose.bones[bone], "rotation_quaternion", turns)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="POSE")
    start = time.perf_counter()
    for operator, settings in calls:
        getattr(bpy.ops.pose, operator)(**settings)
    return (time.perf_counter() - start) / SNAPPED * 250


def apart(rig: controls.Controls, shown: list, wanted: list) -> np.ndarray:
    """By how much bodies are off in poses [f, n, 4, 4]: heights, angles of directions, twist [rad] [f, m, 3]."""
    off = ik_limbs.apart(*(np.array(poses)[:, rig.rows] for poses in (shown, wanted)))
    return off[..., [1, 0, 2]] / (rig.height, 1.0, 1.0)


def summary(off: np.ndarray) -> tuple:
    """Mean and worst mm, mean and worst deg, and of twist."""
    off = (off * (HEIGHT * 1e3, *np.degrees([1.0, 1.0]))).reshape(-1, 3)
    return tuple(float(x) for pair in zip(off.mean(axis=0), off.max(axis=0)) for x in pair)


def motion(rig: controls.Controls):
    """Poses of a rig whose controls are given motion from rest, POSES in STEPS frames each, with limbs within reach."""
    rng, rest, limbs = np.random.default_rng(0), rig.shown(), rig.limbs
    owners, ends = rig.owners, {limb.end: limb for limb in limbs.found}
    heels = [limb.heel for limb in limbs.found if limb.heel]
    for _ in range(POSES):
        turns = [np.clip(rng.normal(size=3), -2.0, 2.0) * (0.1 if ends else 0.25) for _ in owners]
        turns = [turn * owner.turns[:, :, 0].any(axis=(0, 1)) for turn, owner in zip(turns, owners)]
        shifts = [np.clip(rng.normal(size=3), -2.0, 2.0) * 0.05 * owner.unit for owner in owners]
        of_limbs = {name: (rng.normal(size=3) * 0.1, rng.uniform(0.15, 0.3)) for name in (*ends, *heels)}
        for share in np.linspace(0.0, 1.0, STEPS + 1)[1:]:
            steps = {owner.name: np.append(turn, shift) for owner, turn, shift in zip(owners, turns, shifts)}
            basis = {name: controls.moved_by(np.eye(4), step * share) for name, step in steps.items()}
            posed = _posed(rig, basis)
            for name, (turn, inward) in of_limbs.items():
                matrix = rest[rig.all.find(name)].copy()
                matrix[:3, :3] = np.array(ik_limbs.rotation(turn * share))[:3, :3] @ matrix[:3, :3]
                if name in ends:
                    (root, _middle, end), (begun, *_) = (limbs.joints(ends[name], poses) for poses in (rest, posed))
                    matrix[:3, 3] += begun - root + share * inward * (root - end)
                basis[name] = limbs.basis(name, matrix, rest)
            yield _posed(rig, basis)


def _posed(rig: controls.Controls, basis: dict) -> np.ndarray:
    """The pose [n, 4, 4] of a rig whose controls have some basis matrices."""
    for name in rig.keyed:
        rig.copy.pose.bones[name].matrix_basis = Matrix(basis.get(name, np.eye(4)))
    return rig.shown()


def solved(rig: controls.Controls, frames, poses: list) -> tuple[list, tuple]:
    """What is found of poses from rest on; seconds for 250 frames, and evaluations for one beside the frame's own."""
    found, tries, basis, start, shown = [], [], None, time.perf_counter(), rig.shown
    for bone in rig.copy.pose.bones:
        bone.matrix_basis = Matrix()
    rig.shown = lambda: tries.append(shown()) or tries[-1]
    for frame, wanted in zip(frames, poses):
        basis, _off = rig.solve(frame, wanted, basis)
        found.append(tries[-1])
    del rig.shown
    return found, ((time.perf_counter() - start) / len(poses) * 250, len(tries) / len(poses))


def of_limbs(led: controls.Controls, shown: list, wanted: list, case: str, owned: list) -> dict:
    """How far off the bodies, ends and middles of limbs are, the planes that they bend in, and what a stretch costs."""
    limbs, off, angles, costs = led.limbs, apart(led, shown, wanted), [], []
    rows = {"ends": {limb.last for limb in limbs.found}, "middles": {limb.lower for limb in limbs.found}}
    bodies = {name: [led.rows.index(row) for row in some if row in led.rows] for name, some in rows.items()}
    for i, (now, goal) in enumerate(zip(shown, wanted)):
        for limb in limbs.found:
            ways = [np.diff(limbs.joints(limb, poses), axis=0) for poses in (now, goal)]
            bends = [limbs._bend(limb, poses) for poses in (now, goal)]
            places = [(np.linalg.norm(bend), way[0] @ axis) for way, (bend, axis) in zip(ways, bends)]
            costs.append((np.hypot(*np.subtract(*places)) / led.height, 0.0, 0.0))
            if case == "stretched":
                off[i, led.rows.index(limb.lower)] -= costs[-1]
            if Vector(ways[1][0]).angle(Vector(ways[1][1])) > BENT:
                angles.append((0.0, abs(ik_limbs._angle(bends[1][0], bends[0][0], bends[1][1])), 0.0))
    found = {f"{case} planes": summary(np.array(angles or [np.zeros(3)])), f"{case} stretch": summary(np.array(costs))}
    return found | {f"{case} {of}": summary(off[:, some]) for of, some in ({"by IK": owned} | bodies).items() if some}


def fallen(scene, obj, frames: int):
    """What is recorded of a character that is hit and falls on a floor."""
    rigs.set_range(scene, 1, frames)
    knock_outs.floor(scene, obj)
    part = max(obj.active_ragdoll.parts, key=lambda part: part.body.rigid_body.mass)
    mass = sum(part.body.rigid_body.mass for part in obj.active_ragdoll.parts)
    speed = 2.0 * np.sqrt(obj.active_ragdoll.height / HEIGHT)  # the same shot at each size (Froude)
    hitting.add(obj, part.bone, 3, vector=(0.3, 1.0, 0.1), strength=speed * mass)
    rigs.set_weights(obj, 0.0)
    bpy.ops.active_ragdoll.simulate()
    recorder = bake.Recorder(obj, scene, False)
    list(recorder.watch(1, frames))
    return recorder


def measured(name: str, frames: int) -> tuple[dict, tuple]:
    """The cases of a rig, and what it costs."""
    own = snapping(name) if name in METARIGS else 0.0
    scene, obj = make(name)
    names = [part.bone for part in obj.active_ragdoll.parts]
    start = time.perf_counter()
    carried = bake._controls(obj, names)
    left = "".join(f", turned {name}" for name, only in zip(carried.bones, carried.reversed) if only)
    costs = [f"{len(carried.control_of)} of {len(carried.bones)}{left}", time.perf_counter() - start]
    recorder = fallen(scene, obj, frames)
    cases, owned = {}, [body for body in carried.control_of if not carried.reversed[body]]
    for led, exact in ((False, True), (True, True), (True, False)):
        rig = bake._controls(obj, names, controls.IK, exact) if led else carried
        if not led or rig.limbs.found:
            made = list(motion(rig))
            shown, cost = solved(rig, recorder.numbers, recorder.poses)
            pairs = {"physical" if exact else "stretched": (shown, recorder.poses)}
            pairs["given" if exact else "given stretched"] = solved(rig, [1] * len(made), made)[0], made
            costs += cost if exact else ()
            for case, pair in pairs.items():
                whole = {case: summary(apart(rig, *pair)[:, owned])}
                cases |= of_limbs(rig, *pair, case, owned) if led else whole
        rig.remove()
    return cases, (*costs, *[0.0] * (6 - len(costs)), own / costs[2])


def run(**options) -> tuple[dict, bool]:
    """Measure the rigs; their figures, and whether all aims are met."""
    figures, rows, costs = {}, [], []
    for name in options["rigs"]:
        cases, cost = measured(name, options["frames"])
        for case, values in cases.items():
            good = all(value <= aim for value, aim in zip(values, AIMS[case], strict=True))
            rows.append((f"{name}, {case}", *values, _characters.verdict(good)))
            figures[f"{name} {case}"] = dict(zip(FIGURES, values))
        costs.append((name, *cost, _characters.verdict(max(cost[2], cost[4]) <= SECONDS)))
        figures[f"{name} cost"] = dict(zip(COSTS, cost))
    _characters.print_table("A bake to controls", ("rig", *(f.replace("_", " ") for f in FIGURES), "aim"), rows)
    _characters.print_table("What it costs", ("rig", *COSTS, "aim"), costs)
    return figures, all(row[-1] == "PASS" for row in rows + costs)


if __name__ == "__main__":
    _characters.bench(run, __doc__, rigs=[*METARIGS, *MADE], frames=40)
