"""How well a run follows its animation: errors of bodies and final poses, separation of joints, time per frame; and
the worst that happened to a character in it, by bone and frame: what a supervisor sorts shots by."""

import time
from collections import defaultdict
from contextlib import suppress

import bpy
import numpy as np
from mathutils import Matrix

from ... import quaternion
from ...errors import RagdollError
from ...ragdoll.joints import limits
from ..physics import built, joint_objects, view_layers
from ..rig.armature import pose_matrices, rigid, values_of
from ..runtime import STATE

HUMAN = 1.8  # [m] positions are also given as if the character were this tall


class Meter:
    """Collects figures of a scene's run, frame by frame.

    It compares `Run.wanted` (where the animation has the bodies) with the bodies and bones as shown. Frames that come
    from a cache have no run and are not measured. Muted (baked) characters are left out.
    """

    def __init__(self, scene) -> None:
        self.scene = scene
        self._run = None
        self._gather([])
        self._ended = time.perf_counter()

    def after_frame(self) -> None:
        """Measure the frame at which the scene stands; to be called once after every frame."""
        began = time.perf_counter()
        run = STATE.runs.get(self.scene.name)
        if run is not None and run.frame == self.scene.frame_current:
            if run is not self._run:
                self._run = run
                self._gather(run.characters)
            self.frames.append(run.frame)
            self._seconds.append(began - self._ended)
            self._measure(run.wanted[self._rows])
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
        fps = self.scene.render.fps / self.scene.render.fps_base
        late = np.array([(frame - self.frames[0]) / fps > skip_seconds for frame in self.frames], dtype=bool)
        rows = np.array([character in (None, name) for name, _bone in self._names], dtype=bool)

        def values(name: str, rows=rows) -> np.ndarray:
            """Figures of one kind [frames, rows]; empty where nothing was measured."""
            return np.array(self._kept[name])[late][:, rows] if late.any() and rows.any() else np.zeros((0, 0))

        def lengths(title: str, name: str, rows=rows, heights=self._heights) -> dict:
            found = values(name, rows)
            relative = found / heights[rows] if found.size else found
            return {f"{title}_m": _spread(found), f"{title}_mm": _spread(relative * HUMAN * 1000.0)}

        angles = np.degrees(values("orientation"))
        worst = None
        if angles.size:
            means = angles.mean(axis=0)
            owner, bone = self._names[np.flatnonzero(rows)[np.argmax(means)]]
            worst = {"character": owner, "bone": bone, "orientation_error_deg": float(means.max())}
        return {
            "measured_frames": int(np.count_nonzero(late)),
            "skipped_seconds": skip_seconds,
            "orientation_error_deg": _spread(angles),
            **lengths("position_error", "position"),
            **lengths("joint_separation", "separation", rows[self._children], self._heights[self._children]),
            "worst_bone": worst,
            "pose_orientation_error_deg": _spread(np.degrees(values("pose_orientation"))),
            **lengths("pose_position_error", "pose_position"),
            "seconds_per_frame": self._times(late),
        }

    def _gather(self, characters) -> None:
        """Begin anew, with the bodies and joints of the characters of a run."""
        self.frames, self._seconds, self._kept = [], [], defaultdict(list)
        self._characters, self._names, rows, heights = [], [], [], []
        joints = [(*np.empty((2, 0), dtype=int), *np.empty((2, 0, 4, 4)))]
        for character in characters:
            obj = bpy.data.objects[character.name]
            if obj.active_ragdoll.muted:
                continue
            begin = len(rows)
            rows += range(character.rows.start, character.rows.stop)
            self._characters.append((character, slice(begin, len(rows))))
            self._names += [(character.name, part.bone) for part in obj.active_ragdoll.parts]
            heights += [character.height] * (len(rows) - begin)
            parents, in_child, in_parent = joint_objects.joint_frames(obj)
            child = np.flatnonzero(parents >= 0)
            joints.append((begin + child, begin + parents[child], in_child[child], in_parent[child]))
        self._rows, self._heights = np.array(rows, dtype=int), np.array(heights)
        self._children, self._parents, *self._frames = map(np.concatenate, zip(*joints, strict=True))

    def _measure(self, wanted: np.ndarray) -> None:
        """Note how far bodies, and bones as shown, are from where they are wanted [m, 4, 4], world."""
        bodies, poses = np.empty((2, *wanted.shape))
        graph = view_layers.depsgraph_of(self.scene)
        for character, rows in self._characters:
            obj = bpy.data.objects[character.name]
            bodies[rows] = values_of(obj.active_ragdoll.bodies.objects, "matrix_world", 4, 4)
            shown = obj.evaluated_get(graph)
            pose = pose_matrices(shown)[character.bones]
            poses[rows] = rigid(np.array(shown.matrix_world, dtype=float) @ pose) @ character.offsets
        turns = quaternion.from_matrix(wanted[:, :3, :3])
        for prefix, now in (("", bodies), ("pose_", poses)):
            angles = quaternion.angle_between(quaternion.from_matrix(now[:, :3, :3]), turns)
            self._kept[f"{prefix}orientation"].append(angles)
            self._kept[f"{prefix}position"].append(np.linalg.norm(now[:, :3, 3] - wanted[:, :3, 3], axis=1))
        # Beyond what the animation itself takes the joint apart: clips that key locations do.
        own, of_animation = (limits.gaps(m[self._children], m[self._parents], *self._frames) for m in (bodies, wanted))
        self._kept["separation"].append(np.linalg.norm(own - of_animation, axis=1))

    def _times(self, late: np.ndarray) -> dict:
        """Means [s] over the frames counted; the first frame, with its warm-up, is never one of them."""
        result = {"total": self._seconds} | (self._run.seconds if self._run is not None else {"own": [], "source": []})
        for name, kept in result.items():
            values = np.array(kept[: len(late)])[late[: len(kept)]]
            result[name] = float(values.mean()) if values.size else None
        return result


