"""Blending bodies that become kinematic in mid-shot from their own pose and velocity into the animation."""

import numpy as np

from ... import quaternion
from ...ragdoll.recovery.transitions import Decay, Moving, Transition, transition
from .effects import Effect

DURATION = 0.25  # [s] of the blend


class KinematicBlend(Effect):
    """The effect that blends bodies whose mode has become KINEMATIC into their animation."""

    name = "kinematic blend"

    def __init__(self, run, scene) -> None:
        super().__init__(run, scene)
        count = len(run.masses)
        self._before = np.zeros(count, dtype=bool)  # who was kinematic in the last step
        self._seconds = np.full(count, DURATION)  # since they became kinematic
        self._left = [np.zeros((count, 3)) for _ in range(4)]  # offsets and their velocities: linear, then angular

    def step(self, run, scene, seconds: float, substeps: int) -> None:
        """Forget who was kinematic, where nobody is any more."""
        if not run.any_kinematic:
            self._before[:] = False

    def placed(self, run, before, places, seconds: float, shown_seconds: float):
        """Place the bodies. The blend takes its time on the timeline, so that slow motion does not stretch it."""
        # At the first frame all bodies are where the animation has them, so there is nothing to blend.
        now = run.kinematic_by_user
        begun = np.flatnonzero(now & ~self._before & (run.frame > run.first))
        self._before = now.copy()
        if len(begun):
            self._begin(run, before, begun, shown_seconds)
        self._seconds += shown_seconds
        rows = np.flatnonzero(now & (self._seconds < DURATION))
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
    """The places `at` [k, 4, 4], moving as from `early` to `late` within some seconds."""
    turns = [quaternion.from_matrix(matrices[:, :3, :3]) for matrices in (at, late, early)]
    motion = Moving.from_frames(late[:, :3, 3], turns[1], early[:, :3, 3], turns[2], seconds)
    return Moving(at[:, :3, 3], turns[0], motion.velocities, motion.spins)
