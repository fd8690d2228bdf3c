"""What items of lists share: names by which settings refer to each other; keys and drivers, which Blender finds by the
place and which move with their items; and, of layers, samples of blend spaces and states, which action is played how.
"""

import re
from collections.abc import Callable
from functools import partial
from operator import attrgetter

import bpy

from ..rig import action_channels
from ..rig.armature import armatures
from . import declare
from .declare import CHOSEN, POSES, STACK_VALUE, declarations, record, walk


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

    return text("Name", description, default, update=renamed)


class Named:
    """An item with a name, and the name it had last, by which references to it are found."""

    known_name: record(str, of=CHOSEN)


def active_index(owner, name: str) -> int:
    """The active row of a list of its owner's, the nearest one where there is no such row; -1 where it is empty."""
    own, last = declarations(type(owner))[name].index, len(getattr(owner, name)) - 1
    return min(max(getattr(owner, own), 0), last) if own else last


def active_item(owner, name: str):
    """The item in the active row of a list; None where the list is empty."""
    index = active_index(owner, name)
    return getattr(owner, name)[index] if index >= 0 else None


def edited(owner, name: str, index: int) -> None:
    """After an edit of a list: this row is the active one, where the list shows one at all; what it needs is done."""
    said = declarations(type(owner))[name]
    if said.index:
        setattr(owner, said.index, max(index, 0))
    if said.needs is not None:
        said.needs.update(owner, None)


def add_item(owner, name: str):
    """A new item at the end of a list; it is the active one."""
    item = getattr(owner, name).add()
    edited(owner, name, len(getattr(owner, name)) - 1)
    return item


def remove_item(owner, name: str, index: int | None = None) -> None:
    """Remove an item, the active one when not told which, with its keys and drivers; the next one is active then."""
    index = active_index(owner, name) if index is None else index
    items = getattr(owner, name)
    items.remove(index)
    _renumber(owner, name, lambda place: None if place == index else place - (place > index))
    edited(owner, name, min(index, len(items) - 1))


def move_item(owner, name: str, index: int, new: int) -> None:
    """Move an item with its keys and drivers to another place, and make it active; others make room."""
    items = getattr(owner, name)
    new = min(max(new, 0), len(items) - 1)
    items.move(index, new)
    order = list(range(len(items)))
    order.insert(new, order.pop(index))
    if new != index:
        _renumber(owner, name, lambda place: order.index(place) if place < len(order) else place)
    edited(owner, name, new)


def _renumber(owner, name: str, place_of: Callable[[int], int | None]) -> None:
    """Give the curves of a list's items their new places; None removes them."""
    obj, start = owner.id_data, f"{owner.path_from_id(name)}["
    data = obj.animation_data
    if data is None:
        return
    own = (action for action in action_channels.played(data) if action.library is None)
    for curves in (data.drivers, *(action_channels.fcurves_of(action, obj) for action in own)):
        for curve in list(curves):
            number, closed, rest = curve.data_path.removeprefix(start).partition("]")
            if not (curve.data_path.startswith(start) and closed and number.isdigit()):
                continue
            place = place_of(int(number))
            if place is None:
                curves.remove(curve)
            else:
                curve.data_path = f"{start}{place}]{rest}"


def slots(of: str, action: str):
    """A choice among the slots of an action by their display names; the identifier is stored in the setting `of`."""

    @declare.menu
    def listed(self) -> list:
        chosen, now = getattr(self, action), getattr(self, of)
        found = [(slot.identifier, slot.name_display, "") for slot in getattr(chosen, "slots", ())]
        if now and now not in [slot[0] for slot in found]:
            found.append((now, f"{now[2:]} (gone)", ""))
        return [("AUTOMATIC", "Automatic", "The one that fits"), *found]

    def get(self) -> int:
        return next((i for i, item in enumerate(listed(self)) if item[0] == getattr(self, of)), 0)

    def put(self, value: int) -> None:
        setattr(self, of, listed(self)[value][0] if value else "")

    return declare.choice("Slot", listed, None, "Slot of the action", kind=declare.DERIVED, get=get, set=put)


