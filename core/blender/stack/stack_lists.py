"""Adding, removing and moving what a character's motion stack is made of."""

from ...errors import RagdollError
from .. import runtime
from ..rig.armature import refuse_baked
from ..runtime import STATE
from ..settings import lists
from . import entries, stack_setup


def owner_of(obj, what: str):
    """The settings that have a list: the character, its active chain or that chain's active entry; None without."""
    return entries.lists()[what].owner(obj)


def list_of(obj, what: str):
    """A list of the character, of its active chain or of that chain's active entry; None where there is none."""
    owner = owner_of(obj, what)
    return None if owner is None else getattr(owner, what)


def active_index(obj, what: str) -> int:
    """Which item of a list is meant; -1 where there is none."""
    owner = owner_of(obj, what)
    return -1 if owner is None else lists.active_index(owner, what)


def active_item(obj, what: str):
    """The item of a list that is meant; None where there is none."""
    owner = owner_of(obj, what)
    return None if owner is None else lists.active_item(owner, what)


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
    stack_setup.ensure(obj, scene)
    items = list_of(obj, what)
    with STATE.writing():
        item = items.add()
        entries.lists()[what].fill(obj, items, item, bone)
    lists.activate(owner_of(obj, what), what, len(items) - 1)
    entries.lists()[what].added(obj, item)
    runtime.settings_changed(obj)
    return items[len(items) - 1]


def remove(obj, what: str, index: int | None = None) -> None:
    """Remove an item, the active one when not told which; with the last of all the motion stack goes too.

    Raises:
        RagdollError: there is none, or the character is baked.
    """
    items = list_of(obj, what)
    index = active_index(obj, what) if index is None else index
    if items is None or not 0 <= index < len(items):
        raise RagdollError(f"'{obj.name}': there is nothing to remove")
    refuse_baked(obj)
    lists.remove_item(owner_of(obj, what), what, index)
    runtime.settings_changed(obj)
    stack_setup.drop_if_idle(obj)


def move(obj, what: str, step: int) -> bool:
    """Move the active item up (-1) or down (1); whether there was room."""
    items = list_of(obj, what)
    index = active_index(obj, what)
    if items is None or index < 0 or not 0 <= index + step < len(items):
        return False
    lists.move_item(owner_of(obj, what), what, index, index + step)
    runtime.settings_changed(obj)
    return True


def move_kind(obj, kind: str, step: int) -> bool:
    """Let a kind of entry act one place earlier (-1) or later (1); whether there was room.

    Raises:
        RagdollError: no such kind.
    """
    order = entries.order_of(obj)
    if kind not in order:
        raise RagdollError(f"There is no kind of entry '{kind}': it must be one of {', '.join(entries.movable())}")
    index = order.index(kind)
    if not 0 <= index + step < len(order):
        return False
    order[index], order[index + step] = order[index + step], order[index]
    items = obj.active_ragdoll.motion_order
    items.clear()
    if order != entries.movable():
        for name in order:
            items.add().kind = name
    runtime.settings_changed(obj)
    return True
