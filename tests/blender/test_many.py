"""Several characters in one scene: one step for all, settings of their own; what is wrong with one stops no other."""

import math

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import handlers, pipeline, simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import stack_edits
from active_ragdoll.core.errors import RagdollError

LAST = 30
APART = 40.0  # [m] farther than anything gets


def _human(scene, name, x=0.0, weight=1.0, *, seed=0):
    """A swinging human at a place, with weights of its own and a ragdoll."""
    obj = rigs.human(scene, name)
    obj.location.x = x
    rigs.swing(obj, 1 + seed, LAST)
    rigs.set_weights(obj, weight)
    build.build(obj, scene)
    return obj


CAST = (("Firm", 0.0, 1.0), ("Soft", APART, 0.4), ("Limp", 2.0 * APART, 0.0), ("Second", 3.0 * APART, 0.4))


def _cast(*names):
    """Bodies of some of them by name [f, m, 4, 4], from a live run."""
    scene = rigs.empty_file()
    rigs.set_range(scene, 1, LAST)
    made = [_human(scene, *said, seed=i) for i, said in enumerate(CAST) if said[0] in names]
    found = rigs.play(scene, 1, LAST, lambda: [rigs.bodies(obj) for obj in made])
    return {obj.name: np.array([frame[i] for frame in found]) for i, obj in enumerate(made)}


@pytest.mark.blender_version
def test_one_step_for_all_equals_runs_of_each_alone():
    """Far apart in the air, bit for bit: no row of the arrays leaks into another.

    (What lies on one floor is solved in the order of Bullet's pairs, which any other body in the scene changes.)"""
    together = _cast(*(name for name, _x, _weight in CAST))
    for name, found in together.items():
        assert np.array_equal(_cast(name)[name], found), name
    moved = {name: np.abs(found[-1] - found[0])[:, :3, 3].max() for name, found in together.items()}
    assert moved["Limp"] > 0.3 > moved["Firm"]


END, MIDDLE = 16, 8
NAN = math.nan


@pytest.fixture(scope="module")
def pair():
    """Two characters far apart in the air, one with everything that can go wrong; and the other's undisturbed run."""
    scene = rigs.empty_file()
    rigs.set_range(scene, 1, END)
    stays, errs = made = [_human(scene, "Stays", 0.0, 0.4), _human(scene, "Errs", APART, 0.4)]
    stack_edits.ensure(errs, scene)
    errs.active_ragdoll.recovery.enabled = True
    rigs.changed(errs.active_ragdoll.hits.add(), bone="arm.L", frame=MIDDLE + 2, impulse=(0.0, 5.0, 0.0))
    expected = {obj.name: rigs.play(scene, 1, END, lambda obj=obj: rigs.bodies(obj)) for obj in made}
    return scene, stays, errs, expected


def _disturbed(pair, break_it, undisturbed=None, tolerance=0.0):
    """Play, break something in mid-shot; bodies of the one that errs at the last frame, and the warnings.

    `undisturbed` is of the one that stays, where there is more in the world than in the pair's own run: Bullet solves
    joints in another order then. The tolerance [m] is for a joint that goes in mid-shot, for the same reason."""
    scene, stays, errs, expected = pair
    bodies_of_other = expected["Stays"] if undisturbed is None else undisturbed
    for frame in range(1, END + 1):
        scene.frame_set(frame)
        assert scene.name not in STATE.messages, STATE.messages[scene.name]
        if frame == MIDDLE:
            break_it(errs)
        assert np.abs(rigs.bodies(stays) - bodies_of_other[frame - 1]).max() <= tolerance, frame
    assert STATE.runs[scene.name].frame == END and not STATE.warnings["Stays"]
    bodies, text = rigs.bodies(errs), " ".join(STATE.warnings["Errs"])
    assert np.isfinite(bodies).all() and "Errs" in text
    return bodies, text


