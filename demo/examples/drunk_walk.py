"""A walk on loose joints: the animation is the sober walk, only led in curves; the weights are a preset."""

import math
from pathlib import Path

import numpy as np
from mathutils import Matrix, Vector

from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.ragdoll import weight_spread

from .. import shot, stage

SPEED = 0.9  # of the walk [m/s]
CURVES = ((22.0, 3.4, 0.0), (9.0, 1.9, 1.3))  # of the heading: degrees, seconds, phase
DIPS = {1: 1.0, 40: 1.0, 50: 0.62, 64: 1.0, 104: 1.0, 114: 0.78, 134: 1.0}  # moments of weakness


def main(out: Path) -> None:
    """Make the shot and its results in the folder `out`."""
    scene = shot.new_scene()
    hero = shot.walker(scene, cycles=6, speed=SPEED, frames_per_cycle=28)
    _lead_in_curves(scene, hero)
    shot.furnish(scene)
    built = build.build(hero, scene)
    for bone, pair in shot.preset_weights(hero, weight_spread.DRUNK).items():
        settings = hero.pose.bones[bone].active_ragdoll
        settings.rotation_weight, settings.translation_weight = pair
    for name in ("rotation_weight", "translation_weight"):
        shot.key(hero, name, DIPS)
    stage.make_camera(scene, hero)
    names = [part.bone for part in hero.active_ragdoll.parts]
    found, cost = shot.run(scene, lambda: (*shot.errors(scene, hero), shot.bodies(hero)[:, 2, 3]))
    angles, places, heights = (np.array([value[i] for value in found.values()]) for i in range(3))
    head = names.index("spine.006")
    figures = {
        "bodies": built.bodies,
        "ms_a_frame": cost,
        "mean_error_deg": float(angles.mean()),
        "largest_mean_error_deg": float(angles.mean(axis=1).max()),
        "arms_mean_error_deg": float(angles[:, [i for i, name in enumerate(names) if "arm" in name]].mean()),
        "legs_mean_error_deg": float(
            angles[:, [i for i, name in enumerate(names) if name.startswith(("thigh", "shin"))]].mean()
        ),
        "pelvis_off_its_place_m": float(places[:, names.index("spine")].mean()),
        "head_height_lowest_m": float(heights[:, head].min()),
        "head_height_highest_m": float(heights[:, head].max()),
    }
    shot.write(scene, out, figures)


def _lead_in_curves(scene, hero) -> None:
    """Key the object so that the straight walk towards -Y follows a winding way."""
    fps = scene.render.fps
    middle = 0.5 * (scene.frame_start + scene.frame_end)
    place = Vector((0.0, 0.5 * SPEED * (scene.frame_end - scene.frame_start) / fps, 0.0))
    for frame in range(scene.frame_start - 3, scene.frame_end + 1):
        seconds = (frame - scene.frame_start) / fps
        heading = math.radians(
            sum(degrees * math.sin(2.0 * math.pi * seconds / period + phase) for degrees, period, phase in CURVES)
        )
        turn = Matrix.Rotation(heading, 4, "Z")
        place += turn @ Vector((0.0, -SPEED / fps, 0.0))
        walked = Vector((0.0, -SPEED * (frame - middle) / fps, 0.0))
        hero.matrix_world = Matrix.Translation(place) @ turn @ Matrix.Translation(-walked)
        for name in ("location", "rotation_euler"):
            hero.keyframe_insert(name, frame=frame)
