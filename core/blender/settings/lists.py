"""Items of lists: names by which settings refer to each other, and keys and drivers, which Blender finds by the place.

A name is there once in its list, and references follow when it is changed. Keys move with their items.
"""

import re
from collections.abc import Callable
from operator import attrgetter

from ..rig import action_channels
from .declare import CHOSEN, POSES, declarations, record, text, walk


# ---- names ----------------------------------------------------------------------------------------------------------
def unique(items, name: str) -> str:
    """A name that no item has yet: the given one, or the given one with the next free number."""
    names = {item.name for item in items}
    stem, number = re.fullmatch(r"(.*?)(?: (\d{1,6}))?", name, re.DOTALL).groups()
    count = int(number or 1)
    while name in names:
        count += 1
        name = f"{stem} {count}"
    return name


def named(description: str, default: str, of: str):
    """A name for the `Named` items of a list, by its path in a character's settings; what `refers` to it follows."""

    def renamed(self, context) -> None:
        settings = self.id_data.active_ragdoll
        own = unique([item for item in attrgetter(of)(settings) if item != self], self.name)
        if own != self.name:
            self.name = own  # calls this function again
            return
        before, self.known_name = self.known_name, own
        for group, name, said in walk(settings) if before and before != own else ():
            if said.refers == of and getattr(group, name) == before:
                setattr(group, name, own)
        POSES.update(self, context)

    return text("Name", description, default, needs=POSES, update=renamed)


class Named:
    """An item with a name, and the name it had last, by which references to it are found."""

    known_name: record(str, of=CHOSEN)


# ---- active rows, keys and drivers ----------------------------------------------------------------------------------
def active_index(owner, name: str) -> int:
    """The active row of a list, the nearest one where there is no such row; -1 where the list is empty.

    Args:
        owner: the settings that have the list. name: of the list.
    """
    own, last = declarations(type(owner))[name].index, len(getattr(owner, name)) - 1
    return min(max(getattr(owner, own), 0), last) if own else last


def active_item(owner, name: str):
    """The item in the active row of a list; None where the list is empty."""
    index = active_index(owner, name)
    return getattr(owner, name)[index] if index >= 0 else None


def activate(owner, name: str, index: int) -> None:
    """Make a row the active one, where the list shows one at all."""
    own = declarations(type(owner))[name].index
    if own:
        setattr(owner, own, max(index, 0))


def add_item(owner, name: str):
    """A new item at the end of a list; it is the active one."""
    item = getattr(owner, name).add()
    activate(owner, name, len(getattr(owner, name)) - 1)
    return item


def remove_item(owner, name: str, index: int | None = None) -> None:
    """Remove an item, the active one when not told which, with its keys and drivers; the next one is active then."""
    index = active_index(owner, name) if index is None else index
    items = getattr(owner, name)
    items.remove(index)
    _renumber(owner, name, lambda place: None if place == index else place - (place > index))
    activate(owner, name, min(index, len(items) - 1))


def move_item(owner, name: str, index: int, new: int) -> None:
    """Move an item with its keys and drivers to another place, and make it active; others make room."""
    items = getattr(owner, name)
    new = min(max(new, 0), len(items) - 1)
    items.move(index, new)
    order = list(range(len(items)))
    order.insert(new, order.pop(index))
    if new != index:
        _renumber(owner, name, lambda place: order.index(place) if place < len(order) else place)
    activate(owner, name, new)


def _renumber(owner, name: str, place_of: Callable[[int], int | None]) -> None:
    """Give the curves of a list's items their new places; None removes them."""
    obj = owner.id_data
    data = obj.animation_data
    if data is None:
        return
    owners = [data.drivers]
    for action in action_channels.played(data):
        if action.library is None:
            owners.append(action_channels.fcurves_of(action, obj))
    start = f"{owner.path_from_id(name)}["
    for curves in owners:
        for curve in list(curves):
            number, closed, rest = curve.data_path.removeprefix(start).partition("]")
            if not (curve.data_path.startswith(start) and closed and number.isdigit()):
                continue
            place = place_of(int(number))
            if place is None:
                curves.remove(curve)
            else:
                curve.data_path = f"{start}{place}]{rest}"
