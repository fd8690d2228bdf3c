"""What the interface needs: the active armature and bone, why they cannot be acted on now, rows and fields of settings.

A requirement is a function of an armature that gives the reason why it is not met, empty when it is."""

from collections import Counter
from functools import lru_cache
from operator import attrgetter

import bpy

from .physics import built
from .rig import armature as bones
from .settings import declare


def character_of(obj):
    """The armature that an object belongs to, None without one: itself, the one that deforms it, it hangs on or is of.

    So a character's mesh, what it holds and each of its bodies stand for it."""
    while obj is not None and obj.type != "ARMATURE":
        obj = obj.get(built.OWNER) or obj.find_armature() or obj.parent
    return obj


def active_armature(context):
    """The character that the active object belongs to, else the only one that selected objects do; None without one.

    Importers select all that they made, and leave any of it active."""
    found = character_of(getattr(context, "object", None))
    others = set() if found else set(map(character_of, getattr(context, "selected_objects", ()))) - {None}
    return others.pop() if len(others) == 1 else found


def characters(context) -> list:
    """The active character, and those that the selected objects belong to, in a stable order."""
    obj = active_armature(context)
    others = {character_of(other) for other in context.selected_objects} - {obj, None}
    return [*filter(None, [obj]), *sorted(others, key=lambda other: other.name)]


def active_bone(obj):
    """The active bone of an armature as a pose bone, in pose and object mode; None where there is none."""
    bone = obj.data.bones.active
    return obj.pose.bones.get(bone.name) if bone is not None else None


def selected_bones(obj) -> list[str]:
    """Names of the selected bones in pose mode, else of the active one, which is what the sidebar shows."""
    active = active_bone(obj)
    alone = [active.name] if active is not None else []
    if obj.mode != "POSE":
        return alone
    return [bone.name for bone, flag in zip(obj.data.bones, bones.selected(obj)) if flag] or alone


def scene_of(obj, context):
    """The scene that a character has its ragdoll or motion stack in; the current one while it has none."""
    return obj.active_ragdoll.scene or obj.active_ragdoll.motion_scene or context.scene


def redraw(_self=None, _context=None) -> None:
    """Draw all windows anew: timelines, the sidebar, the viewport; also the callback of settings of what is drawn."""
    manager = bpy.context.window_manager
    for window in manager.windows if manager else ():
        for area in window.screen.areas:
            area.tag_redraw()


def why_not(obj, *requirements) -> str:
    """The first reason why an armature (or None) cannot be acted on; empty when it meets all requirements."""
    if obj is None:
        return "Select the character: its armature, its mesh or one of its bodies"
    return next(filter(None, (reason(obj) for reason in requirements)), "")


def requirement(text: str, is_met):
    """A requirement: the text is the reason for armatures that do not meet it."""
    return lambda obj: "" if is_met(obj) else text


def filled(items: str, text: str):
    """The requirement that there is something in a list of `Object.active_ragdoll`."""
    return requirement(text, lambda obj: len(attrgetter(items)(obj.active_ragdoll)))


ragdoll = requirement("Build the ragdoll first", lambda obj: obj.active_ragdoll.is_ragdoll)
moved = requirement(
    "Build the ragdoll first, or set up a look-at",
    lambda obj: obj.active_ragdoll.is_ragdoll or obj.active_ragdoll.target_armature is not None,
)
unbaked = requirement("Baked: revert the bake first", lambda obj: not obj.active_ragdoll.muted)
baked = requirement("Nothing is baked", lambda obj: obj.active_ragdoll.muted)
not_in_edit_mode = requirement("Leave Edit Mode first", lambda obj: obj.mode != "EDIT")
bone = requirement("No active bone: click one in Pose Mode", active_bone)


def rows(layout, keyed: bool = False):
    """Labels on the left, values on the right; the column of dots for keys only where the values can be keyed."""
    layout.use_property_split = True
    layout.use_property_decorate = False
    column = layout.column(align=True)
    column.use_property_decorate = keyed
    return column


def props(layout, data, *names: str | bool, **options) -> None:
    """Several properties of one owner, with the same options; a number whose 0 is none has a switch, and words for it.

    A name that is False is left out, as `condition and name` is."""
    for name in filter(None, names):
        said = declare.declarations(type(data)).get(name)
        if said is None or not said.zero:
            layout.prop(data, name, **options)
            continue
        row = layout.row(align=True, heading=options.get("text", data.bl_rna.properties[name].name))
        row.use_property_decorate = False
        row.prop(data, f"use_{name}", text="")
        if getattr(data, name):
            row.prop(data, name, **options | {"text": ""})
        else:
            row.label(text=said.zero)
        if layout.use_property_decorate and said.keyed:
            row.prop_decorator(data, name)


@lru_cache(8)
def _prefix(names: tuple) -> str:
    """The longest beginning, up to a mark, that more than half of some names have in common; such as "mixamorig:"."""
    found = Counter(name[: i + 1] for name in names for i, mark in enumerate(name[:-1]) if mark in ":._- ")
    return max((begin for begin, count in found.items() if 2 * count > len(names)), key=len, default="")


def short(obj, bone: str) -> str:
    """A bone's name as lists show it: without what most bones' names begin with."""
    names = tuple(other.name for other in obj.data.bones if other.use_deform)
    rest = bone.removeprefix(_prefix(names)) if len(names) > 3 else bone
    return bone if rest in obj.data.bones or rest.isdigit() else rest


def object_fields(layout, item, obj_prop: str, bone_prop: str) -> None:
    """An object, and a bone of it when it is an armature."""
    layout.prop(item, obj_prop)
    chosen = getattr(item, obj_prop)
    if chosen is not None and chosen.type == "ARMATURE":
        layout.prop_search(item, bone_prop, chosen.data, "bones")
