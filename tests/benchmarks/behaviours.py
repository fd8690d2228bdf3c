"""Behaviours: how a character that is knocked out falls and gets up, and what pushes another one catches.

    python dev.py bench behaviours [--cases falls plans ...] [--rigs ...] [--speeds 1.2 2.0] [--sides front ...]
                                   [--grounds flat slope stairs] [--sample 20 --seed 1] [--bones MAIN] [--json FILE]

Everyone is pushed on the chest from all sides at all speeds on all grounds, or in a sample of these. As of 1.8 m.

falls: on the flat as a rag, stunned and awake. Speeds of joints (95 % and largest, after the blow), the largest fold of
trunk against thigh, the time to rest, the head's speed when it meets the floor against the rag's in the same push (nan
where that never does), and whether a hand, elbow or shoulder meets the floor before it (None where neither does).
Aims for stunned and awake: 300 and 1,000 deg/s, 90 deg, 3 s. For awake forwards and sideways: arms first in 95 % of
falls, and the head at least 25 % slower.

plans: stunned, the way up from how it lies at moments [s] of the fall, not simulated: how often what is out of
`motion_figures.BOUNDS`, and how far, and why there is none. With three speeds 60 poses of a rig on a ground.

get_ups: stunned, it gets up where it lies. The way up as planned against these, and as simulated: what is out of
bounds, the mean distance of knees, hips, elbows and shoulders from the plan in shares of the height, and the
accelerations of these against the plan's own (root of the mean square).
Aims: every plan within the bounds, 2 % of the height, 1.3 times the accelerations.

pushes: walks, and others that stand (--pushed ...); [deg to the left], N s of a man of 70 kg. Steps, the largest slide
of a foot that stands beyond the walk's own [mm a frame], the hip's largest acceleration [m/s^2], how near the legs come
to each other, also without the push [cm], the time until it is knocked out [s], whether it is over at the end.
Aims: 60 forwards, 50 backwards, 45 aside (an ellipse), 25 standing are caught; 2 mm; 8 m/s^2; 5 cm; 0.6 s."""

import itertools
import random
from collections.abc import Callable
from types import SimpleNamespace

import _characters
import numpy as np

import falling
import motion_figures
import pushing
import rigs as characters
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender.rig.armature import array_of
from active_ragdoll.core.blender.run import get_up as ways_up
from active_ragdoll.core.blender.run import records
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import pose_stack
from active_ragdoll.core.errors import RagdollError
from active_ragdoll.core.motion.get_up import plan
from active_ragdoll.core.pose import compose_matrices

KINDS = {"rag": falling.RAG, "stunned": falling.STUNNED, "awake": falling.AWAKE}


def falls(chosen) -> tuple[dict, bool]:
    """Every fall on the flat in three tones."""
    found, rag = [], 0.0
    for name, speed, side, _ground in (fall for fall in chosen.falls if fall[3] == "flat"):
        for kind, tone in KINDS.items():
            fall = falling.fall(name, side, *tone, speed, bones=chosen.bones)
            joints, head = fall.joint_speeds(), fall.head_speed()
            rag = head if kind == "rag" else rag
            found.append({
                "rig": name, "speed": speed, "from": side, "tone": kind,
                "95 %": float(np.percentile(joints, 95)), "peak": float(joints.max()), "fold": fall.fold(),
                "rest": fall.rest(), "head": head, "against rag": head / (rag or np.nan),
                "arms first": fall.arms_first(),
            })  # fmt: skip
    _characters.print_table("falls", list(next(iter(found), {})), [list(one.values()) for one in found])
    toned = [f for f in found if f["tone"] != "rag"]
    braced = [f for f in toned if f["tone"] == "awake" and f["from"] != "front"]
    return {"falls": found}, _told({
        "95 % at most 300 deg/s": ([f["95 %"] <= 300.0 for f in toned], 1.0),
        "peak at most 1,000 deg/s": ([f["peak"] <= 1000.0 for f in toned], 1.0),
        "fold at most 90 deg": ([f["fold"] <= 90.0 for f in toned], 1.0),
        "at rest within 3 s": ([f["rest"] <= 3.0 for f in toned], 1.0),
        "arms before the head": ([f["arms first"] for f in braced], 0.95),
        "head 25 % slower": ([f["against rag"] <= 0.75 if f["against rag"] >= 0.0 else None for f in braced], 1.0),
    })  # fmt: skip


