"""The motion stack in Blender: shown, before physics, beside a shot, baked, taken away; its limbs, order and panels."""

from types import SimpleNamespace

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
from active_ragdoll.core.blender.stack import entries, pose_stack, stack_edits
from active_ragdoll.core.blender.tools import viewport
from active_ragdoll.core.pose import affine
from active_ragdoll.core.ragdoll.overlay import TARGET
from active_ragdoll.panels import overlay

pytestmark = pytest.mark.blender_version
TURN = np.radians(30.0)


def turn(obj, bone="spine") -> None:
    """Let an entry of the stack turn a bone about the armature's X axis."""
    item = stack_edits.add(obj, bpy.context.scene, "bone_transforms", bone)
    item.translation_mode, item.rotation_mode, item.rotation_space = "IGNORE", "ADD", "COMPONENT"
    item.rotation = (TURN, 0.0, 0.0)


def _expected(obj, plain, name):
    """The world matrices with a bone and all below it turned about the armature's X axis through the bone's head."""
    names = [bone.name for bone in obj.pose.bones]
    below = [names.index(name)] + [names.index(b.name) for b in obj.data.bones[name].children_recursive]
    world = np.array(obj.matrix_world)
    local = np.linalg.inv(world) @ plain
    turn = affine(quaternion.to_matrix(np.array([np.cos(TURN / 2), np.sin(TURN / 2), 0.0, 0.0])))
    place = affine(np.eye(3), local[below[0], :3, 3])
    local[below] = place @ turn @ np.linalg.inv(place) @ local[below]
    return world @ local


def test_the_bake_is_what_was_shown_and_is_reverted(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 20)
    before = rigs.animation(obj, (10,))[10]
    turn(obj)
    build.build(obj, fresh_scene)
    list(simulate.frames(fresh_scene))
    shown = rigs.shown(fresh_scene, obj, range(1, 21))
    list(bake.bake_frames(obj, fresh_scene))
    assert obj.active_ragdoll.muted
    for frame, pose in rigs.shown(fresh_scene, obj, range(1, 21)).items():
        assert np.abs(pose - shown[frame])[:, :3, 3].max() < 1e-4 * 1.75
    bake.revert(obj)
    fresh_scene.frame_set(10)
    assert rigs.angles(rigs.pose(obj), _expected(obj, before, "spine")).max() < 1.0


def test_nothing_is_left_behind(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 10)

    def inventory():
        return rigs.counts(), sum(len(bone.constraints) for bone in obj.pose.bones)

    before = inventory()
    turn(obj)
    stack_edits.drop(obj)
    assert inventory() == before
    stack_edits.ensure(obj, fresh_scene)
    build.build(obj, fresh_scene)
    remove.remove(obj, fresh_scene)
    assert obj.active_ragdoll.target_armature is not None
    fresh_scene.frame_set(5)
    plain = rigs.pose(obj)
    stack_edits.drop(obj)
    assert inventory() == before
    fresh_scene.frame_set(5)
    assert rigs.angles(rigs.pose(obj), plain).max() > 25.0


LAST = 12


def _goes_on(scene, frames) -> None:
    for frame in frames:
        scene.frame_set(frame)
        assert scene.name not in STATE.messages, STATE.messages[scene.name]
        assert STATE.runs[scene.name].frame == frame


@pytest.mark.parametrize("deleted", (False, True))
def test_a_stack_that_comes_and_goes_in_mid_shot_acts_and_leaves_the_others_going(scene, deleted):
    """Beside a swinging ragdoll in a running shot at frame 4 is a second character with a moving target to look at."""
    ragdoll, watcher, target = rigs.swinging_human(scene, 1, LAST), rigs.human(scene, "Watcher"), rigs.empty(scene)
    watcher.location.x = 4.0
    rigs.set_range(scene, 1, LAST)
    rigs.key_locations(target, {1: (3.0, -3.0, 1.5), LAST: (5.5, -3.0, 1.7)})
    build.build(ragdoll, scene)
    rigs.step(scene, range(1, 5))
    rest = rigs.pose(watcher)
    stack_edits.set_up_look_at(watcher, scene, target)
    for frame in (5, 6):
        _goes_on(scene, (frame,))
        assert looking.aim_error(watcher, target) < 0.05
    assert rigs.angles(rigs.pose(watcher), rest).max() > 1.0
    if deleted:
        bpy.data.objects.remove(watcher)
    else:
        stack_edits.drop(watcher)
    _goes_on(scene, range(7, LAST + 1))
    assert deleted or rigs.angles(rigs.pose(watcher), rest).max() < 0.05


HANDS = {"Knight.glb": "wrist.l", "metarig human": "hand.L"}


