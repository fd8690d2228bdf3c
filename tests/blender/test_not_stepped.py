"""What a run has not stepped is never recorded, frames out of turn are right or refused, and no original is written."""

import contextlib

import bpy
import numpy as np
import pytest

import renders
import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import build, remove, source
from active_ragdoll.core.blender.run import handlers, simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.errors import RagdollError
from refusals import refuses

pytestmark = pytest.mark.blender_version
FIRST, LAST = 1, 16
AT = 6  # the frame at which something comes between


@pytest.fixture
def shot(fresh_scene):
    return fresh_scene, rigs.ragdoll(fresh_scene, LAST, 0.2, first=FIRST)


@contextlib.contextmanager
def _foreign(name: str, function, first: bool = False):
    """A handler of another extension, for the scene itself."""
    inside = []

    def handler(scene, _graph=None):
        if not scene.active_ragdoll.is_source and not STATE.busy and not inside:
            inside.append(True)
            try:
                function(scene)
            finally:
                inside.clear()

    handlers = getattr(bpy.app.handlers, name)
    handlers.insert(0 if first else len(handlers), handler)
    try:
        yield
    finally:
        handlers.remove(handler)


def _at(function):
    """What happens at one frame only."""
    return lambda scene: function(scene) if scene.frame_current == AT else None


DISTURBANCES = {
    "updates before us": ("frame_change_pre", _at(lambda scene: bpy.context.view_layer.update()), True),
    "goes back and forth": ("frame_change_post", _at(lambda scene: rigs.step(scene, (AT - 1, AT)))),
    "runs ahead": ("frame_change_post", _at(lambda scene: scene.frame_set(AT + 1))),
    "switches off": ("frame_change_post", _at(lambda scene: setattr(scene.rigidbody_world, "enabled", False))),
    "renames the scene": ("frame_change_post", _at(lambda scene: setattr(scene, "name", "Another"))),
}


@pytest.mark.parametrize(("name", "way"), [(name, "bake") for name in DISTURBANCES] + [("runs ahead", "simulate")])
def test_what_comes_between_stops_it_and_the_action_is_kept(shot, name, way):
    scene, obj = shot
    action, done = obj.animation_data.action, []
    with _foreign(*DISTURBANCES[name]), pytest.raises(RagdollError, match=r"rame [67]|source|switched off"):
        for frame in simulate.frames(scene) if way == "simulate" else bake.bake_frames(obj, scene):
            done.append(frame)
    assert len(done) <= AT
    assert obj.animation_data.action == action and not obj.active_ragdoll.muted


def test_without_its_source_scene(shot):
    """In mid-shot the run ends; from the first frame on all is as before."""
    scene, obj = shot
    expected = rigs.play(scene, FIRST, LAST, lambda: rigs.pose(obj))
    rigs.play(scene, FIRST, AT)
    bpy.data.scenes.remove(scene.active_ragdoll.source)
    scene.frame_set(AT + 1)
    assert obj.active_ragdoll.state == "READY" and "was deleted" in STATE.messages[scene.name]
    assert np.array_equal(rigs.play(scene, FIRST, LAST, lambda: rigs.pose(obj)), expected)
    bpy.data.scenes.remove(scene.active_ragdoll.source)
    with pytest.raises(RagdollError, match=r"source|not simulated"):
        for frame in simulate.frames(scene):
            if frame == AT:
                bpy.data.scenes.remove(scene.active_ragdoll.source)
    remove.remove(obj)
    assert "Source" not in str([*bpy.data.objects])


def test_live_playback_says_that_another_handler_went_back(shot, monkeypatch):
    scene, obj = shot
    expected = rigs.play(scene, FIRST, LAST, lambda: rigs.pose(obj))
    monkeypatch.setattr(handlers, "_is_playing", lambda: True)
    with _foreign(*DISTURBANCES["goes back and forth"]):
        rigs.step(scene, range(FIRST, LAST + 1))
    assert obj.active_ragdoll.state == "READY"
    assert f"from frame {AT} back to {AT - 1}" in STATE.messages[scene.name]
    assert np.array_equal(rigs.play(scene, FIRST, LAST, lambda: rigs.pose(obj)), expected)
    assert scene.name not in STATE.messages


UNFIT = {
    "switched off": lambda scene: setattr(scene.rigidbody_world, "enabled", False),
    "speed": lambda scene: setattr(scene.rigidbody_world, "time_scale", 0.0),
    "collection": lambda scene: setattr(scene.rigidbody_world, "collection", bpy.data.collections.new("Another")),
    "constraints": lambda scene: setattr(scene.rigidbody_world, "constraints", bpy.data.collections.new("Another")),
    "remap": lambda scene: setattr(scene.render, "frame_map_new", 200),
}


@pytest.mark.parametrize("what", UNFIT)
def test_a_world_that_would_not_step_is_refused(shot, what):
    """Before the cache that is there goes."""
    scene, obj = shot
    list(simulate.frames(scene))
    assert obj.active_ragdoll.state == "CACHED"
    UNFIT[what](scene)
    refuses(what, list, simulate.frames(scene))
    assert scene.rigidbody_world.point_cache.is_baked
    bpy.ops.active_ragdoll.free_cache()
    rigs.step(scene, range(FIRST, AT))
    assert obj.active_ragdoll.state != "LIVE" and what in STATE.messages[scene.name]


