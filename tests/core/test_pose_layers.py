"""Layers: identity and override to the bit, halves, order, masks, poses with weights; one that is wrong is left out."""

import numpy as np
import pytest
from pose_samples import assert_close, assert_same_bits, human, near_pose, random_clip, random_pose

from core import quaternion
from core.errors import RagdollError
from core.motion import blend_space, stack
from core.motion.clip import LOCAL, MESH, interpolate, make_additive
from core.motion.pose_layers import Layer, LayerInputs, LayerStack, blend_poses, mask_from_bones, mask_from_roles
from refusals import refuses

SKELETON = human()
COUNT = len(SKELETON)
RIG = stack.Rig(SKELETON, random_pose(np.random.default_rng(0), (COUNT,), scaled=False))
MODES = ("OVERRIDE", "ADDITIVE_LOCAL", "ADDITIVE_MESH")


def poses(seed):
    rng = np.random.default_rng(seed)
    return [random_pose(rng, (COUNT,)) for _ in range(3)]


def holding(pose):
    return lambda _frame: pose


def layered(below, *layers, seconds=0.0, weights=None):
    """A pose with layers on top, none of which fails."""
    made = LayerStack(layers, {})
    inputs = LayerInputs([1.0] * len(layers) if weights is None else weights)
    result, _state = made.apply(RIG, below, inputs, None, seconds)
    assert made.messages == {}
    return result


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("mask", (None, np.zeros(COUNT)))
def test_no_weight_is_the_identity(mode, mask):
    below, other, base = poses(0)
    layer = Layer("Off", holding(other), mode, mask, base)
    assert layered(below, layer, weights=[0.0 if mask is None else 1.0]) is below


def test_masks_of_a_half_blend_halfway():
    below, other, _ = poses(2)
    half = Layer("Half", holding(other), mask=np.full(COUNT, 0.5))
    result = layered(below, half)
    whole = quaternion.angle_between(below.rotations, other.rotations)
    for end in (below, other):
        np.testing.assert_allclose(quaternion.angle_between(result.rotations, end.rotations), 0.5 * whole, atol=1e-9)
    np.testing.assert_allclose(result.positions, 0.5 * (below.positions + other.positions))
    np.testing.assert_allclose(result.scales, 0.5 * (below.scales + other.scales))
    quarter = layered(below, half, weights=[0.5])  # the weight multiplies the mask
    np.testing.assert_allclose(quaternion.angle_between(quarter.rotations, below.rotations), 0.25 * whole, atol=1e-9)


@pytest.mark.parametrize(("mode", "space"), (("ADDITIVE_LOCAL", LOCAL), ("ADDITIVE_MESH", MESH)))
def test_whole_poses_are_added_as_their_difference_to_the_layer_s_base(mode, space):
    below, other, base = poses(5)
    made = Layer("Additive", holding(make_additive(SKELETON, other, base, space)), mode)
    given = Layer("Whole", holding(other), mode, base=base)
    assert_same_bits(layered(below, made, weights=[0.4]), layered(below, given, weights=[0.4]))
    assert_close(layered(base, given), other, 1e-6)


def test_masks_rise_along_the_branch():
    mask = mask_from_bones(SKELETON, ["spine"], depth=3)
    expected = {"hips": 0, "thigh.L": 0, "prop": 0, "spine": 1 / 3, "chest": 2 / 3, "head": 1, "arm.L": 1, "hand.R": 1}
    for name, value in expected.items():
        assert mask[SKELETON.index(name)] == pytest.approx(value), name
    assert mask_from_bones(SKELETON, ["arm.L"]).sum() == 3
    assert mask_from_bones(SKELETON, ["arm.L", "head"], children=False).sum() == 2
    both = mask_from_bones(SKELETON, ["spine", "arm.L"], depth=4)
    assert both[SKELETON.index("arm.L")] == pytest.approx(3 / 4)  # the larger of 3/4 and 1/4
    refuses('"wing"', mask_from_bones, SKELETON, ["wing"])


def test_masks_by_role_and_side():
    roles = ["HAND" if "hand" in n else "HEAD" if n == "head" else "SPINE" for n in SKELETON.names]
    sides = ["LEFT" if n.endswith(".L") else "RIGHT" if n.endswith(".R") else "CENTER" for n in SKELETON.names]
    assert mask_from_roles(roles, ["HAND", "HEAD"], sides).sum() == 3
    assert np.flatnonzero(mask_from_roles(roles, ["HAND"], sides, "LEFT")).tolist() == [SKELETON.index("hand.L")]