OWN, ARM = "active_ragdoll", 'pose.bones["arm.L"].active_ragdoll'
WRONG = {
    "hit": (f"{OWN}.hits[0]", "impulse", (NAN, 0.0, 0.0), "Hit 1"),
    "hit's target": (f"{OWN}.hits[0]", "space", "TOWARDS", "target"),
    "loosening": (OWN, "loosening", NAN, "Loosening"),
    "weight": (OWN, "rotation_weight", NAN, "rotation weight"),
    "strength": (ARM, "max_torque", NAN, "'arm.L'"),
    "blend": (OWN, "physics_blend", NAN, "physics blend"),
    "getting up": (f"{OWN}.recovery", "reroot_time", NAN, "reroot_time"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_setting_is_left_out(pair, what):
    scene, _stays, errs, expected = pair
    path, name, value, word = WRONG[what]
    owner = errs.path_resolve(path)
    before = getattr(owner, name)
    before = tuple(before) if hasattr(before, "__len__") and not isinstance(before, str) else before
    try:
        bodies, text = _disturbed(pair, lambda _errs: setattr(owner, name, value))
        assert word in text
        same = np.array_equal(bodies, expected["Errs"][-1])
        assert same == (not what.startswith("hit")), "all but the hit goes on as before"
        with pytest.raises(RagdollError, match="Errs"):
            list(simulate.frames(scene))  # at its start a run wants everything to make sense
        scene.frame_set(1)
        assert "Errs" in STATE.messages[scene.name]
    finally:
        setattr(owner, name, before)
        STATE.messages.clear()


def test_deleted_targets_are_left_out(pair):
    scene, stays, errs, _expected = pair
    targets = [rigs.empty(scene, name, (40.0 + i, 2.0, 1.5)) for i, name in enumerate(("Goal", "Reach", "Grip"))]
    own, hit = errs.active_ragdoll, errs.active_ragdoll.hits[0]
    hit.space, hit.target = "TOWARDS", targets[0]
    stack_edits.add(errs, scene, "two_bone_ik", "forearm.L").effector = targets[1]
    rigs.changed(own.attachments.add(), name="Grip of Errs", bone="forearm.R", target=targets[2], kind="DISTANCE")
    try:
        undisturbed = rigs.play(scene, 1, END, lambda: rigs.bodies(stays))
        _bodies, text = _disturbed(pair, lambda obj: bpy.data.batch_remove(targets), undisturbed, 1e-4)
        assert "Hit 1" in text and "'Grip of Errs': its target was deleted" in text
        assert "Two-bone IK 1, effector: its target is missing" in " ".join(STATE.motions["Errs"].messages.values())
    finally:
        hit.space = "WORLD"
        own.attachments.clear()
        own.two_bone_ik.clear()


def test_an_unforeseen_error_stops_the_run_and_is_told(pair, monkeypatch):
    """Blender prints errors of handlers and plays on, which would show poses of other frames."""
    scene = pair[0]
    rigs.step(scene, range(1, MIDDLE))

    def broken(*_args):
        raise ValueError("singular")

    for module, name in ((pipeline, "step"), (pipeline, "observe")):
        STATE.messages.clear()
        rigs.step(scene, range(1, MIDDLE))
        with monkeypatch.context() as patch:
            patch.setattr(module, name, broken)
            assert handlers.pipeline is module
            scene.frame_set(MIDDLE)
        assert "ValueError: singular" in STATE.messages[scene.name] and scene.name not in STATE.runs
    STATE.messages.clear()
    rigs.play(scene, 1, END)


@pytest.mark.blender_version
def test_a_character_that_joins_a_simulated_scene_shows_its_animation(scene):
    """What is kept of the others' simulation knows nothing of its bodies: it was shown folded up, as if cached."""
    rigs.ragdoll(scene, 12)
    list(simulate.frames(scene))
    joined = rigs.swinging_human(scene, 1, 12)
    rigs.step(scene, (8,))
    own = rigs.pose(joined)
    build.build(joined, scene)
    rigs.step(scene, (7, 8))
    np.testing.assert_allclose(rigs.pose(joined), own, atol=1e-5)
    assert len(list(simulate.frames(scene))) == 12
