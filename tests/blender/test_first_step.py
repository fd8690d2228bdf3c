"""A step from the shot's first frame to the next starts the run, also where the first frame was never stepped to."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, remove, world
from active_ragdoll.core.blender.run import handlers, simulate
from active_ragdoll.core.blender.runtime import STATE

pytestmark = pytest.mark.blender_version

STEPS = 9


def _character(scene, first: int = 1, weight: float = 0.2):
    """A soft ragdoll in a scene that stands at the first frame."""
    obj = rigs.swinging_human(scene, first, first + 20)
    obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = weight
    scene.frame_set(first)
    build.build(obj, scene)
    return obj


def _read() -> np.ndarray:
    return rigs.pose(bpy.data.objects["Human"])


def _steps(first: int = 1) -> np.ndarray:
    """From the frame after the first one on."""
    return np.array(rigs.play(bpy.context.scene, first + 1, first + STEPS, _read))


def _after_first_shown(first: int = 1) -> np.ndarray:
    return np.array(rigs.play(bpy.context.scene, first, first + STEPS, _read))[1:]


def _load(scene, tmp_path):
    path = str(tmp_path / "shot.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)


def _undo(scene, tmp_path):
    scene.frame_set(1)
    handlers.before_undo()
    handlers.after_undo()


def _remove_and_build(scene, tmp_path):
    obj = bpy.data.objects["Human"]
    rigs.play(scene, 1, 6)
    scene.frame_set(1)
    remove.remove(obj)
    build.build(obj, scene)


def _rebuild(scene, tmp_path):
    rigs.play(scene, 1, 6)
    scene.frame_set(1)
    build.rebuild(bpy.data.objects["Human"], scene)


def _simulate_and_free(scene, tmp_path):
    list(simulate.frames(scene))
    scene.frame_set(1)
    world.free_cache(scene)
    STATE.runs.clear()


def _set_without_a_change_of_frame(scene, tmp_path):
    rigs.play(scene, 1, 6)
    scene.frame_set(40)
    scene.frame_current = 1
    bpy.context.view_layer.update()


def _own_range(scene, tmp_path):
    """The run began elsewhere; the frame that is shown becomes the first one afterwards."""
    scene.frame_start = -5
    rigs.play(scene, -5, 1)
    scene.frame_start = 1


WAYS = (
    lambda scene, tmp_path: None,
    _load,
    _undo,
    _remove_and_build,
    _rebuild,
    _simulate_and_free,
    _set_without_a_change_of_frame,
    _own_range,
)


@pytest.mark.parametrize("way", WAYS)
def test_the_next_step_is_that_of_a_run(fresh_scene, tmp_path, way):
    _character(fresh_scene)
    way(fresh_scene, tmp_path)
    stepped = _steps()
    assert bpy.data.objects["Human"].active_ragdoll.state == "LIVE"
    shown = _after_first_shown()
    assert np.array_equal(stepped, shown)
    assert np.abs(np.diff(shown[:, :, 2, 3], axis=0)).max() > 0.01, "nothing falls"


@pytest.mark.parametrize("first", (-7, -1, 0, 5))
def test_whatever_the_first_frame_is(fresh_scene, first):
    _character(fresh_scene, first)
    stepped = _steps(first)
    assert np.array_equal(stepped, _after_first_shown(first))


def test_bit_for_bit_as_in_a_file_where_the_first_frame_was_shown(fresh_scene):
    _character(fresh_scene)
    shown = _after_first_shown()
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    _character(bpy.context.scene)
    assert np.array_equal(_steps(), shown)


def test_the_scene_stands_where_it_was_stepped_to(fresh_scene):
    _character(fresh_scene)
    fresh_scene.frame_set(2)
    assert fresh_scene.frame_current == 2
    assert STATE.runs[fresh_scene.name].frame == 2


def test_after_a_sub_frame_of_the_first_one(fresh_scene):
    _character(fresh_scene)
    fresh_scene.frame_set(1, subframe=0.5)
    stepped = _steps()
    assert np.array_equal(stepped, _after_first_shown())


@pytest.mark.parametrize("way", ((10,), (1, 2, 10), (0,), (3,), (1, 2, 3)))
def test_a_jump_to_the_second_frame_starts_nothing(fresh_scene, way):
    """It shows the animation, or what the run before it has simulated."""
    obj = _character(fresh_scene)
    for frame in way:
        fresh_scene.frame_set(frame)
    run = STATE.runs.get(fresh_scene.name)
    fresh_scene.frame_set(2)
    assert STATE.runs.get(fresh_scene.name) is run
    assert obj.active_ragdoll.state == ("READY" if run is None else "LIVE")
    fresh_scene.frame_set(3)
    assert STATE.runs.get(fresh_scene.name) is run


def test_what_stops_the_first_frame_is_told(fresh_scene):
    obj = _character(fresh_scene)
    obj.scale = (1.0, 1.0, 1.5)
    fresh_scene.frame_set(2)
    assert "Human" in STATE.messages[fresh_scene.name]
    obj.scale = (1.0, 1.0, 1.0)
    fresh_scene.frame_set(1)
    assert len(rigs.play(fresh_scene, 2, 6)) == 0


def test_a_step_that_an_operator_has_evaluated_already(fresh_scene):
    """A script that calls operators has the new frame evaluated before the frame handler comes."""
    _character(fresh_scene)
    fresh_scene.frame_current = 2
    bpy.context.view_layer.update()
    stepped = _steps()
    assert np.array_equal(stepped, _after_first_shown())
