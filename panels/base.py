"""What all panels have in common: where they stand, what is greyed out and why, rows, paragraphs and lists."""

import textwrap

from ..core.blender import interface
from ..core.blender.interface import active_armature
from ..core.blender.languages import translated
from ..core.blender.runtime import STATE
from ..core.blender.settings import declare, lists

LETTER = 6.5  # [px] a letter takes at the usual size of the interface


def why_not(obj, need_ragdoll: bool = True) -> str:
    """Why settings of a character do not apply now; empty when they do."""
    return interface.why_not(obj, *([interface.ragdoll] if need_ragdoll else []), interface.unbaked)


class Sidebar:
    """A panel in the tab Ragdoll; `fill` draws what it has about a character.

    ACTIVE_RAGDOLL_PT_hits is labelled "Hits" unless the class states a label.
    """

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Ragdoll"
    need_ragdoll = True  # else it can be used before the first build

    def __init_subclass__(cls) -> None:
        name = cls.__name__.partition("_PT_")[2]
        if name:
            cls.bl_label = cls.__dict__.get("bl_label") or name.replace("_", " ").title()

    def draw(self, context):
        """Draw in a column that is greyed out, with the reason, where nothing can be set now."""
        obj = active_armature(context)
        column = reason(self.layout, context, why_not(obj, self.need_ragdoll))
        if obj is not None:
            self.fill(context, obj, column)


class StackPanel(Sidebar):
    """A panel of the motion stack: closed at first, and of use without a ragdoll."""

    bl_options = {"DEFAULT_CLOSED"}
    need_ragdoll = False


class Part(Sidebar):
    """A panel inside another one, which gives the reasons; shown only where there is what it is about."""

    @staticmethod
    def is_there(_obj) -> bool:
        """Whether a character has what the panel shows."""
        return True

    @classmethod
    def poll(cls, context):
        """Whether the panel is shown."""
        obj = active_armature(context)
        return obj is not None and cls.is_there(obj)

    def draw(self, context):
        """Draw in a column that is greyed out where nothing can be set now."""
        obj = active_armature(context)
        column = self.layout.column()
        column.enabled = not why_not(obj, self.need_ragdoll)
        self.fill(context, obj, column)


def paragraph(layout, context, text: str, icon: str = "NONE") -> None:
    """Text in as many lines as the sidebar's width needs."""
    scale = context.preferences.system.ui_scale
    letters = max(int((context.region.width / scale - 60.0) / LETTER), 16)
    lines = layout.column(align=True)
    lines.scale_y = 0.8
    for i, line in enumerate(_wrapped(translated(text), letters)):
        lines.label(text=line, icon=icon if i == 0 else ("BLANK1" if icon != "NONE" else "NONE"))


def _wrapped(text: str, letters: int) -> list[str]:
    """Lines of so many letters; what is written without spaces has wide ones, and ends a line anywhere."""
    return textwrap.wrap(text, letters if text.isascii() else max(letters // 2, 8))


def boxed(layout, context, texts) -> None:
    """A red box for each of some messages."""
    for text in texts:
        box = layout.box()
        box.alert = True
        paragraph(box, context, text, "ERROR")


def reason(layout, context, text: str):
    """The reason on top, and the layout to draw what is greyed out because of it."""
    if text:
        paragraph(layout, context, text, "INFO")
    column = layout.column()
    column.enabled = not text
    return column


def draw_list(layout, list_class: str, owner, items: str, buttons=(), list_id: str = "", rows: int = 3, **options):
    """A list with buttons on its right.

    Returns the column of the buttons, for more of them, and the active item, None where there is none.

    Args:
        list_class: name of the UIList after "ACTIVE_RAGDOLL_UL_".
        owner, items: the settings that have the list, and its name.
        buttons: names of our operators that add and remove an item. list_id: to tell lists of one class apart.
        rows, options: see UILayout.template_list.
    """
    row = layout.row()
    shown, index = f"ACTIVE_RAGDOLL_UL_{list_class}", declare.declarations(type(owner))[items].index
    row.template_list(shown, list_id, owner, items, owner, index, rows=rows, **options)
    column = row.column(align=True)
    for name, icon in zip(buttons, ("ADD", "REMOVE")):
        column.operator(f"active_ragdoll.{name}", text="", icon=icon)
    return column, lists.active_item(owner, items)


def draw_messages(layout, context, obj, wanted, titled: bool = True) -> None:
    """Messages of the motion stack at the frame that was shown last.

    Args:
        wanted: tells by the name of an entry whether its message is shown. titled: with that name in front.
    """
    stack = STATE.motions.get(obj.name)
    found = stack.messages.items() if stack is not None else ()
    boxed(layout, context, [f"{name}: {text}" if titled else text for name, text in found if wanted(name)])


def starts_with(*kinds: str):
    """For `draw_messages`: entries whose names begin with one of some words."""
    return lambda name: name.startswith(kinds)
