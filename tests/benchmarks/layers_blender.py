"""Cost of pose layers and the graph a frame and character inside Blender, settings being read anew on every frame.

    python tests/benchmarks/layers_blender.py [--frames N] [--json FILE]

The knight of ../shared/data with five layers: a blend space of three clips at a keyed speed, a clip on the trunk, a
lean, an aim offset and a pose on an arm; then a graph of two states instead. Counted is the entry alone, which reads
and solves: median and best of the frames. Core's aim is 0.5 ms for 60 bones; see layers.py.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO), str(REPO / "tests" / "blender")]

import bpy  # noqa: E402
import numpy as np  # noqa: E402

import harness  # noqa: E402

harness.load_extension()

import layered  # noqa: E402
from active_ragdoll.core.blender import layer_tools, motion, motion_setup  # noqa: E402

DATA = REPO.parent / "shared" / "data"


def five_layers(rig) -> None:
    """A blend space, a clip, a lean, an aim offset and a pose."""
    obj, scene = rig.obj, rig.scene
    space = layered.space(rig, (("Idle", 0.0), ("Walking_A", 2.0), ("Running_A", 4.0)))
    layered.space_layer(rig, space.name)
    obj.animation_data.action = obj.animation_data.action.copy()
    for frame, value in ((1, 0.5), (200, 3.5)):
        obj.active_ragdoll.blend_spaces[0].x.value = value
        obj.keyframe_insert("active_ragdoll.blend_spaces[0].x.value", frame=frame)
    clip = layered.layer(rig, "Cheer", weight=0.5)
    layer_tools.mask_bones(clip, ["chest"])
    clip.mask_falloff = 2
    layered.layer(rig, "Running_Strafe_Left", weight=0.3, mode="ADDITIVE_LOCAL")
    aim = layered.space(
        rig, (("Idle", -60.0, 0.0), ("Cheer", 60.0, 0.0), ("Sit_Floor_Pose", 0.0, 40.0), ("T-Pose", 0.0, -40.0)), "AIM"
    )
    for sample in aim.samples:
        sample.additive, sample.single = "MESH", True
    aim.x.value, aim.y.value = 20.0, 10.0
    layered.space_layer(rig, aim.name, "AIM_OFFSET", weight=0.2)
    pose = layered.layer(rig, "Sit_Floor_Pose", source="POSE", weight=0.4)
    layer_tools.mask_bones(pose, ["upperarm.l"])
    scene.frame_set(1)


def cost(rig, frames: int) -> tuple[list, dict]:
    """Median and best milliseconds of the stack's one entry, and its messages."""
    stack, hidden = motion.of(rig.obj), rig.scene.active_ragdoll.source
    entry = stack.entries[0]
    spent, times = [0.0], []

    def timed(function):
        def call(*arguments):
            began = time.perf_counter()
            result = function(*arguments)
            spent[0] += time.perf_counter() - began
            return result

        return call

    entry.read, entry.solver.apply = timed(entry.read), timed(entry.solver.apply)
    for frame in range(2, 2 + frames):
        hidden.frame_set(frame)
        spent[0] = 0.0
        stack.pose(rig.scene, frame)
        times.append(1e3 * spent[0])
    return [round(float(np.median(times)), 3), round(min(times), 3)], dict(stack.messages)


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--frames", type=int, default=150)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not (DATA / "Knight.glb").is_file():
        print("skipped: ../shared/data/Knight.glb is not there")
        return 0
    rig = layered.knight(DATA, 1, 200)
    five_layers(rig)
    result = {"bones": len(rig.obj.data.bones)}
    result["five layers, median and best [ms]"], messages = cost(rig, options.frames)
    rig = layered.knight(DATA, 1, 200)
    layered.space(rig, (("Idle", 0.0), ("Walking_A", 2.0), ("Running_A", 4.0)))
    rig.obj.active_ragdoll.blend_spaces[0].x.value = 1.0
    graph = rig.obj.active_ragdoll.graph
    motion_setup.ensure(rig.obj, rig.scene)
    for name in ("Move", "Cheer"):
        layer_tools.edit_graph(rig.obj, "STATE", "ADD")
        graph.states[len(graph.states) - 1].name = name
    graph.states[0].source, graph.states[0].blend_space = "BLEND_SPACE", "Locomotion"
    layer_tools.choose(graph.states[1], bpy.data.actions["Cheer"])
    graph.enabled = True
    result["graph, median and best [ms]"], more = cost(rig, options.frames)
    for name, text in (messages | more).items():
        print(f"{name}: {text}")
    for name, value in result.items():
        print(f"{name}: {value}")
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    code = main()
    harness.exit_now(code)
