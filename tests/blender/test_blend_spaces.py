"""Blend spaces and aim offsets on a real character: weights, phase, inputs, scrubbing, the preview; triangles."""

import bpy
import numpy as np
import pytest

import layered
import rigs
import third_party
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.stack import blend_spaces, pose_stack, stack_edits
from active_ragdoll.core.motion.blend_space import WRAP, Axis, BlendSpace2D


@pytest.fixture
def rig():
    """The knight, who stands idle."""
    return layered.knight(third_party.DATA)


@pytest.mark.blender_version
def test_playing_scrubbing_and_the_bake_show_the_same_and_a_preview_its_point(rig):
    rigs.set_range(rig.scene, 1, 50)
    layered.space_layer(rig, layered.space(rig, layered.WALK).name, only_keyed=False)
    space = rig.obj.active_ragdoll.blend_spaces[0]
    space.x.smoothing = 0.2
    rig.obj.animation_data.action = rig.obj.animation_data.action.copy()
    rigs.key(rig.obj, "active_ragdoll.blend_spaces[0].x.value", {1: 0.0, 20: 0.5, 50: 4.0})
    rigs.interpolate(rig.obj, "LINEAR", "active_ragdoll")
    played = layered.shown(rig, range(1, 51))
    pose_stack.forget()
    scrubbed = layered.shown(rig, (44, 12, 50, 3, 27))
    assert all(np.array_equal(scrubbed[f], played[f]) for f in scrubbed)
    assert pose_stack.of(rig.obj).messages == {}
    space.x.preview, space.show_preview = 4.0, True
    assert rigs.angles(layered.shown(rig, (5,))[5], played[5]).max() > 5.0
    list(bake.bake_frames(rig.obj, rig.scene))
    assert not space.show_preview
    assert layered.difference(layered.shown(rig, range(1, 51)), played)[1] < 1e-4


def test_the_direction_is_measured_against_where_it_faces(rig):
    third_party.data("Knight.glb")  # whose clips and size it is about
    strafes = ("Running_Strafe_Left", 90.0, 2.0), ("Running_Strafe_Right", -90.0, 2.0)
    layered.space(rig, (("Walking_A", 0.0, 2.0), *strafes, ("Idle", 0.0, 0.0)), "DIRECTION")
    layered.space_layer(rig, "Directions")
    for way, angle in (((1, 0), 90.0), ((-1, 0), -90.0), ((0.7, -0.7), 45.0)):  # the knight faces -Y: its left is +X
        rig.obj.animation_data.action = bpy.data.actions["Idle"].copy()
        rigs.key_locations(rig.obj, {1: (0, 0, 0), 30: (2.9 * way[0], 2.9 * way[1], 0)})
        rig.scene.frame_set(20)
        state = pose_stack.of(rig.obj).states[20][0]["Directions"]
        assert abs(state.at[0] - angle) < 6.0, (way, state.at)


def _leans(rig, degrees, axis: str) -> list:
    """Actions of one frame that turn the chest about an axis of the armature."""
    obj = rig.obj
    before = obj.animation_data.action
    names = []
    for angle in degrees:
        obj.animation_data.action = None
        for bone in obj.pose.bones:
            bone.matrix_basis.identity()
        bone = obj.pose.bones["chest"]
        bone.rotation_mode = "QUATERNION"
        along = np.array(bone.bone.matrix_local)["XYZ".index(axis), :3]
        bone.rotation_quaternion = quaternion.from_axis_angle(along, np.radians(angle))
        bpy.context.view_layer.update()
        names.append(stack_edits.pose_action(obj, f"{axis} {angle:g}").name)
        bone.rotation_quaternion = (1, 0, 0, 0)
    layered.play(obj, before.name)
    return names


