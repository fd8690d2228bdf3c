"""Root motion: the way that a character's body goes over the ground is keyed on its object, or on the bone above it."""

import numpy as np

from ...errors import RagdollError
from ..rig import rig_graph

CARRIERS = STAY, OBJECT, ROOT = "STAY", "OBJECT", "ROOT"  # its own bones, the object, the topmost bone
LEADING = {"COPY_TRANSFORMS", "COPY_LOCATION", "ARMATURE", "CHILD_OF"}  # constraints by which a bone goes with another


def root_of(obj, to: str, owners: dict | None = None) -> str | None:
    """The bone that carries a character's travel, None unless it is to be a bone; above the body's control if given.
    Raises RagdollError: the character has no bodies, or nothing can carry its travel."""
    if to == STAY:
        return None
    body = _body(obj)
    if to == OBJECT:
        if moving := [constraint.name for constraint in obj.constraints if not constraint.mute]:
            raise RagdollError(f"'{obj.name}' is moved by its constraint '{moving[0]}': let a bone carry its travel")
        return None
    body = (owners or {}).get(body, body)
    if (top := _top(obj, body)) == body:
        raise RagdollError(f"Above '{body}' of '{obj.name}' is no bone to carry its travel: let the object carry it")
    return top


def _top(obj, name: str, below: tuple = ()) -> str:
    """The topmost bone above one, and above what leads that, as Rigify's torso; `below` are such that were come by."""
    top = [obj.pose.bones[name], *obj.pose.bones[name].parent_recursive][-1]
    leading = (c for c in top.constraints if c.type in LEADING and not c.mute and top.name not in below)
    tops = {_top(obj, aim, (*below, top.name)) for c in leading for aim in sorted(rig_graph.targets(c))}
    return max(tops, key=lambda each: len(obj.data.bones[each].children_recursive), default=top.name)


def carry(recorder, to: str, root: str | None) -> tuple[list, dict]:
    """Move what was recorded onto an object or a root bone: every bone stays where it is in the scene. `root` is what
    `root_of` gave. Returns the bones that need keys for that, and properties of the object with their values [f, 3]."""
    obj = recorder.obj
    if to == STAY:
        return [], {}
    bones, worlds, poses = obj.data.bones, np.array(recorder.worlds), np.array(recorder.poses)
    way = _way((worlds @ poses[:, bones.find(_body(obj))])[:, :3, 3])
    if root is not None:
        row = bones.find(root)
        way -= _way((worlds @ poses[:, row])[:, :3, 3])
        poses[:, row, :3, 3] += _along(worlds, way)
        recorder.poses = list(poses)
        # What hangs on no bone may follow the root by a constraint, as the torso of Rigify.
        return [bone.name for bone in bones if bone.parent in (None, bones[root])], {}
    way -= _way(worlds[:, :3, 3])
    poses[:, :, :3, 3] -= _along(worlds, way)[:, None]
    above = worlds @ np.linalg.inv(recorder.bases)
    worlds[:, :3, 3] += way
    recorder.poses, recorder.worlds = list(poses), list(worlds)
    under = 0.0 if recorder.adds else np.array(recorder.places)
    return [bone.name for bone in bones if bone.parent is None], {"location": under + _along(above, way)}


def _body(obj) -> str:
    """The bone of the heaviest body that hangs on no other."""
    firsts = [part for part in obj.active_ragdoll.parts if not part.parent]
    if not firsts:
        raise RagdollError(f"'{obj.name}' has no bodies whose travel could be carried")
    return max(firsts, key=lambda part: part.body.rigid_body.mass).bone


def _way(places: np.ndarray) -> np.ndarray:
    """The way over the ground since the first of some places [f, 3]."""
    return (places - places[0]) * (1.0, 1.0, 0.0)


def _along(matrices: np.ndarray, ways: np.ndarray) -> np.ndarray:
    """Ways in the scene [f, 3] along the axes of matrices [f, 4, 4]."""
    return np.linalg.solve(matrices[:, :3, :3], ways[..., None])[..., 0]
