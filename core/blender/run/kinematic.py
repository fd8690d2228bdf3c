"""Effects that place bodies kinematically: limit rescues, and blends of bodies that become kinematic in mid-shot."""

import numpy as np

from ... import quaternion
from ...errors import RagdollError
from ...ragdoll.joints import limits
from ...ragdoll.recovery.transitions import Moving, Transition, transition
from ..physics import joint_objects
from .shot_run import Effect

DURATION = 0.25  # [s] of the blend into the animation


class LimitRescue(Effect):
    """The effect that leads bodies back to their animation whose joints were thrown over their limits."""

    def __init__(self, run, scene) -> None:
        count = len(run.masses)
        self.kinematic = np.zeros(count, dtype=bool)  # bodies on their way back
        self._off: dict = {}  # [s] for which bodies have been far from where they are wanted, since their last check
        self._seconds = np.zeros(count)  # [s] spent on the way back
        self._ways, self._turns = np.zeros((2, count, 3))  # from where it is wanted to where it was
        self._frames: dict = {}
        self._weighed, self._driven, self._rows = None, self.kinematic, []  # weights; mask and rows of who follows

    def observe(self, run, scene, seconds: float) -> None:
        """Find bodies that have to be led back, and those that have arrived."""
        if run.frame == run.first:
            return
        if run.weighed is not self._weighed:
            self._weighed, (rotation, translation) = run.weighed, run.weighed
            self._driven = (rotation >= limits.DRIVEN) & (translation >= limits.DRIVEN) & ~run.joint_space
            self._rows = np.flatnonzero(self._driven).tolist()
        leads, far = run.any_kinematic and bool(self.kinematic.any()), []
        if self._rows or leads:
            traces = np.add.reduce(run.body[:, :3, :3] * run.wanted[:, :3, :3], axis=(1, 2))
            turned = traces.tolist()
            if min(turned) < limits.FAR_TRACE:
                far = [row for row in self._rows if turned[row] < limits.FAR_TRACE]
        self._off = {row: self._off.get(row, 0.0) + seconds for row in far}
        due = [row for row, off in self._off.items() if off >= limits.LASTS - 1e-9]
        if not leads and not due:
            return
        over = self._thrown_over(run, due)
        self._off |= dict.fromkeys(due, 0.0)  # what only lags is checked again later, as checking limits takes time
        if not leads and not over.any():
            return
        led, driven, angles = self.kinematic.copy(), self._driven, limits.angles_of(traces)
        self._seconds[led] += seconds
        led &= ~run.limp & ~run.kinematic_by_user & ~run.switched_off & (self._seconds < limits.RETURNS)
        for character in run.characters:
            rows = np.arange(character.rows.start, character.rows.stop)
            if over[rows].any():
                out = rows[(driven[rows] & (angles[rows] > limits.ALONG)) & ~led[rows]]
                led[out], self._seconds[out] = True, 0.0
                self._off |= dict.fromkeys(out.tolist(), 0.0)
                now, then = run.body[out], run.wanted[out]
                turns = quaternion.from_matrix(now[:, :3, :3] @ then[:, :3, :3].transpose(0, 2, 1))
                self._ways[out] = now[:, :3, 3] - then[:, :3, 3]
                self._turns[out] = quaternion.to_rotation_vector(turns)
        self.state(kinematic=led)

    def placed(self, run, before, places, seconds: float, shown_seconds: float):
        """Place the bodies on their way from where they were thrown to where they are wanted."""
        rows = np.flatnonzero(self.kinematic)
        if not len(rows):
            return places
        result = places.copy()
        passed = self._seconds[rows] + seconds
        left = Transition(self._ways[rows], 0.0, self._turns[rows], 0.0, np.full(len(rows), limits.RETURNS))
        result[rows] = left.placed(run.wanted[rows], passed)
        return result

    def _thrown_over(self, run, due: list) -> np.ndarray:
        """Mask [m] of those of some bodies that are far beyond their joints' limits without being wanted there."""
        result = np.zeros(len(run.masses), dtype=bool)
        for character in run.characters:
            begin = character.rows.start
            own = [row - begin for row in due if begin <= row < character.rows.stop]
            if not own:
                continue
            if character.name not in self._frames:
                self._frames[character.name] = joint_objects.joint_frames(character.obj)
            parents, child_frames, parent_frames = self._frames[character.name]
            own = [row for row in own if parents[row] >= 0]
            both = np.array([run.body[character.rows], run.wanted[character.rows]])
            places = both[:, own], both[:, parents[own]], child_frames[own], parent_frames[own]
            for row, turns in zip(own, limits.joint_rotations(*places).swapaxes(0, 1), strict=True):
                name = character.bone_names[row]
                try:
                    found = joint_objects.excesses(name, character.obj.pose.bones[name].active_ragdoll, turns)
                except RagdollError:  # invalid limits hold nothing
                    continue
                result[begin + row] = found[0] > limits.BEYOND and found[1] < limits.OWN
        return result


class KinematicBlend(Effect):
    """The effect that blends bodies whose mode has become KINEMATIC from their own motion into their animation."""

    def __init__(self, run, scene) -> None:
        count = len(run.masses)
        self._before, self._frame = np.zeros(count, dtype=bool), None  # who was kinematic last, in the step to a frame
        self._seconds = np.full(count, DURATION)  # since they became kinematic
        self._left = [np.zeros((count, 3)) for _ in range(4)]  # offsets and their velocities: linear, then angular

    def placed(self, run, before, places, seconds: float, shown_seconds: float):
        """Place the bodies. The blend takes its time on the timeline, so that slow motion does not stretch it."""
        # At the first frame all bodies are where the animation has them, so there is nothing to blend.
        now = run.kinematic_by_user
        if self._frame != run.frame:
            self._before[:] = False  # in the last step nobody was
        begun = np.flatnonzero(now & ~self._before & (run.frame > run.first))
        self._before, self._frame = now.copy(), run.frame + 1
        if len(begun):
            shown = _moving(run.body[begun], run.body[begun], run.body_before[begun], shown_seconds)
            animated = _moving(before[begun], run.wanted[begun], before[begun], shown_seconds)
            found = transition(shown, animated, np.full(len(begun), DURATION))
            self._seconds[begun] = 0.0
            for values, new in zip(self._left, found[:4], strict=True):
                values[begun] = new
        self._seconds += shown_seconds
        rows = np.flatnonzero(now & (self._seconds < DURATION))
        if not len(rows):
            return places
        left = Transition(*(values[rows] for values in self._left), np.full(len(rows), DURATION))
        result = places.copy()
        result[rows] = left.placed(places[rows], self._seconds[rows])
        return result


def _moving(at: np.ndarray, late: np.ndarray, early: np.ndarray, seconds: float) -> Moving:
    """The places `at` [k, 4, 4], moving as from `early` to `late` within some seconds."""
    turns = [quaternion.from_matrix(matrices[:, :3, :3]) for matrices in (at, late, early)]
    motion = Moving.from_frames(late[:, :3, 3], turns[1], early[:, :3, 3], turns[2], seconds)
    return Moving(at[:, :3, 3], turns[0], motion.velocities, motion.spins)
