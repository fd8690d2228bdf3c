"""The hitters: small kinematic bodies that give a bone's body an impulse through a spring; see `ragdoll.hits`.

They are made at a shot's first frame, where the world is made anew, as many as the hits then need, and serve for the
point they stand at in bind pose during that run. None is taken away before the ragdoll is: one that is not needed any
more rests.
"""

import numpy as np
from mathutils import Matrix

from ..physics import blender_42, built
from ..physics.helpers import helper, make_kinematic

SAME_POINT = 1e-6  # of the height


def needed(wanted, height: float) -> list[tuple[str, np.ndarray, int]]:
    """Bone's name, point [3] in its body's frame and what kind it is, not 0 for blows: each combination once."""
    found: list = []
    for bone, point, kind in wanted:
        if not any((bone, kind) == (other, its) and is_same(point, there, height) for other, there, its in found):
            found.append((bone, point, kind))
    return found


def is_same(first, second, height: float) -> bool:
    """Whether two points [3] of a body are one."""
    return bool(np.abs(np.asarray(first) - second).max() <= SAME_POINT * height)


def ensure(obj, scene, wanted) -> list:
    """A hitter for each (bone, point [3] in the body's frame, kind); those that exist are used again.

    Returns:
        The objects in the order of `wanted`.
    """
    settings = obj.active_ragdoll
    parts = {part.bone: part for part in settings.parts}
    free: dict = {}
    for hitter in built.helpers(settings.collection, built.HITTER):
        if _serves(hitter, scene, parts.get(hitter[built.BONE])):
            blow = hitter.rigid_body_constraint.use_breaking
            free.setdefault((hitter[built.BONE], blow), []).append(hitter)
    found = []
    cleared = False
    for bone, point, kind in wanted:
        waiting = free.get((bone, kind > 0))
        if not waiting and not cleared:
            blender_42.clear_old(scene)
            cleared = True
        found.append(waiting.pop(0) if waiting else _make(obj, scene, parts[bone], point, kind > 0))
    return found


def _serves(hitter, scene, part) -> bool:
    """Whether a hitter is still what it was made as."""
    if part is None or hitter.name not in scene.objects or hitter.rigid_body is None:
        return False
    constraint = hitter.rigid_body_constraint
    return constraint is not None and constraint.object1 == part.body and constraint.object2 == hitter


def _make(obj, scene, part, point, blow: bool):
    settings = obj.active_ragdoll
    name = f"{obj.name} {part.bone} Hitter"
    hitter = helper(name, part.target.data, settings.collection, built.HITTER, part.bone)
    hitter.matrix_basis = Matrix(placed(part.bind, point).tolist())
    make_kinematic(scene, hitter)
    scene.rigidbody_world.constraints.objects.link(hitter)
    constraint = hitter.rigid_body_constraint
    constraint.type = "GENERIC_SPRING"
    constraint.spring_type = "SPRING1"
    constraint.object1, constraint.object2 = part.body, hitter
    constraint.disable_collisions = False  # none of its own anyway, and the pair must not be looked for
    constraint.enabled = False
    constraint.use_breaking = blow
    for axis in "xyz":
        setattr(constraint, f"use_spring_{axis}", True)
        setattr(constraint, f"spring_stiffness_{axis}", 0.0)
        setattr(constraint, f"spring_damping_{axis}", 0.0)
    return hitter


def placed(matrix, point) -> np.ndarray:
    """A body's matrix [4, 4] moved to a point [3] in its own frame."""
    result = np.array(matrix, dtype=float)
    result[:3, 3] += result[:3, :3] @ point
    return result


def put(hitter, matrix, graph) -> None:
    """Put the evaluated hitter somewhere [4, 4]."""
    copy = hitter.evaluated_get(graph)
    copy.matrix_basis = Matrix(np.asarray(matrix).tolist())
    copy.matrix_world = copy.matrix_basis


def break_under(hitter, impulse: float, graph) -> None:
    """Let the evaluated spring break when it gives that impulse [N s] along one axis."""
    hitter.evaluated_get(graph).rigid_body_constraint.breaking_threshold = impulse


def act(hitter, stiffness: float, graph) -> None:
    """Let the evaluated spring act with a stiffness [N/m]; 0 lets it rest."""
    constraint = hitter.evaluated_get(graph).rigid_body_constraint
    for axis in "xyz" if stiffness > 0.0 else "":
        setattr(constraint, f"spring_stiffness_{axis}", stiffness)
    if constraint.enabled != (stiffness > 0.0):
        constraint.enabled = stiffness > 0.0