def test_a_wrong_layer_is_named_and_the_rest_goes_on():
    below, other, base = poses(9)
    broken = other.copy()
    broken.positions[SKELETON.index("head"), 1] = np.nan

    def deleted(_frame):
        raise RagdollError('Action "Run" was deleted while in use')

    difference = holding(make_additive(SKELETON, other, base))
    bad = {
        "must be within 0 and 1, got nan": (Layer("nan weight", holding(other)), np.nan),
        "must be within 0 and 1, got 1.5": (Layer("heavy", holding(other)), 1.5),
        'Action "Run" was deleted': (Layer("gone", deleted), 1.0),
        'not a number on bone "head"': (Layer("nan pose", holding(broken)), 1.0),
        "needs a base pose": (Layer("baseless", holding(other), "ADDITIVE_LOCAL"), 1.0),
        "additive in local space, the layer in mesh space": (Layer("space", difference, "ADDITIVE_MESH"), 1.0),
        "cannot override": (Layer("additive", difference, "OVERRIDE"), 1.0),
    }
    good = Layer("Good", holding(other))
    made = LayerStack([*(layer for layer, _weight in bad.values()), good], {})
    result, _state = made.apply(RIG, below, LayerInputs([*(weight for _layer, weight in bad.values()), 0.5]), None, 0.0)
    assert_same_bits(result, layered(below, good, weights=[0.5]))
    assert len(made.messages) == len(bad)
    for words, (layer, _weight) in bad.items():
        assert words in made.messages[f'Layer "{layer.name}"']


def test_a_blend_space_whose_input_is_wrong_for_a_frame_goes_on_from_where_it_was():
    rng = np.random.default_rng(10)
    space = blend_space.BlendSpace1D(blend_space.Axis("speed", 0.0, 4.0), ["walk", "run"], [0.0, 4.0])
    moving = blend_space.SpacePlayer("S", space, [random_clip(rng, SKELETON, 25), random_clip(rng, SKELETON, 13)])
    turned = poses(11)[0]
    mask = mask_from_bones(SKELETON, ["head"])
    made = [Layer("Space", lambda frame: moving.pose(frame.space("S"))), Layer("Pose", holding(turned), mask=mask)]
    layers = LayerStack(made, {"S": moving})
    layers.read = lambda context, _pose: context
    good, bad = LayerInputs([1.0, 1.0], {"S": (1.0,)}), LayerInputs([1.0, 1.0], {"S": (float("nan"),)})
    below, head = RIG.bind, SKELETON.index("head")
    _pose, states, messages = stack.run([layers], RIG, below, good, None, 0.0)
    assert messages == {}
    pose, states, messages = stack.run([layers], RIG, below, bad, states, 1 / 24)
    assert "not a number" in messages['Layer "Space"'] and 'Layer "Pose"' not in messages
    assert np.array_equal(pose.rotations[head], turned.rotations[head])
    assert np.array_equal(np.delete(pose.rotations, head, 0), np.delete(below.rotations, head, 0))
    _pose, states, messages = stack.run([layers], RIG, below, good, states, 2 / 24)
    assert messages == {} and np.isclose(states[0]["S"].phase, 2 / 24 * moving.group.rate(space.weights(1.0)))


def test_weights_above_1_in_sum_are_normalised_and_what_is_missing_is_the_reference():
    rng = np.random.default_rng(7)
    reference = random_pose(rng, (COUNT,))
    a, b = (near_pose(rng, reference, 0.3) for _ in range(2))

    def blend(*weights):
        return blend_poses(SKELETON, reference, [a, b], weights, "ab")

    assert_close(blend(2.0, 2.0), blend(0.5, 0.5), 1e-12)
    np.testing.assert_allclose(blend(2.0, 2.0).positions, 0.5 * (a.positions + b.positions))
    expected = 0.2 * a.positions + 0.3 * b.positions + 0.5 * reference.positions
    np.testing.assert_allclose(blend(0.2, 0.3).positions, expected)
    assert_same_bits(blend(0.0, 1.0), b)
    assert_same_bits(blend(0.0, 0.0), reference)


def test_added_poses_do_not_take_from_each_other():
    reference = poses(8)[0]
    left, right = reference.copy(), reference.copy()
    turn = quaternion.from_axis_angle([0.0, 0.0, 1.0], 0.5)
    left.rotations[3] = quaternion.multiply(turn, left.rotations[3])
    right.rotations[5] = quaternion.multiply(turn, right.rotations[5])
    both = blend_poses(SKELETON, reference, [left, right], [1.0, 1.0], "lr", "ADD")
    expected = reference.copy()
    expected.rotations[3], expected.rotations[5] = left.rotations[3], right.rotations[5]
    assert_close(both, expected, 1e-9)
    assert_close(blend_poses(SKELETON, reference, [left], [0.25], "l", "ADD"), interpolate(reference, left, 0.25), 1e-9)
    refuses('pose "smile" must be 0 or more, got nan', blend_poses, SKELETON, reference, [left], [np.nan], ["smile"])
