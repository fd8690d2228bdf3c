"""What the parameters of a state graph read from the ragdoll: its state, speed, hits and contacts.

They are read after each frame that the shot steps, for the next one, and kept by frame: a jump to a frame finds the
same values as playing. Those of a simulated shot are stored in the file.
"""

import json
import math

import numpy as np

from ...motion.balance import Push
from ...ragdoll.hits import speeds_felt
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
        return _kept(self._obj, scene, frame, self._measured)

    def _measured(self, run, character, scene) -> dict[str, float]:
        rows = character.rows
        seconds = scene.rigidbody_world.time_scale * scene.render.fps_base / scene.render.fps
        now = run.body[rows][:, :3, 3]
        wanted = run.wanted[rows][:, :3, 3]
        before = character.reading
        previous = before if before is not None and before["frame"] == run.frame - 1 else None
        state = speeds_felt(now, wanted, run.masses[rows], previous, seconds, np.array(scene.gravity))
        character.reading = {**state, "frame": run.frame}
        found = {
            "RAGDOLL_STATE": float(_phase(run, character)),
            "RAGDOLL_SPEED": float(state["speed"]),
            "RAGDOLL_HIT": float(state["hit"]),
        }
        for bone in self._contacts:
            found[f"RAGDOLL_CONTACT {bone}"] = float(_touches(run, character, bone, scene))
        return found


def kept_of(obj) -> dict[int, dict]:
    """What was read of a character by frame: in this session, else of the shot that is stored in the file."""
    if obj.name not in STATE.readings:
        STATE.readings[obj.name] = stored_readings(obj)
    return STATE.readings[obj.name]


def _kept(obj, scene, frame: int, measured) -> dict:
    """What `measured` gives of a run that stands one frame before; on a jump to the frame what it gave back then."""
    kept = kept_of(obj)
    first, _last = world.shot_range(scene)
    if frame <= first:
        return {}
    run = STATE.runs.get(scene.name)
    if run is not None and run.frame == frame - 1:
        character = next((c for c in run.characters if c.name == obj.name), None)
        if character is not None:
            kept.setdefault(frame, {}).update(measured(run, character, scene))
    return kept.get(frame, {})


# ---- pushes ---------------------------------------------------------------------------------------------------------

YIELDING, SLACK = 0.2, 0.01  # [s] in which it gives way to what it is pushed off its place by; of the height, not felt


def push_at(obj, scene, frame: int, legs) -> tuple[str, Push]:
    """The recovery's state, and what pushes a character in the step to a frame; `legs`: names of their bones.

    Hits count by their impulse. What else pushes (a platform, others, wind) shows in how far the masses are from where
    the animation has them, as long as no hit has loosened the character and its legs are driven.
    """

    def measured(run, character, scene) -> dict:
        impulses = run.effect("hits").impulses_on(run, character, run.frame)
        blow = complex(*(sum(impulses)[:2] / character.mass).tolist()) if impulses else 0j
        pull = 0j if impulses else _pull(run, character, legs)
        found = {"PUSH": [blow.real, blow.imag, pull.real, pull.imag]} if blow or pull else {}
        phase = _phase(run, character)
        return found | ({"PHASE": phase} if STATES[phase] != ACTIVE else {})

    found = _kept(obj, scene, frame, measured)
    x, y, pull_x, pull_y = found.get("PUSH", (0.0, 0.0, 0.0, 0.0))
    return STATES[int(found.get("PHASE", STATES.index(ACTIVE)))], Push(complex(x, y), complex(pull_x, pull_y))


def _pull(run, character, legs) -> complex:
    """Acceleration with which the hip follows its masses, which something holds off their place [m/s^2]."""
    rows = character.rows
    hits = next((own for own in run.effect("hits").characters if own.character is character), None)
    driven = [max(pair) for pair in zip(*(weights[rows] for weights in run.weights()), strict=True)]
    borne = [weight for bone, weight in zip(character.bone_names, driven, strict=True) if bone in legs]
    if run.frame <= run.first or min(borne, default=0.0) < 0.1 or (hits is not None and hits.factors.min() < 1.0):
        return 0j
    away = run.masses[rows] @ (run.body[rows, :2, 3] - run.wanted[rows, :2, 3]) / character.mass
    size = math.hypot(*away)
    felt = max(size - SLACK * character.height, 0.0)
    return complex(*away) * felt / (size * YIELDING**2) if felt else 0j


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
    if kept and (obj.active_ragdoll.graph.enabled or obj.active_ragdoll.balance.enabled):
        obj.active_ragdoll.graph.record = json.dumps({str(frame): values for frame, values in kept.items()})


def stored_readings(obj) -> dict[int, dict[str, float]]:
    """The values that `store_readings` stored."""
    record = obj.active_ragdoll.graph.record
    return {int(frame): values for frame, values in json.loads(record).items()} if record else {}


def _corners(box, matrix) -> np.ndarray:
    """Corners [8, 3] of a bounding box [8, 3] under a matrix [4, 4]."""
    matrix = np.asarray(matrix, dtype=float)
    return np.asarray(box, dtype=float) @ matrix[:3, :3].T + matrix[:3, 3]
