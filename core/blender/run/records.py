"""What a run records by frame and keeps in the file beside its baked cache: the states of recoveries, and what state
graphs and balance read of the ragdoll."""

import base64
import json
import math
import zlib
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ...motion.balance import Push
from ...motion.clip import Clip
from ...motion.getting_up import Passage
from ...motion.stack import LocalPose
from ...pose import moved
from ...ragdoll.hits import speeds_felt
from ...ragdoll.recovery.states import ACTIVE, STATES, State
from ...ragdoll.recovery.transitions import Reroot, Transition
from ..physics import world
from ..runtime import STATE, state_of

VERSION = 1
LARGEST = 1 << 26  # bytes of an array; that of a damaged file may claim any size


@dataclass
class Record:
    """The states of a recovery by frame, and the passages in which the character went on."""

    values: dict = field(default_factory=dict)  # `State.values()` by frame
    passages: list = field(default_factory=list)  # from the earliest on

    def state(self, frame: int) -> State | None:
        """At a frame of the shot."""
        return State.from_values(self.values[frame]) if frame in self.values else None

    def blend(self, frame: int) -> float:
        """Factor of the physics blend in what a frame shows: what the frame before has decided."""
        state = self.state(frame - 1) or self.state(frame)
        return 1.0 if state is None else state.physics_blend

    def passage(self, frame: int) -> Passage | None:
        """The one that a frame belongs to."""
        return next((passage for passage in reversed(self.passages) if passage.frame < frame), None)

    def to_text(self) -> str:
        """As JSON."""
        frames, passages = sorted(self.values), [_passage_to(passage) for passage in self.passages]
        values = _packed(np.array([self.values[frame] for frame in frames]))
        return json.dumps({"version": VERSION, "frames": frames, "values": values, "passages": passages})

    @staticmethod
    def from_text(text: str) -> "Record":
        """The reverse of `to_text`. Raises ValueError: a damaged text."""
        try:
            data = json.loads(text)
            if data["values"][0][:1] != [len(data["frames"])]:
                raise ValueError("another number of frames than of states")
            values = _unpacked(data["values"]).tolist()
            states = {int(frame): tuple(row) for frame, row in zip(data["frames"], values, strict=True)}
            for row in states.values():
                State.from_values(row)
            return Record(states, [_passage_from(passage) for passage in data["passages"]])
        except (TypeError, KeyError, IndexError, AttributeError, OverflowError, zlib.error) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error


def _packed(array: np.ndarray, kind: str = "<f8") -> list:
    raw = np.ascontiguousarray(array, dtype=kind)
    return [list(raw.shape), base64.b64encode(zlib.compress(raw.tobytes())).decode("ascii")]


def _unpacked(data: list, kind: str = "<f8") -> np.ndarray:
    shape, text = data
    size = np.dtype(kind).itemsize * math.prod(shape)
    if min(shape, default=0) < 0 or size > LARGEST:
        raise ValueError(f"an array of the shape {shape}")
    raw = zlib.decompressobj().decompress(base64.b64decode(text), size + 1)
    return np.frombuffer(raw, dtype=kind).reshape(shape).astype(float)


def _poses_to(poses: LocalPose) -> list:
    """Poses [f, n] of single precision: each array as its first frame, and the frames of the bones that move."""
    moving = [(array, np.flatnonzero((array != array[:1]).any(axis=(0, 2)))) for array in vars(poses).values()]
    return [[_packed(array[0], "<f4"), rows.tolist(), _packed(array[:, rows], "<f4")] for array, rows in moving]


def _poses_from(data: list) -> LocalPose:
    arrays = []
    for first, rows, moving in data:
        own = _unpacked(moving, "<f4")
        arrays.append(np.repeat(_unpacked(first, "<f4")[None], len(own), axis=0))
        arrays[-1][:, rows] = own
    return LocalPose(*arrays)


def _passage_to(passage: Passage) -> dict:
    data = {name: getattr(passage, name) for name in ("frame", "fps", "action", "duration", "keys")}
    data["rotation"], data["shift"] = _packed(passage.move.rotation), _packed(passage.move.shift)
    data["carriers"] = [int(bone) for bone in passage.carriers]
    data["lowest"] = [_packed(passage.lowest[0]), passage.lowest[1].tolist()] if passage.lowest is not None else None
    if passage.planned is not None:
        data["planned"], data["place"] = _poses_to(passage.planned.poses), _packed(passage.place)
    if passage.offsets is None:
        data["old"] = [_packed(array) for array in passage.old]
    else:
        data["offsets"] = [_packed(array) for array in passage.offsets[:4]]
    return data


