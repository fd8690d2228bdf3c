"""What a run records of recoveries, by frame, and keeps in the file beside its baked cache."""

from __future__ import annotations

import base64
import json
import math
import zlib
from dataclasses import dataclass, field

import numpy as np

from ...motion.clip import Clip
from ...motion.getting_up import Passage
from ...motion.stack import LocalPose
from ...ragdoll.recovery.states import State
from ...ragdoll.recovery.transitions import Decay, Reroot, Transition
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
        values = self.values.get(frame)
        return None if values is None else State.from_values(values)

    def blend(self, frame: int) -> float:
        """Factor of the physics blend in what a frame shows: what the frame before has decided."""
        state = self.state(frame - 1) or self.state(frame)
        return 1.0 if state is None else state.physics_blend

    def passage(self, frame: int) -> Passage | None:
        """The one that a frame belongs to."""
        found = [passage for passage in self.passages if passage.frame < frame]
        return found[-1] if found else None

    def to_text(self) -> str:
        """As JSON."""
        frames = sorted(self.values)
        values = np.array([self.values[frame] for frame in frames])
        return json.dumps(
            {
                "version": VERSION,
                "frames": frames,
                "values": _packed(values),
                "passages": [_passage_to(passage) for passage in self.passages],
            }
        )

    @staticmethod
    def from_text(text: str) -> Record:
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
    found = []
    for array in vars(poses).values():
        rows = np.flatnonzero((array != array[:1]).any(axis=(0, 2)))
        found.append([_packed(array[0], "<f4"), rows.tolist(), _packed(array[:, rows], "<f4")])
    return found


def _poses_from(data: list) -> LocalPose:
    arrays = []
    for first, rows, moving in data:
        own = _unpacked(moving, "<f4")
        arrays.append(np.repeat(_unpacked(first, "<f4")[None], len(own), axis=0))
        arrays[-1][:, rows] = own
    return LocalPose(*arrays)


def _passage_to(passage: Passage) -> dict:
    data = {name: getattr(passage, name) for name in ("frame", "fps", "action", "duration")}
    data["rotation"], data["shift"] = _packed(passage.move.rotation), _packed(passage.move.shift)
    data["carriers"] = [int(bone) for bone in passage.carriers]
    data["lowest"] = [_packed(passage.lowest[0]), passage.lowest[1]] if passage.lowest is not None else None
    if passage.planned is not None:
        data["planned"], data["place"] = _poses_to(passage.planned.poses), _packed(passage.place)
    if passage.offsets is None:
        data["old"] = [_packed(array) for array in passage.old]
    else:
        decays = passage.offsets.positions, passage.offsets.rotations
        data["offsets"] = [_packed(array) for decay in decays for array in (decay.offset, decay.velocity)]
    return data


def _passage_from(data: dict) -> Passage:
    more = {name: data[name] for name in ("frame", "fps", "action", "duration")}
    if data["lowest"] is not None:
        more["lowest"] = (_unpacked(data["lowest"][0]).astype(int), data["lowest"][1])
    if "planned" in data:
        more["planned"] = Clip("Get Up", (), data["fps"], _poses_from(data["planned"]))
        more["place"] = _unpacked(data["place"])
    if "old" in data:
        more["old"] = tuple(_unpacked(array) for array in data["old"])
    else:
        a, b, c, d = (_unpacked(array) for array in data["offsets"])
        duration = np.float64(data["duration"])
        more["offsets"] = Transition(Decay(a, b, duration), Decay(c, d, duration))
    move = Reroot(_unpacked(data["rotation"]), _unpacked(data["shift"]))
    return Passage(move=move, carriers=np.array(data["carriers"], dtype=int), **more)


# ---- of a character --------------------------------------------------------------------------------------------------
def recovery_of(obj):
    """The `recovery.Recovery` of a character in the run of its scene; None where there is none."""
    scene = obj.active_ragdoll.scene
    run = STATE.runs.get(scene.name) if scene is not None else None
    # Not by its name, which may be another one by now.
    found = () if run is None else run.effect("recovery").by_name.values()
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
        known = STATE.records.get(obj.name)
        if known is None or known[0] != text:
            known = STATE.records[obj.name] = (text, _read(obj, text))
        return known[1]
    run = STATE.runs.get(scene.name)
    found = recovery_of(obj)
    stepping = run is not None and run.frame is not None and frame == run.frame + 1
    return found.record if found is not None and (stepping or run.shows(frame)) else None


def _read(obj, text: str) -> Record | None:
    """The record in a text; a damaged one is told once and counts as none."""
    try:
        return Record.from_text(text)
    except ValueError as error:
        STATE.warn(obj.name, f"The record of the recovery of '{obj.name}' is damaged, simulate again: {error}")
        return None


def phase_of(obj) -> str:
    """The recovery's state at the frame that is shown, "" where there is none."""
    settings = obj.active_ragdoll
    if not settings.recovery.enabled or state_of(obj) not in ("LIVE", "CACHED"):
        return ""
    frame = settings.scene.frame_current
    record = record_of(obj, frame)
    state = None if record is None else record.state(frame)
    return "" if state is None else state.phase


def store_records(run) -> None:
    """Store a run's records in the file, beside its baked cache."""
    with STATE.writing():
        for name, recovery in run.effect("recovery").by_name.items():
            text = recovery.record.to_text()
            recovery.character.obj.active_ragdoll.recovery.record = text
            STATE.records.pop(name, None)


def drop_record(obj) -> None:
    """Forget the stored record of a character, as its cache is gone."""
    settings = obj.active_ragdoll
    if settings.recovery.record:
        settings.recovery.property_unset("record")
    STATE.records.pop(obj.name, None)
