"""Frames that are not played one after the other, each at its own time: right, or refused with the reason."""

import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import source
from active_ragdoll.core.blender.run import handlers, simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.errors import RagdollError

LAST = 20

pytestmark = pytest.mark.blender_version


@pytest.fixture
def shot(fresh_scene):
    return fresh_scene, rigs.ragdoll(fresh_scene, LAST, 0.2)


def _played(scene, obj) -> np.ndarray:
    return np.array(rigs.play(scene, 1, LAST, lambda: rigs.pose(obj)))


def _animated(scene, obj, frame: int) -> np.ndarray:
    """The animation's pose at a frame, as the hidden scene has it."""
    scene.active_ragdoll.source.frame_set(frame)
    posed = source.evaluated(obj)
    return np.array([posed.matrix_world @ bone.matrix for bone in posed.pose.bones])


def test_playback_that_drops_frames_is_not_live(shot):
    scene, obj = shot
    expected = _played(scene, obj)
    scene.sync_mode = "AUDIO_SYNC"
    rigs.play(scene, 1, 5)
    assert obj.active_ragdoll.state == "LIVE"
    for frame in (7, 8, 9):
        scene.frame_set(frame)
        assert obj.active_ragdoll.state == "READY"
        assert np.abs(rigs.pose(obj) - _animated(scene, obj, frame)).max() < 1e-5
        assert "left out frames after 5" in STATE.messages[scene.name]
    scene.sync_mode = "NONE"
    assert np.array_equal(_played(scene, obj), expected)
    assert scene.name not in STATE.messages
    scene.frame_set(3)
    scene.frame_set(LAST + 1)  # by hand, in a scene that plays every frame
    assert scene.name not in STATE.messages


@pytest.mark.parametrize("playing", (False, True))
def test_playback_that_drops_the_first_step_is_told(fresh_scene, monkeypatch, playing):
    rigs.ragdoll(fresh_scene, LAST, 0.2)
    fresh_scene.sync_mode = "FRAME_DROP"
    monkeypatch.setattr(handlers, "_is_playing", lambda: playing)
    fresh_scene.frame_set(4)  # without a run at the first frame, where the build stood
    assert ("left out frames after 1," in STATE.messages.get(fresh_scene.name, "")) == playing


def test_sub_frames_change_nothing_and_are_not_live(shot):
    scene, obj = shot
    expected = _played(scene, obj)
    found = []
    for frame in range(1, LAST + 1):
        scene.frame_set(frame)
        found.append(rigs.pose(obj))
        assert obj.active_ragdoll.state == "LIVE"
        scene.frame_set(frame, subframe=0.5)
        assert obj.active_ragdoll.state == "READY"
    assert np.array_equal(found, expected)
    list(simulate.frames(scene))
    scene.frame_set(10, subframe=0.5)
    middle = (expected[9] + expected[10]) / 2.0
    assert np.abs(rigs.pose(obj) - middle).max() < 0.2 * np.abs(expected[10] - expected[9]).max()


def test_preview_range_and_frame_step_do_not_change_the_shot(shot):
    scene, obj = shot
    expected = _played(scene, obj)
    scene.use_preview_range, scene.frame_step = True, 2
    scene.frame_preview_start, scene.frame_preview_end = 8, 14
    scene.frame_set(8)
    scene.frame_set(9)
    assert obj.active_ragdoll.state == "READY"  # the shot begins elsewhere
    list(bake.bake_frames(obj, scene))
    assert np.abs(_played(scene, obj) - expected).max() < 1e-5


def test_a_bake_under_remapped_time_is_refused_and_a_run_ends(shot):
    """Its keys would be read at other times than they were recorded at."""
    scene, obj = shot
    rigs.play(scene, 1, 5)
    scene.render.frame_map_new = 200
    with pytest.raises(RagdollError, match="remap"):
        list(bake.bake_frames(obj, scene))
    assert not obj.active_ragdoll.muted
    scene.frame_set(6)
    assert obj.active_ragdoll.state != "LIVE" and "remap" in STATE.messages[scene.name]


def test_a_cache_under_remapped_time_shows_the_frames_of_that_time(shot):
    scene, obj = shot
    expected = _played(scene, obj)
    list(simulate.frames(scene))
    for old, new in ((100, 200), (200, 100)):
        scene.render.frame_map_old, scene.render.frame_map_new = old, new
        for frame in (4, 8, 16):
            scene.frame_set(frame)
            time = frame * old // new
            if time <= LAST:
                assert np.abs(rigs.pose(obj) - expected[time - 1]).max() < 2e-6
    scene.render.frame_map_old, scene.render.frame_map_new = 100, 100
    scene.frame_set(4)
    assert np.abs(rigs.pose(obj) - expected[3]).max() < 2e-6
