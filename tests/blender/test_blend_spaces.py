"""Blend spaces and aim offsets on a real character: weights, phase, inputs, scrubbing, the preview, the picture."""

import bpy
import numpy as np
import pytest

import layered
import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender import bake, layer_tools, motion, motion_setup, space_view
from active_ragdoll.core.blender.clips import rig_rest

WALK = (("Idle", 0.0), ("Walking_A", 2.0), ("Running_A", 4.0))


def speed_space(rig, **settings):
    made = layered.space(rig, WALK, **settings)
    layered.space_layer(rig, made.name, only_keyed=False)
    return rig.obj.active_ragdoll.blend_spaces[0]


def keyed(rig, path: str, keys: dict) -> None:
    """Key a setting of the character on a copy of its action, linear."""
    obj = rig.obj
    obj.animation_data.action = obj.animation_data.action.copy()
    owner, name = path.rsplit(".", 1)
    for frame, value in keys.items():
        setattr(obj.active_ragdoll.path_resolve(owner), name, value)
        obj.keyframe_insert(f"active_ragdoll.{path}", frame=frame)
    for curve in rigs.curves_of(obj.animation_data.action):
        if "active_ragdoll" in curve.data_path:
            for point in curve.keyframe_points:
                point.interpolation = "LINEAR"


def space_state(rig, frame: int):
    rig.scene.frame_set(frame)
    return motion.of(rig.obj).states[frame][0]["Locomotion"]


def test_at_a_sample_its_clip_plays_alone(data_dir):
    rig = layered.knight(data_dir, 1, 40)
    clip = layered.plays(rig, "Cheer", range(0, 41))  # 40 whole frames
    made = layered.space(rig, (("Idle", 0.0), ("Cheer", 2.0)))
    layered.space_layer(rig, made.name)
    rig.obj.active_ragdoll.blend_spaces[0].x.value = 2.0
    found = layered.shown(rig, (1, 11, 25))
    for frame in found:
        assert rigs.angles(found[frame], clip[frame - 1]).max() < 0.05


def test_the_phase_runs_at_the_mean_rate_and_speed_may_be_keyed(data_dir):
    rig = layered.knight(data_dir, 1, 61)
    speed_space(rig)
    keyed(rig, "blend_spaces[0].x.value", {1: 0.0, 61: 4.0})
    rates = [1.0 / (bpy.data.actions[name].frame_range[1] / 24.0) for name, _x in WALK]
    state = space_state(rig, 61)
    assert np.isclose(state.at[0], 4.0)
    values = np.linspace(0.0, 4.0, 61)
    rate = np.interp(values, [0.0, 2.0, 4.0], rates)
    assert np.isclose(state.phase, np.sum(0.5 * (rate[1:] + rate[:-1])) / 24.0, rtol=1e-4)


def test_playing_scrubbing_and_the_bake_show_the_same(data_dir):
    rig = layered.knight(data_dir, 1, 50)
    space = speed_space(rig)
    space.x.smoothing = 0.2
    keyed(rig, "blend_spaces[0].x.value", {1: 0.0, 20: 0.5, 50: 4.0})
    played = layered.shown(rig, range(1, 51))
    motion.forget()
    scrubbed = layered.shown(rig, (44, 12, 50, 3, 27))
    assert all(np.array_equal(scrubbed[f], played[f]) for f in scrubbed)
    assert motion.of(rig.obj).messages == {}
    for _frame in bake.frames(rig.obj, rig.scene):
        pass
    assert layered.difference(layered.shown(rig, range(1, 51)), played)[1] < 1e-4


def test_nothing_jumps_while_the_speed_rises(data_dir):
    rig = layered.knight(data_dir, 1, 97)
    speed_space(rig)
    keyed(rig, "blend_spaces[0].x.value", {1: 0.0, 97: 4.0})
    played = layered.shown(rig, range(1, 98))
    steps = np.array([rigs.angles(played[f + 1], played[f]).max() for f in range(1, 97)])
    run = layered.knight(data_dir, 1, 40)
    clip = layered.plays(run, "Running_A", range(0, 19))
    fastest = max(rigs.angles(clip[f + 1], clip[f]).max() for f in range(18))
    assert steps.max() < 1.2 * fastest


