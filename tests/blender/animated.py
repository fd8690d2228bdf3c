"""Characters with keys, and what their actions and settings hold, for the tests of baked actions."""

import bpy
import numpy as np

import rigs
from core import quaternion
from core.blender.bake import action_keys
from core.blender.rig import action_channels
from motions import smooth_rotations

EULER_ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
ODD_NAMES = ('a "quoted" bone', "back\\slash", "brackets]['x", "knöchel.L 骨", "tab\there", 'ends with \\"')
# A matrix of single precision built from keys of single precision: a few units in the last place of 1.
SAME = 1e-5


# ------------------------------------------------------------------------------------------------------------
# Characters


def clear() -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def rig(names, modes=("QUATERNION",), connected=()):
    """A chain of bones of length 1 in an empty file."""
    clear()
    armature = bpy.data.armatures.new("rig")
    obj = bpy.data.objects.new("rig", armature)
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for index, name in enumerate(names):
        bone = armature.edit_bones.new(name)
        bone.head, bone.tail = (0, 0, index), (0, 0, index + 1)
        bone.parent, bone.use_connect = parent, index in connected
        parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    assert [bone.name for bone in obj.pose.bones] == list(names)
    for index, bone in enumerate(obj.pose.bones):
        bone.rotation_mode = modes[index % len(modes)]
    return obj


def character(name):
    if name == "all Euler orders":
        return rig([f"bone.{i}" for i in range(12)], EULER_ORDERS, connected=(3, 5))
    if name == "axis angle":
        return rig([f"bone.{i}" for i in range(8)], ("AXIS_ANGLE",))
    if name == "odd names":
        return rig(ODD_NAMES, ("QUATERNION", "XYZ", "AXIS_ANGLE"))
    return rigs.load(name).obj


CHARACTERS = (
    "all Euler orders",
    "axis angle",
    "odd names",
    "Knight.glb",
    "mh_mixamo.blend",
    "dab.bvh",
    "01_01.bvh",
)


def matrices(poses):
    """matrix_basis that poses stand for, shape [f, bones, 4, 4]."""
    result = np.zeros((*poses.rotation.shape[:2], 4, 4))
    result[..., :3, :3] = quaternion.to_matrix(poses.rotation) * poses.scale[..., None, :]
    result[..., :3, 3] = poses.location
    result[..., 3, 3] = 1.0
    return result


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


def played(obj, frames, bones=None, subframe=0.0):
    """matrix_basis that Blender plays, shape [f, bones, 4, 4]."""
    buffer = np.empty(len(obj.pose.bones) * 16, dtype=np.float32)
    result = []
    for frame in frames:
        bpy.context.scene.frame_set(int(frame), subframe=subframe)
        obj.pose.bones.foreach_get("matrix_basis", buffer)
        result.append(buffer.reshape(-1, 4, 4).transpose(0, 2, 1).copy())
    rows = [list(obj.pose.bones.keys()).index(bone) for bone in bones] if bones is not None else slice(None)
    return np.array(result)[:, rows]


def curves(action, owner):
    """Everything that an action's F-curves hold, bit for bit."""
    held = {}
    for curve in action_channels.fcurves_of(action, owner):
        keys = {name: values.tobytes() for name, values in action_keys._get_keys(curve).items()}
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
        prop = action_channels.rotation_property(obj.pose.bones[bone].rotation_mode)
        for path, size in (
            (action_channels.bone_path(bone, prop), 4),
            (action_channels.bone_path(bone, "location"), 3),
        ):
            if prop == "rotation_euler":
                size = 3
            for index in range(size):
                key_curve(action, obj, path, index, [(frame, rng.normal()) for frame in keys])
    return action


def animation_settings(obj):
    animation = obj.animation_data
    names = ["action", "action_blend_type", "action_extrapolation", "action_influence", "use_nla"]
    if action_channels.has_slots():
        names += ["action_slot", "last_slot_identifier"]
    settings = {name: getattr(animation, name) for name in names}

    def strip_settings(strip):
        names = (
            "name",
            "mute",
            "influence",
            "blend_type",
            "extrapolation",
            "frame_start",
            "frame_end",
            "action",
        )
        return tuple(getattr(strip, name) for name in names)

    settings["tracks"] = [
        (track.name, track.mute, track.is_solo, track.lock, track.select, *map(strip_settings, track.strips))
        for track in animation.nla_tracks
    ]
    settings["drivers"] = [(d.data_path, d.array_index, d.mute) for d in animation.drivers]
    return settings
