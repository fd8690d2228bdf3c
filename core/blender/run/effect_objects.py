"""The objects that hits and attachments act through, made at a shot's first frame, where the world is made anew.

None is taken away before the ragdoll is: one that is not needed any more rests. The originals are never written.
"""

import numpy as np
from mathutils import Matrix

from ..physics import blender_42, built
from ..physics.helpers import add_spring, helper, limit, make_kinematic

AXES = "xyz"
SAME_POINT = 1e-6  # of the height


def put(obj, matrix, graph) -> None:
    """Put the evaluated copy of a helper somewhere: a rigid matrix [4, 4]."""
    copy = obj.evaluated_get(graph)
    copy.matrix_basis = Matrix(np.asarray(matrix).tolist())
    copy.matrix_world = copy.matrix_basis


# ---- hitters --------------------------------------------------------------------------------------------------------

# Small kinematic bodies that give a bone's body an impulse through a spring, see `ragdoll.hits`. There are as many as
# the hits need at the first frame; each serves for the point at which it stands in bind pose during that run.


def needed_hitters(wanted, height: float) -> list[tuple[str, np.ndarray, int]]:
    """Bone's name, point [3] in its body's frame and what kind it is, not 0 for blows: each combination once."""
    found: list = []
    for bone, point, kind in wanted:
        if not any((bone, kind) == (other, its) and is_same_point(point, there, height) for other, there, its in found):
            found.append((bone, point, kind))
    return found


def is_same_point(first, second, height: float) -> bool:
    """Whether two points [3] of a body are one."""
    return bool(np.abs(np.asarray(first) - second).max() <= SAME_POINT * height)


def ensure_hitters(obj, scene, wanted) -> list:
    """A hitter for each (bone, point [3] in the body's frame, kind); those that exist are used again.

    Returns the objects in the order of `wanted`.
    """
    settings = obj.active_ragdoll
    parts = {part.bone: part for part in settings.parts}
    free: dict = {}
    for hitter in built.helpers(settings.collection, built.HITTER):
        if _serves(hitter, scene, parts.get(hitter[built.BONE])):
            blow = hitter.rigid_body_constraint.use_breaking
            free.setdefault((hitter[built.BONE], blow), []).append(hitter)
    made = [((bone, kind > 0), (_make_hitter, parts[bone], point, kind > 0)) for bone, point, kind in wanted]
    return _used_again(obj, scene, free, made)


def _used_again(obj, scene, free: dict, wanted: list) -> list:
    """Of `free` helpers, lists by their keys, one for each (key, how else to make it) of `wanted`."""
    found, cleared = [], False
    for key, (make, *given) in wanted:
        waiting = free.get(key)
        if not waiting and not cleared:
            blender_42.clear_old(scene)
            cleared = True
        found.append(waiting.pop(0) if waiting else make(obj, scene, *given))
    return found


def _serves(hitter, scene, part) -> bool:
    """Whether a hitter is still what it was made as."""
    if part is None or hitter.name not in scene.objects or hitter.rigid_body is None:
        return False
    constraint = hitter.rigid_body_constraint
    return constraint is not None and constraint.object1 == part.body and constraint.object2 == hitter


def _make_hitter(obj, scene, part, point, blow: bool):
    settings = obj.active_ragdoll
    name = f"{obj.name} {part.bone} Hitter"
    hitter = helper(name, part.target.data, settings.collection, built.HITTER, part.bone)
    hitter.matrix_basis = Matrix(moved_to(part.bind, point).tolist())
    make_kinematic(scene, hitter)
    constraint = add_spring(scene, hitter, part.body, hitter)
    constraint.enabled = False
    constraint.disable_collisions = False  # none of its own anyway, and the pair must not be looked for
    constraint.use_breaking = blow
    for axis in AXES:
        setattr(constraint, f"use_spring_{axis}", True)
        setattr(constraint, f"spring_damping_{axis}", 0.0)
    return hitter


def moved_to(matrix, point) -> np.ndarray:
    """A body's matrix [4, 4] moved to a point [3] in its own frame."""
    result = np.array(matrix, dtype=float)
    result[:3, 3] += result[:3, :3] @ point
    return result


def break_under(hitter, impulse: float, graph) -> None:
    """Let the evaluated spring break when it gives that impulse [N s] along one axis."""
    hitter.evaluated_get(graph).rigid_body_constraint.breaking_threshold = impulse


def drive_spring(hitter, stiffness: float, graph) -> None:
    """Let the evaluated spring act with a stiffness [N/m]; 0 lets it rest."""
    constraint = hitter.evaluated_get(graph).rigid_body_constraint
    for axis in AXES if stiffness > 0.0 else "":
        setattr(constraint, f"spring_stiffness_{axis}", stiffness)
    if constraint.enabled != (stiffness > 0.0):
        constraint.enabled = stiffness > 0.0


# ---- attachments ----------------------------------------------------------------------------------------------------

