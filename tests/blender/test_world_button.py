"""Blender's button that removes the rigid body world: off while Bullet holds joints, as that would crash Blender."""

from types import SimpleNamespace

import bpy
import pytest

import rigs
from active_ragdoll.core.blender.physics import remove
from drawing import Layout

pytestmark = pytest.mark.blender_version


def _button(scene) -> tuple[bool, bool]:
    """Whether the button can be pressed, and whether there is a line that says why not."""
    drawn = []
    panel = SimpleNamespace(layout=Layout(drawn))
    draws = bpy.types.SCENE_PT_rigid_body_world.draw._draw_funcs
    for draw in draws[:-1]:  # the last one is Blender's own
        draw(panel, SimpleNamespace(scene=scene))
    return panel.layout.live, any("Remove the scene's ragdolls" in text for _kind, text, _layout in drawn)


def test_it_is_off_from_the_first_run_until_the_ragdoll_is_gone(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, 6)
    assert _button(fresh_scene) == (True, False)
    rigs.play(fresh_scene, 1, 4)
    assert _button(fresh_scene) == (False, True)
    remove.remove(obj, fresh_scene)
    assert _button(fresh_scene) == (True, False)
