"""Hits in shots: what they loosen, how they are edited, what makes no sense, and what a run leaves behind."""

import math

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender import bake, build, remove, simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.errors import RagdollError
from hitting import HIT, add, empty, explode, free_body, play, velocity

# ---- loosening -----------------------------------------------------------------------------------------------------


def test_a_hit_loosens_and_the_weights_come_back(fresh_scene):
    scene = empty(24, 60)
    obj = rigs.human(scene)
    build.build(obj, scene)
    names = [part.bone for part in obj.active_ragdoll.parts]
    add(obj, "arm.L", 10, (0.0, 30.0, 0.0))
    seen = {}

    def read():
        seen[scene.frame_current] = STATE.runs[scene.name].weights()[0].copy()

    rigs.play(scene, 1, 60, read)
    arm, forearm, spine, foot = (names.index(name) for name in ("arm.L", "forearm.L", "spine", "foot.R"))
    assert np.all(seen[10] == 1.0)
    after = seen[11]
    assert after[arm] < after[forearm] < after[spine] < after[foot] < 1.0
    assert after[arm] < 0.6
    rising = np.array([seen[frame][arm] for frame in range(11, 61)])
    assert np.all(np.diff(rising) >= 0.0) and rising[-1] == 1.0


def test_without_loosening_the_weights_stay(fresh_scene):
    scene = empty(24, 20)
    obj = rigs.human(scene)
    build.build(obj, scene)
    obj.active_ragdoll.loosening = 0.0
    add(obj, "arm.L", 10, (0.0, 30.0, 0.0))
    rigs.play(scene, 1, 20, lambda: np.testing.assert_array_equal(STATE.runs[scene.name].weights()[0], 1.0))


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


# ---- editing, bad input --------------------------------------------------------------------------------------------


def message(scene, obj, last=12):
    for frame in range(1, last + 1):
        scene.frame_set(frame)
        assert np.isfinite(rigs.bodies(obj)).all()
    return STATE.messages.get(obj.name, "")


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
    text = message(scene, obj)
    for word in (*words, "Chain"):
        assert word in text
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


def test_a_monstrous_impulse_on_a_whole_character(fresh_scene):
    scene = empty(24, 40)
    scene.gravity = (0.0, 0.0, -9.81)
    obj = rigs.human(scene)
    build.build(obj, scene)
    add(obj, "head", impulse=(0.0, 1e9, 0.0))
    assert message(scene, obj, 40) == ""
    assert any("cut down" in text for text in STATE.warnings[obj.name])


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
    poses = []
    for frame in range(14, 20):
        scene.frame_set(frame)
        poses.append(rigs.bodies(obj)[0, :3, 3])
    steps = np.diff(np.array(poses, dtype=float), axis=0)
    assert np.abs(steps - steps[0]).max() < 1e-4 and np.linalg.norm(steps[0]) > 1e-3


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
    assert len(obj.active_ragdoll.hitters) == 1


def test_added_and_changed_between_runs(fresh_scene):
    """Hitters are made at a first frame while the world of the last run is alive, and serve for other points too."""
    scene = empty(24, 20)
    obj = rigs.swinging_human(scene, 1, 20)
    build.build(obj, scene)
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
    assert len(obj.active_ragdoll.hitters) == 0
    assert np.isfinite(play(scene, obj, 20)).all()


def test_a_hitter_serves_for_another_point(fresh_scene):
    scene = empty()
    obj = free_body(scene)
    hit = add(obj, impulse=(0.0, 1.0, 0.0), point=(0.0, 0.1, 0.0))
    play(scene, obj)
    hit.point = (0.0, -0.05, 0.02)
    again = play(scene, obj)
    assert len(obj.active_ragdoll.hitters) == 1
    build.rebuild(obj, scene)
    assert np.abs(play(scene, obj) - again).max() < 1e-4


def test_added_in_mid_shot_it_waits_or_acts(fresh_scene):
    scene = empty(24, 20)
    obj = free_body(scene)
    add(obj, frame=18)
    rigs.play(scene, 1, 4)
    add(obj, frame=HIT, impulse=(0.0, 2.0, 0.0))
    add(obj, frame=HIT, impulse=(2.0, 0.0, 0.0), point=(0.0, 0.1, 0.0))
    poses = []
    for frame in range(5, 16):
        scene.frame_set(frame)
        poses.append(rigs.bodies(obj))
    gained = 2.0 * 24.0 * (poses[-1] - poses[-2])[0, :3, 3]
    assert np.allclose(gained, (0.0, 2.0, 0.0), atol=0.02)
    assert any("mid-shot" in text for text in STATE.warnings[obj.name])
    assert np.linalg.norm(velocity(play(scene, obj, 16), 16, 24)[0]) == pytest.approx(math.sqrt(2.0), rel=0.02)


