"""Body modes: kinematic, active and limp bodies in one character, switched in mid-shot without a jump."""

import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.runtime import STATE
from own_characters import or_own

SWITCH = 24
SPACES = ("WORLD", "JOINT")
ARM = ("arm.L", "forearm.L", "finger.L")


def key_modes(obj, bones, keys):
    """Key the body mode of bones: ``{frame: mode}``."""
    for bone in bones:
        rigs.key(obj, f'pose.bones["{bone}"].active_ragdoll.body_mode', keys)


def below(obj, name):
    """Names of the bodies of a bone and of all below it."""
    found = {name, *(b.name for b in obj.data.bones[name].children_recursive)}
    return [part.bone for part in obj.active_ragdoll.parts if part.bone in found]


def branch(obj):
    """A bone below the root whose chain is long and thin: the tail of an animal, the arm of a human."""
    parts = {part.bone: part for part in obj.active_ragdoll.parts}
    found = [name for name in parts if 2 <= len(below(obj, name)) <= 4 and parts[name].parent]
    return max(found, key=lambda name: max(abs(obj.data.bones[name].head_local.z), 0.0))


@pytest.mark.blender_version
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("before, after", (("KINEMATIC", "LIMP"), ("KINEMATIC", "ACTIVE"), ("ACTIVE", "LIMP")))
def test_a_switch_in_mid_shot_keeps_pose_and_velocity(scene, space, before, after):
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
    allowed = 2.0 * usual + (2.0 * gravity if after == "LIMP" else 0.3 * gravity)
    assert change[at - 1 : at + 2].max() < allowed
    jump = np.linalg.norm(places[at + 1, :, :3, 3] - places[at, :, :3, 3], axis=-1)
    assert jump.max() < 1.6 * np.linalg.norm(moved[at - 4 : at], axis=-1).max() / rigs.FPS + gravity / rigs.FPS


@pytest.mark.blender_version
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
    expected = 2.0 * places[last] - places[last - 1]
    assert away > 0.1
    assert np.linalg.norm(places[last + 1] - expected, axis=-1).max() < 0.15 * away
    assert np.abs(places[last + 7 :] - wanted[last + 7 :]).max() < 1e-4


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    "name", or_own("animals_pack_Horse.glb", "01_01.bvh", own=("own unreal", "own joints with stubs"))
)
def test_a_kinematic_character_with_a_limp_branch(name, space):
    """All bodies but one branch ride the animation exactly; the branch hangs on them, its joints closed."""
    rig = rigs.load(name, 30)
    obj, scene = rig.obj, rig.scene
    obj.active_ragdoll.drive_space = space
    build.build(obj, scene)
    loose = below(obj, branch(obj))
    for part in obj.active_ragdoll.parts:
        settings = obj.pose.bones[part.bone].active_ragdoll
        settings.body_mode = "LIMP" if part.bone in loose else "KINEMATIC"
    size = obj.active_ragdoll.height
    which = rigs.rows(obj, loose)
    rest = [i for i in range(len(obj.active_ragdoll.parts)) if i not in which]

    def read():
        return rigs.bodies(obj), STATE.runs[scene.name].wanted.copy()

    shown, wanted = np.array(rigs.play(scene, rig.first, rig.last, read)).swapaxes(0, 1)
    assert np.abs(shown[:, rest, :3, 3] - wanted[:, rest, :3, 3]).max() < 2e-4 * size
    assert rigs.angles(shown[:, rest], wanted[:, rest]).max() < 0.1
    parts = obj.active_ragdoll.parts
    bind = np.array([part.bind for part in parts]).reshape(-1, 4, 4)
    for i, parent in zip(which, rigs.rows(obj, [parts[i].parent for i in which]), strict=True):
        joint = np.linalg.inv(np.array(parts[i].offset).reshape(4, 4))[:, 3]
        own = np.einsum("fij,j->fi", shown[:, i], joint)[:, :3]
        its = np.linalg.inv(bind[parent]) @ bind[i] @ joint
        apart = np.linalg.norm(own - np.einsum("fij,j->fi", shown[:, parent], its)[:, :3], axis=1)
        assert np.median(apart) < 0.02 * size, parts[i].bone


@pytest.mark.blender_version
def test_a_kinematic_limb_pushes_what_it_meets(scene):
    obj = rigs.swinging_human(scene, 1, 48)
    prop = rigs.box(scene, "Prop", (0.2, 0.2, 0.2), (0.5, -0.35, 1.42), mass=0.5)
    scene.gravity = (0.0, 0.0, 0.0)
    rigs.swing(obj, 1, 48, [("arm.L", (0, 0, 1), 60.0, 0.6, 0.0)])
    build.build(obj, scene)
    for bone in obj.pose.bones:
        bone.active_ragdoll.body_mode = "KINEMATIC"
    places = np.array(rigs.play(scene, 1, 48, lambda: rigs.matrices([prop])[0, :3, 3]))
    assert np.linalg.norm(places[-1] - places[0]) > 0.1