def _passage_from(data: dict) -> Passage:
    more = {name: data[name] for name in ("frame", "fps", "action", "duration")}
    if data["lowest"] is not None:
        more["lowest"] = (_unpacked(data["lowest"][0]), np.array(data["lowest"][1]))
    more["keys"] = data.get("keys", [])
    if "planned" in data:
        more["planned"] = Clip("Get Up", (), data["fps"], _poses_from(data["planned"]))
        more["place"] = _unpacked(data["place"])
    if "old" in data:
        more["old"] = tuple(_unpacked(array) for array in data["old"])
    else:
        more["offsets"] = Transition(*map(_unpacked, data["offsets"]), np.float64(data["duration"]))
    move = Reroot(_unpacked(data["rotation"]), _unpacked(data["shift"]))
    return Passage(move=move, carriers=np.array(data["carriers"], dtype=int), **more)


def recovery_of(obj):
    """The `recovery.Recovery` of a character in the run of its scene; None where there is none."""
    scene = obj.active_ragdoll.scene
    run = STATE.runs.get(scene.name) if scene is not None else None
    # Not by its name, which may be another one by now.
    found = () if run is None else run.effect("recoveries").by_name.values()
    return next((recovery for recovery in found if recovery.character.obj == obj), None)


def record_of(obj, frame: int) -> Record | None:
    """The record that holds for a frame that is shown or about to be stepped; None if nothing is simulated."""
    settings = obj.active_ragdoll
    scene = settings.scene
    if not settings.is_ragdoll or settings.muted or scene is None or scene.rigidbody_world is None:
        return None
    if scene.rigidbody_world.point_cache.is_baked:
        text = settings.recovery.record
        if not text or not scene.active_ragdoll.cache_is_ours or frame > world.last_good(scene):
            return None
        found, trouble = _read(text)
        if trouble:
            STATE.warn(obj.name, f"The record of the recovery of '{obj.name}' is damaged, simulate again: {trouble}")
        return found
    run = STATE.runs.get(scene.name)
    found = recovery_of(obj)
    stepping = run is not None and run.frame is not None and frame == run.frame + 1
    return found.record if found is not None and (stepping or run.shows(frame)) else None


@lru_cache(maxsize=32)
def _read(text: str) -> tuple[Record | None, str]:
    """The record in a text; of a damaged one why there is none."""
    try:
        return Record.from_text(text), ""
    except ValueError as error:
        return None, str(error)


def phase_of(obj) -> str:
    """The recovery's state at the frame that is shown, "" where there is none."""
    settings = obj.active_ragdoll
    if not settings.recovery.enabled or state_of(obj) not in ("LIVE", "CACHED"):
        return ""
    record = record_of(obj, frame := settings.scene.frame_current)
    state = record and record.state(frame)
    return state.phase if state else ""


MARGIN = 0.01  # of the character's height: things closer than this touch


def readings(obj, contacts, scene, frame: int) -> dict[str, float]:
    """Values for a frame by kind of parameter, read after the frame before; empty if nothing was simulated. `contacts`
    are names of the bones whose contacts are wanted, "" for a contact of any body."""

    def measured(run, character, scene) -> dict[str, float]:
        rows = character.rows
        now, wanted = run.body[rows][:, :3, 3], run.wanted[rows][:, :3, 3]
        before, seconds = character.reading, world.seconds_per_frame(scene)
        previous = before if before is not None and before["frame"] == run.frame - 1 else None
        state = speeds_felt(now, wanted, run.masses[rows], previous, seconds, np.array(scene.gravity))
        character.reading = {**state, "frame": run.frame}
        found = {"RAGDOLL_STATE": _phase(run, character), "RAGDOLL_SPEED": state["speed"], "RAGDOLL_HIT": state["hit"]}
        found |= {f"RAGDOLL_CONTACT {bone}": _touches(run, character, bone, scene) for bone in contacts}
        return {kind: float(value) for kind, value in found.items()}

    return _kept(obj, scene, frame, measured)


def kept_of(obj) -> dict[int, dict]:
    """What was read of a character by frame: in this session, else of the shot that is stored in the file."""
    if obj.name not in STATE.readings:
        record = obj.active_ragdoll.graph.record
        stored = json.loads(record).items() if record else ()
        STATE.readings[obj.name] = {int(frame): values for frame, values in stored}
    return STATE.readings[obj.name]