def test_the_speed_is_measured_of_the_moving_character(data_dir):
    rig = layered.knight(data_dir, 1, 48)
    space = speed_space(rig)
    space.x.input = "SPEED"
    rigs.key_locations(rig.obj, {1: (0, 0, 0), 48: (0.0, -2.5 * 47 / 24, 0.0)})
    state = space_state(rig, 30)
    assert abs(state.at[0] - 2.5) < 0.1
    assert abs(space_state(rig, 1).at[0] - 0.0) < 0.2  # before its first key it stood
    again = [space_state(rig, frame).at[0] for frame in (29, 7, 30)]
    motion.forget()
    assert again == [space_state(rig, frame).at[0] for frame in (29, 7, 30)]


def test_the_direction_is_measured_against_where_it_faces(data_dir):
    rig = layered.knight(data_dir, 1, 30)
    made = layered.space(
        rig,
        (("Walking_A", 0.0, 2.0), ("Running_Strafe_Left", 90.0, 2.0), ("Running_Strafe_Right", -90.0, 2.0)),
        "DIRECTION",
    )
    made.samples.add()
    layer_tools.choose(made.samples[3], bpy.data.actions["Idle"])
    layered.space_layer(rig, "Directions")
    # The knight faces -Y: its left is +X.
    for way, angle in (((0, -1), 0.0), ((1, 0), 90.0), ((-1, 0), -90.0), ((0.7, -0.7), 45.0)):
        rig.obj.animation_data.action = bpy.data.actions["Idle"].copy()
        rigs.key_locations(rig.obj, {1: (0, 0, 0), 30: (2.9 * way[0], 2.9 * way[1], 0)})
        rig.scene.frame_set(20)
        state = motion.of(rig.obj).states[20][0]["Directions"]
        assert abs(state.at[0] - angle) < 6.0, (way, state.at)


def test_any_property_can_drive_the_input(data_dir):
    rig = layered.knight(data_dir, 1, 20)
    speed_space(rig)
    other = bpy.data.objects.new("Dial", None)
    rig.scene.collection.objects.link(other)
    other["dial"] = 3.0
    driver = rig.obj.driver_add("active_ragdoll.blend_spaces[0].x.value").driver
    driver.type = "AVERAGE"
    variable = driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = other, '["dial"]'
    assert np.isclose(space_state(rig, 5).at[0], 3.0)


def test_a_preview_shows_its_point_until_a_bake(data_dir):
    rig = layered.knight(data_dir, 1, 20)
    space = speed_space(rig)
    live = layered.shown(rig, (5,))[5]
    space.x.preview, space.show_preview = 4.0, True
    preview = layered.shown(rig, (5,))[5]
    assert rigs.angles(preview, live).max() > 5.0
    for _frame in bake.frames(rig.obj, rig.scene):
        pass
    assert not space.show_preview
    assert rigs.angles(layered.shown(rig, (5,))[5], live).max() < 0.1


def test_a_lean_of_additive_samples_turns_the_spine_as_far_as_the_input_says(data_dir):
    rig = layered.knight(data_dir, 1, 20)
    obj = rig.obj
    names = _leans(rig)
    made = layered.space(rig, ((names[0], -1.0), (names[1], 0.0), (names[2], 1.0)), "PLAIN")
    made.x.minimum, made.x.maximum = -1.0, 1.0
    for sample in made.samples:
        sample.additive, sample.single, sample.frame = "LOCAL", True, 1.0
    plain = layered.shown(rig, (8,))[8]
    layered.space_layer(rig, made.name, mode="ADDITIVE_LOCAL")
    row = obj.data.bones.find("chest")
    for value, degrees in ((0.0, 0.0), (1.0, 20.0), (-0.5, 10.0)):
        obj.active_ragdoll.blend_spaces[0].x.value = value
        found = layered.shown(rig, (8,))[8]
        assert abs(rigs.angles(found[row], plain[row]) - degrees) < 0.1, value


