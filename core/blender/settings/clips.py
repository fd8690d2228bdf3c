"""Settings that layers, samples of blend spaces and states of the graph share: which action, and how it is played."""

from functools import partial

import bpy

from . import declare
from .declare import CHOSEN, POSES, STACK, STACK_VALUE, record

KEYED = {"options": {"ANIMATABLE", "LIBRARY_EDITABLE"}, "keyed": True}

PLAYBACK = (
    ("LOOP", "Loop", "Goes on at the other end"),
    ("ONCE", "Once", "Holds its first and its last pose"),
    ("PING_PONG", "Ping-Pong", "Turns round at its ends"),
)
ADDITIVE = (
    ("NONE", "Whole Pose", "Not additive"),
    ("LOCAL", "Additive, Local", "The difference to a base pose, each bone in its parent's frame"),
    (
        "MESH",
        "Additive, Mesh Space",
        "The difference to a base pose, rotations in the armature's space: bones that are not moved keep their "
        "direction. Aim offsets need this",
    ),
)
BASES = (
    ("BIND", "Bind Pose", "The difference to the bind pose"),
    ("FRAME", "Own Frame", "The difference to one frame of the same action"),
    ("ACTION", "Other Action", "The difference to a frame of another action"),
)


_slots: dict = {}  # Blender does not keep the texts of a menu


def slots(of: str, action: str):
    """A choice among the slots of an action by their display names; the identifier is stored in the setting `of`."""

    def listed(self, _context=None) -> list:
        chosen, now = getattr(self, action), getattr(self, of)
        found = [(slot.identifier, slot.name_display, "") for slot in getattr(chosen, "slots", ())]
        if now and now not in [slot[0] for slot in found]:
            found.append((now, f"{now[2:]} (gone)", ""))
        return _slots.setdefault(tuple(found), [("AUTOMATIC", "Automatic", "The one that fits"), *found])

    def get(self) -> int:
        return next((i for i, item in enumerate(listed(self)) if item[0] == getattr(self, of)), 0)

    def put(self, value: int) -> None:
        setattr(self, of, listed(self)[value][0] if value else "")

    return declare.choice("Slot", listed, None, "Slot of the action", kind=declare.DERIVED, get=get, set=put)


def remembers(what: str, name: str, armature: str = ""):
    """The callback of a pointer: its name is kept in a setting, in case what it points at is deleted.

    Of an action, `armature` is the setting that points at the armature it was made for.
    """

    def chosen(self, context) -> None:
        found = getattr(self, what)
        setattr(self, name, found.name if found is not None else "")
        if armature:
            setattr(self, armature, _made_for(found, self.id_data))
        POSES.update(self, context)

    return chosen


def _made_for(action, owner):
    """Another armature that plays an action, as after importing a clip with its own skeleton.

    None if there is none, or if the character itself plays the action.
    """
    if action is None or _plays(owner, action):
        return None
    others = (o for o in bpy.data.objects if o.type == "ARMATURE" and o.data != owner.data and _plays(o, action))
    return next(others, None)


def _plays(obj, action) -> bool:
    return obj.animation_data is not None and obj.animation_data.action == action


def _is_armature(_self, obj) -> bool:
    return obj.type == "ARMATURE"


def number(name: str, description: str, default: float = 0.0, *, keyed: bool = False, **more):
    """A number; `keyed`: it may be animated."""
    more = {"precision": 3, **({"needs": STACK} | KEYED if keyed else {"needs": POSES}), **more}
    return declare.number(name, description, default, **more)


def choice(name: str, description: str, items, default: str, **more):
    """One of several; not animatable."""
    return declare.choice(name, items, default, description, needs=POSES, **more)


share = partial(declare.share, precision=3, needs=STACK_VALUE, **KEYED)  # that can be keyed
text = partial(declare.text, needs=POSES)
flag = partial(declare.flag, needs=POSES)
whole = partial(declare.whole, needs=POSES)
an_object = partial(declare.block, needs=POSES)
an_action = partial(declare.block, type=bpy.types.Action, needs=POSES)


# Declarations are read as tables.
# fmt: off

class ActionChoice:
    """An action, with the names of it and of what it was made for, in case they are deleted."""

    action: an_action("Action", "Its bones are matched by name; it need not be assigned to anything",
        update=remembers("action", "action_name", "armature"))
    action_name: record(str, of=CHOSEN)
    slot: text("Slot", "Slot of the action (Blender 4.4 and later); empty: the one that fits")
    slot_choice: slots("slot", "action")
    armature: an_object("Made For", "Armature of the same bones that the action was made for, where its rest pose is "
        "another: what each bone does relative to its parent is taken over. Empty: the character's own rest pose "
        "counts", poll=_is_armature, update=remembers("armature", "armature_name"))
    armature_name: record(str, of=CHOSEN)
    object_motion: flag("Object Motion", "Root bones also take over how the action moves the armature object it was "
        "made for, from where the character's object stands")


class Playback:
    """How a clip is played."""

    speed: number("Speed", "Seconds of the clip per second; negative: backwards", 1.0, soft_min=-4.0, soft_max=4.0)
    playback: choice("Play", "What happens at the clip's ends", PLAYBACK, "LOOP")


class BasePose:
    """What an additive motion is the difference to."""

    base: choice("Base", "What the motion is the difference to", BASES, "BIND")
    base_frame: number("Base Frame", "Frame of the action that is the base pose", 1.0, precision=1)
    base_action: an_action("Base Action", "Action that the base pose is a frame of",
        update=remembers("base_action", "base_action_name", "base_armature"))
    base_action_name: record(str, of=CHOSEN)
    base_armature: an_object("Base Made For", "Armature that the base action was made for", poll=_is_armature)
    base_slot: text("Base Slot", "Slot of the base action; empty: the one that fits")
    base_slot_choice: slots("base_slot", "base_action")
