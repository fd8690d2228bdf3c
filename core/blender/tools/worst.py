"""The worst that happened to a character in a run, by bone and frame: what a supervisor sorts shots by."""

import numpy as np
from mathutils import Matrix

from ...errors import RagdollError
from ...ragdoll.joints import limits
from ..physics import built, joint_objects
from ..rig.armature import values_of
from ..runtime import STATE


class Worst:
    """Collects a character's run, frame by frame; frames that come from a cache are not seen.

    worst = Worst(obj, scene)
    for frame in simulate.frames(scene):
        worst.after_frame()
    print(worst.summary())
    """

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
        if len(self.bodies) > 1 and run.reach_trace is not None:
            turned = np.einsum("mij,mij->m", self.bodies[-2][:, :3, :3], self.wanted[-1][:, :3, :3])
            self.capped += bool((turned < run.reach_trace[rows]).any())
        self.rescued += any(effect.name == "limit rescue" and effect.kinematic[rows].any() for effect in run.effects)
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
        return {
            # Beyond what the animation itself takes the joint apart.
            "joint_gap_m": self._largest(np.linalg.norm(own - of_animation, axis=-1), children),
            "limit_excess_deg": self._largest(np.degrees(self._excesses(bodies, children, parents, frames)), children),
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

    def _excesses(self, bodies, children, parents, frames) -> np.ndarray:
        """By how much joints are beyond their limits [f, k], radians."""
        result = np.zeros((len(bodies), len(children)))
        for column, (row, child, parent) in enumerate(zip(children, *frames, strict=True)):
            name = self.obj.active_ragdoll.parts[row].bone
            turns = limits.joint_rotations(bodies[:, row], bodies[:, parents[row]], child, parent)
            try:
                result[:, column] = joint_objects.excesses(name, self.obj.pose.bones[name].active_ragdoll, turns)
            except RagdollError:  # invalid limits hold nothing
                continue
        return result

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
                inside = points[np.all((points > low - room) & (points < high + room), axis=1)]
                self._keep_deepest(shown, inside, scale, part.bone, other.name)

    def _keep_deepest(self, shown, points, scale: float, bone: str, name: str) -> None:
        for point in points:
            found, place, normal, _index = shown.closest_point_on_mesh(point)
            depth = -float((point - np.array(place)) @ np.array(normal)) * scale if found else 0.0
            if depth > self._depth["value"]:
                self._depth = {"value": depth, "bone": bone, "frame": self.frames[-1], "object": name}
