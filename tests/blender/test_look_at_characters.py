"""Real characters look at a moving target with planted feet: shown, scrubbed, baked, rendered, and under physics."""

import bpy
import numpy as np
import pytest

import looking
import renders
import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.stack import pose_stack, stack_edits

AIM = 0.05  # [deg]
PLANTED = 1e-4  # leg lengths


@pytest.mark.parametrize("name", looking.REAL)
def test_it_looks_with_planted_feet_scrubs_and_bakes(data_dir, name):
    rig, target, plain = looking.set_up(name, data_dir)
    obj, frames = rig.obj, range(rig.first, rig.last + 1)
    assert len(obj.active_ragdoll.look_at[0].entries) >= 3
    assert len(obj.active_ragdoll.leg_stabilizers) == looking.REAL[name]
    played = {}
    for frame in frames:
        rig.scene.frame_set(frame)
        played[frame] = rigs.pose(obj)
        assert looking.aim_error(obj, target) < AIM
        moved, turned = looking.foot_errors(obj, played[frame], plain[frame])
        assert moved < PLANTED and turned < 0.01
    assert not pose_stack.of(obj).messages
    assert max(rigs.angles(played[f], plain[f]).max() for f in frames) > 15.0

    order = np.random.default_rng(1).permutation(list(frames))[:8].tolist()
    looking.scrubs_as_played(rig.scene, obj, played, order)

    list(bake.frames(obj, rig.scene))
    size = looking.size_of(obj)
    for frame, pose in looking.shown(rig, list(frames)[::5]).items():
        assert np.abs(pose - played[frame])[:, :3, 3].max() < 1e-5 * size
        assert rigs.angles(pose, played[frame]).max() < 0.02


@pytest.mark.blender_version
def test_a_final_render_shows_the_look(data_dir, tmp_path):
    rig, target, _plain = looking.set_up("metarig human", data_dir)
    renders.prepare(rig.scene, tmp_path / "still.png")
    frame = rig.first + 9
    shown = looking.shown(rig, (frame,))[frame]
    pose_stack.forget()
    rig.scene.frame_set(rig.first)
    assert np.abs(renders.poses(rig.scene, rig.obj, (frame,))[frame] - shown).max() < 1e-5
    assert looking.aim_error(rig.obj, target) < AIM


# Of the leg's length, and degrees: what the drives leave of a pose that moves; 1e-4 and 0.01 without physics.
HELD, HELD_ANGLE = 1e-3, 0.5


def crouch_and_turn(obj, scene):
    """Let the hips sink, feet held, so that knees have room; and turn too, with little left to the bones above."""
    chain = obj.active_ragdoll.look_at[0]
    for entry in chain.entries:
        entry.limit *= 0.2
    hips = obj.data.bones[chain.entries[-1].bone].parent.name
    entry = stack_edits.add(obj, scene, "entries", hips)
    entry.limit, entry.rotate_around_up_weight = 0.25, 0.7
    sink = stack_edits.add(obj, scene, "bone_transforms", hips)
    sink.translation_mode, sink.translation_space, sink.rotation_mode = "ADD", "WORLD", "IGNORE"
    sink.translation = (0.0, 0.0, -0.04 * looking.size_of(obj))
    sink.marks_reference = True


@pytest.mark.parametrize("name", ("Knight.glb", "metarig human", "mh_mixamo.blend"))
def test_feet_stay_planted_while_the_ragdoll_is_active(data_dir, name):
    rig, _target, plain = looking.set_up(name, data_dir, 36)
    obj, scene = rig.obj, rig.scene
    crouch_and_turn(obj, scene)
    widest = rig.first + (rig.last - rig.first) // 4
    scene.frame_set(widest)
    pelvis = obj.data.bones.find(obj.active_ragdoll.look_at[0].entries[-1].bone)
    assert rigs.angles(rigs.pose(obj)[pelvis], plain[widest][pelvis]) > 5.0, "nothing turns above the legs"
    build.build(obj, scene)
    for frame in range(rig.first, rig.last + 1):
        scene.frame_set(frame)
        if frame >= rig.first + 8:
            moved, turned = looking.foot_errors(obj, rigs.pose(obj), plain[frame])
            assert moved < HELD and turned < HELD_ANGLE
    assert obj.active_ragdoll.run_state == "LIVE"
    assert not pose_stack.of(obj).messages


def test_a_character_knocked_out_lets_its_feet_go(fresh_scene):
    """The stack's pose has the feet planted until the fall, and where the hips take them from then on."""
    obj = rigs.swinging_human(fresh_scene, 1, 30)
    plain = rigs.animation(obj, range(1, 31))
    rigs.empty(fresh_scene, "Target", (2.0, -0.5, 0.4))
    bpy.ops.active_ragdoll.setup_look_at(target="Target")
    crouch_and_turn(obj, fresh_scene)
    rigs.box(fresh_scene, "Floor", (20, 20, 1), (0, 0, -0.55), passive=True)
    for leg in obj.active_ragdoll.leg_stabilizers:
        leg.off_while_limp = True
    assert bpy.ops.active_ragdoll.build() == {"FINISHED"}
    assert bpy.ops.active_ragdoll.setup_recovery() == {"FINISHED"}
    fresh_scene.frame_set(12)
    assert bpy.ops.active_ragdoll.add_recovery_event() == {"FINISHED"}
    obj.active_ragdoll.recovery.events[0].phase = "LIMP"
    ghost = obj.active_ragdoll.target_armature
    planted = {}
    for frame in range(1, 26):
        fresh_scene.frame_set(frame)
        planted[frame] = looking.foot_errors(obj, rigs.pose(ghost), plain[frame])[0]
    assert max(planted[frame] for frame in range(1, 12)) < 1e-4
    assert min(planted[frame] for frame in range(14, 26)) > 0.02
    # A jump shows what was played.
    played = rigs.pose(ghost)
    fresh_scene.frame_set(8)
    assert looking.foot_errors(obj, rigs.pose(ghost), plain[8])[0] < 1e-4
    fresh_scene.frame_set(25)
    assert np.abs(rigs.pose(ghost) - played).max() < 1e-5


def test_a_head_and_a_gun_arm_aim_at_targets_of_their_own(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 24)
    at = rigs.empty(fresh_scene, "Face", (1.5, -2.0, 1.6))
    foe = rigs.empty(fresh_scene, "Foe", (-0.4, -2.0, 1.0))
    assert bpy.ops.active_ragdoll.setup_look_at(target="Face") == {"FINISHED"}
    assert bpy.ops.active_ragdoll.motion_add(what="look_at") == {"FINISHED"}
    for bone in ("forearm.R", "arm.R"):
        assert bpy.ops.active_ragdoll.motion_add(what="entries", bone=bone) == {"FINISHED"}
    face, gun = obj.active_ragdoll.look_at
    gun.target = foe
    for entry in gun.entries:
        # A limb has no face: it points along itself.
        entry.limit, entry.forward_axis = 1.6, (0.0, 1.0, 0.0)
    for frame in (1, 7, 13, 20, 4):
        fresh_scene.frame_set(frame)
        assert looking.aim_error(obj, at, face) < 0.05
        assert looking.aim_error(obj, foe, gun) < 0.05
    # One that fails is named; the other looks on.
    bpy.data.objects.remove(at)
    fresh_scene.frame_set(8)
    assert pose_stack.of(obj).messages == {"Look-at": "Look-at: its target is missing"}
    assert looking.aim_error(obj, foe, gun) < 0.05
