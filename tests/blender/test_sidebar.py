"""What the sidebar draws in each state."""

import bpy
import pytest

from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings.declare import classes_of
from active_ragdoll.panels import bones, layers, ragdoll
from arms import ARM, make_arm
from drawing import drawn

pytestmark = pytest.mark.blender_version

OPERATORS = bpy.ops.active_ragdoll


@pytest.fixture
def arm(fresh_scene):
    return make_arm(fresh_scene)


@pytest.fixture
def scene(arm):
    return arm.users_scene[0]


def draw(*modules) -> dict:
    """What the panels of modules (the main ones) draw now: by panel, (kind, name or text) -> whether it can be used."""
    result = {}
    for panel in classes_of(*(modules or (ragdoll, bones))):
        found = drawn(panel, bpy.context.object) if issubclass(panel, bpy.types.Panel) else None
        if found is not None:
            name = panel.__name__.removeprefix("ACTIVE_RAGDOLL_PT_")
            result[name] = {(kind, name): layout.live for kind, name, layout in found}
    return result


def text_of(panel: dict) -> str:
    return " ".join(name for kind, name in panel if kind == "label")


def test_sidebar_without_an_armature_says_what_to_select(fresh_scene):
    shown = draw()
    assert set(shown) >= {"main", "weights", "drive", "bodies", "simulate", "bone"}
    for name in ("main", "weights", "bone"):
        assert "Select the character's armature" in text_of(shown[name])


def test_sidebar_before_the_build_greys_out_what_needs_a_ragdoll(arm):
    shown = draw()
    assert "Build the ragdoll first" in text_of(shown["weights"])
    assert shown["weights"]["prop", "rotation_weight"] is False
    assert shown["bodies"]["prop", "density"] is True


def test_sidebar_of_a_ragdoll(arm, scene):
    arm.data.bones.active = arm.data.bones[ARM]
    OPERATORS.build()
    shown = draw()
    assert "3 bodies, 2 joints" in text_of(shown["main"]) and "Ready" in text_of(shown["main"])
    for name in ("rotation_weight", "translation_weight", "physics_blend"):
        assert shown["weights"]["prop", name] is True
    assert text_of(shown["bone"]) == ARM
    assert shown["bone"]["prop", "simulate"] and shown["joint"]["prop", "limit_min"]
    assert "Swing X" in text_of(shown["joint"]) and "Twist Y" in text_of(shown["joint"])
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
    shown = draw()
    assert "Baked" in text_of(shown["main"])
    assert "revert the bake" in text_of(shown["weights"])
    assert not shown["weights"]["prop", "rotation_weight"] and not shown["bone"]["prop", "simulate"]


def test_sidebar_shows_trouble(arm, scene):
    OPERATORS.build()
    STATE.messages["Arm"] = STATE.messages[scene.name] = "Something long enough to need more than one line"
    text = text_of(draw()["main"])
    assert text.count("Something") == 1 and "more than one line" in " ".join(text.split())


def test_sidebar_in_edit_mode(arm):
    arm.data.bones.active = arm.data.bones[ARM]
    OPERATORS.build()
    bpy.ops.object.mode_set(mode="EDIT")
    shown = draw()
    assert "Leave Edit Mode" in text_of(shown["bone"]) and "joint" not in shown


def test_sidebar_of_layers_blend_spaces_and_a_graph(arm, scene):
    arm.keyframe_insert("location", frame=1)
    arm.pose.bones[0].keyframe_insert("location", frame=1)
    assert OPERATORS.add_layer(source="ACTION") == OPERATORS.add_blend_space(kind="SPEED") == {"FINISHED"}
    settings = arm.active_ragdoll
    assert "no samples" in text_of(draw(layers)["blend_spaces"])
    for place in (0.0, 4.0):
        settings.blend_spaces[0].x.value = place
        assert OPERATORS.add_sample() == {"FINISHED"}
    settings.blend_spaces[0].x.value = 1.0
    OPERATORS.enable_graph()
    for what in ("STATE", "PARAMETER", "TRANSITION", "CONDITION"):
        assert OPERATORS.edit_graph(what=what, do="ADD") == {"FINISHED"}
    shown = draw(layers)
    assert [name for kind, name in shown["blend_spaces"] if kind == "bar"] == [
        "Speed 1.00", f"{arm.animation_data.action.name} 75%", f"{arm.animation_data.action.name} (2) 25%",
    ]  # fmt: skip
    assert ("prop", "mask") in shown["layer_mask"] and ("prop", "smoothing") in shown["blend_axes"]
    assert {("prop", "weight"), ("prop", "source"), ("prop", "blend_time")} <= set(shown["graph"])
    settings.blend_spaces[0].x.minimum = 9.0
    assert "minimum" in text_of(draw(layers)["blend_spaces"])
