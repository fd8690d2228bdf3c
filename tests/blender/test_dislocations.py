"""A limb that was flung over its joints' limits, and is held there, comes back."""

import numpy as np
import pytest

import hitting
import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import kinematic
from active_ragdoll.core.blender.runtime import STATE

pytestmark = pytest.mark.blender_version

LIMP = (40, 46, 61)  # frames after which the weights go from 0 to 1
BACK = 24


@pytest.fixture
def zombie():
    """It falls four metres, and its left arm often is on the wrong side when it is called back in one frame."""
    rig = rigs.load("zombie.bvh")
    rigs.set_range(rig.scene, rig.first, max(rig.last, rig.first + max(LIMP) + BACK + 1))
    rigs.ensure_world(rig.scene)
    rig.scene.rigidbody_world.substeps_per_frame = rig.scene.rigidbody_world.solver_iterations = 10
    rig.obj.active_ragdoll.self_collision = False
    build.build(rig.obj, rig.scene)
    height = rig.obj.active_ragdoll.height
    low = np.min(rigs.play(rig.scene, rig.first, rig.first + 100, lambda: rigs.bodies(rig.obj)[:, 2, 3]))
    rig.scene.frame_set(rig.first)
    rigs.box(rig.scene, "Floor", (60 * height, 60 * height, height), (0, 0, low - 0.7 * height), passive=True)
    return rig


def error_after(rig, limp: int) -> tuple[float, int]:
    """Largest angle of a body [deg] against the wanted one after a limp while and a second, and how many were led."""
    led, back = [], rig.first + limp
    for weight, first, last in ((0.0, rig.first, back - 1), (1.0, back, back + BACK)):
        rigs.set_weights(rig.obj, weight)
        led += rigs.play(rig.scene, first, last, lambda: STATE.runs[rig.scene.name].kinematic_by_effect.sum())
    run = STATE.runs[rig.scene.name]
    return float(rigs.angles(run.body, run.wanted).max()), max(led)


def test_what_is_held_on_the_wrong_side_of_a_limit_comes_back(zombie, monkeypatch):
    found = [error_after(zombie, limp) for limp in LIMP]
    assert max(error for error, _led in found) < 0.5
    assert max(led for _error, led in found) < len(zombie.obj.active_ragdoll.parts) / 2  # a limb, not the character
    monkeypatch.setattr(kinematic.LimitRescue, "observe", lambda *_: None)
    stuck = [error for error, _led in (error_after(zombie, limp) for limp in LIMP) if error > 30.0]
    if not stuck:
        pytest.skip("this version of Blender pushes such an arm back by itself")


def test_nothing_is_led_while_limits_hold(fresh_scene):
    """A blow that bends joints to their limits, and springs back: no body rides its animation."""
    hitting.add(rigs.ragdoll(fresh_scene, 40, 0.6), "forearm.L", 10, (0.0, 60.0, 0.0))

    def read():
        run = STATE.runs[fresh_scene.name]
        return rigs.angles(run.body, run.wanted).max(), run.kinematic_by_effect.any()

    angles, led = np.transpose(rigs.play(fresh_scene, 1, 40, read))
    assert not led.any()
    assert angles.max() > 30.0 and np.isfinite(angles).all()
