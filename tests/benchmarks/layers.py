"""Cost of layers a frame and character, and of sampling an action to a clip.

    python tests/benchmarks/layers.py [--bones N] [--frames N] [--json FILE]

Layers: five on one character of 60 bones, namely a clip on half the body, a blend space of two of three clips, a lean
(additive in local space), an aim offset (additive in mesh space) and a pose; weights, masks and phases are such that
nothing is left out. The clips play at the scene's frame rate, the blend space's in between their frames. Processor
time in rounds of 48 frames, so that a busy machine counts less; the figure is the best round, the median is beside it.
The aim is 0.5 ms or less a frame; a crowd of 100, all of them between frames, is evaluated at once and given per
character.

Sampling: 100 bones with keys of location, rotation and scale over 250 frames, read from an action in Blender; the aim
is a median of 60 ms or less. "dense": a key on every frame; "sparse": on every tenth, Bezier between
them; "between", for comparison and without an aim: the dense one asked for between its frames, so that all handles have
to be read, which alone takes Blender longer. Skipped, saying so, where there is no bpy.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core import quaternion
from core.motion.additive import MESH, additive_clip
from core.motion.aim_offset import AimOffset
from core.motion.blend_space import Axis, BlendSpace1D, BlendSpace2D
from core.motion.clip import Clip
from core.motion.layers import ADDITIVE_LOCAL, ADDITIVE_MESH, Layer, apply_layers, mask_from_bones
from core.motion.local_pose import LocalPose
from core.motion.sync import SyncGroup
from core.skeleton import Skeleton

try:
    import bpy
except ImportError:
    bpy = None

AIM_MS, AIM_BONES = 0.5, 60
ROUND = 48  # frames
SAMPLING_AIM_MS, SAMPLED_BONES, SAMPLED_FRAMES = 60.0, 100, 250
CROWD = 100


def skeleton_of(count: int) -> Skeleton:
    """A trunk with limbs and fingers: chains of up to six bones, twelve levels."""
    names, parents = ["bone 0"], [-1]
    for i in range(1, count):
        names.append(f"bone {i}")
        parents.append(i - 1 if i % 6 else max(0, i - 18))
    return Skeleton.from_parents(names, parents)


def clip_of(name: str, skeleton: Skeleton, frames: int, seed: int) -> Clip:
    """A smooth motion of all bones."""
    rng = np.random.default_rng(seed)
    wave = np.sin(np.arange(frames)[:, None, None] / frames * 2 * np.pi + rng.uniform(0, 6, (len(skeleton), 3)))
    poses = LocalPose(0.1 * wave, quaternion.from_rotation_vector(0.6 * wave), 1.0 + 0.1 * wave)
    return Clip(name, skeleton.names, 24.0, poses)


def layers_of(skeleton: Skeleton, characters: int) -> tuple[Clip, list[Layer]]:
    """The base clip and five layers; sources take the time [s], one for all or one each."""
    base, wave, reach = (clip_of(name, skeleton, 49, i) for i, name in enumerate(("base", "wave", "reach")))
    group = SyncGroup([clip_of(name, skeleton, count, count) for name, count in (("a", 25), ("b", 31), ("c", 41))])
    speed = BlendSpace1D(Axis("speed", 0.0, 4.0), ["a", "b", "c"], [0.0, 2.0, 4.0])
    lean = additive_clip(skeleton, reach, reach.pose(0))
    places = [[y, p] for y in (-1, 0, 1) for p in (-1, 0, 1)]
    names = [f"{y} {p}" for y, p in places]
    aims = additive_clip(skeleton, clip_of("aim", skeleton, 9, 5), base.pose(0), MESH)
    aim = AimOffset(
        BlendSpace2D((Axis("yaw", -1.0, 1.0), Axis("pitch", -1.0, 1.0)), names, places),
        {name: aims.pose(i) for i, name in enumerate(names)},
    )
    shape = () if characters == 1 else (characters,)
    weight = np.full(shape, 0.7)
    mask = mask_from_bones(skeleton, ["bone 1"], depth=3)
    layers = [
        Layer("wave", wave.sample, weight=weight, mask=mask),
        Layer("move", lambda t: group.pose(1.1 * t, speed.weights(1.0 + 0.1 * np.sin(t))), weight=weight),
        Layer("lean", lean.sample, ADDITIVE_LOCAL, weight),
        Layer("aim", lambda t: aim.pose(0.5 * np.sin(t), 0.3 * np.cos(t)), ADDITIVE_MESH, weight, mask),
        Layer("pose", lambda t: reach.pose(7), weight=weight * 0.2),
    ]
    return base, layers


def time_layers(bones: int, frames: int, characters: int) -> dict:
    """Times [ms] of a frame and character: the whole, and each layer alone."""
    skeleton = skeleton_of(bones)
    base, layers = layers_of(skeleton, characters)
    offsets = 0.0 if characters == 1 else np.linspace(0, 2, characters)

    def timed(run) -> tuple[float, float]:
        rounds = []
        for start in range(0, frames, ROUND):
            began = time.process_time()
            for frame in range(start, start + ROUND):
                run(frame / 24 + offsets)
            rounds.append(1e3 * (time.process_time() - began) / (ROUND * characters))
        return min(rounds), float(np.median(rounds))

    result = {"characters": characters}
    result["best_ms"], result["median_ms"] = timed(lambda t: apply_layers(skeleton, base.sample(t), layers, t))
    below = base.sample(0.3 + offsets)
    for layer in layers:
        result[layer.name + "_ms"] = timed(lambda t, own=layer: apply_layers(skeleton, below, [own], t))[0]
    return result


def time_sampling(step: int, between: bool, rounds: int = 9) -> dict:
    """Times [ms] of an action of 100 bones over 250 frames, its keys `step` frames apart."""
    from core.blender import action_channels
    from core.blender.clips import rig_rest, sample_action

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene, skeleton = bpy.context.scene, skeleton_of(SAMPLED_BONES)
    obj = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    scene.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    for i, name in enumerate(skeleton.names):
        bone = obj.data.edit_bones.new(name)
        bone.head, bone.tail = (i, 0, 0), (i, 0, 1)
        parent = int(skeleton.parents[i])
        bone.parent = obj.data.edit_bones[skeleton.names[parent]] if parent >= 0 else None
    bpy.ops.object.mode_set(mode="OBJECT")
    action, slot = action_channels.new_action_for(obj, "Clip")
    action_channels.assign(obj, action, slot)
    channels = action_channels.channels_of(action, slot, ensure=True)
    rng, frames = np.random.default_rng(0), np.arange(1, SAMPLED_FRAMES + 1, step)
    frames = np.append(frames, SAMPLED_FRAMES) if frames[-1] != SAMPLED_FRAMES else frames
    for name in skeleton.names:
        for prop, size in (("location", 3), ("rotation_quaternion", 4), ("scale", 3)):
            for index in range(size):
                curve = channels.fcurves.new(action_channels.bone_path(name, prop), index=index)
                curve.keyframe_points.add(len(frames))
                co = np.stack([frames, rng.normal(size=len(frames)) + 1], axis=-1).astype(np.float32)
                curve.keyframe_points.foreach_set("co", co.ravel())
                curve.update()
    asked = np.arange(1, SAMPLED_FRAMES + 1) - (0.4 if between else 0.0)
    rest = rig_rest(obj)
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        sample_action(action, obj, frames=asked, rest=rest)
        times.append(1e3 * (time.perf_counter() - began))
    return {"keys_every": step, "between": between, "median_ms": float(np.median(times)), "min_ms": min(times)}


def main() -> int:
    """Print the figures; 1 when an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bones", type=int, default=AIM_BONES)
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    report = {"layers": [time_layers(options.bones, options.frames, 1)]}
    report["layers"].append(time_layers(options.bones, max(options.frames // 10, 5), CROWD))
    for row in report["layers"]:
        alone = ", ".join(f"{key[:-3]} {row[key]:.3f}" for key in list(row)[3:])
        print(
            f"5 layers, {options.bones} bones, {row['characters']} character(s): {row['best_ms']:.3f} ms a "
            f"frame and character, median {row['median_ms']:.3f} (each alone: {alone})"
        )
    missed = options.bones <= AIM_BONES and report["layers"][0]["best_ms"] > AIM_MS
    if bpy is None:
        print("sampling skipped: no bpy here")
    else:
        report["sampling"] = [time_sampling(1, False), time_sampling(1, True), time_sampling(10, False)]
        for name, row in zip(("dense", "between", "sparse"), report["sampling"], strict=True):
            print(
                f"sampling {SAMPLED_BONES} bones x {SAMPLED_FRAMES} frames, {name}: median {row['median_ms']:.1f} ms, "
                f"best {row['min_ms']:.1f}"
            )
            missed |= name != "between" and row["median_ms"] > SAMPLING_AIM_MS
    print(f"aims: {AIM_MS} ms a frame, {SAMPLING_AIM_MS:.0f} ms to sample: {'missed' if missed else 'met'}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
    return int(missed)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
