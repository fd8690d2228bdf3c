"""The same push from behind twice: on the left a rag, on the right somebody with muscles and reflexes."""

from pathlib import Path

import numpy as np

from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.settings import effects

from .. import shot

ASIDE = 0.9  # each walker's way from the middle line [m]
HIT, LAST = 12, 60  # frames
PUSH, BLOW = 90.0, 0.08  # [N s] on the back, [s]
TONES = {"Rag": "RAG", "Awake": "AWAKE"}


def main(out: Path) -> None:
    """Make the shot and its results in the folder `out`."""
    scene = shot.new_scene()
    walkers = []
    for (name, tone), side in zip(TONES.items(), (-1.0, 1.0), strict=True):
        obj = shot.walker(scene, name, cycles=2)
        obj.location.x = side * ASIDE
        group = obj.active_ragdoll.recovery
        group.enabled, group.knock_out_speed, group.rest_time = True, 0.5, 1e3
        group.tone, group.reflexes = effects.TONE_VALUES[tone]
        walkers.append(obj)
    scene.frame_start, scene.frame_end = 1, LAST
    shot.recolour(walkers[1], (0.10, 0.22, 0.42))
    shot.furnish(scene)
    for obj in walkers:
        build.build(obj, scene)
        effects.add_hit(obj, scene, "spine.003", HIT, (0.0, -PUSH, 0.0), (0.0, 0.05, 0.0), duration=BLOW)
    scene.frame_set(HIT)
    place = float((obj.matrix_world @ obj.pose.bones["spine"].head).y)
    shot.camera(scene, (-5.2, place - 3.6, 1.9), (0.2, place - 0.9, 0.55), lens=38.0)

    def read():
        heads = [np.array(obj.matrix_world @ obj.pose.bones["spine.006"].head) for obj in walkers]
        return [(head, obj.active_ragdoll.state) for head, obj in zip(heads, walkers, strict=True)]

    found, cost = shot.run(scene, read)
    figures = {"ms_a_frame": cost, "push_n_s": PUSH}
    for i, obj in enumerate(walkers):
        heads = np.array([value[i][0] for frame, value in sorted(found.items()) if frame > HIT + 3])
        speeds = np.linalg.norm(np.diff(heads, axis=0), axis=1) * scene.render.fps
        figures[f"{obj.name.lower()}_head_down_to_m"] = float(heads[:, 2].min())
        figures[f"{obj.name.lower()}_head_fastest_m_s"] = float(speeds.max())
    shown = [HIT, *range(HIT + 3, HIT + 24, 3), HIT + 30, LAST]
    shot.write(scene, out, figures, frames=shown, columns=3)
