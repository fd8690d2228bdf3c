"""Hits: exact momentum and spin on free bodies, at their frame and not before, repeatable; and what may go wrong."""

import numpy as np
import pytest

import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender.physics import build
from hitting import HIT, add, empty, explode, free_body, inertia, offset, play, spin, velocity
from own_characters import or_own

LIMP = or_own("01_01.bvh", "Fox.glb", "mh_mixamo.blend", "arnaud.fbx", "modular_men_Worker.glb")


@pytest.mark.parametrize(
    ("fps", "mass", "moving"),
    (
        (24, 0.01, None),
        (24, 100.0, (3.0, -5.0, 1.0)),
        (60, 1.0, (3.0, -5.0, 1.0)),
        (240, 0.01, (3.0, -5.0, 1.0)),
        (240, 100.0, None),
    ),
)
def test_a_free_body_gains_the_impulse(fresh_scene, fps, mass, moving):
    """Measured: 0.01 %; 1 % would do."""
    scene = empty(fps)
    obj = free_body(scene, mass, moving=None if moving is None else np.array(moving) / fps)
    impulse = mass * np.array((1.0, -2.0, 0.5))
    add(obj, impulse=impulse)
    poses = play(scene, obj)
    gained = mass * (velocity(poses, 12, fps) - velocity(poses, HIT, fps))[0]
    assert np.linalg.norm(gained - impulse) < 0.001 * np.linalg.norm(impulse)


@pytest.mark.parametrize(
    ("fps", "mass", "point"),
    (
        (24, 0.01, (0.02, 0.1, -0.03)),
        (24, 1.0, (0.0, 0.15, 0.0)),
        (24, 100.0, (0.05, 0.0, 0.0)),
        (240, 0.01, (0.0, 0.15, 0.0)),
        (240, 100.0, (0.02, 0.1, -0.03)),
    ),
)
def test_a_free_body_gains_the_spin(fresh_scene, fps, mass, point):
    """I w = r x J, measured 0.7 %; 3 % would do. w over the step after the hit, in which nothing acts any more."""
    scene = empty(fps)
    obj = free_body(scene, mass)
    impulse = mass * np.array((0.3, -0.2, 0.25))
    add(obj, impulse=impulse, point=point)
    poses = play(scene, obj)
    start = poses[HIT - 1, 0]
    wanted = np.cross(start[:3, :3] @ offset(obj)[:3, :3].T @ np.array(point), impulse)
    middle = np.array(start)
    turn = quaternion.from_rotation_vector(0.5 * spin(poses, HIT + 2, fps)[0] / fps)
    middle[:3, :3] = quaternion.to_matrix(turn) @ poses[HIT, 0, :3, :3]
    gained = inertia(obj, middle) @ spin(poses, HIT + 2, fps)[0]
    assert rigs.masses(obj) == pytest.approx(mass)
    assert np.linalg.norm(wanted) > 0.0
    assert np.linalg.norm(gained - wanted) < 0.01 * np.linalg.norm(wanted)
    still = velocity(poses, HIT, fps)[0]
    assert np.linalg.norm(mass * (velocity(poses, 12, fps)[0] - still) - impulse) < 0.01 * np.linalg.norm(impulse)


@pytest.mark.blender_version
def test_nothing_changes_before_the_hit(fresh_scene):
    """Bit for bit wherever the hit is; its mere presence changes the order in which the solver takes the joints."""
    scene = empty()
    obj = rigs.ragdoll(scene, 20)
    without = play(scene, obj, 20)
    hit = add(obj, "spine", 9, (0.0, 60.0, 0.0))
    early = play(scene, obj, 20)
    hit.frame = 15
    late = play(scene, obj, 20)
    assert np.array_equal(early[:9], late[:9])
    assert np.abs(early[9] - late[9]).max() > 0.1
    assert np.abs(early[:9] - without[:9]).max() < 5e-3


@pytest.mark.blender_version
def test_two_runs_are_bit_identical(fresh_scene):
    scene = empty()
    obj = rigs.ragdoll(scene, 20)
    add(obj, "spine", 5, (0.0, 60.0, 0.0), (0.05, 0.0, 0.1))
    add(obj, "head", 8, (0.0, 6.0, 0.0), space="LOCAL", duration=0.2)
    explode(obj, 12, origin=(0, 1, 1), radius=3.0, impulse=5.0)
    first = play(scene, obj, 20)
    assert np.array_equal(play(scene, obj, 20), first)
    scene.frame_set(1)
    assert np.array_equal(play(scene, obj, 20), first)


@pytest.mark.blender_version
@pytest.mark.parametrize("fps", (24, 60))
def test_a_push_lasts(fresh_scene, fps):
    """The same momentum evenly over its duration, whatever the frame rate; half of it at half time."""
    last = 6 + fps
    scene = empty(fps, last)
    obj = free_body(scene)
    add(obj, frame=HIT, impulse=(0.0, 4.0, 0.0), duration=0.5)
    poses = play(scene, obj, last)
    gained = [2.0 * velocity(poses, frame, fps)[0, 1] for frame in range(2, last + 1)]
    assert np.abs(gained[: HIT - 1]).max() < 1e-5
    assert gained[-1] == pytest.approx(4.0, rel=0.01)
    half = HIT + fps // 4
    assert np.mean(gained[half - 2 : half]) == pytest.approx(2.0, rel=0.01)


