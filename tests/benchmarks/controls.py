"""How near a bake to controls comes, and how long it takes, on rigs that Rigify generates.

    python dev.py bench controls [--rigs human wolf ...] [--frames N] [--json FILE]

    given      poses that the controls were turned to at random are found again (FK: mean 0.3 mm and 0.1 deg, worst 2 mm
               and 1 deg at 1.8 m)
    ik         the same poses by inverse kinematics with exact joints: ends 0.1 mm, knees and elbows mean 1, worst 5
    physical   a shot in which the character is hit and falls limp on a floor (mean 2 mm, worst 12; the twist that no
               control gives apart), and by IK with exact joints: ends, middles, the planes that limbs bend in (2 deg)
    cost       seconds of the search, and of 250 frames in FK and IK (10); how often Blender evaluates a frame

Bones that no control of their own carries are counted, and left out of the figures.
"""

import time

import _characters
import bpy
import numpy as np
from mathutils import Matrix

import knock_outs
import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.bake import controls, ik_limbs
from active_ragdoll.core.blender.physics import build
from demo.character import generate_rigify

HEIGHT = 1.8  # [m] that distances are stated for
METARIGS = {"human": "human", "basic": "Basic.basic_human"}
METARIGS |= {name: f"Animals.{name}" for name in ("wolf", "horse", "cat", "bird")}
AIMS = {  # mean and worst mm, mean and worst deg
    "given": (0.3, 2.0, 0.1, 1.0),
    "ik ends": (0.1, 0.1, np.inf, np.inf),
    "ik middles": (1.0, 5.0, np.inf, np.inf),
    "physical": (2.0, 12.0, np.inf, np.inf),
    "physical ik ends": (2.0, 12.0, np.inf, np.inf),
    "physical ik middles": (2.0, 12.0, np.inf, np.inf),
    "bend planes": (np.inf, np.inf, 2.0, 2.0),
}
BENT = np.radians(10.0)  # of a limb, from where on its bend has a plane
POSES, SECONDS = 4, 10.0
COSTS = ("carried", "search s", "250 in FK s", "tries", "250 in IK s", "tries in IK")


def make(name: str):
    """A generated rig with a ragdoll of its main bones, in an empty file."""
    scene = rigs.empty_file()
    metarig = rigs.metarig(scene, METARIGS[name])
    obj = generate_rigify(metarig)
    bpy.data.objects.remove(metarig)
    build.build(obj, scene, "MAIN")
    return scene, obj


def summary(off: np.ndarray, owned: list, height: float) -> tuple:
    """(mean mm, worst mm, mean deg, worst deg) of the bones that have a control, of distances in heights."""
    off = off[:, owned]
    mm, deg = off[..., 1] / height * HEIGHT * 1e3, np.degrees(off[..., 0])
    return float(mm.mean()), float(mm.max()), float(deg.mean()), float(deg.max())


def given(carried: controls.Controls, frame: int) -> tuple[np.ndarray, list]:
    """How far off poses are found that the controls were turned to [p, m, 2], and these poses."""
    rng, found, poses = np.random.default_rng(0), [], []
    bones = [carried.copy.pose.bones[owner.name] for owner in carried.owners]
    for _ in range(POSES):
        asked = np.tile(np.eye(4), (len(bones), 1, 1))
        for at, owner in enumerate(carried.owners):
            turn = np.clip(rng.normal(size=3) * 0.25, -0.7, 0.7) * owner.turns[:, :, 0].any(axis=(0, 1))
            shift = np.clip(rng.normal(size=3), -2.0, 2.0) * 0.05 * owner.unit
            asked[at] = controls._moved(asked[at], np.concatenate([turn, shift]))
        wanted = np.tile(np.eye(4), (len(carried.bones), 1, 1))
        wanted = carried._try(bones, asked, wanted)[0]
        for bone in bones:
            bone.matrix_basis = Matrix()
        found.append(carried.solve(frame, wanted, None)[1])
        poses.append(wanted)
    return np.array(found), poses


def by_ik(led: controls.Controls, off: np.ndarray, case: str) -> dict:
    """Of errors [f, m, 2] of a bake by inverse kinematics those of the ends of limbs, and of their middles."""
    limbs = led.limbs.found
    rows = {f"{case}ik ends": {limb.last for limb in limbs}, f"{case}ik middles": {limb.lower for limb in limbs}}
    found = {name: [led.rows.index(row) for row in some if row in led.rows] for name, some in rows.items()}
    return {name: summary(off, bodies, led.height) for name, bodies in found.items() if bodies}


