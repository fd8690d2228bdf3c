"""Duplicates of a character with a ragdoll get one of their own; nobody's is lost."""

import bpy
import numpy as np
import pytest

import looking
import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import stack_edits, stack_setup

pytestmark = pytest.mark.blender_version

LAST, ASIDE = 14, 5.0


@pytest.fixture
def human(fresh_scene):
    """A swinging human with a ragdoll that has played, and the counts of the file without one."""
    obj = rigs.swinging_human(fresh_scene, 1, LAST)
    before = rigs.counts()
    build.build(obj, fresh_scene)
    obj.active_ragdoll.rotation_weight = 0.6
    obj.pose.bones["forearm.L"].active_ragdoll.rotation_weight = 0.3
    rigs.play(fresh_scene, 1, LAST)
    return obj, before


def duplicate(obj):
    bpy.ops.object.select_all(action="DESELECT")
    obj.select_set(True)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.duplicate()
    copy = bpy.context.object
    assert copy != obj
    copy.location.x += ASIDE
    return copy


def look(scene, obj):
    """Let a character look at an Empty beside it, which is returned."""
    target = bpy.data.objects.new("Target", None)
    scene.collection.objects.link(target)
    target.location = (1.0, -3.0, 1.6)
    stack_edits.set_up_look_at(obj, scene, target)
    return target


def helpers(obj) -> set:
    settings = obj.active_ragdoll
    found = {o.name for part in settings.parts for o in (part.body, part.target, part.anchor)}
    return found | {settings.physics_armature.name, settings.source.name}


def live(scene):
    """The frames of a live run."""
    for frame in range(1, LAST + 1):
        scene.frame_set(frame)
        assert scene.name not in STATE.messages, STATE.messages[scene.name]
        yield frame


def play_both(scene, obj, copy, frames=live) -> None:
    """Both play the same, each in its own place and with its own helpers."""
    for frame in frames(scene):
        away = rigs.pose(copy) - rigs.pose(obj)
        away[:, 0, 3] -= ASIDE
        assert np.abs(away).max() < 2e-3, frame
        apart = rigs.bodies(copy)[:, :3, 3] - rigs.bodies(obj)[:, :3, 3]
        assert np.abs(apart - (ASIDE, 0.0, 0.0)).max() < 2e-3
    assert not helpers(obj) & helpers(copy)
    assert len(STATE.runs[scene.name].characters) == 2


def test_a_duplicate_has_a_ragdoll_of_its_own_from_the_first_frame_on(human, fresh_scene):
    obj, before = human
    copy = duplicate(obj)
    play_both(fresh_scene, obj, copy)
    assert copy.active_ragdoll.rotation_weight == obj.active_ragdoll.rotation_weight
    assert copy.pose.bones["forearm.L"].active_ragdoll.rotation_weight == pytest.approx(0.3)
    remove.remove(obj, fresh_scene)
    rigs.play(fresh_scene, 1, LAST)
    remove.remove(copy, fresh_scene)
    after = rigs.counts()
    assert after["objects"] == before["objects"] + 1 and after["scenes"] == before["scenes"]
    assert {key: after[key] for key in ("meshes", "collections")} == {
        key: before[key] for key in ("meshes", "collections")
    }


def test_so_it_has_after_simulate_and_bake(human, fresh_scene):
    obj, _before = human
    copy = duplicate(obj)
    poses = [rigs.pose(copy) for _frame in simulate.frames(fresh_scene)]
    assert not helpers(obj) & helpers(copy)
    for _frame in bake.frames(copy, fresh_scene):
        pass
    for frame, expected in enumerate(poses, 1):
        fresh_scene.frame_set(frame)
        assert np.abs(rigs.pose(copy) - expected).max() < 1e-3


def test_removing_a_duplicate_that_has_not_played_leaves_the_first_its_ragdoll(human, fresh_scene):
    obj, _before = human
    bodies = rigs.play(fresh_scene, 1, LAST, lambda: rigs.bodies(obj))
    copy = duplicate(obj)
    remove.remove(copy, fresh_scene)
    assert not copy.active_ragdoll.is_ragdoll and obj.active_ragdoll.is_ragdoll
    assert not any(c.name.startswith("Active Ragdoll") for bone in copy.pose.bones for c in bone.constraints)
    assert np.array_equal(rigs.play(fresh_scene, 1, LAST, lambda: rigs.bodies(obj)), bodies)


@pytest.mark.parametrize("deleted", (False, True))
def test_a_duplicate_outlives_the_first(human, fresh_scene, deleted):
    """Its ragdoll is removed, or it is deleted itself, before the duplicate has played."""
    obj, _before = human
    poses = rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(obj))
    copy = duplicate(obj)
    remove.remove(obj, fresh_scene)
    if deleted:
        bpy.data.objects.remove(obj)
    shown = rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(copy))
    assert len(STATE.runs[fresh_scene.name].characters) == 1
    away = np.array(shown) - poses
    away[:, :, 0, 3] -= ASIDE
    assert np.abs(away).max() < 2e-3


