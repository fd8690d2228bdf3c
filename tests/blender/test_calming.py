"""Limp bodies that lie nearly still are brought to rest; those that float keep their momentum."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.runtime import STATE

pytestmark = pytest.mark.blender_version

SPEED = 0.15  # [m/s]


def _floating(scene, last, velocity):
    """A limp human that begins with a velocity [3], and the velocity of its centre of mass by frame [f, 3]."""
    rigs.set_range(scene, 1, last)
    obj = rigs.human(scene)
    way = np.array(velocity) / rigs.FPS
    rigs.key_locations(obj, {-4: -5.0 * way, 11: 10.0 * way})
    rigs.set_weights(obj)
    build.build(obj, scene)
    return obj, np.diff(rigs.play(scene, 1, last, lambda: rigs.mass_center(obj)), axis=0) * rigs.FPS


WEIGHTLESS = {
    "no gravity": lambda scene: setattr(scene, "use_gravity", False),
    "gravity 0": lambda scene: setattr(scene, "gravity", (0.0, 0.0, 0.0)),
    "weight of all 0": lambda scene: setattr(scene.rigidbody_world.effector_weights, "all", 0.0),
}


@pytest.mark.parametrize("way", WEIGHTLESS)
def test_a_slow_body_keeps_its_momentum_without_gravity(fresh_scene, way):
    """But for its own damping; also after the two seconds in which Bullet puts a slow body to sleep."""
    rigs.ensure_world(fresh_scene)
    WEIGHTLESS[way](fresh_scene)
    obj, velocity = _floating(fresh_scene, 100, (SPEED, 0.0, 0.0))
    damping = obj.pose.bones["hips"].active_ragdoll.linear_damping
    times = np.arange(len(velocity)) / rigs.FPS
    assert np.abs(velocity[:, 0] - SPEED * (1.0 - damping) ** times).max() < 0.01 * SPEED


def _field_far_away(scene):
    field = rigs.field(scene, "WIND", (0.0, 40.0, 0.0), strength=300.0).field
    field.use_max_distance, field.distance_max = True, 20.0


@pytest.mark.parametrize(("gravity", "field"), ((1.62, None), (9.81, _field_far_away)))
def test_what_lies_is_brought_to_rest(fresh_scene, gravity, field):
    """Also beside force fields that do not reach it."""
    fresh_scene.gravity = (0.0, 0.0, -gravity)
    rigs.box(fresh_scene, "Floor", (20, 20, 1), (0, 0, -0.5), passive=True)
    if field is not None:
        field(fresh_scene)
    _obj, velocity = _floating(fresh_scene, 24 * 8, (0.0, 0.0, 0.0))
    assert np.linalg.norm(velocity, axis=1)[-24:].max() < 1e-3
    assert STATE.runs[bpy.context.scene.name].calm.all()
