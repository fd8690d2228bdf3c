"""Baked actions: what is written plays, nothing else changes, and the old animation comes back exactly."""

import math
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest

from motions import smooth_rotations

REPO = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(REPO))

from core import quaternion, rotation_modes  # noqa: E402
from core.blender import actions  # noqa: E402
from core.errors import RagdollError  # noqa: E402

DATA = REPO.parent / "shared" / "data"
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


def imported(name):
    """The armature of a file of third-party data, in a file of its own."""
    path = DATA / name
    if not path.is_file():
        pytest.skip(f"../shared/data/{name} is missing")
    clear()
    if path.suffix == ".glb":
        bpy.ops.import_scene.gltf(filepath=str(path))
    elif path.suffix == ".bvh":
        bpy.ops.import_anim.bvh(filepath=str(path), rotate_mode="NATIVE")
    else:
        with bpy.data.libraries.load(str(path)) as (source, target):
            target.objects = source.objects
        for obj in target.objects:
            bpy.context.scene.collection.objects.link(obj)
    return next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")


def character(name):
    if name == "all Euler orders":
        return rig([f"bone.{i}" for i in range(12)], EULER_ORDERS, connected=(3, 5))
    if name == "axis angle":
        return rig([f"bone.{i}" for i in range(8)], ("AXIS_ANGLE",))
    if name == "odd names":
        return rig(ODD_NAMES, ("QUATERNION", "XYZ", "AXIS_ANGLE"))
    return imported(name)


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
    return actions.Poses(bones, np.asarray(frames, dtype=float), 0.4 * wave * free, rotation, scale)


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
    for curve in actions.fcurves_of(action, owner):
        keys = {name: values.tobytes() for name, values in actions._get_keys(curve).items()}
        modifiers = [(modifier.type, modifier.mute) for modifier in curve.modifiers]
        settings = (curve.extrapolation, curve.mute, curve.group.name if curve.group else None, modifiers)
        held[curve.data_path, curve.array_index] = (keys, settings)
    return held


def key_curve(action, owner, path, index, keys, interpolation="BEZIER"):
    """Make a curve with some keys in an action that may be unassigned or assigned."""
    _, slot = actions.current(owner)
    curve = actions.channels_of(action, slot, ensure=True).fcurves.new(path, index=index)
    for frame, value in keys:
        curve.keyframe_points.insert(frame, value).interpolation = interpolation
    curve.update()
    return curve


def animate(obj, bones, keys, seed=3):
    """A new assigned action with sparse Bezier keys of rotation and location."""
    rng = np.random.default_rng(seed)
    action, slot = actions.new_action_for(obj, "Old")
    actions.assign(obj, action, slot)
    for bone in bones:
        prop = actions.rotation_property(obj.pose.bones[bone].rotation_mode)
        for path, size in ((actions.bone_path(bone, prop), 4), (actions.bone_path(bone, "location"), 3)):
            if prop == "rotation_euler":
                size = 3
            for index in range(size):
                key_curve(action, obj, path, index, [(frame, rng.normal()) for frame in keys])
    return action


def animation_settings(obj):
    animation = obj.animation_data
    names = ["action", "action_blend_type", "action_extrapolation", "action_influence", "use_nla"]
    if actions.has_slots():
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


def test_decompose_gives_back_rotation_location_and_scale_also_mirrored():
    rng = np.random.default_rng(4)
    rotation = smooth_rotations(30, 5)
    scale = rng.uniform(0.2, 3.0, (30, 5, 3))
    scale[:, 2] *= -1.0
    poses = actions.Poses("abcde", np.arange(30), rng.normal(size=(30, 5, 3)), rotation, scale)
    location, again, sizes = rotation_modes.decompose(matrices(poses))
    np.testing.assert_array_equal(location, poses.location)
    np.testing.assert_allclose(sizes, scale, rtol=1e-12)
    assert quaternion.angle_between(again, rotation).max() < 1e-9
    assert np.all(np.sum(again[1:] * again[:-1], axis=-1) > 0.0)


# ------------------------------------------------------------------------------------------------------------
# What is baked plays


