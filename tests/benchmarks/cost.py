"""What a frame costs: active ragdolls against the same ragdolls limp in plain Blender.

    python dev.py bench cost [--counts 1 5 20] [--rounds N] [--frames N] [--extra tone balance] [--json FILE]

Everything is measured in one process, the cases taking turns, medians over all frames of all rounds after a
warm-up. The characters are walking humans (Rigify's Basic Human with the bodies between its main joints), above a
floor. Cases:

    plain    the same bodies and joints, limp, in plain Blender without the extension: built by the extension, then
             stripped of targets, drives, anchors, physics armatures, constraints on the characters and handlers;
             the characters' own armatures play their animation
    w1/1 ..  the extension at rotation/translation weights 1/1, 0.5/0.5, 1/0 and 0/0 (limp)
    --extra  at 1/1: rag and tone (knocked out, limp or awake), balance (pushed), idle (not pushed), look_at

"own" is the extension's own Python, "source" the evaluation of the hidden scene in which the animation is read
before physics; both are medians, "each" is the mean of "own" for each character beyond that of w 1/1. The ratio is
(frame - source) / plain, the full one frame / plain. First, before anything else is done, the most characters are
removed, of two rigs, one call of the operator for each.
Aims: ratio at most 2.5, own Python at most 10 % of the frame without the source's evaluation, twenty removed in 1.5 s.
"""

import time

import _characters
import bpy
import numpy as np

import own_characters
import rigs
from active_ragdoll.core.blender.physics import build, source, world
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import effects
from demo.walk_cycle import make_walk_cycle

AIM_RATIO, AIM_SHARE, AIM_REMOVAL = 2.5, 0.1, 1.5
WARM_UP = 12
CASES = (("plain", None), ("w 1/1", (1, 1)), ("w 0.5/0.5", (0.5, 0.5)), ("w 1/0", (1, 0)), ("w 0/0", (0, 0)))
EXTRAS = {"rag": "recovery", "tone": "recovery", "idle": "balance", "balance": "balance", "look_at": "look_at"}
# The 20 bodies of a simple human: neck in one piece, no breasts, pelvis sides or heels.
LEFT_OUT = ("breast", "pelvis", "heel", "spine.005")


def add(human: bpy.types.Object, scene: bpy.types.Scene, extra: str) -> None:
    """Set up an extra; what knocks out or pushes comes at the end of the warm-up."""
    bpy.context.view_layer.objects.active, frame = human, scene.frame_start + WARM_UP
    getattr(bpy.ops.active_ragdoll, f"setup_{EXTRAS[extra]}")()
    if extra == "balance":
        effects.add_hit(human, scene, "spine.003", frame, (0.0, -60.0, 0.0), duration=0.1)
    elif EXTRAS[extra] == "recovery":
        effects.set_tone(human, {"rag": "RAG", "tone": "AWAKE"}[extra])
        human.active_ragdoll.recovery.rest_time, event = 1e3, human.active_ragdoll.recovery.events.add()
        event.frame, event.phase = frame, "LIMP"


def make(count: int, weights: tuple | None, extra: str = "") -> bpy.types.Scene:
    """A scene with some walking ragdolls; weights None strips them to plain Blender."""
    scene = bpy.data.scenes.new("Cost")
    bpy.context.window.scene = scene
    scene.render.fps = rigs.FPS
    humans = [rigs.metarig(scene, "Basic.basic_human")]
    make_walk_cycle(humans[0], scene)
    humans += [rigs.duplicate(humans[0], 2.0 * i) for i in range(1, count)]
    world.ensure(scene)
    floor = rigs.box(scene, "Floor", (200.0, 200.0, 1.0), (0.0, 0.0, -0.52), passive=True)
    # Characters without self-collision have their bodies on layers of their own.
    floor.rigid_body.collision_collections = [True] * 20
    for human in humans:
        wanted = np.array([not bone.name.startswith(LEFT_OUT) for bone in human.data.bones])
        build.build(human, scene, wanted, update=False)
        if weights is not None:
            human.active_ragdoll.rotation_weight, human.active_ragdoll.translation_weight = weights
        if extra:
            add(human, scene, extra)
    if weights is None:
        for human in humans:
            strip(human)
        scene.rigidbody_world.point_cache.frame_start = scene.frame_start
    scene.view_layers[0].update()
    return scene


def strip(human: bpy.types.Object) -> None:
    """Leave the bodies and joints of a ragdoll, as if made by hand in plain Blender."""
    settings = human.active_ragdoll
    helpers = [helper for part in settings.parts for helper in (part.target, part.anchor)]
    helpers += [settings.physics_armature, settings.source]
    for part in settings.parts:
        bone = human.pose.bones[part.bone]
        bone.constraints.remove(bone.constraints[source.CONSTRAINT_NAME])
    bpy.data.batch_remove(helpers)
    settings.is_ragdoll = False


