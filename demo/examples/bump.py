"""Two walkers run into each other with their shoulders: each gives way as its own weights say, and walks on."""

import math
from pathlib import Path

import numpy as np

from active_ragdoll.core.blender.physics import build

from .. import shot

ASIDE = 0.22  # each walker's way from the middle line [m]
WEIGHTS = {"Firm": (0.75, 0.7), "Loose": (0.45, 0.4)}  # rotation and translation when they meet
EARLY, LATE = (-10, -4), (10, 24)  # frames from the meeting: begins and ends to loosen, to tighten


def main(out: Path) -> None:
    """Make the shot and its results in the folder `out`."""
    scene = shot.new_scene()
    walkers = []
    for name, side in zip(WEIGHTS, (-1.0, 1.0), strict=True):
        obj = shot.walker(scene, name, cycles=3)
        obj.location.x = side * ASIDE
        walkers.append(obj)
    walkers[1].rotation_euler.z = math.pi
    shot.recolour(walkers[1], (0.10, 0.22, 0.42))
    shot.furnish(scene)
    meeting = (scene.frame_start + scene.frame_end) // 2
    for obj in walkers:
        build.build(obj, scene)
        for name, weight in zip(("rotation_weight", "translation_weight"), WEIGHTS[obj.name], strict=True):
            frames = [meeting + offset for offset in (*EARLY, *LATE)]
            shot.key(obj, name, dict(zip(frames, (1.0, weight, weight, 1.0), strict=True)))
    shot.camera(scene, (-3.0, -3.9, 1.9), (0.0, 0.0, 0.9), lens=43.0)

    def read():
        return [(*shot.errors(scene, obj), shot.bodies(obj)[:, :3, 3]) for obj in walkers]

    found, cost = shot.run(scene, read)
    figures = {"ms_a_frame": cost, "meeting_frame": meeting}
    for i, obj in enumerate(walkers):
        mean = {frame: float(value[i][0].mean()) for frame, value in found.items()}
        strongest = max(mean, key=mean.get)
        own = obj.name.lower()
        figures |= {
            f"{own}_weights": WEIGHTS[obj.name],
            f"{own}_largest_mean_error_deg": mean[strongest],
            f"{own}_largest_mean_error_frame": strongest,
            f"{own}_pushed_m": max(float(value[i][1].max()) for value in found.values()),
            f"{own}_mean_error_before_deg": mean[meeting + EARLY[0]],
            f"{own}_mean_error_at_the_end_deg": mean[scene.frame_end],
        }
    gaps = {f: np.linalg.norm(v[0][2][:, None] - v[1][2][None], axis=-1).min() for f, v in found.items()}
    figures["nearest_bodies_m"] = float(min(gaps.values()))
    shot.write(scene, out, figures, frames=(meeting - 4, meeting, meeting + 4, meeting + 8, meeting + 12))
