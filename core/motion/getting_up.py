"""Going on elsewhere: from a moment on a character plays a motion that was moved to where it lies.

A passage begins at a frame with the pose that the character has there. From then on it plays its own animation, or an
action, as a whole turned about the vertical and shifted (`ragdoll.reroot`), or a motion planned for the place where it
lies (`get_up.plan`); the difference to the pose before dies away (`ragdoll.inertialize`). It is a function of the
motion's pose and the time since its beginning alone, so a list of passages that a run records gives the same pose at
every frame again.

Bones above the simulated ones (a root bone on the floor, a control) carry the others: they go to the new place at
once, and the bones below them keep theirs. Otherwise a hip would fly in an arc around a root that turns.
"""

from dataclasses import dataclass, field

import numpy as np

from .. import pose as pose_space
from .. import quaternion
from ..errors import RagdollError
from ..ragdoll.recovery.transitions import Moving, Reroot, Transition, cross_faded, heights_of, smooth_step, transition
from .clip import Clip
from .stack import LocalPose, Rig, solved

INERTIALIZED, CROSS_FADED = "INERTIALIZED", "CROSS_FADED"


@dataclass(frozen=True, eq=False)
class Passage:
    """A motion played elsewhere, for a skeleton of n bones in level order."""

    frame: float  # of the pose that it begins with; it shows from the next one on
    fps: float  # frames per second when it began
    move: Reroot  # where the motion goes, world
    carriers: np.ndarray  # level indices of the bones that go there at once
    duration: float  # of the blend [s]
    action: str = ""  # name of the action that is played from its first frame, "" for the character's own animation
    # Local positions [n, 3] and rotations [n, 4] at the beginning, for cross-fading; None: inertialised
    old: tuple | None = None
    offsets: Transition | None = None  # what dies away; None: cross-faded
    # Points [k, 4] that are to stay above the floor, see `heights_of`, and how high the lowest one on the root of each
    # was [k] [m, world]; files of 0.1.0 have one height for all
    lowest: tuple | None = None
    planned: Clip | None = None  # what is played instead of the animation, made for the place where the character lies
    # the armature object's matrix [4, 4] that the planned motion is relative to; after it the animation goes by `move`
    place: np.ndarray | None = None
    keys: list = field(default_factory=list)  # when it goes through the plan's key postures [s]

    def seconds(self, frame: float) -> float:
        """Time since the beginning [s], at the frame rate that was then."""
        return (frame - self.frame) / self.fps

    def pose(self, rig: Rig, motion: LocalPose, world: np.ndarray, frame: float) -> LocalPose:
        """The pose [n] at a frame, from that of the motion as it is played in its own place.

        `world` is the armature object's matrix [4, 4] at the frame."""
        seconds = self.seconds(frame)
        if self.planned is not None:
            moved = moved_pose(rig, self.planned.at(seconds), self.place, world)
        else:
            moved = moved_pose(rig, motion, self.move.matrix() @ world, world)
        if seconds >= self.duration:
            return moved
        if self.offsets is not None:
            positions, rotations = self.offsets.applied(moved.positions, moved.rotations, np.float64(seconds))
        else:
            share = np.full(len(moved.positions), seconds / self.duration)
            share[self.carriers] = 1.0
            positions, rotations = cross_faded(*self.old, moved.positions, moved.rotations, share)
        result = LocalPose(positions, rotations, moved.scales)
        if self.lowest is not None:
            # Legs stretch before the hips are high enough: feet do not go through the floor while the lowest point goes
            # from its height at the beginning to that in the moved motion. Each root is raised by what hangs on it.
            (points, before), share = self.lowest, float(smooth_step(seconds / self.duration))
            there, here = (world @ pose_space.compose_matrices(*p.model(rig.skeleton)) for p in (moved, result))
            least = (1.0 - share) * before + share * _lowest(rig, points, there)
            lift = np.zeros(rig.skeleton.root_count)
            np.maximum.at(lift, rig.roots[points[:, 0].astype(int)], least - _lowest(rig, points, here))
            result.positions[: len(lift)] += lift[:, None] * np.linalg.solve(world[:3, :3], (0.0, 0.0, 1.0))
        return result


