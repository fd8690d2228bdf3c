"""How closely the bodies follow the animation."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix

import rigs
from active_ragdoll.core.blender.physics import build
from own_characters import or_own

CLIPS = or_own("01_01.bvh", "Knight.glb", "run.fbx")
LONGEST = 120  # frames of a clip that are looked at


def _built(data_dir, name, weights=(1.0, 1.0), longest=LONGEST):
    rig = rigs.load(data_dir / name)
    rig.last = min(rig.last, rig.first + longest)
    rigs.set_range(rig.scene, rig.first, rig.last)
    rig.scene.frame_set(rig.first)
    rig.built = build.build(rig.obj, rig.scene)
    rig.obj.active_ragdoll.rotation_weight, rig.obj.active_ragdoll.translation_weight = weights
    return rig


@pytest.mark.blender_version
@pytest.mark.parametrize("name", CLIPS)
def test_full_weights_follow_within_a_fraction_of_a_degree_and_a_millimetre(data_dir, name):
    rig = _built(data_dir, name)
    found = rigs.figures(rig.scene, rig.first, rig.last)
    assert found["measured_frames"] > 5
    assert found["orientation_error_deg"]["mean"] <= 0.15
    assert found["position_error_mm"]["mean"] <= 1.0
    assert found["pose_orientation_error_deg"]["mean"] <= 0.15
    assert found["pose_position_error_mm"]["mean"] <= 1.0
    assert found["joint_separation_mm"]["mean"] <= 0.5
    assert found["joint_separation_mm"]["max"] <= 15.0


@pytest.mark.parametrize("name", CLIPS)
def test_rotation_alone_keeps_the_pose_in_free_fall(data_dir, name, request):
    if name == "run.fbx":
        reason = "the clip takes joints 31 mm apart, and joints have the play for it: 3.5 mm where the aim is 2"
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    rig = _built(data_dir, name, (1.0, 0.0), longest=72)
    lowest = rigs.bodies(rig.obj)[:, 2, 3].min()
    found = rigs.figures(rig.scene, rig.first, rig.last)
    assert found["orientation_error_deg"]["mean"] <= 2.0
    assert found["joint_separation_mm"]["mean"] <= 2.0
    assert found["joint_separation_mm"]["max"] <= 15.0
    seconds = (rig.last - rig.first) / rigs.FPS
    assert rigs.bodies(rig.obj)[:, 2, 3].max() < lowest - 0.3 * 9.81 * seconds**2 / 2.0 + rig.obj.active_ragdoll.height


@pytest.mark.blender_version
def test_three_runs_are_identical_bit_for_bit(data_dir):
    rig = _built(data_dir, "01_01.bvh", (0.4, 0.3), longest=60)
    runs = [np.array(rigs.play(rig.scene, rig.first, rig.last, lambda: rigs.bodies(rig.obj))) for _ in range(3)]
    assert np.array_equal(runs[0], runs[1])
    assert np.array_equal(runs[0], runs[2])


MOVED = {
    "small": Matrix.Scale(0.1, 4),
    "large": Matrix.Scale(10.0, 4),
    "all": Matrix.Translation((4.0, 9.0, -3.0)) @ Matrix.Rotation(2.2, 4, (1, 2, 3)) @ Matrix.Scale(0.3, 4),
}


@pytest.fixture(scope="module")
def unmoved(data_dir):
    return _whole_scene(data_dir, Matrix.Identity(4))


def _whole_scene(data_dir, matrix):
    """Error figures of a character in a scene that is moved, turned and scaled with its gravity."""
    rig = rigs.load(data_dir / "01_01.bvh")
    rig.last = rig.first + 100
    rigs.set_range(rig.scene, rig.first, rig.last)
    frame = bpy.data.objects.new("Frame", None)
    rig.scene.collection.objects.link(frame)
    frame.matrix_world = matrix
    rig.obj.parent = frame
    rig.scene.gravity = rigs.transformed(matrix)
    rig.scene.frame_set(rig.first)
    rig.obj.active_ragdoll.self_collision = False  # contacts keep their own tolerances, in metres
    build.build(rig.obj, rig.scene)
    return rigs.figures(rig.scene, rig.first, rig.last)


@pytest.mark.parametrize("how", MOVED)
def test_moving_turning_scaling_the_scene_keeps_the_errors(data_dir, unmoved, how):
    found = _whole_scene(data_dir, MOVED[how])
    for name, aim in (("orientation_error_deg", 0.15), ("position_error_mm", 1.0)):
        # A fiftieth of the aim is what the solver leaves of single precision.
        assert found[name]["mean"] == pytest.approx(unmoved[name]["mean"], rel=0.1, abs=aim / 50.0), name


@pytest.mark.blender_version
@pytest.mark.parametrize("name", ("01_01.bvh", "run.fbx"))
def test_limp_for_sixty_frames_then_back_in_twenty_four(data_dir, name):
    rig = rigs.load(data_dir / name)
    rigs.set_range(rig.scene, rig.first, rig.first + 90)
    rig.scene.frame_set(rig.first)
    rigs.key_weights(rig.obj, {rig.first: 0.0, rig.first + 60: 1.0})
    build.build(rig.obj, rig.scene)
    from active_ragdoll.core.blender.tools.measure import Meter

    meter = Meter(rig.scene)
    rigs.play(rig.scene, rig.first, rig.first + 59, meter.after_frame)
    fallen = meter.summary(50 / rigs.FPS)["orientation_error_deg"]["mean"]
    assert fallen > 20.0, "it was not limp"
    for frame in range(rig.first + 60, rig.first + 85):
        rig.scene.frame_set(frame)
        meter.after_frame()
    back = meter.summary((84 - 0.5) / rigs.FPS)
    assert back["measured_frames"] == 1
    assert back["orientation_error_deg"]["mean"] <= 0.5
    assert back["orientation_error_deg"]["max"] <= 0.5


@pytest.mark.blender_version
def test_keyed_weights_act_at_their_frame(fresh_scene):
    """Keyed from 1 to 0 at frame 20 gives the same bodies as setting 0 just before frame 20."""
    first, change, last = 1, 20, 32

    def run(keyed):
        scene = rigs.empty_file()
        obj = rigs.swinging_human(scene, first, last)
        if keyed:
            rigs.key_weights(obj, {first: 1.0, change: 0.0})
        build.build(obj, scene)
        result = []
        for frame in range(first, last + 1):
            if frame == change and not keyed:
                obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 0.0
            scene.frame_set(frame)
            result.append(rigs.bodies(obj))
        return np.array(result)

    keyed, live = run(True), run(False)
    assert np.array_equal(keyed[: change - first], live[: change - first])
    assert np.abs(keyed - live).max() < 1e-6
    drop = live[change - first, :, 2, 3] - live[-1, :, 2, 3]
    assert drop.max() > 0.3, "the weights changed nothing"
