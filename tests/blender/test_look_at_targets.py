"""Where targets are read: at the frame that is about to be shown, however they are moved."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix

import looking
import rigs
from active_ragdoll.core.blender import look_at_setup, motion, motion_lists

FRAMES = range(1, 25)


@pytest.fixture
def human(fresh_scene):
    """A human in motion with a chain of head and spine; no target yet."""
    obj = rigs.swinging_human(fresh_scene, 1, 24)
    motion_lists.add(obj, fresh_scene, "look_at")
    for bone in ("head", "spine"):
        entry = motion_lists.add(obj, fresh_scene, "entries", bone)
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
    assert not motion.of(obj).messages
    motion.forget()
    for frame, pose in looking.shown(rig, (17, 4, 21)).items():
        assert np.abs(pose - played[frame]).max() < 1e-5, frame


def test_keyed(human, fresh_scene):
    target = human.active_ragdoll.look_at[0].target = empty(fresh_scene)
    key_sideways(target)
    check(human, target)


def test_child_of_a_keyed_object(human, fresh_scene):
    above = empty(fresh_scene, "Above", (0.0, 0.0, 0.0))
    key_sideways(above)
    target = empty(fresh_scene)
    target.parent = above
    human.active_ragdoll.look_at[0].target = target
    check(human, target)


def test_driven(human, fresh_scene):
    target = empty(fresh_scene)
    target.driver_add("location", 0).driver.expression = "sin(frame * 0.3)"
    human.active_ragdoll.look_at[0].target = target
    check(human, target)


def test_constrained_to_a_keyed_object(human, fresh_scene):
    other = empty(fresh_scene, "Other", (0.0, -3.0, 1.6))
    key_sideways(other)
    target = empty(fresh_scene)
    target.constraints.new("COPY_LOCATION").target = other
    human.active_ragdoll.look_at[0].target = target
    check(human, target)


def test_bone_of_another_animated_armature(human, fresh_scene):
    other = rigs.human(fresh_scene, "Other")
    other.location = (0.4, -2.5, 0.0)
    rigs.swing(other, 1, 24)
    chain = human.active_ragdoll.look_at[0]
    chain.target, chain.target_bone = other, "forearm.L"
    rig = rigs.Rig(human, fresh_scene, 1, 24)
    row = other.data.bones.find("forearm.L")
    for frame in FRAMES:
        rig.scene.frame_set(frame)
        place, ahead = looking.sight(human, chain)
        wanted = rigs.pose(other)[row][:3, 3] - place
        assert np.degrees(np.arccos(min(ahead @ wanted / np.linalg.norm(wanted), 1.0))) < 0.05
    assert not motion.of(human).messages


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
    look_at_setup.setup(other, fresh_scene, point)
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
        motion_lists.add(obj, fresh_scene, "look_at")
        for bone in ("head", "spine"):
            motion_lists.add(obj, fresh_scene, "entries", bone).limit = 1.2
        chain = obj.active_ragdoll.look_at[0]
        chain.target, chain.target_bone = other, "head"
    order = [o.name for o in motion.motions(fresh_scene)]
    later = {"A": first, "B": second}[order[1]]
    earlier = first if later is second else second
    row = earlier.data.bones.find("head")
    played = {}
    for frame in FRAMES:
        fresh_scene.frame_set(frame)
        chain = later.active_ragdoll.look_at[0]
        place, ahead = looking.sight(later, chain)
        wanted = rigs.pose(earlier)[row][:3, 3] - place
        assert np.degrees(np.arccos(np.clip(ahead @ wanted / np.linalg.norm(wanted), -1, 1))) < 0.05
        played[frame] = rigs.pose(first), rigs.pose(second)
    motion.forget()
    for frame in (20, 3, 11):
        fresh_scene.frame_set(frame)
        for pose, before in zip((rigs.pose(first), rigs.pose(second)), played[frame], strict=True):
            assert np.abs(pose - before).max() < 1e-5


def test_a_point_keyed(human, fresh_scene):
    chain = human.active_ragdoll.look_at[0]
    chain.target_type = "POINT"
    for frame in FRAMES:
        chain.target_point = (np.sin(0.3 * frame), -3.0, 1.6)
        human.keyframe_insert("active_ragdoll.look_at[0].target_point", frame=frame)
    for frame in FRAMES:
        fresh_scene.frame_set(frame)
        place, ahead = looking.sight(human, chain)
        wanted = np.array((np.sin(0.3 * frame), -3.0, 1.6)) - place
        assert np.degrees(np.arccos(np.clip(ahead @ wanted / np.linalg.norm(wanted), -1, 1))) < 0.05


def test_own_bone_stands_as_it_comes_in(human, fresh_scene):
    """Looking at one's own hand: at where the arm is before the look turns the spine."""
    chain = human.active_ragdoll.look_at[0]
    chain.target, chain.target_bone = human, "forearm.L"
    chain.entries.remove(1)
    chain.entries[0].limit = np.pi
    for frame in (3, 12):
        fresh_scene.frame_set(frame)
        place, ahead = looking.sight(human, chain)
        wanted = rigs.pose(human)[human.data.bones.find("forearm.L")][:3, 3] - place
        assert np.degrees(np.arccos(min(ahead @ wanted / np.linalg.norm(wanted), 1.0))) < 0.05


def test_a_rigid_body_is_read_from_the_last_step_and_jumps_show_what_was_played(human, fresh_scene):
    ball = rigs.box(fresh_scene, "Ball", (0.1, 0.1, 0.1), (0.3, -2.0, 2.5))
    human.active_ragdoll.look_at[0].target = ball
    played = {}
    before = None
    for frame in FRAMES:
        fresh_scene.frame_set(frame)
        if before is not None:
            place, ahead = looking.sight(human, human.active_ragdoll.look_at[0])
            wanted = before - place
            assert np.degrees(np.arccos(np.clip(ahead @ wanted / np.linalg.norm(wanted), -1, 1))) < 0.06
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
    motion_lists.remove(human, "look_at")
    before = rigs.counts()
    motion_lists.add(human, fresh_scene, "look_at")
    motion_lists.add(human, fresh_scene, "entries", "head")
    target = empty(fresh_scene)
    key_sideways(target)
    target.parent, target.parent_type, target.parent_bone = human, "BONE", "arm.L"
    human.active_ragdoll.look_at[0].target = target
    fresh_scene.frame_set(3)
    assert not motion.of(human).messages
    motion_lists.remove(human, "look_at")
    action = target.animation_data.action
    bpy.data.objects.remove(target)
    bpy.data.actions.remove(action)
    assert rigs.counts() == before
