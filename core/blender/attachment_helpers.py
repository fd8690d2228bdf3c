"""The objects of attachments: constraints that are made and undone in mid-shot, and holders for them to act from.

A constraint object states both its bodies, so that Blender knows of them when one is deleted. A run takes them away
from its evaluated copy during the warm-up. Blender frees Bullet's constraint then, at the next step, and makes a new
one when the copy is given its bodies again: its zero is where they stand at that moment. Only a setter of the kind of
the constraint has Blender look at it anew. (Measured on 4.2, 4.5 and 5.0; the originals are never written.)
"""

import numpy as np
from mathutils import Matrix

from . import world
from .helpers import helper

AXES = "xyz"


def ensure(obj, scene, wanted) -> list:
    """Helpers for each pair of a body and what holds it (None for a holder); those that exist are used again.

    Returns:
        Triples of two constraint objects and a holder or None, in the order of `wanted`.
    """
    settings = obj.active_ragdoll
    for i in reversed(range(len(settings.attachment_parts))):
        if not _is_whole(settings.attachment_parts[i], scene):
            settings.attachment_parts.remove(i)
    free: dict = {}
    for part in settings.attachment_parts:
        ends = part.joint.rigid_body_constraint
        other = None if part.holder is not None else ends.object2
        free.setdefault((ends.object1, other), []).append(_triple(part))
    found, cleared = [], False
    for body, other in wanted:
        waiting = free.get((body, other))
        if not waiting and not cleared:
            world.clear_old(scene)
            cleared = True
        found.append(waiting.pop(0) if waiting else _make(obj, scene, body, other))
    return found


def _triple(part) -> tuple:
    return part.joint, part.other_joint, part.holder


def _is_whole(part, scene) -> bool:
    """Whether its helpers are still what they were made as."""
    for joint in (part.joint, part.other_joint):
        if joint is None or joint.name not in scene.objects or joint.rigid_body_constraint is None:
            return False
        ends = joint.rigid_body_constraint
        if ends.object1 is None or ends.object2 is None or ends.object2.rigid_body is None:
            return False
    return True


def _make(obj, scene, body, other) -> tuple:
    settings = obj.active_ragdoll
    holder = None
    if other is None:
        holder = other = helper(f"{obj.name} Holder", settings.parts[0].target.data, settings.collection)
        holder.matrix_basis = body.matrix_basis
        holder.display_type = "BOUNDS"
        scene.rigidbody_world.collection.objects.link(holder)
        rigid_body = holder.rigid_body
        rigid_body.type = "PASSIVE"
        rigid_body.kinematic = True
        rigid_body.collision_shape = "BOX"
        rigid_body.collision_collections = [False] * 20
    joints = []
    for _number in range(2):
        joint = helper(f"{obj.name} Attachment", None, settings.collection)
        joint.empty_display_size = 0.01 * settings.height
        joint.matrix_basis = body.matrix_basis
        scene.rigidbody_world.constraints.objects.link(joint)
        constraint = joint.rigid_body_constraint
        constraint.type = "GENERIC_SPRING"
        constraint.spring_type = "SPRING1"
        constraint.object1, constraint.object2 = body, other
        constraint.disable_collisions = True
        constraint.enabled = False
        for axis in AXES:
            for kind in ("", "ang_"):
                setattr(constraint, f"spring_stiffness_{kind}{axis}", 0.0)
        joints.append(joint)
    part = settings.attachment_parts.add()
    part.joint, part.other_joint, part.holder = *joints, holder
    return *joints, holder


def put(obj, matrix, graph) -> None:
    """Put the evaluated copy of a helper somewhere: a rigid matrix [4, 4]."""
    copy = obj.evaluated_get(graph)
    copy.matrix_basis = Matrix(np.asarray(matrix).tolist())
    copy.matrix_world = copy.matrix_basis


def rest(joint, graph) -> None:
    """Let a constraint do nothing; Bullet keeps it, which is what a world that is made anew can bear."""
    joint.evaluated_get(graph).rigid_body_constraint.enabled = False


def part_bodies(joint, graph) -> None:
    """Have Bullet's constraint undone at the next step."""
    constraint = joint.evaluated_get(graph).rigid_body_constraint
    constraint.enabled = False
    constraint.object1 = None
    constraint.type = "GENERIC_SPRING"


def join_by_spring(joint, graph, first, second, frame, gains, turning: bool) -> None:
    """Have Bullet's constraint made at the next step: a servo that keeps the bodies as they stand.

    Args:
        frame: its place and axes [4, 4].
        gains: see `set_gains`.
        turning: it holds the orientation too.
    """
    constraint = joint.evaluated_get(graph).rigid_body_constraint
    for axis in AXES:
        setattr(constraint, f"use_limit_lin_{axis}", False)
        setattr(constraint, f"use_limit_ang_{axis}", False)
        setattr(constraint, f"use_spring_{axis}", True)
        setattr(constraint, f"use_spring_ang_{axis}", turning)
    set_gains(joint, graph, gains)
    _join(joint, graph, first, second, frame, "GENERIC_SPRING")


def set_gains(joint, graph, gains) -> None:
    """Stiffness and damping of the three ways and of the three turns, as Blender has them: four numbers."""
    constraint = joint.evaluated_get(graph).rigid_body_constraint
    for kind, (stiffness, damping) in (("", gains[:2]), ("ang_", gains[2:])):
        for axis in AXES:
            setattr(constraint, f"spring_stiffness_{kind}{axis}", stiffness)
            setattr(constraint, f"spring_damping_{kind}{axis}", damping)


def join_by_limits(joint, graph, first, second, frame, linear, angular=None) -> None:
    """Have Bullet's constraint made at the next step: limits against the first body.

    Args:
        linear: pairs of the lowest and the highest way along each axis [m], None where it is free.
        angular: the three angles [rad]; None leaves it free to turn.
    """
    constraint = joint.evaluated_get(graph).rigid_body_constraint
    for i, axis in enumerate(AXES):
        setattr(constraint, f"use_limit_lin_{axis}", linear[i] is not None)
        if linear[i] is not None:
            setattr(constraint, f"limit_lin_{axis}_lower", linear[i][0])
            setattr(constraint, f"limit_lin_{axis}_upper", linear[i][1])
        setattr(constraint, f"use_limit_ang_{axis}", angular is not None)
        if angular is not None:
            setattr(constraint, f"limit_ang_{axis}_lower", float(angular[i]))
            setattr(constraint, f"limit_ang_{axis}_upper", float(angular[i]))
    _join(joint, graph, first, second, frame, "GENERIC")


def _join(joint, graph, first, second, frame, kind: str) -> None:
    put(joint, frame, graph)
    constraint = joint.evaluated_get(graph).rigid_body_constraint
    constraint.enabled = True
    constraint.object1, constraint.object2 = first.evaluated_get(graph), second.evaluated_get(graph)
    constraint.type = kind  # last: it is what has Blender look at the constraint anew
