"""Behaviours: how a character that is knocked out falls, and what pushes one catches that keeps its balance.

    python dev.py bench behaviours [--cases falls] [--rigs ...] [--speeds 1.2 2.0] [--json FILE]

falls: pushed on the chest from four sides, as a rag, stunned and awake. Speeds of joints (95 % and largest, after the
blow), the largest fold of trunk against thigh, the time to rest, the head's speed when it meets the floor against the
rag's in the same push, and whether a hand, elbow or shoulder meets the floor before it. All as of 1.8 m.
Aims for stunned and awake: 300 and 1,000 deg/s, 90 deg, 3 s. For awake forwards and sideways: arms first in 95 % of
falls, and the head at least 25 % slower.

pushes: a walker of our own, pushed at two moments of a step, and the same figure standing; N s of a man of 70 kg.
Steps, the largest slide of a foot that stands beyond the walk's own [mm a frame], the hip's largest acceleration
[m/s^2], or the time until it is knocked out [s]. As of 1.8 m.
Aims: 60 forwards, 50 backwards, 45 aside, 25 standing are caught; 2 mm; 8 m/s^2; others fall within 0.6 s.
"""

from collections.abc import Callable

import _characters
import numpy as np

import falling
import pushing

KINDS = {"rag": falling.RAG, "stunned": falling.STUNNED, "awake": falling.AWAKE}


def falls(rigs: list[str], speeds: list[float]) -> tuple[dict, bool]:
    """Every rig from every side at every strength, in three tones."""
    rows, found = [], []
    for name in rigs:
        for speed in speeds:
            for side in falling.SIDES:
                rag = None
                for kind, tone in KINDS.items():
                    fall = falling.fall(name, side, *tone, speed)
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


def pushes(_rigs: list[str], _speeds: list[float]) -> tuple[dict, bool]:
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


CASES: dict[str, Callable] = {"falls": falls, "pushes": pushes}


def run(cases: list[str], rigs: list[str], speeds: list[float]) -> tuple[dict, bool]:
    """The named cases."""
    results = [CASES[name](rigs, speeds) for name in cases]
    return {name: value for figures, _met in results for name, value in figures.items()}, all(m for _f, m in results)


if __name__ == "__main__":
    _characters.bench(run, __doc__, cases=list(CASES), rigs=["walk.fbx", "mh_mixamo.blend", "Knight.glb"], speeds=[1.2])
