"""The entry of the motion stack by which a character goes on where it lies after a fall."""

import bpy

from ....errors import RagdollError
from ....motion.stack import Inputs, LocalPose, Rig, Step
from ...run import get_up, records
from ...runtime import STATE
from . import Kind

NAME = "Recovery"


class Elsewhere(Step):
    """Moves the character's animation, or a get-up action, to the place given by the passage of the frame."""

    name, plays_elsewhere = NAME, True

    def __init__(self, obj) -> None:
        self.obj, self._now, self._clips = obj, None, {}

    def read(self, reader, pose: LocalPose) -> Inputs | None:
        """Find the passage of the frame; note the pose that comes in, because a passage may begin here."""
        live = records.recovery_of(self.obj)
        record = records.record_of(self.obj, reader.frame)
        passage = None if record is None else record.passage(reader.frame)
        if live is not None:
            live.played[reader.frame], live.worlds[reader.frame] = pose, reader.world
        if passage is None:
            return None
        self._now = passage, reader.frame, live
        return Inputs(world=reader.world)

    def apply(self, rig: Rig, pose: LocalPose, inputs: Inputs, state, _seconds: float):
        passage, frame, live = self._now
        if passage.action:
            pose = self.clip(passage.action, passage.fps).at(passage.seconds(frame))
        result = passage.pose(rig, pose, inputs.world, frame)
        if live is not None:
            live.given[frame] = result
        return result, state

    def clip(self, action: str, fps: float):
        """A get-up action as a clip. Raises RagdollError, naming it, when it is gone or does not fit."""
        found = bpy.data.actions.get(action)
        if found is None:
            raise RagdollError(f"{NAME}: the get-up action '{action}' of '{self.obj.name}' was deleted")
        edits, clip = self._clips.get((action, fps), (None, None))
        if edits != STATE.clips.edits:
            clip = get_up.fitted(found, self.obj, fps)
            self._clips[action, fps] = STATE.clips.edits, clip
        return clip


class Recovery(Kind):
    """Where the character lies: it moves what graph and layers make of the animation, and a planned way up hides it."""

    identifier, label, place, movable = "RECOVERY", "Recovery", 22, False

    def acts(self, obj) -> bool:
        settings = obj.active_ragdoll
        return settings.is_ragdoll and settings.recovery.enabled and settings.recovery.reroot

    def steps(self, obj, rig):
        if obj.active_ragdoll.recovery.enabled:
            yield NAME, lambda: Elsewhere(obj)


KIND = Recovery()
