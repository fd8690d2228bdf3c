"""Where targets are read: at the frame that is about to be shown, however they are moved."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix

import looking
import rigs
from active_ragdoll.core.blender.stack import pose_stack, stack_edits

pytestmark = pytest.mark.blender_version

FRAMES = range(1, 25)


@pytest.fixture
def human(fresh_scene):
    """A human in motion with a chain of head and spine; no target yet."""
    obj = rigs.swinging_human(fresh_scene, 1, 24)
    stack_edits.add(obj, fresh_scene, "look_at")
    for bone in ("head", "spine"):
        entry = stack_edits.add(obj, fresh_scene, "entries", bone)
        entry.limit = 1.2
    return obj


def empty(scene, name="Target", location=(0.0, -3.0, 1.6)):
    obj = bpy.data.objects.new(name, None)
    scene.collection.objects.link(obj)
    obj.location = location
    return obj


def key_sideways(obj):
    for frame in FRAMES:
        obj.location.x = 1.5 * np.sin(0.3 * frame)
        obj.keyframe_insert("location", frame=frame)


def check(obj, target, frames=FRAMES, error=0.05):
    """It aims at every frame, and at the same pose after jumps without what was recorded."""
    rig = rigs.Rig(obj, bpy.context.scene, 1, 24)
    played = {}
    for frame in frames:
        rig.scene.frame_set(frame)
        assert looking.aim_error(obj, target) < error, frame
        played[frame] = rigs.pose(obj)
    assert not pose_stack.of(obj).messages
    pose_stack.forget()
    for frame, pose in looking.shown(rig, (17, 4, 21)).items():
        assert np.abs(pose - played[frame]).max() < 1e-5, frame


def _child(scene):
    above = empty(scene, "Above", (0.0, 0.0, 0.0))
    key_sideways(above)
    target = empty(scene)
    target.parent = above
    return target


def _keyed(scene):
    target = empty(scene)
    key_sideways(target)
    return target


def _driven(scene):
    target = empty(scene)
    target.driver_add("location", 0).driver.expression = "sin(frame * 0.3)"
    return target


def _constrained(scene):
    target = empty(scene)
    target.constraints.new("COPY_LOCATION").target = _keyed(scene)
    return target


@pytest.mark.parametrize("make", (_keyed, _child, _driven, _constrained))
def test_moved_by(human, fresh_scene, make):
    target = human.active_ragdoll.look_at[0].target = make(fresh_scene)
    check(human, target)


def off(obj, place) -> float:
    """Angle [deg] between where a character looks and a place [3]."""
    eye, ahead = looking.sight(obj, obj.active_ragdoll.look_at[0])
    wanted = place - eye
    return float(np.degrees(np.arccos(np.clip(ahead @ wanted / np.linalg.norm(wanted), -1.0, 1.0))))


def joint(obj, bone):
    return rigs.pose(obj)[obj.data.bones.find(bone)][:3, 3]


def test_bone_of_another_animated_armature(human, fresh_scene):
    other = rigs.human(fresh_scene, "Other")
    other.location = (0.4, -2.5, 0.0)
    rigs.swing(other, 1, 24)
    chain = human.active_ragdoll.look_at[0]
    chain.target, chain.target_bone = other, "forearm.L"
    for frame in FRAMES:
        fresh_scene.frame_set(frame)
        assert off(human, joint(other, "forearm.L")) < 0.05
    assert not pose_stack.of(human).messages


@pytest.mark.parametrize("own_keys", (False, True))
def test_child_of_another_armatures_bone(human, fresh_scene, own_keys):
    other = rigs.human(fresh_scene, "Other")
    other.location = (0.4, -2.5, 0.0)
    rigs.swing(other, 1, 24)
    target = empty(fresh_scene, location=(0.0, 0.1, 0.0))
    if own_keys:
        key_sideways(target)
    target.parent, target.parent_type, target.parent_bone = other, "BONE", "arm.L"
    human.active_ragdoll.look_at[0].target = target
    check(human, target)


@pytest.mark.parametrize("own_keys", (False, True))
def test_child_of_a_bone_of_a_character_that_looks_too(human, fresh_scene, own_keys):
    """The other's arm is below nothing that its own look turns, so both orders must give the same."""
    other = rigs.human(fresh_scene, "Other")
    other.location = (0.4, -2.5, 0.0)
    rigs.swing(other, 1, 24)
    point = empty(fresh_scene, "Point", (0.0, 2.0, 1.0))
    stack_edits.set_up_look_at(other, fresh_scene, point)
    for entry in list(other.active_ragdoll.look_at[0].entries)[1:]:
        entry.limit = 0.0
    target = empty(fresh_scene, location=(0.0, 0.1, 0.0))
    if own_keys:
        for frame in FRAMES:
            target.location.x = 0.2 * np.sin(0.3 * frame)
            target.keyframe_insert("location", frame=frame)
    target.parent, target.parent_type, target.parent_bone = other, "BONE", "forearm.L"
    target.matrix_parent_inverse = Matrix.Rotation(0.3, 4, "X")
    human.active_ragdoll.look_at[0].target = target
    check(human, target)


