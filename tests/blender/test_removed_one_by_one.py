"""Ragdolls removed one after the other: as cheap as all at once, and the rest goes on. A crash ends the process."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE

COUNT = 4

pytestmark = [pytest.mark.blender_version, pytest.mark.own_process]


@pytest.fixture
def humans(fresh_scene):
    """Four of them side by side, with ragdolls."""
    first = rigs.swinging_human(fresh_scene, 1, 20)
    found = [first]
    for i in range(1, COUNT):
        other = first.copy()
        other.location.x = 3.0 * i
        fresh_scene.collection.objects.link(other)
        found.append(other)
    for obj in found:
        obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 0.3
    build.build_all(found, fresh_scene)
    return found


def _evaluations(function, *given) -> int:
    """How often the scene is evaluated meanwhile."""
    counted = []

    def handler(scene, _graph=None):
        if not scene.active_ragdoll.is_source:
            counted.append(scene.name)

    bpy.app.handlers.depsgraph_update_post.append(handler)
    try:
        function(*given)
    finally:
        bpy.app.handlers.depsgraph_update_post.remove(handler)
    return len(counted)


@pytest.mark.parametrize("played", (False, True))
def test_only_the_first_costs_evaluations(humans, played):
    """It has Bullet forget all joints, and its world is made anew; each evaluation takes longer the more there are."""
    if played:
        rigs.play(bpy.context.scene, 1, 8)
    counts = [_evaluations(remove.remove, obj) for obj in humans[:-1]]
    assert counts[1:] == [0] * (COUNT - 2)
    assert played or counts[0] == 0


@pytest.mark.parametrize("frames", (0, 1, 8))
def test_the_rest_plays_on(humans, frames):
    """Whatever was played between two removals."""
    scene = bpy.context.scene
    rigs.play(scene, 1, 10)
    for i in range(COUNT - 1):
        remove.remove(humans[i])
        rigs.play(scene, 1, frames)
        if frames == 0:
            bpy.context.view_layer.update()
    last = humans[-1]
    found = rigs.play(scene, 1, 10, lambda: rigs.pose(last))
    assert last.active_ragdoll.state == "LIVE"
    assert len(list(simulate.frames(scene))) == 20
    remove.remove(last)
    assert scene.rigidbody_world is None
    for frame in (1, 2, 3):
        scene.frame_set(frame)
    assert np.abs(found[-1] - found[0]).max() > 0.01
    build.build(last, scene)
    again = rigs.play(scene, 1, 10, lambda: rigs.pose(last))
    assert np.array_equal(found, again)


def test_a_world_that_steps_again_must_be_released_again(humans):
    """Known by the frame, also where no handler of frames is called."""
    scene = bpy.context.scene
    remove.remove(humans[0])
    assert scene.name in STATE.unstepped and scene.name in STATE.released
    scene.frame_current = 5
    bpy.context.view_layer.update()
    assert scene.name not in STATE.unstepped and scene.name not in STATE.released
    remove.remove(humans[1])
    rigs.play(scene, 1, 5)
    assert scene.name not in STATE.unstepped and scene.name not in STATE.released
