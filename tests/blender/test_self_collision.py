"""What bodies meet: each other, other characters, and all else in the scene, which moves as in plain Blender."""

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

import rigs
from active_ragdoll.core.blender.physics import build, built, collision, remove
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.errors import RagdollError
from active_ragdoll.core.ragdoll.bodies import overlap

pytestmark = pytest.mark.blender_version

LAST = 24


def scene_of(last=LAST):
    scene = rigs.empty_file()
    scene.gravity = (0.0, 0.0, 0.0)
    rigs.set_range(scene, 1, last)
    return scene


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
    masses = rigs.masses(obj)
    return (np.diff(ways[:, :, 1, 3], axis=0) * rigs.FPS) @ masses


@pytest.mark.parametrize(
    ("own", "turn"),
    (((False, False), 1.5), ((True, False), 0.0), ((True, True), 0.0)),
)
def test_two_thrown_at_each_other_meet(own, turn):
    """Crosswise or face to face: what one loses the other gains, with and without self-collision."""
    scene = scene_of()
    one = thrown(scene, "One", (0.0, 0.0, 0.0), 0.5, self_collision=own[0])
    two = thrown(scene, "Two", (0.1, -1.0, 0.1), 4.0, self_collision=own[1], turn=turn)
    found = np.array(rigs.play(scene, 1, LAST, lambda: np.stack([rigs.bodies(one), rigs.bodies(two)])))
    first, second = momentum(one, found[:, 0]), momentum(two, found[:, 1])
    assert first[-1] - first[0] > 0.2 * second[0]
    assert np.abs(first + second - first[0] - second[0]).max() < 1e-3 * second[0]


@pytest.mark.parametrize("bone", ("head", "shin.R"))
def test_each_body_meets_every_body_of_the_other(bone):
    """A stick of two bones is thrown at every limb of the other one."""
    scene = scene_of(14)
    obj = thrown(scene, "Human", (0.0, 0.0, 0.0), 0.0)
    middle = (obj.data.bones[bone].head_local + obj.data.bones[bone].tail_local) / 2
    table = {name: ((0, y, 0), (0, y + 0.2, 0), above) for name, y, above in (("A", -0.1, None), ("B", 0.1, "A"))}
    other = rigs.armature(scene, table, "Stick")
    rigs.key_locations(other, {f: (middle.x, -1.4 + 4.0 * (f - 1) / rigs.FPS, middle.z) for f in range(-3, 15)})
    settings = other.active_ragdoll
    settings.rotation_weight = settings.translation_weight = 0.0
    settings.self_collision = False
    build.build(other, scene)
    ways = np.array(rigs.play(scene, 1, 14, lambda: rigs.bodies(obj)))
    assert np.abs(ways[-1] - ways[0]).max() > 0.02


@pytest.mark.parametrize("self_collision", (False, True))
def test_own_bodies_pass_through_each_other_only_without(self_collision):
    """Both arms are swung flat through the trunk's middle: with self-collision they cannot."""
    scene = scene_of()
    obj = rigs.human(scene)
    for side, sign in (("L", -1.0), ("R", 1.0)):
        bone = obj.pose.bones[f"arm.{side}"]
        axis = np.array(bone.bone.matrix_local)[2, :3]  # the world's Z in the bone's frame
        for frame, angle in ((-4, 0.0), (1, 0.0), (LAST, 3.0)):
            bone.rotation_quaternion = (np.cos(angle / 2), *(np.sin(sign * angle / 2) * axis))
            bone.keyframe_insert("rotation_quaternion", frame=frame)
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
    scene = scene_of()
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


def test_a_floor_that_comes_after_the_build_holds_a_live_run():
    """Played without the button that simulates; its own layers stay as they are."""
    scene = scene_of()
    scene.gravity = (0.0, 0.0, -9.81)
    obj = thrown(scene, "One", (0.0, 0.0, 0.0), 0.0)
    low = rigs.bodies(obj)[:, 2, 3].min()
    floor = rigs.box(scene, "Floor", (20, 20, 1), (0, 0, low - 0.9), passive=True)
    layers = list(floor.rigid_body.collision_collections)
    places = np.array(rigs.play(scene, 1, LAST, lambda: rigs.bodies(obj)[:, 2, 3]))
    fallen = 0.5 * 9.81 * ((LAST - 1) / rigs.FPS) ** 2
    assert places.min() > low - 0.5 > places[0].min() - 0.2 * fallen
    assert list(floor.rigid_body.collision_collections) == layers and collision.SAVED not in floor


def test_layers_that_the_user_gave_a_body_are_kept():
    scene = scene_of(4)
    own = [i in (0, 7) for i in range(20)]
    keeps = thrown(scene, "Keeps", (0.0, 0.0, 0.0), 0.0, self_collision=True)
    body = keeps.active_ragdoll.parts[0].body
    body.rigid_body.collision_collections = own
    thrown(scene, "Other", (5.0, 0.0, 0.0), 0.0)
    list(simulate.frames(scene))
    assert list(body.rigid_body.collision_collections) == own


def test_beyond_five_it_is_said_who_meets_whom_in_part():
    scene = scene_of(4)
    built = []
    for i in range(overlap.CHARACTERS + 1):
        obj = rigs.chain(scene, 6, head=(0.0, float(i), 2.0))
        obj.name = f"Chain {i}"
        obj.active_ragdoll.self_collision = False
        built.append(build.build(obj, scene))
    assert not any("meet" in note for made in built[:-1] for note in made.notes)
    (note,) = [note for note in built[-1].notes if "meet" in note]
    assert "'Chain 5'" in note and "'Chain 0'" in note and "5" in note
    assert collision.assign_layers(scene) == [note]


