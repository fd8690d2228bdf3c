"""A frame that the run has not stepped is never recorded: simulate, bake and render stop with the reason."""

import contextlib

import bpy
import numpy as np
import pytest

import renders
import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.run import pipeline, simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.errors import RagdollError

FIRST, LAST = 1, 12
AT = 6  # the frame at which something comes between

pytestmark = pytest.mark.blender_version


@pytest.fixture
def shot(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, LAST, 0.2, first=FIRST)
    return fresh_scene, obj


@contextlib.contextmanager
def _foreign(name: str, function, first: bool = False):
    """A handler of another extension, for the scene itself."""

    def handler(scene, _graph=None):
        if not scene.active_ragdoll.is_source and not STATE.busy:
            function(scene)

    handlers = getattr(bpy.app.handlers, name)
    handlers.insert(0 if first else len(handlers), handler)
    try:
        yield
    finally:
        handlers.remove(handler)


def _update(scene):
    if scene.frame_current == AT:
        bpy.context.view_layer.update()


def _goes_back(scene):
    if scene.frame_current == AT and not STATE.busy:
        with _once() as is_first:
            if is_first:
                scene.frame_set(AT - 1)
                scene.frame_set(AT)


_inside = []


@contextlib.contextmanager
def _once():
    _inside.append(None)
    try:
        yield len(_inside) == 1
    finally:
        _inside.pop()


def _runs_ahead(scene):
    if scene.frame_current == AT:
        with _once() as is_first:
            if is_first:
                scene.frame_set(AT + 1)


def _switches_off(scene):
    scene.rigidbody_world.enabled = scene.frame_current < AT


def _renames(scene):
    if scene.frame_current == AT:
        scene.name = "Another"


DISTURBANCES = {
    "updates before us": ("frame_change_pre", _update, True),
    "goes back and forth": ("frame_change_post", _goes_back, False),
    "runs ahead": ("frame_change_post", _runs_ahead, False),
    "switches the world off": ("frame_change_post", _switches_off, False),
    "renames the scene": ("frame_change_post", _renames, False),
}


@pytest.mark.parametrize("name", DISTURBANCES)
def test_simulate_stops(shot, name):
    scene, _obj = shot
    done = []
    with _foreign(*DISTURBANCES[name]), pytest.raises(RagdollError, match=r"rame [67]|source|switched off"):
        for frame in simulate.frames(scene):
            done.append(frame)
    assert len(done) <= AT


def test_simulate_stops_without_its_source_scene(shot):
    scene, _obj = shot
    with pytest.raises(RagdollError, match=r"source|not simulated"):
        for frame in simulate.frames(scene):
            if frame == AT:
                bpy.data.scenes.remove(scene.active_ragdoll.source)


@pytest.mark.parametrize("name", DISTURBANCES)
def test_bake_stops_and_keeps_the_action(shot, name):
    scene, obj = shot
    action = obj.animation_data.action
    with _foreign(*DISTURBANCES[name]), pytest.raises(RagdollError):
        list(bake.frames(obj, scene))
    assert obj.animation_data.action == action
    assert not obj.active_ragdoll.muted


def test_frames_before_are_the_run_s(shot):
    scene, obj = shot
    expected = rigs.play(scene, FIRST, LAST, lambda: rigs.pose(obj))
    with _foreign(*DISTURBANCES["updates before us"]), pytest.raises(RagdollError):
        list(simulate.frames(scene))
    for frame in range(FIRST, AT):
        scene.frame_set(frame)
        assert np.abs(rigs.pose(obj) - expected[frame - FIRST]).max() < 2e-6
    assert obj.active_ragdoll.cache_outdated


def test_handlers_that_only_read_do_no_harm(shot):
    scene, obj = shot
    expected = [rigs.pose(obj) for _frame in simulate.frames(scene)]
    with _foreign("frame_change_post", lambda scene: bpy.context.view_layer.update()):
        found = [rigs.pose(obj) for _frame in simulate.frames(scene)]
    # Its bodies being released, the first frame is read from the cache when it is evaluated once more.
    assert np.abs(expected[0] - found[0]).max() < 1e-6
    assert np.array_equal(expected[1:], found[1:])


