"""A character that Blender does not pose, because it is disabled in viewports, is never baked as it stands."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.tools import health
from refusals import refuses

LAST = 10
pytestmark = pytest.mark.blender_version


@pytest.fixture
def shot(fresh_scene):
    """A character in a collection of its own, and the view layer's part of that."""
    obj = rigs.ragdoll(fresh_scene, LAST, 0.2)
    inside = bpy.data.collections.new("Characters")
    fresh_scene.collection.children.link(inside)
    inside.objects.link(obj)
    fresh_scene.collection.objects.unlink(obj)
    return fresh_scene, obj, bpy.context.view_layer.layer_collection.children["Characters"]


DISABLED = {
    "object": lambda obj, _layer, on: setattr(obj, "hide_viewport", on),
    "collection": lambda _obj, layer, on: setattr(layer.collection, "hide_viewport", on),
    "excluded": lambda _obj, layer, on: setattr(layer, "exclude", on),
}
HIDDEN = {
    "object": lambda obj, _layer: obj.hide_set(True),
    "collection": lambda _obj, layer: setattr(layer, "hide_viewport", True),
    "excluded": lambda obj, _layer: setattr(obj, "hide_render", True),
}


@pytest.mark.parametrize("how", DISABLED)
def test_bake_is_refused_until_it_is_enabled_hidden_or_not(shot, how):
    scene, obj, layer = shot
    DISABLED[how](obj, layer, True)
    action = obj.animation_data.action
    refuses(f"'{obj.name}' is disabled", list, bake.bake_frames(obj, scene))
    assert obj.animation_data.action == action
    list(simulate.frames(scene))  # the others need its physics
    assert any("not shown" in text for text in STATE.warnings[obj.name])
    assert sum("disabled in viewports" in found.text for found in health.notices(obj, scene)) == 1
    if how == "excluded" and bpy.app.version < (4, 3, 0):
        return  # taking a collection in again, 4.2 crashes when the file is closed
    DISABLED[how](obj, layer, False)
    expected = list(rigs.shown(scene, obj, range(1, LAST + 1)).values())
    HIDDEN[how](obj, layer)
    list(bake.bake_frames(obj, scene))
    assert np.abs(np.array(rigs.play(scene, 1, LAST, lambda: rigs.pose(obj))) - expected).max() < 1e-5


@pytest.mark.parametrize("way", ("live", "simulate", "bake"))
def test_animated_visibility_is_refused(shot, way):
    """It crashes Blender when it changes in mid-shot."""
    scene, obj, _layer = shot
    rigs.key(obj, "hide_viewport", {1: True, 5: False})
    if way == "live":
        rigs.step(scene, range(1, LAST))
        assert obj.active_ragdoll.state == "READY"
        assert f"'{obj.name}'" in STATE.messages[scene.name]
        return
    refuses(f"'{obj.name}'", list, simulate.frames(scene) if way == "simulate" else bake.bake_frames(obj, scene))
    assert not obj.active_ragdoll.muted
