"""Duplicates of a character with a ragdoll get one of their own; nobody's is lost."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import remove
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from animated import curves

pytestmark = pytest.mark.blender_version
LAST, ASIDE = 14, 5.0


@pytest.fixture
def human(fresh_scene):
    """A swinging human with a ragdoll that has played."""
    obj = rigs.ragdoll(fresh_scene, LAST)
    obj.active_ragdoll.rotation_weight = 0.6
    obj.pose.bones["forearm.L"].active_ragdoll.rotation_weight = 0.3
    rigs.play(fresh_scene, 1, LAST)
    return obj


def helpers(obj) -> set:
    settings = obj.active_ragdoll
    found = {o.name for part in settings.parts for o in (part.body, part.target, part.anchor)}
    return found | {settings.physics_armature.name, settings.source.name}


def live(scene):
    """The frames of a live run."""
    for frame in range(1, LAST + 1):
        yield from rigs.play(scene, frame, frame, lambda: scene.frame_current)


def aside(poses) -> np.ndarray:
    """Poses of a duplicate [.., 4, 4] where the first has them."""
    moved = np.array(poses)
    moved[..., 0, 3] -= ASIDE
    return moved


def play_both(scene, obj, copy, frames=live) -> None:
    """Both play the same, each in its own place and with its own helpers."""
    for frame in frames(scene):
        assert np.abs(aside(rigs.pose(copy)) - rigs.pose(obj)).max() < 2e-3, frame
        assert np.abs(aside(rigs.bodies(copy)) - rigs.bodies(obj))[:, :3, 3].max() < 2e-3
    assert not helpers(obj) & helpers(copy)
    assert len(STATE.runs[scene.name].characters) == 2


def test_a_duplicate_has_a_ragdoll_of_its_own_from_the_first_frame_on(human, fresh_scene):
    copy = rigs.duplicate(human, ASIDE)
    rigs.step(fresh_scene, range(-4, 1))  # Blender fills the world by itself, and would step to frame 1
    play_both(fresh_scene, human, copy)
    assert copy.active_ragdoll.rotation_weight == human.active_ragdoll.rotation_weight
    assert copy.pose.bones["forearm.L"].active_ragdoll.rotation_weight == pytest.approx(0.3)
    remove.remove(human, fresh_scene)
    rigs.play(fresh_scene, 1, LAST)
    remove.remove(copy, fresh_scene)
    assert [rigs.counts()[key] for key in ("objects", "scenes", "meshes", "collections")] == [2, 1, 0, 0]


@pytest.mark.parametrize("deleted", (False, True))
def test_a_duplicate_outlives_the_first(human, fresh_scene, deleted):
    """Its ragdoll is removed, or it is deleted itself, before the duplicate has played."""
    poses = rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(human))
    copy = rigs.duplicate(human, ASIDE)
    remove.remove(human, fresh_scene)
    if deleted:
        bpy.data.objects.remove(human)
    shown = rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(copy))
    assert len(STATE.runs[fresh_scene.name].characters) == 1
    assert np.abs(aside(shown) - poses).max() < 2e-3


def test_a_duplicate_made_in_mid_shot_waits_for_the_next_start(human, fresh_scene):
    bodies = rigs.play(fresh_scene, 1, LAST, lambda: rigs.bodies(human))
    for frame in range(1, LAST + 1):
        fresh_scene.frame_set(frame)
        if frame == 6:
            copy = rigs.duplicate(human, ASIDE)
        assert np.array_equal(rigs.bodies(human), bodies[frame - 1])
    play_both(fresh_scene, human, copy)


def test_a_baked_duplicate_plays_its_keys(human, fresh_scene):
    list(bake.bake_frames(human, fresh_scene))
    copy = rigs.duplicate(human, ASIDE)
    away = rigs.step(fresh_scene, range(1, LAST + 1), lambda: aside(rigs.pose(copy)) - rigs.pose(human))
    assert np.abs(away).max() < 1e-4
    bake.revert(copy)
    assert human.active_ragdoll.source not in (None, copy.active_ragdoll.source)
    bake.revert(human)
    play_both(fresh_scene, human, copy, simulate.frames)
    remove.remove_all([human, copy], fresh_scene)
    assert not [o.name for o in bpy.data.objects if "Source" in o.name]


@pytest.mark.parametrize("destination", ("CURRENT", "LAYER"))
def test_a_baked_copy_is_unhurt_when_the_first_is_reverted(human, fresh_scene, destination):
    """A script's copy shares the actions: the one that is keyed itself, the one that holds what else has no keys."""
    human.pose.bones["hips"].location, held = (0.1, 0.2, 0.3), curves(human.animation_data.action, human)
    list(bake.bake_frames(human, fresh_scene, 4, 9, bake.Choice(destination=destination)))
    fresh_scene.collection.objects.link(copy := human.copy())
    expected = rigs.shown(fresh_scene, copy, range(1, LAST + 1))
    bake.revert(human)
    rigs.check_shown(fresh_scene, copy, expected, expected, 1e-6)
    bake.revert(copy)
    for obj in (human, copy):
        assert curves(obj.animation_data.action, obj) == held and obj.animation_data.action.name == "HumanAction"
    assert not [action.name for action in bpy.data.actions if "Rest" in action.name or "before" in action.name]
