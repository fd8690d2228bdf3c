"""A walker with both arms held out in front; nothing drives its right arm for two seconds, then it comes back."""

from pathlib import Path

import numpy as np

from active_ragdoll.core.anatomy import roles
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.ragdoll import weight_spread

from .. import shot, stage

LIMP = (36, 40, 84, 108)  # frames: begins to let go, is limp, begins to come back, is back


def main(out: Path) -> None:
    """Make the shot and its results in the folder `out`."""
    scene = shot.new_scene()
    hero = shot.walker(scene, cycles=5)
    _hold_arms_out(scene, hero)
    shot.furnish(scene)
    built = build.build(hero, scene)
    weights = shot.preset_weights(hero, weight_spread.ONE_ARM_LIMP, roles.RIGHT)
    loose = {bone: pair for bone, pair in weights.items() if min(pair) < 1.0}
    for bone, pair in loose.items():
        for name, weight in zip(("rotation_weight", "translation_weight"), pair, strict=True):
            shot.key(hero, name, dict(zip(LIMP, (1.0, weight, weight, 1.0), strict=True)), bone)
    stage.make_camera(scene, hero)
    names = [part.bone for part in hero.active_ragdoll.parts]
    limp = [names.index(bone) for bone, pair in loose.items() if max(pair) == 0.0]
    others = [i for i, bone in enumerate(names) if bone not in loose]
    found, cost = shot.run(scene, lambda: (shot.errors(scene, hero)[0], shot.bodies(hero)))
    angles = {frame: value[0] for frame, value in found.items()}
    hand = names.index("hand.R")
    figures = {
        "bodies": built.bodies,
        "limp_bones": [names[i] for i in limp],
        "ms_a_frame": cost,
        "limp_arm_largest_error_deg": max(float(angles[f][limp].mean()) for f in range(LIMP[1], LIMP[2])),
        "others_largest_error_while_limp_deg": max(float(angles[f][others].mean()) for f in range(LIMP[1], LIMP[2])),
        "arm_error_before_deg": float(angles[LIMP[0]][limp].mean()),
        "arm_error_at_the_end_deg": float(angles[scene.frame_end][limp].mean()),
        "hand_height_held_m": float(found[LIMP[0]][1][hand, 2, 3]),
        "hand_height_limp_m": float(np.mean([found[f][1][hand, 2, 3] for f in range(LIMP[2] - 24, LIMP[2])])),
    }
    shot.write(scene, out, figures, frames=(LIMP[0], LIMP[1] + 6, LIMP[2]))


def _hold_arms_out(scene, hero) -> None:
    """Key the arms straight to the front, in every frame of the walk."""
    ways = shot.both_sides({"upper_arm": (0.1, -1.0, -0.1), "forearm": (-0.1, -1.0, 0.15)})
    for frame in range(scene.frame_start - 2, scene.frame_end + 1):
        scene.frame_set(frame)
        shot.point_bones(scene, hero, ways, frame)
