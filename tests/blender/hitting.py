"""Characters to hit, and what a hit gave them."""

import numpy as np

import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender.physics import body_objects, build

HIT = 6  # frame of the hits


def empty(fps=24, last=12):
    scene = rigs.empty_file(fps)
    scene.gravity = (0.0, 0.0, 0.0)
    rigs.set_range(scene, 1, last)
    return scene


def free_body(scene, mass=2.0, turn=(0.3, 1.0, 0.4), moving=None, direction=(1.0, 2.0, 0.5)):
    """One limp bone that nothing holds or brakes; `moving` is its place at frame 2, keyed from frame 1 on."""
    obj = rigs.chain(scene, 1, direction=direction)
    obj.rotation_euler = turn
    rigs.undamped(obj)
    obj.pose.bones["A"].active_ragdoll.mass = mass
    if moving is not None:
        rigs.key_locations(obj, {frame: np.array(moving) * (frame - 1) for frame in range(-5, 40)})
    build.build(obj, scene)
    rigs.set_weights(obj)
    return obj


def add(obj, bone="A", frame=HIT, impulse=(0.0, 1.0, 0.0), point=(0.0, 0.0, 0.0), **others):
    hit = obj.active_ragdoll.hits.add()
    hit.bone, hit.frame, hit.impulse, hit.point = bone, frame, impulse, point
    return rigs.changed(hit, **others)


def explode(obj, frame=HIT, **others):
    blast = obj.active_ragdoll.explosions.add()
    blast.frame = frame
    return rigs.changed(blast, **others)


def play(scene, obj, last=12):
    return np.array(rigs.play(scene, 1, last, lambda: rigs.bodies(obj))).astype(float)


def velocity(poses, frame, fps):
    """Of the bodies over the step into a frame [m, 3]."""
    return (poses[frame - 1, :, :3, 3] - poses[frame - 2, :, :3, 3]) * fps


def spin(poses, frame, fps):
    """Angular velocity of the bodies over the step into a frame [m, 3]."""
    turn = poses[frame - 1, :, :3, :3] @ poses[frame - 2, :, :3, :3].transpose(0, 2, 1)
    return quaternion.to_rotation_vector(quaternion.from_matrix(turn)) * fps


def inertia(obj, matrix):
    """World inertia [3, 3] of the first body as Blender has it."""
    own = body_objects.own_moments([obj.active_ragdoll.parts[0].body])[0]
    return matrix[:3, :3] @ np.diag(own) @ matrix[:3, :3].T
