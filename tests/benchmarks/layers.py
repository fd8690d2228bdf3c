"""Cost of pose layers a frame and character.

    python dev.py bench layers [--bones N] [--frames N] [--json FILE]

Five layers on one character of 60 bones, namely a clip on half the body, a blend space of two of three clips, a lean
(additive in local space), an aim offset (additive in mesh space) and a pose; weights, masks and phases are such that
nothing is left out. The clips play at the scene's frame rate, the blend space's in between their frames. Processor
time in rounds of 48 frames, so that a busy machine counts less; the figure is the best round, the median is beside it.
The aim is 0.5 ms or less a frame.
"""

import math
import time
from dataclasses import replace

import _characters
import numpy as np

from active_ragdoll.core import quaternion
from active_ragdoll.core.motion.blend_space import GRID, Axis, BlendSpace1D, BlendSpace2D, SpacePlayer
from active_ragdoll.core.motion.clip import MESH, AdditivePose, Clip, SyncGroup, additive_clip
from active_ragdoll.core.motion.pose_layers import (
    ADDITIVE_LOCAL,
    ADDITIVE_MESH,
    Layer,
    LayerInputs,
    LayerStack,
    mask_from_bones,
)
from active_ragdoll.core.motion.rig import LocalPose, Rig
from active_ragdoll.core.skeleton import Skeleton

AIM_MS, AIM_BONES = 0.5, 60
ROUND = 48  # frames


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


def layers_of(skeleton: Skeleton) -> tuple[Clip, list[Layer], list[float]]:
    """The base clip, five layers and their weights."""
    base, wave, reach = (clip_of(name, skeleton, 49, i) for i, name in enumerate(("base", "wave", "reach")))
    group = SyncGroup([clip_of(name, skeleton, count, count) for name, count in (("a", 25), ("b", 31), ("c", 41))])
    speed = BlendSpace1D(Axis("speed", 0.0, 4.0), ["a", "b", "c"], [0.0, 2.0, 4.0])
    lean = additive_clip(skeleton, reach, reach.pose(0))
    places = [[y, p] for y in (-1, 0, 1) for p in (-1, 0, 1)]
    names = [f"{y} {p}" for y, p in places]
    aims = additive_clip(skeleton, clip_of("aim", skeleton, 9, 5), base.pose(0), MESH)
    single = [replace(aims, poses=AdditivePose(*(a[i : i + 1] for a in arrays_of(aims)), MESH)) for i in range(9)]
    plane = BlendSpace2D((Axis("yaw", -1.0, 1.0), Axis("pitch", -1.0, 1.0)), names, places, GRID)
    aim = SpacePlayer("aim", plane, single, aim=True)
    mask = mask_from_bones(skeleton, ["bone 1"], depth=3)

    def moving(frame):
        return group.pose(1.1 * frame.seconds, speed.weights(1.0 + 0.1 * math.sin(frame.seconds)))

    def aiming(frame):
        t = frame.seconds
        return aim.pose(aim.step(None, (0.5 * math.sin(t), 0.3 * math.cos(t)), t))

    layers = [
        Layer("wave", lambda frame: wave.sample(frame.seconds), mask=mask),
        Layer("move", moving),
        Layer("lean", lambda frame: lean.sample(frame.seconds), ADDITIVE_LOCAL),
        Layer("aim", aiming, ADDITIVE_MESH, mask),
        Layer("pose", lambda frame: reach.pose(7)),
    ]
    return base, layers, [0.7, 0.7, 0.7, 0.7, 0.14]


def arrays_of(clip: Clip) -> tuple:
    """Positions, rotations and scales of a clip."""
    return clip.poses.positions, clip.poses.rotations, clip.poses.scales


def time_layers(bones: int, frames: int) -> dict:
    """Times [ms] of a frame: the whole, and each layer alone."""
    skeleton = skeleton_of(bones)
    base, layers, weights = layers_of(skeleton)
    rig = Rig(skeleton, base.pose(0))

    def timed(own, weights, below=None) -> tuple[float, float]:
        rounds, stack = [], LayerStack(own, {})
        for start in range(0, frames, ROUND):
            began = time.process_time()
            for frame in range(start, start + ROUND):
                seconds = frame / 24
                pose = base.sample(seconds) if below is None else below
                stack.apply(rig, pose, LayerInputs(weights), None, seconds)
            rounds.append(1e3 * (time.process_time() - began) / ROUND)
        return min(rounds), float(np.median(rounds))

    result = dict(zip(("best_ms", "median_ms"), timed(layers, weights), strict=True))
    for layer, weight in zip(layers, weights, strict=True):
        result[layer.name + "_ms"] = timed([layer], [weight], base.sample(0.3))[0]
    return result


def run(bones: int, frames: int) -> tuple[dict, bool]:
    """Print the table."""
    alone = time_layers(bones, frames)
    met = bones > AIM_BONES or alone["best_ms"] <= AIM_MS
    title = f"5 layers, {bones} bones, ms a frame (aim {AIM_MS})"
    _characters.print_table(title, [key[:-3] for key in alone], [alone.values()])
    return {"layers": alone}, met


if __name__ == "__main__":
    _characters.bench(run, __doc__, bones=AIM_BONES, frames=300)
