"""Recovery: what a switched-off character costs, and how smoothly a knocked-out one comes back.

    python dev.py bench recovery [--count N] [--frames N] [--rounds N] [--json FILE]

Cost: a scene of N walking humans (20) of which one is active and the others are switched off, against that one alone
and against N active ones; processor time of all threads, medians over the frames. "a switched-off character" is what
each of them adds, "without helpers" what it adds where nothing of its ragdoll is in the scene, its animation alone.
Aim: a switched-off character costs at most 10 % of an active one, its own animation not counted.

Jumps: a character falls limp, comes to rest, gets up where it lies. The largest jump of a joint's velocity from frame
to frame where the blend begins and where it ends, beyond what its animation does there, for 1.8 m of height.
Aim: at most 0.1 m/s.
"""

import time

import _characters
import bpy
import cost
import numpy as np
from mathutils import Matrix

import rigs
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.run import simulate

AIM_SHARE, AIM_JUMP = 0.10, 0.1
WARM_UP = 12
LIMP_AT = 10


def processor_time(scene: bpy.types.Scene, frames: int) -> float:
    """Median milliseconds of processor time a frame."""
    bpy.context.window.scene = scene
    times = []
    for frame in range(scene.frame_start, scene.frame_start + WARM_UP + frames + 1):
        began = time.process_time()
        scene.frame_set(frame)
        times.append(time.process_time() - began)
    return 1e3 * float(np.median(times[-frames:]))


def switched_off(_scene, humans) -> None:
    """All but the first begin, and stay, switched off."""
    for i, human in enumerate(humans):
        human.active_ragdoll.recovery.enabled = True
        human.active_ragdoll.recovery.starts = "ANIMATED" if i else "ACTIVE"


def bare(scene, humans) -> None:
    """All but the first have no ragdoll."""
    remove.remove_all(humans[1:], scene)


def measure_cost(count: int, frames: int, rounds: int) -> dict:
    """Milliseconds a frame of every case, in turns."""
    cases = {
        "one active, alone": cost.make(1, (1, 1)),
        f"{count} active": cost.make(count, (1, 1)),
        f"1 active, {count - 1} switched off": cost.make(count, (1, 1), switched_off),
        f"1 active, {count - 1} without ragdolls": cost.make(count, (1, 1), bare),
    }
    found = {name: [] for name in cases}
    for _round in range(rounds):
        for name, scene in cases.items():
            found[name].append(processor_time(scene, frames))
    return {name: float(np.median(values)) for name, values in found.items()}


def lowest_body(obj, scene) -> float:
    """Height [m] that the bodies come down to in the first second of the animation."""
    hidden, source = scene.active_ragdoll.source, obj.active_ragdoll.source
    low = np.inf
    for frame in range(scene.frame_start, scene.frame_start + _characters.FPS, 4):
        hidden.frame_set(frame)
        posed = source.evaluated_get(hidden.view_layers[0].depsgraph)
        for part in obj.active_ragdoll.parts:
            place = (posed.matrix_world @ posed.pose.bones[part.bone].matrix).normalized()
            place = place @ Matrix(part.offset.tolist())
            low = min(low, min((place @ vertex.co).z for vertex in part.body.data.vertices))
    return low


def jumps(name: str) -> dict:
    """Largest jumps [m/s] at the beginning and the end of the way back, of a character of 1.8 m."""
    rig = rigs.load(_characters.DATA / name)
    obj, scene = rig.obj, rig.scene
    scene.render.fps, scene.render.fps_base = _characters.FPS, 1.0
    first = rig.first + 1  # some clips begin with a pose that is no part of the motion
    scene.frame_start, scene.frame_end = first, first + 220
    build.build(obj, scene, "MAIN")
    _characters.add_floor(scene, lowest_body(obj, scene) - 0.01, 200.0)
    group = obj.active_ragdoll.recovery
    group.enabled = True
    event = group.events.add()
    event.frame, event.phase = first + LIMP_AT, "LIMP"
    shown, target, states = [], [], []
    names = [part.bone for part in obj.active_ragdoll.parts]
    for _frame in simulate.frames(scene):
        graph = scene.view_layers[0].depsgraph
        for rows, owner in ((shown, obj), (target, obj.active_ragdoll.target_armature)):
            posed = owner.evaluated_get(graph)
            rows.append([posed.matrix_world @ posed.pose.bones[name].head for name in names])
        states.append(obj.active_ragdoll.state)
    fps = scene.render.fps / scene.render.fps_base
    scale = fps * 1.8 / obj.active_ragdoll.height
    changes = [np.linalg.norm(np.diff(np.array(rows), n=2, axis=0), axis=2) * scale for rows in (shown, target)]
    if "ANIMATED" not in states:
        raise RuntimeError(f"{name} did not come back within {len(states)} frames: {states[-1]}")
    start, end = states.index("RECOVERING"), states.index("ANIMATED")
    beyond = changes[0].copy()
    beyond[end - 1 :] -= changes[1][end - 1 :]
    # Row i is the change between the steps before and after frame i + 1.
    return {
        "character": name,
        "start": float(beyond[start - 1 : start + 1].max()),
        "end": float(beyond[end - 1 : end + 1].max()),
        "rest": states.index("SETTLING"),
        "frames": [start, end],
    }


def run(count: int, frames: int, rounds: int, characters: list[str]) -> tuple[dict, bool]:
    """Print the tables."""
    found = []
    for name in characters:
        if (_characters.DATA / name).is_file():
            found.append(jumps(name))
        else:
            print(f"no {name}")
    rows, met = [], True
    for one in found:
        good = max(one["start"], one["end"]) <= AIM_JUMP
        met &= good
        rows.append([one["character"], *one["frames"], one["start"], one["end"], _characters.verdict(good)])
    head = ("character", "recovers at", "animated at", "start", "end", "aim")
    _characters.print_table(f"Jumps of velocity [m/s] (aim: {AIM_JUMP})", head, rows)
    rigs.empty_file()
    times = measure_cost(count, frames, rounds)
    alone, active, off, plain = times.values()
    each_off, each_plain = (off - alone) / (count - 1), (plain - alone) / (count - 1)
    each_active = (active - plain) / (count - 1)  # of a scene with as many animations
    share = (each_off - each_plain) / each_active
    rows = [*times.items(), ("an active character", each_active), ("a switched-off character", each_off - each_plain)]
    rows.append(("its share", f"{share:.1%} {_characters.verdict(share <= AIM_SHARE)}"))
    title = f"{count} characters, processor time (aim: switched off {AIM_SHARE:.0%} of active)"
    _characters.print_table(title, ("case", "ms a frame"), rows)
    return {"jumps": found, "cost": times, "share": share}, met and share <= AIM_SHARE


if __name__ == "__main__":
    standard = ["Knight.glb", "zombie.bvh", "01_01.bvh"]
    _characters.bench(run, __doc__, count=20, frames=60, rounds=3, characters=standard)
