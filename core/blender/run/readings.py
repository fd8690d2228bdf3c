"""What the parameters of a state graph read from the ragdoll: its state, speed, hits and contacts.

They are read after each frame that the shot steps, for the next one, and kept by frame: a jump to a frame finds the
same values as playing. Those of a simulated shot are stored in the file.
"""

import json

import numpy as np

from ...ragdoll import speeds
from ...ragdoll.recovery.states import ACTIVE, STATES
from ..physics import world
from ..runtime import STATE

MARGIN = 0.01  # of the character's height: things closer than this touch


class Readings:
    """Reads one character's ragdoll.

    Args:
        contacts: names of the bones whose contacts are wanted; "" for a contact of any body.
    """

    def __init__(self, obj, contacts) -> None:
        self._obj, self._contacts = obj, contacts

    def at(self, scene, frame: int) -> dict[str, float]:
        """Values for a frame by kind of parameter, read after the frame before; empty if nothing was simulated."""
        kept = STATE.readings.setdefault(self._obj.name, {})
        first, _last = world.shot_range(scene)
        if frame <= first:
            kept.clear()
            return {}
        if not kept:
            kept.update(stored_readings(self._obj))
        run = STATE.runs.get(scene.name)
        if run is not None and run.frame == frame - 1:
            character = next((c for c in run.characters if c.name == self._obj.name), None)
            if character is not None:
                kept[frame] = self._measured(run, character, scene)
        return kept.get(frame, {})

    def _measured(self, run, character, scene) -> dict[str, float]:
        rows = character.rows
        seconds = scene.rigidbody_world.time_scale * scene.render.fps_base / scene.render.fps
        now = run.body[rows][:, :3, 3]
        wanted = run.wanted[rows][:, :3, 3]
        before = character.reading
        previous = before if before is not None and before["frame"] == run.frame - 1 else None
        state = speeds.measure(now, wanted, run.masses[rows], previous, seconds, np.array(scene.gravity))
        character.reading = {**state, "frame": run.frame}
        found = {
            "RAGDOLL_STATE": float(_phase(run, character)),
            "RAGDOLL_SPEED": float(state["speed"]),
            "RAGDOLL_HIT": float(state["hit"]),
        }
        for bone in self._contacts:
            found[f"RAGDOLL_CONTACT {bone}"] = float(_touches(run, character, bone, scene))
        return found


def _phase(run, character) -> int:
    """Index of the recovery's state in the list of states; 1 (active) without a recovery."""
    found = run.effect("recovery").by_name.get(character.name)
    return STATES.index(found.state.phase) if found is not None else STATES.index(ACTIVE)


def _touches(run, character, bone: str, scene) -> bool:
    """Whether the body of a bone ("": any body of the character) touches another object of the rigid body world."""
    own = {body.name for body in character.bodies.objects} | {body.name for body in character.targets.objects}
    margin = MARGIN * character.height
    others = [
        other.evaluated_get(run.graph)
        for other in scene.rigidbody_world.collection.objects
        if other.name not in own and other.type == "MESH"
        # What collides with nothing is a target.
        if other.rigid_body is None or any(other.rigid_body.collision_collections)
    ]
    for i, name in enumerate(character.bone_names):
        if bone and name != bone:
            continue
        body = character.bodies.objects[i]
        corners = _corners(body.bound_box, run.body[character.rows.start + i])
        if any(_near(corners, other, margin) for other in others):
            return True
    return False


def _near(corners: np.ndarray, other, margin: float) -> bool:
    """Whether a corner is within the margin of a mesh or inside it."""
    matrix = np.array(other.matrix_world, dtype=float)
    box = _corners(other.bound_box, matrix)
    if np.any(corners.min(axis=0) > box.max(axis=0) + margin) or np.any(corners.max(axis=0) < box.min(axis=0) - margin):
        return False
    inverse = np.linalg.inv(matrix)
    local = corners @ inverse[:3, :3].T + inverse[:3, 3]
    for corner, place in zip(corners, local, strict=True):
        found, nearest, normal, _face = other.closest_point_on_mesh(place.tolist())
        if not found:
            continue
        away = np.array(nearest) - place
        if away @ np.array(normal) > 0.0:  # then the corner is behind the face
            return True
        world_point = matrix[:3, :3] @ np.array(nearest) + matrix[:3, 3]
        if np.linalg.norm(world_point - corner) <= margin:
            return True
    return False


def store_readings(obj) -> None:
    """Store the values of a simulated shot in the file."""
    kept = STATE.readings.get(obj.name)
    if kept and obj.active_ragdoll.graph.enabled:
        obj.active_ragdoll.graph.record = json.dumps({str(frame): values for frame, values in kept.items()})


def stored_readings(obj) -> dict[int, dict[str, float]]:
    """The values that `store_readings` stored."""
    record = obj.active_ragdoll.graph.record
    return {int(frame): values for frame, values in json.loads(record).items()} if record else {}


def _corners(box, matrix) -> np.ndarray:
    """Corners [8, 3] of a bounding box [8, 3] under a matrix [4, 4]."""
    matrix = np.asarray(matrix, dtype=float)
    return np.asarray(box, dtype=float) @ matrix[:3, :3].T + matrix[:3, 3]
