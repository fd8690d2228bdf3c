"""Edits by hand while a look-at works, and where it reads targets: at the frame to be shown, however they are moved."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix

import looking
import rigs
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import pose_stack, stack_edits

pytestmark = pytest.mark.blender_version


@pytest.fixture
def human(fresh_scene):
    """A human that looks at an Empty to its side; nothing is keyed."""
    obj = looking.to_its_side(fresh_scene, rigs.human(fresh_scene))
    fresh_scene.frame_set(5)
    rigs.update()
    return obj


def aim(obj):
    return looking.aim_error(obj, bpy.data.objects["Target"])


def test_a_bone_posed_by_hand_is_shown_at_once_and_on_other_frames(human, fresh_scene):
    before, angle = rigs.bone(human, "forearm.L"), np.radians(40.0)
    human.pose.bones["forearm.L"].rotation_quaternion = (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2))
    rigs.update()
    assert rigs.angles(rigs.bone(human, "forearm.L"), before) == pytest.approx(40.0, abs=1e-3)
    for frame in (6, 1, 2):
        fresh_scene.frame_set(frame)
        assert rigs.angles(rigs.bone(human, "forearm.L"), before) == pytest.approx(40.0, abs=1e-3)
    assert aim(human) < 0.05


def test_a_character_moved_turned_and_scaled_by_hand_aims_from_where_it_stands(human, fresh_scene):
    edits = ("location", (1.0, 1.0, 0.3)), ("rotation_euler", (0.2, -0.1, 0.5)), ("scale", (2.0, 2.0, 2.0))
    for frame, (name, value) in enumerate(edits, 5):
        setattr(human, name, value)
        rigs.update()
        assert aim(human) < 0.05, name
        fresh_scene.frame_set(frame)
        assert aim(human) < 0.05, name


def test_a_bone_scaled_to_nothing_to_hide_it_stops_nobody(human, fresh_scene):
    bone = "spine"
    human.pose.bones[bone].scale = (0.0, 0.0, 0.0)
    for frame in (1, 6, 7):
        fresh_scene.frame_set(frame)
        assert fresh_scene.name not in STATE.messages
        assert not pose_stack.of(human).messages
    after, below = rigs.pose(human), [bone, *(child.name for child in human.data.bones[bone].children_recursive)]
    assert np.isfinite(after).all()
    size = np.linalg.norm(after[:, :3, :3], axis=1).max(axis=1)
    for row, found in enumerate(human.data.bones):
        assert size[row] == pytest.approx(0.0 if found.name in below else 1.0, abs=1e-3), found.name


FRAMES = range(1, 25)


@pytest.fixture
def chained(fresh_scene):
    """A human in motion with a chain of head and spine; no target yet."""
    obj = rigs.swinging_human(fresh_scene, 1, 24)
    add_chain(obj)
    return obj


def add_chain(obj) -> None:
    stack_edits.add(obj, bpy.context.scene, "look_at")
    for bone in ("head", "spine"):
        stack_edits.add(obj, bpy.context.scene, "entries", bone).limit = 1.2


def check(obj, target):
    """It aims at every frame, and at the same pose after jumps without what was recorded."""
    played = {}
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        assert looking.aim_error(obj, target) < 0.05, frame
        played[frame] = rigs.pose(obj)
    assert not pose_stack.of(obj).messages
    looking.scrubs_as_played(bpy.context.scene, obj, played, (17, 4, 21), 1e-5)


def test_child_of_another_armatures_bone(chained, fresh_scene):
    """The other's arm is below nothing that a look of its own turns, so both orders must give the same."""
    other = rigs.human(fresh_scene, "Other")
    other.location = (0.4, -2.5, 0.0)
    rigs.swing(other, 1, 24)
    stack_edits.set_up_look_at(other, fresh_scene, rigs.empty(fresh_scene, "Point", (0.0, 2.0, 1.0)))
    for entry in list(other.active_ragdoll.look_at[0].entries)[1:]:
        entry.limit = 0.0
    target = rigs.empty(fresh_scene)
    rigs.key(target, "location", {frame: (0.2 * np.sin(0.3 * frame), 0.1, 0.0) for frame in FRAMES})
    target.parent, target.parent_type, target.parent_bone = other, "BONE", "forearm.L"
    target.matrix_parent_inverse = Matrix.Rotation(0.3, 4, "X")
    chained.active_ragdoll.look_at[0].target = target
    check(chained, target)


def test_a_character_earlier_in_the_scene_is_seen_with_its_stack_done(fresh_scene):
    first = rigs.swinging_human(fresh_scene, 1, 24)
    first.name = "A"
    second = rigs.human(fresh_scene, "B")
    second.location = (0.0, -2.5, 0.0)
    second.rotation_euler.z = np.pi
    for obj, other in ((first, second), (second, first)):
        add_chain(obj)
        chain = obj.active_ragdoll.look_at[0]
        chain.target, chain.target_bone = other, "head"
    earlier, later = pose_stack.characters(fresh_scene)
    played = {}, {}
    for frame in FRAMES:
        fresh_scene.frame_set(frame)
        assert looking.off(later, rigs.bone(earlier, "head")[:3, 3]) < 0.05
        for obj, poses in zip((first, second), played, strict=True):
            poses[frame] = rigs.pose(obj)
    for obj, poses in zip((first, second), played, strict=True):
        looking.scrubs_as_played(fresh_scene, obj, poses, (20, 3, 11), 1e-5)


def test_a_rigid_body_is_read_from_the_last_step_and_jumps_show_what_was_played(chained, fresh_scene):
    ball = rigs.box(fresh_scene, "Ball", (0.1, 0.1, 0.1), (0.3, -2.0, 2.5))
    chained.active_ragdoll.look_at[0].target = ball
    played, before = {}, None
    for frame in FRAMES:
        fresh_scene.frame_set(frame)
        if before is not None:
            assert looking.off(chained, before) < 0.06
        before = rigs.matrices([ball])[0][:3, 3]
        played[frame] = rigs.pose(chained)
    assert before[2] < 2.0, "the ball does not fall: nothing is tested"
    rigs.check_shown(fresh_scene, chained, played, (20, 5, 13), 1e-5)
