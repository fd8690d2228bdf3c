"""Several characters in one scene: one step for all, each with settings of its own, and they meet one another."""

import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.run import simulate

pytestmark = pytest.mark.blender_version

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

    if scene is None:
        scene = rigs.empty_file()
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
