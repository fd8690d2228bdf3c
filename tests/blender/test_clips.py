"""Clips of actions against Blender's own evaluation: curves, rotation modes, inheritance."""

import math

import bpy
import numpy as np
import pytest

import rigs
from animated import key_curve
from core import pose as pose_space
from core import quaternion
from core.blender.rig import action_channels
from core.blender.rig.clips import ClipCache, RigRest, sample_action
from core.errors import RagdollError
from refusals import refuses

MODES = ("QUATERNION", "AXIS_ANGLE", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
TOLERANCE = 1e-5


def blenders_poses(obj, frames) -> np.ndarray:
    """Matrices of all bones in the armature [f, n, 4, 4], as the scene shows them."""
    result = []
    for frame in frames:
        bpy.context.scene.frame_set(math.floor(frame), subframe=frame - math.floor(frame))
        evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
        result.append([np.array(bone.matrix) for bone in evaluated.pose.bones])
    return np.array(result)


def error_against_blender(obj, action, frames=None) -> float:
    """Largest difference of matrices, lengths being relative to the rig's size."""
    rest = RigRest(obj)
    for bone in obj.pose.bones:  # as in bind pose, so that unkeyed channels are the same for Blender
        bone.location, bone.scale = (0, 0, 0), (1, 1, 1)
        bone.rotation_quaternion, bone.rotation_euler = (1, 0, 0, 0), (0, 0, 0)
        bone.rotation_axis_angle = (0, 0, 1, 0)
    action_channels.assign(obj, action, action_channels.slot_of(action, obj))
    clip = sample_action(action, obj, frames=frames)
    frames = clip.start_frame + np.arange(clip.frame_count) if frames is None else frames
    local = pose_space.compose_matrices(clip.poses.positions, clip.poses.rotations, clip.poses.scales)
    ours = pose_space.local_to_model_matrices(rest.skeleton, local)[:, rest.skeleton.from_level]
    theirs = blenders_poses(obj, frames)
    heads = np.array([bone.head_local for bone in obj.data.bones])
    size = max(1.0, np.abs(heads).max(), np.abs(theirs[..., :3, 3]).max())
    difference = ours - theirs
    difference[..., :3, 3] /= size
    return float(np.abs(difference).max())


def keyed(obj, name="Clip"):
    """A new action that an armature plays."""
    action, slot = action_channels.new_action_for(obj, name)
    action_channels.assign(obj, action, slot)
    return action


def random_keys(obj, action, rng, kind="LINEAR", frames=(1, 5, 12, 20)):
    """Keys of every channel of every bone in its own rotation mode."""
    for bone in obj.pose.bones:
        rotation = action_channels.rotation_property(bone.rotation_mode)
        for prop, size in {"location": 3, "scale": 3, rotation: 3 if rotation == "rotation_euler" else 4}.items():
            for index in range(size):
                values = rng.normal(size=len(frames)) * (0.3 if prop == "scale" else 1.0) + (prop == "scale")
                path = action_channels.bone_path(bone.name, prop)
                key_curve(action, obj, path, index, zip(frames, values, strict=True), kind)


@pytest.mark.blender_version
@pytest.mark.parametrize(
    "case", ("CONSTANT", "LINEAR", "BEZIER", "ELASTIC", "BOUNCE", "free handles", "CYCLES", "NOISE", "samples")
)
def test_curves_have_blenders_values(fresh_scene, case):
    rng = np.random.default_rng(3)
    kind = case if case in ("CONSTANT", "LINEAR", "ELASTIC", "BOUNCE") else "BEZIER"
    obj, frames = rigs.chain(fresh_scene, 1), np.arange(-10.0, 30.0, 0.5)
    keys = np.cumsum(rng.uniform(0.3, 6.0, 7)) - 5.0
    curve = key_curve(keyed(obj), obj, 'pose.bones["A"].location', 0, zip(keys, rng.normal(size=7), strict=True), kind)
    if case == "free handles":
        for key, point in zip(keys, curve.keyframe_points, strict=True):
            point.handle_left_type = point.handle_right_type = "FREE"
            point.handle_left = (key - rng.uniform(0, 4.0), rng.normal())
            point.handle_right = (key + rng.uniform(0, 4.0), rng.normal())
    elif case in ("CYCLES", "NOISE"):
        curve.modifiers.new(case)
    elif case == "samples":
        curve.convert_to_samples(-5, 20)
    clip = sample_action(obj.animation_data.action, obj, frames=frames, fps=24)
    theirs = np.array([curve.evaluate(frame) for frame in frames])
    rest = RigRest(obj)
    along = quaternion.rotate(rest.bind.rotations[0], np.array([1.0, 0.0, 0.0]))
    found = (clip.poses.positions[:, 0] - rest.bind.positions[0]) @ along
    np.testing.assert_allclose(found, theirs, atol=1e-6 * max(1.0, np.abs(theirs).max()))
    assert np.ptp(theirs) > 0.1


@pytest.mark.blender_version
@pytest.mark.parametrize("mode", (*MODES, "mixed and scaled", "connected"))
def test_every_rotation_mode_is_blenders(fresh_scene, mode):
    obj = rigs.human(fresh_scene)
    if mode == "connected":
        rigs.edit(obj, lambda bones: setattr(bones["forearm.L"], "use_connect", True))
    for i, bone in enumerate(obj.pose.bones):
        bone.rotation_mode = mode if mode in MODES else MODES[i % len(MODES)]
    action = keyed(obj)
    random_keys(obj, action, np.random.default_rng(1), "BEZIER")
    curves = action_channels.fcurves_of(action, obj)
    for curve in list(curves):
        if mode != "mixed and scaled" and "scale" in curve.data_path:
            curves.remove(curve)
    assert error_against_blender(obj, action, np.arange(0.0, 22.0, 0.5)) < TOLERANCE


@pytest.mark.blender_version
@pytest.mark.parametrize("inherit", ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY"))
@pytest.mark.parametrize(
    ("rotation", "local_location", "scaled"), ((True, False, True), (False, True, True), (False, True, False))
)
def test_inheritance_is_blenders(fresh_scene, inherit, rotation, local_location, scaled):
    obj = rigs.chain(fresh_scene, 4)
    for name in ("A", "C"):
        bone = obj.data.bones[name]
        rigs.changed(bone, use_inherit_rotation=rotation, use_local_location=local_location, inherit_scale=inherit)
    action = keyed(obj)
    random_keys(obj, action, np.random.default_rng(4))
    curves = action_channels.fcurves_of(action, obj)
    for curve in list(curves):
        if "scale" in curve.data_path:
            if not scaled:
                curves.remove(curve)
                continue
            # One factor for all axes: shear cannot be told in location, rotation and scale.
            for index, point in enumerate(curve.keyframe_points):
                point.co.y = (1.2, 0.7, 1.5, 0.9)[index]
            curve.update()
    assert error_against_blender(obj, action) < TOLERANCE


def test_bad_actions_are_refused_by_name(fresh_scene):
    obj = rigs.chain(fresh_scene, 2)
    action = keyed(obj, "Hollow")
    refuses('"Hollow" is empty', sample_action, action, obj)
    key_curve(action, obj, 'pose.bones["Stranger"].location', 0, [(1, 0), (10, 1)])
    refuses(r'"Hollow" animates no bone of \'Chain\'; it has "Stranger"', sample_action, action, obj)
    key_curve(action, obj, 'pose.bones["A"].location', 0, [(1, 0), (10, 1)])
    assert sample_action(action, obj).missing == ("Stranger",)
    with pytest.raises(RagdollError, match="'Goal' is no armature"):  # as a script may choose it
        ClipCache().get(action, rigs.empty(fresh_scene, "Goal"))
    bpy.data.actions.remove(action)
    refuses("'Chain' was deleted while in use", sample_action, action, obj)
