"""The motion stack of a character at run time: from its animated pose to the pose that physics follows.

Entries may keep a state from frame to frame (smoothing, hysteresis). States are stepped from the shot's first frame and
recorded by frame; a jump steps through the missing frames, so that it shows what playing would show.
"""

import json
import math
from itertools import takewhile

import bpy
import numpy as np

from ... import pose as pose_space
from ...errors import RagdollError
from ...motion import stack
from ..physics import built, source, world
from ..rig import clips
from ..rig.armature import anatomy_of, armatures, array_of, converted, pose_matrices
from ..runtime import STATE
from ..settings import at_frame
from . import entries
from .world_reader import WorldReader, tidy

_LEAST_SIZE = 1e-5  # smallest size of a bone relative to bind pose


class PoseStack:
    """A character's stack, made from its settings and remade when they change.

    Attributes:
        obj: the character. rig: its skeleton and bind pose. entries: in order.
        messages: why entries were left out, by the entries' names. states: of the entries, by frame.
        seen: what was read from the simulation, by frame.
        stamp: of the bones and settings that it was made with; see `at_frame`.
        keyed: whether a setting of the character is animated, so that all are read from the source.
    """

    def __init__(self, obj) -> None:
        self.obj = obj
        if not obj.active_ragdoll.is_ragdoll:  # whose source its run looks after
            source.follow(obj)
        self.stamp = at_frame.stamp(obj)
        self.keyed = at_frame.is_keyed(obj)
        if self.keyed:
            at_frame.carry(obj)
        tidy(source.scene_of(obj))
        self._rest = clips.RigRest(obj)
        skeleton = self._rest.skeleton
        self.rig = stack.Rig(skeleton, self._rest.bind, lambda: anatomy_of(obj).roles)
        self.entries, self.problems = entries.of(obj, self.rig)
        self.messages = dict(self.problems)
        self.states = {}
        self.seen = _stored_seen(obj)
        self._last = None
        self._touched = np.zeros(len(skeleton), dtype=bool)
        bind = pose_space.compose_matrices(self._rest.bind.positions, self._rest.bind.rotations)
        self._to_basis = np.linalg.inv(bind)[skeleton.from_level]

    def pose(self, scene, frame: int, *, record: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """The pose after the stack at the frame at which the hidden scene stands.

        Returns matrices in armature space and basis matrices, both [n, 4, 4] in Blender's order. A pose that is not to
        be recorded leaves no trace but for the states of the frames before it.
        """
        if sum(entry.refresh() for entry in self.entries):  # all of them, not only up to the first that tells
            self.states.clear()
        first = world.first_frame(scene)
        if frame > first and frame - 1 not in self.states:
            self._catch_up(scene, frame, first)
        matrices, basis, states = self._posed(scene, frame, first, record and self._last == frame - 1, record)
        if record:
            self.states[frame] = states
            self._last = frame
        return matrices, basis

    def animated(self, scene, frame: int) -> np.ndarray:
        """Matrices in armature space [n, 4, 4] that come to recovery at a frame at which the hidden scene stands."""
        entries = list(takewhile(lambda entry: not entry.plays_elsewhere, self.entries))
        return self._posed(scene, frame, world.first_frame(scene), record=False, entries=entries)[0]

    def _catch_up(self, scene, frame: int, first: int) -> None:
        """Step through the frames before one that was jumped to."""
        if not any(entry.keeps_state for entry in self.entries):
            return
        known = [f for f in self.states if first <= f < frame]
        hidden = scene.active_ragdoll.source
        for passed in range(max(known) + 1 if known else first, frame):
            hidden.frame_set(passed)
            self.states[passed] = self._posed(scene, passed, first)[2]
        hidden.frame_set(frame)

    def _posed(self, scene, frame: int, first: int, playing: bool = False, record: bool = True, entries=None) -> tuple:
        """Matrices and basis matrices [n, 4, 4] at a frame, and the entries' states after it."""
        states, skeleton = self.states.get(frame - 1) if frame > first else None, self.rig.skeleton
        self._frame, self._records, given = frame, record, self.entries if entries is None else entries
        now = source.evaluated(self.obj)
        matrices = pose_matrices(now)
        try:
            local = pose_space.model_to_local_matrices(skeleton, matrices[skeleton.to_level])
        except RagdollError:
            matrices = _with_extent(matrices)
            local = pose_space.model_to_local_matrices(skeleton, matrices[skeleton.to_level])
        before = stack.MatrixPose(local)
        memory = self.seen.setdefault(frame, {}) if record else dict(self.seen.get(frame, {}))
        reader = WorldReader(scene, self.obj, now, matrices, frame, memory, playing, self._other, self.keyed)
        after, states, failed = stack.run(given, self.rig, before, reader, states, reader.seconds)
        self.messages = self.problems | failed
        changed = np.zeros(len(skeleton), dtype=bool)
        for name in ("positions", "rotations", "scales") if after is not before else ():
            changed |= np.any(getattr(after, name) != getattr(before, name), axis=-1)
        if changed.any():
            self._touched |= changed
            # Bones that no entry touched keep their matrices to the last bit, shear included.
            parts = (after.positions, after.rotations, after.scales)
            local = local.copy()
            local[changed] = pose_space.compose_matrices(*(part[changed] for part in parts))
            matrices = pose_space.local_to_model_matrices(skeleton, local)[skeleton.from_level]
        basis, bones = self._to_basis @ local[skeleton.from_level], self.obj.data.bones
        for row in self._rest.special:
            parent = bones[row].parent
            above = None if parent is None else matrices[bones.find(parent.name)]
            basis[row] = converted(bones[row], matrices[row], above, invert=True)
        return matrices, basis, states

    def _other(self, other) -> tuple[np.ndarray, np.ndarray]:
        """World matrix and bone matrices of another character without physics, at the frame that is posed.

        Characters before this one in the scene are read after their stacks, later ones before theirs, so that two never
        wait for each other.
        """
        now, scene = source.evaluated(other), source.scene_of(self.obj)
        before = of(other) if other in takewhile(lambda obj: obj != self.obj, characters(scene)) else None
        posed = pose_matrices(now) if before is None else before.pose(scene, self._frame, record=self._records)[0]
        return array_of(now.matrix_world), posed

    def touched_names(self) -> list[str]:
        """Bones whose pose relative to the parent an entry has changed so far."""
        return [self.rig.skeleton.names[row] for row in np.flatnonzero(self._touched)]


def _with_extent(matrices: np.ndarray) -> np.ndarray:
    """Matrices [n, 4, 4] in which bones scaled to zero keep some size: the stack and Blender divide by a parent's."""
    result = matrices.copy()
    rows = np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)))
    turned, sizes, axes = np.linalg.svd(matrices[rows, :3, :3])
    result[rows, :3, :3] = (turned * np.maximum(sizes, _LEAST_SIZE)[:, None, :]) @ axes
    return result