def _lowest(rig: Rig, points: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """For each of some points [k, 4] how high the lowest of those on its root is [k]."""
    found, roots = np.full(rig.skeleton.root_count, np.inf), rig.roots[points[:, 0].astype(int)]
    np.minimum.at(found, roots, heights_of(points, matrices))
    return found[roots]


def moved_pose(rig: Rig, pose: LocalPose, place: np.ndarray, world: np.ndarray) -> LocalPose:
    """A local pose [n] as it is seen with the armature object at a place [4, 4], with the object where it is. Raises
    RagdollError: a world matrix of no extent."""
    inside = solved(world, place)
    result = pose.copy()
    roots = slice(0, rig.skeleton.root_count)
    result.positions[roots] = pose.positions[roots] @ inside[:3, :3].T + inside[:3, 3]
    result.rotations[roots] = quaternion.multiply(quaternion.from_matrix(inside[:3, :3]), pose.rotations[roots])
    return result


def begun(
    rig: Rig, old, new, worlds, move, fps, duration, carriers=(), method=INERTIALIZED, lowest=(), planned=None, **more
) -> Passage:
    """The passage from a pose that was shown to a motion elsewhere.

    Args:
        old: model-space matrices [n, 4, 4], level order, at the frame and at the one before.
        new, worlds: the motion's poses [n], in its own place, and the armature object's world matrices, at these two.
        lowest: points that are to stay above the floor, see `heights_of` [k, 4].
        planned: the motion, where it is made for the place; `move` is then where the animation goes on after it.
        move, fps, duration, carriers, more: as the passage has them.

    Raises RagdollError: a pose that is no number; names the bone.
    """
    carriers = np.asarray(carriers, dtype=int)
    if planned is not None:
        moved = [moved_pose(rig, planned.at(0.0), worlds[0], world) for world in worlds]
    else:
        moved = [moved_pose(rig, p, move.matrix() @ world, world) for p, world in zip(new, worlds, strict=True)]
    shown = [_under(rig, matrices, pose, carriers) for matrices, pose in zip(old, moved, strict=True)]
    floor = (lowest, _lowest(rig, lowest, worlds[0] @ old[0])) if len(lowest) else None
    more |= {"move": move, "fps": fps, "duration": duration, "carriers": carriers, "lowest": floor, "planned": planned}
    more["place"] = worlds[0] if planned is not None else None
    if method == CROSS_FADED:
        return Passage(old=(shown[0].positions, shown[0].rotations), **more)
    pairs = (shown, moved)
    both = (Moving.from_frames(a.positions, a.rotations, b.positions, b.rotations, 1.0 / fps) for a, b in pairs)
    offsets = transition(*both, np.float64(duration))
    for values in offsets[:4]:
        values[carriers] = 0.0
    return Passage(offsets=offsets, **more)


def _under(rig: Rig, matrices: np.ndarray, moved: LocalPose, carriers: np.ndarray) -> LocalPose:
    """A shown pose, relative to the carriers where the moved motion has them."""
    if not np.isfinite(matrices).all():
        row = int(np.flatnonzero(~np.isfinite(matrices).all(axis=(1, 2)))[0])
        raise RagdollError(f'The pose of bone "{rig.name(row)}" is not a number')
    if len(carriers):
        new = pose_space.compose_matrices(*moved.model(rig.skeleton))
        matrices = matrices.copy()
        matrices[carriers] = new[carriers]
    return LocalPose(*pose_space.decompose_matrices(pose_space.model_to_local_matrices(rig.skeleton, matrices)))


def carriers_of(rig: Rig, simulated) -> np.ndarray:
    """Level indices of the bones above the topmost of the simulated ones (level indices)."""
    simulated = {int(bone) for bone in simulated}
    tops = [b for b in simulated if simulated.isdisjoint(rig.with_ancestors([b])[:-1])]
    return np.array([bone for bone in rig.with_ancestors(tops) if bone not in simulated], dtype=int)
