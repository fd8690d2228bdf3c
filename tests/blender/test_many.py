"""Several characters in one scene: one step for all, each with settings of its own, and they meet one another."""

import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender import build, remove, simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.errors import RagdollError

LAST = 30
APART = 40.0  # [m] farther than anything gets


def _human(scene, name, x, weight=1.0, *, y=0.0, seed=0):
    """A swinging human at a place, with weights of its own."""
    obj = rigs.human(scene, name)
    obj.location = (x, y, 0.0)
    rigs.swing(obj, 1 + seed, LAST)
    obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = weight
    return obj


def _scene(scene):
    rigs.set_range(scene, 1, LAST)
    scene.render.fps, scene.render.fps_base = rigs.FPS, 1.0
    return scene


def _run(scene, characters):
    """Bodies of each character by name [f, m, 4, 4], from a live run."""
    found = rigs.play(scene, 1, LAST, lambda: [rigs.bodies(obj) for obj in characters])
    return {obj.name: np.array([frame[i] for frame in found]) for i, obj in enumerate(characters)}


CAST = (("Firm", 0.0, 1.0), ("Soft", APART, 0.4), ("Limp", 2.0 * APART, 0.0), ("Second", 3.0 * APART, 0.4))


def _cast(scene, names):
    import bpy

    if scene is None:
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        scene = bpy.context.scene
    _scene(scene)
    made = [_human(scene, name, x, weight, seed=i) for i, (name, x, weight) in enumerate(CAST) if name in names]
    for obj in made:
        build.build(obj, scene)
    return _run(scene, made)


def test_one_step_for_all_equals_runs_of_each_alone(fresh_scene):
    """Far apart in the air, bit for bit: no row of the arrays leaks into another.

    (What lies on one floor is solved in the order of Bullet's pairs, which any other body in the scene changes.)
    """
    together = _cast(fresh_scene, [name for name, _x, _weight in CAST])
    for name, _x, _weight in CAST:
        alone = _cast(None, [name])[name]
        assert np.array_equal(together[name], alone), name
    moved = {name: np.abs(found[-1] - found[0])[:, :3, 3].max() for name, found in together.items()}
    assert moved["Limp"] > 0.3 > moved["Firm"]


def test_settings_act_on_their_own_character_alone(fresh_scene):
    """An edit in mid-shot, and keys, reach the character that has them; the others stay as they were, bit for bit."""
    scene = _scene(fresh_scene)
    first, second, third = (_human(scene, name, i * APART) for i, name in enumerate(("A", "B", "C")))
    for obj in (first, second, third):
        build.build(obj, scene)
    before = _run(scene, [first, second, third])
    rigs.key_weights(second, {1: 1.0, 10: 0.0})
    keyed = _run(scene, [first, second, third])
    assert np.array_equal(keyed["A"], before["A"]) and np.array_equal(keyed["C"], before["C"])
    assert np.array_equal(keyed["B"][:9], before["B"][:9])
    assert np.abs(keyed["B"][-1] - before["B"][-1]).max() > 0.3

    for frame in range(1, LAST + 1):
        scene.frame_set(frame)
        if frame == 9:
            third.pose.bones["arm.L"].active_ragdoll.rotation_weight = 0.0
            third.pose.bones["arm.L"].active_ragdoll.translation_weight = 0.0
    assert np.array_equal(rigs.bodies(first), before["A"][-1])
    assert np.array_equal(rigs.bodies(second), keyed["B"][-1])
    assert np.abs(rigs.bodies(third) - before["C"][-1]).max() > 0.01


def test_characters_collide(fresh_scene):
    """One falls onto another's outstretched arm: both feel it, as against each alone."""
    import bpy

    def run(names):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        scene = _scene(bpy.context.scene)
        made = []
        for name in names:
            obj = rigs.human(scene, name)
            if name == "Above":
                obj.location = (0.62, 0.0, 1.9)  # its feet and trunk over the other's left arm
                obj.active_ragdoll.translation_weight = 0.0
            else:
                obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 0.6
            build.build(obj, scene)
            made.append(obj)
        return _run(scene, made)

    both = run(("Below", "Above"))
    for name in ("Below", "Above"):
        assert np.abs(both[name] - run((name,))[name]).max() > 0.05, name


