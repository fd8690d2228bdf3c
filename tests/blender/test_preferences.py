"""What a user prefers: the quality of new worlds, bones of a first build, colours, presets of one's own; the manual."""

import sys
from fnmatch import fnmatchcase
from types import SimpleNamespace

import bpy
import pytest

import rigs
from active_ragdoll.core.blender import preferences
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.tools import profiles
from active_ragdoll.core.errors import RagdollError
from active_ragdoll.core.ragdoll import overlay
from active_ragdoll.panels import additions
from drawing import Layout

OPERATORS = bpy.ops.active_ragdoll
pytestmark = pytest.mark.blender_version


@pytest.fixture
def preferred(monkeypatch, tmp_path):
    """Preferences to set, whether Blender keeps any of ours or not; presets of one's own go to an empty folder."""
    usual, own = preferences.chosen, {"profile_folder": str(tmp_path / "presets")}
    monkeypatch.setattr(preferences, "chosen", lambda name: own[name] if name in own else usual(name))
    return own


@pytest.fixture
def human(fresh_scene):
    return rigs.human(fresh_scene)


def test_quality_of_the_world_and_colors(preferred, human):
    preferred["quality"], preferred["body_color"] = "FINE", (1.0, 0.0, 0.5, 1.0)
    scene = bpy.context.scene
    build.build(human, scene)
    world = scene.rigidbody_world
    assert world.substeps_per_frame * scene.render.fps == pytest.approx(960, abs=scene.render.fps)
    assert world.solver_iterations == 80
    preferences.recolor()
    assert overlay.COLORS[overlay.BODY] == (1.0, 0.0, 0.5, 1.0)
    del preferred["body_color"]
    preferences.recolor()
    assert overlay.COLORS[overlay.BODY] != (1.0, 0.0, 0.5, 1.0)


def test_own_presets_are_added_applied_renamed_and_removed(preferred, human, capfd):
    human.active_ragdoll.rotation_weight = 0.25
    assert OPERATORS.add_preset(name="Other") == {"FINISHED"}
    assert OPERATORS.add_preset(name="Mine") == {"FINISHED"}
    human.active_ragdoll.rotation_weight = 1.0
    assert OPERATORS.rename_preset(preset="Mine", name="Yours") == {"FINISHED"}
    assert [shown for _id, shown, _text in profiles.presets()[len(profiles.PRESETS) :]] == ["Other", "Yours"]
    assert OPERATORS.apply_preset(name="Yours") == {"FINISHED"}
    assert human.active_ragdoll.rotation_weight == 0.25
    assert {*OPERATORS.remove_preset(preset="Other"), *OPERATORS.remove_preset(preset="Yours")} == {"FINISHED"}
    said = capfd.readouterr().out
    assert "'Mine' is 'Yours' now" in said and "'Other' removed" in said and "'Yours' removed" in said
    assert profiles.presets() == list(profiles.PRESETS) and not OPERATORS.remove_preset.poll()


@pytest.mark.parametrize("name", ["  ", "a/b", "human", "MINE"])
def test_names_that_a_preset_cannot_have(preferred, human, name):
    profiles.add_own("Mine", profiles.collect(human))
    with pytest.raises(RagdollError, match="already" if name.isalpha() else "name of a file"):
        profiles.add_own(name, profiles.collect(human))
    assert [path.name for path in profiles.own_folder().iterdir()] == ["Mine.json"]


def test_a_folder_that_cannot_be_used_and_a_broken_preset(preferred, human, tmp_path):
    (tmp_path / "file").write_text("")
    preferred["profile_folder"] = str(tmp_path / "file" / "presets")
    assert profiles.presets() == list(profiles.PRESETS)
    with pytest.raises(RuntimeError, match=r"file.presets"):
        OPERATORS.add_preset(name="Mine")
    preferred["profile_folder"] = str(tmp_path)
    (tmp_path / "Broken.json").write_text("{")
    with pytest.raises(RuntimeError, match=r"Broken\.json"):
        OPERATORS.apply_preset(name="Broken")
    with pytest.raises(RagdollError, match=r"Gone\.json"):  # deleted since the menu was opened
        profiles.remove_own("Gone")


def test_a_key_that_something_else_has_is_told(monkeypatch):
    config, found = bpy.context.window_manager.keyconfigs.addon, []
    keymap = config.keymaps.new(name="Pose")
    monkeypatch.setattr("rna_keymap_ui.draw_kmi", lambda *_given: None)
    preferences.draw_keys(Layout(found), config)
    before = [text for _kind, text, _in in found]
    assert before == ["Object Mode", "Pose"] and preferences.draw_keys(Layout(found), None) is None
    other = keymap.keymap_items.new("object.delete", **additions.KEY)
    preferences.draw_keys(Layout(found), config)
    keymap.keymap_items.remove(other)
    assert [text for _kind, text, _in in found[2:]] == [*before, "'Delete' has this key too"]


def test_menus_name_the_bone_that_a_blow_strikes_also_where_all_bodies_were_deleted(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, 60)
    bpy.context.view_layer.objects.active = obj
    for struck in (": spine", ""):  # its heaviest one
        drawn = []
        layout = SimpleNamespace(operator=lambda _name, text, drawn=drawn, **_more: drawn.append(text))
        additions.StoryMenu.draw(SimpleNamespace(layout=layout, is_pie=False), bpy.context)
        assert drawn[:2] == [f"Knock Out Here{struck}", f"Push{struck}"]
        bpy.data.batch_remove([part.body for part in obj.active_ragdoll.parts if part.body])


def test_the_manual_has_a_place_for_every_operator_and_setting(extension):
    address, places = sys.modules[f"{extension.__name__}.registration"].manual_map()
    assert address == preferences.manifest()["website"]

    def found(asked):
        return [place for pattern, place in places if fnmatchcase(asked.lower(), pattern)]

    for name in dir(OPERATORS):
        assert found(f"bpy.ops.active_ragdoll.{name}") == [f"reference/#active_ragdoll.{name}"]
        for p in getattr(OPERATORS, name).get_rna_type().properties:
            assert p.identifier == "rna_type" or found(f"bpy.types.ACTIVE_RAGDOLL_OT_{name}.{p.identifier}")
    groups = [cls for cls in bpy.types.PropertyGroup.__subclasses__() if cls.__name__.startswith("ActiveRagdoll")]
    for group in (*groups, preferences.ActiveRagdollPreferences):
        for p in group.bl_rna.properties:
            assert not p.is_runtime or found(f"bpy.types.{group.bl_rna.identifier}.{p.identifier}"), p.identifier
