"""Characters with keys, and what their actions and settings hold, for the tests of baked actions."""

import json
import math
from dataclasses import asdict

import bpy
import numpy as np

import rigs
from core import quaternion
from core.blender.bake import action_keys, actions
from core.blender.rig import action_channels

EULER_ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
ODD_NAMES = ('a "quoted" bone', "back\\slash", "brackets]['x", "knöchel.L 骨", "tab\there", 'ends with \\"')
SAME = 1e-5  # A matrix of single precision built from keys of single precision: a few units in the last place of 1
CHARACTERS = ("all Euler orders", "axis angle", "odd names", "mh_mixamo.blend", "dab.bvh")


def rig(names, modes=("QUATERNION",), connected=()):
    """A chain of bones of length 1 in an empty file."""
    table = {name: ((0, 0, i), (0, 0, i + 1), names[i - 1] if i else None) for i, name in enumerate(names)}
    obj = rigs.armature(rigs.empty_file(), table, "rig")
    rigs.edit(obj, lambda bones: [setattr(bones[names[index]], "use_connect", True) for index in connected])
    assert [bone.name for bone in obj.pose.bones] == list(names)
    for index, bone in enumerate(obj.pose.bones):
        bone.rotation_mode = modes[index % len(modes)]
    return obj


def character(name):
    if name == "all Euler orders":
        return rig([f"bone.{i}" for i in range(12)], EULER_ORDERS, connected=(3, 5))
    if name == "axis angle":
        return rig([f"bone.{i}" for i in range(8)], ("AXIS_ANGLE",))
    return rig(ODD_NAMES, ("QUATERNION", "XYZ", "AXIS_ANGLE")) if name == "odd names" else rigs.load(name).obj


def matrices(poses):
    """matrix_basis that poses stand for, shape [f, bones, 4, 4]."""
    result = np.zeros((*poses.rotation.shape[:2], 4, 4))
    result[..., :3, :3] = quaternion.to_matrix(poses.rotation) * poses.scale[..., None, :]
    result[..., :3, 3] = poses.location
    result[..., 3, 3] = 1.0
    return result


def smooth_rotations(frame_count, count, seed=1):
    """Rotations of several turns with up to about 0.3 rad a frame, shape [f, count, 4], of random sign."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(frame_count, count, 3))
    speed = np.apply_along_axis(np.convolve, 0, steps, np.hanning(13) / np.hanning(13).sum(), mode="same")
    speed += rng.normal(size=(1, count, 3)) * 0.05
    speed *= np.minimum(1.0, 0.3 / np.maximum(np.linalg.norm(speed, axis=-1, keepdims=True), 1e-9))
    result = quaternion.identity((frame_count, count))
    for frame in range(1, frame_count):
        turn = quaternion.from_rotation_vector(speed[frame])
        result[frame] = quaternion.normalize(quaternion.multiply(turn, result[frame - 1]))
    return result * rng.choice([-1.0, 1.0], size=(frame_count, count, 1))


def random_poses(obj, bones, frames, seed=1, scaled=True):
    """Smooth poses; connected bones without location, which they ignore."""
    rng = np.random.default_rng(seed)
    count = len(bones)
    time = np.asarray(frames, dtype=float)[:, None, None]
    wave = np.sin(rng.uniform(0, 6, (1, count, 3)) + time * rng.uniform(-0.2, 0.2, (1, count, 3)))
    free = np.array([not obj.pose.bones[bone].bone.use_connect for bone in bones])[None, :, None]
    scale = 1.0 + 0.2 * wave[..., ::-1] * (rng.random((1, count, 1)) < 0.3) * scaled
    rotation = smooth_rotations(len(frames), count, seed)
    return action_keys.Poses(bones, np.asarray(frames, dtype=float), 0.4 * wave * free, rotation, scale)


def bake(obj, bones, frames, scaled=False, moved=True):
    """Bake random poses, which are played from then on: (their matrices, action, state)."""
    poses = random_poses(obj, bones, frames, scaled=scaled)
    if not moved:
        poses.location[:] = 0.0
    action, _old, state = actions.bake(obj, poses, "Baked")
    assert action_channels.current(obj)[0] == action
    assert np.abs(played(obj, frames, bones) - matrices(poses)).max() < SAME
    return matrices(poses), action, state


def restore(obj, state, old=None):
    """Bring the old animation back, from a state as a file keeps it."""
    actions.restore(obj, actions.AnimationState(**json.loads(json.dumps(asdict(state)))), old)


def played(obj, frames, bones=None, later=0.0):
    """matrix_basis that Blender plays, a share of a frame later, shape [f, bones, 4, 4]."""
    buffer = np.empty(len(obj.pose.bones) * 16, dtype=np.float32)
    result = []
    for frame in frames:
        whole = math.floor(frame + later)
        bpy.context.scene.frame_set(whole, subframe=frame + later - whole)
        obj.pose.bones.foreach_get("matrix_basis", buffer)
        result.append(buffer.reshape(-1, 4, 4).transpose(0, 2, 1).copy())
    rows = [list(obj.pose.bones.keys()).index(bone) for bone in bones] if bones is not None else slice(None)
    return np.array(result)[:, rows]


def curves(action, owner):
    """Everything that an action's F-curves hold, bit for bit."""
    held = {}
    for curve in action_channels.fcurves_of(action, owner):
        keys = action_keys._get_keys(curve).tobytes()
        modifiers = [(modifier.type, modifier.mute) for modifier in curve.modifiers]
        settings = (curve.extrapolation, curve.mute, curve.group.name if curve.group else None, modifiers)
        held[curve.data_path, curve.array_index] = (keys, settings)
    return held


