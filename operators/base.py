"""What all operators have in common: what they act on, why they cannot act now, errors as reports."""

from bpy_extras import view3d_utils

from ..core.blender import interface
from ..core.blender.languages import CONTEXT, translated
from ..core.errors import RagdollError


class OnArmature:
    """An operator on the active armature. A class states what it `requires` of the armature beside what its base does.

    ACTIVE_RAGDOLL_OT_add_hit is `active_ragdoll.add_hit`, labelled "Add Hit" unless the class states a `label`."""

    bl_options = {"REGISTER", "UNDO"}
    bl_translation_context = CONTEXT
    requires = ()  # requirements of core.blender.interface, beside there being an armature

    def __init_subclass__(cls, label: str = "", requires: tuple = (), **own) -> None:
        cls.requires = (*cls.requires, *requires)
        for attribute, value in own.items():
            setattr(cls, attribute, value)
        if name := cls.__name__.partition("_OT_")[2]:
            cls.bl_idname = f"active_ragdoll.{name}"
            cls.bl_label = label or name.replace("_", " ").title()
            cls.bl_description = " ".join((cls.__doc__ or "").split())  # one line, as catalogues have it

    @classmethod
    def subject(cls, context):
        """What is acted on; None where there is nothing."""
        return interface.active_armature(context)

    @classmethod
    def why_not(cls, context) -> str:
        """What to do before it can act; empty when it can act now."""
        return interface.why_not(cls.subject(context), *cls.requires)

    @classmethod
    def poll(cls, context):
        """Whether it can act; else Blender shows what to do before."""
        text = cls.why_not(context)
        if text:
            cls.poll_message_set(translated(text))
        return not text

    def tell(self, level: str, text: str) -> None:
        """Report a line in the user's language."""
        self.report({level}, translated(text))

    def cancelled(self, reason) -> set:
        self.tell("ERROR", str(reason))
        return {"CANCELLED"}

    def warn(self, notes) -> None:
        for note in notes:
            self.tell("WARNING", note)


class Operator(OnArmature):
    """Does its work at once, in `act(context, obj)`, which returns a line to report, or nothing.

    A RagdollError that it raises is reported and cancels the operator."""

    def execute(self, context):
        try:
            text = self.act(context, self.subject(context))
        except RagdollError as error:
            return self.cancelled(error)
        interface.redraw()
        if text:
            self.tell("INFO", text)
        return {"FINISHED"}


class OnRagdoll(Operator, requires=(interface.ragdoll, interface.unbaked)):
    """Acts on a ragdoll that is not baked."""


class Unbaked(Operator, requires=(interface.unbaked,)):
    """Acts on an armature whose result is not baked."""


def ray_below(context, event) -> tuple:
    """Origin and direction in the world of what is below the pointer in a 3D view."""
    region = next(r for r in context.area.regions if r.type == "WINDOW")
    view, at = context.space_data.region_3d, (event.mouse_x - region.x, event.mouse_y - region.y)
    origin = view3d_utils.region_2d_to_origin_3d(region, view, at)
    return origin, view3d_utils.region_2d_to_vector_3d(region, view, at)


def leave_modal(context, result: set) -> set:
    """Put pointer, status bar and header back after a modal operator; returns its result."""
    context.window.cursor_modal_restore()
    context.workspace.status_text_set(None)
    if context.area is not None:
        context.area.header_text_set(None)
    interface.redraw()
    return result