def test_an_aim_offset_turns_what_is_below_towards_a_target_in_the_armatures_space(rig):
    """The chest turns 60 deg at yaw 60, 40 at pitch 40."""
    yaw, pitch = _leans(rig, (-60.0, 0.0, 60.0), "Z"), _leans(rig, (40.0, -40.0), "X")
    places = ((-60.0, 0.0), (0.0, 0.0), (60.0, 0.0), (0.0, -40.0), (0.0, 40.0))
    samples = [(name, *place) for name, place in zip(yaw + pitch, places, strict=True)]
    for sample in layered.space(rig, samples, "AIM").samples:
        sample.additive, sample.single, sample.frame = "MESH", True, 1.0
    plain = layered.shown(rig, (9,))[9]
    layered.space_layer(rig, "Aim", "AIM_OFFSET")
    space, row = rig.obj.active_ragdoll.blend_spaces[0], rig.obj.data.bones.find("chest")
    for yaw in (60.0, 30.0, -45.0):
        space.x.value = yaw
        found = layered.shown(rig, (9,))[9]
        turn = quaternion.from_matrix((found[row, :3, :3] @ np.linalg.inv(plain[row, :3, :3]))[None])[0]
        angle = np.degrees(2 * np.arctan2(turn[3], turn[0]))
        # The mean of two rotations about one axis, as quaternions: a quarter of a degree off at most.
        share, half = abs(yaw) / 60.0, np.radians(30.0)
        mean = 2 * np.arctan2(share * np.sin(half), 1 - share + share * np.cos(half))
        assert abs(angle - np.sign(yaw) * np.degrees(mean)) < 0.05 and abs(angle - yaw) < 0.3
        assert np.abs(turn[1:3]).max() < 1e-3, yaw
    assert layered.messages(rig) == {}
    sample = space.samples[2]
    for kind, words in (("NONE", "not additive"), ("LOCAL", "local")):
        sample.additive, space.x.value = kind, -60.0
        found = layered.shown(rig, (9,))[9]
        text = pose_stack.of(rig.obj).messages['Blend space "Aim"']
        assert sample.action.name in text and words in text and "left out" in text
        assert abs(rigs.angles(found[row], plain[row]) - 60.0) < 0.1
    sample.additive = "MESH"
    target = rigs.empty(rig.scene)
    space.x.input, space.y.input, space.target, space.aim_bone = "YAW", "PITCH", target, "head"
    rigs.key_locations(target, {1: (5.0, -5.0, 1.0), 10: (-5.0, -5.0, 1.0), 20: (0.0, -5.0, 5.0)})
    for frame, wanted in ((1, 45.0), (10, -45.0), (20, 0.0)):
        rig.scene.frame_set(frame)
        at = blend_spaces.current_point(rig.obj, space, frame)
        assert abs(at[0] - wanted) < 3.0, (frame, at)
    assert blend_spaces.current_point(rig.obj, space, 20)[1] > 30.0


@pytest.mark.blender_version
@pytest.mark.parametrize("both", (False, True))
@pytest.mark.parametrize("seed", range(2))
def test_a_wrapped_plane_is_exact_at_samples_and_has_no_seam(seed, both):
    rng = np.random.default_rng(seed)
    axes = (Axis("u", 0.0, 1.0, WRAP), Axis("v", 0.0, 1.0, WRAP if both else "CLAMP"))
    places = rng.uniform(0, 1, (rng.integers(2, 9), 2))
    space = BlendSpace2D(axes, list("abcdefgh"[: len(places)]), places, triangulate=blend_spaces.triangulate)

    def weights_at(places):
        return np.array([space.weights(*place) for place in places.tolist()])

    np.testing.assert_array_equal(weights_at(places), np.eye(len(places)))
    v = rng.uniform(0, 1, 60)
    near, far = np.full(60, 1e-7), np.full(60, 1 - 1e-7)
    for turned in (False, True) if both else (False,):
        pairs = [np.stack([u, v][:: -1 if turned else 1], -1) for u in (near, far)]
        np.testing.assert_allclose(weights_at(pairs[0]), weights_at(pairs[1]), atol=1e-4)
