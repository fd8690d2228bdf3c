"""Clips: a motion as one local pose per frame, played at any time, speed and direction; in phase; additive poses."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import pose as pose_space
from .. import quaternion
from ..errors import RagdollError
from ..skeleton import Skeleton
from .stack import LocalPose

ONCE, LOOP, PING_PONG = "ONCE", "LOOP", "PING_PONG"
NORMALIZED, MARKERS = "NORMALIZED", "MARKERS"
_ON_FRAME = 1e-9  # a time this close to a frame, in frames, is that frame: sums of single steps are not exact


@dataclass
class Clip:
    """A motion sampled at whole frames; bones in the level order of the skeleton it is made for."""

    name: str  # for messages
    bones: tuple[str, ...]  # names in level order [n]
    fps: float  # frames per second
    poses: LocalPose  # [f, n], f >= 1; or an `AdditivePose` of that shape, which all samples are then too
    start_frame: float = 0.0  # frame of the action that pose 0 was sampled at
    missing: tuple[str, ...] = ()  # bones that the motion moves and the skeleton does not have
    unanimated: tuple[str, ...] = ()  # bones of the skeleton that the motion does not move: they stand in bind pose
    # Names and times [s] of foot contacts or other events, in order of time; see `SyncGroup`
    markers: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        self.frame_count = len(self.poses.rotations)
        self.length = (self.frame_count - 1) / self.fps  # time [s] from the first pose to the last

    def pose(self, frame: int) -> LocalPose:
        """The pose [n] at a whole frame, counted from the first."""
        return take(self.poses, frame)

    def clip_time(self, time: float, *, start: float = 0.0, speed: float = 1.0, mode: str = LOOP) -> float:
        """Time [s] within the clip, 0 .. length, at a time of the shot [s]; on whole frames that of a pose.

        Args:
            start: When the clip begins to play [s]; before it the clip stands in its first pose (ONCE) or has been
                playing for ever.
            speed: Seconds of the clip per second; negative: backwards, from its end at `start`.
            mode: ONCE holds the ends, LOOP goes on at the other end, PING_PONG turns round at them.

        Raises RagdollError: a time, start or speed that is not a number.
        """
        for what, value in (("time", time), ("start", start), ("speed", speed)):
            if not math.isfinite(value):
                raise RagdollError(f'The {what} of clip "{self.name}" is not a number')
        played = (time - start) * speed + (self.length if speed < 0.0 else 0.0)
        count = self.frame_count - 1
        if mode == ONCE or count == 0:
            return min(max(played, 0.0), self.length)
        # Counted in frames, whose number is exact, so that a loop does not drift. At the end of a round the last pose
        # is shown when played backwards from there, otherwise the first, which a cycle has there as well.
        frames = _rounded(played * self.fps)
        if mode == PING_PONG:
            return (count - abs(frames % (2 * count) - count)) / self.fps
        wrapped = frames % count
        return (count if wrapped == 0.0 and speed < 0.0 else wrapped) / self.fps

    def at(self, clip_time: float) -> LocalPose:
        """The pose [n] at a time within the clip [s], which is held at its ends.

        Between frames positions and scales are interpolated linearly and rotations on the shortest arc."""
        below, share = self.place(clip_time)
        if share == 0.0:
            return take(self.poses, below)
        return between(take(self.poses, below), take(self.poses, below + 1), np.array(share))

    def place(self, clip_time: float) -> tuple[int, float]:
        """The frame at or before a time within the clip [s], and how far it is to the next, 0 on a frame."""
        frame = _rounded(min(max(clip_time * self.fps, 0.0), self.frame_count - 1))
        return int(frame), frame - int(frame)

    def mapped(self, skeleton: Skeleton, bind: LocalPose) -> "Clip":
        """This motion on another skeleton's bones of the same names, relative to the parent bones; other bones stand in
        that skeleton's bind pose [n]. Raises RagdollError: no bone of the clip is in the skeleton."""
        row = {bone: i for i, bone in enumerate(self.bones)}
        target = [i for i, bone in enumerate(skeleton.names) if bone in row]
        if not target:
            listed = ", ".join(f'"{bone}"' for bone in self.bones[:5])
            raise RagdollError(f'No bone of clip "{self.name}" is in the skeleton; it has {listed}')
        source = [row[skeleton.names[i]] for i in target]
        arrays = []
        for own, still in zip(vars(self.poses).values(), vars(bind).values(), strict=True):
            arrays.append(np.repeat(still[None], self.frame_count, axis=0))
            arrays[-1][:, target] = own[:, source]
        there = set(skeleton.names)
        missing = (*self.missing, *(b for b in self.bones if b not in there and b not in self.unanimated))
        still = tuple(b for b in skeleton.names if b in self.unanimated or b not in row)
        return replace(self, bones=skeleton.names, poses=LocalPose(*arrays), missing=missing, unanimated=still)

    @staticmethod
    def from_poses(name: str, bones: Sequence[str], fps: float, poses: Sequence[LocalPose], times: ArrayLike) -> "Clip":
        """A clip that goes through poses [n] at times [s], on shortest arcs between them; the first time is its start.

        Poses between whole frames are met as nearly as the frame rate allows.
        Raises RagdollError: times that do not rise.
        """
        times = np.asarray(times, dtype=np.float64)
        if not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
            raise RagdollError(f'The times of clip "{name}" must rise from pose to pose')
        stacked = stack(poses)
        count = math.ceil(_rounded((times[-1] - times[0]) * fps)) + 1
        wanted = np.clip(times[0] + np.arange(count) / fps, times[0], times[-1])
        if len(poses) == 1:
            return Clip(name, tuple(bones), fps, stacked)
        below = np.clip(np.searchsorted(times, wanted + _ON_FRAME / fps, side="right") - 1, 0, len(times) - 2)
        share = np.clip((wanted - times[below]) / (times[below + 1] - times[below]), 0.0, 1.0)
        share = np.where(share < _ON_FRAME, 0.0, np.where(share > 1.0 - _ON_FRAME, 1.0, share))
        frames = interpolate(take(stacked, below), take(stacked, below + 1), share[:, None])
        return Clip(name, tuple(bones), fps, frames)


