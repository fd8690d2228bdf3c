"""How a bake treats motion over the ground, and ranges that are cycles."""

import bpy
import numpy as np
import pytest

import control_rigs
import rigs
from active_ragdoll.core.blender.physics import build
from animated import curves
from control_rigs import places
from test_bake_controls import _controlled, _deforming

pytestmark = pytest.mark.blender_version
LAST = 12
WAY = {1: (0.0, 0.0, 0.0), LAST: (1.0, 0.1, 0.5)}


def _walking(scene, to: str):
    """A human that goes 1 m aside and 0.5 m ahead, with a root bone above it, and what its bones do in the scene."""
    table = {"root": ((0, 0, 0), (0, 0.3, 0), None), **rigs.HUMAN, "hips": (*rigs.HUMAN["hips"][:2], "root")}
    if to == "CONTROLS":  # the body hangs on a bone that follows the root, as in Rigify
        table = {"above": (*table["root"][:2], None), **table, "hips": (*table["hips"][:2], "above")}
        obj = _controlled(scene, table)
        control_rigs.constraint(obj, "above", "COPY_TRANSFORMS", "root")
    else:
        table = {"held": (*table["hips"][:2], None), **table, "arm.L": (*table["arm.L"][:2], "held")}
        obj = rigs.armature(scene, table)
        control_rigs.constraint(obj, "held", "COPY_LOCATION", "root", use_offset=True)  # as Rigify's torso
        rigs.key(obj.pose.bones["held"], "location", WAY)
        rigs.swing(obj, 1, LAST)
    obj.scale, obj.rotation_euler = (0.8,) * 3, (0.0, 0.0, 0.6)
    rigs.key(obj.pose.bones["hips"], "location", WAY)
    rigs.set_range(scene, 1, LAST)
    bodiless = np.array([bone.name.removeprefix("DEF-") in ("root", "above", "held") for bone in obj.data.bones])
    build.build(obj, scene, (_deforming(obj) | (to == "DEFORM")) & ~bodiless)
    bpy.ops.active_ragdoll.simulate()
    return obj


@pytest.mark.parametrize("to", ("DEFORM", "CONTROLS"))
@pytest.mark.parametrize("carrier", ("OBJECT", "ROOT"))
def test_the_way_over_the_ground_is_carried_and_nothing_else_moves(scene, to, carrier):
    obj = _walking(scene, to)
    names = [part.bone for part in obj.active_ragdoll.parts]
    before, held = places(scene, obj, names, LAST), curves(obj.animation_data.action, obj)
    bpy.ops.active_ragdoll.bake(to=to, root_motion=carrier)
    assert np.abs((places(scene, obj, names, LAST) - before)[..., :3, 3]).max() < (2e-3 if to == "CONTROLS" else 1e-4)
    body = before[:, names.index("DEF-hips" if to == "CONTROLS" else "hips"), :2, 3]
    way = places(scene, obj, ["root"], LAST)[:, 0, :3, 3]
    if carrier == "OBJECT":
        way = np.array(rigs.step(scene, range(1, LAST + 1), lambda: obj.matrix_world.translation[:]))
    way = way - way[0]
    np.testing.assert_allclose(way[:, :2], body - body[0], atol=1e-4)
    assert np.abs(way[:, 2]).max() < 1e-5 and np.abs(way[-1, :2]).max() > 0.5
    bpy.ops.active_ragdoll.revert_bake()
    assert curves(obj.animation_data.action, obj) == held
    np.testing.assert_allclose(obj.location, 0.0, atol=1e-7)


@pytest.mark.parametrize("carrier, said", (("OBJECT", "constraint 'Held'"), ("ROOT", "Above 'hips'")))
def test_what_cannot_carry_the_way_is_refused(fresh_scene, carrier, said):
    obj = rigs.ragdoll(fresh_scene, 4)
    obj.constraints.new("LIMIT_LOCATION").name = "Held"
    for call in (bpy.ops.active_ragdoll.bake, bpy.ops.active_ragdoll.export_ready):
        with pytest.raises(RuntimeError, match=said):
            call(root_motion=carrier)
    assert not obj.active_ragdoll.muted


def test_a_range_becomes_a_seamless_cycle(fresh_scene):
    """Springs that swing in: the first pass begins at the animation, a cycle does not."""
    obj = rigs.swinging_human(fresh_scene, 1, 25)
    swings = [(*swing[:3], 1.0, swing[4]) for swing in rigs._SWINGS]
    obj.animation_data_clear()
    rigs.swing(obj, 1, 25, swings)
    rigs.set_weights(obj, 0.5)
    build.build(obj, fresh_scene)
    range_before, held = (fresh_scene.frame_start, fresh_scene.frame_end), curves(obj.animation_data.action, obj)
    bpy.ops.active_ragdoll.bake(loop=True, loop_frames=6)
    assert obj.active_ragdoll.muted and not fresh_scene.active_ragdoll.use_range
    poses = np.array(rigs.step(fresh_scene, range(1, 26), lambda: rigs.pose(obj)))
    np.testing.assert_allclose(poses[-1], poses[0], atol=1e-5)
    steps = np.linalg.norm(np.diff(poses[..., :3, 3], axis=0), axis=2)  # [f - 1, n]
    assert np.abs(steps[0] - steps[-1]).max() < 0.3 * steps.max()  # no jerk at the seam
    assert np.abs(poses[0] - np.array(rigs.step(fresh_scene, [26], lambda: rigs.pose(obj))[0])).max() < 1e-5
    bpy.ops.active_ragdoll.revert_bake()
    assert (fresh_scene.frame_start, fresh_scene.frame_end) == range_before
    assert curves(obj.animation_data.action, obj) == held and not obj.animation_data.nla_tracks
    assert np.abs(rigs.step(fresh_scene, [1], lambda: rigs.pose(obj))[0] - poses[0]).max() > 0.01


@pytest.mark.parametrize("to, near, said", (("DEFORM", 1e-4, ""), ("CONTROLS", 2e-3, "a cycle stay as they are: 'f")))
def test_a_cycle_closes_where_what_carries_it_does_not(scene, to, near, said, capfd):
    obj = _walking(scene, to)
    rigs.key(obj.pose.bones["root"], "rotation_quaternion", {1: (1.0, 0.0, 0.0, 0.0), LAST: (0.9, 0.0, 0.3, 0.0)})
    bpy.ops.active_ragdoll.bake(to=to, loop=True, loop_frames=4)
    assert said in capfd.readouterr().out
    poses = places(scene, obj, [part.bone for part in obj.active_ragdoll.parts], LAST)
    np.testing.assert_allclose(poses[-1], poses[0], atol=near)