def test_a_character_that_is_renamed_stays_the_owner(human, fresh_scene):
    obj, _before = human
    own = helpers(obj)
    obj.name = "Someone"
    copy = duplicate(obj)
    play_both(fresh_scene, obj, copy)
    assert helpers(obj) - {obj.active_ragdoll.source.name} <= own


def test_a_duplicate_made_in_mid_shot_waits_for_the_next_start(human, fresh_scene):
    obj, _before = human
    bodies = rigs.play(fresh_scene, 1, LAST, lambda: rigs.bodies(obj))
    for frame in range(1, LAST + 1):
        fresh_scene.frame_set(frame)
        if frame == 6:
            copy = duplicate(obj)
        assert np.array_equal(rigs.bodies(obj), bodies[frame - 1])
    play_both(fresh_scene, obj, copy)


def test_a_duplicate_of_one_that_looks_at_something_has_a_stack_too(human, fresh_scene):
    obj, _before = human
    target = look(fresh_scene, obj)
    obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 1.0
    obj.pose.bones["forearm.L"].active_ragdoll.rotation_weight = 1.0
    rigs.play(fresh_scene, 1, LAST)
    copy = duplicate(obj)
    rigs.play(fresh_scene, 1, LAST)
    assert not helpers(obj) & helpers(copy)
    assert copy.active_ragdoll.target_armature != obj.active_ragdoll.target_armature
    for each in (obj, copy):
        assert looking.aim_error(each, target) < 1.0
    stack_setup.drop(copy)
    rigs.play(fresh_scene, 1, LAST)
    assert looking.aim_error(obj, target) < 1.0


def test_a_baked_duplicate_plays_its_keys(human, fresh_scene):
    obj, _before = human
    for _frame in bake.frames(obj, fresh_scene):
        pass
    copy = duplicate(obj)
    for frame in range(1, LAST + 1):
        fresh_scene.frame_set(frame)
        away = rigs.pose(copy) - rigs.pose(obj)
        away[:, 0, 3] -= ASIDE
        assert np.abs(away).max() < 1e-4
    bake.revert(copy)
    assert obj.active_ragdoll.source not in (None, copy.active_ragdoll.source)
    bake.revert(obj)
    play_both(fresh_scene, obj, copy, simulate.frames)
    remove.remove_all([obj, copy], fresh_scene)
    assert not [o.name for o in bpy.data.objects if "Source" in o.name]


def test_a_duplicate_that_drops_its_stack_at_once_leaves_the_first_its_own(fresh_scene):
    """Before any frame has changed; both have a stack and no ragdoll."""
    obj = rigs.swinging_human(fresh_scene, 1, LAST)
    target = look(fresh_scene, obj)
    fresh_scene.frame_set(3)
    copy = duplicate(obj)
    bpy.context.view_layer.update()
    bpy.context.view_layer.update()
    stack_setup.drop(copy)
    assert copy.active_ragdoll.source is None and obj.active_ragdoll.source is not None
    fresh_scene.frame_set(4)
    assert looking.aim_error(obj, target) < 0.05 and looking.aim_error(copy, target) > 1.0
    before = {scene.name for scene in bpy.data.scenes}
    stack_setup.drop(obj)
    assert {scene.name for scene in bpy.data.scenes} < before  # the hidden one is gone, and with it all sources
    assert not [o.name for o in bpy.data.objects if o.name.endswith("Source")]


def test_the_first_that_drops_its_stack_leaves_the_duplicate_one(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, LAST)
    target = look(fresh_scene, obj)
    copy = duplicate(obj)
    stack_setup.drop(obj)
    for frame in (3, 4):
        fresh_scene.frame_set(frame)
    assert looking.aim_error(copy, target) < 0.05 and looking.aim_error(obj, target) > 1.0
    stack_setup.drop(copy)
    assert not [o.name for o in bpy.data.objects if "Source" in o.name or o.name.endswith("Target Armature")]


def test_bodies_edited_by_hand_stay_those_of_the_first(human, fresh_scene):
    obj, _before = human
    body = next(part.body for part in obj.active_ragdoll.parts if part.bone == "forearm.L")
    body.rigid_body.mass = 7.5
    copy = duplicate(obj)
    remove.remove(copy, fresh_scene)
    build.rebuild(obj, fresh_scene)
    body = next(part.body for part in obj.active_ragdoll.parts if part.bone == "forearm.L")
    assert body.rigid_body.mass == pytest.approx(7.5)


def test_a_duplicate_alone_can_be_simulated_by_the_operator(human, fresh_scene):
    obj, _before = human
    copy = duplicate(obj)
    remove.remove(obj, fresh_scene)
    bpy.context.view_layer.objects.active = copy
    assert bpy.ops.active_ragdoll.simulate() == {"FINISHED"}
    assert copy.active_ragdoll.run_state == "CACHED" and len(rigs.bodies(copy))
