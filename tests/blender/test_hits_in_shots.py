"""Hits in shots: what they loosen, how they are edited, what makes no sense, and what a run leaves behind."""

import math

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, built, remove
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.errors import RagdollError
from hitting import HIT, add, empty, explode, free_body, play, velocity


def hitters_of(obj) -> list:
    return built.helpers(obj.active_ragdoll.collection, built.HITTER)


def test_a_hit_loosens_and_the_weights_come_back(fresh_scene):
    scene = empty(24, 60)
    obj = rigs.human(scene)
    build.build(obj, scene)
    add(obj, "arm.L", 10, (0.0, 30.0, 0.0))
    weights = np.array(rigs.play(scene, 1, 60, lambda: STATE.runs[scene.name].weights()[0].copy()))
    assert np.all(weights[9] == 1.0)  # at its own frame
    arm, forearm, spine, foot = weights[10:, rigs.rows(obj, ("arm.L", "forearm.L", "spine", "foot.R"))].T
    assert arm[0] < forearm[0] < spine[0] < foot[0] < 1.0
    assert arm[0] < 0.6
    assert np.all(np.diff(arm) >= 0.0) and arm[-1] == 1.0


def test_a_stronger_hit_displaces_more_and_all_come_back(fresh_scene):
    found = []
    for strength in (0.0, 5.0, 20.0, 80.0):
        scene = empty(24, 72)
        scene.gravity = (0.0, 0.0, -9.81)
        obj = rigs.human(scene)
        build.build(obj, scene)
        add(obj, "arm.L", 10, (0.0, strength, 0.0))
        poses = play(scene, obj, 72)
        away = np.linalg.norm(poses[:, :, :3, 3] - poses[0, :, :3, 3], axis=-1).max(axis=1)
        found.append(away.max())
        assert away[-1] < 0.01
    assert found == sorted(found) and found[-1] > 0.1 > found[0], found


@pytest.mark.parametrize(
    ("change", "words"),
    (
        ({"bone": "finger"}, ("Hit 2", "'finger'", "no body")),
        ({"impulse": (math.nan, 0.0, 0.0)}, ("Hit 2", "impulse", "nan")),
        ({"point": (0.0, math.inf, 0.0)}, ("Hit 2", "point")),
        ({"space": "TOWARDS"}, ("Hit 2", "target")),
    ),
)
def test_what_makes_no_sense_is_named(fresh_scene, change, words):
    scene = empty()
    obj = free_body(scene)
    add(obj, enabled=False, bone="nothing")
    add(obj, **change)
    assert np.isfinite(rigs.step(scene, range(1, 13), lambda: rigs.bodies(obj))).all()
    for word in (*words, "Chain"):
        assert word in STATE.messages[obj.name]
    with pytest.raises(RagdollError, match="Hit 2"):
        list(simulate.frames(scene))
    obj.active_ragdoll.hits[1].enabled = False
    list(simulate.frames(scene))


def test_outside_the_range_it_is_noted_and_harmless(fresh_scene):
    scene = empty()
    obj = free_body(scene)
    add(obj, frame=900)
    add(obj, frame=-3)
    poses = play(scene, obj)
    assert np.abs(velocity(poses, 12, 24)).max() < 1e-3
    assert [("900" in t, "outside" in t) for t in STATE.warnings[obj.name]] == [(True, True), (False, True)]


def test_a_monstrous_impulse_is_cut_down(fresh_scene):
    scene = empty()
    obj = free_body(scene)
    add(obj, impulse=(0.0, 1e9, 0.0), point=(0.1, 0.1, 0.0))
    poses = play(scene, obj)
    assert np.isfinite(poses).all()
    assert 1.0 < np.linalg.norm(velocity(poses, 12, 24)) < 110.0
    assert any("cut down" in text and "'A'" in text for text in STATE.warnings[obj.name])


@pytest.mark.blender_version
@pytest.mark.parametrize("broken", ("hit", "run"))
def test_what_ends_in_mid_push_pushes_no_more(fresh_scene, broken):
    scene = empty(24, 30)
    obj = free_body(scene)
    hit = add(obj, duration=2.0, impulse=(0.0, 4.0, 0.0))
    rigs.play(scene, 1, 12)
    if broken == "hit":
        hit.bone = "gone"
        scene.frame_set(13)
        assert "gone" in STATE.warnings[obj.name][-1] and scene.name not in STATE.messages
    else:
        obj.active_ragdoll.source.location.x = math.nan
        scene.frame_set(13)
        assert "not a number" in STATE.messages[obj.name]
    steps = np.diff(rigs.step(scene, range(14, 20), lambda: rigs.bodies(obj)[0, :3, 3]), axis=0)
    assert np.abs(steps - steps[0]).max() < 1e-4 and np.linalg.norm(steps[0]) > 1e-3


@pytest.mark.blender_version
@pytest.mark.parametrize("frame", (3, HIT, HIT + 1, HIT + 3))
def test_removed_in_mid_shot(fresh_scene, frame):
    """It stops at once; nothing crashes, then or in the next runs, and without it the next is as without it."""
    scene = empty(24, 20)
    obj = free_body(scene)
    without = play(scene, obj, 20)
    add(obj, duration=0.3)
    for number in range(1, 21):
        if number == frame:
            obj.active_ragdoll.hits.remove(0)
        scene.frame_set(number)
    assert scene.name not in STATE.messages
    poses = play(scene, obj, 20)
    assert np.array_equal(poses, without)
    assert len(hitters_of(obj)) == 1


