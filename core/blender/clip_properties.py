"""Settings that layers, samples of blend spaces and states of the graph share: which action, and how it is played."""

import bpy

from . import runtime
from .setting_options import (
    FIXED,
    BoolProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)
from .stack_edits import stack_changed, stack_value_changed

KEYS = {"ANIMATABLE", "LIBRARY_EDITABLE"}

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


def set_up(self, context) -> None:
    """As `stack_changed`, for what decides which poses come: limits are widened to those by the next build."""
    runtime.settings_changed(self.id_data, layout=True)
    stack_changed(self, context)


def _action_chosen(self, context) -> None:
    self.action_name = self.action.name if self.action is not None else ""
    self.armature = _made_for(self.action, self.id_data)
    set_up(self, context)


def _base_chosen(self, context) -> None:
    self.base_action_name = self.base_action.name if self.base_action is not None else ""
    self.base_armature = _made_for(self.base_action, self.id_data)
    set_up(self, context)


def _armature_chosen(self, context) -> None:
    self.armature_name = self.armature.name if self.armature is not None else ""
    set_up(self, context)


def _made_for(action, owner):
    """Another armature that plays an action, as after importing a clip with a skeleton of its own; None if there is
    none, or if the character itself plays it."""
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
    options = KEYS if keyed else FIXED
    more = {"precision": 3, "update": stack_changed if keyed else set_up, **more}
    return FloatProperty(name=name, description=description, default=default, options=options, **more)


def share(name: str, description: str, default: float = 1.0):
    """A share of 0 to 1 that can be keyed."""
    return number(
        name, description, default, keyed=True, min=0.0, max=1.0, subtype="FACTOR", update=stack_value_changed
    )


def choice(name: str, description: str, items, default: str, **more):
    """One of several; not animatable."""
    more = {"options": FIXED, **more}
    return EnumProperty(name=name, description=description, items=items, default=default, update=set_up, **more)


def text(name: str, description: str, default: str = ""):
    """A name of something."""
    return StringProperty(name=name, description=description, default=default, options=FIXED, update=set_up)


def flag(name: str, description: str, default: bool = False, **more):
    """On or off."""
    more = {"options": FIXED, "update": set_up, **more}
    return BoolProperty(name=name, description=description, default=default, **more)


def whole(name: str, description: str, default: int, **more):
    """A whole number."""
    return IntProperty(name=name, description=description, default=default, options=FIXED, update=set_up, **more)


def an_object(name: str, description: str, **more):
    """An object of the file."""
    return PointerProperty(
        type=bpy.types.Object,
        name=name,
        description=description,
        options=FIXED,
        **{"update": set_up, **more},
    )


class ActionChoice:
    """An action; names tell which one it was, and what it was made for, when they are deleted."""

    action: PointerProperty(
        type=bpy.types.Action,
        name="Action",
        description="Its bones are matched by name; it need not be assigned to anything",
        options=FIXED,
        update=_action_chosen,
    )
    action_name: StringProperty(options=FIXED)
    slot: text("Slot", "Slot of the action (Blender 4.4 and later); empty: the one that fits")
    armature: an_object(
        "Made For",
        "Armature of the same bones that the action was made for, where its rest pose is another: what each bone does "
        "relative to its parent is taken over. Empty: the character's own rest pose counts",
        poll=_is_armature,
        update=_armature_chosen,
    )
    armature_name: StringProperty(options=FIXED)
    object_motion: flag(
        "Object Motion",
        "Root bones also take over how the action moves the armature object it was made for, from where the "
        "character's object stands",
    )


class Playback:
    """How a clip is played."""

    speed: number("Speed", "Seconds of the clip per second; negative: backwards", 1.0, soft_min=-4.0, soft_max=4.0)
    playback: choice("Play", "What happens at the clip's ends", PLAYBACK, "LOOP")


class BasePose:
    """What an additive motion is the difference to."""

    base: choice("Base", "What the motion is the difference to", BASES, "BIND")
    base_frame: number("Base Frame", "Frame of the action that is the base pose", 1.0, precision=1)
    base_action: PointerProperty(
        type=bpy.types.Action,
        name="Base Action",
        description="Action that the base pose is a frame of",
        options=FIXED,
        update=_base_chosen,
    )
    base_action_name: StringProperty(options=FIXED)
    base_armature: an_object("Base Made For", "Armature that the base action was made for", poll=_is_armature)
    base_slot: text("Base Slot", "Slot of the base action; empty: the one that fits")
