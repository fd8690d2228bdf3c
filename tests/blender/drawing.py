"""Panels without a window."""

import inspect
from itertools import pairwise
from types import SimpleNamespace

import bpy

from active_ragdoll.core.blender.settings import declare

reached: set = set()  # (group of settings, its label) of all that was drawn


class Layout:
    """Stands for a UILayout: notes what is drawn, and refuses what Blender would refuse."""

    bl_types = bpy.types.UILayout.bl_rna

    def __init__(self, drawn: list, enabled=None) -> None:
        object.__setattr__(self, "drawn", drawn)
        object.__setattr__(self, "parent", enabled)
        object.__setattr__(self, "enabled", True)
        object.__setattr__(self, "active", True)

    def __setattr__(self, name, value):
        assert name in self.bl_types.properties, f"a layout has no {name}"
        object.__setattr__(self, name, value)

    @property
    def live(self) -> bool:
        return self.enabled and (self.parent is None or self.parent.live)

    use_property_decorate = True

    def _inner(self, **_options):
        return Layout(self.drawn, self)

    row = column = box = split = grid_flow = menu_pie = _inner

    def _icon(self, icon):
        assert icon in self.bl_types.functions["label"].parameters["icon"].enum_items, icon

    def label(self, text="", icon="NONE", icon_value=0):
        self._icon(icon)
        self.drawn.append(("label", text, self))

    def prop(self, data, name, **_options):
        assert name in data.bl_rna.properties, f"{data.bl_rna.identifier} has no {name}"
        prop, value = data.bl_rna.properties[name], getattr(data, name)
        assert not getattr(prop, "is_array", False) or prop.subtype != "QUATERNION", f"{name}: nobody reads these"
        reached.add((type(data), prop.name))
        self.drawn.append(("prop", name, self))
        said = declare.declarations(type(data)).get(name)
        if said is not None and said.zero:
            assert f"use_{name}" in [drawn[1] for drawn in self.drawn], "its switch stands before it"
        if said is not None and said.zero and value == 0.0:
            self.drawn.append(("zero", said.zero, self))

    def operator(self, name, text="", icon="NONE", depress=False, emboss=True):
        self._icon(icon)
        known = getattr(bpy.ops.active_ragdoll, name.removeprefix("active_ragdoll.")).get_rna_type().properties
        self.drawn.append(("operator", name, self))

        class Properties:
            def __setattr__(self, prop, value):
                assert prop in known, prop

        return Properties()

    def operator_menu_enum(self, name, _property, **_options):
        self.drawn.append(("menu", name, self))

    def template_node_socket(self, color):
        assert len(color) == 4

    def menu(self, name, **_options):
        assert hasattr(bpy.types, name)

    def separator(self):
        pass

    def prop_decorator(self, data, name):
        assert data.bl_rna.properties[name].is_animatable, name

    def prop_search(self, data, name, where, items, **_options):
        self.prop(data, name)
        getattr(where, items)

    def template_list(
        self, list_class, _id, data, name, active_data, active, rows=5, maxrows=5, item_dyntip_propname=""
    ):
        shown = standing_in(getattr(bpy.types, list_class), self)
        arity = len(inspect.signature(shown.draw_item).parameters)
        getattr(active_data, active)
        for i, item in enumerate(getattr(data, name) if rows else ()):
            shown.draw_item(*(bpy.context, self, data, item, 0, active_data, active, i, 0)[:arity])
            tip = getattr(item, item_dyntip_propname) if item_dyntip_propname else ""
            assert tip or not getattr(item, "bone", ""), "a row names its bone in short, its tooltip in full"

    def progress(self, text="", factor=0.0):
        assert 0.0 <= factor <= 1.0 and "factor" in self.bl_types.functions["progress"].parameters
        self.drawn.append(("bar", text, self))


def drawn(panel, obj) -> list | None:
    """What a panel draws for an object, (kind, name or text, layout); None where it does not show."""
    context = SimpleNamespace(
        object=obj,
        scene=bpy.context.scene,
        window_manager=bpy.context.window_manager,
        region=SimpleNamespace(width=280),
        space_data=SimpleNamespace(overlay=SimpleNamespace(show_overlays=True)),
        # Without a window the interface has no scale.
        preferences=SimpleNamespace(system=SimpleNamespace(ui_scale=1.0)),
    )
    above = getattr(bpy.types, getattr(panel, "bl_parent_id", ""), panel)
    if any(hasattr(one, "poll") and not one.poll(context) for one in (above, panel)):
        return None
    found = []
    stand_in = standing_in(panel, Layout(found))
    stand_in.draw(context)
    if hasattr(stand_in, "draw_header"):
        stand_in.draw_header(context)
    for (kind, means, _in), (_kind, said, _beside) in pairwise([*found, (None, None, None)]):
        assert kind != "zero" or said == means, "a 0 that is none says so beside it"
    return [item for item in found if item[0] != "zero"]


def standing_in(panel, layout):
    """A stand-in for one of our panels, with what it and its bases of ours define, that draws into a test's layout:
    Blender makes real ones only while it draws."""
    package = panel.__module__.rpartition(".")[0]
    ours = [cls for cls in reversed(panel.__mro__) if cls.__module__.startswith(package)]
    defined = {name: value for cls in ours for name, value in vars(cls).items() if not name.startswith("__")}
    own = type("Drawn", (), defined)()
    own.layout = layout
    return own