def _spread(values: np.ndarray) -> dict:
    """Mean, 95th percentile and largest of an array; None where it is empty."""
    if not values.size:
        return {"mean": None, "p95": None, "max": None}
    return {"mean": float(values.mean()), "p95": float(np.percentile(values, 95)), "max": float(values.max())}


class Worst:
    """Collects a character's run, frame by frame, as a `Meter`; frames that come from a cache are not seen."""

    def __init__(self, obj, scene) -> None:
        self.obj, self.scene = obj, scene
        self.frames, self.bodies, self.wanted = [], [], []
        self.capped = self.rescued = 0
        self._depth = {"value": 0.0, "bone": None, "frame": None, "object": None}

    def after_frame(self) -> None:
        """Look at the frame at which the scene stands; to be called once after every frame."""
        run = STATE.runs.get(self.scene.name)
        if run is None or run.frame != self.scene.frame_current:
            return
        rows = next(c.rows for c in run.characters if c.name == self.obj.name)
        self.frames.append(run.frame)
        self.bodies.append(run.body[rows].copy())
        self.wanted.append(run.wanted[rows].copy())
        # A drive that is too far behind is led by a pose on the way to its own.
        if len(self.bodies) > 1 and run.reach is not None:
            turned = np.einsum("mij,mij->m", self.bodies[-2][:, :3, :3], self.wanted[-1][:, :3, :3])
            self.capped += bool((turned < run.reach[1][rows]).any())
        self.rescued += bool(run.effect("limitrescue").kinematic[rows].any())
        self._look_for_depth(run)

    def summary(self) -> dict:
        """Figures of the whole run for JSON, each with the bone and the frame; None where nothing was measured."""
        if not self.frames:
            return {}
        bodies, wanted = np.array(self.bodies), np.array(self.wanted)
        parents, in_child, in_parent = joint_objects.joint_frames(self.obj)
        children = np.flatnonzero(parents >= 0)
        frames = in_child[children], in_parent[children]
        own, of_animation = (limits.gaps(m[:, children], m[:, parents[children]], *frames) for m in (bodies, wanted))
        beyond = np.zeros((len(bodies), len(children)))
        for column, (row, child, parent) in enumerate(zip(children, *frames, strict=True)):
            name = self.obj.active_ragdoll.parts[row].bone
            turns = limits.joint_rotations(bodies[:, row], bodies[:, parents[row]], child, parent)
            with suppress(RagdollError):  # invalid limits hold nothing
                beyond[:, column] = joint_objects.excesses(name, self.obj.pose.bones[name].active_ragdoll, turns)
        return {
            # Beyond what the animation itself takes the joint apart.
            "joint_gap_m": self._largest(np.linalg.norm(own - of_animation, axis=-1), children),
            "limit_excess_deg": self._largest(np.degrees(beyond), children),
            "penetration_m": self._depth,
            "capped_frames": int(self.capped),
            "rescued_frames": int(self.rescued),
        }

    def _largest(self, values: np.ndarray, rows: np.ndarray) -> dict | None:
        """The largest of values [f, k] with its frame and the bone of its row."""
        if not values.size:
            return None
        frame, column = np.unravel_index(int(np.argmax(values)), values.shape)
        bone = self.obj.active_ragdoll.parts[rows[column]].bone
        return {"value": float(values[frame, column]), "bone": bone, "frame": self.frames[frame]}

    def _look_for_depth(self, run) -> None:
        """Keep the deepest point of a body's surface inside another object with a rigid body."""
        settings = self.obj.active_ragdoll
        matrices = values_of(settings.bodies.objects, "matrix_world", 4, 4)
        for other in self.scene.rigidbody_world.collection.all_objects:
            if built.is_ours(other) or other.type != "MESH" or not other.data.polygons:
                continue
            shown = other.evaluated_get(run.graph)
            into = np.array(shown.matrix_world.inverted_safe(), dtype=float)
            scale = float(np.cbrt(abs(Matrix(shown.matrix_world).determinant())))
            low, high = np.array(shown.bound_box).min(axis=0), np.array(shown.bound_box).max(axis=0)
            # A floor may be a plane: bodies sink below its box.
            room = 0.1 * settings.height / max(scale, 1e-12) * (high - low < 1e-6)
            for part, matrix in zip(settings.parts, matrices, strict=True):
                points = values_of(part.body.data.vertices, "co", 3).astype(float)
                points = points @ (into @ matrix)[:3, :3].T + (into @ matrix)[:3, 3]
                for point in points[np.all((points > low - room) & (points < high + room), axis=1)]:
                    found, place, normal, _index = shown.closest_point_on_mesh(point)
                    depth = -float((point - np.array(place)) @ np.array(normal)) * scale if found else 0.0
                    if depth > self._depth["value"]:
                        values = depth, part.bone, self.frames[-1], other.name
                        self._depth = dict(zip(self._depth, values, strict=True))