def test_added_and_changed_between_runs(fresh_scene):
    """Hitters are made at a first frame while the world of the last run is alive, and serve for other points too."""
    scene = empty(24, 20)
    obj = rigs.ragdoll(scene, 20)
    rng = np.random.default_rng(1)
    names = [part.bone for part in obj.active_ragdoll.parts]
    for turn in range(12):
        add(obj, names[turn % 5], 4 + turn % 3, 5.0 * rng.normal(size=3), 0.02 * rng.normal(size=3))
        if turn % 4 == 3:
            obj.active_ragdoll.hits.remove(0)
            obj.active_ragdoll.hits[0].point = (0.0, 0.01 * turn, 0.0)
        stop = 4 + 3 * (turn % 4)
        poses = play(scene, obj, stop)
        assert np.isfinite(poses).all()
    build.rebuild(obj, scene)
    assert len(hitters_of(obj)) == 0
    assert np.isfinite(play(scene, obj, 20)).all()


@pytest.mark.blender_version
def test_added_in_mid_shot_it_waits_or_acts(fresh_scene):
    scene = empty(24, 20)
    obj = free_body(scene)
    add(obj, frame=18)
    rigs.play(scene, 1, 4)
    add(obj, frame=HIT, impulse=(0.0, 2.0, 0.0))
    add(obj, frame=HIT, impulse=(2.0, 0.0, 0.0), point=(0.0, 0.1, 0.0))
    poses = rigs.step(scene, range(5, 16), lambda: rigs.bodies(obj))
    gained = 2.0 * 24.0 * (poses[-1] - poses[-2])[0, :3, 3]
    assert np.allclose(gained, (0.0, 2.0, 0.0), atol=0.02)
    assert any("mid-shot" in text for text in STATE.warnings[obj.name])
    assert np.linalg.norm(velocity(play(scene, obj, 16), 16, 24)[0]) == pytest.approx(math.sqrt(2.0), rel=0.02)


@pytest.mark.blender_version
def test_a_hitter_deleted_by_hand_comes_back(fresh_scene, tmp_path):
    """In a file just loaded: in a world that is alive Blender itself does not bear it."""
    scene = empty()
    obj = free_body(scene)
    add(obj)
    play(scene, obj)
    scene, obj = rigs.reopened(tmp_path / "hit.blend", "Chain")
    bpy.data.objects.remove(hitters_of(obj)[0])
    poses = np.array([rigs.bodies(obj) for _frame in simulate.frames(scene)])
    assert 2.0 * velocity(poses, 12, 24)[0, 1] == pytest.approx(1.0, rel=0.01)


def test_remove_takes_the_hitters_away(fresh_scene):
    scene = empty()
    obj = rigs.human(scene)
    before = rigs.counts()
    build.build(obj, scene)
    add(obj, "head", HIT, (1.0, 0.0, 0.0))
    explode(obj)
    play(scene, obj)
    assert len(hitters_of(obj)) == len(obj.active_ragdoll.parts)
    remove.remove(obj)
    assert rigs.counts() == before
    assert len(obj.active_ragdoll.hits) == 1 and len(hitters_of(obj)) == 0
    scene.frame_set(1)
    scene.frame_set(2)


@pytest.mark.blender_version
def test_a_character_at_rest_is_switched_on_and_knocked_out(fresh_scene):
    """Recovery learns of a hit before it acts: not a newton second is lost on a switched-off character."""
    scene = empty(24, 40)
    obj = rigs.human(scene)
    rigs.undamped(obj)
    build.build(obj, scene)
    obj.active_ragdoll.recovery.enabled = True
    obj.active_ragdoll.recovery.starts = "ANIMATED"
    masses = rigs.masses(obj)
    impulse = 1.5 * masses.sum()
    add(obj, "spine", 20, (0.0, impulse, 0.0))

    def read():
        return STATE.runs[scene.name].effect("recovery").by_name["Human"].state.phase, rigs.bodies(obj)[:, :3, 3]

    phases, places = zip(*rigs.step(scene, range(1, 24), read), strict=True)
    assert phases[18] == "ANIMATED" and phases[20] == "LIMP", phases
    steps = np.diff(places, axis=0) * 24.0
    gained = masses @ (steps[20] - steps[18])
    assert np.linalg.norm(gained - (0.0, impulse, 0.0)) < 0.01 * impulse


@pytest.mark.blender_version
def test_a_run_with_hits_writes_no_originals(fresh_scene):
    """But for the hitters that it makes at its first frame."""
    from test_not_stepped import _snapshot

    scene = empty(24, 20)
    obj = rigs.ragdoll(scene, 20)
    add(obj, "spine", 4, (0.0, 60.0, 0.0))
    add(obj, "head", 6, (0.0, 6.0, 0.0), (0.0, 0.05, 0.0), duration=0.2)
    explode(obj, 9, origin=(0, 1, 1), radius=3.0, impulse=5.0)
    scene.frame_set(1)
    before = _snapshot(obj)
    assert sum("Hitter" in name for name in before) == len(hitters_of(obj)) > 15
    for frame in [*range(2, 21), 7, 1, *range(2, 12)]:
        scene.frame_set(frame)
        assert _snapshot(obj) == before, f"frame {frame}"


def test_on_a_kinematic_bone_it_is_said_that_nothing_is_felt(fresh_scene):
    scene = empty()
    obj = free_body(scene)
    obj.pose.bones["A"].active_ragdoll.body_mode = "KINEMATIC"
    add(obj)
    play(scene, obj)
    (told,) = STATE.warnings[obj.name]
    assert "Hit 1 on bone 'A'" in told and "kinematic" in told and "frame 6" in told
