"""A staircase: who is pushed at its top falls down the steps, lies on what is there and gets up from it."""

from pathlib import Path

import bpy
import numpy as np

from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.settings import effects
from active_ragdoll.core.blender.tools import story

from .. import shot, stage

STEPS, RISE, TREAD, WIDE = 5, 0.16, 0.30, 2.6  # [m]
PUSH, LAST = 30, 276  # frames
IMPULSE, BLOW = (12.0, -75.0, 10.0), 0.1  # [N s] down the stairs, on the back; [s]


def main(out: Path) -> None:
    """Make the shot and its results in the folder `out`."""
    scene = shot.new_scene()
    walker = shot.walker(scene, cycles=14)
    walker.location.z = STEPS * RISE
    scene.frame_end = LAST
    shot.furnish(scene)
    scene.frame_set(PUSH)
    edge = float((walker.matrix_world @ walker.pose.bones["spine"].head).y) - 0.30
    material = stage.make_material("step", (0.32, 0.30, 0.28), roughness=0.7)
    for i in range(STEPS):
        far = edge - i * TREAD  # where the next step is lower
        height = (STEPS - i) * RISE
        make_block(scene, f"Step {i + 1}", (WIDE, 4.0 if i == 0 else TREAD, height), far, material)
    scene.frame_set(1)
    build.build(walker, scene)
    story.set_up_recovery(walker, scene)
    effects.set_tone(walker, "AWAKE")
    walker.active_ragdoll.recovery.knock_out_speed = 0.3
    effects.add_hit(walker, scene, "spine.003", PUSH, IMPULSE, (0.0, 0.05, 0.0), duration=BLOW)
    shot.camera(scene, (-4.1, -2.8, 1.8), (0.0, -0.2, 1.05), lens=31.0, follows=walker)
    hips = walker.pose.bones["spine"]
    found, cost = shot.run(scene, lambda: (walker.active_ragdoll.state, (walker.matrix_world @ hips.head).z))
    began = shot.changes({frame: state for frame, (state, _height) in found.items()})
    figures = {"ms_a_frame": cost, "states": began, "hips_from_m": found[PUSH][1], "to_m": found[LAST][1]}
    up = np.linspace(began.get("recovering", LAST - 80), LAST - 10, 7).astype(int).tolist()
    shot.write(scene, out, figures, frames=[PUSH - 4, *(PUSH + late for late in (4, 8, 12, 16, 20, 26, 34)), *up, LAST])


def make_block(scene: bpy.types.Scene, name: str, size: tuple, edge: float, material: bpy.types.Material) -> None:
    """A passive box on the floor that ends at a y and goes back from there."""
    bpy.ops.mesh.primitive_cube_add(size=1.0, location=(0.0, edge + 0.5 * size[1], 0.5 * size[2]))
    block = bpy.context.object
    block.name, block.scale = name, size
    bpy.ops.object.transform_apply(location=False, rotation=False)
    block.data.materials.append(material)
    scene.rigidbody_world.collection.objects.link(block)
    block.rigid_body.type, block.rigid_body.collision_shape, block.rigid_body.friction = "PASSIVE", "BOX", 0.8
