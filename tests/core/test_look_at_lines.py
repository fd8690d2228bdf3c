"""The drawing of a look-at chain says what the chain is."""

import numpy as np
import pytest

from core.motion.look_at import drawing

UP = np.array((0.0, 0.0, 1.0))


def of_color(ends, colors, color):
    return ends[(colors == np.array(color)).all(axis=1)]


def test_one_red_line_from_the_first_joint_to_the_target_and_a_green_one_for_each_bone():
    positions = np.array([(0.0, 0.0, 1.7), (0.0, 0.0, 1.4)])
    forwards = np.array([(0.0, -1.0, 0.0), (0.6, -0.8, 0.0)])
    target = np.array((2.0, -3.0, 1.0))
    ends, colors = drawing.lines(positions, forwards, forwards, [0.5, 0.0], target, 0.25)
    red = of_color(ends, colors, drawing.TARGET)
    assert red.shape == (1, 2, 3) and np.allclose(red[0], (positions[0], target))
    green = of_color(ends, colors, drawing.FORWARD)
    assert np.allclose(green[:, 0], positions)
    assert np.allclose(green[:, 1] - green[:, 0], 0.25 * forwards)
    none, colors = drawing.lines(positions, forwards, forwards, [0.0, 0.0], None, 0.25)
    assert len(none) == 2 and len(of_color(none, colors, drawing.TARGET)) == 0


@pytest.mark.parametrize("angle", (0.2, 1.0, 1.7, 3.0))
def test_a_cones_rim_is_at_its_angle_from_its_axis(angle):
    axis = np.array((0.48, -0.6, 0.64))
    edges = drawing.cone_edges(axis, angle, 0.3)
    rim = edges[:24].reshape(-1, 3)
    assert np.allclose(np.linalg.norm(rim, axis=1), 0.3)
    assert np.allclose(np.arccos(rim @ axis / 0.3), angle)
    assert np.allclose(edges[24:, 0], 0.0)


def test_a_cone_at_its_limit_stands_out():
    forward = np.array((np.sin(0.5), 0.0, np.cos(0.5)))
    inside = drawing.lines([UP], [forward], [UP], [0.6], None, 1.0)
    at_limit = drawing.lines([UP], [forward], [UP], [0.5], None, 1.0)
    assert len(of_color(*inside, drawing.CONE)) == 28 and len(of_color(*inside, drawing.CONE_AT_LIMIT)) == 0
    assert len(of_color(*at_limit, drawing.CONE_AT_LIMIT)) == 28
