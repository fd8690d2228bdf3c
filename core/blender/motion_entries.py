"""The motion stack's entries, made from a character's settings."""

from ..errors import RagdollError
from ..motion import stack
from ..motion.rig import Rig

# For each kind a function of the character and its rig that gives pairs (name, make), `make` giving the entry.
BUILDERS: dict = {}


def of(obj, rig: Rig) -> tuple[list[stack.Entry], dict]:
    """Entries in the character's own order, and messages by the name of those that cannot be made."""
    entries, messages = [], {}
    for builder in BUILDERS.values():
        for name, make in builder(obj, rig):
            try:
                entries.append(make())
            except RagdollError as error:
                messages[name] = str(error)
    order = [item.kind for item in obj.active_ragdoll.motion_order]
    return stack.in_order(entries, [stack.RECOVERY, *order] if order else stack.DEFAULT_ORDER), messages