@pytest.mark.parametrize("name", CHARACTERS)
def test_baked_poses_play_without_flips(name):
    obj = character(name)
    bones = [bone.name for bone in obj.pose.bones]
    frames = np.arange(11, 51)
    poses = random_poses(obj, bones, frames)
    asked = matrices(poses)
    action, _ = actions.bake(obj, actions.Poses.from_matrix_basis(bones, frames, asked), "Baked")

    assert actions.current(obj)[0] == action
    assert np.abs(played(obj, frames) - asked).max() < SAME

    for curve in actions.fcurves_of(action, obj):
        if any(curve.data_path.endswith("." + prop) for prop in ("rotation_euler", "rotation_quaternion")):
            keys = actions._get_keys(curve)
            inside = (keys["co"][:, 0] >= 11) & (keys["co"][:, 0] <= 50)
            assert np.abs(np.diff(keys["co"][inside, 1])).max() <= math.pi
            assert np.all(keys["interpolation"][inside][:-1] == actions.LINEAR)

    # Half-way the rotation is near the middle of the arc: nlerp meets it exactly at one half, Euler angles
    # and axis and angle stay within the step itself.
    halves = played(obj, frames[:-1], subframe=0.5)
    _, half, _ = rotation_modes.decompose(halves)
    arc = quaternion.slerp(poses.rotation[:-1], poses.rotation[1:], np.full(poses.rotation[1:].shape[:2], 0.5))
    error = quaternion.angle_between(half, arc)
    step = quaternion.angle_between(poses.rotation[1:], poses.rotation[:-1])
    for row, bone in enumerate(obj.pose.bones):
        limit = 1e-5 if bone.rotation_mode == "QUATERNION" else step[:, row] + 1e-5
        assert np.all(error[:, row] <= limit), (bone.name, bone.rotation_mode)


def test_enum_values_of_keys_are_blenders():
    items = bpy.types.Keyframe.bl_rna.properties["interpolation"].enum_items
    assert (items["CONSTANT"].value, items["LINEAR"].value) == (actions.CONSTANT, actions.LINEAR)
    items = bpy.types.Keyframe.bl_rna.properties["handle_left_type"].enum_items
    assert items["FREE"].value == actions.FREE_HANDLE
    assert items["AUTO_CLAMPED"].value == actions.AUTO_CLAMPED_HANDLE


def test_channels_at_rest_are_left_out_and_connected_bones_get_no_location():
    obj = rig(["root", "still", "moves", "tied"], connected=(3,))
    frames = np.arange(1, 21)
    poses = random_poses(obj, list(obj.pose.bones.keys()), frames, scaled=False)
    poses.location[:, :2] = 0.0
    poses.location[:, 3] = 0.5
    action, _ = actions.bake(obj, poses, "Baked")
    paths = {curve.data_path for curve in actions.fcurves_of(action, obj)}
    rotations = {actions.bone_path(bone, "rotation_quaternion") for bone in poses.bones}
    assert paths == rotations | {actions.bone_path("moves", "location")}
    assert {curve.group.name for curve in actions.fcurves_of(action, obj)} == set(poses.bones)


def test_rest_is_keyed_where_the_old_action_or_the_property_has_something_else():
    obj = rig(["a", "b"])
    old = animate(obj, ["a"], [1, 20])
    obj.pose.bones["b"].location = (0.0, 2.0, 0.0)
    frames = np.arange(1, 21)
    poses = random_poses(obj, ["a", "b"], frames, scaled=False)
    poses.location[:] = 0.0
    _, state = actions.bake(obj, poses, "Baked")
    assert np.abs(played(obj, frames) - matrices(poses)).max() < SAME
    actions.restore(obj, state, old)
    bpy.context.scene.frame_set(5)
    assert obj.pose.bones["b"].location[:] == (0.0, 2.0, 0.0)


@pytest.mark.parametrize("mode", ("QUATERNION", "ZYX", "AXIS_ANGLE"))
def test_reduced_keys_play_within_the_tolerance(mode):
    obj = rig([f"bone.{i}" for i in range(10)], (mode,))
    frames = np.arange(1, 121)
    bones = list(obj.pose.bones.keys())
    poses = random_poses(obj, bones, frames)
    tolerance = actions.Tolerance(rotation=math.radians(2.0), location=0.01, scale=0.005)
    action, _ = actions.bake(obj, poses, "Baked", tolerance=tolerance)
    location, rotation, scale = rotation_modes.decompose(played(obj, frames))
    # The allowance is the single precision of what Blender gives back.
    assert quaternion.angle_between(rotation, poses.rotation).max() <= tolerance.rotation + 1e-6
    assert np.linalg.norm(location - poses.location, axis=-1).max() <= tolerance.location + 1e-6
    assert np.linalg.norm(scale - poses.scale, axis=-1).max() <= tolerance.scale + 1e-6
    keys = [len(curve.keyframe_points) for curve in actions.fcurves_of(action, obj)]
    assert np.mean(keys) < 0.9 * len(frames)


