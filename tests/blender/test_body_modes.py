"""Body modes: kinematic, active and limp bodies in one character, switched in mid-shot without a jump."""

import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.runtime import STATE

pytestmark = pytest.mark.blender_version
SWITCH = 24
ARM = ("arm.L", "forearm.L", "finger.L")


def key_modes(obj, bones, keys):
    """Key the body mode of bones: ``{frame: mode}``."""
    for bone in bones:
        rigs.key(obj, f'pose.bones["{bone}"].active_ragdoll.body_mode', keys)


@pytest.mark.parametrize(
    "before, after, space",
    (("KINEMATIC", "LIMP", "WORLD"), ("KINEMATIC", "ACTIVE", "JOINT"), ("ACTIVE", "LIMP", "WORLD")),
)
def test_a_switch_in_mid_shot_keeps_pose_and_velocity(scene, before, after, space):
    """Bodies go on as they moved: their velocity changes by what gravity and the curve of the motion do in a frame."""
    obj = rigs.ragdoll(scene, 48, drive_space=space)
    if space == "JOINT":
        obj.pose.bones["hips"].active_ragdoll.body_mode = "KINEMATIC"
        obj.pose.bones["spine"].active_ragdoll.body_mode = "KINEMATIC"
    key_modes(obj, ARM, {1: before, SWITCH: after})
    places = np.array(rigs.play(scene, 1, 40, lambda: rigs.bodies(obj)[rigs.rows(obj, ARM)]))
    moved = np.diff(places[..., :3, 3], axis=0) * rigs.FPS
    at = SWITCH - 2  # row of the speed between the two frames around the switch
    change = np.linalg.norm(np.diff(moved, axis=0), axis=-1)
    usual = change[4 : at - 2].max()
    gravity = 9.81 / rigs.FPS
    # Limp bodies fall, at a joint the outer one by up to 1.5 times as fast.
    assert change[at - 1 : at + 2].max() < 2.0 * usual + (2.0 * gravity if after == "LIMP" else 0.3 * gravity)
    jump = np.linalg.norm(places[at + 1, :, :3, 3] - places[at, :, :3, 3], axis=-1)
    assert jump.max() < 1.6 * np.linalg.norm(moved[at - 4 : at], axis=-1).max() / rigs.FPS + gravity / rigs.FPS


@pytest.mark.parametrize(("before", "time_scale"), (("LIMP", 1.0), ("LIMP", 0.25), ("ACTIVE", 1.0)))
def test_made_kinematic_it_goes_over_into_the_animation_from_its_own_motion(scene, before, time_scale):
    """In the first frame it moves on as before; after a quarter of a second it is where the animation is."""
    obj = rigs.ragdoll(scene, 40, drive="SPRING", spring_frequency=0.7)
    scene.rigidbody_world.time_scale = time_scale
    for bone in ARM[:2]:
        obj.pose.bones[bone].active_ragdoll.translation_weight = 0.0
    key_modes(obj, ARM[:2], {1: before, SWITCH: "KINEMATIC"})
    own = rigs.rows(obj, ARM[:2])

    def read():
        return rigs.bodies(obj)[own], STATE.runs[scene.name].wanted[own]

    places, wanted = np.array(rigs.play(scene, 1, SWITCH + 8, read)).swapaxes(0, 1)[..., :3, 3]
    last = SWITCH - 2  # row of the last frame before the switch
    away = np.linalg.norm(wanted[last] - places[last], axis=-1).max()
    assert away > 0.1
    assert np.linalg.norm(places[last + 1] - (2.0 * places[last] - places[last - 1]), axis=-1).max() < 0.15 * away
    assert np.abs(places[last + 7 :] - wanted[last + 7 :]).max() < 1e-4
