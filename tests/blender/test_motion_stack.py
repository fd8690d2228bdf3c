"""The motion stack in Blender: without physics, before physics, beside a shot, baked, scrubbed, and taken away."""

import bpy
import numpy as np
import pytest

import looking
import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import entries, stack_edits, stack_setup
from active_ragdoll.core.errors import RagdollError
from active_ragdoll.core.motion import stack
from active_ragdoll.core.motion.rig import Inputs
from active_ragdoll.core.motion.transform_bone import ADD, TransformBone
from own_characters import or_own

TURN = np.radians(30.0)
RIGS = or_own("Knight.glb", "run.fbx", "01_01.bvh", "animals_pack_Horse.glb")


class Own(entries.Kind):
    """A kind of the test's own: one step, made by a function of the rig."""

    def __init__(self, make) -> None:
        self.identifier, self._make = f"OWN {id(self)}", make

    def acts(self, obj):
        return True

    def steps(self, obj, rig):
        yield "Own", lambda: self._make(rig)


class Turn(stack.Step):
    """Turns a bone about the armature's X axis."""

    name = "Turn"

    def __init__(self, rig, bone, weight, angle) -> None:
        turn = (np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0)
        self.solver = TransformBone(rig, rig.bone("Turn", bone), "Turn", rotation=turn, rotation_mode=ADD)
        self._weight = weight

    def read(self, places, pose):
        return Inputs(weight=self._weight)


def _turns(name, weight=1.0, angle=TURN):
    return Own(lambda rig: Turn(rig, name, weight, angle))


@pytest.fixture
def builders(monkeypatch):
    """A place for a test's own kinds, instead of all others."""
    table = {}
    monkeypatch.setattr(entries, "kinds", lambda: list(table.values()))
    return table


def turn_spine(obj, builders) -> None:
    builders["t"] = _turns("spine")
    stack_setup.ensure(obj, bpy.context.scene)


def _middle_bone(obj):
    """A bone with a grandchild and a parent, by the number of bones below it."""
    found = [b for b in obj.data.bones if b.parent and any(c.children for c in b.children)]
    return max(found, key=lambda b: len(b.children_recursive)).name


def _expected(obj, plain, name, frame=None):
    """The world matrices with a bone and all below it turned about the armature's X axis through the bone's head."""
    if frame is not None:
        bpy.context.scene.frame_set(frame)  # the object itself may be animated
    names = [bone.name for bone in obj.pose.bones]
    below = [names.index(name)] + [names.index(b.name) for b in obj.data.bones[name].children_recursive]
    world = np.array(obj.matrix_world)
    local = np.linalg.inv(world) @ plain
    turn = np.eye(4)
    turn[:3, :3] = quaternion.to_matrix(np.array([np.cos(TURN / 2), np.sin(TURN / 2), 0.0, 0.0]))
    place = np.eye(4)
    place[:3, 3] = local[below[0], :3, 3]
    local[below] = place @ turn @ np.linalg.inv(place) @ local[below]
    return world @ local


