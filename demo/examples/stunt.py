"""A stunt: a box of a car's size brakes too late; who walks before it is thrown, lies, and gets up hurt."""

from pathlib import Path

import bpy
import numpy as np

from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.settings import effects
from active_ragdoll.core.blender.tools import story

from .. import shot, stage

SIZE = np.array((3.8, 1.7, 1.3))  # of the car [m]
SPEED, BRAKES = 5.5, 6.0  # [m/s], [m/s^2]
MEET, LAST = 30, 312  # frames: where the walker is struck
HURTS = 25.0  # [s]: the arm hangs for the whole shot
AWAY, CLEARANCE = 0.34, 0.03  # from the middle of the walker when it strikes, and over the floor [m]


def main(out: Path) -> None:
    """Make the shot and its results in the folder `out`."""
    scene = shot.new_scene()
    walker = shot.walker(scene, cycles=14)
    scene.frame_end = LAST
    shot.furnish(scene)
    build.build(walker, scene)
    story.set_up_recovery(walker, scene)
    walker.active_ragdoll.recovery.get_up_pace = 1.6
    effects.add_hit(walker, scene, "forearm.R", MEET, (0.0, 0.0, 1e-3))  # what strikes is the car
    walker.active_ragdoll.hits[0].hurts = HURTS
    scene.frame_set(MEET)
    place = np.array(walker.matrix_world @ walker.pose.bones["spine"].head)
    drive(make_car(scene), scene, place)
    shot.camera(scene, (1.3, -4.6, 1.4), (-0.1, 0.0, 0.8), lens=38.0, follows=walker)
    found, cost = shot.run(scene, lambda: (walker.active_ragdoll.state, shot.bodies(walker)[:, :3, 3]))
    began = shot.changes({frame: state for frame, (state, _places) in found.items()})
    middles = np.array([places.mean(axis=0) for _state, places in found.values()])
    figures = {"ms_a_frame": cost, "car_m_s": SPEED, "states": began}
    figures["walker_m_s"] = float(np.linalg.norm(np.diff(middles, axis=0), axis=1).max() * scene.render.fps)
    up = np.linspace(began.get("recovering", LAST - 60), LAST - 12, 7).astype(int).tolist()
    shot.write(scene, out, figures, frames=[MEET - 10, *(MEET + late for late in (0, 3, 6, 9, 13, 18, 26)), *up, LAST])


def make_car(scene: bpy.types.Scene) -> bpy.types.Object:
    """A kinematic box with its origin in its middle."""
    bpy.ops.mesh.primitive_cube_add(size=1.0)
    car = bpy.context.object
    car.name, car.scale, car.location.z = "Car", SIZE, 0.5 * SIZE[2] + CLEARANCE
    bpy.ops.object.transform_apply(location=False, rotation=False)
    car.data.materials.append(stage.make_material("car", (0.30, 0.04, 0.04), roughness=0.3))
    scene.rigidbody_world.collection.objects.link(car)
    car.rigid_body.type, car.rigid_body.collision_shape, car.rigid_body.kinematic = "ACTIVE", "BOX", True
    return car


def drive(car: bpy.types.Object, scene: bpy.types.Scene, place: np.ndarray) -> None:
    """Key the way of the car along x, which touches the place at the frame MEET and brakes from there on."""
    car.location.y = place[1]
    for frame in range(-5, scene.frame_end + 1):
        seconds = (frame - MEET) / scene.render.fps
        braking = min(max(seconds, 0.0), SPEED / BRAKES)
        way = SPEED * min(seconds, braking) - 0.5 * BRAKES * braking**2
        car.location.x = place[0] - 0.5 * SIZE[0] - AWAY + way
        car.keyframe_insert("location", index=0, frame=frame)
