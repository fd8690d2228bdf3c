"""Layers: identity and override to the bit, halves, order, masks, solo, and what goes on when one is wrong."""

import numpy as np
import pytest
from pose_samples import assert_close, assert_same_bits, human, near_pose, random_clip, random_pose

from core import quaternion
from core.errors import RagdollError
from core.motion.additive import LOCAL, MESH, make_additive
from core.motion.layers import (
    ADDITIVE_LOCAL,
    ADDITIVE_MESH,
    MODES,
    OVERRIDE,
    Layer,
    apply_layers,
    mask_from_bones,
    mask_from_roles,
)
from core.motion.local_pose import LocalPose

SKELETON = human()
COUNT = len(SKELETON)


def poses(seed, number=3, shape=()):
    rng = np.random.default_rng(seed)
    return [random_pose(rng, (*shape, COUNT)) for _ in range(number)]


def holding(pose):
    return lambda time: pose


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("mask", (None, np.zeros(COUNT)))
def test_no_weight_is_the_identity(mode, mask):
    below, other, base = poses(0)
    layer = Layer("Off", holding(other), mode, 0.0 if mask is None else 1.0, mask, base)
    assert apply_layers(SKELETON, below, [layer]) is below


def test_a_full_override_is_its_clip_to_the_bit():
    below, *_ = poses(1)
    clip = random_clip(np.random.default_rng(1), SKELETON)
    for frame in (0, 7, 13):
        assert_same_bits(apply_layers(SKELETON, below, [Layer("Clip", clip.sample)], frame / 24), clip.pose(frame))
    mask = np.zeros(COUNT)
    mask[[2, 5]] = 1.0
    result = apply_layers(SKELETON, below, [Layer("Clip", clip.sample, mask=mask)])
    for key in ("positions", "rotations", "scales"):
        expected = getattr(below, key).copy()
        expected[[2, 5]] = getattr(clip.pose(0), key)[[2, 5]]
        np.testing.assert_array_equal(getattr(result, key), expected)


@pytest.mark.parametrize("mode", (OVERRIDE, ADDITIVE_LOCAL, ADDITIVE_MESH))
def test_another_mask_replaces_the_first(mode):
    below, other, base = poses(8)
    layer = Layer("Masked", holding(other), mode, base=base)
    for bones in ([1], [3, 4], range(COUNT)):
        layer.mask = np.zeros(COUNT)
        layer.mask[list(bones)] = 1.0
        fresh = Layer("Fresh", holding(other), mode, mask=layer.mask, base=base)
        assert_same_bits(apply_layers(SKELETON, below, [layer]), apply_layers(SKELETON, below, [fresh]))
    layer.mask = np.zeros(COUNT)
    assert apply_layers(SKELETON, below, [layer]) is below


def test_masks_of_a_half_blend_halfway():
    below, other, _ = poses(2)
    mask = np.full(COUNT, 0.5)
    result = apply_layers(SKELETON, below, [Layer("Half", holding(other), mask=mask)])
    whole = quaternion.angle_between(below.rotations, other.rotations)
    for end in (below, other):
        np.testing.assert_allclose(quaternion.angle_between(result.rotations, end.rotations), 0.5 * whole, atol=1e-9)
    np.testing.assert_allclose(result.positions, 0.5 * (below.positions + other.positions))
    np.testing.assert_allclose(result.scales, 0.5 * (below.scales + other.scales))
    # The weight multiplies the mask.
    quarter = apply_layers(SKELETON, below, [Layer("Quarter", holding(other), weight=0.5, mask=mask)])
    np.testing.assert_allclose(quaternion.angle_between(quarter.rotations, below.rotations), 0.25 * whole, atol=1e-9)


def test_the_sign_of_a_quaternion_does_not_matter():
    below, other, _ = poses(3)
    flipped = LocalPose(other.positions, -other.rotations, other.scales)
    one, two = (apply_layers(SKELETON, below, [Layer("A", holding(p), weight=0.3)]) for p in (other, flipped))
    assert_close(one, two, 1e-9)


def test_order_matters_as_documented():
    below, other, base = poses(4)
    hide = Layer("Override", holding(other))
    add = Layer("Lean", holding(near_pose(np.random.default_rng(4), base, 0.3)), ADDITIVE_LOCAL, base=base)
    assert_same_bits(apply_layers(SKELETON, below, [add, hide]), other)  # what is below an override is hidden
    above = apply_layers(SKELETON, below, [hide, add])
    expected = apply_layers(SKELETON, other, [add])
    assert_same_bits(above, expected)
    assert quaternion.angle_between(above.rotations, other.rotations).max() > 0.05


@pytest.mark.parametrize(("mode", "space"), ((ADDITIVE_LOCAL, LOCAL), (ADDITIVE_MESH, MESH)))
def test_whole_poses_are_added_as_their_difference_to_the_layer_s_base(mode, space):
    below, other, base = poses(5)
    made = Layer("Additive", holding(make_additive(SKELETON, other, base, space)), mode, 0.4)
    given = Layer("Whole", holding(other), mode, 0.4, base=base)
    assert_same_bits(apply_layers(SKELETON, below, [made]), apply_layers(SKELETON, below, [given]))
    assert_close(apply_layers(SKELETON, base, [Layer("Full", holding(other), mode, base=base)]), other, 1e-6)


def test_disabled_layers_rest_and_solo_silences_the_others():
    below, a, b = poses(6)
    one, two = Layer("A", holding(a)), Layer("B", holding(b))
    assert_same_bits(apply_layers(SKELETON, below, [one, two]), b)
    two.enabled = False
    assert_same_bits(apply_layers(SKELETON, below, [one, two]), a)
    two.enabled, one.solo = True, True
    assert_same_bits(apply_layers(SKELETON, below, [one, two]), a)
    one.enabled = False  # a disabled layer's solo does not count
    assert_same_bits(apply_layers(SKELETON, below, [one, two]), b)


