"""The motion stack's entries, made from a character's settings."""

from ..errors import RagdollError
from ..motion import stack
from ..motion.rig import Rig
from . import graph_entries, layer_entries

# For each kind a function of the character and its rig that gives pairs (name, make), `make` giving the entry.
BUILDERS: dict = {stack.LAYERS: layer_entries.build, stack.GRAPH: graph_entries.build}


def of(obj, rig: Rig) -> tuple[list[stack.Entry], dict]:
    """Entries in the character's own order, and messages by the name of those that cannot be made."""
    entries, messages = [], {}
    for builder in BUILDERS.values():
        for name, make in builder(obj, rig):
            try:
                entries.append(make())
            except RagdollError as error:
                messages[name] = str(error)
    order = [item.kind for item in obj.active_ragdoll.motion_order] or stack.DEFAULT_ORDER
    return stack.in_order(entries, order), messages


def wanted(obj) -> bool:
    """Whether a character's settings ask for any entry."""
    return any(True for builder in BUILDERS.values() for _entry in builder(obj, None))
