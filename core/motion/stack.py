"""The motion stack: entries that a pose goes through, one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ..errors import RagdollError
from .local_pose import LocalPose
from .rig import Inputs, Rig

RECOVERY = "RECOVERY"  # where the character lies: comes before all else
LAYERS, GRAPH = "LAYERS", "GRAPH"
BONE_TRANSFORMS, TWO_BONE_IK = "BONE_TRANSFORMS", "TWO_BONE_IK"
LOOK_AT, LEG_STABILIZERS = "LOOK_AT", "LEG_STABILIZERS"
CHOSEN_ORDER = (GRAPH, LAYERS, BONE_TRANSFORMS, TWO_BONE_IK, LOOK_AT, LEG_STABILIZERS)
DEFAULT_ORDER = (RECOVERY, *CHOSEN_ORDER)  # where a character lies comes before all else


class Solver(Protocol):
    """What an entry does to a pose.

    A solver of several parts may have `messages`: why some of them were left out at the last frame, by their names.
    """

    def apply(self, rig: Rig, pose: LocalPose, inputs: Inputs, state, seconds: float) -> tuple[LocalPose, object]:
        """The new pose, and the state for the next frame."""


@dataclass
class Entry:
    """One step of the stack.

    Attributes:
        name: for messages.
        kind: one of DEFAULT_ORDER.
        solver: what it does.
        read: its inputs at a frame, given what the host hands to `run` and the pose that comes in; None: leave it out.
        marks_reference: leg stabilisers hold to the pose that enters this entry.
        keeps_state: what it does depends on the frames before.
        note: what of its settings it leaves out, told at every frame; empty: nothing.
        refresh: takes in what changed beside the settings, such as an edited action; whether the states that were
            recorded before are void.
    """

    name: str
    kind: str
    solver: Solver
    read: Callable[[object, LocalPose], Inputs | None]
    marks_reference: bool = False
    keeps_state: bool = False
    note: str = ""
    refresh: Callable[[], bool] | None = None


def in_order(entries: list[Entry], order=DEFAULT_ORDER) -> list[Entry]:
    """Entries by the place of their kind in `order`, kinds that it lacks in the default order behind."""
    places = {kind: i for i, kind in enumerate([*order, *(k for k in DEFAULT_ORDER if k not in order)])}
    return sorted(entries, key=lambda entry: places[entry.kind])


def run(
    entries: list[Entry], rig: Rig, pose: LocalPose, context, states: tuple | None, seconds: float
) -> tuple[LocalPose, tuple, dict]:
    """Take a pose through all entries.

    An entry that fails is left out; the rest goes on.

    Args:
        entries: in order.
        context: handed to every entry's `read`.
        states: of the frame before, one per entry; None where there is none.
        seconds: time of this frame.

    Returns:
        The pose, the states of this frame, and messages by the name of the entry that failed or has a note.
    """
    reference, after, messages = None, [], {}
    for i, entry in enumerate(entries):
        state = states[i] if states is not None else None
        if entry.marks_reference or (entry.kind == LOOK_AT and reference is None):
            reference = pose
        if entry.note:
            messages[entry.name] = entry.note
        try:
            inputs = entry.read(context, pose)
            if inputs is not None:
                if entry.kind == LEG_STABILIZERS and inputs.reference is None:
                    inputs.reference = pose if reference is None else reference
                pose, state = entry.solver.apply(rig, pose, inputs, state, seconds)
                messages |= getattr(entry.solver, "messages", {})
        except RagdollError as error:
            messages[entry.name] = str(error)
        after.append(state)
    return pose, tuple(after), messages