def test_nothing_drifts_over_10000_frames():
    rng = np.random.default_rng(7)
    clip, base = random_clip(rng, SKELETON), random_pose(rng, (COUNT,))
    layers = [
        Layer("Clip", clip.sample, weight=0.6),
        Layer("Lean", clip.sample, ADDITIVE_MESH, 0.5, base=base),
        Layer("Add", clip.sample, ADDITIVE_LOCAL, 0.5, base=base),
    ]
    first = apply_layers(SKELETON, clip.pose(0), layers, 5 / 24)
    # 10,000 frames stepped by sums of 1/24 s, of which those of one phase must be the same.
    times = (np.cumsum(np.full(10_000, 1 / 24)))[4::24]
    below = LocalPose(*(np.broadcast_to(a, (len(times), *a.shape)) for a in vars(clip.pose(0)).values()))
    result = apply_layers(SKELETON, below, layers, times)
    assert len(times) > 400 and np.ptp(result.rotations, axis=0).max() == 0.0
    assert_close(LocalPose(*(a[-1] for a in vars(result).values())), first, 1e-12)
    assert np.abs(np.linalg.norm(result.rotations, axis=-1) - 1).max() < 1e-12


def test_characters_have_weights_of_their_own():
    below, other, base = poses(8, shape=(3,))
    weights = np.array([0.0, 1.0, 0.3])
    for mode in MODES:
        layer = Layer("A", holding(other), mode, weights, base=base)
        together = apply_layers(SKELETON, below, [layer])
        for i in range(3):
            one = [LocalPose(*(a[i] for a in vars(p).values())) for p in (below, other, base, together)]
            alone = apply_layers(SKELETON, one[0], [Layer("A", holding(one[1]), mode, weights[i], base=one[2])])
            assert_close(alone, one[3], 1e-9)
            if weights[i] == 0.0:
                assert_same_bits(one[3], one[0])


def test_masks_rise_along_the_branch():
    mask = mask_from_bones(SKELETON, ["spine"], depth=3)
    expected = {"hips": 0, "thigh.L": 0, "prop": 0, "spine": 1 / 3, "chest": 2 / 3, "head": 1, "arm.L": 1, "hand.R": 1}
    for name, value in expected.items():
        assert mask[SKELETON.index(name)] == pytest.approx(value), name
    assert mask_from_bones(SKELETON, ["arm.L"]).sum() == 3
    assert mask_from_bones(SKELETON, ["arm.L", "head"], children=False).sum() == 2
    both = mask_from_bones(SKELETON, ["spine", "arm.L"], depth=4)
    assert both[SKELETON.index("arm.L")] == pytest.approx(3 / 4)  # the larger of 3/4 and 1/4
    with pytest.raises(RagdollError, match='"wing"'):
        mask_from_bones(SKELETON, ["wing"])


def test_masks_by_role_and_side():
    roles = ["HAND" if "hand" in n else "HEAD" if n == "head" else "SPINE" for n in SKELETON.names]
    sides = ["LEFT" if n.endswith(".L") else "RIGHT" if n.endswith(".R") else "CENTER" for n in SKELETON.names]
    assert mask_from_roles(roles, ["HAND", "HEAD"]).sum() == 3
    left = mask_from_roles(roles, ["HAND"], sides, "LEFT")
    assert np.flatnonzero(left).tolist() == [SKELETON.index("hand.L")]


def test_a_wrong_layer_is_named_and_the_rest_goes_on():
    below, other, base = poses(9)
    broken = other.copy()
    broken.positions[SKELETON.index("head"), 1] = np.nan

    def deleted(time):
        raise RagdollError('Action "Run" was deleted while in use')

    small = LocalPose(np.zeros((2, 3)), quaternion.identity((2,)), np.ones((2, 3)))
    wrong_mask = np.zeros(COUNT)
    wrong_mask[3] = 2.0
    bad = {
        "must be within 0 and 1, got nan": Layer("nan weight", holding(other), weight=np.nan),
        "must be within 0 and 1, got 1.5": Layer("heavy", holding(other), weight=[0.5, 1.5]),
        'Layer "gone": Action "Run" was deleted': Layer("gone", deleted),
        'not a number on bone "head"': Layer("nan pose", holding(broken)),
        "poses of 2 bones, not 17": Layer("small", holding(small)),
        "needs a base pose": Layer("baseless", holding(other), ADDITIVE_LOCAL),
        "additive in local space, the layer in mesh space": Layer(
            "space", holding(make_additive(SKELETON, other, base)), ADDITIVE_MESH
        ),
        "cannot override": Layer("additive", holding(make_additive(SKELETON, other, base)), OVERRIDE),
        f'bone "{SKELETON.names[3]}" has 2': Layer("mask", holding(other), mask=wrong_mask),
        'no mode "MULTIPLY"': Layer("mode", holding(other), "MULTIPLY"),
    }  # fmt: skip
    good = Layer("Good", holding(other), weight=0.5)
    problems = []
    result = apply_layers(SKELETON, below, [*bad.values(), good], problems=problems)
    assert_same_bits(result, apply_layers(SKELETON, below, [good]))
    assert len(problems) == len(bad)
    for (expected, layer), message in zip(bad.items(), problems, strict=True):
        assert expected in message and f'"{layer.name}"' in message
        with pytest.raises(RagdollError, match=f'^Layer "{layer.name}": '):
            apply_layers(SKELETON, below, [layer])