def with_stack(scene) -> list:
    """The characters of a scene that have a motion stack, be it one of another scene's or a duplicate's."""
    return [obj for obj in armatures(scene.objects) if obj.active_ragdoll.target_armature is not None]


def characters(scene) -> list:
    """The characters that have their motion stack in a scene."""
    return [obj for obj in with_stack(scene) if source.scene_of(obj) in (scene, None)]


def guests(scene) -> list:
    """The characters of a scene that have their motion stack in another one; not those that play baked keys."""
    return [o for o in with_stack(scene) if source.scene_of(o) not in (scene, None) and not o.active_ragdoll.muted]


def of(obj) -> PoseStack | None:
    """The stack of a character; None if it has none or its result is baked."""
    settings = obj.active_ragdoll
    if settings.target_armature is None or settings.muted:
        return None
    if settings.is_ragdoll and settings.source is None:  # a duplicate of one that was removed; see `reconcile`
        return None
    place = source.scene_of(obj)
    if place is None or place.library is not None or place.active_ragdoll.source is None:
        return None  # linked, or a copy of one that was removed, in a copy of its scene
    found = STATE.motions.get(obj.name)
    if found is None or found.obj != obj or found.stamp != at_frame.stamp(obj):
        found = STATE.motions[obj.name] = PoseStack(obj)
        for text in found.problems.values():
            print(f"Active Ragdoll: '{obj.name}': {text}")
    elif found.keyed and not source.stamp_of(obj).settings:
        at_frame.carry(obj)
    return found