@pytest.mark.parametrize("name", HANDS)
def test_stretching_is_shown_on_connected_bones_too(data_dir, name):
    """Without physics, baked, and with a ragdoll."""
    rig = looking.character(name, data_dir, 2)
    obj, scene = rig.obj, rig.scene
    hand = obj.data.bones[HANDS[name]]
    chain = [bone.name for bone in (hand.parent.parent, hand.parent, hand)]

    def places():
        root, elbow, end = (rigs.bone(obj, bone)[:3, 3] for bone in chain)
        return root, end, np.array([np.linalg.norm(elbow - root), np.linalg.norm(end - elbow)])

    def graph():
        return bpy.context.view_layer.depsgraph

    size = obj.evaluated_get(graph()).pose.bones[hand.name].matrix.to_scale()
    root, _end, before = places()
    item = stack_edits.add(obj, scene, "two_bone_ik", hand.name)
    item.allow_stretching, item.start_stretch_ratio, item.max_stretch_scale = True, 0.8, 1.5
    for ratio in (0.9, 1.3):
        goal = root + ratio * before.sum() * np.array((0.6, -0.8, 0.0))
        item.effector_location = goal
        scene.frame_set(rig.first)
        root, end, after = places()
        factor = 1.0 + 0.5 * (ratio - 0.8) / 0.7
        assert after / before == pytest.approx(factor, abs=1e-5)
        beyond = max(ratio - factor, 0.0) * before.sum()  # what is in reach, grown or not, is reached
        assert np.linalg.norm(end - goal) == pytest.approx(beyond, abs=1e-4 * sum(before))
        assert np.allclose(obj.evaluated_get(graph()).pose.bones[hand.name].matrix.to_scale(), size, rtol=1e-5)
    assert not pose_stack.of(obj).messages
    shown, tolerance = {rig.first: rigs.pose(obj)}, 1e-5 * looking.size_of(obj)
    list(bake.bake_frames(obj, scene))
    rigs.check_shown(scene, obj, shown, [rig.first], tolerance)
    bake.revert(obj)
    for obj.active_ragdoll.stretch in (False, True):
        build.build(obj, scene)
        rigs.check_shown(scene, obj, shown, [rig.first], tolerance)


def test_a_connected_bone_cannot_be_moved_and_says_so(data_dir):
    rig = looking.character("metarig human", data_dir, 2)
    obj = rig.obj
    item = stack_edits.add(obj, rig.scene, "bone_transforms", "forearm.L")
    assert item.translation_mode == "IGNORE"
    item.rotation_space, item.rotation = "BONE", (0.5, 0.0, 0.0)
    item.translation_mode, item.translation = "ADD", (0.1, 0.0, 0.0)
    item.enabled = False
    rig.scene.frame_set(2)
    row, before = obj.data.bones.find("forearm.L"), rigs.pose(obj)
    item.enabled = True
    rig.scene.frame_set(2)
    after = rigs.pose(obj)
    assert np.abs(after[row, :3, 3] - before[row, :3, 3]).max() < 1e-6
    assert rigs.angles(after[row], before[row]) == pytest.approx(np.degrees(0.5), abs=1e-3)
    assert list(pose_stack.of(obj).messages.values()) == [
        'Transform bone 1: it cannot move, as "forearm.L" is connected to the parent (Bone > Relations > Connected)'
    ]


def test_the_order_can_be_changed(fresh_scene):
    """An IK before a turn of the shoulder misses its effector, after it, it does not."""
    human = rigs.swinging_human(fresh_scene, 1, 30)
    stack_edits.add(human, fresh_scene, "two_bone_ik", "finger.L").effector_location = (0.5, -0.2, 1.3)
    turn = stack_edits.add(human, fresh_scene, "bone_transforms", "arm.L")
    turn.rotation_space, turn.rotation = "COMPONENT", (0.0, 0.8, 0.0)
    fresh_scene.frame_set(5)
    assert np.linalg.norm(rigs.bone(human, "finger.L")[:3, 3] - np.array((0.5, -0.2, 1.3))) < 1e-5
    assert bpy.ops.active_ragdoll.motion_order(kind="TWO_BONE_IK", direction="UP") == {"FINISHED"}
    assert entries.order_of(human).index("TWO_BONE_IK") < entries.order_of(human).index("BONE_TRANSFORMS")
    fresh_scene.frame_set(5)
    assert np.linalg.norm(rigs.bone(human, "finger.L")[:3, 3] - np.array((0.5, -0.2, 1.3))) > 0.05
    assert bpy.ops.active_ragdoll.motion_order(kind="TWO_BONE_IK", direction="DOWN") == {"FINISHED"}
    assert len(human.active_ragdoll.motion_order) == 0 and entries.order_of(human) == entries.movable()


def test_the_overlay_draws_targets_forwards_and_cones(data_dir):
    rig, target, _plain = looking.set_up("Knight.glb", data_dir)
    obj = rig.obj
    rig.scene.frame_set(rig.first + 6)
    lines = viewport.look_at_chains(obj, bpy.context.view_layer.depsgraph)
    assert lines.ends.dtype == lines.colors.dtype == np.float32, "the GPU's buffers take the bytes as they are"
    place, _ahead = looking.sight(obj, obj.active_ragdoll.look_at[0])
    red = lines.ends[np.isclose(lines.colors, TARGET).all(axis=1)]
    assert np.array_equal(lines.emphasised, np.isclose(lines.colors, TARGET).all(axis=1))
    assert np.abs(red[0] - (place, rigs.matrices([target])[0][:3, 3])).max() < 1e-5 * looking.size_of(obj)
    assert len(red) == len(obj.active_ragdoll.look_at[0].entries)
    context = SimpleNamespace(
        scene=rig.scene, view_layer=bpy.context.view_layer, selected_objects=[obj], object=obj, window_manager=None
    )
    assert any(len(drawn.ends) == len(lines.ends) for drawn in overlay.collected(context))
    rig.scene.active_ragdoll_overlay.look_at = False
    assert not overlay.collected(context)