def _off(scene):
    scene.rigidbody_world.enabled = False


def _no_speed(scene):
    scene.rigidbody_world.time_scale = 0.0


def _another_collection(scene):
    scene.rigidbody_world.collection = bpy.data.collections.new("Another")


def _remapped(scene):
    scene.render.frame_map_new = 200


UNFIT = {_off: "switched off", _no_speed: "speed", _another_collection: "collection", _remapped: "remap"}


@pytest.mark.parametrize("change", UNFIT)
def test_a_world_that_would_not_step_is_refused(shot, change):
    """Before the cache that is there goes."""
    scene, obj = shot
    list(simulate.frames(scene))
    assert obj.active_ragdoll.state == "CACHED"
    change(scene)
    with pytest.raises(RagdollError, match=UNFIT[change]):
        list(simulate.frames(scene))
    assert scene.rigidbody_world.point_cache.is_baked


@pytest.mark.parametrize("change", UNFIT)
def test_live_in_a_world_that_would_not_step(shot, change):
    scene, obj = shot
    change(scene)
    rigs.step(scene, range(FIRST, AT))
    assert obj.active_ragdoll.state != "LIVE"
    assert UNFIT[change] in STATE.messages[scene.name]


def test_live_ends_at_a_frame_that_was_evaluated_before(shot):
    """As by a script that steps with an operator: Bullet has stepped without the drives."""
    scene, obj = shot
    rigs.play(scene, FIRST, AT - 1)
    scene.frame_current = AT
    bpy.context.view_layer.update()
    scene.frame_set(AT)
    assert obj.active_ragdoll.state == "BROKEN"
    assert f"Frame {AT}" in STATE.messages[scene.name]
    scene.frame_set(AT + 1)
    assert obj.active_ragdoll.state == "BROKEN"
    rigs.play(scene, FIRST, AT)
    assert obj.active_ragdoll.state == "LIVE"


@pytest.mark.parametrize("function", ("start", "step", "observe"))
def test_an_interruption_within_a_handler_is_noticed(shot, monkeypatch, function):
    """Blender prints a KeyboardInterrupt that a handler raises and goes on."""
    scene, obj = shot
    inner = getattr(pipeline, function)

    def interrupted(run, *given):
        if scene.frame_current >= (FIRST if function == "start" else AT):
            raise KeyboardInterrupt
        return inner(run, *given)

    monkeypatch.setattr(pipeline, function, interrupted)
    action = obj.animation_data.action
    with pytest.raises(KeyboardInterrupt):
        list(bake.frames(obj, scene))
    assert obj.animation_data.action == action
    monkeypatch.undo()
    assert len(list(simulate.frames(scene))) == LAST


def test_an_interruption_while_cached_frames_are_baked(shot, monkeypatch):
    scene, obj = shot
    list(simulate.frames(scene))
    from active_ragdoll.core.blender.run import show

    def interrupted(scene):
        raise KeyboardInterrupt

    monkeypatch.setattr(show, "show_cached", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(bake.frames(obj, scene))
    assert not obj.active_ragdoll.muted


def test_a_render_that_cannot_be_simulated_stops(shot, tmp_path):
    scene, _obj = shot
    renders.prepare(scene, tmp_path / "frame_")
    camera = scene.camera
    with _foreign(*DISTURBANCES["switches the world off"]), pytest.raises(RuntimeError):
        bpy.ops.render.render(animation=True)
    assert scene.camera == camera
    assert not list(tmp_path.iterdir())
    assert "rame" in STATE.messages[scene.name]
    assert not STATE.rendering
    scene.rigidbody_world.enabled = True
    scene.frame_end = 3
    bpy.ops.render.render(animation=True)
    assert len(list(tmp_path.iterdir())) == 3