def key_curve(action, owner, path, index, keys, interpolation="BEZIER"):
    """Make a curve with some keys in an action that may be unassigned or assigned."""
    _, slot = action_channels.current(owner)
    curve = action_channels.channels_of(action, slot, ensure=True).fcurves.new(path, index=index)
    for frame, value in keys:
        curve.keyframe_points.insert(frame, value).interpolation = interpolation
    curve.update()
    return curve


def animate(obj, bones, keys, seed=3):
    """A new assigned action with sparse Bezier keys of rotation and location."""
    rng = np.random.default_rng(seed)
    action, slot = action_channels.new_action_for(obj, "Old")
    action_channels.assign(obj, action, slot)
    for bone in bones:
        rotation = action_channels.rotation_property(obj.pose.bones[bone].rotation_mode)
        for prop, size in ((rotation, 3 if rotation == "rotation_euler" else 4), ("location", 3)):
            path = action_channels.bone_path(bone, prop)
            for index in range(size):
                key_curve(action, obj, path, index, [(frame, rng.normal()) for frame in keys])
    return action


def animation_settings(obj):
    animation = obj.animation_data
    names = ["action", "action_blend_type", "action_extrapolation", "action_influence", "use_nla"]
    if action_channels.has_slots():
        names += ["action_slot", "last_slot_identifier"]
    settings = {name: getattr(animation, name) for name in names}
    of_strips = ("name", "mute", "influence", "blend_type", "extrapolation", "frame_start", "frame_end", "action")
    settings["tracks"] = [
        [getattr(track, name) for name in ("name", "mute", "is_solo", "lock", "select")]
        + [getattr(strip, name) for strip in track.strips for name in of_strips]
        for track in animation.nla_tracks
    ]
    settings["drivers"] = [(d.data_path, d.array_index, d.mute) for d in animation.drivers]
    return settings


def with_tracks(obj, spans, bones=None):
    """Animations of bones, all if not given, in NLA tracks, none active."""
    tracks = obj.animation_data_create().nla_tracks
    for number, (first, last) in enumerate(spans):
        action = animate(obj, bones or list(obj.pose.bones.keys()), [first, (first + last) // 2, last], seed=number)
        strip = tracks.new().strips.new(f"track {number}", first, action)
        if action_channels.has_slots():
            strip.action_slot = action_channels.current(obj)[1]
        obj.animation_data.action = None
