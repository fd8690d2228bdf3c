"""A character whose ragdoll is in another scene, copied, appended, linked or deleted since, shows its animation there.

Build works where it is now, Remove never raises, and the first scene plays as before."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.run import simulate

LAST = 12
pytestmark = pytest.mark.blender_version


def _shown(scene, obj) -> np.ndarray:
    """The pose that a window would show, without a change of frame."""
    scene.view_layers[0].update()
    return rigs.pose(obj, scene.view_layers[0].depsgraph)


def _poses(scene, obj) -> np.ndarray:
    return np.array(rigs.step(scene, range(1, LAST + 1), lambda: _shown(scene, obj)))


def _operate(scene, obj, name: str):
    bpy.context.window.scene = scene
    bpy.ops.object.select_all(action="DESELECT")
    scene.view_layers[0].objects.active = obj
    return getattr(bpy.ops.active_ragdoll, name)()


def _made(scene, cached: bool = True):
    """A character with its animation and its physics."""
    obj = rigs.swinging_human(scene, 1, LAST)
    inside = bpy.data.collections.new("Char")
    scene.collection.children.link(inside)
    inside.objects.link(obj)
    scene.collection.objects.unlink(obj)
    animation = _poses(scene, obj)
    rigs.set_weights(obj, 0.2)
    assert _operate(scene, obj, "build") == {"FINISHED"}
    physics = _poses(scene, obj)
    assert np.abs(physics - animation).max() > 0.05
    if cached:
        list(simulate.frames(scene))
    return obj, animation, physics


def _check(scene, obj, animation, physics=None):
    """It shows its animation, at once, until it is built here, and after Remove; without physics none can be built."""
    bpy.context.window.scene = scene
    assert np.abs(_shown(scene, obj) - animation[-1]).max() < 1e-5
    assert np.abs(_poses(scene, obj) - animation).max() < 1e-5
    assert obj.active_ragdoll.state == "ELSEWHERE"
    with pytest.raises(RuntimeError):
        bpy.ops.active_ragdoll.simulate()
    if physics is None:
        with pytest.raises(RuntimeError, match="library override"):
            _operate(scene, obj, "build")
    else:
        assert _operate(scene, obj, "build") == {"FINISHED"} and obj.active_ragdoll.scene == scene
        list(simulate.frames(scene))
        assert obj.active_ragdoll.state == "CACHED" and np.abs(_poses(scene, obj) - physics).max() < 1e-4
    assert _operate(scene, obj, "remove") == {"FINISHED"}
    assert np.abs(_poses(scene, obj) - animation).max() < 1e-5


@pytest.mark.parametrize("cached", (False, True))
@pytest.mark.parametrize("kind", ("LINK_COPY", "FULL_COPY"))
def test_a_copy_of_the_scene(scene, kind, cached):
    obj, animation, physics = _made(scene, cached)
    bpy.ops.scene.new(type=kind)
    copy = bpy.context.window.scene
    other = next(o for o in copy.objects if o.type == "ARMATURE" and o.active_ragdoll.is_ragdoll)
    if other.active_ragdoll.scene == copy:  # from Blender 5.0 on the pointers of a full copy follow it
        shown = _poses(copy, other)
        assert min(np.abs(shown - wanted).max() for wanted in (physics, animation)) < 1e-5
        return
    assert np.abs(_poses(copy, other) - animation).max() < 1e-5
    bpy.context.window.scene = scene
    assert np.abs(_poses(scene, obj) - physics).max() < 1e-5
    assert obj.active_ragdoll.state == ("CACHED" if cached else "LIVE")
    if kind == "FULL_COPY" and bpy.app.version < (4, 3, 0):
        return  # 4.2 crashes when a ragdoll that was built and simulated in a full copy is removed
    _check(copy, other, animation, physics)
    if kind == "FULL_COPY" and cached:
        assert scene.rigidbody_world.point_cache.is_baked
        bpy.context.window.scene = scene
        assert np.abs(_poses(scene, obj) - physics).max() < 1e-5
    bpy.data.scenes.remove(copy)
    if kind == "FULL_COPY":
        assert np.abs(_poses(scene, obj) - physics).max() < 1e-5


@pytest.mark.skipif(bpy.app.version < (4, 3, 0), reason="4.2 crashes when bodies go beside another scene's world")
def test_removed_beside_the_world_of_another_scene(fresh_scene):
    """Blender takes a body out of every scene's world, also out of those that never had it."""
    scenes, played = [fresh_scene, bpy.data.scenes.new("Other")], []
    for scene in scenes:
        bpy.context.window.scene = scene
        played.append(_poses(scene, rigs.ragdoll(scene, LAST, 0.2)))
    first, other = bpy.data.objects["Human"], bpy.data.objects["Human.001"]
    assert _operate(fresh_scene, first, "remove") == {"FINISHED"}
    bpy.context.window.scene = scenes[1]
    assert np.array_equal(_poses(scenes[1], other), played[1])
    assert _operate(scenes[1], other, "remove") == {"FINISHED"}