@pytest.mark.parametrize("what", UNFIT)
def test_after_a_run_a_world_that_would_not_step_shows_the_animation(shot, what):
    scene, obj = shot
    rigs.play(scene, FIRST, AT)
    UNFIT[what](scene)
    assert obj.active_ragdoll.state == "READY" or what not in ("switched off", "speed")
    shown = rigs.shown(scene, obj, range(FIRST, AT))
    remove.remove(obj)
    rigs.check_shown(scene, obj, shown, shown, 1e-5)


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


def test_a_render_that_cannot_be_simulated_stops(shot, tmp_path):
    scene, _obj = shot
    renders.prepare(scene, tmp_path / "frame_")
    camera = scene.camera
    with _foreign(*DISTURBANCES["switches off"]), pytest.raises(RuntimeError):
        bpy.ops.render.render(animation=True)
    assert scene.camera == camera
    assert not list(tmp_path.iterdir())
    assert "rame" in STATE.messages[scene.name]
    assert not STATE.rendering
    scene.rigidbody_world.enabled = True
    scene.frame_end = 3
    bpy.ops.render.render(animation=True)
    assert len(list(tmp_path.iterdir())) == 3


# What the simulation itself gives back, or what follows from the rest.
DERIVED = {"rna_type", "matrix_world", "matrix_local", "bound_box", "dimensions", "is_evaluated", "users"}


def _plain(value):
    """A value with its vectors and matrices as tuples."""
    is_array = hasattr(value, "__len__") and not isinstance(value, str | set | bpy.types.bpy_struct)
    return tuple(map(_plain, value)) if is_array else value


def _values(group) -> dict:
    kept = (p.identifier for p in group.bl_rna.properties if p.type != "COLLECTION")
    return {name: _plain(getattr(group, name)) for name in kept if name not in DERIVED}


def snapshot(obj) -> dict:
    """Every stored property of every helper, of its rigid body and of its constraint."""
    result = {}
    for helper in obj.active_ragdoll.collection.all_objects:
        result[helper.name] = {
            "object": _values(helper),
            "body": _values(helper.rigid_body) if helper.rigid_body else None,
            "constraint": _values(helper.rigid_body_constraint) if helper.rigid_body_constraint else None,
        }
        for bone in helper.pose.bones if helper.pose else ():
            for constraint in bone.constraints:
                result[f"{helper.name} {bone.name} {constraint.name}"] = _values(constraint)
    return result


def test_originals_stay_as_they_are_bit_for_bit(scene):
    obj = rigs.swinging_human(scene, 1, 40)
    rigs.key_weights(obj, {1: 1.0, 10: 0.3, 20: 0.0, 30: 1.0})
    build.build(obj, scene)
    rigs.set_weights(obj, 0.3)
    before = snapshot(obj)
    assert len(before) > 60
    for frame in range(1, 41):
        scene.frame_set(frame)
        if frame in (1, 2, 3, 11, 21, 31, 40):
            assert snapshot(obj) == before, f"frame {frame}"
        if frame == 5:
            # The watch sees what it should: the run did write, but to the evaluated copies.
            target = obj.active_ragdoll.parts[0].target
            evaluated = target.evaluated_get(scene.view_layers[0].depsgraph)
            assert target.rigid_body_constraint.spring_stiffness_x == 0.0
            assert evaluated.rigid_body_constraint.spring_stiffness_x > 0.0
    for frame in (20, 3, 60, 1, 2):
        scene.frame_set(frame)
        assert snapshot(obj) == before, f"jump to {frame}"


def _played(scene, obj) -> np.ndarray:
    return np.array(rigs.play(scene, 1, LAST, lambda: rigs.pose(obj)))


def test_playback_that_drops_frames_is_not_live(shot):
    scene, obj = shot
    expected = _played(scene, obj)
    scene.sync_mode = "AUDIO_SYNC"
    rigs.play(scene, 1, 5)
    assert obj.active_ragdoll.state == "LIVE"
    for frame in (7, 8, 9):
        scene.frame_set(frame)
        assert obj.active_ragdoll.state == "READY"
        scene.active_ragdoll.source.frame_set(frame)
        posed = source.evaluated(obj)
        assert np.abs(rigs.pose(obj) - [posed.matrix_world @ bone.matrix for bone in posed.pose.bones]).max() < 1e-5
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
    rigs.changed(scene, use_preview_range=True, frame_step=2, frame_preview_start=8, frame_preview_end=14)
    scene.frame_set(8)
    scene.frame_set(9)
    assert obj.active_ragdoll.state == "READY"  # the shot begins elsewhere
    list(bake.bake_frames(obj, scene))
    assert np.abs(_played(scene, obj) - expected).max() < 1e-5


def test_under_remapped_time_a_run_ends_a_bake_is_refused_and_a_cache_shows_the_frames_of_that_time(shot):
    """The keys of a bake would be read at other times than they were recorded at."""
    scene, obj = shot
    expected = _played(scene, obj)
    rigs.play(scene, 1, 5)
    scene.render.frame_map_new = 200
    refuses("remap", list, bake.bake_frames(obj, scene))
    assert not obj.active_ragdoll.muted
    scene.frame_set(6)
    assert obj.active_ragdoll.state != "LIVE" and "remap" in STATE.messages[scene.name]
    scene.render.frame_map_new = 100
    list(simulate.frames(scene))
    for old, new in ((100, 200), (200, 100), (100, 100)):
        scene.render.frame_map_old, scene.render.frame_map_new = old, new
        for frame in (4, 8, 16):
            scene.frame_set(frame)
            time = frame * old // new
            if time <= LAST:
                assert np.abs(rigs.pose(obj) - expected[time - 1]).max() < 2e-6