LENGTH = 40


def _scene(first):
    scene = rigs.empty_file(24)
    rigs.set_range(scene, max(first, 0), first + LENGTH)  # Blender's own range does not begin below 0
    simulate.use_range(scene, first, first + LENGTH)
    return scene


def _props(scene, first):
    """A floor, a falling crate that tumbles over an edge, a kinematic prop that pushes another crate."""
    rigs.box(scene, "Floor", (20, 20, 1), (0, 0, -0.5), passive=True)
    rigs.box(scene, "Step", (0.4, 2, 0.4), (5.2, 0, 0.2), passive=True)
    falling = rigs.box(scene, "Falling", (0.3, 0.5, 0.4), (5, 0, 2.5))
    falling.rotation_euler = (0.3, 0.2, 0.1)
    pushed = rigs.box(scene, "Pushed", (0.3, 0.3, 0.3), (5, 4, 0.15))
    pusher = rigs.box(scene, "Pusher", (0.3, 0.3, 0.3), (4, 4, 0.2), passive=True, kinematic=True)
    rigs.key_locations(pusher, {first: (4.2, 4, 0.2), first + 30: (5.6, 4, 0.2)})
    cache = scene.rigidbody_world.point_cache
    cache.frame_start, cache.frame_end = first, first + LENGTH
    return [falling, pushed, pusher]


def _ragdoll(scene, first=1):
    obj = rigs.human(scene)
    rigs.swing(obj, first, first + LENGTH)
    build.build(obj, scene)
    return obj


@pytest.mark.parametrize(("first", "way"), ((1, "live"), (0, "simulate"), (-20, "simulate")))
def test_props_move_exactly_as_without_the_character(fresh_scene, first, way):
    scene = _scene(first)
    props = _props(scene, first)
    plain = np.array(rigs.play(scene, first, first + LENGTH, lambda: rigs.matrices(props)))
    assert np.abs(plain[-1] - plain[0])[:, :3, 3].max() > 0.5

    scene = _scene(first)
    props = _props(scene, first)
    obj = _ragdoll(scene, first)
    rigs.set_weights(obj, 0.3)
    if way == "live":
        found = np.array(rigs.play(scene, first, first + LENGTH, lambda: rigs.matrices(props)))
    else:
        found = np.array([rigs.matrices(props) for _frame in simulate.frames(scene)])
    assert found.shape == plain.shape
    falling, pushed, pusher = np.abs(found - plain).max(axis=(0, 2, 3))
    assert falling < 1e-6 and pusher < 1e-6
    # Bullet solves several touching contacts in the order of its pairs, which any other body in the scene changes:
    # 30 crates far away make 2 mm here in plain Blender.
    assert pushed < 5e-3


def test_nothing_is_touched_before_the_first_frame(fresh_scene):
    """A crate stands where the arm is in bind pose, but not in the shot, whose first pose has the arms down."""

    def run(with_character):
        scene = _scene(1)
        rigs.box(scene, "Floor", (20, 20, 1), (0, 0, -0.5), passive=True)
        shelf = rigs.box(scene, "Shelf", (0.2, 0.2, 1.3), (0.7, 0, 0.65), passive=True)
        crate = rigs.box(scene, "Crate", (0.18, 0.18, 0.18), (0.7, 0, 1.39))
        scene.rigidbody_world.point_cache.frame_start = 1
        if with_character:
            obj = rigs.human(scene)
            for side, sign in (("L", 1), ("R", -1)):
                bone = obj.pose.bones[f"arm.{side}"]
                axis = np.array(bone.bone.matrix_local)[1, :3]  # the world's Y in the bone's frame
                turned = Quaternion(axis.tolist(), sign * 1.35)
                rigs.key(bone, "rotation_quaternion", {-3: turned, 41: turned})
            scene.frame_set(1)
            tip = rigs.pose(obj)[obj.data.bones.find("finger.L"), :3, 3]
            assert tip[2] < 1.0 and tip[0] < 0.5, "the arm hangs down"
            obj.active_ragdoll.self_collision = False
            build.build(obj, scene)
        return np.array(rigs.play(scene, 1, 20, lambda: rigs.matrices([crate, shelf])))

    plain, found = run(False), run(True)
    assert np.abs(found - plain).max() < 1e-6


def test_a_users_baked_cache_is_refused_and_kept(fresh_scene):
    scene = _scene(1)
    props = _props(scene, 1)
    cache = scene.rigidbody_world.point_cache
    with bpy.context.temp_override(scene=scene, point_cache=cache):
        bpy.ops.ptcache.bake(bake=True)
    assert cache.is_baked
    scene.frame_set(30)
    baked = rigs.matrices(props)
    obj = rigs.human(scene)
    counts = rigs.counts()
    with pytest.raises(RagdollError, match="baked"):
        build.build(obj, scene)
    assert scene.rigidbody_world.point_cache.is_baked
    assert rigs.counts() == counts
    scene.frame_set(3)
    scene.frame_set(30)
    assert np.array_equal(rigs.matrices(props), baked)


def test_a_cache_that_the_user_bakes_later_is_kept_too(fresh_scene):
    scene = _scene(1)
    obj = _ragdoll(scene)
    rigs.play(scene, 1, 10)
    cache = scene.rigidbody_world.point_cache
    with bpy.context.temp_override(scene=scene, point_cache=cache):
        bpy.ops.ptcache.bake_from_cache()
    assert cache.is_baked
    with pytest.raises(RagdollError, match="baked"):
        list(simulate.frames(scene))
    with pytest.raises(RagdollError, match="baked"):
        build.build(obj, scene)
    assert scene.rigidbody_world.point_cache.is_baked
    assert obj.active_ragdoll.is_ragdoll
