"""Joints in Blender's physics: do bones stop where the plan of `core.ragdoll.joints` says?

Run with the Python of a bpy wheel: ``python tests/blender/joint_limits.py [case ...]``; ends with 1 when a
figure is out of tolerance. All pairs of bodies of a case stand in one scene, each turned differently in the
world, so that gravity pulls each one its own way.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import bpy
import numpy as np
from mathutils import Euler, Matrix, Quaternion, Vector

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core.ragdoll import joints

FRAMES = 90
DIRECTIONS = 24
# The promise: the swing stops within this share of the asked angle.
SWING_TOLERANCE = 0.05
ANGLE_TOLERANCE = math.radians(2.0)

# half axes in degrees: X max, -X min, Z max, -Z min
CONES = {
    "circle 34.4": (34.4, 34.4, 34.4, 34.4),
    "circle 45": (45, 45, 45, 45),
    "circle 60": (60, 60, 60, 60),
    "ellipse 60 20": (60, 60, 20, 20),
    "ellipse 30 50": (30, 30, 50, 50),
    "asymmetric 60/20 45/30": (60, 20, 45, 30),
    "asymmetric 25/55 10/40": (25, 55, 10, 40),
}
# joint type, limit_min, limit_max in degrees, axis that is tried
SINGLE = {
    "twist -20 50": ("CONE", (0, -20, 0), (0, 50, 0), 1),
    "twist -150 120": ("CONE", (0, -150, 0), (0, 120, 0), 1),
    "twist 10 40": ("CONE", (0, 10, 0), (0, 40, 0), 1),
    "twist -20 50, swung": ("CONE", (-30, -20, -30), (30, 50, 30), 1),
    "cone X -20 50": ("CONE", (-20, -10, -30), (50, 10, 10), 0),
    "cone Z -30 10": ("CONE", (-20, -10, -30), (50, 10, 10), 2),
    "cone X -40 120": ("CONE", (-40, -10, -30), (120, 10, 30), 0),
    "hinge X -10 130": ("HINGE", (-10, 0, 0), (130, 0, 0), 0),
    "hinge Y -30 60": ("HINGE", (0, -30, 0), (0, 60, 0), 1),
    "hinge Z -100 5": ("HINGE", (0, 0, -100), (0, 0, 5), 2),
    "hinge X 10 40": ("HINGE", (10, 0, 0), (40, 0, 0), 0),
    "fixed": ("FIXED", (0, 0, 0), (0, 0, 0), 0),
}


def empty_scene() -> bpy.types.Scene:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    world.collection = bpy.data.collections.new("bodies")
    world.constraints = bpy.data.collections.new("constraints")
    scene.collection.children.link(world.collection)
    scene.collection.children.link(world.constraints)
    scene.frame_start = world.point_cache.frame_start = 1
    scene.frame_end = world.point_cache.frame_end = FRAMES
    scene.gravity = (0.0, 0.0, -9.81)
    return scene


def add_body(name: str, matrix: Matrix, *, kinematic: bool) -> bpy.types.Object:
    mesh = bpy.data.meshes.new(name)
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    mesh.from_pydata(corners, [], faces)
    body = bpy.data.objects.new(name, mesh)
    body.matrix_world = matrix
    bpy.context.scene.rigidbody_world.collection.objects.link(body)
    settings = body.rigid_body
    settings.kinematic = kinematic
    settings.use_deactivation = False
    settings.linear_damping, settings.angular_damping = 0.0, 0.9
    settings.collision_collections = [False] * 20 if kinematic else [False] * 19 + [True]
    return body


def add_constraint(name: str, spec: joints.ConstraintSpec, joint: Matrix, child, parent) -> None:
    empty = bpy.data.objects.new(name, None)
    empty.matrix_world = joint @ Quaternion(spec.rotation).to_matrix().to_4x4()
    bpy.context.scene.rigidbody_world.constraints.objects.link(empty)
    settings = empty.rigid_body_constraint
    settings.type = spec.type
    settings.object1, settings.object2 = (child, parent) if spec.object1 == "child" else (parent, child)
    settings.disable_collisions = True
    for axis, limits in zip("xyz", spec.angular_limits, strict=True):
        if spec.type == "GENERIC":
            setattr(settings, f"use_limit_lin_{axis}", spec.lock_linear)
            setattr(settings, f"limit_lin_{axis}_lower", 0.0)
            setattr(settings, f"limit_lin_{axis}_upper", 0.0)
        if spec.type == "GENERIC" or (spec.type == "HINGE" and axis == "z"):
            setattr(settings, f"use_limit_ang_{axis}", limits is not None)
            if limits is not None:
                setattr(settings, f"limit_ang_{axis}_lower", limits[0])
                setattr(settings, f"limit_ang_{axis}_upper", limits[1])


def frame_with_gravity(pull_js: Vector, index: int) -> Matrix:
    """A joint frame, at a place of its own, in which gravity pulls along `pull_js` (joint space)."""
    spin = Quaternion((0.0, 0.0, 1.0), 1.7 * index + 0.4)
    rotation = spin @ pull_js.rotation_difference(Vector((0.0, 0.0, -1.0)))
    return Matrix.Translation((3.0 * index, 0.0, 1.0)) @ rotation.to_matrix().to_4x4()


def add_pair(name: str, plan, joint: Matrix, centre_js: Vector):
    parent = add_body(f"{name} parent", joint @ Matrix.Translation((0.0, -0.4, 0.0)), kinematic=True)
    # The bodies are turned against the joint: only the Empties' transforms may matter.
    turn = Euler((0.3 * len(name), 0.7, -0.2)).to_matrix().to_4x4()
    child = add_body(f"{name} child", joint @ Matrix.Translation(centre_js) @ turn, kinematic=False)
    for i, spec in enumerate(plan):
        add_constraint(f"{name} joint {i}", spec, joint, child, parent)
    return child, parent, joint, joint @ Matrix.Translation(centre_js) @ turn


def measured(pair) -> tuple[np.ndarray, float]:
    """(swing X, twist, swing Z) [rad] and how far the joint came apart [m]."""
    child, _, joint, rest = pair
    moved = child.matrix_world @ rest.inverted() @ joint
    relative = (joint.inverted() @ moved).to_quaternion()
    gap = (moved.translation - joint.translation).length
    return np.array([float(v) for v in joints.swing_twist_angles(np.array(relative))]), gap


def run_to_rest(scene: bpy.types.Scene) -> None:
    for frame in range(1, FRAMES + 1):
        scene.frame_set(frame)


def swing_pull(direction: float, beyond: float) -> Vector:
    """Where the bone points after a swing by `beyond` about (cos direction, 0, sin direction)."""
    sine = math.sin(beyond)
    return Vector((-math.sin(direction) * sine, math.cos(beyond), math.cos(direction) * sine))


def cone_case(name: str, degrees) -> bool:
    half = np.radians(degrees)
    limit_min, limit_max = (-half[1], -0.5, -half[3]), (half[0], 0.5, half[2])
    plan = joints.plan_constraints("CONE", limit_min, limit_max)
    scene = empty_scene()
    directions = np.arange(DIRECTIONS) * (2.0 * math.pi / DIRECTIONS)
    pairs, sliding = [], []
    for i, direction in enumerate(directions):
        pull = swing_pull(direction, math.radians(100.0))
        # A guide keeps the bone in the plane that is tried; without it the bone slides to the nearest corner.
        rotation = Quaternion((0.0, 1.0, 0.0), -direction) @ Quaternion((1.0, 0.0, 0.0), -math.pi / 2.0)
        guide = joints.ConstraintSpec("GENERIC", tuple(rotation), angular_limits=(None, (0.0, 0.0), None))
        pairs.append(add_pair(f"g{i}", [*plan, guide], frame_with_gravity(pull, i), Vector((0.0, 0.4, 0.0))))
        joint = frame_with_gravity(pull, i + DIRECTIONS)
        sliding.append(add_pair(f"s{i}", plan, joint, Vector((0.0, 0.4, 0.0))))
    run_to_rest(scene)
    good = True
    for title, trials in (("guided", pairs), ("sliding", sliding)):
        angles, errors, worst_gap, worst_aside = [], [], 0.0, 0.0
        for direction, pair in zip(directions, trials, strict=True):
            (x, _, z), gap = measured(pair)
            found = math.atan2(z, x)
            asked = float(joints.swing_limit(limit_min, limit_max, found))
            angles.append(math.degrees(math.hypot(x, z)))
            errors.append(math.hypot(x, z) / asked - 1.0)
            worst_gap = max(worst_gap, gap)
            worst_aside = max(worst_aside, abs(math.remainder(found - direction, 2.0 * math.pi)))
        ok = max(map(abs, errors)) <= SWING_TOLERANCE
        if title == "guided":
            ok &= worst_aside < math.radians(2.0)
        good &= ok
        print(f"{name}, {title}, {len(plan)} constraints:", *(f"{a:.1f}" for a in angles))
        print(
            f"    error {min(errors):+.1%} to {max(errors):+.1%}, gap {worst_gap * 1000:.2f} mm,"
            f" aside {math.degrees(worst_aside):.1f} deg: {'ok' if ok else 'OUT OF TOLERANCE'}"
        )
    return good


def single_case(name: str, joint_type: str, degrees_min, degrees_max, axis: int) -> bool:
    limit_min, limit_max = np.radians(degrees_min), np.radians(degrees_max)
    plan = joints.plan_constraints(joint_type, limit_min, limit_max)
    scene = empty_scene()
    pairs = []
    for i, sign in enumerate((-1.0, 1.0)):
        limit = (limit_min, limit_max)[i][axis]
        if axis == 1:
            # A lever to the side; its weight pulls where it would point beyond the limit.
            lever = Vector((0.4, 0.0, 0.0))
            pull = Quaternion((0.0, 1.0, 0.0), limit + sign * 0.4) @ lever.normalized()
        else:
            lever = Vector((0.0, 0.4, 0.0))
            pull = swing_pull(0.0 if axis == 0 else math.pi / 2.0, limit + sign * 0.7)
        pairs.append(add_pair(f"p{i}", plan, frame_with_gravity(pull, i), lever))
    run_to_rest(scene)
    good = True
    for limit, pair in zip((limit_min[axis], limit_max[axis]), pairs, strict=True):
        angles, gap = measured(pair)
        other = np.delete(angles, axis)
        if axis == 1:
            # The lever's weight also swings the bone, which shifts the twist's range as documented.
            limit = limit + float(joints.twist_offset(angles[0], angles[2]))
        # A cone's swing limit is only promised to a share of itself.
        is_cone = joint_type == "CONE"
        share = SWING_TOLERANCE if is_cone and axis != 1 else 0.0
        ok = abs(angles[axis] - limit) <= max(ANGLE_TOLERANCE, share * abs(limit))
        ok &= is_cone or np.abs(other).max() < ANGLE_TOLERANCE
        good &= bool(ok)
        print(
            f"{name}: asked {math.degrees(limit):.1f}, found swing X, twist, swing Z",
            *(f"{math.degrees(a):.2f}" for a in angles),
            f"gap {gap * 1000:.2f} mm: {'ok' if ok else 'OUT OF TOLERANCE'}",
        )
    return good


def main(names: list[str]) -> int:
    bad = []
    for name, degrees in CONES.items():
        if (not names or name in names) and not cone_case(name, degrees):
            bad.append(name)
    for name, case in SINGLE.items():
        if (not names or name in names) and not single_case(name, *case):
            bad.append(name)
    verdict = f"out of tolerance: {'; '.join(bad)}" if bad else "all within tolerance"
    print(f"{bpy.app.version_string}: {verdict}")
    return 1 if bad else 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)