def show(scene, done=(), known=None, keep_hand_pose: bool = False) -> None:
    """Pose the targets of characters at the frame that the scene is about to show.

    A sub-frame, as motion blur asks for, lies between the poses of the two frames around it and is not recorded.

    Args:
        done: names of characters that a run has posed already.
        known: those that may be posed; without, all that have their motion stack in the scene.
        keep_hand_pose: keep edits by hand that no key holds, where the hidden scene stands at the frame.
    """
    hidden = scene.active_ragdoll.source
    if done and (len(hidden.objects) <= len(done) or len(armatures(hidden.objects)) <= len(done)):
        return  # nobody else has a source: looking through all objects of the scene takes long
    todo = [obj for obj in (characters(scene) if known is None else known) if obj.name not in done]
    # Before the evaluation, because making a stack may link objects into the hidden scene.
    stacks = [found for obj in todo if (found := of(obj)) is not None]
    if not stacks:
        return
    now = scene.frame_current_final  # of the remapped time, with its sub-frame
    frame = math.floor(now)  # before frame 0 sub-frames are negative
    poses = _bases(stacks, frame, frame == now, keep_hand_pose)
    if frame != now:
        coming = _bases(stacks, frame + 1, record=False)
        poses = [pose_space.between(a, b, now - frame) for a, b in zip(poses, coming, strict=True)]
    for found, basis in zip(stacks, poses, strict=True):
        write_target(found.obj, basis)


def show_guests(scene) -> None:
    """Likewise for characters that have their stack in another scene of the file; else they play their animation."""
    found = guests(scene)
    if not found:
        return
    sharing = built.duplicates("motion_collection")
    still = [obj for obj in found if obj in sharing or of(obj) is None]
    for obj in still:
        for _bone, constraint in source.own_constraints(obj):  # there is nothing that they could copy
            if not constraint.mute:
                constraint.mute = True
    show(scene, known=[obj for obj in found if obj not in still])


def _bases(stacks: list, frame: int, record: bool, keep_hand_pose: bool = False) -> list:
    """Basis matrices [n, 4, 4] of characters after their stacks at a frame, each in the scene that has its stack."""
    places = [source.scene_of(found.obj) for found in stacks]
    for place in dict.fromkeys(places):
        hidden = source.source_scene(place)
        if keep_hand_pose and hidden.frame_current == frame:
            hidden.view_layers[0].update()
        else:
            hidden.frame_set(frame)
    return [found.pose(place, frame, record=record)[1] for found, place in zip(stacks, places, strict=True)]


def write_target(obj, basis: np.ndarray) -> None:
    """Pose the target armature: basis matrices [n, 4, 4] in Blender's order."""
    target = obj.active_ragdoll.target_armature
    columns = np.ascontiguousarray(basis.transpose(0, 2, 1), dtype=np.float32)
    target.pose.bones.foreach_set("matrix_basis", columns.ravel())
    # Tagging its data, which all copies of the character share, would copy them all anew without what a run wrote.
    target.update_tag(refresh={"OBJECT"})


