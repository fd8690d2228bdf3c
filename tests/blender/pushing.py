"""A walker and a standing figure that are pushed and keep their balance, for its benchmark."""

import bpy
import numpy as np

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import effects
from active_ragdoll.core.blender.stack.entries.balance import Balance
from demo import character, stage, walk_cycle

WAYS = {"forwards": (0, -1, 0), "backwards": (0, 1, 0), "left": (1, 0, 0), "right": (-1, 0, 0)}  # it faces -Y
MOST = 60.0  # [N s] of those that are to be caught
WALKED = [("walks", way, size, frame) for way, size in zip(WAYS, (60, 50, 45, 45), strict=True) for frame in (30, 36)]
CASES = [*WALKED, *(("stands", way, 25, 30) for way in WAYS), *(("walks", way, 130, 36) for way in WAYS)]
LAST, LONGER = 100, 30  # frames; more for a gait that hurries ahead
_plain: dict = {}  # poses of the animation without a push


def pushed(what: str, way: str, impulse: float, frame: int) -> dict:
    """One push [N s], of a man of 70 kg and 1.8 m, over a tenth of a second."""
    scene, obj = _made(what)
    size, mass = obj.active_ragdoll.height / 1.8, rigs.masses(obj).sum()
    if what not in _plain:
        rigs.set_range(scene, 1, LAST + LONGER)
        _plain[what] = _poses(scene, obj)[0]
        rigs.set_range(scene, 1, LAST)
    strength = impulse * mass / 70.0 * np.sqrt(size)
    effects.add_hit(obj, scene, "spine.003", frame, tuple(strength * np.array(WAYS[way])), duration=0.1)
    poses, states, phases, step = _poses(scene, obj)
    fell = next((now for now in phases if phases[now] == "LIMP"), None)
    figures = {"figure": what, "to": way, "N s": impulse, "at": frame, "steps": 0, "slide": 0.0, "hip": 0.0}
    figures["fell after"] = 0.0 if fell is None else (fell - frame) / rigs.FPS / np.sqrt(size)
    if fell is not None:
        return figures
    legs = [[obj.data.bones.find(step.rig.name(bone)) for bone in leg.bones] for leg in step.figure.legs]
    toes = [obj.data.bones.find(obj.data.bones[leg[-1]].children[0].name) for leg in legs]
    hips = np.array([poses[now][[leg[0] for leg in legs], :3, 3].mean(axis=0) for now in range(frame, LAST)])
    figures["hip"] = float(np.linalg.norm(np.diff(hips, 2, axis=0), axis=1).max() * rigs.FPS**2)
    for now in range(frame + 1, LAST):
        a, b = states[now - 1], states[now]
        for k in (0, 1) if a and b else ():
            stood = a.feet[k].swing and not b.feet[k].swing
            figures["steps"] += bool(stood and abs(b.feet[k].offset - a.feet[k].swing[0]) > 0.05)
            if not a.feet[k].swing and not b.feet[k].swing:
                # The walk's own slide where its phase is, as fast as that goes.
                at, faster = int(now - 1 + a.ahead), 1.0 + max(b.ahead - a.ahead, 0.0)
                own = max(_moved(_plain[what], at + i, toes[k]) for i in (0, 1, 2))
                figures["slide"] = max(figures["slide"], 1e3 / size * (_moved(poses, now - 1, toes[k]) - faster * own))
    return figures


def _moved(poses: dict, frame: int, row: int) -> float:
    return float(np.linalg.norm((poses[frame + 1] - poses[frame])[row, :2, 3]))


def _made(what: str) -> tuple:
    scene = rigs.empty_file()
    obj, _mesh = character.make_rigify_human(scene)
    if what == "walks":
        walk_cycle.make_walk_cycle(obj, scene, cycles=8)
    rigs.set_range(scene, 1, LAST)
    stage.ensure_rigid_body_world(scene)
    stage.make_floor(scene)
    build.build(obj, scene)
    rigs.select(obj, obj.name)
    bpy.ops.active_ragdoll.setup_balance()
    return scene, obj


def _poses(scene, obj) -> tuple:
    """Targets, balances and recovery's states by frame, and the step that made them."""
    poses, states, phases = {}, {}, {}
    for frame in simulate.frames(scene):
        stack = STATE.motions[obj.name]
        step = next(entry for entry in stack.entries if isinstance(entry, Balance))
        found = stack.states.get(frame)
        states[frame] = found[stack.entries.index(step)] if found else None
        poses[frame], phases[frame] = rigs.pose(obj.active_ragdoll.target_armature), obj.active_ragdoll.state
    return poses, states, phases, step