def test_single_frame_bakes():
    obj = rig(["a", "b"], ("XYZ", "AXIS_ANGLE"))
    poses = random_poses(obj, ["a", "b"], [7])
    actions.bake(obj, poses, "Baked")
    assert np.abs(played(obj, [1, 7, 30]) - matrices(poses)).max() < SAME


def test_fractional_and_negative_frames_bake():
    obj = rig(["a", "b"], ("XYZ", "QUATERNION"))
    frames = np.arange(-10, 10) * 0.5
    poses = random_poses(obj, ["a", "b"], frames)
    actions.bake(obj, poses, "Baked")
    asked = matrices(poses)
    assert np.abs(played(obj, range(-5, 5)) - asked[::2]).max() < SAME
    assert np.abs(played(obj, range(-5, 5), subframe=0.5) - asked[1::2]).max() < SAME


# ------------------------------------------------------------------------------------------------------------
# Nothing else changes


def test_other_channels_and_the_old_action_stay_bit_for_bit():
    obj = rig(["a", "b", "c"], ("QUATERNION", "XYZ"))
    old = animate(obj, ["a", "b", "c"], [1, 7, 30])
    obj["prop"] = 1.0
    obj.pose.bones["c"]["own"] = 1.0
    key_curve(old, obj, "location", 0, [(1, 0), (30, 5)])
    key_curve(old, obj, '["prop"]', 0, [(1, 0), (30, 5)])
    key_curve(old, obj, 'pose.bones["c"]["own"]', 0, [(1, 0), (30, 5)]).modifiers.new("CYCLES")
    key_curve(old, obj, actions.bone_path("a", "rotation_euler"), 0, [(1, 0), (30, 5)])
    if actions.has_slots():
        other = old.slots.new(id_type="OBJECT", name="another")
        curve = actions.channels_of(old, other, ensure=True).fcurves.new("location", index=1)
        curve.keyframe_points.insert(3, 4.0)
    before = curves(old, obj)
    frames = np.arange(5, 21)
    poses = random_poses(obj, ["a"], frames)
    baked, _ = actions.bake(obj, poses, "Baked")
    after = curves(baked, obj)
    untouched = {key for key in before if '"a"' not in key[0]}
    assert len(untouched) == 4 + 3 + 3 + 3 + 3
    assert {key: after[key] for key in untouched} == {key: before[key] for key in untouched}
    assert curves(old, obj) == before
    assert not any(path.endswith("rotation_euler") and '"a"' in path for path, _ in after), "stale rotation mode"
    if actions.has_slots():
        copy = next(slot for slot in baked.slots if slot.identifier == other.identifier)
        assert actions.channels_of(baked, copy).fcurves.find("location", index=1).evaluate(3) == 4.0


@pytest.mark.parametrize("name", ("Knight.glb", "01_01.bvh", "all Euler orders"))
def test_revert_restores_settings_and_poses_exactly(name):
    obj = character(name)
    if obj.animation_data is None:
        animate(obj, list(obj.pose.bones.keys())[::2], [1, 12, 40])
    obj.animation_data.action_blend_type = "COMBINE"
    obj.animation_data.action_influence = 0.75
    obj.animation_data.action_extrapolation = "NOTHING"
    old, slot = actions.current(obj)
    frames = np.arange(1, 31)
    before = played(obj, range(-5, 50))
    settings, keys = animation_settings(obj), curves(old, obj)
    poses = random_poses(obj, list(obj.pose.bones.keys()), frames)
    _, state = actions.bake(obj, poses, "Baked")
    assert np.abs(played(obj, frames) - matrices(poses)).max() < SAME
    actions.restore(obj, actions.AnimationState.from_json(state.to_json()), old)
    assert animation_settings(obj) == settings
    assert curves(old, obj) == keys
    assert actions.current(obj) == (old, slot)
    np.testing.assert_array_equal(played(obj, range(-5, 50)), before)


def test_character_without_animation_is_as_before_after_revert():
    obj = rig(["a", "b"])
    obj.pose.bones["a"].rotation_quaternion = (0.6, 0.8, 0.0, 0.0)
    before = played(obj, [1, 20])
    poses = random_poses(obj, ["a", "b"], np.arange(1, 11))
    _, state = actions.bake(obj, poses, "Baked")
    held = played(obj, [0, 1, 10, 11])
    np.testing.assert_array_equal(held[0], held[1])
    np.testing.assert_array_equal(held[2], held[3])
    actions.restore(obj, state, None)
    assert obj.animation_data is None
    np.testing.assert_array_equal(played(obj, [1, 20]), before)