def interpolate(a: LocalPose, b: LocalPose, share: ArrayLike) -> LocalPose:
    """From a to b by shares, a number or [..., n]: a at 0 and b at 1, both to the bit; shortest arcs between.

    Of two additive poses the result is one, in the same space. Both are finite."""
    share = np.asarray(share, dtype=np.float64)
    if share.ndim == 0 and share == 1.0:
        return b
    result = between(a, b, share)
    whole = share[..., None] == 1.0
    if not whole.any():
        return result
    ends = (b.positions, result.positions), (b.rotations, result.rotations), (b.scales, result.scales)
    return like(a, *(np.where(whole, *pair) for pair in ends))


def between(a: LocalPose, b: LocalPose, share: np.ndarray) -> LocalPose:
    """`interpolate` for shares [..., n] of which none is 1, or where b need not come out to the bit."""
    t = share[..., None] if share.ndim else share  # a + 0 (b - a) is a to the bit, and so is the arc at 0
    positions, scales = a.positions + (b.positions - a.positions) * t, a.scales + (b.scales - a.scales) * t
    return like(a, positions, quaternion.slerp(a.rotations, b.rotations, share), scales)


def weighted_sum(poses: LocalPose, weights: np.ndarray) -> LocalPose:
    """Mean of poses [k, n] of one kind with weights [k] that sum to 1; rotations normalised.

    A weight that is the only one gives its pose to the bit."""
    arrays = poses.positions, poses.scales
    positions, scales = (weights.dot(array.reshape(len(weights), -1)).reshape(array.shape[1:]) for array in arrays)
    return like(poses, positions, quaternion.weighted_mean(poses.rotations, weights), scales)


def stack(poses: Sequence[LocalPose]) -> LocalPose:
    """Poses [...] of one kind as one pose [k, ...]."""
    names = "positions", "rotations", "scales"
    return like(poses[0], *(np.array([getattr(pose, name) for pose in poses]) for name in names))


def like(pose: LocalPose, positions: np.ndarray, rotations: np.ndarray, scales: np.ndarray) -> LocalPose:
    """A pose of the same kind: an additive one stays additive in its space."""
    if isinstance(pose, LocalPose):  # `replace` takes ten times as long
        return LocalPose(positions, rotations, scales)
    return type(pose)(positions, rotations, scales, pose.space)


def take(poses: LocalPose, index) -> LocalPose:
    """Those of some of the leading frames."""
    return like(poses, poses.positions[index], poses.rotations[index], poses.scales[index])


def _rounded(frame: float) -> float:
    """A frame, a whole one where only rounding is missing."""
    whole = round(frame)
    return whole if abs(frame - whole) <= _ON_FRAME * max(abs(whole), 1) else frame


