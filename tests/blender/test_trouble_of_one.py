"""What is wrong with one character's settings in mid-shot is told and left out; the others' run goes on to the bit."""

import math

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import handlers, pipeline, simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import stack_edits, stack_setup
from active_ragdoll.core.errors import RagdollError

pytestmark = pytest.mark.blender_version

LAST, MIDDLE = 16, 8
NAN = math.nan


@pytest.fixture(scope="module")
def pair():
    """Two characters far apart in the air, one with everything that can go wrong; and the other's undisturbed run."""
    scene = rigs.empty_file()
    made = []
    for name, x in (("Stays", 0.0), ("Errs", 40.0)):
        obj = rigs.human(scene, name)
        obj.location.x = x
        rigs.swing(obj, 1, LAST)
        obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 0.4
        made.append(obj)
    scene.render.fps, scene.render.fps_base = rigs.FPS, 1.0
    rigs.set_range(scene, 1, LAST)
    stays, errs = made
    stack_setup.ensure(errs, scene)
    for obj in made:
        build.build(obj, scene)
    errs.active_ragdoll.recovery.enabled = True
    hit = errs.active_ragdoll.hits.add()
    hit.bone, hit.frame, hit.impulse = "arm.L", MIDDLE + 2, (0.0, 5.0, 0.0)
    expected = {obj.name: rigs.play(scene, 1, LAST, lambda obj=obj: rigs.bodies(obj)) for obj in made}
    return scene, stays, errs, expected


def _disturbed(pair, break_it, undisturbed=None, tolerance=0.0):
    """Play, break something in mid-shot; bodies of the one that errs at the last frame, and the warnings.

    Args:
        undisturbed: of the one that stays, where there is more in the world than in the pair's own run: Bullet solves
            joints in another order then.
        tolerance: [m] where a joint goes in mid-shot, for the same reason.
    """
    scene, stays, errs, expected = pair
    bodies_of_other = expected["Stays"] if undisturbed is None else undisturbed
    for frame in range(1, LAST + 1):
        scene.frame_set(frame)
        assert scene.name not in STATE.messages, STATE.messages[scene.name]
        if frame == MIDDLE:
            break_it(errs)
        assert np.abs(rigs.bodies(stays) - bodies_of_other[frame - 1]).max() <= tolerance, frame
    assert STATE.runs[scene.name].frame == LAST and not STATE.warnings["Stays"]
    bodies, text = rigs.bodies(errs), " ".join(STATE.warnings["Errs"])
    assert np.isfinite(bodies).all() and "Errs" in text
    return bodies, text


def _set(path, name, value):
    def break_it(obj):
        owner = obj.path_resolve(path) if path else obj
        setattr(owner, name, value)

    return break_it