def test_failure_on_the_way_leaves_nothing_behind(monkeypatch):
    obj = rig(["a", "b"])
    animate(obj, ["a"], [1, 20])
    settings, count = animation_settings(obj), len(bpy.data.actions)

    def fail(*_):
        raise RuntimeError("on purpose")

    monkeypatch.setattr(actions, "_mute_drivers", fail)
    with pytest.raises(RuntimeError, match="on purpose"):
        actions.bake(obj, random_poses(obj, ["a", "b"], np.arange(1, 11)), "Baked")
    assert animation_settings(obj) == settings
    assert len(bpy.data.actions) == count


def test_unknown_bone_is_refused_by_name():
    obj = rig(["a"])
    poses = random_poses(obj, ["a"], np.arange(1, 4))
    poses = actions.Poses(["nobody"], poses.frames, poses.location, poses.rotation, poses.scale)
    with pytest.raises(RagdollError, match="nobody"):
        actions.bake(obj, poses, "Baked")
    assert obj.animation_data is None


# ------------------------------------------------------------------------------------------------------------
# Outside the range


@pytest.mark.parametrize("interpolation", ("BEZIER", "LINEAR", "CONSTANT", "ELASTIC"))
@pytest.mark.parametrize("keys", ([1, 13, 25, 37, 60], [-3, 90], [1.5, 18.25, 44.75, 60], [30], [10, 41]))
def test_old_animation_plays_on_every_whole_frame_outside(interpolation, keys):
    obj = rig(["a", "b"], ("QUATERNION", "XYZ"))
    old = animate(obj, ["a", "b"], keys)
    for curve in actions.fcurves_of(old, obj):
        for key in curve.keyframe_points:
            key.interpolation = interpolation
        curve.extrapolation = "LINEAR" if curve.array_index == 1 else "CONSTANT"
        curve.update()
    outside = [*range(-10, 20), *range(41, 100)]
    before = played(obj, outside)
    poses = random_poses(obj, ["a"], np.arange(20, 41), scaled=False)
    _, state = actions.bake(obj, poses, "Baked")
    inside = played(obj, range(20, 41), ["a"])
    assert np.abs(inside - matrices(poses)).max() < SAME
    after = played(obj, outside)
    np.testing.assert_array_equal(after[:, 1], before[:, 1])
    if min(keys) < 20:
        assert np.abs(after[:30] - before[:30]).max() < SAME
    else:
        assert np.abs(after[:30, 0] - inside[0]).max() < 1e-6
    if max(keys) > 40:
        assert np.abs(after[30:] - before[30:]).max() < SAME * 10  # values up to about 30
    else:
        assert np.abs(after[30:, 0] - inside[-1]).max() < 1e-6
    actions.restore(obj, state, old)
    np.testing.assert_array_equal(played(obj, outside), before)


def test_kept_keys_play_between_frames_too():
    obj = rig(["a"], ("XYZ",))
    animate(obj, ["a"], [1, 10, 14, 50, 60, 70])
    # Segments between two kept keys, which nothing may bend.
    whole = [*range(1, 14), *range(50, 70)]
    before = played(obj, whole, subframe=0.5)
    actions.bake(obj, random_poses(obj, ["a"], np.arange(20, 41)), "Baked")
    np.testing.assert_allclose(played(obj, whole, subframe=0.5), before, atol=1e-6)


def test_range_that_covers_the_old_action_does_not_grow():
    obj = rig(["a", "b"])
    animate(obj, ["a", "b"], [1, 20])
    baked, _ = actions.bake(obj, random_poses(obj, ["a"], np.arange(1, 21)), "Baked")
    assert tuple(baked.curve_frame_range) == (1.0, 20.0)


def test_modifiers_do_not_act_on_baked_channels():
    obj = rig(["a"], ("XYZ",))
    old = animate(obj, ["a"], [1, 20, 60])
    for curve in actions.fcurves_of(old, obj):
        curve.modifiers.new("NOISE").strength = 3.0
    outside = [*range(1, 20), *range(41, 61)]
    before = played(obj, outside)
    poses = random_poses(obj, ["a"], np.arange(20, 41), scaled=False)
    actions.bake(obj, poses, "Baked")
    assert np.abs(played(obj, range(20, 41)) - matrices(poses)).max() < SAME
    assert np.abs(played(obj, outside) - before).max() < SAME


