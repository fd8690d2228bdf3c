"""Force fields push the bodies of a limp ragdoll as they push Blender's own of the same shape, mass and place."""

import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import body_objects, build, remove
from test_shapes import skinned

pytestmark = pytest.mark.blender_version
SHAPES = ("CAPSULE", "BOX", "SPHERE", "CONVEX_HULL", "COMPOUND")
LAST = 48
# [m] The last bit of a place some metres away, in one substep, is a speed that lasts.
ROUNDING = 2.0 * np.spacing(np.float32(4.0)) * 240 * LAST / rigs.FPS
FIELDS = {
    "wind": ("WIND", {"strength": 300.0}),
    "turbulence": ("TURBULENCE", {"strength": 200.0, "size": 1.0}),
    "vortex": ("VORTEX", {"strength": 60.0}),
    "force that fades": ("FORCE", {"strength": -200.0, "falloff_power": 2.0}),
    "magnet": ("MAGNET", {"strength": 10.0}),
    "harmonic": ("HARMONIC", {"strength": 20.0, "rest_length": 1.0}),
    "noise from a plane": ("FORCE", {"strength": -200.0, "shape": "PLANE", "noise": 3.0}),
    "drag": ("DRAG", {"linear_drag": 2.0, "quadratic_drag": 2.0}),
}


def _pillars(scene) -> list:
    """A limp character for each shape: one body of its own size and mass, and a foot that it carries."""
    rigs.set_range(scene, 1, LAST)
    rigs.ensure_world(scene)
    made, random = [], np.random.default_rng(1)
    for i, shape in enumerate(SHAPES):
        foot, x, high = f"{shape} Foot", 1.5 * i - 3.0, 0.5 + 0.1 * i
        table = {shape: ((x, 0, 2), (x, 0, 2 + high), None), foot: ((x, 0, 2 + high), (x, -0.3, 2 + high), shape)}
        obj = rigs.armature(scene, table, shape)
        pillar = random.uniform((-0.07, -0.08, 0), (0.07, 0.08, high), (80, 3))
        toes = random.uniform((-0.07, -0.3, high - 0.05), (0.07, 0.05, high + 0.05), (60, 3))
        points = np.concatenate([pillar, toes]) + np.array([x, 0.0, 2.0])
        weights = dict(zip((shape, foot), np.repeat(np.eye(2), (80, 60), axis=1), strict=True))
        skinned(scene, obj, f"{shape} Skin", points, weights)
        obj.pose.bones[shape].active_ragdoll.shape = shape
        rigs.set_weights(obj)
        build.build(obj, scene, np.array([True, False]))
        made.append(obj)
    assert [obj.active_ragdoll.parts[0].body.rigid_body.collision_shape for obj in made] == list(SHAPES)
    return made


def _bodies(made) -> list:
    return [part.body for obj in made for part in obj.active_ragdoll.parts]


def _plain(scene, made) -> list:
    """Copies of the characters' bodies, which are Blender's own; the characters' are removed."""

    def copy(obj):
        twin = obj.copy()
        for key in list(twin.keys()):
            del twin[key]
        scene.collection.objects.link(twin)
        return twin

    twins = {body: copy(body) for body in _bodies(made)}
    for piece in [p for obj in made for its in body_objects.pieces_by_body(obj.active_ragdoll).values() for p in its]:
        copy(piece).parent = twins[piece.parent]
    for obj in made:
        remove.remove(obj)
    return list(twins.values())


@pytest.mark.parametrize("name", FIELDS)
def test_a_limp_body_moves_as_a_plain_one(fresh_scene, name):
    fresh_scene.gravity.z = -1.0
    made = _pillars(fresh_scene)
    kind, settings = FIELDS[name]
    rigs.field(fresh_scene, kind, (0.2, 0.1, 2.5), **settings)
    found = np.array(rigs.play(fresh_scene, 1, LAST, lambda: rigs.matrices(_bodies(made))))
    twins = _plain(fresh_scene, made)
    expected = np.array(rigs.step(fresh_scene, range(1, LAST + 1), lambda: rigs.matrices(twins)))
    assert np.ptp(expected[-1] - expected[0], axis=0).max() > 0.02  # by their masses: alone they would fall alike
    assert np.abs(found - expected).max() < ROUNDING


def test_what_the_wind_bears_is_not_brought_to_rest(fresh_scene):
    """Gravity takes away the wind's pull upwards and no more: sideways it goes on as slowly as without gravity."""
    fresh_scene.use_gravity = False
    made = _pillars(fresh_scene)[:1]
    rigs.field(fresh_scene, "WIND", strength=300.0).rotation_euler.y = 0.02
    drifted = []
    for _again in range(2):
        places = np.array(rigs.play(fresh_scene, 1, LAST, lambda: rigs.matrices(_bodies(made))))[:, 0, :3, 3]
        drifted.append(places[:, 0] - places[0, 0])
        fresh_scene.use_gravity = True
        fresh_scene.gravity.z = -2.0 * (places[-1] - places[0])[2] / ((LAST - 1) / rigs.FPS) ** 2
    assert np.abs(np.diff(places, axis=0)).max() * rigs.FPS < 0.03 and drifted[0][-1] > 0.01
    assert np.abs(drifted[1] - drifted[0]).max() < ROUNDING
