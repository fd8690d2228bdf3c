"""Keys and drivers of settings in lists: Blender finds them by the item's place, so they have to move with it."""

from collections.abc import Callable

from . import action_channels

PREFIX = "active_ragdoll."


def remove(obj, path: str, items, index: int) -> int:
    """Remove an item with its keys and drivers; the index of what is active then.

    Args:
        obj: The character.
        path: Of the list below `active_ragdoll`, such as ``layers`` or ``layers[0].poses``.
        items, index: The list and the item's place.
    """
    items.remove(index)
    _renumber(obj, path, lambda place: None if place == index else place - (place > index))
    return max(min(index, len(items) - 1), 0)


def move(obj, path: str, items, index: int, new: int) -> int:
    """Move an item with its keys and drivers to another place, which is returned; others make room."""
    new = min(max(new, 0), len(items) - 1)
    items.move(index, new)
    order = list(range(len(items)))
    order.insert(new, order.pop(index))
    if new != index:
        _renumber(obj, path, lambda place: order.index(place) if place < len(order) else place)
    return new


def _renumber(obj, path: str, place_of: Callable[[int], int | None]) -> None:
    """Give the curves of a list's items their new places; None removes them."""
    data = obj.animation_data
    if data is None:
        return
    owners = [data.drivers]
    for action in action_channels.played(data):
        if action.library is None:
            owners.append(action_channels.fcurves_of(action, obj))
    start = f"{PREFIX}{path}["
    for curves in owners:
        found = []
        for curve in curves:
            number, closed, rest = curve.data_path.removeprefix(start).partition("]")
            if curve.data_path.startswith(start) and closed and number.isdigit():
                found.append((curve, place_of(int(number)), rest))
        for curve, place, rest in found:
            if place is not None:
                curve.data_path = f"{start}{place}]{rest}"
        for curve in [curve for curve, place, _rest in found if place is None]:
            curves.remove(curve)
