"""What a bake has seen: the poses of a character frame by frame, and as relative to the bones' rest."""

from collections.abc import Iterator
from numbers import Integral

import numpy as np

from ... import keyframes, quaternion
from ...errors import RagdollError
from ..physics import source, view_layers, world
from ..rig.armature import array_of, converted, pose_matrices, rigid, values_of
from ..run import shot_run, simulate
from ..runtime import STATE
from ..stack import stack_edits
from . import actions, controls

CHANNELS = {"location": 3, "rotation_quaternion": 4, "rotation_axis_angle": 4, "rotation_euler": 3, "scale": 3}
# Closer to the animation than this physics does not count as acting: what a body at full weight is off by, and an
# angle that nobody sees [heights of the character, rad].
NEAR, NEARLY_PARALLEL = 0.5e-3, np.radians(0.3)
PASSES = 10  # most rounds of a cycle until it repeats
SHEAR_TOLERANCE = 1e-5  # cosine between two axes of a bone; single precision gives about 1e-6


def shown_pose(obj, scene) -> np.ndarray:
    """Matrices of a character's bones as the scene shows them [n, 4, 4], in the world."""
    posed = obj.evaluated_get(view_layers.depsgraph_of(scene))
    return array_of(posed.matrix_world) @ pose_matrices(posed)


def checked_range(obj, scene, first: int | None, last: int | None) -> tuple[int, int]:
    """The frames of a shot that are to be written, all where not given. Raises RagdollError: nothing moves the
    character, Blender does not evaluate it, or the shot has no such frames."""
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
    first, last = (own if given is None else given for given, own in zip((first, last), shot, strict=True))
    if not (isinstance(first, Integral) and isinstance(last, Integral) and first < last):
        raise RagdollError(f"Frames {first} to {last}: a range has two whole frames or more (or Pose This Frame)")
    if not shot[0] <= first < last <= shot[1]:
        raise RagdollError(f"Frames {first} to {last} are not within the shot, {shot[0]} to {shot[1]}")
    return first, last


def _shown_frames(scene, first, last) -> Iterator[int]:
    stack_edits.end_previews(scene)
    own = [obj.active_ragdoll for obj in shot_run.active_ragdolls(scene)]
    stale = any(settings.cache_outdated or settings.layout_changed for settings in own)
    shot = world.shot_range(scene)
    unreadable = shot[0] < 0 <= shot[1]  # see showing.show_cached
    if own and (unreadable or stale or not world.cache_covers_shot(scene)):
        yield from simulate.frames(scene)
        return
    STATE.interrupted = False
    for frame in range(first, last + 1):
        simulate.go_to(scene, frame)
        yield frame


def differ(now: np.ndarray, then: np.ndarray, near, parallel=NEARLY_PARALLEL) -> bool:
    """Whether any of some poses [n, 4, 4] are further apart than distances or angles [n] that nobody sees."""
    apart = np.linalg.norm(now[:, :3, 3] - then[:, :3, 3], axis=1)
    # The chord between two axes of a turned bone is its angle, as long as that is small.
    turned = np.linalg.norm((rigid(now) - rigid(then))[:, :3, :3], axis=1).max(axis=1)
    return bool(np.any(apart > near) or np.any(turned > parallel))


