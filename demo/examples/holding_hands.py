"""Two walkers take each other's hands and let go again: the pull of each acts on the other."""

from pathlib import Path

import numpy as np

from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.settings import effects

from .. import shot

APART = 0.76  # between the walkers [m]
ARM = ("upper_arm", "forearm", "hand")
WEIGHTS = (0.25, 0.0)  # rotation and translation of the arms that are led
TAKE, RELEASE = 0.2, 0.75  # of the shot


def main(out: Path) -> None:
    """Make the shot and its results in the folder `out`."""
    scene = shot.new_scene()
    walkers = []
    for name, side, cycle in (("Left", -0.5, 28), ("Right", 0.5, 28)):
        obj = shot.walker(scene, name, cycles=4, frames_per_cycle=cycle)
        obj.location.x = side * APART
        walkers.append(obj)
    first, second = walkers
    shot.recolour(second, (0.10, 0.22, 0.42))
    shot.furnish(scene)
    for obj, side in ((first, "L"), (second, "R")):
        build.build(obj, scene)
        bodies = {part.bone for part in obj.active_ragdoll.parts}
        led = [b.name for b in obj.data.bones[f"{ARM[0]}.{side}"].children_recursive if b.name in bodies]
        for bone in (f"{ARM[0]}.{side}", *led):
            settings = obj.pose.bones[bone].active_ragdoll
            settings.rotation_weight, settings.translation_weight = WEIGHTS
    grip = effects.attach(first, "hand.L", second)
    grip.target_bone, grip.offset, grip.reach_seconds = "hand.R", "STATED", 0.6
    grip.offset_location = grip.point
    length = scene.frame_end - scene.frame_start
    take, release = (scene.frame_start + round(share * length) for share in (TAKE, RELEASE))
    for frame, value in ((scene.frame_start, False), (take, True), (release, False)):
        grip.enabled = value
        first.keyframe_insert("active_ragdoll.attachments[0].enabled", frame=frame)
    point = np.array([*grip.point, 1.0])
    shot.camera(scene, (0.0, -5.6, 1.5), (0.0, 0.0, 0.95), lens=42.0)

    def place(obj, bone):
        part = next(part for part in obj.active_ragdoll.parts if part.bone == bone)
        offset = part.offset
        return (np.array(part.body.matrix_world) @ np.linalg.inv(offset) @ point)[:3]

    found, cost = shot.run(scene, lambda: np.linalg.norm(place(first, "hand.L") - place(second, "hand.R")))
    settled = take + round(0.6 * scene.render.fps) + 6
    figures = {
        "ms_a_frame": cost,
        "taken_at_frame": take,
        "released_at_frame": release,
        "apart_before_m": float(found[take - 1]),
        "apart_while_held_largest_m": float(max(gap for frame, gap in found.items() if settled <= frame < release)),
        "apart_at_the_end_m": float(found[scene.frame_end]),
    }
    shot.write(scene, out, figures, frames=(take, settled, release - 1))
