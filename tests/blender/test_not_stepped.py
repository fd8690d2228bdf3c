"""What the run has not stepped is never recorded, and no run writes an original object of the physics."""

import contextlib

import bpy
import numpy as np
import pytest

import renders
import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import handlers, pipeline, simulate
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


def _switches_off(scene):
    scene.rigidbody_world.enabled = scene.frame_current < AT


DISTURBANCES = {
    "updates before us": ("frame_change_pre", _at(lambda scene: bpy.context.view_layer.update()), True),
    "goes back and forth": ("frame_change_post", _at(lambda scene: rigs.step(scene, (AT - 1, AT)))),
    "runs ahead": ("frame_change_post", _at(lambda scene: scene.frame_set(AT + 1))),
    "switches the world off": ("frame_change_post", _switches_off),
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


def test_a_scene_may_be_renamed_in_mid_shot(shot):
    scene, obj = shot
    expected = rigs.play(scene, FIRST, LAST, lambda: rigs.pose(obj))
    scene.frame_set(FIRST)

    def read():
        assert obj.active_ragdoll.state == "LIVE"
        scene.name = f"Shot {scene.frame_current}"
        return rigs.pose(obj)

    assert np.array_equal([expected[0], *rigs.step(scene, range(FIRST + 1, LAST + 1), read)], expected)


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
    "switched off": ("rigidbody_world.enabled", lambda: False),
    "speed": ("rigidbody_world.time_scale", lambda: 0.0),
    "collection": ("rigidbody_world.collection", lambda: bpy.data.collections.new("Another")),
    "constraints": ("rigidbody_world.constraints", lambda: bpy.data.collections.new("Another")),
    "remap": ("render.frame_map_new", lambda: 200),
}


def _make_unfit(scene, what: str) -> None:
    path, value = UNFIT[what]
    group, _, name = path.rpartition(".")
    setattr(scene.path_resolve(group), name, value())


@pytest.mark.parametrize("what", UNFIT)
def test_a_world_that_would_not_step_is_refused(shot, what):
    """Before the cache that is there goes."""
    scene, obj = shot
    list(simulate.frames(scene))
    assert obj.active_ragdoll.state == "CACHED"
    _make_unfit(scene, what)
    with pytest.raises(RagdollError, match=what):
        list(simulate.frames(scene))
    assert scene.rigidbody_world.point_cache.is_baked
    bpy.ops.active_ragdoll.free_cache()
    rigs.step(scene, range(FIRST, AT))
    assert obj.active_ragdoll.state != "LIVE" and what in STATE.messages[scene.name]


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


@pytest.mark.parametrize("function", ("step", "observe"))
def test_an_interruption_within_a_handler_is_noticed(shot, monkeypatch, function):
    """Blender prints a KeyboardInterrupt that a handler raises and goes on."""
    scene, obj = shot
    inner = getattr(pipeline, function)

    def interrupted(run, *given):
        if scene.frame_current >= AT:
            raise KeyboardInterrupt
        return inner(run, *given)

    monkeypatch.setattr(pipeline, function, interrupted)
    action = obj.animation_data.action
    with pytest.raises(KeyboardInterrupt):
        list(bake.bake_frames(obj, scene))
    assert obj.animation_data.action == action
    monkeypatch.undo()
    assert len(list(simulate.frames(scene))) == LAST


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


def test_a_foreign_handler_that_moves_an_object_changes_nothing():
    def run(guest):
        scene = rigs.empty_file()
        obj = rigs.swinging_human(scene, 1, 20)
        other, child = rigs.empty(scene, "Other"), rigs.empty(scene, "Child")
        child.parent = other
        build.build(obj, scene)
        move = _foreign("frame_change_pre", lambda scene: setattr(other.location, "x", 0.1 * scene.frame_current))
        with move if guest else contextlib.nullcontext():
            places = np.array(rigs.play(scene, 1, 20, lambda: rigs.bodies(obj)))
        assert other.location.x == pytest.approx(2.0 if guest else 0.0)
        return places

    assert np.abs(run(True) - run(False)).max() < 1e-6


# What the simulation itself gives back, or what follows from the rest.
DERIVED = {"rna_type", "matrix_world", "matrix_local", "bound_box", "dimensions", "is_evaluated", "users"}


def _helpers(obj) -> list:
    settings = obj.active_ragdoll
    found = {*settings.collection.all_objects, *settings.bodies.objects, *settings.targets.objects}
    return sorted(found, key=lambda o: o.name)


def _plain(value):
    """A value with its vectors and matrices as tuples."""
    is_array = hasattr(value, "__len__") and not isinstance(value, str | set | bpy.types.bpy_struct)
    return tuple(map(_plain, value)) if is_array else value


def _values(group) -> dict:
    kept = (p.identifier for p in group.bl_rna.properties if p.type != "COLLECTION")
    return {name: _plain(getattr(group, name)) for name in kept if name not in DERIVED}


def _snapshot(obj) -> dict:
    """Every stored property of every helper, of its rigid body and of its constraint."""
    result = {}
    for helper in _helpers(obj):
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
    before = _snapshot(obj)
    assert len(before) > 60
    for frame in range(1, 41):
        scene.frame_set(frame)
        if frame in (1, 2, 3, 11, 21, 31, 40):
            assert _snapshot(obj) == before, f"frame {frame}"
        if frame == 5:
            # The watch sees what it should: the run did write, but to the evaluated copies.
            target = obj.active_ragdoll.parts[0].target
            evaluated = target.evaluated_get(scene.view_layers[0].depsgraph)
            assert target.rigid_body_constraint.spring_stiffness_x == 0.0
            assert evaluated.rigid_body_constraint.spring_stiffness_x > 0.0
    for frame in (20, 3, 60, 1, 2):
        scene.frame_set(frame)
        assert _snapshot(obj) == before, f"jump to {frame}"
