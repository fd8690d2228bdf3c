"""What a bake has seen: the poses of a character frame by frame, and as relative to the bones' rest."""

from collections.abc import Iterator

import numpy as np

from ...errors import RagdollError
from ..physics import view_layers, world
from ..rig import armature
from ..rig.armature import converted, pose_matrices
from ..run import shot_run, simulate
from ..runtime import STATE
from ..stack import stack_edits
from . import controls

_CHANNELS = {"location": 3, "rotation_quaternion": 4, "rotation_axis_angle": 4, "rotation_euler": 3, "scale": 3}
SHEAR_TOLERANCE = 1e-5  # cosine between two axes of a bone; single precision gives about 1e-6


def shown_pose(obj, scene) -> np.ndarray:
    """Matrices of a character's bones as the scene shows them [n, 4, 4], in the character's space."""
    return pose_matrices(obj.evaluated_get(shot_run.depsgraph_of(scene)))


def checked_range(obj, scene, first: int | None, last: int | None) -> tuple[int, int]:
    """The frames of a shot that are to be written, all where not given.

    Raises RagdollError: nothing moves the character, Blender does not evaluate it, or the shot has no such frames.
    """
    settings = obj.active_ragdoll
    if not settings.is_ragdoll and settings.target_armature is None:
        raise RagdollError(f"'{obj.name}' has no ragdoll: build one first")
    world.refuse_remapped(scene)
    if not view_layers.evaluates(scene, obj):
        raise RagdollError(
            f"'{obj.name}' is disabled in viewports or excluded from the view layer, so that Blender does not pose it: "
            "enable it to bake it"
        )
    shot = world.shot_range(scene)
    first = shot[0] if first is None else first
    last = shot[1] if last is None else last
    if not shot[0] <= first < last <= shot[1]:
        raise RagdollError(f"Frames {first} to {last} are not within the shot, {shot[0]} to {shot[1]}")
    return first, last


def _shown_frames(scene, first, last) -> Iterator[int]:
    stack_edits.end_previews(scene)
    stale = any(
        o.active_ragdoll.cache_outdated or o.active_ragdoll.layout_changed for o in shot_run.active_ragdolls(scene)
    )
    shot = world.shot_range(scene)
    unreadable = shot[0] < 0 <= shot[1]  # see showing.show_cached
    if shot_run.active_ragdolls(scene) and (unreadable or stale or not world.cache_covers_shot(scene)):
        yield from simulate.frames(scene)
        return
    STATE.interrupted = False
    for frame in range(first, last + 1):
        simulate.go_to(scene, frame)
        yield frame


class Recorder:
    """Pose matrices of a character's bones, frame by frame, and where asked for the channels that are animated."""

    def __init__(self, obj, scene, channels: bool) -> None:
        self.obj, self.scene = obj, scene
        self.numbers, self.poses, self.worlds = [], [], []  # frames; matrices of the bones, and of the object
        self.solved, self.off = [], []  # by `solve`: basis matrices of the controls, how far off the bones are
        self._channels = {name: [] for name in _CHANNELS} if channels else None

    def watch(self, first: int, last: int) -> Iterator[int]:
        """Record a range, yielding each frame; what is simulated before that range is yielded too."""
        for frame in _shown_frames(self.scene, first, last):
            if first <= frame <= last:
                self.record(frame)
            yield frame

    def record(self, frame: int) -> None:
        """Record what is shown."""
        posed = self.obj.evaluated_get(shot_run.depsgraph_of(self.scene))
        self.numbers.append(frame)
        self.poses.append(pose_matrices(posed))
        self.worlds.append(armature.array_of(posed.matrix_world))
        for name, values in (self._channels or {}).items():
            values.append(armature.values_of(self.obj.pose.bones, name, _CHANNELS[name]))

    def solve(self, carried: controls.Controls) -> Iterator[int]:
        """Find the poses of controls for what was recorded, yielding each frame that is done."""
        rows = [self.obj.data.bones.find(name) for name in carried.bones]
        basis = None
        for frame, poses in zip(self.numbers, self.poses, strict=True):
            with STATE.occupied():
                basis, off = carried.solve(frame, poses[rows], basis)
            self.solved.append(basis)
            self.off.append(off)
            yield frame

    def keep(self, frames: slice) -> None:
        """Forget the other frames."""
        self.numbers, self.poses, self.worlds = (each[frames] for each in (self.numbers, self.poses, self.worlds))
        for name, values in (self._channels or {}).items():
            self._channels[name] = values[frames]

    def below(self, names: list) -> dict | None:
        """The channels [f, bones, k] of bones by the property, if they were recorded."""
        rows = [self.obj.data.bones.find(name) for name in names]
        found = (self._channels or {}).items()
        return {name: np.array(values, dtype=float)[:, rows] for name, values in found} or None

    def basis(self, names: list) -> np.ndarray:
        """Matrices [f, bones, 4, 4] that give the recorded poses when nothing else acts on the bones."""
        return basis_of(self.obj.data.bones, names, np.array(self.poses))