def test_a_hitter_deleted_by_hand_comes_back(fresh_scene, tmp_path):
    """In a file just loaded: in a world that is alive Blender itself does not bear it."""
    scene = empty()
    obj = free_body(scene)
    add(obj)
    play(scene, obj)
    path = str(tmp_path / "hit.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    scene, obj = bpy.context.scene, bpy.data.objects["Chain"]
    bpy.data.objects.remove(obj.active_ragdoll.hitters[0].object)
    poses = np.array([rigs.bodies(obj) for _frame in simulate.frames(scene)])
    assert 2.0 * velocity(poses, 12, 24)[0, 1] == pytest.approx(1.0, rel=0.01)


def test_remove_takes_the_hitters_away(fresh_scene):
    scene = empty()
    before = rigs.counts()
    obj = rigs.human(scene)
    built = rigs.counts()
    build.build(obj, scene)
    add(obj, "head", HIT, (1.0, 0.0, 0.0))
    explode(obj)
    play(scene, obj)
    assert len(obj.active_ragdoll.hitters) == len(obj.active_ragdoll.parts)
    remove.remove(obj)
    assert rigs.counts() == built and before["objects"] == 0
    assert len(obj.active_ragdoll.hits) == 1 and len(obj.active_ragdoll.hitters) == 0
    scene.frame_set(1)
    scene.frame_set(2)


def test_simulated_cached_and_baked(fresh_scene):
    """The cache and the keys hold what the run showed."""
    scene = empty(24, 30)
    obj = rigs.swinging_human(scene, 1, 30)
    build.build(obj, scene)
    add(obj, "spine", 8, (0.0, 50.0, 10.0))
    recorded = {}
    for frame in simulate.frames(scene):
        recorded[frame] = rigs.pose(obj)
    for frame in (20, 9, 30, 8):
        scene.frame_set(frame)
        assert np.abs(rigs.pose(obj) - recorded[frame]).max() < 1e-5
    for _frame in bake.frames(obj, scene):
        pass
    for frame in (20, 9, 30, 8):
        scene.frame_set(frame)
        assert np.abs(rigs.pose(obj) - recorded[frame])[..., :3, 3].max() < 2e-4


def test_saved_and_loaded(fresh_scene, tmp_path):
    scene = empty(24, 20)
    obj = rigs.swinging_human(scene, 1, 20)
    build.build(obj, scene)
    add(obj, "spine", 5, (0.0, 50.0, 10.0), (0.0, 0.05, 0.02), duration=0.1)
    poses = play(scene, obj, 20)
    path = str(tmp_path / "hit.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    scene, obj = bpy.context.scene, bpy.data.objects["Human"]
    assert obj.active_ragdoll.hits[0].impulse[1] == 50.0
    assert np.array_equal(play(scene, obj, 20), poses)


@pytest.mark.parametrize("scale", (0.01, 100.0))
def test_scaled_characters_are_loosened_alike(fresh_scene, scale):
    """With all lengths, gravity and the hit's speed scaled; the impulse is exact at any scale."""

    def weights(factor):
        scene = empty(24, 20)
        scene.gravity = (0.0, 0.0, -9.81 * factor)
        obj = rigs.human(scene)
        obj.scale = (factor,) * 3
        bpy.context.view_layer.update()
        build.build(obj, scene)
        mass = sum(part.body.rigid_body.mass for part in obj.active_ragdoll.parts)
        add(obj, "spine", HIT, (0.0, 0.4 * mass * factor, 0.0))
        rigs.play(scene, 1, HIT + 1)
        return STATE.runs[scene.name].weights()[0]

    usual = weights(1.0)
    assert usual.min() < 0.5
    assert np.allclose(weights(scale), usual, atol=1e-3)


@pytest.mark.parametrize("scale", (0.01, 100.0))
def test_a_scaled_free_body_gains_the_impulse(fresh_scene, scale):
    scene = empty()
    obj = rigs.chain(scene, 1)
    obj.scale = (scale,) * 3
    bpy.context.view_layer.update()
    own = obj.pose.bones["A"].active_ragdoll
    own.linear_damping = own.angular_damping = 0.0
    build.build(obj, scene)
    obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 0.0
    mass = obj.active_ragdoll.parts[0].body.rigid_body.mass
    add(obj, impulse=(0.0, 0.5 * mass * scale, 0.0))
    gained = velocity(play(scene, obj), 12, 24)[0]
    assert np.allclose(gained, (0.0, 0.5 * scale, 0.0), atol=0.005 * scale)


def test_a_character_at_rest_is_switched_on_and_knocked_out(fresh_scene):
    """Recovery learns of a hit before it acts: not a newton second is lost on a switched-off character."""
    scene = empty(24, 40)
    obj = rigs.human(scene)
    for bone in obj.pose.bones:
        bone.active_ragdoll.linear_damping = bone.active_ragdoll.angular_damping = 0.0
    build.build(obj, scene)
    obj.active_ragdoll.recovery.enabled = True
    obj.active_ragdoll.recovery.starts = "ANIMATED"
    mass = sum(part.body.rigid_body.mass for part in obj.active_ragdoll.parts)
    masses = np.array([part.body.rigid_body.mass for part in obj.active_ragdoll.parts])
    add(obj, "spine", 20, (0.0, 1.5 * mass, 0.0))
    phases, poses = [], []
    for frame in range(1, 24):
        scene.frame_set(frame)
        phases.append(STATE.runs[scene.name].recoveries["Human"].state.phase)
        poses.append(rigs.bodies(obj))
    assert phases[18] == "ANIMATED" and phases[20] == "LIMP", phases
    steps = np.diff(np.array(poses, dtype=float)[:, :, :3, 3], axis=0) * 24.0
    gained = masses @ (steps[20] - steps[18])
    assert np.linalg.norm(gained - (0.0, 1.5 * mass, 0.0)) < 0.01 * 1.5 * mass


def test_a_run_with_hits_writes_no_originals(fresh_scene):
    """But for the hitters that it makes at its first frame."""
    from test_no_original_writes import _differences, _snapshot

    scene = empty(24, 20)
    obj = rigs.swinging_human(scene, 1, 20)
    build.build(obj, scene)
    add(obj, "spine", 4, (0.0, 60.0, 0.0))
    add(obj, "head", 6, (0.0, 6.0, 0.0), (0.0, 0.05, 0.0), duration=0.2)
    explode(obj, 9, origin=(0, 1, 1), radius=3.0, impulse=5.0)
    scene.frame_set(1)
    before = _snapshot(obj)
    assert sum("Hitter" in name for name in before) == len(obj.active_ragdoll.hitters) > 15
    for frame in [*range(2, 21), 7, 1, *range(2, 12)]:
        scene.frame_set(frame)
        assert _differences(before, _snapshot(obj)) == [], f"frame {frame}"


def test_hits_of_a_library_override(fresh_scene, tmp_path):
    """Hits that the library brings stay, others can be added."""
    scene = empty()
    obj = rigs.human(scene)
    hit = obj.active_ragdoll.hits.add()
    hit.bone, hit.frame, hit.impulse = "head", HIT, (1.0, 2.0, 3.0)
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    scene = empty()
    with bpy.data.libraries.load(path, link=True) as (source, target):
        target.objects = [name for name in source.objects if name == "Human"]
    scene.collection.objects.link(target.objects[0])
    obj = target.objects[0].override_create(remap_local_usages=True)
    build.build(obj, scene)
    assert tuple(obj.active_ragdoll.hits[0].impulse) == (1.0, 2.0, 3.0)
    add(obj, "spine", HIT, (0.0, 40.0, 0.0))
    poses = play(scene, obj)
    assert np.abs(poses[-1] - poses[HIT - 1]).max() > 1e-3


def test_on_a_kinematic_bone_it_is_said_that_nothing_is_felt(fresh_scene):
    scene = empty()
    obj = free_body(scene)
    obj.pose.bones["A"].active_ragdoll.body_mode = "KINEMATIC"
    add(obj)
    play(scene, obj)
    (told,) = STATE.warnings[obj.name]
    assert "Hit 1 on bone 'A'" in told and "kinematic" in told and "frame 6" in told
