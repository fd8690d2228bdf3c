"""Bodies that become kinematic in mid-shot: they go over into the animation from the pose and velocity they have."""

import numpy as np

from .. import quaternion
from ..ragdoll.inertialize import Decay, Moving, Transition, transition

DURATION = 0.25  # [s] of the way to the animation


class Rides:
    """Of all bodies of a run, which are kinematic by their mode, and what is left of the way to their animation."""

    def __init__(self, riding: np.ndarray) -> None:
        count = len(riding)
        self._riding = riding.copy()
        self._seconds = np.full(count, DURATION)  # since they became kinematic
        self._left = [np.zeros((count, 3)) for _ in range(4)]  # offsets and their velocities, of places and of turns

    def placed(self, run, before: np.ndarray, places: np.ndarray, seconds: float) -> np.ndarray:
        """Where kinematic bodies stand at the frame to come [m, 4, 4].

        Args:
            before: where the animation had the bodies at the frame shown. places: where they would stand at once.
            seconds: of a frame, as it is shown: a simulation in slow motion does not slow the animation.
        """
        # At the first frame all bodies stand and move as the animation does.
        begun = np.flatnonzero(run.riding & ~self._riding & (run.frame > run.first))
        self._riding = run.riding.copy()
        if len(begun):
            self._begin(run, before, begun, seconds)
        self._seconds += seconds
        rows = np.flatnonzero(run.riding & (self._seconds < DURATION))
        if not len(rows):
            return places
        duration = np.full(len(rows), DURATION)
        way, pace, turn, spin = (values[rows] for values in self._left)
        left = Transition(Decay(way, pace, duration), Decay(turn, spin, duration))
        turns = quaternion.from_matrix(places[rows, :3, :3])
        result = places.copy()
        result[rows, :3, 3], turns = left.applied(places[rows, :3, 3], turns, self._seconds[rows])
        result[rows, :3, :3] = quaternion.to_matrix(turns)
        return result

    def _begin(self, run, before: np.ndarray, rows: np.ndarray, seconds: float) -> None:
        shown = _moving(run.body[rows], run.body[rows], run.body_before[rows], seconds)
        animated = _moving(before[rows], run.wanted[rows], before[rows], seconds)
        found = transition(shown, animated, np.full(len(rows), DURATION))
        self._seconds[rows] = 0.0
        decays = found.positions, found.rotations
        for values, new in zip(self._left, [a for d in decays for a in (d.offset, d.velocity)], strict=True):
            values[rows] = new


def _moving(at: np.ndarray, late: np.ndarray, early: np.ndarray, seconds: float) -> Moving:
    """Rigid matrices [k, 4, 4] as places that move as from `early` to `late` within some seconds."""
    turns = [quaternion.from_matrix(matrices[:, :3, :3]) for matrices in (at, late, early)]
    motion = Moving.from_frames(late[:, :3, 3], turns[1], early[:, :3, 3], turns[2], seconds)
    return Moving(at[:, :3, 3], turns[0], motion.velocities, motion.spins)
