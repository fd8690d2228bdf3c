"""Hits: exact momentum and spin on free bodies, at their frame and not before, repeatable; what they loosen in shots,
how they are edited, what makes no sense, and what a run leaves behind."""

import math

import numpy as np
import pytest

import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.runtime import STATE
from hitting import HIT, add, empty, explode, free_body, inertia, play, spin, velocity

pytestmark = pytest.mark.blender_version


@pytest.mark.parametrize(
    ("fps", "mass", "point", "moving"),
    ((24, 0.01, (0.02, 0.1, -0.03), None), (60, 1.0, (0, 0.15, 0), (3, -5, 1)), (240, 100.0, (0.05, 0.1, 0), None)),
)
def test_a_free_body_gains_the_impulse_and_its_spin(fresh_scene, fps, mass, point, moving):
    """I w = r x J, measured 0.7 %; 3 % would do. w over the step after the hit, in which nothing acts any more."""
    scene = empty(fps)
    obj = free_body(scene, mass, moving=None if moving is None else np.array(moving) / fps)
    impulse = mass * np.array((0.3, -0.2, 0.25))
    add(obj, impulse=impulse, point=point)
    poses = play(scene, obj)
    start = poses[HIT - 1, 0]
    wanted = np.cross(start[:3, :3] @ obj.active_ragdoll.parts[0].offset[:3, :3].T @ np.array(point), impulse)
    middle = np.array(start)
    turn = quaternion.from_rotation_vector(0.5 * spin(poses, HIT + 2, fps)[0] / fps)
    middle[:3, :3] = quaternion.to_matrix(turn) @ poses[HIT, 0, :3, :3]
    gained = inertia(obj, middle) @ spin(poses, HIT + 2, fps)[0]
    assert rigs.masses(obj) == pytest.approx(mass) and np.linalg.norm(wanted) > 0.0
    assert np.linalg.norm(gained - wanted) < 0.01 * np.linalg.norm(wanted)
    still = velocity(poses, HIT, fps)[0]
    assert np.linalg.norm(mass * (velocity(poses, 12, fps)[0] - still) - impulse) < 0.01 * np.linalg.norm(impulse)


def test_nothing_changes_before_the_hit(fresh_scene):
    """Bit for bit wherever the hit is; its mere presence changes the order in which the solver takes the joints."""
    scene = empty()
    obj = rigs.ragdoll(scene, 20)
    without = play(scene, obj, 20)
    hit = add(obj, "spine", 9, (0.0, 60.0, 0.0))
    early = play(scene, obj, 20)
    hit.frame = 15
    late = play(scene, obj, 20)
    assert np.array_equal(early[:9], late[:9]) and np.abs(early[9] - late[9]).max() > 0.1
    assert np.abs(early[:9] - without[:9]).max() < 5e-3


@pytest.mark.parametrize("fps", (24, 60))
def test_a_push_lasts(fresh_scene, fps):
    """The same momentum evenly over its duration, whatever the frame rate; half of it at half time."""
    last = 6 + fps
    scene = empty(fps, last)
    obj = free_body(scene)
    add(obj, frame=HIT, impulse=(0.0, 4.0, 0.0), duration=0.5)
    poses = play(scene, obj, last)
    gained = [2.0 * velocity(poses, frame, fps)[0, 1] for frame in range(2, last + 1)]
    assert np.abs(gained[: HIT - 1]).max() < 1e-5 and gained[-1] == pytest.approx(4.0, rel=0.01)
    half = HIT + fps // 4
    assert np.mean(gained[half - 2 : half]) == pytest.approx(2.0, rel=0.01)


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


def test_a_hit_loosens_and_the_weights_come_back(fresh_scene):
    scene = empty(24, 60)
    obj = rigs.human(scene)
    build.build(obj, scene)
    add(obj, "arm.L", 10, (0.0, 30.0, 0.0))
    add(obj, "shin.L", 20, (0.0, 0.0, 0.0), hurts=1.0)
    weights = np.array(rigs.play(scene, 1, 60, lambda: STATE.runs[scene.name].weights()[0].copy()))
    assert np.all(weights[9] == 1.0)  # at its own frame
    arm, forearm, spine, foot = weights[10:, rigs.rows(obj, ("arm.L", "forearm.L", "spine", "foot.R"))].T
    assert arm[0] < forearm[0] < spine[0] < foot[0] < 1.0 and arm[0] < 0.6
    assert np.all(np.diff(arm) >= 0.0) and arm[-1] == 1.0
    hurt = weights[20:, rigs.rows(obj, ("thigh.L", "shin.L", "foot.L"))] / weights[20:, rigs.rows(obj, ("foot.R",))]
    assert hurt[0].max() < 0.01 and hurt[11] == pytest.approx(0.5) and np.all(hurt[23:] == 1.0)
    rigs.key(scene, "rigidbody_world.time_scale", {30: 1.0, 31: 0.25})
    weights = rigs.play(scene, 1, 60, lambda: STATE.runs[scene.name].weights()[0].copy())
    slowed = np.array(weights)[20:, rigs.rows(obj, ("shin.L",))].ravel()
    assert np.diff(slowed).min() >= 0.0 and 0.85 < slowed[-1] < 0.95  # what has come back stays where time slows


@pytest.mark.parametrize("broken", ("hit", "run", "removed"))
def test_what_ends_in_mid_push_pushes_no_more(fresh_scene, broken):
    scene = empty(24, 30)
    obj = free_body(scene)
    hit = add(obj, duration=2.0, impulse=(0.0, 4.0, 0.0))
    rigs.play(scene, 1, 12)
    if broken == "hit":
        hit.bone = "gone"
        scene.frame_set(13)
        assert "gone" in STATE.warnings[obj.name][-1] and scene.name not in STATE.messages
    elif broken == "removed":
        obj.active_ragdoll.hits.remove(0)
        scene.frame_set(13)
        assert scene.name not in STATE.messages
    else:
        obj.active_ragdoll.source.location.x = math.nan
        scene.frame_set(13)
        assert "not a number" in STATE.messages[obj.name]
    steps = np.diff(rigs.step(scene, range(14, 20), lambda: rigs.bodies(obj)[0, :3, 3]), axis=0)
    assert np.abs(steps - steps[0]).max() < 1e-4 and np.linalg.norm(steps[0]) > 1e-3
