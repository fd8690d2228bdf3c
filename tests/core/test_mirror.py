"""Mirrored joints allow exactly the mirrored motions, whatever the rolls of the two bones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core import mirror, quaternion


def pair(random, normal):
    """A bone and one that points where its mirror image points, with any roll."""
    bone = quaternion.to_matrix(quaternion.normalize(random.normal(size=4)))
    image = mirror.reflection(normal) @ bone @ np.diag([-1.0, 1.0, 1.0])
    roll = quaternion.from_axis_angle((0.0, 1.0, 0.0), random.uniform(-3.0, 3.0))
    return bone, image @ quaternion.to_matrix(roll)


@given(st.integers(0, 2**32 - 1))
def test_a_mirrored_body_fills_the_mirrored_space(seed):
    random = np.random.default_rng(seed)
    normal = np.eye(3)[random.integers(3)]
    bone, other = pair(random, normal)
    head, flip = random.normal(size=3), mirror.reflection(normal)
    location, rotation = random.normal(size=3), quaternion.normalize(random.normal(size=4))
    corners = random.normal(size=(9, 3))
    carry = mirror.carried_over(bone, other, normal)
    settings = {"body_location": location, "body_rotation": rotation}
    its_location, its_rotation = mirror.mirrored_settings(settings, carry).values()

    def placed(origin, frame, place, turn, points):
        return origin + (place + quaternion.rotate(turn, points)) @ frame.T

    mine = placed(head, bone, location, rotation, corners)
    its = placed(flip @ head, other, its_location, its_rotation, corners * (-1.0, 1.0, 1.0))
    assert np.allclose(mine @ flip, its, atol=1e-6)
