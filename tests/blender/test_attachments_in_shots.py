"""Attachments in shots: repeated, saved, edited, taken away, and given what makes no sense."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.run import attachment_objects, simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import lists
from active_ragdoll.core.blender.tools import viewport
from holding import (
    HAND,
    TIP,
    attach,
    empty,
    in_target,
    key_enabled,
    loosen_arm,
    tip,
)

pytestmark = pytest.mark.blender_version

# ---- runs -----------------------------------------------------------------------------------------------------------


def _shot(scene, attached: bool):
    obj = rigs.swinging_human(scene, 1, 40)
    prop = rigs.box(scene, "Prop", (0.1, 0.1, 0.4), (1.0, 0.0, 1.45), mass=1.0)
    target = empty(scene, {1: (0.0, 0.0, 2.0), 40: (0.2, 0.0, 2.0)})
    build.build(obj, scene)
    obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 0.5
    if attached:
        attach(obj, prop, kind="FIXED", point=TIP)
        attach(obj, target, bone="head", kind="DISTANCE", name="Rope")
        key_enabled(obj, {1: False, 15: True})
        key_enabled(obj, {1: False, 20: True}, 1)
    return obj, prop


def test_runs_are_the_same_to_the_bit_and_nothing_changes_before(fresh_scene):
    obj, prop = _shot(fresh_scene, True)

    def read():
        return np.concatenate([rigs.bodies(obj), rigs.matrices([prop])])

    first = np.array(rigs.play(fresh_scene, 1, 40, read))
    second = np.array(rigs.play(fresh_scene, 1, 40, read))
    assert np.array_equal(first, second)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    obj, prop = _shot(bpy.context.scene, False)
    plain = np.array(rigs.play(bpy.context.scene, 1, 40, read))
    assert np.abs(first[:14] - plain[:14]).max() < 1e-6
    assert np.abs(first[20:] - plain[20:]).max() > 0.05


def test_simulated_saved_and_loaded_it_is_the_same(scene, tmp_path):
    obj, _prop = _shot(scene, True)
    shown = {frame: rigs.pose(obj) for frame in simulate.frames(scene)}
    scene, obj = rigs.reopened(tmp_path / "a.blend", "Human")
    item = obj.active_ragdoll.attachments[0]
    assert (item.kind, item.bone, item.target.name) == ("FIXED", HAND, "Prop")
    for frame in (30, 12, 40):
        scene.frame_set(frame)
        assert np.abs(rigs.pose(obj) - shown[frame]).max() < 1e-6
    again = {frame: rigs.pose(obj) for frame in simulate.frames(scene)}
    assert np.abs(again[40] - shown[40]).max() < 1e-6


def test_nothing_is_left_behind(scene):
    obj = rigs.swinging_human(scene, 1, 20)
    target = empty(scene, {1: (0.0, 0.0, 2.0)})
    before = rigs.counts()
    build.build(obj, scene)
    attach(obj, target, point=TIP)
    rigs.play(scene, 1, 15)
    rigs.play(scene, 1, 15)
    assert len(attachment_objects.of(obj.active_ragdoll)) == 1
    remove.remove(obj, scene)
    assert rigs.counts() == before
    assert len(obj.active_ragdoll.attachments) == 1 and not len(attachment_objects.of(obj.active_ragdoll))


# ---- bad input ------------------------------------------------------------------------------------------------------


def _warnings(obj):
    return " ".join(STATE.warnings.get(obj.name, ()))


@pytest.mark.parametrize(
    ("values", "said"),
    (
        ({"bone": "nothing"}, "no body"),
        ({"bone": ""}, "no bone"),
        ({"target": None}, "missing"),
        ({"target": "itself", "target_bone": HAND}, "itself"),
        ({"target": "itself"}, "itself"),
        ({"target": "itself", "target_bone": "gone"}, "gone"),
        ({"point": (float("nan"), 0.0, 0.0)}, "not a number"),
    ),
)
def test_what_makes_no_sense_is_told_and_the_rest_goes_on(scene, values, said):
    obj = rigs.swinging_human(scene, 1, 20)
    target = empty(scene, {1: (0.64, -0.15, 1.42)})
    loosen_arm(obj)
    build.build(obj, scene)
    item = attach(obj, target, name="Bad")
    for name, value in values.items():
        setattr(item, name, obj if value == "itself" else value)
    attach(obj, target, name="Good", offset="STATED", point=TIP, reach_seconds=0.1)
    rigs.play(scene, 1, 20)
    assert "Bad" in _warnings(obj) and said in _warnings(obj) and "Good" not in _warnings(obj)
    assert np.linalg.norm(tip(obj) - np.array(target.location)) < 5e-3


def test_a_target_deleted_in_mid_shot_is_named_and_the_run_goes_on(scene):
    obj = rigs.swinging_human(scene, 1, 30)
    target = empty(scene, {1: (0.64, -0.15, 1.42)}, "Crane")
    loosen_arm(obj)
    build.build(obj, scene)
    attach(obj, target, point=TIP)
    rigs.play(scene, 1, 10)
    bpy.data.objects.remove(target)
    for frame in range(11, 31):
        scene.frame_set(frame)
    assert scene.name not in STATE.messages and STATE.runs[scene.name].frame == 30
    assert "Grip" in _warnings(obj) and "deleted" in _warnings(obj)
    rigs.play(scene, 1, 20)
    assert "missing" in _warnings(obj)


def test_keys_beyond_the_range_are_clamped(scene):
    obj = rigs.swinging_human(scene, 1, 20)
    target = empty(scene, {1: (0.64, -0.15, 1.42)})
    loosen_arm(obj)
    build.build(obj, scene)
    attach(obj, target, point=TIP)
    item = obj.active_ragdoll.attachments[0]
    item.max_force = 1.0
    obj.keyframe_insert("active_ragdoll.attachments[0].max_force", frame=1)
    obj.keyframe_insert("active_ragdoll.attachments[0].enabled", frame=1)
    for curve in rigs.curves_of(obj.animation_data.action):
        if "attachments" in curve.data_path:
            curve.keyframe_points[0].co.y = -5.0 if "max_force" in curve.data_path else 7.0
            curve.update()
    offsets = np.array(rigs.play(scene, 1, 20, lambda: in_target(target, tip(obj))))
    assert np.isfinite(offsets).all()
    assert np.linalg.norm(offsets[2:] - offsets[0], axis=1).max() < 5e-3


def test_removed_from_the_list_in_mid_shot_it_lets_go(scene):
    obj = rigs.swinging_human(scene, 1, 30)
    target = empty(scene, {1: (0.64, -0.15, 1.42)})
    loosen_arm(obj)
    build.build(obj, scene)
    attach(obj, target, point=TIP)
    rigs.play(scene, 1, 10)
    obj.active_ragdoll.attachments.remove(0)
    for frame in range(11, 31):
        scene.frame_set(frame)
    assert scene.name not in STATE.messages and "removed" in _warnings(obj)


def test_keys_go_with_their_attachments(fresh_scene):
    """Of two keyed ones the first is taken away: the other is switched on when it always was."""
    obj, _prop = _shot(fresh_scene, True)
    lists.remove_item(obj.active_ragdoll, "attachments", 0)
    switched = []
    for frame in (14, 15, 19, 20):
        fresh_scene.frame_set(frame)
        switched.append(obj.active_ragdoll.attachments[0].enabled)
    assert obj.active_ragdoll.attachments[0].name == "Rope" and switched == [False, False, False, True]
    paths = {curve.data_path for curve in rigs.curves_of(obj.animation_data.action) if "attach" in curve.data_path}
    assert paths == {"active_ragdoll.attachments[0].enabled"}


# ---- the interface --------------------------------------------------------------------------------------------------


def test_operators_add_and_remove_and_the_overlay_draws_a_line(scene):
    obj = rigs.human(scene)
    target = empty(scene, {1: (0.5, 0.0, 1.5)})
    with pytest.raises(RuntimeError):
        bpy.ops.active_ragdoll.add_attachment(bone=HAND, target="Target")
    build.build(obj, scene)
    assert bpy.ops.active_ragdoll.add_attachment(bone=HAND, target="Target") == {"FINISHED"}
    item = obj.active_ragdoll.attachments[0]
    assert (item.bone, item.target) == (HAND, target)
    scene.view_layers[0].update()
    lines = viewport.attachment_lines(obj, scene, scene.view_layers[0].depsgraph)
    assert np.allclose(lines.ends, [[(0.75, 0.0, 1.42), (0.5, 0.0, 1.5)]], atol=1e-5)
    for values in ({"bone": "nothing"}, {"bone": HAND, "target": "nobody"}, {"bone": HAND, "target": obj.name}):
        with pytest.raises(RuntimeError):
            bpy.ops.active_ragdoll.add_attachment(**values)
    assert len(obj.active_ragdoll.attachments) == 1
    assert bpy.ops.active_ragdoll.remove_attachment() == {"FINISHED"}
    assert not len(obj.active_ragdoll.attachments)
