"""Knock-out: a walker is hit hard, falls, comes to rest, gets up where it lies and walks on from there."""

from pathlib import Path

import bpy
import numpy as np

from demo import character, contact_sheet, stage, walk_cycle

HIT, END = 40, 260  # frames
IMPULSE = (30.0, 150.0, 20.0)  # [N s] from the front, on the chest


def main(out: Path) -> None:
    """Write knock_out.blend and knock_out.png."""
    from active_ragdoll.core.blender.physics import build
    from active_ragdoll.core.blender.run import simulate
    from active_ragdoll.core.blender.settings import effects
    from active_ragdoll.core.blender.tools import story

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    walker, _mesh = character.make_rigify_human(scene)
    walk_cycle.make_walk_cycle(walker, scene, cycles=12)
    scene.frame_end = END
    stage.ensure_rigid_body_world(scene)
    stage.make_floor(scene)
    stage.make_camera(scene, walker)
    stage.make_light(scene)
    stage.set_render_look(scene)
    build.build(walker, scene)
    story.set_up_recovery(walker, scene)
    effects.add_hit(walker, scene, "spine.003", HIT, IMPULSE, (0.0, 0.1, 0.0), duration=0.1)
    states = {}
    for frame in simulate.frames(scene):
        states[frame] = walker.active_ragdoll.state
    changes = [frame for frame in states if states[frame] != states.get(frame - 1)]
    print(", ".join(f"{states[frame].lower()} at {frame}" for frame in changes))
    bpy.ops.wm.save_as_mainfile(filepath=str((out / "knock_out.blend").resolve()), compress=True)
    up = [frame for frame in states if states[frame] in ("RECOVERING", "BLENDING")]
    shown = [HIT - 2, HIT + 4, HIT + 9, HIT + 14]
    if up:
        shown += [up[0], *np.linspace(up[0] + 22, up[-1] - 14, 6).round().astype(int).tolist(), END]
    shown = sorted({frame for frame in shown if frame <= END})
    print(contact_sheet.render_contact_sheet(scene, shown, out / "knock_out.png", caption="KNOCKED OUT, UP AGAIN"))
