"""Stumble after a push: a walker is shoved from behind, gives way, catches itself and walks on."""

import json
from pathlib import Path

import bpy
import numpy as np

from demo import character, contact_sheet, stage, walk_cycle

PUSH, SECOND = 36, 76  # frames
IMPULSE = (30.0, -75.0, 5.0)  # [N s] forwards and to its left, on the right shoulder blade
SHOVE = (-75.0, 10.0, 0.0)
WEIGHTS = 0.7, 0.45


def main(out: Path) -> None:
    """Write push.blend, push.json and push.png."""
    from active_ragdoll.core.blender.physics import build
    from active_ragdoll.core.blender.run import simulate
    from active_ragdoll.core.blender.settings import effects

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    walker, _mesh = character.make_rigify_human(scene)
    walk_cycle.make_walk_cycle(walker, scene)
    stage.ensure_rigid_body_world(scene)
    stage.make_floor(scene)
    stage.make_camera(scene, walker)
    stage.make_light(scene)
    stage.set_render_look(scene)
    build.build(walker, scene)
    settings = walker.active_ragdoll
    settings.rotation_weight, settings.translation_weight = WEIGHTS
    settings.loosening, settings.loosening_regain = 1.2, 0.9
    effects.add_hit(walker, scene, "spine.003", PUSH, IMPULSE, (-0.1, 0.05, 0.0), duration=0.1)
    effects.add_hit(walker, scene, "upper_arm.L", SECOND, SHOVE)
    errors = {}
    for frame in simulate.frames(scene):
        errors[frame] = _mean_error(scene)
    strongest = max(errors, key=errors.get)
    figures = {
        "hits": [{"frame": hit.frame, "bone": hit.bone, "impulse_ns": hit.strength} for hit in settings.hits],
        "mean_error_before_deg": errors[PUSH],
        "largest_mean_error_deg": errors[strongest],
        "largest_mean_error_frame": strongest,
        "last_mean_error_deg": errors[scene.frame_end],
    }
    (out / "push.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(figures))
    bpy.ops.wm.save_as_mainfile(filepath=str((out / "push.blend").resolve()), compress=True)
    frames = [PUSH - 4, PUSH, PUSH + 3, PUSH + 6, PUSH + 10, PUSH + 16, PUSH + 28, SECOND]
    frames += [SECOND + 3, SECOND + 8, SECOND + 16, scene.frame_end]
    print(
        contact_sheet.render_contact_sheet(
            scene, frames, out / "push.png", tile=(320, 240), caption="STUMBLE AFTER A PUSH"
        )
    )


def _mean_error(scene) -> float:
    """Mean angle [deg] between the bodies and the animation at this frame."""
    from active_ragdoll.core.blender.runtime import STATE

    run = STATE.runs[scene.name]
    cosine = 0.5 * (np.einsum("mij,mij->m", run.body[:, :3, :3], run.wanted[:, :3, :3]) - 1.0)
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))).mean())