@pytest.mark.blender_version
def test_a_local_push_follows_a_spin(fresh_scene):
    """A body that spins at a steady rate about its long axis, pushed sideways for a while: J / m of a turning force."""
    scene = empty(24, 40)
    obj = free_body(scene, turn=(0.0, 0.0, 0.0), direction=(0.0, 0.0, 1.0))
    # A couple: two blows that cancel, at two points, spin it about the bone's own Y.
    add(obj, frame=2, impulse=(0.0, 0.1, 0.0), point=(0.03, 0.0, 0.0), space="WORLD")
    add(obj, frame=2, impulse=(0.0, -0.1, 0.0), point=(-0.03, 0.0, 0.0), space="WORLD")
    add(obj, frame=8, impulse=(1.0, 0.0, 0.0), space="LOCAL", duration=0.5)
    poses = play(scene, obj, 30)
    rate = spin(poses, 7, 24)[0]
    assert 1.0 < np.linalg.norm(rate) < 12.0
    start = poses[7, 0, :3, :3] @ offset(obj)[0, :3]
    times = (np.arange(2000) + 0.5) / 2000 * 0.5
    turned = quaternion.rotate(quaternion.from_rotation_vector(times[:, None] * rate), start)
    wanted = turned.mean(axis=0) * 1.0 / 2.0
    gained = velocity(poses, 30, 24)[0] - velocity(poses, 8, 24)[0]
    assert np.linalg.norm(gained - wanted) < 0.02 * np.linalg.norm(wanted)


def test_towards_an_object(fresh_scene):
    scene = empty()
    obj = free_body(scene)
    target = rigs.empty(scene)
    rigs.key(target, "location", {1: (5, 0, 2), HIT: (0, 5, 2), 12: (0, 0, 9)})
    add(obj, impulse=(2.0, 0.0, 0.0), space="TOWARDS", target=target)
    poses = play(scene, obj)
    way = np.array((0.0, 5.0, 2.0)) - poses[HIT - 1, 0, :3, 3]
    wanted = 2.0 / 2.0 * way / np.linalg.norm(way)
    assert np.linalg.norm(velocity(poses, 12, 24)[0] - wanted) < 0.01


@pytest.mark.blender_version
def test_an_explosion_pushes_every_body_away(fresh_scene):
    scene = empty()
    obj = rigs.human(scene)
    rigs.undamped(obj)
    build.build(obj, scene)
    rigs.set_weights(obj)
    explode(obj, origin=(0.0, -1.0, 1.0), radius=2.0, impulse=8.0, falloff=1.5)
    poses = play(scene, obj)
    way = poses[HIT - 1, :, :3, 3] - np.array((0.0, -1.0, 1.0))
    distance = np.linalg.norm(way, axis=1)
    wanted = (8.0 * (1.0 - distance / 2.0).clip(0.0) ** 1.5)[:, None] * way / distance[:, None]
    assert np.count_nonzero(wanted.any(axis=1)) > 8
    gained = rigs.masses(obj) @ velocity(poses, 12, 24)
    assert np.linalg.norm(gained - wanted.sum(axis=0)) < 0.01 * np.linalg.norm(wanted.sum(axis=0))


def test_two_hits_at_once_add_up(fresh_scene):
    scene = empty()
    obj = free_body(scene)
    add(obj, impulse=(2.0, 0.0, 0.0))
    add(obj, impulse=(0.0, 1.0, 0.0))
    add(obj, impulse=(0.0, 0.0, 3.0), frame=HIT + 1)
    gained = 2.0 * velocity(play(scene, obj), 12, 24)[0]
    assert np.allclose(gained, (2.0, 1.0, 3.0), atol=0.02)


@pytest.mark.blender_version
def test_a_sleeping_body_wakes(fresh_scene):
    scene = empty(24, 120)
    scene.gravity = (0.0, 0.0, -9.81)
    rigs.box(scene, "Floor", (8, 8, 0.2), (0, 0, -0.1), passive=True)
    obj = rigs.chain(scene, 1, head=(0.0, 0.0, 0.3))
    build.build(obj, scene)
    rigs.set_weights(obj)
    add(obj, frame=100, impulse=(0.0, 0.0, 3.0 * rigs.masses(obj)[0]))
    poses = play(scene, obj, 110)
    assert np.array_equal(poses[97], poses[98]), "it sleeps"
    assert poses[:, 0, 2, 3][100:].max() > poses[98, 0, 2, 3] + 0.2


@pytest.mark.blender_version
@pytest.mark.parametrize("file", LIMP)
def test_a_limp_character_gains_the_impulse_as_a_whole(fresh_scene, file):
    """Real rigs: any scale, bone roll and hierarchy; joints pass the blow on and lose nothing of it."""
    rig = rigs.load(file)
    rig.scene.gravity = (0.0, 0.0, 0.0)
    rigs.set_range(rig.scene, rig.first, rig.first + 12)
    rigs.undamped(rig.obj)
    build.build(rig.obj, rig.scene)
    rigs.set_weights(rig.obj)
    settings, masses = rig.obj.active_ragdoll, rigs.masses(rig.obj)
    row = len(masses) // 2
    impulse = masses[row] * settings.height * np.array((0.6, -0.8, 0.3))
    add(rig.obj, settings.parts[row].bone, rig.first + HIT, impulse, (0.0, 0.02 * settings.height, 0.0))
    poses = np.array(rigs.play(rig.scene, rig.first, rig.first + 12, lambda: rigs.bodies(rig.obj))).astype(float)
    steps = np.diff(poses[:, :, :3, 3], axis=0) * rigs.FPS
    gained = masses @ (steps[HIT + 3] - steps[HIT - 1])
    assert np.linalg.norm(gained - impulse) < 0.01 * np.linalg.norm(impulse)