def _leans(rig, degrees=(-20.0, 0.0, 20.0), axis="Y") -> list:
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
        rest = np.array(bone.bone.matrix_local)[:3, :3]
        along = rest.T @ np.eye(3)["XYZ".index(axis)]
        half = np.radians(angle) / 2
        bone.rotation_quaternion = (np.cos(half), *(np.sin(half) * along))
        bpy.context.view_layer.update()
        names.append(layer_tools.pose_action(obj, f"{axis} {angle:g}").name)
        bone.rotation_quaternion = (1, 0, 0, 0)
    layered.play(obj, before.name)
    return names


@pytest.fixture
def aiming(data_dir):
    """The knight with an aim offset of yaw and pitch, whose chest turns 60 deg at yaw 60, 40 at pitch 40."""
    rig = layered.knight(data_dir, 1, 30)
    yaw, pitch = _leans(rig, (-60.0, 0.0, 60.0), "Z"), _leans(rig, (40.0, -40.0), "X")
    made = layered.space(
        rig,
        ((yaw[0], -60.0, 0.0), (yaw[1], 0.0, 0.0), (yaw[2], 60.0, 0.0), (pitch[0], 0.0, -40.0), (pitch[1], 0.0, 40.0)),
        "AIM",
    )
    for sample in made.samples:
        sample.additive, sample.single, sample.frame = "MESH", True, 1.0
    return rig


def test_an_aim_offset_turns_what_is_below_in_the_armatures_space(aiming):
    rig, obj = aiming, aiming.obj
    plain = layered.shown(rig, (9,))[9]
    layered.space_layer(rig, "Aim", "AIM_OFFSET")
    row = obj.data.bones.find("chest")
    for yaw in (60.0, 30.0, -45.0):
        obj.active_ragdoll.blend_spaces[0].x.value = yaw
        found = layered.shown(rig, (9,))[9]
        turn = quaternion.from_matrix((found[row, :3, :3] @ np.linalg.inv(plain[row, :3, :3]))[None])[0]
        angle = np.degrees(2 * np.arctan2(turn[3], turn[0]))
        # The mean of two rotations about one axis, as quaternions: a quarter of a degree off at most.
        share, half = abs(yaw) / 60.0, np.radians(30.0)
        mean = 2 * np.arctan2(share * np.sin(half), 1 - share + share * np.cos(half))
        assert abs(angle - np.sign(yaw) * np.degrees(mean)) < 0.05 and abs(angle - yaw) < 0.3
        assert np.abs(turn[1:3]).max() < 1e-3, yaw
    assert layered.messages(rig) == {}


def test_a_target_gives_yaw_and_pitch_at_its_own_frame(aiming):
    rig, obj = aiming, aiming.obj
    layered.space_layer(rig, "Aim", "AIM_OFFSET")
    space = obj.active_ragdoll.blend_spaces[0]
    target = bpy.data.objects.new("Target", None)
    rig.scene.collection.objects.link(target)
    space.x.input, space.y.input, space.target, space.aim_bone = "YAW", "PITCH", target, "head"
    head = rig_rest(obj)
    assert head is not None
    places = {1: (5.0, -5.0, 1.0), 10: (-5.0, -5.0, 1.0), 20: (0.0, -5.0, 5.0)}
    rigs.key_locations(target, places)
    for frame, wanted in ((1, 45.0), (10, -45.0), (20, 0.0)):
        rig.scene.frame_set(frame)
        at = space_view.current_point(obj, space, frame)
        assert abs(at[0] - wanted) < 3.0, (frame, at)
    assert space_view.current_point(obj, space, 20)[1] > 30.0