OWN, ARM = "active_ragdoll", 'pose.bones["arm.L"].active_ragdoll'
WRONG = {
    "hit": (f"{OWN}.hits[0]", "impulse", (NAN, 0.0, 0.0), "Hit 1"),
    "hit's bone": (f"{OWN}.hits[0]", "bone", "gone", "'gone'"),
    "hit's target": (f"{OWN}.hits[0]", "space", "TOWARDS", "target"),
    "loosening": (OWN, "loosening", NAN, "Loosening"),
    "weight": (OWN, "rotation_weight", NAN, "rotation weight"),
    "bone's weight": (ARM, "translation_weight", NAN, "'arm.L'"),
    "strength": (ARM, "max_torque", NAN, "'arm.L'"),
    "blend": (OWN, "physics_blend", NAN, "physics blend"),
    "recovery": (f"{OWN}.recovery", "rest_speed", NAN, "rest_speed"),
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
        bodies, text = _disturbed(pair, _set(path, name, value))
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


def test_a_key_that_is_not_a_number_is_left_out(pair):
    errs, expected = pair[2], pair[3]
    rigs.key_weights(errs, {1: 0.4, MIDDLE + 1: 0.4})
    curves = [c for c in rigs.curves_of(errs.animation_data.action) if c.data_path.endswith("rotation_weight")]
    curves[0].keyframe_points[1].co.y = NAN
    try:
        bodies, text = _disturbed(pair, lambda obj: None)
        assert "rotation weight" in text
        assert np.array_equal(bodies, expected["Errs"][-1])
    finally:
        for name in ("rotation_weight", "translation_weight"):
            for frame in (1, MIDDLE + 1):
                errs.keyframe_delete(f"active_ragdoll.{name}", frame=frame)
        errs.active_ragdoll.rotation_weight = 0.4


def test_deleted_targets_are_left_out(pair):
    scene, stays, errs, _expected = pair
    targets = [bpy.data.objects.new(name, None) for name in ("Goal", "Reach", "Grip")]
    for i, target in enumerate(targets):
        target.location = (40.0 + i, 2.0, 1.5)
        scene.collection.objects.link(target)
    own, hit = errs.active_ragdoll, errs.active_ragdoll.hits[0]
    hit.space, hit.target = "TOWARDS", targets[0]
    limb = stack_edits.add(errs, scene, "two_bone_ik", "forearm.L")
    limb.effector = targets[1]
    item = own.attachments.add()
    item.name, item.bone, item.target, item.kind = "Grip of Errs", "forearm.R", targets[2], "DISTANCE"
    try:
        undisturbed = rigs.play(scene, 1, LAST, lambda: rigs.bodies(stays))
        _bodies, text = _disturbed(pair, lambda obj: bpy.data.batch_remove(targets), undisturbed, 1e-4)
        assert "Hit 1" in text and "'Grip of Errs': its target was deleted" in text
        assert "target is missing" in " ".join(STATE.motions["Errs"].messages.values())
    finally:
        hit.space = "WORLD"
        own.attachments.clear()
        own.two_bone_ik.clear()


@pytest.mark.parametrize("kind", ("two_bone_ik", "bone_transforms", "look_at"))
def test_an_entry_removed_from_its_list_in_mid_shot_is_left_out(pair, kind):
    """By scripts, too, which tell nobody."""
    scene, stays, errs, expected = pair
    items = getattr(errs.active_ragdoll, kind)
    for _ in range(2):
        stack_edits.add(errs, scene, kind, "forearm.R")
    for frame in range(1, LAST + 1):
        scene.frame_set(frame)
        assert scene.name not in STATE.messages, STATE.messages[scene.name]
        if frame == MIDDLE:
            items.remove(0)
        elif frame == MIDDLE + 2:
            items.clear()
        assert np.array_equal(rigs.bodies(stays), expected["Stays"][frame - 1]), frame
    assert STATE.runs[scene.name].frame == LAST and not STATE.motions["Errs"].messages


def test_a_character_that_cannot_be_moved_to_where_it_lies_gets_up_all_the_same(pair, monkeypatch):
    scene, stays, errs, _expected = pair
    from active_ragdoll.core.ragdoll.recovery import transitions

    def broken(*_args):
        raise RagdollError("The trunk has no direction")

    group = errs.active_ragdoll.recovery
    for frame, phase in ((2, "LIMP"), (MIDDLE, "RECOVERING"), (LAST - 2, "ANIMATED")):
        event = group.events.add()
        event.frame, event.phase = frame, phase
    undisturbed = rigs.play(scene, 1, LAST, lambda: rigs.bodies(stays))
    monkeypatch.setattr(transitions.Landmarks, "move", broken)
    try:
        _bodies, text = _disturbed(pair, lambda obj: None, undisturbed)
        assert "no direction" in text and errs.active_ragdoll.state == "ANIMATED"
    finally:
        group.events.clear()


def test_an_unforeseen_error_stops_the_run_and_is_told(pair, monkeypatch):
    """Blender prints errors of handlers and plays on, which would show poses of other frames."""
    scene = pair[0]
    for frame in range(1, MIDDLE):
        scene.frame_set(frame)

    def broken(*_args):
        raise ValueError("singular")

    for module, name in ((pipeline, "step"), (pipeline, "observe")):
        STATE.messages.clear()
        for frame in range(1, MIDDLE):
            scene.frame_set(frame)
        with monkeypatch.context() as patch:
            patch.setattr(module, name, broken)
            assert handlers.pipeline is module
            scene.frame_set(MIDDLE)
        assert "ValueError: singular" in STATE.messages[scene.name] and scene.name not in STATE.runs
    STATE.messages.clear()
    rigs.play(scene, 1, LAST)
