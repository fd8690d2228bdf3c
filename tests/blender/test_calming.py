"""Limp bodies that lie nearly still are brought to rest; those that float keep their momentum."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.runtime import STATE

pytestmark = pytest.mark.blender_version
SPEED = 0.15  # [m/s]


def _floating(scene, last, velocity, limp=1):
    """A human that begins with a velocity [3], limp from a frame on: that of its centre of mass by frame [f, 3]."""
    rigs.set_range(scene, 1, last)
    obj = rigs.human(scene)
    way = np.array(velocity) / rigs.FPS
    rigs.key_locations(obj, {-4: -5.0 * way, 11: 10.0 * way})
    rigs.set_weights(obj)
    if limp > 1:
        rigs.key_weights(obj, {1: 1.0, limp: 0.0})
    build.build(obj, scene)
    return obj, np.diff(rigs.play(scene, 1, last, lambda: rigs.mass_center(obj)), axis=0) * rigs.FPS


def test_who_is_let_go_in_mid_air_falls_freely_at_once(fresh_scene):
    """A drive that held it still for a while is nothing to lie on."""
    _obj, velocity = _floating(fresh_scene, 24, (0.0, 0.0, 0.0), 20)
    frames = np.arange(5) + 0.5 + 0.5 / fresh_scene.rigidbody_world.substeps_per_frame  # Bullet adds up at their ends
    assert np.abs(velocity[18:, 2] / (-9.81 * frames / rigs.FPS) - 1.0).max() < 0.01


@pytest.mark.parametrize(("of", "name", "off"), ((0, "use_gravity", False), (0, "gravity", (0, 0, 0)), (1, "all", 0.0)))
def test_a_slow_body_keeps_its_momentum_without_gravity(fresh_scene, of, name, off):
    """But for its own damping; also after the two seconds in which Bullet puts a slow body to sleep."""
    rigs.ensure_world(fresh_scene)
    setattr((fresh_scene, fresh_scene.rigidbody_world.effector_weights)[of], name, off)
    obj, velocity = _floating(fresh_scene, 100, (SPEED, 0.0, 0.0))
    damping = obj.pose.bones["hips"].active_ragdoll.linear_damping
    times = np.arange(len(velocity)) / rigs.FPS
    assert np.abs(velocity[:, 0] - SPEED * (1.0 - damping) ** times).max() < 0.01 * SPEED


@pytest.mark.parametrize(("gravity", "windy"), ((1.62, False), (9.81, True)))
def test_what_lies_is_brought_to_rest(fresh_scene, gravity, windy):
    """Also beside a force field that does not reach it."""
    fresh_scene.gravity = (0.0, 0.0, -gravity)
    rigs.box(fresh_scene, "Floor", (20, 20, 1), (0, 0, -0.5), passive=True)
    if windy:
        field = rigs.field(fresh_scene, "WIND", (0.0, 40.0, 0.0), strength=300.0).field
        field.use_max_distance, field.distance_max = True, 20.0
    _obj, velocity = _floating(fresh_scene, 24 * 8, (0.0, 0.0, 0.0))
    assert np.linalg.norm(velocity, axis=1)[-24:].max() < 1e-3
    assert STATE.runs[bpy.context.scene.name].calm.all()