def test_muted_curves_and_groups_do_not_silence_the_bake():
    obj = rig(["a", "b"])
    old = animate(obj, ["a", "b"], [1, 60])
    channels = actions.channels_of(*actions.current(obj))
    group = channels.groups.new("a")
    for curve in actions.fcurves_of(old, obj):
        curve.mute = curve.array_index == 0
        if '"a"' in curve.data_path:
            curve.group = group
    group.mute = True
    poses = random_poses(obj, ["a", "b"], np.arange(20, 41), scaled=False)
    actions.bake(obj, poses, "Baked")
    assert np.abs(played(obj, range(20, 41)) - matrices(poses)).max() < SAME


def test_bones_whose_rotation_mode_is_animated():
    obj = rig(["a"], ("XYZ",))
    old = animate(obj, ["a"], [1, 60])
    for index in range(4):
        path = actions.bone_path("a", "rotation_quaternion")
        key_curve(old, obj, path, index, [(1, 1.0), (60, 0.3 * index)])
    key_curve(old, obj, actions.bone_path("a", "rotation_mode"), 0, [(1, 0), (30, 1), (50, 0)], "CONSTANT")
    # On the frame of a change Blender converts the rotation, so what it shows depends on the frame before.
    outside = [*range(-5, 20), *range(41, 50), *range(50, 61)]
    settled = np.array([frame not in (-5, 41, 50) for frame in outside])
    before = played(obj, outside)
    bpy.context.scene.frame_set(35)
    poses = random_poses(obj, ["a"], np.arange(20, 41), scaled=False)
    actions.bake(obj, poses, "Baked")
    assert np.abs(played(obj, range(20, 41)) - matrices(poses)).max() < SAME
    assert np.abs(played(obj, outside) - before)[settled].max() < SAME


# ------------------------------------------------------------------------------------------------------------
# NLA and drivers


def push(obj, action, slot, first, name="strip"):
    """A strip of an action in a new track on top."""
    tracks = obj.animation_data.nla_tracks
    track = tracks.new(prev=tracks[-1]) if len(tracks) else tracks.new()
    track.name = name
    strip = track.strips.new(name, first, action)
    if actions.has_slots():
        strip.action_slot = slot
    return track