def store_seen(scene) -> None:
    """Store what the stacks of a simulated shot have read of the simulation, which a file that is opened needs."""
    for obj in characters(scene):
        found, rows = STATE.motions.get(obj.name), {}
        for frame, read in found.seen.items() if found is not None else ():
            if read:
                rows[frame] = [[list(key), np.asarray(value).tolist()] for key, value in read.items()]
        if rows:
            obj.active_ragdoll.seen = json.dumps(rows)


def _stored_seen(obj) -> dict:
    """{frame: {key: array}} that `store_seen` stored; nothing where it is damaged."""
    try:
        found = json.loads(obj.active_ragdoll.seen or "{}").items()
        return {int(frame): {tuple(key): np.array(value) for key, value in rows} for frame, rows in found}
    except (ValueError, TypeError, AttributeError):
        return {}


def forget(obj: bpy.types.Object | None = None) -> None:
    """Drop the stack and its record of one character, or of all, so that it is remade."""
    for name in {*STATE.motions, *STATE.stamps} if obj is None else (obj.name,):
        STATE.motions.pop(name, None)
        if name in STATE.stamps:
            STATE.stamps[name].edits = None  # edits by hand are carried to the source once more


def poses_over(obj, scene, first: int, last: int) -> np.ndarray:
    """Pose matrices [f, n, 4, 4] after the stack, sampled over a frame range as `source.poses_over` does."""
    own = PoseStack(obj)
    hidden = scene.active_ragdoll.source
    poses = []
    for frame in source.sampled_frames(first, last):
        hidden.frame_set(int(frame))
        poses.append(own.pose(scene, int(frame), record=False)[0])
    return np.array(poses)


# ---- after edits ----------------------------------------------------------------------------------------------------
# Only for scenes without a run: in a run, the next step takes edits into account.
def show_now(scene, keep_hand_pose: bool = False) -> None:
    """Pose the target armatures of a scene's characters again at the frame that is shown; see `show`."""
    if scene is None or scene.active_ragdoll.source is None or STATE.busy or scene.name in STATE.runs:
        return
    with STATE.occupied():
        known = [obj for obj in characters(scene) if obj.name not in STATE.messages]
        show(scene, known=known, keep_hand_pose=keep_hand_pose)


def show_when_idle(obj) -> None:
    """Call `show_now` once Blender is idle; for callbacks of settings, where nothing may be evaluated."""
    if bpy.app.background or STATE.building:
        return
    if not STATE.waiting:
        bpy.app.timers.register(_show_waiting, first_interval=0.0)
    STATE.waiting.add(obj.name)


def _show_waiting() -> None:
    names, STATE.waiting = STATE.waiting, set()
    for scene in {source.scene_of(obj) for name in names if (obj := bpy.data.objects.get(name)) is not None}:
        show_now(scene)


def after_edits(scene, moved: set, changed: set) -> None:
    """Show what was posed by hand, and call `show_now` if what was edited matters to a motion stack.

    `moved` and `changed` are objects whose place, and whose place or pose, changed. Bodies of a run stay where they
    are, but not those of its first frame: where the shot begins, it begins anew with the next step.
    """
    edited = False
    for obj in (obj for obj in changed if obj.type == "ARMATURE" and source.scene_of(obj) == scene):
        if obj.active_ragdoll.muted:
            continue
        run, stack = STATE.runs.get(scene.name), STATE.motions.get(obj.name)
        rests = run is None or run.frame == run.first
        carried = source.carry_edits(obj, rests)
        if carried and rests:
            STATE.runs.pop(scene.name, None)
        edited |= stack is not None and (carried or stack.stamp != at_frame.stamp(obj))
    if scene.name in STATE.runs or not STATE.motions:
        return
    hidden, own = scene.active_ragdoll.source, {o.active_ragdoll.source for o in characters(scene)}
    if hidden is not None and any(o in moved and o not in own for o in hidden.collection.objects):  # what is read
        show_now(scene)
    elif edited:
        show_now(scene, keep_hand_pose=True)
