"""The objects that a ragdoll is made of stay out of sight, are evaluated all the same, and can be shown."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, remove

pytestmark = pytest.mark.blender_version


@pytest.fixture
def obj(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 20)
    fresh_scene.view_layers.new("Second")
    build.build(obj, fresh_scene)
    return obj


def seen(obj) -> set:
    """Names of the helpers that some view layer shows."""
    helpers = [o for o in obj.active_ragdoll.collection.all_objects if not o.hide_viewport]
    assert len(helpers) > 4 * len(obj.active_ragdoll.parts)
    return {o.name for o in helpers for layer in bpy.context.scene.view_layers if o.visible_get(view_layer=layer)}


def test_a_build_shows_the_character_and_its_props_only(obj, fresh_scene):
    crate = rigs.box(fresh_scene, "Crate", (1, 1, 1), (3, 0, 0))
    assert not seen(obj)
    assert obj.visible_get() and crate.visible_get()
    build.rebuild(obj, fresh_scene)
    assert not seen(obj)


def test_helpers_can_be_shown_and_stay_so(obj, fresh_scene):
    fresh_scene.active_ragdoll.show_helpers = True
    shown = seen(obj)
    assert len(shown) > 4 * len(obj.active_ragdoll.parts)
    build.rebuild(obj, fresh_scene)
    assert len(seen(obj)) == len(shown)
    fresh_scene.active_ragdoll.show_helpers = False
    assert not seen(obj)


def test_bodies_are_seen_while_they_are_edited(obj, fresh_scene):
    bpy.context.view_layer.objects.active = obj
    assert bpy.ops.active_ragdoll.edit_bodies() == {"FINISHED"}
    assert seen(obj) == {part.body.name for part in obj.active_ragdoll.parts}
    assert bpy.ops.active_ragdoll.edit_bodies() == {"FINISHED"}
    assert not seen(obj)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.active_ragdoll.edit_bodies()
    before = rigs.counts()["collections"]
    remove.remove(obj)
    assert before - rigs.counts()["collections"] >= 3


def test_what_is_hidden_moves_as_what_is_shown(obj, fresh_scene):
    rigs.set_weights(obj, 0.3)
    found = []
    for shown in (False, True, False):
        fresh_scene.active_ragdoll.show_helpers = shown
        found.append(np.array(rigs.play(fresh_scene, 1, 20, lambda: rigs.pose(obj))))
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    assert np.ptp(found[0], axis=0).max() > 0.05


def test_hiding_in_mid_shot_ends_no_run(obj, fresh_scene):
    """Blender builds its dependency graph anew and reads the frame from its cache, in single precision: with one view
    layer stepping, the next frames differ in their last bits, and where limbs touch by a few millimetres.
    """
    whole = np.array(rigs.play(fresh_scene, 1, 20, lambda: rigs.pose(obj)))
    halves = rigs.play(fresh_scene, 1, 10, lambda: rigs.pose(obj))
    fresh_scene.active_ragdoll.show_helpers = True
    halves = np.array(halves + rigs.play(fresh_scene, 11, 20, lambda: rigs.pose(obj)))
    assert np.array_equal(whole[:10], halves[:10])
    assert np.abs(whole - halves).max() < 0.005