# ---- clips in phase -------------------------------------------------------------------------------------------------
class SyncGroup:
    """Clips [k] that share one phase, counted in cycles.

    Without markers a cycle is each clip's length. With markers, such as the feet's contacts, a cycle is one round of
    the markers that all clips go through in the same order; between two markers each clip plays evenly. A clip that has
    none, such as of a character that stands, goes by its length there too. What is on the way to a step in one clip is
    then on the way to the same step in all.
    """

    def __init__(self, clips: Sequence[Clip], speeds: ArrayLike | None = None, method: str = NORMALIZED) -> None:
        """Raises RagdollError: a speed that is not a number, or, by markers, a clip that has others than the
        first one with any, or two at one time."""
        self.clips = tuple(clips)
        # Seconds of each clip per second [k]; negative: backwards
        self.speeds = np.ones(len(clips)) if speeds is None else np.asarray(speeds, dtype=np.float64)
        for clip, speed in zip(clips, self.speeds.tolist(), strict=True):
            if not np.isfinite(speed):
                raise RagdollError(f'The speed of clip "{clip.name}" is not a number')
        self._warps: list[tuple[NDArray, NDArray] | None] = [None] * len(clips)
        self.rounds = np.ones(len(clips))  # cycles that each clip goes through from its start to its end [k]
        if method == MARKERS:
            marked = [i for i, clip in enumerate(clips) if clip.length > 0.0 and clip.markers]
            for i in marked:
                self._warps[i], self.rounds[i] = _warp(clips[i], clips[marked[0]])
        # Seconds of a cycle of each clip [k]; 0 for clips of a single pose, which have any phase
        self.lengths = np.array([clip.length for clip in clips]) / self.rounds
        self._moving = self.lengths > 0.0
        self._rates = np.where(self._moving, self.speeds / np.where(self._moving, self.lengths, 1.0), 0.0)

    def rate(self, weights: NDArray) -> float:
        """Cycles per second with weights [k]: the weighted mean of the clips' own; single poses do not count."""
        total = float(np.sum(weights * self._moving))
        return float(np.sum(weights * self._rates)) / (total if total > 0.0 else 1.0)

    def clip_times(self, phase: float) -> list[float]:
        """Time within each clip [s], k of them, at a phase in cycles."""
        if not math.isfinite(phase):
            raise RagdollError("A phase is not a number")
        times = []
        for clip, warp, rounds in zip(self.clips, self._warps, self.rounds.tolist(), strict=True):
            own = phase % rounds
            times.append(own * clip.length if warp is None else float(np.interp(own, *warp)) % clip.length)
        return times

    def pose(self, phase: float, weights: NDArray) -> LocalPose:
        """The blended pose [n] at a phase with weights [k] that sum to 1; clips without weight are not sampled."""
        used = weights.nonzero()[0].tolist()
        times = self.clip_times(phase)
        if len(used) == 1:
            return self.clips[used[0]].at(times[used[0]])
        places = [(self.clips[i], *self.clips[i].place(times[i])) for i in used]
        poses = stack([take(clip.poses, frame) for clip, frame, _share in places])
        if any(share for _clip, _frame, share in places):  # as `Clip.at` does one by one
            after = [take(clip.poses, min(frame + 1, clip.frame_count - 1)) for clip, frame, _share in places]
            poses = between(poses, stack(after), np.array([[share] for _clip, _frame, share in places]))
        return weighted_sum(poses, weights[used])


