"""A boxer: punches that he takes on his feet, by his balance, and one that fells him."""

from pathlib import Path

from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.settings import effects
from active_ragdoll.core.blender.tools import story

from .. import character, shot

PUNCHES = (  # frame, bone, impulse [N s]
    (14, "spine.006", (0.0, 32.0, 6.0)),
    (52, "spine.002", (0.0, 45.0, 0.0)),
    (96, "spine.006", (-36.0, 14.0, 0.0)),
    (136, "spine.006", (25.0, 110.0, 30.0)),
)
LAST, BLOW = 196, 0.06  # frame, [s]
GUARD = {  # ways of the bones; of the legs the left one stands in front
    "thigh.L": (0.16, -0.45, -1.0),
    "shin.L": (0.10, 0.10, -1.0),
    "foot.L": (0.2, -1.0, -0.6),
    "thigh.R": (-0.16, 0.05, -1.0),
    "shin.R": (-0.14, 0.55, -1.0),
    "foot.R": (-0.6, -1.0, -0.7),
    **shot.both_sides({"upper_arm": (0.25, -0.35, -1.0), "forearm": (-0.35, -0.7, 1.0), "hand": (-0.3, -0.3, 1.0)}),
}


def main(out: Path) -> None:
    """Make the shot and its results in the folder `out`."""
    scene = shot.new_scene()
    boxer, _skin = character.make_rigify_human(scene)
    scene.frame_start, scene.frame_end = 1, LAST
    shot.point_bones(scene, boxer, GUARD, 1)
    shot.furnish(scene)
    drop = min((boxer.pose.bones[f"foot.{side}"].head - boxer.data.bones[f"foot.{side}"].head_local).z for side in "LR")
    boxer.location.z = -drop
    build.build(boxer, scene)
    story.set_up_recovery(boxer, scene)
    boxer.active_ragdoll.recovery.get_up = "STAY_DOWN"
    boxer.active_ragdoll.balance.enabled = True
    boxer.active_ragdoll.rotation_weight, boxer.active_ragdoll.loosening = 0.7, 2.0
    for frame, bone, impulse in PUNCHES:
        effects.add_hit(boxer, scene, bone, frame, impulse, duration=BLOW)
    shot.camera(scene, (-4.5, -0.6, 1.35), (0.0, 1.4, 0.8), lens=38.0)
    found, cost = shot.run(scene, lambda: boxer.active_ragdoll.state)
    shown = [frame + late for frame, _bone, _impulse in PUNCHES for late in (2, 5, 10)]
    last = PUNCHES[-1][0]
    figures = {"ms_a_frame": cost, "states": shot.changes(found)}
    shot.write(scene, out, figures, frames=[1, *shown, last + 18, last + 34, LAST])
