"""The entry of the motion stack that lets a character go on where it lies."""

import bpy

from ..errors import RagdollError
from ..motion import stack
from ..motion.local_pose import LocalPose
from ..motion.rig import Inputs, Rig
from . import clips, motion_entries, recovery_record

NAME = "Recovery"


class Elsewhere:
    """Plays the character's own animation, or a get-up action, as the passage that holds at the frame says."""

    def __init__(self, obj, rig: Rig) -> None:
        self.obj, self.rig = obj, rig
        self._clips = {}
        self._now = None

    def read(self, places, pose: LocalPose) -> Inputs | None:
        """The passage of the frame, if any; what was played is noted for one that may begin here."""
        live = recovery_record.live(self.obj)
        record = recovery_record.of(self.obj, places.frame)
        passage = None if record is None else record.passage(places.frame)
        if live is not None:
            live.note_played(places.frame, pose, places.world)
        if passage is None:
            return None
        self._now = passage, places.frame, live
        return Inputs(world=places.world)

    def apply(self, rig: Rig, pose: LocalPose, inputs: Inputs, state, _seconds: float):
        """See `stack.Solver`."""
        passage, frame, live = self._now
        if passage.action:
            pose = self.clip(passage.action, passage.fps).at(passage.seconds(frame))
        result = passage.pose(rig, pose, inputs.world, frame)
        if live is not None:
            live.note_given(frame, result)
        return result, state

    def clip(self, action: str, fps: float):
        """A get-up action as a clip. Raises RagdollError, naming it, when it is gone or does not fit."""
        key = action, fps
        if key not in self._clips:
            found = bpy.data.actions.get(action)
            if found is None:
                raise RagdollError(f"{NAME}: the get-up action '{action}' of '{self.obj.name}' was deleted")
            self._clips[key] = clips.sample_action(found, self.obj, fps=fps)
        return self._clips[key]


def build_entry(obj, rig: Rig):
    """For `motion_entries.BUILDERS`."""
    if not obj.active_ragdoll.recovery.enabled:
        return

    def make():
        solver = Elsewhere(obj, rig)
        return stack.Entry(NAME, stack.RECOVERY, solver, solver.read)

    yield NAME, make


motion_entries.BUILDERS[stack.RECOVERY] = build_entry
