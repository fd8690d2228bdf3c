"""What bodies meet: each other, other characters, and all else in the scene, which moves as in plain Blender."""

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

import rigs
from active_ragdoll.core.blender.physics import build, built, remove
from active_ragdoll.core.blender.run import simulate
from hitting import empty
from refusals import refuses

pytestmark = pytest.mark.blender_version
LAST = 24


def thrown(scene, name, place, speed, *, self_collision=False, turn=0.0):
    """Limp and undamped, flying along Y from the first frame on."""
    obj = rigs.human(scene, name)
    obj.rotation_euler.z = turn
    ways = {f: (place[0], place[1] + speed * (f - 1) / rigs.FPS, place[2]) for f in range(-3, LAST + 1)}
    rigs.key_locations(obj, ways)
    settings = obj.active_ragdoll
    settings.rotation_weight = settings.translation_weight = 0.0
    settings.self_collision = self_collision
    rigs.undamped(obj)
    build.build(obj, scene)
    return obj


def momentum(obj, ways):
    """Along Y, at each frame but the first [N s]."""
    return (np.diff(ways[:, :, 1, 3], axis=0) * rigs.FPS) @ rigs.masses(obj)


@pytest.mark.parametrize(("own", "turn"), (((False, False), 1.5), ((True, False), 0.0)))
def test_two_thrown_at_each_other_meet(own, turn):
    """Crosswise or face to face: what one loses the other gains, with and without self-collision."""
    scene = empty(last=LAST)
    one = thrown(scene, "One", (0.0, 0.0, 0.0), 0.5, self_collision=own[0])
    two = thrown(scene, "Two", (0.1, -1.0, 0.1), 4.0, self_collision=own[1], turn=turn)
    found = np.array(rigs.play(scene, 1, LAST, lambda: np.stack([rigs.bodies(one), rigs.bodies(two)])))
    first, second = momentum(one, found[:, 0]), momentum(two, found[:, 1])
    assert first[-1] - first[0] > 0.2 * second[0]
    assert np.abs(first + second - first[0] - second[0]).max() < 1e-3 * second[0]


@pytest.mark.parametrize("self_collision", (False, True))
def test_own_bodies_pass_through_each_other_only_without(self_collision):
    """Both arms are swung flat through the trunk's middle: with self-collision they cannot."""
    scene = empty(last=LAST)
    obj = rigs.human(scene)
    for side, sign in (("L", -1.0), ("R", 1.0)):
        bone = obj.pose.bones[f"arm.{side}"]
        turned = np.cos(1.5), *(np.sin(sign * 1.5) * np.array(bone.bone.matrix_local)[2, :3])  # about the world's Z
        rigs.key(bone, "rotation_quaternion", {-4: (1, 0, 0, 0), 1: (1, 0, 0, 0), LAST: turned})
        bone.active_ragdoll.joint = obj.pose.bones[f"forearm.{side}"].active_ragdoll.joint = "FREE"
    obj.active_ragdoll.self_collision = self_collision
    obj.active_ragdoll.rotation_weight, obj.active_ragdoll.translation_weight = 0.2, 0.0  # gives way
    report = build.build(obj, scene)
    # Only what the build tells apart of its own accord must not spare the arms the meeting with each other.
    helpers = [o for o in obj.active_ragdoll.collection.all_objects if "Overlap" in o.name]
    assert report.bodies == len(obj.active_ragdoll.parts)
    if self_collision:
        collection = obj.active_ragdoll.collection
        joints = built.record(collection)["joints"] - len(helpers)
        bpy.data.batch_remove(helpers)
        built.note(collection, joints=joints)
    rows = rigs.rows(obj, ("forearm.L", "forearm.R"))
    found = np.array(rigs.play(scene, 1, LAST, lambda: rigs.bodies(obj)[rows, :3, 3]))
    apart = found[:, 0, 0] - found[:, 1, 0]
    assert apart[0] > 0.5
    assert (apart.min() < -0.2) == (not self_collision), "the left arm comes to the right, and the other way round"