def seconds_of(scene: bpy.types.Scene, frames: int) -> dict:
    """Seconds of each frame of a run from the scene's first frame, without the warm-up, and of parts of it."""
    bpy.context.window.scene = scene
    first = scene.frame_start
    for other in scene.rigidbody_world.collection.objects:
        if other.name.startswith("Floor"):
            other.rigid_body.friction = other.rigid_body.friction  # else plain Blender plays its cache of last time
    times = []
    for frame in range(first, first + WARM_UP + frames + 1):
        began = time.perf_counter()
        scene.frame_set(frame)
        times.append(time.perf_counter() - began)
    run = STATE.runs.get(scene.name)
    if run is None:
        heights = [o.matrix_world.translation.z for o in scene.objects if o.name.endswith("spine Body")]
        if min(heights) > 0.5:
            raise RuntimeError(f"the limp ragdolls in plain Blender did not fall: hips at {min(heights):.2f} m")
    return {name: values[-frames:] for name, values in {"ms": times, **(run.seconds if run else {})}.items()}


def removal(count: int, name: str) -> float:
    """Seconds that it takes to remove some characters of 13 bodies, one after the other."""
    scene = rigs.empty_file()
    table = name == "own mixamo" and own_characters.TABLES[name][0]()
    humans = [own_characters.of_table(scene, name, table).obj if table else rigs.metarig(scene, name)]
    humans += [rigs.duplicate(humans[0], 2.0 * i) for i in range(1, count)]
    list(build.build_each(humans, scene, "MAIN"))
    bpy.ops.object.select_all(action="DESELECT")
    began = time.perf_counter()
    for human in humans:
        bpy.context.view_layer.objects.active = human
        bpy.ops.active_ragdoll.remove()
    return time.perf_counter() - began


def measure(cases: list, frames: int, rounds: int, count: int) -> list[dict]:
    """Medians [ms] of every case (name, scene), in turns."""
    gathered = [{"ms": [], "source": [], "own": []} for _case in cases]
    for _round in range(rounds):
        for (_name, scene), times in zip(cases, gathered):
            for part, values in seconds_of(scene, frames).items():
                times[part].extend(values)
    rows = []
    for (name, scene), times in zip(cases, gathered):
        row = {"case": name, "objects": len(scene.objects)}
        row |= {part: 1e3 * float(np.median(values or [0.0])) for part, values in times.items()}
        mean = 1e3 * float(np.mean(times["own"] or [0.0])) / count
        row["each"] = mean if len(rows) < 2 else mean - rows[1]["each"]
        rest, plain = row["ms"] - row["source"], rows[0]["ms"] if rows else row["ms"]
        rows.append(row | {"own_share": row["own"] / rest, "full_ratio": row["ms"] / plain, "ratio": rest / plain})
    return rows


def run(counts: list[int], rounds: int, frames: int, extra: list[str]) -> tuple[dict, bool]:
    """Print how long removals take, and a table for each number of characters."""
    removed, found = {name: removal(max(counts), name) for name in ("Basic.basic_human", "own mixamo")}, []
    met = max(removed.values()) <= AIM_REMOVAL
    for name, seconds in removed.items():
        title = f"{max(counts)} of '{name}' with 13 bodies removed one after the other in {seconds:.2f} s"
        print(f"{title} (aim: {AIM_REMOVAL})  {_characters.verdict(seconds <= AIM_REMOVAL)}")
    for count in counts:
        rigs.empty_file()
        scenes = [(name, make(count, weights)) for name, weights in CASES]
        scenes += [(name, make(count, (1, 1), name)) for name in extra if name]
        bodies = sum(o.rigid_body is not None and o.rigid_body.type == "ACTIVE" for o in scenes[0][1].objects) // count
        cases = measure(scenes, frames, rounds, count)
        found.append({"count": count, "bodies": bodies, "cases": cases})
        for case in cases:
            good = case["case"] in ("plain", *extra) or (case["ratio"] <= AIM_RATIO and case["own_share"] <= AIM_SHARE)
            case["aim"], met = _characters.verdict(good), met and good
        title = f"{count} characters of {bodies} bodies (aim: ratio {AIM_RATIO}, own share {AIM_SHARE}; times in ms)"
        _characters.print_table(title, list(cases[0]), [list(case.values()) for case in cases])
    return {"counts": found, "removal": removed}, met


if __name__ == "__main__":
    _characters.bench(run, __doc__, counts=[1, 5, 20], rounds=3, frames=60, extra=("",))