def _told(aims: dict) -> bool:
    """Print how many cases meet each aim, as (whether each does, or None, what share has to); whether all are met."""
    counted = [[each for each in good if each is not None] for good, _share in aims.values()]
    met = [bool(np.mean(own or [True]) >= share) for own, (_good, share) in zip(counted, aims.values())]
    rows = [(aim, f"{sum(own)} of {len(own)}", len(aims[aim][0]) - len(own)) for aim, own in zip(aims, counted)]
    rows = [(*row, _characters.verdict(m)) for row, m in zip(rows, met)]
    _characters.print_table("aims", ("aim", "met by", "not counted", ""), rows)
    return all(met)


def pushes(chosen) -> tuple[dict, bool]:
    """A sample of pushes of every figure."""
    ways, draw = [*itertools.product(pushing.WAYS, pushing.MOMENTS, pushing.SIZES)], random.Random(chosen.seed).sample
    found = [pushing.pushed(name, *case) for name in chosen.pushed for case in draw(ways, chosen.sample or 24)]
    _characters.print_table("pushes", tuple(found[0]), [list(one.values()) for one in found])
    weak = [one for one in found if pushing.is_caught(one["figure"], one["to"], one["N s"])]
    caught, fell = ([one for one in found if bool(one["fell after"]) == fallen] for fallen in (False, True))
    return {"pushes": found}, _told({
        "those to be caught are": ([not one["fell after"] for one in weak], 1.0),
        "caught ones are over": ([one["over"] for one in caught], 1.0),
        "slides at most 2 mm": ([one["slide"] <= 2.0 for one in caught], 1.0),
        "hip below 8 m/s^2": ([one["hip"] <= 8.0 for one in caught], 1.0),
        "legs apart": ([one["apart"] >= min(one["own apart"], 5.0) for one in caught], 1.0),
        "falls within 0.6 s": ([one["fell after"] <= 0.6 for one in fell], 1.0),
    })  # fmt: skip


def plans(chosen) -> tuple[dict, bool]:
    """The ways up from how it lies at some moments of every fall."""
    found = {}
    for name, speed, side, ground in chosen.falls:
        here, due = found.setdefault(f"{name} {ground}", []), list(chosen.moments)

        def look(obj, seconds, here=here, due=due):
            if due and seconds >= due[0]:
                due.pop(0)
                here.append(_missed(obj))

        more = {"bones": chosen.bones, "ground": ground, "look": look, "get_up": "AUTOMATIC"}
        falling.fall(name, side, *falling.STUNNED, speed, **more)
    rows = []
    for name, ways in found.items():
        missed = {}
        for miss, value in (each for way in ways for each in way.items()):
            missed.setdefault(miss, []).append(value)
        often = sorted(missed.items(), key=lambda each: -len(each[1]))
        told = "; ".join(f"{len(values)} x {miss}" + f" {max(values):.3g}" * any(values) for miss, values in often)
        rows.append((name, f"{ways.count({})} of {len(ways)}", _characters.verdict(not told), told))
    _characters.print_table("plans", ("rig", "within", "", "out of bounds"), rows)
    return {"plans": found}, all(row[2] == "PASS" for row in rows)


def _missed(obj) -> dict:
    """What is out of bounds of the way up of a character as it lies now, or why it has none."""
    scene, world = obj.active_ragdoll.scene, array_of(obj.matrix_world)
    run, character = STATE.runs[scene.name], records.recovery_of(obj).character
    own = ways_up.biped(obj, character.motion.rig, world)
    lying = np.linalg.solve(world, characters.pose(obj))[own.rig.skeleton.to_level]
    try:
        way, _clip = ways_up.planned(run, character, scene, scene.frame_current, lying, world, plan.Manner())
    except RagdollError as error:
        return {str(error): 0.0}
    own.bend_about(ways_up._ranges(obj, own).hinges(own))
    into = world[:3, :3] @ quaternion.to_matrix(quaternion.conjugate(own.frame)) / own.scale
    floor = ways_up._floor(run, character, scene, own, own.extract(*own.placed(lying)).hip, world, into)
    motion = own.placed(compose_matrices(*way.poses.model(own.rig.skeleton)))
    strays = motion_figures.strays(own, way, *motion, ways_up._surface(character, own), floor, characters.FPS)
    return motion_figures.beyond(motion_figures.figures(own, *motion, characters.FPS) | strays)


