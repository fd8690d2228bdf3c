"""Walkers and standing figures that are pushed and keep their balance, for its benchmark."""

from functools import lru_cache

import bpy
import numpy as np

import falling
import knock_outs
import rigs
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import effects
from active_ragdoll.core.blender.stack.entries.balance import Balance
from demo import character, walk_cycle

WALKER = "walker"  # of our own
WALKS = (WALKER, "walk.fbx", "cesium_man.gltf")  # all others stand
WAYS, MOMENTS, SIZES = range(0, 360, 30), range(0, 35, 7), (10, 25, 45, 50, 60, 90, 120)
AHEAD, BACK, ASIDE, STANDING = 60.0, 50.0, 45.0, 25.0  # [N s] of a man of 70 kg and 1.8 m that are to be caught
FIRST, LAST, LONGER = 30, 110, 50  # frame of the first push; frames; more for a gait that hurries ahead


def is_caught(name: str, way: int, size: float) -> bool:
    """Whether a push is to be caught, in a direction [deg] from straight ahead to the left: within an ellipse."""
    ahead, aside = np.cos(np.radians(way)), np.sin(np.radians(way))
    most = 1.0 / np.hypot(ahead / (AHEAD if ahead > 0.0 else BACK), aside / ASIDE) if name in WALKS else STANDING
    return size <= most + 1e-6


def pushed(name: str, way: int, moment: int, size: float) -> dict:
    """One push [N s], over a tenth of a second, so many frames after the first."""
    obj, bone, legs, plain = made(name)
    frame, hips = FIRST + moment, [leg[0] for leg in legs]
    tall, across = obj.active_ragdoll.height / 1.8, np.subtract(*plain[frame][hips, :2, 3])
    turn = np.angle(complex(*across)) - 0.5 * np.pi + np.radians(way)
    strength = size * rigs.masses(obj).sum() / 70.0 * np.sqrt(tall) * np.array((np.cos(turn), np.sin(turn), 0.0))
    obj.active_ragdoll.hits.clear()
    effects.add_hit(obj, bpy.context.scene, bone, frame, strength, duration=0.1)
    poses, states, step = poses_of(obj, LAST)
    figures = {"figure": name, "to": way, "at": frame, "N s": size, "steps": 0, "slide": 0.0, "hip": 0.0}
    figures |= dict.fromkeys(("apart", "own apart"), np.inf) | {"fell after": 0.0, "over": True}
    if len(poses) < LAST:
        return figures | {"fell after": (len(poses) - frame) / rigs.FPS / np.sqrt(tall)}
    figures["over"] = not states[LAST] or states[LAST].is_calm(step.body)
    ways = np.array([poses[now][hips, :3, 3].mean(axis=0) for now in range(frame, LAST)])
    figures["hip"] = float(np.linalg.norm(np.diff(ways, 2, axis=0), axis=1).max() * rigs.FPS**2)
    near = [[_apart(each[now], legs) for now in range(frame, LAST)] for each in (poses, plain)]
    figures["apart"], figures["own apart"] = (min(each) / tall * 100.0 for each in near)
    for now in range(frame + 1, LAST):
        before, a, b = (states[now + i] for i in (-2, -1, 0))  # a pose is as far ahead as the state before
        for k in (0, 1) if before and a and b else ():
            figures["steps"] += bool(a.feet[k].swing and not b.feet[k].swing)
            if not a.feet[k].swing and not b.feet[k].swing:
                slid = _ball(poses, now, legs[k]) - _ball(poses, now - 1, legs[k])
                slid -= _ball(plain, now + a.ahead, legs[k]) - _ball(plain, now - 1 + before.ahead, legs[k])
                figures["slide"] = max(figures["slide"], 1e3 / tall * np.linalg.norm(slid))
    return figures


def _ball(poses: dict, frame: float, leg: list) -> np.ndarray:
    """Where the ball of the foot is over the ground [2]."""
    first, share = int(frame), frame % 1.0
    return (1.0 - share) * poses[first][leg[-1], :2, 3] + share * poses[min(first + 1, len(poses))][leg[-1], :2, 3]


def _apart(pose: np.ndarray, legs: list) -> float:
    """Least distance [m] of the lines from knee to ankle to the ball of the foot of two legs."""
    left, right = (np.concatenate([np.linspace(*pose[leg[i : i + 2], :3, 3], 9) for i in (1, 2)]) for leg in legs)
    return float(np.linalg.norm(left[:, None] - right, axis=-1).min())


@lru_cache(1)
def made(name: str) -> tuple:
    """The only character of a file: itself, the bone that is pushed, rows of its legs' bones, its poses unpushed."""
    if name == WALKER:
        scene = rigs.empty_file()
        obj, _mesh = character.make_rigify_human(scene)
        walk_cycle.make_walk_cycle(obj, scene, cycles=8)
    else:
        obj, scene = (rig := rigs.load(name)).obj, rig.scene
        for curve in rigs.curves_of(obj.animation_data.action) if name in WALKS else ():
            curve.modifiers.new("CYCLES").mode_after = "REPEAT_OFFSET"
        if name not in WALKS:
            falling.still(obj)
    prepare(scene, obj, 1, LAST + LONGER)
    plain, states, step = poses_of(obj, LAST + LONGER)
    assert not any(states.values()), "nothing pushes it, and it moves"
    legs, bones = [[step.rig.name(bone) for bone in leg.bones] for leg in step.figure.legs], obj.data.bones
    legs = [[*leg, *([toe.name for toe in bones[leg[-1]].children[:1]] or leg[-1:])] for leg in legs]
    return obj, falling.chest_of(obj), [[bones.find(bone) for bone in leg[:1] + leg[-3:]] for leg in legs], plain


def prepare(scene, obj, first: int, last: int) -> None:
    """A character with a ragdoll, a floor and balance."""
    knock_outs.prepare(scene, obj, first, last, events={-1000: "LIMP"})
    rigs.select(obj, obj.name)
    assert bpy.ops.active_ragdoll.setup_balance() == {"FINISHED"}


def balance_of(obj, frame: int) -> tuple:
    """(step, its state) at a frame."""
    stack = STATE.motions[obj.name]
    states = stack.states.get(frame, (None,) * len(stack.entries))
    return next(pair for pair in zip(stack.entries, states, strict=True) if isinstance(pair[0], Balance))


def poses_of(obj, last: int) -> tuple:
    """Targets and balances by frame, up to a fall, and the step that made them."""
    poses, states = {}, {}
    for frame in range(1, last + 1):
        bpy.context.scene.frame_set(frame)
        poses[frame], (step, states[frame]) = rigs.pose(obj.active_ragdoll.target_armature), balance_of(obj, frame)
        if obj.active_ragdoll.state == "LIMP":
            break
    return poses, states, step
