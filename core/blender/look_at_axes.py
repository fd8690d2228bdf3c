"""Forward axes of look-at entries from the bind pose of their armature."""

from ..errors import RagdollError
from ..motion.auto_axes import character_forward, forward_axes
from ..motion.rig import Rig
from . import armature, clips, recognition
from .runtime import STATE

_NOTHING = 1e-6  # what single precision leaves of a component that is 0


def rig_of(obj) -> Rig:
    """An armature's skeleton and bind pose, in its own space.

    Raises:
        RagdollError: no armature, or one without bones.
    """
    rest = clips.rig_rest(obj)
    return Rig(rest.skeleton, rest.bind)


def find_for(entry) -> None:
    """Write the axes of one entry, unless they were set by hand."""
    find(entry.id_data, [entry])


def find(obj, entries) -> None:
    """Write the axes of entries whose bones are there, of those that are automatic."""
    entries = [e for e in entries if e.axes_from == "AUTO" and e.bone in obj.data.bones]
    if STATE.building or not entries:
        return
    was_building, STATE.building = STATE.building, True
    try:
        rig = rig_of(obj)
        forward = character_forward(rig, recognition.anatomy_of(obj), armature.bind_tails(obj.data))
        for entry in entries:
            write(entry, *forward_axes(rig, rig.index[entry.bone], forward))
    except RagdollError as error:
        print(f"Active Ragdoll: '{obj.name}': forward axes: {error}")
    finally:
        STATE.building = was_building


def write(entry, forward, parent_forward) -> None:
    """Put axes into an entry's settings; what is as good as 0 is shown as that."""
    entry.forward_axis, entry.parent_forward_axis = (
        [0.0 if abs(value) < _NOTHING else value for value in axis] for axis in (forward, parent_forward)
    )
