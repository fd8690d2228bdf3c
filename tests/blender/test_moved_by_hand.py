"""Moved, posed, parented or scaled by hand after the build, without a key: the next run sees it, or says why not.

Also the frame rate, changed between runs and within one.
"""

import math

import bpy
import numpy as np
import pytest
from mathutils import Matrix

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.errors import RagdollError

pytestmark = pytest.mark.blender_version

LAST = 8


def shot(scene):
    obj = rigs.ragdoll(scene, LAST)
    rigs.play(scene, 1, LAST)
    return obj


def shown(scene, obj, way):
    """Poses and bodies by frame, of a live or of a simulated run."""
    frames = simulate.frames(scene) if way == "simulated" else range(1, LAST + 1)
    found = []
    for frame in frames:
        if way == "live":
            scene.frame_set(frame)
        assert scene.name not in STATE.messages
        found.append((rigs.pose(obj), rigs.bodies(obj)))
    return [np.array(each) for each in zip(*found, strict=True)]


def _vehicle(scene, obj):
    obj.parent = rigs.empty(scene, "Vehicle", (2.0, 1.0, 0.5))
    obj.parent.rotation_euler.z = 0.7


MOVES = {
    "moved": lambda scene, obj: setattr(obj, "location", (1.5, -0.5, 0.3)),
    "turned": lambda scene, obj: setattr(obj, "rotation_euler", (0.2, 0.1, 1.2)),
    "delta": lambda scene, obj: setattr(obj, "delta_location", (0.0, 2.0, 0.0)),
    "parented": _vehicle,
}


@pytest.mark.parametrize("way", ("live", "simulated"))
@pytest.mark.parametrize("how", MOVES)
def test_a_character_moved_after_the_build_plays_there(scene, how, way):
    """At full weight it is where its animation is, and so are its bodies."""
    obj = shot(scene)
    before, bodies = shown(scene, obj, way)
    scene.frame_set(1)
    old = np.array(obj.matrix_world)
    MOVES[how](scene, obj)
    bpy.context.view_layer.update()
    change = np.array(obj.matrix_world) @ np.linalg.inv(old)
    assert np.abs(change - np.eye(4)).max() > 0.1
    after, moved = shown(scene, obj, way)
    assert np.linalg.norm((after - change @ before)[:, :, :3, 3], axis=-1).max() < 0.01
    assert np.linalg.norm((moved - change @ bodies)[:, :, :3, 3], axis=-1).max() < 0.01


@pytest.mark.parametrize("way", ("live", "simulated"))
def test_a_bone_posed_without_a_key_is_seen(scene, way):
    obj = shot(scene)  # its feet have no keys
    before, _bodies = shown(scene, obj, way)
    scene.frame_set(1)
    foot = obj.pose.bones["foot.L"]
    foot.rotation_quaternion = (math.cos(0.15), math.sin(0.15), 0.0, 0.0)
    after, _bodies = shown(scene, obj, way)
    row = obj.data.bones.find("foot.L")
    turned = rigs.angles(after[:, row], before[:, row])
    assert np.abs(turned[1:] - np.degrees(0.3)).max() < 1.0


def test_a_riggers_own_number_is_seen_by_its_drivers(scene):
    obj = rigs.swinging_human(scene, 1, LAST)
    foot = obj.pose.bones["foot.L"]
    foot.rotation_mode = "XYZ"
    foot["bend"] = 0.0
    driver = foot.driver_add("rotation_euler", 0).driver
    variable = driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = obj, 'pose.bones["foot.L"]["bend"]'
    driver.expression = variable.name
    build.build(obj, scene)
    before, _bodies = shown(scene, obj, "live")
    foot["bend"] = 0.3
    after, _bodies = shown(scene, obj, "live")
    row = obj.data.bones.find("foot.L")
    assert np.abs(rigs.angles(after[:, row], before[:, row])[1:] - np.degrees(0.3)).max() < 1.0


def test_scaled_by_hand_in_mid_shot_it_stops_with_a_word_and_goes_on_when_scaled_back(scene):
    obj = shot(scene)
    rigs.play(scene, 1, 4)
    obj.scale = (2.0,) * 3
    scene.frame_set(5)
    assert "'Human' was scaled by 2 before frame 5" in STATE.messages[scene.name]
    assert np.isfinite(rigs.pose(obj)).all() and scene.name not in STATE.runs
    with pytest.raises(RagdollError, match=r"'Human' has the scale 2 .* build the ragdoll anew"):
        list(simulate.frames(scene))
    obj.scale = (1.0,) * 3
    STATE.messages.clear()
    shown(scene, obj, "simulated")
    obj.scale = (2.0,) * 3
    build.rebuild(obj, scene)
    rigs.play(scene, 1, LAST)


def test_another_frame_rate_between_runs_takes_the_new_one(scene):
    """Free fall of a limp character: half g t^2 at the new rate; the old cache is replaced."""
    obj = shot(scene)
    rigs.set_weights(obj)
    obj.animation_data_clear()
    for bone in obj.pose.bones:
        bone.active_ragdoll.linear_damping = 0.0
        bone.matrix_basis = Matrix()
    build.rebuild(obj, scene)
    masses = rigs.masses(obj)
    for fps in (24, 12, 60):
        scene.render.fps = fps
        _poses, bodies = shown(scene, obj, "simulated")
        heights = bodies[:, :, 2, 3] @ masses / masses.sum()
        seconds = (LAST - 1) / fps
        steps = seconds * fps * scene.rigidbody_world.substeps_per_frame
        fallen = 0.5 * 9.81 * seconds**2 * (1.0 + 1.0 / steps)  # gravity is summed up step by step
        assert heights[0] - heights[-1] == pytest.approx(fallen, rel=1e-5)


def test_another_frame_rate_in_mid_shot_goes_on_at_the_new_pace(scene):
    """The frames before stay; the steps after are longer: no jump, no message."""
    obj = shot(scene)
    scene.gravity = (0.0, 0.0, 0.0)

    def places():
        return rigs.pose(obj)[:, :3, 3]

    ways = rigs.play(scene, 1, 4, places)
    scene.render.fps = 12
    ways += rigs.play(scene, 5, LAST, places)
    scene.render.fps = 24
    steady = rigs.play(scene, 1, LAST, places)
    assert np.abs(np.array(ways) - steady).max() < 0.01, "at full weight it follows its keys at any rate"