@pytest.mark.parametrize("name", RIGS)
def test_without_physics_the_character_shows_what_the_stack_gives(data_dir, builders, name):
    rig = rigs.load(data_dir / name)
    bone = _middle_bone(rig.obj)
    frames = sorted({rig.first, (rig.first + rig.last) // 2, rig.last})
    plain = rigs.shown(rig.scene, rig.obj, frames)
    builders["t"] = _turns(bone)
    stack_setup.ensure(rig.obj, rig.scene)
    turned = rigs.shown(rig.scene, rig.obj, frames)
    size = np.ptp(plain[rig.first][:, :3, 3], axis=0).max()
    for frame in frames:
        expected = _expected(rig.obj, plain[frame], bone, frame)
        assert np.abs(turned[frame] - expected)[:, :3, 3].max() < 1e-4 * size
        assert rigs.angles(turned[frame], expected).max() < 0.05
    stack_setup.drop(rig.obj)
    again = rigs.shown(rig.scene, rig.obj, frames)
    for frame in frames:
        assert np.abs(again[frame] - plain[frame]).max() < 1e-6 * max(size, 1.0)


@pytest.mark.blender_version
@pytest.mark.parametrize("name", or_own("Knight.glb", "01_01.bvh", "Fox.glb"))
def test_physics_follows_what_the_stack_gives(data_dir, builders, name):
    rig = rigs.load(data_dir / name, 20)
    bone = _middle_bone(rig.obj)
    plain = rigs.shown(rig.scene, rig.obj, (rig.last,))[rig.last]
    builders["t"] = _turns(bone)
    stack_setup.ensure(rig.obj, rig.scene)
    build.build(rig.obj, rig.scene)
    shown = rigs.play(rig.scene, rig.first, rig.last, lambda: rigs.pose(rig.obj))[-1]
    deviation = rigs.angles(shown, _expected(rig.obj, plain, bone))
    assert np.median(deviation) < 0.2 and deviation.max() < 3.0
    assert rigs.angles(shown, plain).max() > 25.0


def test_half_the_physics_blend_is_between_the_stack_and_the_bodies(fresh_scene, builders):
    """Not between the bodies and the character's own animation: at full weights nothing moves with the blend."""
    obj = rigs.swinging_human(fresh_scene, 1, 24)
    turn_spine(obj, builders)
    build.build(obj, fresh_scene)
    rigs.play(fresh_scene, 1, 24)
    full = rigs.pose(obj)
    obj.active_ragdoll.physics_blend = 0.5
    rigs.play(fresh_scene, 1, 24)
    assert rigs.angles(rigs.pose(obj), full).max() < 1.0


@pytest.mark.blender_version
@pytest.mark.parametrize("physics", (False, True))
def test_the_bake_is_what_was_shown_and_is_reverted(fresh_scene, builders, physics):
    obj = rigs.swinging_human(fresh_scene, 1, 20)
    before = rigs.animation(obj, (10,))[10]
    turn_spine(obj, builders)
    if physics:
        build.build(obj, fresh_scene)
        list(simulate.frames(fresh_scene))
    shown = rigs.shown(fresh_scene, obj, range(1, 21))
    list(bake.frames(obj, fresh_scene))
    assert obj.active_ragdoll.muted
    for frame, pose in rigs.shown(fresh_scene, obj, range(1, 21)).items():
        assert np.abs(pose - shown[frame])[:, :3, 3].max() < 1e-4 * 1.75
    bake.revert(obj)
    fresh_scene.frame_set(10)
    assert rigs.angles(rigs.pose(obj), _expected(obj, before, "spine")).max() < 1.0


def test_a_bake_without_physics_keys_only_what_the_stack_touched(fresh_scene, builders):

    obj = rigs.swinging_human(fresh_scene, 1, 20)
    turn_spine(obj, builders)

    def key_counts() -> dict:
        curves = rigs.curves_of(obj.animation_data.action)
        return {(curve.data_path, curve.array_index): len(curve.keyframe_points) for curve in curves}

    keys = key_counts()
    list(bake.frames(obj, fresh_scene))
    new = key_counts()
    different = {path.split('"')[1] for path, _i in {k for k in keys | new if keys.get(k) != new.get(k)}}
    assert different <= {"spine"}


@pytest.mark.blender_version
def test_nothing_is_left_behind(fresh_scene, builders):
    obj = rigs.swinging_human(fresh_scene, 1, 10)

    def inventory():
        return rigs.counts(), sum(len(bone.constraints) for bone in obj.pose.bones)

    before = inventory()
    turn_spine(obj, builders)
    stack_setup.drop(obj)
    assert inventory() == before
    stack_setup.ensure(obj, fresh_scene)
    build.build(obj, fresh_scene)
    remove.remove(obj, fresh_scene)
    assert obj.active_ragdoll.target_armature is not None
    fresh_scene.frame_set(5)
    plain = rigs.pose(obj)
    stack_setup.drop(obj)
    assert inventory() == before
    fresh_scene.frame_set(5)
    assert rigs.angles(rigs.pose(obj), plain).max() > 25.0
    stack_setup.ensure(obj, fresh_scene)
    build.build(obj, fresh_scene)
    stack_setup.drop(obj)
    remove.remove(obj, fresh_scene)
    assert inventory() == before


def test_refusals_name_the_object(fresh_scene):
    obj = rigs.human(fresh_scene)
    other = bpy.data.scenes.new("Other")
    with pytest.raises(RagdollError, match="Human"):
        stack_setup.ensure(obj, other)
    with pytest.raises(RagdollError, match="Box"):
        stack_setup.ensure(rigs.box(fresh_scene, "Box", (1, 1, 1), (0, 0, 0)), fresh_scene)


LAST = 12


@pytest.fixture
def shot(fresh_scene):
    """A swinging ragdoll in a running shot at frame 4, and a second character with a moving target to look at."""
    ragdoll = rigs.swinging_human(fresh_scene, 1, LAST)
    watcher = rigs.human(fresh_scene, "Watcher")
    watcher.location.x = 4.0
    target = rigs.empty(fresh_scene)
    rigs.set_range(fresh_scene, 1, LAST)
    rigs.key_locations(target, {1: (3.0, -3.0, 1.5), LAST: (5.5, -3.0, 1.7)})
    build.build(ragdoll, fresh_scene)
    rigs.step(fresh_scene, range(1, 5))
    return fresh_scene, ragdoll, watcher, target


def _goes_on(scene, frames) -> None:
    for frame in frames:
        scene.frame_set(frame)
        assert scene.name not in STATE.messages, STATE.messages[scene.name]
        assert STATE.runs[scene.name].frame == frame


@pytest.mark.blender_version
def test_a_stack_that_is_set_up_in_mid_shot_acts_from_the_next_frame_on(shot):
    scene, _ragdoll, watcher, target = shot
    stack_edits.set_up_look_at(watcher, scene, target)
    for frame in range(5, LAST + 1):
        _goes_on(scene, [frame])
        assert looking.aim_error(watcher, target) < 0.05


@pytest.mark.blender_version
def test_one_that_is_taken_away_in_mid_shot_shows_the_animation(shot):
    scene, _ragdoll, watcher, target = shot
    rest = rigs.pose(watcher)
    stack_edits.set_up_look_at(watcher, scene, target)
    _goes_on(scene, (5, 6))
    assert rigs.angles(rigs.pose(watcher), rest).max() > 1.0
    stack_setup.drop(watcher)
    _goes_on(scene, range(7, LAST + 1))
    assert rigs.angles(rigs.pose(watcher), rest).max() < 0.05


@pytest.mark.blender_version
def test_one_that_is_deleted_in_mid_shot_leaves_the_others_going(shot):
    scene, _ragdoll, watcher, target = shot
    stack_edits.set_up_look_at(watcher, scene, target)
    _goes_on(scene, (5, 6))
    bpy.data.objects.remove(watcher)
    _goes_on(scene, range(7, LAST + 1))