def test_momentum_passes_from_one_to_the_other(fresh_scene):
    """Limp and weightless, a fast character drifts into a slow one: what one loses the other gains."""
    scene = _scene(fresh_scene)
    scene.gravity = (0.0, 0.0, 0.0)
    slow, fast = rigs.human(scene, "Slow"), rigs.human(scene, "Fast")
    # Both are faster than what counts as coming to rest, which brings a drag of its own.
    for obj, place, speed in ((slow, (0.0, 0.0, 0.0), 0.5), (fast, (0.1, -1.0, 0.1), 2.5)):
        ways = {f: (place[0], place[1] + speed * (f - 1) / rigs.FPS, place[2]) for f in range(-3, LAST + 1)}
        rigs.key_locations(obj, ways)
        obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 0.0
        for bone in obj.pose.bones:
            bone.active_ragdoll.linear_damping = bone.active_ragdoll.angular_damping = 0.0
        build.build(obj, scene)
    found = _run(scene, [slow, fast])
    momenta = []
    for obj in (slow, fast):
        masses = np.array([part.body.rigid_body.mass for part in obj.active_ragdoll.parts])
        velocities = np.diff(found[obj.name][1:, :, 1, 3], axis=0) * rigs.FPS
        momenta.append(velocities @ masses)
        assert momenta[-1][0] == pytest.approx(masses.sum() * (0.5 if obj is slow else 2.5), rel=1e-4)
    gained, lost = momenta[0] - momenta[0][0], momenta[1][0] - momenta[1]
    assert gained[-1] > 0.2 * momenta[1][0], "it was pushed"
    assert np.abs(gained - lost).max() < 1e-4 * momenta[1][0]


def test_one_that_is_removed_in_mid_shot_leaves_the_others_their_run(fresh_scene):
    """From the next run on, the one that stays moves as if the other had never been."""
    scene = _scene(fresh_scene)
    stays, goes = _human(scene, "Stays", 0.0, 0.4), _human(scene, "Goes", APART, 0.4)
    for obj in (stays, goes):
        build.build(obj, scene)
    before = _run(scene, [stays, goes])
    rigs.play(scene, 1, 12)
    remove.remove(goes)
    for frame in (13, 14):
        scene.frame_set(frame)  # no crash, and no message: the run is over, a new one begins at the first frame
    assert np.array_equal(_run(scene, [stays])["Stays"], before["Stays"])
    assert len(list(simulate.frames(scene))) == LAST


def test_one_that_fails_is_named_and_the_rest_run_without_it(fresh_scene):
    scene = _scene(fresh_scene)
    stays, fails = _human(scene, "Stays", 0.0, 0.4), _human(scene, "Fails", APART, 0.4)
    for obj in (stays, fails):
        build.build(obj, scene)
    before = _run(scene, [stays, fails])["Stays"]
    fails.scale = (1.0, 1.0, 1.7)
    with pytest.raises(RagdollError, match="Fails"):
        list(simulate.frames(scene))
    assert "Fails" in STATE.messages[scene.name]
    remove.remove(fails)
    STATE.messages.clear()
    assert np.array_equal(_run(scene, [stays])["Stays"], before)


def test_a_baked_one_still_stands_in_the_way(fresh_scene):
    """A character whose result is baked takes part as an obstacle: another one that falls onto it rests there."""
    from active_ragdoll.core.blender import bake

    scene = _scene(fresh_scene)
    below = rigs.human(scene, "Below")
    build.build(below, scene)
    list(bake.frames(below, scene))
    above = rigs.human(scene, "Above")
    above.location.z = 2.2
    above.active_ragdoll.rotation_weight = above.active_ragdoll.translation_weight = 0.0
    build.build(above, scene)
    found = _run(scene, [below, above])
    assert np.abs(found["Below"] - found["Below"][0]).max() < 1e-4
    fallen = 0.5 * 9.81 * ((LAST - 1) / rigs.FPS) ** 2
    way = found["Above"][0, :, 2, 3] - found["Above"][-1, :, 2, 3]
    assert fallen > 6.0 and way.min() < 3.0, "something of it lies on the other"
