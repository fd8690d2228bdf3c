"""A somersault: thrown up once, the body turns faster when it draws in its limbs and slower when it opens again.

The drives act between the bodies alone and nothing touches them, so momentum is kept: linear but for what gravity
adds, angular about the centre of mass. The report's angular momentum is taken from differences between frames, which at
48 a second are a hundredth off while the limbs are drawn in; at 192 they agree to 0.0014.
"""

import math
from pathlib import Path

import numpy as np
from mathutils import Euler, Vector

from active_ragdoll.core import quaternion
from active_ragdoll.core.blender.physics import build

from .. import character, shot

FPS, FRAMES = 48, 57
CLEAR = 0.3  # of the floor when it is let go [m]: the toes point down
UP, FORWARD, SPIN = 5.9, 0.9, 2.3  # of the throw: [m/s], [m/s], [rad/s]
OPEN = {"upper_arm": (0.25, -0.1, 1.0), "forearm": (0.05, -0.1, 1.0), "thigh": (0.0, 0.0, -1.0)}
OPEN |= {"shin": (0.0, 0.05, -1.0), "foot": (0.05, -0.5, -1.0)}
TUCKED = {"upper_arm": (0.15, -0.75, -0.6), "forearm": (-0.2, -0.75, -0.55), "thigh": (0.12, -0.8, 0.55)}
TUCKED |= {"shin": (0.0, 0.45, -0.9), "foot": (0.05, -0.4, -1.0)}
BENT = {"spine.001": (0.0, -0.1, 1.0), "spine.002": (0.0, -0.35, 0.9), "spine.003": (0.0, -0.6, 0.8)}
BENT |= {"spine.004": (0.0, -0.9, 0.6), "spine.006": (0.0, -1.0, 0.5)}
POSES = {1: False, 6: False, 18: True, 36: True, 49: False, FRAMES: False}  # whether it is tucked, by frame


def main(out: Path) -> None:
    """Make the shot and its results in the folder `out`."""
    limp = _figures(*_shot(0.0)[:3])
    scene, parts, found, cost = _shot(1.0)
    own = _figures(scene, parts, found)
    figures = {
        "ms_a_frame": cost,
        "linear_momentum_drift": own["linear"],
        "angular_momentum_drift": own["angular"],
        "linear_momentum_drift_limp": limp["linear"],
        "angular_momentum_drift_limp": limp["angular"],
        "drifts_are": "largest change as a share of the momentum, gravity's own taken off",
        "angular_momentum": own["momentum"],
        "pelvis_turns_open_rad_s": own["spin"][:4].mean(),
        "pelvis_turns_tucked_rad_s": own["spin"][20:32].mean(),
        "pelvis_turned_deg": math.degrees(own["spin"].sum() / FPS),
        "mean_joint_error_deg": float(np.mean([value[1] for value in found.values()])),
    }
    shot.write(scene, out, figures)


def _shot(weight: float) -> tuple:
    scene = shot.new_scene(FPS)
    scene.frame_start, scene.frame_end = 1, FRAMES
    hero, _mesh = character.make_rigify_human(scene)
    for frame, tucked in POSES.items():
        ways = BENT if tucked else _upright(hero)
        shot.point_bones(scene, hero, ways | shot.both_sides(TUCKED if tucked else OPEN), frame)
    _throw(scene, hero)
    shot.furnish(scene)
    settings = hero.active_ragdoll
    settings.drive_space, settings.self_collision = "JOINT", False
    for bone in hero.pose.bones:
        bone.active_ragdoll.linear_damping = bone.active_ragdoll.angular_damping = 0.0
    settings.rotation_weight = weight
    build.build(hero, scene)
    shot.camera(scene, (-6.4, -1.6, 2.0), (0.0, 0.1, 1.85), lens=38.0)

    def read():
        run = build.runtime.STATE.runs[scene.name]
        drives, bodies = run.joint_drives, shot.bodies(hero)
        angles = quaternion.angle_between(drives.relative(bodies), drives.relative(run.wanted))
        return bodies, float(np.degrees(angles).mean())

    found, cost = shot.run(scene, read)
    parts = settings.parts
    masses = np.array([part.body.rigid_body.mass for part in parts])
    # Blender's inertia of a body is that of its box, but for spheres.
    sizes = np.array([np.ptp([tuple(v.co) for v in part.body.data.vertices], axis=0) for part in parts]) ** 2
    factors = np.array([1.2 if part.body.rigid_body.collision_shape == "SPHERE" else 1.0 for part in parts])
    inertia = (factors * masses / 12.0)[:, None] * (sizes.sum(axis=1, keepdims=True) - sizes)
    return scene, (masses, inertia, [part.bone for part in parts].index("spine")), found, cost


def _upright(hero) -> dict:
    """The trunk as in bind pose."""
    bones = hero.data.bones
    return {name: bones[name].tail_local - bones[name].head_local for name in BENT}


def _throw(scene, hero) -> None:
    """Key the object: what counts is the velocity of the first frame, at which the bodies are let go."""
    middle = Vector((0.0, 0.0, 1.05))
    for frame in range(-2, FRAMES + 1):
        seconds = (frame - 1) / FPS
        rise = CLEAR + UP * seconds + 0.5 * scene.gravity.z * seconds**2
        place = middle + Vector((0.0, 0.6 - FORWARD * seconds, rise))
        turn = Euler((SPIN * seconds, 0.0, 0.0))
        hero.location = place + turn.to_matrix() @ -middle
        hero.rotation_euler = turn
        for name in ("location", "rotation_euler"):
            hero.keyframe_insert(name, frame=frame)


def _figures(scene, parts, found) -> dict:
    """Drift of the momenta as shares, the angular momentum [kg m^2/s], and the pelvis's turning [f] [rad/s]."""
    masses, inertia, pelvis = parts
    run = np.array([value[0] for value in found.values()])[1:]  # of the first step, half goes to letting go
    places, turns = run[:, :, :3, 3], run[:, :, :3, :3]
    velocity = np.diff(places, axis=0) * FPS
    spin = quaternion.to_rotation_vector(quaternion.from_matrix(turns[1:] @ turns[:-1].transpose(0, 1, 3, 2))) * FPS
    middle = 0.5 * (places[1:] + places[:-1])
    total = masses.sum()
    centre = (masses[:, None] * middle).sum(axis=1, keepdims=True) / total
    linear = (masses[:, None] * velocity).sum(axis=1)
    free = linear - np.arange(len(linear))[:, None] * (total / FPS) * np.array(scene.gravity)
    between = quaternion.to_matrix(
        quaternion.slerp(quaternion.from_matrix(turns[:-1]), quaternion.from_matrix(turns[1:]), np.array(0.5))
    )
    own = np.einsum("fmij,mj,fmkj,fmk->fmi", between, inertia, between, spin)
    moments = masses[:, None] * np.cross(middle - centre, velocity - linear[:, None] / total)
    angular = (moments + own).sum(axis=1)

    def drift(values) -> float:
        return float(np.linalg.norm(values - values[0], axis=1).max() / np.linalg.norm(values[0]))

    return {
        "linear": drift(free),
        "angular": drift(angular),
        "momentum": float(np.linalg.norm(angular[0])),
        "spin": spin[:, pelvis, 0],
    }
