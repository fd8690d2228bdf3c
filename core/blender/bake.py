"""The result as ordinary keyframes on a new action, with one way back."""

import json
from collections.abc import Iterator

import numpy as np
from mathutils import Matrix

from ..errors import RagdollError
from . import action_channels, action_poses, actions, layer_tools, motion, shot_run, simulate, source, world
from .runtime import STATE

SHEAR_TOLERANCE = 1e-5  # cosine between two axes of a bone; single precision gives about 1e-6


def frames(obj, scene, first: int | None = None, last: int | None = None) -> Iterator[int]:
    """Bake a character, yielding each frame while the scene stands at it.

    Frames come from the baked cache when it is up to date, else from a new simulation of the shot. When all are
    done the new action is assigned, the old one kept, and the ragdoll muted. Stopping early changes nothing.

    Args:
        obj: the character.
        scene: its scene.
        first, last: frames to write; the whole shot when not given.
    Raises:
        RagdollError: nothing to bake, a range outside the shot, or trouble in the simulation.
    """
    settings = obj.active_ragdoll
    if not settings.is_ragdoll and settings.target_armature is None:
        raise RagdollError(f"'{obj.name}' has no ragdoll: build one first")
    if settings.muted:
        raise RagdollError(f"'{obj.name}' is baked already: revert the bake first")
    shot = world.shot_range(scene)
    first = shot[0] if first is None else first
    last = shot[1] if last is None else last
    if not shot[0] <= first < last <= shot[1]:
        raise RagdollError(f"Frames {first} to {last} are not within the shot, {shot[0]} to {shot[1]}")
    layer_tools.end_previews(scene)
    current = scene.frame_current
    recorder = _Recorder(obj, scene)
    for frame in _shown_frames(scene, first, last):
        if first <= frame <= last:
            recorder.record(frame)
        yield frame
    stack = motion.of(obj)
    _write(obj, scene, recorder, [] if stack is None else stack.touched_names())
    scene.frame_set(current)


def revert(obj) -> None:
    """Back to the action from before the bake, and the live ragdoll; the baked action stays in the file.

    Raises:
        RagdollError: the character is not baked.
    """
    settings = obj.active_ragdoll
    if not settings.muted:
        raise RagdollError(f"'{obj.name}' is not baked")
    record = json.loads(settings.bake_record)
    was_building, STATE.building = STATE.building, True
    try:
        actions.restore(obj, actions.AnimationState(**record["animation"]), settings.old_action)
        for bone_name, constraint_name in record["muted"]:
            bone = obj.pose.bones.get(bone_name)
            constraint = bone.constraints.get(constraint_name) if bone else None
            if constraint is not None:
                constraint.mute = False
        _mute_own(obj, False)
        settings.muted = False
        for name in ("bake_record", "old_action", "baked_action"):
            settings.property_unset(name)
    finally:
        STATE.building = was_building
    source.refresh(obj)


class _Recorder:
    """Pose matrices of a character's bones, frame by frame."""

    def __init__(self, obj, scene) -> None:
        self.obj, self.scene = obj, scene
        self.numbers, self.poses = [], []

    def record(self, frame: int) -> None:
        bones = self.obj.evaluated_get(shot_run.depsgraph_of(self.scene)).pose.bones
        buffer = np.empty((len(bones), 4, 4), dtype=np.float32)
        bones.foreach_get("matrix", buffer.ravel())
        self.numbers.append(frame)
        self.poses.append(buffer)

    def basis(self, names: list) -> np.ndarray:
        """Matrices [f, bones, 4, 4] that give the recorded poses when nothing else acts on the bones.

        Keys hold no shear, which a bone has under a stretched parent (Rigify). There the bone's own axis is kept, and
        with it the place of its child joint; what follows is taken relative to the pose that the keys can give.
        """
        poses = np.array(self.poses).transpose(0, 1, 3, 2).astype(float)
        bones = self.obj.data.bones
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
            local = self._local(bone, poses[:, row], above)
            straight = _without_shear(local)
            result[:, rows.index(row)] = straight
            given[row] = poses[:, row] if straight is local else self._posed(bone, straight, above)
        return result

    def _rest(self, bone) -> np.ndarray:
        rest = np.array(bone.matrix_local, dtype=float)
        if bone.parent:
            rest = np.linalg.inv(np.array(bone.parent.matrix_local, dtype=float)) @ rest
        return rest

    def _local(self, bone, poses, parents) -> np.ndarray:
        if not (bone.use_inherit_rotation and bone.inherit_scale == "FULL" and bone.use_local_location):
            return self._converted(bone, poses, parents, invert=True)
        frame = self._rest(bone) if parents is None else parents @ self._rest(bone)
        return np.linalg.inv(frame) @ poses

    def _posed(self, bone, locals_, parents) -> np.ndarray:
        if not (bone.use_inherit_rotation and bone.inherit_scale == "FULL" and bone.use_local_location):
            return self._converted(bone, locals_, parents, invert=False)
        frame = self._rest(bone) if parents is None else parents @ self._rest(bone)
        return frame @ locals_

    @staticmethod
    def _converted(bone, poses, parents, invert: bool) -> np.ndarray:
        """Blender's own conversion, for bones that do not inherit everything."""
        result = []
        for i, pose in enumerate(poses):
            extra = {}
            if parents is not None:
                extra = {
                    "parent_matrix": Matrix(parents[i].tolist()),
                    "parent_matrix_local": bone.parent.matrix_local,
                }
            local = bone.convert_local_to_pose(Matrix(pose.tolist()), bone.matrix_local, invert=invert, **extra)
            result.append(np.array(local))
        return np.array(result)


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


