"""Watching a run for joints that were thrown over their limits, and leading their bodies back."""

import numpy as np

from ..errors import RagdollError
from ..ragdoll import dislocation
from . import joint_objects
from .joint_frames import joint_frames


class Dislocations:
    """Of all bodies of a run.

    Attributes:
        led: bodies that are on their way back, and kinematic [m].
    """

    def __init__(self, count: int) -> None:
        self.led = np.zeros(count, dtype=bool)
        self._off = np.zeros(count)  # [s] for which a body has been far from where it is wanted, since it was looked at
        self._seconds = np.zeros(count)  # of the way back
        self._ways, self._turns = np.zeros((count, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
        self._frames: dict = {}

    def observe(self, run, seconds: float) -> None:
        """Look where the bodies stand after a frame that lasted some seconds of the simulation."""
        rotation, translation = run.weights()
        driven = (rotation >= dislocation.DRIVEN) & (translation >= dislocation.DRIVEN) & ~run.joint_space
        may = driven | self.led  # those led are kinematic, and have no weight meanwhile
        angles = dislocation.angles_off(run.body, run.wanted)
        far = driven & (angles > dislocation.FAR)
        if not far.any() and not self.led.any():
            self._off[:] = 0.0
            return
        self._off = np.where(far, self._off + seconds, 0.0)
        due = far & (self._off >= dislocation.LASTS - 1e-9)
        over = self._thrown_over(run, np.flatnonzero(due))
        self._off[due] = 0.0  # what only lags is looked at again later: limits take time to look at
        self._seconds[self.led] += seconds
        self.led &= may & ~run.limp & ~run.riding & ~run.off & (self._seconds < dislocation.RETURNS)
        for character in run.characters:
            rows = np.arange(character.rows.start, character.rows.stop)
            if over[rows].any():
                self._set_out(run, rows[(driven[rows] & (angles[rows] > dislocation.ALONG)) & ~self.led[rows]])

    def _set_out(self, run, rows: np.ndarray) -> None:
        self.led[rows], self._seconds[rows], self._off[rows] = True, 0.0, 0.0
        self._ways[rows], self._turns[rows] = dislocation.offsets(run.body[rows], run.wanted[rows])

    def placed(self, run, seconds: float) -> np.ndarray:
        """Where kinematic bodies stand at the frame to come [m, 4, 4], which lasts some seconds."""
        rows = np.flatnonzero(self.led)
        if not len(rows):
            return run.wanted
        result = run.wanted.copy()
        passed = self._seconds[rows] + seconds
        result[rows] = dislocation.on_the_way(run.wanted[rows], self._ways[rows], self._turns[rows], passed)
        return result

    def _thrown_over(self, run, rows: np.ndarray) -> np.ndarray:
        """Which of some bodies are far beyond the limits of their joints, and not wanted there [m]."""
        result = np.zeros(len(self.led), dtype=bool)
        for character in run.characters:
            begin = character.rows.start
            own = rows[(rows >= begin) & (rows < character.rows.stop)] - begin
            if not len(own):
                continue
            if character.name not in self._frames:
                self._frames[character.name] = joint_frames(character.obj)
            parents, child_frames, parent_frames = self._frames[character.name]
            own = own[parents[own] >= 0]
            body, wanted = run.body[character.rows], run.wanted[character.rows]
            frames = child_frames[own], parent_frames[own]
            now = dislocation.joint_rotations(body[own], body[parents[own]], *frames)
            asked = dislocation.joint_rotations(wanted[own], wanted[parents[own]], *frames)
            for row, turns in zip(own, np.stack([now, asked], axis=1), strict=True):
                name = character.bone_names[row]
                try:
                    found = joint_objects.excesses(name, character.obj.pose.bones[name].active_ragdoll, turns)
                except RagdollError:  # limits that make no sense any more hold nothing
                    continue
                result[begin + row] = found[0] > dislocation.BEYOND and found[1] < dislocation.OWN
        return result
