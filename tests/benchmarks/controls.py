"""How near a bake to controls comes, and how long it takes, on rigs that Rigify generates.

    python dev.py bench controls [--rigs human wolf ...] [--frames N] [--json FILE]

    given      poses that the controls were turned to at random are found again (FK: mean 0.3 mm and 0.1 deg, worst 2 mm
               and 1 deg at 1.8 m)
    ik         the same poses by inverse kinematics with exact joints: ends 0.1 mm, knees and elbows mean 1, worst 5
    physical   a shot in which the character falls limp (mean 2 mm, worst 12; the twist that no control gives apart)
    seconds    of the search for controls, and of 250 frames (10)

Bones that no control of their own carries are counted, and left out of the figures.
"""

import time

import _characters
import bpy
import numpy as np
from mathutils import Matrix

import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.bake import controls
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
}
POSES, SECONDS = 4, 10.0
HEAD = ("mean mm", "worst mm", "mean deg", "worst deg", "search s", "250 frames s", "aim")


def make(name: str):
    """A generated rig with a ragdoll of its large bones, in an empty file."""
    scene = rigs.empty_file()
    metarig = rigs.metarig(scene, METARIGS[name])
    obj = generate_rigify(metarig)
    bpy.data.objects.remove(metarig)
    size = max(obj.dimensions)
    bones = np.array([bone.use_deform and bone.length > 0.03 * size for bone in obj.data.bones])
    build.build(obj, scene, bones)
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
            turn = np.clip(rng.normal(size=3) * 0.25, -0.7, 0.7) * owner.free
            asked[at] = controls._moved(asked[at], np.concatenate([turn, np.zeros(3)]))
        wanted = np.tile(np.eye(4), (len(carried.bones), 1, 1))
        wanted = carried._try(bones, asked, wanted)[0]
        for bone in bones:
            bone.matrix_basis = Matrix()
        found.append(carried.solve(frame, wanted, None)[1])
        poses.append(wanted)
    return np.array(found), poses


def by_ik(obj, names: list, poses: list) -> dict:
    """The same poses by inverse kinematics with exact joints: how far off the ends of limbs are, and their middles."""
    led = bake._controls(obj, names, controls.IK, True)
    limbs = led.limbs.found
    rows = {"ik ends": {limb.last for limb in limbs}, "ik middles": {limb.lower for limb in limbs}}
    off = np.array([led.solve(1, wanted, None)[1] for wanted in poses]) if limbs else None
    found = {case: [led.rows.index(row) for row in some if row in led.rows] for case, some in rows.items()}
    led.remove()
    return {case: summary(off, bodies, led.height) for case, bodies in found.items() if bodies}


def run(**options) -> tuple[dict, bool]:
    """Measure the rigs; their figures, and whether all aims are met."""
    figures, rows = {}, []
    for name in options["rigs"]:
        scene, obj = make(name)
        rigs.set_range(scene, 1, options["frames"])
        names = [part.bone for part in obj.active_ragdoll.parts]
        start = time.perf_counter()
        carried = bake._controls(obj, names)
        searching = time.perf_counter() - start
        owned = [owner.body for owner in carried.owners]
        off, poses = given(carried, 1)
        cases = {"given": summary(off, owned, carried.height)} | by_ik(obj, names, poses)
        rigs.set_weights(obj, 0.0)
        bpy.ops.active_ragdoll.simulate()
        start = time.perf_counter()
        recorder = bake.Recorder(obj, scene, False)
        list(recorder.watch(1, options["frames"]))
        list(recorder.solve(carried))
        seconds = (time.perf_counter() - start) / options["frames"] * 250
        cases["physical"] = summary(np.array(recorder.off), owned, carried.height)
        carried.remove()
        for case, values in cases.items():
            good = all(value <= aim for value, aim in zip(values, AIMS[case], strict=True))
            good &= case != "physical" or seconds <= SECONDS
            own = (*values, searching, seconds, _characters.verdict(good))
            rows.append((f"{name}, {case}", f"{len(owned)} of {len(names)}", *own))
            figures[f"{name} {case}"] = dict(zip(HEAD, own))
    _characters.print_table("A bake to controls", ("rig", "carried", *HEAD), rows)
    return figures, all(row[-1] == "PASS" for row in rows)


if __name__ == "__main__":
    _characters.bench(run, __doc__, rigs=list(METARIGS), frames=40)
