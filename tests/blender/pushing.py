"""Walkers and standing figures that are pushed and keep their balance, for its benchmark."""

from functools import lru_cache

import bpy
import numpy as np

import falling
import knock_outs
import rigs
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import effects
from active_ragdoll.core.blender.stack.entries.balance import Balance
from demo import character, walk_cycle

WALKER = "walker"  # of our own
WALKS = (WALKER, "walk.fbx", "cesium_man.gltf")  # all others stand
WAYS, MOMENTS, SIZES = range(0, 360, 30), range(0, 35, 7), (10, 25, 45, 50, 60, 90, 120)
AHEAD, BACK, ASIDE, STANDING = 60.0, 50.0, 45.0, 25.0  # [N s] of a man of 70 kg and 1.8 m that are to be caught
FIRST, LAST, LONGER = 30, 110, 30  # frame of the first push; frames; more for a gait that hurries ahead


def is_caught(name: str, way: int, size: float) -> bool:
    """Whether a push is to be caught, in a direction [deg] from straight ahead to the left: within an ellipse."""
    ahead, aside = np.cos(np.radians(way)), np.sin(np.radians(way))
    most = 1.0 / np.hypot(ahead / (AHEAD if ahead > 0.0 else BACK), aside / ASIDE) if name in WALKS else STANDING
    return size <= most + 1e-6


def pushed(name: str, way: int, moment: int, size: float) -> dict:
    """One push [N s], over a tenth of a second, so many frames after the first."""
    obj, bone, legs, plain = _made(name)
    settings, frame = obj.active_ragdoll, FIRST + moment
    tall, across = settings.height / 1.8, np.subtract(*plain[frame][[leg[0] for leg in legs], :2, 3])
    turn = np.angle(complex(*across)) - 0.5 * np.pi + np.radians(way)
    strength = size * rigs.masses(obj).sum() / 70.0 * np.sqrt(tall)
    settings.hits.clear()
    effects.add_hit(
        obj, bpy.context.scene, bone, frame, strength * np.array((np.cos(turn), np.sin(turn), 0)), duration=0.1
    )
    poses, states, phases, step = _poses(obj)
    fell = next((now for now in phases if phases[now] == "LIMP"), None)
    figures = {"figure": name, "to": way, "at": frame, "N s": size, "steps": 0, "slide": 0.0, "hip": 0.0}
    figures |= {"apart": np.inf, "own apart": np.inf}
    figures["fell after"] = 0.0 if fell is None else (fell - frame) / rigs.FPS / np.sqrt(tall)
    figures["over"] = not states[LAST] or states[LAST].is_calm(step.body)
    if fell is not None:
        return figures
    hips = np.array([poses[now][[leg[0] for leg in legs], :3, 3].mean(axis=0) for now in range(frame, LAST)])
    figures["hip"] = float(np.linalg.norm(np.diff(hips, 2, axis=0), axis=1).max() * rigs.FPS**2)
    near = [[_apart(each[now], legs) for now in range(frame, LAST)] for each in (poses, plain)]
    figures["apart"], figures["own apart"] = (min(each) / tall * 100.0 for each in near)
    for now in range(frame + 1, LAST - 1):
        before, a, b = (states[now + i] for i in (-2, -1, 0))  # a pose is as far ahead as the state before
        for k in (0, 1) if before and a and b else ():
            stood = a.feet[k].swing and not b.feet[k].swing
            figures["steps"] += bool(stood and abs(b.feet[k].offset - a.feet[k].swing[0]) > 0.05)
            if not a.feet[k].swing and not b.feet[k].swing:
                # Beyond the walk's own where its phase is, as fast as that goes.
                slid = _at(poses, now, legs[k]) - _at(poses, now - 1, legs[k])
                slid -= _at(plain, now + a.ahead, legs[k]) - _at(plain, now - 1 + before.ahead, legs[k])
                figures["slide"] = max(figures["slide"], 1e3 / tall * np.linalg.norm(slid))
    return figures


def _at(poses: dict, frame: float, leg: list) -> np.ndarray:
    """Where the ball of the foot is over the ground [2]."""
    first, share = int(frame), frame % 1.0
    return (1.0 - share) * poses[first][leg[-1], :2, 3] + share * poses[first + 1][leg[-1], :2, 3]


def _apart(pose: np.ndarray, legs: list) -> float:
    """Least distance [m] of the lines from knee to ankle to the ball of the foot of two legs."""
    share = np.linspace(0.0, 1.0, 9)[:, None, None]
    left, right = (
        (pose[leg[-3:-1], :3, 3] * (1 - share) + pose[leg[-2:], :3, 3] * share).reshape(-1, 3) for leg in legs
    )
    return float(np.linalg.norm(left[:, None] - right, axis=-1).min())


@lru_cache(1)
def _made(name: str) -> tuple:
    """The only character of a file: itself, the bone that is pushed, rows of its legs' bones, its poses unpushed."""
    if name == WALKER:
        scene = rigs.empty_file()
        obj, _mesh = character.make_rigify_human(scene)
        walk_cycle.make_walk_cycle(obj, scene, cycles=8)
    else:
        rig = rigs.load(name)
        obj, scene = rig.obj, rig.scene
        for curve in rigs.curves_of(obj.animation_data.action) if name in WALKS else ():
            curve.modifiers.new("CYCLES").mode_after = "REPEAT_OFFSET"
        if name not in WALKS:
            falling.still(obj)
    knock_outs.prepare(scene, obj, 1, LAST + LONGER, {-1000: "LIMP"})
    rigs.select(obj, obj.name)
    bpy.ops.active_ragdoll.setup_balance()
    plain, _states, _phases, step = _poses(obj)
    rigs.set_range(scene, 1, LAST)
    legs = [[obj.data.bones.find(step.rig.name(bone)) for bone in leg.bones] for leg in step.figure.legs]
    for leg in legs:
        leg += [obj.data.bones.find(toe.name) for toe in obj.data.bones[leg[-1]].children[:1]] or leg[-1:]
    return obj, falling.chest_of(obj), legs, plain


def _poses(obj) -> tuple:
    """Targets, balances and recovery's states by frame, and the step that made them."""
    poses, states, phases = {}, {}, {}
    for frame in simulate.frames(bpy.context.scene):
        stack = STATE.motions[obj.name]
        step = next(entry for entry in stack.entries if isinstance(entry, Balance))
        found = stack.states.get(frame)
        states[frame] = found[stack.entries.index(step)] if found else None
        poses[frame], phases[frame] = rigs.pose(obj.active_ragdoll.target_armature), obj.active_ragdoll.state
    return poses, states, phases, step