def test_an_aim_offset_refuses_what_is_not_additive_in_mesh_space_and_goes_on_without(aiming):
    rig, obj = aiming, aiming.obj
    plain = layered.shown(rig, (5,))[5]
    layered.space_layer(rig, "Aim", "AIM_OFFSET")
    space = obj.active_ragdoll.blend_spaces[0]
    sample, row = space.samples[2], obj.data.bones.find("chest")
    for kind, words in (("NONE", "not additive"), ("LOCAL", "local")):
        sample.additive, space.x.value = kind, -60.0
        found = layered.shown(rig, (5,))[5]
        text = motion.of(obj).messages['Blend space "Aim"']
        assert sample.action.name in text and words in text and "left out" in text
        assert abs(rigs.angles(found[row], plain[row]) - 60.0) < 0.1
    for other in space.samples:
        other.additive = "NONE"
    rig.scene.frame_set(6)
    text = motion.of(obj).messages['Layer "Aim"']
    assert all(other.action.name in text for other in space.samples)


@pytest.mark.parametrize("sync", ("NORMALIZED", "MARKERS"))
def test_feet_stay_in_phase(data_dir, sync):
    """By markers both clips bring the same foot down at the same phase."""
    rig = layered.knight(data_dir, 1, 80)
    made = layered.space(rig, (("Walking_A", 2.0), ("Running_A", 4.0)), sync=sync)
    layered.space_layer(rig, made.name)
    rig.obj.active_ragdoll.blend_spaces[0].x.value = 3.0
    rig.scene.frame_set(2)
    assert motion.of(rig.obj).messages == {}
    player = motion.of(rig.obj).entries[0].solver._spaces.players["Locomotion"]
    if sync == "MARKERS":
        downs = [dict(clip.markers) for clip in player.group.clips]
        for clip, down in zip(player.group.clips, downs, strict=True):
            assert set(down) == {"LEFT", "RIGHT"} and clip.length > 0
        phases = np.linspace(0.0, 1.0, 400)
        times = player.group.clip_times(phases)
        for name in ("LEFT", "RIGHT"):
            at = [phases[np.argmin(np.abs(times[:, i] - down[name]))] for i, down in enumerate(downs)]
            gap = abs(at[0] - at[1])
            assert min(gap, 1 - gap) < 0.01


def test_the_picture_shows_samples_and_the_point(data_dir):
    rig = layered.knight(data_dir, 1, 20)
    space = speed_space(rig)
    space.x.value = 1.0
    rig.scene.frame_set(3)
    pixels, weights, message = space_view.picture(rig.obj, space, 3)
    assert message == "" and pixels.shape == (256, 256, 4)
    assert np.allclose(weights, [0.5, 0.5, 0.0])
    orange = (pixels[..., 0] > 0.9) & (pixels[..., 1] < 0.65) & (pixels[..., 2] < 0.3)
    columns = np.flatnonzero(orange.any(axis=0))
    assert abs(columns.mean() / 256 - (0.09 + 0.82 * 0.25)) < 0.02
    space.x.minimum = 9.0
    assert "minimum" in space_view.picture(rig.obj, space, 3)[2]


def test_add_sample_takes_the_point_or_the_next_free_place(data_dir):
    rig = layered.knight(data_dir)
    space = layer_tools.add_blend_space(rig.obj, "SPEED")
    action, slot = layer_tools.current_action(rig.obj)
    places = [layer_tools.add_sample(space, action, slot).x for _ in range(3)]
    assert places == [0.0, 1.0, 2.0]
    space.x.value = 3.4
    assert np.isclose(layer_tools.add_sample(space, action, slot).x, 3.0)
    assert motion_setup is not None


def test_by_markers_a_standing_clip_plays_at_its_own_pace(data_dir):
    """Noise of standing feet is no step: idle alone is what Blender plays."""
    rig = layered.knight(data_dir, 1, 40)
    expected = layered.plays(rig, "Idle", (0, 6, 12))
    speed_space(rig, sync="MARKERS").x.value = 0.0
    found = layered.shown(rig, (1, 7, 13))
    clips = motion.of(rig.obj).entries[0].solver._spaces.players["Locomotion"].group.clips
    assert [len(clip.markers) for clip in clips] == [0, 2, 2]
    assert all(rigs.angles(found[frame + 1], expected[frame]).max() < 0.1 for frame in expected)
