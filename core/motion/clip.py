"""Clips: a motion as one local pose per frame, played at any time, speed and direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .. import quaternion
from ..errors import RagdollError
from ..skeleton import Skeleton
from .local_pose import LocalPose

ONCE, LOOP, PING_PONG = "ONCE", "LOOP", "PING_PONG"
MODES = (ONCE, LOOP, PING_PONG)

_NUMBER = (int, float)

# A time this close to a frame, in frames, is that frame: sums of single steps are not exact.
_ON_FRAME = 1e-9


@dataclass
class Clip:
    """A motion sampled at whole frames; bones in the level order of the skeleton it is made for.

    Attributes:
        name: For messages.
        bones: Names in level order [n].
        fps: Frames per second.
        poses: [f, n], f >= 1; or an `additive.AdditivePose` of that shape, which all samples are then too.
        start_frame: Frame of the action that pose 0 was sampled at.
        missing: Bones that the motion moves and the skeleton does not have.
        unanimated: Bones of the skeleton that the motion does not move: they stand in bind pose.
        markers: Names and times [s] of foot contacts or other events, in order of time; see `sync`.
    """

    name: str
    bones: tuple[str, ...]
    fps: float
    poses: LocalPose
    start_frame: float = 0.0
    missing: tuple[str, ...] = ()
    unanimated: tuple[str, ...] = ()
    markers: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        shape = self.poses.rotations.shape
        if len(shape) != 3 or shape[0] < 1:
            raise RagdollError(f'Clip "{self.name}" has no frames')
        if not (math.isfinite(self.fps) and self.fps > 0.0):
            raise RagdollError(f'Clip "{self.name}" must have a positive frame rate, got {self.fps:g}')
        if shape[1] != len(self.bones):
            raise RagdollError(f'Clip "{self.name}" has {len(self.bones)} bone names, but poses of {shape[1]} bones')

    @property
    def frame_count(self) -> int:
        """Number of poses."""
        return len(self.poses.rotations)

    @property
    def length(self) -> float:
        """Time [s] from the first pose to the last; 0 for a single pose."""
        return (self.frame_count - 1) / self.fps

    def pose(self, frame: int) -> LocalPose:
        """The pose [n] at a whole frame, counted from the first; negative ones from the end.

        Raises:
            RagdollError: there is no such frame.
        """
        if not -self.frame_count <= frame < self.frame_count:
            raise RagdollError(f'Clip "{self.name}" has {self.frame_count} frames, there is no frame {frame}')
        return _take(self.poses, frame)

    def sample(self, time: ArrayLike, *, start: ArrayLike = 0.0, speed: ArrayLike = 1.0, mode: str = LOOP) -> LocalPose:
        """The pose at a time of the shot.

        Args:
            time: Seconds [...], for instance one per character.
            start: When the clip begins to play [s]; before it the clip stands in its first pose (ONCE) or has been
                playing for ever.
            speed: Seconds of the clip per second; negative: backwards, from its end at `start`.
            mode: ONCE holds the ends, LOOP goes on at the other end, PING_PONG turns round at them.

        Returns:
            Poses [..., n]; on whole frames those of the clip to the bit.

        Raises:
            RagdollError: an unknown mode, or a time, start or speed that is not a number.
        """
        return self.at(self.clip_time(time, start=start, speed=speed, mode=mode))

    def clip_time(
        self, time: ArrayLike, *, start: ArrayLike = 0.0, speed: ArrayLike = 1.0, mode: str = LOOP
    ) -> np.ndarray:
        """Time [s] within the clip, 0 .. length; see `sample`."""
        one = isinstance(time, _NUMBER) and isinstance(start, _NUMBER) and isinstance(speed, _NUMBER)
        if one and mode == LOOP and self.frame_count > 1:
            played = (float(time) - float(start)) * float(speed) * self.fps
            if speed >= 0.0 and math.isfinite(played):
                whole = round(played)
                played = whole if abs(played - whole) <= _ON_FRAME * max(abs(whole), 1.0) else played
                return np.float64(played % (self.frame_count - 1) / self.fps)
        time, start, speed = (np.asarray(value, dtype=np.float64) for value in (time, start, speed))
        for what, value in (("time", time), ("start", start), ("speed", speed)):
            if not np.isfinite(value).all():
                raise RagdollError(f'The {what} of clip "{self.name}" is not a number')
        played = (time - start) * speed
        length = self.length
        played = np.where(speed < 0.0, played + length, played)
        if mode == ONCE:
            return np.clip(played, 0.0, length)
        if mode not in MODES:
            raise RagdollError(f'Clip "{self.name}" cannot be played as "{mode}"; use {", ".join(MODES)}')
        if length == 0.0:
            return np.zeros_like(played)
        # Counted in frames, whose number is exact, so that a loop does not drift. At the end of a round the last pose
        # is shown when played backwards from there, otherwise the first, which a cycle has there as well.
        count = self.frame_count - 1
        frames = _rounded(played * self.fps)
        if mode == LOOP:
            wrapped = np.mod(frames, count)
            frames = np.where((wrapped == 0.0) & (speed < 0.0), count, wrapped)
        else:
            frames = count - np.abs(np.mod(frames, 2 * count) - count)
        return frames / self.fps

    def at(self, clip_time: ArrayLike) -> LocalPose:
        """Poses [..., n] at times [...] within the clip [s], which are held at its ends.

        Between frames positions and scales are interpolated linearly and rotations on the shortest arc.
        """
        clip_time = np.asarray(clip_time, dtype=np.float64)
        if clip_time.ndim == 0:
            return self._at_one(float(clip_time))
        frames = np.clip(_rounded(clip_time * self.fps), 0.0, self.frame_count - 1)
        if np.isnan(frames).any():
            raise RagdollError(f'The time of clip "{self.name}" is not a number')
        below = np.floor(frames).astype(np.intp)
        share = frames - below
        if not share.any():
            return _take(self.poses, below)
        above = np.minimum(below + 1, self.frame_count - 1)
        return between(_take(self.poses, below), _take(self.poses, above), share[..., None])

    def _at_one(self, clip_time: float) -> LocalPose:
        """`at` for a single time: a few numbers less are a third of the cost."""
        below, share = self._place(clip_time)
        if share == 0.0:
            return _take(self.poses, below)
        return between(_take(self.poses, below), _take(self.poses, below + 1), np.array(share))

    def _place(self, clip_time: float) -> tuple[int, float]:
        """The frame at or before a time within the clip [s], and how far it is to the next, 0 on a frame."""
        if math.isnan(clip_time):
            raise RagdollError(f'The time of clip "{self.name}" is not a number')
        frame = min(max(clip_time * self.fps, 0.0), self.frame_count - 1)
        whole = round(frame)
        if abs(frame - whole) <= _ON_FRAME * max(whole, 1.0):
            return whole, 0.0
        return int(frame), frame - int(frame)

    def at_phase(self, phase: ArrayLike) -> LocalPose:
        """Poses [..., n] at phases [...]: 0 the first frame, 1 the last, going round outside."""
        phase = np.asarray(phase, dtype=np.float64)
        if not np.isfinite(phase).all():
            raise RagdollError(f'The phase of clip "{self.name}" is not a number')
        frames = _rounded(phase * (self.frame_count - 1))
        return self.at(np.mod(frames, max(self.frame_count - 1, 1)) / self.fps)

    def mapped(
        self, skeleton: Skeleton, bind: LocalPose, source_bind: LocalPose | None = None, name: str | None = None
    ) -> Clip:
        """This motion on another skeleton's bones of the same names; other bones stand in its bind pose.

        Args:
            skeleton: The other skeleton.
            bind: Its bind pose [n].
            source_bind: Bind pose of this clip's skeleton. Where it is given, what is taken over is each bone's motion
                relative to bind pose in the bone's own axes, as Blender's channels hold it; otherwise the transform
                relative to the parent bone.
            name: Of the new clip.

        Raises:
            RagdollError: no bone of the clip is in the skeleton.
        """
        row = {bone: i for i, bone in enumerate(self.bones)}
        target = [i for i, bone in enumerate(skeleton.names) if bone in row]
        if not target:
            listed = ", ".join(f'"{bone}"' for bone in self.bones[:5])
            raise RagdollError(f'No bone of clip "{self.name}" is in the skeleton; it has {listed}')
        source = [row[skeleton.names[i]] for i in target]
        moved = LocalPose(*(a[:, source] for a in (self.poses.positions, self.poses.rotations, self.poses.scales)))
        if source_bind is not None:
            own = LocalPose(*(a[target] for a in (bind.positions, bind.rotations, bind.scales)))
            old = LocalPose(*(a[source] for a in (source_bind.positions, source_bind.rotations, source_bind.scales)))
            moved = _relative_motion(moved, old, own)
        poses = repeated(bind, self.frame_count)
        poses.positions[:, target] = moved.positions
        poses.rotations[:, target] = moved.rotations
        poses.scales[:, target] = moved.scales
        there = set(skeleton.names)
        still = {*self.unanimated, *(set(skeleton.names) - set(self.bones))}
        return Clip(
            name=self.name if name is None else name,
            bones=skeleton.names,
            fps=self.fps,
            poses=poses,
            start_frame=self.start_frame,
            missing=(*self.missing, *(b for b in self.bones if b not in there and b not in self.unanimated)),
            unanimated=tuple(b for b in skeleton.names if b in still),
            markers=self.markers,
        )

    @staticmethod
    def from_poses(name: str, bones: Sequence[str], fps: float, poses: Sequence[LocalPose], times: ArrayLike) -> Clip:
        """A clip that goes through poses [n] at times [s], on shortest arcs between them; the first time is its start.

        Poses between whole frames are met as nearly as the frame rate allows.

        Raises:
            RagdollError: no poses, as many times as poses are not given, or times that do not rise.
        """
        times = np.asarray(times, dtype=np.float64)
        if len(poses) == 0:
            raise RagdollError(f'Clip "{name}" needs at least one pose, got none')
        if times.shape != (len(poses),):
            raise RagdollError(f'Clip "{name}" has {len(poses)} poses but times of shape {list(times.shape)}')
        if not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
            raise RagdollError(f'The times of clip "{name}" must rise from pose to pose')
        if not (math.isfinite(fps) and fps > 0.0):
            raise RagdollError(f'Clip "{name}" must have a positive frame rate, got {fps:g}')
        stacked = stack(poses)
        count = math.ceil(float(_rounded((times[-1] - times[0]) * fps))) + 1
        wanted = np.clip(times[0] + np.arange(count) / fps, times[0], times[-1])
        if len(poses) == 1:
            return Clip(name, tuple(bones), fps, stacked)
        below = np.clip(np.searchsorted(times, wanted + _ON_FRAME / fps, side="right") - 1, 0, len(times) - 2)
        share = np.clip((wanted - times[below]) / (times[below + 1] - times[below]), 0.0, 1.0)
        share = np.where(share < _ON_FRAME, 0.0, np.where(share > 1.0 - _ON_FRAME, 1.0, share))
        frames = interpolate(_take(stacked, below), _take(stacked, below + 1), share[:, None])
        return Clip(name, tuple(bones), fps, frames)


def at_once(clips: Sequence[Clip], times: Sequence[float]) -> LocalPose:
    """Poses [k, n] of k clips of one kind at a time within each [s], as `Clip.at` gives them one by one."""
    places = [clip._place(time) for clip, time in zip(clips, times, strict=True)]
    below = _frames_of(clips, [frame for frame, _share in places])
    if not any(share for _frame, share in places):
        return below
    after = [min(frame + 1, clip.frame_count - 1) for clip, (frame, _share) in zip(clips, places, strict=True)]
    return between(below, _frames_of(clips, after), np.array([[share] for _frame, share in places]))


def _frames_of(clips: Sequence[Clip], frames: Sequence[int]) -> LocalPose:
    """One frame of each of k clips of one kind as poses [k, n]."""
    poses = [clip.poses for clip in clips]
    return like(
        poses[0],
        np.array([own.positions[frame] for own, frame in zip(poses, frames, strict=True)]),
        np.array([own.rotations[frame] for own, frame in zip(poses, frames, strict=True)]),
        np.array([own.scales[frame] for own, frame in zip(poses, frames, strict=True)]),
    )


def interpolate(a: LocalPose, b: LocalPose, share: ArrayLike) -> LocalPose:
    """From a to b by shares [..., n] (or broadcast): a at 0 and b at 1, both to the bit; shortest arcs between.

    Of two additive poses the result is one, in the same space. Both are finite.
    """
    share = np.asarray(share, dtype=np.float64)
    result = between(a, b, share)
    whole = share == 1.0
    if not whole.any():
        return result
    whole = whole[..., None]
    return like(
        a,
        np.where(whole, b.positions, result.positions),
        np.where(whole, b.rotations, result.rotations),
        np.where(whole, b.scales, result.scales),
    )


def between(a: LocalPose, b: LocalPose, share: np.ndarray) -> LocalPose:
    """`interpolate` for shares [..., n] of which none is 1, or where b need not come out to the bit."""
    t = share[..., None] if share.ndim else share  # a + 0 (b - a) is a to the bit, and so is the arc at 0
    return like(
        a,
        a.positions + (b.positions - a.positions) * t,
        quaternion.slerp(a.rotations, b.rotations, share),
        a.scales + (b.scales - a.scales) * t,
    )


def stack(poses: Sequence[LocalPose]) -> LocalPose:
    """Poses [...] of one kind as one pose [k, ...]."""
    return like(
        poses[0],
        np.array([pose.positions for pose in poses]),
        np.array([pose.rotations for pose in poses]),
        np.array([pose.scales for pose in poses]),
    )


def repeated(pose: LocalPose, count: int) -> LocalPose:
    """A pose [n] as `count` equal frames [f, n] of its own."""
    return LocalPose(*(np.repeat(a[None], count, axis=0) for a in (pose.positions, pose.rotations, pose.scales)))


def like(pose: LocalPose, positions: np.ndarray, rotations: np.ndarray, scales: np.ndarray) -> LocalPose:
    """A pose of the same kind: an additive one stays additive in its space."""
    if type(pose) is LocalPose:  # `replace` takes ten times as long
        return LocalPose(positions, rotations, scales)
    return type(pose)(positions, rotations, scales, pose.space)


def _take(poses: LocalPose, index) -> LocalPose:
    return like(poses, poses.positions[index], poses.rotations[index], poses.scales[index])


def _rounded(frames: np.ndarray) -> np.ndarray:
    """Frames, whole ones where only rounding is missing."""
    whole = np.round(frames)
    return np.where(np.abs(frames - whole) <= _ON_FRAME * np.maximum(np.abs(whole), 1.0), whole, frames)


def _relative_motion(moved: LocalPose, old: LocalPose, new: LocalPose) -> LocalPose:
    """Motion relative to the bind pose `old`, put on the bind pose `new`."""
    back = quaternion.conjugate(old.rotations)
    offset = quaternion.rotate(back, moved.positions - old.positions) / old.scales
    turn = quaternion.multiply(back, moved.rotations)
    return LocalPose(
        new.positions + quaternion.rotate(new.rotations, new.scales * offset),
        quaternion.multiply(new.rotations, turn),
        new.scales * (moved.scales / old.scales),
    )
