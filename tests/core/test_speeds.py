"""Speeds: what a graph reads of a ragdoll."""

import numpy as np

from core.ragdoll.hits import speeds_felt

FPS = 24.0


def test_a_hit_is_what_neither_gravity_nor_the_animation_explains():
    gravity, step = np.array([0.0, 0.0, -9.81]), 1.0 / FPS
    bodies, wanted = np.zeros((2, 3)), np.zeros((2, 3))
    state, velocity = None, np.zeros((2, 3))
    hits = []
    for frame in range(12):
        if frame == 8:
            velocity[0] += (2.0, 0.0, 0.0)
        velocity = velocity + gravity * step
        bodies = bodies + velocity * step
        wanted = wanted + np.array([1.0, 0.0, 0.0])
        bodies_here = bodies + wanted
        state = speeds_felt(bodies_here, wanted, [1.0, 1.0], state, step, gravity)
        hits.append(state["hit"])
    assert np.argmax(hits) == 8 and 1.5 < hits[8] < 2.1
    assert max(hits[:8] + hits[9:]) < 1e-6
