"""How well a run follows its animation: errors of bodies and final poses, separation of joints, time per frame."""

import time

import bpy
import numpy as np

from ... import quaternion
from ..physics.joint_objects import joint_frames
from ..rig.armature import pose_matrices, read, rigid
from ..run import pipeline
from ..runtime import STATE

HUMAN = 1.8  # [m] positions are also given as if the character were this tall


class Meter:
    """Collects figures of a scene's run, frame by frame.

        meter = Meter(scene)
        for frame in simulate.frames(scene):
            meter.after_frame()
        print(meter.summary())

    It reads `pipeline.Run.wanted` (where the animation has the bodies) and the bodies and bones as shown. Frames
    that come from a cache have no run and are not measured. Muted (baked) characters are left out.

    Args:
        scene: scene whose run is measured.
        poses: also measure the characters' final poses; costs one read of all bones per frame.
    """

    def __init__(self, scene, poses: bool = True) -> None:
        self.scene, self.poses = scene, poses
        self.frames = []
        self.characters = []
        self._run = None
        self._ended = time.perf_counter()
        self._clear()

    def _clear(self) -> None:
        self.frames, self._seconds = [], []
        self._kept = {name: [] for name in _FIGURES}

    def after_frame(self) -> None:
        """Measure the frame at which the scene stands; to be called once after every frame."""
        began = time.perf_counter()
        run = STATE.runs.get(self.scene.name)
        if run is None or run.frame != self.scene.frame_current:
            self._ended = time.perf_counter()
            return
        if run is not self._run:
            self._clear()
            self._gather(run)
        self.frames.append(run.frame)
        self._seconds.append(began - self._ended)

        bodies = self._body_matrices()
        wanted = run.wanted[self._rows]
        self._note("orientation", "position", bodies, wanted)
        if self.poses:
            self._note("pose_orientation", "pose_position", self._pose_matrices(), wanted)
        # Beyond what the animation itself takes the joint apart: clips that key locations do.
        apart = self._apart(bodies) - self._apart(wanted)
        self._kept["separation"].append(np.linalg.norm(apart, axis=1))
        self._ended = time.perf_counter()

    def summary(self, skip_seconds: float = 0.5, character: str | None = None) -> dict:
        """Figures over all frames later than `skip_seconds` after the first one; for JSON.

        Args:
            skip_seconds: time at the beginning that is left out [s].
            character: name of the one character to look at; all of them when not given.
        Returns:
            Angles in degrees; positions in metres, and in millimetres as if each character were 1.8 m tall
            (measured by the largest extent of its bind pose). Values are None where nothing was measured.
            `seconds_per_frame`: `total` of a frame, `own` Python of the extension, `source` scene's evaluation.
        """
        first = self.frames[0] if self.frames else 0
        fps = self.scene.render.fps / self.scene.render.fps_base
        late = np.array([(frame - first) / fps > skip_seconds for frame in self.frames], dtype=bool)
        rows = np.ones(len(self._heights) if self._run else 0, dtype=bool)
        if character is not None and self._run:
            rows = np.array([name == character for name, _bone in self._names])
        angles = self._values("orientation", late, rows)
        result = {
            "measured_frames": int(np.count_nonzero(late)),
            "skipped_seconds": skip_seconds,
            "orientation_error_deg": _spread(np.degrees(angles)),
            **self._lengths("position_error", "position", late, rows),
            **self._separations(late, rows),
            "worst_bone": None,
        }
        if angles.size:
            means = np.degrees(angles.mean(axis=0))
            worst = int(np.argmax(means))
            owner, bone = [name for name, used in zip(self._names, rows, strict=True) if used][worst]
            result["worst_bone"] = {"character": owner, "bone": bone, "orientation_error_deg": float(means[worst])}
        if self.poses:
            pose_angles = self._values("pose_orientation", late, rows)
            result["pose_orientation_error_deg"] = _spread(np.degrees(pose_angles))
            result.update(self._lengths("pose_position_error", "pose_position", late, rows))
        result["seconds_per_frame"] = self._times(late)
        return result

    # ---- gathering ------------------------------------------------------------------------------------------------

    def _gather(self, run) -> None:
        self._run = run
        self.characters, rows, heights, self._names = [], [], [], []
        joints = [(*np.empty((2, 0), dtype=int), *np.empty((2, 0, 4)))]
        for character in run.characters:
            obj = bpy.data.objects[character.name]
            if obj.active_ragdoll.muted:
                continue
            parts = obj.active_ragdoll.parts
            begin = len(rows)
            self.characters.append((character, slice(begin, begin + len(parts))))
            rows += range(character.rows.start, character.rows.stop)
            heights += [character.height] * len(parts)
            self._names += [(character.name, part.bone) for part in parts]
            parents, in_child, in_parent = joint_frames(obj)
            child = np.flatnonzero(parents >= 0)
            joints.append((begin + child, begin + parents[child], in_child[child, :, 3], in_parent[child, :, 3]))
        self._rows, self._heights = np.array(rows, dtype=int), np.array(heights)
        self._children, self._parents, self._in_child, self._in_parent = map(np.concatenate, zip(*joints, strict=True))

    def _apart(self, matrices: np.ndarray) -> np.ndarray:
        """From where the parents put the joints to where the children do [k, 3]."""
        child = _points(matrices[self._children], self._in_child)
        return child - _points(matrices[self._parents], self._in_parent)

    def _body_matrices(self) -> np.ndarray:
        """Where the bodies stand: [m, 4, 4], world."""
        result = np.empty((len(self._rows), 4, 4))
        for character, rows in self.characters:
            bodies = bpy.data.objects[character.name].active_ragdoll.bodies.objects
            result[rows] = read(bodies, "matrix_world", 4, 4)
        return result

    def _pose_matrices(self) -> np.ndarray:
        """Where the bodies would be if the bones as shown carried them: rigid, [m, 4, 4], world."""
        result = np.empty((len(self._rows), 4, 4))
        graph = pipeline.depsgraph_of(self.scene)
        for character, rows in self.characters:
            evaluated = bpy.data.objects[character.name].evaluated_get(graph)
            pose = pose_matrices(evaluated)[character.bones]
            result[rows] = rigid(np.array(evaluated.matrix_world, dtype=float) @ pose) @ character.offsets
        return result

    def _note(self, angle: str, distance: str, now: np.ndarray, wanted: np.ndarray) -> None:
        turn = quaternion.angle_between(
            quaternion.from_matrix(now[:, :3, :3]), quaternion.from_matrix(wanted[:, :3, :3])
        )
        self._kept[angle].append(turn)
        self._kept[distance].append(np.linalg.norm(now[:, :3, 3] - wanted[:, :3, 3], axis=1))

    # ---- figures --------------------------------------------------------------------------------------------------

    def _values(self, name: str, late: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """One kind of figure as an array [frames, rows]; empty where nothing was measured."""
        if not late.any() or not rows.any() or not self._kept[name]:
            return np.zeros((0, 0))
        return np.array(self._kept[name])[late][:, rows]

    def _lengths(self, title: str, name: str, late: np.ndarray, rows: np.ndarray) -> dict:
        values = self._values(name, late, rows)
        relative = values / self._heights[rows] if values.size else values
        return {f"{title}_m": _spread(values), f"{title}_mm": _spread(relative * HUMAN * 1000.0)}

    def _separations(self, late: np.ndarray, rows: np.ndarray) -> dict:
        joints = rows[self._children] if self._run else rows
        values = self._values("separation", late, joints)
        relative = values / self._heights[self._children][joints] if values.size else values
        return {
            "joint_separation_m": _spread(values),
            "joint_separation_mm": _spread(relative * HUMAN * 1000.0),
        }

    def _times(self, late: np.ndarray) -> dict:
        """Means [s] over the frames counted; the first frame, with its warm-up, is never one of them."""
        if not late.any():
            return {"total": None, "own": None, "source": None}
        result = {"total": float(np.array(self._seconds)[late].mean())}
        for name in ("own", "source"):
            values = np.array(self._run.seconds[name][: len(late)])
            result[name] = float(values[late[: len(values)]].mean()) if late[: len(values)].any() else None
        return result


_FIGURES = ("orientation", "position", "pose_orientation", "pose_position", "separation")


def _points(matrices: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points [n, 4] carried by matrices [n, 4, 4]: [n, 3]."""
    return np.einsum("nij,nj->ni", matrices, points)[:, :3]


def _spread(values: np.ndarray) -> dict:
    """Mean, 95th percentile and largest of an array; None where it is empty."""
    if not values.size:
        return {"mean": None, "p95": None, "max": None}
    return {
        "mean": float(values.mean()),
        "p95": float(np.percentile(values, 95)),
        "max": float(values.max()),
    }
