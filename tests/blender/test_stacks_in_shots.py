"""Characters that only look at something, beside a ragdoll whose shot runs: set up, dropped, deleted in mid-shot."""

import bpy
import pytest

import looking
import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import stack_edits, stack_setup

pytestmark = pytest.mark.blender_version

LAST = 12


@pytest.fixture
def shot(fresh_scene):
    """A swinging ragdoll in a running shot at frame 4, and a second character with a moving target to look at."""
    ragdoll = rigs.swinging_human(fresh_scene, 1, LAST)
    watcher = rigs.human(fresh_scene, "Watcher")
    watcher.location.x = 4.0
    target = bpy.data.objects.new("Target", None)
    fresh_scene.collection.objects.link(target)
    rigs.set_range(fresh_scene, 1, LAST)
    rigs.key_locations(target, {1: (3.0, -3.0, 1.5), LAST: (5.5, -3.0, 1.7)})
    build.build(ragdoll, fresh_scene)
    for frame in range(1, 5):
        fresh_scene.frame_set(frame)
    return fresh_scene, ragdoll, watcher, target


def _goes_on(scene, frames) -> None:
    for frame in frames:
        scene.frame_set(frame)
        assert scene.name not in STATE.messages, STATE.messages[scene.name]
        assert STATE.runs[scene.name].frame == frame


def test_a_stack_that_is_set_up_in_mid_shot_acts_from_the_next_frame_on(shot):
    scene, _ragdoll, watcher, target = shot
    stack_edits.set_up_look_at(watcher, scene, target)
    for frame in range(5, LAST + 1):
        _goes_on(scene, [frame])
        assert looking.aim_error(watcher, target) < 0.05


def test_one_that_is_taken_away_in_mid_shot_shows_the_animation(shot):
    scene, _ragdoll, watcher, target = shot
    rest = rigs.pose(watcher)
    stack_edits.set_up_look_at(watcher, scene, target)
    _goes_on(scene, (5, 6))
    assert rigs.angles(rigs.pose(watcher), rest).max() > 1.0
    stack_setup.drop(watcher)
    _goes_on(scene, range(7, LAST + 1))
    assert rigs.angles(rigs.pose(watcher), rest).max() < 0.05


def test_one_that_is_deleted_in_mid_shot_leaves_the_others_going(shot):
    scene, _ragdoll, watcher, target = shot
    stack_edits.set_up_look_at(watcher, scene, target)
    _goes_on(scene, (5, 6))
    bpy.data.objects.remove(watcher)
    _goes_on(scene, range(7, LAST + 1))
