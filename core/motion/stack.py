"""The motion stack: entries that a pose goes through, one after another."""

from collections.abc import Mapping
from types import MappingProxyType

from ..errors import RagdollError
from .rig import Inputs, LocalPose, Rig


class Step:
    """One step of the stack."""

    name: str  # for messages
    kind: str = ""  # what the host calls its kind
    solver: object  # what `apply` calls, unless a class has its own
    marks_reference: bool = False  # the pose that enters this step is the reference from here on
    begins_reference: bool = False  # it is, where no step before has marked one
    reads_reference: bool = False  # its inputs get the reference: leg stabilisers put feet back to it
    keeps_state: bool = False  # what it does depends on the frames before
    note: str = ""  # what of its settings it leaves out, told at every frame; empty: nothing
    # Why parts of it were left out at the last frame, by their names
    messages: Mapping[str, str] = MappingProxyType({})

    def read(self, context, pose: LocalPose) -> Inputs | None:
        """Its inputs at a frame, given what the host hands to `run` and the pose that comes in; None: leave it out."""
        raise NotImplementedError

    def apply(self, rig: Rig, pose: LocalPose, inputs: Inputs, state, seconds: float) -> tuple[LocalPose, object]:
        """The new pose, and the state for the next frame."""
        return self.solver.apply(rig, pose, inputs, state, seconds)

    def refresh(self) -> bool:
        """Take in what changed beside the settings, such as an edited action; whether recorded states are void."""
        return False


def run(
    entries: list[Step], rig: Rig, pose: LocalPose, context, states: tuple | None, seconds: float
) -> tuple[LocalPose, tuple, dict]:
    """Take a pose through all entries, in order. An entry that fails is left out; the rest goes on.

    Returns the pose, the states of this frame, and messages by the name of the entry that failed or has a note.

    Args:
        context: handed to every entry's `read`. states: of the frame before, one per entry; None where there is none.
        seconds: time of this frame.
    """
    reference, after, messages = None, [], {}
    for i, entry in enumerate(entries):
        state = states[i] if states is not None else None
        if entry.marks_reference or (entry.begins_reference and reference is None):
            reference = pose
        if entry.note:
            messages[entry.name] = entry.note
        try:
            inputs = entry.read(context, pose)
            if inputs is not None:
                if entry.reads_reference and inputs.reference is None:
                    inputs.reference = pose if reference is None else reference
                pose, state = entry.apply(rig, pose, inputs, state, seconds)
                messages |= entry.messages
        except RagdollError as error:
            messages[entry.name] = str(error)
        after.append(state)
    return pose, tuple(after), messages
