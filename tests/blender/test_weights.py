"""What weights mean, in closed forms and at other frame rates; and how closely bodies follow the animation."""

import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.ragdoll.drives import servo

G = 9.81


@pytest.mark.blender_version
@pytest.mark.parametrize("weight", (0.9, 0.5, 0.2))
def test_the_sag_under_gravity_is_force_over_stiffness(fresh_scene, weight):
    """A body on a still target: m g = m w^2 x in the mean, so x = g / w^2 whatever its mass; and it comes to rest."""
    heights, sag = _hanging(weight), G / servo.frequency(weight) ** 2
    assert heights[0] - heights[-144:].mean() == pytest.approx(sag, rel=0.05)
    if weight > 0.2:  # after ten seconds
        assert np.ptp(heights[-48:]) < 0.1 * sag


def _one_body(last, translation):
    """A chain of one bone with its ragdoll in a new file."""
    scene = rigs.empty_file()
    rigs.set_range(scene, 1, last)
    obj = rigs.chain(scene, 1)
    build.build(obj, scene)
    rigs.changed(obj.active_ragdoll, translation_weight=translation)
    return scene, obj


def _hanging(weight, of_bone=1.0):
    """Heights [m] of a body on a still target, which gravity begins to pull at the first frame, for 12 seconds."""
    scene, obj = _one_body(24 * 12, weight)
    obj.pose.bones["A"].active_ragdoll.translation_weight = of_bone
    return np.array(rigs.play(scene, 1, 24 * 12, lambda: rigs.bodies(obj)[0, 2, 3]))


def _motion(fps, weights):
    """Body places [k, m, 3] at every sixth of a second, of a swinging chain under gravity."""
    scene = rigs.empty_file(fps)
    last = 1 + 2 * fps
    rigs.set_range(scene, 1, last)
    obj = rigs.chain(scene, 3)
    swings = (("A", (0, 0, 1), 25.0, 0.8, 0.0), ("B", (1, 0, 0), 30.0, 1.0, 0.2), ("C", (0, 0, 1), 35.0, 0.7, 0.5))
    rigs.swing(obj, 1, last, swings, fps)
    build.build(obj, scene)
    scene.rigidbody_world.substeps_per_frame = 240 // fps
    rigs.changed(obj.active_ragdoll, rotation_weight=weights[0], translation_weight=weights[1])
    return np.array(rigs.play(scene, 1, last, lambda: rigs.bodies(obj)[:, :3, 3]))[:: fps // 6]


@pytest.mark.blender_version
@pytest.mark.parametrize("weights", ((0.3, 0.3), (0.6, 0.0)))
def test_other_frame_rates_give_the_same_motion(fresh_scene, weights):
    """Within 5 % of the way that the bodies go."""
    reference = _motion(24, weights)
    way = np.abs(reference - reference[0]).max()
    assert way > 0.1
    assert np.abs(_motion(60, weights) - reference).max() < 0.05 * way


def test_weights_of_bone_and_character_multiply(fresh_scene):
    """0.5 on the bone of a character at 0.6 sags like 0.3."""
    assert np.abs(_hanging(0.6, 0.5) - _hanging(0.3)).max() < 1e-5


def test_a_force_limit_below_the_weight_lets_the_body_fall(fresh_scene):
    """A drive of at most F falls with (m g - F) / m; Blender's own damping of 0.04 a second is left out."""
    scene, obj = _one_body(25, 1.0)
    bone = obj.pose.bones["A"].active_ragdoll
    bone.linear_damping = 0.0
    build.build(obj, scene)
    for share, fallen in ((0.5, pytest.approx(0.5 * G / 2.0, rel=0.1)), (2.0, pytest.approx(0.0, abs=0.05))):
        bone.max_force = share * rigs.masses(obj)[0] * G
        heights = rigs.play(scene, 1, 25, lambda: rigs.bodies(obj)[0, 2, 3])
        assert heights[0] - heights[-1] == fallen


@pytest.mark.blender_version
def test_keyed_weights_act_at_their_frame(fresh_scene):
    """Keyed from 1 to 0 at frame 20 gives the same bodies as setting 0 just before frame 20."""
    first, change, last = 1, 20, 32

    def run(keyed):
        scene = rigs.empty_file()
        obj = rigs.swinging_human(scene, first, last)
        if keyed:
            rigs.key_weights(obj, {first: 1.0, change: 0.0})
        build.build(obj, scene)
        result = []
        for frame in range(first, last + 1):
            if frame == change and not keyed:
                rigs.set_weights(obj)
            scene.frame_set(frame)
            result.append(rigs.bodies(obj))
        return np.array(result)

    keyed, live = run(True), run(False)
    assert np.array_equal(keyed[: change - first], live[: change - first])
    assert np.abs(keyed - live).max() < 1e-6
    assert (live[change - first, :, 2, 3] - live[-1, :, 2, 3]).max() > 0.3, "the weights changed nothing"


@pytest.mark.blender_version
def test_limbs_that_the_animation_stretches_pull_at_nothing(fresh_scene):
    """Bodies keep their lengths; each is turned as the animation has it all the same, as are those it hangs on."""
    obj = rigs.swinging_human(fresh_scene, 1, 30)
    for limb in ("forearm.L", "forearm.R", "shin.L", "shin.R"):
        rigs.key(obj.pose.bones[limb], "location", {1: (0.0, 0.0, 0.0), 10: (0.0, 0.13, 0.0)})
    build.build(obj, fresh_scene)
    assert rigs.figures(fresh_scene, 1, 30)["pose_orientation_error_deg"]["mean"] < 0.15