def remembers(what: str, name: str, armature: str = ""):
    """The callback of a pointer: its name is kept in a setting, in case what it points at is deleted.

    Of an action, `armature` is the setting that points at the armature it was made for."""

    def chosen(self, context) -> None:
        found = getattr(self, what)
        setattr(self, name, found.name if found is not None else "")
        if armature:
            # Another armature that plays it, as after importing a clip; none if the character itself does.
            playing = [o for o in armatures(bpy.data.objects) if o.animation_data and o.animation_data.action == found]
            others = [o for o in playing if o.data != self.id_data.data]
            setattr(self, armature, others[0] if found and others and self.id_data not in playing else None)
        POSES.update(self, context)

    return chosen


number = partial(declare.number, precision=3, needs=POSES)
share = partial(declare.share, precision=3, needs=STACK_VALUE, keyed=True)
choice = partial(declare.choice, needs=POSES)
text = partial(declare.text, needs=POSES)
flag = partial(declare.flag, needs=POSES)
whole = partial(declare.whole, needs=POSES)
items = partial(declare.items, needs=POSES)
an_object = partial(declare.block, needs=POSES)
an_armature = partial(an_object, poll=lambda _self, obj: obj.type == "ARMATURE")
an_action = partial(declare.block, type=bpy.types.Action, needs=POSES)


# fmt: off

PLAYBACK = (
    ("LOOP", "Loop", "Goes on at the other end"),
    ("ONCE", "Once", "Holds its first and its last pose"),
    ("PING_PONG", "Ping-Pong", "Turns round at its ends"),
)
ADDITIVE = (
    ("NONE", "Whole Pose", "Not additive"),
    ("LOCAL", "Additive, Local", "The difference to a base pose, each bone in its parent's frame"),
    ("MESH", "Additive, Mesh Space", "The difference to a base pose, rotations in the armature's space: bones that are "
        "not moved keep their direction. Aim offsets need this"),
)
BASES = (
    ("BIND", "Bind Pose", "The difference to the bind pose"),
    ("FRAME", "Own Frame", "The difference to one frame of the same action"),
    ("ACTION", "Other Action", "The difference to a frame of another action"),
)


class ActionChoice:
    """An action, with the names of it and of what it was made for, in case they are deleted."""

    action: an_action("Action", "Its bones are matched by name; it need not be assigned to anything",
        update=remembers("action", "action_name", "armature"))
    action_name: record(str, of=CHOSEN)
    slot: text("Slot", "Slot of the action (Blender 4.4 and later); empty: the one that fits")
    slot_choice: slots("slot", "action")
    armature: an_armature("Made For", "Armature of the same bones that the action was made for, where its rest pose is "
        "another: what each bone does relative to its parent is taken over. Empty: the character's own rest pose "
        "counts", update=remembers("armature", "armature_name"))
    armature_name: record(str, of=CHOSEN)
    object_motion: flag("Object Motion", "Root bones also take over how the action moves the armature object it was "
        "made for, from where the character's object stands")


class Playback:
    """How a clip is played."""

    speed: number("Speed", "Seconds of the clip per second; negative: backwards", 1.0, soft_min=-4.0, soft_max=4.0)
    playback: choice("Play", PLAYBACK, "LOOP", "What happens at the clip's ends")


class BasePose:
    """What an additive motion is the difference to."""

    base: choice("Base", BASES, "BIND", "What the motion is the difference to")
    base_frame: number("Base Frame", "Frame of the action that is the base pose", 1.0, precision=1)
    base_action: an_action("Base Action", "Action that the base pose is a frame of",
        update=remembers("base_action", "base_action_name", "base_armature"))
    base_action_name: record(str, of=CHOSEN)
    base_armature: an_armature("Base Made For", "Armature that the base action was made for")
    base_slot: text("Slot", "Slot of the base action; empty: the one that fits")
    base_slot_choice: slots("base_slot", "base_action")
