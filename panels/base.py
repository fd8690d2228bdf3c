"""What all panels have in common: where they stand, when they are drawn, what is greyed out, paragraphs and lists.

There are five panels, and parts in them that are closed at first. What does not apply yet is not drawn; what cannot be
set now is greyed out, and the first panel says why, in lines that are always there: nothing jumps under the pointer.
"""

import re
import unicodedata
from operator import attrgetter

import bpy

from ..core.blender.interface import active_armature, short
from ..core.blender.languages import CONTEXT, translated
from ..core.blender.settings import declare, lists

LETTER = 6.5  # [px] a letter takes at the usual size of the interface


class Sidebar:
    """A panel in the tab Ragdoll; `fill` draws what it has about a character.

    ACTIVE_RAGDOLL_PT_hits is labelled "Hits" unless the class states a `label`; its `parent` is the name of the panel
    that it is in. `needed` is a setting that must be on, or a list that must have items, for the panel to be there.
    """

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Ragdoll"
    bl_translation_context = CONTEXT
    need_ragdoll = True  # else it can be used before the first build
    needed = ""

    def __init_subclass__(cls, label: str = "", parent: str = "", **own) -> None:
        if name := cls.__name__.partition("_PT_")[2]:
            cls.bl_label = label or name.replace("_", " ").title()
        if parent:
            cls.bl_parent_id = f"ACTIVE_RAGDOLL_PT_{parent}"
        for attribute, value in own.items():
            setattr(cls, attribute, value)

    @classmethod
    def is_there(cls, obj) -> bool:
        """Whether a character has what the panel shows."""
        return not cls.needed or bool(attrgetter(cls.needed)(obj.active_ragdoll))

    @classmethod
    def poll(cls, context):
        obj = active_armature(context)
        return obj is not None and (obj.active_ragdoll.is_ragdoll or not cls.need_ragdoll) and cls.is_there(obj)

    def draw(self, context):
        """Draw in a column that is greyed out where nothing can be set now."""
        obj = active_armature(context)
        column = self.layout.column()
        column.enabled = not obj.active_ragdoll.muted
        self.fill(context, obj, column)

    def fill(self, context, obj, column) -> None:
        """Draw what is about a character, in a column; a panel of parts alone has nothing of its own."""


class Part(Sidebar):
    """A panel inside another one, closed at first; it is there where that one is."""

    bl_options = {"DEFAULT_CLOSED"}
    need_ragdoll = False


def paragraph(layout, context, text: str, icon: str = "NONE", lines: int = 0) -> None:
    """Text in as many lines as the sidebar's width needs, or always in so many `lines`: longer text ends with dots."""
    letters = max(int((context.region.width / context.preferences.system.ui_scale - 60.0) / LETTER), 16)
    found = wrapped(translated(text), letters, lines)
    column = layout.column(align=True)
    column.scale_y = 0.8
    for i in range(max(lines, len(found))):
        line, first = found[i] if i < len(found) else "", icon if i == 0 else "BLANK1"
        column.label(text=line, icon=first if icon != "NONE" else "NONE")


def wrapped(text: str, letters: int, lines: int = 0) -> list[str]:
    """Text in lines of so many letters, at most `lines` of them; a Chinese or Japanese one takes the room of two.

    Such a line may end anywhere, others between words."""
    found = [""]
    for piece in re.findall(rf"[^\s\u2e80-\uffef]{{1,{letters}}} *|.", text):
        line = (found[-1] + piece).rstrip()
        if sum(1 + (unicodedata.east_asian_width(letter) in "WF") for letter in line) > letters and found[-1]:
            found.append("")
        found[-1] += piece
    if lines and len(found) > lines:
        found[lines - 1 :] = [found[lines - 1].rstrip()[:-1] + "\u2026"]
    return [line.rstrip() for line in found if line.strip()]


def draw_bone_name(layout, obj, bone: str, text: str = "") -> None:
    """A bone's short name with more text, which selects the bone and has the whole name as tooltip."""
    press(layout, "select_bone", {"bone": bone}, text=short(obj, bone) + text, icon="BONE_DATA", emboss=False)


def press(layout, name: str, values: dict, **options) -> None:
    """A button of one of our operators with these values; options: see UILayout.operator."""
    button = layout.operator(f"active_ragdoll.{name}", **options)
    for key, value in values.items():
        setattr(button, key, value)


_rows: dict = {}  # by the class of items the function that draws one in a list


class ACTIVE_RAGDOLL_UL_items(bpy.types.UIList):
    """A list of settings"""

    def draw_item(self, _context, layout, owner, item, _icon, _active_data, _active_property):
        _rows[type(item)](layout.row(align=True), item, owner)


def draw_list(layout, draw_row, owner, items: str, one: str = "", rows: int = 3, **options):
    """A list with buttons on its right.

    Returns the column of the buttons, for more of them, and the active item, None where there is none.

    Args:
        draw_row: draws an item, of the row's layout, the item and the owner.
        owner, items: the settings that have the list, and its name.
        one: what our operators that add and remove an item call it; no such buttons without.
        rows, options: see UILayout.template_list.
    """
    row = layout.row()
    said = declare.declarations(type(owner))[items]
    _rows[said.holds] = draw_row
    row.template_list("ACTIVE_RAGDOLL_UL_items", items, owner, items, owner, said.index, rows=rows, **options)
    column = row.column(align=True)
    for name in ("add", "remove") if one else ():
        column.operator(f"active_ragdoll.{name}_{one}", text="", icon=name.upper())
    return column, lists.active_item(owner, items)