class Recorder:
    """Pose matrices of a character's bones, frame by frame; `adds`: to become keys that add to the animation."""

    def __init__(self, obj, scene, adds: bool) -> None:
        self.obj, self.scene = obj, scene
        self.numbers, self.poses, self.worlds = [], [], []  # frames; matrices of the bones, and of the object
        self.bases, self.places = [], []  # of the object without its parents: matrices, and its location
        self.solved, self.off = [], []  # by `solve`: basis matrices of the controls, how far off the bones are
        self.adds, self.goes_on = adds, actions.NO  # the animation, see `actions.bake`

    def watch(self, first: int, last: int) -> Iterator[int]:
        """Record a range, yielding each frame; what is simulated before that range is yielded too."""
        for frame in _shown_frames(self.scene, first, last):
            if first <= frame <= last:
                self.record(frame)
            yield frame

    def watch_loop(self, first: int, last: int) -> Iterator[int]:
        """Record a range as a cycle, yielding its frames again and again: it is simulated until its end repeats.

        An action that plays alone goes round with it; what else is animated plays on."""
        own, period, cached = self.scene.active_ragdoll, last - first, world.cache_covers_shot(self.scene)
        before = own.use_range, own.frame_start, own.frame_end
        with actions.repeated(self.obj, first, last, PASSES):
            simulate.use_range(self.scene, first, first + PASSES * period)
            running = simulate.frames(self.scene)
            try:
                for frame in running:
                    self.record(frame)
                    yield first + (frame - first) % period
                    if frame > first + period and frame % period == first % period and self._repeats(period):
                        break
            finally:
                running.close()
                own.use_range, own.frame_start, own.frame_end = before
                simulate.forget(self.scene)
        self.keep(slice(-period - 1, None))
        self.numbers = list(range(first, last + 1))
        if cached:  # so that it is again after a revert
            yield from simulate.frames(self.scene)

    def _repeats(self, period: int) -> bool:
        """Whether the last two frames are those of a period before: places and speeds are the same."""
        rows = [self.obj.data.bones.find(part.bone) for part in self.obj.active_ragdoll.parts]
        near = NEAR * self.obj.active_ragdoll.height / max(self.obj.active_ragdoll.built_scale, 1e-12)
        pairs = [(self.poses[i][rows], self.poses[i - period][rows]) for i in (-1, -2)]
        return not any(differ(now, then, near) for now, then in pairs)

    def record(self, frame: int) -> None:
        """Record what is shown."""
        posed = self.obj.evaluated_get(view_layers.depsgraph_of(self.scene))
        self.numbers.append(frame)
        self.poses.append(pose_matrices(posed))
        self.worlds.append(array_of(posed.matrix_world))
        self.bases.append(array_of(posed.matrix_basis))
        self.places.append(np.array(posed.location))

    def solve(self, carried: controls.Controls, root: str | None = None) -> Iterator[int]:
        """Find the poses of controls for what was recorded, yielding each frame that is done.

        `root` is a bone that is posed as recorded; it becomes the last one of those that are solved."""
        basis = None
        given = self.basis([root]) if root else np.empty((len(self.numbers), 0, 4, 4))
        for at, (frame, poses) in enumerate(zip(self.numbers, self.poses, strict=True)):
            with STATE.occupied():
                basis, off = carried.solve(frame, poses, basis, {root: given[at, 0]} if root else {})
            self.solved.append(np.concatenate([basis, given[at]]))
            self.off.append(off)
            yield frame

    def keep(self, frames: slice) -> None:
        """Forget the other frames."""
        for name in ("numbers", "poses", "worlds", "bases", "places"):
            setattr(self, name, getattr(self, name)[frames])

    def below(self, names: list, paths) -> dict | None:
        """The animation's channels [f, bones, k] of bones by the property, and values [f, k] of others by their data
        paths; None if nothing is added to it."""
        if not self.adds:
            return None
        rows, hidden, found = [self.obj.data.bones.find(name) for name in names], self.scene.active_ragdoll.source, []
        with STATE.occupied():
            source.follow(self.obj)  # which may have got constraints since it was simulated
            for frame in self.numbers:
                hidden.frame_set(frame)
                posed = source.evaluated(self.obj)
                channels = (values_of(posed.pose.bones, name, size)[rows] for name, size in CHANNELS.items())
                found.append([*channels, *(np.atleast_1d(posed.path_resolve(path)) for path in paths)])
            hidden.frame_set(self.scene.frame_current)
        values = (np.array(values, dtype=float) for values in zip(*found, strict=True))
        return dict(zip((*CHANNELS, *paths), values, strict=True))

    def basis(self, names: list) -> np.ndarray:
        """Matrices [f, bones, 4, 4] that give the recorded poses when nothing else acts on the bones."""
        return basis_of(self.obj.data.bones, names, np.array(self.poses))


def basis_of(bones, names: list, poses: np.ndarray) -> np.ndarray:
    """Basis matrices [f, names, 4, 4] of bones of an armature that has these poses [f, bones, 4, 4] in its space.

    Keys hold no shear, which a bone has under a stretched parent (Rigify). There the bone's own axis is kept, and
    with it the place of its child joint; what follows is taken relative to the pose that the keys can give.
    """
    rows = [bones.find(name) for name in names]
    needed = {bones.find(bone.name) for row in rows for bone in (bones[row], *bones[row].parent_recursive)}
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
        straight = without_shear(local)
        result[:, rows.index(row)] = straight
        given[row] = poses[:, row] if straight is local else _converted(bone, straight, above, invert=False)
    return result


def _converted(bone, matrices, parents, invert: bool) -> np.ndarray:
    """Poses of a bone relative to its rest from poses in the character's space (`invert`), or the reverse [f, 4, 4]."""
    if bone.use_inherit_rotation and bone.inherit_scale == "FULL" and bone.use_local_location:
        frame = np.array(bone.matrix_local, dtype=float)
        if parents is not None:
            frame = parents @ (np.linalg.inv(np.array(bone.parent.matrix_local, dtype=float)) @ frame)
        return (np.linalg.inv(frame) if invert else frame) @ matrices
    # What does not inherit everything is left to Blender.
    above = [None] * len(matrices) if parents is None else parents
    return np.array([converted(bone, *pair, invert=invert) for pair in zip(matrices, above, strict=True)])


def without_shear(matrices: np.ndarray) -> np.ndarray:
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


def closed(poses: np.ndarray, frames: int) -> np.ndarray:
    """Poses [f, n, 4, 4] as a cycle: what the last ones lack to the first is spread over the frames before."""
    location, rotation, scale = keyframes.decompose(poses)
    share = np.clip(1.0 - np.arange(len(poses))[::-1] / max(frames, 1), 0.0, 1.0)
    share = (share**2 * (3.0 - 2.0 * share))[:, None, None]
    lack = quaternion.multiply(quaternion.conjugate(rotation[-1]), rotation[0])
    turn = quaternion.from_rotation_vector(share * quaternion.to_rotation_vector(lack))
    axes = quaternion.to_matrix(quaternion.multiply(rotation, turn))
    result = poses.copy()
    result[..., :3, :3] = axes * (scale + share * (scale[0] - scale[-1]))[..., None, :]
    result[..., :3, 3] = location + share * (location[0] - location[-1])
    return np.where(share[..., None] > 0.0, result, poses)  # the others may have a shear
