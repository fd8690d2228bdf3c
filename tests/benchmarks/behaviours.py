"""Behaviours: how a character that is knocked out falls and gets up, and what pushes another one catches.

    python dev.py bench behaviours [--cases falls get_ups] [--rigs ...] [--speeds 1.2 2.0] [--bones MAIN] [--json FILE]

falls: pushed on the chest from four sides, as a rag, stunned and awake. Speeds of joints (95 % and largest, after the
blow), the largest fold of trunk against thigh, the time to rest, the head's speed when it meets the floor against the
rag's in the same push, and whether a hand, elbow or shoulder meets the floor before it. All as of 1.8 m.
Aims for stunned and awake: 300 and 1,000 deg/s, 90 deg, 3 s. For awake forwards and sideways: arms first in 95 % of
falls, and the head at least 25 % slower.

get_ups: pushed likewise, stunned, it gets up where it lies. The way up as planned against the bounds of
`motion_figures.BOUNDS`, and as simulated: what is out of bounds, the mean distance of knees, hips, elbows and shoulders
from the plan in shares of the height, and the accelerations of these against the plan's own (root of the mean square).
Aims: every plan within the bounds, 2 % of the height, 1.3 times the accelerations.

pushes: a walker of our own, pushed at two moments of a step, and the same figure standing; N s of a man of 70 kg.
Steps, the largest slide of a foot that stands beyond the walk's own [mm a frame], the hip's largest acceleration
[m/s^2], or the time until it is knocked out [s]. As of 1.8 m.
Aims: 60 forwards, 50 backwards, 45 aside, 25 standing are caught; 2 mm; 8 m/s^2; others fall within 0.6 s.
"""

from collections.abc import Callable

import _characters
import numpy as np

import falling
import motion_figures
import pushing
import rigs as characters
from active_ragdoll.core.blender.rig.armature import anatomy_of, array_of, bind_joints
from active_ragdoll.core.blender.run import records
from active_ragdoll.core.blender.stack import pose_stack
from active_ragdoll.core.motion.biped import Biped
from active_ragdoll.core.pose import compose_matrices

KINDS = {"rag": falling.RAG, "stunned": falling.STUNNED, "awake": falling.AWAKE}


def falls(rigs: list[str], speeds: list[float], bones: str) -> tuple[dict, bool]:
    """Every rig from every side at every strength, in three tones."""
    rows, found = [], []
    for name in rigs:
        for speed in speeds:
            for side in falling.SIDES:
                rag = None
                for kind, tone in KINDS.items():
                    fall = falling.fall(name, side, *tone, speed, bones=bones)
                    joints, head = fall.joint_speeds(), fall.head_speed()
                    rag = head if rag is None else rag
                    figures = {
                        "rig": name, "speed": speed, "from": side, "tone": kind,
                        "95 %": float(np.percentile(joints, 95)), "peak": float(joints.max()), "fold": fall.fold(),
                        "rest": fall.rest(), "head": head, "against rag": head / rag, "arms first": fall.arms_first(),
                    }  # fmt: skip
                    found.append(figures)
                    rows.append([f"{name} {speed:g} m/s from the {side}", *list(figures.values())[3:]])
    head = ("fall", *list(found[0])[3:])
    _characters.print_table("falls", head, rows)
    return {"falls": found}, _met(found)


def _met(found: list[dict]) -> bool:
    """Print how many falls meet each aim; whether all do."""
    toned = [f for f in found if f["tone"] != "rag"]
    braced = [f for f in toned if f["tone"] == "awake" and f["from"] != "front"]
    aims = {
        "95 % at most 300 deg/s": ([f["95 %"] <= 300.0 for f in toned], 1.0),
        "peak at most 1,000 deg/s": ([f["peak"] <= 1000.0 for f in toned], 1.0),
        "fold at most 90 deg": ([f["fold"] <= 90.0 for f in toned], 1.0),
        "at rest within 3 s": ([f["rest"] <= 3.0 for f in toned], 1.0),
        "arms before the head": ([f["arms first"] for f in braced], 0.95),
        "head 25 % slower": ([f["against rag"] <= 0.75 for f in braced], 1.0),
    }
    rows = [
        (aim, f"{sum(good)} of {len(good)}", _characters.verdict(np.mean(good) >= share))
        for aim, (good, share) in aims.items()
    ]
    _characters.print_table("aims", ("aim", "met by", ""), rows)
    return all(np.mean(good) >= share for good, share in aims.values())


