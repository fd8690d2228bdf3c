"""What the sidebar draws in each state."""

from pathlib import Path
from types import SimpleNamespace

import bpy
import pytest

from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.panels import ragdoll as panels
from arms import ARM, make_arm

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
OPERATORS = bpy.ops.active_ragdoll


@pytest.fixture
def arm(fresh_scene):
    return make_arm(fresh_scene)


@pytest.fixture
def scene(arm):
    return arm.users_scene[0]


class Layout:
    """Stands for a UILayout: notes what is drawn, and refuses what Blender would refuse."""

    bl_types = bpy.types.UILayout.bl_rna

    def __init__(self, drawn: list, enabled=None) -> None:
        object.__setattr__(self, "drawn", drawn)
        object.__setattr__(self, "parent", enabled)
        object.__setattr__(self, "enabled", True)

    def __setattr__(self, name, value):
        assert name in self.bl_types.properties, f"a layout has no {name}"
        object.__setattr__(self, name, value)

    @property
    def live(self) -> bool:
        return self.enabled and (self.parent is None or self.parent.live)

    def _inner(self, **_options):
        return Layout(self.drawn, self)

    row = column = box = split = _inner

    def _icon(self, icon):
        assert icon in bpy.types.UILayout.bl_rna.functions["label"].parameters["icon"].enum_items, icon

    def label(self, text="", icon="NONE"):
        self._icon(icon)
        self.drawn.append(("label", text, self))

    def prop(self, data, name, **_options):
        assert name in data.bl_rna.properties, f"{data.bl_rna.identifier} has no {name}"
        getattr(data, name)
        self.drawn.append(("prop", name, self))

    def operator(self, name, text="", icon="NONE"):
        self._icon(icon)
        getattr(OPERATORS, name.removeprefix("active_ragdoll.")).get_rna_type()
        self.drawn.append(("operator", name, self))
        return SimpleNamespace()

    def operator_menu_enum(self, name, _property, **_options):
        self.drawn.append(("menu", name, self))


def draw() -> dict:
    """What all panels draw now: by panel, (kind, name or text) -> whether it can be used."""
    context = SimpleNamespace(
        object=bpy.context.object,
        scene=bpy.context.scene,
        region=SimpleNamespace(width=280),
        # Without a window the interface has no scale.
        preferences=SimpleNamespace(system=SimpleNamespace(ui_scale=1.0)),
    )
    result = {}
    for panel in panels.CLASSES:
        if hasattr(panel, "poll") and not panel.poll(context):
            continue
        drawn = []
        # Blender makes panels only while it draws: a stand-in has the panel's own methods.
        mine = [cls for cls in reversed(panel.__mro__) if cls.__module__ == panels.__name__]
        methods = {name: value for cls in mine for name, value in vars(cls).items() if callable(value)}
        own = type("Drawn", (), methods)()
        own.layout = Layout(drawn)
        own.draw(context)
        result[panel.__name__.removeprefix("ACTIVE_RAGDOLL_PT_")] = {
            (kind, name): layout.live for kind, name, layout in drawn
        }
    return result


def text_of(panel: dict) -> str:
    return " ".join(name for kind, name in panel if kind == "label")


def test_sidebar_without_an_armature_says_what_to_select(fresh_scene):
    drawn = draw()
    assert set(drawn) >= {"main", "weights", "drive", "bodies", "simulate", "bone"}
    for name in ("main", "weights", "bone"):
        assert "Select the character's armature" in text_of(drawn[name])


def test_sidebar_before_the_build_greys_out_what_needs_a_ragdoll(arm):
    drawn = draw()
    assert "Build the ragdoll first" in text_of(drawn["weights"])
    assert drawn["weights"]["prop", "rotation_weight"] is False
    assert drawn["bodies"]["prop", "density"] is True


def test_sidebar_of_a_ragdoll(arm, scene):
    arm.data.bones.active = arm.data.bones[ARM]
    OPERATORS.build()
    drawn = draw()
    assert "3 bodies, 2 joints" in text_of(drawn["main"]) and "Ready" in text_of(drawn["main"])
    for name in ("rotation_weight", "translation_weight", "physics_blend"):
        assert drawn["weights"]["prop", name] is True
    assert text_of(drawn["bone"]) == ARM
    assert drawn["bone"]["prop", "simulate"] and drawn["joint"]["prop", "limit_min"]
    assert "Swing X" in text_of(drawn["joint"]) and "Twist Y" in text_of(drawn["joint"])
    arm.pose.bones[ARM].active_ragdoll.mass = 2.0
    assert "wait for Rebuild" in " ".join(text_of(draw()["main"]).split())


def test_sidebar_says_when_the_cache_is_out_of_date(arm, scene):
    OPERATORS.build()
    OPERATORS.simulate()
    assert "out of date" not in text_of(draw()["simulate"])
    arm.active_ragdoll.rotation_weight = 0.5
    assert "out of date" in text_of(draw()["simulate"])
    OPERATORS.simulate()
    scene.frame_end = 40
    assert "out of date" in text_of(draw()["simulate"])


def test_sidebar_of_a_baked_character_is_greyed_out(arm, scene):
    arm.data.bones.active = arm.data.bones[ARM]
    OPERATORS.build()
    OPERATORS.bake()
    drawn = draw()
    assert "Baked" in text_of(drawn["main"])
    assert "revert the bake" in text_of(drawn["weights"])
    assert not drawn["weights"]["prop", "rotation_weight"] and not drawn["bone"]["prop", "simulate"]


def test_sidebar_shows_trouble(arm, scene):
    OPERATORS.build()
    STATE.messages["Arm"] = STATE.messages[scene.name] = "Something long enough to need more than one line"
    text = text_of(draw()["main"])
    assert text.count("Something") == 1 and "more than one line" in " ".join(text.split())


def test_sidebar_in_edit_mode(arm):
    arm.data.bones.active = arm.data.bones[ARM]
    OPERATORS.build()
    bpy.ops.object.mode_set(mode="EDIT")
    drawn = draw()
    assert "Leave Edit Mode" in text_of(drawn["bone"]) and "joint" not in drawn
