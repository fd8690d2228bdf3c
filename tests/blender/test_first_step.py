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


def _character(scene, first: int = 1):
    """A soft ragdoll in a scene that stands at the first frame."""
    scene.frame_set(first)
    return rigs.ragdoll(scene, first + 20, 0.2, first)


def _read() -> np.ndarray:
    return rigs.pose(bpy.data.objects["Human"])


def _steps(first: int = 1) -> np.ndarray:
    """From the frame after the first one on; the scene stands where it was stepped to."""
    scene = bpy.context.scene
    frames, poses = zip(
        *rigs.play(scene, first + 1, first + STEPS, lambda: (scene.frame_current, _read())), strict=True
    )
    assert frames == tuple(range(first + 1, first + STEPS + 1))
    return np.array(poses)


def _assert_like_a_run(stepped, first: int = 1) -> np.ndarray:
    """What was stepped is what follows after the first frame was shown, which is returned."""
    shown = np.array(rigs.play(bpy.context.scene, first, first + STEPS, _read))[1:]
    assert np.array_equal(stepped, shown)
    return shown


def _load(scene, tmp_path):
    rigs.reopened(tmp_path / "shot.blend")


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


def _step_that_an_operator_has_evaluated_already(scene, tmp_path):
    """A script that calls operators has the new frame evaluated before the frame handler comes."""
    scene.frame_current = 2
    bpy.context.view_layer.update()


WAYS = (lambda scene, tmp_path: None, _load, _undo, _remove_and_build, _simulate_and_free)
WAYS += (_set_without_a_change_of_frame, _step_that_an_operator_has_evaluated_already)


@pytest.mark.parametrize("way", WAYS)
def test_the_next_step_is_that_of_a_run(fresh_scene, tmp_path, way):
    _character(fresh_scene)
    way(fresh_scene, tmp_path)
    stepped = _steps()
    assert bpy.data.objects["Human"].active_ragdoll.state == "LIVE"
    assert STATE.runs[bpy.context.scene.name].frame == 1 + STEPS
    shown = _assert_like_a_run(stepped)
    assert np.abs(np.diff(shown[:, :, 2, 3], axis=0)).max() > 0.01, "nothing falls"


@pytest.mark.parametrize("first", (-7, 0, 5))
def test_whatever_the_first_frame_is(fresh_scene, first):
    _character(fresh_scene, first)
    _assert_like_a_run(_steps(first), first)


@pytest.mark.parametrize("way", ((10,), (1, 2, 10), (0,), (3,), (1, 2, 3)))
def test_a_jump_to_the_second_frame_starts_nothing(fresh_scene, way):
    """It shows the animation, or what the run before it has simulated."""
    obj = _character(fresh_scene)
    rigs.step(fresh_scene, way)
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