def planes(led: controls.Controls, wanted: np.ndarray, shown: np.ndarray) -> list:
    """Angles between the planes that limbs bend in, wanted and shown, where they are bent by more than BENT [rad]."""
    found = []
    for limb in led.limbs.found:
        root, middle, end = led.limbs.joints(limb, wanted)
        a, b = middle - root, end - middle
        if np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1.0, 1.0)) > BENT:
            off, axis = led.limbs._bend(limb, wanted)
            found.append(abs(ik_limbs._angle(off, led.limbs._bend(limb, shown)[0], axis)))
    return found


class Counted:
    """Counts the evaluations of a copy that is put back to rest, and the seconds, until it is read."""

    def __init__(self, carried: controls.Controls) -> None:
        self.count, self.start, self.poses = 0, time.perf_counter(), None
        shown = carried.shown
        for bone in carried.copy.pose.bones:
            bone.matrix_basis = Matrix()

        def count():
            self.count, self.poses = self.count + 1, shown()
            return self.poses

        carried.shown = count

    def read(self, frames: int) -> tuple[float, float]:
        """Seconds for 250 frames, evaluations for one; the evaluation of the frame itself comes on top."""
        return (time.perf_counter() - self.start) / frames * 250, self.count / frames


def fallen(scene, obj, frames: int):
    """What is recorded of a character that is hit and falls on a floor."""
    rigs.set_range(scene, 1, frames)
    knock_outs.floor(scene, obj)
    part = max(obj.active_ragdoll.parts, key=lambda part: part.body.rigid_body.mass)
    hit = obj.active_ragdoll.hits.add()
    hit.bone, hit.frame, hit.vector = part.bone, 3, (0.3, 1.0, 0.1)
    hit.strength = 2.0 * sum(part.body.rigid_body.mass for part in obj.active_ragdoll.parts)
    rigs.set_weights(obj, 0.0)
    bpy.ops.active_ragdoll.simulate()
    recorder = bake.Recorder(obj, scene, False)
    list(recorder.watch(1, frames))
    return recorder


def measured(name: str, frames: int) -> tuple[dict, tuple]:
    """The cases of a rig, and what it costs."""
    scene, obj = make(name)
    names = [part.bone for part in obj.active_ragdoll.parts]
    start = time.perf_counter()
    carried = bake._controls(obj, names)
    searching = time.perf_counter() - start
    owned = list(carried.control_of)
    off, poses = given(carried, 1)
    recorder = fallen(scene, obj, frames)
    counted = Counted(carried)
    list(recorder.solve(carried))
    costs = [searching, *counted.read(frames)]
    cases = {"given": summary(off, owned, carried.height)}
    cases["physical"] = summary(np.array(recorder.off), owned, carried.height)
    carried.remove()
    led = bake._controls(obj, names, controls.IK, True)
    if led.limbs.found:
        cases |= by_ik(led, np.array([led.solve(1, wanted, None)[1] for wanted in poses]), "")
        counted, basis, off, bends = Counted(led), None, [], []
        for frame, wanted in zip(recorder.numbers, recorder.poses, strict=True):
            basis, left = led.solve(frame, wanted, basis)
            off.append(left)
            bends += planes(led, wanted, counted.poses)
        costs += counted.read(frames)
        cases |= by_ik(led, np.array(off), "physical ")
        bends = np.degrees(bends or [0.0])
        cases["bend planes"] = (0.0, 0.0, float(bends.mean()), float(bends.max()))
    led.remove()
    return cases, (f"{len(owned)} of {len(names)}", *costs)


def run(**options) -> tuple[dict, bool]:
    """Measure the rigs; their figures, and whether all aims are met."""
    figures, rows, costs = {}, [], []
    for name in options["rigs"]:
        cases, cost = measured(name, options["frames"])
        for case, values in cases.items():
            good = all(value <= aim for value, aim in zip(values, AIMS[case], strict=True))
            rows.append((f"{name}, {case}", *values, _characters.verdict(good)))
            figures[f"{name} {case}"] = dict(zip(("mean_mm", "worst_mm", "mean_deg", "worst_deg"), values))
        costs.append((name, *(*cost, 0.0, 0.0)[:6], _characters.verdict(max(cost[2::2]) <= SECONDS)))
        figures[f"{name} cost"] = dict(zip(COSTS, cost))
    head = ("rig", "mean mm", "worst mm", "mean deg", "worst deg", "aim")
    _characters.print_table("A bake to controls", head, rows)
    _characters.print_table("What it costs", ("rig", *COSTS, "aim"), costs)
    return figures, all(row[-1] == "PASS" for row in rows + costs)


if __name__ == "__main__":
    _characters.bench(run, __doc__, rigs=list(METARIGS), frames=40)
