"""A horse is knocked off its legs from the side, lies, rolls to its chest, and rises with the front legs first."""

from pathlib import Path

import numpy as np

from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.settings import effects
from active_ragdoll.core.blender.tools import story

from .. import character, shot

HIT, LAST = 20, 260  # frames
BLOWS = {"spine.005": 750.0, "spine.001": 600.0}  # [N s] to its right
NODS = {"neck.001": 6.0, "head": 5.0}  # [deg] of its animation


def main(out: Path) -> None:
    """Make the shot and its results in the folder `out`."""
    scene = shot.new_scene()
    scene.frame_start, scene.frame_end = 1, LAST
    horse, _skin = character.make_rigify_human(scene, "Animals.horse")
    for bone, angle in NODS.items():
        posed = horse.pose.bones[bone]
        for i, frame in enumerate(range(1, LAST + 40, 36)):
            posed.rotation_quaternion = (np.cos(np.radians(angle) / 2), np.sin(np.radians(angle) / 2) * (i % 2), 0, 0)
            posed.rotation_quaternion.normalize()
            posed.keyframe_insert("rotation_quaternion", frame=frame)
    shot.furnish(scene)
    build.build(horse, scene)
    story.set_up_recovery(horse, scene)
    for bone, strength in BLOWS.items():
        effects.add_hit(horse, scene, bone, HIT, (-strength, 0.0, 0.15 * strength), duration=0.1)
    shot.camera(scene, (-8.6, -3.6, 2.2), (-1.3, -0.1, 0.75), lens=48.0)
    found, cost = shot.run(scene, lambda: horse.active_ragdoll.state)
    began = shot.changes(found)
    up, done = began.get("recovering", LAST - 60), began.get("blending", LAST - 4)
    shown = [HIT - 2, *(HIT + late for late in (5, 10, 16, 24)), *np.linspace(up, done, 10).astype(int).tolist(), LAST]
    shot.write(scene, out, {"ms_a_frame": cost, "states": began}, frames=shown)