def contact_markers(heights: ArrayLike, fps: float, names: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """(name, time [s]) of where feet come down, to a quarter of their range above their lowest: for `Clip.markers`.

    `heights` are those of each foot over the ground [f, feet]; the last frame of a cycle is the first again."""
    heights = np.asarray(heights, dtype=np.float64)
    low, high = heights.min(axis=0), heights.max(axis=0)
    level = low + 0.25 * (high - low)
    found = []
    for foot, name in enumerate(names):
        down = heights[:, foot] <= level[foot]
        for frame in np.flatnonzero(down[1:] & ~down[:-1]).tolist():
            a, b = heights[frame, foot], heights[frame + 1, foot]
            found.append(((frame + (a - level[foot]) / (a - b)) / fps, name))
    return tuple((name, time) for time, name in sorted(found))


def _warp(clip: Clip, first: Clip) -> tuple[tuple[NDArray, NDArray], int]:
    """Phases and clip times between which time runs evenly, and the number of rounds in the clip.

    A round is the shortest part that the first clip's markers repeat."""
    times = np.array([time for _, time in clip.markers])
    if not np.isfinite(times).all() or (np.diff(times) <= 0.0).any() or times[0] < 0.0 or times[-1] >= clip.length:
        raise RagdollError(f'The markers of clip "{clip.name}" must rise from 0 to before its end ({clip.length:g} s)')
    names, others = ([name for name, _ in one.markers] for one in (clip, first))
    size = next(size for size in range(1, len(others) + 1) if others[:size] * (len(others) // size) == others)
    pattern = others[:size]
    turns = [i for i in range(size) if all(name == pattern[(j + i) % size] for j, name in enumerate(names))]
    if len(names) % size or not turns:
        raise RagdollError(
            f'The markers of clip "{clip.name}" ({", ".join(names)}) do not go round like those of "{first.name}" '
            f"({', '.join(pattern)})"
        )
    # Marker j of the clip is marker j + turns[0] of the pattern; those on either side close the cycle.
    phases = (np.arange(-len(names), 2 * len(names)) + turns[0]) / size
    return (phases, np.concatenate([times - clip.length, times, times + clip.length])), len(names) // size


# ---- additive poses -------------------------------------------------------------------------------------------------
LOCAL, MESH = "LOCAL", "MESH"


@dataclass
class AdditivePose:
    """A difference of poses; bones in level order."""

    positions: np.ndarray  # to be added [n, 3], in the parent's axes; of a clip [f, n, 3], and so on
    rotations: np.ndarray  # to be multiplied from the left [n, 4]
    scales: np.ndarray  # s of the factor 1 + w s [n, 3]
    space: str = LOCAL  # LOCAL, rotations being in the parent's frame, or MESH, in the armature's


def make_additive(skeleton: Skeleton, pose: LocalPose, base: LocalPose, space: str = LOCAL) -> AdditivePose:
    """The difference that turns `base` into `pose` at weight 1, in LOCAL or MESH space.

    Poses are [n], or of a clip [f, n], broadcast against each other: many frames to one base, or frame by frame.
    Raises RagdollError: a bone whose base has a scale of 0 that the pose has not.
    """
    empty = base.scales == 0.0
    lost = (empty & (pose.scales != 0.0)).any(axis=-1).reshape(-1, len(skeleton)).any(axis=0)
    if lost.any():
        name = skeleton.names[int(np.argmax(lost))]
        raise RagdollError(f'Bone "{name}" has a scale of 0 in the base pose: no factor leads to the pose')
    target, start = pose.rotations, base.rotations
    if space == MESH:
        target, start = (pose_space.local_to_model_rotations(skeleton, turns) for turns in (target, start))
    turns = quaternion.multiply(target, quaternion.conjugate(start))
    scales = np.where(empty, 0.0, pose.scales / np.where(empty, 1.0, base.scales) - 1.0)
    return AdditivePose(pose.positions - base.positions, turns, scales, space)


def check_whole(poses: LocalPose | AdditivePose | None, what: str) -> None:
    """Refuse differences where poses to be shown are needed. Raises RagdollError naming `what`."""
    if poses is None or isinstance(poses, AdditivePose):
        raise RagdollError(f"{what} is additive: a state shows whole poses; put it on top as a layer")


def apply_additive(skeleton: Skeleton, pose: LocalPose, additive: AdditivePose, weight: ArrayLike = 1.0) -> LocalPose:
    """A pose [n] with a difference [n] on top; the weight is a number or one of each bone [n], 0 the identity to the
    bit."""
    weight = np.asarray(weight, dtype=np.float64)
    if weight.ndim == 0 and weight == 0.0:
        return pose
    w = weight[:, None] if weight.ndim else weight
    turns = quaternion.power(additive.rotations, weight)
    if additive.space == MESH:
        model = pose_space.local_to_model_rotations(skeleton, pose.rotations)
        rotations = pose_space.model_to_local_rotations(skeleton, quaternion.multiply(turns, model))
        if weight.ndim:  # there and back is not the same to the bit
            kept = weight == 0.0
            roots = skeleton.root_count
            kept[roots:] &= (weight == 0.0)[skeleton.parents[roots:]]  # in mesh space, and their parent too
            np.copyto(rotations, pose.rotations, where=kept[:, None])
    else:
        rotations = quaternion.multiply(turns, pose.rotations)
    # x + 0 and x * 1, of numbers and of rotations, are x to the bit.
    return LocalPose(pose.positions + w * additive.positions, rotations, pose.scales * (1.0 + w * additive.scales))