def test_props_floors_and_their_own_layers():
    """A prop on the first layer is met; one that the user has put on another layer is not, by none."""
    scene = empty(last=LAST)
    rigs.ensure_world(scene)
    met = rigs.box(scene, "Met", (0.3, 0.3, 0.3), (0.6, -1.0, 1.42), mass=5.0)
    passed = rigs.box(scene, "Passed", (0.3, 0.3, 0.3), (-0.6, -1.0, 1.42), mass=5.0)
    passed.rigid_body.collision_collections = [i == 2 for i in range(20)]
    obj = thrown(scene, "Human", (0.0, -0.2, 0.0), -1.5)
    other = thrown(scene, "Other", (0.0, 5.0, 0.0), 0.0, self_collision=True)
    found = np.array(rigs.play(scene, 1, LAST, lambda: rigs.matrices([met, passed])[:, 1, 3]))
    assert found[-1, 0] < found[0, 0] - 0.1 and abs(found[-1, 1] - found[0, 1]) < 1e-6
    remove.remove(obj, scene)
    list(simulate.frames(scene))
    layers = [list(part.body.rigid_body.collision_collections) for part in other.active_ragdoll.parts]
    assert all(own == [i == 0 for i in range(20)] for own in layers), "who is left needs no other layers"


def test_nothing_is_touched_before_the_first_frame(fresh_scene):
    """A crate stands where the arm is in bind pose, but not in the shot, whose first pose has the arms down."""

    def run(with_character):
        scene = rigs.empty_file()
        rigs.set_range(scene, 1, LAST)
        rigs.box(scene, "Floor", (20, 20, 1), (0, 0, -0.5), passive=True)
        shelf = rigs.box(scene, "Shelf", (0.2, 0.2, 1.3), (0.7, 0, 0.65), passive=True)
        crate = rigs.box(scene, "Crate", (0.18, 0.18, 0.18), (0.7, 0, 1.39))
        scene.rigidbody_world.point_cache.frame_start = 1
        if with_character:
            obj = rigs.human(scene)
            for side, sign in (("L", 1), ("R", -1)):
                bone = obj.pose.bones[f"arm.{side}"]
                turned = Quaternion(bone.bone.matrix_local[1][:3], sign * 1.35)  # about the world's Y
                rigs.key(bone, "rotation_quaternion", {-3: turned, 41: turned})
            scene.frame_set(1)
            tip = rigs.pose(obj)[obj.data.bones.find("finger.L"), :3, 3]
            assert tip[2] < 1.0 and tip[0] < 0.5, "the arm hangs down"
            obj.active_ragdoll.self_collision = False
            build.build(obj, scene)
        return np.array(rigs.play(scene, 1, 20, lambda: rigs.matrices([crate, shelf])))

    plain, found = run(False), run(True)
    assert np.abs(found - plain).max() < 1e-6


def test_a_cache_that_the_user_bakes_later_is_kept_too(fresh_scene):
    scene = rigs.empty_file()
    rigs.set_range(scene, 1, LAST)
    obj = rigs.human(scene)
    build.build(obj, scene)
    rigs.play(scene, 1, 10)
    cache = scene.rigidbody_world.point_cache
    with bpy.context.temp_override(scene=scene, point_cache=cache):
        bpy.ops.ptcache.bake_from_cache()
    assert cache.is_baked
    refuses("baked", list, simulate.frames(scene))
    refuses("baked", build.build, obj, scene)
    assert scene.rigidbody_world.point_cache.is_baked
    assert obj.active_ragdoll.is_ragdoll
    other, counts = rigs.human(scene, "Other"), rigs.counts()
    refuses("baked", build.build, other, scene)
    assert scene.rigidbody_world.point_cache.is_baked and rigs.counts() == counts
