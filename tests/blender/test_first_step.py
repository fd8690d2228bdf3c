"""A step from the shot's first frame to the next starts the run, also where the first frame was never stepped to."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.run import handlers
from active_ragdoll.core.blender.runtime import STATE

pytestmark = pytest.mark.blender_version
STEPS = 9


def _character(scene):
    """A soft ragdoll in a scene that stands at the first frame."""
    scene.frame_set(1)
    return rigs.ragdoll(scene, 21, 0.2)


def _read() -> np.ndarray:
    return rigs.pose(bpy.data.objects["Human"])


def _undo(scene, tmp_path):
    scene.frame_set(1)
    handlers.before_undo()
    handlers.after_undo()


def _set_without_a_change_of_frame(scene, tmp_path):
    rigs.play(scene, 1, 6)
    scene.frame_set(40)
    scene.frame_current = 1
    bpy.context.view_layer.update()


def _step_that_an_operator_has_evaluated_already(scene, tmp_path):
    """A script that calls operators has the new frame evaluated before the frame handler comes."""
    scene.frame_current = 2
    bpy.context.view_layer.update()


WAYS = (lambda scene, tmp_path: None, lambda scene, tmp_path: rigs.reopened(tmp_path / "shot.blend"), _undo)
WAYS += (_set_without_a_change_of_frame, _step_that_an_operator_has_evaluated_already)


@pytest.mark.parametrize("way", WAYS)
def test_the_next_step_is_that_of_a_run(fresh_scene, tmp_path, way):
    _character(fresh_scene)
    way(fresh_scene, tmp_path)
    stepped = rigs.play(bpy.context.scene, 2, 1 + STEPS, _read)
    assert bpy.data.objects["Human"].active_ragdoll.state == "LIVE"
    assert STATE.runs[bpy.context.scene.name].frame == 1 + STEPS
    shown = np.array(rigs.play(bpy.context.scene, 1, 1 + STEPS, _read))[1:]
    assert np.array_equal(stepped, shown)
    assert np.abs(np.diff(shown[:, :, 2, 3], axis=0)).max() > 0.01, "nothing falls"


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
    assert rigs.play(fresh_scene, 2, 6, lambda: obj.active_ragdoll.state) == ["LIVE"] * 5
