"""The motion stack's entries, made from a character's settings."""

from ..errors import RagdollError
from ..motion import stack
from ..motion.rig import Rig
from . import graph_entries, layer_entries, limb_entries, look_at_entries

# For each kind a function of the character and its rig that gives pairs (name, make), `make` giving the entry.
BUILDERS: dict = {
    stack.GRAPH: graph_entries.build,
    stack.LAYERS: layer_entries.build,
    stack.BONE_TRANSFORMS: limb_entries.bone_transforms,
    stack.TWO_BONE_IK: limb_entries.two_bone_iks,
    stack.LOOK_AT: look_at_entries.look_ats,
    stack.LEG_STABILIZERS: look_at_entries.leg_stabilizers,
}


def of(obj, rig: Rig) -> tuple[list[stack.Entry], dict]:
    """Entries in the character's own order, and messages by the name of those that cannot be made."""
    entries, messages = [], {}
    for builder in BUILDERS.values():
        for name, make in builder(obj, rig):
            try:
                entries.append(make())
            except RagdollError as error:
                messages[name] = str(error)
    return stack.in_order(look_at_entries.joined(entries), [stack.RECOVERY, *order_of(obj)]), messages


def order_of(obj) -> list[str]:
    """The kinds in the character's own order."""
    own = [item.kind for item in obj.active_ragdoll.motion_order if item.kind in stack.CHOSEN_ORDER]
    return [*dict.fromkeys(own), *(kind for kind in stack.CHOSEN_ORDER if kind not in own)]