def _shown_frames(scene, first, last) -> Iterator[int]:
    stale = any(
        o.active_ragdoll.cache_outdated or o.active_ragdoll.layout_changed for o in shot_run.active_ragdolls(scene)
    )
    shot = world.shot_range(scene)
    unreadable = shot[0] < 0 <= shot[1]  # see showing.show_cached
    if shot_run.active_ragdolls(scene) and (unreadable or stale or not world.cache_covers_shot(scene)):
        yield from simulate.frames(scene)
        return
    for frame in range(first, last + 1):
        scene.frame_set(frame)
        yield frame


def _write(obj, scene, recorder, touched: list) -> None:
    """Key what was recorded: bones with bodies, those that follow them, and those that the motion stack touched."""
    settings = obj.active_ragdoll
    names = list(dict.fromkeys([part.bone for part in settings.parts] + source.followers(obj) + touched))
    if not names:
        raise RagdollError(f"Nothing moves '{obj.name}' beyond its animation: there is nothing to bake")
    poses = action_poses.Poses.from_matrix_basis(names, recorder.numbers, recorder.basis(names))
    tolerance = None
    if settings.key_tolerance > 0.0:
        tolerance = action_poses.Tolerance(
            rotation=float(np.radians(settings.key_tolerance)),
            location=settings.key_tolerance * 1e-3 * settings.height / max(settings.built_scale, 1e-12),
        )
    was_building, STATE.building = STATE.building, True
    try:
        old, _slot = action_channels.current(obj)
        muted = _mute_rig(obj, names)
        action, state = actions.bake(obj, poses, f"{obj.name} Ragdoll Bake", tolerance=tolerance)
        settings.old_action, settings.baked_action = old, action
        settings.bake_record = json.dumps({"animation": json.loads(state.to_json()), "muted": muted})
        _mute_own(obj, True)
        settings.muted = True
    finally:
        STATE.building = was_building
    source.refresh(obj)


def _mute_rig(obj, names) -> list:
    """Mute the rig's own constraints on baked bones, whose result is in the keys already."""
    muted = []
    for name in names:
        for constraint in obj.pose.bones[name].constraints:
            if not constraint.name.startswith(source.CONSTRAINT_NAME) and not constraint.mute:
                constraint.mute = True
                muted.append((name, constraint.name))
    return muted


def _mute_own(obj, on: bool) -> None:
    for bone in obj.pose.bones:
        for name in (source.CONSTRAINT_NAME, source.TARGET_NAME):
            constraint = bone.constraints.get(name)
            if constraint is not None:
                constraint.mute = on


def deviation(obj, scene, recorded: dict) -> float:
    """Largest distance between bones played now and recorded before, as a share of the character's height.

    Args:
        recorded: pose matrices [n, 4, 4] (as `foreach_get` gives them) by frame.
    """
    worst = 0.0
    for frame, before in recorded.items():
        scene.frame_set(frame)
        bones = obj.evaluated_get(shot_run.depsgraph_of(scene)).pose.bones
        now = np.empty((len(bones), 4, 4), dtype=np.float32)
        bones.foreach_get("matrix", now.ravel())
        worst = max(worst, float(np.abs(now[:, 3, :3] - before[:, 3, :3]).max()))
    height = obj.active_ragdoll.height / max(obj.active_ragdoll.built_scale, 1e-12)
    return worst / height
