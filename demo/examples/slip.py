"""A slip: the foot that was to bear a walker shoots away, and he falls on his back with his reflexes awake."""

from pathlib import Path

import numpy as np

from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.settings import effects
from active_ragdoll.core.blender.tools import story

from .. import shot

SLIP, LAST = 24, 206  # frames
KICKS = {"foot.L": 45.0, "foot.R": 40.0, "spine.003": -60.0}  # [N s] forwards


def main(out: Path) -> None:
    """Make the shot and its results in the folder `out`."""
    scene = shot.new_scene()
    walker = shot.walker(scene, cycles=10)
    scene.frame_end = LAST
    shot.furnish(scene)
    build.build(walker, scene)
    story.set_up_recovery(walker, scene)
    effects.set_tone(walker, "AWAKE")
    walker.active_ragdoll.recovery.knock_out_speed = 0.2
    for bone, strength in KICKS.items():
        effects.add_hit(walker, scene, bone, SLIP, (0.0, -strength, 0.1 * abs(strength)), duration=0.08)
    scene.frame_set(SLIP)
    place = np.array(walker.matrix_world @ walker.pose.bones["spine"].head)
    shot.camera(scene, (place[0] - 5.6, place[1] - 2.2, 1.6), (place[0], place[1] - 0.7, 0.6), lens=50.0)
    head = walker.pose.bones["spine.006"]
    found, cost = shot.run(scene, lambda: (walker.active_ragdoll.state, (walker.matrix_world @ head.head).z))
    began = shot.changes({frame: state for frame, (state, _height) in found.items()})
    figures = {"ms_a_frame": cost, "states": began, "head_down_to_m": min(height for _state, height in found.values())}
    up = np.linspace(began.get("recovering", LAST - 60), LAST, 7).astype(int).tolist()
    shown = [SLIP - 6, *(SLIP + late for late in (0, 3, 6, 9, 12, 15, 19, 26)), *up]
    shot.write(scene, out, figures, frames=shown)