def get_ups(chosen) -> tuple[dict, bool]:
    """Every fall, got up from."""
    found = [get_up(*fall, chosen.bones) for fall in chosen.falls]
    head = max(map(list, found), key=len)
    _characters.print_table("get-ups", head, [[one.get(name, "") for name in head] for one in found])
    sound = [one for one in found if not one["planned beyond"] and one["off plan"] <= 0.02]
    met = all(one["acceleration"] <= 1.3 and not one["simulated beyond"] for one in sound)
    return {"get_ups": found}, met and sound == found


def get_up(name: str, speed: float, side: str, ground: str, bones: str) -> dict:
    """The figures of one."""
    more = {"ground": ground, "get_up": "AUTOMATIC", "rest_time": 0.5}
    made = falling.fall(name, side, *falling.STUNNED, speed, 300, bones, **more)
    obj, frames, case = made.obj, sorted(made.shown), {"rig": name, "speed": speed, "from": side, "on": ground}
    way = next((way for way in records.record_of(obj, frames[-1]).passages if way.planned is not None), None)
    if way is None:
        return case | {"planned beyond": "no plan", "off plan": 1.0}
    motion, world, fps = pose_stack.of(obj), array_of(obj.matrix_world), characters.FPS
    own = ways_up.biped(obj, motion.rig, world)
    span = range(int(way.frame) + 1, min(int(way.frame) + round(way.keys[-1] * fps) + 1, frames[-1]))  # until he stands
    poses = [way.pose(motion.rig, motion.rig.bind, world, frame) for frame in span]
    planned = own.placed(np.array([compose_matrices(*pose.model(motion.rig.skeleton)) for pose in poses]))
    shown = np.linalg.solve(world, np.array([made.shown[frame] for frame in span]))
    simulated = own.placed(shown[:, motion.rig.skeleton.to_level])
    joints = own.limbs[:, :2].ravel()
    off = np.linalg.norm(simulated[1] - planned[1], axis=-1)[:, joints] / own.height
    pushes = [np.sqrt(np.mean(np.diff(p[:, joints], n=2, axis=0) ** 2)) for _deltas, p in (simulated, planned)]
    figures, felt = (motion_figures.figures(own, *motion, fps) for motion in (planned, simulated))
    return case | {
        "planned beyond": _named(figures), "off plan": float(off.mean()), "worst": float(off.max()),
        "acceleration": float(pushes[0] / pushes[1]), "simulated beyond": _named(felt), "seconds": figures["seconds"],
    }  # fmt: skip


def _named(figures: dict) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in motion_figures.beyond(figures).items())


CASES: dict[str, Callable] = {"falls": falls, "plans": plans, "get_ups": get_ups, "pushes": pushes}


def run(cases, rigs, speeds, sides, grounds, moments, pushed, sample, seed, bones) -> tuple[dict, bool]:
    """The named cases."""
    falls = [(*fall, ground) for ground, *fall in itertools.product(grounds, rigs, speeds, sides)]
    falls = random.Random(seed).sample(falls, min(sample, len(falls))) if sample else falls
    chosen = SimpleNamespace(falls=falls, moments=moments, pushed=pushed, sample=sample, seed=seed, bones=bones)
    results = [CASES[name](chosen) for name in cases]
    return {name: value for figures, _met in results for name, value in figures.items()}, all(m for _f, m in results)


if __name__ == "__main__":
    _characters.bench(
        run, __doc__, cases=["falls", "get_ups", "pushes"], rigs=["walk.fbx", "mh_mixamo.blend", "Knight.glb"],
        speeds=[1.2], sides=list(falling.SIDES), grounds=["flat"], moments=[0.6, 1.0, 1.5, 2.2, 3.2],
        pushed=[*pushing.WALKS, "mh_mixamo.blend"], sample=0, seed=1, bones="MAIN",
    )  # fmt: skip