def _kept(obj, scene, frame: int, measured) -> dict:
    """What `measured` gives of a run that stands one frame before; on a jump to the frame what it gave back then."""
    kept = kept_of(obj)
    if frame <= world.first_frame(scene):
        return {}
    run = STATE.runs.get(scene.name)
    characters = run.characters if run is not None and run.frame == frame - 1 else ()
    for character in (each for each in characters if each.name == obj.name):
        kept.setdefault(frame, {}).update(measured(run, character, scene))
    return kept.get(frame, {})


PUSHES = {"PUSH", "SHOVE", "PULL", "GROUND", "LEFT"}  # what moves a balance


def push_at(obj, scene, frame: int) -> tuple[str, Push, np.ndarray]:
    """The recovery's state, what pushes a character in the step to a frame, and how the ground under it went in the
    last frames [0 to 2, 3] [m]."""

    def measured(run, character, scene) -> dict:
        impulses = run.effect("hits").impulses_on(run, character, run.frame)
        found = {"PUSH": (sum(impulses)[:2] / character.mass).tolist()} if impulses else {}
        found |= run.effect("pushes").on(run, character, scene)
        recovery = run.effect("recoveries").by_name.get(character.name)
        if recovery is not None and recovery.left[0] == run.frame:
            found["LEFT"] = recovery.left[1]
        phase = _phase(run, character)
        return found | ({"PHASE": phase} if STATES[phase] != ACTIVE else {})

    found = _kept(obj, scene, frame, measured)
    speed, shove, pull = (complex(*found.get(name, (0.0, 0.0))[:2]) for name in ("PUSH", "SHOVE", "PULL"))
    turn, *way = found.get("LEFT", (None, 0.0, 0.0, 0.0))
    left = None if turn is None else (turn, complex(*way[:2]), way[2])
    phase = STATES[int(found.get("PHASE", STATES.index(ACTIVE)))]
    return phase, Push(speed, shove, pull, left=left), np.reshape(found.get("GROUND", ()), (-1, 3))


def _phase(run, character) -> int:
    """Index of the recovery's state in the list of states; 1 (active) without a recovery."""
    found = run.effect("recoveries").by_name.get(character.name)
    return STATES.index(found.state.phase) if found is not None else STATES.index(ACTIVE)


def _touches(run, character, bone: str, scene) -> bool:
    """Whether the body of a bone ("": any body of the character) touches another object of the rigid body world."""
    own, margin = {*character.bodies.objects.keys(), *character.targets.objects.keys()}, MARGIN * character.height
    others = [o for o in scene.rigidbody_world.collection.objects if o.name not in own and o.type == "MESH"]
    # What collides with nothing is a target.
    others = [o for o in others if o.rigid_body is None or any(o.rigid_body.collision_collections)]
    rows = [i for i, name in enumerate(character.bone_names) if bone in ("", name)]
    boxes = (np.array(character.bodies.objects[i].bound_box) for i in rows)
    bodies = [moved(box, run.body[character.rows.start + i]) for box, i in zip(boxes, rows, strict=True)]
    return any(_near(corners, other.evaluated_get(run.graph), margin) for corners in bodies for other in others)


def _near(corners: np.ndarray, other, margin: float) -> bool:
    """Whether a corner is within the margin of a mesh or inside it."""
    matrix = np.array(other.matrix_world, dtype=float)
    box = moved(np.array(other.bound_box), matrix)
    if np.any(corners.min(axis=0) > box.max(axis=0) + margin) or np.any(corners.max(axis=0) < box.min(axis=0) - margin):
        return False
    for corner, place in zip(corners, moved(corners, np.linalg.inv(matrix)), strict=True):
        found, nearest, normal, _face = other.closest_point_on_mesh(place.tolist())
        behind = found and (np.array(nearest) - place) @ np.array(normal) > 0.0  # the corner is behind the face
        if behind or (found and np.linalg.norm(moved(np.array([nearest]), matrix)[0] - corner) <= margin):
            return True
    return False


def store(obj, run) -> None:
    """Store the record and the readings of a run, which may have been stopped, in the file, beside its baked cache."""
    kept, settings = STATE.readings.get(obj.name), obj.active_ragdoll
    with STATE.writing():
        for own in run.effect("recoveries").by_name.values():
            if own.character.obj == obj:
                settings.recovery.record = own.record.to_text()
        if kept and (settings.graph.enabled or settings.balance.enabled):
            settings.graph.record = json.dumps({str(frame): values for frame, values in kept.items()})
