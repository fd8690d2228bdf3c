"""Objects of a ragdoll deleted by hand: a message, no crash. A file of its own, since a crash ends its process."""

import bpy
import pytest

import rigs
from active_ragdoll.core.blender import build, simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.errors import RagdollError


@pytest.mark.parametrize("what", ("body", "target", "anchor", "physics_armature"))
@pytest.mark.parametrize("when", ("before", "mid-shot", "cached"))
def test_a_helper_deleted_by_hand(fresh_scene, what, when):
    """Playing gives a message that names the bone or the character, no traceback; a new build mends it."""
    if when != "before" and what in ("body", "target"):
        # Bullet's constraints are freed after their bodies then, inside Blender, before any handler runs: a crash now
        # and then, in a plain rigid body scene too. The helpers cannot be selected in the viewport.
        pytest.skip("Blender itself crashes when a body with constraints is deleted in mid-simulation")
    scene = fresh_scene
    obj = rigs.swinging_human(scene, 1, 20)
    build.build(obj, scene)
    if when == "mid-shot":
        rigs.play(scene, 1, 8)
    elif when == "cached":
        list(simulate.frames(scene))
    settings = obj.active_ragdoll
    helper = settings.physics_armature if what == "physics_armature" else getattr(settings.parts[4], what)
    bone = settings.parts[4].bone
    with bpy.context.temp_override(selected_objects=[helper], active_object=helper):
        bpy.ops.object.delete()
    for frame in (9, 10, 1, 2, 3):
        scene.frame_set(frame)
    text = STATE.messages.get(obj.name, "")
    if when != "cached":
        assert "Human" in text and (what == "physics_armature" or bone in text)
    with pytest.raises(RagdollError, match="Human"):
        list(simulate.frames(scene))
    build.rebuild(obj, scene)
    list(simulate.frames(scene))
    assert scene.name not in STATE.messages


def test_the_character_deleted_by_hand(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 20)
    build.build(obj, fresh_scene)
    rigs.play(fresh_scene, 1, 6)
    bpy.data.objects.remove(obj)
    for frame in (7, 8, 1, 2, 3):
        fresh_scene.frame_set(frame)
    with pytest.raises(RagdollError, match="no ragdoll"):
        list(simulate.frames(fresh_scene))