def test_a_character_earlier_in_the_scene_is_seen_with_its_stack_done(fresh_scene):
    first = rigs.swinging_human(fresh_scene, 1, 24)
    first.name = "A"
    second = rigs.human(fresh_scene, "B")
    second.location = (0.0, -2.5, 0.0)
    second.rotation_euler.z = np.pi
    for obj, other in ((first, second), (second, first)):
        stack_edits.add(obj, fresh_scene, "look_at")
        for bone in ("head", "spine"):
            stack_edits.add(obj, fresh_scene, "entries", bone).limit = 1.2
        chain = obj.active_ragdoll.look_at[0]
        chain.target, chain.target_bone = other, "head"
    order = [o.name for o in pose_stack.characters(fresh_scene)]
    later = {"A": first, "B": second}[order[1]]
    earlier = first if later is second else second
    played = {}
    for frame in FRAMES:
        fresh_scene.frame_set(frame)
        assert off(later, joint(earlier, "head")) < 0.05
        played[frame] = rigs.pose(first), rigs.pose(second)
    pose_stack.forget()
    for frame in (20, 3, 11):
        fresh_scene.frame_set(frame)
        for pose, before in zip((rigs.pose(first), rigs.pose(second)), played[frame], strict=True):
            assert np.abs(pose - before).max() < 1e-5


def test_a_point_keyed(human, fresh_scene):
    chain = human.active_ragdoll.look_at[0]
    chain.target_type = "POINT"
    places = {frame: (np.sin(0.3 * frame), -3.0, 1.6) for frame in FRAMES}
    rigs.key(human, "active_ragdoll.look_at[0].target_point", places)
    for frame, place in places.items():
        fresh_scene.frame_set(frame)
        assert off(human, np.array(place)) < 0.05


def test_own_bone_stands_as_it_comes_in(human, fresh_scene):
    """Looking at one's own hand: at where the arm is before the look turns the spine."""
    chain = human.active_ragdoll.look_at[0]
    chain.target, chain.target_bone = human, "forearm.L"
    chain.entries.remove(1)
    chain.entries[0].limit = np.pi
    for frame in (3, 12):
        fresh_scene.frame_set(frame)
        assert off(human, joint(human, "forearm.L")) < 0.05


def test_a_rigid_body_is_read_from_the_last_step_and_jumps_show_what_was_played(human, fresh_scene):
    ball = rigs.box(fresh_scene, "Ball", (0.1, 0.1, 0.1), (0.3, -2.0, 2.5))
    human.active_ragdoll.look_at[0].target = ball
    played = {}
    before = None
    for frame in FRAMES:
        fresh_scene.frame_set(frame)
        if before is not None:
            assert off(human, before) < 0.06
        before = rigs.matrices([ball])[0][:3, 3]
        played[frame] = rigs.pose(human)
    assert before[2] < 2.0, "the ball does not fall: nothing is tested"
    for frame in (20, 5, 13):
        fresh_scene.frame_set(frame)
        assert np.abs(rigs.pose(human) - played[frame]).max() < 1e-5


def test_moving_a_target_by_hand_shows_at_once(human, fresh_scene):
    target = human.active_ragdoll.look_at[0].target = empty(fresh_scene)
    fresh_scene.frame_set(5)
    target.location = (1.0, -2.0, 1.4)
    view_layer = bpy.context.view_layer
    view_layer.update()
    view_layer.update()
    assert looking.aim_error(human, target) < 0.05


def test_readers_made_for_targets_go_with_the_stack(human, fresh_scene):
    stack_edits.remove(human, "look_at")
    before = rigs.counts()
    stack_edits.add(human, fresh_scene, "look_at")
    stack_edits.add(human, fresh_scene, "entries", "head")
    target = empty(fresh_scene)
    key_sideways(target)
    target.parent, target.parent_type, target.parent_bone = human, "BONE", "arm.L"
    human.active_ragdoll.look_at[0].target = target
    fresh_scene.frame_set(3)
    assert not pose_stack.of(human).messages
    stack_edits.remove(human, "look_at")
    action = target.animation_data.action
    bpy.data.objects.remove(target)
    bpy.data.actions.remove(action)
    assert rigs.counts() == before