def basis_of(bones, names: list, poses: np.ndarray) -> np.ndarray:
    """Basis matrices [f, names, 4, 4] of bones of an armature that has these poses [f, bones, 4, 4] in its space.

    Keys hold no shear, which a bone has under a stretched parent (Rigify). There the bone's own axis is kept, and
    with it the place of its child joint; what follows is taken relative to the pose that the keys can give.
    """
    rows = [bones.find(name) for name in names]
    needed = set(rows)
    for row in rows:
        needed.update(bones.find(bone.name) for bone in bones[row].parent_recursive)
    result = np.empty((len(poses), len(rows), 4, 4))
    given = {}
    for row in sorted(needed):
        bone = bones[row]
        parent = bones.find(bone.parent.name) if bone.parent else -1
        if row not in rows:
            given[row] = poses[:, row]
            if parent >= 0 and given[parent] is not poses[:, parent]:
                given[row] = given[parent] @ np.linalg.inv(poses[:, parent]) @ poses[:, row]
            continue
        above = given[parent] if parent >= 0 else None
        local = _converted(bone, poses[:, row], above, invert=True)
        straight = _without_shear(local)
        result[:, rows.index(row)] = straight
        given[row] = poses[:, row] if straight is local else _converted(bone, straight, above, invert=False)
    return result


def _converted(bone, matrices, parents, invert: bool) -> np.ndarray:
    """Poses of a bone relative to its rest from poses in the character's space (`invert`), or the reverse [f, 4, 4].

    Args:
        parents: of the parent bone in the character's space [f, 4, 4], None at roots.
    """
    if bone.use_inherit_rotation and bone.inherit_scale == "FULL" and bone.use_local_location:
        frame = np.array(bone.matrix_local, dtype=float)
        if parents is not None:
            frame = parents @ (np.linalg.inv(np.array(bone.parent.matrix_local, dtype=float)) @ frame)
        return (np.linalg.inv(frame) if invert else frame) @ matrices
    # What does not inherit everything is left to Blender.
    above = [None] * len(matrices) if parents is None else parents
    return np.array([converted(bone, *pair, invert=invert) for pair in zip(matrices, above, strict=True)])


def _without_shear(matrices: np.ndarray) -> np.ndarray:
    """The matrices [f, 4, 4] themselves where they have no shear; else with orthogonal axes, y exactly as it was."""
    x, y, z = (matrices[:, :3, i] for i in range(3))
    length = np.linalg.norm(matrices[:, :3, :3], axis=1)
    products = np.stack([(x * y).sum(1), (y * z).sum(1), (z * x).sum(1)], axis=1)
    if np.all(np.abs(products) < SHEAR_TOLERANCE * length[:, [0, 1, 2]] * length[:, [1, 2, 0]]):
        return matrices
    result = matrices.copy()
    along = y / length[:, 1:2]
    side = x - along * (x * along).sum(1, keepdims=True)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    other = np.cross(side, along)
    result[:, :3, 0] = side * (x * side).sum(1, keepdims=True)
    result[:, :3, 2] = other * (z * other).sum(1, keepdims=True)
    return result
