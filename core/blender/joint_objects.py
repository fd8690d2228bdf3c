"""Joints: their limits from the user, the rig and the animation, and the constraint objects that make them."""

import numpy as np
from mathutils import Matrix, Quaternion

from .. import quaternion
from ..errors import RagdollError
from ..ragdoll import fitting, joints
from .armature import rig_limits, rigid
from .helpers import helper

LIMIT_MARGIN = np.radians(5.0)  # what a default range keeps beyond what the animation needs
PLAY = 1e-3  # of the height: an animation that takes a joint farther apart gets the play for it


def _relative_rotations(poses, plan, bind, to_joint):
    """Rotations [f, m, 4] of every body's bone against its parent's, from bind pose, in the joints' frames [m, 4]."""
    rest = quaternion.from_matrix(bind[plan.bones, :3, :3])
    now = quaternion.from_matrix(rigid(poses[:, plan.bones])[..., :3, :3])
    turned = quaternion.multiply(now, quaternion.conjugate(rest))
    relative = quaternion.multiply(quaternion.conjugate(turned[:, plan.parents]), turned)
    frame = quaternion.multiply(rest, to_joint)
    return quaternion.multiply(quaternion.conjugate(frame), quaternion.multiply(relative, frame))


def set_limits(obj, pose, plan, poses, notes) -> dict:
    """Limits of every joint: the user's, else the rig's, else a generic range wide enough for the animation.

    Returns the joint rotations [f, 4] of the sampled animation, by body, of those with a generic range.
    """
    bind = rigid(pose.local)
    widened, animated = [], {}
    to_joint = np.array([obj.pose.bones[bone].active_ragdoll.joint_rotation for bone in plan.bones], dtype=float)
    relatives = _relative_rotations(poses, plan, bind, to_joint)
    for i, bone in enumerate(plan.bones):
        settings = obj.pose.bones[bone].active_ragdoll
        if settings.limits_from == "USER":
            continue
        stated = rig_limits(obj.pose.bones[bone])
        if stated is not None:
            settings.joint, settings.limit_min, settings.limit_max = stated
            settings.limits_from = "RIG"
            continue
        for name in ("joint", "limit_min", "limit_max"):
            settings.property_unset(name)
        settings.limits_from = "DEFAULT"
        if plan.parents[i] < 0:
            continue
        relative = animated[i] = relatives[:, i]
        low, high = np.array(settings.limit_min, dtype=float), np.array(settings.limit_max, dtype=float)
        if np.max(joints.limit_excess(settings.joint, low, high, relative)) > 0.0:
            low, high = joints.widen_limits(settings.joint, low, high, relative, LIMIT_MARGIN)
            settings.limit_min, settings.limit_max = np.maximum(low, -np.pi), np.minimum(high, np.pi)
            widened.append(pose.names[bone])
    if widened:
        listed = ", ".join(widened[:3]) + (f" and {len(widened) - 3} more" if len(widened) > 3 else "")
        notes.append(f"widened the default limits of {listed} to the animation")
    return animated


def separations(obj, pose, plan, poses, to_world) -> dict:
    """How far the animation itself takes joints apart, where it does: by body, in the bone's own frame [f, 3], [m].

    The vector leads from the child's joint to the place where the parent has it: what Bullet measures with
    object1 = child. Some clips key the locations of bones; their joints get the play for it, instead of a fight.

    Args:
        poses: world matrices of all bones over the sampled frames [f, n, 4, 4].
    """
    bind = to_world @ pose.local
    found = {}
    for i, bone in enumerate(plan.bones):
        if plan.parents[i] < 0:
            continue
        parent = plan.bones[plan.parents[i]]
        place = (np.linalg.inv(bind[parent]) @ bind[bone])[:3, 3]
        there = np.einsum("fij,j->fi", poses[:, parent, :3, :3], place) + poses[:, parent, :3, 3]
        axes = rigid(poses[:, bone])[:, :3, :3]
        apart = np.einsum("fij,fi->fj", axes, there - poses[:, bone, :3, 3])
        if np.abs(apart).max() > PLAY * obj.active_ragdoll.height:
            found[i] = apart
    return found


def make(obj, scene, collection, pose, plan, animated, apart) -> int:
    made = 0
    bodies = [part.body for part in obj.active_ragdoll.parts]
    size = 0.01 * obj.active_ragdoll.height
    for i, bone in enumerate(plan.bones):
        parent = int(plan.parents[i])
        if parent < 0:
            continue
        name = pose.names[bone]
        settings = obj.pose.bones[bone].active_ragdoll
        frame = pose.matrices[bone] @ turn_matrix(_rotation(settings.joint_rotation))
        try:
            specs = joints.plan_constraints(settings.joint, tuple(settings.limit_min), tuple(settings.limit_max))
        except ValueError as error:
            raise RagdollError(f"Bone '{name}': {error}") from error
        if i in animated:
            specs = fitting.opened(specs, animated[i], LIMIT_MARGIN)
        for spec in specs:
            empty = helper(f"{obj.name} {name} Joint", None, collection)
            empty.empty_display_size = size
            empty.matrix_basis = Matrix((frame @ turn_matrix(_rotation(spec.rotation))).tolist())
            pair = (bodies[i], bodies[parent])
            constraint = _constraint(scene, empty, spec, pair if spec.object1 == "child" else pair[::-1])
            if i in apart and spec.lock_linear:
                turn = _rotation(settings.joint_rotation) @ _rotation(spec.rotation)
                _open_linear(constraint, apart[i] @ turn)
            made += 1
    for i, k in plan.no_collide:
        empty = helper(f"{obj.name} Overlap", None, collection)
        empty.empty_display_size = size
        empty.matrix_basis = Matrix.Translation(plan.centers[i])
        free = joints.ConstraintSpec(type="GENERIC", rotation=(1.0, 0.0, 0.0, 0.0))
        _constraint(scene, empty, free, (bodies[i], bodies[k]))
        made += 1
    return made


def _rotation(wxyz) -> np.ndarray:
    return np.array(Quaternion(wxyz).normalized().to_matrix())


def _constraint(scene, empty, spec, pair):
    scene.rigidbody_world.constraints.objects.link(empty)
    constraint = empty.rigid_body_constraint
    constraint.type = spec.type
    constraint.object1, constraint.object2 = pair
    constraint.disable_collisions = True
    for axis, limits in zip("xyz", spec.angular_limits, strict=True):
        if spec.type == "GENERIC":
            setattr(constraint, f"use_limit_lin_{axis}", spec.lock_linear)
            setattr(constraint, f"limit_lin_{axis}_lower", 0.0)
            setattr(constraint, f"limit_lin_{axis}_upper", 0.0)
        if spec.type == "GENERIC" or (spec.type == "HINGE" and axis == "z"):
            setattr(constraint, f"use_limit_ang_{axis}", limits is not None)
            if limits is not None:
                setattr(constraint, f"limit_ang_{axis}_lower", limits[0])
                setattr(constraint, f"limit_ang_{axis}_upper", limits[1])
    return constraint


def _open_linear(constraint, apart) -> None:
    """Let a joint slide as far as its animation does: apart [f, 3] in the constraint's frame."""
    for axis, name in enumerate("xyz"):
        setattr(constraint, f"limit_lin_{name}_lower", min(0.0, float(apart[:, axis].min())))
        setattr(constraint, f"limit_lin_{name}_upper", max(0.0, float(apart[:, axis].max())))


def turn_matrix(rotation) -> np.ndarray:
    """A rotation [3, 3] as a matrix [4, 4]."""
    result = np.eye(4)
    result[:3, :3] = rotation
    return result