def pushes(_rigs: list[str], _speeds: list[float], _bones: str) -> tuple[dict, bool]:
    """The walker and the standing figure, pushed from all sides."""
    found = [pushing.pushed(*case) for case in pushing.CASES]
    _characters.print_table("pushes", tuple(found[0]), [list(one.values()) for one in found])
    fell = [one["fell after"] for one in found if one["fell after"]]
    caught = [one for one in found if not one["fell after"]]
    aims = {
        "caught": [not one["fell after"] for one in found if one["N s"] <= pushing.MOST],
        "slides at most 2 mm": [one["slide"] <= 2.0 for one in caught],
        "hip below 8 m/s^2": [one["hip"] <= 8.0 for one in caught],
        "falls within 0.6 s": [time <= 0.6 for time in fell],
    }
    rows = [(aim, f"{sum(good)} of {len(good)}", _characters.verdict(all(good))) for aim, good in aims.items()]
    _characters.print_table("aims", ("aim", "met by", ""), rows)
    return {"pushes": found}, all(map(all, aims.values()))


def get_ups(rigs: list[str], speeds: list[float], bones: str) -> tuple[dict, bool]:
    """Every rig from every side at every strength."""
    found = [get_up(name, side, speed, bones) for name in rigs for speed in speeds for side in falling.SIDES]
    _characters.print_table("get-ups", list(found[0])[:-1], [list(one.values())[:-1] for one in found])
    for name, bound in motion_figures.BOUNDS.items():
        values = [one["figures"][name] for one in found if one["figures"]]
        print(f"  planned {name}: {min(values):.2f} to {max(values):.2f}, bound {bound:g}")
    good = [one["figures"] and not one["planned beyond"] and one["off plan"] <= 0.02 for one in found]
    return {"get_ups": found}, all(good)


def get_up(name: str, side: str, speed: float, bones: str) -> dict:
    """The figures of one."""
    made = falling.fall(name, side, *falling.STUNNED, speed, 300, bones, get_up="AUTOMATIC", rest_time=0.5)
    obj, frames = made.obj, sorted(made.shown)
    record = records.record_of(obj, frames[-1])
    way = next((passage for passage in record.passages if passage.planned is not None), None)
    result = {"rig": name, "from": side, "seconds": 0.0, "planned beyond": "", "off plan": 1.0, "worst": 1.0,
              "acceleration": 0.0, "simulated beyond": "", "figures": {}}  # fmt: skip
    if way is None:
        return result | {"planned beyond": "no plan"}
    motion, world, fps = pose_stack.of(obj), array_of(obj.matrix_world), characters.FPS
    own = Biped(motion.rig, anatomy_of(obj), *bind_joints(obj), world)
    span = range(int(way.frame) + 1, min(int(way.frame) + way.planned.frame_count, frames[-1]))
    poses = [way.pose(motion.rig, motion.rig.bind, world, frame) for frame in span]
    planned = own.placed(np.array([compose_matrices(*pose.model(motion.rig.skeleton)) for pose in poses]))
    shown = np.linalg.solve(world, np.array([made.shown[frame] for frame in span]))
    simulated = own.placed(shown[:, motion.rig.skeleton.to_level])
    joints = own.limbs[:, :2].ravel()
    off = np.linalg.norm(simulated[1] - planned[1], axis=-1)[:, joints] / own.height
    pushes = [
        np.sqrt(np.mean(np.diff(places[:, joints], n=2, axis=0) ** 2)) for _deltas, places in (simulated, planned)
    ]
    figures, felt = (motion_figures.figures(own, *motion, fps) for motion in (planned, simulated))
    return result | {
        "seconds": figures["seconds"], "planned beyond": _named(figures), "off plan": float(off.mean()),
        "worst": float(off.max()), "acceleration": float(pushes[0] / pushes[1]), "simulated beyond": _named(felt),
        "figures": figures,
    }  # fmt: skip


def _named(figures: dict) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in motion_figures.beyond(figures).items())


CASES: dict[str, Callable] = {"falls": falls, "get_ups": get_ups, "pushes": pushes}


def run(cases: list[str], rigs: list[str], speeds: list[float], bones: str) -> tuple[dict, bool]:
    """The named cases."""
    results = [CASES[name](rigs, speeds, bones) for name in cases]
    return {name: value for figures, _met in results for name, value in figures.items()}, all(m for _f, m in results)


if __name__ == "__main__":
    _characters.bench(
        run, __doc__, cases=list(CASES), rigs=["walk.fbx", "mh_mixamo.blend", "Knight.glb"], speeds=[1.2], bones="MAIN"
    )
