"""The demo's material: character, walk, stage."""

import bpy
import numpy as np
import pytest

import rigs
from demo import stage
from demo.character import make_rigify_human
from demo.walk_cycle import make_walk_cycle

pytestmark = pytest.mark.skipif(
    bpy.app.version < (4, 3, 0),
    reason="Blender 4.2 itself crashes now and then when a file is loaded over a simulated scene with joints",
)


def test_simulated_ball_reaches_the_chest_at_the_hit_frame(scene):
    armature, _mesh = make_rigify_human(scene)
    make_walk_cycle(armature, scene)
    made = stage.make_stage(scene, armature)
    assert made.hit_frame == 60
    assert scene.rigidbody_world.point_cache.frame_start == 1
    ball = made.ball.evaluated_get(bpy.context.view_layer.depsgraph)
    path = [None, *rigs.step(scene, range(1, 121), lambda: ball.matrix_world.translation.copy())]
    # within a third of a frame of the plan, and on the rod all the time
    assert (path[60] - made.pendulum.contact_ws).length < (path[60] - path[59]).length / 3.0
    rods = [(place - made.hook.location).length for place in path[1:]]
    np.testing.assert_allclose(rods, made.pendulum.length, atol=0.012)
    # the chest is where the ball aims, and the ball has not touched the walker before
    for frame in range(1, 58):
        scene.frame_set(frame)
        heads = [armature.matrix_world @ bone.head for bone in armature.pose.bones]
        assert min((head - path[frame]).length for head in heads) > 0.35, frame