# Constraints that come and go in mid-shot, and holders for them to act from. The original constraint names both bodies,
# so that Blender notices when one is deleted. During the warm-up a run removes them from the evaluated copy, and at the
# next step Blender frees Bullet's constraint. When the copy gets its bodies again, Blender makes a new one, whose zero
# is where the bodies stand at that moment. Blender looks at the constraint again only when its type is set. (Measured
# on 4.2, 4.5 and 5.0.)


def ensure_attachments(obj, scene, wanted) -> list:
    """Helpers for each pair of a body and what holds it (None for a holder). Existing ones are used again.

    Returns triples of two constraint objects and a holder or None, in the order of `wanted`.
    """
    free: dict = {}
    for joints, holder in attachments_of(obj.active_ragdoll):
        if _is_whole(joints, scene):
            ends = joints[0].rigid_body_constraint
            other = None if holder is not None else ends.object2
            free.setdefault((ends.object1, other), []).append((*joints, holder))
    return _used_again(obj, scene, free, [((body, other), (_make_attachment, body, other)) for body, other in wanted])


def attachments_of(settings) -> list[tuple]:
    """Constraint objects and holder (or None) of each of a character's attachments, including unused ones."""
    found: dict = {}
    for kind in (built.ATTACHMENT, built.HOLDER):
        for helper_object in built.helpers(settings.collection, kind):
            found.setdefault(helper_object[built.NUMBER], {}).setdefault(kind, []).append(helper_object)
    return [
        (tuple(its[built.ATTACHMENT]), next(iter(its.get(built.HOLDER, ())), None))
        for its in found.values()
        if built.ATTACHMENT in its
    ]


def _is_whole(joints, scene) -> bool:
    """Whether both constraint objects are still complete."""
    if len(joints) != 2:
        return False
    for joint in joints:
        if joint.name not in scene.objects or joint.rigid_body_constraint is None:
            return False
        ends = joint.rigid_body_constraint
        if ends.object1 is None or ends.object2 is None or ends.object2.rigid_body is None:
            return False
    return True


def _make_attachment(obj, scene, body, other) -> tuple:
    settings = obj.active_ragdoll
    number = 1 + max((joints[0][built.NUMBER] for joints, _holder in attachments_of(settings)), default=0)
    holder = None
    if other is None:
        mesh = settings.parts[0].target.data
        holder = other = helper(f"{obj.name} Holder", mesh, settings.collection, built.HOLDER, number=number)
        holder.matrix_basis = body.matrix_basis
        make_kinematic(scene, holder)
    joints = []
    for _number in range(2):
        joint = helper(f"{obj.name} Attachment", None, settings.collection, built.ATTACHMENT, number=number)
        joint.empty_display_size = 0.01 * settings.height
        joint.matrix_basis = body.matrix_basis
        add_spring(scene, joint, body, other).enabled = False
        joints.append(joint)
    return *joints, holder


def disable(joint, graph) -> None:
    """Disable a constraint. Bullet keeps it, as it must in the step that makes the world."""
    joint.evaluated_get(graph).rigid_body_constraint.enabled = False


def disconnect(joint, graph) -> None:
    """Have Bullet's constraint removed at the next step."""
    constraint = joint.evaluated_get(graph).rigid_body_constraint
    constraint.enabled = False
    constraint.object1 = None
    constraint.type = "GENERIC_SPRING"


def join_by_spring(joint, graph, first, second, frame, gains, turning: bool) -> None:
    """Have Bullet's constraint made at the next step, as a servo that keeps the bodies as they are.

    Args:
        frame: its place and axes [4, 4]. gains: see `set_gains`. turning: whether it holds the orientation too.
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
    """Set the constraint's gains: linear stiffness and damping, angular stiffness and damping."""
    constraint = joint.evaluated_get(graph).rigid_body_constraint
    for kind, (stiffness, damping) in (("", gains[:2]), ("ang_", gains[2:])):
        for axis in AXES:
            setattr(constraint, f"spring_stiffness_{kind}{axis}", stiffness)
            setattr(constraint, f"spring_damping_{kind}{axis}", damping)


def join_by_limits(joint, graph, first, second, frame, linear, angular=None) -> None:
    """Have Bullet's constraint made at the next step, as limits relative to the first body.

    Args:
        linear: for each axis the lowest and the highest offset [m], or None where it is free.
        angular: the three angles at which it is held [rad]; None leaves it free to turn.
    """
    constraint = joint.evaluated_get(graph).rigid_body_constraint
    for i, axis in enumerate(AXES):
        limit(constraint, f"lin_{axis}", linear[i])
        limit(constraint, f"ang_{axis}", None if angular is None else (float(angular[i]),) * 2)
    _join(joint, graph, first, second, frame, "GENERIC")


def _join(joint, graph, first, second, frame, kind: str) -> None:
    put(joint, frame, graph)
    constraint = joint.evaluated_get(graph).rigid_body_constraint
    constraint.enabled = True
    constraint.object1, constraint.object2 = first.evaluated_get(graph), second.evaluated_get(graph)
    constraint.type = kind  # last, because setting the type makes Blender look at the constraint again
