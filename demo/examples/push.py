"""Stumble after a push: a walker is shoved from behind, gives way, catches itself and walks on."""

from pathlib import Path

import bpy

from demo import character, contact_sheet, stage, walk_cycle

PUSH, SECOND = 36, 76  # frames
IMPULSE = (30.0, -75.0, 5.0)  # [N s] forwards and to its left, on the right shoulder blade
SHOVE = (-75.0, 10.0, 0.0)
WEIGHTS = 0.7, 0.45


def main(out: Path) -> None:
    """Write push.blend and push.png."""
    from active_ragdoll.core.blender import build, hit_edits, simulate

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
    hit_edits.add(walker, scene, "spine.003", PUSH, IMPULSE, (-0.1, 0.05, 0.0), duration=0.1)
    hit_edits.add(walker, scene, "upper_arm.L", SECOND, SHOVE)
    for _frame in simulate.frames(scene):
        pass
    bpy.ops.wm.save_as_mainfile(filepath=str((out / "push.blend").resolve()), compress=True)
    frames = [PUSH - 4, PUSH, PUSH + 3, PUSH + 6, PUSH + 10, PUSH + 16, PUSH + 28, SECOND]
    frames += [SECOND + 3, SECOND + 8, SECOND + 16, scene.frame_end]
    print(contact_sheet.render_contact_sheet(scene, frames, out / "push.png", caption="STUMBLE AFTER A PUSH"))