@pytest.mark.skipif(bpy.app.version < (4, 3, 0), reason="4.2 crashes when ragdolls of a full copy are removed")
def test_removed_one_by_one_from_a_copy_of_the_scene(fresh_scene):
    """Until the last one went, Bullet has its joints in the world's collections, which stay linked."""
    rigs.box(fresh_scene, "Floor", (4.0, 4.0, 0.2), (0.0, 0.0, -0.1), passive=True)
    for _time in range(2):
        rigs.ragdoll(fresh_scene, LAST, 0.2)
    bpy.ops.scene.new(type="FULL_COPY")
    copy = bpy.context.window.scene
    for obj in [o for o in copy.objects if o.active_ragdoll.is_ragdoll]:
        _poses(copy, obj)
        assert _operate(copy, obj, "remove") == {"FINISHED"}
    assert not copy.active_ragdoll.cache_saved


def test_a_copy_that_was_played_and_deleted(fresh_scene):
    obj, _animation, physics = _made(fresh_scene, cached=False)
    bpy.ops.scene.new(type="LINK_COPY")
    copy = bpy.context.window.scene
    for scene in (copy, fresh_scene, copy):
        _poses(scene, obj)
    bpy.data.scenes.remove(copy)
    for _time in range(2):
        assert np.abs(_poses(fresh_scene, obj) - physics).max() < 1e-5


@pytest.mark.skipif(bpy.app.version < (4, 3, 0), reason="4.2 crashes on bodies whose world went with its scene")
@pytest.mark.parametrize("updated", (False, True))
def test_the_scene_of_the_ragdoll_is_deleted(fresh_scene, updated):
    obj, animation, physics = _made(fresh_scene)
    other = bpy.data.scenes.new("Other")
    other.frame_end = LAST
    other.frame_set(LAST)
    other.collection.objects.link(obj)
    if updated:
        other.view_layers[0].update()
    assert np.abs(_poses(other, obj) - animation).max() < 1e-5
    bpy.context.window.scene = other
    bpy.data.scenes.remove(fresh_scene)
    _check(other, obj, animation, physics)


@pytest.mark.skipif(bpy.app.version < (4, 3, 0), reason="4.2 crashes on bodies whose world went with its scene")
def test_the_hidden_scene_of_a_deleted_one_goes_with_the_next_load(fresh_scene, tmp_path):
    obj, _animation, _physics = _made(fresh_scene)
    other = bpy.data.scenes.new("Other")
    rigs.empty(other, "Cube", (0.0, 0.0, 0.0))
    bpy.context.window.scene = other
    bpy.data.scenes.remove(fresh_scene)
    bpy.data.objects.remove(obj)
    rigs.reopened(tmp_path / "shot.blend", "Cube")
    assert [scene.name for scene in bpy.data.scenes] == ["Other"]


@pytest.fixture
def library(fresh_scene, tmp_path):
    """A file with a cached ragdoll, its animation and its physics; the file that is open then is empty."""
    _obj, animation, physics = _made(fresh_scene)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    scene = rigs.empty_file(24)
    scene.frame_end = LAST
    scene.frame_set(LAST)  # where the character was saved: Blender plays what comes from the next frame on
    return str(tmp_path / "library.blend"), scene, animation, physics


def _load(path: str, link: bool):
    with bpy.data.libraries.load(path, link=link) as (_there, here):
        here.collections = ["Char"]
    return here.collections[0]


def test_linked(library):
    path, scene, animation, _physics = library
    inside = _load(path, link=True)
    scene.collection.children.link(inside)
    _check(scene, inside.objects[0], animation)


@pytest.mark.parametrize("overridden", (False, True))
def test_appended_or_overridden(library, overridden):
    path, scene, animation, physics = library
    inside = _load(path, link=overridden)
    scene.collection.children.link(inside)
    if overridden:
        inside.override_hierarchy_create(scene, bpy.context.view_layer)
    obj = next(o for o in bpy.data.objects if o.library is None and o.type == "ARMATURE" and o.name in scene.objects)
    _check(scene, obj, animation, physics)
