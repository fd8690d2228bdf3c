"""Adding, removing and moving what a character's motion stack is made of."""

from ..errors import RagdollError
from ..motion import look_at_setup, stack
from . import keyed_lists, limb_entries, look_at_axes, motion_entries, motion_setup, recognition, runtime
from .limb_settings import ACTIVE, LISTS
from .runtime import STATE

# What can be edited: the list, and for lists inside a chain the setting that says which of it is meant.
ENTRY, LINKED = "entries", "linked_bones"
EDITABLE = (*LISTS, ENTRY, LINKED)


def list_of(obj, what: str):
    """A list of the character, of its active chain or of that chain's active entry; None where there is none."""
    settings = obj.active_ragdoll
    if what in LISTS:
        return getattr(settings, what)
    chain = _at(settings.look_at, settings.active_look_at)
    if what == ENTRY:
        return chain.entries if chain is not None else None
    entry = _at(chain.entries, chain.active_entry) if chain is not None else None
    return entry.linked_bones if entry is not None else None


def active_index(obj, what: str) -> int:
    """Which item of a list is meant; the last one where none is."""
    settings = obj.active_ragdoll
    items = list_of(obj, what)
    if items is None or not len(items):
        return -1
    if what in LISTS:
        index = getattr(settings, ACTIVE[what])
    elif what == ENTRY:
        index = settings.look_at[_within(settings.look_at, settings.active_look_at)].active_entry
    else:
        index = len(items) - 1
    return _within(items, index)


def active_item(obj, what: str):
    """The item of a list that is meant; None where the list is empty."""
    items = list_of(obj, what)
    return _at(items, active_index(obj, what)) if items is not None else None


def add(obj, scene, what: str, bone: str = ""):
    """Add an item and make it the active one; the character gets its motion stack where it has none.

    Args:
        bone: the bone that it is about; empty: one that suits, where there is one.

    Raises:
        RagdollError: no such bone, no chain to add to, or a character that cannot have a motion stack.
    """
    if bone and bone not in obj.data.bones:
        raise RagdollError(f"'{obj.name}' has no bone '{bone}'")
    if list_of(obj, what) is None:
        raise RagdollError(f"'{obj.name}' has no look-at chain or entry to add to: add one first")
    motion_setup.ensure(obj, scene)
    items = list_of(obj, what)
    was_building, STATE.building = STATE.building, True
    try:
        item = items.add()
        if what == "look_at":
            item.name = f"Look-at {len(items)}" if len(items) > 1 else "Look-at"
        elif what == ENTRY:
            item.bone = _next_entry(obj, items, bone)
        elif what == LINKED:
            item.bone = bone
        elif what == "leg_stabilizers":
            item.foot_bone = bone
            item.bones_count = legs_of(obj).get(bone, 3)
        elif what == "two_bone_ik":
            item.end_bone = bone
        else:
            item.bone = bone
            item.translation_mode = "IGNORE" if bone and limb_entries.is_held(obj, bone) else "ADD"
            item.rotation_mode = "ADD"
    finally:
        STATE.building = was_building
    _activate(obj, what, len(items) - 1)
    if what == ENTRY:
        look_at_axes.find(obj, [items[len(items) - 1]])
    runtime.settings_changed(obj)
    return items[len(items) - 1]


def _next_entry(obj, items, bone: str) -> str:
    """The bone asked for; else the parent of the last entry's."""
    if bone and all(other.bone != bone for other in items):
        return bone
    names = [other.bone for other in items if other.bone in obj.data.bones]
    parent = obj.data.bones[names[-1]].parent if names else None
    return parent.name if parent is not None else ""


def legs_of(obj) -> dict[str, int]:
    """Number of bones of each recognised leg by its foot."""
    try:
        rig = look_at_axes.rig_of(obj)
        found = look_at_setup.from_roles(rig, recognition.anatomy_of(obj))
    except RagdollError:
        return {}
    return {rig.name(foot): count for foot, count in found.legs}


def remove(obj, what: str, index: int | None = None) -> None:
    """Remove an item, the active one when not told which; with the last of all the motion stack goes too.

    Raises:
        RagdollError: there is none, or the character is baked.
    """
    items = list_of(obj, what)
    index = active_index(obj, what) if index is None else index
    if items is None or not 0 <= index < len(items):
        raise RagdollError(f"'{obj.name}': there is nothing to remove")
    if obj.active_ragdoll.muted:
        raise RagdollError(f"'{obj.name}' is baked: revert the bake first")
    # What is in lists inside a chain cannot be keyed, and no curve has such a path.
    _activate(obj, what, keyed_lists.remove(obj, what, items, index))
    runtime.settings_changed(obj)
    motion_setup.drop_if_idle(obj)


def move(obj, what: str, step: int) -> bool:
    """Move the active item up (-1) or down (1); whether there was room."""
    items = list_of(obj, what)
    index = active_index(obj, what)
    if items is None or index < 0 or not 0 <= index + step < len(items):
        return False
    _activate(obj, what, keyed_lists.move(obj, what, items, index, index + step))
    runtime.settings_changed(obj)
    return True


def move_kind(obj, kind: str, step: int) -> bool:
    """Let a kind of entry act one place earlier (-1) or later (1); whether there was room.

    Raises:
        RagdollError: no such kind.
    """
    order = motion_entries.order_of(obj)
    if kind not in order:
        raise RagdollError(f"There is no kind of entry '{kind}': it must be one of {', '.join(stack.CHOSEN_ORDER)}")
    index = order.index(kind)
    if not 0 <= index + step < len(order):
        return False
    order[index], order[index + step] = order[index + step], order[index]
    items = obj.active_ragdoll.motion_order
    items.clear()
    if tuple(order) != stack.CHOSEN_ORDER:
        for name in order:
            items.add().kind = name
    runtime.settings_changed(obj)
    return True


def _activate(obj, what: str, index: int) -> None:
    settings = obj.active_ragdoll
    if what in LISTS:
        setattr(settings, ACTIVE[what], index)
    elif what == ENTRY:
        settings.look_at[_within(settings.look_at, settings.active_look_at)].active_entry = index


def _within(items, index: int) -> int:
    return min(max(index, 0), len(items) - 1)


def _at(items, index: int):
    return items[_within(items, index)] if len(items) else None