def with_tracks(obj, spans):
    """Animations in NLA tracks, none active."""
    for number, (first, last) in enumerate(spans):
        action = animate(obj, list(obj.pose.bones.keys()), [first, (first + last) // 2, last], seed=number)
        push(obj, *actions.current(obj), first, f"track {number}")
        obj.animation_data.action = None
        action.use_fake_user = True


@pytest.mark.parametrize("spans", ([(1, 80)], [(22, 30)], [(1, 30)], [(30, 60)], [(1, 50), (10, 70)]))
def test_bake_over_nla_tracks(spans):
    obj = rig(["a", "b"], ("QUATERNION", "XYZ"))
    with_tracks(obj, spans)
    frames = range(20, 41)
    every = range(-5, 90)
    before, settings = played(obj, every), animation_settings(obj)
    poses = random_poses(obj, ["a"], frames, scaled=False)
    poses.location[:] = 0.0
    baked, state = actions.bake(obj, poses, "Baked")
    after = played(obj, every)
    assert np.abs(after[25:46, 0] - matrices(poses)[:, 0]).max() < SAME
    np.testing.assert_array_equal(after[:, 1], before[:, 1])
    if min(span[0] for span in spans) < 20:
        np.testing.assert_array_equal(after[:25], before[:25])
    if max(span[1] for span in spans) > 40:
        np.testing.assert_array_equal(after[46:], before[46:])
    else:
        np.testing.assert_array_equal(after[46:, 0], np.tile(after[45, 0], (len(after) - 46, 1, 1)))
    assert {curve.data_path.split(".")[-1] for curve in actions.fcurves_of(baked, obj)} == {
        "location",
        "rotation_quaternion",
    }
    actions.restore(obj, actions.AnimationState.from_json(state.to_json()), None)
    assert animation_settings(obj) == settings
    np.testing.assert_array_equal(played(obj, every), before)


@pytest.mark.parametrize("blend", ("REPLACE", "ADD", "COMBINE"))
@pytest.mark.parametrize("influence", (1.0, 0.4))
@pytest.mark.parametrize("extrapolation", ("HOLD", "NOTHING", "HOLD_FORWARD"))
def test_bake_over_an_action_on_top_of_tracks(blend, influence, extrapolation):
    obj = rig(["a", "b"], ("QUATERNION", "XYZ"))
    with_tracks(obj, [(1, 80)])
    old = animate(obj, ["a", "b"], [15, 50, 60], seed=9)
    animation = obj.animation_data
    animation.action_blend_type, animation.action_influence = blend, influence
    animation.action_extrapolation = extrapolation
    every = range(-5, 90)
    before, settings = played(obj, every), animation_settings(obj)
    poses = random_poses(obj, ["a"], range(20, 41), scaled=False)
    _, state = actions.bake(obj, poses, "Baked")
    after = played(obj, every)
    assert np.abs(after[25:46, 0] - matrices(poses)[:, 0]).max() < SAME
    assert np.abs(after[:, 1] - before[:, 1]).max() < SAME
    assert np.abs(after[:25] - before[:25]).max() < SAME
    assert np.abs(after[46:] - before[46:]).max() < SAME
    actions.restore(obj, state, old)
    assert animation_settings(obj) == settings
    np.testing.assert_array_equal(played(obj, every), before)


def test_bake_with_a_solo_track():
    obj = rig(["a", "b"])
    with_tracks(obj, [(1, 80), (1, 60), (10, 70)])
    old = animate(obj, ["a", "b"], [1, 60], seed=9)
    obj.animation_data.nla_tracks[0].mute = True
    obj.animation_data.nla_tracks[1].is_solo = True
    every = range(1, 60)
    before, settings = played(obj, every), animation_settings(obj)
    poses = random_poses(obj, ["a"], range(20, 41), scaled=False)
    _, state = actions.bake(obj, poses, "Baked")
    after = played(obj, every)
    assert np.abs(after[19:40, 0] - matrices(poses)[:, 0]).max() < SAME
    np.testing.assert_array_equal(after[:, 1], before[:, 1])
    actions.restore(obj, state, old)
    assert animation_settings(obj) == settings
    np.testing.assert_array_equal(played(obj, every), before)


def test_muted_tracks_stay_muted_and_do_not_matter():
    obj = rig(["a", "b"])
    with_tracks(obj, [(1, 80)])
    obj.animation_data.nla_tracks[0].mute = True
    animate(obj, ["a", "b"], [1, 20], seed=9)
    poses = random_poses(obj, ["a"], range(1, 21), scaled=False)
    baked, _ = actions.bake(obj, poses, "Baked")
    assert obj.animation_data.nla_tracks[0].mute and len(obj.animation_data.nla_tracks) == 1
    assert any('"b"' in curve.data_path for curve in actions.fcurves_of(baked, obj)), "not a copy"
    assert np.abs(played(obj, range(1, 21), ["a"]) - matrices(poses)).max() < SAME


def test_tweak_mode_is_refused():
    obj = rig(["a"])
    with_tracks(obj, [(1, 80)])
    animation = obj.animation_data
    animation.nla_tracks.active = animation.nla_tracks[0]
    animation.nla_tracks[0].select = animation.nla_tracks[0].strips[0].select = True
    animation.use_tweak_mode = True
    count = len(bpy.data.actions)
    with pytest.raises(RagdollError, match=r'"rig".*tweak'):
        actions.bake(obj, random_poses(obj, ["a"], range(1, 5)), "Baked")
    assert len(bpy.data.actions) == count
    animation.use_tweak_mode = False


def test_drivers_of_baked_channels_are_muted_and_come_back():
    obj = rig(["a", "b"], ("XYZ",))
    for bone in obj.pose.bones:
        for prop, index in (("rotation_euler", 1), ("location", 2)):
            bone.driver_add(prop, index).driver.expression = "frame * 0.01"
    already = obj.animation_data.drivers[0]
    already.mute = True
    before, settings = played(obj, range(1, 31)), animation_settings(obj)
    poses = random_poses(obj, ["a"], range(1, 21), scaled=False)
    poses.location[:] = 0.0
    _, state = actions.bake(obj, poses, "Baked")
    after = played(obj, range(1, 21))
    assert np.abs(after[:, 0] - matrices(poses)[:, 0]).max() < SAME
    np.testing.assert_array_equal(after[:, 1], before[:20, 1])
    actions.restore(obj, actions.AnimationState.from_json(state.to_json()), None)
    assert animation_settings(obj)["drivers"] == settings["drivers"]
    np.testing.assert_array_equal(played(obj, range(1, 31)), before)
